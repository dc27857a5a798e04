/* parked.h - senders that wait for room in a bounded mailbox: the record of one sender and one
 * receiver, and its way from the sender to the receiver's line and back. */
#ifndef AXO__SCHED_PARKED_H
#define AXO__SCHED_PARKED_H

#include "sched/timer.h"

typedef struct axo__parked {
    axo__waiter waiter;       /* first */
    axo__stack_node room;     /* brings the record back, in the sender's system lane */
    axo__timer timer;         /* of the record's limit */
    axo__a32 users;           /* 1 for the line or the sender, 1 more while the timer is armed */
    axo_ref sender;
    axo_ref receiver;
    struct axo__parked *next; /* of the same sender; the sender's runner's */
    bool stops;               /* the sender takes no messages meanwhile; its runner's */
} axo__parked;

/* The running cell's latest record for a receiver; NULL: the cell has none. */
axo__parked *axo__parked_find(const axo__cell *sender, axo_ref receiver);

/* Makes a record that stands in no line yet; NULL: no memory. free: gives up the caller's use. */
axo__parked *axo__parked_make(axo__worker *worker, axo_ref receiver);
void axo__parked_free(axo__local *local, axo__parked *parked);

/* A message of the running cell is held in `parked`: the record joins the cell's list if it is new,
 * and the cell stops taking messages. */
void axo__parked_held(axo__worker *worker, axo__parked *parked);

/* Arms the timer of a new record: it waits for room for `park_ns` at most. */
void axo__parked_limit(axo__worker *worker, axo__parked *parked, int64_t park_ns);

/* The callback in which the cell was parked is over: its records hold no further messages. */
void axo__parked_seal(axo__cell *cell);

/* Returns records whose messages have all left them to their senders. On a worker. */
void axo__parked_return(axo__local *local, axo__waiter *done);

/* A record has returned to its sender: frees it; the sender goes on unless another one stops it. */
void axo__parked_home(axo__worker *worker, axo__cell *cell, axo__stack_node *room);

/* A record has returned, but its sender has terminated: frees it. */
void axo__parked_closed(axo__local *local, axo__stack_node *room);

/* The cell stops: it is not parked any more (SC-13). Its records stay in their lines, with the
 * messages that they hold. */
void axo__parked_undo(axo__worker *worker, axo__cell *cell);

/* The cell ends, and can still be found: each receiver takes in the messages that records of this
 * cell hold, whatever its bound. */
void axo__parked_end(axo__worker *worker, axo__cell *cell);

#endif
