/* slab.h - stands in the place of runtime/mem/slab.h: each block asked of a pool is a site, whether
 * the pool has it in stock or not. */
#ifndef FAULT_SEAM_SLAB_H
#define FAULT_SEAM_SLAB_H

#include "mem/alloc.h"

#include "../../../../runtime/mem/slab.h"

struct axo__pool;
void *refuse_pool_alloc(refuse_site *site, axo__cache *cache, size_t size);
void refuse_pool_free(axo__cache *cache, void *memory, size_t size);

/* The short way has no block at hand, so every request takes the other. */
#define axo__pool_alloc_line(cache)              ((void)(cache), (void *)NULL)
#define axo__pool_free_line(cache, memory, size) refuse_pool_free(cache, memory, size)

#define axo__pool_alloc(cache, size)        refuse_pool_alloc(REFUSE_HERE, cache, size)
#define axo__pool_free(cache, memory, size) refuse_pool_free(cache, memory, size)

#endif
