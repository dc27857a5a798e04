/* region.h - what an instance owns: memory and clean-ups, gone together at its end. */
#ifndef AXO__MEM_REGION_H
#define AXO__MEM_REGION_H

#include "mem/slab.h"

/* NULL is the empty region. */
typedef struct axo__region axo__region;

/* Memory aligned for any object; NULL: none to be had, and *region may have changed all the
 * same. */
void *axo__region_alloc(axo__region **region, axo__cache *cache, size_t size);

/* Registers fn(arg); false: no memory. */
bool axo__region_defer(axo__region **region, axo__cache *cache, void (*fn)(void *arg), void *arg);

/* Runs the clean-ups, last in first out, frees the memory, leaves *region empty. */
void axo__region_end(axo__region **region, axo__cache *cache);

#endif
