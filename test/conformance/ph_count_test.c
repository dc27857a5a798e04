/* ph_count_test.c - the Proto.Actor family's counting: budgets, and the failures of a back-off. */
#include "parts.h"
#include "super/delay.h"
#include "super/strategy.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

static uint32_t linear_count(uint32_t before, int64_t age)
{
    axo_backoff backoff = AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = SECOND,
                                      .window_ns = 10 * SECOND);
    axo__delay delay = {.count = before, .since = HOUR - age};
    (void)axo__delay_next(&backoff, &delay, HOUR, 0);
    return delay.count;
}

static void PH_10_table(void **state)
{
    assert_int_equal(linear_count(10, 11 * SECOND), 1);
    assert_int_equal(linear_count(10, 9 * SECOND), 11);
    assert_int_equal(linear_count(10, 10 * SECOND), 1);
    assert_int_equal(linear_count(10, 10 * SECOND - 1), 11);
    assert_int_equal(linear_count(2, 0), 3);
    assert_int_equal(linear_count(0, 0), 1);
    assert_int_equal(linear_count(UINT32_MAX, 0), UINT32_MAX);
}

static void PH_11_noise(void **state)
{
    axo_backoff backoff = AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = 500 * MS,
                                      .window_ns = -1, .noise_ns = 500 * MS);
    for (uint32_t n = 0; n < 100; n++) {
        int64_t base = (int64_t)(n + 1) * 500 * MS;
        assert_int_equal(axo_backoff_delay(&backoff, n, 0), base);
        assert_int_equal(axo_backoff_delay(&backoff, n, 0.5), base + 250 * MS);
        assert_true(axo_backoff_delay(&backoff, n, 0.999999) < base + 500 * MS);
    }
}

/* Initial 1 s, window 2 s, each start fails at once: 1, 2, 1, 2, ... */
static void PH_12_table(void **state)
{
    axo_backoff backoff = AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = SECOND,
                                      .window_ns = 2 * SECOND);
    axo__delay delay = {.count = 0};
    int64_t now = HOUR;
    for (int i = 0; i < 10; i++) {
        int64_t wait = axo__delay_next(&backoff, &delay, now, 0);
        assert_int_equal(wait, (1 + i % 2) * SECOND);
        now += wait;
        axo__delay_over(&backoff, &delay, now);
    }
}

/* What it waited is no time without a failure; what it ran is. */
static void PH_13_reset_table(void **state)
{
    axo_backoff backoff = AXO_BACKOFF(.min_ns = SECOND, .max_ns = 60 * SECOND,
                                      .reset_after_ns = 2 * SECOND);
    static const struct {
        int64_t ran;
        int64_t wait;
    } rows[] = {{0, SECOND},          {0, 2 * SECOND}, {SECOND, 4 * SECOND},
                {2 * SECOND - 1, 8 * SECOND}, {2 * SECOND, SECOND}, {0, 2 * SECOND}};
    for (int kind = 0; kind < 3; kind++) {
        axo__delay delay = {.count = 0};
        int64_t now = HOUR;
        if (kind == 1)
            backoff.reset_after_ns = 0; /* min_ns */
        if (kind == 2)
            backoff.reset_after_ns = -1;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            int64_t wait;
            now += kind == 1 ? rows[i].ran / 2 : rows[i].ran;
            wait = axo__delay_next(&backoff, &delay, now, 0);
            assert_int_equal(wait, kind == 2 ? SECOND << i : rows[i].wait);
            now += wait;
            axo__delay_over(&backoff, &delay, now);
        }
    }
}

/* The family's default counting, ten restarts; with a window so long that a slow machine does not
 * leave it. */
static void PH_07(kit *k)
{
    kit_family f = kit_plan(k, "p:restart(a,b)");
    f.p->strategy.window = AXO_WINDOW_SLIDING;
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 10;
    f.p->strategy.within_ns = HOUR;
    kit_grow(&f);
    for (int i = 0; i < 11; i++)
        (void)kit_tell(k, f.a, KIT_FAIL, i);
    kit_await(k, "p.child_gone(a)");
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    kit_await(k, "b.note(1)");
    kit_expect(k, "a.ctor=11", "a.preRestart=10", "p.decided(RESTART)=11", "b.ctor=1");
    kit_order(k, "a.fails(10)", "p.cause(10)", "a#11.postStop", "a.terminated");
}

/* Rows of the entry's table: limit, window, age of earlier failures, their number. */
static void PH_08_table(void **state)
{
    static const struct {
        int32_t limit;
        int64_t window;
        uint32_t before;
        int64_t age;
        bool stops;
        uint32_t left;
    } rows[] = {
        {0, SECOND, 0, 0, true, 0},
        {1, SECOND, 0, 0, false, 1},
        {1, 0, 1, SECOND, true, 0},
        {2, 10 * SECOND, 1, 5 * SECOND, false, 2},
        {1, 10 * SECOND, 2, 5 * SECOND, true, 0},
        {1, 10 * SECOND, 2, 11 * SECOND, false, 1},
    };
    static axo__child_record child;
    int64_t failures[AXO_SLIDING_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        axo_strategy strategy = AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .limited = 1,
                                             .retries_max = rows[i].limit,
                                             .within_ns = rows[i].window);
        child.failures = failures;
        for (child.restarts = 0; child.restarts < rows[i].before; child.restarts++)
            failures[child.restarts] = HOUR - rows[i].age;
        assert_int_equal(axo__strategy_permit(&strategy, &child, HOUR), !rows[i].stops);
        assert_int_equal(child.restarts, rows[i].left);
    }
}

/* On a clock of the test's own: each start fails at once; the trace says when and for how long. */
typedef struct stage {
    int64_t now;
    int64_t decided;
    int64_t wait;
    uint32_t delays;
    int64_t waits[8];
} stage;

static int64_t stage_clock(void *user)
{
    return ((stage *)user)->now;
}

static void stage_event(void *user, const axo_event *event)
{
    stage *it = user;
    if (event->kind == AXO_EV_DECIDE)
        it->decided = event->time_ns;
    if (event->kind == AXO_EV_DELAY) {
        it->wait = (int64_t)event->arg;
        if (it->delays < 8)
            it->waits[it->delays] = it->wait;
        it->delays++;
    }
    if (event->kind == AXO_EV_PRE_RESTART && it->delays > 0)
        assert_in_range(event->time_ns, it->decided + it->wait,
                        it->decided + it->wait + AXO_TICK_NS);
}

static axo_status stage_fail(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 1, "at once");
}

/* The one message of each instance. */
static axo_status stage_start(axo_ctx *ctx, void *state)
{
    return axo_send(ctx, axo_self(ctx), 1, NULL, 0);
}

static void PH_12_clock(void **state)
{
    static const axo_backoff backoff = AXO_BACKOFF(.kind = AXO_BACKOFF_LINEAR, .min_ns = SECOND,
                                                   .window_ns = 2 * SECOND);
    static const axo_strategy strategy = AXO_STRATEGY(.backoff = &backoff);
    static const axo_class cls = AXO_CLASS(.pre_start = stage_start, .receive = stage_fail);
    static const int64_t seconds[] = {1, 2, 1, 2, 1, 2, 1, 2};
    stage it = {.now = HOUR};
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = stage_clock, .clock_user = &it,
                                      .user_strategy = &strategy, .trace = stage_event,
                                      .trace_user = &it);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_system *system = NULL;
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    while (it.delays < 8) {
        assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
        int64_t due = axo_host_deadline(system);
        assert_true(due < INT64_MAX);
        if (due > it.now)
            it.now = due;
    }
    for (int i = 0; i < 8; i++)
        assert_int_equal(it.waits[i], seconds[i] * SECOND);
    assert_int_equal(axo_system_shutdown(system), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_wait(system, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("PH-07", PH_07),
    cmocka_unit_test(PH_08_table),
    cmocka_unit_test(PH_10_table),
    cmocka_unit_test(PH_11_noise),
    cmocka_unit_test(PH_12_table),
    cmocka_unit_test(PH_12_clock),
    cmocka_unit_test(PH_13_reset_table),
};
TEST_MAIN(tests)
