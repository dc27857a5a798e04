/* notice_step_test.c - the end of a child that its parent watches, at each of its steps: whenever
 * the parent has a turn meanwhile, it has forgotten the child before it is told (DW-13), and is
 * told once; who watched it too has been told before the parent forgets it. */
#include "unit/step.h"

#include "cell/table.c" /* it may be closed and be found still */
#include "super/gone.c"
#include "super/stop.c"

#include "sched/ready.h"
#include "unit/super/end_world.h"

#define NOTICE_STEPS_MAX 400

static struct {
    end_world it;
    axo__cell *parent;
    axo__cell *child;
    axo_ref child_ref;
    axo__cell *other;  /* watches it too */
    bool watched;
    uint32_t notices;
    uint32_t known;   /* children, when it was told */
    uint32_t untold;  /* the other one had not been told when the parent forgot the child */
} world;

static void watch_by(axo__cell *watcher)
{
    if ((axo__state_look(&watcher->state) & AXO__RUNNING) != 0)
        return; /* its child has borrowed it: it has no turn now */
    end_watch(end_worker(&world.it, 1), watcher, world.child_ref, NULL);
    world.watched = true;
}

static void parent_watches(void)
{
    watch_by(world.parent);
}

static void parent_turns(void)
{
    end_turn(end_worker(&world.it, 1), world.parent);
}

static void world_trace(void *user, const axo_event *event)
{
    if (event->kind == AXO_EV_CHILD_GONE && !axo__stack_has_any(&world.other->system))
        world.untold++;
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_int_equal(message->tag, AXO_TERMINATED);
    if (!axo_ref_equal(axo_self(ctx), axo__cell_ref(world.parent)))
        return AXO_OK;
    world.notices++;
    world.known += axo_child_count(ctx);
    return AXO_OK;
}

static void world_open(void)
{
    memset((void *)&world, 0, sizeof world);
    end_open(&world.it);
    world.it.receive = world_receive;
    world.parent = end_spawn(&world.it, end_spawn(&world.it, world.it.root, NULL), NULL);
    world.child = end_spawn(&world.it, world.parent, NULL);
    world.child_ref = axo__cell_ref(world.child);
    world.other = end_spawn(&world.it, world.it.root, NULL);
}

/* The parent watches before step `watch_at` of the end, or before all of it, and has a turn before
 * step `at`. */
static uint32_t ends_at(uint32_t watch_at, uint32_t at)
{
    world_open();
    watch_by(world.other);
    world.watched = false;
    if (watch_at == STEP_NEVER)
        watch_by(world.parent);
    end_turn(end_worker(&world.it, 0), world.child);
    axo__sched_stop(end_worker(&world.it, 0), world.child);
    world.it.core.trace = world_trace;
    axo__a64_store_relaxed(&world.it.core.told_kinds, UINT64_MAX);
    axo__worker_notice(end_worker(&world.it, 0));
    if (watch_at == STEP_NEVER)
        step_begin(at, parent_turns);
    else
        step_begin_two(watch_at, parent_watches, at, parent_turns);
    end_turn(end_worker(&world.it, 0), world.child);
    uint32_t steps = step_end();
    axo__a64_store_relaxed(&world.it.core.told_kinds, 0);
    axo__worker_notice(end_worker(&world.it, 0));
    end_turn(end_worker(&world.it, 1), world.parent);
    axo__gone_expire(&end_worker(&world.it, 1)->local, world.child);
    end_turn(end_worker(&world.it, 1), world.parent);
    assert_int_equal(world.notices, world.watched ? 1 : 0);
    assert_int_equal(world.known, 0);
    assert_int_equal(world.untold, 0);
    end_close(&world.it);
    return steps;
}

static uint32_t watched_ends_at(uint32_t at)
{
    return ends_at(STEP_NEVER, at);
}

static void a_turn_of_the_parent_at_every_step_of_an_end(void **state)
{
    assert_in_range(step_each(watched_ends_at, NOTICE_STEPS_MAX), 11, NOTICE_STEPS_MAX);
}

static void a_watch_at_every_step_of_an_end(void **state)
{
    assert_in_range(step_each_two(ends_at, NOTICE_STEPS_MAX), 11, NOTICE_STEPS_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_turn_of_the_parent_at_every_step_of_an_end),
    cmocka_unit_test(a_watch_at_every_step_of_an_end),
};
TEST_MAIN(tests)
