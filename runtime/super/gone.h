/* gone.h - what reaches a cell that has terminated.
 *
 * Exactness (D7) needs two looks. The ending actor's runner drains both lanes after the
 * generation is cleared, and axo__gone_expire drains them once more after the grace period, when
 * no sender that found the cell before can still be on its way. */
#ifndef AXO__SUPER_GONE_H
#define AXO__SUPER_GONE_H

#include "super/super.h"

/* Buries up to *budget messages of the cell's mailbox, the stash first (SS-06). Returns true when
 * nothing is left. `path` receives the actor's path with the first dead letter; NULL, if the
 * ancestors may be gone and the path cannot be known. */
bool axo__gone_drain_users(axo__local *local, axo__cell *cell, char *path, uint32_t *budget);

/* Answers one system message that reached a closed cell. Any local may call. */
void axo__gone_answer(axo__local *local, axo__cell *cell, axo__stack_node *node,
                      axo__sys_kind kind);

/* Empties the system lane of a closed cell that the caller may look at: the cell's runner does it,
 * and so does each pusher that finds the cell closed. Each caller detaches the whole lane
 * atomically, so every node is answered exactly once. */
void axo__gone_drain(axo__local *local, axo__cell *cell);

/* Ends a cell whose grace period is over, and gives its slot back. */
void axo__gone_expire(axo__local *local, axo__cell *cell);

#endif
