/* ask.c - ask and promise, from an actor. */
#include <string.h>

#include "pattern/wait.h"

/* A message to one that is gone is a dead letter, as any (AS-02). */
static axo_status ask_nobody(axo_ctx *ctx, axo_ref to, axo_draft *draft)
{
    axo_status status = axo_send_message(ctx, to, draft);
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(ctx, draft);
    return AXO_EGONE;
}

axo_status axo_ask(axo_ctx *ctx, axo_ref to, uint32_t tag, const void *payload, size_t size,
                   int64_t timeout_ns, uint64_t id)
{
    axo__wait *wait;
    axo_draft *draft;
    void *room;
    axo_ref ref;
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (axo_ref_is_none(to) || timeout_ns <= 0 || timeout_ns > AXO_DELAY_MAX ||
        (payload == NULL && size > 0))
        return AXO_EINVAL;
    status = axo_message_new(ctx, tag, size, &draft, &room);
    if (status != AXO_OK)
        return status;
    if (size > 0)
        memcpy(room, payload, size);
    status = axo__wait_new(ctx, AXO__WAIT_ASK, to, timeout_ns, id, &wait);
    if (status != AXO_OK)
        goto fail;
    wait->tag = tag;
    if (wait->path[0] == 0) {
        axo__wait_discard(ctx, wait);
        return ask_nobody(ctx, to, draft);
    }
    axo_ref voided = wait->voided;
    status = axo__wait_spawn(ctx, wait, &ref);
    if (status != AXO_OK)
        goto fail;
    (void)axo_draft_from(ctx, draft, ref);
    status = axo_send_message(ctx, to, draft);
    if (status == AXO_OK || status == AXO_EGONE) /* gone meanwhile: the child hears of it */
        return AXO_OK;
    return axo__wait_void(ctx, ref, voided, draft, status);
fail:
    axo_message_discard(ctx, draft);
    return status;
}

axo_status axo_promise(axo_ctx *ctx, int64_t timeout_ns, uint64_t id, axo_ref *out)
{
    axo__wait *wait;
    if (out != NULL)
        *out = axo_ref_none();
    axo_status status = axo__context_check(ctx);
    if (status != AXO_OK)
        return status;
    if (out == NULL || timeout_ns <= 0 || timeout_ns > AXO_DELAY_MAX)
        return AXO_EINVAL;
    status = axo__wait_new(ctx, AXO__WAIT_PROMISE, axo_ref_none(), timeout_ns, id, &wait);
    return status == AXO_OK ? axo__wait_spawn(ctx, wait, out) : status;
}
