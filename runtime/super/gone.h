/* gone.h - what reaches a cell that has terminated. */
#ifndef AXO__SUPER_GONE_H
#define AXO__SUPER_GONE_H

#include "super/super.h"

/* Leftovers of its mailbox, up to *budget, go to dead letters, what is stashed first (SS-06); true:
 * nothing is left. `path`: filled with the first; NULL: its ancestors may be gone, nobody knows. */
bool axo__gone_drain_users(axo__local *local, axo__cell *cell, char *path, uint32_t *budget);

/* A system message that reached a closed cell; any local. */
void axo__gone_answer(axo__local *local, axo__cell *cell, axo__stack_node *node,
                      axo__sys_kind kind);

/* Empties the lane of a closed cell that can be looked at: its runner, and whoever pushes to it and
 * finds it closed. Each takes what there is at one blow, so every node is answered once. */
void axo__gone_drain(axo__local *local, axo__cell *cell);

/* A cell whose grace period is over. */
void axo__gone_expire(axo__local *local, axo__cell *cell);

#endif
