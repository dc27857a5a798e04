/* inbox.h - the messages that a runner has taken out of its cell's lane, in order.
 *
 * The lane is a list with the newest message first (cell/state.h), so that a send is one
 * compare-and-swap; the inbox turns it round. The runner turns AXO__TURN_STEP messages at a time
 * and looks at its system lane in between: so a stop overtakes a backlog of any length (ST-07).
 *
 * Roles      the cell's runner, or a worker that has borrowed the cell.
 */
#ifndef AXO__MAILBOX_INBOX_H
#define AXO__MAILBOX_INBOX_H

#include "base/assert.h"
#include "base/config.h"
#include "mailbox/message.h"

/* Part of a cell; the fields need no atomics, since only the worker inside the cell touches
 * them. */
typedef struct axo__inbox {
    axo__message *first; /* oldest first; while `rest` is not NULL, the part that has been turned */
    axo__message *rest;  /* newest first: older than all in `first` */
} axo__inbox;

static inline bool axo__inbox_is_empty(const axo__inbox *inbox)
{
    return inbox->first == NULL && inbox->rest == NULL;
}

/* Puts the messages of a lane into an empty inbox. A single message needs no turning, which is the
 * usual case of a request and its answer. */
static inline void axo__inbox_put(axo__inbox *inbox, axo__mpsc_node *lane)
{
    AXO_DEBUG_ASSERT(axo__inbox_is_empty(inbox));
    axo__message *newest = (axo__message *)(void *)lane;
    if (axo__likely(newest == NULL || newest->node.next == NULL))
        inbox->first = newest;
    else
        inbox->rest = newest;
}

/* Messages that a sender made in a row mostly lie at equal distances, so the next messages of a
 * long line are fetched from the other processor before their links are known. The address is a
 * guess: it is prefetched, never read. */
static inline void axo__inbox_ahead(const axo__message *message, const axo__message *next)
{
    intptr_t step = (intptr_t)next - (intptr_t)message;
    __builtin_prefetch((const void *)((uintptr_t)next + (uintptr_t)(8 * step)), 1);
}

/* Turns up to AXO__TURN_STEP messages; returns true when all are in order. Until then no message
 * may be handled: the oldest one is still in `rest`. */
static inline bool axo__inbox_turn(axo__inbox *inbox)
{
    for (uint32_t i = 0; inbox->rest != NULL && i < AXO__TURN_STEP; i++) {
        axo__message *message = inbox->rest;
        inbox->rest = axo__message_next(message);
        axo__inbox_ahead(message, inbox->rest);
        message->node.next = inbox->first != NULL ? &inbox->first->node : NULL;
        inbox->first = message;
    }
    return inbox->rest == NULL;
}

/* The oldest message; NULL: the inbox is empty. The caller has turned all messages before. */
static inline axo__message *axo__inbox_take(axo__inbox *inbox)
{
    AXO_DEBUG_ASSERT(inbox->rest == NULL);
    axo__message *message = inbox->first;
    if (message != NULL)
        inbox->first = axo__message_next(message);
    return message;
}

#endif
