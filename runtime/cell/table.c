/* table.c - references to cells and back: slots, generations, reuse.
 *
 * Look-ups take no lock; the mutex guards growing and the list of free cells, which locals visit
 * once for `batch` cells. Free cells form a list of lists: the first cell of each batch leads to
 * the next batch, so a batch changes hands in constant time. */
#include "cell/table.h"

#include <string.h>

#include "base/assert.h"

bool axo__table_init(axo__table *table, axo__heap *heap, uint32_t slots_max,
                     const uint64_t secret[2])
{
    AXO_DEBUG_ASSERT(slots_max > 0 && slots_max <= AXO__SLOT_MASK);
    memset(table, 0, sizeof *table);
    table->heap = heap;
    table->slots_max = slots_max;
    table->batch = 1;
    table->chunks_max = (slots_max + AXO__TABLE_CHUNK - 1) >> AXO__TABLE_CHUNK_SHIFT;
    axo__lives_init(&table->lives, secret);
    if (!axo__os_mutex_init(&table->mutex))
        return false;
    size_t size = sizeof(axo__aptr) * table->chunks_max;
    table->chunks = axo__heap_alloc(heap, size, AXO__CACHE_LINE, AXO__SITE_TABLE);
    if (table->chunks == NULL) {
        axo__os_mutex_fini(&table->mutex);
        return false;
    }
    memset((void *)table->chunks, 0, size);
    return true;
}

void axo__table_fini(axo__table *table)
{
    for (uint32_t i = 0; i < table->chunks_max; i++) {
        void *shelf = axo__aptr_load_relaxed(&table->chunks[i]);
        axo__heap_free(table->heap, shelf, sizeof(axo__shelf), _Alignof(axo__shelf),
                       AXO__SITE_CELLS);
    }
    axo__heap_free(table->heap, table->chunks, sizeof(axo__aptr) * table->chunks_max,
                   AXO__CACHE_LINE, AXO__SITE_TABLE);
    axo__os_mutex_fini(&table->mutex);
}

/* Under the mutex: puts a list of cells on top. */
static void table_put(axo__table *table, uint32_t home, axo__cell *first)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(first) && home < AXO__GRACE_HOMES);
    first->free_list = table->free[home];
    table->free[home] = first;
}

/* Under the mutex: the home's last list, else one of the homes behind it; NULL: there is none. */
static axo__cell *table_pop(axo__table *table, uint32_t home)
{
    AXO_DEBUG_ASSERT(home < AXO__GRACE_HOMES);
    for (uint32_t i = 0; i < AXO__GRACE_HOMES; i++) {
        axo__cell **free = &table->free[(home + i) % AXO__GRACE_HOMES];
        axo__cell *first = *free;
        if (first != NULL) {
            *free = first->free_list;
            return first;
        }
    }
    return NULL;
}

/* Under the mutex: makes a shelf and hands its cells to `free`. Their words are CLOSED, as the word
 * of every free slot is. The pointer is stored before the number, both with release [T1]: a thread
 * that reads the number finds the pointer (axo__table_at [T2]). */
static axo_status table_grow(axo__table *table, uint32_t home)
{
    uint32_t slots = axo__a32_load_relaxed(&table->slots);
    AXO_DEBUG_ASSERT(slots % AXO__TABLE_CHUNK == 0 && table->batch > 0);
    if (slots >= table->slots_max)
        return AXO_ELIMIT;
    axo__shelf *shelf =
        axo__heap_alloc(table->heap, sizeof *shelf, _Alignof(axo__shelf), AXO__SITE_CELLS);
    if (shelf == NULL)
        return AXO_ENOMEM;
    axo__cell *chunk = shelf->cells;
    memset((void *)shelf, 0, sizeof *shelf);
    shelf->table = table;
    for (uint32_t i = AXO__TABLE_CHUNK; i-- > 0;) {
        chunk[i].slot = (slots + i) & AXO__SLOT_MASK;
        chunk[i].timed = table->timed;
        axo__a64_store_relaxed(&chunk[i].self, chunk[i].slot ^ AXO__SELF_ENDED);
        axo__a64_store_relaxed(&chunk[i].state.word, AXO__CLOSED);
    }
    uint32_t made = AXO__TABLE_CHUNK;
    if (made > table->slots_max - slots)
        made = table->slots_max - slots;
    while (made > 0) { /* so that the lowest slots end on top */
        uint32_t count = (made - 1) % table->batch + 1;
        made -= count;
        for (uint32_t i = 0; i < count; i++)
            chunk[made + i].free_next = i + 1 < count ? &chunk[made + i + 1] : NULL;
        table_put(table, home, &chunk[made]);
    }
    axo__aptr_store_release(&table->chunks[slots >> AXO__TABLE_CHUNK_SHIFT], shelf); /* [T1] */
    axo__a32_store_release(&table->slots, slots + AXO__TABLE_CHUNK);                 /* [T1] */
    return AXO_OK;
}

axo__cell *axo__table_take(axo__table *table, uint32_t home, axo_status *status)
{
    *status = AXO_OK;
    axo__os_mutex_lock(&table->mutex);
    axo__cell *first = table_pop(table, home);
    if (first == NULL && (*status = table_grow(table, home)) == AXO_OK)
        first = table_pop(table, home);
    axo__os_mutex_unlock(&table->mutex);
    return first;
}

void axo__table_give(axo__table *table, uint32_t home, axo__cell *first)
{
    axo__os_mutex_lock(&table->mutex);
    table_put(table, home, first);
    axo__os_mutex_unlock(&table->mutex);
}

/* The generation of the living or the last actor; 0: there was none. */
static uint32_t table_generation(const axo__cell *cell)
{
    return (uint32_t)(axo__a64_load_relaxed(&cell->self) >> AXO__SLOT_BITS);
}

bool axo__table_is_spent(const axo__table *table, const axo__cell *cell)
{
    return table_generation(cell) == table->lives.last;
}

/* The store [T3] comes last and publishes every field of the newborn to axo__table_find [T4]. Until
 * then a stale entry claims nothing. */
void axo__table_begin(axo__table *table, axo__cell *cell)
{
    uint32_t latest = table_generation(cell);
    AXO_ASSERT(latest != table->lives.last);
    uint64_t generation = latest != 0 ? axo__lives_next(&table->lives, latest)
                                      : axo__lives_first(&table->lives, cell->slot);
    AXO_DEBUG_ASSERT(generation != 0 && !axo__cell_lives_owner(cell));
    AXO_DEBUG_ASSERT((axo__a64_load_relaxed(&cell->state.word) &
                      (AXO__RUNNING | AXO__CLOSED)) != 0);
    axo__a64_store_release(&cell->self, generation << AXO__SLOT_BITS | cell->slot); /* [T3] */
}

/* A sender that loads `self` afterwards finds nobody. One that loaded it before may still push;
 * axo__gone_expire drains what it pushes. The generation stays: axo__cell_ref and axo__table_knows
 * read it. */
void axo__table_end(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_lives_owner(cell));
    uint64_t self = axo__a64_peek_owner(&cell->self);
    axo__a64_store_release(&cell->self, self ^ AXO__SELF_ENDED); /* [T3] */
}

/* A birth in the same slot may write the cell's other fields meanwhile, so only `self` is read. */
bool axo__table_knows(const axo__table *table, axo_ref ref)
{
    uint32_t slot = (uint32_t)(ref.bits & AXO__SLOT_MASK);
    const axo__cell *cell = axo__table_at(table, slot);
    return cell != NULL &&
           axo__lives_has_been(&table->lives, slot, table_generation(cell),
                               ref.bits >> AXO__SLOT_BITS);
}
