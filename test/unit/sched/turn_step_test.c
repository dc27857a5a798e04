/* turn_step_test.c - a turn at each of its steps: whoever sends, announces or directs meanwhile is
 * seen in it, or leaves an entry behind (OR-06). */
#include "unit/step.h"

#include "sched/run.c"

#include "sched/find.h"
#include "sched/kinds.h"
#include "sched/ready.h"
#include "sched/run.h"
#include "sched/sched.h"
#include "sched/worker.h"
#include "unit/unit.h"

#define TURN_STEPS_MAX 400

static struct {
    unit_memory memory;
    axo__core core;
    axo__sched sched;
    axo__shelf shelf;
    axo__cell *cell;
    axo__stack_node nodes[3];
    axo__message *messages[2]; /* of the other one */
    uint32_t acts; /* of the other one */
    uint32_t systems; /* nodes taken out of the system lane */
    uint32_t handled;
} world;

static void world_system(axo__worker *worker, axo__cell *cell)
{
    axo__stack_link link = axo__stack_take_any(&cell->system);
    for (; link != 0; link = axo__stack_node_of(link)->next)
        world.systems++;
}

static const axo__super_ops world_ops = {.system = world_system};

static void world_idle(axo__core *core)
{
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    world.handled++;
    return AXO_OK;
}

static axo__worker *world_worker(void)
{
    return &world.sched.workers[0];
}

static axo__message *world_message(void)
{
    axo__message *message = axo__message_make(&world_worker()->local.cache, 1, axo_ref_none(), 0);
    assert_non_null(message);
    return message;
}

static void world_open(void)
{
    memset((void *)&world, 0, sizeof world);
    unit_heap(&world.core.heap, &world.memory, UINT64_MAX);
    assert_true(axo__pool_init(&world.core.pool, &world.core.heap));
    world.core.seed = 1;
    world.core.sched = &world.sched;
    world.core.table.home = &world.sched;
    world.shelf.table = &world.core.table;
    world.sched.core = &world.core;
    world.sched.kind = &axo__fixed_kind;
    world.sched.idle = world_idle;
    world.sched.ops = &world_ops;
    world.sched.quantum = 64;
    world.sched.quantum_ns = INT64_C(1000000000000);
    world.sched.timers_max = 16;
    assert_int_equal(axo__sched_init(&world.sched, 1), AXO_OK);
    world.sched.turns = 1;
    axo__worker_body.begin(world_worker());
    world.cell = &world.shelf.cells[0];
    world.cell->receive = world_receive;
    world.cell->phase = AXO__PHASE_NORMAL;
    world.cell->life = AXO__INSTANCE_STARTED;
    axo__stack_init(&world.cell->system);
    for (uint32_t i = 0; i < 2; i++)
        world.messages[i] = world_message();
}

static void world_close(void)
{
    axo__worker_body.end(world_worker());
    axo__local_fini(&world_worker()->local);
    axo__sched_fini(&world.sched);
    axo__pool_fini(&world.core.pool);
    unit_heap_empty(&world.core.heap);
}

/* ---- the other one, on no worker ---- */

static void other_directs(void)
{
    axo__stack_push_any(&world.cell->system, &world.nodes[++world.acts], AXO__SYS_ADOPT);
    axo__sched_announce_system(NULL, world.cell);
}

static void other_sends(void)
{
    axo__sched_accept(NULL, world.cell, world.messages[world.acts++]);
}

/* ---- a turn with messages and system work, the other acting before any two of its steps ---- */

static uint32_t turn_at(uint32_t one, uint32_t two, void (*other)(void), uint32_t quantum)
{
    world_open();
    for (uint32_t i = 0; i < 3; i++)
        axo__sched_accept(NULL, world.cell, world_message());
    axo__stack_push_any(&world.cell->system, &world.nodes[0], AXO__SYS_ADOPT);
    axo__sched_announce_system(NULL, world.cell);
    axo__cell *cell = axo__worker_find(world_worker());
    assert_ptr_equal(cell, world.cell);
    step_begin_two(one, other, two, other);
    axo__run_cells(world_worker(), cell, quantum, 1);
    uint32_t steps = step_end();
    step_rest();
    while ((cell = axo__worker_find(world_worker())) != NULL)
        axo__run_cells(world_worker(), cell, 64, 1);
    assert_false(axo__stack_has_any(&world.cell->system));
    assert_int_equal(world.systems, other == other_directs ? 3 : 1);
    assert_int_equal(world.handled, other == other_sends ? 5 : 3);
    for (uint32_t i = 0; i < 2 && other == other_directs; i++)
        axo__message_free(&world_worker()->local.cache, world.messages[i]);
    world_close();
    return steps;
}

static void at_every_step(void (*other)(void))
{
    for (uint32_t quantum = 1; quantum <= 16; quantum *= 16) {
        uint32_t steps = 1;
        for (uint32_t one = 0; one < steps; one++) {
            for (uint32_t two = one; two <= steps; two++) {
                uint32_t taken = turn_at(one, two, other, quantum);
                steps = taken > steps ? taken : steps;
                assert_true(steps < TURN_STEPS_MAX);
            }
        }
        assert_true(steps > 3);
    }
}

static void a_directive_at_every_step_of_a_turn(void **state)
{
    at_every_step(other_directs);
}

static void a_message_at_every_step_of_a_turn(void **state)
{
    at_every_step(other_sends);
}

/* Three messages and one more, of a cell whose turn may be long: the clock is read after the
 * fourth, and so few are no turn that has used up its time by itself. */
static uint32_t goes_on_at(uint32_t at)
{
    axo__worker *worker;
    world_open();
    worker = world_worker();
    world.sched.quantum_ns = 1;
    world.sched.backlog_turns_max = 3;
    world.cell->backlog_turns = 2;
    worker->clock_stride = AXO__CLOCK_STRIDE_MAX;
    worker->until_clock = 4;
    for (uint32_t i = 0; i < 3; i++)
        axo__sched_accept(NULL, world.cell, world_message());
    axo__cell *cell = axo__worker_find(worker);
    assert_ptr_equal(cell, world.cell);
    step_begin(at, other_sends);
    axo__run_cells(worker, cell, 64, 1);
    uint32_t steps = step_end();
    assert_int_equal(worker->overrun_turn, 0);
    while ((cell = axo__worker_find(worker)) != NULL)
        axo__run_cells(worker, cell, 64, 1);
    for (uint32_t i = world.acts; i < 2; i++)
        axo__message_free(&worker->local.cache, world.messages[i]);
    world_close();
    return steps;
}

static void a_turn_that_goes_on_counts_from_its_start(void **state)
{
    assert_in_range(step_each(goes_on_at, TURN_STEPS_MAX), 4, TURN_STEPS_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_turn_that_goes_on_counts_from_its_start),
    cmocka_unit_test(a_directive_at_every_step_of_a_turn),
    cmocka_unit_test(a_message_at_every_step_of_a_turn),
};
TEST_MAIN(tests)
