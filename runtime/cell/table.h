/* table.h - references to cells and back: slots, generations, reuse.
 *
 * A reference is generation << 24 | slot; the upper 8 bits are kept for a node. Generations come
 * from a secret of this system (lives.h), so a reference of another system is stale here, and no
 * program can make a reference from the ones it has. A cell has its actor's reference in one word,
 * so a look-up is one comparison; while no actor lives in the slot, the word is no reference that
 * leads there. A slot whose generations are spent is retired. Nothing but looking a reference
 * up may depend on a generation: where an order or a choice is made, it is made by slots (D18).
 *
 * A thread may read a cell that it has found although the actor ends meanwhile: cells are
 * type-stable, and a slot is used again only after a grace period. So a look-up takes no lock and
 * counts no reference.
 *
 * Roles      find: workers (as grace readers) and doors (inside them).
 *            take, give: through a local's list, by its owner only.
 *
 * Orders
 *   [T1] store release, chunk        publishes the cells, and then their number; pairs with [T2]
 *   [T2] load acquire, chunk         a thread that reads the new number, or the pointer, finds the
 *                                    cells of the shelf made
 *   [T3] store release, self         a newborn's fields, or the end of a life; pairs with [T4]
 *   [T4] load acquire, self          a thread that finds its reference finds the newborn's fields
 *                                    written
 *   [C1] as in cell/replacing.h
 */
#ifndef AXO__CELL_TABLE_H
#define AXO__CELL_TABLE_H

#include <string.h>

#include "base/config.h"
#include "cell/cell.h"
#include "cell/lives.h"

#define AXO__TABLE_CHUNK (1u << AXO__TABLE_CHUNK_SHIFT)

AXO_STATIC_ASSERT(AXO__SLOT_MASK < AXO__LINK_MASK, "a link is a slot and one");

struct axo__table;

/* The table grows by a shelf: cells, and behind them the cold part of each. So a cell finds its
 * cold part, and the cells that it is linked to, by its slot's number. The two lines of a cell are
 * a pair that processors fetch together; the cold parts stand apart from them. */
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
    bool timed;            /* of all its cells; set before the first is made */
    axo__lives lives;      /* generations */
    axo__a32 slots;        /* made so far; grows under the mutex */
    axo__os_mutex mutex;   /* guards growing and `free` */
    axo__cell *free[AXO__GRACE_HOMES]; /* of each home, lists by `free_next`; a list's first cell
                                          leads to the next list */
} axo__table;

/* `secret` comes from the operating system, never from a seed (D18). */
bool axo__table_init(axo__table *table, axo__heap *heap, uint32_t slots_max,
                     const uint64_t secret[2]);
void axo__table_fini(axo__table *table);

/* Takes up to `batch` free cells, linked by `free_next`: of the home, whose caches have their
 * lines, if it has any, else of another one, and makes a shelf of them if need be. NULL: *status
 * says why. */
axo__cell *axo__table_take(axo__table *table, uint32_t home, axo_status *status);

/* Gives the home up to `batch` cells back, linked by `free_next`; its next take may return the same
 * list. */
void axo__table_give(axo__table *table, uint32_t home, axo__cell *first);

/* The cell in a slot that exists, whatever its generation. The load [T2] pairs with table_grow's
 * store [T1], which published the shelf. */
static inline axo__cell *axo__table_in(const axo__table *table, uint32_t slot)
{
    axo__shelf *shelf =
        axo__aptr_load_acquire(&table->chunks[slot >> AXO__TABLE_CHUNK_SHIFT]); /* [T2] */
    AXO_DEBUG_ASSERT(shelf != NULL);
    axo__cell *cell = &shelf->cells[slot & (AXO__TABLE_CHUNK - 1)];
    if (cell == NULL)
        __builtin_unreachable(); /* said for the compiler, which tests callers' cells otherwise */
    return cell;
}

/* The same for a number that may be forged; NULL: there is no such slot. A thread that reads the
 * new number [T2] sees the shelf's pointer too, since table_grow stores the pointer first. */
static inline axo__cell *axo__table_at(const axo__table *table, uint32_t slot)
{
    if (axo__unlikely(slot >= axo__a32_load_acquire(&table->slots))) /* [T2] */
        return NULL;
    return axo__table_in(table, slot);
}

/* Whether an actor lives in the slot: then its parent and name have come with its reference ([T3],
 * [T4]). */
static inline bool axo__cell_has_life(const axo__cell *cell)
{
    return axo__self_lives(cell, axo__a64_load_acquire(&cell->self)); /* [T4] */
}

/* The same for who walks the table. A plain newborn has its reference before its word, which
 * is closed until then as the slot's former life has left it (axo__state_born): nobody is told of
 * that one yet, since what is pushed onto the word would be overwritten. */
static inline bool axo__cell_lives(const axo__cell *cell)
{
    return axo__cell_has_life(cell) && (axo__state_look(&cell->state) & AXO__CLOSED) == 0;
}

/* The shelf begins with its first cell, so the slot's number leads to it without a load of the
 * table. */
static inline axo__shelf *axo__cell_shelf(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    const axo__cell *first = cell - (cell->slot & (AXO__TABLE_CHUNK - 1));
    return (axo__shelf *)(uintptr_t)first;
}

/* The place in the second array follows from the place in the first: each step there is shorter by
 * the difference of the two sizes. */
static inline axo__cold *axo__cell_cold(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    size_t shorter =
        (cell->slot & (AXO__TABLE_CHUNK - 1)) * (sizeof(axo__cell) - sizeof(axo__cold));
    return (axo__cold *)((uintptr_t)cell + offsetof(axo__shelf, cold) - shorter);
}

/* The load [C1] pairs with the store that gives the actor another class. The class is there until
 * the caller's grace period or door ends, and for the runner until it stores another one. */
static inline const axo_class *axo__cell_class(const axo__cell *cell)
{
    return axo__aptr_load_acquire(&axo__cell_cold(cell)->cls); /* [C1] */
}

/* The same for the runner of an actor that lives, and for its birth: nobody else stores it, so the
 * compiler may keep it. */
static inline const axo_class *axo__cell_own_class(const axo__cell *cell)
{
    const axo_class *cls;
    memcpy(&cls, (const void *)&axo__cell_cold(cell)->cls, sizeof(axo__aptr));
    return cls;
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

/* Fixed while the cell lives and may be looked at. NULL: the cell is the root. */
static inline axo__cell *axo__cell_parent(const axo__cell *cell)
{
    return axo__cell_linked(cell, cell->parent);
}

/* The next older sibling, for the parent. */
static inline axo__cell *axo__cell_next(const axo__cell *cell)
{
    return axo__cell_linked(cell, axo__cell_cold(cell)->next);
}

/* The living cell of a reference; NULL: stale, forged or none. The load [T4] pairs with
 * axo__table_begin's store [T3]: a thread that finds the reference finds the fields of that life.
 * The actor may end at once; the cell stays readable until the caller's grace period or door
 * ends. */
static inline axo__cell *axo__table_find(const axo__table *table, axo_ref ref)
{
    axo__cell *cell = axo__table_at(table, (uint32_t)(ref.bits & AXO__SLOT_MASK));
    if (cell == NULL)
        return NULL;
    return axo__a64_load_acquire(&cell->self) == ref.bits ? cell : NULL; /* [T4] */
}

/* Whether this system has ever given the reference. */
bool axo__table_knows(const axo__table *table, axo_ref ref);

/* Gives a free cell the generation of its new life, and so its reference. All other fields are
 * set. */
void axo__table_begin(axo__table *table, axo__cell *cell);

/* Ends the life: no thread finds the cell from here on, though threads that found it before may
 * still be at it. */
void axo__table_end(axo__cell *cell);

/* Whether the slot has lived its last life. */
bool axo__table_is_spent(const axo__table *table, const axo__cell *cell);

/* The reference of the living actor in this cell, or of the last one. */
static inline axo_ref axo__cell_ref(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    uint64_t generation = axo__a64_load_relaxed(&cell->self) & ~AXO__SLOT_MASK;
    return (axo_ref){.bits = generation | cell->slot};
}

/* The reference of an actor that this thread runs, or has just made, and that lives. */
static inline axo_ref axo__cell_own_ref(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_lives_owner(cell));
    return (axo_ref){.bits = axo__a64_load_relaxed(&cell->self)};
}

#endif
