/* spare.c - the spare workers of the default pool: they look after the others, say which handlers
 * hang, and run what is left behind while every worker is stuck in one.
 *
 * It also fires what the wheel of a worker that is in a handler for long has due, so that the
 * timers of other actors do not wait for it.
 *
 * A worker is stuck when it is in a turn and has neither begun another nor finished a message since
 * the last look. The first spare takes over what the workers leave, urgent cells first; the second
 * looks after the first as well, and takes urgent cells only, and of these no messages of users.
 *
 * Orders
 *   [W1] [W6]   as in sched/wake.h
 *   [W5]   as in sched/pool.h
 *   [T4]             as in cell/table.h
 */
#include "sched/spare.h"

#include "sched/find.h"
#include "sched/run.h"
#include "sched/steal.h"
#include "sched/timer.h"
#include "sched/wake.h"
#include "sched/worker.h"

static uint32_t spare_rank(const axo__worker *spare)
{
    uint32_t rank = (uint32_t)(spare - spare->sched->workers) - spare->sched->worker_count;
    AXO_DEBUG_ASSERT(rank < spare->sched->spare_count);
    return rank;
}

/* ---- looking ---- */

static void spare_report(axo__worker *spare, axo__worker *worker, axo__spare_mark *mark)
{
    axo__core *core = spare->local.core;
    axo__cell *cell = axo__aptr_load_relaxed(&worker->running);
    int64_t stuck_ns = spare->sched->stuck_ns;
    if (cell == NULL || stuck_ns == 0 || spare->now - mark->since < stuck_ns)
        return;
    if (mark->reported != 0 && spare->now - mark->reported < stuck_ns)
        return;
    if (axo__a32_load_acquire(&cell->generation) == 0) /* [T4] it has ended meanwhile */
        return;
    mark->reported = spare->now;
    if (core->stuck != NULL)
        core->stuck(&spare->local, cell, axo__a64_load_relaxed(&worker->running_tag),
                    spare->now - mark->since);
}

/* Whether the worker is in a turn and has not moved since the last look. */
static bool spare_is_stuck(axo__worker *spare, axo__worker *worker, axo__spare_mark *mark)
{
    uint32_t turn = axo__a32_load_relaxed(&worker->turn);
    uint64_t handled = axo__a64_load_relaxed(&worker->local.count.handled);
    bool inside = axo__aptr_load_relaxed(&worker->running) != NULL;
    if (!inside || mark->since == 0 || turn != mark->turn || handled != mark->handled) {
        mark->turn = turn;
        mark->handled = handled;
        mark->since = inside ? spare->now : 0;
        mark->reported = 0;
        return false;
    }
    return spare->now - mark->since >= AXO__SPARE_NS / 2;
}

/* Whether every worker before this one is stuck. */
static bool spare_look(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    uint32_t rank = spare_rank(spare);
    uint32_t before = sched->worker_count + rank;
    size_t all = axo__sched_all(sched);
    axo__spare_mark *marks = &sched->marks[rank * all];
    bool stuck = true;
    for (uint32_t i = 0; i < before; i++) {
        axo__worker *worker = &sched->workers[i];
        if (!spare_is_stuck(spare, worker, &marks[i]))
            stuck = false;
        else if (rank == 0)
            spare_report(spare, worker, &marks[i]);
    }
    return stuck;
}

/* ---- taking over ---- */

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

/* One that was taken out of PARKED may be up before it is taken out of the count. */
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

/* Whether a turn has been begun since this was last asked. */
static bool spare_saw_turns(axo__worker *spare)
{
    const axo__sched *sched = spare->sched;
    uint32_t turns = 0;
    for (uint32_t i = 0; i < sched->worker_count; i++)
        turns += axo__a32_load_relaxed(&sched->workers[i].turn);
    bool saw = turns != spare->seen_turns;
    spare->seen_turns = turns;
    return saw;
}

/* How closely to look from now on. Who gets up often finds the spare dozing: it need not call. */
static uint32_t spare_mode(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    uint32_t mode = axo__a32_load_seq_cst(&sched->spare_mode); /* [W6] */
    uint32_t parked = axo__a32_load_seq_cst(&sched->parked);   /* [W1] */
    bool deep = !spare_saw_turns(spare) && spare_all_parked(sched);
    uint32_t next = parked == 0 ? mode : deep ? AXO__SPARE_DEEP : AXO__SPARE_DOZE;
    if (next <= mode || !axo__a32_cas_acq_rel(&sched->spare_mode, &mode, next)) /* [W6] */
        return axo__a32_load_seq_cst(&sched->spare_mode); /* [W6] */
    (void)axo__a32_add_seq_cst(&sched->spare_mode, 0); /* [W6] before the last look */
    if (next == AXO__SPARE_DEEP && !spare_all_parked(sched))
        axo__spare_notice(sched);
    return axo__a32_load_seq_cst(&sched->spare_mode); /* [W6] */
}

/* The second spare looks while the first is in a cell. */
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
    bool closer = sched->stuck_ns != 0 && sched->stuck_ns / 2 < AXO__SPARE_DOZE_NS;
    return spare->now + (closer ? sched->stuck_ns / 2 : AXO__SPARE_DOZE_NS);
}

static axo__step spare_rest(axo__worker *spare)
{
    axo__sched *sched = spare->sched;
    axo__local_flush(&spare->local);
    spare->thread.ticket = axo__os_parker_ticket(&spare->thread.parker);
    if (axo__a32_load_acquire(&sched->quit) != 0) /* [W5] */
        return AXO__STEP_EXIT;
    spare->thread.deadline = spare_deadline(spare);
    return AXO__STEP_PARK;
}

static void spare_run(axo__worker *spare, axo__cell *cell)
{
    axo__sched *sched = spare->sched;
    if (spare_rank(spare) > 0) {
        axo__run_cells(spare, cell, 0, 1); /* its messages may block, as those of the others have */
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
    if (axo__a32_load_acquire(&spare->sched->quit) != 0) /* [W5] */
        return AXO__STEP_EXIT;
    axo__worker_read_clock(spare);
    if (spare_rank(spare) == 0)
        (void)axo__timers_fire_late(spare);
    axo__cell *cell = spare_look(spare) ? spare_take(spare) : NULL;
    if (cell == NULL)
        return spare_rest(spare);
    spare_run(spare, cell);
    return AXO__STEP_AGAIN;
}

/* A spare worker is in nobody's count of parked ones. */
static void spare_wake(void *argument)
{
    axo__grace_online();
    axo__worker_read_clock(argument);
}

const axo__os_body axo__spare_body = {
    .begin = axo__worker_begin,
    .step = axo__spare_step,
    .sleep = axo__worker_sleep,
    .wake = spare_wake,
    .end = axo__worker_end,
};
