/* runq.h - a worker's local queue of ready actors: a chain of rings (spmc.h), one producer, many
 * consumers.
 *
 * Entries are hints: an entry says "try to claim this cell". The cell's scheduling word decides,
 * so the worker that takes a stale entry drops it, and nothing is harmed.
 *
 * The chain is one ring as long as that one has room. The owner pushes into the last ring and never
 * again into one before it; so a ring that is empty and has a successor stays empty, and its owner
 * drops it.
 *
 * Roles      push_owner, extend_owner, drop_owner: the worker.  take_any: the worker and thieves.
 * Order      first in first out; but a thief that was looking into the first ring when that was
 *            dropped, and looks on when it is in the chain again, may overtake older entries.
 * Progress   push is wait-free, take is lock-free.
 * Memory     a ring that was dropped may still be read by thieves, until a grace period is over.
 *
 * Orders
 *   [Q1] store release, next, oldest   a ring in its chain; pairs with [Q2]
 *   [Q2] load acquire, next, oldest    a thief's walk
 */
#ifndef AXO__QUEUE_RUNQ_H
#define AXO__QUEUE_RUNQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "queue/spmc.h"

/* A ring and its entries. */
typedef struct axo__runq_ring {
    axo__spmc ring;
    axo__spmc_slot *slots;
    axo__aptr next; /* the ring that entries are pushed into after this one */
} axo__runq_ring;

typedef struct axo__runq {
    axo__aptr oldest;     /* of the chain; the owner writes it */
    axo__runq_ring *last; /* of the chain; the owner's */
    axo__runq_ring home;  /* the first ring */
} axo__runq;

/* An empty ring. `slots` has `size` entries, a power of two; one of them stays free. */
void axo__runq_ring_init(axo__runq_ring *ring, axo__spmc_slot *slots, uint32_t size);

/* An empty queue, of its first ring. A queue of size 1 is always full; `slots` is not used then. */
void axo__runq_init(axo__runq *runq, axo__spmc_slot *slots, uint32_t size);

/* Appends an entry; false: the last ring is full, and the caller appends a ring or goes to the
 * injector. */
bool axo__runq_push_owner(axo__runq *runq, void *entry);

/* Takes the oldest entry; NULL: the queue is empty. */
void *axo__runq_take_any(axo__runq *runq);

/* Appends an empty ring: entries are pushed there from now on. The ring is new, or is the first
 * one, which was dropped before. */
void axo__runq_extend_owner(axo__runq *runq, axo__runq_ring *ring);

/* Drops the oldest ring if it is empty and another one follows, and returns it: its memory may go
 * after a grace period. NULL: nothing is to drop. */
axo__runq_ring *axo__runq_drop_owner(axo__runq *runq);

/* The number of entries, or what it was a moment ago: a measure for thieves, not a promise. */
uint32_t axo__runq_count_any(const axo__runq *runq);

/* Whether the queue is empty, or was a moment ago: plain loads, so a concurrent push or take may
 * make the answer old. Sleepers may rely on it only after the seq_cst step (2) of sched/wake.h. */
static inline bool axo__runq_is_empty_any(const axo__runq *runq)
{
    const axo__runq_ring *oldest = axo__aptr_load_acquire(&runq->oldest); /* [Q2] */
    if (!axo__spmc_is_empty_any(&oldest->ring))
        return false;
    return axo__likely(axo__aptr_load_relaxed(&oldest->next) == NULL) ||
           axo__runq_count_any(runq) == 0;
}

#endif
