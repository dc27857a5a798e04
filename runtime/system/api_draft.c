/* api_draft.c - the door for actors: messages that are made first and sent later. The rule of every
 * door stands in api.c.
 */
#include <axo/actor.h>

#include "sched/found.h"
#include "sched/land.h"
#include "sched/send.h"
#include "system/filled.h"
#include "system/system.h"

/* A draft is an envelope that is not sent yet: the program fills it in place and saves a copy. It
 * carries the trace context of the handler that makes it. */
axo_status axo_message_new(axo_ctx *ctx, uint32_t tag, size_t size, axo_draft **draft,
                           void **payload)
{
    axo__cell *cell = axo__caller(ctx);
    if (draft != NULL)
        *draft = NULL;
    if (payload != NULL)
        *payload = NULL;
    if (cell == NULL)
        return axo__no_caller();
    if (draft == NULL || payload == NULL || tag >= AXO_TAG_RESERVED)
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    axo__worker *worker = axo__self;
    axo_ref from = axo__cell_ref(cell);
    axo__message *message = axo__filled_make(worker, tag, from, size, worker->span.now);
    if (message == NULL)
        return AXO_ENOMEM;
    axo__open_draft(worker, message);
    *draft = (axo_draft *)(void *)message;
    *payload = axo__filled_room(message);
    return AXO_OK;
}

axo_status axo_message_owning(axo_ctx *ctx, uint32_t tag, const axo_owned *payload,
                              axo_draft **draft)
{
    axo__cell *cell = axo__caller(ctx);
    if (draft != NULL)
        *draft = NULL;
    if (cell == NULL)
        return axo__no_caller();
    if (draft == NULL || payload == NULL || payload->payload == NULL || tag >= AXO_TAG_RESERVED)
        return AXO_EINVAL;
    if (payload->size > UINT32_MAX)
        return AXO_ETOOBIG;
    /* Room for the destructor's `user`, and for the instance if the draft is bound. */
    axo__worker *worker = axo__self;
    axo__message *message = axo__message_make_traced(&worker->local.cache, tag, axo__cell_ref(cell),
                                                     sizeof(axo__message_behind), worker->span.now);
    if (message == NULL)
        return AXO_ENOMEM;
    axo__message_own(message, payload->payload, payload->size, payload->destroy, payload->user);
    axo__open_draft(worker, message);
    *draft = (axo_draft *)(void *)message;
    return AXO_OK;
}

axo_status axo_draft_from(axo_ctx *ctx, axo_draft *draft, axo_ref from)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    if (draft == NULL)
        return AXO_EINVAL;
    ((axo__message *)(void *)draft)->pub.sender = from;
    return AXO_OK;
}

axo_status axo_draft_bind(axo_ctx *ctx, axo_draft *draft, uint32_t instance)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    if (draft == NULL || instance == 0)
        return AXO_EINVAL;
    axo__message_bind((axo__message *)(void *)draft, instance);
    return AXO_OK;
}

axo_status axo_draft_keep(axo_ctx *ctx, axo_draft *draft)
{
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    if (draft == NULL)
        return AXO_EINVAL;
    (void)axo__open_draft_done(axo__self, (axo__message *)(void *)draft);
    return AXO_OK;
}

/* A draft whose end was overwritten stays the caller's, who fails for it. */
static __attribute__((noinline)) bool draft_close(axo__worker *worker, axo__message *message)
{
    if (axo__walled_close(message))
        return true;
    axo__walled_open(message);
    axo__found_payload(worker, worker->current, message);
    return false;
}

axo_status axo_send_message(axo_ctx *ctx, axo_ref to, axo_draft *draft)
{
    axo__worker *worker = axo__self;
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    if (draft == NULL || axo_ref_is_none(to))
        return AXO_EINVAL;
    axo__message *message = (axo__message *)(void *)draft;
    bool walled = axo__message_is_walled(message);
    if (axo__unlikely(walled) && !draft_close(worker, message))
        return AXO_EINVAL;
    bool own = axo__open_draft_done(worker, message);
    axo_status status = axo__send_keep(worker->sched, worker, &worker->local, to, message, NULL);
    if (axo__likely(status == AXO_OK || status == AXO_EGONE))
        return status;
    /* A refused draft stays the caller's: it may be sent again or discarded. */
    if (own)
        axo__open_draft(worker, message);
    if (walled)
        axo__walled_open(message);
    return status;
}

void axo_message_discard(axo_ctx *ctx, axo_draft *draft)
{
    axo__message *message = (axo__message *)(void *)draft;
    if (axo__caller(ctx) == NULL || draft == NULL)
        return;
    (void)axo__open_draft_done(axo__self, message);
    axo__message_free(&axo__self->local.cache, message);
}
