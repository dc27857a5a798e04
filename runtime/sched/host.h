/* host.h - a pool whose one worker is run by a thread of the program, within a budget. */
#ifndef AXO__SCHED_HOST_H
#define AXO__SCHED_HOST_H

#include "sched/pool.h"

/* Runs a host pool on the calling thread until the worker finds no work, `budget_ns` of the
 * operating system's clock have passed (negative: no limit) or `turns_max` turns were run. AXO_OK;
 * AXO_EBUSY: another thread runs the pool, and nothing was done. */
axo_status axo__host_run(axo__sched *sched, int64_t budget_ns, uint64_t turns_max,
                         uint64_t *turns);

/* Flushes the worker's cache in the place of the host; false: a thread is in it, who will. */
bool axo__host_flush(axo__sched *sched);

#endif
