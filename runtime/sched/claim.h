/* claim.h - entries in a pool's injectors, which any thread may push, and the claim of a cell.
 *
 * An entry is a hint that a cell may have work; it owns nothing and may be stale. The claim, one
 * compare-and-swap of the cell's word ([S2] of cell/state.h), decides which worker runs the cell,
 * so queues, thieves and spares may hold entries for one cell at the same time.
 */
#ifndef AXO__SCHED_CLAIM_H
#define AXO__SCHED_CLAIM_H

#include "sched/pool.h"

/* Pushes an entry for a ready cell, unless the cell has an entry in an injector already. No worker
 * is woken. Any thread. */
void axo__claim_inject(axo__inject *inject, axo__cell *cell);

/* Pushes an entry for a cell into the pool's injector or urgent injector and wakes a worker. Any
 * thread. */
void axo__sched_push_ready_any(axo__sched *sched, axo__cell *cell);
void axo__sched_push_urgent_any(axo__sched *sched, axo__cell *cell);

/* Gives a claimed cell back to its own pool unrun, with an entry for the work that it has. */
void axo__sched_unclaim(axo__cell *cell);

/* Claims the cell that an entry names. NULL: the entry was stale. The cell's pool is compared after
 * the claim, when it cannot change: an entry of the slot's former life may name a cell that another
 * pool runs. The claim acquires what the last runner released ([S4]) and what each announcer wrote
 * ([S1] of cell/state.h), so the worker reads the cell's fields plainly from here on. */
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
