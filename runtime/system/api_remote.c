/* api_remote.c - the door for who carries messages between nodes: <axo/remote.h>. */
#include <axo/axo.h>

#include <string.h>

#include "sched/ready.h"
#include "sched/send.h"
#include "system/options.h"
#include "system/outside.h"
#include "system/peer.h"

uint32_t axo_ref_node(axo_ref ref)
{
    return axo__ref_node(ref);
}

static axo_status remote_check(const axo_system *system)
{
    axo_status status = axo__system_check(system);
    return status != AXO_OK || system->core.peers != NULL ? status : AXO_EINVAL;
}

/* ---- nodes ---- */

axo_status axo_remote_add(axo_system *system, const axo_node *node, uint32_t *number)
{
    if (number != NULL)
        *number = 0;
    axo_status status = remote_check(system);
    if (status != AXO_OK)
        return status;
    if (node == NULL || number == NULL || node->incarnation == 0)
        return AXO_EINVAL;
    if (system->core.peers->remote.send == NULL)
        return AXO_EINVAL;
    if (!axo__node_is_good(node))
        return AXO_ENAME;
    return axo__peer_add(system, node, number);
}

axo_status axo_remote_lose(axo_system *system, uint32_t number)
{
    axo_status status = remote_check(system);
    return status == AXO_OK ? axo__peer_lose(system, number) : status;
}

axo_status axo_remote_node(axo_system *system, uint32_t number, axo_node *node)
{
    axo_status status = remote_check(system);
    if (status != AXO_OK || node == NULL)
        return status != AXO_OK ? status : AXO_EINVAL;
    return axo__peers_node(&system->core, number, node);
}

/* ---- references ---- */

axo_status axo_remote_leave(axo_system *system, axo_ref ref, axo_node *node, uint64_t *bits)
{
    axo_status status = remote_check(system);
    if (status != AXO_OK || axo_ref_is_none(ref) || node == NULL || bits == NULL)
        return status != AXO_OK ? status : AXO_EINVAL;
    *bits = ref.bits & ~AXO__NODE_BITS;
    if (axo__ref_node(ref) == 0) {
        *node = system->core.peers->remote.here;
        return AXO_OK;
    }
    status = axo__peers_node(&system->core, axo__ref_node(ref), node);
    return status == AXO_EINVAL ? AXO_EGONE : AXO_OK;
}

axo_ref axo_remote_enter(axo_system *system, const axo_node *node, uint64_t bits)
{
    if (remote_check(system) != AXO_OK || node == NULL || bits == 0)
        return axo_ref_none();
    uint64_t number = AXO_NODE_NOBODY;
    if (axo__node_is_good(node) && (bits & AXO__NODE_BITS) == 0)
        number = axo__peers_number(&system->core, node);
    return (axo_ref){.bits = (bits & ~AXO__NODE_BITS) | number << AXO__NODE_SHIFT};
}

/* ---- what comes from a node ---- */

/* A peer of that number: AXO_OK, AXO_EGONE, AXO_EINVAL. */
static axo_status remote_peer(axo_system *system, uint32_t number, axo__peer **peer)
{
    axo_node node;
    axo_status status = remote_check(system);
    if (status != AXO_OK)
        return status;
    *peer = axo__peer_of(&system->core, number);
    if (*peer == NULL)
        return AXO_EINVAL;
    return axo_ref_is_none(axo__peer_stand_in(*peer))
               ? axo__peers_node(&system->core, number, &node)
               : AXO_OK;
}

/* A message to an actor here that may have gone. */
static axo_status remote_send(axo_system *system, uint32_t number, axo__outside *what)
{
    axo__peer *peer = NULL;
    axo_status status = remote_peer(system, number, &peer);
    if (status != AXO_OK)
        return status;
    if (axo_ref_is_none(what->to) || axo__ref_node(what->to) != 0)
        return AXO_EINVAL;
    what->peer = peer;
    status = axo__outside_send(system, what);
    if (status == AXO_EGONE)
        return AXO_OK; /* a dead letter */
    return status == AXO_ENOENT ? AXO_EGONE : status;
}

axo_status axo_remote_deliver(axo_system *system, uint32_t number,
                              const axo_remote_message *message)
{
    axo_remote_message m;
    axo_status status = remote_check(system);
    if (status == AXO_OK)
        status = message != NULL ? axo__struct_read(message, &m, sizeof m) : AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    if (m.tag >= AXO_TAG_SERVICES || (m.payload == NULL && m.payload_size > 0))
        return AXO_EINVAL;
    if (m.payload_size > AXO_PAYLOAD_MAX)
        return AXO_ETOOBIG;
    axo__outside what = {.from = m.from, .to = m.to, .tag = m.tag, .payload = m.payload,
                         .size = m.payload_size};
    return remote_send(system, number, &what);
}

axo_status axo_remote_poison(axo_system *system, uint32_t number, axo_ref to, axo_ref from)
{
    axo__outside what = {.from = from, .to = to, .tag = AXO_POISON_PILL,
                         .flags = AXO__MESSAGE_PILL};
    return remote_send(system, number, &what);
}

axo_status axo_remote_kill(axo_system *system, uint32_t number, axo_ref to, axo_ref from)
{
    axo__outside what = {.from = from, .to = to, .tag = AXO_KILL, .flags = AXO__MESSAGE_KILL};
    return remote_send(system, number, &what);
}

axo_status axo_remote_stop(axo_system *system, uint32_t number, axo_ref to)
{
    axo__peer *peer = NULL;
    axo_status status = remote_peer(system, number, &peer);
    if (status != AXO_OK)
        return status;
    if (axo_ref_is_none(to) || axo__ref_node(to) != 0)
        return AXO_EINVAL;
    axo__door *door = axo__door_enter(&system->sched);
    bool up = !axo_ref_is_none(axo__peer_stand_in(peer));
    axo__cell *cell = up ? axo__table_find(&system->core.table, to) : NULL;
    if (cell != NULL)
        axo__sched_stop(NULL, cell);
    axo__door_leave(door);
    return up ? AXO_OK : AXO_EGONE;
}

/* `number` is the node that the reference has to be of. */
static axo_status remote_tell(axo_system *system, uint32_t number, axo__peer_what what,
                              const axo_terminated *about, uint32_t of)
{
    axo__peer *peer = NULL;
    axo_status status = remote_peer(system, number, &peer);
    if (status != AXO_OK)
        return status;
    if (axo_ref_is_none(about->actor) || axo__ref_node(about->actor) != of)
        return AXO_EINVAL;
    return axo__peer_tell(system, peer, what, about);
}

axo_status axo_remote_watch(axo_system *system, uint32_t number, axo_ref target)
{
    axo_terminated about = {.actor = target};
    return remote_tell(system, number, AXO__PEER_WATCH, &about, 0);
}

axo_status axo_remote_unwatch(axo_system *system, uint32_t number, axo_ref target)
{
    axo_terminated about = {.actor = target};
    return remote_tell(system, number, AXO__PEER_UNWATCH, &about, 0);
}

axo_status axo_remote_terminated(axo_system *system, uint32_t number, const axo_terminated *end)
{
    axo_status status = remote_check(system);
    if (status != AXO_OK || end == NULL)
        return status != AXO_OK ? status : AXO_EINVAL;
    return remote_tell(system, number, AXO__PEER_ENDED, end, number);
}
