/* demand.h - an account of answers: how many are owed, and whether one more request may be made.
 *
 * An answer is owed from the request to the answer, and held from then on until it has gone. What
 * is outstanding is both: the bytes that are held, which the caller knows, and for each answer that
 * is owed as many as an answer has. That is the most that one may have, if the program has said so,
 * and else, or where longer ones come all the same, the longest of late, forgotten by an eighth
 * with each that is shorter.
 *
 * A request is refused while it might not fit; an answer never is. Behind a refusal, and when one
 * more might not fit, there is no room until half of the bound has gone, and all fit that were
 * refused together. With nothing outstanding there is always room, however long answers are.
 *
 * The account is of one actor, and its runner's: nothing here is atomic.
 *
 * Invariants
 *   I1  Of requests that are made one by one, with no answer longer than `least` and nothing held
 *       but answers, no more than `bound` bytes are outstanding, or one answer is.
 *   I2  `over` is set while one more might not fit, and behind a refusal for want of bytes; it is
 *       not with nothing outstanding.
 *
 * Rejected   The bytes of each request's answer, from the program: it does not know them before
 *            the answer comes. */
#ifndef AXO__BASE_DEMAND_H
#define AXO__BASE_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a bound, of an answer: so many of them as can be owed are counted in 64 bits. */
#define AXO__DEMAND_MAX ((size_t)1 << 30)

typedef struct axo__demand {
    size_t bound;      /* of what is outstanding; 0: none */
    size_t least;      /* bytes that an answer counts at least */
    size_t typical;    /* bytes that an answer counts */
    uint32_t owed;     /* answers */
    uint32_t owed_max; /* 0: no bound */
    uint32_t wanted;   /* the most answers that were refused together, until the caller clears it */
    bool over;         /* one more might not fit; until half has gone */
} axo__demand;

/* `answer`: bytes of the longest answer; 0: it is learnt, from a quarter of the bound on. */
static inline void axo__demand_init(axo__demand *it, size_t bound, uint32_t owed_max, size_t answer)
{
    size_t typical = answer != 0 ? answer : bound / 4;
    *it = (axo__demand){.bound = bound,
                        .least = answer,
                        .typical = typical != 0 ? typical : 1,
                        .owed_max = owed_max};
}

/* Bytes that are outstanding, `held` of them. */
static inline uint64_t axo__demand_outstanding(const axo__demand *it, uint64_t held)
{
    return held + (uint64_t)it->owed * it->typical;
}

/* Whether so many more answers fit into the bound of bytes. */
static inline bool axo__demand_fits(const axo__demand *it, uint64_t held, uint32_t answers)
{
    uint64_t all = axo__demand_outstanding(it, held);
    return it->bound == 0 || all == 0 || all + (uint64_t)answers * it->typical <= it->bound;
}

/* And into that of answers. */
static inline bool axo__demand_may_owe(const axo__demand *it, uint64_t held, uint32_t answers)
{
    bool few = it->owed_max == 0 || it->owed == 0 ||
               (uint64_t)it->owed + answers <= it->owed_max;
    return few && !it->over && axo__demand_fits(it, held, answers);
}

/* What has to fit before there is room again. */
static inline uint32_t axo__demand_next(const axo__demand *it)
{
    return it->wanted > 1 ? it->wanted : 1;
}

/* Behind each change of what is outstanding. */
static inline void axo__demand_weigh(axo__demand *it, uint64_t held)
{
    bool half = it->over && axo__demand_outstanding(it, held) > it->bound / 2;
    it->over = half || !axo__demand_fits(it, held, it->over ? axo__demand_next(it) : 1);
}

/* So many answers are owed, all of them; false: none is, since they do not fit. The sum with those
 * that are owed is below 2^32. */
static inline bool axo__demand_owe(axo__demand *it, uint64_t held, uint32_t answers)
{
    if (!axo__demand_may_owe(it, held, answers)) {
        it->over = it->over || !axo__demand_fits(it, held, answers);
        if (answers > it->wanted)
            it->wanted = answers;
        return false;
    }
    it->owed += answers;
    axo__demand_weigh(it, held);
    return true;
}

/* An answer that was owed has come, of so many bytes; those that are kept are in `held`. */
static inline void axo__demand_answered(axo__demand *it, uint64_t held, size_t size)
{
    it->owed--;
    it->typical -= it->typical / 8;
    if (it->typical < size)
        it->typical = size;
    if (it->typical < it->least)
        it->typical = it->least;
    axo__demand_weigh(it, held);
}

#endif
