/* pools.h - the pools of a system: made, found, ended. */
#ifndef AXO__SYSTEM_POOLS_H
#define AXO__SYSTEM_POOLS_H

#include "system/system.h"

void axo__pools_settings(axo_system *system, axo__sched *pool, const axo__sched_kind *kind);
axo_status axo__pools_dispatch(axo__core *core, const axo_props *props, axo__sched **out);
void axo__pools_undispatch(axo__core *core, axo__sched *pool);

/* The pool that axo_run_host runs, made if need be; or NULL if there is none. */
axo_status axo__pools_host(axo_system *system, axo__sched **out);
axo__sched *axo__pools_host_if_any(axo_system *system);

/* Joins pinned threads that have ended; true: others are about to. */
bool axo__pools_reap(void *system);

/* Ends the threads of all pools but the default one; frees the pools. */
void axo__pools_end(axo_system *system);
void axo__pools_fini(axo_system *system);

/* A counter, over all workers and doors, by its offset in axo__counters. */
uint64_t axo__pools_sum(axo_system *system, size_t offset);
void axo__pools_stats(axo_system *system, axo_stats *stats);

void axo__pools_stuck(axo__local *local, axo__cell *cell, uint64_t tag, int64_t for_ns);

#endif
