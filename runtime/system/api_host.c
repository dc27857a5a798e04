/* api_host.c - the door for the program that runs actors on its own threads: its event loop asks
 * for a deadline and a descriptor, and calls axo_run_host when one of the two is due; or its
 * threads visit the slots of a system that has none. */
#include <axo/axo.h>

#include "base/aside.h"
#include "sched/host.h"
#include "sched/io.h"
#include "sched/lent.h"
#include "sched/timer.h"
#include "system/pools.h"
#include "system/system.h"

/* A callback must not run the host: its turn would contain another turn of the same worker. */
static axo_status host_check(const axo_system *system)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    bool inside = axo__self != NULL && (axo__self->current != NULL || axo__self->ending);
    return inside ? AXO_ECONTEXT : AXO_OK;
}

static axo_status host_run(axo_system *system, int64_t budget_ns, uint64_t turns_max,
                           uint64_t *turns)
{
    axo__sched *pool = NULL;
    if (turns != NULL)
        *turns = 0;
    axo_status status = host_check(system);
    if (status == AXO_OK)
        status = axo__pools_host(system, &pool);
    return status == AXO_OK ? axo__host_run(pool, budget_ns, turns_max, turns) : status;
}

axo_status axo_run_host(axo_system *system, int64_t budget_ns, uint64_t *turns)
{
    return host_run(system, budget_ns, UINT64_MAX, turns);
}

axo_status axo_step_host(axo_system *system, uint64_t turns_max, uint64_t *turns)
{
    /* A budget below 0 is no budget: a step is bounded by its turns, and so repeats. */
    return host_run(system, -1, turns_max, turns);
}

int64_t axo_host_deadline(axo_system *system)
{
    axo__sched *pool =
        axo__system_check(system) == AXO_OK ? axo__pools_host_if_any(system) : NULL;
    if (pool == NULL)
        return INT64_MAX;
    axo__worker *worker = &pool->workers[0];
    /* A parked host has nothing to run before its next timer, or before a readiness for which there
     * was no memory is tried again; else it has work now. */
    int64_t now = axo__core_now(&system->core);
    if (axo__a32_load_relaxed(&worker->state) != AXO__WORKER_PARKED)
        return now < 0 ? now : 0;
    int64_t next = axo__timers_next(worker->timers);
    int64_t retry = axo__io_is_starved(pool) ? axo__clock_add(now, AXO__IO_RETRY_NS) : next;
    return retry < next ? retry : next;
}

/* A manual system's descriptor is readable for what its actors watch, too: it is the set, which has
 * the host's event in it. So it is the same before and after the first watch. */
int axo_host_fd(axo_system *system)
{
    axo__sched *pool = NULL;
    if (axo__system_check(system) != AXO_OK || axo__pools_host(system, &pool) != AXO_OK)
        return -1;
    int fd = axo__bell_ask(&pool->bell);
    if (pool != &system->sched || fd < 0)
        return fd;
    axo_status status;
    const axo__io *io = axo__io_take(&system->core, &status);
    return io != NULL ? io->poll.fd : -1;
}

/* ---- lent threads ---- */

static bool host_has_ended(axo_system *system)
{
    return axo__a32_load_acquire(&system->ended) != 0; /* [Y2] */
}

axo_status axo_worker_run(axo_system *system, uint32_t slot, int64_t budget_ns, uint64_t *turns)
{
    if (turns != NULL)
        *turns = 0;
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    if (!system->core.lent || slot >= system->sched.worker_count || budget_ns == 0)
        return AXO_EINVAL;
    /* In a function that a callback, or this library in a door, has called, a turn would stand in
     * another one, or wait for that door. */
    if (axo__self != NULL || axo__away != NULL || axo__aside != 0)
        return AXO_ECONTEXT;
    if (host_has_ended(system))
        return AXO_ESTOPPING;
    return axo__lent_run(&system->sched, slot, budget_ns, UINT64_MAX, turns);
}

int64_t axo_worker_due(axo_system *system)
{
    bool lent = axo__system_check(system) == AXO_OK && system->core.lent;
    return lent && !host_has_ended(system) ? axo__lent_due(&system->sched) : INT64_MAX;
}
