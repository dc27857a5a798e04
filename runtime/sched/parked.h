/* parked.h - senders that wait for room in a bounded mailbox. */
#ifndef AXO__SCHED_PARKED_H
#define AXO__SCHED_PARKED_H

#include "sched/timer.h"

typedef struct axo__parked {
    axo__waiter waiter;       /* first */
    axo__stack_node room;     /* brings the record back */
    axo__timer timer;         /* its limit */
    axo__a32 users;           /* who may touch it: the line's end, and the timer that is armed */
    axo_ref sender;
    axo_ref receiver;
    struct axo__parked *next; /* of the same sender; its runner's */
    bool stops;               /* its sender takes no messages meanwhile; its runner's */
} axo__parked;

/* The running cell's latest record for a receiver; NULL: none. */
axo__parked *axo__parked_find(const axo__cell *sender, axo_ref receiver);

/* A record that is not in use yet; NULL: no memory. */
axo__parked *axo__parked_make(axo__worker *worker, axo_ref receiver);
void axo__parked_free(axo__local *local, axo__parked *parked);

/* A message of the running cell is held in `parked`, which is in its list, or new. */
void axo__parked_held(axo__worker *worker, axo__parked *parked);

/* It is new, and waits no longer than that. */
void axo__parked_limit(axo__worker *worker, axo__parked *parked, int64_t park_ns);

/* The callback in which the cell was parked is over: no more is held. */
void axo__parked_seal(axo__cell *cell);

/* Records whose messages have all found room go home. On a worker. */
void axo__parked_return(axo__local *local, axo__waiter *done);

/* One has come home. */
void axo__parked_home(axo__worker *worker, axo__cell *cell, axo__stack_node *room);

/* It has come home to one that is gone. */
void axo__parked_closed(axo__local *local, axo__stack_node *room);

/* The cell stops: it is not parked any more (SC-13); what is held stays held. */
void axo__parked_undo(axo__worker *worker, axo__cell *cell);

/* The cell ends, and can still be found: what is held of it is let in. */
void axo__parked_end(axo__worker *worker, axo__cell *cell);

#endif
