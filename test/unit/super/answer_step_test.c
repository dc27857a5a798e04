/* answer_step_test.c - a restart at each of its steps: an answer that the parent merges into one
 * that waits is taken with it, or still there; a suspension is taken back for each. */
#include "unit/step.h"

#include "super/lane.c"
#include "super/restart.c"

#include "sched/kinds.h"
#include "sched/sched.h"
#include "sched/worker.h"
#include "unit/unit.h"

#define ANSWER_STEPS_MAX 400

static struct {
    unit_memory memory;
    axo__core core;
    axo__sched sched;
    axo__shelf shelf;
    axo__cell *cell;
    bool merged;
} world;

/* The parent, which has escalated the child's failure, restarts it as a survivor once more: that
 * answers the failure too, and takes back its suspension. */
static void parent_answers(void)
{
    axo__directives *directives = &world.cell->directives;
    uint64_t old = axo__directives_look(directives);
    world.merged = (old & AXO__RESTART_PARENT) != 0;
    if (!world.merged)
        return;
    while (!axo__directives_restart_parent(directives, &old, true, true))
        continue;
}

static void world_idle(axo__core *core)
{
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static axo__worker *world_worker(void)
{
    return &world.sched.workers[0];
}

/* A child that has failed and is suspended once for it, and once for a restart that waits. */
static void world_open(void)
{
    static const axo_class cls = AXO_CLASS(.receive = world_receive);
    memset((void *)&world, 0, sizeof world);
    unit_heap(&world.core.heap, &world.memory, UINT64_MAX);
    assert_true(axo__pool_init(&world.core.pool, &world.core.heap));
    assert_true(axo__texts_init(&world.core.texts, &world.core.heap, 4));
    world.core.seed = 1;
    world.core.sched = &world.sched;
    world.core.table.home = &world.sched;
    world.shelf.table = &world.core.table;
    world.sched.core = &world.core;
    world.sched.kind = &axo__fixed_kind;
    world.sched.idle = world_idle;
    world.sched.ops = &axo__lane_ops;
    world.sched.quantum = 64;
    world.sched.timers_max = 16;
    assert_int_equal(axo__sched_init(&world.sched, 1), AXO_OK);
    axo__worker_body.begin(world_worker());
    world_worker()->current = &world.shelf.cells[0];
    world.cell = &world.shelf.cells[0];
    axo__aptr_store_relaxed(&axo__cell_cold(world.cell)->cls, (void *)(uintptr_t)&cls);
    axo__a64_store_relaxed(&world.cell->self, AXO__SELF_ENDED); /* it is being made */
    axo__stack_init(&world.cell->system);
    axo__state_init(&world.cell->state, 2);
    world.cell->phase = AXO__PHASE_NORMAL;
    world.cell->life = AXO__INSTANCE_STARTED;
    axo__a32_store_relaxed(&world.cell->instance, 1);
    world.cell->reported = 1;
    assert_non_null(axo__child_record_take(&world_worker()->local, world.cell));
    axo__cell_child_record(world.cell)->cause.kind = AXO_FAILURE_ORDINARY;
    uint64_t old = 0;
    assert_true(axo__directives_restart_parent(&world.cell->directives, &old, false, false));
}

static void world_close(void)
{
    axo__child_record_free(&world_worker()->local, world.cell);
    axo__extra_free(&world_worker()->local, world.cell);
    world_worker()->current = NULL;
    axo__worker_body.end(world_worker());
    axo__local_fini(&world_worker()->local);
    axo__sched_fini(&world.sched);
    axo__texts_fini(&world.core.texts);
    axo__pool_fini(&world.core.pool);
    unit_heap_empty(&world.core.heap);
}

static uint32_t answered_at(uint32_t at)
{
    world_open();
    step_begin(at, parent_answers);
    lane_directives(world_worker(), world.cell);
    uint32_t steps = step_end();
    lane_directives(world_worker(), world.cell);
    assert_int_equal(axo__cell_directives(world.cell), 0);
    assert_int_equal(world.cell->reported, world.merged ? 0 : 1);
    assert_int_equal(axo__state_suspends(&world.cell->state), world.merged ? 0 : 1);
    world_close();
    return steps;
}

static void an_answer_at_every_step_of_a_restart(void **state)
{
    uint32_t steps = 1;
    uint32_t merges = 0;
    for (uint32_t at = 0; at < steps; at++) {
        steps = answered_at(at);
        merges += world.merged ? 1 : 0;
        assert_true(steps < ANSWER_STEPS_MAX);
    }
    assert_true(merges > 1);
    assert_true(merges < steps);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_answer_at_every_step_of_a_restart),
};
TEST_MAIN(tests)
