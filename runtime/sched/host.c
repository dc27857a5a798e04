/* host.c - a pool whose one worker is run by a thread of the program, within a budget.
 *
 * The worker has no thread of its own: a call of axo_run_host lends it one. Between two calls the
 * worker counts as parked if it ran dry, so a pusher takes the ordinary way of a wake-up, whose
 * last step rings a bell instead of waking a parker; the program polls the bell's descriptor.
 *
 * Orders
 *   [W8] cas acq_rel / store release, host_busy   one thread at a time runs the host's worker; the
 *                                    next thread acquires what the last one wrote to the worker
 *   [Z2] as in sched/quiesce.h
 */
#include "sched/host.h"

#include "sched/io.h"
#include "sched/kinds.h"
#include "sched/park.h"
#include "sched/poller.h"
#include "sched/sched.h"
#include "sched/timer.h"
#include "sched/wake.h"
#include "sched/worker.h"

#define AXO__HOST_IDLE_CALLS 64u

/* Takes the worker for this thread; false: another thread has it. After a call that ran dry the
 * worker is PARKED, so that a push rings; after any other call the bell stayed rung.
 *
 * The compare-and-swap acquires the worker's plain fields as host_leave of the last thread released
 * them; without that pair the second thread might run with an old `current` or `role`. */
static bool host_enter(axo__sched *sched)
{
    axo__worker *worker = &sched->workers[0];
    uint32_t free = 0;
    AXO_DEBUG_ASSERT(sched->worker_count == 1);
    if (!axo__a32_cas_acq_rel(&sched->host_busy, &free, 1)) /* [W8] */
        return false;
    axo__worker_body.begin(worker);
    if (worker->was_parked)
        axo__worker_unpark_owner(worker);
    /* The bell is cleared after the worker has left PARKED: every push that rang it before is then
     * found by the first look, and every later push is an awake worker's to find. */
    axo__bell_clear(&sched->bell);
    worker->was_parked = false;
    axo__worker_read_clock(worker);
    (void)axo__poller_look(worker);
    return true;
}

/* With a budget the clock is read after each message: a message of 20 us may follow many of 20 ns,
 * and a stride would notice it too late. */
static void host_limit(axo__worker *worker, int64_t budget_ns)
{
    bool limited = budget_ns >= 0;
    worker->until = limited ? axo__clock_add(worker->now, budget_ns) : AXO__NEVER;
    worker->clock_stride_max = limited ? 1 : AXO__CLOCK_STRIDE_MAX;
    worker->clock_stride = 1;
    worker->until_clock = 1;
}

/* Gives the worker up. A call that its budget cut short rings, since entries may be left
 * and no push would announce them. The release store is the last step: the next thread may run the
 * worker from there on, see host_enter. */
static void host_leave(axo__sched *sched, bool dry)
{
    axo__worker *worker = &sched->workers[0];
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&sched->host_busy) == 1);
    worker->was_parked = dry;
    axo__worker_body.end(worker);
    axo__sched_unhold(sched->core);
    if (!dry)
        axo__bell_ring(&sched->bell);
    axo__worker_idles(worker);
    axo__a32_store_release(&sched->host_busy, 0); /* [W8] */
}

/* In a manual system this thread is the only reader, so between two turns a grace period is over at
 * once, and the host does the reclaimer's work. true: cells have expired, and the worker, which had
 * parked, goes on to them. */
static bool host_reclaim(axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker == axo__self && worker->current == NULL);
    if (!worker->local.core->manual || !axo__grace_run(&worker->local.core->grace))
        return false;
    axo__worker_unpark_owner(worker);
    axo__bell_clear(&worker->sched->bell);
    return true;
}

typedef struct host_call {
    axo__sched *sched;
    int64_t budget_ns;
    uint64_t turns_max;
    uint64_t turns; /* the turns that were run */
    bool dry;
} host_call;

/* Steps until the worker runs dry, or the turns or the budget are used up. It runs under
 * axo__os_root, as a handler of the program may end its thread. */
static void host_turns(void *arg)
{
    host_call *call = arg;
    axo__worker *worker = &call->sched->workers[0];
    uint64_t first = axo__worker_turn(worker);
    while (!call->dry && call->turns < call->turns_max) {
        if (axo__worker_step(worker) != AXO__STEP_AGAIN)
            call->dry = !host_reclaim(worker);
        if (worker->local.core->lent)
            axo__grace_heard(&worker->local.core->grace, &worker->reader);
        call->turns = axo__worker_turn(worker) - first;
        if (!call->dry && call->budget_ns >= 0 && axo__os_now() >= worker->until)
            break;
    }
}

/* Whether a call would find nothing: the last one ran dry, nobody has rung since, no timer is due.
 * Then a frame costs some looks. What rings no bell is descriptors, for which each call looks, and
 * memory that threads outside have retired, which waits for one in AXO__HOST_IDLE_CALLS. */
static bool host_is_idle(axo__sched *sched)
{
    const axo__worker *worker = &sched->workers[0];
    if (axo__bell_is_rung(&sched->bell) || axo__io_of(axo__core_sched(sched->core)) != NULL ||
        axo__a32_load_relaxed(&worker->state) != AXO__WORKER_PARKED)
        return false;
    /* Only a program's clock comes to the last moment of all, for which `next` says AXO__NEVER. */
    int64_t next = axo__timers_next(worker->timers);
    if ((next != AXO__NEVER || sched->core->clock != NULL) && next <= axo__core_now(sched->core))
        return false;
    uint32_t calls = axo__a32_load_relaxed(&sched->host_idle) + 1;
    axo__a32_store_relaxed(&sched->host_idle, calls); /* two at once may count as one */
    return calls % AXO__HOST_IDLE_CALLS != 0;
}

axo_status axo__host_run(axo__sched *sched, int64_t budget_ns, uint64_t turns_max,
                         uint64_t *turns)
{
    host_call call = {.sched = sched, .budget_ns = budget_ns, .turns_max = turns_max};
    if (host_is_idle(sched)) {
        if (turns != NULL)
            *turns = 0;
        return AXO_OK;
    }
    int before = axo__os_cancel_hold(); /* the program's thread is a worker until the end */
    if (!host_enter(sched)) {
        axo__os_cancel_let(before);
        return AXO_EBUSY;
    }
    host_limit(&sched->workers[0], budget_ns);
    axo__os_root(host_turns, &call);
    host_limit(&sched->workers[0], -1);
    if (turns != NULL)
        *turns = call.turns;
    host_leave(sched, call.dry);
    axo__os_cancel_let(before);
    return AXO_OK;
}

bool axo__host_flush(axo__sched *sched)
{
    uint32_t free = 0;
    if (!axo__a32_cas_acq_rel(&sched->host_busy, &free, 1)) /* [W8] */
        return false;
    axo__cache_flush(&sched->workers[0].local.cache);
    axo__a32_store_release(&sched->host_busy, 0); /* [W8] */
    return true;
}

/* ---- the kind ---- */

static axo_status host_make(axo__sched *sched)
{
    sched->turns = 1;
    axo_status status = axo__sched_make_workers(sched);
    if (status != AXO_OK)
        return status;
    return axo__bell_init(&sched->bell) ? AXO_OK : AXO_ETHREAD;
}

static void host_unmake(axo__sched *sched)
{
    if (sched->bell.event.fd >= 0)
        axo__os_event_fini(&sched->bell.event);
    axo__sched_unmake_workers(sched);
}

/* Between two calls: what a call has left behind lies in queues. */
static bool host_is_free(axo__worker *worker)
{
    return axo__a32_add_acq_rel(&worker->sched->host_busy, 0) == 0; /* [W8] [Z2] */
}

static void host_wake(axo__worker *worker)
{
    axo__bell_ring(&worker->sched->bell);
}

const axo__sched_kind axo__host_kind = {
    .body = &axo__worker_body,
    .make = host_make,
    .unmake = host_unmake,
    .enter = axo__sched_enter_any,
    .leave = axo__sched_leave_any,
    .nobody_parked = axo__spare_alarm,
    .wake = host_wake,
    .deadline = axo__worker_deadline,
    .ends = axo__worker_ends_never,
    .is_idle = host_is_free,
};
