/* trace_kinds_test.c - the events of a trace chosen while the system runs; what comes with each. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { WORK = 1, FAIL, LOOP };

static const char zone[] = "a zone";

/* What the trace was told. */
static struct {
    uint32_t kinds[64];
    uint64_t args[64];
    uint32_t count;
    uint32_t strange; /* class, or its `user` */
    _Atomic uint64_t messages;
    _Atomic uint64_t loops;
    _Atomic bool over;
} tape;

static axo_status worker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == FAIL)
        return axo_fail(ctx, 7, "as told");
    if (message->tag != LOOP || atomic_load_explicit(&tape.over, memory_order_relaxed))
        return AXO_OK;
    atomic_fetch_add_explicit(&tape.loops, 1, memory_order_relaxed);
    return axo_send(ctx, axo_self(ctx), LOOP, NULL, 0);
}

static const axo_class worker_class =
    AXO_CLASS(.name = "worker", .receive = worker_receive, .user = zone);

static void tape_event(void *user, const axo_event *event)
{
    (void)user;
    assert_true(tape.count < sizeof tape.kinds / sizeof tape.kinds[0]);
    tape.kinds[tape.count] = event->kind;
    tape.args[tape.count++] = event->arg;
    tape.strange += event->cls != &worker_class || event->cls->user != zone ? 1 : 0;
}

static void tell(axo_system *system, axo_ref ref, uint32_t tag)
{
    assert_int_equal(axo_system_send(system, ref, tag, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
}

static axo_ref worker_of(axo_system *system)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &worker_class);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static void expect(uint32_t count, const uint32_t *kinds)
{
    assert_int_equal(tape.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(tape.kinds[i], kinds[i]);
    tape.count = 0;
}

#define PAIR (AXO_EVENT_BIT(AXO_EV_RECEIVE) | AXO_EVENT_BIT(AXO_EV_RECEIVED))

/* Off, on, other kinds, off: and the plain path is taken again. */
static void kinds_are_chosen(void **state)
{
    static const uint32_t pair[] = {AXO_EV_RECEIVE, AXO_EV_RECEIVED};
    static const uint32_t failed[] = {AXO_EV_FAIL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .trace = tape_event,
                                      .trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL));
    axo_system *system;
    (void)state;
    memset(&tape, 0, sizeof tape);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo_ref ref = worker_of(system);
    tell(system, ref, WORK);
    expect(0, NULL);
    assert_int_equal(axo_system_trace_kinds(system, PAIR), AXO_OK);
    tell(system, ref, WORK);
    expect(2, pair);
    assert_int_equal(axo_system_trace_kinds(system, AXO_EVENT_BIT(AXO_EV_FAIL)), AXO_OK);
    tell(system, ref, WORK);
    expect(0, NULL);
    tell(system, ref, FAIL);
    expect(1, failed);
    assert_int_equal(axo_system_trace_kinds(system, 0), AXO_OK);
    tell(system, ref, FAIL);
    expect(0, NULL);
    assert_int_equal(tape.strange, 0);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static void what_is_refused_changes_nothing(void **state)
{
    static const uint32_t failed[] = {AXO_EV_FAIL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    axo_system *system;
    (void)state;
    memset(&tape, 0, sizeof tape);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_trace_kinds(system, PAIR), AXO_EINVAL); /* nobody is told */
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(axo_system_trace_kinds(NULL, 0), AXO_EINVAL);

    options.trace = tape_event;
    options.trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo_ref ref = worker_of(system);
    assert_int_equal(axo_system_trace_kinds(system, PAIR | AXO_EVENT_BIT(AXO_EVENT_KINDS)),
                     AXO_EINVAL);
    assert_int_equal(axo_system_trace_kinds(system, AXO_EVENT_BIT(63)), AXO_EINVAL);
    tell(system, ref, FAIL);
    expect(1, failed);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- deciders ------------------------------------------------------------------------------ */

static uint32_t asked;

static axo_directive decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)state;
    (void)failure;
    (void)user;
    if (asked++ == 1)
        (void)axo_fail(ctx, 8, "undecided");
    return AXO_RESUME;
}

static axo_status boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref *child = state;
    axo_props props = AXO_PROPS(.cls = &worker_class);
    if (axo_ref_is_none(*child) && axo_spawn(ctx, &props, child) != AXO_OK)
        return axo_fail(ctx, 1, "spawn");
    return axo_send(ctx, *child, message->tag, NULL, 0);
}

static uint32_t deciders;
static uint64_t answers[4];

static void decider_event(void *user, const axo_event *event)
{
    assert_ptr_equal(event->cls, user);
    assert_int_equal(event->kind, deciders % 2 == 0 ? AXO_EV_DECIDER_BEGIN : AXO_EV_DECIDER_END);
    if (event->kind == AXO_EV_DECIDER_END && deciders / 2 < 4)
        answers[deciders / 2] = event->arg;
    else
        assert_false(axo_ref_is_none((axo_ref){event->arg}));
    deciders++;
}

#define DECIDERS (AXO_EVENT_BIT(AXO_EV_DECIDER_BEGIN) | AXO_EVENT_BIT(AXO_EV_DECIDER_END))

/* Each call of the program's own decider has a begin and an end, also one that fails. */
static void deciders_have_begin_and_end(void **state)
{
    static const axo_class boss_class =
        AXO_CLASS(.name = "boss", .state_size = sizeof(axo_ref), .receive = boss_receive);
    static const axo_strategy own = AXO_STRATEGY(.decider = decide);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .trace = decider_event,
                                      .trace_user = (void *)(uintptr_t)&boss_class,
                                      .trace_kinds = DECIDERS);
    axo_props props = AXO_PROPS(.cls = &boss_class, .strategy = &own);
    axo_system *system;
    axo_ref boss;
    (void)state;
    asked = deciders = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &boss), AXO_OK);
    tell(system, boss, FAIL);
    tell(system, boss, FAIL);
    assert_int_equal(asked, 2);
    assert_int_equal(deciders, 4);
    assert_int_equal(answers[0], AXO_RESUME);
    assert_int_equal(answers[1], 0);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- while workers run --------------------------------------------------------------------- */

static void count_event(void *user, const axo_event *event)
{
    (void)user;
    if (event->kind == AXO_EV_RECEIVE)
        atomic_fetch_add_explicit(&tape.messages, 1, memory_order_relaxed);
}

static uint64_t messages_told(void)
{
    return atomic_load_explicit(&tape.messages, memory_order_relaxed);
}

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
}

/* A worker that never rests takes a choice over, on and off, as often as it is made. */
static void busy_workers_notice(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .trace = count_event,
                                      .trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL));
    axo_system *system;
    (void)state;
    memset(&tape, 0, sizeof tape);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(axo_system_send(system, worker_of(system), LOOP, NULL, 0), AXO_OK);
    /* From here on it neither begins nor wakes. */
    for (uint32_t k = 0; k < 10000 && atomic_load(&tape.loops) == 0; k++)
        rest();
    assert_true(atomic_load(&tape.loops) > 0);
    assert_int_equal(messages_told(), 0);
    for (uint32_t i = 0; i < 20; i++) {
        uint64_t before = messages_told();
        assert_int_equal(axo_system_trace_kinds(system, PAIR), AXO_OK);
        for (uint32_t k = 0; k < 10000 && messages_told() == before; k++)
            rest();
        assert_true(messages_told() != before);
        assert_int_equal(axo_system_trace_kinds(system, 0), AXO_OK);
        for (uint32_t k = 0; k < 10000 && messages_told() != before; k++) {
            before = messages_told();
            rest();
        }
        assert_int_equal(messages_told(), before);
    }
    atomic_store(&tape.over, true);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- beside figures ------------------------------------------------------------------------ */

static axo_status sum_handled(void *user, const axo_metrics_class *figures)
{
    uint64_t *sum = user;
    if (strcmp(figures->name, "worker") == 0)
        *sum += figures->handled;
    return AXO_OK;
}

/* Figures count on whatever is chosen, and nobody is told more by them. */
static void figures_go_on(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .trace = tape_event,
                                      .trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL),
                                      .figures = AXO_FIGURES_COUNTS);
    axo_system *system;
    uint64_t handled = 0;
    (void)state;
    memset(&tape, 0, sizeof tape);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo_ref ref = worker_of(system);
    tell(system, ref, WORK);
    assert_int_equal(axo_system_trace_kinds(system, 0), AXO_OK);
    tell(system, ref, WORK);
    tell(system, ref, FAIL);
    expect(0, NULL);
    assert_int_equal(axo_metrics_classes(system, sum_handled, &handled), AXO_OK);
    assert_int_equal(handled, 3);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- several who choose -------------------------------------------------------------------- */

static void *chooser(void *arg)
{
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t kinds = i % 2 == 0 ? PAIR : AXO_EVENT_BIT(AXO_EV_FAIL);
        if (axo_system_trace_kinds(arg, kinds) != AXO_OK)
            return arg;
    }
    return NULL;
}

/* The last choice is what is told, whole: neither less nor more. */
static void choosers_do_not_mix(void **state)
{
    static const uint32_t failed[] = {AXO_EV_FAIL};
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .trace = tape_event,
                                      .trace_kinds = AXO_EVENT_BIT(AXO_EV_SPAWN));
    axo_system *system;
    (void)state;
    memset(&tape, 0, sizeof tape);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    tape.count = tape.strange = 0; /* the guardians' births */
    for (uint32_t i = 0; i < 50; i++) {
        pthread_t threads[2];
        void *wrong;
        for (uint32_t k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, chooser, system), 0);
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(pthread_join(threads[k], &wrong), 0);
            assert_null(wrong);
        }
        axo_ref ref = worker_of(system);
        tell(system, ref, WORK);
        expect(0, NULL); /* each ends with FAIL */
        tell(system, ref, FAIL);
        expect(1, failed);
    }
    assert_int_equal(axo_system_trace_kinds(system, 0), AXO_OK);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kinds_are_chosen),
    cmocka_unit_test(what_is_refused_changes_nothing),
    cmocka_unit_test(deciders_have_begin_and_end),
    cmocka_unit_test(busy_workers_notice),
    cmocka_unit_test(figures_go_on),
    cmocka_unit_test(choosers_do_not_mix),
};
TEST_MAIN(tests)
