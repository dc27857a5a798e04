/* runq.h - a worker's local queue of ready actors: CK's ring, one producer, many consumers.
 *
 * Entries are hints: an entry says "try to claim this cell". The cell's scheduling word decides,
 * so the worker that takes a stale entry drops it, and nothing is harmed.
 *
 * Roles      push_owner: the worker.  take_any: the worker and thieves.
 * Order      first in first out.
 * Progress   push is wait-free, take is lock-free.
 */
#ifndef AXO__QUEUE_RUNQ_H
#define AXO__QUEUE_RUNQ_H

#include <ck_pr.h>
#include <ck_ring.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct axo__runq {
    struct ck_ring ring;
    struct ck_ring_buffer *slots;
} axo__runq;

/* `slots` has `size` entries, a power of two; one of them stays free. A queue of size 1 is always
 * full; `slots` is not used then. */
void axo__runq_init(axo__runq *runq, struct ck_ring_buffer *slots, uint32_t size);

/* Appends an entry; false: the queue is full, and the caller goes to the injector. */
bool axo__runq_push_owner(axo__runq *runq, void *entry);

/* Takes the oldest entry; NULL: the queue is empty. */
void *axo__runq_take_any(axo__runq *runq);

/* Whether the queue is empty, or was a moment ago: two plain loads, so a concurrent push or take
 * may make the answer old. Sleepers may rely on it only after the seq_cst step (2) of
 * sched/wake.h. */
static inline bool axo__runq_is_empty_any(const axo__runq *runq)
{
    return ck_pr_load_uint(&runq->ring.c_head) == ck_pr_load_uint(&runq->ring.p_tail);
}

/* The number of entries, or what it was a moment ago: a measure for thieves, not a promise. */
uint32_t axo__runq_count_any(const axo__runq *runq);

#endif
