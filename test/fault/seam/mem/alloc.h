/* alloc.h - stands in the place of runtime/mem/alloc.h: each call of the allocator is a site. */
#ifndef FAULT_SEAM_ALLOC_H
#define FAULT_SEAM_ALLOC_H

#include "../../../../runtime/mem/alloc.h"

#include "fault/site.h"

#define axo__heap_alloc(heap, size, align, site)                                                   \
    refuse_heap_alloc(REFUSE_HERE, heap, size, align, site)
#define axo__heap_free(heap, block, size, align, site)                                             \
    refuse_heap_free(heap, block, size, align, site)

#endif
