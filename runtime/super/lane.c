/* lane.c - a turn for the system: what was told, oldest first; directives; what was held back. And
 * the failure of a callback, whose answer is often there at once. */
#include "super/lane.h"

#include "sched/parked.h"
#include "sched/ready.h"
#include "sched/keyed_timer.h"
#include "super/children.h"
#include "super/fail.h"
#include "super/gone.h"
#include "super/instance.h"
#include "super/restart.h"
#include "super/spawn.h"
#include "super/stop.h"
#include "super/strategy.h"
#include "super/sweep.h"
#include "super/watch.h"

/* The wait for children may be over. */
static void lane_go_on(axo__worker *worker, axo__cell *cell)
{
    if (cell->phase != AXO__PHASE_TERMINATING)
        axo__restart_go_on(worker, cell);
    else if (axo__cell_child_count(cell) == 0)
        axo__stop_finish(worker, cell);
}

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

/* What was begun is not done: nothing else comes before it. */
static bool lane_has_rest(const axo__cell *cell)
{
    return (cell->attention & AXO__ATTENTION_REST) != 0;
}

/* Whether the oldest can be taken; what comes from now on waits for the next turn (`taken`). */
static bool lane_is_ready(axo__cell *cell, axo__extra *extra, bool *taken)
{
    if (extra->unturned == 0) {
        if (extra->lane != 0)
            return true;
        if (*taken || !axo__stack_has_any(&cell->system)) /* URGENT was taken: it is seen */
            return false;
        *taken = true;
    }
    return axo__super_turn_lane(cell, extra);
}

/* A portion of the lane, oldest first (OR-07): what a turn before has left, and all that has come
 * until now. The rest stays for the next turn, or is answered at the end, if that has come. Who is
 * told something has a `extra`. */
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

/* The lane, then the directives, then what was held back. */
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
    if (axo__sweep_go_on(worker, cell) && axo__timed_go_on(worker, cell))
        lane_take_portion(worker, cell);
    if (axo__likely(!lane_has_rest(cell)))
        lane_directives(worker, cell);
    if (axo__likely(!lane_has_rest(cell)))
        axo__strategy_unhold(worker, cell);
    axo__state_settle(&cell->state);
}

/* The answer is there already: what a turn for it would do. A restart alone needs no directive. */
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
    else if (answer == AXO__ANSWER_RESTART) /* behind what else waits for it */
        axo__directives_restart_own(&cell->directives);
    if (axo__directives_look(&cell->directives) != 0)
        lane_directives(worker, cell);
    axo__strategy_unhold(worker, cell);
    axo__state_settle(&cell->state);
    axo__worker_offer_urgent(worker);
}

const axo__super_ops axo__lane_ops = {
    .system = lane_system,
    .fail = lane_fail,
    .notice = axo__watch_notice,
    .notice_keep = axo__watch_notice_keep,
    .notice_free = axo__watch_notice_free,
    .drain = axo__gone_drain,
    .expire = axo__gone_expire,
};
