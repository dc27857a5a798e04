/* lives.h - which generation each life of a slot has: a number that no actor can guess (D18).
 *
 * All generations but 0 lie on one circle of counts, stirred: the generation of a count is a keyed
 * permutation of it (a Feistel network of four rounds), and the next life of a slot has the
 * generation of the next count. A slot begins at a keyed hash of its number (SipHash-2-4), in the
 * lower half of the counts, and ends with the last count. So a slot has at least 2^31 - 1 lives, no
 * two the same, and whether its lives are spent is one comparison.
 *
 * The keys come from the system's secret. From its own reference an actor learns nothing of another
 * slot, nor of the same slot's other lives; two systems share a reference by a chance of 2^-32. The
 * network is quick, not a cipher: an observer of thousands of lives of one slot, in their order,
 * might find its keys, and then the next life of a slot whose life it knows, but still no other
 * slot's first.
 */
#ifndef AXO__CELL_LIVES_H
#define AXO__CELL_LIVES_H

#include <stdbool.h>
#include <stdint.h>

#define AXO__LIVES_ROUNDS 4

/* The keys of one system; constant after axo__lives_init, so every thread may read them. */
typedef struct axo__lives {
    uint64_t secret[2];
    uint32_t add[AXO__LIVES_ROUNDS];
    uint32_t multiply[AXO__LIVES_ROUNDS]; /* odd */
    uint32_t last; /* generation of the last life of every slot */
} axo__lives;

void axo__lives_init(axo__lives *lives, const uint64_t secret[2]);

/* The generation of a slot's first life. */
uint32_t axo__lives_first(const axo__lives *lives, uint32_t slot);

/* The generation after `generation`, which is not the last. */
uint32_t axo__lives_next(const axo__lives *lives, uint32_t generation);

/* Whether `given` is one of a slot's generations from the first to `latest`. */
bool axo__lives_has_been(const axo__lives *lives, uint32_t slot, uint32_t latest, uint64_t given);

#endif
