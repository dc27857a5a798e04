/* end_world.h - a tree of actors, run by hand on two workers, without a system around it: what
 * tests of ends at each of their steps begin with. A file of the runtime is included before. */
#ifndef UNIT_SUPER_END_WORLD_H
#define UNIT_SUPER_END_WORLD_H

#include "sched/claim.h"
#include "sched/kinds.h"
#include "sched/ready.h"
#include "sched/run.h"
#include "sched/sched.h"
#include "sched/worker.h"
#include "super/lane.h"
#include "super/spawn.h"
#include "super/watch.h"
#include "unit/unit.h"

typedef struct end_world {
    unit_memory memory;
    axo__core core;
    axo__sched sched;
    axo__cell *root;
    axo_receive_fn receive; /* of all actors from now on; NULL: they handle nothing */
} end_world;

static inline axo__worker *end_worker(end_world *it, uint32_t i)
{
    return &it->sched.workers[i];
}

/* A turn of the cell on that worker, if there is something to do. */
static inline void end_turn(axo__worker *worker, axo__cell *cell)
{
    axo__worker *before = axo__self;
    axo__self = worker;
    if (axo__worker_claim(worker, cell) != NULL)
        axo__run_cells(worker, cell, 64, 1);
    axo__self = before;
}

/* The worker is in a turn of the cell, which nobody is in, for a call or two. */
static inline void end_enter(axo__worker *worker, axo__cell *cell)
{
    assert_null(worker->current);
    assert_true(axo__state_borrow(&cell->state));
    worker->current = cell;
    axo__self = worker;
}

static inline void end_leave(axo__worker *worker)
{
    axo__cell *cell = worker->current;
    worker->current = NULL;
    axo__sched_hand_back(worker, cell);
}

static inline void end_watch(axo__worker *worker, axo__cell *cell, axo_ref target,
                             const axo_message *own)
{
    axo__worker *before = axo__self;
    end_enter(worker, cell);
    assert_int_equal(axo__watch_add(worker, cell, target, own), AXO_OK);
    end_leave(worker);
    axo__self = before;
}

static inline void end_unwatch(axo__worker *worker, axo__cell *cell, axo_ref target)
{
    end_enter(worker, cell);
    axo__watch_remove(worker, cell, target);
    end_leave(worker);
}

static inline void end_idle(axo__core *core)
{
}

static inline axo_status end_dispatch(axo__core *core, const axo_props *props, axo__sched **out)
{
    *out = axo__core_sched(core);
    return AXO_OK;
}

static inline void end_undispatch(axo__core *core, axo__sched *sched)
{
}

static inline axo_status end_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static const axo_class end_class = AXO_CLASS(.receive = end_receive);

/* A child that has started; `name`: NULL for none. */
static inline axo__cell *end_spawn(end_world *it, axo__cell *parent, const char *name)
{
    axo_props props = AXO_PROPS(.cls = &end_class, .name = name);
    axo_ref ref;
    end_enter(end_worker(it, 0), parent);
    assert_int_equal(axo__spawn(end_worker(it, 0), parent, &props, &ref), AXO_OK);
    end_leave(end_worker(it, 0));
    axo__cell *cell = axo__table_find(&it->core.table, ref);
    assert_non_null(cell);
    end_turn(end_worker(it, 0), cell);
    if (it->receive != NULL)
        cell->receive = it->receive;
    return cell;
}

static inline void end_make_root(end_world *it)
{
    axo_props props = AXO_PROPS(.cls = &end_class);
    axo__birth birth = {.props = &props};
    assert_int_equal(axo__spawn_make(&end_worker(it, 0)->local, &birth, &it->root), AXO_OK);
    axo__state_birth(&it->root->state);
    end_turn(end_worker(it, 0), it->root);
}

static inline void end_open(end_world *it)
{
    memset((void *)it, 0, sizeof *it);
    unit_heap(&it->core.heap, &it->memory, UINT64_MAX);
    assert_true(axo__pool_init(&it->core.pool, &it->core.heap));
    assert_true(axo__texts_init(&it->core.texts, &it->core.heap, 4));
    assert_true(axo__table_init(&it->core.table, &it->core.heap, 64, (uint64_t[2]){1, 0}));
    assert_true(axo__names_init(&it->core.names, &it->core.heap, 1));
    it->core.seed = 1;
    it->core.sched = &it->sched;
    it->core.dispatch = end_dispatch;
    it->core.undispatch = end_undispatch;
    it->core.table.home = &it->sched;
    it->sched.core = &it->core;
    it->sched.kind = &axo__fixed_kind;
    it->sched.idle = end_idle;
    it->sched.ops = &axo__lane_ops;
    it->sched.quantum = 64;
    it->sched.timers_max = 16;
    assert_int_equal(axo__sched_init(&it->sched, 2), AXO_OK);
    it->sched.turns = 1;
    axo__worker_body.begin(end_worker(it, 1));
    axo__worker_body.begin(end_worker(it, 0));
    end_make_root(it);
}

/* Actors that are left go with their memory. */
static inline void end_close(end_world *it)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo__local *local = &end_worker(it, i)->local;
        local->retired = local->retired_last = NULL;
        axo__worker_body.end(end_worker(it, i));
        axo__local_fini(local);
    }
    axo__sched_fini(&it->sched);
    axo__names_fini(&it->core.names);
    axo__table_fini(&it->core.table);
    axo__texts_fini(&it->core.texts);
    axo__pool_fini(&it->core.pool);
    unit_heap_empty(&it->core.heap);
}

#endif
