/* peer.c - the actor that stands in for a node. */
#include "system/peer.h"

#include <string.h>

#include "sched/ready.h"
#include "sched/send.h"
#include "super/watch.h"
#include "system/guardian.h"
#include "system/options.h"

#define PEER_TAG(what) (AXO_TAG_RESERVED + 0x110 + (uint32_t)(what))

static axo__peer *peer_of(const axo__cell *cell)
{
    return (axo__peer *)(uintptr_t)axo__cell_cold(cell)->args;
}

/* A message of the runtime to the stand-in; NULL: no memory. */
static axo__message *peer_message(axo__cache *cache, axo__peer_what what,
                                  const axo_terminated *about)
{
    axo__message *message =
        axo__message_make(cache, PEER_TAG(what), axo_ref_none(), sizeof *about);
    if (message == NULL)
        return NULL;
    memcpy(message + 1, about, sizeof *about);
    message->flags = AXO__MESSAGE_SIGNAL;
    return message;
}

/* A portion of the watches, the rest in a later turn; without the memory for one, all at once. */
static void peer_target_ended(axo__worker *worker, axo__cell *cell, const axo_terminated *end)
{
    while (!axo__watch_far_ended(worker, cell, end)) {
        axo__message *again = peer_message(&worker->local.cache, AXO__PEER_ENDED, end);
        if (again == NULL)
            continue;
        axo__sched_accept(worker, cell, again);
        return;
    }
}

static axo_status peer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo__worker *worker = axo__self;
    axo__cell *cell = (axo__cell *)(void *)ctx;
    const axo_terminated *about = message->payload;
    (void)state;
    switch (message->tag) {
    case AXO_TERMINATED:
        axo__peers_ended(worker->local.core, peer_of(cell)->number, about);
        return AXO_OK;
    case PEER_TAG(AXO__PEER_WATCH):
        if (axo__watch_add(worker, cell, about->actor, NULL) != AXO_OK)
            axo__cell_stop_self(cell);
        return AXO_OK;
    case PEER_TAG(AXO__PEER_UNWATCH):
        axo__watch_remove(worker, cell, about->actor);
        return AXO_OK;
    case PEER_TAG(AXO__PEER_ENDED):
        peer_target_ended(worker, cell, about);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

/* It ends: its node is lost, by axo__peer_lose or by this. */
static axo_status peer_stop(axo_ctx *ctx, void *state)
{
    axo__core *core = axo__self->local.core;
    const axo__cell *cell = (const axo__cell *)(const void *)ctx;
    (void)state;
    if (axo__peers_lose(core, peer_of(cell), axo__cell_ref(cell))) {
        axo__doors_pass(&core->system->sched); /* (2) */
        axo__peers_lost(core, peer_of(cell)->number);
    }
    return AXO_OK;
}

/* A failure that somebody injects: the watches and the node are the next instance's. */
static axo_status peer_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)message;
    return AXO_OK;
}

static const axo_class peer_class = {.size = sizeof(axo_class), .name = "peer",
                                     .receive = peer_receive, .post_stop = peer_stop,
                                     .pre_restart = peer_pre_restart};

axo_status axo__peer_add(axo_system *system, const axo_node *node, uint32_t *number)
{
    axo__peer *peer;
    axo_ref stand_in = axo_ref_none();
    axo_props props;
    axo_status status = axo__peers_reserve(&system->core, node, &peer);
    if (status == AXO_OK && axo_ref_is_none(axo__peer_stand_in(peer))) {
        axo_props given = AXO_PROPS(.cls = &peer_class, .args = peer, .system_actor = 1);
        status = axo__props_read(&given, &props);
        if (status == AXO_OK)
            status = axo__guardian_spawn(system, &props, &stand_in);
        axo__peers_settle(&system->core, peer, stand_in);
    }
    *number = status == AXO_OK ? peer->number : 0;
    return status;
}

axo_status axo__peer_lose(axo_system *system, uint32_t number)
{
    axo_node node;
    axo__peer *peer = axo__peer_of(&system->core, number);
    axo_status status = axo__peers_node(&system->core, number, &node);
    if (status != AXO_OK)
        return status;
    axo_ref stand_in = axo__peer_stand_in(peer);
    if (!axo__peers_lose(&system->core, peer, stand_in)) /* (1) */
        return AXO_EGONE;
    axo__doors_pass(&system->sched); /* (2) */
    axo__door *door = axo__door_enter(&system->sched);
    axo__cell *cell = axo__table_find(&system->core.table, stand_in);
    if (cell != NULL)
        axo__sched_stop(NULL, cell); /* (3) */
    axo__door_leave(door);
    return AXO_OK;
}

axo_status axo__peer_tell(axo_system *system, const axo__peer *peer, axo__peer_what what,
                          const axo_terminated *about)
{
    axo_status status = AXO_EGONE;
    axo__door *door = axo__door_enter(&system->sched);
    axo__cell *cell = axo__table_find(&system->core.table, axo__peer_stand_in(peer));
    if (cell != NULL) {
        axo__message *message = peer_message(&door->local.cache, what, about);
        if (message != NULL)
            axo__sched_accept(NULL, cell, message);
        status = message != NULL ? AXO_OK : AXO_ENOMEM;
    }
    axo__door_leave(door);
    return status;
}
