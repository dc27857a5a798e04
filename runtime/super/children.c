/* children.c - the parent's side: making, telling, counting and forgetting children. */
#include <string.h>

#include "super/super.h"

/* ---- telling ---- */

void axo__super_stop_child(axo__worker *worker, axo__cell *child)
{
    child->stopping = 1;
    if (child->name != NULL)
        child->name->told = axo__worker_moment(worker);
    axo__directives_stop_parent(&child->directives);
    axo__sched_announce_system(worker, child);
}

void axo__super_suspend_child(axo__worker *worker, axo__cell *child, int32_t delta)
{
    axo__directives_delta_add(&child->directives, delta);
    axo__sched_announce_system(worker, child);
}

void axo__super_resume_own(axo__worker *worker, axo__cell *child)
{
    if (child->stopping)
        return;
    if (child->lifetime == AXO_TEMPORARY && child->failure.kind == AXO_FAILURE_INIT &&
        axo_ref_equal(child->failure.actor, axo__cell_ref(child))) {
        axo__super_stop_child(worker, child); /* LT-05: there is no instance to go on with */
        return;
    }
    axo__directives_resume_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

void axo__super_restart_own(axo__worker *worker, axo__cell *child)
{
    if (child->stopping)
        return;
    axo__directives_restart_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

/* The cause is written while RESTART_PARENT is clear. A restart that still waits is merged with
 * this one: the suspension that came with this one is taken back. */
void axo__super_restart_parent(axo__worker *worker, axo__cell *child, const axo__cause *cause,
                               bool resolve)
{
    axo__texts *texts = &worker->core->texts;
    uint64_t old = axo__directives_look(&child->directives);
    bool written = false;
    bool merge;
    if (child->stopping)
        return;
    if (child->lifetime == AXO_TEMPORARY) { /* LT-04 */
        axo__super_stop_child(worker, child);
        return;
    }
    do {
        merge = (old & AXO__RESTART_PARENT) != 0 && !written;
        if (!merge && !written) {
            axo__cause_drop(texts, &child->parent_cause);
            child->parent_cause = axo__cause_copy(texts, cause);
            written = true;
        }
    } while (!axo__directives_restart_parent(&child->directives, &old, resolve, merge));
    axo__sched_announce_system(worker, child);
}

void axo__super_stop_children(axo__worker *worker, axo__cell *parent, uint32_t born_in)
{
    for (axo__cell *child = parent->children; child != NULL; child = child->next) {
        if (!child->stopping && (born_in == 0 || child->born_in == born_in))
            axo__super_stop_child(worker, child);
    }
}

void axo__super_wait_for_stopping(axo__cell *cell)
{
    for (axo__cell *child = cell->children; child != NULL; child = child->next) {
        if (child->stopping && !child->waited) {
            child->waited = 1;
            cell->waiting++;
        }
    }
}

/* RS-04, RS-13: what the default pre_restart does with children. */
void axo__super_leave_children(axo__worker *worker, axo__cell *parent)
{
    for (axo__cell *child = parent->children; child != NULL; child = child->next)
        axo__super_unwatch(worker, parent, axo__cell_ref(child));
    axo__super_stop_children(worker, parent, 0);
}

axo__cell *axo__super_find_child(axo__cell *cell, axo_ref ref)
{
    for (axo__cell *child = cell->children; child != NULL; child = child->next) {
        if (axo_ref_equal(axo__cell_ref(child), ref))
            return child;
    }
    return NULL;
}

/* ---- making ---- */

/* What the parent keeps of a child's failures. */
static bool children_take_counts(axo__core *core, axo__local *local, const axo_strategy *strategy,
                                 axo__cell *cell)
{
    if (strategy == NULL || cell->lifetime == AXO_TEMPORARY)
        return true;
    if (strategy->window == AXO_WINDOW_SLIDING) {
        cell->failures = axo__pool_alloc(&core->pool, &local->cache,
                                         sizeof(int64_t) * AXO_SLIDING_MAX);
        if (cell->failures == NULL)
            return false;
    }
    if (strategy->backoff != NULL) {
        cell->delay = axo__pool_alloc(&core->pool, &local->cache, sizeof *cell->delay);
        if (cell->delay == NULL)
            return false;
        memset(cell->delay, 0, sizeof *cell->delay);
    }
    return true;
}

/* What needs memory, all of it or none. */
static axo_status children_take(axo__core *core, axo__local *local, const axo__birth *birth,
                                axo__cell *cell)
{
    const axo_props *props = birth->props;
    axo_status status = AXO_OK;
    cell->args = props->args;
    if (props->cls->state_size > 0) {
        cell->state_block = axo__pool_alloc(&core->pool, &local->cache, props->cls->state_size);
        if (cell->state_block == NULL)
            return AXO_ENOMEM;
    }
    if (props->args_size > 0) {
        void *copy = axo__pool_alloc(&core->pool, &local->cache, props->args_size);
        if (copy == NULL)
            return AXO_ENOMEM;
        memcpy(copy, props->args, props->args_size);
        cell->args = copy;
        cell->args_size = props->args_size;
    }
    if (!children_take_counts(core, local, birth->parent_strategy, cell))
        return AXO_ENOMEM;
    if (props->mailbox != NULL) {
        cell->box = axo__box_make(&core->pool, &local->cache, props->mailbox);
        if (cell->box == NULL)
            return AXO_ENOMEM;
    }
    if (props->name != NULL)
        status = axo__names_take(&core->names, birth->parent, props->name, birth->now,
                                 &cell->name);
    return status;
}

void axo__super_free_blocks(axo__core *core, axo__local *local, axo__cell *cell)
{
    axo__pool_free(&core->pool, &local->cache, cell->state_block, cell->cls->state_size);
    if (cell->args_size > 0)
        axo__pool_free(&core->pool, &local->cache, (void *)(uintptr_t)cell->args, cell->args_size);
    cell->state_block = NULL;
    cell->args = NULL;
    cell->args_size = 0;
}

void axo__super_free_counts(axo__core *core, axo__local *local, axo__cell *cell)
{
    axo__pool_free(&core->pool, &local->cache, cell->failures, sizeof(int64_t) * AXO_SLIDING_MAX);
    axo__pool_free(&core->pool, &local->cache, cell->delay, sizeof *cell->delay);
    cell->failures = NULL;
    cell->delay = NULL;
}

/* A newborn's fields. What others may look at in a free slot survives: word, generations, slot. */
static void children_reset(axo__cell *cell)
{
    size_t from = offsetof(axo__cell, cls);
    memset((char *)cell + from, 0, sizeof *cell - from);
    axo__a64_store_relaxed(&cell->directives, 0);
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
    cell->cls = props->cls;
    cell->lifetime = (uint8_t)props->lifetime;
    axo__sched *sched = NULL;
    status = core->dispatch(core, props, &sched);
    if (status == AXO_OK) {
        status = children_take(core, local, birth, cell);
        if (status != AXO_OK)
            core->undispatch(core, sched);
    }
    if (status != AXO_OK) {
        axo__super_free_blocks(core, local, cell);
        axo__super_free_counts(core, local, cell);
        axo__box_free(&core->pool, &local->cache, cell->box);
        cell->box = NULL;
        cell->next = local->free;
        local->free = cell;
        return status;
    }
    cell->receive = props->cls->receive;
    cell->strategy = props->strategy;
    cell->stash_max = props->stash_max != 0 ? props->stash_max : AXO_STASH_DEFAULT;
    cell->sched = sched;
    cell->parent = birth->parent_cell;
    cell->born_in = birth->born_in;
    cell->report = (axo__sys){.kind = AXO__SYS_FAILED, .from = cell};
    cell->family = (axo__sys){.kind = AXO__SYS_ADOPT, .from = cell};
    axo__stack_init(&cell->system);
    axo__state_init(&cell->state, birth->suspends);
    axo__table_begin(&core->table, cell);
    if (cell->name != NULL)
        axo__names_bind(&core->names, cell->name, axo__cell_ref(cell));
    axo__a64_bump_owner(&local->count.spawned);
    axo__trace(core, local, cell, AXO_EV_SPAWN, birth->parent.bits);
    *out = cell;
    return AXO_OK;
}

void axo__super_link_child(axo__cell *parent, axo__cell *child)
{
    child->before = NULL;
    child->next = parent->children;
    if (parent->children != NULL)
        parent->children->before = child;
    parent->children = child;
    parent->child_count++;
    child->family.kind = AXO__SYS_GONE;
}

axo_status axo__super_spawn(axo__worker *worker, axo__cell *parent, const axo_props *props,
                            axo_ref *out)
{
    axo__core *core = worker->core;
    axo__cell *child = NULL;
    if (parent->phase == AXO__PHASE_TERMINATING || parent->phase == AXO__PHASE_GONE ||
        worker->site == AXO_SITE_POST_STOP) {
        /* post_stop within a restart's default pre_restart has that site too: ST-10 */
        return AXO_ESTOPPING;
    }
    axo__birth birth = {
        .props = props,
        .parent = axo__cell_ref(parent),
        .parent_cell = parent,
        .suspends = axo__state_suspends(&parent->state),
        .born_in = parent->instance,
        .parent_strategy = parent->strategy,
        .now = axo__worker_moment(worker),
    };
    axo_status status = axo__super_make(core, &worker->local, &birth, &child);
    if (status != AXO_OK)
        return status;
    *out = axo__cell_ref(child);
    axo__super_link_child(parent, child);
    axo__state_birth(&child->state);
    axo__sched_push_ready(worker, child);
    return AXO_OK;
}

/* A child of a guardian, spawned from outside: it first runs once it is known here (OR-08). */
void axo__super_adopt(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__super_link_child(cell, child);
    if (cell->phase == AXO__PHASE_TERMINATING)
        axo__super_stop_child(worker, child);
    axo__state_birth(&child->state);
    axo__sched_push_ready(worker, child);
}

/* ---- forgetting ---- */

static void children_unhold(axo__cell *cell, axo__cell *child)
{
    axo__sys **link = &cell->held;
    axo__sys *last = NULL;
    while (*link != NULL) {
        if (*link == &child->report) {
            *link = (axo__sys *)(void *)(*link)->node.next;
            continue;
        }
        last = *link;
        link = (axo__sys **)(void *)&last->node.next;
    }
    cell->held_last = last;
}

void axo__super_child_gone(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__core *core = worker->core;
    if (!axo__super_undelay(child))
        return; /* comes again with its DUE */
    if (cell->held != NULL)
        children_unhold(cell, child);
    if (child->before != NULL)
        child->before->next = child->next;
    else
        cell->children = child->next;
    if (child->next != NULL)
        child->next->before = child->before;
    cell->child_count--;
    if (child->waited)
        cell->waiting--;
    if (axo_ref_equal(cell->perpetrator, axo__cell_ref(child)))
        cell->perpetrator = axo_ref_none();
    if (child->name != NULL)
        axo__names_unlink(&core->names, child->name); /* readers may still look at it */
    axo__trace(core, &worker->local, cell, AXO_EV_CHILD_GONE, axo__cell_ref(child).bits);
    axo__cause_drop(&core->texts, &child->parent_cause);
    axo__cause_drop(&core->texts, &child->failure);
    axo__super_free_counts(core, &worker->local, child);
    axo__local_retire(core, &worker->local, child);
    bool waits = cell->phase == AXO__PHASE_RECREATING || cell->phase == AXO__PHASE_CREATING;
    if (waits && axo__super_ends(cell, axo__directives_look(&cell->directives)))
        return; /* RS-19, ST-12: stop wins, and is taken next */
    axo__super_continue(worker, cell);
}
