/* elastic.c - the pool of actors that block: threads come one at a time when work is pushed and
 * nobody is parked, and end when they have had none for long. All work is shared: it lies in the
 * pool's injectors, so a handler that blocks hides nothing.
 *
 * Orders
 *   [W7] seq_cst, live, starting     a pusher pushes, then looks whether a thread comes or is
 *                                    there; a thread says that it is there, or goes, then looks
 *                                    for work: one sees the other
 *        seq_cst, actors             the last actor goes, then looks who is parked; the last thread
 *                                    parks, then looks whether it stays for an actor
 *   [W5] [W9]   as in sched/pool.h
 */
#include "sched/kinds.h"
#include "sched/sched.h"
#include "sched/wake.h"
#include "sched/worker.h"

/* ---- records ---- */

/* Under the mutex: a record for one more thread; NULL: no memory, and nothing is left of it. It
 * stays with the pool, for the next thread when this one has ended. */
static axo__worker *elastic_add(axo__sched *sched, uint32_t index)
{
    axo__worker *worker = axo__sched_array(sched, sizeof(axo__worker), 1);
    if (worker == NULL)
        return NULL;
    axo__worker_init(worker, sched, index);
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_ABSENT);
    axo__aptr_store_release(&sched->grown[index], worker); /* [W9] */
    return worker;
}

/* Under the mutex: a record for the next thread is there, or none is to come; false: no memory. Who
 * calls for a thread may be failing or ending, and takes none (D10): each thread sees to the next
 * one's when it begins, and when it stays. */
static bool elastic_prepare_locked(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            return elastic_add(sched, i) != NULL;
        if (axo__a32_load_relaxed(&worker->state) == AXO__WORKER_ABSENT)
            return true;
    }
    return true;
}

static void elastic_prepare(axo__sched *sched)
{
    axo__os_mutex_lock(&sched->mutex);
    (void)elastic_prepare_locked(sched);
    axo__os_mutex_unlock(&sched->mutex);
}

/* Under the mutex: one that has no thread; NULL: all have. If the threads of all that are absent
 * are still about to end, one is waited for: it has left the mutex and takes no more work, and who
 * calls for a thread now calls only once. */
static axo__worker *elastic_absent(axo__sched *sched)
{
    axo__worker *ending = NULL;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (axo__a32_load_relaxed(&worker->state) != AXO__WORKER_ABSENT)
            continue;
        if (!worker->has_thread || axo__os_thread_try_join(&worker->thread))
            return worker;
        ending = worker;
    }
    if (ending != NULL)
        axo__os_thread_join(&ending->thread);
    return ending;
}

/* Under the mutex. */
static bool elastic_grow_locked(axo__sched *sched)
{
    axo__worker *worker = elastic_absent(sched);
    if (worker == NULL)
        return false;
    worker->idle_at = 0;
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_AWAKE);
    axo__a32_store_relaxed(&sched->starting, 1);
    (void)axo__a32_add_seq_cst(&sched->live, 1); /* [W7] before it looks whether it is the last */
    worker->has_thread = axo__os_thread_start(&worker->thread, sched->kind->body, worker);
    if (worker->has_thread)
        return true;
    (void)axo__a32_add_seq_cst(&sched->live, UINT32_MAX); /* [W7] */
    axo__a32_store_relaxed(&sched->starting, 0);
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_ABSENT);
    return false;
}

/* One thread starts at a time: it looks for work when it has begun, and calls for the next one if
 * it finds more than it takes. If none can be had, those that run come to the work in time. */
static void elastic_grow(axo__sched *sched)
{
    if (axo__a32_load_seq_cst(&sched->starting) != 0 ||                  /* [W7] */
        axo__a32_load_seq_cst(&sched->live) >= sched->worker_count)      /* [W7] */
        return;
    axo__os_mutex_lock(&sched->mutex);
    if (axo__a32_load_acquire(&sched->quit) == 0 &&                      /* [W5] */
        axo__a32_load_relaxed(&sched->starting) == 0)
        (void)elastic_grow_locked(sched);
    axo__os_mutex_unlock(&sched->mutex);
}

static axo_status elastic_enter(axo__sched *sched)
{
    axo_status status = AXO_OK;
    axo__os_mutex_lock(&sched->mutex);
    if (axo__a32_load_relaxed(&sched->live) == 0) {
        if (!elastic_prepare_locked(sched))
            status = AXO_ENOMEM;
        else if (!elastic_grow_locked(sched))
            status = AXO_ETHREAD;
    }
    if (status == AXO_OK)
        (void)axo__a32_add_seq_cst(&sched->actors, 1); /* [W7] */
    axo__os_mutex_unlock(&sched->mutex);
    return status;
}

static void elastic_leave(axo__sched *sched)
{
    axo__os_mutex_lock(&sched->mutex);
    uint32_t actors = axo__a32_add_seq_cst(&sched->actors, UINT32_MAX); /* [W7] */
    AXO_DEBUG_ASSERT(actors > 0);
    axo__os_mutex_unlock(&sched->mutex);
    if (actors == 1)
        axo__sched_wake_all(sched); /* one may have no deadline */
}

static int64_t elastic_deadline(const axo__worker *worker)
{
    const axo__sched *sched = worker->sched;
    bool stays = axo__a32_load_seq_cst(&sched->live) == 1 && /* [W7] */
                 axo__a32_load_seq_cst(&sched->actors) > 0;  /* [W7] */
    return stays ? AXO__NEVER : worker->idle_at + sched->idle_ns;
}

/* While there are actors one thread stays. A pusher that finds all threads alive relies on one of
 * them: who leaves says so before it looks a last time. */
static bool elastic_ends(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->current == NULL);
    axo__sched *sched = worker->sched;
    bool end = false;
    if (worker->idle_at == 0)
        worker->idle_at = worker->now;
    if (worker->now - worker->idle_at < sched->idle_ns)
        return false;
    axo__os_mutex_lock(&sched->mutex);
    if (axo__a32_load_relaxed(&sched->live) > 1 ||
        axo__a32_load_relaxed(&sched->actors) == 0) {
        (void)axo__a32_add_seq_cst(&sched->live, UINT32_MAX); /* [W7] */
        end = !axo__inject_has_any(&sched->inject) && !axo__inject_has_any(&sched->urgent);
        if (end)
            axo__a32_store_relaxed(&worker->state, AXO__WORKER_ABSENT);
        else
            (void)axo__a32_add_seq_cst(&sched->live, 1); /* [W7] */
    }
    if (!end)
        (void)elastic_prepare_locked(sched);
    worker->idle_at = worker->now;
    axo__os_mutex_unlock(&sched->mutex);
    return end;
}

/* ---- the kind ---- */

static axo_status elastic_make(axo__sched *sched)
{
    sched->turns = 1;
    sched->grown = axo__sched_array(sched, sizeof(axo__aptr), sched->worker_count);
    return sched->grown != NULL ? AXO_OK : AXO_ENOMEM;
}

static void elastic_unmake(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count && sched->grown != NULL; i++)
        axo__sched_free_array(sched, axo__sched_worker(sched, i), sizeof(axo__worker), 1);
    axo__sched_free_array(sched, sched->grown, sizeof(axo__aptr), sched->worker_count);
}

static void elastic_begin(void *argument)
{
    const axo__worker *worker = argument;
    axo__worker_begin(argument);
    elastic_prepare(worker->sched);
    (void)axo__a32_add_seq_cst(&worker->sched->starting, UINT32_MAX); /* [W7] */
}

static const axo__os_body elastic_body = {
    .begin = elastic_begin,
    .step = axo__worker_step,
    .sleep = axo__worker_sleep,
    .wake = axo__worker_wake,
    .end = axo__worker_end,
};

const axo__sched_kind axo__elastic_kind = {
    .shared = true,
    .body = &elastic_body,
    .make = elastic_make,
    .unmake = elastic_unmake,
    .enter = elastic_enter,
    .leave = elastic_leave,
    .nobody_parked = elastic_grow,
    .wake = axo__worker_wake_parker,
    .deadline = elastic_deadline,
    .ends = elastic_ends,
};
