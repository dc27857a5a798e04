/* sched.c - a pool of workers: made, started, ended; its kind does the rest. */
#include "sched/sched.h"

#include <string.h>

#include "sched/scheduled.h"
#include "sched/pool.h"
#include "sched/spare.h"
#include "sched/timer.h"

/* ---- making ---- */

void *axo__sched_array(axo__sched *sched, size_t size, uint32_t count)
{
    if (count == 0)
        return NULL;
    void *array = axo__heap_alloc(&sched->core->heap, size * count, AXO__CACHE_LINE,
                                  AXO__SITE_WORKERS);
    if (array != NULL)
        memset(array, 0, size * count);
    return array;
}

void axo__sched_free_array(axo__sched *sched, void *array, size_t size, uint32_t count)
{
    if (array != NULL)
        axo__heap_free(&sched->core->heap, array, size * count, AXO__CACHE_LINE);
}

axo_status axo__sched_make_workers(axo__sched *sched)
{
    uint32_t all = axo__sched_all(sched);
    sched->workers = axo__sched_array(sched, sizeof(axo__worker), all);
    if (sched->workers == NULL)
        return AXO_ENOMEM;
    sched->slots = axo__sched_array(sched, sizeof(axo__worker_slots), sched->worker_count);
    if (sched->slots == NULL)
        return AXO_ENOMEM;
    for (uint32_t i = 0; i < all; i++) {
        axo__worker *worker = &sched->workers[i];
        axo__worker_init(worker, sched, i);
        if (sched != axo__core_sched(sched->core) || i >= sched->worker_count)
            continue;
        worker->timers = axo__timers_make(worker);
        if (worker->timers == NULL)
            return AXO_ENOMEM;
    }
    return AXO_OK;
}

void axo__sched_unmake_workers(axo__sched *sched)
{
    uint32_t all = axo__sched_all(sched);
    for (uint32_t i = 0; i < all && sched->workers != NULL; i++) {
        axo__worker *worker = &sched->workers[i];
        AXO_DEBUG_ASSERT(!worker->has_thread);
        axo__scheduled_fini(worker->timers);
        axo__timers_free(worker->timers);
    }
    axo__sched_free_array(sched, sched->workers, sizeof(axo__worker), all);
    axo__sched_free_array(sched, sched->slots, sizeof(axo__worker_slots), sched->worker_count);
}

axo_status axo__sched_enter_any(axo__sched *sched)
{
    (void)sched;
    return AXO_OK;
}

void axo__sched_leave_any(axo__sched *sched)
{
    (void)sched;
}

axo_status axo__sched_init(axo__sched *sched, uint32_t workers)
{
    AXO_DEBUG_ASSERT(workers > 0 && sched->core != NULL && sched->kind != NULL);
    sched->worker_count = workers;
    sched->turns = axo__os_turns;
    sched->event.fd = -1;
    axo__inject_init(&sched->inject);
    axo__inject_init(&sched->urgent);
    axo__inject_init(&sched->overrun);
    if (!axo__os_mutex_init(&sched->mutex))
        return AXO_ETHREAD;
    axo_status status = sched->kind->make(sched);
    if (status != AXO_OK)
        axo__sched_fini(sched);
    return status;
}

void axo__sched_fini(axo__sched *sched)
{
    sched->kind->unmake(sched);
    axo__os_mutex_fini(&sched->mutex);
}

/* ---- threads ---- */

axo_status axo__sched_start(axo__sched *sched)
{
    if (!sched->kind->manned)
        return AXO_OK;
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
        axo__worker *worker = &sched->workers[i];
        const axo__os_body *body = i < sched->worker_count ? sched->kind->body : &axo__spare_body;
        worker->has_thread = axo__os_thread_start(&worker->thread, body, worker);
        if (worker->has_thread)
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
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
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
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
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
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (worker->has_thread && !axo__os_thread_try_join(&worker->thread))
            return false;
        worker->has_thread = false;
    }
    return true;
}
