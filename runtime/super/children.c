/* children.c - the parent's side: making, telling, counting and forgetting children. */
#include <string.h>

#include "super/super.h"

/* ---- telling ---- */

void axo__super_stop_child(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    axo__cell_kin(child)->stopping = 1;
    axo__name *name = axo__cell_name(child);
    if (name != NULL)
        name->seen = axo__worker_moment(worker);
    axo__directives_stop_parent(&child->directives);
    axo__sched_announce_system(worker, child);
}

/* A child that nobody is in, that has nothing to do and none below it: it need not be told. */
static bool children_suspend_here(axo__worker *worker, axo__cell *child)
{
    if (!axo__state_borrow_idle(&child->state))
        return false;
    if (child->phase != AXO__PHASE_NORMAL || axo__cell_child_count(child) > 0) {
        axo__sched_hand_back(worker, child);
        return false;
    }
    axo__state_suspend(&child->state);
    axo__trace(worker->core, &worker->local, child, AXO_EV_SUSPEND, 1);
    axo__sched_hand_back_held(worker, child);
    return true;
}

void axo__super_suspend_child(axo__worker *worker, axo__cell *child, int32_t delta)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    AXO_DEBUG_ASSERT(delta != 0);
    if (delta == 1 && axo__cell_sched(child) == worker->sched &&
        children_suspend_here(worker, child))
        return;
    axo__directives_delta_add(&child->directives, delta);
    axo__sched_announce_system(worker, child);
}

void axo__super_resume_own(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    if (axo__cell_kin(child)->stopping)
        return;
    const axo__brief *failure = &axo__cell_kin(child)->failure;
    if (child->lifetime == AXO_TEMPORARY && failure->kind == AXO_FAILURE_INIT && !failure->whole) {
        axo__super_stop_child(worker, child); /* LT-05: there is no instance to go on with */
        return;
    }
    axo__directives_resume_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

void axo__super_restart_own(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    if (axo__cell_kin(child)->stopping)
        return;
    axo__directives_restart_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

/* D17. Apart, so that the compiler keeps what is usual short. */
static __attribute__((noinline)) void children_merged(axo__worker *worker, const axo__cell *child)
{
    axo__a64_bump_owner(&worker->local.count.restarts_merged);
    axo__trace(worker->core, &worker->local, axo__cell_parent(child), AXO_EV_MERGE,
               axo__cell_ref(child).bits);
}

/* The cause is written while RESTART_PARENT is clear. A restart that still waits is merged with
 * this one: the suspension that came with this one is taken back. */
bool axo__super_restart_parent(axo__worker *worker, axo__cell *child, const axo__cause *cause,
                               bool resolve)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE);
    uint64_t old = axo__directives_look(&child->directives);
    bool written = false;
    bool merge;
    if (axo__cell_kin(child)->stopping)
        return false;
    if (child->lifetime == AXO_TEMPORARY) { /* LT-04 */
        axo__super_stop_child(worker, child);
        return false;
    }
    axo__ward *ward = axo__cell_ward(child);
    AXO_ASSERT(ward != NULL);
    do {
        merge = (old & AXO__RESTART_PARENT) != 0 && !written;
        if (!merge && !written) {
            AXO_DEBUG_ASSERT(ward->cause.kind == AXO_FAILURE_NONE);
            ward->cause = *cause;
            written = true;
        }
    } while (!axo__directives_restart_parent(&child->directives, &old, resolve, merge));
    if (axo__unlikely(merge))
        children_merged(worker, child);
    axo__sched_announce_system(worker, child);
    return written;
}

void axo__super_stop_children(axo__worker *worker, axo__cell *parent)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, parent));
    axo__cell *child = axo__cell_children(parent);
    for (; child != NULL; child = axo__cell_next(child)) {
        if (!axo__cell_kin(child)->stopping)
            axo__super_stop_child(worker, child);
    }
}

void axo__super_stop_young(axo__worker *worker, axo__cell *parent)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, parent));
    axo__cell *child = axo__cell_children(parent);
    for (; child != NULL; child = axo__cell_next(child)) {
        if (!axo__cell_kin(child)->stopping && !axo__cell_kin(child)->elder)
            axo__super_stop_child(worker, child);
    }
}

void axo__super_age_children(axo__cell *parent)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&parent->state));
    axo__cell *child = axo__cell_children(parent);
    for (; child != NULL; child = axo__cell_next(child))
        axo__cell_kin(child)->elder = 1;
}

uint32_t axo__super_wait_for_stopping(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    axo__family *family = axo__cell_family(cell);
    if (family == NULL)
        return 0;
    axo__cell *child = axo__cell_children(cell);
    for (; child != NULL; child = axo__cell_next(child)) {
        if (axo__cell_kin(child)->stopping && !axo__cell_kin(child)->waited) {
            axo__cell_kin(child)->waited = 1;
            family->waiting++;
        }
    }
    AXO_DEBUG_ASSERT(family->waiting <= family->count);
    return family->waiting;
}

/* RS-04, RS-13: what the default pre_restart does with children. */
void axo__super_leave_children(axo__worker *worker, axo__cell *parent)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, parent));
    const axo__more *more = axo__cell_more(parent);
    axo__cell *child = more != NULL && more->watching != NULL ? axo__cell_children(parent) : NULL;
    for (; child != NULL; child = axo__cell_next(child))
        axo__super_unwatch(worker, parent, axo__cell_ref(child));
    axo__super_stop_children(worker, parent);
}

axo__cell *axo__super_find_child(axo__cell *cell, axo_ref ref)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    axo__cell *child = axo__cell_children(cell);
    for (; child != NULL; child = axo__cell_next(child)) {
        if (axo_ref_equal(axo__cell_ref(child), ref))
            return child;
    }
    return NULL;
}

/* ---- making ---- */

/* Whether a restart of the parent or of a sibling may restart its children too. One without a
 * pre_restart of its own stops them (RS-04); a guardian is stopped, not restarted (GU-07). */
static bool children_restart_along(const axo__cell *parent)
{
    const axo_strategy *strategy = axo__cell_strategy(parent);
    return (strategy != NULL && strategy->scope != AXO_ONE_FOR_ONE) ||
           (axo__cell_class(parent)->pre_restart != NULL && parent->parent != 0 &&
            !parent->guardian);
}

/* What the parent keeps of the child. */
static bool children_take_ward(axo__core *core, axo__local *local, const axo__cell *parent,
                               axo__cell *cell)
{
    if (parent == NULL || cell->lifetime == AXO_TEMPORARY)
        return true;
    const axo_strategy *strategy = axo__cell_strategy(parent);
    bool counts = strategy != NULL && (strategy->limited != 0 || strategy->backoff != NULL);
    if (!counts && !children_restart_along(parent))
        return true;
    axo__ward *ward = axo__ward_take(core, local, cell);
    if (ward == NULL)
        return false;
    if (counts && strategy->window == AXO_WINDOW_SLIDING) {
        ward->failures = axo__pool_alloc(&core->pool, &local->cache,
                                         sizeof(int64_t) * AXO_SLIDING_MAX);
        if (ward->failures == NULL)
            return false;
    }
    if (counts && strategy->backoff != NULL) {
        ward->delay = axo__pool_alloc(&core->pool, &local->cache, sizeof *ward->delay);
        if (ward->delay == NULL)
            return false;
        memset(ward->delay, 0, sizeof *ward->delay);
    }
    return true;
}

/* What the props say that most do not. */
static bool children_take_more(axo__core *core, axo__local *local, const axo_props *props,
                               axo__sched *sched, axo__cell *cell)
{
    if (props->name == NULL && props->strategy == NULL && props->stash_max == 0 &&
        props->mailbox == NULL && sched == core->sched)
        return true;
    axo__more *more = axo__more_take(core, local, cell);
    if (more == NULL)
        return false;
    more->strategy = props->strategy;
    more->stash_max = props->stash_max;
    if (sched != core->sched) {
        more->sched = sched;
        cell->elsewhere = 1;
    }
    if (props->mailbox == NULL)
        return true;
    more->box = axo__box_make(&core->pool, &local->cache, props->mailbox);
    cell->boxed = more->box != NULL ? 1 : 0;
    cell->aside = more->box != NULL ? AXO__ASIDE_BOX : 0;
    return more->box != NULL;
}

/* Bytes of the state in the block that it shares with the copy of the args. */
static size_t children_state_room(const axo__cell *cell)
{
    size_t size = axo__cell_class(cell)->state_size;
    return cell->args_units == 0 ? size : (size + AXO__ARGS_UNIT - 1) & ~(AXO__ARGS_UNIT - 1);
}

static size_t children_block_size(const axo__cell *cell)
{
    return children_state_room(cell) + cell->args_units * AXO__ARGS_UNIT;
}

static bool children_take_block(axo__core *core, axo__local *local, const axo_props *props,
                                axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->state_block == NULL && props->args_size <= AXO_ARGS_MAX);
    axo__cell_kin(cell)->args = props->args;
    cell->args_units = ((props->args_size + AXO__ARGS_UNIT - 1) / AXO__ARGS_UNIT) & 0x1fff;
    size_t size = children_block_size(cell);
    if (size == 0)
        return true;
    char *block = axo__pool_alloc(&core->pool, &local->cache, size);
    if (block == NULL) {
        cell->args_units = 0;
        return false;
    }
    if (props->cls->state_size > 0)
        cell->state_block = block;
    if (props->args_size > 0)
        axo__cell_kin(cell)->args =
            memcpy(block + children_state_room(cell), props->args, props->args_size);
    return true;
}

/* What needs memory, all of it or none. */
static axo_status children_take(axo__core *core, axo__local *local, const axo__birth *birth,
                                axo__sched *sched, axo__cell *cell)
{
    const axo_props *props = birth->props;
    axo_status status = AXO_OK;
    if (!children_take_more(core, local, props, sched, cell))
        return AXO_ENOMEM;
    if (!children_take_block(core, local, props, cell))
        return AXO_ENOMEM;
    if (!children_take_ward(core, local, birth->parent_cell, cell))
        return AXO_ENOMEM;
    if (props->name != NULL)
        status = axo__names_take(&core->names, birth->parent, props->name, birth->now,
                                 &axo__cell_more(cell)->name);
    return status;
}

void axo__super_free_blocks(axo__core *core, axo__local *local, axo__cell *cell)
{
    const axo__kin *kin = axo__cell_kin(cell);
    void *block = cell->state_block;
    if (block == NULL && cell->args_units > 0)
        block = (void *)(uintptr_t)kin->args;
    if (block != NULL)
        axo__pool_free(&core->pool, &local->cache, block, children_block_size(cell));
    cell->state_block = NULL;
    cell->args_units = 0;
}

void axo__super_free_ward(axo__core *core, axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(cell) == AXO_FAILURE_NONE);
    axo__ward *ward = axo__cell_ward(cell);
    if (ward == NULL)
        return;
    axo__cause_drop(&core->texts, &ward->cause);
    axo__pool_free(&core->pool, &local->cache, ward->failures, sizeof(int64_t) * AXO_SLIDING_MAX);
    axo__pool_free(&core->pool, &local->cache, ward->delay, sizeof *ward->delay);
    axo__ward_free(core, local, cell);
}

/* A newborn's fields. What others may look at in a free slot survives: word, generations, slot. */
static void children_reset(axo__cell *cell)
{
    AXO_DEBUG_ASSERT((axo__a64_peek_owner(&cell->state.word) & AXO__CLOSED) != 0);
    size_t from = offsetof(axo__cell, receive);
    memset((char *)cell + from, 0, sizeof *cell - from);
    memset((void *)axo__cell_kin(cell), 0, sizeof(axo__kin));
    cell->boxed = 0;
    cell->elsewhere = 0;
    cell->guardian = 0;
    axo__a64_store_relaxed(&cell->directives, 0);
}

/* A birth that found no memory: all of it goes back. */
static void children_undo(axo__core *core, axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) == 0);
    axo__super_free_blocks(core, local, cell);
    axo__super_free_ward(core, local, cell);
    axo__box_free(&core->pool, &local->cache, axo__cell_box(cell));
    axo__more_free(core, local, cell);
    axo__local_untake_cell(local, cell);
}

axo_status axo__super_make(axo__core *core, axo__local *local, const axo__birth *birth,
                           axo__cell **out)
{
    const axo_props *props = birth->props;
    axo_status status = AXO_OK;
    *out = NULL;
    axo__cell *cell = axo__local_take_cell(core, local, &status);
    if (cell == NULL)
        return status;
    children_reset(cell);
    axo__cell_kin(cell)->cls = props->cls;
    cell->lifetime = props->lifetime & 3;
    axo__sched *sched = NULL;
    status = core->dispatch(core, props, &sched);
    if (status == AXO_OK) {
        status = children_take(core, local, birth, sched, cell);
        if (status != AXO_OK)
            core->undispatch(core, sched);
    }
    if (status != AXO_OK) {
        children_undo(core, local, cell);
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
    axo__trace(core, local, cell, AXO_EV_SPAWN, birth->parent.bits);
    *out = cell;
    return AXO_OK;
}

void axo__super_link_child(axo__cell *parent, axo__cell *child)
{
    axo__family *family = axo__cell_own_family(parent);
    axo__kin *kin = axo__cell_kin(child);
    AXO_DEBUG_ASSERT(axo__state_is_running(&parent->state));
    AXO_DEBUG_ASSERT(child->parent == axo__cell_link(parent) && kin->next == 0 && kin->before == 0);
    child->failed = NULL; /* it was ADOPT */
    kin->before = 0;
    kin->next = axo__cell_link(family->children) & AXO__LINK_MASK;
    if (family->children != NULL)
        axo__cell_kin(family->children)->before = axo__cell_link(child);
    family->children = child;
    family->count++;
}

axo_status axo__super_spawn(axo__worker *worker, axo__cell *parent, const axo_props *props,
                            axo_ref *out)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, parent));
    axo__core *core = worker->core;
    axo__cell *child = NULL;
    if (parent->phase >= AXO__PHASE_TERMINATING ||
        worker->site == AXO_SITE_POST_STOP) {
        /* post_stop within a restart's default pre_restart has that site too: ST-10 */
        return AXO_ESTOPPING;
    }
    axo__birth birth = {
        .props = props,
        .parent = axo__cell_ref(parent),
        .parent_cell = parent,
        .suspends = axo__state_suspends(&parent->state),
        .now = axo__worker_moment(worker),
    };
    if (axo__family_take(core, &worker->local, parent) == NULL)
        return AXO_ENOMEM;
    axo_status status = axo__super_make(core, &worker->local, &birth, &child);
    if (status != AXO_OK)
        return status;
    *out = axo__cell_ref(child);
    axo__super_link_child(parent, child);
    axo__state_birth(&child->state);
    axo__sched_push_newborn(worker, child);
    return AXO_OK;
}

/* A child of a guardian, spawned from outside: it first runs once it is known here (OR-08). */
void axo__super_adopt(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(child->phase == AXO__PHASE_NEW);
    axo__super_link_child(cell, child);
    if (cell->phase == AXO__PHASE_TERMINATING)
        axo__super_stop_child(worker, child);
    axo__state_birth(&child->state);
    axo__sched_push_ready(worker, child);
}

/* ---- forgetting ---- */

static void children_unhold(axo__family *family, axo__cell *child)
{
    axo__stack_link *link = &family->held;
    axo__stack_node *last = NULL;
    while (*link != 0) {
        axo__stack_node *node = axo__stack_node_of(*link);
        if (node == &child->report) {
            *link = node->next;
            continue;
        }
        last = node;
        link = &node->next;
    }
    family->held_last = last;
}

static void children_unlink(const axo__table *table, axo__family *family, const axo__cell *child)
{
    const axo__kin *kin = axo__cell_kin(child);
    axo__cell *next = kin->next != 0 ? axo__table_in(table, kin->next - 1U) : NULL;
    AXO_DEBUG_ASSERT(family->count > 0 && family->waiting >= kin->waited);
    AXO_DEBUG_ASSERT(kin->before != 0 || family->children == child);
    AXO_DEBUG_ASSERT(next == NULL || axo__cell_kin(next)->before == axo__cell_link(child));
    if (kin->before != 0)
        axo__cell_kin(axo__table_in(table, kin->before - 1))->next = kin->next;
    else
        family->children = next;
    if (next != NULL)
        axo__cell_kin(next)->before = kin->before;
    family->count--;
    if (kin->waited)
        family->waiting--;
}

void axo__super_child_gone(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(child->phase == AXO__PHASE_GONE && child->parent == axo__cell_link(cell));
    axo__core *core = worker->core;
    axo__family *family = axo__cell_own_family(cell);
    if (!axo__super_undelay(child)) {
        family->kept++;
        return; /* comes again with its DUE */
    }
    if (family->held != 0)
        children_unhold(family, child);
    children_unlink(&core->table, family, child);
    if (axo_ref_equal(family->perpetrator, axo__cell_ref(child)))
        family->perpetrator = axo_ref_none();
    axo__name *name = axo__cell_name(child);
    if (name != NULL)
        axo__names_unlink(&core->names, name); /* readers may still look at it */
    axo__trace(core, &worker->local, cell, AXO_EV_CHILD_GONE, axo__cell_ref(child).bits);
    if (axo__unlikely(axo__cell_kin(child)->told_late))
        axo__super_told_late(worker, cell, axo__cell_ref(child));
    axo__cell_drop_failure(&core->texts, child);
    axo__super_free_ward(core, &worker->local, child);
    axo__local_retire(core, &worker->local, child);
    bool waits = cell->phase == AXO__PHASE_RECREATING || cell->phase == AXO__PHASE_CREATING;
    if (waits && axo__super_ends(cell, axo__cell_directives(cell)))
        return; /* RS-19, ST-12: stop wins, and is taken next */
    axo__super_continue(worker, cell);
}
