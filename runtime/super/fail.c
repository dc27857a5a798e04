/* fail.c - an actor fails. */
#include "super/fail.h"

#include "sched/ready.h"
#include "super/children.h"
#include "super/sweep.h"

/* FS-02; a perpetrator is suspended already (SC-04). */
static void fail_tell(axo__worker *worker, axo__cell *cell, axo__cell *child)
{
    if (child != axo__cell_own_family(cell)->sweep.about)
        axo__child_suspend(worker, child, 1);
}

static bool fail_suspend_children(axo__worker *worker, axo__cell *cell, axo_ref perpetrator,
                                  bool survivors)
{
    static const axo__sweep_ops suspend = {.tell = fail_tell, .done = axo__fail_report};
    axo__sweep sweep = {.ops = &suspend,
                        .next = axo__cell_children(cell),
                        .end = survivors ? axo__cell_earlier_children(cell) : NULL, /* HF-08 */
                        .about = axo__sweep_child(worker->local.core, perpetrator)};
    return axo__sweep_begin(worker, cell, &sweep);
}

bool axo__fail_begin(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors)
{
    axo__core *core = worker->local.core;
    axo__cause *pending = &worker->pending;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(pending->kind != AXO_FAILURE_NONE);
    axo__trace(&worker->local, cell, AXO_EV_FAIL,
               (uint64_t)pending->kind << 32 | (uint32_t)pending->code);
    if (cell->phase == AXO__PHASE_TERMINATING || cell->reported) { /* FS-10, FS-07 */
        axo__event_log(&worker->local, AXO_LOG_WARNING, axo__cell_ref(cell),
                       "a further failure of an actor that has failed, code %d",
                       (int)pending->code);
        axo__cause_drop(&core->texts, pending);
        return false;
    }
    axo__cell_keep_failure(cell, pending);
    cell->reported = 1;
    axo__family *family = axo__cell_family(cell);
    if (!survivors && family != NULL)
        family->perpetrator = perpetrator; /* a child: without a family there is none */
    axo__super_suspend_self(worker, cell, 0); /* FS-01, FS-03 */
    axo__a64_bump_owner(&worker->local.count.failures);
    return fail_suspend_children(worker, cell, perpetrator, survivors);
}

void axo__fail_report(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->reported);
    axo__cell *parent = axo__cell_parent(cell);
    if (axo__unlikely(parent == NULL)) { /* GU-08: nobody above the root */
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
    pending->kind = (uint8_t)kind;
    if (original == NULL)
        return;
    if (original->original_kind != AXO_FAILURE_NONE) { /* HF-11: a retry keeps the first one */
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
