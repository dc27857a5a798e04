/* watch_step_test.c - the watched one ends at each step of a watch: who watches is told in its next
 * turn, whatever the other's parent does meanwhile, and no grace period is waited for (DW-18). */
#include "unit/step.h"

#include "super/watch.c"
#include "super/gone.h"

#include "sched/ready.h"
#include "unit/super/end_world.h"

static struct {
    end_world it;
    axo__cell *parent;
    axo__cell *child;
    axo_ref child_ref;
    uint32_t notices;
    uint32_t known; /* children, when it was told */
    bool ended;
} world;

static void world_end_child(void)
{
    if (!world.ended)
        end_turn(end_worker(&world.it, 1), world.child);
    world.ended = true;
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_int_equal(message->tag, AXO_TERMINATED);
    world.notices++;
    world.known += axo_child_count(ctx);
    return AXO_OK;
}

/* busy: the parent has work of its own, and comes to nothing. */
static uint32_t watched_at(uint32_t at, bool by_parent, bool busy)
{
    memset((void *)&world, 0, sizeof world);
    end_open(&world.it);
    world.it.receive = world_receive;
    axo__cell *above = end_spawn(&world.it, world.it.root, NULL);
    world.parent = end_spawn(&world.it, above, NULL);
    world.child = end_spawn(&world.it, world.parent, NULL);
    world.child_ref = axo__cell_ref(world.child);
    axo__cell *watcher = by_parent ? world.parent : end_spawn(&world.it, above, NULL);
    axo__sched_stop(end_worker(&world.it, 1), world.child);
    if (busy)
        (void)axo__state_announce_user(&world.parent->state);
    step_begin(at, world_end_child);
    end_watch(end_worker(&world.it, 0), watcher, world.child_ref, NULL);
    uint32_t steps = step_end();
    world_end_child();
    end_turn(end_worker(&world.it, 0), watcher);
    assert_int_equal(world.notices, 1);
    assert_int_equal(world.known, 0);
    end_turn(end_worker(&world.it, 0), world.parent);
    axo__gone_expire(&end_worker(&world.it, 0)->local, world.child);
    end_turn(end_worker(&world.it, 0), watcher);
    assert_int_equal(world.notices, 1);
    end_close(&world.it);
    return steps;
}

static void watch_all(bool by_parent, bool busy)
{
    uint32_t steps = 1;
    for (uint32_t at = 0; at <= steps; at++)
        steps = watched_at(at, by_parent, busy);
    assert_true(steps > 5);
}

static void it_ends_at_every_step_of_a_watch(void **state)
{
    watch_all(false, false);
}

static void it_ends_and_its_parent_is_busy(void **state)
{
    watch_all(false, true);
}

static void its_parent_watches(void **state)
{
    watch_all(true, false);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_ends_at_every_step_of_a_watch),
    cmocka_unit_test(it_ends_and_its_parent_is_busy),
    cmocka_unit_test(its_parent_watches),
};
TEST_MAIN(tests)
