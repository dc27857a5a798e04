/* scene_figures.c - the figures of classes: a class is made and found, blocks of workers are put
 * into its list, a block goes from a worker that is gone to the next. */
#include <string.h>

#include "sched/figures.h"
#include "sched/kinds.h"
#include "schedules/weak/pool.h"
#include "schedules/weak/scenes.h"

#define MEMORY 8192
#define PIECES 2 /* that a fiber takes: seats and a block */

static struct {
    axo__figures figures;
    axo__message messages[POOL_WORKERS];
    uint32_t taken[WEAK_FIBERS + 1];
    bool made;
} it;

static _Alignas(AXO__CACHE_LINE) unsigned char memory[WEAK_FIBERS + 1][PIECES][MEMORY];
static const axo_class red = {.name = "red"};
static axo_class green; /* made while the scene runs */

void *weak_figures_alloc(size_t size)
{
    uint32_t self = weak_self();
    weak_expect(size <= MEMORY && it.taken[self] < PIECES);
    void *piece = memory[self][it.taken[self]++];
    memset(piece, 0xaa, size);
    weak_born(piece, size);
    return piece;
}

static void setup_figures(void)
{
    memset((void *)&it, 0, sizeof it);
    pool_init(&axo__fixed_kind, 2, 0);
    weak_pool.core.figures = &it.figures;
    (void)strcpy(it.figures.classes[0].name, "other");
    axo__a32_store_relaxed(&it.figures.class_count, 1);
    axo__aptr_store_relaxed(&axo__cell_cold(pool_cell(0))->cls, (void *)(uintptr_t)&red);
    weak_name(&it.figures.class_count, "class_count");
    weak_name(&it.figures.classes[1].blocks, "blocks");
    weak_name(&it.figures.classes[1].counts[AXO__FIGURE_FAILURES], "failures");
}

static void count_failure(void)
{
    axo__figures_add(&it.figures, pool_cell(0), AXO__FIGURE_FAILURES);
}

static void setup_class(void)
{
    setup_figures();
    count_failure();
}

/* ---- a class: its name comes before its number ---- */

static void class_maker(void)
{
    weak_wrote(&it.figures.classes[1].name);
    count_failure();
    it.made = true;
}

static bool class_is_made(void *user)
{
    (void)user;
    return it.made;
}

static void class_finder(void)
{
    weak_wait(class_is_made, NULL);
    count_failure();
    weak_reads(&it.figures.classes[1].name);
}

static void class_lister(void)
{
    if (axo__figures_classes(&it.figures) > 1)
        weak_reads(&it.figures.classes[1].name);
}

static void check_class(void)
{
    axo_metrics_class of;
    axo__figures_read(&it.figures, 1, &of);
    weak_expect(axo__figures_classes(&it.figures) == 2 && of.failures == 2);
}

/* ---- a class that takes another's place: cell/replacing.h ---- */

/* As the turn that gives the cell its class: axo__spawn_block_put. */
static void class_giver(void)
{
    weak_wrote(&green.name);
    axo__aptr_store_release(&axo__cell_cold(pool_cell(0))->cls, &green); /* [C1] */
}

static void class_looker(void)
{
    const axo_class *cls = axo__cell_class(pool_cell(0));
    if (cls == &green)
        weak_reads(&green.name);
    else
        weak_expect(cls == &red);
}

static void check_given(void)
{
    weak_expect(axo__cell_class(pool_cell(0)) == &green);
}

/* ---- blocks ---- */

static void count_message(uint32_t which)
{
    axo__worker *worker = &weak_pool.workers[which];
    worker->message = &it.messages[which];
    axo__self = worker;
    axo__figures_tell(&worker->local, pool_cell(0), AXO_EV_RECEIVED);
}

static void counter_0(void)
{
    count_message(0);
}

static void counter_1(void)
{
    count_message(1);
}

static void summer(void)
{
    axo_metrics_class of;
    axo__figures_read(&it.figures, 1, &of);
    weak_expect(of.handled <= 2);
}

static void check_sum(void)
{
    axo_metrics_class of;
    axo__figures_read(&it.figures, 1, &of);
    weak_expect(of.handled == 2);
}

/* Its block is the next worker's. */
static void goer(void)
{
    count_message(0);
    axo__figures_worker_gone(&weak_pool.core, &weak_pool.workers[0]);
}

const weak_scenario weak_figures_scenes[] = {
    {.name = "figures_class", .what = "a class is made, counted in by another, and listed",
     .setup = setup_figures, .fibers = {class_maker, class_finder, class_lister},
     .check = check_class, .bound = 2},
    {.name = "class_replaced", .what = "a class takes another's place, and is looked at",
     .setup = setup_figures, .fibers = {class_giver, class_looker}, .check = check_given,
     .bound = 2},
    {.name = "figures_blocks", .what = "two workers count their first message, a third adds up",
     .setup = setup_class, .fibers = {counter_0, counter_1, summer}, .check = check_sum,
     .bound = 2},
    {.name = "figures_heir", .what = "a worker goes, another counts in its block or in its own",
     .setup = setup_class, .fibers = {goer, counter_1}, .check = check_sum, .bound = 2},
    {.name = NULL},
};
