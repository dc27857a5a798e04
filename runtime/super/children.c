/* children.c - the parent's side: telling, counting and forgetting children. */
#include "super/children.h"

#include <string.h>

#include "sched/ready.h"
#include "super/delay.h"
#include "super/sweep.h"
#include "super/watch.h"

/* ---- telling ---- */

void axo__child_stop(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    if (!axo__cell_cold(child)->stopping)
        axo__cell_own_family(axo__cell_parent(child))->stopping++;
    axo__cell_cold(child)->stopping = 1;
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
    axo__super_suspend_self(worker, child, 1);
    axo__sched_hand_back_held(worker, child);
    return true;
}

void axo__child_suspend(axo__worker *worker, axo__cell *child, int32_t delta)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    AXO_DEBUG_ASSERT(delta != 0);
    if (delta == 1 && axo__cell_sched(child) == worker->sched &&
        children_suspend_here(worker, child))
        return;
    axo__directives_delta_add(&child->directives, delta);
    axo__sched_announce_system(worker, child);
}

void axo__child_resume_own(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    if (axo__cell_cold(child)->stopping)
        return;
    const axo__cause_short *failure = &axo__cell_cold(child)->failure;
    if (child->lifetime == AXO_TEMPORARY && failure->kind == AXO_FAILURE_INIT && !failure->whole) {
        axo__child_stop(worker, child); /* LT-05: there is no instance to go on with */
        return;
    }
    axo__directives_resume_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

void axo__child_restart_own(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    if (axo__cell_cold(child)->stopping)
        return;
    axo__directives_restart_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

/* D17. Apart, so that the compiler keeps what is usual short. */
static __attribute__((noinline)) void children_merged(axo__worker *worker, const axo__cell *child)
{
    axo__a64_bump_owner(&worker->local.count.restarts_merged);
    axo__trace(&worker->local, axo__cell_parent(child), AXO_EV_MERGE, axo__cell_ref(child).bits);
}

/* The cause is written while RESTART_PARENT is clear. A restart that still waits is merged with
 * this one: the suspension that came with this one is taken back. */
bool axo__child_restart_parent(axo__worker *worker, axo__cell *child, const axo__cause *cause,
                               bool resolve)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE);
    uint64_t old = axo__directives_look(&child->directives);
    bool written = false;
    bool merge;
    if (axo__cell_cold(child)->stopping)
        return false;
    if (child->lifetime == AXO_TEMPORARY) { /* LT-04 */
        axo__child_stop(worker, child);
        return false;
    }
    axo__child_record *record = axo__cell_child_record(child);
    AXO_ASSERT(record != NULL);
    do {
        merge = (old & AXO__RESTART_PARENT) != 0 && !written;
        if (!merge && !written) {
            AXO_DEBUG_ASSERT(record->cause.kind == AXO_FAILURE_NONE);
            record->cause = *cause;
            written = true;
        }
    } while (!axo__directives_restart_parent(&child->directives, &old, resolve, merge));
    if (axo__unlikely(merge))
        children_merged(worker, child);
    axo__sched_announce_system(worker, child);
    return written;
}

void axo__children_mark_earlier(axo__cell *parent)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&parent->state));
    axo__family *family = axo__cell_family(parent);
    if (family != NULL)
        family->earlier = family->children;
}

/* ---- the sweeps of more than one file ---- */

static void children_tell_stop(axo__worker *worker, axo__cell *parent, axo__cell *child)
{
    (void)parent;
    if (!axo__cell_cold(child)->stopping)
        axo__child_stop(worker, child);
}

bool axo__children_stop(axo__worker *worker, axo__cell *parent, axo__cell *first, axo__cell *end)
{
    static const axo__sweep_ops stop = {.tell = children_tell_stop};
    return axo__sweep_begin(worker, parent,
                            &(axo__sweep){.ops = &stop, .next = first, .end = end});
}

static void children_tell_shift(axo__worker *worker, axo__cell *parent, axo__cell *child)
{
    axo__child_suspend(worker, child, (int32_t)axo__cell_own_family(parent)->sweep.number);
}

void axo__children_shift(axo__worker *worker, axo__cell *parent, axo__cell *first, int32_t delta)
{
    static const axo__sweep_ops shift = {.tell = children_tell_shift};
    (void)axo__sweep_begin(worker, parent,
                           &(axo__sweep){.ops = &shift, .next = first, .number = delta});
}

/* ---- what the parent keeps ---- */

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
bool axo__children_take_record(axo__local *local, const axo__cell *parent, axo__cell *cell)
{
    if (parent == NULL || cell->lifetime == AXO_TEMPORARY)
        return true;
    const axo_strategy *strategy = axo__cell_strategy(parent);
    bool counts = strategy != NULL && (strategy->limited != 0 || strategy->backoff != NULL);
    if (!counts && !children_restart_along(parent))
        return true;
    axo__child_record *record = axo__child_record_take(local, cell);
    if (record == NULL)
        return false;
    if (counts && strategy->window == AXO_WINDOW_SLIDING) {
        record->failures = axo__pool_alloc(&local->cache, sizeof(int64_t) * AXO_SLIDING_MAX);
        if (record->failures == NULL)
            return false;
    }
    if (counts && strategy->backoff != NULL) {
        record->delay = axo__pool_alloc(&local->cache, sizeof *record->delay);
        if (record->delay == NULL)
            return false;
        memset(record->delay, 0, sizeof *record->delay);
    }
    return true;
}

void axo__children_free_record(axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(cell) == AXO_FAILURE_NONE);
    axo__child_record *record = axo__cell_child_record(cell);
    if (record == NULL)
        return;
    axo__cause_drop(&local->core->texts, &record->cause);
    axo__pool_free(&local->cache, record->failures, sizeof(int64_t) * AXO_SLIDING_MAX);
    axo__pool_free(&local->cache, record->delay, sizeof *record->delay);
    axo__child_record_free(local, cell);
}

void axo__children_link(axo__cell *parent, axo__cell *child)
{
    axo__family *family = axo__cell_own_family(parent);
    axo__cold *cold = axo__cell_cold(child);
    AXO_DEBUG_ASSERT(axo__state_is_running(&parent->state));
    AXO_DEBUG_ASSERT(child->parent == axo__cell_link(parent) && cold->next == 0 &&
                     cold->before == 0);
    child->failed = NULL; /* it was ADOPT */
    cold->before = 0;
    cold->next = axo__cell_link(family->children) & AXO__LINK_MASK;
    if (family->children != NULL)
        axo__cell_cold(family->children)->before = axo__cell_link(child);
    family->children = child;
    family->count++;
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
    const axo__cold *cold = axo__cell_cold(child);
    axo__cell *next = cold->next != 0 ? axo__table_in(table, cold->next - 1U) : NULL;
    AXO_DEBUG_ASSERT(family->count > 0 && family->stopping >= cold->stopping);
    AXO_DEBUG_ASSERT(family->sweep.ops == NULL);
    AXO_DEBUG_ASSERT(cold->before != 0 || family->children == child);
    AXO_DEBUG_ASSERT(next == NULL || axo__cell_cold(next)->before == axo__cell_link(child));
    if (cold->before != 0)
        axo__cell_cold(axo__table_in(table, cold->before - 1))->next = cold->next;
    else
        family->children = next;
    if (next != NULL)
        axo__cell_cold(next)->before = cold->before;
    if (family->earlier == child)
        family->earlier = next;
    family->count--;
    family->stopping -= cold->stopping;
}

bool axo__children_forget(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(child->phase == AXO__PHASE_GONE && child->parent == axo__cell_link(cell));
    axo__core *core = worker->local.core;
    axo__family *family = axo__cell_own_family(cell);
    if (!axo__delay_end(child)) {
        family->kept++;
        return false; /* comes again with its DUE */
    }
    if (family->held != 0)
        children_unhold(family, child);
    children_unlink(&core->table, family, child);
    if (axo_ref_equal(family->perpetrator, axo__cell_ref(child)))
        family->perpetrator = axo_ref_none();
    axo__name *name = axo__cell_name(child);
    if (name != NULL)
        axo__names_unlink(&core->names, name); /* readers may still look at it */
    axo__trace(&worker->local, cell, AXO_EV_CHILD_GONE, axo__cell_ref(child).bits);
    if (axo__unlikely(axo__cell_cold(child)->told_late))
        axo__watch_told_late(worker, cell, axo__cell_ref(child));
    axo__cell_drop_failure(&core->texts, child);
    axo__children_free_record(&worker->local, child);
    axo__local_retire(&worker->local, child);
    return true;
}
