/* quiesce.c - looks whether nothing was running or queued. The numbers, and the proof, are
 * in quiesce.h. */
#include "sched/quiesce.h"

#include "sched/follow.h"
#include "sched/newborn.h"
#include "sched/timer.h"

/* (1), (8), for one pool. A record that an elastic pool makes meanwhile changes the sum, too. */
static uint64_t quiesce_sum_one(const axo__sched *sched)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
        const axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        sum += axo__a64_load_acquire(&worker->idled) + 1; /* [Z2] */
    }
    return sum;
}

static uint64_t quiesce_sum(const axo__sched *first, const axo__sched *others)
{
    uint64_t sum = quiesce_sum_one(first);
    for (; others != NULL; others = others->next)
        sum += quiesce_sum_one(others);
    return sum;
}

/* (2). A thread in a door may be preempted there, so it is not waited for. */
static bool quiesce_doors_are_free(axo__sched *first)
{
    for (uint32_t i = 0; i < first->door_count; i++) {
        if (!axo__os_gate_try(&first->doors[i].gate))
            return false;
        axo__os_gate_leave(&first->doors[i].gate);
    }
    return true;
}

/* (5). Only the default pool has wheels. */
static bool quiesce_no_timer_waits(const axo__sched *first, int64_t now)
{
    for (uint32_t i = 0; i < first->worker_count; i++) {
        if (axo__timers_wait(first->workers[i].timers, now))
            return false;
    }
    return true;
}

/* A slot of lent threads is left with entries in its range that visitors of others have taken. */
static bool quiesce_has_newborns(const axo__worker *worker)
{
    uint32_t top = axo__a32_load_relaxed(&worker->newborn_top);
    uint32_t at = axo__a32_load_relaxed(&worker->newborn_floor);
    if (axo__likely(at == top))
        return false;
    for (; at != top; at++) {
        if (axo__aptr_load_relaxed(&worker->newborns[at % AXO__NEWBORNS]) != NULL)
            return true;
    }
    return false;
}

/* (6), for one pool. */
static bool quiesce_is_empty(axo__sched *sched)
{
    if (axo__inject_has_any(&sched->inject) || axo__inject_has_any(&sched->urgent) ||
        axo__inject_has_any(&sched->overrun))
        return false;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        const axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (!axo__runq_is_empty_any(&worker->urgent) || !axo__runq_is_empty_any(&worker->ready) ||
            !axo__runq_is_empty_any(&worker->overrun) || axo__follow_has_any(worker) ||
            quiesce_has_newborns(worker) || axo__aptr_load_relaxed(&worker->next) != NULL)
            return false;
    }
    return true;
}

/* (7), for one pool. Under its mutex, as a thread of a pool of blocking actors is started under it:
 * one that was started before is met, one that is started after has taken nothing before. */
static bool quiesce_is_idle(axo__sched *sched)
{
    bool idle = true;
    axo__os_mutex_lock(&sched->mutex);
    for (uint32_t i = 0; i < axo__sched_all(sched) && idle; i++) {
        axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        idle = sched->kind->is_idle(worker);
    }
    axo__os_mutex_unlock(&sched->mutex);
    return idle;
}

static bool quiesce_all(axo__sched *first, axo__sched *others, bool (*holds)(axo__sched *sched))
{
    if (!holds(first))
        return false;
    for (; others != NULL; others = others->next) {
        if (!holds(others))
            return false;
    }
    return true;
}

bool axo__quiesce_look(axo__sched *first, axo__sched *others, int64_t now)
{
    axo__core *core = first->core;
    uint64_t sum = quiesce_sum(first, others); /* (1) */
    if (!quiesce_doors_are_free(first)) /* (2) */
        return false;
    if (!axo__grace_is_idle(&core->grace)) { /* (3) */
        axo__grace_hurry(&core->grace);
        return false;
    }
    /* What expired before (3) is seen by the reclaimer's mutex, which (3) has taken. */
    if (axo__a32_load_relaxed(&core->expired_any) != 0) /* (4) */
        return false;
    if (!quiesce_no_timer_waits(first, now)) /* (5) */
        return false;
    if (!quiesce_all(first, others, quiesce_is_empty)) /* (6) */
        return false;
    if (!quiesce_all(first, others, quiesce_is_idle)) /* (7) */
        return false;
    return quiesce_sum(first, others) == sum; /* (8) */
}
