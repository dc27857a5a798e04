/* scene_newborn.c - the owner of a queue of newborns and its thieves; the next slot. */
#include "sched/claim.h"
#include "sched/find.h"
#include "sched/kinds.h"
#include "sched/newborn.h"
#include "sched/ready.h"
#include "sched/run.h"
#include "sched/steal.h"
#include "schedules/weak/pool.h"
#include "schedules/weak/scenes.h"

/* A newborn, as a spawn makes it: its fields, its word, then its entry. */
static void birth(uint32_t which)
{
    axo__cell *cell = pool_cell(which);
    weak_wrote(&weak_pool.written[which]);
    if (which % 2 != 0) {
        axo__state_counts(&cell->state, 0);
        axo__state_born(&cell->state); /* the plain way */
    } else {
        axo__state_init(&cell->state, 0);
        axo__state_birth(&cell->state);
    }
    weak_expect(axo__newborn_push_owner(&weak_pool.workers[0], cell));
}

static void setup(void)
{
    pool_init(&axo__fixed_kind, 2, 0);
    weak_name(&weak_pool.workers[0].newborn_top, "top");
    weak_name(&weak_pool.workers[0].newborn_floor, "floor");
    weak_name(&weak_pool.workers[0].newborn_taken, "taken");
    for (uint32_t i = 0; i < AXO__NEWBORNS; i++)
        weak_name(&weak_pool.workers[0].newborns[i], "entry%u", i);
    for (uint32_t i = 0; i < POOL_CELLS; i++) /* a slot's former life is over */
        axo__a64_store_relaxed(&pool_cell(i)->state.word, AXO__CLOSED);
}

static void took(axo__cell *cell)
{
    if (cell == NULL)
        return;
    weak_reads(&weak_pool.written[cell->slot]);
    weak_wrote(&cell->state_block);
    weak_pool.ran++;
}

static void owner(void)
{
    axo__worker *worker = &weak_pool.workers[0];
    birth(0);
    birth(1);
    weak_pool.wanted = 2;
    took(axo__newborn_youngest_owner(worker));
}

static void owner_of_one(void)
{
    birth(0);
    weak_pool.wanted = 1;
    took(axo__newborn_youngest_owner(&weak_pool.workers[0]));
}

static void owner_of_many(void)
{
    axo__worker *worker = &weak_pool.workers[0];
    birth(0);
    took(axo__newborn_oldest_owner(worker));
    birth(1);
    birth(2);
    weak_pool.wanted = 3;
    took(axo__newborn_youngest_owner(worker));
}

static void steal(bool all)
{
    axo__cell *cell = axo__newborn_take_any(&weak_pool.workers[0], all);
    if (cell != NULL)
        took(axo__worker_claim(&weak_pool.workers[1], cell));
}

static void thief(void)
{
    steal(weak_choose(2) == 1);
}

static void thief_of_all(void)
{
    steal(true);
}

static void check(void)
{
    axo__cell *cell;
    while ((cell = axo__newborn_youngest_owner(&weak_pool.workers[0])) != NULL)
        took(cell);
    pool_check();
    weak_expect(axo__newborn_is_empty_owner(&weak_pool.workers[0]));
}

/* ---- the next slot, and what is displaced from it ---- */

static void setup_next(void)
{
    pool_init(&axo__fixed_kind, 2, 0);
    weak_pool.workers[0].current = pool_cell(3);
    weak_pool.wanted = 2;
}

static void pusher(void)
{
    axo__worker *worker = &weak_pool.workers[0];
    for (uint32_t i = 0; i < 2; i++) {
        pool_work(i);
        axo__worker_push_ready(worker, pool_cell(i));
    }
}

static void rescuer(void)
{
    axo__worker *worker = &weak_pool.workers[1];
    axo__cell *cell = axo__worker_rescue(worker, &weak_pool.workers[0], false);
    if (cell != NULL)
        axo__run_cells(worker, cell, 1, 1);
}

static void check_next(void)
{
    axo__worker *worker = &weak_pool.workers[0];
    axo__cell *cell;
    worker->current = NULL;
    while ((cell = axo__worker_find(worker)) != NULL)
        axo__run_cells(worker, cell, 1, 1);
    pool_check();
}

const weak_scenario weak_newborn_scenes[] = {
    {.name = "newborn", .what = "two are born, their worker takes the youngest, a thief takes",
     .setup = setup, .fibers = {owner, thief}, .check = check, .bound = 3},
    {.name = "newborn_thieves", .what = "one is born, its worker and two thieves want it",
     .setup = setup, .fibers = {owner_of_one, thief_of_all, thief_of_all}, .check = check,
     .bound = 2},
    {.name = "newborn_oldest", .what = "the owner takes from both ends beside a thief",
     .setup = setup, .fibers = {owner_of_many, thief}, .check = check, .bound = 2},
    {.name = "next_slot", .what = "the next slot and what it displaces, taken from a stuck worker",
     .setup = setup_next, .fibers = {pusher, rescuer, rescuer}, .check = check_next, .bound = 2},
    {.name = NULL},
};
