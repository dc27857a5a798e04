/* runq_sim.c - a worker's local queue in the simulator: CK's ring step by step and in CK's order,
 * one producer, many consumers, with other fibers between any two steps. */
#include "queue/runq.h"

#include <string.h>

void axo__runq_ring_init(axo__runq_ring *ring, axo__spmc_slot *slots, uint32_t size)
{
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
    axo__spmc *ring = &runq->last->ring;
    AXO__YIELD_POINT();
    unsigned int consumer = ring->c_head;
    unsigned int producer = ring->p_tail;
    if (((producer + 1) & ring->mask) == (consumer & ring->mask))
        return false;
    AXO__YIELD_POINT();
    runq->last->slots[producer & ring->mask].value = entry;
    AXO__YIELD_POINT();
    ring->p_tail = producer + 1;
    return true;
}

/* *next is what follows when the ring is found empty, in the same step. */
static void *runq_take(axo__runq_ring *at, axo__runq_ring **next)
{
    axo__spmc *ring = &at->ring;
    AXO__YIELD_POINT();
    unsigned int consumer = ring->c_head;
    for (;;) {
        AXO__YIELD_POINT();
        *next = axo__aptr_peek_owner(&at->next);
        if (consumer == ring->p_tail)
            return NULL;
        AXO__YIELD_POINT();
        void *entry = at->slots[consumer & ring->mask].value;
        AXO__YIELD_POINT();
        if (ring->c_head == consumer) {
            ring->c_head = consumer + 1;
            return entry;
        }
        consumer = ring->c_head;
    }
}

void *axo__runq_take_any(axo__runq *runq)
{
    axo__runq_ring *at = axo__aptr_load_acquire(&runq->oldest); /* [Q2] */
    void *entry = NULL;
    while (at != NULL && entry == NULL)
        entry = runq_take(at, &at);
    return entry;
}

void axo__runq_extend_owner(axo__runq *runq, axo__runq_ring *ring)
{
    axo__aptr_store_relaxed(&ring->next, NULL);
    axo__aptr_store_release(&runq->last->next, ring); /* [Q1] */
    runq->last = ring;
}

axo__runq_ring *axo__runq_drop_owner(axo__runq *runq)
{
    axo__runq_ring *oldest = axo__aptr_load_relaxed(&runq->oldest);
    AXO__YIELD_POINT();
    if (oldest == runq->last || oldest->ring.c_head != oldest->ring.p_tail)
        return NULL;
    axo__runq_ring *next = axo__aptr_load_relaxed(&oldest->next);
    axo__aptr_store_release(&runq->oldest, next); /* [Q1] */
    return oldest;
}

uint32_t axo__runq_count_any(const axo__runq *runq)
{
    const axo__runq_ring *at = axo__aptr_load_acquire(&runq->oldest); /* [Q2] */
    uint32_t count = 0;
    while (at != NULL) {
        AXO__YIELD_POINT();
        unsigned int consumer = at->ring.c_head;
        AXO__YIELD_POINT();
        count += (at->ring.p_tail - consumer) & at->ring.mask;
        at = axo__aptr_load_acquire(&at->next); /* [Q2] */
    }
    return count;
}
