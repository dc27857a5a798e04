/* newborn_test.c - a worker's newborns: order, room, what thieves see, none lost and none twice. */
#include "unit/unit.h"

#include "sched/claim.h"
#include "sched/newborn.h"

enum { CELLS = 20000, THIEVES = 3 };

static struct {
    axo__core core;
    axo__sched sched;
    axo__worker worker;
    axo__worker thieves[THIEVES];
    axo__cell cells[CELLS];
    axo__a32 claimed[CELLS];
    axo__a32 over;
} world;

static void world_open(uint32_t cells)
{
    memset((void *)&world, 0, sizeof world);
    world.core.sched = &world.sched;
    world.worker.local.core = &world.core;
    world.worker.sched = &world.sched;
    world.worker.own = &world.sched;
    for (uint32_t i = 0; i < THIEVES; i++) {
        world.thieves[i].local.core = &world.core;
        world.thieves[i].sched = &world.sched;
    }
    for (uint32_t i = 0; i < cells; i++) {
        axo__state_init(&world.cells[i].state, 0);
        axo__state_birth(&world.cells[i].state);
    }
}

static void push(uint32_t i)
{
    assert_true(axo__newborn_push_owner(&world.worker, &world.cells[i]));
}

static void the_youngest_first(void **state)
{
    world_open(AXO__NEWBORNS);
    for (uint32_t i = 0; i < AXO__NEWBORNS; i++) {
        assert_int_equal(axo__newborn_count_any(&world.worker), i);
        push(i);
    }
    assert_false(axo__newborn_push_owner(&world.worker, &world.cells[0]));
    for (uint32_t i = AXO__NEWBORNS; i-- > 0;)
        assert_ptr_equal(axo__newborn_youngest_owner(&world.worker), &world.cells[i]);
    assert_null(axo__newborn_youngest_owner(&world.worker));
    assert_int_equal(axo__newborn_count_any(&world.worker), 0);
}

static void the_oldest_when_asked_and_for_thieves(void **state)
{
    world_open(4);
    for (uint32_t i = 0; i < 4; i++)
        push(i);
    assert_ptr_equal(axo__newborn_oldest_owner(&world.worker), &world.cells[0]);
    assert_ptr_equal(axo__newborn_take_any(&world.worker, false), &world.cells[1]);
    assert_int_equal(axo__newborn_count_any(&world.worker), 2);
    assert_ptr_equal(axo__newborn_take_any(&world.worker, true), &world.cells[2]);
    assert_ptr_equal(axo__newborn_youngest_owner(&world.worker), &world.cells[3]);
    assert_null(axo__newborn_take_any(&world.worker, true));
    assert_null(axo__newborn_oldest_owner(&world.worker));
}

/* The short push is for an entry of which nobody has to be told: not for the first one, which the
 * worker has to look for, nor for the one that makes them many, nor while a worker is parked, nor
 * in a worker without queues. */
static void a_push_without_an_offer(void **state)
{
    world_open(AXO__NEWBORNS + AXO__STEAL_MIN);
    axo__worker *worker = &world.worker;
    uint32_t next = 0;
    assert_false(axo__newborn_push_plain(worker, &world.cells[next]));
    push(next++);
    if (AXO__NEWBORNS > 2 * AXO__STEAL_MIN) {
        axo__a32_store_relaxed(&world.sched.parked, 1);
        assert_false(axo__newborn_push_plain(worker, &world.cells[next]));
        axo__a32_store_relaxed(&world.sched.parked, 0);
        worker->attention |= AXO__LOOK_FOREIGN;
        assert_false(axo__newborn_push_plain(worker, &world.cells[next]));
        worker->attention &= ~(uint32_t)AXO__LOOK_FOREIGN;
        while (next < AXO__STEAL_MIN - 1) {
            assert_true(axo__newborn_push_plain(worker, &world.cells[next]));
            assert_int_equal(axo__newborn_count_any(worker), ++next);
        }
        assert_false(axo__newborn_push_plain(worker, &world.cells[next]));
        push(next++);
        /* A thief has taken the oldest: one more makes them many again. */
        assert_ptr_equal(axo__newborn_take_any(worker, false), &world.cells[0]);
        assert_false(axo__newborn_push_plain(worker, &world.cells[next]));
    }
    while (next < AXO__NEWBORNS)
        push(next++);
    assert_int_equal(axo__newborn_count_any(worker),
                     AXO__NEWBORNS > 2 * AXO__STEAL_MIN ? next - 1 : next);
    assert_false(axo__newborn_push_plain(worker, &world.cells[next])); /* the array is full */
}

/* What a thief has left as NULL makes room again, and nothing is hidden afterwards. */
static void room_behind_thieves(void **state)
{
    world_open(4 * AXO__NEWBORNS);
    uint32_t next = 0;
    uint32_t oldest = 0;
    while (next < AXO__NEWBORNS)
        push(next++);
    while (next < 4 * AXO__NEWBORNS) {
        assert_ptr_equal(axo__newborn_take_any(&world.worker, false), &world.cells[oldest++]);
        push(next++);
        assert_int_equal(axo__newborn_count_any(&world.worker), AXO__NEWBORNS);
    }
    while (oldest < next)
        assert_ptr_equal(axo__newborn_take_any(&world.worker, false), &world.cells[oldest++]);
    assert_int_equal(axo__newborn_count_any(&world.worker), 0);
    assert_null(axo__newborn_youngest_owner(&world.worker));
}

/* A thief may say late how far it has come: then a count misses some, a look at all does not, and
 * the worker has them; what comes when it has none is seen again. */
static void a_thief_that_says_late_how_far_it_is(void **state)
{
    world_open(8);
    push(0);
    push(1);
    axo__a32_store_relaxed(&world.worker.newborn_taken, 2);
    assert_int_equal(axo__newborn_count_any(&world.worker), 0);
    assert_null(axo__newborn_take_any(&world.worker, false));
    assert_ptr_equal(axo__newborn_take_any(&world.worker, true), &world.cells[0]);
    axo__a32_store_relaxed(&world.worker.newborn_taken, 3);
    assert_ptr_equal(axo__newborn_youngest_owner(&world.worker), &world.cells[1]);
    assert_null(axo__newborn_youngest_owner(&world.worker));
    push(2);
    assert_int_equal(axo__newborn_count_any(&world.worker), 1);
    assert_ptr_equal(axo__newborn_take_any(&world.worker, false), &world.cells[2]);
}

/* One that has run meanwhile, by another entry, is passed over. */
static void a_stale_entry_is_passed_over(void **state)
{
    axo__mpsc_node *lane = NULL;
    world_open(3);
    for (uint32_t i = 0; i < 3; i++)
        push(i);
    assert_int_equal(axo__state_claim(&world.cells[2].state, &lane), AXO__CLAIM_URGENT);
    assert_int_equal(axo__state_claim(&world.cells[0].state, &lane), AXO__CLAIM_URGENT);
    assert_ptr_equal(axo__newborn_youngest_owner(&world.worker), &world.cells[1]);
    assert_null(axo__newborn_oldest_owner(&world.worker));
}

/* ---- the worker and thieves at once ---- */

static void claimed(axo__cell *cell)
{
    (void)axo__a32_add_relaxed(&world.claimed[cell - world.cells], 1);
}

static void steal(axo__worker *thief, uint32_t index)
{
    while (axo__a32_load_acquire(&world.over) == 0) {
        axo__cell *cell = axo__newborn_take_any(&world.worker, index == 0);
        if (cell != NULL && axo__worker_claim(thief, cell) != NULL)
            claimed(cell);
        else
            (void)sched_yield();
    }
}

static void own(void)
{
    axo__random random;
    axo__random_init(&random, 1, 2);
    for (uint32_t i = 0; i < CELLS;) {
        uint32_t count = axo__random_below(&random, 40);
        while (count-- > 0 && i < CELLS && axo__newborn_push_owner(&world.worker, &world.cells[i]))
            i++;
        for (count = axo__random_below(&random, 40); count > 0; count--) {
            axo__cell *cell = axo__random_below(&random, 8) == 0
                                  ? axo__newborn_oldest_owner(&world.worker)
                                  : axo__newborn_youngest_owner(&world.worker);
            if (cell != NULL)
                claimed(cell);
        }
    }
    axo__cell *cell;
    while ((cell = axo__newborn_youngest_owner(&world.worker)) != NULL)
        claimed(cell);
    axo__a32_store_release(&world.over, 1);
}

static void own_or_steal(void *arg, uint32_t index)
{
    if (index == THIEVES)
        own();
    else
        steal(&world.thieves[index], index);
}

static void each_is_claimed_once(void **state)
{
    world_open(CELLS);
    unit_run_threads(THIEVES + 1, own_or_steal, NULL);
    for (uint32_t i = 0; i < CELLS; i++)
        assert_int_equal(axo__a32_load_relaxed(&world.claimed[i]), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_youngest_first),
    cmocka_unit_test(the_oldest_when_asked_and_for_thieves),
    cmocka_unit_test(room_behind_thieves),
    cmocka_unit_test(a_push_without_an_offer),
    cmocka_unit_test(a_thief_that_says_late_how_far_it_is),
    cmocka_unit_test(a_stale_entry_is_passed_over),
    cmocka_unit_test(each_is_claimed_once),
};
TEST_MAIN(tests)
