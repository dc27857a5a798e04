/* runq_sim.c - a worker's local queue in the simulator: CK's ring step by step and in CK's order,
 * one producer, many consumers, with other fibers between any two steps. */
#include "queue/runq.h"

#include <string.h>

#include "base/assert.h"
#include "base/atomic.h"

void axo__runq_init(axo__runq *runq, struct ck_ring_buffer *slots, uint32_t size)
{
    ck_ring_init(&runq->ring, size);
    runq->slots = slots;
}

bool axo__runq_push_owner(axo__runq *runq, void *entry)
{
    struct ck_ring *ring = &runq->ring;
    AXO__YIELD_POINT();
    unsigned int consumer = ring->c_head;
    unsigned int producer = ring->p_tail;
    if (((producer + 1) & ring->mask) == (consumer & ring->mask))
        return false;
    AXO__YIELD_POINT();
    runq->slots[producer & ring->mask].value = entry;
    AXO__YIELD_POINT();
    ring->p_tail = producer + 1;
    return true;
}

void *axo__runq_take_any(axo__runq *runq)
{
    struct ck_ring *ring = &runq->ring;
    AXO__YIELD_POINT();
    unsigned int consumer = ring->c_head;
    for (;;) {
        AXO__YIELD_POINT();
        if (consumer == ring->p_tail)
            return NULL;
        AXO__YIELD_POINT();
        void *entry = runq->slots[consumer & ring->mask].value;
        AXO__YIELD_POINT();
        if (ring->c_head == consumer) {
            ring->c_head = consumer + 1;
            return entry;
        }
        consumer = ring->c_head;
    }
}

uint32_t axo__runq_count_any(const axo__runq *runq)
{
    AXO__YIELD_POINT();
    unsigned int consumer = runq->ring.c_head;
    AXO__YIELD_POINT();
    unsigned int producer = runq->ring.p_tail;
    return (producer - consumer) & runq->ring.mask;
}
