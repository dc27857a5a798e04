/* runq.c - a worker's local queue of ready actors: a chain of rings, one producer, many consumers.
 *
 * axo__spmc_push_owner fills a slot, then publishes it with the store of p_tail;
 * axo__spmc_take_any reads p_tail, then the slot, then takes it with a compare-and-swap of c_head.
 */
#include "queue/runq.h"

void axo__runq_ring_init(axo__runq_ring *ring, axo__spmc_slot *slots, uint32_t size)
{
    AXO_DEBUG_ASSERT(size > 0 && (size & (size - 1)) == 0);
    axo__spmc_init(&ring->ring, size);
    ring->slots = slots;
    axo__aptr_store_relaxed(&ring->next, NULL);
}

void axo__runq_init(axo__runq *runq, axo__spmc_slot *slots, uint32_t size)
{
    axo__runq_ring_init(&runq->home, slots, size);
    axo__aptr_store_relaxed(&runq->oldest, &runq->home);
    runq->last = &runq->home;
}

bool axo__runq_push_owner(axo__runq *runq, void *entry)
{
    AXO_DEBUG_ASSERT(entry != NULL);
    /* Pairs with AXO_TSAN_ACQUIRE in axo__runq_take_any: a thief that takes the entry sees the cell
     * as the owner saw it. The claim of the cell's word ([S2] of cell/state.h) orders the rest. */
    AXO_TSAN_RELEASE(entry);
    /* One slot stays free, so that a full ring and an empty one differ. */
    return axo__spmc_push_owner(&runq->last->ring, runq->last->slots, entry);
}

/* A ring with a successor gets no more entries, but it may have got some between the first look and
 * the load of the successor: hence the second look. */
static void *runq_take_on(axo__runq_ring *at)
{
    void *entry = NULL;
    axo__runq_ring *next;
    while ((next = axo__aptr_load_acquire(&at->next)) != NULL) { /* [Q2] */
        if (axo__spmc_take_any(&at->ring, at->slots, &entry) ||
            axo__spmc_take_any(&next->ring, next->slots, &entry))
            return entry;
        at = next;
    }
    return NULL;
}

void *axo__runq_take_any(axo__runq *runq)
{
    axo__runq_ring *at = axo__aptr_load_acquire(&runq->oldest); /* [Q2] */
    void *entry = NULL;
    if (!axo__spmc_take_any(&at->ring, at->slots, &entry))
        entry = runq_take_on(at);
    if (entry != NULL)
        AXO_TSAN_ACQUIRE(entry);
    return entry;
}

/* A thief that has found the first ring before it was dropped walks on from it as it finds it: to
 * its former successor, or as if it had just come. */
void axo__runq_extend_owner(axo__runq *runq, axo__runq_ring *ring)
{
    AXO_DEBUG_ASSERT(axo__spmc_count_any(&ring->ring) == 0 && ring != runq->last);
    axo__aptr_store_relaxed(&ring->next, NULL);
    axo__aptr_store_release(&runq->last->next, ring); /* [Q1] */
    runq->last = ring;
}

axo__runq_ring *axo__runq_drop_owner(axo__runq *runq)
{
    axo__runq_ring *oldest = axo__aptr_load_relaxed(&runq->oldest);
    if (oldest == runq->last || axo__spmc_count_any(&oldest->ring) != 0)
        return NULL;
    axo__runq_ring *next = axo__aptr_load_relaxed(&oldest->next);
    axo__aptr_store_release(&runq->oldest, next); /* [Q1] */
    return oldest;
}

uint32_t axo__runq_count_any(const axo__runq *runq)
{
    const axo__runq_ring *at = axo__aptr_load_acquire(&runq->oldest); /* [Q2] */
    uint32_t count = 0;
    do {
        count += axo__spmc_count_any(&at->ring);
        at = axo__aptr_load_acquire(&at->next); /* [Q2] */
    } while (axo__unlikely(at != NULL));
    return count;
}
