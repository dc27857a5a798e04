/* sched.c - a pool of workers: made, started, ended; its kind does the rest.
 *
 * axo__sched_init makes the part that all pools have and calls the kind's `make`; whatever fails,
 * one `unmake` frees what there is, so each field is zero or valid from the start. Threads begin
 * after everything they read is made, and the memory goes after they are joined.
 */
#include "sched/sched.h"

#include <string.h>

#include "os/poll.h"
#include "sched/figures.h"
#include "sched/io.h"
#include "sched/scheduled.h"
#include "sched/pool.h"
#include "sched/ready.h"
#include "sched/spare.h"
#include "sched/timer.h"
#include "sched/trap.h"

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
        axo__heap_free(&sched->core->heap, array, size * count, AXO__CACHE_LINE, AXO__SITE_WORKERS);
}

/* Spare workers lie behind the others and have neither queues nor timer wheels. Only the default
 * pool has wheels: a timer that is set elsewhere goes to one of those (axo__timers_here). */
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
        if (!axo__trap_make(worker))
            return AXO_ENOMEM;
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
        axo__worker_free_ready(worker);
        axo__figures_worker_gone(sched->core, worker);
        axo__trap_free(worker);
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

/* `bell.event.fd` of -1 tells host_unmake that no descriptor has been opened. */
axo_status axo__sched_init(axo__sched *sched, uint32_t workers)
{
    AXO_DEBUG_ASSERT(workers > 0 && sched->core != NULL && sched->kind != NULL);
    AXO_DEBUG_ASSERT(sched->quantum > 0);
    sched->quantum_rest = sched->quantum - 1;
    sched->worker_count = workers;
    if (sched == axo__core_sched(sched->core))
        sched->core->homes = workers < AXO__GRACE_HOMES ? workers : AXO__GRACE_HOMES;
    sched->turns = axo__os_turns;
    sched->bell.event.fd = -1;
    axo__a64_store_relaxed(&sched->look_at, (uint64_t)AXO__NEVER);
    axo__inject_init(&sched->inject, &sched->outside, 0);
    axo__inject_init(&sched->urgent, &sched->outside, 32);
    axo__inject_init(&sched->overrun, &sched->overruns, 0);
    if (!axo__os_mutex_init(&sched->mutex))
        return AXO_ETHREAD;
    axo_status status = sched->kind->make(sched);
    if (status != AXO_OK)
        axo__sched_fini(sched);
    return status;
}

void axo__sched_fini(axo__sched *sched)
{
    axo__io_free(sched);
    sched->kind->unmake(sched);
    axo__os_mutex_fini(&sched->mutex);
}

/* ---- threads ---- */

/* A kind that is not manned starts its threads later (elastic.c) or has none (host.c). If the
 * system refuses a thread, those that run are ended and joined, so a failure leaves none. */
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

/* The bit pairs with the acquire loads of `quit` in axo__worker_step, park_look, spare_step and
 * spare_rest. A worker takes its ticket before the last of these loads, so a worker that reads 0
 * has a ticket from before the wake-up below, and does not sleep. The mutex is against
 * elastic_grow, which loads `quit` under it: a new thread is either woken here or not started. */
void axo__sched_quit(axo__sched *sched)
{
    axo__os_mutex_lock(&sched->mutex);
    (void)axo__a32_or_acq_rel(&sched->quit, AXO__QUIT_END); /* [W5] */
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (worker->has_thread)
            axo__os_thread_wake(&worker->thread);
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

/* For the reclaimer, which must not wait: it asks again at its next round (axo__pools_reap). */
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
