/* newborn.h - a worker's array of cells that its actors have just spawned: the worker's own end,
 * and the thieves' end. The argument stands in newborn.c. */
#ifndef AXO__SCHED_NEWBORN_H
#define AXO__SCHED_NEWBORN_H

#include "sched/pool.h"

/* Whether the worker's range is empty; false: entries are left, unless thieves have taken them. */
static inline bool axo__newborn_is_empty_owner(const axo__worker *worker)
{
    return axo__a32_load_relaxed(&worker->newborn_floor) ==
           axo__a32_load_relaxed(&worker->newborn_top);
}

/* About where the entries begin that thieves have not taken: the later of `newborn_floor` and
 * `newborn_taken`. The latter may lie beyond entries that the worker has pushed since, at indices
 * that a thief took once before. */
static inline uint32_t axo__newborn_untaken(const axo__worker *worker)
{
    uint32_t floor = axo__a32_load_relaxed(&worker->newborn_floor);
    uint32_t taken = axo__a32_load_relaxed(&worker->newborn_taken);
    return (int32_t)(taken - floor) > 0 ? taken : floor;
}

/* As axo__newborn_push_owner, where the range is empty or the array full; newborn.c. */
bool axo__newborn_push_slow(axo__worker *worker, axo__cell *cell);

/* Pushes a spawned cell; false: the array has no room, and nothing has changed. The release store
 * hands the spawned cell's address to the exchange of axo__newborn_take_any ([B2]); the cell itself
 * was published by its word, which the thief acquires when it claims. A thief that reads the new
 * `newborn_top` before the entry finds the old content there, NULL or a stale hint, which the claim
 * judges. */
static inline bool axo__newborn_push_owner(axo__worker *worker, axo__cell *cell)
{
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t used = top - axo__a32_load_relaxed(&worker->newborn_floor);
    AXO_DEBUG_ASSERT(cell != NULL);
    if (axo__unlikely(used - 1 >= AXO__NEWBORNS - 1)) /* 0, or no room */
        return axo__newborn_push_slow(worker, cell);
    axo__aptr_store_release(&worker->newborns[top % AXO__NEWBORNS], cell); /* [B1] */
    axo__a32_store_relaxed(&worker->newborn_top, top + 1);
    AXO_DEBUG_ASSERT((worker->attention & AXO__LOOK_NEWBORN) != 0);
    return true;
}

/* As axo__newborn_push_owner, where the push has nothing to follow: no worker is parked, and the
 * entries do not become as many as are offered to others. false: nothing has changed, and
 * axo__sched_push_newborn does it. */
static inline bool axo__newborn_push_plain(axo__worker *worker, axo__cell *cell)
{
    const uint32_t looks = AXO__LOOK_NEWBORN | AXO__LOOK_FOREIGN;
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t used = top - axo__a32_load_relaxed(&worker->newborn_floor);
    if (axo__unlikely(used - 1 >= AXO__NEWBORNS - 1 ||
                      (worker->attention & looks) != AXO__LOOK_NEWBORN ||
                      axo__a32_load_relaxed(&worker->sched->parked) != 0 ||
                      top + 1 - axo__newborn_untaken(worker) == AXO__STEAL_MIN))
        return false;
    axo__aptr_store_release(&worker->newborns[top % AXO__NEWBORNS], cell); /* [B1] */
    axo__a32_store_relaxed(&worker->newborn_top, top + 1);
    return true;
}

/* Claims the youngest (oldest) newborn that can be claimed; NULL: none can. */
axo__cell *axo__newborn_youngest_owner(axo__worker *worker);
axo__cell *axo__newborn_oldest_owner(axo__worker *worker);

/* About how many entries a thief would find. */
static inline uint32_t axo__newborn_count_any(const axo__worker *worker)
{
    uint32_t count = axo__a32_load_relaxed(&worker->newborn_top) - axo__newborn_untaken(worker);
    return count <= AXO__NEWBORNS ? count : 0; /* the range has moved between the two loads */
}

/* Takes the oldest entry for a thief, which claims it; NULL: there is none. `all`: entries that
 * axo__newborn_count_any may have missed too, for a victim that is stuck. */
axo__cell *axo__newborn_take_any(axo__worker *victim, bool all);

#endif
