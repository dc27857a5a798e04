/* api_many.c - one message to many actors: a payload that is copied once, for all of them.
 *
 * The copy counts its messages. Each message owns it as it would a payload that was handed over, so
 * whatever becomes of a message, the last one that ends frees it.
 *
 * Orders
 *   [N3] add acq_rel, users   what receivers have read is read before it is freed
 */
#include <string.h>

#include "system/block.h"

/* A payload that fits an envelope of one line costs less copied than counted. */
#define MANY_SMALL 16

/* Before the payload, which stands aligned behind it. */
typedef struct many_payload {
    size_t block;   /* bytes, with this */
    axo__a32 users; /* messages that have it */
    uint32_t reserved;
} many_payload;
AXO_STATIC_ASSERT(sizeof(many_payload) % _Alignof(max_align_t) == 0, "payloads are aligned");

typedef struct many_call {
    axo_ctx *ctx;       /* NULL: from outside */
    axo_system *system;
    uint32_t tag;
    const void *payload;
    size_t size;
    many_payload *copy; /* NULL: each message has its own */
} many_call;

static void many_free(void *payload, void *user)
{
    many_payload *copy = (many_payload *)payload - 1;
    if (axo__a32_add_acq_rel(&copy->users, UINT32_MAX) == 1) /* [N3] */
        axo__block_give(user, copy, copy->block);
}

static axo_status many_check(const axo_ref *to, uint32_t count, uint32_t tag, const void *payload,
                             size_t size)
{
    if ((to == NULL && count > 0) || tag >= AXO_TAG_RESERVED || (payload == NULL && size > 0))
        return AXO_EINVAL;
    for (uint32_t i = 0; i < count; i++) {
        if (axo_ref_is_none(to[i]))
            return AXO_EINVAL;
    }
    return size > AXO_PAYLOAD_MAX ? AXO_ETOOBIG : AXO_OK;
}

static axo_status many_copy(many_call *call, uint32_t count)
{
    size_t block = sizeof(many_payload) + call->size;
    many_payload *copy = axo__block_take(call->system, block);
    if (copy == NULL)
        return AXO_ENOMEM;
    copy->block = block;
    axo__a32_store_relaxed(&copy->users, count); /* the messages publish it */
    memcpy(copy + 1, call->payload, call->size);
    call->copy = copy;
    return AXO_OK;
}

static axo_status many_send_one(const many_call *call, axo_ref to)
{
    if (call->copy == NULL && call->ctx != NULL)
        return axo_send(call->ctx, to, call->tag, call->payload, call->size);
    if (call->copy == NULL)
        return axo_system_send(call->system, to, call->tag, call->payload, call->size);
    void *payload = call->copy + 1;
    axo_status status =
        call->ctx != NULL ? axo_send_owned(call->ctx, to, call->tag, payload, call->size,
                                           many_free, call->system)
                          : axo_system_send_owned(call->system, to, call->tag, payload, call->size,
                                                  many_free, call->system);
    if (status != AXO_OK && status != AXO_EGONE)
        many_free(payload, call->system);
    return status;
}

static axo_status many_send(many_call *call, const axo_ref *to, uint32_t count, uint32_t *accepted)
{
    axo_status first = AXO_OK;
    if (count > 0 && call->size > MANY_SMALL)
        first = many_copy(call, count);
    if (first != AXO_OK)
        return first;
    for (uint32_t i = 0; i < count; i++) {
        axo_status status = many_send_one(call, to[i]);
        if (accepted != NULL)
            *accepted += status == AXO_OK;
        if (first == AXO_OK)
            first = status;
    }
    return first;
}

axo_status axo_send_many(axo_ctx *ctx, const axo_ref *to, uint32_t count, uint32_t tag,
                         const void *payload, size_t size, uint32_t *accepted)
{
    if (accepted != NULL)
        *accepted = 0;
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    axo_status status = many_check(to, count, tag, payload, size);
    many_call call = {.ctx = ctx, .system = axo_system_of(ctx), .tag = tag, .payload = payload,
                      .size = size};
    return status == AXO_OK ? many_send(&call, to, count, accepted) : status;
}

axo_status axo_system_send_many(axo_system *system, const axo_ref *to, uint32_t count,
                                uint32_t tag, const void *payload, size_t size,
                                uint32_t *accepted)
{
    if (accepted != NULL)
        *accepted = 0;
    axo_status status = axo__system_check(system);
    if (status == AXO_OK)
        status = many_check(to, count, tag, payload, size);
    many_call call = {.system = system, .tag = tag, .payload = payload, .size = size};
    return status == AXO_OK ? many_send(&call, to, count, accepted) : status;
}
