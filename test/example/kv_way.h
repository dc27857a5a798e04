/* kv_way.h - the way to a shard, of this node or of another: an actor that asks it for the
 * connections, with a time limit, and looks for it anew when it has gone with its node.
 *
 * A request that has no answer in time is answered by -DOWN, and may still be done: the answer was
 * lost, or comes too late. Then it comes to nobody: each ask has a reference of its own. */
#ifndef KV_WAY_H
#define KV_WAY_H

#include <axo/cluster.h>

#include "kv.h"

#define WAY_LIMIT (2 * KV_SECOND)
#define WAY_AGAIN (KV_SECOND / 10)

enum { WAY_FIND = 1 };

typedef struct way {
    axo_cluster *cluster;
    const char *node; /* its name */
    char key[32];     /* of the shard, in the node's registry */
    bool here;        /* the node is this one: the shard is known, and stays */
    axo_ref shard;    /* none: it is looked for */
} way;

/* A request that waits for its answer. */
typedef struct way_asked {
    axo_ref who;
    uint32_t tag;
} way_asked;

static axo_status way_answer(axo_ctx *ctx, const way_asked *it, int64_t number, const char *text,
                             size_t size)
{
    axo_draft *draft;
    void *payload;
    axo_status status = axo_message_new(ctx, it->tag - KV_DO + KV_DONE,
                                        offsetof(kv_done, text) + size, &draft, &payload);
    if (status != AXO_OK)
        return status;
    kv_done *done = payload;
    done->number = number;
    memcpy(done->text, text, size);
    status = axo_send_message(ctx, it->who, draft);
    if (status == AXO_OK || status == AXO_EGONE) /* the connection has ended */
        return AXO_OK;
    axo_message_discard(ctx, draft);
    return status;
}

static axo_status way_down(axo_ctx *ctx, const way *me, const way_asked *it, const char *why)
{
    char text[AXO_NODE_NAME_MAX + AXO_FAILURE_TEXT_MAX + 64];
    int size = snprintf(text, sizeof text, "-DOWN %s %s\r\n", me->node, why);
    return way_answer(ctx, it, 0, text, (size_t)size);
}

static axo_status way_ask(axo_ctx *ctx, const way *me, const axo_message *message)
{
    const way_asked now = {.who = message->sender, .tag = message->tag};
    if (axo_ref_is_none(me->shard))
        return way_down(ctx, me, &now, "is not up: nothing is done");
    way_asked *asked = axo_alloc(ctx, sizeof *asked);
    if (asked == NULL)
        return way_down(ctx, me, &now, "is not asked, no memory: nothing is done");
    *asked = now;
    axo_status status = axo_ask(ctx, me->shard, message->tag, message->payload, message->size,
                                WAY_LIMIT, (uint64_t)(uintptr_t)asked);
    if (status == AXO_OK)
        return AXO_OK;
    axo_free(ctx, asked);
    char why[128];
    (void)snprintf(why, sizeof why, "is not asked, %s: nothing is done", axo_status_text(status));
    return way_down(ctx, me, &now, why);
}

static axo_status way_answered(axo_ctx *ctx, const way *me, const axo_message *message)
{
    way_asked *asked = (way_asked *)(uintptr_t)AXO_PAYLOAD(message, axo_answer)->id;
    const axo_message answer = axo_answer_of(message);
    const kv_done *done = answer.payload;
    size_t head = offsetof(kv_done, text);
    axo_status status = answer.size > head
                            ? way_answer(ctx, asked, done->number, done->text, answer.size - head)
                            : way_down(ctx, me, asked, "has answered something else");
    axo_free(ctx, asked);
    return status;
}

static axo_status way_failed(axo_ctx *ctx, const way *me, const axo_message *message)
{
    const axo_verdict *why = AXO_PAYLOAD(message, axo_verdict);
    way_asked *asked = (way_asked *)(uintptr_t)why->id;
    char text[AXO_FAILURE_TEXT_MAX + 32];
    axo_status status;
    if (why->status == AXO_EFAILED) {
        int size = snprintf(text, sizeof text, "-ERR failed: %s\r\n", why->text);
        status = way_answer(ctx, asked, 0, text, (size_t)size);
    } else {
        status = way_down(ctx, me, asked, "has not answered: it may be done");
    }
    axo_free(ctx, asked);
    return status;
}

/* ---- where the shard is ---- */

/* Not before the cluster is started, nor when it has left: then again later. */
static axo_status way_find(axo_ctx *ctx, const way *me)
{
    if (axo_cluster_find(me->cluster, axo_self(ctx), me->node, me->key, 10 * KV_SECOND, 0) ==
        AXO_OK)
        return AXO_OK;
    return axo_send_after(ctx, WAY_AGAIN, axo_self(ctx), WAY_FIND, NULL, 0);
}

static axo_status way_found(axo_ctx *ctx, way *me, const axo_cluster_found *found)
{
    if (found->status != AXO_OK)
        return axo_send_after(ctx, WAY_AGAIN, axo_self(ctx), WAY_FIND, NULL, 0);
    me->shard = found->ref;
    return axo_watch(ctx, me->shard);
}

static axo_status way_construct(axo_ctx *ctx, void *state, const void *args)
{
    way *me = state;
    memcpy(me, args, sizeof *me);
    return me->here ? AXO_OK : way_find(ctx, me);
}

static axo_status way_take(axo_ctx *ctx, way *me, const axo_message *message)
{
    if (message->tag >= KV_DO && message->tag < KV_DO + KV_WINDOW)
        return way_ask(ctx, me, message);
    switch (message->tag) {
    case AXO_ASK_ANSWER:
        return way_answered(ctx, me, message);
    case AXO_ASK_FAILED:
        return way_failed(ctx, me, message);
    case AXO_CLUSTER_FOUND:
        return way_found(ctx, me, AXO_PAYLOAD(message, axo_cluster_found));
    case AXO_TERMINATED:
        me->shard = axo_ref_none();
        return way_find(ctx, me);
    case WAY_FIND:
        return way_find(ctx, me);
    default:
        return AXO_UNHANDLED;
    }
}

/* Another instance would not know who waits: a way that fails ends the program. */
static axo_status way_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_status status = way_take(ctx, state, message);
    if (status == AXO_OK || status == AXO_UNHANDLED)
        return status;
    return axo_fail_fatal(ctx, (int32_t)status, "a way: %s", axo_status_text(status));
}

static const axo_class way_class = AXO_CLASS(.name = "way", .state_size = sizeof(way),
                                             .construct = way_construct, .receive = way_receive);

#endif
