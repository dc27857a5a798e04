/* scene_spare.c - the spare worker's rest against those that get up or push; threads of the elastic
 * pool that come and go. */
#include "sched/claim.h"
#include "sched/kinds.h"
#include "sched/park.h"
#include "sched/spare.h"
#include "sched/wake.h"
#include "schedules/weak/pool.h"
#include "schedules/weak/scenes.h"

static axo__worker *worker_at(uint32_t which)
{
    return &weak_pool.workers[which];
}

/* ---- the spare: it must not rest for good while a worker is up ---- */

static void setup_spare(void)
{
    pool_init(&axo__fixed_kind, 1, 1);
    weak_pool.stopped = true;
    axo__a32_store_relaxed(&weak_pool.sched.spare_mode, AXO__SPARE_DOZE);
    pool_parked(worker_at(0));
}

static bool worker_is_up(void *user)
{
    (void)user;
    return weak_pool.fired > 0;
}

/* Its steps, until the worker is up and it is to look again by itself. */
static void spare_rests(void)
{
    axo__worker *spare = worker_at(1);
    for (;;) {
        bool up = worker_is_up(NULL);
        if (axo__spare_body.step(spare) != AXO__STEP_PARK)
            continue;
        if (spare->thread.deadline != AXO__NEVER && up)
            return;
        if (spare->thread.deadline != AXO__NEVER)
            weak_wait(worker_is_up, NULL);
        else
            axo__os_parker_wait(&spare->thread.parker, spare->thread.ticket, AXO__NEVER);
    }
}

/* It gets up, and is stuck in a handler from then on. */
static void worker_gets_up(void)
{
    axo__worker_unpark_owner(worker_at(0));
    axo__spare_notice(&weak_pool.sched);
    weak_pool.fired = 1;
}

/* Takes it out of PARKED, wakes it, and may take its time in between. */
static void waker(void)
{
    axo__sched_wake_one(&weak_pool.sched);
}

/* ---- elastic: one comes while another goes ---- */

static void setup_elastic(void)
{
    pool_init(&axo__elastic_kind, 1, 0); /* at most one thread */
    axo__a32_store_relaxed(&weak_pool.sched.live, 1);
    worker_at(0)->idle_at = 1;
    weak_pool.wanted = 1;
    weak_pool.pushers = 1;
}

static void elastic_pusher(void)
{
    pool_work(0);
    weak_pool.pushers--;
    axo__sched_push_ready_any(&weak_pool.sched, pool_cell(0));
}

/* It has had nothing to do for long: ends, or finds the work after all. */
static void elastic_thread(void)
{
    axo__worker *worker = worker_at(0);
    for (;;) {
        uint32_t ran = weak_pool.ran;
        axo__step step = worker->sched->kind->body->step(worker);
        if (step == AXO__STEP_EXIT || weak_pool.ran == weak_pool.wanted)
            return;
        if (step == AXO__STEP_PARK) {
            weak_unspin();
            axo__os_parker_wait(&worker->thread.parker, worker->thread.ticket,
                                worker->thread.deadline);
            worker->sched->kind->body->wake(worker);
        } else if (ran == weak_pool.ran) {
            weak_spin();
        }
    }
}

static void check_elastic(void)
{
    weak_expect(weak_pool.ran == 1 || weak_pool.started == 1);
}

/* ---- elastic: a thread has been started, and has not begun ---- */

static void setup_starting(void)
{
    setup_elastic();
    axo__a32_store_relaxed(&weak_pool.sched.starting, 1);
}

static void started_thread(void)
{
    pool_thread(worker_at(0));
}

/* ---- elastic: the last actor goes while the last thread lies down ---- */

static void setup_last(void)
{
    setup_elastic();
    weak_pool.wanted = 0;
    weak_pool.stopped = true;
    weak_pool.pushers = 0;
    axo__a32_store_relaxed(&weak_pool.sched.actors, 1);
}

static void actor_leaves(void)
{
    axo__elastic_kind.leave(&weak_pool.sched);
}

/* With an actor it may sleep for good, without one it has a deadline and ends. */
static void last_thread(void)
{
    axo__worker *worker = worker_at(0);
    for (;;) {
        axo__step step = worker->sched->kind->body->step(worker);
        if (step == AXO__STEP_EXIT)
            return;
        if (step != AXO__STEP_PARK)
            continue;
        weak_unspin();
        axo__os_parker_wait(&worker->thread.parker, worker->thread.ticket,
                            worker->thread.deadline);
        worker->sched->kind->body->wake(worker);
        weak_clock_now += 2;
    }
}

static void check_last(void)
{
    weak_expect((axo__a32_load_relaxed(&weak_pool.sched.live)) == 0);
}

const weak_scenario weak_spare_scenes[] = {
    {.name = "spare_notice", .what = "a worker gets up while the spare goes to rest",
     .setup = setup_spare, .fibers = {spare_rests, worker_gets_up}, .bound = 2},
    {.name = "spare_woken", .what = "the worker is up before it is taken out of the count",
     .setup = setup_spare, .fibers = {spare_rests, worker_gets_up, waker}, .bound = 1},
    {.name = "elastic_grow", .what = "a push against the end of the only thread",
     .setup = setup_elastic, .fibers = {elastic_pusher, elastic_thread}, .check = check_elastic,
     .bound = 2},
    {.name = "elastic_start", .what = "a push that leaves it to the thread that is starting",
     .setup = setup_starting, .fibers = {elastic_pusher, started_thread},
     .check = check_elastic, .bound = 2},
    {.name = "elastic_last", .what = "the last actor goes while the last thread lies down",
     .setup = setup_last, .fibers = {actor_leaves, last_thread}, .check = check_last,
     .bound = 3},
    {.name = NULL},
};
