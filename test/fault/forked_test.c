/* forked_test.c - a child of fork, function by function: each that is exported says there that the
 * system is the parent's, from outside and in the callback that has forked, on every dispatcher;
 * and a callback that goes on in the child as if nothing had happened ends it, with a line that
 * says where. The list of names is test/api/symbols.txt: a function without a row fails.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/every.h"

EVERY_CONTEXT_ROWS(EVERY_FUNCTION)
static const every_row forked_context[] = {EVERY_CONTEXT_ROWS(EVERY_ROW)};
enum { FORKED_CONTEXT = sizeof forked_context / sizeof forked_context[0] };

static const char *const forked_other[] = {EVERY_OTHER(EVERY_NAME)};
enum { FORKED_OTHER = sizeof forked_other / sizeof forked_other[0] };

/* ---- the list ------------------------------------------------------------------------------- */

static uint32_t forked_rows_of(const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < EVERY_SYSTEM; i++)
        count += strcmp(every_system[i].name, name) == 0;
    for (uint32_t i = 0; i < FORKED_CONTEXT; i++)
        count += strcmp(forked_context[i].name, name) == 0;
    for (uint32_t i = 0; i < FORKED_OTHER; i++)
        count += strcmp(forked_other[i], name) == 0;
    return count;
}

static void every_export_has_a_row(void **state)
{
    char name[128];
    uint32_t names = 0;
    FILE *file = fopen("test/api/symbols.txt", "r");
    assert_non_null(file);
    while (fgets(name, sizeof name, file) != NULL) {
        name[strcspn(name, "\n")] = 0;
        if (forked_rows_of(name) != 1)
            fail_msg("%s has %u rows in test/fault/every.h", name, forked_rows_of(name));
        names++;
    }
    (void)fclose(file);
    assert_int_equal(names, EVERY_SYSTEM + FORKED_CONTEXT + FORKED_OTHER); /* and none too many */
}

/* ---- from outside --------------------------------------------------------------------------- */

/* The child's report: what answered; nothing: all said what they should. */
static void forked_try(every *w, const every_row *rows, uint32_t count, const char *where)
{
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].call(w))
            continue;
        (void)fprintf(stderr, "%s answers in a child of fork, %s\n", rows[i].name, where);
        _exit(1);
    }
}

static int forked_status(pid_t child)
{
    int status = -1;
    while (waitpid(child, &status, 0) != child)
        continue;
    return status;
}

static void *volatile forked_kept; /* so that memcheck finds it in the child */

static void each_says_so_from_outside(void **state)
{
    parts_heap heap = {0};
    every w;
    every_open(&w, parts_start(&heap, 2), AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_system_register(w.system, "key", w.mute), AXO_OK);
    void *block = axo_system_alloc(w.system, 8);
    forked_kept = block;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(20);
        axo_system_free(w.system, block, 8);
        forked_try(&w, every_system, EVERY_SYSTEM, "from outside");
        _exit(0);
    }
    assert_int_equal(forked_status(child), 0);
    forked_kept = NULL;
    axo_system_free(w.system, block, 8); /* it was not, there */
    assert_int_equal(axo_phases_free(w.phases), AXO_OK);
    while (axo_group_free(w.group) == AXO_EBUSY)
        continue; /* a message of it is on its way */
    assert_int_equal(axo_testkit_stop(w.kit), AXO_OK);
    parts_finish(w.system, &heap);
}

/* ---- in a callback -------------------------------------------------------------------------- */

enum { FORKED_RECEIVE, FORKED_BLOCK, FORKED_WAYS };

typedef struct forked_order {
    every *w;
    uint32_t way;
    int *result;
    atomic_uint *done;
} forked_order;

static void forked_here(void *arg)
{
    const forked_order *order = arg;
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(20);
        forked_try(order->w, forked_context, FORKED_CONTEXT,
                   order->way == FORKED_BLOCK ? "in axo_block" : "in receive");
        forked_try(order->w, every_system, EVERY_SYSTEM, "in a callback");
        _exit(0);
    }
    *order->result = child < 0 ? -1 : forked_status(child);
}

static axo_status forked_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    forked_order order = *AXO_PAYLOAD(message, forked_order);
    order.w->ctx = ctx;
    order.w->message = message;
    if (order.way == FORKED_BLOCK)
        (void)axo_block(ctx, forked_here, &order);
    else
        forked_here(&order);
    /* the parent's side goes on as before */
    bool whole = axo_send(ctx, axo_self(ctx), 1, &order, sizeof order) == AXO_OK;
    if (message->tag == 1)
        (void)axo_stop_self(ctx);
    if (!whole)
        *order.result = -2;
    atomic_fetch_add(order.done, message->tag == 1);
    return AXO_OK;
}

static const axo_class forked_class = AXO_CLASS(.name = "forker", .receive = forked_receive);

static void each_says_so_in_a_callback(void **state)
{
    static const uint32_t dispatchers[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED,
                                           AXO_DISPATCH_BLOCKING, AXO_DISPATCH_HOST};
    parts_heap heap = {0};
    every w;
    every_open(&w, parts_start(&heap, 2), AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 0; i < 4 * FORKED_WAYS; i++) {
        int result = -3;
        atomic_uint done = 0;
        axo_ref ref;
        axo_props props = AXO_PROPS(.cls = &forked_class, .dispatcher = dispatchers[i / 2]);
        forked_order order = {.w = &w, .way = i % 2, .result = &result, .done = &done};
        assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
        assert_int_equal(axo_system_send(w.system, ref, 0, &order, sizeof order), AXO_OK);
        while (props.dispatcher == AXO_DISPATCH_HOST && atomic_load(&done) == 0)
            assert_int_equal(axo_run_host(w.system, 10 * PARTS_MS, NULL), AXO_OK);
        parts_await(&done, 1);
        assert_int_equal(result, 0);
    }
    assert_int_equal(axo_phases_free(w.phases), AXO_OK);
    while (axo_group_free(w.group) == AXO_EBUSY)
        continue; /* a message of it is on its way */
    assert_int_equal(axo_testkit_stop(w.kit), AXO_OK);
    parts_finish(w.system, &heap);
    parts_made("fork in a callback", 4 * FORKED_WAYS * 2);
}

/* ---- one that goes on ----------------------------------------------------------------------- */

enum {
    GOES_ON_CONSTRUCT, GOES_ON_START, GOES_ON_RECEIVE, GOES_ON_FAIL, GOES_ON_THROW, GOES_ON_BLOCK,
    GOES_ON_DEFER, GOES_ON_STOP, GOES_ON_RESTART, GOES_ON_DECIDER, GOES_ON_DESTROY, GOES_ON_ENDING,
    GOES_ON_LOG, GOES_ON_RECORD, GOES_ON_TAG, GOES_ON_WAYS
};

static const char *const goes_on_says[] = {
    [GOES_ON_CONSTRUCT] = "construct of /user/it (class goer, no message)",
    [GOES_ON_START] = "pre_start of /user/it (class goer, no message)",
    [GOES_ON_RECEIVE] = "receive of /user/it (class goer, message 7)",
    [GOES_ON_FAIL] = "receive of /user/it (class goer, message 7)",
    [GOES_ON_THROW] = "misuse: axo_throw in a child process",
    [GOES_ON_BLOCK] = "receive of /user/it (class goer, message 7)",
    [GOES_ON_DEFER] = " of /user/it (class goer, ",
    [GOES_ON_STOP] = "post_stop of /user/it (class goer, ",
    [GOES_ON_RESTART] = "pre_restart of /user/it (class goer, message 7)",
    [GOES_ON_DECIDER] = "the decider of /user/it (class goer, ",
    [GOES_ON_DESTROY] = " of /user/it (class goer, ",
    [GOES_ON_ENDING] = "a function of axo_system_on_termination",
    [GOES_ON_LOG] = " of /user", /* the actor, or who decides in a turn of its own */
    [GOES_ON_RECORD] = " of /user",
    [GOES_ON_TAG] = " of /user",
};

/* One process has one of them. */
static struct {
    uint32_t way;
    bool child;        /* this is the child of the callback */
    bool went_on;      /* in it a second callback ran */
    char text[512];    /* what it said, read by its parent */
    int status;
    atomic_uint over;
} goes_on;

/* The child returns from here into the library; its parent waits for it. */
static bool goes_on_fork(uint32_t way)
{
    int ends[2];
    if (goes_on.child) {
        (void)fprintf(stderr, "a second life\n");
        _exit(7);
    }
    if (goes_on.way != way || atomic_load(&goes_on.over) != 0)
        return false;
    if (pipe(ends) != 0)
        _exit(8);
    pid_t child = fork();
    if (child == 0) {
        (void)alarm(20);
        (void)dup2(ends[1], 2);
        goes_on.child = true;
        return true;
    }
    (void)close(ends[1]);
    size_t used = 0;
    ssize_t got = 1;
    while (got > 0) {
        got = read(ends[0], goes_on.text + used, sizeof goes_on.text - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    (void)close(ends[0]);
    goes_on.status = forked_status(child);
    atomic_fetch_add(&goes_on.over, 1);
    return false;
}

static axo_status goer_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)goes_on_fork(GOES_ON_CONSTRUCT);
    return AXO_OK;
}

static axo_status goer_start(axo_ctx *ctx, void *state)
{
    (void)goes_on_fork(GOES_ON_START);
    return AXO_OK;
}

static void goer_undo(void *arg)
{
    (void)goes_on_fork(GOES_ON_DEFER);
}

static void goer_block(void *arg)
{
    (void)goes_on_fork(GOES_ON_BLOCK);
}

static void goer_free(void *payload, void *user)
{
    (void)goes_on_fork(GOES_ON_DESTROY);
}

static axo_status goer_fails(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 1, "as asked");
}

static const axo_class goer_child = AXO_CLASS(.name = "child", .receive = goer_fails);

static axo_status goer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag != 7)
        return AXO_OK;
    if (goes_on_fork(GOES_ON_RECEIVE))
        return AXO_OK;
    if (goes_on_fork(GOES_ON_FAIL))
        return axo_fail(ctx, 1, "in the child");
    if (goes_on_fork(GOES_ON_THROW))
        axo_throw(ctx, 1, "in the child");
    if (goes_on.way == GOES_ON_BLOCK)
        (void)axo_block(ctx, goer_block, NULL);
    if (goes_on.way == GOES_ON_DEFER && axo_defer(ctx, goer_undo, NULL) != AXO_OK)
        return AXO_ENOMEM;
    if (goes_on.way == GOES_ON_DECIDER) {
        axo_ref child;
        axo_props props = AXO_PROPS(.cls = &goer_child);
        axo_status status = axo_spawn(ctx, &props, &child);
        return status == AXO_OK ? axo_send(ctx, child, 7, NULL, 0) : status;
    }
    if (goes_on.way == GOES_ON_RESTART || goes_on.way >= GOES_ON_LOG)
        return axo_fail(ctx, 1, "now");
    if (goes_on.way == GOES_ON_DEFER || goes_on.way == GOES_ON_STOP)
        return axo_stop_self(ctx);
    return AXO_OK;
}

static axo_status goer_stop(axo_ctx *ctx, void *state)
{
    (void)goes_on_fork(GOES_ON_STOP);
    return AXO_OK;
}

static axo_status goer_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                               const axo_message *message)
{
    (void)goes_on_fork(GOES_ON_RESTART);
    return AXO_OK;
}

static axo_directive goer_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)goes_on_fork(GOES_ON_DECIDER);
    return AXO_RESTART;
}

static void goer_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    (void)goes_on_fork(GOES_ON_LOG);
}

static void goer_record(void *user, const axo_log_record *record)
{
    (void)goes_on_fork(GOES_ON_RECORD);
}

static const char *goer_tag(uint32_t tag)
{
    (void)goes_on_fork(GOES_ON_TAG);
    return "tag";
}

static void goer_ending(axo_system *system, void *user)
{
    (void)goes_on_fork(GOES_ON_ENDING);
}

static const axo_strategy goer_strategy = AXO_STRATEGY(.decider = goer_decide);
static const axo_class goer_class =
    AXO_CLASS(.name = "goer", .construct = goer_construct, .pre_start = goer_start,
              .receive = goer_receive, .post_stop = goer_stop, .pre_restart = goer_restart,
              .tag_name = goer_tag);

static void goes_on_run(uint32_t way, uint32_t dispatcher)
{
    parts_heap heap = {0};
    axo_options options = AXO_OPTIONS(.workers = 2, .log = goer_log, .log_record = goer_record,
                                      .allocator = {parts_alloc, parts_free, &heap});
    axo_props props = AXO_PROPS(.cls = &goer_class, .name = "it", .dispatcher = dispatcher,
                                .strategy = &goer_strategy);
    axo_system *system = NULL;
    axo_ref ref;
    memset(&goes_on, 0, sizeof goes_on);
    goes_on.way = way;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_on_termination(system, goer_ending, NULL), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    char byte = 0;
    assert_int_equal(axo_system_send_owned(system, ref, 7, &byte, 1, goer_free, NULL), AXO_OK);
    axo_status sent = axo_system_send(system, ref, 8, NULL, 0); /* not in the child */
    assert_true(sent == AXO_OK || sent == AXO_EGONE);           /* it may have ended already */
    if (way != GOES_ON_ENDING) {
        while (dispatcher == AXO_DISPATCH_HOST && atomic_load(&goes_on.over) == 0)
            assert_int_equal(axo_run_host(system, 10 * PARTS_MS, NULL), AXO_OK);
        parts_await(&goes_on.over, 1);
    }
    parts_finish(system, &heap);
    if (!WIFSIGNALED(goes_on.status) || WTERMSIG(goes_on.status) != SIGABRT ||
        strstr(goes_on.text, goes_on_says[way]) == NULL)
        fail_msg("way %u: status %x, it said: %s", way, (unsigned)goes_on.status, goes_on.text);
}

static void one_that_goes_on_ends(void **state)
{
    for (uint32_t way = 0; way < GOES_ON_WAYS; way++)
        goes_on_run(way, AXO_DISPATCH_DEFAULT);
    goes_on_run(GOES_ON_RECEIVE, AXO_DISPATCH_PINNED);
    goes_on_run(GOES_ON_RECEIVE, AXO_DISPATCH_BLOCKING);
    goes_on_run(GOES_ON_RECEIVE, AXO_DISPATCH_HOST);
    parts_made("callback that goes on in a forked child", GOES_ON_WAYS + 3);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_export_has_a_row),
    cmocka_unit_test(each_says_so_from_outside),
    cmocka_unit_test(each_says_so_in_a_callback),
    cmocka_unit_test(one_that_goes_on_ends),
};
TEST_MAIN(tests)
