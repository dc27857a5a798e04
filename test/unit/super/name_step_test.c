/* name_step_test.c - a child that ends while a callback of its parent runs: at whatever step of its
 * end the parent looks, axo_spawn, axo_child, axo_children and axo_spawn_or_get say the same, and
 * what one of them has said of the name holds until the callback returns. */
#include "unit/step.h"

#include "super/gone.c"
#include "super/lane.c"
#include "super/stop.c"

#include <axo/find.h>

#include "sched/ready.h"
#include "unit/super/end_world.h"

enum { STEPS_MAX = 400 };

/* What the callback does before its child ends. */
typedef enum name_plan { NOTHING, STOPS, FINDS, FAILS_TO_SPAWN, GETS, PLANS } name_plan;

static struct {
    end_world it;
    axo__cell *parent;
    axo__cell *child;
    axo_ref ref;     /* of the name's owner */
    axo_ref stopped; /* the child, once the callback has stopped it */
    name_plan plan;
    bool seen; /* the callback has seen the name taken */
    bool free; /* or free: and has taken it */
} world;

static axo_ctx *ctx(void)
{
    return (axo_ctx *)(void *)world.parent;
}

static axo_status try_spawn(axo_ref *out)
{
    axo_props props = AXO_PROPS(.cls = &end_class, .name = "child");
    return axo_spawn(ctx(), &props, out);
}

static bool is_listed(axo_ref ref)
{
    axo_ref all[4];
    uint32_t count = axo_children(ctx(), all, 4);
    bool found = false;
    assert_int_equal(count, axo_child_count(ctx()));
    assert_in_range(count, 1, 2);
    for (uint32_t i = 0; i < count; i++)
        found = found || axo_ref_equal(all[i], ref);
    return found;
}

/* The name has an owner, and all agree who that is. */
static void expect_taken(axo_ref ref)
{
    axo_props props = AXO_PROPS(.cls = &end_class, .name = "child");
    axo_ref out;
    bool created = true;
    assert_int_equal(try_spawn(&out), AXO_EEXIST);
    assert_true(axo_ref_is_none(out));
    assert_true(axo_ref_equal(axo_child(ctx(), "child"), ref));
    assert_true(is_listed(ref));
    axo_status status = axo_spawn_or_get(ctx(), &props, &out, &created);
    assert_true(status == AXO_OK || status == AXO_EEXIST);
    assert_true(status == AXO_EEXIST || !axo_ref_equal(ref, world.stopped));
    assert_true(axo_ref_equal(out, ref) && !created);
}

static void expect_taken_still(bool unused)
{
    expect_taken(world.ref);
}

/* By axo_child first, or by axo_spawn first. */
static void look(bool by_child)
{
    axo_ref found = by_child ? axo_child(ctx(), "child") : axo_ref_none();
    axo_ref out = axo_ref_none();
    axo_status status = by_child && !axo_ref_is_none(found) ? AXO_EEXIST : try_spawn(&out);
    if (status == AXO_OK) {
        assert_false(world.seen);
        assert_true(!by_child || axo_ref_is_none(found));
        world.free = true;
        world.ref = out;
    } else {
        assert_int_equal(status, AXO_EEXIST);
    }
    world.seen = true;
    expect_taken(world.ref);
}

/* On the parent's worker, in its callback. */
static void in_callback(void (*fn)(bool), bool arg)
{
    axo__worker *before = axo__self;
    axo__self = end_worker(&world.it, 0);
    fn(arg);
    axo__self = before;
}

static void look_now(void)
{
    in_callback(look, (step_plan.now + step_plan.at[0]) % 2 == 0);
}

static void begin_plan(void)
{
    axo_props props = AXO_PROPS(.cls = &end_class, .name = "child");
    axo_ref out;
    bool created;
    world.seen = world.plan != NOTHING;
    if (world.plan == STOPS) {
        assert_int_equal(axo_stop(ctx(), world.ref), AXO_OK);
        world.stopped = world.ref;
    }
    if (world.plan == FINDS)
        assert_true(axo_ref_equal(axo_child(ctx(), "child"), world.ref));
    if (world.plan == FAILS_TO_SPAWN)
        assert_int_equal(try_spawn(&out), AXO_EEXIST);
    if (world.plan == GETS)
        assert_int_equal(axo_spawn_or_get(ctx(), &props, &out, &created), AXO_OK);
}

static void end_all(void)
{
    axo__cell *last = axo__table_find(&world.it.core.table, world.ref);
    assert_non_null(last);
    axo__sched_stop(end_worker(&world.it, 0), last);
    end_turn(end_worker(&world.it, 0), last);
    end_turn(end_worker(&world.it, 0), world.parent);
    assert_int_equal(axo__cell_child_count(world.parent), 0);
    axo__gone_expire(&end_worker(&world.it, 0)->local, world.child);
    axo__gone_expire(&end_worker(&world.it, 0)->local, last);
    end_close(&world.it);
}

/* The next callback finds the name free, but for one that it was given to in this one. */
static void next_callback(void)
{
    axo__worker *worker = end_worker(&world.it, 0);
    axo_ref out;
    worker->messages_left--;
    axo__self = worker;
    if (!world.free) {
        assert_true(axo_ref_is_none(axo_child(ctx(), "child")));
        assert_int_equal(try_spawn(&out), AXO_OK);
        world.ref = out;
    }
    expect_taken(world.ref);
}

static uint32_t child_ends(name_plan plan, uint32_t at, uint32_t gap)
{
    memset((void *)&world, 0, sizeof world);
    end_open(&world.it);
    world.parent = end_spawn(&world.it, world.it.root, NULL);
    world.child = end_spawn(&world.it, world.parent, "child");
    world.ref = axo__cell_ref(world.child);
    world.plan = plan;
    end_enter(end_worker(&world.it, 0), world.parent);
    end_worker(&world.it, 0)->messages_left = 10;
    begin_plan();
    if (plan != STOPS)
        axo__sched_stop(end_worker(&world.it, 1), world.child);
    step_begin_two(at, look_now, at + gap, look_now);
    end_turn(end_worker(&world.it, 1), world.child);
    uint32_t steps = step_end();
    assert_int_equal(world.child->phase, AXO__PHASE_GONE);
    if (world.seen)
        in_callback(expect_taken_still, false);
    next_callback();
    end_leave(end_worker(&world.it, 0));
    end_turn(end_worker(&world.it, 0), world.parent);
    end_all();
    return steps;
}

static void all_say_the_same_at_every_step(void **state)
{
    for (uint32_t plan = 0; plan < PLANS; plan++) {
        uint32_t steps = 1;
        for (uint32_t at = 0; at < steps; at++) {
            for (uint32_t gap = 1; gap < 8; gap++)
                steps = child_ends((name_plan)plan, at, gap);
        }
        assert_true(steps > 10 && steps < STEPS_MAX);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(all_say_the_same_at_every_step),
};
TEST_MAIN(tests)
