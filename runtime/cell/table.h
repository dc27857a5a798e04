/* table.h - references to cells and back: slots, generations, reuse.
 *
 * A reference is generation << 24 | slot; the upper 8 bits are kept for a node. Generations come
 * of a secret of the system's own (lives.h), so a reference of another system is stale here, and
 * nobody makes one from those that he has; it is 0 while nobody lives in the slot. A slot whose
 * generations are spent is retired. Nothing but looking a reference up may depend on a generation:
 * where an order or a choice is made, it is made of slots (D18).
 *
 * Roles      find: workers (as grace readers) and doors (under their mutex).
 *            take, give: through a local's list, its owner only.
 *
 * Orders
 *   [T1] store release, chunk        publishes a chunk's cells; pairs with [T2]
 *   [T2] load acquire, chunk
 *   [T3] store release, generation   a newborn's fields, or the close; pairs with [T4]
 *   [T4] load acquire, generation
 */
#ifndef AXO__CELL_TABLE_H
#define AXO__CELL_TABLE_H

#include "base/config.h"
#include "cell/cell.h"
#include "cell/lives.h"

#define AXO__SLOT_BITS 24
#define AXO__SLOT_MASK ((UINT64_C(1) << AXO__SLOT_BITS) - 1)
#define AXO__TABLE_CHUNK (1u << AXO__TABLE_CHUNK_SHIFT)

AXO_STATIC_ASSERT(AXO__SLOT_MASK < AXO__LINK_MASK, "a link is a slot and one");

struct axo__table;

/* What the table grows by: cells, then what else each of them has. So a cell finds its cold part,
 * and those that it is linked to, by its slot's number. Two lines of a cell are a pair that
 * processors fetch together; cold parts do not lie in the way of them. */
typedef struct axo__shelf {
    _Alignas(2 * AXO__CACHE_LINE) axo__cell cells[AXO__TABLE_CHUNK];
    axo__cold cold[AXO__TABLE_CHUNK];
    const struct axo__table *table;
} axo__shelf;
AXO_STATIC_ASSERT(offsetof(axo__shelf, cells) == 0, "a shelf is where its first cell is");
AXO_STATIC_ASSERT(sizeof(axo__cell) > sizeof(axo__cold), "cold parts are found from cells");

typedef struct axo__table {
    axo__heap *heap;
    axo__aptr *chunks;     /* shelves */
    uint32_t chunks_max;
    uint32_t slots_max;    /* more than actors may live at a time (cell/limit.h) */
    uint32_t batch;        /* cells that a local takes or gives at once, at most */
    struct axo__sched *home; /* the default pool; set before the first cell lives */
    axo__lives lives;      /* generations */
    axo__a32 slots;        /* made so far */
    axo__os_mutex mutex;   /* guards growing and `free` */
    axo__cell *free;       /* by `free_next`; the first of each list leads to the next list */
} axo__table;

/* `secret`: of the operating system's, never of a seed. */
bool axo__table_init(axo__table *table, axo__heap *heap, uint32_t slots_max,
                     const uint64_t secret[2]);
void axo__table_fini(axo__table *table);

/* Takes up to `batch` free cells, linked by `free_next`, made if need be. NULL: *status says
 * why. */
axo__cell *axo__table_take(axo__table *table, axo_status *status);

/* Gives up to `batch` cells back, linked by `free_next`: as many as are taken together again. */
void axo__table_give(axo__table *table, axo__cell *first);

/* The cell in a slot that there is, whatever its generation. */
static inline axo__cell *axo__table_in(const axo__table *table, uint32_t slot)
{
    axo__shelf *shelf =
        axo__aptr_load_acquire(&table->chunks[slot >> AXO__TABLE_CHUNK_SHIFT]); /* [T2] */
    AXO_DEBUG_ASSERT(shelf != NULL);
    return &shelf->cells[slot & (AXO__TABLE_CHUNK - 1)];
}

/* The same; NULL: there is no such slot. */
static inline axo__cell *axo__table_at(const axo__table *table, uint32_t slot)
{
    if (axo__unlikely(slot >= axo__a32_load_acquire(&table->slots))) /* [T2] */
        return NULL;
    return axo__table_in(table, slot);
}

static inline axo__shelf *axo__cell_shelf(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    const axo__cell *first = cell - (cell->slot & (AXO__TABLE_CHUNK - 1));
    return (axo__shelf *)(uintptr_t)first;
}

/* The place in the second array from the place in the first: each step between them is as much
 * shorter as a cold part is smaller than a cell. */
static inline axo__cold *axo__cell_cold(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    size_t shorter =
        (cell->slot & (AXO__TABLE_CHUNK - 1)) * (sizeof(axo__cell) - sizeof(axo__cold));
    return (axo__cold *)((uintptr_t)cell + offsetof(axo__shelf, cold) - shorter);
}

static inline const axo_class *axo__cell_class(const axo__cell *cell)
{
    return axo__cell_cold(cell)->cls;
}

static inline axo__slot_link axo__cell_link(const axo__cell *cell)
{
    return cell != NULL ? cell->slot + UINT32_C(1) : 0;
}

/* The cell that a link of `from` leads to; NULL: none. */
static inline axo__cell *axo__cell_linked(const axo__cell *from, axo__slot_link link)
{
    AXO_DEBUG_ASSERT(from != NULL && link <= AXO__SLOT_MASK + 1);
    return link != 0 ? axo__table_in(axo__cell_shelf(from)->table, link - 1) : NULL;
}

/* Fixed while the cell lives and may be looked at. NULL: the root's. */
static inline axo__cell *axo__cell_parent(const axo__cell *cell)
{
    return axo__cell_linked(cell, cell->parent);
}

/* The next older sibling, for the parent. */
static inline axo__cell *axo__cell_next(const axo__cell *cell)
{
    return axo__cell_linked(cell, axo__cell_cold(cell)->next);
}

/* The living cell of a reference; NULL: stale, forged or none. */
static inline axo__cell *axo__table_find(const axo__table *table, axo_ref ref)
{
    axo__cell *cell = axo__table_at(table, (uint32_t)(ref.bits & AXO__SLOT_MASK));
    if (cell == NULL)
        return NULL;
    uint64_t generation = axo__a32_load_acquire(&cell->generation); /* [T4] */
    return generation != 0 && generation == ref.bits >> AXO__SLOT_BITS ? cell : NULL;
}

/* Whether a reference has ever been given. */
bool axo__table_knows(const axo__table *table, axo_ref ref);

/* Gives a free cell its new life's generation and its reference. Its other fields are set. */
void axo__table_begin(axo__table *table, axo__cell *cell);

/* Ends it: from now on nobody finds the cell. */
void axo__table_end(axo__cell *cell);

/* Whether a free slot's generations are used up. */
bool axo__table_is_spent(const axo__table *table, const axo__cell *cell);

/* Of the living cell, or the last that was. */
static inline axo_ref axo__cell_ref(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    uint64_t generation = axo__a32_load_relaxed(&cell->latest);
    return (axo_ref){.bits = generation << AXO__SLOT_BITS | cell->slot};
}

#endif
