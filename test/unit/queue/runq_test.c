/* runq_test.c - a worker's local queue: bound, order, the owner and thieves at once. */
#include "unit/unit.h"

#include "queue/runq.h"

enum { SIZE = 16, THIEVES = 3, ENTRIES = 200000, RINGS = 1000 };

static void first_in_first_out_and_full(void **state)
{
    axo__runq runq;
    axo__spmc_slot slots[SIZE];
    int entries[SIZE];
    axo__runq_init(&runq, slots, SIZE);
    assert_null(axo__runq_take_any(&runq));
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < SIZE - 1; i++) {
            assert_int_equal(axo__runq_count_any(&runq), i);
            assert_true(axo__runq_push_owner(&runq, &entries[i]));
        }
        assert_false(axo__runq_push_owner(&runq, &entries[SIZE - 1]));
        assert_int_equal(axo__runq_count_any(&runq), SIZE - 1);
        for (int i = 0; i < SIZE - 1; i++)
            assert_ptr_equal(axo__runq_take_any(&runq), &entries[i]);
        assert_null(axo__runq_take_any(&runq));
        assert_int_equal(axo__runq_count_any(&runq), 0);
    }
}

/* Entries keep their order across rings; the first ring is fit for use again. */
static void a_chain_keeps_the_order(void **state)
{
    axo__runq runq;
    axo__spmc_slot slots[SIZE];
    axo__spmc_slot larger_slots[2 * SIZE];
    axo__runq_ring larger;
    int entries[3 * SIZE];
    axo__runq_init(&runq, slots, SIZE);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < SIZE - 1; i++)
            assert_true(axo__runq_push_owner(&runq, &entries[i]));
        assert_null(axo__runq_drop_owner(&runq));
        axo__runq_ring_init(&larger, larger_slots, 2 * SIZE);
        axo__runq_extend_owner(&runq, &larger);
        for (int i = SIZE - 1; i < 3 * SIZE - 2; i++)
            assert_true(axo__runq_push_owner(&runq, &entries[i]));
        assert_false(axo__runq_push_owner(&runq, &entries[0]));
        assert_int_equal(axo__runq_count_any(&runq), 3 * SIZE - 2);
        for (int i = 0; i < SIZE - 1; i++) {
            assert_null(axo__runq_drop_owner(&runq)); /* it has entries */
            assert_ptr_equal(axo__runq_take_any(&runq), &entries[i]);
        }
        assert_false(axo__runq_is_empty_any(&runq)); /* though its oldest ring is */
        assert_ptr_equal(axo__runq_drop_owner(&runq), &runq.home);
        assert_null(axo__runq_drop_owner(&runq)); /* it is the last one */
        for (int i = SIZE - 1; i < 3 * SIZE - 2; i++)
            assert_ptr_equal(axo__runq_take_any(&runq), &entries[i]);
        assert_true(axo__runq_is_empty_any(&runq));
        axo__runq_extend_owner(&runq, &runq.home);
        assert_true(axo__runq_is_empty_any(&runq)); /* two empty rings */
        assert_null(axo__runq_take_any(&runq));
        assert_ptr_equal(axo__runq_drop_owner(&runq), &larger);
        assert_null(axo__runq_take_any(&runq));
    }
}

typedef struct runq_world {
    axo__runq runq;
    axo__spmc_slot slots[SIZE];
    axo__runq_ring rings[RINGS];
    axo__spmc_slot ring_slots[RINGS][2 * SIZE];
    uint32_t extended;
    axo__a32 *taken;
    axo__a32 got;
    axo__a32 wrong;
    axo__a32 full; /* times the owner found no room */
} runq_world;

/* Each taker sees rising numbers: the queue is first in first out for all of them together. */
static void take_one(runq_world *world, uint32_t *last)
{
    axo__a32 *entry = axo__runq_take_any(&world->runq);
    if (entry == NULL)
        return;
    uint32_t number = (uint32_t)(entry - world->taken) + 1;
    if (number <= *last || axo__a32_xchg_acq_rel(entry, 1) != 0)
        (void)axo__a32_add_relaxed(&world->wrong, 1);
    *last = number;
    (void)axo__a32_add_relaxed(&world->got, 1);
}

/* A new ring each time. */
static void extend(runq_world *world)
{
    if (world->extended == RINGS)
        return;
    uint32_t ring = world->extended++;
    axo__runq_ring_init(&world->rings[ring], world->ring_slots[ring], 2 * SIZE);
    axo__runq_extend_owner(&world->runq, &world->rings[ring]);
}

static void own_or_steal(void *arg, uint32_t index)
{
    runq_world *world = arg;
    uint32_t last = 0;
    for (uint32_t i = 0; index == 0 && i < ENTRIES;) {
        if (axo__runq_push_owner(&world->runq, &world->taken[i])) {
            i++;
        } else {
            (void)axo__a32_add_relaxed(&world->full, 1);
            extend(world);
            take_one(world, &last);
        }
        if (i % 3 == 0)
            take_one(world, &last);
        if (i % 8 == 0)
            (void)axo__runq_drop_owner(&world->runq);
    }
    while (axo__a32_load_relaxed(&world->got) < ENTRIES) {
        take_one(world, &last);
        if (axo__runq_count_any(&world->runq) == 0)
            (void)sched_yield();
    }
}

static void every_entry_is_taken_once(void **state)
{
    static runq_world world;
    world.taken = calloc(ENTRIES, sizeof *world.taken);
    assert_non_null(world.taken);
    axo__runq_init(&world.runq, world.slots, SIZE);
    unit_run_threads(THIEVES + 1, own_or_steal, &world);
    assert_true(world.extended > 0);
    assert_int_equal(axo__a32_load_relaxed(&world.wrong), 0);
    assert_int_equal(axo__a32_load_relaxed(&world.got), ENTRIES);
    assert_null(axo__runq_take_any(&world.runq));
    for (uint32_t i = 0; i < ENTRIES; i++)
        assert_int_equal(axo__a32_load_relaxed(&world.taken[i]), 1);
    free(world.taken);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(first_in_first_out_and_full),
    cmocka_unit_test(a_chain_keeps_the_order),
    cmocka_unit_test(every_entry_is_taken_once),
};
TEST_MAIN(tests)
