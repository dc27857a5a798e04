/* region.c - what an instance owns: memory and clean-ups, gone together at its end. */
#include "mem/region.h"

#include <stdint.h>

#include "base/assert.h"
#include "base/border.h"

#define REGION_ALIGN 16

typedef struct region_defer {
    struct region_defer *next;
    void (*fn)(void *arg);
    void *arg;
} region_defer;

/* A chunk; the youngest is the region, and carries the clean-ups of all. */
struct axo__region {
    axo__region *older;
    region_defer *defers;
    size_t size;
    size_t used;
};
AXO_STATIC_ASSERT(sizeof(struct axo__region) < AXO__REGION_CHUNK, "a chunk has room");
AXO_STATIC_ASSERT(sizeof(struct axo__region) % REGION_ALIGN == 0, "chunks keep alignment");

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
    region_defer *defer = axo__region_alloc(region, cache, sizeof *defer);
    if (defer == NULL)
        return false;
    *defer = (region_defer){.next = (*region)->defers, .fn = fn, .arg = arg};
    (*region)->defers = defer;
    return true;
}

void axo__region_end(axo__region **region, axo__cache *cache)
{
    axo__region *chunk = *region;
    *region = NULL;
    if (chunk == NULL)
        return;
    for (region_defer *defer = chunk->defers; defer != NULL; defer = defer->next) {
        AXO_BORDER();
        defer->fn(defer->arg);
    }
    while (chunk != NULL) {
        axo__region *older = chunk->older;
        axo__pool_free(cache, chunk, chunk->size);
        chunk = older;
    }
}
