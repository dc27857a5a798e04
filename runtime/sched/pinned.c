/* pinned.c - the pool of one actor: one worker with one thread, from the spawn to the actor's end.
 *
 * Entries come to the worker as in the default pool, but there is no other worker to steal from, no
 * spare and no timer wheel. The actor's end calls `leave`, which is axo__sched_quit: the thread
 * ends by itself, and the reclaimer joins it (axo__sched_try_join). */
#include "sched/kinds.h"
#include "sched/sched.h"
#include "sched/wake.h"
#include "sched/worker.h"

static const axo__os_body pinned_body = {
    .name = "axo/pin",
    .kind = AXO_THREAD_PINNED,
    .begin = axo__worker_begin,
    .step = axo__worker_step,
    .sleep = axo__worker_sleep,
    .wake = axo__worker_wake,
    .end = axo__worker_end,
};

const axo__sched_kind axo__pinned_kind = {
    .manned = true,
    .single = true,
    .body = &pinned_body,
    .make = axo__sched_make_workers,
    .unmake = axo__sched_unmake_workers,
    .enter = axo__sched_enter_any,
    .leave = axo__sched_quit,
    .nobody_parked = axo__spare_alarm,
    .wake = axo__worker_wake_parker,
    .deadline = axo__worker_deadline,
    .ends = axo__worker_ends_never,
    .is_idle = axo__worker_is_parked,
};
