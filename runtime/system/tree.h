/* tree.h - a walk over a subtree that stands still.
 *
 * A cell that no worker is in is borrowed (cell/state.h), so that its state, its mailbox and its
 * list of children can be read. A parent stays borrowed while its children are walked over: it can
 * forget none of them meanwhile, so their links lead on, and no door is held in between. */
#ifndef AXO__SYSTEM_TREE_H
#define AXO__SYSTEM_TREE_H

#include "system/system.h"

/* Of a cell that is borrowed. Another status than AXO_OK ends the walk. */
typedef axo_status (*axo__tree_fn)(void *arg, axo__cell *cell);

/* Calls `each` for an actor and all below it, a parent before its children, the oldest first.
 * AXO_EBUSY: some cell does not stand still, or has work of the system's to do, which is about to
 * change what is seen; AXO_EGONE: the actor has ended; or what `each` has said. Any thread that is
 * in no turn and in no door. */
axo_status axo__tree_walk(axo_system *system, axo_ref top, axo__tree_fn each, void *arg);

#endif
