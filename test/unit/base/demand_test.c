/* demand_test.c - the account of answers: how many may be owed, and when there is room again. */
#include "base/demand.h"

#include "unit/unit.h"

/* As many as fit, one by one. */
static uint32_t demand_owe_all(axo__demand *it, uint64_t held)
{
    uint32_t count = 0;
    while (axo__demand_owe(it, held, 1)) {
        assert_in_range(++count, 1, 1000);
    }
    assert_false(axo__demand_may_owe(it, held, 1));
    return count;
}

static bool demand_has_room(const axo__demand *it, uint64_t held)
{
    return axo__demand_may_owe(it, held, axo__demand_next(it));
}

/* The longest answer is known: at no time is more outstanding than the bound, however they come. */
static void no_more_than_the_bound(void **state)
{
    axo__demand it;
    for (size_t longest = 1; longest <= 1000; longest += 37) {
        uint64_t held = 0;
        uint64_t chance = longest;
        axo__demand_init(&it, 1000, 0, longest);
        for (uint32_t i = 0; i < 2000; i++) {
            chance = chance * UINT64_C(6364136223846793005) + 1442695040888963407;
            size_t size = (size_t)((chance >> 33) % (longest + 1));
            if (it.owed > 0 && (chance >> 60) < 7) {
                held += size;
                axo__demand_answered(&it, held, size);
                assert_int_equal(it.typical, longest);
            } else if ((chance >> 60) < 11) {
                held -= size < held ? size : held;
                axo__demand_weigh(&it, held);
            } else {
                (void)axo__demand_owe(&it, held, 1);
            }
            assert_in_range(axo__demand_outstanding(&it, held), 0, 1000);
        }
    }
}

static void one_always_fits(void **state)
{
    axo__demand it;
    axo__demand_init(&it, 100, 0, 5000);
    assert_int_equal(demand_owe_all(&it, 0), 1);
    axo__demand_answered(&it, 70, 70);
    assert_int_equal(demand_owe_all(&it, 70), 0);
    axo__demand_weigh(&it, 1);
    assert_int_equal(demand_owe_all(&it, 1), 0);
    axo__demand_weigh(&it, 0);
    assert_int_equal(demand_owe_all(&it, 0), 1);
}

/* Half of the bound has gone, and one more would exceed it. */
static void half_is_not_enough_for_a_long_one(void **state)
{
    axo__demand it;
    axo__demand_init(&it, 1000, 0, 800);
    assert_int_equal(demand_owe_all(&it, 0), 1);
    axo__demand_answered(&it, 800, 800);
    axo__demand_weigh(&it, 400);
    assert_true(it.over);
    assert_int_equal(demand_owe_all(&it, 400), 0);
    axo__demand_weigh(&it, 200);
    assert_false(it.over);
    assert_int_equal(demand_owe_all(&it, 200), 1);
}

/* And there is none before, once it was spent. */
static void half_has_to_go(void **state)
{
    axo__demand it;
    axo__demand_init(&it, 1000, 0, 100);
    assert_int_equal(demand_owe_all(&it, 0), 10);
    for (uint32_t i = 1; i <= 5; i++) {
        axo__demand_answered(&it, 0, 0);
        assert_int_equal(it.over, i < 5);
        assert_int_equal(demand_has_room(&it, 0), i == 5);
    }
    assert_int_equal(demand_owe_all(&it, 0), 5);
}

/* What was refused together gets room together, and not before. */
static void all_of_them_or_none(void **state)
{
    axo__demand it;
    axo__demand_init(&it, 1000, 0, 100);
    assert_true(axo__demand_owe(&it, 0, 4));
    assert_int_equal(it.owed, 4);
    assert_false(it.over);
    assert_false(axo__demand_owe(&it, 0, 7));
    assert_int_equal(it.owed, 4);
    assert_true(it.over); /* nothing is taken past it */
    assert_false(axo__demand_owe(&it, 0, 1));
    axo__demand_weigh(&it, 0);
    assert_true(it.over);
    axo__demand_answered(&it, 0, 100);
    assert_false(it.over);
    assert_true(demand_has_room(&it, 0));
    assert_true(axo__demand_owe(&it, 0, 7));
    assert_int_equal(it.owed, 10);
}

/* With nothing outstanding, all that are asked for. */
static void more_than_the_bound_at_once(void **state)
{
    axo__demand it;
    axo__demand_init(&it, 1000, 3, 100);
    assert_true(axo__demand_owe(&it, 0, 20));
    assert_int_equal(axo__demand_outstanding(&it, 0), 2000);
    assert_false(axo__demand_owe(&it, 0, 20));
    for (uint32_t i = 0; i < 20; i++) {
        assert_false(demand_has_room(&it, 0));
        axo__demand_answered(&it, 0, 100);
    }
    assert_true(demand_has_room(&it, 0));
    assert_true(axo__demand_owe(&it, 0, 20));
}

/* Without a bound of bytes that of answers holds, and room is told of when all fit. */
static void so_many_at_a_time(void **state)
{
    axo__demand it;
    axo__demand_init(&it, 0, 3, 0);
    assert_true(axo__demand_owe(&it, 12345, 2));
    assert_false(axo__demand_owe(&it, 12345, 2));
    assert_false(it.over);
    assert_false(demand_has_room(&it, 12345));
    assert_true(axo__demand_may_owe(&it, 12345, 1));
    axo__demand_answered(&it, 12345, 7);
    assert_true(demand_has_room(&it, 12345));
    assert_true(axo__demand_owe(&it, 12345, 2));
    assert_false(axo__demand_may_owe(&it, 12345, 1));
    axo__demand_init(&it, 0, 0, 0);
    assert_true(axo__demand_owe(&it, 0, UINT32_MAX - 1));
    assert_true(axo__demand_owe(&it, 0, 1));
    assert_int_equal(it.owed, UINT32_MAX);
}

/* Unknown, it is a quarter of the bound, then the longest of late; known, never less than was
 * said, and longer if one was. */
static void what_an_answer_counts(void **state)
{
    axo__demand it;
    axo__demand_init(&it, 1000, 0, 0);
    assert_int_equal(it.typical, 250);
    assert_int_equal(demand_owe_all(&it, 0), 4);
    axo__demand_answered(&it, 0, 10);
    assert_int_equal(it.typical, 219);
    axo__demand_answered(&it, 0, 700);
    assert_int_equal(it.typical, 700);
    axo__demand_init(&it, 1000, 0, 300);
    assert_int_equal(demand_owe_all(&it, 0), 3);
    axo__demand_answered(&it, 0, 0);
    assert_int_equal(it.typical, 300);
    axo__demand_answered(&it, 0, 400);
    assert_int_equal(it.typical, 400);
    axo__demand_answered(&it, 0, 10);
    assert_int_equal(it.typical, 350);
    axo__demand_init(&it, 3, 0, 0);
    assert_int_equal(it.typical, 1);
}

/* The largest of all: no sum goes round. */
static void no_sum_overflows(void **state)
{
    axo__demand it;
    axo__demand_init(&it, AXO__DEMAND_MAX, 0, AXO__DEMAND_MAX);
    assert_true(axo__demand_owe(&it, 0, UINT32_MAX));
    assert_int_equal(axo__demand_outstanding(&it, 0), UINT64_C(0xffffffff) << 30);
    assert_false(axo__demand_owe(&it, (uint64_t)UINT32_MAX << 30, UINT32_MAX));
    axo__demand_weigh(&it, (uint64_t)UINT32_MAX << 30);
    assert_true(it.over);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_more_than_the_bound),
    cmocka_unit_test(one_always_fits),
    cmocka_unit_test(half_is_not_enough_for_a_long_one),
    cmocka_unit_test(half_has_to_go),
    cmocka_unit_test(all_of_them_or_none),
    cmocka_unit_test(more_than_the_bound_at_once),
    cmocka_unit_test(so_many_at_a_time),
    cmocka_unit_test(what_an_answer_counts),
    cmocka_unit_test(no_sum_overflows),
};
TEST_MAIN(tests)
