/* stop.c - the end of an actor, bottom-up.
 *
 * Each step of the end becomes visible to others in a fixed order, which the tests of ST-03 and
 * ST-17 check: the name is free before any actor can learn of the end; the reference ends
 * before the mailbox is drained, so that every accepted message is counted (D7); watchers learn
 * of the end after the dead actor's own messages (DW-11); the parent learns last. */
#include "super/stop.h"

#include "base/probe.h"
#include "sched/parked.h"
#include "sched/ready.h"
#include "sched/hook.h"
#include "sched/keyed_timer.h"
#include "super/children.h"
#include "super/gone.h"
#include "super/instance.h"
#include "super/spawn.h"
#include "super/watch.h"

/* The instance's memory goes before its cell does. The child record stays: it is the parent's. */
static void stop_release(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_child_count(cell) == 0);
    axo__instance_drop_failed(worker, cell);
    axo__instance_destroy(worker, cell);
    axo__keyed_timer_receive_timeout_off(cell); /* RT-05 */
    axo__spawn_free_all(&worker->local, cell);
    axo__family *family = axo__cell_family(cell);
    if (family != NULL)
        axo__cause_drop(&worker->local.core->texts, &family->restart_cause);
}


/* An idle parent is borrowed and takes note in this turn, which saves it a turn of its own.
 * axo__state_borrow_idle acquires the parent's fields from its last runner, and
 * axo__sched_hand_back releases them to the next. A parent that waits for children is suspended,
 * hence never idle, so no phase of it can end here. Any other parent is told through its lane: one
 * that has messages would wait behind newborns otherwise, and a tree keep its inner actors. */
void axo__stop_tell_parent(axo__worker *worker, axo__cell *parent, axo__cell *cell)
{
    if (axo__cell_is_in(worker->local.core, parent, worker->sched) &&
        axo__state_borrow_idle(&parent->state)) {
        AXO_DEBUG_ASSERT(parent->phase == AXO__PHASE_NORMAL);
        (void)axo__children_forget(worker, parent, cell); /* an idle parent waits for no child */
        axo__sched_hand_back(worker, parent);
        return;
    }
    axo__stack_push_any(&parent->system, &cell->life_node, AXO__SYS_GONE);
    axo__sched_announce_system(worker, parent);
}

/* Answers a portion of the lane of a cell that has gone. Returns true when the lane is empty;
 * messages pushed later meet the closed cell and are answered by axo__gone_drain. */
static bool stop_answer_lane(axo__worker *worker, axo__cell *cell, uint32_t *budget)
{
    axo__extra *extra = axo__cell_extra(cell);
    if (extra == NULL)
        return true;
    bool turns = extra->unturned != 0 || (extra->lane == 0 && axo__stack_has_any(&cell->system));
    if (turns && !axo__super_turn_lane(cell, extra))
        return false;
    for (; extra->lane != 0 && *budget > 0; (*budget)--) {
        axo__sys_kind kind;
        axo__stack_node *node = axo__super_next(extra, &kind);
        axo__gone_answer(&worker->local, cell, node, kind);
    }
    return extra->lane == 0;
}

/* The last step. axo__state_close sets CLOSED with a read-modify-write of the word. A watch request
 * that was announced before it has linked its node, which axo__gone_drain finds here; a watching
 * actor that announces after it finds CLOSED and drains the lane itself (axo__watch_add). Other
 * late nodes wait for axo__gone_expire. */
static void stop_close(axo__worker *worker, axo__cell *cell)
{
    axo__core *core = worker->local.core;
    axo__local *local = &worker->local;
    const axo__extra *extra = axo__cell_extra(cell);
    axo__watch *above = extra != NULL ? extra->above : NULL;
    axo__cell *parent = axo__cell_parent(cell);
    axo__state_close(&cell->state);
    if (parent != NULL)
        axo__stop_tell_parent(worker, parent, cell);
    axo__gone_drain(local, cell); /* no grace period of the cell ends within this turn */
    axo__watch_tell_parent(worker, above); /* DW-13: the parent learns of the end first */
    if (parent != NULL)
        return;
    axo__cell_drop_failure(&core->texts, cell);
    axo__local_retire(local, cell);
    core->root->root_gone(core);
}

/* The terminated actor is counted and traced once all its messages are buried, so that the counters
 * agree (D7) when an observer is told of the end. Each part that needs more than the budget leaves
 * ATTENTION_REST and goes on in an urgent turn. */
void axo__stop_go_on(axo__worker *worker, axo__cell *cell)
{
    axo__local *local = &worker->local;
    uint32_t budget = AXO__PORTION;
    char path[AXO_EVENT_PATH_MAX];
    path[0] = 0;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && cell->phase >= AXO__PHASE_GONE);
    if (cell->phase == AXO__PHASE_BURYING) {
        if (!axo__gone_drain_users(local, cell, path, &budget)) {
            cell->attention |= AXO__ATTENTION_REST;
            return;
        }
        cell->phase = AXO__PHASE_GONE;
        axo__a64_bump_owner(&local->count.terminated);
        axo__trace(local, cell, AXO_EV_TERMINATED, 0);
        AXO__PROBE2(stop, cell, axo__cell_ref(cell).bits);
        axo__event_life(local, cell, AXO_KIND_TERMINATED);
    }
    if (axo__watch_tell(worker, cell, &budget) && stop_answer_lane(worker, cell, &budget))
        stop_close(worker, cell);
    else
        cell->attention |= AXO__ATTENTION_REST;
}

void axo__stop_failed(axo__worker *worker, const axo__cell *cell)
{
    axo__log_pending(&worker->local, AXO_LOG_ERROR, AXO_LOG_HOOK, cell, &worker->pending);
    axo__cause_drop(&worker->local.core->texts, &worker->pending);
}

/* A failing post_stop is logged and the end goes on (HF-12). The name is freed for others after
 * post_stop and before any watcher, parent or sender can learn of the end (ST-17). Sends of this
 * actor that are still held go into their mailboxes now, before its watchers are told (DW-11). */
void axo__stop_finish(axo__worker *worker, axo__cell *cell)
{
    axo__local *local = &worker->local;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && axo__cell_children(cell) == NULL);
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_TERMINATING);
    if (axo__cell_extra(cell) != NULL)
        axo__keyed_timer_stop_all(worker, cell); /* TM-05 */
    if (cell->life == AXO__INSTANCE_STARTED) { /* D3 */
        const axo_class *cls = axo__cell_class(cell);
        axo__trace(local, cell, AXO_EV_POST_STOP, 0);
        axo_status status =
            axo__hook_run(worker, cell, AXO__SITE_POST_STOP, cls->post_stop != NULL);
        axo__trace(local, cell, AXO_EV_POST_STOPPED, (uint64_t)(uint32_t)status);
        if (status != AXO_OK)
            axo__stop_failed(worker, cell); /* HF-12 */
        cell->life = AXO__INSTANCE_STOPPED;
    }
    stop_release(worker, cell);
    cell->phase = AXO__PHASE_LEAVING;
    axo__name *name = axo__cell_name(cell);
    if (name != NULL) /* ST-17: before any other actor can learn of the end */
        axo__names_end(&worker->local.core->names, name);
    if (axo__cell_extra(cell) != NULL)
        axo__parked_end(worker, cell);
    axo__stop_leave(worker, cell);
}

/* Watches and timers are given back before axo__table_end ends the reference: a target that no
 * longer finds its watcher frees a returning record by itself, and the watcher must not hold that
 * record any more. */
void axo__stop_leave(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_LEAVING);
    AXO_DEBUG_ASSERT(axo__cell_lives_owner(cell));
    if (axo__cell_extra(cell) != NULL &&
        !(axo__watch_drop(worker, cell) && axo__keyed_timer_go_on(worker, cell)))
        return;
    axo__table_end(cell);
    cell->phase = AXO__PHASE_BURYING;
    axo__stop_go_on(worker, cell);
}

/* A second stop of a terminating cell changes nothing (ST-05): children that have been told are
 * skipped. The suspension that is added here keeps messages away until the end (ST-04). A cell
 * without `extra` has neither children nor a name, so no other thread asks its word for
 * TERMINATING. */
void axo__stop_begin(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(cell->phase < AXO__PHASE_GONE);
    if (axo__unlikely(cell->guardian) && cell->phase != AXO__PHASE_TERMINATING)
        worker->local.core->root->guardian_stops(worker, cell);
    (void)axo__children_stop(worker, cell, axo__cell_children(cell), NULL);
    axo__parked_undo(worker, cell); /* SC-13 */
    if (cell->phase != AXO__PHASE_TERMINATING) {
        cell->phase = AXO__PHASE_TERMINATING;
        axo__trace(&worker->local, cell, AXO_EV_STOPPING, axo__cell_child_count(cell));
        if (axo__cell_extra(cell) != NULL)
            axo__state_terminate(&cell->state); /* TERMINATING, and suspended: ST-04 */
        else
            axo__state_suspend(&cell->state); /* axo__state_settle sets HELD */
        axo__trace(&worker->local, cell, AXO_EV_SUSPEND, 2);
    }
    if (axo__cell_child_count(cell) == 0)
        axo__stop_finish(worker, cell);
}
