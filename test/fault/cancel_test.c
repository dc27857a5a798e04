/* cancel_test.c - threads of a program that are cancelled: no function of the library is a
 * cancellation point. Each of every.h is called by a thread whose cancel has come already, with an
 * allocator, observers and a clock that are cancellation points, and comes back; only then the
 * thread ends. Threads that wait are cancelled in the midst of it, and nothing is left behind.
 */
#include <pthread.h>
#include <unistd.h>

#include "fault/every.h"

/* ---- functions of a program that are cancellation points ------------------------------------ */

static atomic_uint cancel_points;

static void cancel_point(void)
{
    atomic_fetch_add(&cancel_points, 1);
    pthread_testcancel();
}

static void *cancel_alloc(void *user, size_t size, size_t align)
{
    cancel_point();
    return parts_alloc(user, size, align);
}

static void cancel_free(void *user, void *block, size_t size, size_t align)
{
    cancel_point();
    parts_free(user, block, size, align);
}

static void cancel_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    cancel_point();
}

static void cancel_record(void *user, const axo_log_record *record)
{
    cancel_point();
}

static void cancel_letter(void *user, const axo_dead_letter *letter)
{
    cancel_point();
}

static void cancel_trace(void *user, const axo_event *event)
{
    cancel_point();
}

static void cancel_destroy(void *payload, void *user)
{
    cancel_point();
}

static uint32_t cancel_priority(const axo_message *message, void *user)
{
    cancel_point();
    return 1;
}

static const char *cancel_tag(uint32_t tag)
{
    cancel_point();
    return "tag";
}

static int64_t cancel_clock(void *user)
{
    atomic_llong *now = user;
    cancel_point();
    return atomic_fetch_add(now, PARTS_MS);
}

static axo_system *cancel_start(parts_heap *heap, uint32_t workers)
{
    axo_options options =
        AXO_OPTIONS(.workers = workers, .seed = 3, .log = cancel_log, .trace = cancel_trace,
                    .on_dead_letter = cancel_letter, .log_record = cancel_record,
                    .allocator = {cancel_alloc, cancel_free, heap});
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

/* ---- a cancel that has come already --------------------------------------------------------- */

typedef struct cancel_call {
    bool (*call)(every *w);
    every *w;
    bool returned;
    bool kept; /* the thread was as cancellable after the call as before */
} cancel_call;

static void *cancel_before(void *arg)
{
    cancel_call *it = arg;
    int state = -1;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    (void)pthread_cancel(pthread_self());
    (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    (void)it->call(it->w);
    it->returned = true;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    it->kept = state == PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    return NULL;
}

static void cancel_try(every *w, bool (*call)(every *w), const char *name)
{
    cancel_call it = {.call = call, .w = w};
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, cancel_before, &it), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    if (!it.returned || !it.kept || result != PTHREAD_CANCELED)
        fail_msg("%s %s", name, !it.returned ? "was left by a cancel"
                                : !it.kept   ? "has changed whether its thread is cancelled"
                                             : "has eaten a cancel");
}

static void each_comes_back(void **state)
{
    parts_heap heap = {0};
    every w;
    every_open(&w, cancel_start(&heap, 2), AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 0; i < EVERY_SYSTEM; i++) {
        if (strcmp(every_system[i].name, "axo_system_shutdown") == 0) {
            assert_int_equal(axo_phases_free(w.phases), AXO_OK); /* what `made` was not */
            while (axo_group_free(w.group) == AXO_EBUSY)
                continue; /* a message of it is on its way */
        }
        cancel_try(&w, every_system[i].call, every_system[i].name);
    }
    assert_int_equal(atomic_load(&heap.blocks), 0); /* the last of them is destroy */
    parts_made("call of a cancelled thread", EVERY_SYSTEM);
}

/* ---- what only some calls do ---------------------------------------------------------------- */

static bool cancel_life(every *w)
{
    parts_heap heap = {0};
    axo_system *system = NULL;
    axo_options options = AXO_OPTIONS(.workers = 1, .allocator = {cancel_alloc, cancel_free, &heap},
                                      .trace = cancel_trace);
    if (axo_system_start(&options, &system) != AXO_OK)
        return false;
    bool good = axo_system_stop(system, -1, NULL, 0, NULL) == AXO_OK;
    good = axo_system_destroy(system) == AXO_OK && good;
    w->created = good && atomic_load(&heap.blocks) == 0;
    return w->created;
}

static bool cancel_dead_letter(every *w)
{
    axo_status status = axo_system_send_owned(w->system, w->others[0], 9, w->text, 1,
                                              cancel_destroy, NULL);
    w->created = status == AXO_EGONE;
    return w->created;
}

static bool cancel_by_priority(every *w)
{
    axo_status status = axo_system_send(w->system, w->others[1], 9, NULL, 0);
    w->created = status == AXO_OK;
    return w->created;
}

static bool cancel_tag_name(every *w)
{
    axo_status status = axo_system_tag_name(w->system, w->others[1], 9, w->text, sizeof w->text);
    w->created = status == AXO_OK && strcmp(w->text, "tag") == 0;
    return w->created;
}

/* Wakes a host: its descriptor is written to. */
static bool cancel_wake_host(every *w)
{
    w->created = axo_system_send(w->system, w->others[2], 9, NULL, 0) == AXO_OK;
    return w->created;
}

/* Threads of the blocking pool come, and those that have ended are joined. */
static bool cancel_grow(every *w)
{
    w->created = axo_system_send(w->system, w->others[3], 9, NULL, 0) == AXO_OK;
    return w->created;
}

static bool cancel_pinned(every *w)
{
    axo_props props = AXO_PROPS(.cls = &every_class, .dispatcher = AXO_DISPATCH_PINNED);
    w->created = axo_system_spawn(w->system, &props, &w->ref) == AXO_OK;
    return w->created;
}

/* Handlers are cancellation points. */
static axo_status cancel_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cancel_point();
    return AXO_OK;
}

static bool cancel_host(every *w)
{
    uint64_t turns = 0;
    w->created = axo_run_host(w->system, -1, &turns) == AXO_OK && turns > 0;
    return w->created;
}

static bool cancel_asked(every *w)
{
    axo_asked asked = {.owned = {.payload = w->text, .size = 1, .destroy = cancel_destroy}};
    axo_asked_free(w->system, &asked);
    w->created = asked.owned.payload == NULL;
    return w->created;
}

static void what_only_some_do_comes_back(void **state)
{
    static const axo_class cls =
        AXO_CLASS(.name = "point", .receive = cancel_receive, .tag_name = cancel_tag);
    static const axo_mailbox mailbox =
        AXO_MAILBOX(.kind = AXO_MAILBOX_PRIORITY, .priority = cancel_priority);
    static const struct {
        const char *name;
        bool (*call)(every *w);
    } some[] = {
        {"a life of a system", cancel_life}, {"a dead letter", cancel_dead_letter},
        {"a priority", cancel_by_priority},  {"tag_name", cancel_tag_name},
        {"a woken host", cancel_wake_host},  {"a host's run", cancel_host},
        {"a growing pool", cancel_grow},     {"a pinned actor", cancel_pinned},
        {"an answer freed", cancel_asked},
    };
    parts_heap heap = {0};
    every w = {.system = cancel_start(&heap, 2)};
    axo_props props[] = {
        AXO_PROPS(.cls = &cls),
        AXO_PROPS(.cls = &cls, .mailbox = &mailbox),
        AXO_PROPS(.cls = &cls, .dispatcher = AXO_DISPATCH_HOST),
        AXO_PROPS(.cls = &cls, .dispatcher = AXO_DISPATCH_BLOCKING),
    };
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(axo_system_spawn(w.system, &props[i], &w.others[i]), AXO_OK);
    assert_true(axo_host_fd(w.system) >= 0); /* from here on it is written to */
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK); /* to rest: the next send wakes */
    assert_int_equal(axo_system_graceful_stop(w.system, w.others[0], NULL, PARTS_S, NULL), AXO_OK);
    for (uint32_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        uint32_t points = atomic_load(&cancel_points);
        w.created = false;
        cancel_try(&w, some[i].call, some[i].name);
        if (!w.created)
            fail_msg("%s did not go as planned", some[i].name);
        if (some[i].call != cancel_wake_host && some[i].call != cancel_grow)
            assert_true(atomic_load(&cancel_points) > points);
    }
    parts_finish(w.system, &heap);
}

static bool cancel_read_clock(every *w)
{
    w->created = axo_system_now(w->system) > 0;
    return w->created;
}

static void a_clock_comes_back(void **state)
{
    atomic_llong now = 1;
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = cancel_clock, .clock_user = &now);
    every w = {.created = false};
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    cancel_try(&w, cancel_read_clock, "the program's clock");
    assert_true(w.created);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

/* ---- cancelled while it waits --------------------------------------------------------------- */

enum { WAITS = 24 };

typedef struct cancel_waiter {
    axo_system *system;
    axo_ref to;
    axo_phases *phases;
    uint32_t how;
    atomic_uint begun;
    bool returned;
} cancel_waiter;

static atomic_uint cancel_may_answer;

/* Answers when all that wait were cancelled: on a thread that may block. */
static axo_status slow_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    parts_await(&cancel_may_answer, 1);
    return axo_ref_is_none(message->sender) ? AXO_OK : axo_reply(ctx, message, 9, NULL, 0);
}

static axo_status slow_task(void *user)
{
    parts_await(&cancel_may_answer, 1);
    return AXO_OK;
}

static void *cancel_wait(void *arg)
{
    cancel_waiter *it = arg;
    axo_asked asked;
    atomic_fetch_add(&it->begun, 1);
    switch (it->how) {
    case 0:
        it->returned = axo_system_ask(it->system, it->to, 9, NULL, 0, PARTS_DEADLINE_NS,
                                      &asked) == AXO_OK;
        axo_asked_free(it->system, &asked);
        break;
    case 1:
        it->returned = axo_phases_run(it->phases, NULL) == AXO_OK;
        break;
    case 2:
        it->returned = axo_system_graceful_stop(it->system, it->to, NULL, PARTS_DEADLINE_NS,
                                                NULL) == AXO_OK;
        break;
    default:
        it->returned = axo_system_wait(it->system, PARTS_DEADLINE_NS, NULL) == AXO_OK;
        break;
    }
    pthread_testcancel();
    return NULL;
}

/* The answer comes after the cancel: before, it waited for a mutex that nobody gave back, on a
 * worker; four of them and the system was dead. */
static void those_that_wait_leave_nothing(void **state)
{
    static const axo_class slow = AXO_CLASS(.name = "slow", .receive = slow_receive);
    axo_props props = AXO_PROPS(.cls = &slow, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_task task = AXO_TASK(.name = "slow", .phase = "first", .kind = AXO_TASK_CALL,
                             .call = slow_task);
    axo_phase first = AXO_PHASE(.name = "first", .timeout_ns = PARTS_DEADLINE_NS);
    parts_heap heap = {0};
    pthread_t threads[WAITS];
    cancel_waiter waiters[WAITS];
    axo_system *system = cancel_start(&heap, 2);
    memset(waiters, 0, sizeof waiters);
    for (uint32_t i = 0; i < WAITS; i++) {
        cancel_waiter *it = &waiters[i];
        it->system = system;
        it->how = i % 4;
        assert_int_equal(axo_system_spawn(system, &props, &it->to), AXO_OK);
        if (it->how == 2) /* it cannot stop yet */
            assert_int_equal(axo_system_send(system, it->to, 9, NULL, 0), AXO_OK);
        if (it->how == 1) {
            assert_int_equal(axo_phases_new(system, &it->phases), AXO_OK);
            assert_int_equal(axo_phases_add(it->phases, &first), AXO_OK);
            assert_int_equal(axo_phases_task(it->phases, &task, NULL), AXO_OK);
        }
        assert_int_equal(pthread_create(&threads[i], NULL, cancel_wait, it), 0);
        parts_await(&it->begun, 1);
    }
    (void)usleep(2000); /* most are in their wait; it holds wherever they are */
    for (uint32_t i = 0; i < WAITS; i++)
        assert_int_equal(pthread_cancel(threads[i]), 0);
    atomic_store(&cancel_may_answer, 1);
    for (uint32_t i = 0; i < WAITS; i++) {
        void *result = NULL;
        if (i % 4 == 3)
            continue;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, PTHREAD_CANCELED);
        assert_true(waiters[i].returned);
        if (i % 4 == 1)
            assert_int_equal(axo_phases_free(waiters[i].phases), AXO_OK);
    }
    assert_int_equal(axo_system_stop(system, PARTS_DEADLINE_NS, NULL, 0, NULL), AXO_OK);
    for (uint32_t i = 3; i < WAITS; i += 4) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(waiters[i].returned);
    }
    parts_finish(system, &heap);
    parts_made("thread cancelled while it waits", WAITS);
}

/* ---- a thread of the library ---------------------------------------------------------------- */

typedef struct cancel_self {
    atomic_uint done;
} cancel_self;

/* Cancels the very thread it runs on, and comes to cancellation points. */
static axo_status self_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cancel_self *it = *AXO_PAYLOAD(message, cancel_self *);
    (void)pthread_cancel(pthread_self());
    pthread_testcancel();
    atomic_fetch_add(&it->done, 1);
    return AXO_OK;
}

static void threads_of_the_library_are_not_cancelled(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = self_receive);
    parts_heap heap = {0};
    cancel_self it = {.done = 0};
    cancel_self *to = &it;
    axo_system *system = cancel_start(&heap, 2);
    for (uint32_t i = 0; i < 3; i++) { /* default, pinned, blocking */
        axo_props props = AXO_PROPS(.cls = &cls, .dispatcher = i);
        axo_ref ref;
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        for (uint32_t k = 0; k < 10; k++)
            assert_int_equal(axo_system_send(system, ref, 9, &to, sizeof to), AXO_OK);
    }
    parts_await(&it.done, 30);
    parts_finish(system, &heap);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_comes_back),
    cmocka_unit_test(what_only_some_do_comes_back),
    cmocka_unit_test(a_clock_comes_back),
    cmocka_unit_test(those_that_wait_leave_nothing),
    cmocka_unit_test(threads_of_the_library_are_not_cancelled),
};
TEST_MAIN(tests)
