/* bounded.h - a mailbox with a bound or an order of its own: short sections under one mutex.
 *
 * An actor whose props ask for it has this in place of the user lane. A sender that may wait for
 * room stands in a line, with the messages that the mailbox holds of it; as room is made, one
 * message of each waiter in turn goes in. No bounded message overtakes the line, so each sender's
 * messages keep their order. No code of the program but its allocator runs under the mutex: a
 * priority function is called before the section, and dropped messages are handed to the caller,
 * who buries them after it.
 *
 * Roles      put, accept, let_in, expire: every thread.  take, close: the one consumer, the worker
 *            inside the cell.
 * Memory     a FIFO and a control mailbox link messages by their nodes and take none. A priority
 *            mailbox has an array; a message that must not be refused and finds no memory for its
 *            entry waits in `late` until an entry is free.
 *
 * Invariants, under the mutex
 *   I1  The line is empty, or a message that the bounds count is queued: so a take will move the
 *       line.
 *   I2  A waiter is in the line if and only if it WAITS, and then it holds a message.
 *   I3  `count` is the number of queued messages, without the held ones.
 *
 * Orders
 *   [B1] store release, count    after the message is queued; pairs with [B2]
 *   [B2] load acquire, count     the consumer's look without the mutex. A consumer that reads an
 *                                older value is announced to afterwards: the sender sets READY
 *                                after [B1] (axo__state_announce_user), and the runner cleared
 *                                READY before this look (axo__state_claim, axo__state_finish)
 */
#ifndef AXO__MAILBOX_BOUNDED_H
#define AXO__MAILBOX_BOUNDED_H

#include <axo/mailbox.h>

#include "mailbox/message.h"

/* A waiter goes through these states once, in this order. */
enum {
    AXO__WAITER_NEW = 0,
    AXO__WAITER_WAITS = 1,
    AXO__WAITER_DONE = 2 /* out of the line for good */
};

/* A sender that may wait for room; the first member of an axo__parked. The bounded mailbox's mutex
 * guards it, except for `sealed`, which the sender's runner alone reads and writes. */
typedef struct axo__waiter {
    struct axo__waiter *next;
    axo__chain held;
    uint32_t state;
    bool sealed; /* the sender's later sends are refused; the sender's */
} axo__waiter;

/* The line, oldest waiter first. `last` is valid while `first` is not NULL. */
typedef struct axo__waiters {
    axo__waiter *first;
    axo__waiter *last;
} axo__waiters;

/* A message of a priority mailbox. The number makes the heap stable (OR-12). */
typedef struct axo__bounded_entry {
    axo__message *message;
    uint64_t number; /* arrival: the order among equals */
    uint32_t priority;
} axo__bounded_entry;

typedef struct axo__bounded_mailbox {
    axo__os_mutex mutex;
    axo__heap *heap;
    axo_mailbox how;             /* fixed; UINT64_MAX where there is no bound */
    axo__a64 count;              /* of queued messages; written under the mutex */
    uint64_t messages;           /* the bounds' count, and its bytes in the next field */
    uint64_t bytes;
    axo__chain control;
    axo__chain rest;
    axo__chain late;
    axo__bounded_entry *entries; /* a heap: the next message is entries[0] */
    uint32_t entry_count;
    uint32_t entry_room;
    uint64_t number;
    axo__waiters line;
    bool closed;
} axo__bounded_mailbox;

/* What became of a message that was put. */
typedef enum axo__put {
    AXO__PUT_IN = 0,      /* queued; messages that made room for it are in `dropped` */
    AXO__PUT_HELD = 1,    /* the waiter holds it */
    AXO__PUT_DROPPED = 2, /* the message itself is in `dropped` */
    AXO__PUT_FULL = 3,    /* nothing has changed */
    AXO__PUT_NO_MEMORY = 4,
    AXO__PUT_SEALED = 5   /* the waiter is sealed; nothing has changed */
} axo__put;

/* Makes a mailbox from settings that the door has checked; NULL: no memory. */
axo__bounded_mailbox *axo__bounded_make(axo__cache *cache, const axo_mailbox *how);

/* Frees an empty mailbox that no thread can be about to use. NULL is allowed. */
void axo__bounded_free(axo__cache *cache, axo__bounded_mailbox *bounded);

/* Puts a message under the mailbox's bounds. `waiter`: NULL, or the sender's latest waiter for this
 * mailbox; a NEW one may begin to wait. A closed mailbox takes everything, since the receiver's end
 * turns it into dead letters. */
axo__put axo__bounded_put_any(axo__bounded_mailbox *bounded, axo__message *message,
                              axo__waiter *waiter, axo__chain *dropped);

/* Queues a message whatever the bound; a priority mailbox without memory keeps it in `late`. */
void axo__bounded_accept_any(axo__bounded_mailbox *bounded, axo__message *message);

/* Queues all messages of a waiter, whatever the bound. Returns true if the waiter stood in the
 * line; it is DONE then. */
bool axo__bounded_let_in_any(axo__bounded_mailbox *bounded, axo__waiter *waiter);

/* The waiter gives up: its messages go to `held`. Waiters behind it may find room, are DONE and in
 * *done, and the caller announces to the receiver. Returns true if the waiter stood in the line; it
 * is DONE then, as the first in *done. */
bool axo__bounded_expire_any(axo__bounded_mailbox *bounded, axo__waiter *waiter, axo__chain *held,
                             axo__waiter **done);

/* The next message; NULL: none. Waiters whose last message has found room are DONE, in *done; the
 * caller sends their records home. */
axo__message *axo__bounded_take_owner(axo__bounded_mailbox *bounded, axo__waiter **done);

/* Moves all messages to `left`: the queued messages in their order, then the held ones. No sender
 * waits from here on. */
void axo__bounded_close_owner(axo__bounded_mailbox *bounded, axo__chain *left, axo__waiter **done);

/* The place, from 1, of a sender's first queued message; 0: none of its messages is queued. */
uint64_t axo__bounded_place_any(axo__bounded_mailbox *bounded, axo_ref sender);

/* Writes up to `room` messages: the queued ones in the order of a take, then those that are held.
 * Returns how many there are. */
size_t axo__bounded_list_any(axo__bounded_mailbox *bounded, axo__message **out, size_t room);

/* The number of queued messages, which may change at once. */
static inline uint64_t axo__bounded_count(const axo__bounded_mailbox *bounded)
{
    return axo__a64_load_acquire(&bounded->count); /* [B2] */
}

/* Whether the number of queued messages has reached the bound of messages. Messages that the bounds
 * do not count are included, and the answer may be out of date. */
static inline bool axo__bounded_crowded(const axo__bounded_mailbox *bounded)
{
    return axo__bounded_count(bounded) >= bounded->how.messages_max;
}

#endif
