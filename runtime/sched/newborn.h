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

/* Pushes a spawned cell; false: the array has no room, and nothing has changed. */
bool axo__newborn_push_owner(axo__worker *worker, axo__cell *cell);

/* Claims the youngest (oldest) newborn that can be claimed; NULL: none can. */
axo__cell *axo__newborn_youngest_owner(axo__worker *worker);
axo__cell *axo__newborn_oldest_owner(axo__worker *worker);

/* About how many entries a thief would find. */
uint32_t axo__newborn_count_any(const axo__worker *worker);

/* Takes the oldest entry for a thief, which claims it; NULL: there is none. `all`: entries that
 * axo__newborn_count_any may have missed too, for a victim that is stuck. */
axo__cell *axo__newborn_take_any(axo__worker *victim, bool all);

#endif
