/* lives.c - which generation each life of a slot has.
 *
 * lives_at maps a count to its generation and lives_count maps back: a Feistel network of four
 * rounds is a permutation whatever its round function is, so no two counts share a generation. */
#include "cell/lives.h"

#include "base/assert.h"
#include "base/random.h"

/* Other inputs of the hash than any slot's number. */
#define LIVES_KEYS (UINT64_C(1) << 32)

/* The round function: 16 bits from 16 bits and a key. It need not be invertible. */
static inline uint32_t lives_stir(const axo__lives *lives, int round, uint32_t half)
{
    return ((half + lives->add[round]) * lives->multiply[round]) >> 16;
}

/* The generation of a count; the inverse of lives_count. */
static inline uint32_t lives_at(const axo__lives *lives, uint32_t count)
{
    uint32_t left = count >> 16;
    uint32_t right = count & 0xffff;
    for (int i = 0; i < AXO__LIVES_ROUNDS; i += 2) {
        left ^= lives_stir(lives, i, right);
        right ^= lives_stir(lives, i + 1, left);
    }
    return left << 16 | right;
}

/* The rounds in reverse order. */
static inline uint32_t lives_count(const axo__lives *lives, uint32_t generation)
{
    uint32_t left = generation >> 16;
    uint32_t right = generation & 0xffff;
    for (int i = AXO__LIVES_ROUNDS - 2; i >= 0; i -= 2) {
        right ^= lives_stir(lives, i + 1, left);
        left ^= lives_stir(lives, i, right);
    }
    return left << 16 | right;
}

/* Generation 0 means that no actor lives in a slot, so the count that maps to 0 is skipped wherever
 * it occurs, at the last count too. */
void axo__lives_init(axo__lives *lives, const uint64_t secret[2])
{
    lives->secret[0] = secret[0];
    lives->secret[1] = secret[1];
    for (uint32_t i = 0; i < AXO__LIVES_ROUNDS; i++) {
        uint64_t key = axo__random_hash(secret, LIVES_KEYS + i);
        lives->add[i] = (uint32_t)key;
        lives->multiply[i] = (uint32_t)(key >> 32) | 1;
    }
    lives->last = lives_at(lives, UINT32_MAX);
    if (lives->last == 0)
        lives->last = lives_at(lives, UINT32_MAX - 1);
}

/* The first count of a slot: below 2^31, so the upper half of the counts is left for its lives. */
static uint32_t lives_begin(const axo__lives *lives, uint32_t slot)
{
    return (uint32_t)(axo__random_hash(lives->secret, slot) >> 33);
}

/* The generation of a count, or of the next one if that count maps to 0. */
static uint32_t lives_from(const axo__lives *lives, uint32_t count)
{
    uint32_t generation = lives_at(lives, count);
    return generation != 0 ? generation : lives_at(lives, count + 1);
}

__attribute__((noinline)) uint32_t axo__lives_first(const axo__lives *lives, uint32_t slot)
{
    return lives_from(lives, lives_begin(lives, slot));
}

uint32_t axo__lives_next(const axo__lives *lives, uint32_t generation)
{
    AXO_DEBUG_ASSERT(generation != 0 && generation != lives->last);
    return lives_from(lives, lives_count(lives, generation) + 1);
}

/* A slot's generations are those of the counts from its first to its latest, so two comparisons
 * tell a reference that was given from one that was made up. */
bool axo__lives_has_been(const axo__lives *lives, uint32_t slot, uint32_t latest, uint64_t given)
{
    if (given == 0 || given > UINT32_MAX || latest == 0)
        return false;
    uint32_t count = lives_count(lives, (uint32_t)given);
    return count >= lives_begin(lives, slot) && count <= lives_count(lives, latest);
}
