/* alloc.h - the user's allocator, and an account of what is held from it. */
#ifndef AXO__MEM_ALLOC_H
#define AXO__MEM_ALLOC_H

#include <axo/system.h>

#include "base/atomic.h"

/* Every place that takes memory. The list is the checklist of the fault tests. */
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
    X(BOUNDED)

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

/* Takes the hook; a zeroed one is malloc and free. */
void axo__heap_init(axo__heap *heap, const axo_allocator *hook);

/* NULL: no memory. `align` is a power of two; both must be given back to free. Any thread. */
void *axo__heap_alloc(axo__heap *heap, size_t size, size_t align, axo__alloc_site site);
void axo__heap_free(axo__heap *heap, void *block, size_t size, size_t align);

#endif
