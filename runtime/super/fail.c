/* fail.c - an actor fails.
 *
 * The order is: the cause into the cell, the cell suspended, every child suspended, then the
 * report. The parent's runner may read the cause as soon as the report is in its lane, so no
 * field of the failure may change after the push; and the whole subtree has been told to stand
 * still before any decision is made about it (FS-01, FS-02). */
#include "super/fail.h"

#include "base/probe.h"
#include "sched/ready.h"
#include "sched/trap_land.h"
#include "super/children.h"
#include "super/memory.h"
#include "super/sweep.h"

/* FS-02: each child is suspended once; the perpetrator has suspended itself with its own failure
 * (SC-04). */
static void fail_tell(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    if (child != axo__cell_own_family(cell)->sweep.about)
        axo__child_suspend(worker, child, 1);
}

/* Survivors of earlier instances were suspended by the failure that led to this restart and have
 * not been resumed since, so the sweep ends where they begin (HF-08). A sweep that needs more turns
 * calls axo__fail_report itself. */
static __attribute__((noinline)) bool fail_suspend_children(axo__worker *worker, axo__cell *cell,
                                                            axo_ref perpetrator, bool survivors)
{
    static const axo__sweep_ops suspend = {.tell = fail_tell, .done = axo__fail_report};
    axo__sweep sweep = {.ops = &suspend,
                        .next = axo__cell_children(cell),
                        .end = survivors ? axo__cell_earlier_children(cell) : NULL, /* HF-08 */
                        .about = axo__sweep_child(worker->local.core, perpetrator)};
    return axo__sweep_begin(worker, cell, &sweep);
}

/* FS-10, FS-07: a line of the log. */
static __attribute__((noinline)) bool fail_further(axo__worker *worker, const axo__cell *cell)
{
    axo__cause *pending = &worker->pending;
    axo__log_pending(&worker->local, AXO_LOG_WARNING, AXO_LOG_FAILURE_AGAIN, cell, pending);
    axo__cause_drop(&worker->local.core->texts, pending);
    return false;
}

/* The handler is over, and its span with it: the message that it has failed under has kept it. */
static __attribute__((noinline)) void fail_trace(const axo__worker *worker, const axo__cell *cell)
{
    const axo__cause *pending = &worker->pending;
    const axo__message *failed = axo__site_has_message(pending->site) ? cell->failed : NULL;
    bool traced = failed != NULL && (failed->flags & AXO__MESSAGE_TRACED) != 0;
    axo_trace_context trace;
    if (traced)
        trace = axo__message_trace(failed);
    axo__local_trace_under(&worker->local, cell, AXO_EV_FAIL,
                           (uint64_t)pending->kind << 32 | (uint32_t)pending->code,
                           traced ? &trace : NULL);
}

/* axo_fail_as may raise what only the library does else: the instance is as if it had. What is
 * escalated is of another actor. */
static void fail_break(axo__cell *cell)
{
    const axo__cause_short *failure = &axo__cell_cold(cell)->failure;
    bool breaks = axo__kind_breaks(failure->kind) || failure->kind == AXO_FAILURE_INIT ||
                  failure->kind == AXO_FAILURE_POST_RESTART;
    if (breaks && !failure->whole)
        axo__trap_break(cell);
}

/* Only the first failure is reported. Until the parent has answered, the report node and `failure`
 * are the parent's (FS-07), and a terminating cell has no decision to wait for (FS-10); a further
 * failure is a line of the log. */
bool axo__fail_begin(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors)
{
    axo__cause *pending = &worker->pending;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(pending->kind != AXO_FAILURE_NONE);
    if (axo__unlikely(axo__local_wants(&worker->local, AXO_EV_FAIL)))
        fail_trace(worker, cell);
    AXO__PROBE4(fail, cell, axo__cell_ref(cell).bits, (uint32_t)pending->kind,
                pending->code);
    if (axo__unlikely(cell->phase == AXO__PHASE_TERMINATING || cell->reported))
        return fail_further(worker, cell);
    axo__cell_keep_failure(cell, pending);
    fail_break(cell);
    cell->reported = 1;
    axo__super_suspend_self(worker, cell, 0); /* FS-01, FS-03 */
    axo__a64_bump_owner(&worker->local.count.failures);
    const axo__extra *extra = axo__cell_extra(cell);
    if (axo__likely(extra == NULL))
        return true;
    axo__memory_look(worker, cell);
    axo__family *family = extra->family;
    if (axo__likely(family == NULL))
        return true; /* no children, and no perpetrator */
    if (!survivors)
        family->perpetrator = perpetrator;
    return fail_suspend_children(worker, cell, perpetrator, survivors);
}

/* A failure that has a text has the sender beside it (sched/run.c). For any other the sender takes
 * an empty text, which costs more than the rest of a cause: so only where somebody may ask. */
void axo__fail_keep_sender(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && cell->reported);
    axo__cause_short *shortened = &axo__cell_cold(cell)->failure;
    axo__cause cause = axo__cause_of_short(shortened, axo__cell_ref(cell));
    if (cause.text != 0 || cause.whole || !axo__site_has_message(cause.site))
        return;
    AXO_DEBUG_ASSERT(cell->failed != NULL);
    axo__cause_under(&worker->local.core->texts, &cause, cell->failed);
    *shortened = axo__cause_shorten(&cause);
}

/* The push onto the parent's stack (release) pairs with the parent's axo__stack_take_any (acquire):
 * after it the parent's runner may read `failure` and the children's state. The announcement
 * follows the push, so a parent that clears URGENT finds the node. */
void axo__fail_report(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->reported);
    axo__cell *parent = axo__cell_parent(cell);
    axo__fail_keep_sender(worker, cell);
    if (axo__unlikely(parent == NULL)) { /* GU-08: the root has no parent */
        axo__cause cause = axo__cell_failure(cell);
        worker->local.core->root->root_failed(worker->local.core, &cause);
        axo__cell_stop_self(cell);
        return;
    }
    axo__stack_push_any(&parent->system, &cell->report, AXO__SYS_FAILED); /* FS-11 */
    axo__sched_announce_system(worker, parent);
}

void axo__fail(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors)
{
    if (axo__fail_begin(worker, cell, perpetrator, survivors))
        axo__fail_report(worker, cell);
}

/* Keeps super.h's I1: the caller takes the failure's own suspension back after this. */
void axo__fail_resolve(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->reported && axo__state_suspends(&cell->state) > 0); /* I1 */
    cell->reported = 0;
    axo__cell_drop_failure(&worker->local.core->texts, cell);
}

void axo__fail_wrap(axo__worker *worker, axo_failure_kind kind, axo__cause *original)
{
    AXO_DEBUG_ASSERT(worker->pending.kind != AXO_FAILURE_NONE);
    axo__cause *pending = &worker->pending;
    AXO_DEBUG_ASSERT((uint32_t)kind < 1 << 5 && !axo__site_has_message(pending->site));
    pending->kind = (uint32_t)kind & 31;
    if (original == NULL)
        return;
    if (original->original_kind != AXO_FAILURE_NONE) { /* HF-11: a retry keeps the first cause */
        pending->original_kind = original->original_kind;
        pending->original_code = original->original_code;
        pending->original_text = original->original_text;
        original->original_text = 0;
        return;
    }
    pending->original_kind = original->kind;
    pending->original_code = original->code;
    pending->original_text = original->text;
    original->text = 0;
}

/* STOP is taken back, since the actor lives on until its parent has decided; worker->pending is
 * emptied before the new cause is written into it. */
bool axo__fail_ended(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->lifetime == AXO_PERMANENT);
    if (cell->reported)
        return false;
    axo__cell_take_stops(cell, AXO__STOP);
    axo__cause_drop(&worker->local.core->texts, &worker->pending);
    worker->pending.kind = AXO_FAILURE_ENDED;
    worker->pending.root_kind = AXO_FAILURE_ENDED;
    worker->pending.actor = axo__cell_ref(cell);
    axo__fail(worker, cell, axo_ref_none(), false);
    return true;
}
