/* sweep.c - children told of a decision, a portion a turn.
 *
 * The portion bounds how long a parent's turn may last (D41): between two portions the worker
 * runs other cells, while the parent itself handles nothing else. */
#include "super/sweep.h"

/* `next` moves on before the child is told, so the sweep's place is right whatever the telling
 * does. After AXO__SWEEP_STEP children the rest waits for another turn; ops is NULL again after the
 * last child, which ends I1. */
static bool sweep_step(axo__worker *worker, axo__cell *cell, axo__sweep *sweep)
{
    for (uint32_t left = AXO__SWEEP_STEP; sweep->next != sweep->end; left--) {
        if (axo__unlikely(left == 0)) {
            cell->attention |= AXO__ATTENTION_REST;
            return false;
        }
        axo__cell *child = sweep->next;
        sweep->next = axo__cell_next(child);
        sweep->ops->tell(worker, cell, child);
    }
    sweep->ops = NULL;
    return true;
}

/* The sweep is copied into the family, which every parent has since its first child's spawn: so a
 * sweep takes no memory (D10). A cell without a family has no children to tell. */
bool axo__sweep_begin(axo__worker *worker, axo__cell *cell, const axo__sweep *sweep)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__family *family = axo__cell_family(cell);
    if (family == NULL)
        return true; /* no children */
    AXO_DEBUG_ASSERT(family->sweep.ops == NULL);
    family->sweep = *sweep;
    return sweep_step(worker, cell, &family->sweep);
}

/* `done` may begin another sweep, so the rest flag is asked once more before the turn goes on. */
bool axo__sweep_go_on(axo__worker *worker, axo__cell *cell)
{
    axo__family *family = axo__cell_family(cell);
    if (axo__likely(family == NULL || family->sweep.ops == NULL))
        return true;
    const axo__sweep_ops *ops = family->sweep.ops;
    if (!sweep_step(worker, cell, &family->sweep))
        return false;
    if (ops->done != NULL)
        ops->done(worker, cell);
    return (cell->attention & AXO__ATTENTION_REST) == 0;
}
