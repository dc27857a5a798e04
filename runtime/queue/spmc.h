/* spmc.h - a ring of one producer and many consumers: CK's on x86-64, elsewhere the same in C11.
 *
 * Concurrency Kit 0.7.1 has the ring right where loads stay in their order, stores in theirs, and a
 * load before a store. On aarch64, in what Debian's headers emit:
 *   ck_ring_dequeue_spmc  is wrong. `dmb ishst`, of ck_pr_fence_store_atomic, and `ldxr`, `stxr`,
 *                         of ck_pr_cas_uint_value, leave the load of the slot free to come after
 *                         the store of c_head: the producer fills the slot anew, and one entry is
 *                         taken twice, another never. (A copy that goes to memory before the
 *                         barrier would keep the order; inlined, it stays in a register.)
 *   ck_ring_size          is wrong. Nothing orders its two loads: an old p_tail and a new c_head
 *                         make an empty ring a full one.
 *   ck_ring_enqueue_spmc  is right, but its `dmb ishst` before the store of p_tail is no release:
 *                         what the producer has read is not ordered.
 *   ck_ring_init          is right: plain stores.
 *
 * Roles      push_owner: the producer.  take_any, count_any, is_empty_any: every thread.
 * Progress   push is wait-free, take is lock-free.
 *
 * Orders, of the ring in C11
 *   [G1] store release, p_tail   gives an entry; pairs with [G2]
 *   [G2] load acquire, p_tail    a consumer sees the entry
 *   [G3] cas acq_rel, c_head     has read the slot before it gives it back; pairs with [G4]
 *   [G4] load acquire, c_head    the producer fills the slot after it was read; a consumer sees a
 *                                p_tail that is not before the c_head that it has
 */
#ifndef AXO__QUEUE_SPMC_H
#define AXO__QUEUE_SPMC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/config.h"

#if AXO__CK_RING
#include <ck_pr.h>
#include <ck_ring.h>

typedef struct ck_ring axo__spmc;
typedef struct ck_ring_buffer axo__spmc_slot;

static inline void axo__spmc_init(axo__spmc *ring, uint32_t size)
{
    ck_ring_init(ring, size);
}

/* Appends an entry; false: the ring is full. */
static inline bool axo__spmc_push_owner(axo__spmc *ring, axo__spmc_slot *slots, void *entry)
{
    return ck_ring_enqueue_spmc(ring, slots, entry);
}

/* Takes the oldest entry; false: the ring is empty, and *entry is anything. */
static inline bool axo__spmc_take_any(axo__spmc *ring, axo__spmc_slot *slots, void **entry)
{
    return ck_ring_dequeue_spmc(ring, slots, entry);
}

/* The number of entries, or what it was a moment ago. */
static inline uint32_t axo__spmc_count_any(const axo__spmc *ring)
{
    return ck_ring_size(ring);
}

static inline bool axo__spmc_is_empty_any(const axo__spmc *ring)
{
    return ck_pr_load_uint(&ring->c_head) == ck_pr_load_uint(&ring->p_tail);
}
#else
typedef struct axo__spmc {
    axo__a32 c_head; /* the consumers' end: taken so far */
    char pad_head[AXO__CACHE_LINE - sizeof(axo__a32)];
    axo__a32 p_tail; /* the producer's end: pushed so far */
    char pad_tail[AXO__CACHE_LINE - sizeof(axo__a32)];
    uint32_t size;
    uint32_t mask;
} axo__spmc;

typedef struct axo__spmc_slot {
    axo__aptr value;
} axo__spmc_slot;

static inline void axo__spmc_init(axo__spmc *ring, uint32_t size)
{
    ring->size = size;
    ring->mask = size - 1;
    axo__a32_store_relaxed(&ring->p_tail, 0);
    axo__a32_store_relaxed(&ring->c_head, 0);
}

static inline bool axo__spmc_push_owner(axo__spmc *ring, axo__spmc_slot *slots, void *entry)
{
    uint32_t head = axo__a32_load_acquire(&ring->c_head); /* [G4] */
    uint32_t tail = axo__a32_load_relaxed(&ring->p_tail);
    if (((tail + 1) & ring->mask) == (head & ring->mask))
        return false;
    axo__aptr_store_relaxed(&slots[tail & ring->mask].value, entry);
    axo__a32_store_release(&ring->p_tail, tail + 1); /* [G1] */
    return true;
}

/* The load of a slot may find what was pushed since into it; then `c_head` has gone on, and the
 * compare-and-swap fails. */
static inline bool axo__spmc_take_any(axo__spmc *ring, axo__spmc_slot *slots, void **entry)
{
    uint32_t head = axo__a32_load_acquire(&ring->c_head); /* [G4] */
    do {
        if (head == axo__a32_load_acquire(&ring->p_tail)) /* [G2] */
            return false;
        *entry = axo__aptr_load_relaxed(&slots[head & ring->mask].value);
    } while (!axo__a32_cas_acq_rel(&ring->c_head, &head, head + 1)); /* [G3] [G4] */
    return true;
}

static inline uint32_t axo__spmc_count_any(const axo__spmc *ring)
{
    uint32_t head = axo__a32_load_acquire(&ring->c_head); /* [G4] */
    return (axo__a32_load_acquire(&ring->p_tail) - head) & ring->mask; /* [G2] */
}

static inline bool axo__spmc_is_empty_any(const axo__spmc *ring)
{
    uint32_t head = axo__a32_load_acquire(&ring->c_head); /* [G4] */
    return head == axo__a32_load_acquire(&ring->p_tail);         /* [G2] */
}
#endif

#endif
