/* strategy.c - what a parent decides: deciders, one-for-one, all-for-one, budgets, held reports. */
#include <inttypes.h>

#include "cell/event.h"
#include "super/super.h"

/* ---- deciders ---- */

static axo_directive strategy_default(uint32_t kind)
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

axo_directive axo_decide_default(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                                 void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    return strategy_default(failure->kind);
}

axo_directive axo_decide_stop(struct axo_ctx *ctx, void *state, const axo_failure *failure,
                              void *user)
{
    (void)ctx;
    (void)state;
    (void)user;
    return failure->kind == AXO_FAILURE_FATAL ? AXO_ESCALATE : AXO_STOP; /* DC-04 */
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

/* What the parent's decider says of such a failure, if it is one of ours, which look at the kind
 * alone; 0: it is the user's own. */
static axo_directive strategy_known(const axo__cell *cell, uint32_t kind)
{
    const axo_strategy *strategy = axo__cell_strategy(cell);
    axo_decider decider = strategy != NULL ? strategy->decider : NULL;
    if (decider == NULL || decider == axo_decide_default)
        return strategy_default(kind);
    if (decider == axo_decide_restart)
        return AXO_RESTART;
    if (decider == axo_decide_stop)
        return kind == AXO_FAILURE_FATAL ? AXO_ESCALATE : AXO_STOP;
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

bool axo__super_permit(const axo_strategy *strategy, axo__ward *ward, int64_t now)
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
    axo__core *core = worker->core;
    axo_log_level level = directive == AXO_RESUME ? AXO_LOG_WARNING : AXO_LOG_ERROR;
    axo__event_supervision(core, &worker->local, child, decided, directive);
    if (directive == AXO_ESCALATE || !axo__core_logs(core, level))
        return;
    axo__cause cause = axo__cell_failure(child);
    axo_failure failure = axo__cause_show(&core->texts, &cause);
    axo__core_log(core, &worker->local, level, axo__cell_ref(child),
                  "%s: failure kind %" PRIu32 " code %" PRId32 " %s", names[directive],
                  failure.kind, failure.code, failure.text);
}

/* The failed child and those it takes with it, from *first up to (not with) *end: the list is
 * youngest first, so the rest that was started after it stands in front of it (RFO-01). */
static void strategy_reach(const axo__cell *cell, axo__cell *child, axo__cell **first,
                           axo__cell **end)
{
    AXO_DEBUG_ASSERT(child->parent == axo__cell_link(cell));
    const axo_strategy *strategy = axo__cell_strategy(cell);
    axo_scope scope = strategy != NULL ? strategy->scope : AXO_ONE_FOR_ONE;
    *first = scope == AXO_ONE_FOR_ONE ? child : axo__cell_children(cell);
    *end = scope == AXO_ALL_FOR_ONE ? NULL : axo__cell_next(child);
}

static void strategy_stop(axo__worker *worker, axo__cell *first, const axo__cell *end)
{
    for (axo__cell *one = first; one != end; one = axo__cell_next(one)) {
        if (!axo__cell_kin(one)->stopping)
            axo__super_stop_child(worker, one);
    }
}

/* AF-06: every counter that the restart touches moves, whoever refuses. */
static bool strategy_permits(axo__worker *worker, const axo__cell *cell, axo__cell *first,
                             const axo__cell *end)
{
    const axo_strategy *strategy = axo__cell_strategy(cell);
    bool timed = strategy != NULL && strategy->limited != 0 && strategy->within_ns >= 0;
    int64_t now = timed ? axo__core_now(worker->core) : 0; /* RW-18 */
    bool permitted = true;
    for (axo__cell *one = first; one != end; one = axo__cell_next(one)) {
        bool counts = !axo__cell_kin(one)->stopping && one->lifetime != AXO_TEMPORARY;
        if (counts && !axo__super_permit(strategy, axo__cell_ward(one), now))
            permitted = false;
    }
    return permitted;
}

/* Restarts the failed child and those it takes with it, whoever that is by now. */
static void strategy_carry_out(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__cell *first;
    axo__cell *end;
    axo__texts *texts = &worker->core->texts;
    strategy_reach(cell, child, &first, &end);
    if (first == child && end == axo__cell_next(child)) {
        axo__super_restart_own(worker, child);
        return;
    }
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    axo__cause cause = axo__cell_failure(child); /* the child lets it go when it is told */
    cause = axo__cause_copy(texts, &cause);
    for (axo__cell *one = first; one != end; one = axo__cell_next(one)) {
        if (axo__cell_kin(one)->stopping)
            continue; /* AF-09 */
        if (one == child) {
            axo__super_restart_own(worker, child);
            continue;
        }
        axo__super_suspend_child(worker, one, 1); /* AF-02 */
        axo__cause_hold_texts(texts, &cause, 1);
        if (!axo__super_restart_parent(worker, one, &cause, false))
            axo__cause_unhold_texts(texts, &cause, 1);
    }
    axo__cause_drop(texts, &cause);
}

static bool strategy_may_restart(axo__worker *worker, const axo__cell *cell, axo__cell *child)
{
    axo__cell *first;
    axo__cell *end;
    if (child->lifetime == AXO_TEMPORARY)
        return false; /* LT-02: and it costs nothing */
    strategy_reach(cell, child, &first, &end);
    return strategy_permits(worker, cell, first, end);
}

static void strategy_restart(axo__worker *worker, axo__cell *cell, axo__cell *child,
                             bool permitted)
{
    axo__cell *first;
    axo__cell *end;
    if (child->lifetime == AXO_TEMPORARY) { /* LT-02: it goes alone */
        strategy_stop(worker, child, axo__cell_next(child));
        return;
    }
    strategy_reach(cell, child, &first, &end);
    if (!permitted) {
        strategy_stop(worker, first, end); /* RW-17 */
        return;
    }
    const axo__ward *ward = axo__cell_ward(child);
    if (ward == NULL || ward->delay == NULL || !axo__super_delay(worker, cell, child))
        strategy_carry_out(worker, cell, child);
}

static void strategy_apply(axo__worker *worker, axo__cell *cell, axo__cell *child,
                           axo_directive directive, bool restarts)
{
    axo__cell *first;
    axo__cell *end;
    switch (directive) {
    case AXO_RESUME:
        axo__super_resume_own(worker, child); /* AF-04: the failed one only */
        return;
    case AXO_RESTART:
        strategy_restart(worker, cell, child, restarts);
        return;
    case AXO_STOP:
        strategy_reach(cell, child, &first, &end);
        strategy_stop(worker, first, end); /* AF-03 */
        return;
    case AXO_ESCALATE:
        break;
    }
    axo__cause cause = axo__cell_failure(child);
    worker->pending = axo__cause_copy(&worker->core->texts, &cause); /* DR-05 */
    axo__super_fail(worker, cell, axo__cell_ref(child), false);
}

static void strategy_decide(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__core *core = worker->core;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && child->parent == axo__cell_link(cell));
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    axo_directive directive = strategy_known(cell, axo__cell_failure_kind(child));
    axo__trace(core, &worker->local, cell, AXO_EV_REPORT, axo__cell_ref(child).bits);
    if (directive == 0) {
        axo__cause cause = axo__cell_failure(child);
        axo_failure failure = axo__cause_show(&core->texts, &cause);
        failure.reporter = axo__cell_ref(child);
        if (!axo__run_decider(worker, cell, child, &failure, &directive)) {
            axo__super_fail(worker, cell, axo__cell_ref(child), false); /* DC-09 */
            return;
        }
        if (directive < AXO_RESUME || directive > AXO_ESCALATE)
            directive = AXO_ESCALATE;
    }
    axo__trace(core, &worker->local, cell, AXO_EV_DECIDE,
               (uint64_t)directive << 32 | (axo__cell_ref(child).bits & AXO__SLOT_MASK));
    bool restarts = directive != AXO_RESTART || strategy_may_restart(worker, cell, child);
    strategy_tell(worker, child, directive, restarts ? directive : AXO_STOP);
    strategy_apply(worker, cell, child, directive, restarts);
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
    axo__trace(worker->core, &worker->local, cell, AXO_EV_HOLD, axo__cell_ref(child).bits);
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
                    axo__core_now(worker->core));
    if (!axo__cell_kin(child)->stopping) /* PH-13 */
        strategy_carry_out(worker, cell, child);
}

void axo__super_report(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    if (cell->phase >= AXO__PHASE_TERMINATING)
        return; /* DC-11: the child is stopping anyway */
    if (strategy_may_decide(cell) && axo__cell_own_family(cell)->held == 0)
        strategy_decide(worker, cell, child);
    else
        strategy_hold(worker, cell, child, AXO__SYS_FAILED);
}

/* The parent's turn within its child's. While it has the parent, whoever tells it something leaves
 * that to be found when it is handed back. A decider of the user's may take long, and the failed
 * child sees to its system lane meanwhile (FS-04): that one gets a turn of its own. */
bool axo__super_decide_here(axo__worker *worker, axo__cell *child)
{
    AXO_DEBUG_ASSERT(worker->current == child && child->reported);
    axo__cell *parent = axo__cell_parent(child);
    AXO_DEBUG_ASSERT(parent != NULL);
    if (!axo__cell_is_in(worker->core, parent, worker->sched) ||
        strategy_known(parent, axo__cell_failure_kind(child)) == 0 ||
        !axo__state_borrow_idle(&parent->state))
        return false;
    bool holds = axo__cell_own_family(parent)->held != 0;
    if (parent->parent == 0 || holds || !strategy_may_decide(parent)) {
        axo__sched_hand_back(worker, parent);
        return false;
    }
    worker->asker = child;
    worker->asked_at = axo__worker_count(worker);
    strategy_decide(worker, parent, child);
    worker->asker = NULL;
    axo__state_settle(&parent->state);
    axo__sched_hand_back(worker, parent);
    return true;
}

void axo__super_due(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    axo__delay *delay = axo__cell_own_ward(child)->delay;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && delay->waits);
    delay->waits = false;
    if (delay->gone) {
        AXO_DEBUG_ASSERT(axo__cell_own_family(cell)->kept > 0);
        axo__cell_own_family(cell)->kept--;
        axo__super_child_gone(worker, cell, child);
        return;
    }
    if (cell->phase == AXO__PHASE_TERMINATING)
        return;
    if (strategy_may_decide(cell) && axo__cell_own_family(cell)->held == 0)
        strategy_due(worker, cell, child);
    else
        strategy_hold(worker, cell, child, AXO__SYS_DUE);
}

void axo__super_unhold(axo__worker *worker, axo__cell *cell)
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
            strategy_decide(worker, cell, child);
    }
}
