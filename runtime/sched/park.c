/* park.c - a worker that has nothing to do goes to sleep. */
#include "sched/park.h"

#include "sched/newborn.h"
#include "sched/pool.h"
#include "sched/timer.h"
#include "sched/wake.h"

/* Somebody took it out of PARKED; perhaps to hand the watch on, even if it has not slept. */
static void park_was_taken(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&worker->state) != AXO__WORKER_PARKED);
    (void)axo__a32_add_seq_cst(&worker->state, 0); /* [W1] before a look at the spare's mode */
    axo__a64_bump_owner(&worker->local.count.wakes);
    worker->role = axo__idle_up(worker->role);
}

void axo__worker_unpark_owner(axo__worker *worker)
{
    bool watching = worker->role == AXO__IDLE_WATCHING;
    uint32_t parked = AXO__WORKER_PARKED;
    if (axo__a32_cas_acq_rel(&worker->state, &parked, AXO__WORKER_AWAKE)) /* [W4] */
        (void)axo__a32_add_seq_cst(&worker->sched->parked, UINT32_MAX);   /* [W1] */
    else
        park_was_taken(worker);
    if (watching) {
        worker->role = axo__idle_up(worker->role);
        (void)axo__a32_add_seq_cst(&worker->sched->watcher, UINT32_MAX); /* [W1] */
    }
}

/* A program's clock is not waited for: whoever moves it wakes those that have timers due. (3) of
 * sched/timer.h, once more. */
static bool park_sees_time(const axo__worker *worker)
{
    return axo__unlikely(worker->local.core->clock != NULL) && worker->timers != NULL &&
           axo__timers_due(worker->timers, axo__worker_time(worker));
}

/* (3): work that this worker could take now; *busy: others are awake. */
static bool park_look(axo__worker *worker, bool *busy)
{
    axo__sched *sched = worker->sched;
    *busy = false;
    if (axo__a32_load_acquire(&sched->quit) != 0) /* [W5] */
        return true;
    if (axo__a32_load_seq_cst(&sched->core->expired_any) != 0) /* [W1] */
        return true;
    if (axo__inject_has_any(&sched->urgent) || axo__inject_has_any(&sched->inject) ||
        axo__inject_has_any(&sched->overrun))
        return true;
    if (park_sees_time(worker))
        return true;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *other = axo__sched_worker(sched, i);
        if (other == NULL)
            break;
        if (axo__runq_count_any(&other->urgent) > 0 || axo__runq_count_any(&other->overrun) > 0)
            return true;
        uint32_t ready = axo__runq_count_any(&other->ready);
        uint32_t newborns = axo__newborn_count_any(other);
        if (newborns > ready)
            ready = newborns;
        if (ready >= AXO__STEAL_MIN || (other == worker && ready > 0))
            return true;
        if (other != worker && axo__a32_load_seq_cst(&other->state) == AXO__WORKER_AWAKE) /* [W1] */
            *busy = true;
        else if (other != worker && ready > 0)
            return true;
        if (worker->seen == NULL)
            continue;
        worker->seen[i].turn = axo__a32_load_relaxed(&other->turn);
    }
    return axo__aptr_load_relaxed(&worker->next) != NULL;
}

axo__step axo__worker_park(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&worker->state) == AXO__WORKER_AWAKE);
    AXO_DEBUG_ASSERT(worker->current == NULL && worker->role != AXO__IDLE_WATCHING);
    axo__sched *sched = worker->sched;
    bool busy = false;
    worker->thread.ticket = axo__os_parker_ticket(&worker->thread.parker);       /* (1) */
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_PARKED);
    (void)axo__a32_add_seq_cst(&sched->parked, 1);                               /* [W1] (2) */
    if (park_look(worker, &busy)) {                                              /* (3) */
        axo__worker_unpark_owner(worker);
        axo__spare_notice(sched); /* it may have gone to rest in between */
        return AXO__STEP_AGAIN;
    }
    worker->role = axo__idle_park(worker->role, busy);
    worker->seen_at = worker->now;
    worker->thread.deadline = sched->kind->deadline(worker);
    uint32_t none = 0;
    bool watch = busy && !sched->kind->shared;
    if (watch && axo__a32_cas_acq_rel(&sched->watcher, &none, 1)) { /* [W4] */
        worker->role = AXO__IDLE_WATCHING;
        axo__a32_store_relaxed(&sched->watch_due, 0);
        int64_t look_at = worker->now + worker->watch_ns;
        if (look_at < worker->thread.deadline)
            worker->thread.deadline = look_at;
        if (worker->watch_ns < AXO__WATCH_MAX_NS)
            worker->watch_ns *= 2;
    }
    axo__a64_bump_owner(&worker->local.count.parks);
    return AXO__STEP_PARK; /* (4) */
}
