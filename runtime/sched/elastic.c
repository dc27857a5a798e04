/* elastic.c - the pool of actors that block: threads start one at a time when work is pushed and no
 * worker is parked, and a thread ends when it has had no work for long. All work is shared: ready
 * cells lie in the pool's injectors, so a handler that blocks hides no other cell.
 *
 * The number of threads follows the number of handlers that block at the same time. A pusher that
 * finds no parked worker asks for one more thread; the new thread looks for work when it has begun,
 * and by its own wake-ups asks for the next thread if work is left.
 *
 * Orders
 *   [W7] seq_cst, live, starting     a pusher pushes, then loads `starting` and `live`; a thread
 *                                    that has begun lowers `starting`, a thread that ends lowers
 *                                    `live`, and each looks into the injectors after it: the pusher
 *                                    sees the thread's change, or the thread sees the entry
 *        seq_cst, actors             the last actor's end lowers `actors`, then looks for parked
 *                                    workers; the last thread parks, then loads `actors` to decide
 *                                    whether it sleeps without a deadline: that thread
 *                                    reads 0, or is found parked and woken
 *   [W5] [W9]   as in sched/pool.h
 */
#include "sched/kinds.h"
#include "sched/sched.h"
#include "sched/trap.h"
#include "sched/wake.h"
#include "sched/worker.h"

/* ---- records ---- */

/* Under the mutex: makes a record for one more thread; NULL: no memory, and nothing has changed.
 * The record stays with the pool: when its thread has ended, the next thread takes it over. */
static axo__worker *elastic_add(axo__sched *sched, uint32_t index)
{
    axo__worker *worker = axo__sched_array(sched, sizeof(axo__worker), 1);
    if (worker == NULL)
        return NULL;
    axo__worker_init(worker, sched, index);
    if (!axo__trap_make(worker)) {
        axo__sched_free_array(sched, worker, sizeof(axo__worker), 1);
        return NULL;
    }
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_ABSENT);
    /* Publishes the initialised record to axo__sched_worker, which loads it with acquire. */
    axo__aptr_store_release(&sched->grown[index], worker); /* [W9] */
    return worker;
}

/* Under the mutex: makes sure that a record for the next thread exists, unless the pool has as many
 * as it may have; false: no memory. A pusher may be a failing or ending actor, which takes no
 * memory (D10), so each thread makes the record of the next thread when it begins and when it
 * stays. */
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

/* elastic_prepare_locked for a thread that has just begun. Without memory the pool has the threads
 * that it has; elastic_ends tries again when a worker has been idle for long. */
static void elastic_prepare(axo__sched *sched)
{
    axo__os_mutex_lock(&sched->mutex);
    (void)elastic_prepare_locked(sched);
    axo__os_mutex_unlock(&sched->mutex);
}

/* Under the mutex: a worker that has no thread; NULL: every worker has one. If every absent
 * worker's thread is still on its way to its end, the caller waits for one of them: that thread has
 * left the mutex and takes no more work, so the wait is short, and this call is the pusher's only
 * request for a thread. */
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

/* Under the mutex: starts one thread. `live` rises before the thread starts, so that two threads
 * that look whether they are the last one ([W7] in elastic_deadline) never both take themselves for
 * it. A refused start takes `live` and `starting` back. */
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

/* The kind's nobody_parked. One thread starts at a time: it looks for work when it has begun, and
 * asks for the next thread if it finds more work than it takes. If the system refuses a thread, the
 * threads that run come to the work in time.
 *
 * The loads of `starting` and `live` come after the push of the entry ([J3] of queue/inject.h).
 * They pair with elastic_begin's lowering of `starting` and elastic_ends's lowering of `live`: a
 * pusher that still reads a thread as starting or alive has pushed before that thread's look into
 * the injectors, so the thread finds the entry. */
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

/* The kind's enter: an actor comes. The first thread is started here, at the spawn, since only a
 * spawn may fail for want of memory or of a thread; a refusal of a later thread is no failure. */
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

/* The kind's leave: an actor goes. The last actor's end lowers `actors` and then looks for parked
 * workers in axo__sched_wake_all; it pairs with the last thread in elastic_deadline, which counts
 * itself as parked and then loads `actors`. So that thread is woken, or takes a deadline by
 * itself. */
static void elastic_leave(axo__sched *sched)
{
    axo__os_mutex_lock(&sched->mutex);
    uint32_t actors = axo__a32_add_seq_cst(&sched->actors, UINT32_MAX); /* [W7] */
    AXO_DEBUG_ASSERT(actors > 0);
    axo__os_mutex_unlock(&sched->mutex);
    if (actors == 1)
        axo__sched_wake_all(sched); /* the last thread may sleep without a deadline */
}

/* The last thread sleeps without a deadline while the pool has an actor, so that a message to that
 * actor needs no new thread; each other thread sleeps until its idle time is over. */
static int64_t elastic_deadline(const axo__worker *worker)
{
    const axo__sched *sched = worker->sched;
    bool stays = axo__a32_load_seq_cst(&sched->live) == 1 && /* [W7] */
                 axo__a32_load_seq_cst(&sched->actors) > 0;  /* [W7] */
    return stays ? AXO__NEVER : worker->idle_at + sched->idle_ns;
}

/* The kind's ends: whether an idle thread ends now. While the pool has actors one thread stays. A
 * pusher that finds all threads alive relies on them: so a thread that leaves lowers `live` first
 * and looks into the injectors after it ([W7], against elastic_grow). In the other order an entry
 * that is pushed between the look and the lowering would have neither this thread nor a new one. */
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
        if (end) {
            axo__worker_idles(worker);
            axo__a32_store_relaxed(&worker->state, AXO__WORKER_ABSENT);
        } else {
            (void)axo__a32_add_seq_cst(&sched->live, 1); /* [W7] */
        }
    }
    if (!end)
        (void)elastic_prepare_locked(sched);
    worker->idle_at = worker->now;
    axo__os_mutex_unlock(&sched->mutex);
    return end;
}

/* ---- the kind ---- */

/* One turn a step, so that a worker looks at the injectors between any two turns. The pointers of
 * all threads are taken at once, the records one by one: see sched/DESIGN.md, Dispatchers. */
static axo_status elastic_make(axo__sched *sched)
{
    sched->turns = 1;
    sched->grown = axo__sched_array(sched, sizeof(axo__aptr), sched->worker_count);
    return sched->grown != NULL ? AXO_OK : AXO_ENOMEM;
}

static void elastic_unmake(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count && sched->grown != NULL; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        axo__trap_free(worker);
        axo__sched_free_array(sched, worker, sizeof(axo__worker), 1);
    }
    axo__sched_free_array(sched, sched->grown, sizeof(axo__aptr), sched->worker_count);
}

/* The record of the next thread is made before `starting` falls: a pusher that reads 0 starts the
 * next thread and finds that record. The step after this looks for work ([W7], against
 * elastic_grow). */
static void elastic_begin(void *argument)
{
    const axo__worker *worker = argument;
    axo__worker_begin(argument);
    elastic_prepare(worker->sched);
    (void)axo__a32_add_seq_cst(&worker->sched->starting, UINT32_MAX); /* [W7] */
}

/* The next thread of the record may come late or never: what the cache keeps is everybody's. */
static void elastic_end(void *argument)
{
    axo__worker *worker = argument;
    axo__cache_flush(&worker->local.cache);
    axo__worker_end(argument);
}

static const axo__os_body elastic_body = {
    .name = "axo/blk",
    .kind = AXO_THREAD_BLOCKING,
    .begin = elastic_begin,
    .step = axo__worker_step,
    .sleep = axo__worker_sleep,
    .wake = axo__worker_wake,
    .end = elastic_end,
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
    .is_idle = axo__worker_is_parked,
};
