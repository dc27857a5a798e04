/* way.h - a tree of records by a number, in the records themselves.
 *
 * The bits of the number's hash, from the highest down, are the way from the root to a record; it
 * lies at the first free place on that way. So no order is kept and nothing is balanced: whatever
 * lies below a place fits it, and a way is as long as the logarithm of their number. Records of one
 * number are all kept. One thread at a time.
 */
#ifndef AXO__BASE_WAY_H
#define AXO__BASE_WAY_H

#include <stddef.h>
#include <stdint.h>

typedef struct axo__way {
    uint64_t number;
    struct axo__way *below[2];
    struct axo__way *above; /* NULL: it is the root */
} axo__way;

/* A record of the number; NULL: there is none. */
static inline axo__way *axo__way_find(axo__way *root, uint64_t number)
{
    uint64_t way = number * UINT64_C(0x9e3779b97f4a7c15);
    for (; root != NULL && root->number != number; way <<= 1)
        root = root->below[way >> 63];
    return root;
}

/* Adds a record whose number is set. */
void axo__way_add(axo__way **root, axo__way *record);

/* Takes a record of the tree out. One without others below it comes into its place. */
void axo__way_remove(axo__way **root, axo__way *record);

/* Puts `other`, which is of the same number and in no tree, into the record's place. */
void axo__way_replace(axo__way **root, const axo__way *record, axo__way *other);

#endif
