/* children.c - the parent's side: telling, counting and forgetting children.
 *
 * Every function here runs on the parent's runner, or on a worker that has borrowed the parent.
 * A directive becomes visible in two steps: first the directive word, then URGENT in the child's
 * scheduling word. The child's runner clears URGENT before it reads the directives, so a
 * directive that one look misses brings another look. */
#include "super/children.h"

#include <string.h>

#include "sched/keyed_timer.h"
#include "sched/ready.h"
#include "super/delay.h"
#include "super/sweep.h"
#include "super/watch.h"

/* ---- telling ---- */

/* The parent counts the child in `stopping` before it tells the child, and once only: a phase that
 * waits for `stopping` to reach zero counts each child a single time. The name's moment is noted so
 * that the callback that stops the child still finds the name taken, however fast the child ends
 * (ST-17). */
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

/* Suspends an idle child from the parent's own turn, without a directive and without a turn of the
 * child. axo__state_borrow_idle acquires what the child's last runner released with
 * axo__state_finish, so `phase` and the family are current. A child with children of its own must
 * pass the suspension on, which takes a turn, so that child is handed back. */
static bool children_suspend_here(axo__worker *worker, axo__cell *child)
{
    if (!axo__state_borrow_idle(&child->state))
        return false;
    if (child->phase != AXO__PHASE_NORMAL || axo__cell_child_count(child) > 0) {
        axo__sched_hand_back(worker, child);
        return false;
    }
    axo__super_suspend_self(worker, child, 1);
    if (axo__unlikely((child->attention & AXO__ATTENTION_TIMERS) != 0))
        axo__keyed_timer_stand(worker, child);
    axo__sched_hand_back_held(worker, child);
    return true;
}

/* Suspends (`delta` > 0) or resumes a child and the subtree below it. Deltas add up in the
 * directive word, so the child's runner may find several of them as one sum. */
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

/* Answers the child's report with Resume. Exactly one answer follows each report (FS-07), so the
 * bit in the directive word cannot be set twice. */
void axo__child_resume_own(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    if (axo__cell_cold(child)->stopping)
        return;
    const axo__cause_short *failure = &axo__cell_cold(child)->failure;
    bool gone = failure->kind == AXO_FAILURE_INIT || axo__kind_breaks(failure->kind);
    if (child->lifetime == AXO_TEMPORARY && gone && !failure->whole) {
        axo__child_stop(worker, child); /* LT-05: there is no instance to go on with */
        return;
    }
    axo__directives_resume_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

/* Answers the child's report with Restart. The child keeps its own cause, so the directive is one
 * bit. */
void axo__child_restart_own(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__super_is_parent(worker, child));
    if (axo__cell_cold(child)->stopping)
        return;
    axo__directives_restart_own(&child->directives);
    axo__sched_announce_system(worker, child);
}

/* D17: a restart that is merged into a waiting one is counted and traced, so that an observer sees
 * every decision. The function stands apart so that the compiler keeps the usual path short. */
static __attribute__((noinline)) void children_merged(axo__worker *worker, const axo__cell *child)
{
    axo__a64_bump_owner(&worker->local.count.restarts_merged);
    axo__trace(&worker->local, axo__cell_parent(child), AXO_EV_MERGE, axo__cell_ref(child).bits);
}

/* Restarts the child as a survivor or sibling. The cause is written before
 * axo__directives_restart_parent sets RESTART_PARENT, whose compare-and-swap releases it to the
 * child's look; while the bit is set the child's runner owns the cause (directive.h's I2). A
 * restart that the child has not begun takes this one in: its cause stays, and the suspension that
 * came with this one is taken back in the same step. A failed compare-and-swap means that the
 * child's runner has just taken some directive, perhaps that very restart, so `merge` is decided
 * anew from the word that was found. */
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

/* Children are linked youngest first, so one pointer divides those of the new instance, which will
 * stand in front of it, from those of earlier instances. */
void axo__children_mark_earlier(axo__cell *parent)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&parent->state));
    axo__family *family = axo__cell_family(parent);
    if (family != NULL)
        family->earlier = family->children;
}

/* ---- the sweeps of more than one file ---- */

/* A child that was told before keeps its directive: a second one would only cost an
 * announcement. */
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

/* Whether a restart of the parent or of a sibling may restart the parent's children too. A parent
 * without a pre_restart hook stops its children instead (RS-04), and a guardian is stopped, never
 * restarted (GU-07). Only such children are ever given a cause from above, so only they need a
 * record for it. */
static bool children_restart_along(const axo__cell *parent)
{
    const axo_strategy *strategy = axo__cell_strategy(parent);
    return (strategy != NULL && strategy->scope != AXO_ONE_FOR_ONE) ||
           (axo__cell_class(parent)->pre_restart != NULL && parent->parent != 0 &&
            !parent->guardian);
}

/* Whether their restarts may wait: for a back-off, or for their turn among all restarts. The root's
 * children are guardians, which are never restarted, and for those of /system the end of the system
 * may wait, at a time of the program's clock that does not go on. */
static bool children_wait(const axo__core *core, const axo__cell *parent)
{
    const axo_strategy *strategy = axo__cell_strategy(parent);
    return (core->storm.interval_ns != 0 && parent->parent != 0 && !axo__cell_is_system(parent)) ||
           (strategy != NULL && strategy->backoff != NULL);
}

static bool children_count(const axo_strategy *strategy)
{
    return strategy != NULL && (strategy->limited != 0 || strategy->quarantine != 0);
}

bool axo__children_have_records(const axo__core *core, const axo__cell *parent)
{
    return children_count(axo__cell_strategy(parent)) || children_wait(core, parent) ||
           children_restart_along(parent);
}

/* Takes what a later failure or restart of the child will need: a budget's counters, the sliding
 * window's times, the back-off's timer. The birth can report AXO_ENOMEM; a failure could not (D10).
 * A failed step leaves the rest to spawn_undo. */
bool axo__children_take_record(axo__local *local, const axo__cell *parent, axo__cell *cell)
{
    if (parent == NULL || cell->lifetime == AXO_TEMPORARY ||
        !axo__children_have_records(local->core, parent))
        return true;
    const axo_strategy *strategy = axo__cell_strategy(parent);
    axo__child_record *record = axo__child_record_take(local, cell);
    if (record == NULL)
        return false;
    if (strategy != NULL && strategy->limited != 0 && strategy->window == AXO_WINDOW_SLIDING) {
        record->failures = axo__pool_alloc(&local->cache, sizeof(int64_t) * AXO_SLIDING_MAX);
        if (record->failures == NULL)
            return false;
    }
    if (children_wait(local->core, parent)) {
        record->delay = axo__pool_alloc(&local->cache, sizeof *record->delay);
        if (record->delay == NULL)
            return false;
        memset(record->delay, 0, sizeof *record->delay);
    }
    return true;
}

/* Called when the child's own failure has been dropped. `cause` may still hold the texts of a
 * restart from above that the child never began; those texts go back to the reserve here. */
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

/* Puts the child in front of the list. `failed` shares its place with the ADOPT node, which is free
 * again when the parent's runner is here; without the store, the child's runner would take the node
 * for a message. */
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

/* Takes the child's report out of the held reports: the node lies in the child's cell, which goes
 * back to the table soon. */
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

/* Takes the child out of the list of siblings. No sweep may be under way: its `next` might be this
 * child. An `earlier` that points at the child moves on to the next older sibling. */
static inline void children_unlink(const axo__table *table, axo__family *family,
                                   const axo__cell *child)
{
    const axo__cold *cold = axo__cell_cold(child);
    axo__cell *next = cold->next != 0 ? axo__table_in(table, cold->next - 1U) : NULL;
    AXO_DEBUG_ASSERT(family->count > 0 && family->stopping >= cold->stopping);
    AXO_DEBUG_ASSERT(family->sweep.ops == NULL);
    AXO_DEBUG_ASSERT(cold->before != 0 || family->children == child);
    AXO_DEBUG_ASSERT(next == NULL || axo__cell_cold(next)->before == axo__cell_link(child));
    if (axo__likely(cold->before == 0))
        family->children = next;
    else
        axo__cell_cold(axo__table_in(table, cold->before - 1))->next = cold->next;
    if (next != NULL)
        axo__cell_cold(next)->before = cold->before;
    if (family->earlier == child)
        family->earlier = next;
    family->count--;
    family->stopping -= cold->stopping;
}

static bool children_forget_any(axo__worker *worker, axo__cell *cell, axo__cell *child)
    __attribute__((noinline));

/* The order matters in two places. The name is unlinked but not freed, because a thread that looks
 * a path up may still read its text; axo__gone_expire frees the memory after the grace period. A
 * notice that waits for this moment (DW-13) is queued only after the child has left the list, so
 * the watching parent never counts a child that it has been told is gone. */
static bool children_forget_any(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__core *core = worker->local.core;
    axo__family *family = axo__cell_own_family(cell);
    if (!axo__delay_end(worker, child)) {
        family->kept++;
        return false; /* the DUE brings the child here again */
    }
    if (family->held != 0)
        children_unhold(family, child);
    children_unlink(&core->table, family, child);
    if (axo_ref_equal(family->perpetrator, axo__cell_ref(child)))
        family->perpetrator = axo_ref_none();
    axo__name *name = axo__cell_name(child);
    if (name != NULL)
        axo__names_unlink(&core->names, name); /* other threads may be reading its text */
    axo__trace(&worker->local, cell, AXO_EV_CHILD_GONE, axo__cell_ref(child).bits);
    if (axo__unlikely(axo__cell_cold(child)->told_late))
        axo__watch_told_late(worker, cell, axo__cell_ref(child));
    axo__cell_drop_failure(&core->texts, child);
    axo__children_free_record(&worker->local, child);
    return true;
}

/* Most children are leaves that have never failed, and there is nothing to do but to take them out
 * of the list: what children_forget_any does of such a child. */
bool axo__children_forget(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(child->phase == AXO__PHASE_GONE && child->parent == axo__cell_link(cell));
    const axo__core *core = worker->local.core;
    axo__family *family = axo__cell_own_family(cell);
    bool rare = axo__cell_extra(child) != NULL || family->held != 0 ||
                !axo_ref_is_none(family->perpetrator) || axo__cell_cold(child)->told_late ||
                axo__cell_failure_kind(child) != AXO_FAILURE_NONE ||
                axo__local_traces(&worker->local, AXO_EVENT_BIT(AXO_EV_CHILD_GONE));
    if (axo__unlikely(rare)) {
        if (!children_forget_any(worker, cell, child))
            return false;
    } else {
        children_unlink(&core->table, family, child);
        AXO__PLAIN_TRACE(&worker->local, cell, AXO_EV_CHILD_GONE, axo__cell_ref(child).bits);
    }
    axo__local_retire(&worker->local, child);
    return true;
}
