/* strategy.c - what a parent decides: deciders, one-for-one, all-for-one, budgets, held reports. */
#include "super/strategy.h"

#include <inttypes.h>

#include "sched/ready.h"
#include "sched/run.h"
#include "super/children.h"
#include "super/delay.h"
#include "super/fail.h"

/* ---- deciders ---- */

/* The library's deciders look at the kind alone. */

static axo_directive strategy_by_default(uint32_t kind)
{
    switch ((axo_failure_kind)kind) { /* DC-01 */
    case AXO_FAILURE_INIT:
    case AXO_FAILURE_POST_RESTART:
    case AXO_FAILURE_KILLED:
    case AXO_FAILURE_DEATH_PACT:
        return AXO_STOP;
    case AXO_FAILURE_FATAL:
        return AXO_ESCALATE;
    case AXO_FAILURE_NONE:
    case AXO_FAILURE_ORDINARY:
    case AXO_FAILURE_ENDED:
        break;
    }
    return AXO_RESTART;
}

static axo_directive strategy_by_stopping(uint32_t kind)
{
    return kind == AXO_FAILURE_FATAL ? AXO_ESCALATE : AXO_STOP; /* DC-04 */
}

axo_directive axo_decide_default(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                                 void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    return strategy_by_default(failure->kind);
}

axo_directive axo_decide_stop(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                              void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    return strategy_by_stopping(failure->kind);
}

axo_directive axo_decide_escalate(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                                  void *user)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)user;
    return AXO_ESCALATE;
}

axo_directive axo_decide_restart(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                                 void *user)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)user;
    return AXO_RESTART;
}

/* What the parent's decider says of such a failure, if it is one of the library's; 0: the decider
 * is the user's own. */
static axo_directive strategy_known(const axo__cell *cell, uint32_t kind)
{
    const axo_strategy *strategy = axo__cell_strategy(cell);
    axo_decider decider = strategy != NULL ? strategy->decider : NULL;
    if (decider == NULL || decider == axo_decide_default)
        return strategy_by_default(kind);
    if (decider == axo_decide_restart)
        return AXO_RESTART;
    if (decider == axo_decide_stop)
        return strategy_by_stopping(kind);
    return decider == axo_decide_escalate ? AXO_ESCALATE : (axo_directive)0;
}

/* ---- budgets ---- */

/* Proto.Actor's: the failure is recorded, then the young ones are counted (RW-19, PH-08). */
static bool strategy_sliding(const axo_strategy *strategy, axo__ward *ward, int64_t now)
{
    uint32_t kept = 0;
    AXO_DEBUG_ASSERT(ward->restarts <= AXO_SLIDING_MAX);
    if (strategy->retries_max <= 0)
        return strategy->retries_max < 0;
    for (uint32_t i = 0; i < ward->restarts; i++) {
        if (strategy->within_ns <= 0 ||
            axo__clock_since(now, ward->failures[i]) < strategy->within_ns)
            ward->failures[kept++] = ward->failures[i];
    }
    if (kept < AXO_SLIDING_MAX)
        ward->failures[kept++] = now;
    ward->restarts = kept;
    if (kept <= (uint32_t)strategy->retries_max)
        return true;
    ward->restarts = 0;
    return false;
}

bool axo__strategy_permit(const axo_strategy *strategy, axo__ward *ward, int64_t now)
{
    if (strategy == NULL || strategy->limited == 0)
        return true;
    AXO_DEBUG_ASSERT(ward != NULL);
    if (strategy->window == AXO_WINDOW_SLIDING && ward->failures != NULL)
        return strategy_sliding(strategy, ward, now);
    bool counted = strategy->retries_max >= 0;
    if (counted && strategy->retries_max == 0)
        return false; /* RW-04 */
    if (strategy->within_ns < 0) /* no window: RW-01, RW-02 */
        return !counted || ward->restarts++ < (uint32_t)strategy->retries_max;
    uint32_t most = counted ? (uint32_t)strategy->retries_max : 1; /* RW-03 */
    bool inside = ward->limited && strategy->within_ns > 0 && /* RW-09 */
                  axo__clock_since(now, ward->window_start) <= strategy->within_ns; /* RW-06 */
    if (!inside) { /* RW-05: the first failure after the window opens a new one */
        ward->limited = 1;
        ward->window_start = now;
        ward->restarts = 1;
        return true;
    }
    if (ward->restarts > most)
        return false;
    return ++ward->restarts <= most;
}

/* ---- deciding ---- */

/* DR-09, PH-06: what happens, which is not always what was decided. */
static void strategy_tell(axo__worker *worker, const axo__cell *child, axo_directive decided,
                          axo_directive directive)
{
    static const char *const names[] = {"?", "resume", "restart", "stop", "escalate"};
    axo__core *core = worker->local.core;
    axo_log_level level = directive == AXO_RESUME ? AXO_LOG_WARNING : AXO_LOG_ERROR;
    axo__event_supervision(&worker->local, child, decided, directive);
    if (directive == AXO_ESCALATE || !axo__event_logs(core, level))
        return;
    axo__cause cause = axo__cell_failure(child);
    axo_failure failure = axo__cause_show(&core->texts, &cause);
    axo__event_log(&worker->local, level, axo__cell_ref(child),
                   "%s: failure kind %" PRIu32 " code %" PRId32 " %s", names[directive],
                   failure.kind, failure.code, failure.text);
}

/* Whom a decision reaches: the children from `first` up to `end`, which is not among them. */
typedef struct strategy_reach {
    axo__cell *first;
    axo__cell *end;
} strategy_reach;

/* A decision, before anything of it is done. */
typedef struct strategy_decision {
    axo_directive directive; /* as the decider said; 0: the decider has failed */
    bool refused;            /* a Restart that the child's lifetime or a budget turns into Stop */
    strategy_reach reach;    /* of Restart and Stop */
} strategy_decision;

static strategy_reach strategy_only(axo__cell *child)
{
    return (strategy_reach){.first = child, .end = axo__cell_next(child)};
}

/* The failed child and those that the scope takes with it. The list is youngest first, so the rest
 * that was started after the child stands in front of it (RFO-01). */
static strategy_reach strategy_scope(const axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(child->parent == axo__cell_link(cell));
    const axo_strategy *strategy = axo__cell_strategy(cell);
    axo_scope scope = strategy != NULL ? strategy->scope : AXO_ONE_FOR_ONE;
    strategy_reach reach = strategy_only(child);
    if (scope != AXO_ONE_FOR_ONE)
        reach.first = axo__cell_children(cell);
    if (scope == AXO_ALL_FOR_ONE)
        reach.end = NULL;
    return reach;
}

static void strategy_stop(axo__worker *worker, strategy_reach reach)
{
    for (axo__cell *one = reach.first; one != reach.end; one = axo__cell_next(one)) {
        if (!axo__cell_kin(one)->stopping)
            axo__child_stop(worker, one);
    }
}

/* AF-06: every counter that the restart touches moves, whoever refuses. */
static bool strategy_permits(axo__worker *worker, const axo__cell *cell, strategy_reach reach)
{
    const axo_strategy *strategy = axo__cell_strategy(cell);
    bool timed = strategy != NULL && strategy->limited != 0 && strategy->within_ns >= 0;
    int64_t now = timed ? axo__core_now(worker->local.core) : 0; /* RW-18 */
    bool permitted = true;
    for (axo__cell *one = reach.first; one != reach.end; one = axo__cell_next(one)) {
        bool counts = !axo__cell_kin(one)->stopping && one->lifetime != AXO_TEMPORARY;
        if (counts && !axo__strategy_permit(strategy, axo__cell_ward(one), now))
            permitted = false;
    }
    return permitted;
}

/* The failed child restarts: true, this is its own turn, which is to do it; else it is told. */
static inline bool strategy_restart_failed(axo__worker *worker, axo__cell *child)
{
    if (worker->current == child && !axo__cell_kin(child)->stopping)
        return true;
    axo__child_restart_own(worker, child);
    return false;
}

/* Restarts all that are reached, with the failed child's cause. true: as above. */
static bool strategy_restart_all(axo__worker *worker, axo__cell *child, strategy_reach reach)
{
    axo__texts *texts = &worker->local.core->texts;
    bool here = false;
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    axo__cause cause = axo__cell_failure(child); /* the child lets it go when it is told */
    cause = axo__cause_copy(texts, &cause);
    for (axo__cell *one = reach.first; one != reach.end; one = axo__cell_next(one)) {
        if (axo__cell_kin(one)->stopping)
            continue; /* AF-09 */
        if (one == child) {
            here = strategy_restart_failed(worker, child);
            continue;
        }
        axo__child_suspend(worker, one, 1); /* AF-02 */
        axo__cause_hold_texts(texts, &cause, 1);
        if (!axo__child_restart_parent(worker, one, &cause, false))
            axo__cause_unhold_texts(texts, &cause, 1);
    }
    axo__cause_drop(texts, &cause);
    return here;
}

static bool strategy_restart(axo__worker *worker, axo__cell *child, strategy_reach reach)
{
    if (reach.first == child && reach.end == axo__cell_next(child))
        return strategy_restart_failed(worker, child);
    return strategy_restart_all(worker, child, reach);
}

/* What the parent's decider says: a directive; 0: the decider has failed, and why is pending. */
static axo_directive strategy_ask(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo_directive directive = strategy_known(cell, axo__cell_failure_kind(child));
    axo__trace(&worker->local, cell, AXO_EV_REPORT, axo__cell_ref(child).bits);
    if (directive == 0) {
        axo__cause cause = axo__cell_failure(child);
        axo_failure failure = axo__cause_show(&worker->local.core->texts, &cause);
        failure.reporter = axo__cell_ref(child);
        if (!axo__run_decider(worker, cell, child, &failure, &directive))
            return (axo_directive)0; /* DC-09 */
        if (directive < AXO_RESUME || directive > AXO_ESCALATE)
            directive = AXO_ESCALATE;
    }
    axo__trace(&worker->local, cell, AXO_EV_DECIDE,
               (uint64_t)directive << 32 | (axo__cell_ref(child).bits & AXO__SLOT_MASK));
    return directive;
}

/* Decides, counts and tells observers; nobody is restarted, resumed or stopped by it. */
static strategy_decision strategy_decide(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && child->parent == axo__cell_link(cell));
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    strategy_decision decision = {.directive = strategy_ask(worker, cell, child)};
    if (decision.directive == 0)
        return decision;
    decision.reach = strategy_scope(cell, child);
    if (decision.directive == AXO_RESTART && child->lifetime == AXO_TEMPORARY) {
        decision.refused = true; /* LT-02: it costs nothing, and goes alone */
        decision.reach = strategy_only(child);
    } else if (decision.directive == AXO_RESTART) {
        decision.refused = !strategy_permits(worker, cell, decision.reach); /* RW-17 */
    }
    strategy_tell(worker, child, decision.directive,
                  decision.refused ? AXO_STOP : decision.directive);
    return decision;
}

/* Does what was decided. true: this is the failed child's own turn, which is to restart it. */
static bool strategy_apply(axo__worker *worker, axo__cell *cell, axo__cell *child,
                           const strategy_decision *decision)
{
    const axo__ward *ward = axo__cell_ward(child);
    switch (decision->refused ? AXO_STOP : decision->directive) {
    case AXO_RESUME:
        axo__child_resume_own(worker, child); /* AF-04: the failed one only */
        return false;
    case AXO_RESTART:
        if (ward != NULL && ward->delay != NULL && axo__delay_begin(worker, cell, child))
            return false;
        return strategy_restart(worker, child, decision->reach);
    case AXO_STOP:
        strategy_stop(worker, decision->reach); /* AF-03 */
        return false;
    case AXO_ESCALATE:
        break;
    }
    if (decision->directive == AXO_ESCALATE) {
        axo__cause cause = axo__cell_failure(child);
        worker->pending = axo__cause_copy(&worker->local.core->texts, &cause); /* DR-05 */
    }
    axo__fail(worker, cell, axo__cell_ref(child), false);
    return false;
}

/* The parent's answer to a failure, in its own turn or in the failed child's. true: as
 * strategy_apply. */
static bool strategy_answer(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    strategy_decision decision = strategy_decide(worker, cell, child);
    return strategy_apply(worker, cell, child, &decision);
}

/* Directives that wait count as taken: they may be older than the report (OR-07). */
static bool strategy_may_decide(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    uint64_t waiting = axo__cell_directives(cell);
    return cell->phase == AXO__PHASE_NORMAL && axo__directives_delta(waiting) <= 0 &&
           (waiting & (AXO__STOPS | AXO__RESTART_PARENT)) == 0 &&
           axo__state_suspends(&cell->state) == 0;
}

/* SC-09 */
static void strategy_hold(axo__worker *worker, axo__cell *cell, axo__cell *child,
                          axo__sys_kind kind)
{
    axo__trace(&worker->local, cell, AXO_EV_HOLD, axo__cell_ref(child).bits);
    axo__family *family = axo__cell_own_family(cell);
    axo__stack_link link = axo__stack_link_to(&child->report, kind);
    AXO_DEBUG_ASSERT((family->held == 0) == (family->held_last == NULL));
    AXO_DEBUG_ASSERT(family->held_last != &child->report);
    child->report.next = 0;
    if (family->held == 0)
        family->held = link;
    else
        family->held_last->next = link;
    family->held_last = &child->report;
}

/* The delay of a restart that was decided is over. */
static void strategy_due(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && child->parent == axo__cell_link(cell));
    axo__delay_over(axo__cell_own_strategy(cell)->backoff, axo__cell_own_ward(child)->delay,
                    axo__core_now(worker->local.core));
    if (!axo__cell_kin(child)->stopping) /* PH-13: whoever is in the scope by now */
        (void)strategy_restart(worker, child, strategy_scope(cell, child));
}

void axo__strategy_report(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    if (cell->phase >= AXO__PHASE_TERMINATING)
        return; /* DC-11: the child is stopping anyway */
    if (strategy_may_decide(cell) && axo__cell_own_family(cell)->held == 0)
        (void)strategy_answer(worker, cell, child);
    else
        strategy_hold(worker, cell, child, AXO__SYS_FAILED);
}

/* The parent's turn within its child's. While it has the parent, whoever tells it something leaves
 * that to be found when it is handed back. A decider of the user's may take long, and the failed
 * child sees to its system lane meanwhile (FS-04): that one gets a turn of its own. */
axo__answer axo__strategy_decide_here(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(worker->current == child && child->reported);
    axo__cell *parent = axo__cell_parent(child);
    AXO_DEBUG_ASSERT(parent != NULL);
    if (!axo__cell_is_in(worker->local.core, parent, worker->sched) ||
        strategy_known(parent, axo__cell_failure_kind(child)) == 0 ||
        !axo__state_borrow_idle(&parent->state))
        return AXO__ANSWER_LATER;
    bool holds = axo__cell_own_family(parent)->held != 0;
    if (parent->parent == 0 || holds || !strategy_may_decide(parent)) {
        axo__sched_hand_back(worker, parent);
        return AXO__ANSWER_LATER;
    }
    worker->asked_at = axo__worker_count(worker);
    bool restart = strategy_answer(worker, parent, child);
    axo__state_settle(&parent->state);
    axo__sched_hand_back(worker, parent);
    return restart ? AXO__ANSWER_RESTART : AXO__ANSWER_TOLD;
}

bool axo__strategy_due(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__delay *delay = axo__cell_own_ward(child)->delay;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && delay->waits);
    delay->waits = false;
    if (delay->gone) {
        AXO_DEBUG_ASSERT(axo__cell_own_family(cell)->kept > 0);
        axo__cell_own_family(cell)->kept--;
        return true;
    }
    if (cell->phase == AXO__PHASE_TERMINATING)
        return false;
    if (strategy_may_decide(cell) && axo__cell_own_family(cell)->held == 0)
        strategy_due(worker, cell, child);
    else
        strategy_hold(worker, cell, child, AXO__SYS_DUE);
    return false;
}

void axo__strategy_unhold(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__family *family = axo__cell_family(cell);
    while (family != NULL && family->held != 0 && strategy_may_decide(cell)) {
        axo__stack_link link = family->held;
        axo__cell *child = axo__cell_of_report(axo__stack_node_of(link));
        family->held = child->report.next;
        if (family->held == 0)
            family->held_last = NULL;
        if (axo__stack_tag_of(link) == AXO__SYS_DUE)
            strategy_due(worker, cell, child);
        else
            (void)strategy_answer(worker, cell, child);
    }
}
