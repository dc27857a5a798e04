/* park.c - a worker that has found no work goes to sleep: the sleeper's side of the protocol in
 * sched/wake.h.
 *
 * A worker says that it sleeps before it looks for work a last time. So a pusher that does not see
 * the sleeper has pushed early enough for that look. At most one parked worker of a pool is the
 * watcher, which sleeps with a short deadline while others are awake; sched/idle.h has the roles.
 */
#include "sched/park.h"

#include "base/probe.h"
#include "sched/expire.h"
#include "sched/follow.h"
#include "sched/keep.h"
#include "sched/newborn.h"
#include "sched/poller.h"
#include "sched/pool.h"
#include "sched/timer.h"
#include "sched/wake.h"

/* A waker has taken this worker out of PARKED, perhaps only to hand the watch on, and perhaps
 * before the worker slept. The addition of 0 is the worker's own getting up in the order of [W6]:
 * it comes before the look at `spare_mode` in axo__spare_notice, and pairs with the loads of
 * `state` in spare_all_parked. Without it the spare might go to DEEP on an old PARKED, and the
 * worker might still read the mode of before. */
static void park_was_taken(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&worker->state) != AXO__WORKER_PARKED);
    (void)axo__a32_add_seq_cst(&worker->state, 0); /* [W1] before a look at the spare's mode */
    axo__a64_bump_owner(&worker->local.count.wakes);
    worker->role = axo__idle_up(worker->role);
}

/* Takes the worker out of PARKED, or, if it is a lent one, out of ABSENT: a waker has asked for a
 * thread meanwhile, or a visitor of another slot has answered that ask and made it PARKED again.
 * false: a waker has taken it out. */
static bool park_get_up(axo__worker *worker)
{
    uint32_t was = AXO__WORKER_PARKED;
    while (!axo__a32_cas_acq_rel(&worker->state, &was, AXO__WORKER_AWAKE)) { /* [W4] */
        if (was == AXO__WORKER_AWAKE)
            return false;
    }
    return was == AXO__WORKER_PARKED;
}

/* The compare-and-swap competes with wake_up's ([W4]): one of the two takes the worker out of
 * PARKED and lowers `parked`, so the count stays right whichever wins. `watcher` falls after the
 * role has changed; a pusher that still reads 1 leaves its private entries to this worker, which
 * searches now and hands the watch on when it finds work (WATCHED, sched/idle.h). */
void axo__worker_unpark_owner(axo__worker *worker)
{
    bool watching = worker->role == AXO__IDLE_WATCHING;
    if (park_get_up(worker))
        (void)axo__a32_add_seq_cst(&worker->sched->parked, UINT32_MAX); /* [W1] */
    else
        park_was_taken(worker);
    if (watching) {
        worker->role = axo__idle_up(worker->role);
        (void)axo__a32_add_seq_cst(&worker->sched->watcher, UINT32_MAX); /* [W1] */
    }
}

/* No worker can sleep until a time of the program's clock: the thread that moves the clock wakes
 * the workers that have timers due (axo__timers_look). This is step (3) of sched/timer.h for such a
 * clock: the worker has said PARKED and asks once more whether a timer is due. */
static bool park_sees_time(const axo__worker *worker)
{
    return axo__unlikely(worker->local.core->clock != NULL) && worker->timers != NULL &&
           axo__timers_due(worker->timers, axo__worker_time(worker));
}

/* How many of `count` entries this worker would come to: kept ones are left to a worker that is
 * awake, and so looks at its own queues before it parks. */
static uint32_t park_count(const axo__worker *worker, const axo__worker *other, axo__keep what,
                           uint32_t count)
{
    if (count == 0 || other == worker || !axo__keep_holds(worker, what) ||
        axo__a32_load_seq_cst(&other->state) != AXO__WORKER_AWAKE) /* [W1] */
        return count;
    return 0;
}

/* Step (3): whether there is work that this worker could take now; *busy: another worker is awake.
 *
 * Each look comes after the addition to `parked` in axo__worker_park, so a push that it misses is
 * followed by a waker's (7) that reads the sleeper. The load of `expired_any` pairs with the
 * addition in system/boot.c's boot_expire, the load of `quit` with axo__sched_quit and
 * axo__crew_open. A short ready queue of an awake worker is left to that worker, which looks at its
 * own queue before it parks; the queue of a worker that is read as parked is not left alone. */
static bool park_look(axo__worker *worker, bool *busy)
{
    axo__sched *sched = worker->sched;
    *busy = false;
    if (axo__a32_load_acquire(&sched->quit) != 0) /* [W5] */
        return true;
    if (axo__expire_waits(worker))
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
        uint32_t urgent = axo__runq_count_any(&other->urgent);
        if (park_count(worker, other, AXO__KEEP_URGENT, urgent) > 0 ||
            axo__runq_count_any(&other->overrun) > 0)
            return true;
        uint32_t ready = axo__runq_count_any(&other->ready);
        ready = park_count(worker, other, AXO__KEEP_READY, ready);
        uint32_t newborns = axo__newborn_count_any(other);
        newborns = park_count(worker, other, AXO__KEEP_NEWBORNS, newborns);
        if (newborns > ready)
            ready = newborns;
        if (ready >= AXO__STEAL_MIN || (other == worker && ready > 0))
            return true;
        if (other != worker && axo__a32_load_seq_cst(&other->state) == AXO__WORKER_AWAKE) /* [W1] */
            *busy = true;
        else if (ready > 0 || axo__follow_has_any(other))
            return true;
        if (worker->seen == NULL)
            continue;
        worker->seen[i].turn = axo__worker_turn(other);
    }
    return axo__aptr_load_relaxed(&worker->next) != NULL;
}

/* Steps (1) to (4). The ticket is taken first: a wake-up that comes after (2) ends the wait of (4),
 * also if it comes before the wait has begun. PARKED is stored before `parked` is raised, and the
 * addition releases it, so a waker that reads the count finds the state.
 *
 * If other workers are awake, one parked worker becomes the watcher: the compare-and-swap of
 * `watcher` ([W4]) lets in one of several that park at a time, and axo__worker_unpark_owner lowers
 * it again. The watch gets longer each time it ends without a finding, up to AXO__WATCH_MAX_NS. */
axo__step axo__worker_park(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&worker->state) == AXO__WORKER_AWAKE);
    AXO_DEBUG_ASSERT(worker->current == NULL && worker->role != AXO__IDLE_WATCHING);
    axo__sched *sched = worker->sched;
    bool busy = false;
    axo__worker_idles(worker);
    worker->thread.ticket = axo__os_parker_ticket(&worker->thread.parker);       /* (1) */
    axo__a32_store_release(&worker->state, AXO__WORKER_PARKED);                  /* [Z1] */
    (void)axo__a32_add_seq_cst(&sched->parked, 1);                               /* [W1] (2) */
    if (park_look(worker, &busy)) {                                              /* (3) */
        axo__worker_unpark_owner(worker);
        axo__spare_notice(sched); /* the spare may have gone to DEEP meanwhile */
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
        worker->watch_ns = worker->watch_ns < AXO__WATCH_MAX_NS / 2 ? worker->watch_ns * 2
                                                                    : AXO__WATCH_MAX_NS;
    }
    axo__poller_park(worker);
    AXO__PROBE2(park, worker->local.index, worker->thread.deadline);
    axo__a64_bump_owner(&worker->local.count.parks);
    return AXO__STEP_PARK; /* (4) */
}
