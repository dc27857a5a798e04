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
static uint32_t newborn_floor(axo__worker *worker, uint32_t top)
{
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    while (floor != top && axo__aptr_load_relaxed(newborn_at(worker, floor)) == NULL)
        floor++;
    AXO_DEBUG_ASSERT(top - floor <= AXO__NEWBORNS);
    axo__a32_store_relaxed(&worker->newborn_floor, floor);
    return floor;
}

/* About where the entries begin that thieves have not taken: the later of `newborn_floor` and
 * `newborn_taken`. The latter may lie beyond entries that the worker has pushed since, at indices
 * that a thief took once before. */
static uint32_t newborn_untaken(const axo__worker *worker)
{
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    uint32_t taken = axo__a32_load_relaxed(&worker->newborn_taken);
    return (int32_t)(taken - floor) > 0 ? taken : floor;
}

/* An empty range is moved up to where the thieves are, so that they count the new entry. The
 * release store hands the spawned cell's address to the exchange of axo__newborn_take_any ([B2]);
 * the cell itself was published by its word, which the thief acquires when it claims. A thief that
 * reads the new `newborn_top` before the entry finds the old content there, NULL or a stale hint,
 * which the claim judges. */
bool axo__newborn_push_owner(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    if (axo__unlikely(top - floor >= AXO__NEWBORNS))
        floor = newborn_floor(worker, top);
    if (axo__unlikely(top - floor >= AXO__NEWBORNS))
        return false;
    if (top == floor && top != newborn_untaken(worker)) { /* the range is empty */
        top = newborn_untaken(worker);
        axo__a32_store_relaxed(&worker->newborn_floor, top);
    }
    axo__aptr_store_release(newborn_at(worker, top), cell); /* [B1] */
    axo__a32_store_relaxed(&worker->newborn_top, top + 1);
    worker->attention |= AXO__LOOK_NEWBORN;
    return true;
}

/* The entry is not exchanged for NULL: a thief may take it too, and then one of the two claims
 * fails. Lowering `newborn_top` is what takes the entry out of the range. */
axo__cell *axo__newborn_youngest_owner(axo__worker *worker)
{
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t floor = newborn_floor(worker, top);
    axo__cell *mine = NULL;
    while (mine == NULL && top != floor) {
        axo__cell *cell = axo__aptr_load_relaxed(newborn_at(worker, --top));
        axo__a32_store_relaxed(&worker->newborn_top, top);
        mine = cell != NULL ? axo__worker_claim(worker, cell) : NULL;
    }
    return mine;
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

uint32_t axo__newborn_count_any(const axo__worker *worker)
{
    uint32_t count = axo__a32_load_relaxed(&worker->newborn_top) - newborn_untaken(worker);
    return count <= AXO__NEWBORNS ? count : 0; /* the range has moved between the two loads */
}

/* A thief's walk from the old end. The bounds may be stale: each entry is judged by its own
 * exchange, which acquires what axo__newborn_push_owner stored ([B1]) and gives each entry to one
 * thief only. Two thieves may write `newborn_taken` in either order; a value that is too low costs
 * a longer walk, and `all` ignores the value, for a victim that is stuck and hides entries below
 * it. */
axo__cell *axo__newborn_take_any(axo__worker *victim, bool all)
{
    uint32_t top = axo__a32_load_relaxed(&victim->newborn_top);
    uint32_t from = all ? axo__a32_load_relaxed(&victim->newborn_floor) : newborn_untaken(victim);
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
