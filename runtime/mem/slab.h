/* slab.h - pooled blocks of fixed classes: a cache for each worker or door, one depot.
 *
 * A cache is one thread's (or is guarded by its door's mutex) and needs no atomics. It trades
 * with the depot in magazines of AXO__MAGAZINE blocks under the depot's mutex, so a block that
 * another worker frees comes back in batches. Memory returns to the allocator at fini.
 */
#ifndef AXO__MEM_SLAB_H
#define AXO__MEM_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "mem/alloc.h"
#include "os/os.h"

#define AXO__POOL_CLASSES 14

typedef struct axo__block {
    struct axo__block *next;     /* in a cache or a magazine */
    struct axo__block *magazine; /* first block of a magazine: the next magazine */
} axo__block;

typedef struct axo__cache {
    axo__block *free[AXO__POOL_CLASSES];
    uint32_t count[AXO__POOL_CLASSES];
} axo__cache;

typedef struct axo__chunk {
    struct axo__chunk *next;
} axo__chunk;

typedef struct axo__pool {
    axo__heap *heap;
    axo__os_mutex mutex;                        /* guards what follows */
    axo__block *magazines[AXO__POOL_CLASSES];   /* full ones */
    axo__chunk *chunks;
} axo__pool;

bool axo__pool_init(axo__pool *pool, axo__heap *heap);

/* Everything taken must have been given back; caches die with the pool. */
void axo__pool_fini(axo__pool *pool);

/* A block of at least `size` bytes, aligned for any object, not initialised; NULL: no memory.
 * Sizes over AXO__POOL_MAX go straight to the allocator. */
void *axo__pool_alloc(axo__pool *pool, axo__cache *cache, size_t size);

/* Gives a block back, with the size it was asked for, through any cache. */
void axo__pool_free(axo__pool *pool, axo__cache *cache, void *block, size_t size);

/* Hands the whole magazines of a cache to the depot: when its thread ends. */
void axo__cache_flush(axo__pool *pool, axo__cache *cache);

#endif
