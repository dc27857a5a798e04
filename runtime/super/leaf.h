/* leaf.h - the begin and the end of a plain leaf, each in one straight path.
 *
 * Most actors live and die without `extra`: they have no children, no name, no watch, no timer, no
 * memory of the instance. Their first turn makes the instance, and their last one ends it, with the
 * steps of instance.c and stop.c in the same order; every step that such an actor does not need is
 * left out. An actor that is more than that, or becomes more in one of these callbacks, goes the
 * general way from there on.
 *
 * The callbacks run under the turn's own unwind point, so a throw comes back by axo__leaf_thrown
 * and the turn goes on behind it. */
#ifndef AXO__SUPER_LEAF_H
#define AXO__SUPER_LEAF_H

#include "super/super.h"

/* A newborn's first turn: makes its first instance; if that fails, the cell fails (IN-02). If there
 * is more to do for the system, or the newborn is no plain leaf and nothing was done,
 * AXO__ATTENTION_SYSTEM is set; if worker->current is NULL, the actor has ended at once and the
 * cell is released. */
void axo__leaf_begin(axo__worker *worker, axo__cell *cell);

/* Ends a plain leaf that has asked itself to stop and has no message left. If worker->current is
 * NULL now, the cell is released; else the rest is for turns, or it is no such actor and nothing
 * has changed. */
void axo__leaf_end(axo__worker *worker, axo__cell *cell);

/* A callback of the two above has thrown. */
void axo__leaf_thrown(axo__worker *worker, axo__cell *cell);

#endif
