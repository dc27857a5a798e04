/* lives.h - the network of cell/lives.h a second time, as its page says it. */
#ifndef TEST_UNIT_CELL_LIVES_H
#define TEST_UNIT_CELL_LIVES_H

#include "cell/lives.h"

static inline uint32_t unit_lives_stir(const axo__lives *lives, int round, uint32_t half)
{
    return ((half + lives->add[round]) * lives->multiply[round]) >> 16;
}

/* Halves change places in each round but for their names: the right one goes in first. */
static inline uint32_t unit_lives_at(const axo__lives *lives, uint32_t count)
{
    uint32_t to = count >> 16;
    uint32_t from = count & 0xffff;
    for (int i = 0; i < AXO__LIVES_ROUNDS; i++) {
        uint32_t next = to ^ unit_lives_stir(lives, i, from);
        to = from;
        from = next;
    }
    return to << 16 | from;
}

static inline uint32_t unit_lives_count(const axo__lives *lives, uint32_t generation)
{
    uint32_t to = generation >> 16;
    uint32_t from = generation & 0xffff;
    for (int i = AXO__LIVES_ROUNDS - 1; i >= 0; i--) {
        uint32_t last = from ^ unit_lives_stir(lives, i, to);
        from = to;
        to = last;
    }
    return to << 16 | from;
}

#endif
