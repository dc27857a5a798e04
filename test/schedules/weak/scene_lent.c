/* scene_lent.c - lent threads: a push against a visitor that leaves, two that come to one slot, the
 * end; grace periods that are polled. */
#include <string.h>

#include "mem/grace.h"
#include "sched/claim.h"
#include "sched/kinds.h"
#include "sched/lent.h"
#include "schedules/weak/pool.h"
#include "schedules/weak/scenes.h"

/* ---- visits ---- */

static bool lent_is_done(void)
{
    return weak_pool.pushers == 0 && weak_pool.ran == weak_pool.wanted;
}

static void setup_lent(uint32_t slots)
{
    pool_init(&axo__lent_kind, slots, 0);
    weak_pool.core.lent = true;
    weak_name(&weak_pool.asked, "asked");
    weak_expect(
        axo__grace_start(&weak_pool.core.grace, &pool_grace_ops, AXO__GRACE_POLLED, NULL, NULL));
    for (uint32_t i = 0; i < slots; i++)
        axo__a32_store_relaxed(&weak_pool.workers[i].state, AXO__WORKER_ABSENT);
    axo__lent_open(&weak_pool.sched);
    weak_pool.asked = 0;
    weak_pool.pushers = 1;
    weak_pool.wanted = 1;
}

static void setup_one(void)
{
    setup_lent(1);
}

static void setup_two(void)
{
    setup_lent(2);
}

static void pusher(void)
{
    pool_work(0);
    axo__sched_push_ready_any(&weak_pool.sched, pool_cell(0));
    weak_pool.pushers = 0;
}

static bool lent_may_go(void *user)
{
    (void)user;
    return weak_pool.asked != 0 || lent_is_done();
}

/* As a queue of jobs, whose consumers each take one. */
static bool lent_take_ask(void)
{
    uint64_t was = weak_pool.asked;
    return was > 0 && weak_cas(&weak_pool.asked, sizeof weak_pool.asked, &was, was - 1,
                               WEAK_SITE("asked", WEAK_ACQUIRE | WEAK_RELEASE));
}

/* Comes once by chance, and then when asked, in turns to each slot, for a step at a time. */
static void visitor(void)
{
    bool goes = true;
    for (uint32_t i = 0; !lent_is_done(); i++) {
        uint32_t ran = weak_pool.ran;
        if (goes)
            (void)axo__lent_run(&weak_pool.sched, i % weak_pool.sched.worker_count, 0, UINT64_MAX,
                                NULL);
        if (weak_pool.asked == 0)
            weak_unspin();
        else if (ran == weak_pool.ran)
            weak_spin();
        weak_wait(lent_may_go, NULL);
        goes = lent_take_ask();
    }
}

static void check_lent(void)
{
    pool_check();
    weak_expect(axo__a32_peek_owner(&weak_pool.workers[0].visited) == 0);
}

/* Comes by chance, for a step, to the last slot. */
static void passer_by(void)
{
    (void)axo__lent_run(&weak_pool.sched, weak_pool.sched.worker_count - 1, 0, UINT64_MAX, NULL);
}

/* The end is the last to read what visitors have written. */
static void visit(void)
{
    (void)axo__lent_run(&weak_pool.sched, 0, -1, UINT64_MAX, NULL);
}

static bool visit_has_run(void *user)
{
    (void)user;
    return weak_pool.ran == 1;
}

/* It has heard of what the last turn did, as of a system's end. */
static void closer(void)
{
    weak_wait(visit_has_run, NULL);
    weak_get(&weak_pool.told);
    axo__lent_close(&weak_pool.sched);
    weak_reads(&weak_pool.workers[0].now);
}

static void setup_last(void)
{
    setup_lent(1);
    pusher();
}

/* ---- grace periods ---- */

static struct {
    axo__grace grace;
    axo__grace_reader readers[2];
    axo__grace_item items[2];
    axo__a32 current;
    axo__os_gate door;
    uint32_t expired;
} it;

static void polled_expire(void *user, uint32_t home, axo__grace_item *first, axo__grace_item *last)
{
    (void)user;
    (void)home;
    (void)last;
    for (; first != NULL; first = first->next) {
        weak_wrote(first);
        it.expired++;
    }
}

static void polled_pass(void *user)
{
    (void)user;
}

static void polled_give(void *user, axo__grace_block *block)
{
    (void)user;
    (void)block;
}

static bool polled_heard(void *user, uint64_t period)
{
    (void)user;
    return axo__grace_is_heard(&it.readers[0], period) &&
           axo__grace_is_heard(&it.readers[1], period);
}

static bool polled_try_pass(void *user, uint32_t *door)
{
    (void)user;
    if (*door == 0 && axo__os_gate_try(&it.door)) {
        axo__os_gate_leave(&it.door);
        ++*door;
    }
    return *door > 0;
}

static void setup_polled(void)
{
    static const axo__grace_ops ops = {.pass = polled_pass,
                                       .expire = polled_expire,
                                       .give_block = polled_give,
                                       .heard = polled_heard,
                                       .try_pass = polled_try_pass};
    memset((void *)&it, 0, sizeof it);
    weak_expect(axo__grace_start(&it.grace, &ops, AXO__GRACE_POLLED, NULL, NULL));
    weak_name(&it.grace.period, "period");
    weak_name(&it.readers[0].seen, "seen0");
    weak_name(&it.readers[1].seen, "seen1");
    weak_name(&it.current, "current");
    weak_wrote(&it.items[0]);
}

static void polled_look(void)
{
    if (axo__a32_load_acquire(&it.current) == 0)
        weak_reads(&it.items[0]);
}

static void reader(void)
{
    axo__grace_visit(&it.grace, &it.readers[0]);
    polled_look();
    axo__grace_heard(&it.grace, &it.readers[0]);
    polled_look();
    axo__grace_away(&it.readers[0]);
}

static void retirer(void)
{
    axo__grace_visit(&it.grace, &it.readers[1]);
    axo__a32_store_release(&it.current, 1);
    axo__grace_retire(&it.grace, 0, &it.items[0], &it.items[0]);
    (void)axo__grace_poll(&it.grace, &it.readers[1]);
    axo__grace_away(&it.readers[1]);
}

static void poller(void)
{
    (void)axo__grace_poll(&it.grace, NULL);
    (void)axo__grace_poll(&it.grace, NULL);
}

static void retirer_outside(void)
{
    axo__a32_store_release(&it.current, 1);
    axo__grace_retire(&it.grace, 0, &it.items[0], &it.items[0]);
    poller();
}

static void caller(void)
{
    axo__os_gate_enter(&it.door);
    polled_look();
    axo__os_gate_leave(&it.door);
}

static void check_polled(void)
{
    (void)axo__grace_poll(&it.grace, NULL);
    weak_expect(it.expired == 1);
}

const weak_scenario weak_lent_scenes[] = {
    {.name = "lent_ask",
     .what = "a push from outside against a visitor that leaves",
     .setup = setup_one,
     .fibers = {pusher, visitor},
     .check = check_lent,
     .bound = 2},
    {.name = "lent_knock",
     .what = "one who was asked for, and one who was not, in one slot",
     .setup = setup_last,
     .fibers = {visitor, passer_by},
     .check = check_lent,
     .bound = 2},
    {.name = "lent_two",
     .what = "the same, with two slots in turns",
     .setup = setup_two,
     .fibers = {pusher, visitor},
     .check = check_lent,
     .bound = 1},
    {.name = "lent_close",
     .what = "the end against the last visitor",
     .setup = setup_last,
     .fibers = {visit, closer},
     .bound = 2},
    {.name = "polled",
     .what = "a visit against a grace period that begins",
     .setup = setup_polled,
     .fibers = {reader, retirer, poller},
     .check = check_polled,
     .bound = 2},
    {.name = "polled_outside",
     .what = "the same, of a thread that is no reader",
     .setup = setup_polled,
     .fibers = {retirer_outside, reader},
     .check = check_polled,
     .bound = 3},
    {.name = "polled_door",
     .what = "a call in a door against a grace period",
     .setup = setup_polled,
     .fibers = {caller, retirer, poller},
     .check = check_polled,
     .bound = 2},
    {.name = NULL},
};
