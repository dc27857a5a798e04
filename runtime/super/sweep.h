/* sweep.h - the children of one parent are told of a decision, AXO__SWEEP_STEP of them a turn.
 *
 * Telling a family of a million takes 20 ms and more. So every decision that reaches many children
 * begins a sweep: the first portion is told at once, the rest in later turns of the parent that
 * handle nothing else (AXO__ATTENTION_REST): no message, no directive, no report, no end of a
 * child. The list of children stays as it is until the sweep is over, so the decision appears as
 * one to every observer but the children's own turns.
 *
 * Invariants
 *   I1  sweep.ops != NULL: the cell's runner is in a step of the sweep, or AXO__ATTENTION_REST is
 *       set.
 *   I2  A cell has one sweep at a time; what follows the sweep is done by `done`, or by the caller
 *       if the first portion was the last.
 */
#ifndef AXO__SUPER_SWEEP_H
#define AXO__SUPER_SWEEP_H

#include "super/super.h"

/* What a sweep does, as constants of the file that begins it: the cell keeps one pointer between
 * turns. */
typedef struct axo__sweep_ops {
    /* Tells one child, in the parent's turn. */
    void (*tell)(axo__worker *worker, axo__cell *cell, axo__cell *child);
    /* Called if the last child was told in a later turn than the first; NULL: nothing follows. */
    void (*done)(axo__worker *worker, axo__cell *cell);
} axo__sweep_ops;

/* For sweep.about: the child that has this reference, which may have ended; NULL for none. The
 * slot's memory stays (cells are type-stable), and another generation in it means another actor. */
static inline axo__cell *axo__sweep_child(const axo__core *core, axo_ref ref)
{
    if (axo_ref_is_none(ref))
        return NULL;
    axo__cell *child = axo__table_in(&core->table, (uint32_t)(ref.bits & AXO__SLOT_MASK));
    return axo_ref_equal(axo__cell_ref(child), ref) ? child : NULL;
}

/* Tells the children from sweep->next up to sweep->end. Returns true if all of them are told and
 * the caller goes on; false if later turns tell the rest and call `done`. */
bool axo__sweep_begin(axo__worker *worker, axo__cell *cell, const axo__sweep *sweep);

/* Tells the next portion of a sweep that is under way. Returns false if work is left for the next
 * turn. */
bool axo__sweep_go_on(axo__worker *worker, axo__cell *cell);

#endif
