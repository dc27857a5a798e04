/* peers.c - the nodes beside this one, and what the carrier is asked. */
#include "cell/peers.h"

#include <string.h>

#include "base/aside.h"
#include "base/border.h"

axo__peers *axo__peers_make(axo__heap *heap, const axo_remote *remote, void *user)
{
    axo__peers *peers =
        axo__heap_alloc(heap, sizeof *peers, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
    if (peers == NULL)
        return NULL;
    memset((void *)peers, 0, sizeof *peers);
    if (!axo__os_mutex_init(&peers->mutex)) {
        axo__heap_free(heap, peers, sizeof *peers, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
        return NULL;
    }
    peers->remote = *remote;
    peers->user = user;
    for (uint32_t i = 0; i < AXO_NODES_MAX; i++)
        peers->of[i].number = i + 1;
    return peers;
}

void axo__peers_free(axo__heap *heap, axo__peers *peers)
{
    if (peers == NULL)
        return;
    axo__os_mutex_fini(&peers->mutex);
    axo__heap_free(heap, peers, sizeof *peers, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
}

/* ---- numbers ---- */

static bool peers_is_named(const axo_node *one, const axo_node *other)
{
    return strncmp(one->name, other->name, sizeof one->name) == 0;
}

static bool peers_is(const axo_node *one, const axo_node *other)
{
    return one->incarnation == other->incarnation && peers_is_named(one, other);
}

/* Under the mutex. A number that was never given, else the one that was lost first; NULL: none. Who
 * watched an actor of a node that is lost has a record in the lane or the list of its stand-in,
 * which knows the number, so that one has to have ended. */
static axo__peer *peers_take(axo__core *core)
{
    axo__peer *oldest = NULL;
    for (uint32_t i = 0; i < AXO_NODES_MAX; i++) {
        axo__peer *peer = &core->peers->of[i];
        if (peer->state == AXO__PEER_FREE)
            return peer;
        if (peer->state == AXO__PEER_LOST && (oldest == NULL || peer->lost < oldest->lost) &&
            axo__table_find(&core->table, peer->last) == NULL)
            oldest = peer;
    }
    return oldest;
}

/* Under the mutex: what is said of the node already; AXO_ENOENT: nothing. */
static axo_status peers_known(axo__peers *peers, const axo_node *node, axo__peer **peer)
{
    axo_status status = AXO_ENOENT;
    if (peers_is_named(node, &peers->remote.here))
        return AXO_EEXIST;
    for (uint32_t i = 0; i < AXO_NODES_MAX; i++) {
        axo__peer *one = &peers->of[i];
        if (one->state == AXO__PEER_FREE || !peers_is_named(&one->node, node))
            continue;
        bool same = one->node.incarnation == node->incarnation;
        if (one->state == AXO__PEER_LOST && !same)
            continue;
        *peer = one;
        status = one->state == AXO__PEER_LOST          ? AXO_EGONE
                 : same && one->state == AXO__PEER_UP ? AXO_OK
                                                      : AXO_EEXIST;
    }
    return status;
}

axo_status axo__peers_reserve(axo__core *core, const axo_node *node, axo__peer **peer)
{
    axo__peers *peers = core->peers;
    *peer = NULL;
    axo__os_mutex_lock(&peers->mutex);
    axo_status status = peers_known(peers, node, peer);
    if (status == AXO_ENOENT) {
        *peer = peers_take(core);
        status = *peer != NULL ? AXO_OK : AXO_ELIMIT;
    }
    if (status == AXO_OK && (*peer)->state != AXO__PEER_UP) {
        (*peer)->state = AXO__PEER_RESERVED;
        (*peer)->node = *node;
        (*peer)->targets = NULL; /* nobody's: the former stand-in has ended */
    }
    axo__os_mutex_unlock(&peers->mutex);
    return status;
}

void axo__peers_settle(axo__core *core, axo__peer *peer, axo_ref stand_in)
{
    axo__os_mutex_lock(&core->peers->mutex);
    AXO_DEBUG_ASSERT(peer->state == AXO__PEER_RESERVED);
    peer->state = axo_ref_is_none(stand_in) ? AXO__PEER_FREE : AXO__PEER_UP;
    peer->last = stand_in;
    axo__a64_store_release(&peer->stand_in, stand_in.bits); /* [R1] */
    axo__os_mutex_unlock(&core->peers->mutex);
}

bool axo__peers_lose(axo__core *core, axo__peer *peer, axo_ref stand_in)
{
    axo__os_mutex_lock(&core->peers->mutex);
    bool was_up = peer->state == AXO__PEER_UP && axo_ref_equal(peer->last, stand_in);
    if (was_up) {
        peer->state = AXO__PEER_LOST;
        peer->lost = ++core->peers->losses;
        axo__a64_store_release(&peer->stand_in, 0); /* [R1] */
    }
    axo__os_mutex_unlock(&core->peers->mutex);
    return was_up;
}

axo_status axo__peers_node(const axo__core *core, uint32_t number, axo_node *node)
{
    const axo__peer *peer = axo__peer_of(core, number);
    if (peer == NULL)
        return AXO_EINVAL;
    axo__os_mutex_lock(&core->peers->mutex);
    axo_status status = peer->state == AXO__PEER_UP     ? AXO_OK
                        : peer->state == AXO__PEER_LOST ? AXO_EGONE
                                                        : AXO_EINVAL;
    if (status != AXO_EINVAL)
        *node = peer->node;
    axo__os_mutex_unlock(&core->peers->mutex);
    return status;
}

uint32_t axo__peers_number(const axo__core *core, const axo_node *node)
{
    axo__peers *peers = core->peers;
    uint32_t number = AXO_NODE_NOBODY;
    if (peers_is(node, &peers->remote.here))
        return 0;
    axo__os_mutex_lock(&peers->mutex);
    for (uint32_t i = 0; i < AXO_NODES_MAX; i++) {
        const axo__peer *peer = &peers->of[i];
        if ((peer->state == AXO__PEER_UP || peer->state == AXO__PEER_LOST) &&
            peers_is(&peer->node, node))
            number = peer->number;
    }
    axo__os_mutex_unlock(&peers->mutex);
    return number;
}

/* ---- the carrier ---- */

/* Before and after a function of the program; see base/aside.h. */
static int peers_begin(void)
{
    int before = axo__os_cancel_hold();
    axo__aside++;
    return before;
}

static void peers_end(const axo__core *core, int before)
{
    axo__aside--;
    axo__core_back(core);
    axo__os_cancel_let(before);
}

static axo_status peers_ask(const axo__core *core, const axo__message *message, axo_ref to)
{
    const axo_remote *remote = &core->peers->remote;
    void *user = core->peers->user;
    if ((message->flags & AXO__MESSAGE_PILL) != 0) {
        AXO_BORDER();
        return remote->poison != NULL ? remote->poison(user, to, message->pub.sender) : AXO_EGONE;
    }
    if ((message->flags & AXO__MESSAGE_KILL) != 0) {
        AXO_BORDER();
        return remote->kill != NULL ? remote->kill(user, to, message->pub.sender) : AXO_EGONE;
    }
    AXO_BORDER();
    return remote->send(user, to, &message->pub);
}

static axo_status peers_stray(const axo__core *core, const axo__message *message, axo_ref to)
{
    AXO_BORDER();
    axo_status status = core->peers->remote.stray(core->peers->user, to, &message->pub);
    return status == AXO_OK ? AXO_OK : AXO_EGONE;
}

/* An injected failure is for an actor of this system, as is what the library sends. */
axo_status axo__peers_send(const axo__core *core, const axo__message *message, axo_ref to)
{
    bool special = (message->flags & (AXO__MESSAGE_PILL | AXO__MESSAGE_KILL)) != 0;
    bool up = axo__peer_is_up(core, to);
    if (core->peers == NULL || !axo__message_counts(message) ||
        message->pub.tag == AXO_INJECTED || (!special && message->pub.tag >= AXO_TAG_RESERVED) ||
        (!up && (special || core->peers->remote.stray == NULL)))
        return AXO_EGONE;
    int before = peers_begin();
    axo_status status = up ? peers_ask(core, message, to) : peers_stray(core, message, to);
    peers_end(core, before);
    bool told = status == AXO_OK || status == AXO_EFULL || status == AXO_ENOMEM ||
                status == AXO_ETOOBIG;
    return told ? status : AXO_EGONE;
}

axo_status axo__peers_stop(const axo__core *core, axo_ref to)
{
    if (!axo__peer_is_up(core, to) || core->peers->remote.stop == NULL)
        return AXO_EGONE;
    int before = peers_begin();
    AXO_BORDER();
    axo_status status = core->peers->remote.stop(core->peers->user, to);
    peers_end(core, before);
    return status == AXO_OK || status == AXO_EFULL || status == AXO_ENOMEM ? status : AXO_EGONE;
}

void axo__peers_watch(const axo__core *core, axo_ref target, bool watched)
{
    const axo_remote *remote = &core->peers->remote;
    int before = peers_begin();
    AXO_BORDER();
    (watched ? remote->watch : remote->unwatch)(core->peers->user, target);
    peers_end(core, before);
}

void axo__peers_ended(const axo__core *core, uint32_t number, const axo_terminated *end)
{
    int before = peers_begin();
    AXO_BORDER();
    core->peers->remote.terminated(core->peers->user, number, end);
    peers_end(core, before);
}

void axo__peers_lost(const axo__core *core, uint32_t number)
{
    if (core->peers->remote.lost == NULL)
        return;
    int before = peers_begin();
    AXO_BORDER();
    core->peers->remote.lost(core->peers->user, number);
    peers_end(core, before);
}
