/* replace.c - an actor gets another class, between two messages.
 *
 * The instance goes on if there is one, with a state that migrate has made; it keeps its old state
 * and class until migrate has succeeded, so what fails has failed as what it was. An instance that
 * is broken has nothing to go on with: it ends here, without its hooks (HF-05), and the restart
 * that its supervision decides about finds the new class. Its children may look at its memory until
 * they have gone (D4), so it is left to them before that. */
#include "super/replace.h"

#include "cell/replacing.h"
#include "sched/hook.h"
#include "sched/trap_land.h"
#include "super/fail.h"
#include "super/instance.h"
#include "super/memory.h"
#include "super/spawn.h"

/* Whether there is an instance to go on with. */
static bool replace_lives(const axo__cell *cell)
{
    return cell->life == AXO__INSTANCE_STARTED;
}

/* Whether it is the actor's time. A restart that waits for children is over first (RS-18), as is an
 * end. Children of earlier instances have no part in a broken one. */
static bool replace_may(const axo__cell *cell)
{
    if (cell->phase != AXO__PHASE_NORMAL || cell->life == AXO__INSTANCE_STOPPED)
        return false;
    return replace_lives(cell) || axo__cell_children(cell) == axo__cell_earlier_children(cell);
}

/* Behaviours are the old class's functions. */
static void replace_behaviours(axo__worker *worker, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    while (extra != NULL && extra->behaviours != NULL) {
        axo__behaviour *top = extra->behaviours;
        extra->behaviours = top->below;
        axo__region_give(extra->region, &worker->local.cache, top);
    }
}

/* A settle that was asked for is the new class's, if that has one. */
static void replace_class(axo__worker *worker, axo__cell *cell, const axo__spawn_block *block)
{
    const axo_class *to = block->cls;
    axo__core *core = worker->local.core;
    axo__spawn_block_put(&worker->local, cell, block);
    if (to->settle == NULL) {
        cell->attention &= (uint8_t)~AXO__ATTENTION_SETTLE;
        cell->settled = 0;
    }
    if (to->watchdog_ms != 0 && core->contain != NULL)
        axo__a32_store_relaxed(&core->watchdogs, 1);
}

/* The cell is what it was, a cell that waits for a restart, or for a first instance, but for what
 * is left of the last instance. */
static void replace_ended(axo__worker *worker, axo__cell *cell, const axo__spawn_block *block)
{
    const uint32_t life = cell->life;
    axo__instance_destroy(worker, cell);
    cell->life = life & 3;
    cell->receive = block->cls->receive;
    replace_class(worker, cell, block);
}

/* What migrate has made of the stack of behaviours stays. One that fails has broken the instance,
 * as a crash: the cause goes into the cell before the clean-ups run. */
static void replace_go_on(axo__worker *worker, axo__cell *cell, const axo__replacing *what,
                          const axo__spawn_block *block)
{
    const axo__migration migration = {
        .fn = what->migrate, .state = block->state, .old = cell->state_block, .user = what->user};
    replace_behaviours(worker, cell);
    cell->receive = what->to->receive;
    if (what->migrate == NULL || axo__hook_migrate(worker, cell, &migration) == AXO_OK) {
        replace_class(worker, cell, block);
        return;
    }
    axo__trap_break(cell);
    axo__fail(worker, cell, axo_ref_none(), false);
    if (replace_may(cell))
        replace_ended(worker, cell, block);
    else
        axo__spawn_block_free(&worker->local, cell, block);
}

/* The block that the actor has may do. */
static bool replace_block(axo__worker *worker, axo__cell *cell, axo__replacing *what, bool goes_on,
                          axo__spawn_block *out)
{
    if ((goes_on && what->migrate != NULL) || what->from->state_size != what->to->state_size) {
        if (axo__spawn_block_make(&worker->local, cell, what->to, out))
            return true;
        axo__a32_store_release(&what->starved, 1); /* [C2] */
        return false;
    }
    *out = (axo__spawn_block){.cls = what->to, .state = cell->state_block,
                              .args = axo__cell_cold(cell)->args};
    return true;
}

/* NULL: there is nothing to do. */
static axo__replacing *replace_of(const axo__worker *worker, const axo__cell *cell)
{
    axo__replacing *what = axo__aptr_load_acquire(&worker->local.core->replacing); /* [C2] */
    return what != NULL && axo__cell_class(cell) == what->from ? what : NULL;
}

void axo__replace_take(axo__worker *worker, axo__cell *cell)
{
    axo__replacing *what = replace_of(worker, cell);
    const bool goes_on = replace_lives(cell);
    axo__spawn_block block;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    if (what == NULL || !replace_may(cell) || !replace_block(worker, cell, what, goes_on, &block))
        return;
    if (goes_on)
        replace_go_on(worker, cell, what, &block);
    else
        replace_ended(worker, cell, &block);
}

void axo__replace_between(axo__worker *worker, axo__cell *cell)
{
    axo__replacing *what = replace_of(worker, cell);
    axo__spawn_block block;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    if (what == NULL || !replace_block(worker, cell, what, false, &block))
        return;
    axo__instance_drop_failed(worker, cell); /* before its memory, as in any restart */
    replace_ended(worker, cell, &block);
}
