/* region_take.c - how a region takes memory: chunks, the blocks cut from them, blocks apart. */
#include "mem/region_take.h"

#include "base/assert.h"

/* ---- chunks ---- */

static char *region_first(const axo__region *region, axo__region_chunk *chunk)
{
    bool oldest = chunk == &region->chunk;
    return (char *)chunk + (oldest ? sizeof *region : sizeof *chunk);
}

static void region_open(axo__region *region, axo__region_chunk *chunk)
{
    region->youngest = chunk;
    region->at = region_first(region, chunk);
    region->end = (char *)chunk + chunk->size;
}

static bool region_count(axo__region *region, size_t size)
{
    if (!axo__budget_take(region->budget, region->held, size))
        return false;
    region->held += size;
    return true;
}

/* What was counted is there. */
static void region_note_most(axo__region *region)
{
    if (region->held > region->most)
        region->most = region->held;
}

void axo__region_discount(axo__region *region, size_t size)
{
    AXO_DEBUG_ASSERT(region->held >= size);
    region->held -= size;
    axo__budget_give(region->budget, size);
}

/* Puts a new chunk in front: as large as what is held, within bounds, or as much as is needed where
 * others have taken the rest of a bound meanwhile. The rest of the older chunk is given up: it is
 * less than the block. */
static __attribute__((noinline)) bool region_grow(axo__region *region, axo__cache *cache,
                                                  size_t stride)
{
    size_t least = sizeof(axo__region_chunk) + stride;
    size_t want = AXO__REGION_CHUNK;
    while (want < AXO__REGION_CHUNK_MAX && want * 2 <= region->held)
        want *= 2;
    size_t room = axo__budget_room(region->budget, region->held);
    if (want > room)
        want = room;
    if (want < least)
        want = least;
    size_t size = region_count(region, want)                    ? want
                  : want > least && region_count(region, least) ? least
                                                                : 0;
    axo__region_chunk *chunk = size > 0 ? axo__pool_alloc(cache, size) : NULL;
    if (chunk == NULL) {
        if (size > 0)
            axo__region_discount(region, size);
        return false;
    }
    region_note_most(region);
    region->youngest->used = (size_t)(region->at - (char *)region->youngest);
    *chunk = (axo__region_chunk){.older = region->youngest, .size = size};
    region_open(region, chunk);
    return true;
}

axo__region *axo__region_make(axo__cache *cache, axo__budget *budget, uint32_t walls, uint64_t key,
                              size_t first)
{
    size_t behind = (walls & AXO_WALL_CANARY) != 0 ? AXO__CANARY : 0;
    size_t least = sizeof(axo__region);
    if (first <= AXO__REGION_CHUNK / 2 && (walls & AXO_WALL_GUARD) == 0)
        least += axo__region_stride(axo__region_class(first + behind + AXO__REGION_HEAD));
    size_t size = AXO__REGION_CHUNK;
    size_t room = axo__budget_room(budget, 0);
    if (size > room)
        size = room > least ? room : least;
    if (!axo__budget_take(budget, 0, size))
        return NULL;
    axo__region *region = axo__pool_alloc(cache, size);
    if (region == NULL) {
        axo__budget_give(budget, size);
        return NULL;
    }
    memset(region, 0, sizeof *region);
    region->chunk.size = size;
    region->budget = budget;
    region->key = (key ^ (uint64_t)(uintptr_t)region) * UINT64_C(0x9e3779b97f4a7c15);
    region->held = size;
    region->most = size;
    region->walls = walls;
    region_open(region, &region->chunk);
    return region;
}

void axo__region_reset(axo__region *region, axo__cache *cache)
{
    AXO_DEBUG_ASSERT(region->large == NULL && region->defers == NULL);
    axo__region_chunk *chunk = region->youngest;
    while (chunk != &region->chunk) {
        axo__region_chunk *older = chunk->older;
        size_t size = chunk->size;
        AXO_UNPOISON(chunk, size);
        axo__pool_free(cache, chunk, size);
        axo__region_discount(region, size);
        chunk = older;
    }
    region->lists = NULL;
    region->unlisted = 0;
    AXO_UNPOISON(chunk, chunk->size); /* headers will lie where blocks were */
    region_open(region, &region->chunk);
}

/* ---- blocks of the chunks ---- */

void *axo__region_walk(axo__region *region, axo__region_visit visit, void *arg)
{
    axo__region_chunk *chunk = region->youngest;
    region->youngest->used = (size_t)(region->at - (char *)region->youngest);
    for (; chunk != NULL; chunk = chunk->older) {
        char *end = (char *)chunk + chunk->used;
        for (char *at = region_first(region, chunk); at < end;) {
            void *block = at + AXO__REGION_HEAD;
            axo__region_head head = axo__region_look(block);
            bool own = axo__region_is_own_head(region, block, head);
            if (visit(region, block, head, arg))
                return block;
            if (!own)
                break;
            at += axo__region_stride(axo__region_class_of_head(head.what));
        }
    }
    return NULL;
}

/* A freed block that is in no list and has the class at least. */
static bool region_fits(axo__region *region, void *block, axo__region_head head, void *arg)
{
    return axo__region_is_freed(region, block, head) &&
           axo__region_class_of_head(head.what) >= *(const uint32_t *)arg;
}

bool axo__region_is_clean(const void *block, axo__region_head head)
{
    size_t size = axo__region_stride(axo__region_class_of_head(head.what)) - AXO__REGION_HEAD;
    const unsigned char *bytes = block;
    AXO_UNPOISON(block, size);
    bool clean = true;
    for (size_t i = 0; i < size && clean; i++)
        clean = bytes[i] == AXO__REGION_FREED_BYTE;
    AXO_POISON(block, size);
    return clean;
}

/* A header that somebody has overwritten leads nowhere: the block is given up, as region.c tells
 * when it comes to it. */
void axo__region_let_go(axo__region *region, const axo__region_report *report)
{
    axo__region_waiting *waiting = region->lists->waiting;
    AXO_DEBUG_ASSERT(waiting->count > 0);
    void *block = waiting->blocks[waiting->first];
    axo__region_head head = axo__region_look(block);
    waiting->first = (waiting->first + 1) % AXO__REGION_KEPT;
    waiting->count--;
    if (waiting->count == 0)
        waiting->bytes = 0;
    if (!axo__region_is_own_head(region, block, head))
        return;
    uint32_t index = axo__region_class_of_head(head.what);
    size_t stride = axo__region_stride(index);
    waiting->bytes -= waiting->bytes < stride ? waiting->bytes : stride;
    bool clean = axo__region_is_clean(block, head);
    if (!clean && report == NULL)
        return;
    axo__finding finding = {
        .flaw = AXO__FLAW_AFTER, .block = block, .size = axo__region_size_of(head.what)};
    axo__region_mark(region, block, index, 0, AXO__REGION_FREED);
    AXO_UNPOISON(block, sizeof(void *));
    axo__region_list(region->lists, block, index);
    if (!clean)
        report->tell(report->arg, &finding);
}

/* Nothing could be had: what has been freed in other sizes will do, or what waits. */
static __attribute__((noinline)) void *region_scrape(axo__region *region, uint32_t index)
{
    axo__region_lists *lists = region->lists;
    void *found = NULL;
    if (lists == NULL) {
        if (region->unlisted)
            found = axo__region_walk(region, region_fits, &index);
    } else {
        for (;;) {
            uint32_t other = index;
            while (other < AXO__REGION_CLASSES && lists->free[other] == NULL)
                other++;
            if (other < AXO__REGION_CLASSES) {
                found = axo__region_unlist(lists, other);
                break;
            }
            if (lists->waiting == NULL || lists->waiting->count == 0)
                break;
            axo__region_let_go(region, NULL);
        }
    }
    return found;
}

/* Takes a block of a class. Its header is marked here, and its bytes are open to the program. */
static inline void *region_take_class(axo__region *region, axo__cache *cache, uint32_t index,
                                      size_t size, axo__region_state state)
{
    size_t stride = axo__region_stride(index);
    void *block;
    if (region->lists != NULL && region->lists->free[index] != NULL) {
        block = axo__region_unlist(region->lists, index);
    } else if (axo__likely((size_t)(region->end - region->at) >= stride) ||
               region_grow(region, cache, stride)) {
        block = region->at + AXO__REGION_HEAD;
        region->at += stride;
    } else {
        block = region_scrape(region, index);
        if (block == NULL)
            return NULL;
        index = axo__region_class_of_head(axo__region_look(block).what);
        stride = axo__region_stride(index);
    }
    AXO_UNPOISON(block, stride - AXO__REGION_HEAD);
    axo__region_mark(region, block, index, size, state);
    return block;
}

void *axo__region_take(axo__region *region, axo__cache *cache, size_t size)
{
    AXO_DEBUG_ASSERT(size > 0 && size <= AXO__REGION_SMALL_MAX);
    uint32_t index = axo__region_class(size + AXO__REGION_HEAD);
    void *block = region_take_class(region, cache, index, size, AXO__REGION_OWN);
    if (block != NULL)
        region->own++;
    return block;
}

/* ---- blocks apart ---- */

static void region_link(axo__region *region, axo__region_large *large)
{
    large->before = NULL;
    large->next = region->large;
    if (large->next != NULL)
        large->next->before = large;
    region->large = large;
}

static void region_unlink(axo__region *region, const axo__region_large *large)
{
    if (large->next != NULL)
        large->next->before = large->before;
    if (large->before != NULL)
        large->before->next = large->next;
    else
        region->large = large->next;
}

size_t axo__region_large_bytes(const axo__region *region, size_t size)
{
    return AXO__REGION_LARGE_FRONT + size + axo__region_behind(region);
}

/* A block with pages of its own counts without them, so that a bound holds as much with walls as
 * without. */
static __attribute__((noinline)) void *region_take_large(axo__region *region, axo__cache *cache,
                                                         size_t size)
{
    size_t bytes = axo__region_large_bytes(region, size);
    bool pages = axo__region_has_pages(region);
    axo__region_large *large;
    char *block;
    if (!region_count(region, bytes))
        return NULL;
    if (pages) {
        block = axo__wall_take(cache->pool->walls, sizeof *large, size);
        large = block != NULL ? axo__wall_front(block) : NULL;
    } else {
        large = axo__pool_alloc(cache, bytes);
        block = (char *)large + AXO__REGION_LARGE_FRONT;
    }
    if (large == NULL) {
        axo__region_discount(region, bytes);
        return NULL;
    }
    region_note_most(region);
    *large = (axo__region_large){.block = block, .size = size, .counted = bytes};
    region_link(region, large);
    axo__region_mark(region, block, AXO__REGION_LARGE, 0, AXO__REGION_LIVES);
    if (!pages && axo__region_behind(region) > 0)
        axo__canary_set(block + size, AXO__CANARY);
    return block;
}

void axo__region_free_large(axo__region *region, axo__cache *cache, axo__region_large *large)
{
    size_t counted = large->counted;
    region_unlink(region, large);
    axo__region_mark(region, large->block, AXO__REGION_LARGE, 0, AXO__REGION_FREED);
    if (axo__region_has_pages(region))
        axo__wall_give(cache->pool->walls, large->block);
    else
        axo__pool_free(cache, large, counted);
    axo__region_discount(region, counted);
}

void *axo__region_alloc(axo__region *region, axo__cache *cache, size_t size)
{
    size_t behind = axo__region_behind(region);
    void *block;
    bool small = size - 1 < AXO__REGION_SMALL_MAX - behind;
    if (axo__unlikely(!small || axo__region_has_pages(region))) {
        if (size == 0 || size > PTRDIFF_MAX / 2)
            return NULL;
        block = region_take_large(region, cache, size);
    } else {
        uint32_t index = axo__region_class(size + behind + AXO__REGION_HEAD);
        block = region_take_class(region, cache, index, size, AXO__REGION_LIVES);
        if (axo__unlikely(behind > 0 && block != NULL))
            axo__canary_set((char *)block + size, behind);
    }
    if (axo__likely(block != NULL))
        region->blocks++;
    return block;
}
