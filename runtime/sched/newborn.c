/* newborn.c - what a worker's actors have just spawned: its worker runs the youngest first, thieves
 * take the oldest.
 *
 * The youngest first, as a call would be: so a tree that grows and shrinks again has as many actors
 * at a time as it is deep, not as it is wide. Thieves take from the other end, where the largest
 * subtrees are.
 *
 * The entries from floor to top are the worker's. Only it moves these two, and only it writes an
 * entry; a thief exchanges an entry for NULL. Nobody waits
 * for anybody and the worker pays for no fence, since an entry is a hint: if the worker and a thief
 * take the same one, the cell's word decides. None is lost: an entry that is not NULL leaves the
 * range by the worker's hand only, which then tries it.
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

/* Entries that thieves have taken leave the range at its old end. */
static uint32_t newborn_floor(axo__worker *worker, uint32_t top)
{
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    while (floor != top && axo__aptr_load_relaxed(newborn_at(worker, floor)) == NULL)
        floor++;
    AXO_DEBUG_ASSERT(top - floor <= AXO__NEWBORNS);
    axo__a32_store_relaxed(&worker->newborn_floor, floor);
    return floor;
}

/* Where the entries begin that thieves have not taken, about; it may be beyond some that the worker
 * has pushed since. */
static uint32_t newborn_untaken(const axo__worker *worker)
{
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    uint32_t taken = axo__a32_load_relaxed(&worker->newborn_taken);
    return (int32_t)(taken - floor) > 0 ? taken : floor;
}

bool axo__newborn_push_owner(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell != NULL);
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    if (axo__unlikely(top - floor >= AXO__NEWBORNS))
        floor = newborn_floor(worker, top);
    if (axo__unlikely(top - floor >= AXO__NEWBORNS))
        return false;
    if (top == floor && top != newborn_untaken(worker)) { /* so that thieves see what comes */
        top = newborn_untaken(worker);
        axo__a32_store_relaxed(&worker->newborn_floor, top);
    }
    axo__aptr_store_release(newborn_at(worker, top), cell); /* [B1] */
    axo__a32_store_relaxed(&worker->newborn_top, top + 1);
    return true;
}

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
    return count <= AXO__NEWBORNS ? count : 0; /* both have moved between the loads */
}

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
