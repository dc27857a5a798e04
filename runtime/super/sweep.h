/* sweep.h - the children of one parent are told of a decision, AXO__SWEEP_STEP of them a turn.
 *
 * A family of a million is told in 20 ms and more. So whoever tells children begins a sweep: the
 * first portion is told at once, and what is left of it in turns of the parent that handle nothing
 * else (AXO__ATTENTION_REST): no message, no directive, no report, no end of a child. The list of
 * children stays as it is until the sweep is over, and the decision is one for all observers but
 * the children's own turns.
 *
 * Invariants
 *   I1  sweep.ops != NULL: the cell's runner is in a step of the sweep, or AXO__ATTENTION_REST is
 *   set.
 *   I2  A cell has one sweep at a time; what follows from it is in `done`, or done by the caller.
 */
#ifndef AXO__SUPER_SWEEP_H
#define AXO__SUPER_SWEEP_H

#include "super/super.h"

typedef struct axo__sweep_ops {
    void (*tell)(axo__worker *worker, axo__cell *cell, axo__cell *child);
    /* The last child was told in a later turn than the first; NULL: nothing follows. */
    void (*done)(axo__worker *worker, axo__cell *cell);
} axo__sweep_ops;

/* For `about`: the child of that reference, which may have ended; NULL: none. */
static inline axo__cell *axo__sweep_child(const axo__core *core, axo_ref ref)
{
    if (axo_ref_is_none(ref))
        return NULL;
    axo__cell *child = axo__table_in(&core->table, (uint32_t)(ref.bits & AXO__SLOT_MASK));
    return axo_ref_equal(axo__cell_ref(child), ref) ? child : NULL;
}

/* Tells the children from sweep->next to sweep->end. true: all of them, and the caller goes on;
 * false: the sweep goes on in later turns, which call `done`. */
bool axo__sweep_begin(axo__worker *worker, axo__cell *cell, const axo__sweep *sweep);

/* The next portion of a sweep, if one is under way. false: more is left for the next turn. */
bool axo__sweep_go_on(axo__worker *worker, axo__cell *cell);

#endif
