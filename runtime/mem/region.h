/* region.h - what an instance owns: memory and clean-ups, gone together at its end.
 *
 * Behind axo_alloc and axo_defer. The field is axo__extra.region; only the cell's runner uses it,
 * so no function here locks, and `cache` is the runner's own. */
#ifndef AXO__MEM_REGION_H
#define AXO__MEM_REGION_H

#include "mem/slab.h"

/* NULL is the empty region. */
typedef struct axo__region axo__region;

/* Takes memory aligned for any object. NULL: no memory, or `size` is 0; *region may have gained a
 * chunk all the same. */
void *axo__region_alloc(axo__region **region, axo__cache *cache, size_t size);

/* Registers fn(arg) to run at the end of the region; false: no memory, and fn will not run. */
bool axo__region_defer(axo__region **region, axo__cache *cache, void (*fn)(void *arg), void *arg);

/* Runs the clean-ups, last in first out, frees the memory, leaves *region empty. `call` calls each
 * of them; NULL: nothing stands between. */
void axo__region_end(axo__region **region, axo__cache *cache,
                     void (*call)(void (*fn)(void *arg), void *arg));

#endif
