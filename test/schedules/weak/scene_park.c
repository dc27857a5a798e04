/* scene_park.c - parking and waking: by work from outside, by a worker's own queue, by timers, by
 * the end; the host's worker. */
#include "sched/claim.h"
#include "sched/crew.h"
#include "sched/find.h"
#include "sched/follow.h"
#include "sched/host.h"
#include "sched/kinds.h"
#include "sched/park.h"
#include "sched/ready.h"
#include "sched/sched.h"
#include "sched/steal.h"
#include "sched/timer.h"
#include "sched/wake.h"
#include "sched/wheel.h"
#include "schedules/weak/pool.h"
#include "schedules/weak/scenes.h"

static axo__worker *worker_at(uint32_t which)
{
    return &weak_pool.workers[which];
}

/* ---- from outside ---- */

static void setup_outside(void)
{
    pool_init(&axo__pinned_kind, 1, 0);
    weak_pool.pushers = 1;
    weak_pool.wanted = 1;
}

static void setup_outside_two(void)
{
    pool_init(&axo__pinned_kind, 1, 0);
    weak_pool.pushers = 2;
    weak_pool.wanted = 2;
}

static void push_outside(uint32_t which)
{
    pool_work(which);
    weak_pool.pushers--;
    axo__sched_push_ready_any(&weak_pool.sched, pool_cell(which));
}

static void outsider(void)
{
    push_outside(0);
}

static void outsider_too(void)
{
    push_outside(1);
}

static void outsider_urgent(void)
{
    weak_wrote(&weak_pool.written[0]);
    weak_expect(axo__state_announce_system(&pool_cell(0)->state) == AXO__ANNOUNCE_PUSH);
    weak_pool.pushers--;
    axo__sched_push_urgent_any(&weak_pool.sched, pool_cell(0));
}

static void thread_0(void)
{
    pool_thread(worker_at(0));
}

/* It only looks once more and goes to sleep: the last step of its loop. */
static void sleeper(uint32_t which)
{
    axo__worker *worker = worker_at(which);
    if (axo__worker_park(worker) == AXO__STEP_PARK) {
        axo__os_parker_wait(&worker->thread.parker, worker->thread.ticket,
                            worker->thread.deadline);
        axo__worker_unpark_owner(worker);
    }
    while (axo__worker_find(worker) == NULL)
        weak_spin();
}

static void sleeper_0(void)
{
    sleeper(0);
}

static void setup_sleeper(void)
{
    setup_outside();
    weak_pool.stopped = true; /* nobody is ever done: who sleeps has to be woken */
}

/* As system/system.c has it: cells whose grace period is over. */
static void expirer(void)
{
    axo__core *core = &weak_pool.core;
    weak_wrote(&weak_pool.written[0]);
    axo__a32_store_relaxed(&core->expired_any, 1);
    (void)axo__a32_add_seq_cst(&core->expired_any, 0);
    (void)axo__sched_wake_worker(worker_at(0));
}

static void expired_sleeper(void)
{
    axo__worker *worker = worker_at(0);
    if (axo__worker_park(worker) != AXO__STEP_PARK)
        return;
    axo__os_parker_wait(&worker->thread.parker, worker->thread.ticket, worker->thread.deadline);
    axo__worker_unpark_owner(worker);
}

/* ---- the node of a cell in an injector is used again ---- */

static void entry_any(void)
{
    axo__sched_push_ready_any(&weak_pool.sched, pool_cell(0));
    axo__sched_push_urgent_any(&weak_pool.sched, pool_cell(0));
}

/* The entries are stale: nobody has announced anything. */
static void popper(void)
{
    for (uint32_t i = 0; i < 2; i++)
        weak_expect(axo__worker_find(worker_at(0)) == NULL);
}

/* ---- by another worker that is stuck from then on ---- */

static void setup_worker(void)
{
    pool_init(&axo__fixed_kind, 2, 0);
    weak_pool.stopped = true;
    weak_no_time = true;
    worker_at(0)->current = pool_cell(3);
}

static void worker_pushes(void)
{
    pool_work(0);
    axo__worker_push_overrun(worker_at(0), pool_cell(0));
}

/* It pushes between two turns, and tells others before its next one. */
static void worker_is_quiet(void)
{
    axo__worker *worker = worker_at(0);
    worker->current = NULL;
    pool_work(0);
    axo__worker_push_overrun(worker, pool_cell(0));
    weak_expect((worker->attention & AXO__LOOK_QUIET) != 0);
    axo__worker_offer_quiet(worker);
}

static void thief_sleeps(void)
{
    axo__worker *worker = worker_at(1);
    if (axo__worker_park(worker) == AXO__STEP_PARK) {
        axo__os_parker_wait(&worker->thread.parker, worker->thread.ticket,
                            worker->thread.deadline);
        axo__worker_unpark_owner(worker);
    }
    axo__cell *cell;
    while ((cell = axo__worker_steal(worker)) == NULL)
        weak_spin();
    weak_reads(&weak_pool.written[cell->slot]);
}

/* ---- a producer follows to a worker that is about to sleep ---- */

static void setup_follow(void)
{
    axo__worker *worker = worker_at(0);
    pool_init(&axo__fixed_kind, 2, 0);
    weak_pool.stopped = true;
    weak_no_time = true;
    weak_name(&worker_at(1)->follows, "follows1");
    axo__a32_store_relaxed(&pool_cell(3)->state.behind, 2); /* the second worker leads */
    worker->follow_cell = pool_cell(3);
    worker->follow_sends = AXO__FOLLOW_SENDS;
}

/* If nobody would look after the leader, the entry is an ordinary one. */
static void producer_follows(void)
{
    pool_work(0);
    if (!axo__follow_push(worker_at(0), pool_cell(0)))
        axo__sched_push_ready_any(&weak_pool.sched, pool_cell(0));
}

static void sleeper_1(void)
{
    sleeper(1);
}

/* ---- by a timer that comes nearer ---- */

static int64_t timer_fires(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    (void)worker;
    (void)timer;
    (void)number;
    weak_reads(&weak_pool.written[0]);
    weak_pool.fired++;
    weak_pool.ran++;
    return 0;
}

static const axo__timer_ops timer_ops = {.fire = timer_fires, .finish = axo__timer_again};

static void setup_timer(void)
{
    pool_init(&axo__pinned_kind, 1, 0);
    weak_pool.timers.core = &weak_pool.core;
    weak_pool.timers.owner = worker_at(0);
    axo__wheel_init(&weak_pool.timers.wheel);
    axo__a64_store_relaxed(&weak_pool.timers.next, (uint64_t)AXO__NEVER);
    worker_at(0)->timers = &weak_pool.timers;
    worker_at(1)->local.core = &weak_pool.core; /* of another pool: it has no wheel */
    weak_pool.timer.ops = &timer_ops;
    weak_pool.timer.node.place = AXO__WHEEL_NONE;
    weak_pool.wanted = 1;
    weak_pool.pushers = 1;
}

static void arm(void)
{
    weak_wrote(&weak_pool.written[0]);
    weak_expect(axo__timer_arm(worker_at(1), &weak_pool.timer, axo__timer_due(weak_clock_now, 10)));
}

static void armer(void)
{
    arm();
    weak_pool.pushers--;
}

static void setup_armed(void)
{
    setup_timer();
    arm();
    weak_clock_now += 1 << 20;
    weak_pool.pushers = 0;
}

/* true: it will not fire, and its memory is the owner's again. */
static void canceller(void)
{
    if (!axo__timer_disarm(&weak_pool.timer))
        return;
    weak_expect(weak_pool.fired == 0);
    weak_wrote(&weak_pool.written[0]);
    weak_pool.ran++;
}

static void firer(void)
{
    axo__worker *worker = worker_at(0);
    worker->now = weak_clock_now;
    (void)axo__timers_fire(worker, &weak_pool.timers);
}

static void check_timer(void)
{
    weak_expect(weak_pool.ran == 1);
}

/* ---- the end ---- */

static void setup_quit(void)
{
    pool_init(&axo__pinned_kind, 1, 0);
    weak_pool.stopped = true;
}

static void quitter(void)
{
    weak_wrote(&weak_pool.written[3]);
    axo__sched_quit(&weak_pool.sched);
}

static void quits(void)
{
    pool_thread(worker_at(0));
    weak_reads(&weak_pool.written[3]);
}

/* ---- a job of the pool ---- */

static axo__crew_job crew_job;

static void crew_portion(axo__crew_job *job, axo__worker *worker, uint32_t portion)
{
    (void)job;
    (void)worker;
    weak_reads(&weak_pool.written[0]);
    weak_wrote(&weak_pool.written[1 + portion]);
    weak_pool.ran++;
}

static void setup_crew(void)
{
    pool_init(&axo__pinned_kind, 1, 0);
    weak_name(&crew_job.left, "left");
    weak_pool.pushers = 1;
    weak_pool.wanted = 2;
}

static void crew_opens(bool helps)
{
    axo__sched *sched = &weak_pool.sched;
    weak_wrote(&weak_pool.written[0]);
    axo__crew_init(&crew_job, 2, crew_portion);
    weak_expect(axo__crew_open(sched, &crew_job));
    weak_pool.pushers = 0;
    while (helps && axo__crew_help(sched, &crew_job, NULL))
        continue;
    axo__crew_close(&crew_job);
    weak_reads(&weak_pool.written[1]);
    weak_reads(&weak_pool.written[2]);
    weak_wrote(&crew_job); /* its memory is the caller's again */
}

/* If the worker sleeps, nobody does it. */
static void opener(void)
{
    crew_opens(false);
}

static void opener_helps(void)
{
    crew_opens(true);
}

/* ---- the host's worker ---- */

static void setup_host(void)
{
    pool_init(&axo__host_kind, 1, 0);
    weak_pool.sched.bell.event.fd = 0;
    weak_name(&weak_pool.sched.bell.event.fd, "event");
    weak_name(&weak_pool.sched.bell.state, "bell");
    axo__a32_store_relaxed(&weak_pool.sched.bell.state, AXO__BELL_RUNG);
    weak_name(&weak_pool.sched.host_busy, "host_busy");
    weak_pool.wanted = 1;
    weak_pool.pushers = 1;
}

static bool host_may_go(void *user)
{
    (void)user;
    return weak_pool.sched.bell.event.fd != 0 ||
           (weak_pool.pushers == 0 && weak_pool.ran == weak_pool.wanted);
}

/* Asks for the descriptor, maybe in the midst of a ring, and runs when it says so. */
static void host(void)
{
    (void)axo__bell_ask(&weak_pool.sched.bell);
    weak_wait(host_may_go, NULL);
    while (weak_pool.ran < weak_pool.wanted) {
        uint32_t ran = weak_pool.ran;
        (void)axo__host_run(&weak_pool.sched, 0, 8, NULL); /* a step */
        if (weak_pool.sched.bell.event.fd == 0)
            weak_unspin();
        else if (ran == weak_pool.ran)
            weak_spin();
        weak_wait(host_may_go, NULL);
    }
}

static void setup_hosts(void)
{
    setup_host();
    pool_work(0);
    weak_pool.pushers = 0;
    axo__sched_push_ready_any(&weak_pool.sched, pool_cell(0));
}

/* Two threads at once: one of them is told that it is busy. */
static void host_of_two(void)
{
    if (axo__host_run(&weak_pool.sched, -1, 1, NULL) == AXO_OK)
        weak_pool.fired++;
}

static void check_hosts(void)
{
    weak_expect(weak_pool.ran == 1 && weak_pool.fired >= 1);
}

/* ---- the host's bell, alone ---- */

static void bell_ringer(void)
{
    axo__bell_ring(&weak_pool.sched.bell);
    axo__bell_ring(&weak_pool.sched.bell);
}

static void bell_asker(void)
{
    (void)axo__bell_ask(&weak_pool.sched.bell);
}

static void bell_clearer(void)
{
    axo__bell_clear(&weak_pool.sched.bell);
    axo__bell_clear(&weak_pool.sched.bell);
}

/* Readable means rung, else no clearing would ever take it back. */
static void check_bell(void)
{
    bool rung = (axo__a32_peek_owner(&weak_pool.sched.bell.state) & AXO__BELL_RUNG) != 0;
    weak_expect(rung || weak_pool.sched.bell.event.fd == 0);
}

const weak_scenario weak_park_scenes[] = {
    {.name = "bell", .what = "rings, an asking and clearings",
     .setup = setup_host, .fibers = {bell_ringer, bell_asker, bell_clearer},
     .check = check_bell, .bound = 3},
    {.name = "park_outside", .what = "work from outside against the last look",
     .setup = setup_sleeper, .fibers = {outsider, sleeper_0}, .bound = 3},
    {.name = "park_urgent", .what = "urgent work from outside against the last look",
     .setup = setup_sleeper, .fibers = {outsider_urgent, sleeper_0}, .bound = 3},
    {.name = "park_loop", .what = "a worker's whole loop, two from outside",
     .setup = setup_outside_two, .fibers = {outsider, outsider_too, thread_0},
     .check = pool_check, .bound = 1},
    {.name = "inject_again", .what = "a cell's node is in use once at a time",
     .setup = setup_sleeper, .fibers = {entry_any, entry_any, popper}, .bound = 1},
    {.name = "park_expired", .what = "cells whose grace period is over against the last look",
     .setup = setup_sleeper, .fibers = {expirer, expired_sleeper}, .bound = 3},
    {.name = "park_worker", .what = "a worker's own queue against a thief's last look",
     .setup = setup_worker, .fibers = {worker_pushes, thief_sleeps}, .bound = 3,
     .rules = WEAK_HERE},
    {.name = "park_quiet", .what = "what was pushed between two turns, told before the next one",
     .setup = setup_worker, .fibers = {worker_is_quiet, thief_sleeps}, .bound = 3,
     .rules = WEAK_HERE},
    {.name = "park_follow", .what = "a follower against its leader's last look",
     .setup = setup_follow, .fibers = {producer_follows, sleeper_1}, .bound = 2},
    {.name = "park_worker_c11", .what = "the same where a read-modify-write is no barrier",
     .setup = setup_worker, .fibers = {worker_pushes, thief_sleeps}, .bound = 2, .fails = true},
    {.name = "timer_arm", .what = "a nearer timer against the reading of the deadline",
     .setup = setup_timer, .fibers = {armer, thread_0}, .check = check_timer, .bound = 2},
    {.name = "timer_cancel", .what = "a cancel against the firing, by two",
     .setup = setup_armed, .fibers = {canceller, firer, firer}, .check = check_timer,
     .bound = 2},
    {.name = "quit", .what = "the end against parking",
     .setup = setup_quit, .fibers = {quitter, quits}, .bound = 2},
    {.name = "crew", .what = "a job against parking",
     .setup = setup_crew, .fibers = {opener, thread_0}, .check = pool_check, .bound = 2},
    {.name = "crew_help", .what = "a job that its maker and a worker do",
     .setup = setup_crew, .fibers = {opener_helps, thread_0}, .check = pool_check, .bound = 2},
    {.name = "host", .what = "a push against the end of the host's run",
     .setup = setup_host, .fibers = {outsider, host}, .check = pool_check, .bound = 2},
    {.name = "host_two", .what = "two threads enter the host's worker",
     .setup = setup_hosts, .fibers = {host_of_two, host_of_two}, .check = check_hosts,
     .bound = 2},
    {.name = NULL},
};
