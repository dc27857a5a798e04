/* callback_test.c - callbacks that do what they should not: statuses and directives that are none,
 * calls that wait, jumps; and a clock that jumps. */
#include "fault/parts.h"

enum { CALL_ODD = 1, CALL_WAIT, CALL_JUMP, CALL_END, CALL_GOOD };

typedef struct call_seen {
    axo_system *system;
    uint32_t failures;
    uint32_t ordinary;
    uint32_t codes;
    uint32_t escalated;
    uint32_t good;
    uint32_t jumps;
    bool odd_directive;
} call_seen;

static axo_status call_jump(call_seen *seen)
{
    jmp_buf here;
    if (setjmp(here) == 0)
        longjmp(here, 1); /* within the callback it is its own affair */
    seen->jumps++;
    return AXO_OK;
}

static void call_see(void *user, const axo_visited *it)
{
    assert_true(user == NULL && it == NULL); /* nothing is shown */
}

static const axo_class call_class;
static const axo_class call_other;

/* None of these may wait for the thread that it runs on. */
static axo_status call_wait(axo_ctx *ctx, axo_system *system)
{
    axo_asked asked;
    uint64_t turns;
    const axo_replacement what = AXO_REPLACEMENT(.from = &call_class, .to = &call_other);
    axo_ref self = axo_self(ctx);
    if (axo_system_stop(system, -1, NULL, 0, NULL) != AXO_ECONTEXT ||
        axo_system_wait(system, -1, NULL) != AXO_ECONTEXT ||
        axo_system_quiesce(system, -1) != AXO_ECONTEXT ||
        axo_system_visit(system, call_see, NULL) != AXO_ECONTEXT ||
        axo_class_replace(system, &what, -1) != AXO_ECONTEXT ||
        axo_system_pause(system, self, -1) != AXO_ECONTEXT ||
        axo_system_destroy(system) != AXO_ECONTEXT ||
        axo_run_host(system, -1, &turns) != AXO_ECONTEXT ||
        axo_step_host(system, 1, &turns) != AXO_ECONTEXT ||
        axo_system_ask(system, self, 7, NULL, 0, PARTS_S, &asked) != AXO_ECONTEXT ||
        axo_system_graceful_stop(system, self, NULL, PARTS_S, NULL) != AXO_ECONTEXT)
        return AXO_EINVAL;
    return AXO_OK;
}

static axo_status call_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    call_seen *seen = *(call_seen **)state;
    switch (message->tag) {
    case CALL_ODD:
        return (axo_status)*AXO_PAYLOAD(message, int32_t);
    case CALL_WAIT: {
        axo_status status = call_wait(ctx, axo_system_of(ctx));
        seen->good += status == AXO_OK;
        return status;
    }
    case CALL_JUMP:
        return call_jump(seen);
    case CALL_END:
        return axo_system_shutdown(axo_system_of(ctx));
    default:
        seen->good++;
        return AXO_OK;
    }
}

static axo_status call_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(call_seen *));
    return AXO_OK;
}

static const axo_class call_class = AXO_CLASS(
    .state_size = sizeof(call_seen *), .construct = call_construct, .receive = call_receive);
static const axo_class call_other = AXO_CLASS(
    .state_size = sizeof(call_seen *), .construct = call_construct, .receive = call_receive);

static axo_directive call_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    call_seen *seen = user;
    seen->failures++;
    seen->ordinary += failure->kind == AXO_FAILURE_ORDINARY;
    seen->codes += failure->code == 12345 || failure->code == -77 || failure->code == INT32_MIN;
    return seen->odd_directive ? (axo_directive)99 : AXO_RESTART;
}

static axo_testkit *call_start(call_seen *seen, axo_strategy *strategy, axo_ref *ref)
{
    axo_testkit *kit;
    *strategy = (axo_strategy)AXO_STRATEGY(.decider = call_decide, .user = seen);
    axo_options options = AXO_OPTIONS(.user_strategy = strategy);
    axo_props props = AXO_PROPS(.cls = &call_class, .args = &seen, .args_size = sizeof seen);
    assert_int_equal(axo_testkit_start(&options, &kit), AXO_OK);
    seen->system = axo_testkit_system(kit);
    assert_int_equal(axo_system_spawn(seen->system, &props, ref), AXO_OK);
    return kit;
}

/* Whatever number it is, it is a failure with that code, and the next message comes. */
static void a_status_that_is_none(void **state)
{
    static const int32_t codes[] = {12345, -77, INT32_MIN};
    call_seen seen = {.failures = 0};
    axo_strategy strategy;
    axo_ref ref;
    axo_testkit *kit = call_start(&seen, &strategy, &ref);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(axo_system_send(seen.system, ref, CALL_ODD, &codes[i], sizeof codes[i]),
                         AXO_OK);
        assert_int_equal(axo_system_send(seen.system, ref, CALL_GOOD, NULL, 0), AXO_OK);
    }
    (void)axo_testkit_run(kit);
    assert_int_equal(seen.failures, 3);
    assert_int_equal(seen.ordinary, 3);
    assert_int_equal(seen.codes, 3);
    assert_int_equal(seen.good, 3);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
    parts_made("callback returns no status", 3);
}

/* A number that is no directive is Escalate: it ends the system here, in order. */
static void a_directive_that_is_none(void **state)
{
    call_seen seen = {.odd_directive = true};
    axo_strategy strategy;
    axo_outcome outcome;
    axo_ref ref;
    int32_t code = 12345;
    axo_testkit *kit = call_start(&seen, &strategy, &ref);
    assert_int_equal(axo_system_send(seen.system, ref, CALL_ODD, &code, sizeof code), AXO_OK);
    (void)axo_testkit_run(kit);
    assert_int_equal(axo_system_wait(seen.system, 0, &outcome), AXO_OK);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.code, 12345);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
    parts_made("decider returns no directive", 1);
}

static void calls_that_would_wait(void **state)
{
    call_seen seen = {.failures = 0};
    axo_strategy strategy;
    axo_ref ref;
    axo_testkit *kit = call_start(&seen, &strategy, &ref);
    assert_int_equal(axo_system_send(seen.system, ref, CALL_WAIT, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(seen.system, ref, CALL_JUMP, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(seen.system, ref, CALL_GOOD, NULL, 0), AXO_OK);
    (void)axo_testkit_run(kit);
    assert_int_equal(seen.good, 2);
    assert_int_equal(seen.jumps, 1);
    assert_int_equal(seen.failures, 0);
    assert_int_equal(axo_system_send(seen.system, ref, CALL_END, NULL, 0), AXO_OK);
    (void)axo_testkit_run(kit);
    assert_int_equal(axo_system_wait(seen.system, 0, NULL), AXO_OK); /* stopped from inside */
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
    parts_made("callback calls what waits", 7);
    parts_made("callback stops the system", 1);
}

/* ---- the clock jumps ------------------------------------------------------------------------- */

typedef struct call_clock {
    int64_t now;
    uint32_t once;
    uint32_t rate;
    uint32_t delay;
    uint32_t idle;
    uint32_t wrong;
    uint32_t instances;
} call_clock;

enum { CLOCK_ONCE = 11, CLOCK_RATE, CLOCK_DELAY, CLOCK_FAIL };
#define CLOCK_HOUR (3600 * PARTS_S)

static int64_t call_now(void *user)
{
    return ((call_clock *)user)->now;
}

static axo_status clock_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(call_clock *));
    (*(call_clock **)state)->instances++;
    return axo_receive_timeout(ctx, 600 * PARTS_S);
}

static axo_status clock_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    call_clock *clock = *(call_clock **)state;
    switch (message->tag) {
    case CLOCK_ONCE:
        clock->once++;
        clock->wrong += clock->now < *AXO_PAYLOAD(message, int64_t);
        return AXO_OK;
    case CLOCK_RATE:
        clock->rate++;
        return AXO_OK;
    case CLOCK_DELAY:
        clock->delay++;
        return AXO_OK;
    case CLOCK_FAIL:
        return axo_fail(ctx, 1, "once an hour");
    default:
        clock->idle += message->tag == AXO_RECEIVE_TIMEOUT;
        return AXO_OK;
    }
}

static const axo_class clock_class = AXO_CLASS(
    .state_size = sizeof(call_clock *), .construct = clock_construct, .receive = clock_receive);

static void clock_run(axo_system *system)
{
    uint64_t turns = 1;
    while (turns > 0)
        assert_int_equal(axo_run_host(system, -1, &turns), AXO_OK);
}

/* Nobody has looked for an hour, as after a suspend: what was due once comes once, a fixed delay
 * has missed its ticks, a fixed rate catches up on each; old failures are out of the window. */
static void a_gap_of_an_hour(void **state)
{
    static const axo_strategy strategy =
        AXO_STRATEGY(.limited = 1, .retries_max = 1, .within_ns = 60 * PARTS_S);
    call_clock clock = {.now = PARTS_S};
    call_clock *where = &clock;
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = call_now, .clock_user = &clock,
                                      .seed = 3, .user_strategy = &strategy);
    axo_props props =
        AXO_PROPS(.cls = &clock_class, .args = (void *)&where, .args_size = sizeof where);
    axo_system *system;
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    clock_run(system);
    for (int64_t i = 1; i <= 100; i++) {
        int64_t due = clock.now + i * 30 * PARTS_S;
        assert_int_equal(axo_system_schedule_once(system, i * 30 * PARTS_S, ref, CLOCK_ONCE, &due,
                                                  sizeof due, NULL), AXO_OK);
    }
    assert_int_equal(axo_system_schedule_fixed_rate(system, 10 * PARTS_S, 10 * PARTS_S, ref,
                                                    CLOCK_RATE, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_schedule_fixed_delay(system, 10 * PARTS_S, 10 * PARTS_S, ref,
                                                     CLOCK_DELAY, NULL, 0, NULL), AXO_OK);
    for (uint32_t i = 1; i <= 4; i++) {
        assert_int_equal(axo_system_send(system, ref, CLOCK_FAIL, NULL, 0), AXO_OK);
        clock_run(system);
        assert_int_equal(clock.instances, 1 + i); /* one restart a minute is within the budget */
        clock.now += CLOCK_HOUR;
        clock_run(system);
        clock_run(system);
        assert_int_equal(clock.once, 100);
        assert_in_range(clock.rate, 360 * i - 1, 360 * i); /* the last is due at this moment */
        assert_in_range(clock.delay, i, 2 * i);
        assert_in_range(clock.idle, 0, i); /* messages have come meanwhile, or nothing has */
    }
    assert_int_equal(clock.wrong, 0);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    parts_made("clock jumps by an hour", 4);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_status_that_is_none),
    cmocka_unit_test(a_directive_that_is_none),
    cmocka_unit_test(calls_that_would_wait),
    cmocka_unit_test(a_gap_of_an_hour),
};
TEST_MAIN(tests)
