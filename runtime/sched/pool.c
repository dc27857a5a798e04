/* pool.c - the thread-local words that lead a thread to its worker, the start of a worker's record,
 * and the question which worker runs a cell. */
#include "sched/pool.h"

#include "sched/span.h"

_Thread_local axo__worker *axo__self;
_Thread_local axo__worker *axo__away;

/* Runs in a child that a callback has forked: the child has the worker's memory, but no other
 * thread of the system. Contexts are void from here on, and the first function of the runtime that
 * the child comes back to ends the process. A cause is recorded, so that a handler that returns
 * leaves the short path of run_message and reaches run_outcome, which looks at `forked`. */
static void pool_forked(void)
{
    axo__worker *worker = axo__self;
    if (worker == NULL)
        return;
    worker->forked = true;
    worker->forked_in = worker->current;
    worker->current = NULL;
    worker->pending.kind = AXO_FAILURE_ORDINARY;
    if (worker->message != NULL)
        worker->message->flags |= AXO__MESSAGE_BLAMED;
    worker->messages_left = 0;
    worker->step_end = worker->plain_end = axo__worker_turn(worker);
}

/* Registers pool_forked, once for each copy of the library that is loaded. */
static __attribute__((constructor)) void pool_at_fork(void)
{
    axo__os_at_fork(pool_forked);
}

void axo__worker_notice(axo__worker *worker)
{
    const uint64_t messages = AXO_EVENT_BIT(AXO_EV_RECEIVE) | AXO_EVENT_BIT(AXO_EV_RECEIVED);
    const axo__core *core = worker->local.core;
    worker->local.traces = axo__core_kinds(core);
    worker->attention &= ~(uint32_t)AXO__LOOK_TRACED;
    if (core->figures != NULL || axo__local_traces(&worker->local, messages))
        worker->attention |= AXO__LOOK_TRACED;
    axo__cache_heed(&worker->local.cache);
}

static const axo__a32 pool_never_0 = {1};

/* The number in a thread's name: of the worker, of the spare worker from 1 on, or of the pool that
 * one actor has to itself. */
static uint32_t pool_thread_number(const axo__sched *sched, uint32_t index)
{
    if (index >= sched->worker_count)
        return index - sched->worker_count + 1;
    return sched->kind->single ? sched->number : index;
}

/* A worker of a shared pool and a spare worker own no queues: their rings have size 1 and are
 * always full, so the push functions of ready.c need no case for them and overflow to the
 * injectors. */
void axo__worker_init(axo__worker *worker, axo__sched *sched, uint32_t index)
{
    AXO_DEBUG_ASSERT(index < sched->worker_count + sched->spare_count);
    bool batches = sched == axo__core_sched(sched->core);
    axo__local_init(&worker->local, sched->core, sched->number << 16 | index,
                    batches ? sched->core->table.batch : 1);
    worker->sched = sched;
    worker->own = sched->kind->shared || index >= sched->worker_count ? NULL : sched;
    worker->parked = &sched->parked;
    if (worker->own == NULL || worker->own != axo__core_sched(sched->core)) {
        worker->attention |= AXO__LOOK_FOREIGN;
        worker->parked = &pool_never_0;
    }
    axo__worker_notice(worker);
    worker->clock_stride = 1;
    worker->long_ago = AXO__LONG_AGO;
    worker->clock_stride_max = AXO__CLOCK_STRIDE_MAX;
    worker->until_clock = 1;
    worker->plain_tags = axo__span_plain_tags(sched->core);
    worker->until = AXO__NEVER;
    worker->watch_ns = AXO__WATCH_MIN_NS;
    for (uint32_t what = 0; what < AXO__KEEPS; what++)
        worker->keep_ns[what] = AXO__WATCH_MIN_NS;
    worker->line_ns = AXO__LINE_NS;
    axo__os_parker_init(&worker->thread.parker);
    worker->thread.number = pool_thread_number(sched, index);
    worker->thread.common = &sched->core->threads;
    axo__random_init(&worker->random, sched->core->seed, UINT64_C(0x776f726b) + index);
    bool queues = worker->own != NULL;
    axo__worker_slots *slots = queues ? &sched->slots[index] : NULL;
    axo__runq_init(&worker->urgent, queues ? slots->urgent : NULL, queues ? AXO__URGENT_SIZE : 1);
    axo__runq_init(&worker->ready, queues ? slots->ready : NULL, queues ? AXO__RUNQ_SIZE : 1);
    axo__inject_init(&worker->followers, &worker->follows, 0);
    axo__runq_init(&worker->overrun, queues ? slots->overrun : NULL, queues ? AXO__RUNQ_SIZE : 1);
}

/* Two workers may name the cell at once: a worker that has released it names it until it leaves the
 * turn, but has cleared its tag before the release (run_turn). So the worker with a tag is
 * in `receive`. */
bool axo__sched_running(const axo__cell *cell, uint64_t *tag, int64_t *since)
{
    const axo__sched *sched = axo__cell_sched(cell);
    bool found = false;
    for (uint32_t i = 0; i < axo__sched_all(sched); i++) {
        const axo__worker *worker = axo__sched_worker(sched, i);
        if (worker == NULL)
            break;
        if (axo__aptr_load_relaxed(&worker->running) != cell)
            continue;
        found = true;
        *tag = axo__a64_load_relaxed(&worker->running_tag);
        *since = (int64_t)axo__a64_load_relaxed(&worker->since);
        if (*tag != 0)
            break;
    }
    return found;
}
