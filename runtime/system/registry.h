/* registry.h - keys and references: a hash table whose readers wait for nobody.
 *
 * Foreign threads are no grace readers, so an entry that a reader may stand on is never freed: the
 * memory of entries is type-stable until the system ends, and an entry that is given back may be
 * taken for another key while somebody reads it. He learns of it in two ways:
 *
 *   sequence  goes up by one when a change of the entry begins (odd) and when it is over. What was
 *             read between two equal even readings is of one key.
 *   nulls     a chain ends in a number that says which bucket it is. A reader who has been carried
 *             to another chain comes to its end and begins again.
 *
 * An odd entry that is still linked is being taken out, or gets a reference in place of a dead one:
 * both ways its key leads nowhere now, so a reader passes it by. He never waits for it.
 *
 * Roles      find: every thread.  put, drop: every thread, one at a time under the mutex.
 * Progress   find is lock-free: it begins again only when a writer has finished a change.
 *
 * Invariants
 *   I1  A linked entry is in the chain of its hash; a new one is linked at the head of it.
 *   I2  Key, hash and reference change only while the sequence is odd; next, too, but for the
 *       unlinking of the entry behind.
 *   I3  An entry is filled before it is linked, and unlinked before it is filled anew.
 *
 * Orders
 *   [R1] add acq_rel, seq        a change begins: nothing of it is seen before
 *   [R2] store release, fields   not seen before [R1]; pairs with [R5]
 *   [R3] store release, seq      a change is over: all of it is seen; pairs with [R4]
 *   [R4] load acquire, seq       the first reading
 *   [R5] load acquire, fields    not after the second reading of seq; who sees [R2] sees [R1] then
 *   [R6] store release, links    publishes a filled entry; pairs with [R7]
 *   [R7] load acquire, links
 *   [T2] [T4] as in cell/table.h: a generation is read without grace, cells are type-stable too
 */
#ifndef AXO__SYSTEM_REGISTRY_H
#define AXO__SYSTEM_REGISTRY_H

#include <axo/registry.h>

#include "cell/table.h"

#define AXO__KEY_WORDS ((AXO_KEY_MAX + 1) / 8)

/* A key with its zeroes, in words. */
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
    uint64_t salt;
    uint32_t mask;
    uint32_t max;
    axo__aptr *buckets;
    _Alignas(AXO__CACHE_LINE) axo__os_mutex mutex; /* guards what follows, and every change */
    axo__entries *chunks;
    axo__entry *free;
    uint32_t made;
} axo__registry;

bool axo__registry_init(axo__registry *registry, axo__heap *heap, const axo__table *table,
                        uint32_t max, uint64_t seed);
void axo__registry_fini(axo__registry *registry);

/* AXO_OK, AXO_ENAME. */
axo_status axo__registry_key(const axo__registry *registry, const char *text, axo__key *key);

/* AXO_OK, AXO_EEXIST, AXO_EGONE, AXO_ELIMIT, AXO_ENOMEM. */
axo_status axo__registry_put(axo__registry *registry, const axo__key *key, axo_ref ref);

/* AXO_OK, AXO_ENOENT. */
axo_status axo__registry_drop(axo__registry *registry, const axo__key *key);

/* none: it leads to no living actor. */
axo_ref axo__registry_find(const axo__registry *registry, const axo__key *key);

#endif
