/* strategy_test.c - the restart budget (RW) and the ready-made deciders, without actors. */
#include "unit/unit.h"

#include "super/strategy.h"

#define SECOND INT64_C(1000000000)
#define MS     INT64_C(1000000)
#define DAY    (24 * 3600 * SECOND)

typedef struct budget_child {
    axo__child_record record;
    int64_t failures[AXO_SLIDING_MAX];
} budget_child;

static void child_init(budget_child *child, bool sliding)
{
    memset((void *)child, 0, sizeof *child);
    child->record.failures = sliding ? child->failures : NULL;
}

static axo_strategy budget(axo_window window, int32_t retries_max, int64_t within_ns)
{
    axo_strategy strategy = AXO_STRATEGY(.window = window, .limited = 1,
                                         .retries_max = retries_max, .within_ns = within_ns);
    return strategy;
}

/* Failures at these times; '+' permitted, '-' refused. */
static void timeline(axo_strategy strategy, const int64_t *times, const char *expected)
{
    budget_child child;
    child_init(&child, strategy.window == AXO_WINDOW_SLIDING);
    for (size_t i = 0; expected[i] != 0; i++) {
        bool permitted = axo__strategy_permit(&strategy, &child.record, times[i]);
        if (permitted != (expected[i] == '+'))
            fail_msg("failure %zu: permitted %d, expected '%c'", i + 1, permitted, expected[i]);
    }
}

static const int64_t now_and_now[] = {5 * DAY,     5 * DAY + 1, 5 * DAY + 2, 5 * DAY + 3,
                                      5 * DAY + 4, 5 * DAY + 5, 5 * DAY + 6, 5 * DAY + 7};

/* A refusal changes nothing about the window: it stays refused until the window is over. */
static void refused_again(void **state)
{
    timeline(budget(AXO_WINDOW_FIXED, 1, SECOND), now_and_now, "+-----");
}

static void unlimited(void **state)
{
    axo_strategy strategy = AXO_STRATEGY(.retries_max = 0, .within_ns = 5);
    budget_child child;
    child_init(&child, false);
    for (int i = 0; i < 1000; i++) {
        assert_true(axo__strategy_permit(NULL, &child.record, 0));
        assert_true(axo__strategy_permit(&strategy, &child.record, 0));
    }
    strategy = budget(AXO_WINDOW_FIXED, AXO_RETRIES_UNLIMITED, -1); /* RW-02 */
    for (int i = 0; i < 1000; i++)
        assert_true(axo__strategy_permit(&strategy, &child.record, i));
}

static void RW_01_without_a_window(void **state)
{
    static const int64_t far[] = {0, 10 * DAY, 400 * DAY, 4000 * DAY};
    timeline(budget(AXO_WINDOW_FIXED, 3, -1), far, "+++-");
    timeline(budget(AXO_WINDOW_FIXED, 1, -1), far, "+-");
    timeline(budget(AXO_WINDOW_FIXED, 1, INT64_MIN), far, "+-"); /* RW-10 */
}

static void RW_03_a_window_without_a_count(void **state)
{
    static const int64_t times[] = {0, 100, 101, 202, 203};
    timeline(budget(AXO_WINDOW_FIXED, AXO_RETRIES_UNLIMITED, 100), times, "+-");
    timeline(budget(AXO_WINDOW_FIXED, -7, 100), times + 1, "+-");
    timeline(budget(AXO_WINDOW_FIXED, -7, 0), times, "+++++");
}

static void RW_04_none_at_all(void **state)
{
    timeline(budget(AXO_WINDOW_FIXED, 0, -1), now_and_now, "--");
    timeline(budget(AXO_WINDOW_FIXED, 0, 0), now_and_now, "--");
    timeline(budget(AXO_WINDOW_FIXED, 0, DAY), now_and_now, "--");
    timeline(budget(AXO_WINDOW_SLIDING, 0, DAY), now_and_now, "--");
}

/* The entry's own timeline; a sliding window refuses at 400 already. */
static void RW_05_the_window_is_fixed(void **state)
{
    static const int64_t times[] = {0, 250 * MS, 350 * MS, 400 * MS, 450 * MS};
    timeline(budget(AXO_WINDOW_FIXED, 2, 300 * MS), times, "++++-");
    timeline(budget(AXO_WINDOW_SLIDING, 2, 300 * MS), times, "+++-");
}

static void RW_06_the_boundary_is_inside(void **state)
{
    static const int64_t at[] = {1000, 1000 + SECOND};
    static const int64_t after[] = {1000, 1001 + SECOND};
    timeline(budget(AXO_WINDOW_FIXED, 1, SECOND), at, "+-");
    timeline(budget(AXO_WINDOW_FIXED, 1, SECOND), after, "++");
}

static void RW_07_RW_08(void **state)
{
    static const int64_t pause[] = {0, 1 * MS, 700 * MS};
    static const int64_t quick[] = {0, 1 * MS, 2 * MS};
    timeline(budget(AXO_WINDOW_FIXED, 2, 500 * MS), pause, "+++");
    timeline(budget(AXO_WINDOW_FIXED, 2, SECOND), quick, "++-");
}

static void RW_09_a_window_of_nothing(void **state)
{
    timeline(budget(AXO_WINDOW_FIXED, 1, 0), now_and_now, "++++++++");
}

/* A first failure at time zero opens a window like any other. */
static void time_zero_is_a_time(void **state)
{
    static const int64_t times[] = {0, 0, 0, 11};
    timeline(budget(AXO_WINDOW_FIXED, 2, 10), times, "++-");
    timeline(budget(AXO_WINDOW_FIXED, 3, 10), times, "++++");
}

static void RW_11_huge_windows(void **state)
{
    static const int64_t month[] = {DAY, 2 * DAY, 30 * DAY};
    static const int64_t ends[] = {0, 1, INT64_MAX - 1, INT64_MAX};
    timeline(budget(AXO_WINDOW_FIXED, 2, 30 * DAY), month, "++-");
    timeline(budget(AXO_WINDOW_FIXED, 2, INT64_MAX), ends, "++-");
    timeline(budget(AXO_WINDOW_SLIDING, 2, INT64_MAX), ends, "++-");
    timeline(budget(AXO_WINDOW_FIXED, INT32_MAX, INT64_MAX), ends, "++++");
}

static void RW_12_nanoseconds_are_kept(void **state)
{
    static const int64_t times[] = {0, 500, 501};
    timeline(budget(AXO_WINDOW_FIXED, 1, 500), times, "+-");
    timeline(budget(AXO_WINDOW_FIXED, 1, 499), times, "++");
}

static void RW_13_each_child_has_its_own(void **state)
{
    axo_strategy strategy = budget(AXO_WINDOW_FIXED, 2, DAY);
    budget_child children[3];
    for (int i = 0; i < 3; i++)
        child_init(&children[i], false);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++)
            assert_int_equal(axo__strategy_permit(&strategy, &children[i].record, round),
                             round < 2);
    }
}

/* ---- sliding (RW-19) ---- */

/* The table of PH-08: n, window, earlier failures and their age; refused?, how many remain. */
static void PH_08(void **state)
{
    static const struct {
        int32_t n;
        int64_t within_ns;
        uint32_t before;
        int64_t age;
        bool permitted;
        uint32_t left;
    } rows[] = {
        {0, SECOND, 0, 0, false, 0},
        {1, SECOND, 0, 0, true, 1},
        {1, 0, 1, SECOND, false, 0},
        {2, 10 * SECOND, 1, 5 * SECOND, true, 2},
        {1, 10 * SECOND, 2, 5 * SECOND, false, 0},
        {1, 10 * SECOND, 2, 11 * SECOND, true, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        axo_strategy strategy = budget(AXO_WINDOW_SLIDING, rows[i].n, rows[i].within_ns);
        budget_child child;
        int64_t now = DAY;
        child_init(&child, true);
        for (; child.record.restarts < rows[i].before; child.record.restarts++)
            child.failures[child.record.restarts] = now - rows[i].age;
        assert_int_equal(axo__strategy_permit(&strategy, &child.record, now), rows[i].permitted);
        assert_int_equal(child.record.restarts, rows[i].left);
    }
}

/* Younger than the window: one that is exactly as old is forgotten. */
static void a_sliding_window_forgets_one_by_one(void **state)
{
    static const int64_t times[] = {0, 60, 100, 159, 160};
    static const int64_t again[] = {0, 60, 99, 100, 101};
    timeline(budget(AXO_WINDOW_SLIDING, 2, 100), times, "+++-");
    timeline(budget(AXO_WINDOW_SLIDING, 2, 100), again, "++-++");
}

static void the_longest_sliding_window(void **state)
{
    int64_t times[2 * AXO_SLIDING_MAX];
    for (int i = 0; i < 2 * AXO_SLIDING_MAX; i++)
        times[i] = i;
    timeline(budget(AXO_WINDOW_SLIDING, AXO_SLIDING_MAX - 1, DAY), times,
             "+++++++++++++++-+++++++++++++++-");
    timeline(budget(AXO_WINDOW_SLIDING, AXO_SLIDING_MAX - 1, 3), times,
             "++++++++++++++++++++++++++++++++");
}

/* ---- deciders ---- */

static void ready_made_deciders(void **state)
{
    static const struct {
        axo_failure_kind kind;
        axo_directive by_default;
        axo_directive stopping;
    } rows[] = {
        {AXO_FAILURE_ORDINARY, AXO_RESTART, AXO_STOP},
        {AXO_FAILURE_INIT, AXO_STOP, AXO_STOP},
        {AXO_FAILURE_POST_RESTART, AXO_STOP, AXO_STOP},
        {AXO_FAILURE_KILLED, AXO_STOP, AXO_STOP},
        {AXO_FAILURE_DEATH_PACT, AXO_STOP, AXO_STOP},
        {AXO_FAILURE_FATAL, AXO_ESCALATE, AXO_ESCALATE},
        {AXO_FAILURE_ENDED, AXO_RESTART, AXO_STOP},
        {AXO_FAILURE_CRASH, AXO_RESTART, AXO_STOP},
        {AXO_FAILURE_STUCK, AXO_RESTART, AXO_STOP},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        axo_failure failure = {.kind = rows[i].kind};
        assert_int_equal(axo_decide_default(NULL, NULL, &failure, NULL), rows[i].by_default);
        assert_int_equal(axo_decide_stop(NULL, NULL, &failure, NULL), rows[i].stopping);
        assert_int_equal(axo_decide_escalate(NULL, NULL, &failure, NULL), AXO_ESCALATE);
        assert_int_equal(axo_decide_restart(NULL, NULL, &failure, NULL), AXO_RESTART);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(refused_again),
    cmocka_unit_test(unlimited),
    cmocka_unit_test(RW_01_without_a_window),
    cmocka_unit_test(RW_03_a_window_without_a_count),
    cmocka_unit_test(RW_04_none_at_all),
    cmocka_unit_test(RW_05_the_window_is_fixed),
    cmocka_unit_test(RW_06_the_boundary_is_inside),
    cmocka_unit_test(RW_07_RW_08),
    cmocka_unit_test(RW_09_a_window_of_nothing),
    cmocka_unit_test(time_zero_is_a_time),
    cmocka_unit_test(RW_11_huge_windows),
    cmocka_unit_test(RW_12_nanoseconds_are_kept),
    cmocka_unit_test(RW_13_each_child_has_its_own),
    cmocka_unit_test(PH_08),
    cmocka_unit_test(a_sliding_window_forgets_one_by_one),
    cmocka_unit_test(the_longest_sliding_window),
    cmocka_unit_test(ready_made_deciders),
};
TEST_MAIN(tests)
