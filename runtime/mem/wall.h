/* wall.h - walls round memory, so that a write past its end is noticed: debug modes.
 *
 *   canary  a word behind a block that whoever frees it, or ends its owner, looks at
 *   page    a block at the end of pages of its own, before a page that nobody may touch; given
 *           back, nobody may touch the pages either, until as much has been given back after them
 *
 * Pages come from the system's allocator, with a page's alignment, so they are accounted, refused
 * and given back as all memory; they may be touched again before they go back.
 *
 * One set of walls a system, NULL without: nobody pays for what is not asked for. The functions may
 * be called by every thread: a mutex guards the list of pages that were given back. */
#ifndef AXO__MEM_WALL_H
#define AXO__MEM_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <axo/memory.h>

#include "mem/alloc.h"
#include "os/os.h"

/* Pages that were given back and may not be touched: so many blocks, and so many bytes. */
#define AXO__WALL_KEPT 1024
#define AXO__WALL_KEPT_BYTES ((size_t)16 << 20)
#define AXO__WALL_CLASS_MAX 128

typedef struct axo__wall_pages {
    void *base;
    size_t size; /* with the page behind */
} axo__wall_pages;

typedef struct axo__walls {
    axo__heap *heap;
    size_t page;
    uint32_t kinds;                   /* AXO_WALL_ bits */
    char name[AXO__WALL_CLASS_MAX];   /* of the class; "": every class */
    axo__os_mutex mutex;              /* guards what follows */
    uint32_t first;
    uint32_t count;
    size_t bytes;
    axo__wall_pages kept[AXO__WALL_KEPT];
} axo__walls;

/* NULL: no memory. `name`: of the class, NULL: every class; it is copied. */
axo__walls *axo__walls_make(axo__heap *heap, uint32_t kinds, const char *name);

/* Gives all pages back; every block must have been given back. */
void axo__walls_free(axo__walls *walls);

/* What stands round the memory of actors of a class of this name; 0: nothing. NULL has no walls. */
uint32_t axo__walls_of(const axo__walls *walls, const char *name);

/* Takes a block of `size` bytes, aligned for any object, that ends where the page begins that
 * nobody may touch, or up to 15 bytes before, which are a canary. `front` bytes at the begin of the
 * pages are the caller's too (axo__wall_front). NULL: no memory. */
void *axo__wall_take(axo__walls *walls, size_t front, size_t size);

/* Where the pages of a block begin. */
void *axo__wall_front(void *block);

/* Whether nobody has written behind the block, whose size it was asked for with. */
bool axo__wall_is_whole(const void *block, size_t size);

/* Makes it so again. */
void axo__wall_mend(void *block, size_t size);

/* Gives a block back: a touch of it is a fault from here on, for a while. */
void axo__wall_give(axo__walls *walls, void *block);

/* Lets nobody write to the pages of a block, or lets all again. false: the operating system
 * refuses. */
bool axo__wall_freeze(axo__walls *walls, void *block);
bool axo__wall_thaw(axo__walls *walls, void *block);

/* ---- canaries ---- */

/* Bytes of a canary. */
#define AXO__CANARY 8

/* What stands at an address: different at each, so that a copy of another one's is noticed. */
static inline uint64_t axo__canary_word(const void *place)
{
    uint64_t number = (uint64_t)(uintptr_t)place;
    return (number ^ UINT64_C(0xa5c3f00d5a3c0ff1)) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline void axo__canary_set(void *place, size_t size)
{
    uint64_t word = axo__canary_word(place);
    memcpy(place, &word, size < sizeof word ? size : sizeof word);
}

static inline bool axo__canary_lives(const void *place, size_t size)
{
    uint64_t word = axo__canary_word(place);
    return memcmp(place, &word, size < sizeof word ? size : sizeof word) == 0;
}

#endif
