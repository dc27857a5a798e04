/* api_memory.c - the door of memory.h, and what else lies in an instance's heap: clean-ups,
 * behaviours. */
#include <axo/axo.h>

#include "sched/found.h"
#include "super/memory.h"
#include "super/spawn.h"
#include "system/system.h"

/* ---- blocks ---- */

/* A size that no memory has. */
static bool memory_is_size(size_t size)
{
    return size > 0 && size <= PTRDIFF_MAX / 2;
}

static void *memory_alloc(axo__worker *worker, axo__cell *cell, size_t size)
{
    axo__region *region = axo__memory_region(worker, cell, size);
    void *block = region != NULL ? axo__region_alloc(region, &worker->local.cache, size) : NULL;
    if (axo__unlikely(block == NULL))
        axo__memory_refused(worker, cell);
    return block;
}

void *axo_alloc(axo_ctx *ctx, size_t size)
{
    axo__cell *cell = axo__caller(ctx);
    if (axo__unlikely(cell == NULL || !memory_is_size(size)))
        return NULL;
    return memory_alloc(axo__self, cell, size);
}

void *axo_must_alloc(axo_ctx *ctx, size_t size)
{
    axo__cell *cell = axo__caller(ctx);
    axo__worker *worker = axo__self;
    if (axo__unlikely(cell == NULL || !axo__blame_is_open(worker)))
        axo__misuse(cell == NULL && axo__no_caller() == AXO_EFORKED
                        ? "axo_must_alloc in a child process that the callback has forked"
                        : "axo_must_alloc outside of the callback that was given the context");
    void *block = memory_is_size(size) ? memory_alloc(worker, cell, size) : NULL;
    if (axo__likely(block != NULL))
        return block;
    axo__blame_memory(worker, size == 0 ? AXO_EINVAL : AXO_ENOMEM, "no memory for %zu bytes", size);
    AXO__UNWIND_JUMP(worker->unwind);
}

/* `block` is no block that the program may hand in. */
static void memory_misused(axo__cell *cell, axo__flaw flaw, const void *block)
{
    const axo__finding finding = {.flaw = flaw, .block = block};
    if (flaw != AXO__FLAW_PAST) /* that was told where the size is known */
        axo__found(axo__self, cell, &finding, "block");
}

/* The heap without making one; NULL: no block lives. */
static axo__region *memory_there(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->region : NULL;
}

void axo_free(axo_ctx *ctx, void *block)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL || block == NULL)
        return;
    const axo__region_report report = {.tell = axo__memory_tell, .arg = cell};
    axo__region *region = memory_there(cell);
    axo__flaw flaw = AXO__FLAW_STRANGE;
    if (axo__likely(region != NULL))
        flaw = axo__region_free(region, &axo__self->local.cache, block, &report);
    if (axo__unlikely(flaw != AXO__FLAW_NONE))
        memory_misused(cell, flaw, block);
}

void *axo_realloc(axo_ctx *ctx, void *block, size_t size)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return NULL;
    if (block == NULL)
        return axo_alloc(ctx, size);
    if (size == 0) {
        axo_free(ctx, block);
        return NULL;
    }
    if (!memory_is_size(size))
        return NULL;
    const axo__region_report report = {.tell = axo__memory_tell, .arg = cell};
    axo__region *region = memory_there(cell);
    axo__flaw flaw = AXO__FLAW_STRANGE;
    void *fresh = NULL;
    if (region != NULL)
        flaw = axo__region_resize(region, &axo__self->local.cache, block, size, &report, &fresh);
    if (axo__unlikely(flaw != AXO__FLAW_NONE))
        memory_misused(cell, flaw, block);
    else if (axo__unlikely(fresh == NULL))
        axo__memory_refused(axo__self, cell);
    return fresh;
}

axo_memory axo_memory_of(axo_ctx *ctx)
{
    axo_memory out = {.held = 0};
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return out;
    const axo__extra *extra = axo__cell_extra(cell);
    const axo__budget *budget = extra != NULL ? extra->budget : NULL;
    axo__region_size size = axo__region_measure(memory_there(cell));
    size_t state = axo__spawn_state_bytes(cell);
    out.held = size.held + state;
    out.held_most = size.most + state;
    out.blocks = size.blocks;
    if (budget == NULL)
        return out;
    out.held_max = budget->max;
    out.tree_max = budget->tree_max;
    if (budget->tree_max != 0)
        out.tree_held = (size_t)axo__a64_load_relaxed(&budget->tree);
    return out;
}

/* ---- clean-ups and behaviours ---- */

axo_status axo_defer(axo_ctx *ctx, void (*fn)(void *arg), void *arg)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (fn == NULL)
        return AXO_EINVAL;
    return axo__memory_defer(axo__self, cell, fn, arg) ? AXO_OK : AXO_ENOMEM;
}

axo_status axo_become(axo_ctx *ctx, axo_receive_fn receive)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (receive == NULL)
        return AXO_EINVAL;
    axo__behaviour *behaviour = axo__memory_take(axo__self, cell, sizeof *behaviour);
    if (behaviour == NULL)
        return AXO_ENOMEM;
    axo__extra *extra = axo__cell_extra(cell); /* it was made: the heap lies there */
    /* The stack lies in the heap: a restart forgets it with the instance (RS-11). */
    *behaviour = (axo__behaviour){.below = extra->behaviours, .receive = cell->receive};
    extra->behaviours = behaviour;
    cell->receive = receive;
    return AXO_OK;
}

axo_status axo_unbecome(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    axo__extra *extra = axo__cell_extra(cell);
    if (extra == NULL || extra->behaviours == NULL)
        return AXO_OK;
    axo__behaviour *top = extra->behaviours;
    cell->receive = top->receive;
    extra->behaviours = top->below;
    axo__region_give(extra->region, &axo__self->local.cache, top);
    return AXO_OK;
}
