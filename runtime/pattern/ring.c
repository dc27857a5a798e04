/* ring.c - consistent hashing: one sorted array of places; a look-up is a binary search. */
#include "pattern/ring.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void axo__ring_init(axo__ring *ring, axo_system *system, uint32_t each)
{
    *ring = (axo__ring){.system = system, .each = each};
}

void axo__ring_fini(axo__ring *ring)
{
    if (ring->places != NULL)
        axo_system_free(ring->system, ring->places, ring->room * sizeof *ring->places);
    axo__ring_init(ring, ring->system, ring->each);
}

axo_status axo__ring_reserve(axo__ring *ring, uint32_t members)
{
    size_t room = (size_t)members * ring->each;
    if (room <= ring->room)
        return AXO_OK;
    axo__ring_place *places = axo_system_alloc(ring->system, room * sizeof *places);
    if (places == NULL)
        return AXO_ENOMEM;
    size_t count = ring->count;
    if (count > 0)
        memcpy(places, ring->places, count * sizeof *places);
    axo__ring_fini(ring);
    ring->places = places;
    ring->room = room;
    ring->count = count;
    return AXO_OK;
}

/* The order of the circle. Only the hash decides: no order may depend on a reference's bits
 * (D18). */
static int ring_compare(const void *one, const void *other)
{
    const axo__ring_place *a = one;
    const axo__ring_place *b = other;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Merges a newcomer's places in, from the end, so that no second array is needed: older places move
 * up by the number of places still to come. At equal hashes the newcomer stands behind the older
 * member: a reference's bits decide nothing. */
static void ring_merge(axo__ring *ring, axo__ring_place *fresh, size_t count)
{
    size_t old = ring->count;
    size_t to = old + count;
    qsort(fresh, count, sizeof *fresh, ring_compare);
    ring->count = to;
    while (count > 0) {
        if (old > 0 && ring_compare(&ring->places[old - 1], &fresh[count - 1]) > 0)
            ring->places[--to] = ring->places[--old];
        else
            ring->places[--to] = fresh[--count];
    }
}

void axo__ring_add(axo__ring *ring, uint64_t name, axo_ref member)
{
    enum { BATCH = 128 };
    /* A member's places are hashed and merged in batches on the stack: adding a member takes no
     * memory. */
    axo__ring_place fresh[BATCH];
    uint64_t hash = axo__ring_mix(name + AXO__RING_STEP);
    for (uint32_t done = 0; done < ring->each;) {
        uint32_t count = ring->each - done < BATCH ? ring->each - done : BATCH;
        for (uint32_t i = 0; i < count; i++) {
            hash += AXO__RING_STEP;
            fresh[i] = (axo__ring_place){.hash = axo__ring_mix(hash), .member = member};
        }
        ring_merge(ring, fresh, count);
        done += count;
    }
}

void axo__ring_remove(axo__ring *ring, axo_ref member)
{
    /* One pass over all places: members leave seldom, and the order of the others stays. */
    size_t kept = 0;
    for (size_t i = 0; i < ring->count; i++) {
        if (!axo_ref_equal(ring->places[i].member, member))
            ring->places[kept++] = ring->places[i];
    }
    ring->count = kept;
}

axo_ref axo__ring_find(const axo__ring *ring, uint64_t key)
{
    uint64_t hash = axo__ring_mix(key + AXO__RING_STEP);
    size_t low = 0;
    size_t high = ring->count;
    if (ring->count == 0)
        return axo_ref_none();
    /* the first place at or behind the hash; past the end, the circle begins again */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring->places[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return ring->places[low == ring->count ? 0 : low].member;
}
