/* pools.h - the pools of a system: made, found, ended. A pool is the workers of one dispatcher. */
#ifndef AXO__SYSTEM_POOLS_H
#define AXO__SYSTEM_POOLS_H

#include "system/system.h"

/* Fills in what a pool takes over from the options; before axo__sched_init. */
void axo__pools_settings(axo_system *system, axo__sched *pool, const axo__sched_kind *kind);
/* The functions behind core->dispatch and core->undispatch: the pool for a new actor of these
 * props, and the end of an actor in `pool`. */
axo_status axo__pools_dispatch(axo__core *core, const axo_props *props, axo__sched **out);
void axo__pools_undispatch(axo__core *core, axo__sched *pool);

/* The pool that axo_run_host runs, made if need be; or NULL if there is none and none is made. */
axo_status axo__pools_host(axo_system *system, axo__sched **out);
axo__sched *axo__pools_host_if_any(axo_system *system);

/* Joins pinned threads that have ended, and frees their pools; true: others are about to end. */
bool axo__pools_reap(void *system);

/* End the threads of all pools but the default one; free the pools. */
void axo__pools_end(axo_system *system);
void axo__pools_fini(axo_system *system);

/* The sum of a counter, given by its offset in axo__counters, over all workers, doors and pools
 * that have ended. */
uint64_t axo__pools_sum(axo_system *system, size_t offset);
/* For how long a worker of the default pool has been awake and asleep, in ns: neither goes back
 * from call to call. */
void axo__pools_rest(axo_system *system, uint32_t worker, uint64_t *awake, uint64_t *slept);

/* Looks once whether nothing is running or queued: axo__quiesce_look of all pools. */
bool axo__pools_look(axo_system *system);

/* Threads of the blocking dispatcher that there are now. */
uint32_t axo__pools_live(axo_system *system);
void axo__pools_stats(axo_system *system, axo_stats *stats);

/* The function behind core->stuck: publishes and logs that `cell` has held its worker for
 * `for_ns`, and why its watchdog has not interrupted it; NULL: it has not tried. */
void axo__pools_stuck(axo__local *local, axo__cell *cell, uint64_t tag, int64_t for_ns,
                      const char *why);

#endif
