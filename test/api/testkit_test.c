/* testkit_test.c - the kit for users' tests, used as they would: on public headers only. */
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)

enum { ADD = 1, GET = 2, SUM = 3, LATER = 4, QUIT = 5, TICK = 6 };

typedef struct sum_state {
    int64_t sum;
} sum_state;

static axo_status sum_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    sum_state *me = state;
    switch (message->tag) {
    case ADD:
        me->sum += *AXO_PAYLOAD(message, int64_t);
        return AXO_OK;
    case GET:
        return axo_reply(ctx, message, SUM, &me->sum, sizeof me->sum);
    case LATER:
        return axo_send_after(ctx, *AXO_PAYLOAD(message, int64_t), message->sender, TICK, NULL, 0);
    case QUIT:
        return axo_stop_self(ctx);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class sum_class = AXO_CLASS(.name = "sum", .state_size = sizeof(sum_state),
                                             .receive = sum_receive);

static axo_testkit *kit_new(const axo_options *options)
{
    axo_testkit *kit = NULL;
    assert_int_equal(axo_testkit_start(options, &kit), AXO_OK);
    return kit;
}

static axo_ref kit_sum(axo_testkit *kit)
{
    axo_props props = AXO_PROPS(.cls = &sum_class, .name = "sum");
    axo_ref ref;
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &ref), AXO_OK);
    return ref;
}

static int64_t kit_get(axo_probe *probe, axo_ref sum)
{
    assert_int_equal(axo_probe_send(probe, sum, GET, NULL, 0), AXO_OK);
    const axo_message *answer = axo_probe_expect(probe, SUM, 0);
    assert_non_null(answer);
    assert_true(axo_ref_equal(answer->sender, sum));
    return *AXO_PAYLOAD(answer, int64_t);
}

static void an_exchange(void **state)
{
    axo_testkit *kit = kit_new(NULL);
    axo_ref sum = kit_sum(kit);
    axo_probe *probe = axo_probe_new(kit, "probe");
    assert_non_null(probe);
    for (int64_t i = 1; i <= 4; i++)
        assert_int_equal(axo_probe_send(probe, sum, ADD, &i, sizeof i), AXO_OK);
    assert_int_equal(kit_get(probe, sum), 10);
    assert_string_equal(axo_testkit_why(kit), "");
    assert_null(axo_probe_expect(probe, SUM, 5 * MS));
    assert_string_equal(axo_testkit_why(kit),
                        "probe: expected tag 3 within 5000 us: nothing came");
    assert_int_equal(axo_probe_send(probe, axo_probe_ref(probe), 77, "x", 2), AXO_OK);
    assert_null(axo_probe_expect(probe, SUM, 0));
    assert_string_equal(axo_testkit_why(kit),
                        "probe: expected tag 3 within 0 us: tag 77 came, from /user/probe");
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static void the_clock_is_the_tests(void **state)
{
    axo_testkit *kit = kit_new(NULL);
    axo_ref sum = kit_sum(kit);
    axo_probe *probe = axo_probe_new(kit, "probe");
    int64_t delay = 3600 * S;
    int64_t start = axo_testkit_now(kit);
    assert_int_equal(start, S);
    assert_int_equal(axo_probe_send(probe, sum, LATER, &delay, sizeof delay), AXO_OK);
    assert_true(axo_probe_expect_none(probe, delay - 1));
    assert_true(axo_testkit_now(kit) == start + delay - 1);
    assert_false(axo_probe_expect_none(probe, MS)); /* it stays */
    assert_int_equal(axo_probe_waiting(probe), 1);
    assert_non_null(axo_probe_expect(probe, TICK, 0));
    assert_true(axo_testkit_now(kit) - start - delay <= AXO_TICK_NS);
    assert_int_equal(axo_probe_send(probe, sum, LATER, &delay, sizeof delay), AXO_OK);
    assert_non_null(axo_probe_receive(probe, AXO_TESTKIT_FOREVER));
    assert_null(axo_probe_receive(probe, AXO_TESTKIT_FOREVER)); /* nothing is left to do */
    int64_t before = axo_testkit_now(kit);
    assert_null(axo_probe_receive(probe, 1)); /* who waits in vain has waited */
    assert_null(axo_probe_expect(probe, TICK, 2));
    assert_false(axo_probe_expect_terminated(probe, sum, 4));
    assert_true(axo_testkit_now(kit) == before + 7);
    before = axo_testkit_now(kit);
    (void)axo_testkit_advance(kit, 7);
    assert_true(axo_testkit_now(kit) == before + 7);
    (void)axo_testkit_advance(kit, 0);
    (void)axo_testkit_advance(kit, -1000); /* it never goes back */
    assert_true(axo_testkit_now(kit) == before + 7);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* An advance ends with what is due at its very end. */
static void the_end_of_an_advance(void **state)
{
    axo_testkit *kit = kit_new(NULL);
    axo_probe *probe = axo_probe_new(kit, "probe");
    int64_t delay = 5 * S;
    assert_int_equal(axo_probe_send(probe, kit_sum(kit), LATER, &delay, sizeof delay), AXO_OK);
    (void)axo_testkit_run(kit);
    int64_t due = axo_host_deadline(axo_testkit_system(kit));
    assert_true(due > axo_testkit_now(kit) && due < INT64_MAX);
    (void)axo_testkit_advance(kit, due - axo_testkit_now(kit) - 1);
    assert_int_equal(axo_probe_waiting(probe), 0);
    for (uint32_t i = 0; i < 8 && axo_probe_waiting(probe) == 0; i++) {
        due = axo_host_deadline(axo_testkit_system(kit)); /* it may be a wheel's step only */
        assert_true(due != INT64_MAX);
        (void)axo_testkit_advance(kit, due - axo_testkit_now(kit));
        assert_true(axo_testkit_now(kit) == due);
        assert_true(axo_host_deadline(axo_testkit_system(kit)) > due);
    }
    assert_int_equal(axo_probe_waiting(probe), 1);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static void steps_by_hand(void **state)
{
    axo_options options = AXO_OPTIONS(.quantum = 1);
    axo_testkit *kit = kit_new(&options);
    axo_ref sum = kit_sum(kit);
    axo_probe *probe = axo_probe_new(kit, "probe");
    int64_t one = 1;
    (void)axo_testkit_run(kit);
    for (int i = 0; i < 3; i++)
        assert_int_equal(axo_probe_send(probe, sum, ADD, &one, sizeof one), AXO_OK);
    assert_int_equal(axo_probe_send(probe, sum, GET, NULL, 0), AXO_OK);
    assert_int_equal(axo_testkit_step(kit, 3), 3);
    assert_int_equal(axo_probe_waiting(probe), 0);
    assert_true(axo_testkit_run(kit) >= 2);
    assert_int_equal(axo_probe_waiting(probe), 1);
    assert_int_equal(axo_testkit_run(kit), 0);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static void failures_and_ends(void **state)
{
    axo_testkit *kit = kit_new(NULL);
    axo_ref sum = kit_sum(kit);
    axo_probe *probe = axo_probe_new(kit, NULL);
    axo_system *system = axo_testkit_system(kit);
    int64_t five = 5;
    assert_int_equal(axo_probe_watch(probe, sum), AXO_OK);
    assert_int_equal(axo_probe_send(probe, sum, ADD, &five, sizeof five), AXO_OK);
    assert_int_equal(kit_get(probe, sum), 5);
    assert_int_equal(axo_system_fail(system, sum, AXO_FAILURE_ORDINARY, 9), AXO_OK);
    assert_int_equal(kit_get(probe, sum), 0); /* restarted */
    assert_false(axo_probe_expect_terminated(probe, sum, 0));
    assert_int_equal(axo_probe_send(probe, sum, QUIT, NULL, 0), AXO_OK);
    assert_true(axo_probe_expect_terminated(probe, sum, 0));
    assert_int_equal(axo_system_fail(system, sum, AXO_FAILURE_ORDINARY, 9), AXO_EGONE);
    assert_int_equal(axo_system_fail(system, sum, AXO_FAILURE_KILLED, 9), AXO_EINVAL);
    assert_int_equal(axo_system_fail(NULL, sum, AXO_FAILURE_FATAL, 9), AXO_EINVAL);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* It is not the one that is waited for. */
static void the_end_of_another(void **state)
{
    axo_testkit *kit = kit_new(NULL);
    axo_ref sum = kit_sum(kit);
    axo_probe *probe = axo_probe_new(kit, "probe");
    axo_ref other = axo_probe_ref(axo_probe_new(kit, "other"));
    assert_int_equal(axo_probe_watch(probe, sum), AXO_OK);
    assert_int_equal(axo_probe_watch(probe, other), AXO_OK);
    assert_int_equal(axo_system_stop_actor(axo_testkit_system(kit), sum), AXO_OK);
    assert_false(axo_probe_expect_terminated(probe, other, 0));
    assert_non_null(strstr(axo_testkit_why(kit), "expected a termination within 0 us: tag"));
    assert_int_equal(axo_probe_waiting(probe), 0); /* it is taken all the same */
    assert_int_equal(axo_system_stop_actor(axo_testkit_system(kit), other), AXO_OK);
    assert_true(axo_probe_expect_terminated(probe, other, 0));
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* A fatal one goes up to the root, which ends the system. */
static void a_fatal_failure(void **state)
{
    axo_testkit *kit = kit_new(NULL);
    axo_ref sum = kit_sum(kit);
    axo_outcome outcome;
    assert_int_equal(axo_system_fail(axo_testkit_system(kit), sum, AXO_FAILURE_FATAL, 11), AXO_OK);
    (void)axo_testkit_run(kit);
    assert_int_equal(axo_system_wait(axo_testkit_system(kit), 0, &outcome), AXO_OK);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.code, 11);
    assert_true(axo_ref_equal(outcome.actor, sum));
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static void no_memory(void **state)
{
    axo_testkit *kit = kit_new(NULL);
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &sum_class, .name = "poor");
    static char args[AXO_ARGS_MAX];
    props.args = args;
    props.args_size = sizeof args; /* too big for a pool */
    axo_testkit_fail_memory(kit, 0, 1);
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &ref), AXO_ENOMEM);
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &ref), AXO_OK);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
    kit = kit_new(NULL);
    axo_testkit_fail_memory(kit, 0, UINT64_MAX);
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &ref), AXO_ENOMEM);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* Akka's page has 3, 6, 12, 24, 30, 30 s; here to the tick. */
static void hours_of_back_off(void **state)
{
    static const int64_t delays[] = {3, 6, 12, 24, 30, 30};
    static const axo_props child = AXO_PROPS(.cls = &sum_class, .name = "child");
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 3 * S, .max_ns = 30 * S,
                                                   .reset_after_ns = -1);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child,
                                                             .backoff = &backoff,
                                                             .when = AXO_ON_STOP);
    axo_testkit *kit = kit_new(NULL);
    axo_probe *probe = axo_probe_new(kit, "probe");
    axo_props props;
    axo_ref keeper;
    assert_int_equal(axo_backoff_supervisor_props(&settings, "keeper", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &keeper), AXO_OK);
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        assert_int_equal(axo_probe_send(probe, keeper, GET, NULL, 0), AXO_OK);
        assert_non_null(axo_probe_expect(probe, SUM, 0));
        assert_int_equal(axo_probe_send(probe, keeper, QUIT, NULL, 0), AXO_OK);
        (void)axo_testkit_run(kit);
        (void)axo_testkit_advance(kit, delays[i] * S - 1);
        assert_int_equal(axo_probe_send(probe, keeper, GET, NULL, 0), AXO_OK);
        assert_true(axo_probe_expect_none(probe, 0)); /* nobody is there yet */
        (void)axo_testkit_advance(kit, 1 + AXO_TICK_NS);
    }
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* A child that does not live long enough resets nothing, not even while the next one is awaited. */
static void a_reset_that_comes_too_late(void **state)
{
    static const axo_props child = AXO_PROPS(.cls = &sum_class, .name = "child");
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 4 * S, .max_ns = 40 * S,
                                                   .reset_after_ns = 10 * S);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child,
                                                             .backoff = &backoff,
                                                             .when = AXO_ON_STOP);
    axo_testkit *kit = kit_new(NULL);
    axo_probe *probe = axo_probe_new(kit, "probe");
    axo_props props;
    axo_ref keeper;
    assert_int_equal(axo_backoff_supervisor_props(&settings, "keeper", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(axo_testkit_system(kit), &props, &keeper), AXO_OK);
    assert_int_equal(axo_probe_send(probe, keeper, QUIT, NULL, 0), AXO_OK);
    (void)axo_testkit_advance(kit, 4 * S + 8 * S); /* 4 s of delay, 8 s of life */
    assert_int_equal(axo_probe_send(probe, keeper, QUIT, NULL, 0), AXO_OK);
    (void)axo_testkit_advance(kit, 4 * S); /* in the delay of 8 s */
    assert_int_equal(axo_probe_send(probe, keeper, AXO_BACKOFF_GET_COUNT, NULL, 0), AXO_OK);
    const axo_message *count = axo_probe_expect(probe, AXO_BACKOFF_COUNT, 0);
    assert_non_null(count);
    assert_int_equal(*AXO_PAYLOAD(count, uint32_t), 2);
    (void)axo_testkit_advance(kit, 4 * S + 11 * S); /* this one lives long enough */
    assert_int_equal(axo_probe_send(probe, keeper, AXO_BACKOFF_GET_COUNT, NULL, 0), AXO_OK);
    count = axo_probe_expect(probe, AXO_BACKOFF_COUNT, 0);
    assert_non_null(count);
    assert_int_equal(*AXO_PAYLOAD(count, uint32_t), 0);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* The same calls, the same run. */
static uint64_t kit_hash;

static void kit_event(void *user, const axo_event *event)
{
    axo_ref arg = {event->arg}; /* or a number, most of which are small */
    uint64_t words[] = {(uint64_t)event->time_ns, axo_ref_index(event->actor), axo_ref_index(arg),
                        event->kind};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        kit_hash = (kit_hash ^ words[i]) * UINT64_C(0x100000001b3);
}

static uint64_t kit_run_once(void)
{
    axo_options options = AXO_OPTIONS(.trace = kit_event);
    kit_hash = 1;
    axo_testkit *kit = kit_new(&options);
    axo_ref sum = kit_sum(kit);
    axo_probe *probe = axo_probe_new(kit, "probe");
    for (int64_t i = 0; i < 50; i++) {
        (void)axo_probe_send(probe, sum, i % 3 == 0 ? ADD : LATER, &i, sizeof i);
        if (i % 7 == 0)
            (void)axo_system_fail(axo_testkit_system(kit), sum, AXO_FAILURE_ORDINARY, (int32_t)i);
        (void)axo_testkit_advance(kit, i * 1000);
    }
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
    return kit_hash;
}

static void runs_are_the_same(void **state)
{
    uint64_t first = kit_run_once();
    for (int i = 0; i < 10; i++)
        assert_true(kit_run_once() == first);
}

/* The events of one failure and restart, of the kinds that are asked for. */
typedef struct kit_tape {
    uint32_t kinds[256];
    int64_t last_ns;
    size_t count;
} kit_tape;

static void kit_tape_event(void *user, const axo_event *event)
{
    kit_tape *tape = user;
    assert_true(tape->count < sizeof tape->kinds / sizeof tape->kinds[0]);
    assert_true(event->time_ns >= tape->last_ns);
    tape->last_ns = event->time_ns;
    tape->kinds[tape->count++] = event->kind;
}

static void kit_tape_record(kit_tape *tape, uint64_t kinds)
{
    axo_options options =
        AXO_OPTIONS(.trace = kit_tape_event, .trace_user = tape, .trace_kinds = kinds);
    memset(tape, 0, sizeof *tape);
    axo_testkit *kit = kit_new(&options);
    axo_ref sum = kit_sum(kit);
    assert_int_equal(axo_system_fail(axo_testkit_system(kit), sum, AXO_FAILURE_ORDINARY, 1),
                     AXO_OK);
    (void)axo_testkit_run(kit);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static void trace_tells_the_kinds_that_are_asked_for(void **state)
{
    static const uint64_t asked[] = {
        AXO_EVENT_BIT(AXO_EV_FAIL) | AXO_EVENT_BIT(AXO_EV_DECIDE) | AXO_EVENT_BIT(AXO_EV_STARTED),
        AXO_EVENT_BIT(AXO_EV_SPAWN), AXO_EVENT_BIT(AXO_EVENT_KINDS) - 1};
    kit_tape all;
    kit_tape some;
    kit_tape_record(&all, 0);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        size_t at = 0;
        kit_tape_record(&some, asked[i]);
        for (size_t k = 0; k < all.count; k++) {
            if ((asked[i] & AXO_EVENT_BIT(all.kinds[k])) != 0)
                assert_int_equal(some.kinds[at++], all.kinds[k]);
        }
        assert_true(at > 0);
        assert_int_equal(some.count, at);
    }
}

/* As axo_system_start: what is not there is zero, what is not known must be. */
static void options_of_other_sizes(void **state)
{
    struct {
        axo_options options;
        unsigned char tail[16];
    } longer = {.options = AXO_OPTIONS(.name = "longer")};
    axo_options shorter = AXO_OPTIONS(.name = "shorter", .registry_max = UINT32_MAX);
    axo_testkit *kit = NULL;
    longer.options.size = sizeof longer;
    kit = kit_new(&longer.options);
    assert_string_equal(axo_system_name(axo_testkit_system(kit)), "longer");
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
    for (size_t i = 0; i < sizeof longer.tail; i++) {
        longer.tail[i] = 200;
        assert_int_equal(axo_testkit_start(&longer.options, &kit), AXO_EVERSION);
        assert_null(kit);
        longer.tail[i] = 0;
    }
    assert_int_equal(axo_testkit_start(&shorter, &kit), AXO_EINVAL);
    shorter.size = offsetof(axo_options, registry_max);
    kit = kit_new(&shorter);
    assert_string_equal(axo_system_name(axo_testkit_system(kit)), "shorter");
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static void bad_calls(void **state)
{
    axo_testkit *kit = NULL;
    axo_options options = AXO_OPTIONS(.workers = 100000);
    assert_int_equal(axo_testkit_start(NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_testkit_start(&options, &kit), AXO_EINVAL);
    options.size = 1;
    assert_int_equal(axo_testkit_start(&options, &kit), AXO_EINVAL);
    assert_null(kit);
    assert_int_equal(axo_testkit_stop(NULL), AXO_EINVAL);
    assert_int_equal(axo_testkit_run(NULL), 0);
    assert_null(axo_probe_new(NULL, NULL));
    assert_null(axo_probe_receive(NULL, 0));
    assert_false(axo_probe_expect_none(NULL, 0));
    assert_int_equal(axo_probe_send(NULL, axo_ref_none(), 1, NULL, 0), AXO_EINVAL);
    kit = kit_new(NULL);
    assert_null(axo_probe_new(kit, "a/b"));
    assert_string_equal(axo_testkit_why(kit), "probe a/b: name is malformed");
    axo_probe *probe = axo_probe_new(kit, "a");
    assert_int_equal(axo_probe_reply(probe, 1, NULL, 0), AXO_EINVAL); /* nothing was received */
    assert_int_equal(axo_probe_send(probe, axo_ref_none(), 1, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_probe_watch(probe, axo_ref_none()), AXO_EINVAL);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_exchange),       cmocka_unit_test(the_clock_is_the_tests),
    cmocka_unit_test(the_end_of_an_advance),
    cmocka_unit_test(steps_by_hand),     cmocka_unit_test(failures_and_ends),
    cmocka_unit_test(the_end_of_another),
    cmocka_unit_test(options_of_other_sizes),
    cmocka_unit_test(a_fatal_failure),   cmocka_unit_test(no_memory),
    cmocka_unit_test(hours_of_back_off),
    cmocka_unit_test(a_reset_that_comes_too_late),
    cmocka_unit_test(runs_are_the_same),
    cmocka_unit_test(trace_tells_the_kinds_that_are_asked_for),
    cmocka_unit_test(bad_calls),
};
TEST_MAIN(tests)
