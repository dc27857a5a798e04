/* hook.c - the calls of hooks and deciders, from within a turn: with run.c, the only caller of user
 * code.
 */
#include "sched/hook.h"

#include "base/border.h"
#include "cell/log.h"
#include "sched/blame.h"
#include "sched/land.h"
#include "sched/ready.h"

/* Calls the hook of a site. Each call stands behind a border: an exception, or the end of the
 * thread, that would unwind the runtime's frames ends the process there (base/border.h). */
static inline __attribute__((always_inline)) axo_status
hook_call(axo__cell *cell, uint32_t site, const axo_failure *failure, const axo__message *message)
{
    axo_ctx *ctx = (axo_ctx *)cell;
    const axo_class *cls = axo__cell_own_class(cell);
    void *state = cell->state_block;
    switch (site) {
    case AXO_SITE_CONSTRUCT:
        AXO_CALLBACK_BORDER();
        return cls->construct(ctx, state, axo__cell_cold(cell)->args);
    case AXO_SITE_PRE_START:
        AXO_CALLBACK_BORDER();
        return cls->pre_start(ctx, state);
    case AXO__SITE_PRE_RESTART:
        AXO_CALLBACK_BORDER();
        return cls->pre_restart(ctx, state, failure, message != NULL ? &message->pub : NULL);
    case AXO_SITE_POST_RESTART:
        AXO_CALLBACK_BORDER();
        return cls->post_restart(ctx, state, failure);
    case AXO_SITE_SETTLE:
        AXO_CALLBACK_BORDER();
        return cls->settle(ctx, state);
    default:
        break;
    }
    AXO_DEBUG_ASSERT(site == AXO__SITE_POST_STOP); /* no other site is a hook */
    AXO_CALLBACK_BORDER();
    return cls->post_stop(ctx, state);
}

/* The status decides: if a hook has called axo_fail and then returned AXO_OK, the record is
 * dropped. A failure of memory is one whatever the hook returns. */
static __attribute__((noinline)) axo_status hook_outcome(axo__worker *worker, const axo__cell *cell,
                                                         axo_status status)
{
    if (axo__unlikely(worker->forked))
        worker->local.core->forked();
    status = axo__blame_status(worker, status);
    if (status != AXO_OK)
        axo__blame(worker, cell, status);
    else
        axo__cause_drop(&worker->local.core->texts, &worker->pending);
    return status;
}

axo_status axo__hook_within(axo__cell *cell, uint32_t site, bool there)
{
    AXO_DEBUG_ASSERT(axo__self->current == cell && axo__self->site != AXO_SITE_NONE);
    return there ? hook_call(cell, site, NULL, NULL) : AXO_OK;
}

/* A hook runs inside a turn, which has an unwind point and perhaps a site of its own. Both are put
 * back at the end, whether the hook returns or throws, so that a later throw lands in its own
 * callback. */
axo_status axo__hook_run_own(axo__worker *worker, axo__cell *cell, uint32_t site,
                             const axo_failure *failure, const axo__message *message)
{
    axo__unwind unwind;
    axo__unwind *outer = worker->unwind;
    uint32_t outer_site = worker->site;
    axo_status status;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && worker->message == NULL);
    AXO_DEBUG_ASSERT(site != AXO_SITE_NONE);
    axo__worker_offer_new_urgent(worker); /* before the hook, which may take long */
    worker->unwind = &unwind;
    worker->site = site;
    axo__open_none(worker);
    if (AXO__UNWIND_SET(&unwind) == 0) {
        status = hook_call(cell, site, failure, message);
    } else {
        axo__land(worker);
        status = AXO_EFAILED;
    }
    if (axo__unlikely(status != AXO_OK || worker->pending.kind != AXO_FAILURE_NONE))
        status = hook_outcome(worker, cell, status);
    worker->unwind = outer;
    worker->site = outer_site;
    return status;
}

/* `site` is a constant for the compiler. */
static inline __attribute__((always_inline)) axo_status
hook_straight(axo__worker *worker, axo__cell *cell, uint32_t site)
{
    AXO_DEBUG_ASSERT(worker->current == cell && worker->message == NULL);
    AXO_DEBUG_ASSERT(worker->unwind != NULL && worker->site == AXO_SITE_NONE);
    axo__worker_offer_new_urgent(worker); /* before the hook, which may take long */
    worker->site = site;
    axo_status status = hook_call(cell, site, NULL, NULL);
    if (axo__unlikely(status != AXO_OK || worker->pending.kind != AXO_FAILURE_NONE))
        status = hook_outcome(worker, cell, status);
    worker->site = AXO_SITE_NONE;
    return status;
}

axo_status axo__hook_construct(axo__worker *worker, axo__cell *cell)
{
    return hook_straight(worker, cell, AXO_SITE_CONSTRUCT);
}

axo_status axo__hook_pre_start(axo__worker *worker, axo__cell *cell)
{
    return hook_straight(worker, cell, AXO_SITE_PRE_START);
}

axo_status axo__hook_post_stop(axo__worker *worker, axo__cell *cell)
{
    return hook_straight(worker, cell, AXO__SITE_POST_STOP);
}

axo_status axo__hook_thrown(axo__worker *worker, axo__cell *cell)
{
    AXO_DEBUG_ASSERT(worker->current == cell && worker->pending.kind != AXO_FAILURE_NONE);
    (void)hook_outcome(worker, cell, AXO_EFAILED);
    worker->site = AXO_SITE_NONE;
    return AXO_EFAILED;
}

/* A clean-up has no context. It may not throw (api_can_fail), but it may crash, and has a landing
 * for that. */
void axo__hook_cleanup(void (*fn)(void *arg), void *arg)
{
    axo__unwind unwind;
    axo__worker *worker = axo__self;
    axo__unwind *outer = worker->unwind;
    const uint32_t outer_site = worker->site;
    /* what has led here is with the cell, or was told */
    AXO_DEBUG_ASSERT(worker->pending.kind == AXO_FAILURE_NONE);
    worker->unwind = &unwind;
    worker->site = AXO__SITE_CLEANUP;
    axo__open_none(worker);
    if (AXO__UNWIND_SET(&unwind) == 0) {
        AXO_CALLBACK_BORDER();
        fn(arg);
    } else {
        axo__land(worker);
        axo__log_pending(&worker->local, AXO_LOG_ERROR, AXO_LOG_HOOK, worker->current,
                         &worker->pending);
        axo__cause_drop(&worker->local.core->texts, &worker->pending);
    }
    worker->unwind = outer;
    worker->site = outer_site;
}

axo_status axo__hook_migrate(axo__worker *worker, axo__cell *cell, const axo__migration *what)
{
    axo__unwind unwind;
    axo__unwind *outer = worker->unwind;
    uint32_t outer_site = worker->site;
    axo_status status;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, cell) && worker->message == NULL);
    AXO_DEBUG_ASSERT(worker->pending.kind == AXO_FAILURE_NONE);
    axo__worker_offer_new_urgent(worker);
    worker->unwind = &unwind;
    worker->site = AXO_SITE_MIGRATE;
    axo__open_none(worker);
    if (AXO__UNWIND_SET(&unwind) == 0) {
        AXO_CALLBACK_BORDER();
        status = what->fn((axo_ctx *)cell, what->state, what->old, what->user);
    } else {
        axo__land(worker);
        status = AXO_EFAILED;
    }
    if (axo__unlikely(status != AXO_OK || worker->pending.kind != AXO_FAILURE_NONE))
        status = hook_outcome(worker, cell, status);
    worker->unwind = outer;
    worker->site = outer_site;
    return status;
}

/* The user's decider, with the parent's context and state. */
static axo_directive hook_decide(axo__cell *parent, const axo_failure *failure)
{
    const axo_strategy *strategy = axo__cell_own_strategy(parent);
    AXO_CALLBACK_BORDER();
    return strategy->decider((axo_ctx *)parent, parent->state_block, failure, strategy->user);
}

/* A decider that throws or calls axo_fail has not decided: the caller treats that as a failure of
 * the parent. axo_sender names the child meanwhile (DC-07). */
bool axo__hook_decide(axo__worker *worker, axo__cell *parent, const axo__cell *child,
                      const axo_failure *failure, axo_directive *directive)
{
    axo__unwind unwind;
    axo__unwind *outer = worker->unwind;
    uint32_t outer_site = worker->site;
    bool decided;
    AXO_DEBUG_ASSERT(axo__worker_is_in(worker, parent) && child->parent == axo__cell_link(parent));
    AXO_DEBUG_ASSERT(failure->kind != AXO_FAILURE_NONE);
    axo__worker_offer_new_urgent(worker);
    worker->unwind = &unwind;
    worker->site = AXO_SITE_DECIDER;
    worker->sender = axo__cell_ref(child); /* DC-07 */
    axo__open_none(worker);
    if (AXO__UNWIND_SET(&unwind) == 0) {
        *directive = hook_decide(parent, failure);
        decided = worker->pending.kind == AXO_FAILURE_NONE;
    } else {
        axo__land(worker);
        decided = false;
    }
    if (axo__unlikely(worker->forked))
        worker->local.core->forked();
    worker->sender = axo_ref_none();
    worker->unwind = outer;
    worker->site = outer_site;
    return decided;
}
