/* pool.c - a pool of workers for scenarios, and what the product would call above them. */
#include "schedules/weak/pool.h"

#include <string.h>

#include "os/poll.h"
#include "sched/io.h"
#include "sched/kinds.h"
#include "sched/poller.h"
#include "sched/run.h"
#include "sched/scheduled.h"
#include "sched/spare.h"
#include "sched/endless.h"
#include "sched/trap.h"
#include "schedules/weak/scenes.h"

pool weak_pool;
static axo__table table;

static bool pool_has_enough(void)
{
    return weak_pool.pushers == 0 && weak_pool.ran >= weak_pool.wanted && !weak_pool.stopped;
}

static void pool_idle(axo__core *core)
{
    (void)core;
}

void pool_init(const axo__sched_kind *kind, uint32_t workers, uint32_t spares)
{
    axo__sched *sched = &weak_pool.sched;
    memset((void *)&weak_pool, 0, sizeof weak_pool);
    weak_clock_now = AXO__TIMER_LATE_NS * 4;
    weak_no_time = false;
    weak_enough = pool_has_enough;
    table = (axo__table){.home = sched};
    weak_pool.shelf.table = &table;
    weak_pool.core.sched = sched;
    weak_pool.core.homes = workers;
    *sched = (axo__sched){.core = &weak_pool.core, .idle = pool_idle, .kind = kind,
                          .workers = weak_pool.workers, .slots = weak_pool.slots,
                          .worker_count = workers,
                          .spare_count = spares, .quantum = 1, .turns = 1, .quantum_ns = 1000000,
                          .marks = weak_pool.marks, .idle_ns = 1};
    axo__a64_store_relaxed(&sched->look_at, (uint64_t)AXO__NEVER);
    axo__inject_init(&sched->inject, &sched->outside, 0);
    axo__inject_init(&sched->urgent, &sched->outside, 32);
    axo__inject_init(&sched->overrun, &sched->overruns, 0);
    weak_name(&sched->parked, "parked");
    weak_name(&sched->quit, "quit");
    weak_name(&sched->watcher, "watcher");
    weak_name(&sched->searching, "searching");
    weak_name(&sched->spare_mode, "spare_mode");
    weak_name(&sched->live, "live");
    weak_name(&sched->starting, "starting");
    weak_name(&sched->actors, "actors");
    weak_name(&sched->outside, "outside");
    weak_name(&sched->inject.queue.head, "inject.head");
    weak_name(&sched->inject.queue.tail, "inject.tail");
    weak_name(&weak_pool.timers.next, "timers.next");
    for (uint32_t i = 0; i < workers + spares; i++) {
        axo__worker *worker = &weak_pool.workers[i];
        axo__worker_init(worker, sched, i);
        worker->seen = kind == &axo__fixed_kind || kind->lent ? weak_pool.seen[i] : NULL;
        worker->has_thread = true;
        weak_name(&worker->state, "state%u", i);
        weak_name(&worker->visited, "visited%u", i);
        weak_name(&worker->fence, "fence%u", i);
        weak_name(&worker->next, "next%u", i);
        weak_name(&worker->thread.parker, "parker%u", i);
        weak_name(&worker->overrun.home.ring.p_tail, "overrun%u.tail", i);
        weak_name(&worker->ready.home.ring.p_tail, "ready%u.tail", i);
    }
    for (uint32_t i = 0; i < POOL_CELLS; i++) {
        pool_cell(i)->slot = i & AXO__SLOT_MASK;
        weak_name(&pool_cell(i)->state.word, "word%u", i);
    }
}

void pool_parked(axo__worker *worker)
{
    axo__a32_store_relaxed(&worker->state, AXO__WORKER_PARKED);
    (void)axo__a32_add_relaxed(&worker->sched->parked, 1);
}

axo__cell *pool_cell(uint32_t which)
{
    return &weak_pool.shelf.cells[which];
}

void pool_work(uint32_t which)
{
    weak_wrote(&weak_pool.written[which]);
    weak_expect(axo__state_announce_user(&pool_cell(which)->state) == AXO__ANNOUNCE_PUSH);
}

void pool_thread(axo__worker *worker)
{
    bool spare = worker >= worker->sched->workers + worker->sched->worker_count;
    const axo__os_body *body = spare ? &axo__spare_body : worker->sched->kind->body;
    body->begin(worker);
    while (!pool_has_enough()) {
        uint32_t ran = weak_pool.ran;
        axo__step step = body->step(worker);
        if (step == AXO__STEP_EXIT)
            break;
        if (step != AXO__STEP_PARK) {
            if (ran == weak_pool.ran && !pool_has_enough())
                weak_spin();
            continue;
        }
        weak_unspin();
        body->sleep(worker);
        axo__os_parker_wait(&worker->thread.parker, worker->thread.ticket,
                            worker->thread.deadline);
        if (pool_has_enough())
            break;
        body->wake(worker);
    }
    body->end(worker);
}

void pool_check(void)
{
    weak_expect(weak_pool.ran == weak_pool.wanted);
}

/* ---- what the product has above ---- */

const uint32_t axo__os_turns = 1;

/* no system here contains crashes */
bool axo__trap_make(axo__worker *worker)
{
    return worker->trap == NULL;
}

void axo__trap_free(axo__worker *worker)
{
    (void)worker;
}

void axo__trap_begin(axo__worker *worker)
{
    (void)worker;
}

void axo__trap_end(axo__worker *worker)
{
    (void)worker;
}

void axo__endless_begin(axo__worker *worker)
{
    (void)worker;
}

void axo__endless_end(axo__worker *worker)
{
    (void)worker;
}

void axo__endless_look(axo__worker *spare, axo__worker *worker, int64_t since,
                       axo__endless_mark *mark)
{
    (void)spare;
    (void)worker;
    (void)since;
    (void)mark;
}

const char *axo__endless_why(const axo__worker *worker, const axo__endless_mark *mark)
{
    (void)worker;
    (void)mark;
    return NULL;
}

void axo__run_cells(axo__worker *worker, axo__cell *cell, uint32_t messages, uint32_t turns)
{
    (void)messages;
    (void)turns;
    axo__a64_bump_owner(&worker->local.count.turns);
    do {
        weak_reads(&weak_pool.written[cell->slot]);
        weak_wrote(&cell->state_block);
        weak_pool.ran++;
        weak_give(&weak_pool.told);
    } while (axo__state_finish(&cell->state, false) == AXO__FINISH_AGAIN);
}

void axo__local_flush(axo__local *local)
{
    (void)local;
}

void axo__local_hand_over(axo__local *local)
{
    (void)local;
}

void axo__bounded_accept_any(axo__bounded_mailbox *bounded, axo__message *message)
{
    (void)bounded;
    (void)message;
    weak_fail("a cell here has no box");
}

void axo__scheduled_fini(axo__timers *timers)
{
    (void)timers;
}

/* ---- descriptors: none is watched ---- */

void axo__io_free(axo__sched *sched)
{
    (void)sched;
}

void axo__poller_park(axo__worker *worker)
{
    (void)worker;
}

void axo__poller_wake(axo__worker *worker)
{
    (void)worker;
    weak_fail("nobody polls here");
}

bool axo__poller_look(axo__worker *worker)
{
    (void)worker;
    return false;
}

void axo__os_poll_wake(axo__os_poll *poll)
{
    (void)poll;
    weak_fail("nobody polls here");
}

/* Around all that a thread does as a worker: of a pool with one that several threads may be. */
static void pool_one_at_a_time(void)
{
    const axo__sched *sched = &weak_pool.sched;
    if (sched->kind == &axo__host_kind || (sched->kind->lent && sched->worker_count == 1))
        weak_wrote(&weak_pool.workers[0].now);
}

bool axo__grace_enter(void)
{
    pool_one_at_a_time();
    return false;
}

void axo__grace_leave(bool offline)
{
    (void)offline;
    pool_one_at_a_time();
}

void axo__grace_quiet(void)
{
}

void axo__grace_offline(void)
{
}

void axo__grace_online(void)
{
}

/* Reading and writing a descriptor orders: the kernel locks. */
bool axo__os_event_init(axo__os_event *event)
{
    event->fd = 0;
    return true;
}

void axo__os_event_fini(axo__os_event *event)
{
    event->fd = -1;
}

void axo__os_event_set(const axo__os_event *event)
{
    (void)weak_change((void *)(uintptr_t)&event->fd, sizeof event->fd, WEAK_XCHG, 1,
                      WEAK_SITE("event_set", WEAK_ACQUIRE | WEAK_RELEASE));
}

void axo__os_event_clear(const axo__os_event *event)
{
    (void)weak_change((void *)(uintptr_t)&event->fd, sizeof event->fd, WEAK_XCHG, 0,
                      WEAK_SITE("event_clear", WEAK_ACQUIRE | WEAK_RELEASE));
}

/* A scenario's fiber is the thread that is started. */
bool axo__os_thread_start(axo__os_thread *thread, const axo__os_body *body, void *arg)
{
    thread->body = body;
    thread->arg = arg;
    weak_pool.started++;
    return true;
}

void axo__os_thread_join(axo__os_thread *thread)
{
    (void)thread;
    weak_fail("nobody joins here");
}

bool axo__os_thread_try_join(axo__os_thread *thread)
{
    (void)thread;
    return true;
}

void axo__grace_wait(void)
{
    weak_fail("no reclaimer here");
}

static bool grace_heard(void *user, uint64_t period)
{
    (void)user;
    for (uint32_t i = 0; i < weak_pool.sched.worker_count; i++) {
        if (!axo__grace_is_heard(&weak_pool.workers[i].reader, period))
            return false;
    }
    return true;
}

static bool grace_try_pass(void *user, uint32_t *door)
{
    (void)user;
    (void)door;
    return true;
}

static void grace_pass(void *user)
{
    (void)user;
}

static void grace_expire(void *user, uint32_t home, axo__grace_item *first, axo__grace_item *last)
{
    (void)user;
    (void)home;
    (void)first;
    (void)last;
    weak_fail("no actor ends here");
}

static void grace_give(void *user, axo__grace_block *block)
{
    (void)user;
    (void)block;
    weak_fail("no ready queue is that long here");
}

const axo__grace_ops pool_grace_ops = {.pass = grace_pass, .expire = grace_expire,
                                       .give_block = grace_give, .heard = grace_heard,
                                       .try_pass = grace_try_pass};

/* ---- the system above ---- */

bool axo__core_unhold(axo__core *core)
{
    (void)core;
    return false; /* no actor has ended */
}

/* The program's queue of jobs orders, as any queue. */
void axo__core_ask(const axo__core *core)
{
    (void)core;
    (void)weak_change(&weak_pool.asked, sizeof weak_pool.asked, WEAK_ADD, 1,
                      WEAK_SITE("ask", WEAK_ACQUIRE | WEAK_RELEASE));
}
