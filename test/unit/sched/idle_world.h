/* idle_world.h - workers of one pool on one thread, for tests that stop them at each of their
 * steps. Who has found work is stuck in it for good. Included once, by the test's only file. */
#ifndef UNIT_IDLE_WORLD_H
#define UNIT_IDLE_WORLD_H

#include "unit/step.h"
#include "unit/unit.h"

#include "sched/claim.c"
#include "sched/follow.c"
#include "sched/park.c"
#include "sched/ready.c"
#include "sched/steal.c"
#include "sched/wake.c"

#include "sched/hook.h"
#include "sched/kinds.h"
#include "sched/newborn.h"
#include "sched/park.h"
#include "sched/ready.h"
#include "sched/run.h"
#include "sched/sched.h"
#include "sched/spare.h"
#include "sched/timer.h"
#include "sched/wake.h"
#include "sched/worker.h"
#include "support/limits.h"

#define IDLE_WORKERS   4
#define IDLE_CELLS     8
#define IDLE_SHELVES   ((IDLE_CELLS + AXO__TABLE_CHUNK - 1) / AXO__TABLE_CHUNK)
#define IDLE_ROUNDS    12
#define IDLE_STEPS_MAX 2000

static struct {
    unit_memory memory;
    axo__core core;
    axo__sched sched;
    axo__shelf shelves[IDLE_SHELVES];
    uint32_t count;
    bool stuck[IDLE_WORKERS + AXO__SPARES];
    int64_t now;
    bool seen; /* by a callback: the other worker has been woken; a producer follows */
} world;

int64_t __wrap_axo__os_now(void);
int64_t __wrap_axo__os_now(void)
{
    return world.now;
}

static inline void world_idle(axo__core *core)
{
}

static inline axo__worker *worker_at(uint32_t i)
{
    return &world.sched.workers[i];
}

static inline void world_open(uint32_t workers, uint32_t spares)
{
    memset((void *)&world, 0, sizeof world);
    world.now = INT64_C(1000000000);
    unit_heap(&world.core.heap, &world.memory, UINT64_MAX);
    assert_true(axo__pool_init(&world.core.pool, &world.core.heap));
    world.core.seed = 1;
    world.core.sched = &world.sched;
    world.core.table.home = &world.sched;
    for (uint32_t i = 0; i < IDLE_SHELVES; i++)
        world.shelves[i].table = &world.core.table;
    world.sched.core = &world.core;
    world.sched.kind = &axo__fixed_kind;
    world.sched.idle = world_idle;
    world.sched.quantum = 64;
    world.sched.quantum_ns = INT64_C(1000000000);
    world.sched.timers_max = 16;
    world.sched.spare_count = spares;
    assert_int_equal(axo__sched_init(&world.sched, workers), AXO_OK);
    world.sched.turns = 1;
    for (uint32_t i = 0; i < workers + spares; i++)
        axo__worker_body.begin(worker_at(i));
}

static inline void world_close(void)
{
    for (uint32_t i = 0; i < world.sched.worker_count + world.sched.spare_count; i++) {
        worker_at(i)->current = NULL;
        axo__worker_body.end(worker_at(i));
        axo__local_fini(&worker_at(i)->local);
    }
    axo__sched_fini(&world.sched);
    axo__pool_fini(&world.core.pool);
    unit_heap_empty(&world.core.heap);
}

static inline axo__cell *cell_at(uint32_t i)
{
    return &world.shelves[i / AXO__TABLE_CHUNK].cells[i % AXO__TABLE_CHUNK];
}

/* A cell that nobody has announced yet. */
static inline axo__cell *cell_new(void)
{
    assert_true(world.count < IDLE_CELLS);
    axo__cell *cell = cell_at(world.count);
    cell->slot = world.count++ & AXO__SLOT_MASK;
    axo__stack_init(&cell->system);
    return cell;
}

static inline bool work_is_left(void)
{
    for (uint32_t i = 0; i < world.count; i++) {
        if ((axo__state_look(&cell_at(i)->state) & (AXO__READY | AXO__URGENT)) != 0)
            return true;
    }
    return false;
}

/* ---- running them ---- */

static inline void no_system(axo__worker *worker, axo__cell *cell)
{
}

static const axo__super_ops world_ops = {.system = no_system, .begin = no_system};

static inline bool is_spare(const axo__worker *worker)
{
    return worker >= worker_at(world.sched.worker_count);
}

static inline axo__step run_step(axo__worker *worker)
{
    axo__worker *before = axo__self;
    axo__step step =
        is_spare(worker) ? axo__spare_body.step(worker) : axo__worker_body.step(worker);
    axo__self = before;
    return step;
}

/* Steps until it parks, or is stuck in a cell that it has found. */
static inline void run_until_idle(axo__worker *worker)
{
    uint64_t turn = axo__worker_turn(worker);
    for (uint32_t i = 0; i < 100; i++) {
        if (run_step(worker) == AXO__STEP_PARK)
            return;
        if (axo__worker_turn(worker) == turn)
            continue;
        world.stuck[worker - world.sched.workers] = true;
        axo__aptr_store_relaxed(&worker->running, cell_at(0));
        return;
    }
    fail_msg("a worker neither parks nor finds what there is");
}

static inline void wake(axo__worker *worker)
{
    if (is_spare(worker))
        axo__spare_body.wake(worker);
    else
        axo__worker_body.wake(worker);
}

static inline bool gets_up(axo__worker *worker)
{
    if (axo__os_parker_ticket(&worker->thread.parker) != worker->thread.ticket)
        return true;
    if (worker->thread.deadline == AXO__NEVER)
        return false;
    if (world.now < worker->thread.deadline)
        world.now = worker->thread.deadline;
    return true;
}

/* Who is not stuck goes on; in the end nothing is left, or nobody is there to do it. */
static inline void check_that_somebody_looks(void)
{
    uint32_t all = world.sched.worker_count + world.sched.spare_count;
    for (uint32_t round = 0; round < IDLE_ROUNDS; round++) {
        for (uint32_t i = 0; i < all && work_is_left(); i++) {
            if (world.stuck[i] || !gets_up(worker_at(i)))
                continue;
            wake(worker_at(i));
            run_until_idle(worker_at(i));
        }
    }
    for (uint32_t i = 0; i < world.sched.worker_count && work_is_left(); i++)
        assert_true(world.stuck[i]);
    if (world.sched.spare_count > 0)
        assert_false(work_is_left());
}

/* In a handler, for good. */
static inline void enter_handler(axo__worker *worker)
{
    static axo__message message;
    axo__a64_bump_owner(&worker->local.count.turns);
    worker->message = &message;
    worker->current = cell_at(0);
    axo__aptr_store_relaxed(&worker->running, cell_at(0));
    world.stuck[worker - world.sched.workers] = true;
}

/* All parked, nobody watches. */
static inline void all_rest(void)
{
    for (uint32_t i = 0; i < world.sched.worker_count; i++)
        run_until_idle(worker_at(i));
    for (uint32_t i = 0; i < world.sched.worker_count; i++) {
        if (!gets_up(worker_at(i)))
            continue;
        wake(worker_at(i));
        run_until_idle(worker_at(i));
    }
    assert_int_equal(axo__a32_load_relaxed(&world.sched.watcher), 0);
    assert_int_equal(axo__a32_load_relaxed(&world.sched.parked), world.sched.worker_count);
}

/* ---- one works, one watches ---- */

/* One worker is up and in a turn, the other one is parked and watches. */
static inline void watch_open(void)
{
    world_open(2, 0);
    world.sched.ops = &world_ops;
    all_rest();
    axo__sched_wake_one(&world.sched);
    wake(worker_at(0));
    enter_handler(worker_at(0));
    axo__sched_wake_one(&world.sched);
    wake(worker_at(1));
    run_until_idle(worker_at(1));
    assert_int_equal(worker_at(1)->role, AXO__IDLE_WATCHING);
}

/* The watcher looks after that time, in which the other worker has begun so many turns. */
static inline bool watch_takes(int64_t span, uint32_t turns)
{
    axo__a64_store_relaxed(&worker_at(0)->local.count.turns,
                           axo__worker_turn(worker_at(0)) + turns);
    world.now = worker_at(1)->seen_at + span;
    wake(worker_at(1));
    run_until_idle(worker_at(1));
    bool took = world.stuck[1];
    world_close();
    return took;
}

static inline void announced(axo__cell *cell)
{
    assert_int_equal(axo__state_announce_system(&cell->state), AXO__ANNOUNCE_PUSH);
}

static inline void queue_of_two(void)
{
    watch_open();
    for (int i = 0; i < 2; i++) {
        axo__cell *cell = cell_new();
        announced(cell);
        axo__worker_push_back(worker_at(0), cell);
    }
}

#endif
