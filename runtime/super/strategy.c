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
    case AXO_FAILURE_CRASH:
    case AXO_FAILURE_STUCK:
    case AXO_FAILURE_MEMORY:
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

/* The answer of a strategy's decider to a failure of this kind if the decider is one of the
 * library's; 0 if the decider is the program's own and has to be called. */
static inline axo_directive strategy_known(const axo_strategy *strategy, uint32_t kind)
{
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

/* The line of the log stands apart: most systems have no reader of it. In the child's own turn the
 * sender is not kept yet. */
static __attribute__((noinline)) void strategy_log(axo__worker *worker, axo__cell *child,
                                                   axo_directive directive, axo_log_level level)
{
    axo__core *core = worker->local.core;
    axo__log_line line;
    if (worker->current == child)
        axo__fail_keep_sender(worker, child);
    axo__cause cause = axo__cell_failure(child);
    axo__log_begin(&line, core, level, AXO_LOG_FAILURE, child);
    line.record.instance = axo__cell_instance(child);
    line.record.directive = (uint32_t)directive;
    axo__log_cause(&line, core, &cause);
    axo__log_failure(&worker->local, &line.record, axo__cell_class(child));
}

/* Publishes and logs what will happen to the child, which is not always what was decided: a spent
 * budget turns Restart into Stop (DR-09, PH-06). An escalation is not logged here: the decision
 * about the parent's failure is. */
static inline void strategy_tell(axo__worker *worker, axo__cell *child,
                                 axo_directive decided, axo_directive directive)
{
    axo_log_level level = directive == AXO_RESUME ? AXO_LOG_WARNING : AXO_LOG_ERROR;
    axo__event_supervision(&worker->local, child, decided, directive);
    if (directive != AXO_ESCALATE && axo__log_is_read(worker->local.core, level))
        strategy_log(worker, child, directive, level);
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
    bool alone;              /* Restart and Stop reach no sibling */
} strategy_decision;

static inline axo_scope strategy_scope(const axo_strategy *strategy)
{
    return strategy != NULL ? strategy->scope : AXO_ONE_FOR_ONE;
}

/* The failed child and the siblings that the scope takes with it. The list is youngest first, so
 * the siblings that were started after the child (rest-for-one) stand in front of it (RFO-01). */
static strategy_reach strategy_reaches(const axo__cell *cell, axo__cell *child, bool alone)
{
    AXO_DEBUG_ASSERT(child->parent == axo__cell_link(cell));
    axo_scope scope = alone ? AXO_ONE_FOR_ONE : strategy_scope(axo__cell_strategy(cell));
    strategy_reach reach = {.first = child, .end = axo__cell_next(child)};
    if (scope != AXO_ONE_FOR_ONE)
        reach.first = axo__cell_children(cell);
    if (scope == AXO_ALL_FOR_ONE)
        reach.end = NULL;
    return reach;
}

/* Whether the scope takes no sibling with the child. */
static inline bool strategy_is_alone(const axo_strategy *strategy, const axo__cell *cell,
                                     const axo__cell *child)
{
    AXO_DEBUG_ASSERT(child->parent == axo__cell_link(cell));
    axo_scope scope = strategy_scope(strategy);
    if (axo__likely(scope == AXO_ONE_FOR_ONE))
        return true;
    return axo__cell_children(cell) == child &&
           (scope != AXO_ALL_FOR_ONE || axo__cell_next(child) == NULL);
}

/* What the budgets say to a restart. */
typedef enum strategy_budgets {
    STRATEGY_REFUSED = 0,
    STRATEGY_PERMITTED = 1,
    STRATEGY_LATER = 2 /* a sweep asks; strategy_permitted follows with the answer */
} strategy_budgets;

/* AF-06: every child that the restart touches spends its own budget, and one refusal stops all. A
 * child that is stopping, or temporary, is not restarted and spends nothing. */
static strategy_budgets strategy_permits(const axo_strategy *strategy, const axo__cell *child,
                                         int64_t now)
{
    bool counts = !axo__cell_cold(child)->stopping && child->lifetime != AXO_TEMPORARY;
    return !counts || axo__strategy_permit(strategy, axo__cell_child_record(child), now)
               ? STRATEGY_PERMITTED
               : STRATEGY_REFUSED;
}

static void strategy_tell_permit(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__sweep *sweep = &axo__cell_own_family(cell)->sweep;
    (void)worker;
    if (strategy_permits(axo__cell_strategy(cell), child, sweep->number) == STRATEGY_REFUSED)
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

static bool strategy_restart_all(axo__worker *, axo__cell *, axo__cell *)
    __attribute__((noinline));

/* Restarts all children in reach with the failed child's cause. The cause is copied into the family
 * first: the failed child gives its own copy up as soon as it is told. Returns as
 * strategy_restart_failed. */
static bool strategy_restart_all(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    static const axo__sweep_ops restart = {.tell = strategy_tell_restart,
                                           .done = strategy_restarted};
    axo__family *family = axo__cell_own_family(cell);
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    AXO_DEBUG_ASSERT(family->restart_cause.kind == AXO_FAILURE_NONE);
    axo__cause cause = axo__cell_failure(child); /* the child drops its own when it is told */
    family->restart_cause = axo__cause_copy(&worker->local.core->texts, &cause);
    bool here = strategy_restart_failed(worker, child);
    strategy_reach reach = strategy_reaches(cell, child, false);
    axo__sweep sweep = {.ops = &restart, .next = reach.first, .end = reach.end, .about = child};
    if (axo__sweep_begin(worker, cell, &sweep))
        strategy_restarted(worker, cell);
    return here;
}

/* A reach of one child needs no sweep and no copy of the cause. */
static inline bool strategy_restart(axo__worker *worker, axo__cell *cell, axo__cell *child,
                                    bool alone)
{
    if (axo__likely(alone))
        return strategy_restart_failed(worker, child);
    return strategy_restart_all(worker, cell, child);
}

/* Asks the program's own decider. A directive out of range counts as Escalate. */
static __attribute__((noinline)) axo_directive strategy_ask_own(axo__worker *worker,
                                                                axo__cell *cell, axo__cell *child)
{
    axo_directive directive;
    axo__cause cause = axo__cell_failure(child);
    axo_failure failure = axo__cause_show(&worker->local.core->texts, &cause);
    failure.reporter = axo__cell_ref(child);
    axo__trace(&worker->local, cell, AXO_EV_DECIDER_BEGIN, failure.reporter.bits);
    bool decided = axo__hook_decide(worker, cell, child, &failure, &directive);
    axo__trace(&worker->local, cell, AXO_EV_DECIDER_END, decided ? directive : 0);
    if (!decided)
        return (axo_directive)0; /* DC-09 */
    return directive < AXO_RESUME || directive > AXO_LATER ? AXO_ESCALATE : directive;
}

/* Asks the parent's decider; `directive` is what strategy_known has said. Returns 0 if the decider
 * failed: worker->pending then holds the parent's own failure (DC-09). */
static inline axo_directive strategy_ask(axo__worker *worker, axo__cell *cell, axo__cell *child,
                                         axo_directive directive)
{
    axo__trace(&worker->local, cell, AXO_EV_REPORT, axo__cell_ref(child).bits);
    if (directive == 0)
        directive = strategy_ask_own(worker, cell, child);
    if (directive == 0)
        return directive;
    axo__trace(&worker->local, cell, AXO_EV_DECIDE,
               (uint64_t)directive << 32 | (axo__cell_ref(child).bits & AXO__SLOT_MASK));
    return directive;
}

/* Restarts the failed child now, or when its delay is over. */
static inline bool strategy_restart_or_delay(axo__worker *worker, axo__cell *cell, axo__cell *child,
                                             bool alone)
{
    const axo__child_record *record = axo__cell_child_record(child);
    if (axo__unlikely(record != NULL && record->delay != NULL) &&
        axo__delay_begin(worker, cell, child))
        return false;
    return strategy_restart(worker, cell, child, alone);
}

/* The parent fails, for the child's failure or that of its own decider. */
static __attribute__((noinline)) void strategy_fail(axo__worker *worker, axo__cell *cell,
                                                    axo__cell *child, bool escalate)
{
    if (escalate) {
        axo__cause cause = axo__cell_failure(child);
        worker->pending = axo__cause_copy(&worker->local.core->texts, &cause); /* DR-05 */
    }
    axo__fail(worker, cell, axo__cell_ref(child), false);
}

/* Carries out whatever is no restart. */
static __attribute__((noinline)) void strategy_apply_other(axo__worker *worker, axo__cell *cell,
                                                           axo__cell *child,
                                                           strategy_decision decision)
{
    axo_directive directive = decision.refused ? AXO_STOP : decision.directive;
    AXO_DEBUG_ASSERT(directive != AXO_RESTART);
    if (directive == AXO_LATER) { /* the report stays the parent's: super.h's I2 */
        axo__cell_cold(child)->put_off = 1;
        return;
    }
    if (directive != 0)
        strategy_tell(worker, child, decision.directive, directive);
    if (directive == AXO_RESUME) {
        axo__child_resume_own(worker, child); /* AF-04: the failed one only */
    } else if (directive == AXO_STOP) { /* AF-03 */
        strategy_reach reach = strategy_reaches(cell, child, decision.alone);
        (void)axo__children_stop(worker, cell, reach.first, reach.end);
    } else {
        strategy_fail(worker, cell, child, directive == AXO_ESCALATE);
    }
}

static bool strategy_answer(axo__worker *, axo__cell *, axo__cell *) __attribute__((noinline));
static inline bool strategy_apply(axo__worker *, axo__cell *, axo__cell *, strategy_decision)
    __attribute__((always_inline));
static inline bool strategy_answer_known(axo__worker *, axo__cell *, axo__cell *,
                                         const axo_strategy *, axo_directive)
    __attribute__((always_inline));

/* Tells observers, then carries the decision out. Observers come first because a told child may
 * run, and report again, before this function returns. Returns as strategy_restart_failed. */
static inline bool strategy_apply(axo__worker *worker, axo__cell *cell, axo__cell *child,
                                  strategy_decision decision)
{
    if (axo__unlikely(decision.directive != AXO_RESTART || decision.refused)) {
        strategy_apply_other(worker, cell, child, decision);
        return false;
    }
    strategy_tell(worker, child, AXO_RESTART, AXO_RESTART);
    return strategy_restart_or_delay(worker, cell, child, decision.alone);
}

/* The last budget was asked in a later turn than the decider. A refusal by any of them is Stop, not
 * Escalate (RW-17). */
static void strategy_permitted(axo__worker *worker, axo__cell *cell)
{
    const axo__sweep *sweep = &axo__cell_own_family(cell)->sweep;
    strategy_decision decision = {.directive = AXO_RESTART, .refused = !sweep->flag};
    (void)strategy_apply(worker, cell, sweep->about, decision);
}

/* Asks the budget of every child that a restart of more than one reaches. */
static __attribute__((noinline)) strategy_budgets
strategy_ask_all(axo__worker *worker, axo__cell *cell, axo__cell *child, int64_t now)
{
    static const axo__sweep_ops permit = {.tell = strategy_tell_permit, .done = strategy_permitted};
    strategy_reach reach = strategy_reaches(cell, child, false);
    axo__sweep sweep = {.ops = &permit,
                        .next = reach.first,
                        .end = reach.end,
                        .about = child,
                        .number = now,
                        .flag = true};
    if (!axo__sweep_begin(worker, cell, &sweep))
        return STRATEGY_LATER;
    return axo__cell_own_family(cell)->sweep.flag ? STRATEGY_PERMITTED : STRATEGY_REFUSED;
}

/* The parent's whole answer to a failure: decide, ask the budgets, with one reading of the clock
 * for all (RW-18), apply. A temporary child is never restarted: its refusal costs no sibling a
 * budget, and the child stops alone (LT-02). `known` is what strategy_known has said. Returns as
 * strategy_restart_failed. */
static inline bool strategy_answer_known(axo__worker *worker, axo__cell *cell, axo__cell *child,
                                         const axo_strategy *strategy, axo_directive known)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && child->parent == axo__cell_link(cell));
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    strategy_decision decision = {.directive = strategy_ask(worker, cell, child, known)};
    decision.refused = decision.directive == AXO_RESTART && child->lifetime == AXO_TEMPORARY;
    decision.alone = decision.refused || strategy_is_alone(strategy, cell, child);
    if (decision.directive == AXO_RESTART && !decision.refused && strategy != NULL &&
        strategy->limited != 0) {
        int64_t now = strategy->within_ns >= 0 ? axo__core_now(worker->local.core) : 0;
        strategy_budgets budgets = decision.alone ? strategy_permits(strategy, child, now)
                                                  : strategy_ask_all(worker, cell, child, now);
        if (budgets == STRATEGY_LATER)
            return false;
        decision.refused = budgets == STRATEGY_REFUSED;
    }
    return strategy_apply(worker, cell, child, decision);
}

static bool strategy_answer(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    const axo_strategy *strategy = axo__cell_strategy(cell);
    axo_directive known = strategy_known(strategy, axo__cell_failure_kind(child));
    return strategy_answer_known(worker, cell, child, strategy, known);
}

/* Whether the parent may decide now. A parent that is suspended, restarting or about to stop leaves
 * its reports to the instance that goes on (SC-09, RS-18). Directives that wait in its word count
 * as taken, because they may be older than the report (OR-07). */
static inline bool strategy_may_decide(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    uint64_t waiting = axo__cell_directives(cell);
    return cell->phase == AXO__PHASE_NORMAL && axo__directives_delta(waiting) <= 0 &&
           (waiting & (AXO__STOPS | AXO__RESTART_PARENT)) == 0 &&
           axo__state_suspends(&cell->state) == 0;
}

/* Whether carrying the answer out takes more turns than one. Such a decision needs turns of the
 * parent's own, so it is not made in a child's turn. */
static inline bool strategy_sweeps(const axo_strategy *strategy, const axo__cell *cell,
                                   axo_directive directive)
{
    bool many = directive == AXO_ESCALATE || strategy_scope(strategy) != AXO_ONE_FOR_ONE;
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
    const axo_strategy *strategy = axo__cell_strategy(cell);
    axo__delay *delay = axo__cell_own_child_record(child)->delay;
    if (axo__cell_cold(child)->stopping) /* PH-13 */
        return;
    if (!delay->turn && axo__delay_turn(worker, cell, child))
        return;
    if (strategy != NULL && strategy->backoff != NULL)
        axo__delay_over(strategy->backoff, delay, axo__core_now(worker->local.core));
    (void)strategy_restart(worker, cell, child, strategy_is_alone(strategy, cell, child));
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

/* By the parent's runner, so the child is not forgotten before the look at the held reports that
 * attention brings. */
bool axo__strategy_again(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(child->parent == axo__cell_link(cell));
    axo__cold *cold = axo__cell_cold(child);
    if (!cold->put_off)
        return false;
    cold->put_off = 0;
    strategy_hold(worker, cell, child, AXO__SYS_FAILED);
    cell->attention |= AXO__ATTENTION_SYSTEM;
    return true;
}

/* Whether nobody but the runtime is shown the failure that the child is restarted for: no
 * sibling, and no hook of its own. */
static inline bool strategy_is_unseen(const axo_strategy *strategy, const axo__cell *child,
                                      axo_directive directive)
{
    const axo_class *cls = axo__cell_class(child);
    return directive == AXO_RESTART && strategy_scope(strategy) == AXO_ONE_FOR_ONE &&
           cls->pre_restart == NULL && cls->post_restart == NULL;
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
    const axo_strategy *strategy = axo__cell_strategy(parent);
    axo_directive known = strategy_known(strategy, axo__cell_failure_kind(child));
    if (known == 0 || !axo__state_borrow_idle(&parent->state))
        return AXO__ANSWER_LATER;
    bool holds = axo__cell_own_family(parent)->held != 0;
    if (parent->parent == 0 || holds || !strategy_may_decide(parent) ||
        strategy_sweeps(strategy, parent, known)) {
        axo__sched_hand_back(worker, parent);
        return AXO__ANSWER_LATER;
    }
    if (!strategy_is_unseen(strategy, child, known))
        axo__fail_keep_sender(worker, child);
    worker->asked_at = axo__worker_count(worker);
    bool restart = strategy_answer_known(worker, parent, child, strategy, known);
    axo__state_settle(&parent->state);
    axo__sched_hand_back(worker, parent);
    return restart ? AXO__ANSWER_RESTART : AXO__ANSWER_TOLD;
}

/* The child's cell was kept for this DUE if the child has ended meanwhile: `kept` goes down and the
 * caller forgets the child. A terminating parent does nothing, since the child is stopping too. */
bool axo__strategy_due(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    const axo__delay *delay = axo__cell_own_child_record(child)->delay;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__delay_due(worker, child);
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
