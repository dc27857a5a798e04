/* notice_step_test.c - the end of a child that its parent watches, at each of its steps: whenever
 * the parent has a turn meanwhile, it has forgotten the child before it is told (DW-13), and is told
 * once; who watched it too has been told before the parent forgets it. */
static void step(void);
#define AXO__YIELD_POINT() step()

#include "super/stop.c"

#include "unit/unit.h"

#define NOTICE_STEPS_MAX 400

static struct {
    unit_memory memory;
    axo__core core;
    axo__sched sched;
    axo__cell *parent;
    axo__cell *child;
    axo_ref child_ref;
    axo__cell *other; /* watches it too */
    uint32_t watch_at; /* the step before which the parent watches, if the child can be found */
    bool watched;
    uint32_t at; /* the step before which the parent has a turn */
    uint32_t now;
    uint32_t notices;
    uint32_t known;   /* children, when it was told */
    uint32_t untold;  /* the other one had not been told when the parent forgot the child */
    bool on;
} world;

static axo__worker *worker_at(uint32_t i)
{
    return &world.sched.workers[i];
}

/* A turn of the cell on that worker, if there is something to do. */
static void turn(axo__worker *worker, axo__cell *cell)
{
    axo__worker *before = axo__self;
    axo__self = worker;
    if (axo__worker_claim(worker, cell) != NULL)
        axo__run_cells(worker, cell, 64, 1);
    axo__self = before;
}

static void watch_by(axo__cell *watcher)
{
    assert_int_equal(axo__super_watch(worker_at(0), watcher, world.child_ref, NULL), AXO_OK);
    world.watched = true;
}

static void step(void)
{
    if (!world.on)
        return;
    world.on = false; /* the parent has no steps of its own */
    if (world.now == world.watch_at && axo__table_find(&world.core.table, world.child_ref) != NULL)
        watch_by(world.parent);
    if (world.now++ == world.at)
        turn(worker_at(1), world.parent);
    world.on = true;
}

static void world_trace(void *user, const axo_event *event)
{
    (void)user;
    if (event->kind == AXO_EV_CHILD_GONE && !axo__stack_has_any(&world.other->system))
        world.untold++;
}

static void world_idle(axo__core *core)
{
    (void)core;
}

static axo_status world_dispatch(axo__core *core, const axo_props *props, axo__sched **out)
{
    (void)core;
    (void)props;
    *out = &world.sched;
    return AXO_OK;
}

static void world_undispatch(axo__core *core, axo__sched *sched)
{
    (void)core;
    (void)sched;
}

static axo_status world_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    assert_int_equal(message->tag, AXO_TERMINATED);
    if (!axo_ref_equal(axo_self(ctx), axo__cell_ref(world.parent)))
        return AXO_OK;
    world.notices++;
    world.known += axo_child_count(ctx);
    return AXO_OK;
}

static axo__cell *world_spawn(axo__cell *parent)
{
    static const axo_class cls = AXO_CLASS(.receive = world_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_ref ref;
    assert_int_equal(axo__super_spawn(worker_at(0), parent, &props, &ref), AXO_OK);
    axo__cell *cell = axo__table_find(&world.core.table, ref);
    assert_non_null(cell);
    turn(worker_at(0), cell);
    return cell;
}

static axo__cell *world_root(void)
{
    static const axo_class cls = AXO_CLASS(.receive = world_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo__birth birth = {.props = &props};
    axo__cell *root;
    assert_int_equal(axo__super_make(&world.core, &worker_at(0)->local, &birth, &root), AXO_OK);
    axo__state_birth(&root->state);
    turn(worker_at(0), root);
    return root;
}

static void world_open(void)
{
    memset((void *)&world, 0, sizeof world);
    unit_heap(&world.core.heap, &world.memory, UINT64_MAX);
    assert_true(axo__pool_init(&world.core.pool, &world.core.heap));
    assert_true(axo__texts_init(&world.core.texts, &world.core.heap, 4));
    assert_true(axo__table_init(&world.core.table, &world.core.heap, 64, 1));
    world.core.seed = 1;
    world.core.sched = &world.sched;
    world.core.dispatch = world_dispatch;
    world.core.undispatch = world_undispatch;
    world.core.table.home = &world.sched;
    world.sched.core = &world.core;
    world.sched.idle = world_idle;
    world.sched.ops = &axo__super_ops_table;
    world.sched.quantum = 64;
    world.sched.timers_max = 16;
    assert_int_equal(axo__sched_init(&world.sched, 2), AXO_OK);
    world.sched.turns = 1;
    axo__worker_body.begin(worker_at(1));
    axo__worker_body.begin(worker_at(0));
    axo__cell *root = world_root();
    world.parent = world_spawn(world_spawn(root));
    world.child = world_spawn(world.parent);
    world.child_ref = axo__cell_ref(world.child);
    world.other = world_spawn(root);
}

/* Its actors go with their memory. */
static void world_close(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo__local *local = &worker_at(i)->local;
        local->retired = local->retired_last = NULL;
        axo__worker_body.end(worker_at(i));
        axo__local_fini(&world.core, local);
    }
    axo__sched_fini(&world.sched);
    axo__table_fini(&world.core.table);
    axo__texts_fini(&world.core.texts);
    axo__pool_fini(&world.core.pool);
    unit_heap_empty(&world.core.heap);
}

/* The parent watches before step `watch_at` of the end, or before all of it. */
static uint32_t ends_at(uint32_t watch_at, uint32_t at)
{
    world_open();
    watch_by(world.other);
    world.watched = false;
    if (watch_at == UINT32_MAX)
        watch_by(world.parent);
    turn(worker_at(0), world.child);
    axo__sched_stop(worker_at(0), world.child);
    world.core.trace = world_trace;
    world.core.trace_kinds = UINT64_MAX;
    world.watch_at = watch_at;
    world.at = at;
    world.on = true;
    turn(worker_at(0), world.child);
    world.on = false;
    world.core.trace = NULL;
    turn(worker_at(1), world.parent);
    axo__super_expire(&world.core, &worker_at(1)->local, world.child);
    turn(worker_at(1), world.parent);
    assert_int_equal(world.notices, world.watched ? 1 : 0);
    assert_int_equal(world.known, 0);
    assert_int_equal(world.untold, 0);
    uint32_t steps = world.now;
    world_close();
    return steps;
}

static void a_turn_of_the_parent_at_every_step_of_an_end(void **state)
{
    uint32_t steps = 1;
    for (uint32_t at = 0; at < steps; at++)
        steps = ends_at(UINT32_MAX, at);
    assert_true(steps > 10 && steps < NOTICE_STEPS_MAX);
}

static void a_watch_at_every_step_of_an_end(void **state)
{
    uint32_t steps = 1;
    for (uint32_t watch_at = 0; watch_at < steps; watch_at++) {
        for (uint32_t at = watch_at; at < steps; at++)
            steps = ends_at(watch_at, at);
    }
    assert_true(steps > 10 && steps < NOTICE_STEPS_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_turn_of_the_parent_at_every_step_of_an_end),
    cmocka_unit_test(a_watch_at_every_step_of_an_end),
};
UNIT_MAIN(tests)
