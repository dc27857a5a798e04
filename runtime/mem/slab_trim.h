/* slab_trim.h - chunks that nobody uses go back to the allocator. */
#ifndef AXO__MEM_SLAB_TRIM_H
#define AXO__MEM_SLAB_TRIM_H

#include "mem/slab.h"

/* Begins a trim: from now on caches are asked for their blocks. Returns the number of the round;
 * 0: another thread is in a trim. Then the caller flushes what caches it can reach, waits for the
 * others if it likes (`flushed`), trims or not, and ends. */
uint32_t axo__pool_trim_begin(axo__pool *pool);

/* Gives the chunks back to the allocator whose blocks all lie in the depot. Other threads may take
 * and give blocks meanwhile. false: no memory for the work, and nothing has changed. */
bool axo__pool_trim(axo__pool *pool, uint64_t *bytes);
void axo__pool_trim_end(axo__pool *pool);

#endif
