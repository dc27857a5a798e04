/* newborn.h - what a worker's actors have just spawned: its own end, and the thieves'. */
#ifndef AXO__SCHED_NEWBORN_H
#define AXO__SCHED_NEWBORN_H

#include "sched/pool.h"

/* false: there are some, unless thieves have taken them. */
static inline bool axo__newborn_is_empty_owner(const axo__worker *worker)
{
    return axo__a32_load_relaxed(&worker->newborn_floor) ==
           axo__a32_load_relaxed(&worker->newborn_top);
}

/* false: there is no room. */
bool axo__newborn_push_owner(axo__worker *worker, axo__cell *cell);

/* A claimed cell; NULL: there is none. */
axo__cell *axo__newborn_youngest_owner(axo__worker *worker);
axo__cell *axo__newborn_oldest_owner(axo__worker *worker);

/* How many a thief would find, about. */
uint32_t axo__newborn_count_any(const axo__worker *worker);

/* The oldest entry, to be claimed; NULL: there is none. `all`: also what a count may have missed,
 * for when the worker does not move. */
axo__cell *axo__newborn_take_any(axo__worker *victim, bool all);

#endif
