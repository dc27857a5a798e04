/* trim.c - a trim's part in a pool of workers. A cache is its thread's, so the thread flushes it,
 * or who takes the place of a thread that is not there: the host's worker between two calls, a slot
 * that nobody visits.
 *
 * Orders
 *   [M1] load acquire, flushed       as in mem/slab.c
 *   [W5] as in sched/pool.h */
#include "sched/trim.h"

#include "os/poll.h"
#include "sched/host.h"
#include "sched/kinds.h"
#include "sched/lent.h"

/* The load acquires what the thread has handed to the depot. */
static bool trim_is_done(const axo__worker *worker, uint32_t round)
{
    return axo__a32_load_acquire(&worker->local.cache.flushed) == round; /* [M1] */
}

/* A slot, or the host's worker; without the pool's mutex, since axo__lent_flush may ask the program
 * for a visit. */
static bool trim_visit(axo__sched *sched, axo__worker *worker)
{
    return sched->kind->lent ? axo__lent_flush(worker) : axo__host_flush(sched);
}

static uint32_t trim_visited(axo__sched *sched, uint32_t round)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
        axo__worker *worker = &sched->workers[i];
        left += !trim_is_done(worker, round) && !trim_visit(sched, worker);
    }
    return left;
}

/* Under the pool's mutex, under which an elastic pool starts and ends its threads; the others have
 * theirs from before to after. A thread that has said that it ends flushes by itself. */
static bool trim_wake_locked(axo__worker *worker, uint32_t round)
{
    if (!worker->has_thread || axo__a32_load_relaxed(&worker->state) == AXO__WORKER_ABSENT ||
        trim_is_done(worker, round))
        return false;
    axo__os_thread_wake(&worker->thread);
    return true;
}

uint32_t axo__sched_trim(axo__sched *sched, uint32_t round)
{
    uint32_t left = 0;
    if (sched->kind->lent || sched->kind == &axo__host_kind)
        return trim_visited(sched, round);
    if (axo__a32_load_acquire(&sched->quit) != 0) /* [W5] */
        return 0; /* its threads end, and its caches with the pool */
    axo__os_mutex_lock(&sched->mutex);
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        left += trim_wake_locked(worker, round);
    }
    axo__os_mutex_unlock(&sched->mutex);
    return left;
}
