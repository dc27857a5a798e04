/* poller.c - which worker waits for descriptors: see poller.h. */
#include "sched/poller.h"

#include "sched/io.h"
#include "sched/wake.h"

/* By who has `poller`, or by a thread that has news. */
static void poller_look_at(axo__sched *sched, int64_t time)
{
    axo__a64_store_relaxed(&sched->look_at, (uint64_t)time);
}

/* By a worker that parks. false: another worker is the poller and will park in its turn; or the
 * spare looks, and wakes a worker when it is done. */
static bool poller_take(axo__io *io)
{
    for (;;) {
        uint32_t who = AXO__POLLER_NONE;
        if (axo__a32_cas_acq_rel(&io->poller, &who, AXO__POLLER_WORKER)) /* [I5] */
            return true;
        if (who == AXO__POLLER_WORKER || who == AXO__POLLER_MISSED)
            return false;
        if (who == AXO__POLLER_SPARE &&
            axo__a32_cas_acq_rel(&io->poller, &who, AXO__POLLER_MISSED)) /* [I5] */
            return false;
    }
}

/* The load of `watched` comes after the addition to `parked` in axo__worker_park ([W1]): a watch
 * that it misses finds this worker in `parked` (axo__poller_tell). */
void axo__poller_park(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    axo__io *io = axo__io_of(sched);
    AXO_DEBUG_ASSERT(!worker->thread.polls);
    if (axo__likely(io == NULL) || !sched->kind->manned)
        return;
    if (axo__a32_load_seq_cst(&io->watched) == 0) /* [I4] */
        return;
    if (!poller_take(io))
        return;
    poller_look_at(sched, AXO__NEVER);
    axo__aptr_store_relaxed(&worker->thread.poll, &io->poll);
    worker->thread.polls = true;
    if (axo__a32_load_seq_cst(&io->starved) == 0) /* [I6] */
        return;
    int64_t retry = axo__clock_add(worker->now, AXO__IO_RETRY_NS);
    if (retry < worker->thread.deadline)
        worker->thread.deadline = retry;
}

/* The set has been asked. */
static void poller_count(axo__io *io)
{
    axo__a64_bump_owner(&io->polls);
    axo__a64_store_relaxed(&io->events, axo__a64_load_relaxed(&io->events) + io->poll.count);
}

/* Gives `poller` up: whoever parks or looks next has it. As long as something is watched somebody
 * looks in time; `watched` is loaded after the store of NEVER, so a first watch that comes between
 * is not left without ([I4]: its addition, then its own store of look_at). */
static void poller_leave(axo__worker *worker, axo__io *io)
{
    axo__sched *sched = axo__core_sched(io->core);
    bool full = io->poll.count == AXO__POLL_FOUND_MAX;
    axo__io_found(worker, io);
    if (axo__unlikely(axo__a32_load_relaxed(&io->starved) != 0))
        axo__io_feed(worker, io);
    poller_look_at(sched, AXO__NEVER);
    if (axo__a32_add_seq_cst(&io->watched, 0) != 0) /* [I4] */
        poller_look_at(sched, full ? worker->now : axo__clock_add(worker->now, AXO__IO_LOOK_NS));
    uint32_t who = axo__a32_xchg_acq_rel(&io->poller, AXO__POLLER_NONE); /* [I5] */
    if (axo__unlikely(who == AXO__POLLER_MISSED))
        axo__sched_wake_one(sched);
}

void axo__poller_wake(axo__worker *worker)
{
    axo__io *io = axo__io_of(worker->sched);
    worker->thread.polls = false;
    poller_count(io);
    poller_leave(worker, io);
}

bool axo__poller_look(axo__worker *worker)
{
    axo__sched *sched = axo__core_sched(worker->local.core);
    axo__io *io = axo__io_of(sched);
    uint32_t nobody = AXO__POLLER_NONE;
    if (io == NULL)
        return false;
    uint32_t me = worker->own != NULL ? AXO__POLLER_WORKER : AXO__POLLER_SPARE;
    if (!axo__a32_cas_acq_rel(&io->poller, &nobody, me)) { /* [I5] */
        poller_look_at(sched, axo__clock_add(worker->now, AXO__IO_LOOK_NS));
        return false;
    }
    if (axo__a32_load_seq_cst(&io->watched) != 0) { /* [I4] */
        axo__os_poll_wait(&io->poll, 0);
        poller_count(io);
    }
    bool any = io->poll.count > 0;
    poller_leave(worker, io);
    return any;
}

/* A caller that is an awake worker of the default pool looks by its clock, and polls when it parks.
 * Another caller may be the only one awake. A poller that sleeps is woken for its deadline alone:
 * it polls anew. */
void axo__poller_tell(axo__worker *worker)
{
    axo__sched *sched = axo__core_sched(worker->local.core);
    axo__io *io = axo__io_of(sched);
    poller_look_at(sched, worker->now);
    if (axo__a32_load_seq_cst(&io->starved) != 0) /* [I6] */
        axo__os_poll_wake(&io->poll);
    else if (worker->sched != sched)
        axo__sched_wake_one(sched);
}
