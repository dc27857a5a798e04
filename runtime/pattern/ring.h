/* ring.h - consistent hashing: keys to members, each of which has many places on a circle.
 *
 * A key belongs to the first place at or behind its hash. A member that comes or goes moves only
 * the keys of its own places, about 1/n of all; many places a member make that share even. One
 * thread at a time: the ring is in a router's state. */
#ifndef AXO__PATTERN_RING_H
#define AXO__PATTERN_RING_H

#include <axo/system.h>

typedef struct axo__ring_place {
    uint64_t hash;
    axo_ref member;
} axo__ring_place;

typedef struct axo__ring {
    axo_system *system;      /* the system whose memory the places are */
    axo__ring_place *places; /* sorted by hash */
    size_t count;
    size_t room;
    uint32_t each;           /* places that each member has */
} axo__ring;

/* An empty ring, which holds no memory; the end of a ring, which is an empty ring again. */
void axo__ring_init(axo__ring *ring, axo_system *system, uint32_t each);
void axo__ring_fini(axo__ring *ring);

/* Makes room for `members` members; on failure nothing has changed. */
axo_status axo__ring_reserve(axo__ring *ring, uint32_t members);

/* Adds a member, for which there must be room. Its places depend on `name` alone, so a successor of
 * the same name gets the same keys. */
void axo__ring_add(axo__ring *ring, uint64_t name, axo_ref member);

/* Takes a member's places away, if it has any. */
void axo__ring_remove(axo__ring *ring, axo_ref member);

/* The member that the key belongs to; none when the ring is empty. */
axo_ref axo__ring_find(const axo__ring *ring, uint64_t key);

/* Spreads bits: a bijection (the finish of splitmix64), so different names have different first
 * places. */
static inline uint64_t axo__ring_mix(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

#define AXO__RING_STEP UINT64_C(0x9e3779b97f4a7c15)

#endif
