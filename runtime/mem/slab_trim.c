/* slab_trim.c - chunks that nobody uses go back to the allocator.
 *
 * A chunk is free as a whole when all its blocks lie in the depot. The trim takes the depot's
 * blocks of a class out under the mutex, counts them by chunk, drops those of whole chunks, and
 * puts the others back as magazines; only then it frees the chunks. What it has taken out is its
 * own: so other threads take and give blocks meanwhile, and one that finds the depot empty cuts a
 * new chunk, as ever. Chunks that are made after the trim's look at the list are left alone.
 *
 * A block's chunk is found by its address, in an array of the chunks in the order of theirs: the
 * allocator promises the alignment of a cache line, and a block has no header.
 *
 * Orders
 *   [M2] cas acq_rel / store release, trimming   one thread at a time has the counts in the chunks;
 *                                    the next one sees them as the last one has left them */
#include "mem/slab_trim.h"

#include "base/assert.h"

typedef struct slab_trim {
    axo__pool *pool;
    axo__chunk **chunks; /* in the order of their addresses */
    size_t count;
} slab_trim;

/* ---- the array ---- */

/* Moves chunks[at] down to its place in a heap of `count`, whose parents are above their
 * children. */
static void trim_sink(axo__chunk **chunks, size_t at, size_t count)
{
    axo__chunk *moved = chunks[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && (uintptr_t)chunks[child + 1] > (uintptr_t)chunks[child])
            child++;
        if ((uintptr_t)chunks[child] <= (uintptr_t)moved)
            break;
        chunks[at] = chunks[child];
    }
    chunks[at] = moved;
}

/* A heap sort: qsort of the C library may take memory, and not from the program's allocator. */
static void trim_sort(axo__chunk **chunks, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        trim_sink(chunks, at, count);
    for (size_t left = count; left-- > 1;) {
        axo__chunk *last = chunks[0];
        chunks[0] = chunks[left];
        chunks[left] = last;
        trim_sink(chunks, 0, left);
    }
}

/* The newest chunks come first in the list, so what has been added since the array was measured
 * is left out. */
static void trim_list(slab_trim *trim)
{
    axo__pool *pool = trim->pool;
    axo__os_mutex_lock(&pool->mutex);
    axo__chunk *chunk = pool->chunks;
    AXO_DEBUG_ASSERT(pool->chunk_count >= trim->count); /* nobody else frees chunks */
    for (size_t newer = pool->chunk_count - trim->count; newer > 0; newer--)
        chunk = chunk->next;
    for (size_t i = 0; i < trim->count; i++, chunk = chunk->next)
        trim->chunks[i] = chunk;
    axo__os_mutex_unlock(&pool->mutex);
    trim_sort(trim->chunks, trim->count);
}

/* The chunk that the block lies in; NULL: one that is younger than the array. */
static axo__chunk *trim_find(const slab_trim *trim, const axo__block *block)
{
    uintptr_t address = (uintptr_t)block;
    size_t low = 0; /* chunks below it begin at or before the block, those from `high` on behind */
    size_t high = trim->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)trim->chunks[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - (uintptr_t)trim->chunks[low - 1] >= AXO__POOL_CHUNK)
        return NULL;
    return trim->chunks[low - 1];
}

static bool trim_is_whole(const axo__chunk *chunk)
{
    return chunk->free == chunk->blocks;
}

/* ---- the blocks of a class ---- */

/* Counts a list, and ends it with `rest`. */
static void trim_count(const slab_trim *trim, axo__block *list, axo__block *rest)
{
    axo__block *block = list;
    for (;;) {
        axo__chunk *chunk = trim_find(trim, block);
        if (chunk != NULL)
            chunk->free++;
        AXO_DEBUG_ASSERT(chunk == NULL || chunk->free <= chunk->blocks);
        if (block->next == NULL)
            break;
        block = block->next;
    }
    block->next = rest;
}

/* Takes all blocks of a class out of the depot and counts them; one list. */
static axo__block *trim_take(const slab_trim *trim, uint32_t index)
{
    axo__pool *pool = trim->pool;
    axo__os_mutex_lock(&pool->mutex);
    axo__block *magazine = pool->magazines[index];
    axo__block *taken = pool->loose[index];
    pool->magazines[index] = NULL;
    pool->loose[index] = NULL;
    pool->loose_count[index] = 0;
    axo__os_mutex_unlock(&pool->mutex);
    if (taken != NULL)
        trim_count(trim, taken, NULL);
    while (magazine != NULL) {
        axo__block *next = magazine->magazine;
        trim_count(trim, magazine, taken);
        taken = magazine;
        magazine = next;
    }
    return taken;
}

/* What is put back: full magazines, and one that is being filled. */
typedef struct trim_kept {
    axo__block *magazines;
    axo__block *oldest; /* the last of them */
    axo__block *loose;
    axo__block *first;  /* the last of `loose` */
    uint32_t count;     /* in `loose` */
} trim_kept;

static void trim_keep(trim_kept *kept, axo__block *block)
{
    if (kept->count == 0)
        kept->first = block;
    block->next = kept->loose;
    kept->loose = block;
    if (++kept->count < AXO__MAGAZINE)
        return;
    if (kept->magazines == NULL)
        kept->oldest = block;
    block->magazine = kept->magazines;
    kept->magazines = block;
    kept->loose = NULL;
    kept->count = 0;
}

static void trim_put(axo__pool *pool, uint32_t index, const trim_kept *kept)
{
    axo__os_mutex_lock(&pool->mutex);
    if (kept->magazines != NULL) {
        kept->oldest->magazine = pool->magazines[index];
        pool->magazines[index] = kept->magazines;
    }
    if (kept->count > 0) {
        kept->first->next = pool->loose[index];
        pool->loose[index] = kept->loose;
        pool->loose_count[index] += kept->count;
    }
    axo__os_mutex_unlock(&pool->mutex);
}

static void trim_class(const slab_trim *trim, uint32_t index)
{
    trim_kept kept = {.count = 0};
    axo__block *block = trim_take(trim, index);
    while (block != NULL) {
        axo__block *next = block->next;
        const axo__chunk *chunk = trim_find(trim, block);
        if (chunk == NULL || !trim_is_whole(chunk))
            trim_keep(&kept, block);
        block = next;
    }
    trim_put(trim->pool, index, &kept);
}

/* ---- the chunks ---- */

static void trim_free(axo__pool *pool, axo__chunk *chunk)
{
    axo__os_mutex_lock(&pool->mutex);
    if (chunk->before != NULL)
        chunk->before->next = chunk->next;
    else
        pool->chunks = chunk->next;
    if (chunk->next != NULL)
        chunk->next->before = chunk->before;
    pool->chunk_count--;
    axo__os_mutex_unlock(&pool->mutex);
    AXO_UNPOISON(chunk, AXO__POOL_CHUNK);
    axo__heap_free(pool->heap, chunk, AXO__POOL_CHUNK, AXO__CACHE_LINE, AXO__SITE_POOL);
}

static uint64_t trim_free_whole(const slab_trim *trim)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < trim->count; i++) {
        axo__chunk *chunk = trim->chunks[i];
        if (trim_is_whole(chunk)) {
            trim_free(trim->pool, chunk);
            bytes += AXO__POOL_CHUNK;
        } else {
            chunk->free = 0;
        }
    }
    return bytes;
}

/* ---- a trim ---- */

uint32_t axo__pool_trim_begin(axo__pool *pool)
{
    uint32_t free = 0;
    if (!axo__a32_cas_acq_rel(&pool->trimming, &free, 1)) /* [M2] */
        return 0;
    uint32_t round = axo__a32_load_relaxed(&pool->round) + 1;
    round += round == 0;
    axo__a32_store_relaxed(&pool->round, round);
    return round;
}

void axo__pool_trim_end(axo__pool *pool)
{
    axo__a32_store_release(&pool->trimming, 0); /* [M2] */
}

bool axo__pool_trim(axo__pool *pool, uint64_t *bytes)
{
    slab_trim trim = {.pool = pool};
    axo__os_mutex_lock(&pool->mutex);
    trim.count = pool->chunk_count;
    axo__os_mutex_unlock(&pool->mutex);
    *bytes = 0;
    if (trim.count == 0)
        return true;
    size_t size = sizeof(axo__chunk *) * trim.count;
    trim.chunks =
        axo__heap_alloc(pool->heap, size, _Alignof(axo__chunk *), AXO__SITE_SYSTEM);
    if (trim.chunks == NULL)
        return false;
    trim_list(&trim);
    for (uint32_t index = 0; index < AXO__POOL_CLASSES; index++)
        trim_class(&trim, index);
    *bytes = trim_free_whole(&trim);
    axo__heap_free(pool->heap, trim.chunks, size, _Alignof(axo__chunk *), AXO__SITE_SYSTEM);
    return true;
}
