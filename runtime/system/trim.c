/* trim.c - memory that nobody uses goes back to the program's allocator: caches are flushed into
 * the depot, then chunks that are free as a whole are given back (mem/slab_trim.c). */
#include "system/trim.h"

#include "mem/slab_trim.h"
#include "sched/trim.h"
#include "system/pools.h"

/* A trim that waits for workers looks again this often. */
#define TRIM_LOOK_NS INT64_C(100000)

/* A door's cache is that of the thread inside. */
static void trim_doors(axo_system *system)
{
    axo__sched *sched = &system->sched;
    for (uint32_t i = 0; i < sched->door_count; i++) {
        axo__os_gate_enter(&sched->doors[i].gate);
        axo__cache_flush(&sched->doors[i].local.cache);
        axo__os_gate_leave(&sched->doors[i].gate);
    }
}

/* Returns how many caches are still asked for. */
static uint32_t trim_ask(axo_system *system, uint32_t round)
{
    uint32_t left = axo__sched_trim(&system->sched, round);
    axo__os_mutex_lock(&system->pools_mutex);
    for (axo__sched *pool = system->pools; pool != NULL; pool = pool->next)
        left += axo__sched_trim(pool, round);
    axo__os_mutex_unlock(&system->pools_mutex);
    return left;
}

/* Asks until all caches have been flushed, or the time is over; false: it is. */
static bool trim_wait(axo_system *system, uint32_t round, int64_t timeout_ns)
{
    axo__os_latch never;
    int64_t end = axo__clock_add(axo__os_now(), timeout_ns);
    if (trim_ask(system, round) == 0)
        return true;
    if (timeout_ns == 0 || !axo__os_latch_init(&never))
        return false;
    bool done = false;
    int64_t now;
    while (!done && (now = axo__os_now()) < end) {
        int64_t next = now + TRIM_LOOK_NS;
        (void)axo__os_latch_wait(&never, next < end ? next : end);
        done = trim_ask(system, round) == 0;
    }
    axo__os_latch_fini(&never);
    return done;
}

axo_status axo__trim(axo_system *system, int64_t timeout_ns, uint64_t *bytes)
{
    axo__core *core = &system->core;
    uint32_t round = axo__pool_trim_begin(&core->pool);
    if (round == 0)
        return AXO_EBUSY;
    /* in axo_block this thread is still the worker that it will be again */
    if (axo__away != NULL && axo__away->local.core == core)
        axo__cache_flush(&axo__away->local.cache);
    trim_doors(system);
    bool done = trim_wait(system, round, timeout_ns);
    bool memory = axo__pool_trim(&core->pool, bytes);
    axo__pool_trim_end(&core->pool);
    if (!memory)
        return AXO_ENOMEM;
    return done ? AXO_OK : AXO_ETIMEDOUT;
}
