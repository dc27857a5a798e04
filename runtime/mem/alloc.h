/* alloc.h - the program's allocator, and an account of what is held from it.
 *
 * One heap a system. All layers above take memory from it, most of them through the pools of
 * mem/slab.h. Every function may be called by every thread: the hook is the program's to make
 * thread-safe, and the account is atomic. */
#ifndef AXO__MEM_ALLOC_H
#define AXO__MEM_ALLOC_H

#include <axo/system.h>

#include "base/atomic.h"

/* Every kind of place that takes memory. The list is the checklist of the fault tests. */
#define AXO__SITE_LIST(X)                                                                          \
    X(SYSTEM)                                                                                      \
    X(WORKERS)                                                                                     \
    X(TABLE)                                                                                       \
    X(CELLS)                                                                                       \
    X(POOL)                                                                                        \
    X(LARGE)                                                                                       \
    X(TEXTS)                                                                                       \
    X(NAMES)                                                                                       \
    X(TIMERS)                                                                                      \
    X(STREAM)                                                                                      \
    X(SERVICES)                                                                                    \
    X(BOUNDED)                                                                                     \
    X(IO)                                                                                          \
    X(FIGURES)                                                                                     \
    X(WALLS)

typedef enum axo__alloc_site {
#define AXO__SITE_ENUM(name) AXO__SITE_##name,
    AXO__SITE_LIST(AXO__SITE_ENUM)
#undef AXO__SITE_ENUM
        AXO__SITES
} axo__alloc_site;

typedef struct axo__heap {
    axo_allocator hook;
    axo__a64 bytes;
    axo__a64 blocks;
    axo__a64 calls[AXO__SITES]; /* allocations asked for, by site */
} axo__heap;

/* Copies the hook; a zeroed hook stands for malloc and free. */
void axo__heap_init(axo__heap *heap, const axo_allocator *hook);

/* Takes a block; NULL: no memory. `align` is a power of two. The caller gives size and alignment
 * back to axo__heap_free. Any thread. */
void *axo__heap_alloc(axo__heap *heap, size_t size, size_t align, axo__alloc_site site);
void axo__heap_free(axo__heap *heap, void *block, size_t size, size_t align);

#endif
