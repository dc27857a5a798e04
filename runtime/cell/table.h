/* table.h - references to cells and back: slots, generations, reuse.
 *
 * A reference is generation << 24 | slot; the upper 8 bits are kept for a node. A slot's
 * generation starts at a number of the system's seed, so a reference of another system is stale
 * here; it is 0 while nobody lives in the slot. A slot whose generations are spent is retired.
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

#define AXO__SLOT_BITS 24
#define AXO__SLOT_MASK ((UINT64_C(1) << AXO__SLOT_BITS) - 1)
#define AXO__TABLE_CHUNK (1u << AXO__TABLE_CHUNK_SHIFT)

typedef struct axo__table {
    axo__heap *heap;
    axo__aptr *chunks;
    uint32_t chunks_max;
    uint32_t actors_max;
    uint32_t first_generation;
    uint32_t batch;        /* cells that a local takes or gives at once, at most */
    axo__a32 slots;        /* made so far */
    axo__os_mutex mutex;   /* guards growing and `free` */
    axo__cell *free;       /* by `free_next`; the first of each list leads to the next list */
} axo__table;

bool axo__table_init(axo__table *table, axo__heap *heap, uint32_t actors_max, uint64_t seed);
void axo__table_fini(axo__table *table);

/* Takes up to `batch` free cells, linked by `free_next`, made if need be. NULL: *status says
 * why. */
axo__cell *axo__table_take(axo__table *table, axo_status *status);

/* Gives up to `batch` cells back, linked by `free_next`: as many as are taken together again. */
void axo__table_give(axo__table *table, axo__cell *first);

/* The cell in a slot, whatever its generation; NULL: there is no such slot. */
static inline axo__cell *axo__table_at(const axo__table *table, uint32_t slot)
{
    if (axo__unlikely(slot >= axo__a32_load_acquire(&table->slots))) /* [T2] */
        return NULL;
    axo__cell *chunk =
        axo__aptr_load_acquire(&table->chunks[slot >> AXO__TABLE_CHUNK_SHIFT]); /* [T2] */
    return &chunk[slot & (AXO__TABLE_CHUNK - 1)];
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
    uint64_t generation = axo__a32_load_relaxed(&cell->latest);
    return (axo_ref){.bits = generation << AXO__SLOT_BITS | cell->slot};
}

#endif
