/* sched.c - a pool of workers: made, started, grown, ended. */
#include <string.h>

#include "sched/worker.h"

/* ---- making ---- */

static uint32_t sched_all(const axo__sched *sched)
{
    return sched->worker_count + sched->spare_count;
}

static void *sched_array(axo__sched *sched, size_t size, uint32_t count)
{
    if (count == 0)
        return NULL;
    void *array = axo__heap_alloc(&sched->core->heap, size * count, AXO__CACHE_LINE,
                                  AXO__SITE_WORKERS);
    if (array != NULL)
        memset(array, 0, size * count);
    return array;
}

static void sched_free_array(axo__sched *sched, void *array, size_t size, uint32_t count)
{
    if (array != NULL)
        axo__heap_free(&sched->core->heap, array, size * count, AXO__CACHE_LINE);
}

static void sched_free_memory(axo__sched *sched)
{
    uint32_t all = sched_all(sched);
    for (uint32_t i = 0; i < all && sched->workers != NULL; i++) {
        axo__worker *worker = &sched->workers[i];
        AXO_DEBUG_ASSERT(!worker->has_thread);
        sched_free_array(sched, worker->seen, sizeof(axo__seen), sched->worker_count);
        axo__alarms_fini(worker->timers);
        axo__timers_free(worker->timers);
    }
    for (uint32_t i = 0; i < all && sched->grown != NULL; i++)
        sched_free_array(sched, axo__sched_worker(sched, i), sizeof(axo__worker), 1);
    sched_free_array(sched, sched->grown, sizeof(axo__aptr), all);
    sched_free_array(sched, sched->workers, sizeof(axo__worker), all);
    sched_free_array(sched, sched->slots, sizeof(axo__worker_slots), all);
    sched_free_array(sched, sched->marks, sizeof(axo__spare_mark), sched->spare_count * all);
}

static bool sched_take_memory(axo__sched *sched)
{
    uint32_t all = sched_all(sched);
    if (sched->kind == AXO__SCHED_ELASTIC) { /* records come with their threads */
        sched->grown = sched_array(sched, sizeof(axo__aptr), all);
        return sched->grown != NULL;
    }
    sched->workers = sched_array(sched, sizeof(axo__worker), all);
    if (sched->workers == NULL)
        return false;
    sched->slots = sched_array(sched, sizeof(axo__worker_slots), all);
    if (sched->slots == NULL)
        return false;
    sched->marks = sched_array(sched, sizeof(axo__spare_mark), sched->spare_count * all);
    if (sched->marks == NULL && sched->spare_count > 0)
        return false;
    for (uint32_t i = 0; i < all; i++) {
        axo__worker *worker = &sched->workers[i];
        axo__worker_init(worker, sched, i);
        if (sched == axo__core_sched(sched->core) && i < sched->worker_count) {
            worker->timers = axo__timers_make(sched->core, worker);
            if (worker->timers == NULL)
                return false;
        }
        if (sched->kind != AXO__SCHED_FIXED)
            continue;
        worker->seen = sched_array(sched, sizeof(axo__seen), sched->worker_count);
        if (worker->seen == NULL)
            return false;
    }
    return true;
}

axo_status axo__sched_init(axo__sched *sched, uint32_t workers)
{
    AXO_DEBUG_ASSERT(workers > 0 && sched->core != NULL);
    bool own = sched->kind == AXO__SCHED_FIXED || sched->kind == AXO__SCHED_PINNED;
    sched->worker_count = workers;
    sched->turns = own ? axo__os_turns : 1;
    sched->event.fd = -1;
    axo__a32_store_relaxed(&sched->spare_mode, AXO__SPARE_DEEP);
    axo__inject_init(&sched->inject);
    axo__inject_init(&sched->urgent);
    axo__inject_init(&sched->slow);
    if (!axo__os_mutex_init(&sched->mutex))
        return AXO_ETHREAD;
    if (!sched_take_memory(sched)) {
        sched_free_memory(sched);
        axo__os_mutex_fini(&sched->mutex);
        return AXO_ENOMEM;
    }
    if (sched->kind == AXO__SCHED_HOST && !axo__os_event_init(&sched->event)) {
        sched_free_memory(sched);
        axo__os_mutex_fini(&sched->mutex);
        return AXO_ETHREAD;
    }
    return AXO_OK;
}

void axo__sched_fini(axo__sched *sched)
{
    if (sched->kind == AXO__SCHED_HOST)
        axo__os_event_fini(&sched->event);
    sched_free_memory(sched);
    axo__os_mutex_fini(&sched->mutex);
}

/* ---- threads ---- */

static bool sched_start_one(axo__sched *sched, axo__worker *worker)
{
    bool spare = sched->spare_count > 0 && worker >= sched->workers + sched->worker_count;
    const axo__os_body *body = spare ? &axo__spare_body : &axo__worker_body;
    worker->has_thread = axo__os_thread_start(&worker->thread, body, worker);
    return worker->has_thread;
}

axo_status axo__sched_start(axo__sched *sched)
{
    if (sched->kind == AXO__SCHED_HOST || sched->kind == AXO__SCHED_ELASTIC)
        return AXO_OK;
    for (uint32_t i = 0; i < sched_all(sched); i++) {
        if (sched_start_one(sched, &sched->workers[i]))
            continue;
        axo__sched_quit(sched);
        axo__sched_join(sched);
        return AXO_ETHREAD;
    }
    return AXO_OK;
}

void axo__sched_quit(axo__sched *sched)
{
    axo__os_mutex_lock(&sched->mutex);
    axo__a32_store_release(&sched->quit, 1); /* [W5] */
    for (uint32_t i = 0; i < sched_all(sched); i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (worker->has_thread)
            axo__os_parker_wake(&worker->thread.parker);
    }
    axo__os_mutex_unlock(&sched->mutex);
}

void axo__sched_join(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched_all(sched); i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (worker->has_thread)
            axo__os_thread_join(&worker->thread);
        worker->has_thread = false;
    }
}

bool axo__sched_try_join(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched_all(sched); i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (worker->has_thread && !axo__os_thread_try_join(&worker->thread))
            return false;
        worker->has_thread = false;
    }
    return true;
}

/* ---- elastic ---- */

/* Under the mutex: a record for one more thread; NULL: no memory, and nothing is left of it. It
 * stays with the pool, for the next thread when this one has ended. */
static axo__worker *sched_add(axo__sched *sched, uint32_t index)
{
    axo__worker *worker = sched_array(sched, sizeof(axo__worker), 1);
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
static bool sched_prepare_locked(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            return sched_add(sched, i) != NULL;
        if (axo__a32_load_relaxed(&worker->state) == AXO__WORKER_ABSENT)
            return true;
    }
    return true;
}

void axo__sched_prepare(axo__sched *sched)
{
    AXO_DEBUG_ASSERT(sched->kind == AXO__SCHED_ELASTIC);
    axo__os_mutex_lock(&sched->mutex);
    (void)sched_prepare_locked(sched);
    axo__os_mutex_unlock(&sched->mutex);
}

/* Under the mutex: one that has no thread; NULL: all have. If the threads of all that are absent
 * are still about to end, one is waited for: it has left the mutex and takes no more work, and who
 * calls for a thread now calls only once. */
static axo__worker *sched_absent(axo__sched *sched)
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
static bool sched_grow_locked(axo__sched *sched)
{
    axo__worker *worker = sched_absent(sched);
    if (worker == NULL)
        return false;
    AXO_DEBUG_ASSERT(sched->kind == AXO__SCHED_ELASTIC);
    worker->idle_at = 0;
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_AWAKE);
    axo__a32_store_relaxed(&sched->starting, 1);
    (void)axo__a32_add_seq_cst(&sched->live, 1); /* [W7] before it looks whether it is the last */
    if (sched_start_one(sched, worker))
        return true;
    (void)axo__a32_add_seq_cst(&sched->live, UINT32_MAX); /* [W7] */
    axo__a32_store_relaxed(&sched->starting, 0);
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_ABSENT);
    return false;
}

/* One thread starts at a time: it looks for work when it has begun, and calls for the next one if
 * it finds more than it takes. If none can be had, those that run come to the work in time. */
void axo__sched_grow(axo__sched *sched)
{
    if (axo__a32_load_seq_cst(&sched->starting) != 0 ||                  /* [W7] */
        axo__a32_load_seq_cst(&sched->live) >= sched->worker_count)      /* [W7] */
        return;
    axo__os_mutex_lock(&sched->mutex);
    if (axo__a32_load_acquire(&sched->quit) == 0 &&                      /* [W5] */
        axo__a32_load_relaxed(&sched->starting) == 0)
        (void)sched_grow_locked(sched);
    axo__os_mutex_unlock(&sched->mutex);
}

axo_status axo__sched_enter_actor(axo__sched *sched)
{
    AXO_DEBUG_ASSERT(sched->kind == AXO__SCHED_ELASTIC);
    axo_status status = AXO_OK;
    axo__os_mutex_lock(&sched->mutex);
    if (axo__a32_load_relaxed(&sched->live) == 0) {
        if (!sched_prepare_locked(sched))
            status = AXO_ENOMEM;
        else if (!sched_grow_locked(sched))
            status = AXO_ETHREAD;
    }
    if (status == AXO_OK)
        (void)axo__a32_add_seq_cst(&sched->actors, 1); /* [W7] */
    axo__os_mutex_unlock(&sched->mutex);
    return status;
}

void axo__sched_leave_actor(axo__sched *sched)
{
    axo__os_mutex_lock(&sched->mutex);
    uint32_t actors = axo__a32_add_seq_cst(&sched->actors, UINT32_MAX); /* [W7] */
    AXO_DEBUG_ASSERT(actors > 0);
    axo__os_mutex_unlock(&sched->mutex);
    if (actors == 1)
        axo__sched_wake_all(sched); /* one may have no deadline */
}

int64_t axo__sched_idle_deadline(const axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->sched->kind == AXO__SCHED_ELASTIC);
    const axo__sched *sched = worker->sched;
    bool stays = axo__a32_load_seq_cst(&sched->live) == 1 && /* [W7] */
                 axo__a32_load_seq_cst(&sched->actors) > 0;  /* [W7] */
    return stays ? AXO__NEVER : worker->idle_at + sched->idle_ns;
}

/* While there are actors one thread stays. A pusher that finds all threads alive relies on one of
 * them: who leaves says so before it looks a last time. */
bool axo__sched_shrink(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->sched->kind == AXO__SCHED_ELASTIC && worker->current == NULL);
    axo__sched *sched = worker->sched;
    bool end = false;
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
        (void)sched_prepare_locked(sched);
    worker->idle_at = worker->now;
    axo__os_mutex_unlock(&sched->mutex);
    return end;
}

/* ---- looking ---- */

/* A worker that has released the cell names it until it leaves the turn, but without a tag: the
 * one with a tag is in `receive`. */
bool axo__sched_running(const axo__cell *cell, uint64_t *tag, int64_t *since)
{
    const axo__sched *sched = axo__cell_sched(cell);
    bool found = false;
    for (uint32_t i = 0; i < sched_all(sched); i++) {
        const axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (axo__aptr_load_relaxed(&worker->running) != cell)
            continue;
        found = true;
        *tag = axo__a64_load_relaxed(&worker->running_tag);
        *since = (int64_t)axo__a64_load_relaxed(&worker->since);
        if (*tag != 0)
            break;
    }
    return found;
}
