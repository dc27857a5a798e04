/* random.h - the only source of chance: named streams split from one seed (xoshiro256**); a keyed
 * hash, for numbers that no program may foretell. */
#ifndef AXO__BASE_RANDOM_H
#define AXO__BASE_RANDOM_H

#include <stdint.h>

#include "base/assert.h"

typedef struct axo__random {
    uint64_t s[4];
} axo__random;

/* Starts the stream `name` of `seed`: another name or seed gives an unrelated stream, and a draw
 * from one never shifts another. */
void axo__random_init(axo__random *random, uint64_t seed, uint64_t name);

/* The next 64 bits. */
uint64_t axo__random_next(axo__random *random);

/* SipHash-2-4 of one word, as eight bytes from the lowest on. */
uint64_t axo__random_hash(const uint64_t key[2], uint64_t word);

/* A number below `bound` (> 0). The multiplication has a bias of at most bound / 2^32, which
 * scheduling does not notice, and avoids a division. */
static inline uint32_t axo__random_below(axo__random *random, uint32_t bound)
{
    AXO_DEBUG_ASSERT(bound > 0);
    return (uint32_t)(((axo__random_next(random) >> 32) * bound) >> 32);
}

#endif
