/* pinned.c - the pool of one actor: one thread, told to end when the actor has. */
#include "sched/kinds.h"
#include "sched/sched.h"
#include "sched/wake.h"
#include "sched/worker.h"

const axo__sched_kind axo__pinned_kind = {
    .manned = true,
    .single = true,
    .body = &axo__worker_body,
    .make = axo__sched_make_workers,
    .unmake = axo__sched_unmake_workers,
    .enter = axo__sched_enter_any,
    .leave = axo__sched_quit,
    .nobody_parked = axo__spare_alarm,
    .wake = axo__worker_wake_parker,
    .deadline = axo__worker_deadline,
    .ends = axo__worker_ends_never,
};
