/* found.h - what walls and an instance's heap have found: a failure of the callback that runs, or a
 * line of the log if none runs that can fail. */
#ifndef AXO__SCHED_FOUND_H
#define AXO__SCHED_FOUND_H

#include "mailbox/walled.h"
#include "mem/region.h"
#include "sched/blame.h"

/* A finding at a `what` of the cell: "block", "state", "payload". The caller is in the cell. */
void axo__found(axo__worker *worker, axo__cell *cell, const axo__finding *finding,
                const char *what);

/* The same, and it is a line of the log: the actor has failed already, or ends. */
void axo__found_line(axo__worker *worker, const axo__cell *cell, const axo__finding *finding,
                     const char *what);

/* Somebody has written past the payload of a message. */
void axo__found_payload(axo__worker *worker, axo__cell *cell, const axo__message *message);

/* What a receive has returned, or what it counts as: it has failed if a payload's wall is broken,
 * or if it has recorded a failure of memory. */
axo_status axo__found_look(axo__worker *worker, axo__cell *cell, axo__message *message,
                           axo_status status);
static inline axo_status axo__found_status(axo__worker *worker, axo__cell *cell,
                                           axo__message *message, axo_status status)
{
    AXO_DEBUG_ASSERT(worker->pending.kind != AXO_FAILURE_MEMORY ||
                     (message->flags & AXO__MESSAGE_BLAMED) != 0);
    if (axo__likely((message->flags & (AXO__MESSAGE_OWNED | AXO__MESSAGE_BLAMED)) == 0))
        return status;
    return axo__found_look(worker, cell, message, status);
}

#endif
