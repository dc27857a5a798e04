/* budget_test.c - bounds of an instance and of subtrees: all of them or none count, to the byte,
 * with many threads at once. */
#include "unit/unit.h"

#include "mem/budget.h"

static uint64_t tree_of(const axo__budget *budget)
{
    return axo__a64_load_relaxed(&budget->tree);
}

static void none_is_any(void **state)
{
    assert_true(axo__budget_take(NULL, 5, SIZE_MAX));
    axo__budget_give(NULL, SIZE_MAX);
    assert_true(axo__budget_room(NULL, 9) == SIZE_MAX);
    axo__budget empty = {.max = 0};
    assert_true(axo__budget_take(&empty, 5, SIZE_MAX));
    assert_int_equal(empty.refused, 0);
    assert_true(axo__budget_room(&empty, 9) == SIZE_MAX);
}

static void of_an_instance(void **state)
{
    axo__budget budget = {.max = 100, .own = 30};
    assert_true(axo__budget_take(&budget, 0, 70));
    assert_false(axo__budget_take(&budget, 0, 71));
    assert_int_equal(budget.refused, 1);
    assert_true(axo__budget_take(&budget, 69, 1));
    assert_int_equal(budget.refused, 0);
    assert_false(axo__budget_take(&budget, 70, 1));
    assert_false(axo__budget_take(&budget, 0, SIZE_MAX));
    assert_int_equal(axo__budget_room(&budget, 20), 50);
    assert_int_equal(axo__budget_room(&budget, 70), 0);
}

/* grand 1000 > parent, none > child 300: what one refuses counts in none. */
static void of_a_subtree(void **state)
{
    axo__budget grand = {.tree_max = 1000};
    axo__budget other = {.above = &grand, .max = 500};
    axo__budget child = {.above = &grand, .tree_max = 300};
    axo__budget leaf = {.above = &child};
    assert_true(axo__budget_take(&leaf, 0, 200));
    assert_int_equal(tree_of(&grand), 200);
    assert_int_equal(tree_of(&child), 200);
    assert_false(axo__budget_take(&leaf, 200, 101));
    assert_int_equal(leaf.refused, 1);
    assert_int_equal(tree_of(&grand), 200);
    assert_true(axo__budget_take(&other, 0, 500));
    assert_true(axo__budget_take(&grand, 0, 300));
    assert_int_equal(axo__budget_room(&leaf, 200), 0);
    assert_int_equal(axo__budget_room(&other, 100), 0);
    assert_false(axo__budget_take(&leaf, 200, 1)); /* the child has room, the top has none */
    assert_int_equal(tree_of(&child), 200);
    assert_int_equal(tree_of(&grand), 1000);
    axo__budget_give(&other, 500);
    assert_int_equal(axo__budget_room(&leaf, 200), 100);
    assert_true(axo__budget_take(&leaf, 200, 100));
    axo__budget_give(&leaf, 300);
    axo__budget_give(&grand, 300);
    assert_int_equal(tree_of(&grand), 0);
    assert_int_equal(tree_of(&child), 0);
}

enum { THREADS = 4, ROUNDS = 20000 };

typedef struct crowd {
    axo__budget top;
    axo__a64 most;
    axo__a64 refused;
} crowd;

static void crowd_run(void *arg, uint32_t index)
{
    crowd *all = arg;
    axo__budget mine = {.above = &all->top};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        size_t size = i % 40 + index + 1;
        if (!axo__budget_take(&mine, 0, size)) {
            (void)axo__a64_add_relaxed(&all->refused, 1);
            continue;
        }
        uint64_t held = tree_of(&all->top);
        if (held > all->top.tree_max)
            (void)axo__a64_add_relaxed(&all->most, 1);
        axo__budget_give(&mine, size);
    }
}

static void never_beyond_with_threads(void **state)
{
    static crowd all;
    all.top.tree_max = 60;
    unit_run_threads(THREADS, crowd_run, &all);
    assert_int_equal(axo__a64_load_relaxed(&all.most), 0);
    assert_int_equal(tree_of(&all.top), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(none_is_any),
    cmocka_unit_test(of_an_instance),
    cmocka_unit_test(of_a_subtree),
    cmocka_unit_test(never_beyond_with_threads),
};
TEST_MAIN(tests)
