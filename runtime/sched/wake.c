/* wake.c - who is woken: a worker that is parked, or the spare when none is. */
#include "sched/wake.h"

/* true: this call took it out of PARKED. */
static bool wake_up(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t parked = AXO__WORKER_PARKED;
    if (axo__a32_load_relaxed(&worker->state) != parked)
        return false;
    if (!axo__a32_cas_acq_rel(&worker->state, &parked, AXO__WORKER_AWAKE)) /* [W4] (8) */
        return false;
    (void)axo__a32_add_seq_cst(&sched->parked, UINT32_MAX); /* [W1] */
    sched->kind->wake(worker);
    return true;
}

void axo__sched_wake_one(axo__sched *sched)
{
    if (axo__a32_load_seq_cst(&sched->parked) == 0) { /* [W1] (7) */
        sched->kind->nobody_parked(sched);
        return;
    }
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (wake_up(worker))
            return;
    }
    sched->kind->nobody_parked(sched); /* they got up meanwhile */
}

/* The count may be behind: a worker that says PARKED may be taken out before it has counted itself.
 * That one looks for work then, so who has pushed some may trust the count; who has not may not. */
void axo__sched_wake_all(axo__sched *sched)
{
    (void)axo__a32_add_seq_cst(&sched->parked, 0); /* [W1] (6) */
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        (void)wake_up(worker);
    }
}

bool axo__sched_wake_worker(axo__worker *worker)
{
    (void)axo__a32_add_seq_cst(&worker->sched->parked, 0); /* [W1] (6) of sched/timer.h */
    return wake_up(worker);
}

/* ---- the spare ---- */

static void wake_spare(axo__sched *sched, uint32_t least)
{
    for (;;) {
        uint32_t mode = axo__a32_load_seq_cst(&sched->spare_mode); /* [W6] */
        if (mode <= least)
            return;
        if (axo__a32_cas_acq_rel(&sched->spare_mode, &mode, least)) /* [W6] */
            break;
    }
    AXO_DEBUG_ASSERT(sched->spare_count > 0);
    axo__os_parker_wake(&sched->workers[sched->worker_count].thread.parker);
}

void axo__spare_alarm(axo__sched *sched)
{
    wake_spare(sched, AXO__SPARE_WATCH);
}

void axo__spare_notice(axo__sched *sched)
{
    wake_spare(sched, AXO__SPARE_DOZE);
}

/* ---- after a push ---- */

void axo__wake_tell(axo__worker *worker, uint32_t queued)
{
    axo__sched *sched = worker->sched;
    if (sched->worker_count > 1)
        (void)axo__a32_add_seq_cst(&worker->fence, 1); /* [W1] (6) */
    if (axo__a32_load_seq_cst(&sched->parked) == 0) {  /* [W1] (7) */
        axo__spare_alarm(sched); /* pools with queues of their own have no other answer */
        return;
    }
    if (axo__a32_load_relaxed(&sched->searching) != 0)
        return;
    if (queued < AXO__STEAL_MIN && axo__a32_load_relaxed(&sched->watcher) != 0)
        return;
    axo__sched_wake_one(sched);
}

void axo__wake_offer(axo__worker *worker, uint32_t queued)
{
    if (worker->current == NULL)
        worker->quiet = true;
    else
        axo__wake_tell(worker, queued);
}
