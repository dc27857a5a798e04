/* shutdown.c - the end of a system: system.h has the protocol, with its numbers; who is late. */
#include "system/shutdown.h"

#include <string.h>

#include "sched/scheduled.h"
#include "sched/ready.h"
#include "sched/send.h"
#include "system/guardian.h"
#include "system/pools.h"
#include "system/system.h"

static void shutdown_guardian_stops(axo__worker *worker, const axo__cell *guardian)
{
    AXO_DEBUG_ASSERT(guardian->guardian);
    axo__a32_store_relaxed(&worker->local.core->closing, 1); /* DL-12 */
    if (guardian == worker->local.core->system->cells[AXO_GUARDIAN_USER])
        axo__scheduled_close(worker); /* SH-08 */
}

static void shutdown_root_gone(axo__core *core)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&core->system->root_gone) == 0);
    axo__a32_store_release(&core->system->root_gone, 1); /* [Y1] (6) */
}

const axo__root_ops axo__shutdown_root_ops = {
    .root_failed = axo__guardian_root_failed,
    .root_gone = shutdown_root_gone,
    .guardian_stops = shutdown_guardian_stops,
};

/* (7): called by workers that have nothing to do. */
static void shutdown_check_end(axo_system *system)
{
    uint32_t none = 0;
    if (axo__a32_load_acquire(&system->root_gone) == 0) /* [Y1] */
        return;
    (void)axo__a32_add_seq_cst(&system->root_gone, 0); /* [Y3] */
    uint64_t freed = axo__pools_sum(system, offsetof(axo__counters, freed));
    if (freed != axo__pools_sum(system, offsetof(axo__counters, spawned)))
        return;
    AXO_DEBUG_ASSERT(axo__self != NULL && axo__self->local.core == &system->core);
    if (!axo__scheduled_end(axo__self))
        return; /* who fires comes here later */
    if (!axo__a32_cas_acq_rel(&system->ended, &none, 1)) /* [Y2] */
        return;
    axo__worker *worker = axo__self;
    worker->ending = true;
    axo__ending_run(&system->ending, &system->core.heap, system);
    if (axo__unlikely(worker->forked))
        worker->local.core->forked();
    worker->ending = false;
    axo__os_latch_set(&system->terminated);
}

void axo__shutdown_idle(axo__core *core)
{
    shutdown_check_end(core->system);
}

/* (1) */
void axo__shutdown_begin(axo_system *system)
{
    axo__door *door = axo__door_enter(&system->sched);
    axo__cell *user = axo__table_find(&system->core.table, system->guardians[AXO_GUARDIAN_USER]);
    /* /user shows neither the directive nor its end between the taking of the one and the other */
    axo__a32_store_relaxed(&system->refused[AXO_GUARDIAN_USER], 1);
    if (user != NULL)
        axo__sched_stop(NULL, user);
    axo__door_leave(door);
}

static const char *shutdown_doing(uint64_t word)
{
    if ((word & AXO__RUNNING) != 0)
        return "running";
    if ((word & AXO__TERMINATING) != 0)
        return "waiting for children";
    if ((word & AXO__HELD) != 0)
        return "suspended";
    return (word & AXO__WAITING) != 0 ? "parked" : "queued";
}

/* D16: what the workers are at. */
uint32_t axo__shutdown_late(axo_system *system, axo_late *late, uint32_t late_max)
{
    uint32_t count = 0;
    axo__core *core = &system->core;
    axo__door *door = axo__door_enter(&system->sched);
    for (uint32_t slot = 0; slot < axo__a32_load_acquire(&core->table.slots); slot++) { /* [T2] */
        axo__cell *cell = axo__table_at(&core->table, slot);
        if (axo__a32_load_acquire(&cell->generation) == 0) /* [T4] */
            continue;
        if (count++ >= late_max)
            continue;
        uint64_t word = axo__state_look(&cell->state);
        axo_late *one = &late[count - 1];
        memset(one, 0, sizeof *one);
        one->actor = axo__cell_ref(cell);
        (void)axo__core_path(core, cell, one->path, sizeof one->path);
        one->doing = shutdown_doing(word);
        if ((word & AXO__RUNNING) == 0)
            continue;
        uint64_t tag = 0;
        int64_t since = 0;
        if (!axo__sched_running(cell, &tag, &since))
            continue;
        one->has_tag = tag != 0;
        one->tag = (uint32_t)tag;
        one->since_ns = axo__os_now() - since;
    }
    axo__door_leave(door);
    return count;
}
