/* ask.c - ask and promise, from an actor.
 *
 * An ask spawns a wait, a child of the asker (wait.h), and sends the request in the child's name:
 * the answer goes to the child, which puts it into the asker's mailbox, bound to the instance that
 * asked. All memory for a failure is taken before the request is sent, so an accepted ask always
 * ends in one message.
 */
#include <string.h>

#include <axo/demand.h>

#include "pattern/wait.h"

/* The target has ended: the request becomes a dead letter, as any message to it (AS-02). No child
 * is needed, and the caller learns it at once. */
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
        (payload == NULL && size > 0) || tag >= AXO_TAG_RESERVED)
        return AXO_EINVAL;
    if (size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    status = axo_demand_owe(ctx, 1);
    if (status != AXO_OK)
        return status;
    /* The request is a draft until the child exists: a failure on the way sends nothing. */
    status = axo_message_new(ctx, tag, size, &draft, &room);
    if (status != AXO_OK)
        goto forgive;
    if (size > 0)
        memcpy(room, payload, size);
    status = axo__wait_new(ctx, AXO__WAIT_ASK, to, timeout_ns, id, &wait);
    if (status != AXO_OK)
        goto fail;
    wait->tag = tag;
    /* axo__wait_new finds no path for a target that has ended, nor for one of another node, of
     * which the child's watch tells. */
    if (wait->path[0] == 0 && axo_ref_node(to) == 0) {
        axo__wait_discard(ctx, wait);
        status = ask_nobody(ctx, to, draft);
        goto forgive;
    }
    /* `wait` is the child's once it is spawned; what the asker needs of it is read before. */
    axo_ref voided = wait->voided;
    status = axo__wait_spawn(ctx, wait, &ref);
    if (status != AXO_OK)
        goto fail;
    /* The child is the request's sender, so that the target's answer reaches the child. */
    (void)axo_draft_from(ctx, draft, ref);
    status = axo_send_message(ctx, to, draft);
    /* the target has ended meanwhile: the child's watch says so */
    if (status == AXO_OK || status == AXO_EGONE)
        return AXO_OK;
    /* The target's mailbox refused the request: the child is taken back, and the caller gets the
     * refusal. */
    status = axo__wait_void(ctx, ref, voided, draft, status);
    if (status == AXO_OK)
        return status;
    goto forgive;
fail:
    axo_message_discard(ctx, draft);
forgive:
    (void)axo_demand_forgive(ctx, 1);
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
    status = axo_demand_owe(ctx, 1);
    if (status != AXO_OK)
        return status;
    /* A promise is an ask without a request: its child waits for whatever comes first. */
    status = axo__wait_new(ctx, AXO__WAIT_PROMISE, axo_ref_none(), timeout_ns, id, &wait);
    if (status == AXO_OK)
        status = axo__wait_spawn(ctx, wait, out);
    if (status != AXO_OK)
        (void)axo_demand_forgive(ctx, 1);
    return status;
}
