/* memory.c - an instance's memory: its heap, the bounds of it, the walls round it and round the
 * state. */
#include "super/memory.h"

#include <string.h>

#include "sched/found.h"
#include "sched/hook.h"

/* Walls that stand round blocks without being asked for: they cost 8 bytes and a look. */
#ifdef AXO_DEBUG
#define MEMORY_USUAL AXO_WALL_CANARY
#else
#define MEMORY_USUAL 0
#endif

#define MEMORY_STATE_WALLS ((uint32_t)AXO_WALL_CANARY | AXO_WALL_GUARD)

/* ---- birth and end ---- */

static axo__budget *memory_budget(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->budget : NULL;
}

/* The nearest bound of a subtree that children of the actor are in. */
static axo__budget *memory_above(const axo__cell *parent)
{
    axo__budget *budget = parent != NULL ? memory_budget(parent) : NULL;
    if (budget == NULL || budget->tree_max != 0)
        return budget;
    return budget->above;
}

bool axo__memory_is_inherited(const axo__core *core, const axo__cell *parent)
{
    return core->pool.walls != NULL || memory_above(parent) != NULL;
}

static bool memory_fits(size_t max, size_t size)
{
    return max == 0 || size <= max;
}

axo_status axo__memory_begin(axo__local *local, const axo__cell *parent, const axo_props *props,
                             axo__cell *cell, size_t state)
{
    axo__budget *above = memory_above(parent);
    uint32_t walls = axo__walls_of(local->core->pool.walls, axo__log_class_name(props->cls));
    if (!memory_fits(props->memory_max, state) || !memory_fits(props->memory_tree_max, state))
        return AXO_EINVAL;
    if (above == NULL && walls == 0 && props->memory_max == 0 && props->memory_tree_max == 0)
        return AXO_OK;
    axo__extra *extra = axo__extra_take(local, cell);
    axo__budget *budget = extra != NULL ? axo__pool_alloc(&local->cache, sizeof *budget) : NULL;
    if (budget == NULL)
        return AXO_ENOMEM;
    memset((void *)budget, 0, sizeof *budget);
    budget->above = above;
    budget->max = props->memory_max;
    budget->tree_max = props->memory_tree_max;
    budget->fails = props->memory_fails != 0;
    budget->walls = walls;
    extra->budget = budget;
    if (!axo__budget_take(budget, 0, state))
        return AXO_ENOMEM;
    budget->own = state;
    return AXO_OK;
}

/* Bytes of a state with a canary, and a gap before what follows it. */
static size_t memory_state_room(size_t size)
{
    return (size + AXO__CANARY + AXO__ARGS_UNIT - 1) & ~(AXO__ARGS_UNIT - 1);
}

/* Bytes of the block of both, aligned as the state's size says. */
static size_t memory_state_block(size_t size, size_t args)
{
    return axo__pool_align_as(memory_state_room(size) + args, size);
}

static uint32_t memory_walls(const axo__cell *cell)
{
    const axo__budget *budget = memory_budget(cell);
    return budget != NULL ? budget->walls : 0;
}

bool axo__memory_is_walled(const axo__cell *cell, size_t size)
{
    return (memory_walls(cell) & MEMORY_STATE_WALLS) != 0 && size > 0;
}

void *axo__memory_take_state(axo__local *local, const axo__cell *cell, size_t size, size_t args,
                             void **front)
{
    AXO_DEBUG_ASSERT(axo__memory_is_walled(cell, size));
    char *block;
    if ((memory_walls(cell) & AXO_WALL_GUARD) != 0) {
        block = axo__wall_take(local->core->pool.walls, args, size);
        *front = block != NULL ? axo__wall_front(block) : NULL;
        return block;
    }
    block = axo__pool_alloc(&local->cache, memory_state_block(size, args));
    *front = block != NULL ? block + memory_state_room(size) : NULL;
    if (block != NULL)
        axo__canary_set(block + size, AXO__CANARY);
    return block;
}

void axo__memory_give_state(axo__local *local, const axo__cell *cell, void *block, size_t size,
                            size_t args)
{
    AXO_DEBUG_ASSERT(axo__memory_is_walled(cell, size));
    if ((memory_walls(cell) & AXO_WALL_GUARD) != 0)
        axo__wall_give(local->core->pool.walls, block);
    else
        axo__pool_free(&local->cache, block, memory_state_block(size, args));
}

void axo__memory_resize(const axo__cell *cell, size_t size)
{
    axo__budget *budget = memory_budget(cell);
    if (budget == NULL)
        return;
    axo__budget_force(budget, size);
    axo__budget_give(budget, budget->own);
    budget->own = size;
}

void axo__memory_end(axo__cell *cell)
{
    axo__budget *budget = memory_budget(cell);
    if (budget == NULL || budget->own == 0)
        return;
    axo__budget_give(budget, budget->own);
    budget->own = 0;
}

/* ---- its heap ---- */

axo__region *axo__memory_make(axo__worker *worker, axo__cell *cell, size_t size)
{
    axo__extra *extra = axo__extra_take(&worker->local, cell);
    if (extra == NULL || extra->region != NULL)
        return extra != NULL ? extra->region : NULL;
    uint32_t walls = MEMORY_USUAL;
    if (extra->budget != NULL)
        walls |= extra->budget->walls;
    uint64_t key = axo__cell_ref(cell).bits + ((uint64_t)axo__cell_instance(cell) << 40);
    extra->region = axo__region_make(&worker->local.cache, extra->budget, walls, key, size);
    return extra->region;
}

void axo__memory_refused(axo__worker *worker, axo__cell *cell)
{
    axo__budget *budget = memory_budget(cell);
    if (budget == NULL || budget->refused == 0)
        return;
    budget->refused = 0;
    if (budget->fails && axo__blame_is_open(worker))
        axo__blame_memory(worker, AXO_ENOMEM, "memory beyond its bound");
}

void *axo__memory_take(axo__worker *worker, axo__cell *cell, size_t size)
{
    axo__region *region = axo__memory_region(worker, cell, size);
    void *block = region != NULL ? axo__region_take(region, &worker->local.cache, size) : NULL;
    if (axo__unlikely(block == NULL))
        axo__memory_refused(worker, cell);
    return block;
}

bool axo__memory_defer(axo__worker *worker, axo__cell *cell, void (*fn)(void *arg), void *arg)
{
    axo__region *region = axo__memory_region(worker, cell, sizeof(axo__region_defer_record));
    if (region != NULL && axo__region_defer(region, &worker->local.cache, fn, arg))
        return true;
    axo__memory_refused(worker, cell);
    return false;
}

/* ---- what is found ---- */

void axo__memory_tell(void *arg, const axo__finding *finding)
{
    axo__found(axo__self, arg, finding, "block");
}

/* Between callbacks, so each finding is a line. */
static void memory_tell_log(void *arg, const axo__finding *finding)
{
    axo__found_line(axo__self, arg, finding, "block");
}

/* The state is whole again afterwards, so it is told of once. */
static void memory_look_state(axo__worker *worker, axo__cell *cell)
{
    size_t size = axo__cell_class(cell)->state_size;
    char *state = cell->state_block;
    if (state == NULL || !axo__memory_is_walled(cell, size))
        return;
    bool pages = (memory_walls(cell) & AXO_WALL_GUARD) != 0;
    if (pages ? axo__wall_is_whole(state, size) : axo__canary_lives(state + size, AXO__CANARY))
        return;
    if (pages)
        axo__wall_mend(state, size);
    else
        axo__canary_set(state + size, AXO__CANARY);
    const axo__finding finding = {.flaw = AXO__FLAW_PAST, .block = state, .size = size};
    axo__found_line(worker, cell, &finding, "state");
}

void axo__memory_look_all(axo__worker *worker, axo__cell *cell)
{
    const axo__region_report report = {.tell = memory_tell_log, .arg = cell};
    axo__extra *extra = axo__cell_extra(cell);
    if (extra->budget != NULL)
        memory_look_state(worker, cell);
    if (axo__region_is_walled(extra->region))
        axo__region_check(extra->region, &report);
}

void axo__memory_end_all(axo__worker *worker, axo__cell *cell)
{
    const axo__region_report report = {.tell = memory_tell_log, .arg = cell};
    axo__extra *extra = axo__cell_extra(cell);
    axo__region_end(&extra->region, &worker->local.cache,
                    worker->trap != NULL ? axo__hook_cleanup : NULL, &report);
    if (extra->budget != NULL)
        memory_look_state(worker, cell);
}
