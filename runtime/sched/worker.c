/* worker.c - a worker's step: find a cell and run it, or park. */
#include "sched/worker.h"

#include <string.h>

_Thread_local axo__worker *axo__self;
_Thread_local axo__worker *axo__away;

/* In the child: contexts are void from here on, and the first that goes on as if nothing had
 * happened ends the process. `pending` leads a handler that returns off its short way. */
static void worker_forked(void)
{
    axo__worker *worker = axo__self;
    if (worker == NULL)
        return;
    worker->forked = true;
    worker->forked_in = worker->current;
    worker->current = NULL;
    worker->pending.kind = AXO_FAILURE_ORDINARY;
    worker->left = 0;
    worker->turns_left = 1;
}

/* Once for each copy of the library that is loaded. */
static __attribute__((constructor)) void worker_at_fork(void)
{
    axo__os_at_fork(worker_forked);
}

void axo__worker_init(axo__worker *worker, axo__sched *sched, uint32_t index)
{
    AXO_DEBUG_ASSERT(index < sched->worker_count + sched->spare_count);
    worker->core = sched->core;
    worker->sched = sched;
    worker->own = sched->kind->shared || index >= sched->worker_count ? NULL : sched;
    worker->local.index = sched->number << 16 | index;
    worker->local.batch = sched == axo__core_sched(sched->core) ? sched->core->table.batch : 1;
    worker->clock_stride = 1;
    worker->clock_stride_max = AXO__CLOCK_STRIDE_MAX;
    worker->until_clock = 1;
    worker->until = AXO__NEVER;
    worker->watch_ns = AXO__WATCH_MIN_NS;
    axo__os_parker_init(&worker->thread.parker);
    axo__random_init(&worker->random, sched->core->seed, UINT64_C(0x776f726b) + index);
    bool queues = worker->own != NULL;
    axo__worker_slots *slots = queues ? &sched->slots[index] : NULL;
    axo__runq_init(&worker->urgent, queues ? slots->urgent : NULL, queues ? AXO__URGENT_SIZE : 1);
    axo__runq_init(&worker->ready, queues ? slots->ready : NULL, queues ? AXO__RUNQ_SIZE : 1);
    axo__runq_init(&worker->slow, queues ? slots->slow : NULL, queues ? AXO__RUNQ_SIZE : 1);
}

/* Messages of the turn that runs. */
static uint32_t worker_turn_messages(const axo__worker *worker)
{
    const axo__cell *cell = worker->current;
    AXO_DEBUG_ASSERT(cell == NULL || worker->left <= worker->sched->quantum << cell->behind);
    return cell != NULL ? (worker->sched->quantum << cell->behind) - worker->left : 0;
}

/* Who has used up the time of a turn: the cell of this one, or those that follow each other through
 * the next slot. A turn is known to have, by itself, if the last reading is of it or of its start:
 * since then at most `stride` messages were handled. */
static void worker_clock_shares(axo__worker *worker, uint32_t stride)
{
    int64_t quantum = worker->sched->quantum_ns;
    bool over = worker->now - worker->turn_clock >= quantum;
    if (over && worker_turn_messages(worker) >= stride)
        worker->spent_turn = axo__a32_load_relaxed(&worker->turn);
    if (over || worker->yields || worker->now >= worker->until)
        worker->left = 0;
    if (worker->next_runs == 0)
        worker->next_clock = AXO__NEVER;
    else if (worker->next_clock == AXO__NEVER)
        worker->next_clock = worker->now;
    else if (worker->now - worker->next_clock >= quantum)
        worker->next_runs = AXO__NEXT_RUNS_MAX;
    if (axo__runq_is_empty_any(&worker->slow) && !axo__inject_has_any(&worker->sched->slow))
        worker->slow_clock = worker->now;
    else if (worker->now - worker->slow_clock >= AXO__SLOW_QUANTA * quantum)
        worker->slow_due = true;
}

/* The stride adapts, so that short messages do not pay for the clock and long ones are seen. */
bool axo__worker_clock(axo__worker *worker)
{
    int64_t before = worker->now;
    uint32_t stride = worker->clock_stride;
    axo__worker_read_clock(worker);
    int64_t quantum = worker->sched->quantum_ns;
    if (worker->now - before > quantum / 2)
        worker->clock_stride = 1;
    if (worker->now - before > quantum / 8)
        worker->inject_from = 0;
    else if (stride < worker->clock_stride_max)
        worker->clock_stride = stride * 2;
    worker->until_clock = worker->clock_stride;
    worker_clock_shares(worker, stride);
    if (axo__likely(axo__timers_next(worker->timers) > axo__worker_time(worker)))
        return false;
    return worker->timers != NULL && axo__timers_fire(worker, worker->timers);
}

static axo__cell *worker_from_queue(axo__worker *worker, axo__runq *queue)
{
    for (;;) {
        axo__cell *cell = axo__runq_take_any(queue);
        if (cell == NULL || axo__worker_claim(worker, cell) != NULL)
            return cell;
    }
}

static axo__cell *worker_from_inject_slow(axo__worker *worker, axo__inject *inject, uint64_t bit)
{
    axo__sched *sched = worker->sched;
    axo__mpsc_node *node = NULL;
    while (axo__inject_pop_any(inject, &node) == AXO__INJECT_ITEM) {
        axo__cell *cell = bit == AXO__INJECTED ? axo__cell_of_inject(node)
                                               : axo__cell_of_urgent(node);
        axo__state_injected(&cell->state, bit);
        if (axo__worker_claim(worker, cell) == NULL)
            continue;
        if (axo__inject_has_any(inject) && axo__a32_load_relaxed(&sched->searching) == 0)
            axo__sched_wake_one(sched);
        return cell;
    }
    return NULL;
}

static inline axo__cell *worker_from_inject(axo__worker *worker, axo__inject *inject,
                                            uint64_t bit)
{
    if (axo__likely(!axo__inject_has_any(inject)))
        return NULL;
    return worker_from_inject_slow(worker, inject, bit);
}

static axo__cell *worker_from_next(axo__worker *worker)
{
    axo__cell *cell = axo__aptr_load_relaxed(&worker->next);
    if (cell == NULL)
        return NULL;
    axo__aptr_store_relaxed(&worker->next, NULL);
    if (worker->next_runs < AXO__NEXT_RUNS_MAX) {
        worker->next_runs++;
        return axo__worker_claim(worker, cell);
    }
    axo__worker_push_back(worker, cell);
    return NULL;
}

static axo__cell *worker_from_newborns(axo__worker *worker)
{
    if (axo__likely(axo__newborn_is_empty_owner(worker)))
        return NULL;
    worker->newborn_runs++;
    bool oldest = ++worker->newborn_turns % AXO__NEWBORN_OLDEST == 0;
    axo__cell *cell = axo__unlikely(oldest) ? axo__newborn_oldest_owner(worker)
                                            : axo__newborn_youngest_owner(worker);
    if (cell != NULL)
        axo__worker_offer_newborns(worker);
    return cell;
}

/* One that found no room follows into the place that has come free: first in, first out. */
static void worker_refill_slow(axo__worker *worker)
{
    axo__mpsc_node *node = NULL;
    AXO_DEBUG_ASSERT(worker->own != NULL); /* the place is in a queue of its own */
    if (axo__inject_pop_any(&worker->sched->slow, &node) != AXO__INJECT_ITEM)
        return;
    axo__cell *cell = axo__cell_of_inject(node);
    axo__state_injected(&cell->state, AXO__INJECTED);
    axo__worker_push_slow(worker, cell);
}

/* Each of its messages may take long, so the clock is read after each. */
static axo__cell *worker_from_slow(axo__worker *worker)
{
    axo__inject *more = &worker->sched->slow;
    axo__cell *cell = worker_from_queue(worker, &worker->slow);
    if (axo__unlikely(axo__inject_has_any(more))) {
        if (cell != NULL)
            worker_refill_slow(worker);
        else
            cell = worker_from_inject(worker, more, AXO__INJECTED);
    }
    if (cell == NULL)
        return NULL;
    axo__worker_read_clock(worker);
    worker->clock_stride = 1;
    worker->until_clock = 1;
    worker->slow_clock = worker->now;
    return cell;
}

/* Up to so many of those whose grace period is over. */
static axo__grace_item *worker_take_expired(axo__core *core, uint32_t max)
{
    axo__os_mutex_lock(&core->expired_mutex);
    axo__grace_item *items = core->expired;
    axo__grace_item **last = &core->expired;
    for (; max > 0 && *last != NULL; max--)
        last = &(*last)->next;
    core->expired = *last;
    if (last != &core->expired)
        *last = NULL;
    if (core->expired == NULL)
        axo__a32_store_relaxed(&core->expired_any, 0);
    axo__os_mutex_unlock(&core->expired_mutex);
    return items;
}

/* Cells whose grace period is over: anybody may finish them. */
static bool worker_expire(axo__worker *worker, uint32_t max)
{
    axo__core *core = worker->core;
    if (axo__a32_load_relaxed(&core->expired_any) == 0)
        return false;
    axo__grace_item *items = worker_take_expired(core, max);
    bool any = items != NULL;
    while (items != NULL) {
        axo__cell *cell = axo__cell_of_retired(items);
        items = items->next;
        if (items != NULL) {
            __builtin_prefetch(items);
            __builtin_prefetch(axo__cell_of_retired(items));
        }
        worker->sched->ops->expire(core, &worker->local, cell);
    }
    return any;
}

axo__cell *axo__worker_find_urgent(axo__worker *worker)
{
    axo__cell *cell = worker_from_queue(worker, &worker->urgent);
    if (cell == NULL)
        return worker_from_inject(worker, &worker->sched->urgent, AXO__URGENT_INJECTED);
    axo__worker_offer_urgent(worker);
    return cell;
}

static axo__cell *worker_find_ready(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t turn = axo__a32_load_relaxed(&worker->turn);
    axo__cell *cell;
    if (axo__unlikely(turn - worker->inject_turn >= AXO__INJECT_TURNS)) {
        worker->inject_turn = turn;
        cell = worker_from_inject(worker, &sched->inject, AXO__INJECTED);
        if (cell == NULL && worker->slow_due) {
            worker->slow_due = false;
            cell = worker_from_slow(worker);
        }
        if (cell != NULL)
            return cell;
    }
    bool others_first = worker->newborn_runs >= AXO__NEWBORN_RUNS_MAX;
    if (!others_first && (cell = worker_from_newborns(worker)) != NULL)
        return cell;
    worker->newborn_runs = 0;
    cell = worker_from_next(worker);
    if (cell != NULL)
        return cell;
    worker->next_runs = 0;
    worker->next_clock = AXO__NEVER;
    cell = worker_from_queue(worker, &worker->ready);
    if (cell == NULL)
        cell = worker_from_inject(worker, &sched->inject, AXO__INJECTED);
    if (cell == NULL && others_first)
        cell = worker_from_newborns(worker);
    return cell != NULL ? cell : worker_from_slow(worker);
}

static inline bool worker_has_urgent(const axo__worker *worker)
{
    return !axo__runq_is_empty_any(&worker->urgent) ||
           axo__inject_has_any(&worker->sched->urgent);
}

axo__cell *axo__worker_find(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker->current == NULL);
    axo__cell *cell = NULL;
    if (axo__likely(!worker_has_urgent(worker))) {
        worker->urgent_runs = 0;
        return worker_find_ready(worker);
    }
    if (axo__unlikely(worker->urgent_runs >= AXO__URGENT_RUNS_MAX)) {
        worker->urgent_runs = 0;
        cell = worker_find_ready(worker);
        if (cell != NULL) {
            axo__worker_offer_urgent(worker);
            return cell;
        }
    }
    cell = axo__worker_find_urgent(worker);
    if (cell != NULL) {
        worker->urgent_runs++;
        return cell;
    }
    worker->urgent_runs = 0;
    return worker_find_ready(worker);
}

/* The house is kept between steps. */
axo__cell *axo__worker_find_next(axo__worker *worker)
{
    if (axo__unlikely(axo__a32_load_relaxed(&worker->turn) % AXO__HOUSE_TURNS == 0))
        return NULL;
    axo__grace_quiet();
    axo__cell *cell = axo__worker_find(worker);
    if (axo__unlikely(worker->quiet))
        axo__worker_offer_quiet(worker);
    return cell;
}

/* Pushers wake nobody while there is a searcher, and leave private entries to the watcher. So one
 * that has been searching and goes to work sees to it that there is a watcher. */
static bool worker_unwatched(const axo__worker *worker)
{
    const axo__sched *sched = worker->sched;
    return worker->searched && axo__a32_load_relaxed(&sched->watcher) == 0 &&
           axo__a32_load_seq_cst(&sched->parked) > 0; /* [W1] */
}

/* A watcher that finds work hands its watch on; so does who was woken to take it and finds work. */
static void worker_hand_on(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    bool due = worker->watched || worker_unwatched(worker) ||
               axo__a32_load_relaxed(&sched->watch_due) != 0;
    worker->woken = false;
    worker->searched = false;
    worker->watched = false;
    if (!due)
        return;
    worker->watch_ns = AXO__WATCH_MIN_NS;
    axo__a32_store_relaxed(&sched->watch_due, 1);
    axo__sched_wake_one(sched);
}

static void worker_run(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == NULL && axo__state_is_running(&cell->state));
    if (axo__unlikely(worker->quiet))
        axo__worker_offer_quiet(worker);
    if (axo__unlikely(worker->woken || worker->searched))
        worker_hand_on(worker);
    worker->idle_at = 0;
    axo__run_cells(worker, cell, worker->sched->quantum, worker->sched->turns);
}

axo__step axo__worker_idle(axo__worker *worker)
{
    axo__local_flush(worker->core, &worker->local);
    if (worker_expire(worker, AXO__PORTION))
        return AXO__STEP_AGAIN;
    worker->sched->idle(worker->core);
    if (axo__worker_clock(worker) || axo__timers_fire_late(worker))
        return AXO__STEP_AGAIN; /* to what was fired */
    if (worker->sched->kind->ends(worker))
        return AXO__STEP_EXIT;
    axo__cell *cell = axo__worker_steal(worker);
    if (cell == NULL)
        return axo__worker_park(worker);
    worker_run(worker, cell);
    return AXO__STEP_AGAIN;
}

/* Few grace periods for many cells, but none waits for long. */
static void worker_house(axo__worker *worker, uint32_t turn)
{
    if (worker->quiet)
        axo__worker_offer_quiet(worker); /* before the destructors of what has expired */
    if (worker->local.retired_count >= AXO__RETIRE_MIN ||
        turn % (AXO__HOUSE_TURNS * AXO__HOUSE_ROUNDS) == 0)
        axo__local_hand_over(worker->core, &worker->local);
    uint32_t left = AXO__HOUSE_TURNS * 4; /* as many as can have ended since, and some */
    while (left >= AXO__PORTION && worker_expire(worker, AXO__PORTION) &&
           axo__os_now() < worker->until)
        left -= AXO__PORTION;
}

axo__step axo__worker_step(void *argument)
{
    axo__worker *worker = argument;
    if (axo__unlikely(worker->forked))
        worker->core->forked();
    axo__self = worker;
    axo__grace_quiet();
    axo__cell *cell = axo__worker_find(worker);
    if (axo__unlikely(cell == NULL)) {
        if (axo__a32_load_acquire(&worker->sched->quit) == 0) /* [W5] */
            return axo__worker_idle(worker);
        worker->sched->idle(worker->core); /* the last cell of all may be one that it has freed */
        return AXO__STEP_EXIT;
    }
    worker_run(worker, cell);
    uint32_t turn = axo__a32_load_relaxed(&worker->turn);
    if (axo__unlikely(turn % AXO__HOUSE_TURNS == 0))
        worker_house(worker, turn);
    return AXO__STEP_AGAIN;
}

void axo__worker_begin(void *argument)
{
    axo__worker *worker = argument;
    AXO_DEBUG_ASSERT(worker->current == NULL && worker->unwind == NULL);
    axo__self = worker;
    axo__grace_enter();
}

void axo__worker_end(void *argument)
{
    axo__worker *worker = argument;
    AXO_DEBUG_ASSERT(worker->current == NULL && worker->site == AXO_SITE_NONE);
    axo__local_flush(worker->core, &worker->local);
    axo__grace_leave();
    axo__self = NULL;
}

void axo__worker_sleep(void *argument)
{
    (void)argument;
    axo__grace_offline();
}

void axo__worker_wake(void *argument)
{
    axo__worker *worker = argument;
    axo__grace_online();
    axo__worker_unpark_owner(worker);
    worker->woken = true;
    axo__worker_read_clock(worker);
    axo__spare_notice(worker->sched);
}

const axo__os_body axo__worker_body = {
    .begin = axo__worker_begin,
    .step = axo__worker_step,
    .sleep = axo__worker_sleep,
    .wake = axo__worker_wake,
    .end = axo__worker_end,
};

/* ---- for kinds ---- */

void axo__worker_wake_parker(axo__worker *worker)
{
    axo__os_parker_wake(&worker->thread.parker);
}

int64_t axo__worker_deadline(const axo__worker *worker)
{
    bool ticks = axo__likely(worker->core->clock == NULL);
    return ticks ? axo__timers_next(worker->timers) : AXO__NEVER;
}

bool axo__worker_ends_never(axo__worker *worker)
{
    (void)worker;
    return false;
}
