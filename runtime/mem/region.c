/* region.c - what an instance owns: memory and clean-ups, gone together at its end.
 *
 * A bump allocator over a list of chunks. Nothing is freed one by one: an instance ends as a whole,
 * by a restart, a stop or a failed construct, and D2 promises that its memory ends with it. */
#include "mem/region.h"

#include <stdint.h>

#include "base/aside.h"
#include "base/assert.h"
#include "base/border.h"

#define REGION_ALIGN 16

typedef struct region_defer {
    struct region_defer *next;
    void (*fn)(void *arg);
    void *arg;
} region_defer;

/* A chunk. The youngest chunk stands for the region and carries the clean-ups of all chunks. */
struct axo__region {
    axo__region *older;
    region_defer *defers;
    size_t size;
    size_t used;
};
AXO_STATIC_ASSERT(sizeof(struct axo__region) < AXO__REGION_CHUNK, "a chunk has room");
AXO_STATIC_ASSERT(sizeof(struct axo__region) % REGION_ALIGN == 0, "chunks keep alignment");

/* Puts a new chunk in front. A request beyond AXO__REGION_CHUNK gets a chunk of its own size, and
 * the rest of the older chunk is given up: the waste is less than a chunk. */
static bool region_grow(axo__region **region, axo__cache *cache, size_t size)
{
    size_t least = sizeof(axo__region) + size;
    size_t want = least > AXO__REGION_CHUNK ? least : AXO__REGION_CHUNK;
    axo__region *chunk = axo__pool_alloc(cache, want);
    if (chunk == NULL)
        return false;
    chunk->older = *region;
    chunk->defers = *region != NULL ? (*region)->defers : NULL;
    chunk->size = want;
    chunk->used = sizeof(axo__region);
    *region = chunk;
    return true;
}

void *axo__region_alloc(axo__region **region, axo__cache *cache, size_t size)
{
    if (size == 0 || size > SIZE_MAX / 2)
        return NULL;
    /* The guard above keeps this sum from wrapping; axo_alloc promises an address for any
     * object. */
    size = (size + REGION_ALIGN - 1) & ~(size_t)(REGION_ALIGN - 1);
    if (*region == NULL || (*region)->size - (*region)->used < size) {
        if (!region_grow(region, cache, size))
            return NULL;
    }
    AXO_DEBUG_ASSERT((*region)->used + size <= (*region)->size);
    void *block = (char *)*region + (*region)->used;
    (*region)->used += size;
    return block;
}

bool axo__region_defer(axo__region **region, axo__cache *cache, void (*fn)(void *arg), void *arg)
{
    AXO_DEBUG_ASSERT(fn != NULL);
    /* The record of a clean-up lies in the region itself, so running the clean-ups takes no
     * memory. */
    region_defer *defer = axo__region_alloc(region, cache, sizeof *defer);
    if (defer == NULL)
        return false;
    *defer = (region_defer){.next = (*region)->defers, .fn = fn, .arg = arg};
    (*region)->defers = defer;
    return true;
}

static void region_call(void (*fn)(void *arg), void *arg)
{
    axo__aside++;
    AXO_BORDER();
    fn(arg);
    axo__aside--;
}

void axo__region_end(axo__region **region, axo__cache *cache,
                     void (*call)(void (*fn)(void *arg), void *arg))
{
    axo__region *chunk = *region;
    /* The region is empty before the first clean-up runs: a clean-up that calls axo_alloc begins a
     * new region and does not touch the one that is ending. */
    *region = NULL;
    if (chunk == NULL)
        return;
    /* Clean-ups before memory, the last registered first: a clean-up may read what the instance
     * allocated before it was registered. */
    for (region_defer *defer = chunk->defers; defer != NULL; defer = defer->next) {
        if (call == NULL)
            region_call(defer->fn, defer->arg);
        else
            call(defer->fn, defer->arg);
    }
    while (chunk != NULL) {
        axo__region *older = chunk->older;
        axo__pool_free(cache, chunk, chunk->size);
        chunk = older;
    }
}
