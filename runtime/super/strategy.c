/* strategy.c - what a parent decides: deciders, one-for-one, all-for-one, budgets, held reports.
 *
 * Everything here reads and writes fields of the parent (family, child records), so the caller
 * must be inside the parent: its runner, or a worker that has borrowed it. A decision that
 * reaches many children is a sweep (super/sweep.h): the parent handles nothing else until every
 * child has been told, so no message or report can fall between two children of one decision. */
#include "super/strategy.h"

#include <inttypes.h>

#include "sched/ready.h"
#include "sched/hook.h"
#include "super/children.h"
#include "super/delay.h"
#include "super/fail.h"
#include "super/sweep.h"

/* ---- deciders ---- */

/* The library's deciders look at the failure's kind alone, and never call the program. So they can
 * be asked in the failed child's turn (axo__strategy_decide_here). */

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

/* The answer of the parent's decider to a failure of this kind if the decider is one of the
 * library's; 0 if the decider is the program's own and has to be called. */
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

/* The sliding window, as Proto.Actor has it: the new failure is recorded first, then the recorded
 * failures within the window are counted, the new one included (RW-19, PH-08). A refusal clears the
 * record. */
static bool strategy_sliding(const axo_strategy *strategy, axo__child_record *record, int64_t now)
{
    uint32_t kept = 0;
    AXO_DEBUG_ASSERT(record->restarts <= AXO_SLIDING_MAX);
    if (strategy->retries_max <= 0)
        return strategy->retries_max < 0;
    for (uint32_t i = 0; i < record->restarts; i++) {
        if (strategy->within_ns <= 0 ||
            axo__clock_since(now, record->failures[i]) < strategy->within_ns)
            record->failures[kept++] = record->failures[i];
    }
    if (kept < AXO_SLIDING_MAX)
        record->failures[kept++] = now;
    record->restarts = kept;
    if (kept <= (uint32_t)strategy->retries_max)
        return true;
    record->restarts = 0;
    return false;
}

/* The fixed window opens at the first failure and counts restarts until its end, which is inside it
 * (RW-05, RW-06). A limit of zero never restarts (RW-04); no limit within a window counts as one
 * restart (RW-03). Asking spends: a permission stays counted although another child's budget then
 * refuses the restart (AF-06). */
bool axo__strategy_permit(const axo_strategy *strategy, axo__child_record *record, int64_t now)
{
    if (strategy == NULL || strategy->limited == 0)
        return true;
    AXO_DEBUG_ASSERT(record != NULL);
    if (strategy->window == AXO_WINDOW_SLIDING && record->failures != NULL)
        return strategy_sliding(strategy, record, now);
    bool counted = strategy->retries_max >= 0;
    if (counted && strategy->retries_max == 0)
        return false; /* RW-04 */
    if (strategy->within_ns < 0) /* no window: RW-01, RW-02 */
        return !counted || record->restarts++ < (uint32_t)strategy->retries_max;
    uint32_t most = counted ? (uint32_t)strategy->retries_max : 1; /* RW-03 */
    bool inside = record->limited && strategy->within_ns > 0 && /* RW-09 */
                  axo__clock_since(now, record->window_start) <= strategy->within_ns; /* RW-06 */
    if (!inside) { /* RW-05: the first failure after the window opens a new one */
        record->limited = 1;
        record->window_start = now;
        record->restarts = 1;
        return true;
    }
    if (record->restarts > most)
        return false;
    return ++record->restarts <= most;
}

/* ---- deciding ---- */

/* Publishes and logs what will happen to the child, which is not always what was decided: a spent
 * budget turns Restart into Stop (DR-09, PH-06). An escalation is not logged here: the decision
 * about the parent's failure is. */
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

/* The children that a decision reaches: from `first` up to `end`, which is not among them. */
typedef struct strategy_reach {
    axo__cell *first;
    axo__cell *end;
} strategy_reach;

/* A decision by value, made before any of its effects: budgets may be asked in later turns. */
typedef struct strategy_decision {
    axo_directive directive; /* the decider's answer; 0: the decider has failed */
    bool refused;            /* a Restart that the child's lifetime or a budget turns into Stop */
    strategy_reach reach;    /* of Restart and Stop */
} strategy_decision;

static strategy_reach strategy_only(axo__cell *child)
{
    return (strategy_reach){.first = child, .end = axo__cell_next(child)};
}

static bool strategy_is_alone(strategy_reach reach, const axo__cell *child)
{
    return reach.first == child && reach.end == axo__cell_next(child);
}

/* The failed child and the siblings that the scope takes with it. The list is youngest first, so
 * the siblings that were started after the child (rest-for-one) stand in front of it (RFO-01). */
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

/* AF-06: every child that the restart touches spends its own budget, and one refusal stops all. A
 * child that is stopping, or temporary, is not restarted and spends nothing. */
static bool strategy_permits(const axo_strategy *strategy, const axo__cell *child, int64_t now)
{
    bool counts = !axo__cell_cold(child)->stopping && child->lifetime != AXO_TEMPORARY;
    return !counts || axo__strategy_permit(strategy, axo__cell_child_record(child), now);
}

static void strategy_tell_permit(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__sweep *sweep = &axo__cell_own_family(cell)->sweep;
    (void)worker;
    if (!strategy_permits(axo__cell_strategy(cell), child, sweep->number))
        sweep->flag = false;
}

/* Restarts the failed child. Returns true if this is the child's own turn: the caller restarts it
 * there, without a directive. */
static inline bool strategy_restart_failed(axo__worker *worker, axo__cell *child)
{
    if (worker->current == child && !axo__cell_cold(child)->stopping)
        return true;
    axo__child_restart_own(worker, child);
    return false;
}

/* Restarts one sibling: suspended first, so that its restart finds a suspension to end (AF-02).
 * sweep.about is the failed child, which has been told already. The hold of the texts is taken
 * before the child can see the cause, and given back if the child's record did not take the
 * cause. */
static void strategy_tell_restart(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__family *family = axo__cell_own_family(cell);
    axo__texts *texts = &worker->local.core->texts;
    if (axo__cell_cold(child)->stopping || child == family->sweep.about)
        return; /* AF-09 */
    axo__child_suspend(worker, child, 1); /* AF-02 */
    axo__cause_hold_texts(texts, &family->restart_cause, 1);
    if (!axo__child_restart_parent(worker, child, &family->restart_cause, false))
        axo__cause_unhold_texts(texts, &family->restart_cause, 1);
}

static void strategy_restarted(axo__worker *worker, axo__cell *cell)
{
    axo__cause_drop(&worker->local.core->texts, &axo__cell_own_family(cell)->restart_cause);
}

/* Restarts all children in reach with the failed child's cause. The cause is copied into the family
 * first: the failed child gives its own copy up as soon as it is told. Returns as
 * strategy_restart_failed. */
static bool strategy_restart_all(axo__worker *worker, axo__cell *cell, axo__cell *child,
                                 strategy_reach reach)
{
    static const axo__sweep_ops restart = {.tell = strategy_tell_restart,
                                           .done = strategy_restarted};
    axo__family *family = axo__cell_own_family(cell);
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    AXO_DEBUG_ASSERT(family->restart_cause.kind == AXO_FAILURE_NONE);
    axo__cause cause = axo__cell_failure(child); /* the child drops its own when it is told */
    family->restart_cause = axo__cause_copy(&worker->local.core->texts, &cause);
    bool here = strategy_restart_failed(worker, child);
    axo__sweep sweep = {.ops = &restart, .next = reach.first, .end = reach.end, .about = child};
    if (axo__sweep_begin(worker, cell, &sweep))
        strategy_restarted(worker, cell);
    return here;
}

/* A reach of one child needs no sweep and no copy of the cause. */
static bool strategy_restart(axo__worker *worker, axo__cell *cell, axo__cell *child,
                             strategy_reach reach)
{
    if (strategy_is_alone(reach, child))
        return strategy_restart_failed(worker, child);
    return strategy_restart_all(worker, cell, child, reach);
}

/* Asks the parent's decider. Returns 0 if the decider failed: worker->pending then holds the
 * parent's own failure (DC-09). A directive out of range counts as Escalate. */
static axo_directive strategy_ask(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo_directive directive = strategy_known(cell, axo__cell_failure_kind(child));
    axo__trace(&worker->local, cell, AXO_EV_REPORT, axo__cell_ref(child).bits);
    if (directive == 0) {
        axo__cause cause = axo__cell_failure(child);
        axo_failure failure = axo__cause_show(&worker->local.core->texts, &cause);
        failure.reporter = axo__cell_ref(child);
        if (!axo__hook_decide(worker, cell, child, &failure, &directive))
            return (axo_directive)0; /* DC-09 */
        if (directive < AXO_RESUME || directive > AXO_ESCALATE)
            directive = AXO_ESCALATE;
    }
    axo__trace(&worker->local, cell, AXO_EV_DECIDE,
               (uint64_t)directive << 32 | (axo__cell_ref(child).bits & AXO__SLOT_MASK));
    return directive;
}

/* Tells observers, then carries the decision out. Observers come first because a told child may
 * run, and report again, before this function returns. Returns as strategy_restart_failed. */
static bool strategy_apply(axo__worker *worker, axo__cell *cell, axo__cell *child,
                           const strategy_decision *decision)
{
    const axo__child_record *record = axo__cell_child_record(child);
    if (decision->directive != 0)
        strategy_tell(worker, child, decision->directive,
                      decision->refused ? AXO_STOP : decision->directive);
    switch (decision->refused ? AXO_STOP : decision->directive) {
    case AXO_RESUME:
        axo__child_resume_own(worker, child); /* AF-04: the failed one only */
        return false;
    case AXO_RESTART:
        if (record != NULL && record->delay != NULL && axo__delay_begin(worker, cell, child))
            return false;
        return strategy_restart(worker, cell, child, decision->reach);
    case AXO_STOP: /* AF-03 */
        (void)axo__children_stop(worker, cell, decision->reach.first, decision->reach.end);
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

/* The last budget was asked in a later turn than the decider. A refusal by any of them is Stop, not
 * Escalate (RW-17). */
static void strategy_permitted(axo__worker *worker, axo__cell *cell)
{
    const axo__sweep *sweep = &axo__cell_own_family(cell)->sweep;
    strategy_decision decision = {.directive = AXO_RESTART, .refused = !sweep->flag,
                                  .reach = strategy_scope(cell, sweep->about)};
    (void)strategy_apply(worker, cell, sweep->about, &decision);
}

/* Asks the budget of every child that a restart reaches, with one reading of the clock for all
 * (RW-18). Returns false if a sweep goes on; strategy_permitted then follows with the answer. */
static bool strategy_ask_budgets(axo__worker *worker, axo__cell *cell, axo__cell *child,
                                 strategy_decision *decision)
{
    static const axo__sweep_ops permit = {.tell = strategy_tell_permit,
                                          .done = strategy_permitted};
    const axo_strategy *strategy = axo__cell_strategy(cell);
    if (strategy == NULL || strategy->limited == 0)
        return true;
    int64_t now = strategy->within_ns >= 0 ? axo__core_now(worker->local.core) : 0;
    if (strategy_is_alone(decision->reach, child)) {
        decision->refused = !strategy_permits(strategy, child, now);
        return true;
    }
    axo__sweep sweep = {.ops = &permit, .next = decision->reach.first,
                        .end = decision->reach.end, .about = child, .number = now, .flag = true};
    bool all = axo__sweep_begin(worker, cell, &sweep);
    decision->refused = !axo__cell_own_family(cell)->sweep.flag;
    return all;
}

/* The decision before any budget was asked. A temporary child is never restarted: its refusal costs
 * no sibling a budget, and the child stops alone (LT-02). */
static strategy_decision strategy_decide(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && child->parent == axo__cell_link(cell));
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    strategy_decision decision = {.directive = strategy_ask(worker, cell, child)};
    decision.refused = decision.directive == AXO_RESTART && child->lifetime == AXO_TEMPORARY;
    decision.reach = decision.refused ? strategy_only(child) : strategy_scope(cell, child);
    return decision;
}

/* The parent's whole answer to a failure: decide, ask the budgets, apply. Returns as
 * strategy_restart_failed. */
static bool strategy_answer(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    strategy_decision decision = strategy_decide(worker, cell, child);
    if (decision.directive == AXO_RESTART && !decision.refused &&
        !strategy_ask_budgets(worker, cell, child, &decision))
        return false;
    return strategy_apply(worker, cell, child, &decision);
}

/* Whether the parent may decide now. A parent that is suspended, restarting or about to stop leaves
 * its reports to the instance that goes on (SC-09, RS-18). Directives that wait in its word count
 * as taken, because they may be older than the report (OR-07). */
static bool strategy_may_decide(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    uint64_t waiting = axo__cell_directives(cell);
    return cell->phase == AXO__PHASE_NORMAL && axo__directives_delta(waiting) <= 0 &&
           (waiting & (AXO__STOPS | AXO__RESTART_PARENT)) == 0 &&
           axo__state_suspends(&cell->state) == 0;
}

/* Whether carrying the answer out takes more turns than one. Such a decision needs turns of the
 * parent's own, so it is not made in a child's turn. */
static bool strategy_sweeps(const axo__cell *cell, axo_directive directive)
{
    const axo_strategy *strategy = axo__cell_strategy(cell);
    bool many = directive == AXO_ESCALATE ||
                (strategy != NULL && strategy->scope != AXO_ONE_FOR_ONE);
    return many && axo__cell_child_count(cell) > AXO__SWEEP_STEP;
}

/* Holds a report or a DUE, in the order of arrival, through the child's own node: so holding takes
 * no memory (SC-09, D10). */
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

/* The delay of a decided restart is over. The scope is computed anew, so the restart reaches the
 * siblings that are in it now (PH-13); a child that was told to stop meanwhile is left alone. */
static void strategy_due(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && child->parent == axo__cell_link(cell));
    axo__delay_over(axo__cell_own_strategy(cell)->backoff, axo__cell_own_child_record(child)->delay,
                    axo__core_now(worker->local.core));
    if (!axo__cell_cold(child)->stopping) /* PH-13 */
        (void)strategy_restart(worker, cell, child, strategy_scope(cell, child));
}

/* Reports are decided in order: while one is held, every later report is held behind it. */
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

/* The parent's decision within its child's turn. axo__state_borrow_idle takes the parent only if no
 * worker is in it and its word shows no work: the compare-and-swap acquires what the parent's last
 * runner released, and axo__sched_hand_back releases this decision's writes to the next. Work
 * announced in between stays in the word, and the hand-back pushes an entry for it. A decider of
 * the program's is refused: it may take long, and the failed child must go on answering its system
 * lane (FS-04). If the parent is the root, holds reports, may not decide or would sweep, the child
 * reports instead. */
axo__answer axo__strategy_decide_here(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(worker->current == child && child->reported);
    axo__cell *parent = axo__cell_parent(child);
    if (parent == NULL || !axo__cell_is_in(worker->local.core, parent, worker->sched))
        return AXO__ANSWER_LATER;
    axo_directive known = strategy_known(parent, axo__cell_failure_kind(child));
    if (known == 0 || !axo__state_borrow_idle(&parent->state))
        return AXO__ANSWER_LATER;
    bool holds = axo__cell_own_family(parent)->held != 0;
    if (parent->parent == 0 || holds || !strategy_may_decide(parent) ||
        strategy_sweeps(parent, known)) {
        axo__sched_hand_back(worker, parent);
        return AXO__ANSWER_LATER;
    }
    worker->asked_at = axo__worker_count(worker);
    bool restart = strategy_answer(worker, parent, child);
    axo__state_settle(&parent->state);
    axo__sched_hand_back(worker, parent);
    return restart ? AXO__ANSWER_RESTART : AXO__ANSWER_TOLD;
}

/* The child's cell was kept for this DUE if the child has ended meanwhile: `kept` goes down and the
 * caller forgets the child. A terminating parent does nothing, since the child is stopping too. */
bool axo__strategy_due(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__delay *delay = axo__cell_own_child_record(child)->delay;
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

/* Every decision may fail the parent, start a sweep or make it wait, so strategy_may_decide is
 * asked again before each report; the reports that remain stay held in order. */
void axo__strategy_unhold(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__family *family = axo__cell_family(cell);
    while (family != NULL && family->held != 0 && family->sweep.ops == NULL &&
           strategy_may_decide(cell)) {
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
