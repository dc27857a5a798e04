/* wake.c - which worker is woken: a parked one, or the spare when no worker is parked. The waker's
 * side of the protocol in wake.h. */
#include "sched/wake.h"

/* true: this call has taken the worker out of PARKED. The compare-and-swap competes with other
 * wakers and with the worker itself in axo__worker_unpark_owner ([W4]); the winner lowers `parked`
 * and, here, ends the sleep. The first load only spares the swap: the callers have ordered it after
 * the sleeper's PARKED by reading or adding to `parked`. */
static bool wake_up(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t parked = AXO__WORKER_PARKED;
    if (axo__a32_load_relaxed(&worker->state) != parked)
        return false;
    uint32_t woken = sched->kind->woken;
    if (!axo__a32_cas_acq_rel(&worker->state, &parked, woken)) /* [W4] (8) */
        return false;
    (void)axo__a32_add_seq_cst(&sched->parked, UINT32_MAX); /* [W1] */
    sched->kind->wake(worker);
    return true;
}

/* A caller that has pushed work has done its read-modify-write (6) before: of an injector's count,
 * of `fence` in axo__wake_tell, or of `expired_any`. The load of `parked` (7) pairs with the
 * sleeper's addition (2): if the load misses the sleeper, the sleeper's last look finds the
 * push. */
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
    sched->kind->nobody_parked(sched); /* the parked workers got up meanwhile */
}

/* Does not trust the count: a worker stores PARKED before it counts itself. A worker that has not
 * counted itself yet still looks for work, so a caller that has pushed work may trust the count,
 * and axo__sched_wake_one does. This function is for news that the last look does not see, too: the
 * addition of 0 stands against the sleeper's addition (2), so that either the loop reads PARKED, or
 * the sleeper computes its deadline, or looks a last time, with the news. */
void axo__sched_wake_some(axo__sched *sched, uint32_t most)
{
    (void)axo__a32_add_seq_cst(&sched->parked, 0); /* [W1] (6) */
    for (uint32_t i = 0; i < sched->worker_count && most > 0; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        most -= wake_up(worker);
    }
}

void axo__sched_wake_all(axo__sched *sched)
{
    axo__sched_wake_some(sched, UINT32_MAX);
}

/* The addition of 0 is against the sleeper's addition (2) in axo__worker_park: the two are
 * operations on one word, so the later one reads the earlier one's write and acquires what that
 * thread did before. */
bool axo__sched_wake_worker(axo__worker *worker)
{
    (void)axo__a32_add_seq_cst(&worker->sched->parked, 0); /* [W1] (6) of sched/timer.h */
    return wake_up(worker);
}

void axo__sched_unhold(axo__core *core)
{
    if (core->manual || !axo__core_unhold(core))
        return;
    (void)axo__a32_add_seq_cst(&core->expired_any, 0); /* [W1] (6) */
    (void)axo__sched_wake_worker(&axo__core_sched(core)->workers[0]); /* as axo__core_unhold says */
}

/* ---- the spare ---- */

/* Makes the spare look at least as closely as `least`. The load is the common end: the mode is
 * close enough, and no system call is made. It pairs with spare_mode's swap and addition ([W6]):
 * the caller has got up, or has found no parked worker, before this load, so the spare's last look
 * sees that, or the load sees the spare's new mode. A spare that goes to DOZE does not look again:
 * an alarm that comes too early for its swap waits for one AXO__SPARE_DOZE_NS at most. The swap
 * lets one of several callers wake the spare. */
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

/* Steps (6) to (8). The addition to `fence`, a word of this worker's own, costs no shared line;
 * with the load of `parked` it stands against the sleeper's addition and looks ([W1]). A pool of
 * one worker has no sleeper, and saves it. The loads of `searching` and `watcher` are hints that a
 * worker will come without a wake-up: a searcher looks again before it parks, the watcher looks
 * when its watch ends. Few entries are the watcher's before (6): if it has got up meanwhile and has
 * missed the push, this worker is awake, and so somebody watches again before all others sleep. */
void axo__wake_tell(axo__worker *worker, uint32_t queued)
{
    axo__sched *sched = worker->sched;
    bool few = queued < AXO__STEAL_MIN;
    if (few && axo__a32_load_relaxed(&sched->watcher) != 0)
        return;
    if (sched->worker_count > 1)
        (void)axo__a32_add_seq_cst(&worker->fence, 1); /* [W1] (6) */
    if (axo__a32_load_seq_cst(&sched->parked) == 0) {  /* [W1] (7) */
        axo__spare_alarm(sched); /* the answer of every kind whose workers have queues */
        return;
    }
    if (axo__a32_load_relaxed(&sched->searching) != 0)
        return;
    if (few && (axo__a32_load_relaxed(&sched->watcher) != 0 || axo__worker_is_alone(worker)))
        return;
    axo__sched_wake_one(sched);
}

void axo__wake_offer(axo__worker *worker, uint32_t queued)
{
    if (worker->current == NULL)
        worker->attention |= AXO__LOOK_QUIET;
    else
        axo__wake_tell(worker, queued);
}
