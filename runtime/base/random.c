/* random.c - xoshiro256** (Blackman and Vigna), seeded through splitmix64; SipHash (Aumasson and
 * Bernstein).
 *
 * The generator is fast and foreseeable: it spreads load and repeats a run from its seed. The keyed
 * hash serves what a program must not foretell: generations of references (D18), timers' keys. */
#include "base/random.h"

/* One step of splitmix64: neighbouring inputs give unrelated outputs. */
static uint64_t random_split(uint64_t *x)
{
    uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void axo__random_init(axo__random *random, uint64_t seed, uint64_t name)
{
    uint64_t x = name;
    /* The name is mixed before the seed comes in, so that stream 1 of seed 0 and stream 0 of seed 1
     * differ. */
    x = seed ^ random_split(&x);
    for (int i = 0; i < 4; i++)
        random->s[i] = random_split(&x);
    AXO_DEBUG_ASSERT((random->s[0] | random->s[1] | random->s[2] | random->s[3]) != 0);
}

static uint64_t random_rotate(uint64_t x, int k)
{
    AXO_DEBUG_ASSERT(k > 0 && k < 64);
    return (x << k) | (x >> (64 - k));
}

uint64_t axo__random_next(axo__random *random)
{
    uint64_t *s = random->s;
    uint64_t result = random_rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

/* `rounds` rounds of SipHash's mixing of the four words. */
static void random_sip(uint64_t v[4], int rounds)
{
    for (; rounds > 0; rounds--) {
        v[0] += v[1];
        v[1] = random_rotate(v[1], 13) ^ v[0];
        v[0] = random_rotate(v[0], 32);
        v[2] += v[3];
        v[3] = random_rotate(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = random_rotate(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = random_rotate(v[1], 17) ^ v[2];
        v[2] = random_rotate(v[2], 32);
    }
}

/* SipHash-2-4 for a message of exactly eight bytes: one word of input, then the word that holds the
 * length, then four rounds. */
uint64_t axo__random_hash(const uint64_t key[2], uint64_t word)
{
    const uint64_t length = UINT64_C(8) << 56;
    uint64_t v[4] = {
        key[0] ^ UINT64_C(0x736f6d6570736575),
        key[1] ^ UINT64_C(0x646f72616e646f6d),
        key[0] ^ UINT64_C(0x6c7967656e657261),
        key[1] ^ UINT64_C(0x7465646279746573),
    };
    v[3] ^= word;
    random_sip(v, 2);
    v[0] ^= word;
    v[3] ^= length;
    random_sip(v, 2);
    v[0] ^= length;
    v[2] ^= 0xff;
    random_sip(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
