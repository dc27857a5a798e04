/* claim.h - entries in a pool's injectors, which any thread may push, and the claim of a cell. */
#ifndef AXO__SCHED_CLAIM_H
#define AXO__SCHED_CLAIM_H

#include "sched/pool.h"

/* An entry for a ready cell, unless one is in an injector already; nobody is woken. */
void axo__claim_inject(axo__inject *inject, axo__cell *cell);

/* An entry in the pool's injectors; a worker is woken. Any thread. */
void axo__sched_push_ready_any(axo__sched *sched, axo__cell *cell);
void axo__sched_push_urgent_any(axo__sched *sched, axo__cell *cell);

/* A claimed cell goes back to its own pool unrun, whatever it has work for. */
void axo__sched_unclaim(axo__cell *cell);

/* The cell, if this worker may run it now; NULL: the entry that led to it was stale. The pool is
 * looked at after the claim: an entry of the slot's former life may name another pool's cell. */
static inline axo__cell *axo__worker_claim(axo__worker *worker, axo__cell *cell)
{
    axo__mpsc_node *lane = NULL;
    axo__claim claim = axo__state_claim(&cell->state, &lane);
    if (claim == AXO__CLAIM_STALE)
        return NULL;
    if (axo__unlikely(claim == AXO__CLAIM_URGENT))
        cell->attention |= AXO__ATTENTION_SYSTEM;
    if (lane != NULL)
        axo__inbox_put(&cell->inbox, lane);
    if (axo__likely(axo__cell_is_in(worker->local.core, cell, worker->sched)))
        return cell;
    axo__sched_unclaim(cell);
    return NULL;
}

#endif
