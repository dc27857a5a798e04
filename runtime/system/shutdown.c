/* shutdown.c - the end of a system: system.h has the protocol, with its numbers; and the list of
 * actors that are late.
 *
 * No thread drives the end. /user's termination starts a chain of notices (guardian.c), and the
 * worker that gives back the last slot does step (7). Counters tell that worker: every cell that
 * was spawned has been freed. */
#include "system/shutdown.h"

#include <string.h>

#include "sched/scheduled.h"
#include "sched/ready.h"
#include "sched/send.h"
#include "system/guardian.h"
#include "system/pools.h"
#include "system/system.h"

/* Called as a guardian begins to stop: the log of dead letters goes quiet, and /user's end closes
 * the messages that wait for their time. */
static void shutdown_guardian_stops(axo__worker *worker, const axo__cell *guardian)
{
    AXO_DEBUG_ASSERT(guardian->guardian);
    axo__a32_store_relaxed(&worker->local.core->closing, 1); /* DL-12 */
    axo__grace_hurry(&worker->local.core->grace);
    if (guardian == worker->local.core->system->cells[AXO_GUARDIAN_USER])
        axo__scheduled_close(worker); /* SH-08 */
}

static void shutdown_root_gone(axo__core *core)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&core->system->root_gone) == 0);
    /* Publishes what root's last turn wrote; pairs with the load acquire of shutdown_check_end in
     * step (7). */
    axo__a32_store_release(&core->system->root_gone, 1); /* [Y1] (6) */
}

const axo__root_ops axo__shutdown_root_ops = {
    .root_failed = axo__guardian_root_failed,
    .root_gone = shutdown_root_gone,
    .guardian_stops = shutdown_guardian_stops,
};

/* Step (7). Many idle workers may come here at the same time; the compare-and-swap of `ended` lets
 * one of them go on. */
static void shutdown_check_end(axo_system *system)
{
    uint32_t none = 0;
    if (axo__a32_load_acquire(&system->root_gone) == 0) /* [Y1] */
        return;
    /* Pairs with itself in another worker: both have added to their own `freed` before. The worker
     * whose addition is second in the single order reads the other's count, so the last two frees
     * cannot each miss the other. */
    (void)axo__a32_add_seq_cst(&system->root_gone, 0); /* [Y3] */
    uint64_t freed = axo__pools_sum(system, offsetof(axo__counters, freed));
    if (freed != axo__pools_sum(system, offsetof(axo__counters, spawned)))
        return;
    AXO_DEBUG_ASSERT(axo__self != NULL && axo__self->local.core == &system->core);
    if (!axo__scheduled_end(axo__self))
        return; /* another worker fires timers and comes here when it has finished */
    /* Pairs with itself: one worker gets past, and the latch below is set once. */
    if (!axo__a32_cas_acq_rel(&system->ended, &none, 1)) /* [Y2] */
        return;
    axo__worker *worker = axo__self;
    /* While the functions run, and those of the log, this worker is in no turn: `ending` makes the
     * doors refuse calls that would wait for it. */
    worker->ending = true;
    axo__failures_say_left(&system->failures, &worker->local);
    axo__book_say_left(&system->book, &worker->local);
    axo__ending_run(&system->ending, &system->core.heap, system);
    if (axo__unlikely(worker->forked))
        worker->local.core->forked();
    worker->ending = false;
    /* The last step: from here on axo_system_destroy may free the system, so nothing of it is
     * touched. */
    axo__os_latch_set(&system->terminated);
}

void axo__shutdown_idle(axo__core *core)
{
    shutdown_check_end(core->system);
}

void axo__shutdown_begin(axo_system *system)
{
    axo__door *door = axo__door_enter(&system->sched);
    axo__cell *user = axo__table_find(&system->core.table, system->guardians[AXO_GUARDIAN_USER]);
    /* Between the taking of the directive and /user's TERMINATING bit, /user's cell shows neither:
     * `refused` keeps a spawn out in that moment. */
    axo__a32_store_relaxed(&system->refused[AXO_GUARDIAN_USER], 1);
    if (user != NULL)
        axo__sched_stop(NULL, user);
    axo__door_leave(door);
}

/* The text for an actor that has not terminated, from its word alone: no cell is borrowed, because
 * the list must not wait for a handler that hangs. */
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

/* D16. The door makes this thread safe against freed slots while it walks the table; `count` goes
 * on beyond late_max, so that the caller learns how many there are. */
uint32_t axo__shutdown_late(axo_system *system, axo_late *late, uint32_t late_max)
{
    uint32_t count = 0;
    axo__core *core = &system->core;
    axo__door *door = axo__door_enter(&system->sched);
    for (uint32_t slot = 0; slot < axo__a32_load_acquire(&core->table.slots); slot++) { /* [T2] */
        axo__cell *cell = axo__table_in(&core->table, slot);
        if (!axo__cell_lives(cell) || count++ >= late_max)
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
        one->has_tag = axo__running_tag(tag, &one->tag);
        /* The operating system's clock, not the program's: effort is measured with it (D40). */
        one->since_ns = axo__os_now() - since;
    }
    axo__door_leave(door);
    return count;
}
