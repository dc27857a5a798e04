/* end_step_test.c - two that end together, one watching the other: at whatever step of the
 * watcher's end the other one's comes, nobody touches the record of the watch when it has been
 * given back. What a reader has found of an actor stays good until the grace period is over, an
 * unwatch leaves nothing with the target. */
#include "unit/step.h"

#include "super/gone.c"
#include "super/stop.c"

#include "sched/ready.h"
#include "unit/super/end_world.h"

#define END_STEPS_MAX 400
#define END_CLASSES 8
#define END_SIZE 64

static struct {
    end_world it;
    axo__cell *watcher;
    axo__cell *target;
    unsigned char *blocks[END_CLASSES]; /* taken as soon as the target has ended */
} world;

/* The target ends; what it has given back is used by others at once. */
static void target_ends(void)
{
    axo__worker *worker = end_worker(&world.it, 1);
    axo__sched_stop(worker, world.target);
    end_turn(worker, world.target);
    for (uint32_t i = 0; i < END_CLASSES; i++) {
        size_t size = (i + 1) * END_SIZE;
        world.blocks[i] = axo__pool_alloc(&worker->local.cache, size);
        assert_non_null(world.blocks[i]);
        memset(world.blocks[i], 0xdb, size);
    }
}

static void check_blocks(void)
{
    for (uint32_t i = 0; i < END_CLASSES; i++) {
        for (size_t k = 0; k < (i + 1) * END_SIZE; k++)
            assert_int_equal(world.blocks[i][k], 0xdb);
    }
}

static axo__cell *world_child(const char *name)
{
    axo__cell *parent = end_spawn(&world.it, world.it.root, NULL);
    return end_spawn(&world.it, parent, name);
}

static void end(uint32_t on, axo__cell *cell)
{
    axo__sched_stop(end_worker(&world.it, on), cell);
    end_turn(end_worker(&world.it, on), cell);
}

static void world_open(void)
{
    memset((void *)&world, 0, sizeof world);
    end_open(&world.it);
    world.watcher = world_child(NULL);
    world.target = world_child(NULL);
    end_watch(end_worker(&world.it, 0), world.watcher, axo__cell_ref(world.target), NULL);
    end_turn(end_worker(&world.it, 1), world.target);
}

static uint32_t both_end(uint32_t at)
{
    world_open();
    step_begin(at, target_ends);
    end(0, world.watcher);
    uint32_t steps = step_end();
    step_rest();
    check_blocks();
    end_close(&world.it);
    return steps;
}

static void watcher_and_target_end_together(void **state)
{
    assert_in_range(step_each(both_end, END_STEPS_MAX), 11, END_STEPS_MAX);
}

static void a_path_is_good_until_the_grace_period_is_over(void **state)
{
    char path[64];
    world_open();
    axo__cell *cell = world_child("reader-may-look");
    axo__cell *parent = axo__cell_parent(cell);
    end(0, cell);
    end_turn(end_worker(&world.it, 0), parent);
    assert_int_equal(axo__cell_child_count(parent), 0);
    assert_true(axo__core_path(&world.it.core, cell, path, sizeof path));
    assert_non_null(strstr(path, "/reader-may-look"));
    axo__gone_expire(&end_worker(&world.it, 0)->local, cell);
    end_close(&world.it);
}

static void an_unwatch_leaves_nothing_with_the_target(void **state)
{
    world_open();
    assert_non_null(axo__cell_extra(world.target)->watchers);
    end_unwatch(end_worker(&world.it, 0), world.watcher, axo__cell_ref(world.target));
    end_turn(end_worker(&world.it, 1), world.target);
    assert_null(axo__cell_extra(world.target)->watchers);
    end_close(&world.it);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(watcher_and_target_end_together),
    cmocka_unit_test(a_path_is_good_until_the_grace_period_is_over),
    cmocka_unit_test(an_unwatch_leaves_nothing_with_the_target),
};
TEST_MAIN(tests)
