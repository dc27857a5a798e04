/* slab.c - pooled blocks of fixed classes: a cache for each worker or door, one depot.
 *
 * The fast path is in slab.h and touches the cache alone. This file is the slow path: a cache that
 * is empty takes a full magazine from the depot or cuts a new chunk, a cache that is full gives one
 * magazine back. The depot's mutex is taken once for AXO__MAGAZINE blocks.
 *
 * Orders
 *   [M1] store release / load acquire, flushed   a trim that reads its round there comes to the
 *                                    depot after the blocks of that cache */
#include "mem/slab.h"

#include <string.h>

#include "base/assert.h"

const uint16_t axo__pool_sizes[AXO__POOL_CLASSES] = {16,  32,  64,  96,  128,  192,  256,
                                                    384, 512, 768, 1024, 1536, 2048, 4096};

bool axo__pool_init(axo__pool *pool, axo__heap *heap)
{
    memset(pool, 0, sizeof *pool);
    pool->heap = heap;
    /* A table from size to class, so that the fast path looks up a byte instead of searching. */
    for (size_t step = 0, index = 0; step <= AXO__POOL_MAX / AXO__POOL_STEP; step++) {
        while (axo__pool_sizes[index] < step * AXO__POOL_STEP)
            index++;
        pool->classes[step] = (uint8_t)index;
    }
    AXO_DEBUG_ASSERT(axo__pool_sizes[AXO__POOL_CLASSES - 1] == AXO__POOL_MAX);
    AXO_DEBUG_ASSERT(axo__pool_sizes[AXO__POOL_LINE_CLASS] == AXO__CACHE_LINE);
    return axo__os_mutex_init(&pool->mutex);
}

/* Frees chunks, not blocks: blocks that lie in caches or magazines lie in chunks, too. */
void axo__pool_fini(axo__pool *pool)
{
    axo__chunk *chunk = pool->chunks;
    while (chunk != NULL) {
        axo__chunk *next = chunk->next;
        AXO_UNPOISON(chunk, AXO__POOL_CHUNK);
        axo__heap_free(pool->heap, chunk, AXO__POOL_CHUNK, AXO__CACHE_LINE, AXO__SITE_POOL);
        chunk = next;
    }
    axo__os_mutex_fini(&pool->mutex);
}

/* Cuts a new chunk into blocks. The first block goes to the caller, the others to the cache, in the
 * order of their addresses: neighbours are handed out one after the other. */
static void *slab_grow(axo__cache *cache, uint32_t index)
{
    axo__pool *pool = cache->pool;
    AXO_DEBUG_ASSERT(cache->free[index] == NULL && cache->room[index] == 4 * AXO__MAGAZINE);
    char *memory = axo__heap_alloc(pool->heap, AXO__POOL_CHUNK, AXO__CACHE_LINE, AXO__SITE_POOL);
    if (memory == NULL)
        return NULL;
    axo__chunk *chunk = (axo__chunk *)(void *)memory;
    size_t size = axo__pool_sizes[index];
    size_t count = (AXO__POOL_CHUNK - AXO__CACHE_LINE) / size;
    *chunk = (axo__chunk){.blocks = (uint32_t)count};
    axo__os_mutex_lock(&pool->mutex);
    chunk->next = pool->chunks;
    if (chunk->next != NULL)
        chunk->next->before = chunk;
    pool->chunks = chunk;
    pool->chunk_count++;
    axo__os_mutex_unlock(&pool->mutex);

    char *first = memory + AXO__CACHE_LINE;
    for (size_t i = count; i-- > 1;) {
        axo__block *block = (axo__block *)(void *)(first + i * size);
        block->next = cache->free[index];
        cache->free[index] = block;
        AXO_POISON((char *)block + sizeof *block, size - sizeof *block);
    }
    cache->room[index] -= (int32_t)(count - 1);
    return first;
}

/* Takes the depot's blocks that are short of a magazine, all of them: so the walk along them is
 * made without the mutex. There are few, since who adds to them makes magazines of them first
 * (slab_flush). */
static void slab_take_loose(axo__cache *cache, uint32_t index)
{
    axo__pool *pool = cache->pool;
    axo__os_mutex_lock(&pool->mutex);
    axo__block *first = pool->loose[index];
    uint32_t count = pool->loose_count[index];
    pool->loose[index] = NULL;
    pool->loose_count[index] = 0;
    axo__os_mutex_unlock(&pool->mutex);
    axo__block *last = first;
    for (uint32_t i = 1; i < count; i++)
        last = last->next;
    if (last == NULL)
        return;
    AXO_DEBUG_ASSERT(last->next == NULL);
    last->next = cache->free[index];
    cache->free[index] = first;
    cache->room[index] -= (int32_t)count;
}

/* Takes one whole magazine from the depot, or what is short of one. Magazines are always full, so a
 * cache never walks a list while it holds the mutex. */
static bool slab_refill(axo__cache *cache, uint32_t index)
{
    axo__pool *pool = cache->pool;
    AXO_DEBUG_ASSERT(cache->free[index] == NULL && cache->room[index] == 4 * AXO__MAGAZINE);
    axo__os_mutex_lock(&pool->mutex);
    axo__block *magazine = pool->magazines[index];
    if (magazine != NULL)
        pool->magazines[index] = magazine->magazine;
    axo__os_mutex_unlock(&pool->mutex);
    if (magazine == NULL) {
        slab_take_loose(cache, index);
        while (cache->room[index] <= 0)
            axo__pool_spill(cache, index);
        return cache->free[index] != NULL;
    }
    cache->free[index] = magazine;
    cache->room[index] = 3 * AXO__MAGAZINE;
    return true;
}

void *axo__pool_alloc_slow(axo__cache *cache, size_t size)
{
    axo__pool *pool = cache->pool;
    if (size > AXO__POOL_MAX)
        return axo__heap_alloc(pool->heap, size, AXO__CACHE_LINE, AXO__SITE_LARGE);
    uint32_t index = pool->classes[(size + AXO__POOL_STEP - 1) / AXO__POOL_STEP];
    /* The depot first: freed blocks are used again before a new chunk is asked for. */
    if (!slab_refill(cache, index))
        return slab_grow(cache, index);
    axo__block *block = cache->free[index];
    cache->free[index] = block->next;
    cache->room[index]++;
    AXO_UNPOISON(block, axo__pool_sizes[index]);
    return block;
}

/* Moves one magazine from the cache to the depot. The walk to the end of the magazine is made
 * before the mutex is taken. */
void axo__pool_spill(axo__cache *cache, uint32_t index)
{
    axo__pool *pool = cache->pool;
    AXO_DEBUG_ASSERT(cache->room[index] <= 3 * AXO__MAGAZINE);
    axo__block *first = cache->free[index];
    axo__block *last = first;
    for (uint32_t i = 1; i < AXO__MAGAZINE; i++)
        last = last->next;
    cache->free[index] = last->next;
    cache->room[index] += AXO__MAGAZINE;
    last->next = NULL;
    axo__os_mutex_lock(&pool->mutex);
    first->magazine = pool->magazines[index];
    pool->magazines[index] = first;
    axo__os_mutex_unlock(&pool->mutex);
}

void axo__pool_free_large(axo__pool *pool, void *block, size_t size)
{
    AXO_DEBUG_ASSERT(block == NULL || size > AXO__POOL_MAX);
    if (block != NULL)
        axo__heap_free(pool->heap, block, size, AXO__CACHE_LINE, AXO__SITE_LARGE);
}

/* Hands the blocks of a class over: as magazines, with the depot's loose ones, and the rest as
 * loose ones. So these are fewer than a magazine for each thread that flushes at the same time. */
static void slab_flush(axo__cache *cache, uint32_t index)
{
    axo__pool *pool = cache->pool;
    if (cache->free[index] == NULL)
        return;
    slab_take_loose(cache, index);
    while (cache->room[index] <= 3 * AXO__MAGAZINE)
        axo__pool_spill(cache, index);
    axo__block *first = cache->free[index];
    if (first == NULL)
        return;
    axo__block *last = first;
    while (last->next != NULL)
        last = last->next;
    axo__os_mutex_lock(&pool->mutex);
    last->next = pool->loose[index];
    pool->loose[index] = first;
    pool->loose_count[index] += (uint32_t)(4 * AXO__MAGAZINE - cache->room[index]);
    axo__os_mutex_unlock(&pool->mutex);
    cache->free[index] = NULL;
    cache->room[index] = 4 * AXO__MAGAZINE;
}

/* The round is read first: a trim that begins meanwhile asks again. The store releases the blocks
 * to the trim that acquires it before it looks into the depot. */
void axo__cache_flush(axo__cache *cache)
{
    uint32_t round = axo__a32_load_relaxed(&cache->pool->round);
    for (uint32_t index = 0; index < AXO__POOL_CLASSES; index++)
        slab_flush(cache, index);
    axo__a32_store_release(&cache->flushed, round); /* [M1] */
}
