/* claim.c - entries in a pool's injectors, and cells that go back unrun.
 *
 * A cell has one node for the injector and one for the urgent injector, so an entry takes no memory
 * and a cell stands at most once in each. The bit INJECTED (URGENT_INJECTED) of the cell's word
 * says that the node is in use; the thread that sets the bit pushes the node, and the worker that
 * pops the node clears the bit before it claims (find.c).
 */
#include "sched/claim.h"

#include "sched/wake.h"

/* If the bit is set already, the caller pushes nothing: the worker that pops the older entry clears
 * the bit first and claims after, so its claim sees what the caller has announced. The pair is
 * [S6] of cell/state.h, in axo__state_inject here and axo__state_injected in find.c. */
void axo__claim_inject(axo__inject *inject, axo__cell *cell)
{
    if (axo__state_inject(&cell->state, AXO__INJECTED))
        axo__inject_push_any(inject, &cell->inject_node);
}

/* The push comes before the look for a parked worker: steps (5) to (7) of sched/wake.h, where the
 * injector's count ([J3] of queue/inject.h) is the read-modify-write of (6). A worker is woken even
 * if the cell had an entry already: the wake-up for that entry may still be on its way. */
void axo__sched_push_ready_any(axo__sched *sched, axo__cell *cell)
{
    axo__claim_inject(&sched->inject, cell);
    axo__sched_wake_one(sched);
}

/* As axo__sched_push_ready_any, with the urgent injector and the cell's second node. */
void axo__sched_push_urgent_any(axo__sched *sched, axo__cell *cell)
{
    if (axo__state_inject(&cell->state, AXO__URGENT_INJECTED))
        axo__inject_push_any(&sched->urgent, &cell->urgent_node);
    axo__sched_wake_one(sched);
}

/* The entry that the word asked for when the claim was undone, in the cell's own pool. */
static void claim_push_any(axo__cell *cell, axo__unclaim what)
{
    switch (what) {
    case AXO__UNCLAIM_URGENT:
        axo__sched_push_urgent_any(axo__cell_sched(cell), cell);
        return;
    case AXO__UNCLAIM_READY:
        axo__sched_push_ready_any(axo__cell_sched(cell), cell);
        return;
    case AXO__UNCLAIM_IDLE:
        return;
    }
}

/* The claim may have cleared URGENT; the attention flag SYSTEM has stood for the system work since
 * then, so URGENT goes back into the word in the same step that clears RUNNING. That step releases
 * the cell ([S4] of cell/state.h) to the next claim; the push comes after it, since an entry that a
 * worker tries earlier is stale and gone. */
void axo__sched_unclaim(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    bool urgent = (cell->attention & AXO__ATTENTION_SYSTEM) != 0;
    cell->attention &= (uint8_t)~AXO__ATTENTION_SYSTEM;
    claim_push_any(cell, axo__state_unclaim(&cell->state, urgent));
}
