/* region_part.h - what a region is made of: its structs, the header before each block, the sizes of
 * blocks. For region_take.c, which makes blocks, and region.c, which looks at them and frees
 * them. */
#ifndef AXO__MEM_REGION_PART_H
#define AXO__MEM_REGION_PART_H

#include <string.h>

#include "mem/budget.h"
#include "mem/slab.h"
#include "mem/wall.h"

/* NULL is the empty region. */
typedef struct axo__region axo__region;

/* What is wrong with a block. */
typedef enum axo__flaw {
    AXO__FLAW_NONE = 0,
    AXO__FLAW_STRANGE = 1, /* no living block of this instance */
    AXO__FLAW_FREED = 2,   /* it was freed before */
    AXO__FLAW_PAST = 3,    /* somebody has written past its end */
    AXO__FLAW_AFTER = 4,   /* somebody has written to it after it was freed */
    AXO__FLAW_BEFORE = 5   /* somebody has written to the header before it: past another's end */
} axo__flaw;

typedef struct axo__finding {
    axo__flaw flaw;
    const void *block;
    size_t size; /* as it was asked for; 0: not known */
} axo__finding;

/* Who hears of findings, once of each block. */
typedef struct axo__region_report {
    void (*tell)(void *arg, const axo__finding *finding);
    void *arg;
} axo__region_report;

/* ---- parts ---- */

#define AXO__REGION_ALIGN ((size_t)16)
#define AXO__REGION_HEAD sizeof(axo__region_head)
/* Classes of a block and its header: 16 to 128 bytes in steps of 16, then four to a doubling. */
#define AXO__REGION_CLASSES 28
#define AXO__REGION_STRIDE_MAX ((size_t)4096)
#define AXO__REGION_SMALL_MAX (AXO__REGION_STRIDE_MAX - AXO__REGION_HEAD)
#define AXO__REGION_LARGE 0xffu /* in place of a class */
/* What waits before its memory is used again: blocks, bytes. */
#define AXO__REGION_KEPT 250
#define AXO__REGION_KEPT_BYTES ((size_t)256 << 10)
#define AXO__REGION_FREED_BYTE 0xfd

/* Before each block. `what`: size as asked for, of a small one; class; state. */
typedef struct axo__region_head {
    uint32_t what;
    uint32_t check;
} axo__region_head;

typedef enum axo__region_state {
    AXO__REGION_LIVES = 0x51,
    AXO__REGION_OWN = 0x52,   /* lives, and is the library's */
    AXO__REGION_FREED = 0x63,
    AXO__REGION_WAITS = 0x64  /* freed, and not to be used again yet */
} axo__region_state;

typedef struct axo__region_defer_record {
    struct axo__region_defer_record *next;
    void (*fn)(void *arg);
    void *arg;
} axo__region_defer_record;

typedef struct axo__region_chunk {
    struct axo__region_chunk *older;
    size_t size;
    size_t used; /* of the youngest: where the region's `at` is */
} axo__region_chunk;

/* A block apart. */
typedef struct axo__region_large {
    struct axo__region_large *next;
    struct axo__region_large *before;
    char *block;
    size_t size;    /* as asked for */
    size_t counted; /* in the bounds */
} axo__region_large;

/* A large block without pages of its own lies at this offset behind its record. */
#define AXO__REGION_LARGE_FRONT ((size_t)AXO__CACHE_LINE)
AXO_STATIC_ASSERT(sizeof(axo__region_large) + sizeof(axo__region_head) <= AXO__CACHE_LINE,
                  "it has room");

/* Freed blocks whose memory is not used again yet, oldest first. */
typedef struct axo__region_waiting {
    uint32_t first;
    uint32_t count;
    size_t bytes;
    void *blocks[AXO__REGION_KEPT];
} axo__region_waiting;

/* What only a region has whose blocks are freed; in a block of its own. */
typedef struct axo__region_lists {
    void *free[AXO__REGION_CLASSES];
    axo__region_waiting *waiting;
} axo__region_lists;

/* The head of the oldest chunk. */
struct axo__region {
    axo__region_chunk chunk;
    axo__region_chunk *youngest;
    char *at; /* the header of the next block in the youngest chunk */
    char *end;
    axo__region_defer_record *defers;
    axo__region_large *large;
    axo__region_lists *lists;
    axo__budget *budget;
    uint64_t key;
    size_t held;
    size_t most;
    uint32_t blocks;   /* living, of the program */
    uint32_t own;      /* living, of the library, but for the lists */
    uint32_t unlisted; /* 1: some freed block is in no list */
    uint32_t walls;    /* AXO_WALL_ bits */
};
AXO_STATIC_ASSERT(sizeof(axo__region_chunk) % AXO__REGION_ALIGN == AXO__REGION_HEAD, "aligned");
AXO_STATIC_ASSERT(sizeof(struct axo__region) % AXO__REGION_ALIGN == AXO__REGION_HEAD, "aligned");
AXO_STATIC_ASSERT(sizeof(struct axo__region) < AXO__REGION_CHUNK / 2, "a chunk has room");

/* ---- headers ---- */

static inline uint32_t axo__region_check_of(const axo__region *region, const void *block,
                                            uint32_t what)
{
    uint64_t mixed = (uint64_t)(uintptr_t)block ^ region->key;
    mixed += what * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((mixed * UINT64_C(0xd6e8feb86659fd93)) >> 32);
}

static inline axo__region_head *axo__region_head_of(const void *block)
{
    return (axo__region_head *)(uintptr_t)block - 1;
}

static inline void axo__region_mark(const axo__region *region, void *block, uint32_t index,
                                    size_t size, axo__region_state state)
{
    uint32_t what = (uint32_t)size | index << 16 | (uint32_t)state << 24;
    axo__region_head head = {.what = what, .check = axo__region_check_of(region, block, what)};
    memcpy(axo__region_head_of(block), &head, sizeof head);
}

/* What stands before an address, whatever it is: a program may have handed in any. What the address
 * sanitizer lets nobody read is no header. */
static inline axo__region_head axo__region_look(const void *block)
{
    const axo__region_head *there = axo__region_head_of(block);
    axo__region_head head = {.what = 0, .check = 0};
    if (!AXO_IS_POISONED(there, sizeof head))
        head = (axo__region_head){.what = there->what, .check = there->check};
    return head;
}

static inline size_t axo__region_size_of(uint32_t what)
{
    return what & 0xffff;
}

static inline uint32_t axo__region_class_of_head(uint32_t what)
{
    return what >> 16 & 0xff;
}

static inline uint32_t axo__region_state_of(uint32_t what)
{
    return what >> 24;
}

/* Whether the header is one that this region has written. */
static inline bool axo__region_is_own_head(const axo__region *region, const void *block,
                                           axo__region_head head)
{
    return head.check == axo__region_check_of(region, block, head.what);
}

/* ---- classes ---- */

static inline uint32_t axo__region_class(size_t stride)
{
    uint32_t v = (uint32_t)((stride - 1) / AXO__REGION_ALIGN);
    if (v < 8)
        return v;
    uint32_t e = 31 - (uint32_t)__builtin_clz(v);
    return (e - 1) * 4 + ((v >> (e - 2)) & 3);
}

/* Bytes of a block of the class, with its header. */
static inline size_t axo__region_stride(uint32_t index)
{
    if (index < 8)
        return (index + 1) * AXO__REGION_ALIGN;
    uint32_t e = index / 4 + 1;
    return ((size_t)(4 + index % 4 + 1) << (e - 2)) * AXO__REGION_ALIGN;
}

/* Bytes behind a block that is this long, which its wall takes. */
static inline size_t axo__region_behind(const axo__region *region)
{
    return (region->walls & AXO_WALL_CANARY) != 0 ? AXO__CANARY : 0;
}

static inline bool axo__region_has_pages(const axo__region *region)
{
    return (region->walls & AXO_WALL_GUARD) != 0;
}

/* ---- lists of freed blocks ---- */

static inline bool axo__region_is_freed(const axo__region *region, const void *block,
                                        axo__region_head head)
{
    return axo__region_is_own_head(region, block, head) &&
           axo__region_state_of(head.what) == AXO__REGION_FREED;
}

/* The link of a freed block lies in its first bytes, which stay open to the library. */
static inline void axo__region_list(axo__region_lists *lists, void *block, uint32_t index)
{
    memcpy(block, &lists->free[index], sizeof lists->free[index]);
    lists->free[index] = block;
}

static inline void *axo__region_unlist(axo__region_lists *lists, uint32_t index)
{
    void *block = lists->free[index];
    memcpy(&lists->free[index], block, sizeof lists->free[index]);
    return block;
}

/* What was freed is not the program's any more. */
static inline void axo__region_close(void *block, uint32_t index)
{
    size_t size = axo__region_stride(index) - AXO__REGION_HEAD;
    AXO_POISON((char *)block + sizeof(void *), size - sizeof(void *));
    (void)size;
}

static inline axo__region_waiting *axo__region_waiting_of(const axo__region *region)
{
    return region->lists != NULL ? region->lists->waiting : NULL;
}

#endif
