/* fixed.c - the default pool: as many threads as workers, from the system's start to its end. The
 * workers steal from each other, and spare workers look after them (spare.c). This file makes what
 * only this kind has: each worker's notes of the others (`seen`, steal.c) and the spares'
 * `marks`. */
#include "sched/kinds.h"
#include "sched/sched.h"
#include "sched/spare.h"
#include "sched/wake.h"
#include "sched/worker.h"

/* The spare mode begins at DEEP: no turn has been begun, and the first worker that gets up, or the
 * first pusher that finds no parked worker, calls the spare ([W6] of sched/wake.h). On a failure
 * the caller, axo__sched_init, has fixed_unmake free what was made. */
static axo_status fixed_make(axo__sched *sched)
{
    uint32_t all = axo__sched_all(sched);
    axo_status status = axo__sched_make_workers(sched);
    if (status != AXO_OK)
        return status;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = &sched->workers[i];
        worker->seen = axo__sched_array(sched, sizeof(axo__seen), sched->worker_count);
        if (worker->seen == NULL)
            return AXO_ENOMEM;
    }
    if (sched->spare_count == 0)
        return AXO_OK;
    axo__a32_store_relaxed(&sched->spare_mode, AXO__SPARE_DEEP);
    sched->marks = axo__sched_array(sched, sizeof(axo__spare_mark), sched->spare_count * all);
    return sched->marks != NULL ? AXO_OK : AXO_ENOMEM;
}

static void fixed_unmake(axo__sched *sched)
{
    uint32_t all = axo__sched_all(sched);
    for (uint32_t i = 0; i < sched->worker_count && sched->workers != NULL; i++)
        axo__sched_free_array(sched, sched->workers[i].seen, sizeof(axo__seen),
                              sched->worker_count);
    axo__sched_free_array(sched, sched->marks, sizeof(axo__spare_mark), sched->spare_count * all);
    axo__sched_unmake_workers(sched);
}

const axo__sched_kind axo__fixed_kind = {
    .manned = true,
    .body = &axo__worker_body,
    .make = fixed_make,
    .unmake = fixed_unmake,
    .enter = axo__sched_enter_any,
    .leave = axo__sched_leave_any,
    .nobody_parked = axo__spare_alarm,
    .wake = axo__worker_wake_parker,
    .deadline = axo__worker_deadline,
    .ends = axo__worker_ends_never,
    .is_idle = axo__worker_is_parked,
};
