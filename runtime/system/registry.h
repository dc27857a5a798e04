/* registry.h - keys and references: a hash table whose readers wait for nobody.
 *
 * Outside threads are no grace readers, so an entry that a reader may stand on is never freed: the
 * memory of entries is type-stable until the system ends, and an entry that is given back may be
 * taken for another key while a reader stands on it. The reader finds that out in two ways:
 *
 *   sequence  goes up by one when a change of the entry begins (odd) and by one when the change is
 *             over. What was read between two equal even readings is of one key.
 *   nulls     a chain ends in a number that names its bucket. A reader that has been carried to
 *             another chain comes to that chain's end and begins again.
 *
 * An odd entry that is still linked is being taken out, or gets a reference in place of a dead one:
 * both ways its key leads nowhere now, so a reader passes it by. The reader never waits for it.
 *
 * Roles      find: every thread.  put, drop: every thread, one at a time under the mutex.
 * Progress   find is lock-free: it begins again only when a writer has finished a change.
 *
 * Invariants
 *   I1  A linked entry is in the chain of its hash; a new entry is linked at the head of the chain.
 *   I2  Key, hash and reference change only while the sequence is odd; next, too, but for the
 *       unlinking of the entry behind.
 *   I3  An entry is filled before it is linked, and unlinked before it is filled anew.
 *
 * Orders
 *   [R1] add acq_rel, seq        a change begins: nothing of the change is seen before it
 *   [R2] store release, fields   not seen before [R1]; pairs with [R5]
 *   [R3] store release, seq      a change is over: all of it is seen; pairs with [R4]
 *   [R4] load acquire, seq       the first reading; pairs with [R3]
 *   [R5] load acquire, fields    not after the second reading of seq; a reader that sees [R2] sees
 *                                [R1] then
 *   [R6] store release, links    publishes a filled entry; pairs with [R7]
 *   [R7] load acquire, links     pairs with [R6], and with the [R2] of next
 *   [T2] [T4] as in cell/table.h: a cell is read without grace, cells are type-stable too
 */
#ifndef AXO__SYSTEM_REGISTRY_H
#define AXO__SYSTEM_REGISTRY_H

#include <axo/registry.h>

#include "cell/table.h"

#define AXO__KEY_WORDS ((AXO_KEY_MAX + 1) / 8)

/* A key in words, the rest zero: words are compared and stored atomically, bytes could not be. */
typedef struct axo__key {
    uint64_t hash;
    uint32_t count; /* words that are not all zero */
    uint64_t words[AXO__KEY_WORDS];
} axo__key;

typedef struct axo__entry {
    axo__a64 seq;
    axo__aptr next; /* an entry, or the nulls of a bucket */
    axo__a64 hash;
    axo__a64 ref;
    axo__a64 words[AXO__KEY_WORDS];
    struct axo__entry *next_free; /* the writers' */
} axo__entry;

typedef struct axo__entries {
    struct axo__entries *next;
    uint32_t count;
    axo__entry all[];
} axo__entries;

typedef struct axo__registry {
    axo__heap *heap;
    const axo__table *table;
    /* Fixed after init; the salt makes chains depend on the seed, not on the keys alone. */
    uint64_t salt;
    uint32_t mask;
    uint32_t max;
    axo__aptr *buckets;
    _Alignas(AXO__CACHE_LINE) axo__os_mutex mutex; /* guards what follows, and every change */
    axo__entries *chunks;
    axo__entry *free;
    uint32_t made;
} axo__registry;

/* Makes an empty table for up to `max` keys. false: no memory, or no mutex. */
bool axo__registry_init(axo__registry *registry, axo__heap *heap, const axo__table *table,
                        uint32_t max, uint64_t seed);
void axo__registry_fini(axo__registry *registry);

/* Prepares a key from a text. AXO_OK, AXO_ENAME (empty, or longer than AXO_KEY_MAX). */
axo_status axo__registry_key(const axo__registry *registry, const char *text, axo__key *key);

/* Lets the key lead to `ref`. AXO_EEXIST: it leads to another living actor; AXO_EGONE: `ref` has
 * ended; AXO_OK, AXO_ELIMIT, AXO_ENOMEM. */
axo_status axo__registry_put(axo__registry *registry, const axo__key *key, axo_ref ref);

/* Takes the key away. AXO_ENOENT: it led to no living actor. */
axo_status axo__registry_drop(axo__registry *registry, const axo__key *key);

/* The actor that the key leads to; none: no living actor has it. No lock, no door. */
axo_ref axo__registry_find(const axo__registry *registry, const axo__key *key);

#endif
