/* slab.h - pooled blocks of fixed classes: a cache for each worker or door, one depot.
 *
 * Three structures: axo__pool, the depot of a system, guarded by a mutex; axo__cache, the free
 * blocks of one local; axo__chunk, memory from the heap that is cut into blocks of one class.
 *
 * A cache is one thread's (or is guarded by its door's gate) and needs no atomics. It trades with
 * the depot in magazines of AXO__MAGAZINE blocks under the depot's mutex, so blocks that another
 * worker frees come back in batches. Memory returns to the allocator at fini, and chunks that are
 * free as a whole by axo__pool_trim (slab_trim.c).
 */
#ifndef AXO__MEM_SLAB_H
#define AXO__MEM_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/config.h"
#include "mem/alloc.h"
#include "os/os.h"

#define AXO__POOL_CLASSES 14
#define AXO__POOL_STEP 16

/* The class of blocks of one cache line: most messages. */
#define AXO__POOL_LINE_CLASS 2

typedef struct axo__block {
    struct axo__block *next;     /* in a cache or a magazine */
    struct axo__block *magazine; /* in the first block of a magazine: the next magazine */
} axo__block;
AXO_STATIC_ASSERT(sizeof(axo__block) <= AXO__POOL_STEP, "the smallest block holds its links");
AXO_STATIC_ASSERT(AXO__POOL_MAX <= AXO__POOL_CHUNK - AXO__CACHE_LINE, "a chunk has a block");

typedef struct axo__chunk {
    struct axo__chunk *next;
    struct axo__chunk *before;
    uint32_t blocks; /* that it has been cut into; fixed */
    uint32_t free;   /* the trim's: those that it has found; 0 without one */
} axo__chunk;
AXO_STATIC_ASSERT(sizeof(axo__chunk) <= AXO__CACHE_LINE, "a chunk's record lies before its blocks");

typedef struct axo__pool {
    axo__heap *heap;
    /* the class of each size in steps; fixed */
    uint8_t classes[AXO__POOL_MAX / AXO__POOL_STEP + 1];
    axo__os_mutex mutex;                        /* guards what follows */
    axo__block *magazines[AXO__POOL_CLASSES];   /* full magazines */
    axo__block *loose[AXO__POOL_CLASSES];       /* blocks that are short of a magazine */
    uint32_t loose_count[AXO__POOL_CLASSES];
    axo__chunk *chunks;
    size_t chunk_count;
    axo__a32 trimming;        /* 1: a thread is in a trim */
    axo__a32 round;           /* of the last trim; each cache is flushed in each round */
    struct axo__walls *walls; /* fixed from boot on (mem/wall.h); NULL: none */
} axo__pool;

typedef struct axo__cache {
    axo__pool *pool; /* fixed: the depot that the cache trades with */
    axo__block *free[AXO__POOL_CLASSES];
    int32_t room[AXO__POOL_CLASSES]; /* blocks that a free list takes before it gives a magazine
                                        away; 4 * AXO__MAGAZINE: it is empty */
    axo__a32 flushed; /* the last round that it was flushed in; any thread may read it */
} axo__cache;

/* Makes an empty depot; false: the system refused the mutex. */
bool axo__pool_init(axo__pool *pool, axo__heap *heap);

/* Frees all chunks. Every block must have been given back; the caches end with the pool. */
void axo__pool_fini(axo__pool *pool);

/* An empty cache of the depot's blocks. */
static inline void axo__cache_init(axo__cache *cache, axo__pool *pool)
{
    *cache = (axo__cache){.pool = pool};
    for (uint32_t index = 0; index < AXO__POOL_CLASSES; index++)
        cache->room[index] = 4 * AXO__MAGAZINE;
}

/* Bytes of the blocks of a class. */
extern const uint16_t axo__pool_sizes[AXO__POOL_CLASSES];
/* The slow paths of the two functions below: for an empty cache, a large block, a full cache. */
void *axo__pool_alloc_slow(axo__cache *cache, size_t size);
void axo__pool_free_large(axo__pool *pool, void *block, size_t size);
void axo__pool_spill(axo__cache *cache, uint32_t index);

/* What a block of `size` bytes is aligned to beyond what any object needs: the greatest power of
 * two that divides the size, at most a cache line. Every class keeps it: a multiple of 32 or 64
 * has a class whose blocks are. 1 of an odd size, a line of 0. */
static inline size_t axo__pool_align(size_t size)
{
    size_t bits = size | AXO__CACHE_LINE;
    return bits & (~bits + 1);
}

/* `bytes`, rounded up so that the block is aligned as one of `size` bytes is. */
static inline size_t axo__pool_align_as(size_t bytes, size_t size)
{
    size_t align = axo__pool_align(size);
    return (bytes + align - 1) & ~(align - 1);
}

/* Takes a block of at least `size` bytes, aligned for any object and as axo__pool_align says, not
 * initialised; NULL: no memory. Sizes over AXO__POOL_MAX go straight to the allocator. The caller
 * is the cache's thread. */
static inline void *axo__pool_alloc(axo__cache *cache, size_t size)
{
    if (axo__unlikely(size > AXO__POOL_MAX))
        return axo__pool_alloc_slow(cache, size);
    uint32_t index = cache->pool->classes[(size + AXO__POOL_STEP - 1) / AXO__POOL_STEP];
    axo__block *block = cache->free[index];
    if (axo__unlikely(block == NULL))
        return axo__pool_alloc_slow(cache, size);
    AXO_DEBUG_ASSERT(cache->room[index] < 4 * AXO__MAGAZINE);
    cache->free[index] = block->next;
    cache->room[index]++;
    AXO_UNPOISON(block, axo__pool_sizes[index]);
    return block;
}

/* Gives a block back, with the size that was asked for, through the caller's cache, which need not
 * be the cache that the block came from. */
static inline void axo__pool_free(axo__cache *cache, void *memory, size_t size)
{
    axo__pool *pool = cache->pool;
    if (axo__unlikely(memory == NULL || size > AXO__POOL_MAX)) {
        axo__pool_free_large(pool, memory, size);
        return;
    }
    uint32_t index = pool->classes[(size + AXO__POOL_STEP - 1) / AXO__POOL_STEP];
    axo__block *block = memory;
    AXO_DEBUG_ASSERT(cache->free[index] != block); /* the block was given back twice */
    block->next = cache->free[index];
    cache->free[index] = block;
    AXO_POISON((char *)block + sizeof *block, axo__pool_sizes[index] - sizeof *block);
    if (axo__unlikely(--cache->room[index] < 0))
        axo__pool_spill(cache, index);
}

/* As axo__pool_alloc, for a block of one cache line; NULL: the cache is empty, and axo__pool_alloc
 * says whether there is memory. */
static inline void *axo__pool_alloc_line(axo__cache *cache)
{
    axo__block *block = cache->free[AXO__POOL_LINE_CLASS];
    if (axo__unlikely(block == NULL))
        return NULL;
    AXO_DEBUG_ASSERT(cache->room[AXO__POOL_LINE_CLASS] < 4 * AXO__MAGAZINE);
    cache->free[AXO__POOL_LINE_CLASS] = block->next;
    cache->room[AXO__POOL_LINE_CLASS]++;
    AXO_UNPOISON(block, AXO__CACHE_LINE);
    return block;
}

/* As axo__pool_free, for a block of one cache line, of which `size` bytes were asked for. */
static inline void axo__pool_free_line(axo__cache *cache, void *memory, size_t size)
{
    axo__block *block = memory;
    AXO_DEBUG_ASSERT(size > AXO__CACHE_LINE / 2 && size <= AXO__CACHE_LINE);
    (void)size;
    AXO_DEBUG_ASSERT(cache->free[AXO__POOL_LINE_CLASS] != block); /* it was given back twice */
    block->next = cache->free[AXO__POOL_LINE_CLASS];
    cache->free[AXO__POOL_LINE_CLASS] = block;
    AXO_POISON((char *)block + sizeof *block, AXO__CACHE_LINE - sizeof *block);
    if (axo__unlikely(--cache->room[AXO__POOL_LINE_CLASS] < 0))
        axo__pool_spill(cache, AXO__POOL_LINE_CLASS);
}

/* Hands all blocks of a cache to the depot. The caller is the cache's thread, or nobody is. */
void axo__cache_flush(axo__cache *cache);

/* Flushes the cache if a trim has asked for that. Where its thread looks for news anyway. */
static inline void axo__cache_heed(axo__cache *cache)
{
    if (axo__unlikely(axo__a32_load_relaxed(&cache->pool->round) !=
                      axo__a32_load_relaxed(&cache->flushed)))
        axo__cache_flush(cache);
}

#endif
