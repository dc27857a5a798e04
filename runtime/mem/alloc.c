/* alloc.c - the user's allocator, and an account of what is held from it. */
#include "mem/alloc.h"

#include <string.h>

#include "base/assert.h"
#include "base/border.h"
#include "base/config.h"
#include "os/os.h"

void axo__heap_init(axo__heap *heap, const axo_allocator *hook)
{
    memset(heap, 0, sizeof *heap);
    heap->hook = *hook;
    if (hook->alloc == NULL) {
        heap->hook.alloc = axo__os_alloc;
        heap->hook.free = axo__os_free;
    }
}

/* The program's may wait, write, be a cancellation point; ours is none. */
static void *alloc_take(const axo__heap *heap, size_t size, size_t align)
{
    if (heap->hook.alloc == axo__os_alloc)
        return axo__os_alloc(heap->hook.user, size, align);
    int before = axo__os_cancel_hold();
    AXO_BORDER();
    void *block = heap->hook.alloc(heap->hook.user, size, align);
    axo__os_cancel_let(before);
    return block;
}

static void alloc_give(const axo__heap *heap, void *block, size_t size, size_t align)
{
    if (heap->hook.free == axo__os_free) {
        axo__os_free(heap->hook.user, block, size, align);
        return;
    }
    int before = axo__os_cancel_hold();
    AXO_BORDER();
    heap->hook.free(heap->hook.user, block, size, align);
    axo__os_cancel_let(before);
}

void *axo__heap_alloc(axo__heap *heap, size_t size, size_t align, axo__alloc_site site)
{
    AXO_DEBUG_ASSERT(size > 0);
    AXO_DEBUG_ASSERT(align > 0 && (align & (align - 1)) == 0 && site < AXO__SITES);
    (void)axo__a64_add_relaxed(&heap->calls[site], 1);
    void *block = alloc_take(heap, size, align);
    if (block == NULL)
        return NULL;
    if (axo__unlikely((uint64_t)(uintptr_t)block >> AXO__ADDRESS_BITS != 0)) {
        alloc_give(heap, block, size, align);
        return NULL;
    }
    (void)axo__a64_add_relaxed(&heap->bytes, size);
    (void)axo__a64_add_relaxed(&heap->blocks, 1);
    return block;
}

void axo__heap_free(axo__heap *heap, void *block, size_t size, size_t align)
{
    if (block == NULL)
        return;
    uint64_t bytes = axo__a64_add_relaxed(&heap->bytes, (uint64_t)0 - size);
    uint64_t blocks = axo__a64_add_relaxed(&heap->blocks, (uint64_t)0 - 1);
    AXO_DEBUG_ASSERT(bytes >= size && blocks > 0);
    alloc_give(heap, block, size, align);
}
