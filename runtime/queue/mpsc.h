/* mpsc.h - many producers, one consumer: liburcu's wfcqueue in its non-blocking forms.
 *
 * Roles      push_any: every thread.  pop_owner, is_empty_owner: the one consumer, which is the
 *            worker that holds axo__inject.taken.
 * Order      first in first out for each producer.
 * Progress   push is wait-free.  pop says BUSY while a push is half done; the consumer does not
 *            wait for the pusher: the pusher wakes a worker of the pool after push has returned.
 * Memory     a node is the queue's from push to pop; the queue never frees a node.
 *
 * Orders
 *   [M1] fence acquire, pop   behind liburcu's plain load of the link, whose store comes after a
 *                             full barrier in push
 *
 * mpsc.h is a file apart from inject.h, its one user: the simulator (mpsc_sim.c) and the checker of
 * weak memory put theirs in its place, and what inject.c does is the product's own there too.
 */
#ifndef AXO__QUEUE_MPSC_H
#define AXO__QUEUE_MPSC_H

#include <stdbool.h>

typedef struct axo__mpsc_node {
    struct axo__mpsc_node *next;
} axo__mpsc_node;

typedef struct axo__mpsc {
    axo__mpsc_node head;  /* the consumer's end; a dummy node */
    axo__mpsc_node *tail; /* the producers' end */
} axo__mpsc;

typedef enum axo__pop {
    AXO__POP_EMPTY = 0,
    AXO__POP_ITEM = 1,
    AXO__POP_BUSY = 2
} axo__pop;

void axo__mpsc_init(axo__mpsc *queue);
/* Appends a node that is in no queue. The node may be popped, and its cell may end, before the call
 * returns. */
void axo__mpsc_push_any(axo__mpsc *queue, axo__mpsc_node *node);
/* Takes the oldest node. *out is set only with AXO__POP_ITEM. */
axo__pop axo__mpsc_pop_owner(axo__mpsc *queue, axo__mpsc_node **out);

/* Answers false also while a push is half done. */
bool axo__mpsc_is_empty_owner(const axo__mpsc *queue);

#endif
