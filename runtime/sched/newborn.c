/* newborn.c - a worker's array of cells that its actors have just spawned: the worker runs the
 * youngest first, thieves take the oldest.
 *
 * The youngest runs first, as a call would: so a tree that grows and shrinks again has as many
 * actors at a time as it is deep, not as it is wide. Thieves take from the other end, where the
 * largest subtrees are.
 *
 * The array is a ring; the worker's entries lie from `newborn_floor` to `newborn_top`. Only the
 * worker moves these two, and only the worker writes a cell into an entry; a thief exchanges an
 * entry for NULL. Neither waits for the other and the worker pays for no fence, since an entry is a
 * hint: if the worker and a thief take the same entry, the claim of the cell's word decides. No
 * entry is lost: an entry that is not NULL leaves the range only when the worker takes it out, and
 * the worker then tries to claim its cell.
 *
 * `newborn_taken` is written by thieves, without an order: it only saves them, and the counts, a
 * walk over entries that are NULL already.
 *
 * Orders
 *   [B1] store release, an entry    the cell's address; pairs with [B2]
 *   [B2] exchange acq_rel, an entry   a thief takes it; the claim decides
 */
#include "sched/newborn.h"

#include "sched/claim.h"

static axo__aptr *newborn_at(axo__worker *worker, uint32_t index)
{
    return &worker->newborns[index % AXO__NEWBORNS];
}

/* Moves the floor over entries that thieves have taken, and returns it. Only a NULL entry is passed
 * over, and only the worker writes entries, so a relaxed look is enough: an entry that a thief
 * takes a moment later is passed over the next time. */
static inline uint32_t newborn_floor(axo__worker *worker, uint32_t top)
{
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    while (floor != top && axo__aptr_load_relaxed(newborn_at(worker, floor)) == NULL)
        floor++;
    AXO_DEBUG_ASSERT(top - floor <= AXO__NEWBORNS);
    axo__a32_store_relaxed(&worker->newborn_floor, floor);
    return floor;
}

/* An empty range is moved up to where the thieves are, so that they count the new entry. */
bool axo__newborn_push_slow(axo__worker *worker, axo__cell *cell)
{
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t floor = newborn_floor(worker, top);
    if (top - floor >= AXO__NEWBORNS)
        return false;
    if (top == floor && top != axo__newborn_untaken(worker)) { /* the range is empty */
        top = axo__newborn_untaken(worker);
        axo__a32_store_relaxed(&worker->newborn_floor, top);
    }
    axo__aptr_store_release(newborn_at(worker, top), cell); /* [B1] */
    axo__a32_store_relaxed(&worker->newborn_top, top + 1);
    worker->attention |= AXO__LOOK_NEWBORN;
    return true;
}

/* The entry is not exchanged for NULL: a thief may take it too, and then one of the two claims
 * fails. Lowering `newborn_top` is what takes the entry out of the range. `cell`: of an entry that
 * was taken out already; NULL: the entry was a thief's. */
static __attribute__((noinline)) axo__cell *newborn_youngest(axo__worker *worker, axo__cell *cell)
{
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    axo__cell *mine = cell != NULL ? axo__worker_claim(worker, cell) : NULL;
    if (mine != NULL)
        return mine;
    uint32_t floor = newborn_floor(worker, top);
    while (mine == NULL && top != floor) {
        cell = axo__aptr_load_relaxed(newborn_at(worker, --top));
        axo__a32_store_relaxed(&worker->newborn_top, top);
        mine = cell != NULL ? axo__worker_claim(worker, cell) : NULL;
    }
    return mine;
}

/* In short the common case, that the youngest entry leads to a newborn of the default pool that has
 * not run: its word asks for the first turn, and perhaps has messages. */
axo__cell *axo__newborn_youngest_owner(axo__worker *worker)
{
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    axo__mpsc_node *lane;
    if (axo__unlikely(top == axo__a32_load_relaxed(&worker->newborn_floor)))
        return NULL;
    axo__cell *cell = axo__aptr_load_relaxed(newborn_at(worker, --top));
    axo__a32_store_relaxed(&worker->newborn_top, top);
    if (axo__unlikely(cell == NULL || (worker->attention & AXO__LOOK_FOREIGN) != 0 ||
                      !axo__state_claim_born(&cell->state, &lane)))
        return newborn_youngest(worker, cell);
    cell->attention |= AXO__ATTENTION_SYSTEM;
    axo__inbox_put(&cell->inbox, lane);
    if (axo__likely(!cell->elsewhere))
        return cell;
    axo__sched_unclaim(cell); /* the entry was of the slot's former life */
    return newborn_youngest(worker, NULL);
}

/* As axo__newborn_youngest_owner, at the thieves' end: raising `newborn_floor` takes the entry
 * out. */
axo__cell *axo__newborn_oldest_owner(axo__worker *worker)
{
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t floor = newborn_floor(worker, top);
    axo__cell *mine = NULL;
    while (mine == NULL && floor != top) {
        axo__cell *cell = axo__aptr_load_relaxed(newborn_at(worker, floor++));
        axo__a32_store_relaxed(&worker->newborn_floor, floor);
        mine = cell != NULL ? axo__worker_claim(worker, cell) : NULL;
    }
    return mine;
}

/* A thief's walk from the old end. The bounds may be stale: each entry is judged by its own
 * exchange, which acquires what axo__newborn_push_owner stored ([B1]) and gives each entry to one
 * thief only. Two thieves may write `newborn_taken` in either order; a value that is too low costs
 * a longer walk, and `all` ignores the value, for a victim that is stuck and hides entries below
 * it. */
axo__cell *axo__newborn_take_any(axo__worker *victim, bool all)
{
    uint32_t top = axo__a32_load_relaxed(&victim->newborn_top);
    uint32_t from = axo__a32_load_relaxed(&victim->newborn_floor);
    if (!all)
        from = axo__newborn_untaken(victim);
    if (top - from > AXO__NEWBORNS)
        return NULL;
    for (; from != top; from++) {
        axo__aptr *entry = newborn_at(victim, from);
        if (axo__aptr_load_relaxed(entry) == NULL)
            continue;
        axo__cell *cell = axo__aptr_xchg_acq_rel(entry, NULL); /* [B2] */
        axo__a32_store_relaxed(&victim->newborn_taken, from + 1);
        if (cell != NULL)
            return cell;
    }
    return NULL;
}
