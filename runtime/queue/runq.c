/* runq.c - a worker's local queue of ready actors: CK's ring, one producer, many consumers.
 *
 * ck_ring_enqueue_spmc fills a slot, then publishes it with the store of p_tail;
 * ck_ring_dequeue_spmc reads p_tail, then the slot, then takes it with a compare-and-swap of
 * c_head.
 */
#include "queue/runq.h"

#include "base/assert.h"

void axo__runq_init(axo__runq *runq, struct ck_ring_buffer *slots, uint32_t size)
{
    AXO_DEBUG_ASSERT(size > 0 && (size & (size - 1)) == 0);
    ck_ring_init(&runq->ring, size);
    runq->slots = slots;
}

bool axo__runq_push_owner(axo__runq *runq, void *entry)
{
    AXO_DEBUG_ASSERT(entry != NULL);
    /* Pairs with AXO_TSAN_ACQUIRE in axo__runq_take_any: a thief that takes the entry sees the cell
     * as the owner saw it. The claim of the cell's word ([S2] of cell/state.h) orders the rest. */
    AXO_TSAN_RELEASE(entry);
    /* One slot stays free, so that a full ring and an empty one differ. */
    return ck_ring_enqueue_spmc(&runq->ring, runq->slots, entry);
}

void *axo__runq_take_any(axo__runq *runq)
{
    void *entry = NULL;
    if (!ck_ring_dequeue_spmc(&runq->ring, runq->slots, &entry))
        return NULL;
    AXO_DEBUG_ASSERT(entry != NULL);
    AXO_TSAN_ACQUIRE(entry);
    return entry;
}

uint32_t axo__runq_count_any(const axo__runq *runq)
{
    return ck_ring_size(&runq->ring);
}
