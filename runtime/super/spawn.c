/* spawn.c - the birth of an actor: what its cell takes.
 *
 * A birth fills every field before axo__table_begin stores the reference (release): a thread
 * that finds the cell by its reference (acquire) sees a whole actor. The cell starts as RUNNING,
 * so a stale entry of the slot's former life cannot claim it; axo__state_birth lifts that once the
 * parent knows its child. A plain child's word is the last that is written (axo__state_born). */
#include "super/spawn.h"

#include <string.h>

#include "base/probe.h"
#include "sched/account.h"
#include "sched/newborn.h"
#include "sched/ready.h"
#include "super/children.h"
#include "super/memory.h"

/* Whether the props ask for something that most actors lack and that lies in `extra`. A new field
 * of axo_props stops the build here, because a field that is forgotten would be ignored in
 * silence. */
AXO_STATIC_ASSERT(sizeof(void *) != 8 || sizeof(axo_props) == 112,
                  "does the new field of axo_props belong to spawn_is_special?");
static bool spawn_is_special(const axo_props *props)
{
    /* what asks for bounds of memory gets its record from super/memory.c, what asks for bounds of
     * what is outstanding from sched/account.c */
    return props->name != NULL || props->strategy != NULL || props->stash_max != 0 ||
           props->mailbox != NULL;
}

/* Copies into `extra` what the props ask for beyond the usual. A plain child of the default pool
 * takes no record at all: a million leaves pay for none. */
static bool spawn_take_extra(axo__local *local, const axo_props *props, axo__sched *sched,
                             axo__cell *cell)
{
    axo__core *core = local->core;
    if (!spawn_is_special(props) && sched == core->sched)
        return true;
    axo__extra *extra = axo__extra_take(local, cell);
    if (extra == NULL)
        return false;
    extra->strategy = props->strategy;
    /* Relaxed: a child of the actor comes after this, and looks only when it fails. */
    if (props->strategy != NULL && props->strategy->answer_failed != 0)
        axo__a32_store_relaxed(&core->answers, 1);
    extra->stash_max = props->stash_max;
    if (sched != core->sched) {
        extra->sched = sched;
        cell->elsewhere = 1;
    }
    if (props->mailbox == NULL)
        return true;
    extra->bounded = axo__bounded_make(&local->cache, props->mailbox);
    cell->bounded = extra->bounded != NULL ? 1 : 0;
    cell->attention = extra->bounded != NULL ? AXO__ATTENTION_BOUNDED : 0;
    return extra->bounded != NULL;
}

/* A copy of args, in units. */
static size_t spawn_units(size_t args_size)
{
    AXO_DEBUG_ASSERT(args_size <= AXO_ARGS_MAX);
    return (args_size + AXO__ARGS_UNIT - 1) / AXO__ARGS_UNIT;
}

/* Bytes of the state within the block that state and args share; rounded up only if args follow
 * it. */
static size_t spawn_room(size_t state_size, size_t units)
{
    return units == 0 ? state_size : (state_size + AXO__ARGS_UNIT - 1) & ~(AXO__ARGS_UNIT - 1);
}

/* With args behind it a state is aligned as one without: the block's size is no odder than its
 * own. */
static size_t spawn_bytes(size_t state_size, size_t units)
{
    size_t bytes = spawn_room(state_size, units) + units * AXO__ARGS_UNIT;
    return units == 0 || state_size == 0 ? bytes : axo__pool_align_as(bytes, state_size);
}

static size_t spawn_state_room(const axo__cell *cell)
{
    return spawn_room(axo__cell_own_class(cell)->state_size, cell->args_units);
}

static size_t spawn_block_size(const axo__cell *cell)
{
    return spawn_bytes(axo__cell_own_class(cell)->state_size, cell->args_units);
}

size_t axo__spawn_state_bytes(const axo__cell *cell)
{
    return spawn_block_size(cell);
}

/* A block for a state and a copy of args; *args is where the copy goes. NULL: no memory. */
static char *spawn_block_take(axo__local *local, const axo__cell *cell, size_t state_size,
                              void **args)
{
    const size_t units = cell->args_units;
    if (axo__unlikely(axo__memory_is_walled(cell, state_size)))
        return axo__memory_take_state(local, cell, state_size, units * AXO__ARGS_UNIT, args);
    char *block = axo__pool_alloc(&local->cache, spawn_bytes(state_size, units));
    *args = block != NULL ? block + spawn_room(state_size, units) : NULL;
    return block;
}

/* One block holds the state and behind it the copy of the args, which every later construct reads
 * again (RS-06). Args of size 0 were handed on as a pointer and stay the program's. */
static bool spawn_take_block(axo__local *local, const axo_props *props, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->state_block == NULL && props->args_size <= AXO_ARGS_MAX);
    axo__cell_cold(cell)->args = props->args;
    cell->args_units = spawn_units(props->args_size) & 0x1fff;
    if (spawn_block_size(cell) == 0)
        return true;
    void *args;
    char *block = spawn_block_take(local, cell, props->cls->state_size, &args);
    if (block == NULL) {
        cell->args_units = 0;
        return false;
    }
    if (props->cls->state_size > 0)
        cell->state_block = block;
    if (props->args_size > 0)
        axo__cell_cold(cell)->args = memcpy(args, props->args, props->args_size);
    return true;
}

/* A copy of args is whole units, of which the last one may be padding. */
bool axo__spawn_block_make(axo__local *local, const axo__cell *cell, const axo_class *cls,
                           axo__spawn_block *out)
{
    const size_t size = cls->state_size;
    void *args;
    *out = (axo__spawn_block){.cls = cls, .args = axo__cell_cold(cell)->args};
    if (spawn_bytes(size, cell->args_units) == 0)
        return true;
    char *block = spawn_block_take(local, cell, size, &args);
    if (block == NULL)
        return false;
    if (size > 0)
        out->state = memset(block, 0, size);
    if (cell->args_units > 0)
        out->args = memcpy(args, out->args, cell->args_units * AXO__ARGS_UNIT);
    return true;
}

void axo__spawn_block_free(axo__local *local, const axo__cell *cell, const axo__spawn_block *block)
{
    const size_t units = cell->args_units;
    const size_t size = block->cls->state_size;
    void *begin = block->state;
    if (begin == NULL && units > 0)
        begin = (void *)(uintptr_t)block->args;
    if (begin == NULL)
        return;
    if (axo__memory_is_walled(cell, size))
        axo__memory_give_state(local, cell, begin, size, units * AXO__ARGS_UNIT);
    else
        axo__pool_free(&local->cache, begin, spawn_bytes(size, units));
}

void axo__spawn_block_put(axo__local *local, axo__cell *cell, const axo__spawn_block *block)
{
    axo__cold *cold = axo__cell_cold(cell);
    const axo__spawn_block old = {
        .cls = axo__cell_class(cell), .state = cell->state_block, .args = cold->args};
    const bool stays = block->state == old.state && block->args == old.args;
    cell->state_block = block->state;
    cold->args = block->args;
    axo__aptr_store_release(&cold->cls, (void *)(uintptr_t)block->cls); /* [C1] */
    if (stays)
        return;
    axo__spawn_block_free(local, cell, &old);
    axo__memory_resize(cell, spawn_block_size(cell));
}

/* Takes everything that needs memory, all of it or none; spawn_undo gives back a part that was
 * taken. The name comes last: a birth that then finds no memory must not have held the name against
 * another spawn. */
static axo_status spawn_take(axo__local *local, const axo__birth *birth, const axo_props *props,
                             axo__sched *sched, axo__cell *cell)
{
    axo_status status = AXO_OK;
    if (!spawn_take_extra(local, props, sched, cell))
        return AXO_ENOMEM;
    size_t state = spawn_bytes(props->cls->state_size, spawn_units(props->args_size));
    status = axo__memory_begin(local, birth->parent_cell, props, cell, state);
    if (status != AXO_OK)
        return status;
    if (!axo__account_begin(local, props, cell) || !spawn_take_block(local, props, cell))
        return AXO_ENOMEM;
    if (!axo__children_take_record(local, birth->parent_cell, cell))
        return AXO_ENOMEM;
    if (props->name != NULL)
        status = axo__names_take(&local->core->names, birth->parent, props->name, birth->now,
                                 &axo__cell_extra(cell)->name);
    return status;
}

void axo__spawn_free_blocks(axo__local *local, axo__cell *cell)
{
    const axo__cold *cold = axo__cell_cold(cell);
    void *block = cell->state_block;
    if (block == NULL && cell->args_units > 0)
        block = (void *)(uintptr_t)cold->args;
    if (block != NULL)
        axo__pool_free(&local->cache, block, spawn_block_size(cell));
    cell->state_block = NULL;
    cell->args_units = 0;
}

void axo__spawn_free_all(axo__local *local, axo__cell *cell)
{
    const axo__spawn_block own = {.cls = axo__cell_class(cell),
                                  .state = cell->state_block,
                                  .args = axo__cell_cold(cell)->args};
    axo__spawn_block_free(local, cell, &own);
    cell->state_block = NULL;
    cell->args_units = 0;
    axo__memory_end(cell);
}

/* Clears a newborn's fields. The word, `self` and the slot survive, since other threads
 * may still look at them by a stale reference or entry. */
static void spawn_reset(axo__cell *cell)
{
    AXO_DEBUG_ASSERT((axo__a64_peek_owner(&cell->state.word) & AXO__CLOSED) != 0);
    size_t from = offsetof(axo__cell, receive);
    memset((char *)cell + from, 0, sizeof *cell - from);
    size_t cold = offsetof(axo__cold, args); /* the class is the caller's to store */
    memset((char *)axo__cell_cold(cell) + cold, 0, sizeof(axo__cold) - cold);
    cell->bounded = 0;
    cell->elsewhere = 0;
    cell->guardian = 0;
    axo__a64_store_relaxed(&cell->directives, 0);
}

/* A birth that failed gives everything back. No thread has found the cell, as no reference
 * leads to it yet, so no grace period is needed. */
static void spawn_undo(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    axo__spawn_free_all(local, cell);
    axo__children_free_record(local, cell);
    axo__bounded_free(&local->cache, axo__cell_bounded(cell));
    axo__extra_free(local, cell);
    axo__local_untake_cell(local, cell);
}

/* While a class is being replaced, an actor of it is born with the other one. */
static const axo_props *spawn_props(axo__core *core, const axo_props *props, axo_props *other)
{
    const axo__replacing *what = axo__aptr_load_acquire(&core->replacing); /* [C2] */
    if (axo__likely(what == NULL) || props->cls != what->from)
        return props;
    *other = *props;
    other->cls = what->to;
    return other;
}

/* The order of the last steps is the order of visibility: lane and word are ready before
 * axo__table_begin lets threads find the cell by reference, and the name leads to the cell only
 * after that. */
axo_status axo__spawn_make(axo__local *local, const axo__birth *birth, axo__cell **out)
{
    axo__core *core = local->core;
    axo_props other;
    const axo_props *props = spawn_props(core, birth->props, &other);
    axo_status status = AXO_OK;
    *out = NULL;
    axo__cell *cell = axo__local_take_cell(local, &status);
    if (cell == NULL)
        return status;
    spawn_reset(cell);
    axo__aptr_store_relaxed(&axo__cell_cold(cell)->cls, (void *)(uintptr_t)props->cls);
    cell->lifetime = props->lifetime & 3;
    if (axo__unlikely(props->cls->watchdog_ms != 0) && core->contain != NULL)
        axo__a32_store_relaxed(&core->watchdogs, 1);
    axo__sched *sched = NULL;
    status = core->dispatch(core, props, &sched);
    if (status == AXO_OK) {
        status = spawn_take(local, birth, props, sched, cell);
        if (status != AXO_OK)
            core->undispatch(core, sched);
    }
    if (status != AXO_OK) {
        spawn_undo(local, cell);
        return status;
    }
    cell->receive = props->cls->receive;
    cell->parent = axo__cell_link(birth->parent_cell);
    cell->guardian = birth->parent_cell != NULL && birth->parent_cell->parent == 0;
    axo__stack_init(&cell->system);
    axo__state_init(&cell->state, birth->suspends);
    axo__table_begin(&core->table, cell);
    if (props->name != NULL)
        axo__names_bind(&core->names, axo__cell_name(cell), axo__cell_ref(cell));
    axo__trace_anywhere(local, cell, AXO_EV_SPAWN, birth->parent.bits);
    AXO__PROBE4(spawn, cell, axo__cell_ref(cell).bits, birth->parent_cell, props->cls);
    *out = cell;
    return AXO_OK;
}

/* Whether an actor that runs a callback may not spawn any more. post_stop within a restart's
 * default pre_restart has that site too (ST-10). */
static bool spawn_is_late(const axo__worker *worker, const axo__cell *parent)
{
    return parent->phase >= AXO__PHASE_TERMINATING || worker->site == AXO__SITE_POST_STOP;
}

/* The first child: from here on the family says what each child takes. */
static axo__family *spawn_family(axo__local *local, axo__cell *parent)
{
    axo__family *family = axo__cell_family(parent);
    if (axo__likely(family != NULL))
        return family;
    family = axo__family_take(local, parent);
    if (family != NULL)
        family->plain = !axo__children_have_records(local->core, parent) &&
                        !axo__memory_is_inherited(local->core, parent);
    return family;
}

/* The family is taken first, so that nothing can fail after the child exists. The child is linked
 * before axo__state_birth clears RUNNING: as soon as another worker can run the child, a failure of
 * it must find its parent's list complete (OR-08). */
axo_status axo__spawn(axo__worker *worker, axo__cell *parent, const axo_props *props,
                      axo_ref *out)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, parent));
    axo__cell *child = NULL;
    if (spawn_is_late(worker, parent))
        return AXO_ESTOPPING;
    axo__birth birth = {
        .props = props,
        .parent = axo__cell_ref(parent),
        .parent_cell = parent,
        .suspends = axo__state_suspends(&parent->state),
        .now = axo__worker_moment(worker),
    };
    if (spawn_family(&worker->local, parent) == NULL)
        return AXO_ENOMEM;
    axo_status status = axo__spawn_make(&worker->local, &birth, &child);
    if (status != AXO_OK)
        return status;
    *out = axo__cell_ref(child);
    axo__children_link(parent, child);
    axo__state_birth(&child->state);
    axo__sched_push_newborn(worker, child);
    return AXO_OK;
}

/* The fields of a leaf, in one pass over its three lines, each written once: what spawn_reset,
 * spawn_take and axo__children_link write one after the other. */
static inline void spawn_fill(axo__cell *cell, const axo_props *props, const axo__cell *parent,
                              axo__family *family, void *block)
{
    axo__cell *sibling = family->children;
    const axo_class *cls = props->cls;
    cell->receive = cls->receive;
    cell->state_block = cls->state_size > 0 ? block : NULL;
    memset(&cell->inbox, 0, sizeof *cell - offsetof(axo__cell, inbox));
    cell->backlog_turns = 0; /* said again: the two are one store */
    cell->args_units = spawn_units(props->args_size) & 0x1fff;
    axo__a64_store_relaxed(&cell->directives, 0);
    axo__stack_init(&cell->system);
    cell->parent = axo__cell_link(parent);
    cell->lifetime = props->lifetime & 3;
    cell->bounded = 0;
    cell->elsewhere = 0;
    cell->guardian = 0;
    axo__cold *cold = axo__cell_cold(cell);
    axo__aptr_store_relaxed(&cold->cls, (void *)(uintptr_t)cls);
    cold->args = props->args;
    memset(&cold->failure, 0, sizeof *cold - offsetof(axo__cold, failure));
    cold->next = axo__cell_link(sibling) & AXO__LINK_MASK;
    AXO_DEBUG_ASSERT(block != NULL || props->args_size == 0);
    if (axo__unlikely(block != NULL && props->args_size > 0))
        cold->args = memcpy((char *)block + spawn_state_room(cell), props->args, props->args_size);
    if (sibling != NULL)
        axo__cell_cold(sibling)->before = axo__cell_link(cell);
    family->children = cell;
    family->count++;
}

/* What axo__spawn does, step by step, for a child that takes nothing but its block: whatever else
 * is asked for, or missing, is left to it before anything has changed. An observer would have the
 * reference before the child's word is a living one's; who walks the table looks at the word. */
axo_status axo__spawn_plain(axo__worker *worker, axo__cell *parent, const axo_props *props,
                            axo_ref *out)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, parent));
    axo__local *local = &worker->local;
    axo__family *family = axo__cell_family(parent);
    size_t size = spawn_bytes(props->cls->state_size, spawn_units(props->args_size));
    if (axo__unlikely(family == NULL || !family->plain || spawn_is_late(worker, parent) ||
                      axo__local_traces(local, AXO_EVENT_BIT(AXO_EV_SPAWN))))
        return axo__spawn(worker, parent, props, out);
    void *block = size > 0 ? axo__pool_alloc(&local->cache, size) : NULL;
    if (axo__unlikely(block == NULL && size > 0))
        return AXO_ENOMEM;
    axo__cell *child = axo__local_take_plain(local);
    if (axo__unlikely(child == NULL)) {
        axo__pool_free(&local->cache, block, size);
        return axo__spawn(worker, parent, props, out);
    }
    spawn_fill(child, props, parent, family, block);
    axo__state_counts(&child->state, axo__state_suspends(&parent->state));
    axo__table_begin(&local->core->table, child);
    AXO__PLAIN_TRACE(local, child, AXO_EV_SPAWN, axo__cell_ref(parent).bits);
    *out = axo__cell_own_ref(child);
    AXO__PROBE4(spawn, child, out->bits, parent, props->cls);
    axo__state_born(&child->state);
    if (axo__unlikely(!axo__newborn_push_plain(worker, child)))
        axo__sched_push_newborn(worker, child);
    return AXO_OK;
}

/* As often as the parent will be resumed: it is not from a failure of its own, as /user. */
static __attribute__((noinline)) void spawn_suspend(axo__worker *worker, const axo__cell *cell,
                                                    axo__cell *child)
{
    for (uint32_t i = axo__state_suspends(&cell->state) - cell->reported; i > 0; i--)
        axo__super_suspend_self(worker, child, 1);
    axo__state_settle(&child->state);
}

/* A parent that terminates meanwhile stops the child at once; the child still has its turn, in
 * which it ends (SH-04). While all is paused /user is suspended, and so is the child (SC-03). */
void axo__spawn_adopt(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(child->phase == AXO__PHASE_NEW);
    axo__children_link(cell, child);
    if (cell->phase == AXO__PHASE_TERMINATING)
        axo__child_stop(worker, child);
    else if (axo__unlikely(axo__state_suspends(&cell->state) > 0))
        spawn_suspend(worker, cell, child);
    axo__state_birth(&child->state);
    axo__sched_push_ready(worker, child);
}
