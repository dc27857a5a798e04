/* kv_listen.h - the server: starts the shards and the listener, and ends them in order. SIGTERM
 * comes to it. */
#ifndef KV_LISTEN_H
#define KV_LISTEN_H

#include <signal.h>
#include <stdio.h>

#include "kv.h"
#include "kv_connection.h"

typedef struct server {
    kv *kv;
    axo_ref listener;
    uint32_t shards_left;
    int term, interrupt; /* descriptors of signals */
    bool ends;
    char address[AXO_ADDRESS_MAX];
    axo_props connection; /* as long as the listener lives, as the address */
} server;

static axo_status server_spawn_shards(axo_ctx *ctx, server *me)
{
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < me->kv->shards_count && status == AXO_OK; i++) {
        status = me->kv->spawn(ctx, me->kv, i);
        if (status == AXO_OK)
            status = axo_watch(ctx, me->kv->shards[i]);
        me->shards_left += status == AXO_OK;
    }
    return status;
}

static axo_status server_spawn_listener(axo_ctx *ctx, server *me)
{
    axo_props props;
    axo_listener settings = AXO_LISTENER(.address = me->address, .connection = &me->connection,
                                         .connections_max = me->kv->connections_max);
    me->connection =
        (axo_props)AXO_PROPS(.cls = &connection_class, .args = &me->kv, .args_size = sizeof me->kv);
    (void)snprintf(me->address, sizeof me->address, "127.0.0.1:%u", me->kv->port);
    axo_status status = axo_listener_props(&settings, "listener", &props);
    if (status == AXO_OK)
        status = axo_spawn(ctx, &props, &me->listener);
    if (status == AXO_OK)
        status = axo_watch(ctx, me->listener);
    return status == AXO_OK ? axo_send(ctx, me->listener, AXO_LISTENER_LOOK, NULL, 0) : status;
}

static axo_status server_construct(axo_ctx *ctx, void *state, const void *args)
{
    server *me = state;
    memcpy(&me->kv, args, sizeof me->kv);
    me->kv->server = axo_self(ctx);
    axo_status status = axo_signal_watch(ctx, SIGTERM, &me->term);
    if (status == AXO_OK)
        status = axo_signal_watch(ctx, SIGINT, &me->interrupt);
    if (status == AXO_OK)
        status = server_spawn_shards(ctx, me);
    return status == AXO_OK ? server_spawn_listener(ctx, me) : status;
}

/* The end: first the listener with its connections, then the shards, which they have asked. */
static axo_status server_end(axo_ctx *ctx, server *me)
{
    if (me->ends)
        return AXO_OK;
    me->ends = true;
    (void)axo_send_after(ctx, me->kv->drain_ns + KV_SECOND, axo_self(ctx), KV_TOO_LATE, NULL, 0);
    return axo_send(ctx, me->listener, AXO_LISTENER_CLOSE, NULL, 0);
}

static axo_status server_ended(axo_ctx *ctx, server *me, axo_ref who)
{
    bool listener = axo_ref_equal(who, me->listener);
    if (!me->ends)
        return axo_fail(ctx, 1, "%s has ended", listener ? "the listener" : "a shard");
    if (!listener)
        return --me->shards_left == 0 ? axo_system_shutdown(axo_system_of(ctx)) : AXO_OK;
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < me->kv->shards_count && status == AXO_OK; i++)
        status = axo_poison(ctx, me->kv->shards[i]); /* behind what it has been asked */
    return status;
}

static axo_status server_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    server *me = state;
    switch (message->tag) {
    case AXO_LISTENER_IS:
        (void)printf("listening at %s\n", AXO_PAYLOAD(message, axo_listener_info)->address);
        (void)fflush(stdout);
        return AXO_OK;
    case AXO_IO_READY:
        if (axo_signal_take(ctx, me->term) + axo_signal_take(ctx, me->interrupt) == 0)
            return AXO_OK;
        return server_end(ctx, me);
    case KV_SHUTDOWN:
        return server_end(ctx, me);
    case KV_TOO_LATE:
        (void)axo_stop(ctx, me->listener);
        return AXO_OK;
    case AXO_TERMINATED:
        return server_ended(ctx, me, AXO_PAYLOAD(message, axo_terminated)->actor);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class server_class =
    AXO_CLASS(.name = "server", .state_size = sizeof(server), .construct = server_construct,
              .receive = server_receive);
/* One for one. Who has asked a shard that fails is told. */
static const axo_strategy server_strategy = AXO_STRATEGY(.answer_failed = 1);
/* What the server itself cannot mend ends the program. */
static const axo_strategy user_strategy = AXO_STRATEGY(.decider = axo_decide_escalate);

#endif
