/* alloc.c - the program's allocator, and an account of what is held from it.
 *
 * Every byte that the runtime takes passes through axo__heap_alloc with the name of its site: the
 * account finds leaks at the end of a test, and the fault tests fail each site in turn. */
#include "mem/alloc.h"

#include <string.h>

#include "base/aside.h"
#include "base/assert.h"
#include "base/border.h"
#include "base/config.h"
#include "os/os.h"

enum {
#define ALLOC_EACH(name, kind) ALLOC_##name,
    AXO__SITE_LIST(ALLOC_EACH)
#undef ALLOC_EACH
        ALLOC_SITES
};
AXO_STATIC_ASSERT(ALLOC_SITES == AXO_MEMORY_KINDS, "each kind has its site");

void axo__heap_init(axo__heap *heap, const axo_allocator *hook, const axo_kind_allocator *by_kind)
{
    memset(heap, 0, sizeof *heap);
    heap->hook = *hook;
    if (by_kind != NULL)
        heap->by_kind = *by_kind;
    AXO_DEBUG_ASSERT(hook->alloc == NULL || heap->by_kind.alloc == NULL);
    if (hook->alloc == NULL && heap->by_kind.alloc == NULL) {
        heap->hook.alloc = axo__os_alloc;
        heap->hook.free = axo__os_free;
    }
}

/* Calls the hook. A program's allocator may wait, write a file, be a cancellation point: the
 * thread's cancellation is held meanwhile, because a thread that ended here would leave the
 * library's mutexes locked. The library's own allocator is none, and skips that. */
static void *alloc_take(const axo__heap *heap, size_t size, size_t align, uint32_t kind)
{
    if (heap->hook.alloc == axo__os_alloc)
        return axo__os_alloc(heap->hook.user, size, align);
    int before = axo__os_cancel_hold();
    axo__aside++;
    void *block;
    if (heap->by_kind.alloc != NULL) {
        AXO_BORDER();
        block = heap->by_kind.alloc(heap->by_kind.user, size, align, kind);
    } else {
        AXO_BORDER();
        block = heap->hook.alloc(heap->hook.user, size, align);
    }
    axo__aside--;
    axo__os_cancel_let(before);
    return block;
}

/* The counterpart of alloc_take, with the same guard; the size goes back to the hook, so an arena
 * needs no header of its own. */
static void alloc_give(const axo__heap *heap, void *block, size_t size, size_t align,
                       uint32_t kind)
{
    if (heap->hook.free == axo__os_free) {
        axo__os_free(heap->hook.user, block, size, align);
        return;
    }
    int before = axo__os_cancel_hold();
    axo__aside++;
    if (heap->by_kind.free != NULL) {
        AXO_BORDER();
        heap->by_kind.free(heap->by_kind.user, block, size, align, kind);
    } else {
        AXO_BORDER();
        heap->hook.free(heap->hook.user, block, size, align);
    }
    axo__aside--;
    axo__os_cancel_let(before);
}

/* This and axo__heap_free stand apart: malloc may be the program's own, and its frame must not lie
 * right above one that calls callbacks (sched/walk.h). */
__attribute__((noinline)) void *axo__heap_alloc(axo__heap *heap, size_t size, size_t align,
                                                axo__alloc_site site)
{
    AXO_DEBUG_ASSERT(size > 0);
    AXO_DEBUG_ASSERT(align > 0 && (align & (align - 1)) == 0 && site < AXO__SITES);
    /* Counted before the attempt, so a refused allocation counts, too. Relaxed: each counter stands
     * alone and orders nothing. */
    (void)axo__a64_add_relaxed(&heap->calls[site], 1);
    void *block = alloc_take(heap, size, align, site);
    if (block == NULL)
        return NULL;
    /* The scheduling word keeps the address of a message in its low 48 bits. A block beyond them
     * could not be linked there, so the runtime treats such a block as no memory. */
    if (axo__unlikely((uint64_t)(uintptr_t)block >> AXO__ADDRESS_BITS != 0)) {
        alloc_give(heap, block, size, align, site);
        return NULL;
    }
    (void)axo__a64_add_relaxed(&heap->bytes, size);
    (void)axo__a64_add_relaxed(&heap->blocks, 1);
    return block;
}

__attribute__((noinline)) void axo__heap_free(axo__heap *heap, void *block, size_t size,
                                              size_t align, axo__alloc_site site)
{
    AXO_DEBUG_ASSERT(site < AXO__SITES);
    if (block == NULL)
        return;
    /* The account is settled first: once the hook has run, the block may be another thread's. */
    uint64_t bytes = axo__a64_add_relaxed(&heap->bytes, (uint64_t)0 - size);
    uint64_t blocks = axo__a64_add_relaxed(&heap->blocks, (uint64_t)0 - 1);
    AXO_DEBUG_ASSERT(bytes >= size && blocks > 0);
    alloc_give(heap, block, size, align, site);
}
