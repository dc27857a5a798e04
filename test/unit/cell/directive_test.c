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
    axo__directives_restart_own(&word);
    assert_true((look(&word) & UINT32_MAX) == (AXO__STOP | AXO__RESUME_OWN | AXO__RESTART_OWN));
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
    axo__directives_take(&word, AXO__STOP, 0);
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
            axo__directives_take(&word, taken, 0);
            assert_true((look(&word) & UINT32_MAX) == (ALL_BITS & ~taken));
            assert_int_equal(axo__directives_delta(look(&word)), deltas[d]);
            axo__directives_take(&word, 0, deltas[d]);
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
    axo__directives_take(&word, 0, seen);
    assert_int_equal(axo__directives_delta(look(&word)), -3);
    assert_true((look(&word) & UINT32_MAX) == AXO__STOP);
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
        axo__directives_take(&world->word, word & (AXO__STOP | AXO__RESTART_OWN), delta);
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
    cmocka_unit_test(nothing_is_lost_between_threads),
};
UNIT_MAIN(tests)
