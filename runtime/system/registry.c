/* registry.c - keys and references: a hash table whose readers wait for nobody.
 *
 * registry.h has the argument. Readers walk a chain and check each entry's sequence before and
 * after; writers hold the mutex and change one entry at a time. The end of an actor does nothing
 * here: its key is found dead by its generation, and is swept when entries run out. */
#include "system/registry.h"

#include <string.h>

#include "base/assert.h"
#include "base/random.h"

#define REGISTRY_BUCKETS_MIN 64
#define REGISTRY_BUCKETS_MAX 65536
#define REGISTRY_CHUNK 32
AXO_STATIC_ASSERT(AXO_KEY_MAX < AXO__KEY_WORDS * 8, "a zero behind the longest key");
AXO_STATIC_ASSERT((REGISTRY_BUCKETS_MIN & (REGISTRY_BUCKETS_MIN - 1)) == 0, "a mask");

/* The end of a bucket's chain: its number, marked by a low bit that no entry's address has. */
static void *registry_nulls(uint32_t bucket)
{
    return (void *)(((uintptr_t)bucket << 1) | 1);
}

static bool registry_is_nulls(const void *link)
{
    return ((uintptr_t)link & 1) != 0;
}

/* Whether the reference is of a living actor. Its cell is read without grace, which is safe
 * because cells are type-stable; the answer may be old at once, as any look-up's. */
static bool registry_lives(const axo__registry *registry, uint64_t bits)
{
    return axo__table_find(registry->table, (axo_ref){.bits = bits}) != NULL;
}

bool axo__registry_init(axo__registry *registry, axo__heap *heap, const axo__table *table,
                        uint32_t max, uint64_t seed)
{
    axo__random random;
    uint32_t buckets = REGISTRY_BUCKETS_MIN;
    memset((void *)registry, 0, sizeof *registry);
    /* Four keys a bucket at most, on the average of a full table up to 2^18 keys. */
    while (buckets < max / 4 && buckets < REGISTRY_BUCKETS_MAX)
        buckets *= 2;
    axo__random_init(&random, seed, UINT64_C(0x72656769737472));
    registry->heap = heap;
    registry->table = table;
    registry->salt = axo__random_next(&random);
    registry->mask = buckets - 1;
    registry->max = max;
    if (!axo__os_mutex_init(&registry->mutex))
        return false;
    registry->buckets = axo__heap_alloc(heap, sizeof(axo__aptr) * buckets, AXO__CACHE_LINE,
                                        AXO__SITE_NAMES);
    if (registry->buckets == NULL) {
        axo__os_mutex_fini(&registry->mutex);
        return false;
    }
    for (uint32_t i = 0; i < buckets; i++)
        axo__aptr_store_relaxed(&registry->buckets[i], registry_nulls(i));
    return true;
}

static size_t registry_chunk_size(uint32_t count)
{
    return sizeof(axo__entries) + sizeof(axo__entry) * count;
}

void axo__registry_fini(axo__registry *registry)
{
    while (registry->chunks != NULL) {
        axo__entries *chunk = registry->chunks;
        registry->chunks = chunk->next;
        axo__heap_free(registry->heap, chunk, registry_chunk_size(chunk->count), AXO__CACHE_LINE,
                       AXO__SITE_NAMES);
    }
    axo__heap_free(registry->heap, (void *)registry->buckets, sizeof(axo__aptr) *
                   ((size_t)registry->mask + 1), AXO__CACHE_LINE, AXO__SITE_NAMES);
    axo__os_mutex_fini(&registry->mutex);
}

axo_status axo__registry_key(const axo__registry *registry, const char *text, axo__key *key)
{
    size_t length = strnlen(text, AXO_KEY_MAX + 1);
    if (length == 0 || length > AXO_KEY_MAX)
        return AXO_ENAME;
    memset(key, 0, sizeof *key);
    memcpy(key->words, text, length);
    key->count = (uint32_t)((length + 7) / 8);
    uint64_t hash = registry->salt;
    for (uint32_t i = 0; i < key->count; i++) {
        hash = (hash ^ key->words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    hash *= UINT64_C(0xbf58476d1ce4e5b9);
    key->hash = hash ^ (hash >> 32);
    return AXO_OK;
}

/* Whether the entry has the key. The words behind the key are zero in both; one of them is
 * compared, so that a longer key which begins alike differs. Each load pairs with the store release
 * of the same field in registry_add: a load that returns a newer word makes the odd sequence
 * visible to the reader's second look. */
static bool registry_is_key(const axo__entry *entry, const axo__key *key)
{
    if (axo__a64_load_acquire(&entry->hash) != key->hash) /* [R5] */
        return false;
    for (uint32_t i = 0; i < AXO__KEY_WORDS && i <= key->count; i++) {
        if (axo__a64_load_acquire(&entry->words[i]) != key->words[i]) /* [R5] */
            return false;
    }
    return true;
}

/* ---- readers ---- */

typedef enum registry_walk {
    REGISTRY_FOUND,
    REGISTRY_NOBODY,
    REGISTRY_AGAIN
} registry_walk;

static registry_walk registry_walk_once(const axo__registry *registry, const axo__key *key,
                                        uint64_t *bits)
{
    uint32_t bucket = (uint32_t)key->hash & registry->mask;
    /* Pairs with the store release of the head in registry_add and of the link in registry_remove:
     * the entry behind the link is filled (I3). */
    void *link = axo__aptr_load_acquire(&registry->buckets[bucket]); /* [R7] */
    while (!registry_is_nulls(link)) {
        const axo__entry *entry = link;
        /* Pairs with registry_end: an even sequence brings the fields of the change that it
         * closed. */
        uint64_t seq = axo__a64_load_acquire(&entry->seq); /* [R4] */
        bool match = (seq & 1) == 0 && registry_is_key(entry, key);
        *bits = axo__a64_load_acquire(&entry->ref); /* [R5] */
        link = axo__aptr_load_acquire(&entry->next); /* [R7] */
        /* The second look comes after the acquire loads of the fields: if any of them was of a
         * newer change, this load returns that change's odd number or a later one. */
        if (axo__a64_load_relaxed(&entry->seq) != seq)
            return REGISTRY_AGAIN; /* the fields may be of two keys */
        if (match)
            return REGISTRY_FOUND;
    }
    /* Another bucket's end: an entry on the way was given back and taken for a key of that bucket,
     * so a part of this chain may have been skipped. */
    return link == registry_nulls(bucket) ? REGISTRY_NOBODY : REGISTRY_AGAIN;
}

axo_ref axo__registry_find(const axo__registry *registry, const axo__key *key)
{
    uint64_t bits = 0;
    registry_walk walk;
    do { /* again only if a writer has finished a change meanwhile */
        walk = registry_walk_once(registry, key, &bits);
    } while (walk == REGISTRY_AGAIN);
    if (walk == REGISTRY_NOBODY || !registry_lives(registry, bits))
        return axo_ref_none();
    return (axo_ref){.bits = bits};
}

/* ---- writers, under the mutex ---- */

/* The sequence becomes odd. The acquire half keeps the stores of fields behind it; a reader that
 * sees one of them ([R5]) sees the odd number in its second look. */
static void registry_begin(axo__entry *entry)
{
    AXO_DEBUG_ASSERT((axo__a64_load_relaxed(&entry->seq) & 1) == 0);
    (void)axo__a64_add_acq_rel(&entry->seq, 1); /* [R1] */
}

/* The sequence becomes even. Pairs with the reader's first look: a reader that reads this number
 * reads every field of the change. */
static void registry_end(axo__entry *entry)
{
    uint64_t seq = axo__a64_load_relaxed(&entry->seq);
    AXO_DEBUG_ASSERT((seq & 1) != 0);
    axo__a64_store_release(&entry->seq, seq + 1); /* [R3] */
}

/* The link that leads to the key's entry; NULL: the key is not linked. Under the mutex, so plain
 * order suffices. */
static axo__aptr *registry_link(axo__registry *registry, const axo__key *key)
{
    axo__aptr *link = &registry->buckets[(uint32_t)key->hash & registry->mask];
    for (;;) {
        axo__entry *entry = axo__aptr_load_relaxed(link);
        if (registry_is_nulls(entry))
            return NULL;
        if (registry_is_key(entry, key))
            return link;
        link = &entry->next;
    }
}

/* Takes an entry out. A reader that stands on it keeps its way on, because `next` stays until the
 * entry is filled anew. */
static void registry_remove(axo__registry *registry, axo__aptr *link)
{
    axo__entry *entry = axo__aptr_load_relaxed(link);
    registry_begin(entry);
    /* Pairs with the readers' load of the same link: the entry behind was published before, and
     * stays. */
    axo__aptr_store_release(link, axo__aptr_load_relaxed(&entry->next)); /* [R6] */
    axo__a64_store_release(&entry->ref, 0); /* [R2] */
    registry_end(entry);
    entry->next_free = registry->free;
    registry->free = entry;
}

/* Takes out the entries whose actors have ended. Every bucket is walked, which is bounded by the
 * table's size and happens only when no entry is free. */
static void registry_sweep(axo__registry *registry)
{
    for (uint32_t i = 0; i <= registry->mask; i++) {
        axo__aptr *link = &registry->buckets[i];
        for (;;) {
            axo__entry *entry = axo__aptr_load_relaxed(link);
            if (registry_is_nulls(entry))
                break;
            if (registry_lives(registry, axo__a64_load_relaxed(&entry->ref)))
                link = &entry->next;
            else
                registry_remove(registry, link);
        }
    }
}

/* Makes as many entries again as there are, up to the limit: doubling keeps the number of chunks
 * small, and chunks are never freed before the registry. */
static axo_status registry_grow(axo__registry *registry)
{
    AXO_DEBUG_ASSERT(registry->made <= registry->max && registry->free == NULL);
    uint32_t room = registry->max - registry->made;
    uint32_t count = registry->made > REGISTRY_CHUNK ? registry->made : REGISTRY_CHUNK;
    if (room == 0)
        return AXO_ELIMIT;
    if (count > room)
        count = room;
    axo__entries *chunk = axo__heap_alloc(registry->heap, registry_chunk_size(count),
                                          AXO__CACHE_LINE, AXO__SITE_NAMES);
    if (chunk == NULL)
        return AXO_ENOMEM;
    memset((void *)chunk, 0, registry_chunk_size(count));
    chunk->count = count;
    chunk->next = registry->chunks;
    registry->chunks = chunk;
    registry->made += count;
    for (uint32_t i = 0; i < count; i++) {
        chunk->all[i].next_free = registry->free;
        registry->free = &chunk->all[i];
    }
    return AXO_OK;
}

/* A free entry: one that is there, one that a sweep finds, one of a new chunk. */
static axo_status registry_take(axo__registry *registry, axo__entry **out)
{
    axo_status status = AXO_OK;
    if (registry->free == NULL)
        registry_sweep(registry);
    if (registry->free == NULL)
        status = registry_grow(registry);
    *out = registry->free;
    if (status == AXO_OK)
        registry->free = registry->free->next_free;
    return status;
}

static axo_status registry_add(axo__registry *registry, const axo__key *key, axo_ref ref)
{
    axo__entry *entry;
    axo_status status = registry_take(registry, &entry);
    if (status != AXO_OK)
        return status;
    AXO_DEBUG_ASSERT(axo__a64_peek_owner(&entry->ref) == 0 && key->count <= AXO__KEY_WORDS);
    axo__aptr *head = &registry->buckets[(uint32_t)key->hash & registry->mask];
    registry_begin(entry);
    axo__a64_store_release(&entry->hash, key->hash); /* [R2] */
    /* All words are written, zeroes too: registry_is_key relies on the zero behind a key. */
    for (uint32_t i = 0; i < AXO__KEY_WORDS; i++)
        axo__a64_store_release(&entry->words[i], key->words[i]); /* [R2] */
    axo__a64_store_release(&entry->ref, ref.bits); /* [R2] */
    axo__aptr_store_release(&entry->next, axo__aptr_load_relaxed(head)); /* [R2] */
    registry_end(entry);
    /* Pairs with the readers' load of the bucket: a reader that finds the entry finds it filled and
     * its sequence even. */
    axo__aptr_store_release(head, entry); /* [R6] */
    return AXO_OK;
}

static axo_status registry_put(axo__registry *registry, const axo__key *key, axo_ref ref)
{
    axo__aptr *link = registry_link(registry, key);
    if (!registry_lives(registry, ref.bits))
        return AXO_EGONE;
    if (link == NULL)
        return registry_add(registry, key, ref);
    axo__entry *entry = axo__aptr_load_relaxed(link);
    if (registry_lives(registry, axo__a64_load_relaxed(&entry->ref)))
        return AXO_EEXIST;
    registry_begin(entry);
    axo__a64_store_release(&entry->ref, ref.bits); /* [R2] */
    registry_end(entry);
    return AXO_OK;
}

axo_status axo__registry_put(axo__registry *registry, const axo__key *key, axo_ref ref)
{
    axo__os_mutex_lock(&registry->mutex);
    axo_status status = registry_put(registry, key, ref);
    axo__os_mutex_unlock(&registry->mutex);
    return status;
}

axo_status axo__registry_drop(axo__registry *registry, const axo__key *key)
{
    axo_status status = AXO_ENOENT;
    axo__os_mutex_lock(&registry->mutex);
    axo__aptr *link = registry_link(registry, key);
    if (link != NULL) {
        const axo__entry *entry = axo__aptr_load_relaxed(link);
        if (registry_lives(registry, axo__a64_load_relaxed(&entry->ref)))
            status = AXO_OK;
        registry_remove(registry, link);
    }
    axo__os_mutex_unlock(&registry->mutex);
    return status;
}
