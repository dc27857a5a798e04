/* watch.h - death watch, both ends: watch.c draws a record's way and names its races. */
#ifndef AXO__SUPER_WATCH_H
#define AXO__SUPER_WATCH_H

#include "super/super.h"

/* Watches an actor. `own` is the message that comes in the notice's place (DW-15); NULL: the
 * notice. axo__watch_add is the only step of a watch that takes memory, so it alone can say
 * AXO_ENOMEM. */
axo_status axo__watch_add(axo__worker *worker, axo__cell *cell, axo_ref ref,
                          const axo_message *own);
void axo__watch_remove(axo__worker *worker, axo__cell *cell, axo_ref ref);

/* Handles WATCH, UNWATCH or RETURN: axo__watch_take from the lane of a living cell,
 * axo__watch_answer from the lane of a cell that has terminated. */
void axo__watch_take(axo__worker *worker, axo__cell *cell, axo__stack_node *node,
                     axo__sys_kind kind);
void axo__watch_answer(axo__local *local, axo__cell *cell, axo__stack_node *node,
                       axo__sys_kind kind);

/* What becomes of a notice, in this order: it comes up (false: it was unwatched and is freed); the
 * handler stashes it; it was handled; it was left in a closed mailbox. */
bool axo__watch_notice(axo__worker *worker, axo__cell *cell, axo__message *message);
void axo__watch_notice_keep(axo__cell *cell, axo__message *message);
void axo__watch_notice_free(axo__local *local, axo__message *message);
void axo__watch_notice_void(axo__local *local, axo__cell *cell, axo__message *message);

/* Tells up to *budget watchers of a cell that has terminated; true: all but the parent have been
 * told. The parent's records are put aside, since the parent is told after it has taken note of the
 * end (DW-13). */
bool axo__watch_tell(axo__worker *worker, axo__cell *cell, uint32_t *budget);
void axo__watch_tell_parent(axo__worker *worker, axo__watch *above);

/* The stand-in of a node (cell/peers.h) answers up to a portion of the watches of an actor there,
 * which has ended; true: all. */
bool axo__watch_far_ended(axo__worker *worker, axo__cell *cell, const axo_terminated *end);

/* The parent has forgotten the child and may be told of its end now (DW-13). */
void axo__watch_told_late(axo__worker *worker, axo__cell *cell, axo_ref child);

/* The cell ends: gives up a portion of its own watches. Returns false if more are left for the next
 * turn. */
bool axo__watch_drop(axo__worker *worker, axo__cell *cell);

#endif
