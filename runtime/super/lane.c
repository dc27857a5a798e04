/* lane.c - a turn for the system: messages of the system lane, oldest first; then directives; then
 * the reports that were held back. And the failure of a callback, whose answer is often there at
 * once.
 *
 * System work comes before user messages and never waits for memory or for another actor's turn.
 * A long lane is taken in portions: ATTENTION_REST in the cell says that some work is begun and
 * not done, and no later kind of work may overtake it (OR-07). */
#include "super/lane.h"

#include "sched/parked.h"
#include "sched/ready.h"
#include "sched/keyed_timer.h"
#include "super/children.h"
#include "super/fail.h"
#include "super/gone.h"
#include "super/instance.h"
#include "super/leaf.h"
#include "super/replace.h"
#include "super/restart.h"
#include "super/spawn.h"
#include "super/stop.h"
#include "super/strategy.h"
#include "super/sweep.h"
#include "super/watch.h"

/* A child has gone: the phase that waits for children may be over. A restart waits for the children
 * that it has told to stop, an end for all of them. */
static void lane_go_on(axo__worker *worker, axo__cell *cell)
{
    if (cell->phase != AXO__PHASE_TERMINATING)
        axo__restart_go_on(worker, cell);
    else if (axo__cell_child_count(cell) == 0)
        axo__stop_finish(worker, cell);
}

/* A stop that has arrived during the wait must not lose to the last child's end, so the directives
 * are asked before the restart goes on; lane_directives then takes the stop in this same turn. */
static void lane_child_gone(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    if (!axo__children_forget(worker, cell, child))
        return;
    bool waits = cell->phase == AXO__PHASE_RECREATING || cell->phase == AXO__PHASE_CREATING;
    if (waits && axo__super_ends(cell, axo__cell_directives(cell)))
        return; /* RS-19, ST-12: stop wins, and is taken next */
    lane_go_on(worker, cell);
}

/* ---- the lane ---- */

/* Hands one message of the lane to the file that answers it. The node belongs to the sender's
 * record or cell again as soon as its file is done with it, so nothing here reads it twice. */
static void lane_take(axo__worker *worker, axo__cell *cell, axo__stack_node *node,
                      axo__sys_kind kind)
{
    AXO_DEBUG_ASSERT(cell->phase < AXO__PHASE_GONE);
    switch (kind) {
    case AXO__SYS_ADOPT:
        axo__spawn_adopt(worker, cell, axo__cell_of_life_node(node));
        return;
    case AXO__SYS_FAILED:
        axo__strategy_report(worker, cell, axo__cell_of_report(node));
        return;
    case AXO__SYS_DUE:
        if (axo__strategy_due(worker, cell, axo__cell_of_report(node)))
            lane_child_gone(worker, cell, axo__cell_of_report(node));
        return;
    case AXO__SYS_GONE:
        lane_child_gone(worker, cell, axo__cell_of_life_node(node));
        return;
    case AXO__SYS_WATCH:
    case AXO__SYS_UNWATCH:
    case AXO__SYS_RETURN:
        axo__watch_take(worker, cell, node, kind);
        return;
    case AXO__SYS_ROOM:
        axo__parked_home(worker, cell, node);
        return;
    }
}

/* A portion of a sweep, of the own timers or of the lane is left over: nothing else may come before
 * it. */
static bool lane_has_rest(const axo__cell *cell)
{
    return (cell->attention & AXO__ATTENTION_REST) != 0;
}

/* Whether the oldest message can be taken. The stack is detached at most once a turn (`taken`), so
 * messages that arrive during the turn wait for the next one and a storm of them cannot keep the
 * worker. The runner cleared URGENT before this look, so a push that the look misses sets URGENT
 * again and brings another look. */
static bool lane_is_ready(axo__cell *cell, axo__extra *extra, bool *taken)
{
    if (extra->unturned == 0) {
        if (extra->lane != 0)
            return true;
        if (*taken || !axo__stack_has_any(&cell->system))
            return false;
        *taken = true;
    }
    return axo__super_turn_lane(cell, extra);
}

/* Takes a portion of the lane, oldest first (OR-07): first the messages that an earlier turn has
 * left, then those that had arrived by now. The rest keeps its place for the next turn, or is
 * answered by stop.c if a message of this portion ended the cell. Only a cell with an `extra` is
 * ever sent a system message: its children, watchers and watches have made the record. */
static void lane_take_portion(axo__worker *worker, axo__cell *cell)
{
    axo__extra *extra = axo__cell_extra(cell);
    bool taken = false;
    if (extra == NULL)
        return;
    for (uint32_t left = AXO__PORTION; left > 0 && cell->phase < AXO__PHASE_GONE; left--) {
        if (lane_has_rest(cell))
            return;
        if (!lane_is_ready(cell, extra, &taken))
            break;
        axo__sys_kind kind;
        axo__stack_node *node = axo__super_next(extra, &kind);
        lane_take(worker, cell, node, kind);
    }
    bool rest =
        extra->lane != 0 || extra->unturned != 0 || (!taken && axo__stack_has_any(&cell->system));
    if (axo__unlikely(rest && cell->phase < AXO__PHASE_GONE))
        cell->attention |= AXO__ATTENTION_REST;
}

/* ---- directives ---- */

/* Takes directives until the word is empty. The order is a priority: a stop ends everything
 * (ST-12), another class comes before all that its hooks have a part in, Resume answers the failure
 * before suspensions from above are counted, and a restart comes after these, for it runs hooks.
 * While a restart waits for children only a stop passes (RS-18). Each step looks at the word anew,
 * because the parent may add to it meanwhile, and axo__directives_take clears no more than the bits
 * of its own step. */
static void lane_directives(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    for (;;) {
        uint64_t word = axo__cell_directives(cell);
        int32_t delta = axo__directives_delta(word);
        if (cell->phase >= AXO__PHASE_GONE || word == 0 || lane_has_rest(cell))
            return;
        if (axo__super_ends(cell, word)) { /* ST-12: stop wins */
            axo__cell_take_stops(cell, AXO__STOPS);
            axo__trace(&worker->local, cell, AXO_EV_DIRECTIVE, AXO_STOP);
            axo__stop_begin(worker, cell);
        } else if (cell->phase != AXO__PHASE_NORMAL && cell->phase != AXO__PHASE_TERMINATING) {
            return; /* RS-18: held back until the restart is over */
        } else if ((word & AXO__REPLACE) != 0) {
            (void)axo__directives_take(&cell->directives, AXO__REPLACE, 0);
            axo__replace_take(worker, cell);
        } else if ((word & AXO__RESUME_OWN) != 0) {
            (void)axo__directives_take(&cell->directives, AXO__RESUME_OWN, 0);
            axo__restart_resume_own(worker, cell);
        } else if (delta != 0) {
            (void)axo__directives_take(&cell->directives, 0, delta);
            axo__restart_shift(worker, cell, delta);
        } else if ((word & (AXO__RESTART_OWN | AXO__RESTART_PARENT)) != 0) {
            axo__restart_take(worker, cell, word);
        } else if (!axo__fail_ended(worker, cell)) {
            return;
        }
    }
}

/* ---- a turn ---- */

/* One system turn: what an earlier turn has begun, then the lane, the directives, the held reports.
 * Held reports come last because strategy_may_decide asks whether a directive still waits. The
 * suspend count may change several times in between; axo__state_settle brings the HELD bit in line
 * once, before the runner looks for user messages. */
static void lane_system(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && cell == worker->current);
    AXO_DEBUG_ASSERT(worker->site == AXO_SITE_NONE && worker->message == NULL);
    if (axo__unlikely(cell->phase >= AXO__PHASE_LEAVING)) {
        if (cell->phase == AXO__PHASE_LEAVING)
            axo__stop_leave(worker, cell);
        else
            axo__stop_go_on(worker, cell);
        return;
    }
    if (cell->phase == AXO__PHASE_NEW) { /* OR-09 */
        cell->phase = AXO__PHASE_NORMAL;
        axo__instance_create(worker, cell);
    }
    if (axo__sweep_go_on(worker, cell) && axo__keyed_timer_go_on(worker, cell))
        lane_take_portion(worker, cell);
    if (axo__likely(!lane_has_rest(cell)))
        lane_directives(worker, cell);
    if (axo__likely(!lane_has_rest(cell)))
        axo__strategy_unhold(worker, cell);
    if (axo__unlikely((cell->attention & AXO__ATTENTION_TIMERS) != 0))
        axo__keyed_timer_stand(worker, cell);
    axo__state_settle(&cell->state);
}

/* The running callback has failed. If the parent is idle and its decider is the library's, the
 * answer is made in this turn and the queues are not used; else the report is pushed. HELD is
 * settled before the report: as soon as the report is out, the parent's runner may answer it. A
 * restart as the only directive is done directly; behind other directives it is written into the
 * word, so that the order of lane_directives holds. */
static void lane_fail(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(worker->pending.kind != AXO_FAILURE_NONE);
    axo__a64_store_relaxed(&worker->running_tag, 0);
    if ((axo__state_look(&cell->state) & AXO__WAITING) != 0)
        axo__parked_seal(cell);
    if (!axo__fail_begin(worker, cell, axo_ref_none(), false)) {
        axo__state_settle(&cell->state);
        return;
    }
    axo__answer answer = axo__strategy_decide_here(worker, cell);
    if (answer == AXO__ANSWER_LATER) {
        axo__state_settle(&cell->state);
        axo__fail_report(worker, cell);
        return;
    }
    if (answer == AXO__ANSWER_RESTART && axo__cell_directives(cell) == 0)
        axo__restart_own(worker, cell);
    else if (answer == AXO__ANSWER_RESTART) /* other directives come first */
        axo__directives_restart_own(&cell->directives);
    if (axo__directives_look(&cell->directives) != 0)
        lane_directives(worker, cell);
    axo__strategy_unhold(worker, cell);
    axo__state_settle(&cell->state);
    axo__worker_offer_urgent(worker);
}

const axo__super_ops axo__lane_ops = {
    .system = lane_system,
    .begin = axo__leaf_begin,
    .end = axo__leaf_end,
    .thrown = axo__leaf_thrown,
    .fail = lane_fail,
    .notice = axo__watch_notice,
    .notice_keep = axo__watch_notice_keep,
    .notice_free = axo__watch_notice_free,
    .drain = axo__gone_drain,
    .expire = axo__gone_expire,
};
