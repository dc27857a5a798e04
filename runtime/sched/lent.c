/* lent.c - the default pool of a system of lent threads: its workers are slots, which threads of
 * the program visit (axo_worker_run); none has a thread of its own.
 *
 * A slot that is away is in the place of a worker that sleeps: it is PARKED and counted in
 * `parked`. Who has pushed work takes it out of PARKED as ever; it is ABSENT then, and the program
 * is asked for a visit. The thread that comes may enter any slot. It answers the ask: if its own
 * slot was not asked for, another one that was is PARKED again, so `parked` is the number of visits
 * that may still be asked for.
 *
 * What a slot that is away has left is nobody's: each visitor takes it over, fires its timers, and
 * does what a reclaimer and spare workers do elsewhere, between two steps, when it comes, when it
 * has nothing to do, and each AXO__LENT_CHORES_NS.
 *
 * The watch (idle.h) is no worker's here: a visitor that leaves while others are in turns leaves
 * the time at which somebody should look after them (`watch_at`, axo_worker_due), and the next
 * visitor takes the watch up.
 *
 * Orders
 *   [W10] cas acq_rel, visited       one thread at a time is in the slot; the next one acquires
 *                                    what the last one wrote to the worker. A thread that is
 *                                    refused leaves KNOCKED: the one inside cannot leave by its
 *                                    swap then, and looks once more, so no ask is lost
 *         load acquire, visited      who ends the system sees what the last visitor wrote
 *         cas acq_rel / store release, looking   one visitor at a time has the marks
 *   [W1] [W4] as in sched/wake.h
 *   [Z2] as in sched/quiesce.h
 */
#include "sched/lent.h"

#include "os/poll.h"
#include "sched/claim.h"
#include "sched/follow.h"
#include "sched/io.h"
#include "sched/kinds.h"
#include "sched/newborn.h"
#include "sched/poller.h"
#include "sched/ready.h"
#include "sched/sched.h"
#include "sched/spare.h"
#include "sched/timer.h"
#include "sched/wake.h"
#include "sched/worker.h"

/* The values of `visited`. */
enum { LENT_FREE = 0, LENT_TAKEN = 1, LENT_KNOCKED = 2 };

/* ---- what slots that are away have left ---- */

static bool lent_is_away(const axo__worker *worker)
{
    return axo__a32_load_relaxed(&worker->state) != AXO__WORKER_AWAKE;
}

/* Behind the last one the count says so, as the owner's own look would: a visitor that parks goes
 * by the count. */
static axo__cell *lent_take_newborn(axo__worker *from)
{
    axo__cell *cell = axo__newborn_take_any(from, false);
    uint32_t top = axo__a32_load_relaxed(&from->newborn_top);
    if (cell == NULL)
        cell = axo__newborn_take_any(from, true);
    if (cell == NULL && lent_is_away(from))
        axo__a32_store_relaxed(&from->newborn_taken, top);
    return cell;
}

static axo__cell *lent_take_follower(axo__worker *from)
{
    axo__mpsc_node *node = NULL;
    if (axo__inject_pop_any(&from->followers, &node) != AXO__INJECT_ITEM)
        return NULL;
    axo__cell *cell = axo__cell_of_inject(node);
    axo__state_injected(&cell->state, AXO__INJECTED);
    return cell;
}

/* Takes entries of each kind over, AXO__PORTION at most: hints, as a thief's are. The slot may be
 * entered meanwhile; then its visitor and this one are owner and thief. */
static void lent_take_over(axo__worker *worker, axo__worker *from)
{
    axo__cell *cell;
    uint32_t left = AXO__PORTION;
    for (; left > 0 && (cell = axo__runq_take_any(&from->urgent)) != NULL; left--)
        axo__worker_push_urgent(worker, cell);
    for (; left > 0 && (cell = axo__runq_take_any(&from->ready)) != NULL; left--)
        axo__worker_push_back(worker, cell);
    for (; left > 0 && (cell = lent_take_newborn(from)) != NULL; left--)
        axo__worker_push_back(worker, cell);
    for (; left > 0 && (cell = axo__runq_take_any(&from->overrun)) != NULL; left--)
        axo__worker_push_overrun(worker, cell);
    for (; left > 0 && (cell = lent_take_follower(from)) != NULL; left--)
        axo__worker_push_back(worker, cell);
}

/* ---- chores: what elsewhere the reclaimer and the spare workers do ---- */

/* Reports handlers that hang. */
static void lent_look(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t free = 0;
    if (!axo__a32_cas_acq_rel(&sched->looking, &free, 1)) /* [W10] */
        return;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        if (&sched->workers[i] != worker)
            axo__spare_look_after(worker, &sched->workers[i], &sched->marks[i]);
    }
    axo__a32_store_release(&sched->looking, 0); /* [W10] */
}

/* Between two turns; the visitor holds no cell. */
static void lent_chores(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    AXO_DEBUG_ASSERT(worker->current == NULL);
    worker->chores_at = worker->now + AXO__LENT_CHORES_NS;
    (void)axo__timers_fire_late(worker);
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        if (&sched->workers[i] != worker && lent_is_away(&sched->workers[i]))
            lent_take_over(worker, &sched->workers[i]);
    }
    lent_look(worker);
    (void)axo__grace_poll(&worker->local.core->grace, &worker->reader);
}

/* ---- a visit ---- */

/* false: another thread is in the slot, and will look for work once more. */
static bool lent_enter(axo__worker *worker)
{
    for (;;) {
        uint32_t was = LENT_FREE;
        if (axo__a32_cas_acq_rel(&worker->visited, &was, LENT_TAKEN)) /* [W10] */
            return true;
        if (was == LENT_KNOCKED)
            return false;
        if (was == LENT_TAKEN &&
            axo__a32_cas_acq_rel(&worker->visited, &was, LENT_KNOCKED)) /* [W10] */
            return false;
    }
}

/* The visitor's last step: from here on the system may be gone. false: a thread was refused; it is
 * forgotten. */
static bool lent_let(axo__worker *worker)
{
    uint32_t was = LENT_TAKEN;
    axo__worker_idles(worker);
    if (axo__a32_cas_acq_rel(&worker->visited, &was, LENT_FREE)) /* [W10] */
        return true;
    AXO_DEBUG_ASSERT(was == LENT_KNOCKED);
    (void)axo__a32_cas_acq_rel(&worker->visited, &was, LENT_TAKEN); /* [W10] */
    return false;
}

/* A visitor that was not asked for answers an ask for another slot. */
static void lent_answer(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *other = &sched->workers[i];
        uint32_t asked = AXO__WORKER_ABSENT;
        if (axo__a32_load_relaxed(&other->state) == asked &&
            axo__a32_cas_acq_rel(&other->state, &asked, AXO__WORKER_PARKED)) { /* [W4] */
            (void)axo__a32_add_seq_cst(&sched->parked, 1);                     /* [W1] */
            return;
        }
    }
}

/* The slot is AWAKE, and has the watch if there is one. The swap competes with wakers and with
 * lent_answer of other visitors. */
static void lent_get_up(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    uint32_t was;
    uint32_t watched = 1;
    do {
        was = axo__a32_load_relaxed(&worker->state);
        AXO_DEBUG_ASSERT(was != AXO__WORKER_AWAKE && worker->role == AXO__IDLE_NONE);
    } while (!axo__a32_cas_acq_rel(&worker->state, &was, AXO__WORKER_AWAKE)); /* [W4] */
    if (was == AXO__WORKER_PARKED) {
        (void)axo__a32_add_seq_cst(&sched->parked, UINT32_MAX); /* [W1] */
        lent_answer(sched);
    }
    bool watch = axo__a32_cas_acq_rel(&sched->watcher, &watched, 0); /* [W4] */
    worker->role = watch ? AXO__IDLE_WATCHED : AXO__IDLE_WOKEN;
    worker->chores_at = worker->now;
    (void)axo__poller_look(worker);
}

/* The visitor has parked, and its slot is away already: a waker may ask for a visit. Its watch is
 * nobody's from here on, and due at `watch_at`. */
static void lent_lie_down(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    if (worker->role == AXO__IDLE_WATCHING)
        axo__a64_store_relaxed(&sched->watch_at, (uint64_t)worker->thread.deadline);
    worker->role = AXO__IDLE_NONE;
}

/* The visitor goes though there may be work: steps (2), and (6) to (8) of sched/wake.h for all that
 * it leaves. Others reach each queue but the next slot. */
static void lent_break_off(axo__worker *worker)
{
    axo__sched *sched = worker->sched;
    axo__cell *cell = axo__aptr_load_relaxed(&worker->next);
    axo__aptr_store_relaxed(&worker->next, NULL);
    if (cell != NULL)
        axo__worker_push_back(worker, cell);
    worker->role = AXO__IDLE_NONE;
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_PARKED);
    (void)axo__a32_add_seq_cst(&sched->parked, 1); /* [W1] */
    axo__sched_wake_one(sched);
}

/* As host_limit: with a budget the clock is read after each message. */
static void lent_limit(axo__worker *worker, int64_t until)
{
    bool limited = until != AXO__NEVER;
    worker->until = until;
    worker->clock_stride_max = limited ? 1 : AXO__CLOCK_STRIDE_MAX;
    worker->clock_stride = 1;
    worker->until_clock = 1;
}

typedef struct lent_call {
    axo__worker *worker;
    int64_t until;        /* AXO__NEVER: no limit */
    int64_t deadline;     /* the same, looked at between two steps alone */
    const axo__a32 *over; /* and so is this: not 0: the visit ends; NULL: it does not by that */
    uint64_t turns_max;
    uint64_t turns;       /* the turns that were run */
    bool dry;
    axo__crew_job *job;   /* NULL: it runs cells */
} lent_call;

static bool lent_is_over(const lent_call *call)
{
    if (call->turns >= call->turns_max ||
        (call->over != NULL && axo__a32_load_relaxed(call->over) != 0))
        return true;
    return call->deadline != AXO__NEVER && axo__os_now() >= call->deadline;
}

/* Steps until the worker parks, or the visit is over. It runs under
 * axo__os_root, as a handler of the program may end its thread. */
static void lent_turns(void *arg)
{
    lent_call *call = arg;
    axo__worker *worker = call->worker;
    axo__grace *grace = &worker->local.core->grace;
    uint64_t before = axo__worker_turn(worker) - call->turns;
    call->dry = false;
    while (axo__worker_step(worker) == AXO__STEP_AGAIN) {
        axo__grace_heard(grace, &worker->reader);
        call->turns = axo__worker_turn(worker) - before;
        if (worker->now >= worker->chores_at)
            lent_chores(worker);
        if (lent_is_over(call))
            return;
    }
    call->dry = true;
}

/* Portions of the job until none is left. What they make ready is left to others. */
static void lent_portions(void *arg)
{
    lent_call *call = arg;
    axo__worker *worker = call->worker;
    while (axo__crew_help(worker->sched, call->job, worker)) {
        axo__grace_quiet();
        axo__grace_heard(&worker->local.core->grace, &worker->reader);
    }
}

/* A thread that was refused has been asked for, perhaps, and is gone: whoever stays looks for work
 * once more; whoever has no time left asks again. */
static void lent_visit(lent_call *call)
{
    axo__worker *worker = call->worker;
    for (;;) {
        axo__worker_body.begin(worker);
        lent_get_up(worker);
        lent_limit(worker, call->until);
        axo__os_root(call->job != NULL ? lent_portions : lent_turns, call);
        lent_limit(worker, AXO__NEVER);
        if (call->dry)
            lent_lie_down(worker);
        else
            lent_break_off(worker);
        axo__worker_body.end(worker);
        if (lent_let(worker))
            return;
        if (call->dry)
            continue;
        do {
            axo__core_ask(worker->local.core);
        } while (!lent_let(worker));
        return;
    }
}

/* The budget begins when the slot is entered. */
static axo_status lent_run(lent_call *call, axo__worker *worker, int64_t budget_ns)
{
    int before = axo__os_cancel_hold(); /* the program's thread is a worker until the end */
    if (!lent_enter(worker)) {
        axo__os_cancel_let(before);
        return AXO_EBUSY;
    }
    call->worker = worker;
    call->until = AXO__NEVER;
    if (budget_ns >= 0)
        call->until = call->deadline = axo__clock_add(axo__os_now(), budget_ns);
    lent_visit(call);
    axo__os_cancel_let(before);
    return AXO_OK;
}

static axo_status lent_run_free(lent_call *call, axo__sched *sched, int64_t budget_ns)
{
    axo_status status = AXO_EBUSY;
    for (uint32_t i = 0; i < sched->worker_count && status == AXO_EBUSY; i++) {
        if (axo__a32_load_relaxed(&sched->workers[i].visited) == LENT_FREE)
            status = lent_run(call, &sched->workers[i], budget_ns);
    }
    return status;
}

axo_status axo__lent_run(axo__sched *sched, uint32_t slot, int64_t budget_ns, uint64_t turns_max,
                         uint64_t *turns)
{
    lent_call call = {.turns_max = turns_max, .deadline = AXO__NEVER};
    AXO_DEBUG_ASSERT(slot < sched->worker_count && sched->kind->lent);
    axo_status status = lent_run(&call, &sched->workers[slot], budget_ns);
    if (status == AXO_OK && turns != NULL)
        *turns = call.turns;
    return status;
}

axo_status axo__lent_help(axo__sched *sched, int64_t budget_ns)
{
    lent_call call = {.turns_max = UINT64_MAX, .deadline = AXO__NEVER};
    return lent_run_free(&call, sched, budget_ns);
}

axo_status axo__lent_help_until(axo__sched *sched, int64_t deadline, const axo__a32 *over,
                                uint64_t *turns)
{
    lent_call call = {.turns_max = UINT64_MAX, .deadline = deadline, .over = over};
    axo_status status = lent_run_free(&call, sched, -1);
    *turns = call.turns;
    return status;
}

axo_status axo__lent_crew(axo__sched *sched, axo__crew_job *job)
{
    lent_call call = {.deadline = AXO__NEVER, .job = job};
    AXO_DEBUG_ASSERT(sched->kind->lent);
    return lent_run_free(&call, sched, -1);
}

/* A thread that was refused meanwhile is asked for again: it may have been the answer to an ask. */
bool axo__lent_flush(axo__worker *worker)
{
    uint32_t free = LENT_FREE;
    if (!axo__a32_cas_acq_rel(&worker->visited, &free, LENT_TAKEN)) /* [W10] */
        return false;
    axo__cache_flush(&worker->local.cache);
    while (!lent_let(worker))
        axo__core_ask(worker->local.core);
    return true;
}

/* ---- when a visit is due ---- */

/* In how many ns the wheel's next timer is; of a slot that is visited, when another visitor may
 * fire it. */
static int64_t lent_timer_due(const axo__worker *owner, int64_t now)
{
    int64_t next = axo__timers_next(owner->timers);
    bool grant = !lent_is_away(owner) && owner->local.core->clock == NULL;
    if (next == AXO__NEVER)
        return INT64_MAX;
    next = grant ? axo__clock_add(next, AXO__TIMER_LATE_NS) : next;
    return next > now ? (int64_t)((uint64_t)next - (uint64_t)now) : 0;
}

int64_t axo__lent_due(axo__sched *sched)
{
    int64_t now = axo__core_now(sched->core);
    int64_t due = INT64_MAX;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        int64_t one = lent_timer_due(&sched->workers[i], now);
        due = one >= 0 && one < due ? one : due;
    }
    if (axo__a32_load_relaxed(&sched->watcher) != 0) {
        int64_t watch = (int64_t)axo__a64_load_relaxed(&sched->watch_at) - axo__os_now();
        due = watch < due ? watch : due;
    }
    const axo__io *io = axo__io_of(sched);
    if (io != NULL && axo__a32_load_relaxed(&io->watched) != 0 && due > AXO__IO_RETRY_NS)
        due = AXO__IO_RETRY_NS;
    return due > 0 ? due : 0;
}

/* ---- the beginning and the end ---- */

void axo__lent_open(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count; i++)
        lent_answer(sched);
    axo__sched_wake_one(sched);
}

void axo__lent_close(axo__sched *sched)
{
    axo__os_latch never;
    bool made = axo__os_latch_init(&never);
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        while (axo__a32_load_acquire(&sched->workers[i].visited) != LENT_FREE) { /* [W10] */
            if (made)
                (void)axo__os_latch_wait(&never, axo__os_now() + AXO__LENT_LOOK_NS);
        }
    }
    if (made)
        axo__os_latch_fini(&never);
}

/* ---- the kind ---- */

/* All slots are ABSENT until axo__lent_open: nobody is asked before the program has the system. */
static axo_status lent_make(axo__sched *sched)
{
    axo_status status = axo__sched_make_workers(sched);
    if (status != AXO_OK)
        return status;
    sched->marks = axo__sched_array(sched, sizeof(axo__spare_mark), sched->worker_count);
    if (sched->marks == NULL)
        return AXO_ENOMEM;
    for (uint32_t i = 0; i < sched->worker_count; i++) {
        axo__worker *worker = &sched->workers[i];
        axo__a32_store_relaxed(&worker->state, AXO__WORKER_ABSENT);
        worker->seen = axo__sched_array(sched, sizeof(axo__seen), sched->worker_count);
        if (worker->seen == NULL)
            return AXO_ENOMEM;
    }
    return AXO_OK;
}

static void lent_unmake(axo__sched *sched)
{
    for (uint32_t i = 0; i < sched->worker_count && sched->workers != NULL; i++)
        axo__sched_free_array(sched, sched->workers[i].seen, sizeof(axo__seen),
                              sched->worker_count);
    axo__sched_free_array(sched, sched->marks, sizeof(axo__spare_mark), sched->worker_count);
    axo__sched_unmake_workers(sched);
}

/* Nobody is in the slot: what visitors have left behind lies in queues. */
static bool lent_is_free(axo__worker *worker)
{
    return axo__a32_add_acq_rel(&worker->visited, 0) == LENT_FREE; /* [W10] [Z2] */
}

static void lent_wake(axo__worker *worker)
{
    axo__core_ask(worker->local.core);
}

/* A visitor that finds nothing to do has time for its chores; it may find something by them, which
 * its last look before it parks sees. */
static bool lent_ends(axo__worker *worker)
{
    lent_chores(worker);
    return false;
}

const axo__sched_kind axo__lent_kind = {
    .lent = true,
    .woken = AXO__WORKER_ABSENT,
    .body = &axo__worker_body,
    .make = lent_make,
    .unmake = lent_unmake,
    .enter = axo__sched_enter_any,
    .leave = axo__sched_leave_any,
    .nobody_parked = axo__spare_alarm,
    .wake = lent_wake,
    .deadline = axo__worker_deadline,
    .ends = lent_ends,
    .is_idle = lent_is_free,
};
