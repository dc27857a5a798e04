/* stop.h - the end of an actor, bottom-up. */
#ifndef AXO__SUPER_STOP_H
#define AXO__SUPER_STOP_H

#include "super/super.h"

/* It begins to end, and ends if it has no children. */
void axo__stop_begin(axo__worker *worker, axo__cell *cell);

/* ST-03: post_stop, own watches dropped, mailbox closed, leftovers to dead letters, other watchers
 * told, parent told. Its children are gone. */
void axo__stop_finish(axo__worker *worker, axo__cell *cell);

/* A portion of what an ended instance leaves behind: own watches, timers; then the cell is not
 * found any more. */
void axo__stop_leave(axo__worker *worker, axo__cell *cell);

/* A portion of the end of one that nobody finds any more: leftovers to dead letters, then other
 * watchers told, then the parent. Until then the cell is not closed, so that it can have a turn. */
void axo__stop_go_on(axo__worker *worker, axo__cell *cell);

#endif
