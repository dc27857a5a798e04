/* worker.c - a worker's step: find a cell and run it, do housekeeping, or park.
 *
 * A step is one bounded thing, and between two steps the port decides what the thread does: so the
 * simulator can choose which worker moves next. In a step the worker runs up to `turns` turns, then
 * does housekeeping if it is due; without a cell it takes expired cells, fires timers, steals, and
 * parks if nothing was found.
 */
#include "sched/worker.h"

#include "base/aside.h"
#include "base/stamp.h"
#include "sched/board.h"
#include "os/poll.h"
#include "sched/crew.h"
#include "sched/endless.h"
#include "sched/expire.h"
#include "sched/find.h"
#include "sched/park.h"
#include "sched/poller.h"
#include "sched/pool.h"
#include "sched/ready.h"
#include "sched/rest.h"
#include "sched/run.h"
#include "sched/steal.h"
#include "sched/timer.h"
#include "sched/trap.h"
#include "sched/wake.h"

/* ---- housekeeping ---- */

/* Hands retired cells over to the reclaimer, in large numbers, so that few grace periods serve many
 * cells; every AXO__HOUSEKEEPING_ROUNDS rounds in any number, so that no cell waits for long. Then
 * it finishes expired cells, in portions, as long as the budget lasts: its own; and with these
 * rounds a portion of anybody's. */
static void worker_housekeeping(axo__worker *worker, uint64_t turn)
{
    if ((worker->attention & AXO__LOOK_QUIET) != 0)
        axo__worker_offer_quiet(worker); /* before the destructors of expired cells */
    axo__worker_notice(worker);
    bool long_ago = turn % ((uint64_t)AXO__HOUSEKEEPING_TURNS * AXO__HOUSEKEEPING_ROUNDS) == 0;
    if (worker->local.retired_count >= AXO__RETIRE_MIN || long_ago)
        axo__local_hand_over(&worker->local);
    axo__worker_tidy_ready(worker);
    uint32_t left = AXO__HOUSEKEEPING_TURNS * 4; /* four for each turn since the last round */
    while (left >= AXO__PORTION && axo__expire_own(worker, AXO__PORTION) &&
           axo__os_now() < worker->until)
        left -= AXO__PORTION;
    if (long_ago)
        (void)axo__expire_any(worker, AXO__PORTION);
}

/* ---- a step ---- */

/* Whether no worker watches although one is parked that could. The load of `parked` pairs with the
 * sleeper's addition in axo__worker_park ([W1]). */
static bool worker_unwatched(const axo__sched *sched)
{
    return axo__a32_load_relaxed(&sched->watcher) == 0 &&
           axo__a32_load_seq_cst(&sched->parked) > 0; /* [W1] */
}

/* The worker has found work: the last column of idle.h's table. `watch_due` stays 1 until some
 * worker becomes the watcher, so if the woken worker finds work too, it hands the watch on in
 * turn. */
static void worker_hand_on(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    axo__idle_role role = worker->role;
    bool due = role == AXO__IDLE_WATCHED ||
               (role == AXO__IDLE_SEARCHED && worker_unwatched(sched)) ||
               axo__a32_load_relaxed(&sched->watch_due) != 0;
    worker->role = AXO__IDLE_NONE;
    if (!due || axo__worker_is_alone(worker))
        return;
    worker->watch_ns = AXO__WATCH_MIN_NS;
    axo__a32_store_relaxed(&sched->watch_due, 1);
    axo__sched_wake_one(sched);
}

/* Quiet pushes and the watch are offered to other workers before the turn, which may last as long
 * as a handler does. */
static void worker_run(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == NULL && axo__state_is_running(&cell->state));
    if (axo__unlikely((worker->attention & AXO__LOOK_QUIET) != 0))
        axo__worker_offer_quiet(worker);
    if (axo__unlikely(worker->role != AXO__IDLE_NONE))
        worker_hand_on(worker);
    worker->idle_at = 0;
    axo__run_cells(worker, cell, worker->sched->quantum, worker->sched->turns);
}

/* A step without a cell of its own: each kind of work that is not in a queue of this worker, in the
 * order of its price. After each success the step ends, and the next one begins with the queues
 * again. */
static axo__step worker_idle(axo__worker *worker)
{
    axo__local_flush(&worker->local);
    if (axo__unlikely(worker->board != NULL))
        axo__board_worker_count(worker);
    axo__worker_tidy_ready(worker);
    if (axo__expire_idle(worker, AXO__PORTION))
        return AXO__STEP_AGAIN;
    worker->sched->idle(worker->local.core);
    if (axo__worker_clock(worker) || axo__timers_fire_late(worker))
        return AXO__STEP_AGAIN; /* the timers may have made cells ready */
    if (worker->sched->kind->ends(worker))
        return AXO__STEP_EXIT;
    axo__cell *cell = axo__worker_steal(worker);
    if (cell == NULL)
        return axo__worker_park(worker);
    worker_run(worker, cell);
    return AXO__STEP_AGAIN;
}

/* The worker has found no cell, and a bit of `quit` is set. A job may have lost its last portion
 * meanwhile. */
static __attribute__((noinline)) axo__step worker_called(axo__worker *worker)
{
    if (axo__crew_step(worker))
        return AXO__STEP_AGAIN;
    if ((axo__a32_load_acquire(&worker->sched->quit) & AXO__QUIT_END) == 0) /* [W5] */
        return worker_idle(worker);
    /* The last cell of the system may be one that this worker has freed. */
    worker->sched->idle(worker->local.core);
    return AXO__STEP_EXIT;
}

/* The worker holds no cell between two steps, so each step begins by telling the reclaimer so.
 * `quit` is obeyed only when the queues are empty; its load acquires what the thread that called
 * axo__sched_quit wrote before ([W5]). */
axo__step axo__worker_step(void *argument)
{
    axo__worker *worker = argument;
    if (axo__unlikely(worker->forked))
        worker->local.core->forked();
    axo__self = worker;
    axo__grace_quiet();
    axo__cell *cell = axo__worker_find(worker);
    if (axo__unlikely(cell == NULL)) {
        if (axo__a32_load_acquire(&worker->sched->quit) == 0) /* [W5] */
            return worker_idle(worker);
        return worker_called(worker);
    }
    AXO__STAMP(FOUND);
    worker_run(worker, cell);
    uint64_t turn = axo__worker_turn(worker);
    if (axo__unlikely(turn % AXO__HOUSEKEEPING_TURNS == 0))
        worker_housekeeping(worker, turn);
    return AXO__STEP_AGAIN;
}

/* ---- a thread ---- */

/* Runs on the worker's own thread, or for the host on the program's, as the other functions here:
 * the thread-local word and the registration as a grace reader are the thread's. */
void axo__worker_begin(void *argument)
{
    axo__worker *worker = argument;
    AXO_DEBUG_ASSERT(worker->current == NULL && worker->unwind == NULL);
    axo__self = worker;
    worker->outer_aside = axo__aside; /* an observer may lend its thread to a host's worker */
    axo__aside = 0;
    worker->outer_offline = axo__grace_enter();
    if (worker->local.core->lent)
        axo__grace_visit(&worker->local.core->grace, &worker->reader);
    axo__worker_read_clock(worker); /* its first callback begins before it has read one */
    axo__worker_notice(worker);
    axo__rest_start(worker);
    axo__board_worker_begin(worker);
    if (worker->trap != NULL) {
        axo__trap_begin(worker);
        axo__endless_begin(worker);
    }
}

void axo__worker_end(void *argument)
{
    axo__worker *worker = argument;
    AXO_DEBUG_ASSERT(worker->current == NULL && worker->site == AXO_SITE_NONE);
    if (worker->trap != NULL) {
        axo__endless_end(worker);
        axo__trap_end(worker);
    }
    axo__local_flush(&worker->local);
    axo__board_worker_end(worker);
    axo__rest_begin(worker);
    axo__grace_leave(worker->outer_offline);
    axo__aside = worker->outer_aside;
    axo__self = NULL;
    if (worker->local.core->lent) {
        axo__grace_away(&worker->reader);
        (void)axo__grace_poll(&worker->local.core->grace, NULL);
    }
}

/* A sleeping thread reads nothing, and must not hold up a grace period. */
void axo__worker_sleep(void *argument)
{
    axo__rest_begin(argument);
    axo__grace_offline();
}

/* After a sleep, for whatever reason. The worker gets up before it looks at the spare's mode: [W6]
 * of sched/wake.h asks for this order. */
void axo__worker_wake(void *argument)
{
    axo__worker *worker = argument;
    AXO__STAMP(WOKEN);
    axo__grace_online();
    AXO__STAMP(ONLINE);
    axo__worker_unpark_owner(worker);
    AXO__STAMP(UP);
    worker->role = axo__idle_up(worker->role);
    axo__worker_read_clock(worker);
    axo__worker_notice(worker);
    axo__rest_end(worker);
    if (worker->thread.polls)
        axo__poller_wake(worker);
    axo__spare_notice(worker->sched);
    AXO__STAMP(READY);
}

const axo__os_body axo__worker_body = {
    .name = "axo/w",
    .kind = AXO_THREAD_WORKER,
    .begin = axo__worker_begin,
    .step = axo__worker_step,
    .sleep = axo__worker_sleep,
    .wake = axo__worker_wake,
    .end = axo__worker_end,
};

/* ---- for kinds ---- */

void axo__worker_wake_parker(axo__worker *worker)
{
    AXO__STAMP(WAKE);
    axo__os_thread_wake(&worker->thread);
}

/* Step (3) of sched/timer.h: the load of `next` comes after the addition to `parked`. No thread can
 * sleep until a time of the program's clock, so with such a clock there is no deadline. */
int64_t axo__worker_deadline(const axo__worker *worker)
{
    bool ticks = axo__likely(worker->local.core->clock == NULL);
    return ticks ? axo__timers_next(worker->timers) : AXO__NEVER;
}

/* PARKED or ABSENT. */
bool axo__worker_is_parked(axo__worker *worker)
{
    return axo__a32_add_acq_rel(&worker->state, 0) != AXO__WORKER_AWAKE; /* [Z2] */
}

bool axo__worker_ends_never(axo__worker *worker)
{
    (void)worker;
    return false;
}
