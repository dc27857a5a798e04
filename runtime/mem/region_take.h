/* region_take.h - how a region takes memory: chunks, the blocks cut from them, blocks apart. */
#ifndef AXO__MEM_REGION_TAKE_H
#define AXO__MEM_REGION_TAKE_H

#include "mem/region_part.h"

/* An empty region, with a chunk that has room for `first` bytes if that is little. `key` differs
 * from one instance to the next. `walls`: AXO_WALL_ bits. NULL: no memory, or a bound. */
axo__region *axo__region_make(axo__cache *cache, axo__budget *budget, uint32_t walls, uint64_t key,
                              size_t first);

/* Takes memory aligned for any object. NULL: no memory, a bound, or `size` is 0; the region may
 * have gained a chunk all the same. */
void *axo__region_alloc(axo__region *region, axo__cache *cache, size_t size);

/* As axo__region_alloc for the library's own use, of at most AXO__REGION_SMALL_MAX bytes: no wall,
 * not counted among the blocks, no living block to the functions of region.h but axo__region_give.
 */
void *axo__region_take(axo__region *region, axo__cache *cache, size_t size);

/* ---- for region.c ---- */

/* Frees all chunks but the oldest, which is empty again. No block lives. */
void axo__region_reset(axo__region *region, axo__cache *cache);

/* Bytes that the region does not hold any more. */
void axo__region_discount(axo__region *region, size_t size);

/* Calls `visit` with each block of the chunks until it returns true, and returns that block. A
 * header that somebody has overwritten is shown too, and ends the walk of its chunk: where the next
 * block begins is not known. */
typedef bool (*axo__region_visit)(axo__region *region, void *block, axo__region_head head,
                                  void *arg);
void *axo__region_walk(axo__region *region, axo__region_visit visit, void *arg);

/* Whether nobody has written to a block that waits. */
bool axo__region_is_clean(const void *block, axo__region_head head);

/* The oldest of the blocks that wait does so no more. One that somebody has written to is told of;
 * with report NULL it stays as it is, for the next look at all walls. */
void axo__region_let_go(axo__region *region, const axo__region_report *report);

/* Bytes that a block apart takes if it has no pages of its own. */
size_t axo__region_large_bytes(const axo__region *region, size_t size);

/* Gives a block apart back. */
void axo__region_free_large(axo__region *region, axo__cache *cache, axo__region_large *large);

#endif
