/* ring.h - consistent hashing: keys to members, each of which has many places on a circle. */
#ifndef AXO__PATTERN_RING_H
#define AXO__PATTERN_RING_H

#include <axo/system.h>

typedef struct axo__ring_place {
    uint64_t hash;
    axo_ref member;
} axo__ring_place;

typedef struct axo__ring {
    axo_system *system;      /* whose memory it is */
    axo__ring_place *places; /* by hash */
    size_t count;
    size_t room;
    uint32_t each;           /* places of a member */
} axo__ring;

void axo__ring_init(axo__ring *ring, axo_system *system, uint32_t each);
void axo__ring_fini(axo__ring *ring);

/* Makes room for so many members; on failure nothing has changed. */
axo_status axo__ring_reserve(axo__ring *ring, uint32_t members);

/* Adds a member, for which there must be room. Its places depend on `name` alone. */
void axo__ring_add(axo__ring *ring, uint64_t name, axo_ref member);

/* Takes a member away, if it is there. */
void axo__ring_remove(axo__ring *ring, axo_ref member);

/* Whose key it is; none when there is no member. */
axo_ref axo__ring_find(const axo__ring *ring, uint64_t key);

/* Spreads bits: a bijection (the finish of splitmix64). */
static inline uint64_t axo__ring_mix(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

#define AXO__RING_STEP UINT64_C(0x9e3779b97f4a7c15)

#endif
