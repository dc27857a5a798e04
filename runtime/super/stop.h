/* stop.h - the end of an actor, bottom-up: children before their parent (ST-02).
 *
 * The end runs in four phases, each in portions of a turn if it is long: TERMINATING waits for
 * the children, LEAVING gives back watches and timers, BURYING turns the mailbox into dead
 * letters, GONE tells watchers and the parent. Until the last step the cell is not closed, so
 * that it can have turns. */
#ifndef AXO__SUPER_STOP_H
#define AXO__SUPER_STOP_H

#include "super/super.h"

/* Begins the end: every child is told to stop. A cell without children ends in the same turn. */
void axo__stop_begin(axo__worker *worker, axo__cell *cell);

/* The children have gone. ST-03 gives the order: post_stop, own watches dropped, mailbox closed,
 * leftovers to dead letters, other watchers told, the parent told. */
void axo__stop_finish(axo__worker *worker, axo__cell *cell);

/* A post_stop has failed: the log says so, and the end goes on (HF-12). */
void axo__stop_failed(axo__worker *worker, const axo__cell *cell);

/* The parent of a closed cell learns of the end. */
void axo__stop_tell_parent(axo__worker *worker, axo__cell *parent, axo__cell *cell);

/* Gives back a portion of the ended instance's watches and timers; after the last portion no thread
 * finds the cell any more. */
void axo__stop_leave(axo__worker *worker, axo__cell *cell);

/* Does a portion of the end of a cell that no thread finds any more: dead letters, then other
 * watchers, then the parent. */
void axo__stop_go_on(axo__worker *worker, axo__cell *cell);

#endif
