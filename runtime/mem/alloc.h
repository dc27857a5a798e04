/* alloc.h - the program's allocator, and an account of what is held from it.
 *
 * One heap a system. All layers above take memory from it, most of them through the pools of
 * mem/slab.h. Every function may be called by every thread: the hook is the program's to make
 * thread-safe, and the account is atomic. */
#ifndef AXO__MEM_ALLOC_H
#define AXO__MEM_ALLOC_H

#include <axo/system.h>

#include "base/atomic.h"

/* Every kind of place that takes memory: the kinds that the program is told (axo_memory_kind). The
 * list is the checklist of the fault tests. */
#define AXO__SITE_LIST(X)                                                                          \
    X(SYSTEM, AXO_MEMORY_SYSTEM)                                                                   \
    X(WORKERS, AXO_MEMORY_WORKERS)                                                                 \
    X(TABLE, AXO_MEMORY_TABLE)                                                                     \
    X(CELLS, AXO_MEMORY_CELLS)                                                                     \
    X(POOL, AXO_MEMORY_POOL)                                                                       \
    X(LARGE, AXO_MEMORY_LARGE)                                                                     \
    X(TEXTS, AXO_MEMORY_TEXTS)                                                                     \
    X(NAMES, AXO_MEMORY_NAMES)                                                                     \
    X(TIMERS, AXO_MEMORY_TIMERS)                                                                   \
    X(STREAM, AXO_MEMORY_STREAM)                                                                   \
    X(SERVICES, AXO_MEMORY_SERVICES)                                                               \
    X(BOUNDED, AXO_MEMORY_BOUNDED)                                                                 \
    X(IO, AXO_MEMORY_IO)                                                                           \
    X(FIGURES, AXO_MEMORY_FIGURES)                                                                 \
    X(WALLS, AXO_MEMORY_WALLS)

typedef enum axo__alloc_site {
#define AXO__SITE_ENUM(name, kind) AXO__SITE_##name = (kind),
    AXO__SITE_LIST(AXO__SITE_ENUM)
#undef AXO__SITE_ENUM
        AXO__SITES = AXO_MEMORY_KINDS
} axo__alloc_site;

typedef struct axo__heap {
    axo_allocator hook;
    axo_kind_allocator by_kind; /* stands for `hook`; NULL functions: it does not */
    axo__a64 bytes;
    axo__a64 blocks;
    axo__a64 calls[AXO__SITES]; /* allocations asked for, by site */
} axo__heap;

/* Copies the hooks, of which one at least is zeroed; both are: malloc and free. NULL for `by_kind`:
 * as one that is zeroed. */
void axo__heap_init(axo__heap *heap, const axo_allocator *hook, const axo_kind_allocator *by_kind);

/* Takes a block; NULL: no memory. `align` is a power of two. The caller gives size, alignment
 * and site back to axo__heap_free. Any thread. */
void *axo__heap_alloc(axo__heap *heap, size_t size, size_t align, axo__alloc_site site);
void axo__heap_free(axo__heap *heap, void *block, size_t size, size_t align,
                    axo__alloc_site site);

#endif
