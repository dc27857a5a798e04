/* scene_quiesce.c - who asks whether the pool is at rest: the answer is yes only if all that was
 * queued has run, and what it wrote is seen. */
#include "sched/claim.h"
#include "sched/find.h"
#include "sched/host.h"
#include "sched/kinds.h"
#include "sched/lent.h"
#include "sched/park.h"
#include "sched/quiesce.h"
#include "sched/run.h"
#include "sched/spare.h"
#include "sched/wheel.h"
#include "schedules/weak/pool.h"
#include "schedules/weak/scenes.h"

static axo__worker *worker_at(uint32_t which)
{
    return &weak_pool.workers[which];
}

/* Who asks looks at the wheels of a default pool, which every worker of it has: an empty one. */
static void quiet_pool(const axo__sched_kind *kind, uint32_t workers, uint32_t spares)
{
    pool_init(kind, workers, spares);
    weak_pool.stopped = true; /* nobody goes home: they go to sleep */
    weak_no_time = true;
    weak_pool.timers.core = &weak_pool.core;
    axo__wheel_init(&weak_pool.timers.wheel);
    axo__a64_store_relaxed(&weak_pool.timers.next, (uint64_t)AXO__NEVER);
    for (uint32_t i = 0; i < workers + spares; i++) {
        worker_at(i)->timers = &weak_pool.timers;
        weak_name(&worker_at(i)->idled, "idled%u", i);
    }
    weak_name(&weak_pool.sched.host_busy, "host_busy");
    axo__os_mutex_init(&weak_pool.sched.mutex);
    axo__os_mutex_init(&weak_pool.timers.mutex);
    weak_expect(
        axo__grace_start(&weak_pool.core.grace, &pool_grace_ops, AXO__GRACE_POLLED, NULL, NULL));
}

static void quiet_push(uint32_t which)
{
    pool_work(which);
    axo__sched_push_ready_any(&weak_pool.sched, pool_cell(which));
}

static void asker(void)
{
    if (!axo__quiesce_look(&weak_pool.sched, NULL, weak_clock_now))
        return;
    weak_expect(weak_pool.ran == weak_pool.wanted);
    for (uint32_t i = 0; i < weak_pool.wanted; i++)
        weak_reads(&pool_cell(i)->state_block);
}

/* ---- a worker runs a cell and goes to sleep ---- */

static void setup_one(void)
{
    quiet_pool(&axo__pinned_kind, 1, 0);
    weak_pool.wanted = 1;
    quiet_push(0);
}

/* It runs what it finds, and stays asleep. */
static void runner(void)
{
    axo__worker *worker = worker_at(0);
    axo__cell *cell = axo__worker_find(worker);
    if (cell != NULL)
        axo__run_cells(worker, cell, 1, 1);
    (void)axo__worker_park(worker);
}

/* ---- its handler makes work for another one, which sleeps ---- */

static void setup_relay(void)
{
    quiet_pool(&axo__pinned_kind, 2, 0);
    weak_pool.wanted = 2;
    pool_parked(worker_at(1));
    quiet_push(0);
    axo__a32_store_relaxed(&worker_at(1)->state, AXO__WORKER_PARKED); /* the push has woken it */
    axo__a32_store_relaxed(&weak_pool.sched.parked, 1);
}

static void relayer(void)
{
    axo__worker *worker = worker_at(0);
    axo__cell *cell = axo__worker_find(worker);
    weak_expect(cell != NULL);
    axo__run_cells(worker, cell, 1, 1);
    quiet_push(1);
    (void)axo__worker_park(worker);
}

static bool relay_is_up(void *user)
{
    (void)user;
    return axo__a32_peek_owner(&worker_at(1)->state) == AXO__WORKER_AWAKE;
}

/* The parker orders: what has woken it has told it. */
static void relayed(void)
{
    axo__worker *worker = worker_at(1);
    weak_wait(relay_is_up, NULL);
    axo__worker_unpark_owner(worker);
    axo__cell *cell = axo__worker_find(worker);
    if (cell != NULL)
        axo__run_cells(worker, cell, 1, 1);
    (void)axo__worker_park(worker);
}

/* ---- a worker that sleeps gets up by itself ---- */

static void setup_up(void)
{
    quiet_pool(&axo__pinned_kind, 1, 0);
    weak_pool.wanted = 1;
    quiet_push(0);
    pool_parked(worker_at(0));
}

static void gets_up(void)
{
    axo__worker_unpark_owner(worker_at(0));
    runner();
}

/* ---- the host, between two calls ---- */

static void setup_host(void)
{
    quiet_pool(&axo__host_kind, 1, 0);
    weak_pool.sched.bell.event.fd = 0;
    axo__a32_store_relaxed(&weak_pool.sched.bell.state, AXO__BELL_RUNG);
    weak_pool.wanted = 1;
    quiet_push(0);
}

static void host(void)
{
    (void)axo__host_run(&weak_pool.sched, 0, 1, NULL);
}

/* ---- the host runs an urgent cell for one turn, and leaves another one behind ---- */

static void setup_leaves(void)
{
    quiet_pool(&axo__host_kind, 1, 0);
    weak_pool.sched.bell.event.fd = 0;
    weak_pool.wanted = 2;
    weak_wrote(&weak_pool.written[0]);
    weak_expect(axo__state_announce_system(&pool_cell(0)->state) == AXO__ANNOUNCE_PUSH);
    axo__sched_push_urgent_any(&weak_pool.sched, pool_cell(0));
}

static void leaver(void)
{
    quiet_push(1);
    (void)axo__host_run(&weak_pool.sched, -1, 1, NULL);
}

/* ---- lent threads ---- */

static void setup_lent(void)
{
    quiet_pool(&axo__lent_kind, 1, 0);
    weak_pool.core.lent = true;
    axo__a32_store_relaxed(&worker_at(0)->state, AXO__WORKER_ABSENT);
    weak_pool.wanted = 1;
    quiet_push(0);
}

static void visitor(void)
{
    (void)axo__lent_run(&weak_pool.sched, 0, 0, 1, NULL);
}

/* ---- a spare worker takes what waits, while the others sleep ---- */

static void setup_spare(void)
{
    quiet_pool(&axo__fixed_kind, 1, 1);
    weak_pool.wanted = 1;
    pool_parked(worker_at(0));
    weak_wrote(&weak_pool.written[0]);
    weak_expect(axo__state_announce_system(&pool_cell(0)->state) == AXO__ANNOUNCE_PUSH);
    axo__claim_inject(&weak_pool.sched.inject, pool_cell(0));
    axo__a32_store_relaxed(&worker_at(1)->state, AXO__WORKER_PARKED);
}

static void spare_takes(void)
{
    axo__worker *spare = worker_at(1);
    axo__spare_body.wake(spare);
    axo__cell *cell = axo__worker_find(spare);
    if (cell != NULL)
        axo__run_cells(spare, cell, 1, 1);
    (void)axo__spare_body.step(spare); /* it finds nobody stuck, and rests */
}

const weak_scenario weak_quiesce_scenes[] = {
    {.name = "quiesce", .what = "at rest? while a worker runs and parks",
     .setup = setup_one, .fibers = {asker, runner}, .bound = 2},
    {.name = "quiesce_relay", .what = "at rest? while one makes work for another",
     .setup = setup_relay, .fibers = {asker, relayer, relayed}, .bound = 1},
    {.name = "quiesce_up", .what = "at rest? while a sleeper gets up by itself",
     .setup = setup_up, .fibers = {asker, gets_up}, .bound = 2},
    {.name = "quiesce_host", .what = "at rest? while the host is run",
     .setup = setup_host, .fibers = {asker, host}, .bound = 2},
    {.name = "quiesce_leaves", .what = "at rest? while the host leaves an entry behind",
     .setup = setup_leaves, .fibers = {asker, leaver}, .bound = 1},
    {.name = "quiesce_lent", .what = "at rest? while a slot is visited",
     .setup = setup_lent, .fibers = {asker, visitor}, .bound = 2},
    {.name = "quiesce_spare", .what = "at rest? while a spare worker takes an entry",
     .setup = setup_spare, .fibers = {asker, spare_takes}, .bound = 2},
    {.name = NULL},
};
