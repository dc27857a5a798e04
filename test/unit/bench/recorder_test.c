/* recorder_test.c - the marks of a restart: only those of who is concerned, each in its turn, and
 * phases that add up. */
#include "unit/unit.h"

#include <string.h>

#include "../bench/recorder.h"

enum { VICTIM = 11, DECIDER = 22, TARGET = 33, OTHER = 44 };

static recorder recorder_one;
static recorder_row recorder_rows[RECORDER_ROWS_MAX];

static recorder *recorder_new(void)
{
    memset(&recorder_one, 0, sizeof recorder_one);
    atomic_store(&recorder_one.victim, VICTIM);
    atomic_store(&recorder_one.decider, DECIDER);
    atomic_store(&recorder_one.target, TARGET);
    recorder_one.rows = recorder_rows;
    return &recorder_one;
}

static void recorder_tell(recorder *own, uint32_t kind, uint64_t actor, uint64_t arg, int64_t now)
{
    axo_event event = {.time_ns = now, .actor = {.bits = actor}, .arg = arg, .kind = kind};
    recorder_event(own, &event);
}

/* One whole restart. Without a context its first mark is 0. */
static void recorder_whole(recorder *own, bool counted)
{
    recorder_begin(own, NULL, counted);
    recorder_tell(own, AXO_EV_SUSPEND, VICTIM, 0, 10);
    recorder_tell(own, AXO_EV_DECIDE, DECIDER, (uint64_t)AXO_RESTART << 32 | 5, 30);
    recorder_tell(own, AXO_EV_RESUME, TARGET, 0, 60);
    recorder_tell(own, AXO_EV_STARTED, VICTIM, 0, 100);
    recorder_tell(own, AXO_EV_RECEIVE, VICTIM, 3, 150);
}

static void phases_add_up(void **state)
{
    static const uint64_t wanted[PHASES] = {10, 20, 30, 40, 50};
    recorder *own = recorder_new();
    for (uint64_t round = 1; round <= 3; round++) {
        uint64_t sum = 0;
        recorder_whole(own, true);
        for (uint32_t i = 0; i < PHASES; i++) {
            assert_int_equal(own->sums[i], round * wanted[i]);
            assert_int_equal(own->phases[i].count, round);
            assert_int_equal(own->phases[i].max, wanted[i]);
            sum += own->sums[i];
        }
        assert_int_equal(sum, own->total_sum);
        assert_int_equal(own->total.count, round);
        assert_int_equal(own->rows_count, round);
    }
    assert_int_equal(recorder_rows[2].marks[MARK_FAILURE], 0);
    assert_int_equal(recorder_rows[2].marks[MARK_CLEARED], 60);
    assert_int_equal(recorder_rows[2].marks[MARK_MESSAGE], 150);
    assert_int_equal(atomic_load(&own->broken), 0);
}

/* What others do, and what those concerned do besides, is no mark. */
static void others_leave_no_mark(void **state)
{
    recorder *own = recorder_new();
    recorder_tell(own, AXO_EV_STARTED, VICTIM, 0, 1); /* nothing has failed */
    recorder_begin(own, NULL, true);
    recorder_tell(own, AXO_EV_SUSPEND, OTHER, 0, 5);
    recorder_tell(own, AXO_EV_SUSPEND, VICTIM, 1, 6); /* by its parent */
    recorder_tell(own, AXO_EV_DECIDE, DECIDER, (uint64_t)AXO_RESTART << 32, 7);
    recorder_tell(own, AXO_EV_SUSPEND, VICTIM, 0, 10);
    recorder_tell(own, AXO_EV_DECIDE, OTHER, (uint64_t)AXO_RESTART << 32, 20);
    recorder_tell(own, AXO_EV_DECIDE, DECIDER, (uint64_t)AXO_ESCALATE << 32, 21);
    recorder_tell(own, AXO_EV_DECIDE, DECIDER, (uint64_t)AXO_RESTART << 32, 30);
    recorder_tell(own, AXO_EV_RESUME, VICTIM, 0, 40);
    recorder_tell(own, AXO_EV_RESUME, TARGET, 1, 41);
    recorder_tell(own, AXO_EV_RESUME, TARGET, 0, 60);
    recorder_tell(own, AXO_EV_STARTED, OTHER, 0, 70);
    recorder_tell(own, AXO_EV_RECEIVE, VICTIM, 0, 71);
    recorder_tell(own, AXO_EV_STARTED, VICTIM, 0, 100);
    recorder_tell(own, AXO_EV_RECEIVE, OTHER, 0, 110);
    assert_int_equal(own->count, 0);
    recorder_tell(own, AXO_EV_RECEIVE, VICTIM, 0, 150);
    recorder_tell(own, AXO_EV_RECEIVE, VICTIM, 0, 200); /* the next one is nobody's business */
    assert_int_equal(own->count, 1);
    assert_int_equal(own->total_sum, 150);
    assert_int_equal(own->sums[1], 20);
    assert_int_equal(own->sums[2], 30);
    assert_int_equal(own->sums[3], 40);
    assert_int_equal(atomic_load(&own->broken), 0);
}

static void a_restart_that_is_not_measured_leaves_nothing(void **state)
{
    recorder *own = recorder_new();
    recorder_whole(own, false);
    assert_int_equal(own->count, 0);
    assert_int_equal(own->total.count, 0);
    assert_int_equal(own->rows_count, 0);
    recorder_whole(own, true);
    assert_int_equal(own->count, 1);
    assert_int_equal(atomic_load(&own->broken), 0);
}

static void broken_marks_are_counted(void **state)
{
    recorder *own = recorder_new();
    recorder_begin(own, NULL, true);
    recorder_begin(own, NULL, true); /* the one before has not come to its end */
    assert_int_equal(atomic_load(&own->broken), 1);
    recorder_tell(own, AXO_EV_SUSPEND, VICTIM, 0, 10);
    recorder_tell(own, AXO_EV_DECIDE, DECIDER, (uint64_t)AXO_RESTART << 32, 9); /* a clock back */
    recorder_tell(own, AXO_EV_RESUME, TARGET, 0, 60);
    recorder_tell(own, AXO_EV_STARTED, VICTIM, 0, 100);
    recorder_tell(own, AXO_EV_RECEIVE, VICTIM, 3, 150);
    assert_true(atomic_load(&own->broken) > 1);
}

static void rows_have_an_end(void **state)
{
    recorder *own = recorder_new();
    own->rows_count = RECORDER_ROWS_MAX - 1;
    recorder_whole(own, true);
    recorder_whole(own, true);
    assert_int_equal(own->rows_count, RECORDER_ROWS_MAX);
    assert_int_equal(own->count, 2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(phases_add_up),
    cmocka_unit_test(others_leave_no_mark),
    cmocka_unit_test(a_restart_that_is_not_measured_leaves_nothing),
    cmocka_unit_test(broken_marks_are_counted),
    cmocka_unit_test(rows_have_an_end),
};
TEST_MAIN(tests)
