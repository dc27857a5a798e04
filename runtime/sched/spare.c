/* spare.c - the spare workers of the default pool: they look after the other workers, report
 * handlers that hang, and run the cells that wait while every worker is stuck in a handler.
 *
 * A spare also fires the timers of a worker that is in a handler for long, and looks for readiness
 * when no worker does, so that other actors do not wait for that handler; the second does so while
 * the first is in a cell.
 *
 * A worker is stuck when it is in a turn and has neither begun another turn nor finished a message
 * since the last look. While all workers are stuck, the first spare takes the cells that they left
 * in their queues, urgent cells first. The second spare looks after the first one as well; it takes
 * urgent cells only, and of these no user messages, so that a handler that hangs on the first spare
 * too does not stop failures from being decided.
 *
 * A spare looks at relaxed counters and stores nothing that a worker waits for: looking costs the
 * workers a cache line that is fetched now and then. How often it looks is `spare_mode`;
 * sched/DESIGN.md has the table of the modes.
 *
 * Orders
 *   [W1] [W6]   as in sched/wake.h
 *   [W5]   as in sched/pool.h
 *   [T4]             as in cell/table.h
 *   [Z1] [Z2]        as in sched/quiesce.h
 */
#include "sched/spare.h"

#include "sched/find.h"
#include "sched/follow.h"
#include "sched/newborn.h"
#include "sched/poller.h"
#include "sched/rest.h"
#include "sched/run.h"
#include "sched/steal.h"
#include "sched/timer.h"
#include "sched/wake.h"
#include "sched/worker.h"

/* 0 for the first spare, 1 for the second: their records lie behind those of the workers. */
static uint32_t spare_rank(const axo__worker *spare)
{
    uint32_t rank = (uint32_t)(spare - spare->sched->workers) - spare->sched->worker_count;
    AXO_DEBUG_ASSERT(rank < spare->sched->spare_count);
    return rank;
}

/* ---- looking ---- */

/* Reports a handler that has held its worker for `stuck_ns`, again after each further `stuck_ns`.
 * The cell may have ended since `running` was loaded: the load of its reference pairs with the
 * release stores of the cell's birth and end ([T3] of cell/table.h), and without a life there is
 * nothing to tell. The spare is a grace reader, so the slot is not reused while it looks. */
static void spare_report(axo__worker *spare, axo__worker *worker, axo__spare_mark *mark)
{
    axo__core *core = spare->local.core;
    axo__cell *cell = axo__aptr_load_relaxed(&worker->running);
    int64_t stuck_ns = spare->sched->stuck_ns;
    if (cell == NULL || stuck_ns == 0 || spare->now - mark->since < stuck_ns)
        return;
    if (mark->reported != 0 && spare->now - mark->reported < stuck_ns)
        return;
    if (!axo__cell_has_life(cell)) /* [T4] the actor has ended meanwhile */
        return;
    mark->reported = spare->now;
    if (core->stuck != NULL)
        core->stuck(&spare->local, cell, axo__a64_load_relaxed(&worker->running_tag),
                    spare->now - mark->since, axo__endless_why(worker, &mark->endless));
}

/* Whether the worker is in a turn and has not moved since the last look. The mark is the memory of
 * this spare; a worker that has moved gets a new `since`, so it is stuck at the second look at the
 * earliest, and only if the two are far enough apart. */
static bool spare_is_stuck(axo__worker *spare, axo__worker *worker, axo__spare_mark *mark)
{
    uint64_t turn = axo__worker_turn(worker);
    uint64_t handled = axo__a64_load_relaxed(&worker->local.count.handled);
    bool inside = axo__aptr_load_relaxed(&worker->running) != NULL;
    if (!inside || mark->since == 0 || turn != mark->turn || handled != mark->handled) {
        mark->turn = turn;
        mark->handled = handled;
        mark->since = inside ? spare->now : 0;
        mark->reported = 0;
        mark->endless.tries = 0;
        return false;
    }
    return spare->now - mark->since >= AXO__SPARE_NS / 2;
}

bool axo__spare_look_after(axo__worker *spare, axo__worker *worker, axo__spare_mark *mark)
{
    bool stuck = spare_is_stuck(spare, worker, mark);
    if (stuck)
        spare_report(spare, worker, mark);
    return stuck;
}

/* A worker that was the only one awake has kept what it made ready to itself, and wakes nobody now:
 * a parked one is woken, which takes it or watches. */
static void spare_call(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    if (axo__a32_load_seq_cst(&sched->parked) == 0 || /* [W1] */
        axo__a32_load_relaxed(&sched->watcher) != 0)
        return;
    if (axo__aptr_load_relaxed(&worker->next) != NULL || axo__runq_count_any(&worker->ready) > 0 ||
        axo__runq_count_any(&worker->urgent) > 0 || axo__newborn_count_any(worker) > 0 ||
        axo__follow_has_any(worker) || axo__a32_load_relaxed(&sched->core->expired_any) != 0)
        axo__sched_wake_one(sched);
}

/* The second spare runs hooks and deciders, which may not end either. */
static void spare_look_at_other(axo__worker *spare, axo__worker *other, axo__spare_mark *mark)
{
    (void)spare_is_stuck(spare, other, mark);
    axo__endless_look(spare, other, mark->since, &mark->endless);
}

/* Whether every worker before this spare is stuck: for the second spare the first one too, whose
 * handlers that hang only the second sees. */
static bool spare_look(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    uint32_t rank = spare_rank(spare);
    uint32_t before = sched->worker_count + rank;
    size_t all = axo__sched_all(sched);
    axo__spare_mark *marks = &sched->marks[rank * all];
    bool stuck = true;
    spare->endless_at = AXO__NEVER;
    for (uint32_t i = 0; i < before; i++) {
        axo__worker *worker = &sched->workers[i];
        bool hangs = spare_is_stuck(spare, worker, &marks[i]);
        axo__endless_look(spare, worker, marks[i].since, &marks[i].endless);
        if (!hangs) {
            stuck = false;
            continue;
        }
        if (rank == 0 || i == sched->worker_count)
            spare_report(spare, worker, &marks[i]);
        if (rank == 0)
            spare_call(worker);
    }
    if (rank == 0 && axo__a32_load_relaxed(&spare->local.core->watchdogs) != 0)
        spare_look_at_other(spare, &sched->workers[before + 1], &marks[before + 1]);
    return stuck;
}

/* ---- taking over ---- */

/* The injectors and the workers' queues, urgent cells of all of them first. A worker that moves
 * again meanwhile is no harm: the claim decides between it and the spare. */
static axo__cell *spare_take(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    bool urgent_only = spare_rank(spare) > 0;
    axo__cell *cell = axo__worker_find_urgent(spare);
    for (uint32_t i = 0; cell == NULL && i < sched->worker_count; i++)
        cell = axo__worker_rescue(spare, &sched->workers[i], true);
    if (cell != NULL || urgent_only)
        return cell;
    cell = axo__worker_find(spare);
    for (uint32_t i = 0; cell == NULL && i < sched->worker_count; i++)
        cell = axo__worker_rescue(spare, &sched->workers[i], false);
    return cell;
}

/* ---- resting ---- */

/* Whether every worker is parked. The count alone is not enough: wake_up takes a worker out of
 * PARKED before it lowers `parked`, so the worker may be running while the count still has it. The
 * loads of `state` pair with the worker's own read-modify-write in park_was_taken: if the spare
 * reads PARKED here, that worker looks at `spare_mode` later, and finds what spare_mode has
 * stored. */
static bool spare_all_parked(axo__sched *sched)
{
    if (axo__a32_load_seq_cst(&sched->parked) != sched->worker_count) /* [W1] */
        return false;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        if (axo__a32_load_seq_cst(&sched->workers[i].state) != AXO__WORKER_PARKED) /* [W1] */
            return false;
    }
    return true;
}

/* Whether any worker has begun a turn since the spare last asked. */
static bool spare_saw_turns(axo__worker *spare)
{
    const axo__sched *sched = spare->sched;
    uint64_t turns = 0;
    for (uint32_t i = 0; i < sched->worker_count; i++)
        turns += axo__worker_turn(&sched->workers[i]);
    bool saw = turns != spare->seen_turns;
    spare->seen_turns = turns;
    spare->saw_turns = saw;
    return saw;
}

/* How closely to look from now on. Only this function makes the mode looser, and wake_spare makes
 * it closer; both by compare-and-swap ([W6]), so a call that comes between the load and the swap is
 * not overwritten. After the swap to DEEP the spare looks once more: the addition of 0 puts the new
 * mode before that look in the order of all seq_cst operations, so a worker that gets up either is
 * found by the look, or reads DEEP in axo__spare_notice and calls.
 *
 * DEEP also asks for a time without turns, behind a look without any: a worker that gets up fifty
 * times a second then finds the spare dozing, and need not make a system call to wake it. */
static uint32_t spare_mode(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    uint32_t mode = axo__a32_load_seq_cst(&sched->spare_mode); /* [W6] */
    uint32_t parked = axo__a32_load_seq_cst(&sched->parked);   /* [W1] */
    bool quiet = !spare->saw_turns; /* at the last look: this one comes AXO__SPARE_DOZE_NS later */
    bool deep = !spare_saw_turns(spare) && quiet && spare_all_parked(sched);
    uint32_t next = parked == 0 ? mode : deep ? AXO__SPARE_DEEP : AXO__SPARE_DOZE;
    if (next <= mode || !axo__a32_cas_acq_rel(&sched->spare_mode, &mode, next)) /* [W6] */
        return axo__a32_load_seq_cst(&sched->spare_mode);                       /* [W6] */
    (void)axo__a32_add_seq_cst(&sched->spare_mode, 0); /* [W6] before the last look */
    if (next == AXO__SPARE_DEEP && !spare_all_parked(sched))
        axo__spare_notice(sched);
    return axo__a32_load_seq_cst(&sched->spare_mode); /* [W6] */
}

/* The second spare looks only while the first is in a cell. Its load of `rescuing` comes after its
 * ticket, and spare_run's addition before the wake-up of its parker: if the load misses the
 * addition, the wake-up ends the sleep ([W6]). */
static int64_t spare_deadline(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    if (spare_rank(spare) > 0) {
        bool look = axo__a32_load_seq_cst(&sched->rescuing) != 0; /* [W6] */
        return look ? spare->now + AXO__SPARE_NS : AXO__NEVER;
    }
    uint32_t mode = spare_mode(spare);
    if (mode == AXO__SPARE_WATCH)
        return spare->now + AXO__SPARE_NS;
    if (mode != AXO__SPARE_DOZE)
        return AXO__NEVER;
    if ((int64_t)axo__a64_load_relaxed(&sched->look_at) != AXO__NEVER)
        return spare->now + AXO__SPARE_NS; /* no worker waits for descriptors now */
    if (spare->saw_turns && axo__a32_load_relaxed(&sched->watcher) == 0)
        return spare->now + AXO__SPARE_NS; /* nobody else watches a worker that is alone */
    bool closer = sched->stuck_ns != 0 && sched->stuck_ns / 2 < AXO__SPARE_DOZE_NS;
    return spare->now + (closer ? sched->stuck_ns / 2 : AXO__SPARE_DOZE_NS);
}

/* Sooner, if a watchdog wants it. */
static int64_t spare_wake_at(axo__worker *spare)
{
    int64_t deadline = spare_deadline(spare);
    return deadline < spare->endless_at ? deadline : spare->endless_at;
}

/* The ticket is taken before the look at `quit`, `spare_mode` and `rescuing`: a thread that changes
 * one of these after the look wakes the parker, and the ticket is then out of date. */
static axo__step spare_rest(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    axo__local_flush(&spare->local);
    axo__cache_heed(&spare->local.cache);
    spare->thread.ticket = axo__os_parker_ticket(&spare->thread.parker);
    if ((axo__a32_load_acquire(&sched->quit) & AXO__QUIT_END) != 0) /* [W5] */
        return AXO__STEP_EXIT;
    spare->thread.deadline = spare_wake_at(spare);
    axo__worker_idles(spare);
    axo__a32_store_release(&spare->state, AXO__WORKER_PARKED); /* [Z1] */
    return AXO__STEP_PARK;
}

/* One turn of a cell. The second spare handles 0 messages: system work and directives only. The
 * first spare calls the second before it enters the cell, since it may not come back from there
 * soon. */
static void spare_run(axo__worker *spare, axo__cell *cell)
{
    axo__sched *sched = spare->sched;
    if (spare_rank(spare) > 0) {
        axo__run_cells(spare, cell, 0, 1); /* its messages may block, as other cells' have */
        return;
    }
    (void)axo__a32_add_seq_cst(&sched->rescuing, 1); /* [W6] */
    axo__os_parker_wake(&sched->workers[sched->worker_count + 1].thread.parker);
    axo__run_cells(spare, cell, sched->quantum, 1);
    (void)axo__a32_add_seq_cst(&sched->rescuing, UINT32_MAX); /* [W6] */
}

axo__step axo__spare_step(void *argument)
{
    axo__worker *spare = argument;
    axo__self = spare;
    axo__grace_quiet();
    if ((axo__a32_load_acquire(&spare->sched->quit) & AXO__QUIT_END) != 0) /* [W5] */
        return AXO__STEP_EXIT;
    axo__worker_read_clock(spare);
    (void)axo__timers_fire_late(spare);
    if (axo__poller_is_due(spare->sched, spare->now))
        (void)axo__poller_look(spare);
    axo__cell *cell = spare_look(spare) ? spare_take(spare) : NULL;
    if (cell == NULL)
        return spare_rest(spare);
    spare_run(spare, cell);
    return AXO__STEP_AGAIN;
}

/* A spare worker is not in `parked`, and nobody takes it out of PARKED: its state is for
 * quiesce.h. */
static void spare_wake(void *argument)
{
    axo__worker *spare = argument;
    axo__grace_online();
    (void)axo__a32_xchg_acq_rel(&spare->state, AXO__WORKER_AWAKE); /* [Z2] */
    axo__worker_read_clock(argument);
    axo__rest_end(argument);
}

const axo__os_body axo__spare_body = {
    .name = "axo/spare",
    .kind = AXO_THREAD_SPARE,
    .begin = axo__worker_begin,
    .step = axo__spare_step,
    .sleep = axo__worker_sleep,
    .wake = spare_wake,
    .end = axo__worker_end,
};
