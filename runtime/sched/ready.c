/* ready.c - where ready cells are put. */
#include "sched/ready.h"

#include "sched/claim.h"
#include "sched/newborn.h"
#include "sched/pool.h"
#include "sched/wake.h"

/* ---- into a queue of its own ---- */

/* The worker's own queue has no room. Where all work is shared the worker takes the cell next
 * itself, unless there was other work before it. */
static void ready_share_back(axo__sched *sched, axo__cell *cell)
{
    bool others = !sched->kind->shared || axo__inject_has_any(&sched->inject);
    axo__claim_inject(&sched->inject, cell);
    if (others)
        axo__sched_wake_one(sched);
}

void axo__worker_push_back(axo__worker *worker, axo__cell *cell)
{
    if (axo__unlikely(!axo__runq_push_owner(&worker->ready, cell))) {
        ready_share_back(worker->sched, cell);
        return;
    }
    axo__wake_offer(worker, axo__runq_count_any(&worker->ready));
}

void axo__worker_push_overrun(axo__worker *worker, axo__cell *cell)
{
    axo__sched *sched = worker->sched;
    if (axo__runq_push_owner(&worker->overrun, cell)) {
        axo__wake_offer(worker, AXO__STEAL_MIN);
        return;
    }
    if (sched->kind->shared) { /* all its work is in one queue */
        ready_share_back(sched, cell);
        return;
    }
    axo__claim_inject(&sched->overrun, cell);
    axo__sched_wake_one(sched);
}

void axo__worker_push_ready(axo__worker *worker, axo__cell *cell)
{
    axo__sched *sched = worker->sched;
    AXO_DEBUG_ASSERT(worker->own != NULL);
    bool guarded = worker->current == NULL || axo__a32_load_relaxed(&sched->parked) == 0 ||
                   axo__a32_load_relaxed(&sched->watcher) != 0;
    if (!guarded) {
        axo__worker_push_back(worker, cell);
        return;
    }
    axo__cell *displaced = axo__aptr_load_relaxed(&worker->next);
    axo__aptr_store_release(&worker->next, cell); /* [W2] */
    if (displaced != NULL)
        axo__worker_push_back(worker, displaced);
}

/* One newborn is as private as the next slot; of many, others are told. */
static void ready_push_newborn(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->own != NULL);
    axo__sched *sched = worker->sched;
    if (axo__unlikely(!axo__newborn_push_owner(worker, cell))) {
        axo__worker_push_back(worker, cell);
        return;
    }
    uint32_t count = axo__newborn_count_any(worker);
    bool guarded = axo__a32_load_relaxed(&sched->parked) == 0 ||
                   axo__a32_load_relaxed(&sched->watcher) != 0;
    if (axo__unlikely(!guarded || count == AXO__STEAL_MIN))
        axo__wake_offer(worker, count);
}

void axo__worker_push_urgent(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->own != NULL);
    if (axo__unlikely(!axo__runq_push_owner(&worker->urgent, cell))) {
        axo__sched_push_urgent_any(worker->sched, cell);
        return;
    }
    /* Between callbacks this worker comes to it at once. */
    if (worker->message != NULL || worker->site != AXO_SITE_NONE)
        axo__wake_offer(worker, 0);
}

/* ---- what stays behind is offered ---- */

/* Those that this worker leaves behind while it begins a turn. */
void axo__worker_offer_newborns(axo__worker *worker)
{
    uint32_t count = axo__newborn_count_any(worker);
    if (count >= AXO__STEAL_MIN && axo__a32_load_relaxed(&worker->sched->parked) != 0)
        axo__wake_offer(worker, count);
}

void axo__worker_offer_quiet(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->current == NULL);
    uint32_t ready = axo__runq_count_any(&worker->ready);
    uint32_t newborns = axo__newborn_count_any(worker);
    worker->quiet = false;
    if (newborns > ready)
        ready = newborns;
    if (axo__runq_count_any(&worker->urgent) > 0 || axo__runq_count_any(&worker->overrun) > 0)
        axo__wake_tell(worker, AXO__STEAL_MIN);
    else if (ready > 0 || axo__aptr_load_relaxed(&worker->next) != NULL)
        axo__wake_tell(worker, ready);
}

void axo__worker_offer_urgent(axo__worker *worker)
{
    if (axo__unlikely(!axo__runq_is_empty_any(&worker->urgent)))
        axo__wake_tell(worker, AXO__STEAL_MIN);
}

/* ---- into the cell's own pool ---- */

/* The pool whose queues this worker may push to as their owner. */
static bool ready_is_own(const axo__worker *worker, const axo__cell *cell)
{
    return worker != NULL && axo__likely(axo__cell_is_in(worker->local.core, cell, worker->own));
}

void axo__sched_push_ready(axo__worker *worker, axo__cell *cell)
{
    if (ready_is_own(worker, cell))
        axo__worker_push_ready(worker, cell);
    else
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
}

void axo__sched_push_newborn(axo__worker *worker, axo__cell *cell)
{
    if (ready_is_own(worker, cell))
        ready_push_newborn(worker, cell);
    else
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
}

static void ready_push_urgent(axo__worker *worker, axo__cell *cell)
{
    if (ready_is_own(worker, cell))
        axo__worker_push_urgent(worker, cell);
    else
        axo__sched_push_urgent_any(axo__cell_sched(cell), cell);
}

void axo__sched_announce_user(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_announce_user(&cell->state) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
}

void axo__sched_accept(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    if (axo__cell_accept(cell, message) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
}

void axo__sched_announce_system(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_announce_system(&cell->state) == AXO__ANNOUNCE_PUSH)
        ready_push_urgent(worker, cell);
}

void axo__sched_stop(axo__worker *worker, axo__cell *cell)
{
    axo__directives_stop(&cell->directives);
    axo__sched_announce_system(worker, cell);
}

void axo__sched_go_on(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == NULL && axo__state_is_running(&cell->state));
    axo__unclaim urgent = axo__state_unclaim(&cell->state, true);
    AXO_DEBUG_ASSERT(urgent == AXO__UNCLAIM_URGENT);
    (void)urgent;
    ready_push_urgent(worker, cell);
}

void axo__sched_hand_back(axo__worker *worker, axo__cell *cell)
{
    switch (axo__state_give_back(&cell->state)) {
    case AXO__UNCLAIM_URGENT:
        ready_push_urgent(worker, cell);
        return;
    case AXO__UNCLAIM_READY:
        axo__sched_push_ready(worker, cell);
        return;
    case AXO__UNCLAIM_IDLE:
        return;
    }
}

void axo__sched_hand_back_held(axo__worker *worker, axo__cell *cell)
{
    if (axo__state_give_back_held(&cell->state) == AXO__UNCLAIM_URGENT)
        ready_push_urgent(worker, cell);
}
