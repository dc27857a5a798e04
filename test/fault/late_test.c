/* late_test.c - mistakes of a program that end its process say whose they are: a call on a system
 * that was destroyed, function by function; a throw without a callback; a testkit inside itself; a
 * thread that ends in a function that the library has called.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/every.h"

enum { LATE_BLOCKS = 4096 };

/* Nothing is given back before the test is over: a system that was destroyed stays as it was
 * left. */
static struct {
    void *blocks[LATE_BLOCKS];
    uint32_t count;
} late;

static void late_free(void *user, void *block, size_t size, size_t align)
{
    assert_true(late.count < LATE_BLOCKS);
    late.blocks[late.count++] = block;
}

/* What a child of this process says on stderr while it does that, and how it ends. */
static int late_run(void (*run)(void *arg), void *arg, char *text, size_t size)
{
    int ends[2];
    int status = -1;
    size_t used = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(20);
        (void)dup2(ends[1], 2);
        run(arg);
        _exit(0);
    }
    (void)close(ends[1]);
    ssize_t got = 1;
    while (got > 0) {
        got = read(ends[0], text + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    text[used] = 0;
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void late_wants(const char *what, int status, const char *said, const char *wanted)
{
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strstr(said, wanted) == NULL ||
        strstr(said, "bug of the library") != NULL)
        fail_msg("%s: status %x, it said: %s", what, (unsigned)status, said);
}

typedef struct late_call {
    const every_row *row;
    every *w;
} late_call;

static void late_do(void *arg)
{
    const late_call *call = arg;
    (void)call->row->call(call->w);
}

static void a_call_after_destroy(void **state)
{
    parts_heap heap = {0};
    axo_options options = AXO_OPTIONS(.workers = 1, .allocator = {parts_alloc, late_free, &heap});
    every w = {.created = false};
    char said[512];
    uint32_t tried = 0;
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    w.mute = axo_system_guardian(w.system, AXO_GUARDIAN_USER);
    for (uint32_t i = 0; i < 6; i++)
        w.others[i] = w.mute;
    w.props = (axo_props)AXO_PROPS(.cls = &every_class, .name = "new");
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
    for (uint32_t i = 0; i < EVERY_SYSTEM; i++) {
        late_call call = {.row = &every_system[i], .w = &w};
        bool its = strncmp(call.row->name, "axo_system_", 11) == 0 ||
                   strncmp(call.row->name, "axo_host_", 9) == 0 ||
                   strstr(call.row->name, "_host") != NULL ||
                   strcmp(call.row->name, "axo_clock_changed") == 0 ||
                   strcmp(call.row->name, "axo_asked_free") == 0 ||
                   strcmp(call.row->name, "axo_phases_new") == 0;
        if (!its)
            continue;
        int status = late_run(late_do, &call, said, sizeof said);
        late_wants(call.row->name, status, said, "axo: misuse: a call on a system that "
                                                 "axo_system_destroy has freed");
        tried++;
    }
    assert_true(tried > 40);
    while (late.count > 0)
        free(late.blocks[--late.count]);
    parts_made("call after destroy", tried);
}

/* ---- without a callback --------------------------------------------------------------------- */

static void late_throw(void *arg)
{
    axo_throw(arg, 1, "nowhere");
}

static void a_throw_without_a_callback(void **state)
{
    char said[512];
    late_wants("axo_throw", late_run(late_throw, NULL, said, sizeof said), said,
               "axo: misuse: axo_throw outside of the callback");
}

static void late_must_alloc(void *arg)
{
    (void)axo_must_alloc(arg, 1);
}

static void a_must_without_a_callback(void **state)
{
    char said[512];
    late_wants("axo_must_alloc", late_run(late_must_alloc, NULL, said, sizeof said), said,
               "axo: misuse: axo_must_alloc outside of the callback");
}

/* ---- a thread that ends in a callback ------------------------------------------------------- */

enum { ENDS_RECEIVE, ENDS_DECIDER, ENDS_DEFER, ENDS_BLOCK, ENDS_LETTER, ENDS_OUTSIDE, ENDS_WAYS };

static struct {
    uint32_t way;
    axo_ref gone;
} ends_it;

static void ends_here(uint32_t way)
{
    if (ends_it.way == way)
        pthread_exit(NULL);
}

static void ends_undo(void *arg)
{
    ends_here(ENDS_DEFER);
}

static void ends_block(void *arg)
{
    ends_here(ENDS_BLOCK);
}

static void ends_letter(void *user, const axo_dead_letter *letter)
{
    ends_here(ENDS_LETTER);
    ends_here(ENDS_OUTSIDE);
}

static axo_directive ends_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    ends_here(ENDS_DECIDER);
    return AXO_RESTART;
}

static axo_status ends_fails(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 1, "as asked");
}

static axo_status ends_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const axo_class child_class = AXO_CLASS(.receive = ends_fails);
    axo_props props = AXO_PROPS(.cls = &child_class);
    axo_ref child;
    ends_here(ENDS_RECEIVE);
    if (ends_it.way == ENDS_BLOCK)
        return axo_block(ctx, ends_block, NULL);
    if (ends_it.way == ENDS_DEFER)
        return axo_defer(ctx, ends_undo, NULL) == AXO_OK ? axo_stop_self(ctx) : AXO_ENOMEM;
    if (ends_it.way == ENDS_LETTER)
        return axo_send(ctx, ends_it.gone, 1, NULL, 0) == AXO_EGONE ? AXO_OK : AXO_EINVAL;
    if (ends_it.way != ENDS_DECIDER)
        return AXO_OK;
    axo_status status = axo_spawn(ctx, &props, &child);
    return status == AXO_OK ? axo_send(ctx, child, 1, NULL, 0) : status;
}

/* In a process of its own, until its alarm if nobody ends it. */
static void ends_run(void *arg)
{
    static const axo_class cls = AXO_CLASS(.name = "ender", .receive = ends_receive);
    static const axo_strategy strategy = AXO_STRATEGY(.decider = ends_decide);
    axo_options options = AXO_OPTIONS(.workers = 2, .on_dead_letter = ends_letter);
    axo_props props = AXO_PROPS(.cls = &cls, .name = "it", .strategy = &strategy,
                                .dispatcher = *(const uint32_t *)arg);
    axo_system *system;
    axo_ref ref;
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &props, &ref) != AXO_OK)
        _exit(3);
    ends_it.gone = (axo_ref){.bits = ref.bits ^ UINT64_C(1) << 40};
    if (axo_system_send(system, ref, 7, NULL, 0) != AXO_OK)
        _exit(3);
    if (ends_it.way == ENDS_OUTSIDE)
        (void)axo_system_send(system, ends_it.gone, 7, NULL, 0);
    for (;;)
        (void)axo_run_host(system, PARTS_MS, NULL);
}

static void a_thread_that_ends_in_a_callback(void **state)
{
    static const char *const wanted[] = {
        [ENDS_RECEIVE] = "receive of /user/it (class ender, message 7)",
        [ENDS_DECIDER] = "the decider of /user/it (class ender, ",
        [ENDS_DEFER] = " of /user/it (class ender, ",
        [ENDS_BLOCK] = "receive of /user/it (class ender, message 7)",
        [ENDS_LETTER] = "receive of /user/it (class ender, message 7)",
        [ENDS_OUTSIDE] = "a function that the library called, outside of any actor",
    };
    char said[512];
#if defined(AXO_TSAN)
    skip(); /* it allows no threads in such a child */
#endif
    for (uint32_t i = 0; i < ENDS_WAYS + 3; i++) {
        uint32_t dispatcher = i < ENDS_WAYS ? AXO_DISPATCH_DEFAULT : i - ENDS_WAYS + 1;
        ends_it.way = i < ENDS_WAYS ? i : ENDS_RECEIVE;
        int status = late_run(ends_run, &dispatcher, said, sizeof said);
        late_wants(wanted[ends_it.way], status, said, "axo: a thread was ended in ");
        late_wants("where", status, said, wanted[ends_it.way]);
    }
    parts_made("thread ended in a callback", ENDS_WAYS + 3);
}

/* ---- a kit inside itself -------------------------------------------------------------------- */

static axo_status late_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo_testkit_run(*AXO_PAYLOAD(message, axo_testkit *));
    return AXO_OK;
}

static void late_kit(void *arg)
{
    static const axo_class cls = AXO_CLASS(.receive = late_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_testkit *kit;
    axo_ref ref;
    if (axo_testkit_start(NULL, &kit) != AXO_OK ||
        axo_system_spawn(axo_testkit_system(kit), &props, &ref) != AXO_OK ||
        axo_system_send(axo_testkit_system(kit), ref, 1, &kit, sizeof kit) != AXO_OK)
        _exit(3);
    (void)axo_testkit_run(kit);
}

static void a_kit_inside_itself(void **state)
{
    char said[512];
#if defined(AXO_TSAN)
    skip(); /* it allows no threads in such a child */
#endif
    late_wants("axo_testkit_run", late_run(late_kit, NULL, said, sizeof said), said,
               "axo: misuse: a testkit is run in a callback");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_call_after_destroy),
    cmocka_unit_test(a_throw_without_a_callback),
    cmocka_unit_test(a_must_without_a_callback),
    cmocka_unit_test(a_kit_inside_itself),
    cmocka_unit_test(a_thread_that_ends_in_a_callback),
};
TEST_MAIN(tests)
