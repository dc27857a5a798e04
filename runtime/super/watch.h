/* watch.h - death watch, both ends: watch.c has its races. */
#ifndef AXO__SUPER_WATCH_H
#define AXO__SUPER_WATCH_H

#include "super/super.h"

/* `own`: what comes in the place of the notice; NULL: the notice. */
axo_status axo__watch_add(axo__worker *worker, axo__cell *cell, axo_ref ref,
                          const axo_message *own);
void axo__watch_remove(axo__worker *worker, axo__cell *cell, axo_ref ref);

/* WATCH, UNWATCH or RETURN: taken from the lane of a living cell; of one that is gone. */
void axo__watch_take(axo__worker *worker, axo__cell *cell, axo__stack_node *node,
                     axo__sys_kind kind);
void axo__watch_answer(axo__local *local, axo__cell *cell, axo__stack_node *node,
                       axo__sys_kind kind);

/* A notice: it has come up, is stashed, was handled; it was left in a closed mailbox. */
bool axo__watch_notice(axo__worker *worker, axo__cell *cell, axo__message *message);
void axo__watch_notice_keep(axo__cell *cell, axo__message *message);
void axo__watch_notice_free(axo__local *local, axo__message *message);
void axo__watch_notice_void(axo__local *local, axo__cell *cell, axo__message *message);

/* Up to *budget watchers of one that is gone are told; true: all but the parent are. The parent's
 * records are put aside: it is to be told when it knows that the child is gone (DW-13). */
bool axo__watch_tell(axo__worker *worker, axo__cell *cell, uint32_t *budget);
void axo__watch_tell_parent(axo__worker *worker, axo__watch *above);

/* The parent has forgotten the child: now it may be told (DW-13). */
void axo__watch_told_late(axo__worker *worker, axo__cell *cell, axo_ref child);

/* The cell ends: a portion of its own watches is given up. false: more is left for the next
 * turn. */
bool axo__watch_drop(axo__worker *worker, axo__cell *cell);

#endif
