/* directive_test.c - what a parent wants of a child, in one word: sums, bits, order, races. */
#include "unit/unit.h"

#include "cell/directive.h"

#define ALL_BITS UINT64_C(127)

static uint64_t look(const axo__directives *word)
{
    return axo__directives_look(word);
}

static void suspensions_and_resumptions_are_summed(void **state)
{
    static const int32_t deltas[] = {1, 1, -1, -1, -1, 5, -5, INT32_MAX, -INT32_MAX, 3};
    axo__directives word = {0};
    int64_t sum = 0;
    axo__directives_stop(&word);
    for (size_t i = 0; i < sizeof deltas / sizeof deltas[0]; i++) {
        axo__directives_delta_add(&word, deltas[i]);
        sum += deltas[i];
        assert_int_equal(axo__directives_delta(look(&word)), (int32_t)sum);
        assert_true((look(&word) & UINT32_MAX) == AXO__STOP);
    }
}

static void bits_are_set_beside_the_sum(void **state)
{
    axo__directives word = {0};
    axo__directives_delta_add(&word, -2);
    axo__directives_stop(&word);
    axo__directives_stop(&word);
    assert_true((look(&word) & UINT32_MAX) == AXO__STOP);
    axo__directives_resume_own(&word);
    assert_true((look(&word) & UINT32_MAX) == (AXO__STOP | AXO__RESUME_OWN));
    (void)axo__directives_take(&word, AXO__RESUME_OWN, 0);
    axo__directives_restart_own(&word);
    assert_true((look(&word) & UINT32_MAX) == (AXO__STOP | AXO__RESTART_OWN));
    assert_int_equal(axo__directives_delta(look(&word)), -2);
}

/* LT-06: who wants it stopped is remembered. */
static void a_stop_by_the_parent_is_another_bit(void **state)
{
    axo__directives word = {0};
    axo__directives_stop_parent(&word);
    assert_true(look(&word) == AXO__STOP_PARENT);
    axo__directives_stop(&word);
    assert_true(look(&word) == AXO__STOPS);
    axo__directives_delta_add(&word, 3);
    (void)axo__directives_take(&word, AXO__STOP, 0);
    assert_true((look(&word) & UINT32_MAX) == AXO__STOP_PARENT);
    assert_int_equal(axo__directives_delta(look(&word)), 3);
}

/* RR-07: which of the two restarts came first is remembered. */
static void the_order_of_two_restarts_is_kept(void **state)
{
    axo__directives word = {0};
    axo__directives_restart_own(&word);
    assert_true(look(&word) == AXO__RESTART_OWN);
    axo__a64_store_relaxed(&word, AXO__RESTART_PARENT);
    axo__directives_restart_own(&word);
    assert_true(look(&word) ==
                (AXO__RESTART_PARENT | AXO__RESTART_OWN | AXO__PARENT_FIRST));
}

static void take_clears_what_it_is_told_and_nothing_else(void **state)
{
    static const int32_t deltas[] = {0, 1, -1, 7, -7, INT32_MAX, INT32_MIN + 1};
    axo__directives word = {0};
    for (uint64_t bits = 0; bits <= ALL_BITS; bits++) {
        for (size_t d = 0; d < sizeof deltas / sizeof deltas[0]; d++) {
            uint64_t taken = bits & UINT64_C(21);
            axo__a64_store_relaxed(&word, ALL_BITS);
            axo__directives_delta_add(&word, deltas[d]);
            (void)axo__directives_take(&word, taken, 0);
            assert_true((look(&word) & UINT32_MAX) == (ALL_BITS & ~taken));
            assert_int_equal(axo__directives_delta(look(&word)), deltas[d]);
            (void)axo__directives_take(&word, 0, deltas[d]);
            assert_true(look(&word) == (ALL_BITS & ~taken));
        }
    }
}

/* What is added between a look and its take stays. */
static void what_comes_late_is_not_taken(void **state)
{
    axo__directives word = {0};
    axo__directives_delta_add(&word, 2);
    int32_t seen = axo__directives_delta(look(&word));
    axo__directives_delta_add(&word, -3);
    axo__directives_stop(&word);
    (void)axo__directives_take(&word, 0, seen);
    assert_int_equal(axo__directives_delta(look(&word)), -3);
    assert_true((look(&word) & UINT32_MAX) == AXO__STOP);
}

/* A restart that waits is merged with another that answers the child's failure too, after the child
 * has looked: the take says so, or the failure would never be answered (RR-04). */
static void a_take_says_what_it_has_cleared(void **state)
{
    uint64_t all = AXO__RESTART_PARENT | AXO__PARENT_FIRST | AXO__RESOLVE_OWN;
    axo__directives word = {0};
    uint64_t old = look(&word);
    assert_true(axo__directives_restart_parent(&word, &old, false, false));
    uint64_t seen = look(&word);
    assert_true((seen & AXO__RESOLVE_OWN) == 0);
    old = seen;
    axo__directives_delta_add(&word, 1);
    assert_false(axo__directives_restart_parent(&word, &old, true, true)); /* the word has moved */
    assert_true(axo__directives_restart_parent(&word, &old, true, true));
    uint64_t taken = axo__directives_take(&word, all, 0);
    assert_true((taken & all) == (AXO__RESTART_PARENT | AXO__RESOLVE_OWN));
    assert_int_equal(axo__directives_delta(taken), 0);
    assert_true(look(&word) == 0);
}

/* The same on two threads: each resolving restart is seen by the child. */
enum { MERGES = 20000 };

typedef struct merge_world {
    axo__directives word;
    axo__a32 resolved;
    axo__a32 restarts;
} merge_world;

static void merge_tell(merge_world *world, bool resolve)
{
    uint64_t old = look(&world->word);
    bool merge;
    do {
        merge = (old & AXO__RESTART_PARENT) != 0;
    } while (!axo__directives_restart_parent(&world->word, &old, resolve, merge));
}

static void merge_roles(void *arg, uint32_t index)
{
    merge_world *world = arg;
    for (uint32_t i = 1; index == 0 && i <= MERGES; i++) {
        merge_tell(world, false);
        merge_tell(world, true);
        while (axo__a32_load_acquire(&world->resolved) != i)
            (void)sched_yield();
    }
    while (index == 1 && axo__a32_load_acquire(&world->resolved) != MERGES) {
        if ((look(&world->word) & AXO__RESTART_PARENT) == 0) {
            (void)sched_yield();
            continue;
        }
        uint64_t bits = AXO__RESTART_PARENT | AXO__PARENT_FIRST | AXO__RESOLVE_OWN;
        uint64_t taken = axo__directives_take(&world->word, bits, 0);
        (void)axo__a32_add_acq_rel(&world->restarts, 1);
        if ((taken & AXO__RESOLVE_OWN) != 0)
            (void)axo__a32_add_acq_rel(&world->resolved, 1);
    }
}

static void no_answer_is_lost_in_a_merge(void **state)
{
    merge_world world;
    memset(&world, 0, sizeof world);
    unit_run_threads(2, merge_roles, &world);
    int32_t merges = -axo__directives_delta(look(&world.word));
    assert_int_equal(axo__a32_load_acquire(&world.restarts) + (uint32_t)merges, 2 * MERGES);
    assert_int_equal(look(&world.word) & UINT32_MAX, 0);
}

/* ---- one parent, stoppers, one child that takes ---- */

enum { ROUNDS = 5000000 };

typedef struct directive_world {
    axo__directives word;
    axo__a32 done;
    int64_t added;
    int64_t taken;
    uint32_t stops;
    uint32_t restarts_added;
    uint32_t restarts_taken;
} directive_world;

static void child(directive_world *world)
{
    for (;;) {
        bool last = axo__a32_load_acquire(&world->done) == 2;
        uint64_t word = look(&world->word);
        int32_t delta = axo__directives_delta(word);
        (void)axo__directives_take(&world->word, word & (AXO__STOP | AXO__RESTART_OWN), delta);
        world->taken += delta;
        world->stops += (word & AXO__STOP) != 0;
        world->restarts_taken += (word & AXO__RESTART_OWN) != 0;
        if (last && word == 0)
            return;
    }
}

static void roles(void *arg, uint32_t index)
{
    directive_world *world = arg;
    if (index == 0) {
        child(world);
        return;
    }
    for (int32_t i = 0; i < ROUNDS; i++) {
        if (index == 1) {
            int32_t delta = i % 5 - 1;
            axo__directives_delta_add(&world->word, delta);
            world->added += delta;
            if (i % 64 == 0 && (look(&world->word) & AXO__RESTART_OWN) == 0) {
                axo__directives_restart_own(&world->word);
                world->restarts_added++;
            }
        } else {
            axo__directives_stop(&world->word);
        }
    }
    (void)axo__a32_add_acq_rel(&world->done, 1);
}

static void nothing_is_lost_between_threads(void **state)
{
    directive_world world;
    memset(&world, 0, sizeof world);
    unit_run_threads(3, roles, &world);
    assert_int_equal(world.taken, world.added);
    assert_int_equal(world.restarts_taken, world.restarts_added);
    assert_true(world.stops >= 1);
    assert_true(look(&world.word) == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(suspensions_and_resumptions_are_summed),
    cmocka_unit_test(bits_are_set_beside_the_sum),
    cmocka_unit_test(a_stop_by_the_parent_is_another_bit),
    cmocka_unit_test(the_order_of_two_restarts_is_kept),
    cmocka_unit_test(take_clears_what_it_is_told_and_nothing_else),
    cmocka_unit_test(what_comes_late_is_not_taken),
    cmocka_unit_test(a_take_says_what_it_has_cleared),
    cmocka_unit_test(no_answer_is_lost_in_a_merge),
    cmocka_unit_test(nothing_is_lost_between_threads),
};
TEST_MAIN(tests)
