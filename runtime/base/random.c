/* random.c - xoshiro256** (Blackman and Vigna), seeded through splitmix64. */
#include "base/random.h"

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
