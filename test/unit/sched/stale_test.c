/* stale_test.c - entries of cells that have ended, moved on by who does not know: none puts a node
 * of a slot that is free into an injector. */
#include "unit/unit.h"

#include "sched/claim.h"
#include "sched/find.h"
#include "sched/kinds.h"
#include "sched/ready.h"
#include "sched/steal.h"

enum { FILL = AXO__RUNQ_SIZE - 1, STALE = FILL, LIVE, CELLS };

static struct {
    axo__core core;
    axo__sched sched;
    axo__worker workers[2];
    axo__worker_slots slots[2];
    axo__seen seen[2];
    axo__cell cells[CELLS];
} world;

static axo__worker *const mine = &world.workers[0];
static axo__worker *const victim = &world.workers[1];
static axo__cell *const stale = &world.cells[STALE];
static axo__cell *const live = &world.cells[LIVE];

static void begin(axo__cell *cell)
{
    axo__state_init(&cell->state, 0);
    axo__state_birth(&cell->state);
}

/* Its entries stay where they are. */
static void end(axo__cell *cell)
{
    axo__mpsc_node *lane = NULL;
    assert_int_equal(axo__state_claim(&cell->state, &lane), AXO__CLAIM_URGENT);
    axo__state_close(&cell->state);
    assert_int_equal(axo__state_finish(&cell->state, false), AXO__FINISH_CLOSED);
}

static void *no_memory(void *user, size_t size, size_t align)
{
    return NULL;
}

static void nothing_to_free(void *user, void *block, size_t size, size_t align)
{
    fail();
}

/* Two workers; the queue of the first has no room and gets none. */
static void world_open(void)
{
    memset((void *)&world, 0, sizeof world);
    axo__heap_init(&world.core.heap,
                   &(axo_allocator){.alloc = no_memory, .free = nothing_to_free}, NULL);
    world.core.sched = &world.sched;
    world.sched.core = &world.core;
    world.sched.kind = &axo__fixed_kind;
    world.sched.workers = world.workers;
    world.sched.slots = world.slots;
    world.sched.worker_count = 2;
    axo__inject_init(&world.sched.inject, &world.sched.outside, 0);
    axo__inject_init(&world.sched.urgent, &world.sched.outside, 32);
    axo__inject_init(&world.sched.overrun, &world.sched.overruns, 0);
    for (uint32_t i = 0; i < 2; i++)
        axo__worker_init(&world.workers[i], &world.sched, i);
    mine->seen = world.seen;
    for (uint32_t i = 0; i < CELLS; i++)
        begin(&world.cells[i]);
    for (uint32_t i = 0; i < FILL; i++)
        assert_true(axo__runq_push_owner(&mine->ready, &world.cells[i]));
    assert_false(axo__runq_push_owner(&mine->ready, live));
}

/* The slot is as it was given back; its next life is in an injector once, however often an entry of
 * its last one is moved. */
static void lives_again(void)
{
    axo__mpsc_node *node = NULL;
    uint64_t nodes = AXO__INJECTED | AXO__URGENT_INJECTED;
    assert_false(axo__inject_has_any(&world.sched.inject));
    assert_true((axo__state_look(&stale->state) & (nodes | AXO__CLOSED)) == AXO__CLOSED);
    begin(stale);
    axo__sched_push_ready_any(&world.sched, stale);
    axo__sched_push_ready_any(&world.sched, stale);
    assert_int_equal(axo__inject_pop_any(&world.sched.inject, &node), AXO__INJECT_ITEM);
    assert_ptr_equal(axo__cell_of_inject(node), stale);
    assert_int_equal(axo__inject_pop_any(&world.sched.inject, &node), AXO__INJECT_EMPTY);
}

static void displaced_from_the_next_slot(void **state)
{
    world_open();
    axo__worker_push_ready(mine, stale);
    assert_ptr_equal(axo__aptr_load_relaxed(&mine->next), stale);
    end(stale);
    axo__worker_push_ready(mine, live);
    assert_ptr_equal(axo__aptr_load_relaxed(&mine->next), live);
    lives_again();
}

static void passed_over_in_the_next_slot(void **state)
{
    world_open();
    axo__worker_push_ready(mine, stale);
    end(stale);
    axo__a64_bump_owner(&mine->local.count.turns);
    mine->next_end = 1; /* the queue has its turn */
    assert_ptr_equal(axo__worker_find(mine), &world.cells[0]);
    assert_null(axo__aptr_load_relaxed(&mine->next));
    lives_again();
}

static void stolen_with_others(void **state)
{
    world_open();
    assert_true(axo__runq_push_owner(&victim->ready, live));
    for (uint32_t i = 1; i < AXO__STEAL_MIN && axo__runq_push_owner(&victim->ready, stale); i++)
        continue;
    end(stale);
    victim->seen = world.seen;
    mine->seen_at = -AXO__WATCH_MIN_NS; /* it has not moved */
    assert_ptr_equal(axo__worker_steal(mine), live);
    lives_again();
}

/* The urgent one's entries are pushed by who has just announced: it is not closed then. But once is
 * enough for both. */
static void an_urgent_entry_of_one_that_has_ended(void **state)
{
    world_open();
    end(stale);
    axo__sched_push_urgent_any(&world.sched, stale);
    assert_false(axo__inject_has_any(&world.sched.urgent));
    lives_again();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(displaced_from_the_next_slot),
    cmocka_unit_test(passed_over_in_the_next_slot),
    cmocka_unit_test(stolen_with_others),
    cmocka_unit_test(an_urgent_entry_of_one_that_has_ended),
};
TEST_MAIN(tests)
