/* region.c - an instance's heap: memory and clean-ups, gone together at its end. */
#include "mem/region.h"

#include <string.h>

#include "base/aside.h"
#include "base/assert.h"
#include "base/border.h"

/* ---- looking at a block ---- */

static axo__region_large *region_find_large(const axo__region *region, const void *block)
{
    axo__region_large *large = region->large;
    while (large != NULL && (void *)large->block != block)
        large = large->next;
    return large;
}

static bool region_has(const axo__region *region, const void *block)
{
    for (const axo__region_chunk *chunk = region->youngest; chunk != NULL; chunk = chunk->older) {
        if ((const char *)block > (const char *)chunk &&
            (const char *)block < (const char *)chunk + chunk->size)
            return true;
    }
    return region_find_large(region, block) != NULL;
}

/* Whether the header of a block may be read: what a program hands in is mostly memory, and the
 * header of a block at a page's begin is in the page before. Where pages come and go nothing is
 * read that is not known. */
static bool region_may_look(const axo__region *region, const void *block)
{
    uintptr_t at = (uintptr_t)block;
    if (at % AXO__REGION_ALIGN != 0 || at < 4096 || (uint64_t)at >> AXO__ADDRESS_BITS != 0)
        return false;
    return (at % 4096 != 0 && !axo__region_has_pages(region)) || region_has(region, block);
}

static bool region_is_whole(const axo__region *region, const void *block, size_t size)
{
    if (axo__region_has_pages(region))
        return axo__wall_is_whole(block, size);
    return axo__region_behind(region) == 0 ||
           axo__canary_lives((const char *)block + size, AXO__CANARY);
}

/* Somebody has written past the end: that is told, and the canary set anew, so it is told once. */
static void region_tell_past(const axo__region *region, void *block, size_t size,
                             const axo__region_report *report)
{
    axo__finding finding = {.flaw = AXO__FLAW_PAST, .block = block, .size = size};
    if (axo__region_has_pages(region))
        axo__wall_mend(block, size);
    else
        axo__canary_set((char *)block + size, AXO__CANARY);
    if (report != NULL)
        report->tell(report->arg, &finding);
}

/* What is wrong with a block that the program hands in. */
static axo__flaw region_judge(const axo__region *region, const void *block, size_t *size,
                              axo__region_large **large)
{
    *large = NULL;
    *size = 0;
    if (!region_may_look(region, block))
        return AXO__FLAW_STRANGE;
    axo__region_head head = axo__region_look(block);
    if (!axo__region_is_own_head(region, block, head))
        return AXO__FLAW_STRANGE;
    uint32_t state = axo__region_state_of(head.what);
    if (state == AXO__REGION_FREED || state == AXO__REGION_WAITS)
        return AXO__FLAW_FREED;
    if (state != AXO__REGION_LIVES)
        return AXO__FLAW_STRANGE;
    *size = axo__region_size_of(head.what);
    if (axo__region_class_of_head(head.what) == AXO__REGION_LARGE) {
        char *bytes = (char *)(uintptr_t)block;
        bool pages = axo__region_has_pages(region);
        *large = pages ? axo__wall_front(bytes) : (void *)(bytes - AXO__REGION_LARGE_FRONT);
        *size = (*large)->size;
    }
    return region_is_whole(region, block, *size) ? AXO__FLAW_NONE : AXO__FLAW_PAST;
}

/* ---- free ---- */

/* A visit of axo__region_walk. */
static bool region_gather(axo__region *region, void *block, axo__region_head head, void *arg)
{
    (void)arg;
    if (axo__region_is_freed(region, block, head))
        axo__region_list(region->lists, block, axo__region_class_of_head(head.what));
    return false;
}

/* false: there is no memory for the lists; a freed block keeps its state and is found by a walk. */
static bool region_make_lists(axo__region *region, axo__cache *cache)
{
    if (axo__likely(region->lists != NULL))
        return true;
    axo__region_lists *lists = axo__region_take(region, cache, sizeof *lists);
    if (lists == NULL) {
        region->unlisted = 1;
        return false;
    }
    memset(lists, 0, sizeof *lists);
    region->own--; /* it goes with the last block */
    region->lists = lists;
    if (region->unlisted)
        (void)axo__region_walk(region, region_gather, NULL);
    region->unlisted = 0;
    return true;
}

/* Whether the block waits before it is used again. */
static bool region_wait(axo__region *region, axo__cache *cache, void *block, uint32_t index,
                        size_t size)
{
    if ((region->walls & AXO_WALL_FREED) == 0 || !region_make_lists(region, cache))
        return false;
    axo__region_waiting *waiting = region->lists->waiting;
    if (waiting == NULL) {
        waiting = axo__pool_alloc(cache, sizeof *waiting);
        if (waiting == NULL)
            return false;
        *waiting = (axo__region_waiting){.first = 0};
        region->lists->waiting = waiting;
    }
    size_t stride = axo__region_stride(index);
    memset(block, AXO__REGION_FREED_BYTE, stride - AXO__REGION_HEAD);
    axo__region_mark(region, block, index, size, AXO__REGION_WAITS);
    AXO_POISON(block, stride - AXO__REGION_HEAD);
    waiting->blocks[(waiting->first + waiting->count) % AXO__REGION_KEPT] = block;
    waiting->count++;
    waiting->bytes += stride;
    return true;
}

static void region_free_small(axo__region *region, axo__cache *cache, void *block)
{
    uint32_t index = axo__region_class_of_head(axo__region_look(block).what);
    /* The lists come first: as long as the block lives they cannot be made from it. */
    bool listed = region_make_lists(region, cache);
    axo__region_mark(region, block, index, 0, AXO__REGION_FREED);
    if (axo__likely(listed))
        axo__region_list(region->lists, block, index);
    axo__region_close(block, index);
}

/* The last block has gone: all is as it was before the first. */
static inline bool region_is_empty(const axo__region *region)
{
    return region->blocks == 0 && region->own == 0 && axo__region_waiting_of(region) == NULL;
}

void axo__region_give(axo__region *region, axo__cache *cache, void *block)
{
    AXO_DEBUG_ASSERT(axo__region_state_of(axo__region_look(block).what) == AXO__REGION_OWN);
    region->own--;
    if (region_is_empty(region))
        axo__region_reset(region, cache);
    else
        region_free_small(region, cache, block);
}

/* Gives back a block that is known to live. */
static void region_release(axo__region *region, axo__cache *cache, void *block, size_t size,
                           axo__region_large *large, const axo__region_report *report)
{
    uint32_t index = axo__region_class_of_head(axo__region_look(block).what);
    region->blocks--;
    if (large != NULL) {
        axo__region_free_large(region, cache, large);
        if (region_is_empty(region))
            axo__region_reset(region, cache);
        return;
    }
    if (axo__unlikely(region_wait(region, cache, block, index, size))) {
        axo__region_waiting *waiting = region->lists->waiting;
        while (waiting->count == AXO__REGION_KEPT || waiting->bytes > AXO__REGION_KEPT_BYTES)
            axo__region_let_go(region, report);
        return;
    }
    if (region_is_empty(region)) {
        axo__region_mark(region, block, index, 0, AXO__REGION_FREED);
        axo__region_reset(region, cache);
        return;
    }
    region_free_small(region, cache, block);
}

axo__flaw axo__region_free(axo__region *region, axo__cache *cache, void *block,
                           const axo__region_report *report)
{
    size_t size;
    axo__region_large *large;
    axo__flaw flaw = region_judge(region, block, &size, &large);
    if (axo__unlikely(flaw == AXO__FLAW_PAST))
        region_tell_past(region, block, size, report);
    if (axo__likely(flaw == AXO__FLAW_NONE))
        region_release(region, cache, block, size, large, report);
    return flaw;
}

/* ---- another size ---- */

/* Bytes that the block may have where it is. */
static size_t region_room(const axo__region *region, const void *block,
                          const axo__region_large *large)
{
    if (large != NULL && axo__region_has_pages(region))
        return large->size;
    if (large != NULL)
        return large->counted - axo__region_large_bytes(region, 0);
    uint32_t index = axo__region_class_of_head(axo__region_look(block).what);
    return axo__region_stride(index) - AXO__REGION_HEAD - axo__region_behind(region);
}

static void region_resize_here(axo__region *region, void *block, size_t size,
                               axo__region_large *large)
{
    uint32_t index = axo__region_class_of_head(axo__region_look(block).what);
    if (large != NULL)
        large->size = size;
    else
        axo__region_mark(region, block, index, size, AXO__REGION_LIVES);
    if (axo__region_has_pages(region))
        axo__wall_mend(block, size);
    else if (axo__region_behind(region) > 0)
        axo__canary_set((char *)block + size, AXO__CANARY);
}

/* A block stays where it is if it fits there and does not waste half of it, or if there is no
 * memory for a smaller one; with pages of its own it moves, since its end is to be theirs. */
axo__flaw axo__region_resize(axo__region *region, axo__cache *cache, void *block, size_t size,
                             const axo__region_report *report, void **out)
{
    size_t before;
    axo__region_large *large;
    axo__flaw flaw = region_judge(region, block, &before, &large);
    AXO_DEBUG_ASSERT(size > 0);
    *out = NULL;
    if (axo__unlikely(flaw == AXO__FLAW_PAST))
        region_tell_past(region, block, before, report);
    if (axo__unlikely(flaw != AXO__FLAW_NONE))
        return flaw;
    size_t room = region_room(region, block, large);
    bool fits = size <= room;
    bool stays = fits && !axo__region_has_pages(region) &&
                 (size >= room / 2 || room <= 4 * AXO__REGION_ALIGN);
    void *fresh = stays ? NULL : axo__region_alloc(region, cache, size);
    if (fresh != NULL) {
        memcpy(fresh, block, before < size ? before : size);
        region_release(region, cache, block, before, large, report);
        *out = fresh;
    } else if (fits) {
        region_resize_here(region, block, size, large);
        *out = block;
    }
    return AXO__FLAW_NONE;
}

/* ---- walls ---- */

bool axo__region_is_walled(const axo__region *region)
{
    const uint32_t looked = AXO_WALL_CANARY | AXO_WALL_FREED | AXO_WALL_GUARD;
    return region != NULL && (region->walls & looked) != 0;
}

/* A visit of axo__region_walk. */
static bool region_inspect(axo__region *region, void *block, axo__region_head head, void *arg)
{
    const axo__region_report *report = arg;
    size_t size = axo__region_size_of(head.what);
    axo__finding finding = {.block = block};
    if (!axo__region_is_own_head(region, block, head)) {
        finding.flaw = AXO__FLAW_BEFORE;
        report->tell(report->arg, &finding);
        return false;
    }
    uint32_t state = axo__region_state_of(head.what);
    if (state == AXO__REGION_LIVES && !region_is_whole(region, block, size))
        region_tell_past(region, block, size, report);
    if (state != AXO__REGION_WAITS || axo__region_is_clean(block, head))
        return false;
    finding.flaw = AXO__FLAW_AFTER;
    finding.size = size;
    size_t room = axo__region_stride(axo__region_class_of_head(head.what)) - AXO__REGION_HEAD;
    AXO_UNPOISON(block, room);
    memset(block, AXO__REGION_FREED_BYTE, room); /* it is told of once */
    AXO_POISON(block, room);
    report->tell(report->arg, &finding);
    return false;
}

void axo__region_check(axo__region *region, const axo__region_report *report)
{
    axo__region_report copy = *report;
    if (!axo__region_is_walled(region))
        return;
    (void)axo__region_walk(region, region_inspect, &copy);
    for (axo__region_large *large = region->large; large != NULL; large = large->next) {
        if (!region_is_whole(region, large->block, large->size))
            region_tell_past(region, large->block, large->size, report);
    }
}

/* ---- its end ---- */

axo__region_size axo__region_measure(const axo__region *region)
{
    axo__region_size size = {.held = 0};
    if (region != NULL)
        size = (axo__region_size){
            .held = region->held, .most = region->most, .blocks = region->blocks};
    return size;
}

/* The record of a clean-up lies in the region itself, so running the clean-ups takes no memory. */
bool axo__region_defer(axo__region *region, axo__cache *cache, void (*fn)(void *arg), void *arg)
{
    AXO_DEBUG_ASSERT(fn != NULL);
    axo__region_defer_record *defer = axo__region_take(region, cache, sizeof *defer);
    if (defer == NULL)
        return false;
    *defer = (axo__region_defer_record){.next = region->defers, .fn = fn, .arg = arg};
    region->defers = defer;
    return true;
}

/* `call` calls a clean-up; NULL: nothing stands between. */
static void region_clean_up(const axo__region_defer_record *defer,
                            void (*call)(void (*fn)(void *arg), void *arg))
{
    if (call != NULL) {
        call(defer->fn, defer->arg);
        return;
    }
    axo__aside++;
    AXO_BORDER();
    defer->fn(defer->arg);
    axo__aside--;
}

static void region_free_all(axo__region *region, axo__cache *cache)
{
    while (region->large != NULL)
        axo__region_free_large(region, cache, region->large);
    if (axo__region_waiting_of(region) != NULL)
        axo__pool_free(cache, region->lists->waiting, sizeof(axo__region_waiting));
    axo__budget_give(region->budget, region->held);
    axo__region_chunk *chunk = region->youngest;
    while (chunk != NULL) {
        axo__region_chunk *older = chunk->older;
        AXO_UNPOISON(chunk, chunk->size);
        axo__pool_free(cache, chunk, chunk->size);
        chunk = older;
    }
}

/* The region is empty before the first clean-up runs: a clean-up that calls axo_alloc begins a new
 * region and does not touch the one that is ending. Clean-ups before memory, the last registered
 * first: a clean-up may read what the instance allocated before it was registered. */
void axo__region_end(axo__region **region, axo__cache *cache,
                     void (*call)(void (*fn)(void *arg), void *arg),
                     const axo__region_report *report)
{
    axo__region *ending = *region;
    *region = NULL;
    if (ending == NULL)
        return;
    for (axo__region_defer_record *defer = ending->defers; defer != NULL; defer = defer->next)
        region_clean_up(defer, call);
    if (report != NULL)
        axo__region_check(ending, report);
    region_free_all(ending, cache);
}
