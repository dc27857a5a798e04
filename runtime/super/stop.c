/* stop.c - the end of an actor, bottom-up; the system lane; what reaches one that is gone. */
#include "cell/event.h"
#include "sched/timed.h"
#include "super/super.h"

void axo__super_terminate(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(cell->phase < AXO__PHASE_GONE);
    if (axo__unlikely(cell->guardian) && cell->phase != AXO__PHASE_TERMINATING)
        worker->core->root->guardian_stops(worker, cell);
    axo__super_stop_children(worker, cell);
    axo__parked_undo(worker, cell); /* SC-13 */
    if (cell->phase != AXO__PHASE_TERMINATING) {
        cell->phase = AXO__PHASE_TERMINATING;
        axo__trace(worker->core, &worker->local, cell, AXO_EV_STOPPING,
                   axo__cell_child_count(cell));
        if (axo__cell_more(cell) != NULL) /* it may have children, and be found by its name */
            axo__state_terminate(&cell->state); /* and suspends it: ST-04 */
        else
            axo__state_suspend(&cell->state); /* it is closed before it is left */
        axo__trace(worker->core, &worker->local, cell, AXO_EV_SUSPEND, 2);
    }
    axo__super_continue(worker, cell);
}

/* `path`: filled with the first dead letter; NULL: its ancestors may be gone, nobody can tell. */
static void stop_bury(axo__core *core, axo__local *local, axo__cell *cell, axo__message *message,
                      char *path)
{
    if ((message->flags & AXO__MESSAGE_NOTICE) != 0) {
        axo__super_notice_void(core, local, cell, message);
        return;
    }
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) == 0);
    if (path != NULL && path[0] == 0)
        (void)axo__core_path(core, cell, path, AXO_EVENT_PATH_MAX);
    axo__dead_letter_at(core, local, message, axo__cell_ref(cell), AXO_DEAD_STOPPED, path);
}

/* Nothing is there: what is pushed from now on is seen to when the grace period is over. */
static bool stop_is_drained(const axo__cell *cell)
{
    return !axo__state_has(axo__state_look(&cell->state)) && axo__inbox_is_empty(&cell->inbox) &&
           axo__cell_more(cell) == NULL;
}

static bool stop_drain_chain(axo__core *core, axo__local *local, axo__cell *cell, axo__chain *chain,
                             char *path, uint32_t *budget)
{
    axo__message *message;
    while (*budget > 0 && (message = axo__chain_pop(chain)) != NULL) {
        stop_bury(core, local, cell, message, path);
        (*budget)--;
    }
    return chain->first == NULL;
}

/* true: the lane is empty. A step of putting it in order costs what is left of the budget. */
static bool stop_drain_lane(axo__core *core, axo__local *local, axo__cell *cell, char *path,
                            uint32_t *budget)
{
    axo__message *message;
    for (;;) {
        if (axo__inbox_is_empty(&cell->inbox))
            axo__inbox_put(&cell->inbox, axo__state_take(&cell->state));
        if (axo__inbox_is_empty(&cell->inbox))
            return true;
        if (*budget == 0)
            return false;
        if (!axo__inbox_turn(&cell->inbox)) {
            *budget = *budget == UINT32_MAX ? UINT32_MAX : 0;
            continue;
        }
        while (*budget > 0 && (message = axo__inbox_take(&cell->inbox)) != NULL) {
            stop_bury(core, local, cell, message, path);
            (*budget)--;
        }
    }
}

/* The box is closed at one blow: what was in it waits in front. */
static bool stop_drain_box(axo__core *core, axo__local *local, axo__cell *cell, char *path,
                           uint32_t *budget)
{
    axo__waiter *done = NULL;
    axo__more *more = axo__cell_more(cell);
    axo__box_close_owner(more->box, &more->front, &done);
    axo__parked_return(core, local, done);
    return stop_drain_chain(core, local, cell, &more->front, path, budget);
}

/* What is stashed comes first (SS-06). Up to *budget messages; true: nothing is left. */
static bool stop_drain_users(axo__core *core, axo__local *local, axo__cell *cell, char *path,
                             uint32_t *budget)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) == 0);
    if (axo__likely(stop_is_drained(cell)))
        return true;
    axo__super_unstash(cell, UINT32_MAX);
    axo__more *more = axo__cell_more(cell);
    return (more == NULL || stop_drain_chain(core, local, cell, &more->front, path, budget)) &&
           stop_drain_lane(core, local, cell, path, budget) &&
           (!cell->boxed || stop_drain_box(core, local, cell, path, budget));
}

void axo__super_drain_closed(axo__core *core, axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT((axo__a64_peek_owner(&cell->state.word) & AXO__CLOSED) != 0);
    if (axo__likely(!axo__stack_has_any(&cell->system)))
        return;
    axo__stack_link link = axo__stack_reverse(axo__stack_take_any(&cell->system));
    while (link != 0) {
        axo__stack_node *node = axo__stack_node_of(link);
        axo__sys_kind kind = (axo__sys_kind)axo__stack_tag_of(link);
        link = node->next;
        axo__super_closed(core, local, cell, node, kind);
    }
}

static void stop_release(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_child_count(cell) == 0);
    axo__super_drop_failed(worker, cell);
    axo__super_destroy_instance(worker, cell);
    axo__timed_receive_timeout_off(cell); /* RT-05 */
    axo__super_free_blocks(worker->core, &worker->local, cell);
    axo__family *family = axo__cell_family(cell);
    if (family != NULL)
        axo__cause_drop(&worker->core->texts, &family->restart_cause);
}

/* Its name, what it has sent and who it watches: from table_end on a target frees what comes
 * home. */
static void stop_leave(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) != 0);
    axo__name *name = axo__cell_name(cell);
    if (name != NULL)
        axo__names_end(&worker->core->names, name); /* ST-17: before anybody can learn of it */
    axo__parked_end(worker, cell);
    axo__super_drop_watches(worker, cell);
}

/* A parent that has nothing to do takes note in this turn, without one of its own. */
static void stop_tell_parent(axo__worker *worker, axo__cell *parent, axo__cell *cell)
{
    if (axo__cell_is_in(worker->core, parent, worker->sched) &&
        axo__state_borrow_idle(&parent->state)) {
        AXO_DEBUG_ASSERT(parent->phase == AXO__PHASE_NORMAL);
        axo__super_child_gone(worker, parent, cell);
        axo__sched_hand_back(worker, parent);
        return;
    }
    axo__stack_push_any(&parent->system, &cell->passage, AXO__SYS_GONE);
    axo__sched_announce_system(worker, parent);
}

/* All that has come until now, oldest first (OR-07). */
static void stop_turn_lane(axo__cell *cell, axo__more *more)
{
    AXO_DEBUG_ASSERT(more->lane == 0);
    more->lane = axo__stack_reverse(axo__stack_take_any(&cell->system));
}

/* The oldest of the lane: its node may be used anew from here on. */
static inline axo__stack_node *stop_next(axo__more *more, axo__sys_kind *kind)
{
    axo__stack_node *node = axo__stack_node_of(more->lane);
    *kind = (axo__sys_kind)axo__stack_tag_of(more->lane);
    more->lane = node->next;
    return node;
}

/* The lane of one that is gone, a portion: everybody is answered. true: it is empty. */
static bool stop_answer_lane(axo__worker *worker, axo__cell *cell, uint32_t *budget)
{
    axo__more *more = axo__cell_more(cell);
    if (more == NULL)
        return true;
    if (more->lane == 0 && axo__stack_has_any(&cell->system))
        stop_turn_lane(cell, more);
    for (; more->lane != 0 && *budget > 0; (*budget)--) {
        axo__sys_kind kind;
        axo__stack_node *node = stop_next(more, &kind);
        axo__super_closed(worker->core, &worker->local, cell, node, kind);
    }
    return more->lane == 0;
}

/* Its last step. From here on who pushes something finds it closed, and sees to that. */
static void stop_close(axo__worker *worker, axo__cell *cell)
{
    axo__core *core = worker->core;
    axo__local *local = &worker->local;
    const axo__more *more = axo__cell_more(cell);
    axo__watch *above = more != NULL ? more->above : NULL;
    axo__cell *parent = axo__cell_parent(cell);
    axo__state_close(&cell->state);
    if (parent != NULL)
        stop_tell_parent(worker, parent, cell);
    axo__super_drain_closed(core, local, cell); /* the cell is ours until this turn is over */
    axo__super_tell_parent(worker, above); /* DW-13: it has forgotten the child by then */
    if (parent != NULL)
        return;
    axo__cell_drop_failure(&core->texts, cell);
    axo__local_retire(core, local, cell);
    core->root->root_gone(core);
}

/* A portion of the end of one that nobody finds any more: leftovers to dead letters, then other
 * watchers told, then the parent. Until then the cell is not closed, so that it can have a turn. */
static void stop_go_on(axo__worker *worker, axo__cell *cell)
{
    axo__core *core = worker->core;
    axo__local *local = &worker->local;
    uint32_t budget = AXO__PORTION;
    char path[AXO_EVENT_PATH_MAX];
    path[0] = 0;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && cell->phase >= AXO__PHASE_GONE);
    if (cell->phase == AXO__PHASE_BURYING) {
        if (!stop_drain_users(core, local, cell, path, &budget)) {
            cell->aside |= AXO__ASIDE_REST;
            return;
        }
        cell->phase = AXO__PHASE_GONE;
        axo__a64_bump_owner(&local->count.terminated);
        axo__trace(core, local, cell, AXO_EV_TERMINATED, 0);
        axo__event_life(core, local, cell, AXO_KIND_TERMINATED);
    }
    if (axo__super_tell_watchers(worker, cell, &budget) && stop_answer_lane(worker, cell, &budget))
        stop_close(worker, cell);
    else
        cell->aside |= AXO__ASIDE_REST;
}

/* ST-03: post_stop, own watches dropped, mailbox closed, leftovers to dead letters, other watchers
 * told, parent told. */
void axo__super_finish_terminate(axo__worker *worker, axo__cell *cell)
{
    axo__core *core = worker->core;
    axo__local *local = &worker->local;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && axo__cell_children(cell) == NULL);
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_TERMINATING);
    if (axo__cell_more(cell) != NULL)
        axo__timed_stop_keys(worker, cell); /* TM-05 */
    if (cell->life == AXO__INSTANCE_STARTED) { /* D3 */
        const axo_class *cls = axo__cell_class(cell);
        axo__trace(core, local, cell, AXO_EV_POST_STOP, 0);
        axo_status status =
            axo__run_hook(worker, cell, AXO_SITE_POST_STOP, cls->post_stop != NULL);
        axo__trace(core, local, cell, AXO_EV_POST_STOPPED, (uint64_t)(uint32_t)status);
        if (status != AXO_OK) { /* HF-12 */
            axo__core_log(core, local, AXO_LOG_ERROR, axo__cell_ref(cell),
                          "post_stop failed, code %d", (int)worker->pending.code);
            axo__cause_drop(&core->texts, &worker->pending);
        }
        cell->life = AXO__INSTANCE_STOPPED;
    }
    stop_release(worker, cell);
    if (axo__cell_more(cell) != NULL)
        stop_leave(worker, cell);
    axo__table_end(cell);
    cell->phase = AXO__PHASE_BURYING;
    stop_go_on(worker, cell);
}

/* ---- the system lane ---- */

static void stop_take(axo__worker *worker, axo__cell *cell, axo__stack_node *node,
                      axo__sys_kind kind)
{
    AXO_DEBUG_ASSERT(cell->phase < AXO__PHASE_GONE);
    switch (kind) {
    case AXO__SYS_ADOPT:
        axo__super_adopt(worker, cell, axo__cell_of_passage(node));
        return;
    case AXO__SYS_FAILED:
        axo__super_report(worker, cell, axo__cell_of_report(node));
        return;
    case AXO__SYS_DUE:
        axo__super_due(worker, cell, axo__cell_of_report(node));
        return;
    case AXO__SYS_GONE:
        axo__super_child_gone(worker, cell, axo__cell_of_passage(node));
        return;
    case AXO__SYS_WATCH:
    case AXO__SYS_UNWATCH:
    case AXO__SYS_RETURN:
        axo__super_take_watch(worker, cell, node, kind);
        return;
    case AXO__SYS_ROOM:
        axo__parked_home(worker, cell, node);
        return;
    }
}

/* A portion of the lane, oldest first (OR-07): what a turn before has left, and all that has come
 * until now. The rest stays for the next turn, or is answered at the end, if that has come. Who is
 * told something has a `more`. */
static void stop_take_lane(axo__worker *worker, axo__cell *cell)
{
    axo__more *more = axo__cell_more(cell);
    bool taken = false;
    if (more == NULL)
        return;
    for (uint32_t left = AXO__PORTION; left > 0 && cell->phase < AXO__PHASE_GONE; left--) {
        if (more->lane == 0) {
            if (taken || !axo__stack_has_any(&cell->system)) /* URGENT was taken: it is seen */
                return;
            stop_turn_lane(cell, more);
            taken = true;
        }
        axo__sys_kind kind;
        axo__stack_node *node = stop_next(more, &kind);
        stop_take(worker, cell, node, kind);
    }
    bool rest = more->lane != 0 || (!taken && axo__stack_has_any(&cell->system));
    if (axo__unlikely(rest && cell->phase < AXO__PHASE_GONE))
        cell->aside |= AXO__ASIDE_REST;
}

/* The lane, then the directives, then what was held back. */
static void stop_system(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && cell == worker->current);
    AXO_DEBUG_ASSERT(worker->site == AXO_SITE_NONE && worker->message == NULL);
    if (axo__unlikely(cell->phase >= AXO__PHASE_GONE)) {
        stop_go_on(worker, cell);
        return;
    }
    if (cell->phase == AXO__PHASE_NEW) { /* OR-09 */
        cell->phase = AXO__PHASE_NORMAL;
        axo__super_create(worker, cell);
    }
    stop_take_lane(worker, cell);
    if (axo__likely((cell->aside & AXO__ASIDE_REST) == 0)) {
        axo__super_directives(worker, cell);
        axo__super_unhold(worker, cell);
    }
    axo__state_settle(&cell->state);
}

/* ---- what reaches one that is gone ---- */

/* A newborn whose guardian is gone: it never runs. */
static void stop_abandon(axo__core *core, axo__local *local, axo__cell *child)
{
    AXO_DEBUG_ASSERT(child->phase == AXO__PHASE_NEW);
    axo__name *name = axo__cell_name(child);
    if (name != NULL)
        axo__names_unlink(&core->names, name);
    axo__state_close(&child->state);
    axo__table_end(child);
    child->phase = AXO__PHASE_GONE;
    axo__super_free_blocks(core, local, child);
    axo__super_free_ward(core, local, child);
    axo__a64_bump_owner(&local->count.terminated);
    axo__trace(core, local, child, AXO_EV_TERMINATED, 0);
    axo__local_retire(core, local, child);
}

void axo__super_closed(axo__core *core, axo__local *local, axo__cell *cell, axo__stack_node *node,
                       axo__sys_kind kind)
{
    switch (kind) {
    case AXO__SYS_ADOPT:
        stop_abandon(core, local, axo__cell_of_passage(node));
        return;
    /* GCOV_EXCL_START cannot be: children are gone before their parent */
    case AXO__SYS_FAILED:
    case AXO__SYS_DUE:
    case AXO__SYS_GONE:
        AXO_ASSERT(kind == AXO__SYS_FAILED);
        return;
    /* GCOV_EXCL_STOP */
    case AXO__SYS_WATCH:
    case AXO__SYS_UNWATCH:
    case AXO__SYS_RETURN:
        axo__super_watch_closed(core, local, cell, node, kind);
        return;
    case AXO__SYS_ROOM:
        axo__parked_closed(core, local, node);
        return;
    }
}

static void stop_free_more(axo__core *core, axo__local *local, axo__cell *cell)
{
    const axo__more *more = axo__cell_more(cell);
    if (more == NULL)
        return;
    AXO_DEBUG_ASSERT(more->family == NULL || more->family->children == NULL);
    AXO_DEBUG_ASSERT(more->family == NULL || more->family->held == 0);
    if (more->name != NULL)
        axo__names_free(&core->names, more->name);
    axo__box_free(&core->pool, &local->cache, more->box);
    axo__more_free(core, local, cell);
}

/* Nobody finds the cell any more; what raced with its end is seen to here (D7, DW-18). */
void axo__super_expire(axo__core *core, axo__local *local, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__a32_peek_owner(&cell->generation) == 0);
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_GONE);
    uint32_t all = UINT32_MAX; /* of what met its end: few */
    (void)stop_drain_users(core, local, cell, NULL, &all);
    axo__super_drain_closed(core, local, cell);
    if (axo__cell_more(cell) != NULL)
        axo__timed_free(core, local, cell);
    uint64_t nodes = AXO__INJECTED | AXO__URGENT_INJECTED;
    if ((axo__state_look(&cell->state) & nodes) != 0)
        axo__local_retire(core, local, cell); /* an injector still has its node */
    else {
        core->undispatch(core, axo__cell_sched(cell));
        stop_free_more(core, local, cell);
        axo__local_give_cell(core, local, cell);
    }
}

static void stop_fail(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->pending.kind != AXO_FAILURE_NONE);
    axo__super_fail_here(worker, cell);
}

const axo__super_ops axo__super_ops_table = {
    .system = stop_system,
    .fail = stop_fail,
    .notice = axo__super_notice,
    .notice_keep = axo__super_notice_keep,
    .notice_free = axo__super_notice_free,
    .expire = axo__super_expire,
};
