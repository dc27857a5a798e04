/* graceful.c - ends an actor in order: watch, farewell, deadline.
 *
 * A graceful stop is a wait (from an actor) or a call (from a thread) of kind AXO__WAIT_STOP. The
 * watch comes before the farewell, so the end that the farewell causes cannot be missed. */
#include <axo/graceful.h>

#include <string.h>

#include "pattern/call.h"
#include "pattern/given.h"

/* Checks the parameters and copies what the caller's header knew of the farewell; NULL is a
 * pill. */
static axo_status graceful_read(const axo_farewell *how, axo_ref ref, int64_t timeout_ns,
                                axo_farewell *out)
{
    *out = (axo_farewell)AXO_FAREWELL(.kind = AXO_FAREWELL_PILL);
    if (axo_ref_is_none(ref) || timeout_ns <= 0 || timeout_ns > AXO_DELAY_MAX)
        return AXO_EINVAL;
    if (how == NULL)
        return AXO_OK;
    axo_status status = axo__given_read(how, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    if (out->kind > AXO_FAREWELL_MESSAGE)
        return AXO_EINVAL;
    if (out->kind != AXO_FAREWELL_MESSAGE)
        return AXO_OK;
    if (out->tag >= AXO_TAG_RESERVED || (out->payload == NULL && out->payload_size > 0))
        return AXO_EINVAL;
    return out->payload_size > AXO_PAYLOAD_MAX ? AXO_ETOOBIG : AXO_OK;
}

/* A farewell of the program's own is made before the wait: if there is no memory for it, nothing
 * has begun. */
static axo_status graceful_draft(axo_ctx *ctx, const axo_farewell *how, axo_draft **draft)
{
    void *room;
    axo_status status = axo_message_new(ctx, how->tag, how->payload_size, draft, &room);
    if (status == AXO_OK && how->payload_size > 0)
        memcpy(room, how->payload, how->payload_size);
    return status;
}

axo_status axo_graceful_stop(axo_ctx *ctx, axo_ref ref, const axo_farewell *how,
                             int64_t timeout_ns, uint64_t id)
{
    axo_farewell farewell;
    axo_draft *draft = NULL;
    axo__wait *wait;
    axo_ref child;
    axo_ref voided = axo_ref_none();
    axo_status status = axo__context_check(ctx);
    if (status == AXO_OK)
        status = graceful_read(how, ref, timeout_ns, &farewell);
    if (status != AXO_OK)
        return status;
    /* An actor that waits for its own end would wait in vain. */
    if (axo_ref_equal(ref, axo_self(ctx)))
        return AXO_EINVAL;
    if (farewell.kind == AXO_FAREWELL_MESSAGE)
        status = graceful_draft(ctx, &farewell, &draft);
    if (status != AXO_OK)
        return status;
    status = axo__wait_new(ctx, AXO__WAIT_STOP, ref, timeout_ns, id, &wait);
    if (status == AXO_OK) {
        wait->farewell = farewell.kind;
        voided = wait->voided;
        status = axo__wait_spawn(ctx, wait, &child);
    }
    if (status != AXO_OK || draft == NULL) {
        axo_message_discard(ctx, draft);
        return status;
    }
    status = axo_send_message(ctx, ref, draft);
    /* the target has ended: as wished, and the child's watch says so */
    if (status == AXO_OK || status == AXO_EGONE)
        return AXO_OK;
    return axo__wait_void(ctx, child, voided, draft, status);
}

/* ---- from a thread -------------------------------------------------------------------------- */

static axo_status graceful_call(axo_system *system, const axo__wait *wait,
                                const axo_farewell *how, axo_verdict *out)
{
    axo__call *call;
    axo_ref actor;
    axo_status status = axo__call_open(system, wait, &call, &actor);
    if (status != AXO_OK)
        return status;
    /* Pill and stop are sent by the call's actor (axo__wait_begin); a message of the program's own
     * has no actor for a sender. */
    if (how->kind == AXO_FAREWELL_MESSAGE) {
        status = axo_system_send(system, wait->target, how->tag, how->payload, how->payload_size);
        if (status != AXO_OK && status != AXO_EGONE)
            (void)axo__call_give_up(call, actor, status);
    }
    status = axo__call_wait(call, actor);
    axo__wait_judge(system, wait, actor, status, out);
    axo__call_drop(call);
    return status;
}

axo_status axo_system_graceful_stop(axo_system *system, axo_ref ref, const axo_farewell *how,
                                    int64_t timeout_ns, axo_verdict *out)
{
    axo_farewell farewell;
    axo_verdict verdict;
    axo_status status =
        system != NULL ? graceful_read(how, ref, timeout_ns, &farewell) : AXO_EINVAL;
    if (status == AXO_OK)
        status = axo__call_allowed(system);
    memset(&verdict, 0, sizeof verdict);
    verdict.target = ref;
    verdict.status = status;
    if (status == AXO_OK) {
        axo__wait wait = {.kind = AXO__WAIT_STOP, .target = ref, .timeout_ns = timeout_ns,
                          .farewell = farewell.kind, .since_ns = axo__wait_thread_now()};
        (void)axo_system_path(system, ref, wait.path, sizeof wait.path);
        /* A target that has ended already is a stop that has succeeded; one of another node has no
         * path here. */
        if (wait.path[0] != 0 || axo_ref_node(ref) != 0)
            status = graceful_call(system, &wait, &farewell, &verdict);
        verdict.status = status;
    }
    if (out != NULL)
        *out = verdict;
    return status;
}
