/* bounded.h - a mailbox with a bound or an order of its own: short sections under one mutex.
 *
 * Used in place of the user lane by actors whose props ask for it. Senders that may wait for room
 * stand in a line, each with the messages that are held of it; one message of each finds room in
 * turn. Nobody passes the line, so one sender's messages keep their order.
 *
 * Roles      put, accept, let_in, expire: every thread.  take, close: the one consumer.
 * Memory     a FIFO and a control mailbox link messages by their nodes and take none. A priority
 *            mailbox has an array; a message that must not be refused and finds no memory for its
 *            entry waits in `late` until one is free.
 *
 * Invariants, under the mutex
 *   I1  The line is empty, or a message that the bounds count is queued: so it will move.
 *   I2  A waiter is in the line if and only if it WAITS, and then it holds a message.
 *   I3  `count` is how many are queued, those held left out.
 *
 * Orders
 *   [B1] store release, count    after the message is queued; pairs with [B2]
 *   [B2] load acquire, count     the consumer's look without the mutex. Who sees an older value is
 *                                announced to after it (cell/state.h)
 */
#ifndef AXO__MAILBOX_BOUNDED_H
#define AXO__MAILBOX_BOUNDED_H

#include <axo/mailbox.h>

#include "mailbox/message.h"

enum {
    AXO__WAITER_NEW = 0,
    AXO__WAITER_WAITS = 1,
    AXO__WAITER_DONE = 2 /* out of the line for good */
};

/* A sender that may wait. Guarded by the bounded mailbox's mutex, but for what is the sender's. */
typedef struct axo__waiter {
    struct axo__waiter *next;
    axo__chain held;
    uint32_t state;
    bool sealed; /* no more is held; the sender's */
} axo__waiter;

typedef struct axo__waiters {
    axo__waiter *first;
    axo__waiter *last;
} axo__waiters;

typedef struct axo__bounded_entry {
    axo__message *message;
    uint64_t number; /* equals come in the order of arrival */
    uint32_t priority;
} axo__bounded_entry;

typedef struct axo__bounded_mailbox {
    axo__os_mutex mutex;
    axo__heap *heap;
    axo_mailbox how;             /* no bound is UINT64_MAX; fixed */
    axo__a64 count;              /* written under the mutex */
    uint64_t messages;           /* of those that the bounds count */
    uint64_t bytes;
    axo__chain control;
    axo__chain rest;
    axo__chain late;
    axo__bounded_entry *entries; /* a heap */
    uint32_t entry_count;
    uint32_t entry_room;
    uint64_t number;
    axo__waiters line;
    bool closed;
} axo__bounded_mailbox;

typedef enum axo__put {
    AXO__PUT_IN = 0,      /* queued; what was dropped for it is in `dropped` */
    AXO__PUT_HELD = 1,    /* the waiter holds it */
    AXO__PUT_DROPPED = 2, /* it is in `dropped` */
    AXO__PUT_FULL = 3,    /* nothing has changed */
    AXO__PUT_NO_MEMORY = 4,
    AXO__PUT_SEALED = 5   /* the waiter holds no more; nothing has changed */
} axo__put;

/* As a mailbox says that has been checked; NULL: no memory. */
axo__bounded_mailbox *axo__bounded_make(axo__cache *cache, const axo_mailbox *how);

/* It must be empty, and nobody may be on the way to it. NULL: nothing. */
void axo__bounded_free(axo__cache *cache, axo__bounded_mailbox *bounded);

/* `waiter`: NULL, or the sender's latest for this bounded mailbox; a NEW one may begin to wait. A
 * closed bounded mailbox takes everything. */
axo__put axo__bounded_put_any(axo__bounded_mailbox *bounded, axo__message *message,
                              axo__waiter *waiter, axo__chain *dropped);

/* Queues it whatever the bound; takes memory if there is some. */
void axo__bounded_accept_any(axo__bounded_mailbox *bounded, axo__message *message);

/* Lets in what is held, whatever the bound. true: it stood in the line, and is DONE. */
bool axo__bounded_let_in_any(axo__bounded_mailbox *bounded, axo__waiter *waiter);

/* Gives up: what is held goes to `held`, and others may find room: they are DONE, in *done, and the
 * receiver is to be told. true: it stood in the line, and is DONE, first in *done. */
bool axo__bounded_expire_any(axo__bounded_mailbox *bounded, axo__waiter *waiter, axo__chain *held,
                             axo__waiter **done);

/* The next message; NULL: none. Waiters whose messages have all found room are DONE, in *done. */
axo__message *axo__bounded_take_owner(axo__bounded_mailbox *bounded, axo__waiter **done);

/* All that is queued, in its order, then what is held. From now on nobody waits. */
void axo__bounded_close_owner(axo__bounded_mailbox *bounded, axo__chain *left, axo__waiter **done);

/* Which place the first message of a sender has, from 1; 0: none is queued. */
uint64_t axo__bounded_place_any(axo__bounded_mailbox *bounded, axo_ref sender);

/* How many are queued, about. */
static inline uint64_t axo__bounded_count(const axo__bounded_mailbox *bounded)
{
    return axo__a64_load_acquire(&bounded->count); /* [B2] */
}

/* As many wait as its bound of messages says, or more, about: those without a bound count too. */
static inline bool axo__bounded_crowded(const axo__bounded_mailbox *bounded)
{
    return axo__bounded_count(bounded) >= bounded->how.messages_max;
}

#endif
