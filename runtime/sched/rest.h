/* rest.h - how long a worker has slept, and how long it has been awake.
 *
 * A worker takes the time where it goes to sleep and where it gets up, never in a turn: the last
 * reading of its clock, which it has just made for other reasons. The host's worker sleeps between
 * two calls of axo_run_host.
 *
 * One word says both whether it sleeps and for how long it has: awake, the sum of its sleeps;
 * asleep, AXO__REST_ASLEEP and the time from which its sleep would have begun if all of them were
 * one. So a reader that meets any moment of the change has one of two sums that are right.
 *
 * Roles      The worker's thread stores, relaxed; everybody may load. `told` is guarded by
 *            pools_mutex: the clock of a reader may be ahead of the one that the worker has read,
 *            and what was told never goes back.
 */
#ifndef AXO__SCHED_REST_H
#define AXO__SCHED_REST_H

#include "sched/pool.h"

#define AXO__REST_ASLEEP (UINT64_C(1) << 63)

/* It goes to sleep; it may sleep already. */
static inline void axo__rest_begin(axo__worker *worker)
{
    uint64_t slept = axo__a64_load_relaxed(&worker->rest);
    if ((slept & AXO__REST_ASLEEP) == 0)
        axo__a64_store_relaxed(&worker->rest, AXO__REST_ASLEEP | ((uint64_t)worker->now - slept));
}

/* It is awake, and has read its clock since; it may have been awake already. */
static inline void axo__rest_end(axo__worker *worker)
{
    uint64_t since = axo__a64_load_relaxed(&worker->rest);
    if ((since & AXO__REST_ASLEEP) != 0)
        axo__a64_store_relaxed(&worker->rest, (uint64_t)worker->now - (since & ~AXO__REST_ASLEEP));
}

/* Its thread begins, for the first time or again, and has read its clock. */
static inline void axo__rest_start(axo__worker *worker)
{
    if (axo__a64_load_relaxed(&worker->rest_began) == 0)
        axo__a64_store_relaxed(&worker->rest_began, (uint64_t)worker->now);
    else
        axo__rest_end(worker);
}

/* For how long it has slept and been awake, in ns, if the clock says `now`; both 0 before its first
 * thread. */
static inline void axo__rest_read(const axo__worker *worker, int64_t now, int64_t *slept,
                                  int64_t *awake)
{
    int64_t began = (int64_t)axo__a64_load_relaxed(&worker->rest_began);
    uint64_t word = axo__a64_load_relaxed(&worker->rest);
    *slept = *awake = 0;
    if (began == 0)
        return;
    *slept = (int64_t)word;
    if ((word & AXO__REST_ASLEEP) != 0)
        *slept = now - (int64_t)(word & ~AXO__REST_ASLEEP);
    *awake = now - began - *slept;
}

#endif
