/* region.h - an instance's heap: memory and clean-ups, gone together at its end.
 *
 * Behind axo_alloc, axo_free and axo_defer. The field is axo__extra.region; only the cell's runner
 * uses it, so no function here locks, and `cache` is the runner's own.
 *
 *   region   a chunk of the pool whose begin is the head of all
 *   chunk    512 B to 64 KiB, as much as is held; blocks of 28 sizes are cut from it
 *   block    8 bytes of header, then what was asked for; freed ones wait in a list of their size
 *   large    a block of more than 4 KiB, or one with a wall of pages, apart: given back at once
 *
 * A header says size and state and has a check made of address and region, so what is no living
 * block of the instance (freed before, another's, the middle of a block) is seen and not followed.
 * The bounds of mem/budget.h count chunks and large blocks, not what is asked for: the usual
 * allocation counts nothing. The last block that is freed brings the region back to one chunk.
 */
#ifndef AXO__MEM_REGION_H
#define AXO__MEM_REGION_H

#include "mem/region_take.h"

/* How much a region holds. */
typedef struct axo__region_size {
    size_t held;
    size_t most;
    uint32_t blocks; /* living, of the program */
} axo__region_size;

/* Frees a block of axo__region_take. */
void axo__region_give(axo__region *region, axo__cache *cache, void *block);

/* Gives a block back; what else is found meanwhile goes to the report. Another result than NONE:
 * nothing was freed. */
axo__flaw axo__region_free(axo__region *region, axo__cache *cache, void *block,
                           const axo__region_report *report);

/* Gives a block another size, > 0, and its bytes another place if need be; *out: NULL and the block
 * as it was if there is no memory, or a flaw. */
axo__flaw axo__region_resize(axo__region *region, axo__cache *cache, void *block, size_t size,
                             const axo__region_report *report, void **out);

/* Registers fn(arg) to run at the end of the region; false: no memory, and fn will not run. */
bool axo__region_defer(axo__region *region, axo__cache *cache, void (*fn)(void *arg), void *arg);

/* Looks at all walls that are looked at. NULL has none. */
void axo__region_check(axo__region *region, const axo__region_report *report);

/* Whether there is anything to look at. */
bool axo__region_is_walled(const axo__region *region);

axo__region_size axo__region_measure(const axo__region *region);

/* Runs the clean-ups, last in first out, looks at the walls, frees the memory, leaves *region
 * empty. `call` calls each of the clean-ups; NULL: nothing stands between. report NULL: nobody
 * hears of what is found. */
void axo__region_end(axo__region **region, axo__cache *cache,
                     void (*call)(void (*fn)(void *arg), void *arg),
                     const axo__region_report *report);

#endif
