/* fault.c - the sequence itself: fail, suspend, resume, restart in two phases, create again. Each
 * step names the conformance entry it keeps. */
#include <string.h>

#include "cell/event.h"
#include "sched/timed.h"
#include "super/super.h"

static void fault_suspend_self(axo__worker *worker, axo__cell *cell, uint64_t why)
{
    axo__state_suspend(&cell->state);
    axo__trace(worker->core, &worker->local, cell, AXO_EV_SUSPEND, why);
}

static void fault_resume_self(axo__worker *worker, axo__cell *cell, uint64_t why)
{
    axo__state_resume(&cell->state); /* SC-07 */
    axo__trace(worker->core, &worker->local, cell, AXO_EV_RESUME, why);
}

void axo__super_drop_failed(axo__worker *worker, axo__cell *cell)
{
    axo__message *failed = cell->failed;
    cell->failed = NULL;
    if (failed != NULL)
        axo__run_free(worker, failed);
}

/* The answer to the report has come: I2 ends. */
static void fault_resolve(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->reported && axo__state_suspends(&cell->state) > 0); /* I1 */
    cell->reported = 0;
    axo__cell_drop_failure(&worker->core->texts, cell);
}

/* ---- failing ---- */

/* All of it but the report; false: there is nothing to report, or nobody to report to. */
static bool fault_fail(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors)
{
    axo__core *core = worker->core;
    axo__cause *pending = &worker->pending;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(pending->kind != AXO_FAILURE_NONE);
    axo__trace(core, &worker->local, cell, AXO_EV_FAIL,
               (uint64_t)pending->kind << 32 | (uint32_t)pending->code);
    if (cell->phase == AXO__PHASE_TERMINATING || cell->reported) { /* FS-10, FS-07 */
        axo__core_log(core, &worker->local, AXO_LOG_WARNING, axo__cell_ref(cell),
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
    fault_suspend_self(worker, cell, 0); /* FS-01, FS-03 */
    axo__cell *child = axo__cell_children(cell);
    for (; child != NULL; child = axo__cell_next(child)) { /* FS-02 */
        bool skip = axo_ref_equal(axo__cell_ref(child), perpetrator) || /* SC-04 */
                    (survivors && axo__cell_kin(child)->elder);                        /* HF-08 */
        if (!skip)
            axo__super_suspend_child(worker, child, 1);
    }
    axo__a64_bump_owner(&worker->local.count.failures);
    if (cell->parent == 0) { /* GU-08: nobody above the root */
        axo__cause cause = axo__cell_failure(cell);
        core->root->root_failed(core, &cause);
        axo__cell_stop_self(cell);
        return false;
    }
    return true;
}

static void fault_report(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->reported);
    axo__cell *parent = axo__cell_parent(cell);
    axo__stack_push_any(&parent->system, &cell->report, AXO__SYS_FAILED); /* FS-11 */
    axo__sched_announce_system(worker, parent);
}

void axo__super_fail(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors)
{
    if (fault_fail(worker, cell, perpetrator, survivors))
        fault_report(worker, cell);
}

/* worker->pending, raised by a hook, becomes a failure of another kind (IN-02, HF-04). */
static void fault_wrap(axo__worker *worker, axo_failure_kind kind, axo__cause *original)
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

/* ---- instances ---- */

void axo__super_destroy_instance(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__more *more = axo__cell_more(cell);
    if (more != NULL) {
        axo__timed_stop_keys(worker, cell); /* TM-04 */
        axo__region_end(&more->region, &worker->core->pool, &worker->local.cache); /* D2 */
        if (axo__unlikely(worker->forked))
            axo__border_forked(worker);
        more->behaviours = NULL; /* RS-11 */
    }
    if (cell->constructed)
        axo__trace(worker->core, &worker->local, cell, AXO_EV_DESTROY, 0);
    cell->constructed = 0;
    cell->receive = axo__cell_class(cell)->receive;
    cell->life = AXO__INSTANCE_NONE;
}

static axo_status fault_construct(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_NORMAL && cell->failed == NULL);
    axo__super_destroy_instance(worker, cell);
    cell->instance = cell->instance < UINT32_MAX ? cell->instance + 1 : 1;
    if (axo__cell_more(cell) != NULL)
        axo__super_age_children(cell);
    const axo_class *cls = axo__cell_class(cell);
    if (cls->state_size > 0)
        memset(cell->state_block, 0, cls->state_size);
    axo__trace(worker->core, &worker->local, cell, AXO_EV_CONSTRUCT, 0);
    axo_status status = axo__run_hook(worker, cell, AXO_SITE_CONSTRUCT, cls->construct != NULL);
    cell->constructed = status == AXO_OK;
    axo__trace(worker->core, &worker->local, cell, AXO_EV_CONSTRUCTED, (uint64_t)(uint32_t)status);
    return status;
}

void axo__super_create(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    AXO_DEBUG_ASSERT(cell->life == AXO__INSTANCE_NONE);
    const axo_class *cls = axo__cell_class(cell);
    axo_status status = fault_construct(worker, cell);
    if (status == AXO_OK) {
        axo__trace(worker->core, &worker->local, cell, AXO_EV_PRE_START, 0);
        status = axo__run_hook(worker, cell, AXO_SITE_PRE_START, cls->pre_start != NULL);
        axo__trace(worker->core, &worker->local, cell, AXO_EV_STARTED,
                   (uint64_t)(uint32_t)status);
    }
    if (status == AXO_OK) {
        cell->life = AXO__INSTANCE_STARTED;
        axo__event_life(worker->core, &worker->local, cell, AXO_KIND_STARTED);
        return;
    }
    fault_wrap(worker, AXO_FAILURE_INIT, NULL); /* IN-02 */
    axo__super_fail(worker, cell, axo_ref_none(), false);
}

/* ---- restart ---- */

static axo_status fault_call_post_restart(axo__worker *worker, axo__cell *cell,
                                          const axo__cause *cause)
{
    const axo_class *cls = axo__cell_class(cell);
    axo_status status;
    axo__trace(worker->core, &worker->local, cell,
               cls->post_restart != NULL ? AXO_EV_POST_RESTART : AXO_EV_PRE_START, 0);
    if (cls->post_restart != NULL) {
        axo_failure failure = axo__cause_show(&worker->core->texts, cause);
        status = axo__run_own_hook(worker, cell, AXO_SITE_POST_RESTART, &failure, NULL);
    } else {
        status = /* RS-01 */
            axo__run_hook(worker, cell, AXO_SITE_PRE_START, cls->pre_start != NULL);
    }
    axo__trace(worker->core, &worker->local, cell, AXO_EV_STARTED, (uint64_t)(uint32_t)status);
    return status;
}

/* The child whose failure it escalated; none from now on. */
static axo_ref fault_perpetrator_take(axo__cell *cell)
{
    axo__family *family = axo__cell_family(cell);
    axo_ref perpetrator = axo_ref_none();
    if (family != NULL) {
        perpetrator = family->perpetrator;
        family->perpetrator = axo_ref_none();
    }
    return perpetrator;
}

/* RR-01..RR-04: after the parent, with its cause, the perpetrator's own report answered too. */
static void fault_restart_survivors(axo__worker *worker, axo__cell *cell, axo__cell *survivor,
                                    const axo__cause *cause)
{
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE);
    axo__texts *texts = &worker->core->texts;
    axo_ref perpetrator = fault_perpetrator_take(cell);
    uint32_t left = axo__cell_child_count(cell);
    if (left > 0)
        axo__cause_hold_texts(texts, cause, left);
    for (; survivor != NULL; survivor = axo__cell_next(survivor)) {
        bool resolve = axo_ref_equal(axo__cell_ref(survivor), perpetrator);
        if (axo__super_restart_parent(worker, survivor, cause, resolve))
            left--;
    }
    if (left > 0)
        axo__cause_unhold_texts(texts, cause, left);
}

/* The restart is what a stop by another than the parent leads to: it is taken in (LT-08). */
static void fault_take_end(axo__cell *cell)
{
    if (cell->lifetime == AXO_PERMANENT)
        axo__cell_take_stops(cell, AXO__STOP);
}

/* The second half: from here on nothing is waited for. `cause` is consumed. */
static void fault_finish_recreate(axo__worker *worker, axo__cell *cell, axo__cause *cause, bool own)
{
    axo__core *core = worker->core;
    axo__cell *survivor = axo__cell_children(cell); /* RR-04; new children come in front of it */
    axo_status status;
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE && cell->life != AXO__INSTANCE_NONE);
    cell->phase = AXO__PHASE_NORMAL;
    fault_take_end(cell);
    axo__super_drop_failed(worker, cell);
    axo__super_unstash(cell, UINT32_MAX); /* SS-03 */
    if (own)
        fault_resolve(worker, cell);
    fault_resume_self(worker, cell, own ? 0 : 1);
    status = fault_construct(worker, cell); /* RS-06 */
    if (status == AXO_OK)
        status = fault_call_post_restart(worker, cell, cause);
    if (status == AXO_OK) {
        cell->life = AXO__INSTANCE_STARTED;
        axo__a64_bump_owner(&worker->local.count.restarts);
        axo__event_life(core, &worker->local, cell, AXO_KIND_RESTARTED);
        fault_restart_survivors(worker, cell, survivor, cause);
        axo__cause_drop(&core->texts, cause);
        return;
    }
    cell->life = AXO__INSTANCE_BROKEN; /* HF-04, HF-14 */
    fault_wrap(worker, AXO_FAILURE_POST_RESTART, cause);
    axo__cause_drop(&core->texts, cause);
    if (cell->reported) { /* its answer will restart them once: this restart's share goes back */
        for (; survivor != NULL; survivor = axo__cell_next(survivor))
            axo__super_suspend_child(worker, survivor, -1);
    }
    axo__super_fail(worker, cell, axo_ref_none(), true);
}

/* `within`: a pre_restart that is running calls it. */
static inline axo_status fault_leave(axo__worker *worker, axo__cell *cell, bool within)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__core *core = worker->core;
    bool has_hook = axo__cell_class(cell)->post_stop != NULL;
    axo_status status;
    axo__super_leave_children(worker, cell); /* RS-13 */
    if (cell->life != AXO__INSTANCE_STARTED)
        return AXO_OK; /* it was called before */
    cell->life = AXO__INSTANCE_STOPPED; /* D3: before the call, which may throw */
    axo__trace(core, &worker->local, cell, AXO_EV_POST_STOP, 0);
    if (within)
        status = axo__run_within(cell, AXO_SITE_POST_STOP, has_hook);
    else
        status = axo__run_hook(worker, cell, AXO_SITE_POST_STOP, has_hook);
    axo__trace(core, &worker->local, cell, AXO_EV_POST_STOPPED, (uint64_t)(uint32_t)status);
    return status;
}

axo_status axo__super_default_pre_restart(axo__worker *worker, axo__cell *cell)
{
    return fault_leave(worker, cell, true);
}

static void fault_call_pre_restart(axo__worker *worker, axo__cell *cell, const axo__cause *cause)
{
    AXO_DEBUG_ASSERT(cell->life == AXO__INSTANCE_STARTED);
    axo__core *core = worker->core;
    const axo_class *cls = axo__cell_class(cell);
    axo__message *message = cell->failed; /* RS-09, D5 */
    axo_status status = AXO_OK;
    axo__timed_stop_keys(worker, cell); /* TM-03 */
    axo__trace(core, &worker->local, cell, AXO_EV_PRE_RESTART, message != NULL);
    if (cls->pre_restart != NULL) {
        axo_failure failure = axo__cause_show(&core->texts, cause);
        status = axo__run_own_hook(worker, cell, AXO_SITE_PRE_RESTART, &failure, message);
    } else {
        status = fault_leave(worker, cell, false);
    }
    axo__trace(core, &worker->local, cell, AXO_EV_PRE_RESTARTED, (uint64_t)(uint32_t)status);
    if (status == AXO_OK)
        return;
    axo__core_log(core, &worker->local, AXO_LOG_ERROR, axo__cell_ref(cell),
                  "pre_restart failed, code %d: %s",
                  (int)worker->pending.code,
                  worker->pending.text != 0 ? axo__texts_at(&core->texts, worker->pending.text)
                                            : ""); /* HF-01, HF-03 */
    axo__cause_drop(&core->texts, &worker->pending);
}

/* IN-04: pre_start, not post_restart. */
static void fault_finish_create_again(axo__worker *worker, axo__cell *cell, bool own)
{
    AXO_DEBUG_ASSERT(axo__cell_child_count(cell) == 0);
    cell->phase = AXO__PHASE_NORMAL;
    fault_take_end(cell);
    axo__super_drop_failed(worker, cell);
    if (own)
        fault_resolve(worker, cell);
    fault_resume_self(worker, cell, own ? 0 : 1);
    axo__super_create(worker, cell);
}

/* IN-04, IN-05: there is no instance to resume or restart. */
static void fault_create_again(axo__worker *worker, axo__cell *cell, bool own)
{
    AXO_DEBUG_ASSERT(cell->phase == AXO__PHASE_NORMAL);
    axo__timed_receive_timeout_off(cell); /* IN-09 */
    axo__super_stop_children(worker, cell); /* IN-06 */
    if (axo__cell_child_count(cell) == 0) {
        fault_finish_create_again(worker, cell, own);
        return;
    }
    cell->phase = AXO__PHASE_CREATING;
    axo__cell_own_family(cell)->restart_own = own;
}

/* `cause` is consumed. */
static void fault_recreate(axo__worker *worker, axo__cell *cell, axo__cause *cause, bool own)
{
    axo__texts *texts = &worker->core->texts;
    axo__trace(worker->core, &worker->local, cell, AXO_EV_DIRECTIVE, AXO_RESTART);
    if (cell->phase == AXO__PHASE_TERMINATING) { /* SC-05 */
        axo__cause_drop(texts, cause);
        fault_resume_self(worker, cell, 1);
        return;
    }
    AXO_DEBUG_ASSERT(axo__state_suspends(&cell->state) > 0);
    if (cell->life == AXO__INSTANCE_NONE) {
        axo__cause_drop(texts, cause);
        fault_create_again(worker, cell, own);
        return;
    }
    if (cell->life == AXO__INSTANCE_BROKEN)
        axo__super_stop_young(worker, cell); /* D4; HF-05: no pre_restart */
    else
        fault_call_pre_restart(worker, cell, cause);
    axo__family *family = axo__cell_family(cell); /* the hook may have made it */
    if (axo__super_wait_for_stopping(cell) == 0) {
        fault_finish_recreate(worker, cell, cause, own);
        return;
    }
    AXO_DEBUG_ASSERT(family->restart_cause.kind == AXO_FAILURE_NONE);
    family->restart_cause = *cause;
    family->restart_own = own;
    cell->phase = AXO__PHASE_RECREATING; /* RS-05 */
}

/* ---- resume ---- */

/* The perpetrator gets its answer, its siblings a plain resume (SC-04, EG-02). */
static void fault_resume_own(axo__worker *worker, axo__cell *cell)
{
    axo__trace(worker->core, &worker->local, cell, AXO_EV_DIRECTIVE, AXO_RESUME);
    if (!cell->reported)
        return;
    if (cell->phase != AXO__PHASE_TERMINATING &&
        (cell->life == AXO__INSTANCE_NONE || cell->life == AXO__INSTANCE_BROKEN)) {
        if (cell->life == AXO__INSTANCE_BROKEN)
            axo__core_log(worker->core, &worker->local, AXO_LOG_WARNING, axo__cell_ref(cell),
                          "resume of an instance that failed to restart: restart"); /* HF-07 */
        axo__cause cause = axo__cell_failure(cell);
        cause = axo__cause_copy(&worker->core->texts, &cause);
        fault_recreate(worker, cell, &cause, true);
        return;
    }
    axo__super_drop_failed(worker, cell);
    fault_resolve(worker, cell);
    axo_ref perpetrator = fault_perpetrator_take(cell);
    fault_resume_self(worker, cell, 0);
    axo__cell *child = axo__cell_children(cell);
    for (; child != NULL; child = axo__cell_next(child)) { /* DR-02 */
        if (axo_ref_equal(axo__cell_ref(child), perpetrator))
            axo__super_resume_own(worker, child);
        else
            axo__super_suspend_child(worker, child, -1);
    }
}

/* Suspensions (or, below zero, resumptions) from above, to the whole subtree. */
static void fault_shift(axo__worker *worker, axo__cell *cell, int32_t delta)
{
    AXO_DEBUG_ASSERT(delta != 0);
    for (int32_t i = 0; i < delta; i++)
        fault_suspend_self(worker, cell, 1);
    for (int32_t i = delta; i < 0; i++)
        fault_resume_self(worker, cell, 1);
    for (axo__cell *child = axo__cell_children(cell); child != NULL;
         child = axo__cell_next(child))
        axo__super_suspend_child(worker, child, delta);
}

/* ---- taking directives ---- */

/* For its own failure, which nobody else looks at any more. */
static void fault_restart_own(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->reported);
    axo__cause cause = axo__cell_take_failure(cell);
    fault_recreate(worker, cell, &cause, true);
}

static void fault_take_restart(axo__worker *worker, axo__cell *cell, uint64_t word)
{
    bool by_parent = (word & AXO__RESTART_PARENT) != 0 &&
                     ((word & AXO__RESTART_OWN) == 0 || (word & AXO__PARENT_FIRST) != 0);
    if (by_parent) {
        axo__ward *ward = axo__cell_own_ward(cell);
        axo__cause cause = ward->cause;
        AXO_DEBUG_ASSERT(cause.kind != AXO_FAILURE_NONE); /* directive.h's I2 */
        ward->cause = (axo__cause){.kind = AXO_FAILURE_NONE};
        word = axo__directives_take(&cell->directives,
                                    AXO__RESTART_PARENT | AXO__PARENT_FIRST | AXO__RESOLVE_OWN, 0);
        bool resolve = (word & AXO__RESOLVE_OWN) != 0; /* it may have been merged in just now */
        fault_recreate(worker, cell, &cause, resolve && cell->reported);
        return;
    }
    (void)axo__directives_take(&cell->directives, AXO__RESTART_OWN, 0);
    fault_restart_own(worker, cell);
}

/* LT-06: a permanent actor that ends by itself fails. One that has failed already is answered
 * first: Resume, and this is its next failure; Restart takes it in. */
static bool fault_end(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(cell->lifetime == AXO_PERMANENT);
    if (cell->reported)
        return false;
    axo__cell_take_stops(cell, AXO__STOP);
    axo__cause_drop(&worker->core->texts, &worker->pending);
    worker->pending.kind = AXO_FAILURE_ENDED;
    worker->pending.root_kind = AXO_FAILURE_ENDED;
    worker->pending.actor = axo__cell_ref(cell);
    axo__super_fail(worker, cell, axo_ref_none(), false);
    return true;
}

void axo__super_directives(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    for (;;) {
        uint64_t word = axo__cell_directives(cell);
        int32_t delta = axo__directives_delta(word);
        if (cell->phase >= AXO__PHASE_GONE || word == 0)
            return;
        if (axo__super_ends(cell, word)) { /* ST-12: stop wins */
            axo__cell_take_stops(cell, AXO__STOPS);
            axo__trace(worker->core, &worker->local, cell, AXO_EV_DIRECTIVE, AXO_STOP);
            axo__super_terminate(worker, cell);
        } else if (cell->phase != AXO__PHASE_NORMAL && cell->phase != AXO__PHASE_TERMINATING) {
            return; /* RS-18: held back until the restart is over */
        } else if ((word & AXO__RESUME_OWN) != 0) {
            (void)axo__directives_take(&cell->directives, AXO__RESUME_OWN, 0);
            fault_resume_own(worker, cell);
        } else if (delta != 0) {
            (void)axo__directives_take(&cell->directives, 0, delta);
            fault_shift(worker, cell, delta);
        } else if ((word & (AXO__RESTART_OWN | AXO__RESTART_PARENT)) != 0) {
            fault_take_restart(worker, cell, word);
        } else if (!fault_end(worker, cell)) {
            return;
        }
    }
}

/* The answer is there already: what a turn for it would do. A restart alone needs no directive. */
void axo__super_fail_here(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__a64_store_relaxed(&worker->running_tag, 0);
    if ((axo__state_look(&cell->state) & AXO__WAITING) != 0)
        axo__parked_seal(cell);
    if (!fault_fail(worker, cell, axo_ref_none(), false)) {
        axo__state_settle(&cell->state);
        return;
    }
    axo__answer answer = axo__super_decide_here(worker, cell);
    if (answer == AXO__ANSWER_LATER) {
        axo__state_settle(&cell->state);
        fault_report(worker, cell);
        return;
    }
    if (answer == AXO__ANSWER_RESTART && axo__cell_directives(cell) == 0)
        fault_restart_own(worker, cell);
    else if (answer == AXO__ANSWER_RESTART) /* behind what else waits for it */
        axo__directives_restart_own(&cell->directives);
    if (axo__directives_look(&cell->directives) != 0)
        axo__super_directives(worker, cell);
    axo__super_unhold(worker, cell);
    axo__state_settle(&cell->state);
    axo__worker_offer_urgent(worker);
}

void axo__super_continue(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell));
    axo__family *family;
    axo__cause cause;
    switch ((axo__phase)cell->phase) {
    case AXO__PHASE_RECREATING:
        family = axo__cell_own_family(cell);
        if (family->waiting > 0)
            return;
        cause = family->restart_cause;
        memset(&family->restart_cause, 0, sizeof cause);
        fault_finish_recreate(worker, cell, &cause, family->restart_own != 0);
        return;
    case AXO__PHASE_CREATING:
        family = axo__cell_own_family(cell);
        if (family->count == 0)
            fault_finish_create_again(worker, cell, family->restart_own != 0);
        return;
    case AXO__PHASE_TERMINATING:
        if (axo__cell_child_count(cell) == 0)
            axo__super_finish_terminate(worker, cell);
        return;
    case AXO__PHASE_NEW:
    case AXO__PHASE_NORMAL:
    case AXO__PHASE_GONE:
    case AXO__PHASE_BURYING:
        return;
    }
}
