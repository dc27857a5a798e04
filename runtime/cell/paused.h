/* paused.h - the subtrees that are paused: axo_pause.
 *
 * Central idea: a pause is one more suspension, which the top's runner passes down as it does each
 * other (directive.h). So no message pays for it, and failures, stops and births need no word of
 * it: they add up with it. What is here is only the list of the tops, for who asks whether the time
 * of an actor stands still: who schedules a message, and an actor's own receive timeout, in a turn
 * of the system. While nobody has paused anything the answer is one load.
 *
 *   pause    (1) the top into the list  (2) a suspension to it  (3) what is scheduled for the
 *            subtree comes out of the wheels
 *   resume   (4) the top out of the list  (5) a resumption to it  (6) what stands still goes into
 *            the wheels again
 *
 * Who schedules looks at the list under the mutex of its wheel, as (3) and (6) have it. Behind (3)
 * of that wheel he sees (1), and the message stands still from the start; before it (3) finds the
 * message. So with (4) and (6). The runner of an actor that has taken the suspension of (2) sees
 * (1), and one that has taken the resumption of (5) sees (4): the directive carries the order. So
 * the list itself needs none.
 *
 * A top that has ended has nothing below it; its place is free for the next one.
 *
 * Rejected   A bit in each cell: it would be the parent's to hand down at each birth. One in the
 *            top alone: a byte in every cell, for what few are.
 */
#ifndef AXO__CELL_PAUSED_H
#define AXO__CELL_PAUSED_H

#include <axo/world.h>

#include "cell/table.h"

typedef struct axo__paused {
    axo__os_mutex mutex;           /* who pauses or resumes: one at a time */
    axo__a32 count;                /* tops in the list; written under the mutex */
    axo__a64 tops[AXO_PAUSES_MAX]; /* references; 0: free; written under the mutex */
} axo__paused;

/* Whether any subtree is paused. Relaxed: see above. */
static inline bool axo__paused_any(const axo__paused *paused)
{
    return axo__a32_load_relaxed(&paused->count) != 0;
}

/* Whether an actor lives, and is in a paused subtree. In a turn, or in a door. */
bool axo__paused_has(const axo__paused *paused, const axo__table *table, axo_ref actor);

/* ---- under the mutex ---- */

/* The place of a top in the list; AXO_PAUSES_MAX: it is not there. Of none: a free place. */
uint32_t axo__paused_find(const axo__paused *paused, axo_ref top);

/* Puts a top into a place, or none. */
void axo__paused_put(axo__paused *paused, uint32_t place, axo_ref top);

/* Takes out the tops that have ended. true: there was one. */
bool axo__paused_sweep(axo__paused *paused, const axo__table *table);

#endif
