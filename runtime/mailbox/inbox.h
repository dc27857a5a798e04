/* inbox.h - the messages that a runner has taken out of its cell's lane, in order.
 *
 * The lane gives them newest first (cell/state.h). They are turned AXO__TURN_STEP at a time, and
 * the runner looks at its system lane in between, however many there are.
 *
 * Roles      the runner, or who has borrowed the cell.
 */
#ifndef AXO__MAILBOX_INBOX_H
#define AXO__MAILBOX_INBOX_H

#include "base/assert.h"
#include "base/config.h"
#include "mailbox/message.h"

typedef struct axo__inbox {
    axo__message *first; /* oldest first; while `rest` is not NULL, what has been turned of it */
    axo__message *rest;  /* newest first: older than all in `first` */
} axo__inbox;

static inline bool axo__inbox_is_empty(const axo__inbox *inbox)
{
    return inbox->first == NULL && inbox->rest == NULL;
}

/* What a lane gave goes into an empty inbox. */
static inline void axo__inbox_put(axo__inbox *inbox, axo__mpsc_node *lane)
{
    AXO_DEBUG_ASSERT(axo__inbox_is_empty(inbox));
    axo__message *newest = (axo__message *)(void *)lane;
    if (axo__likely(newest == NULL || newest->node.next == NULL))
        inbox->first = newest;
    else
        inbox->rest = newest;
}

/* Messages that were made one after the other mostly lie so: the next ones of a long line are
 * fetched from the other processor before their links are known. A guess, never read. */
static inline void axo__inbox_ahead(const axo__message *message, const axo__message *next)
{
    intptr_t step = (intptr_t)next - (intptr_t)message;
    __builtin_prefetch((const void *)((uintptr_t)next + (uintptr_t)(8 * step)), 1);
}

/* Turns a bounded number; true: all is in order. */
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

/* The oldest; NULL: it is empty. All is in order. */
static inline axo__message *axo__inbox_take(axo__inbox *inbox)
{
    AXO_DEBUG_ASSERT(inbox->rest == NULL);
    axo__message *message = inbox->first;
    if (message != NULL)
        inbox->first = axo__message_next(message);
    return message;
}

#endif
