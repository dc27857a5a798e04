/* roster.c - who is there, who is lost: by announcements, and by their lack, or as who.c says.
 *
 * A node is silent while nothing of it comes, and this node's own announcements come back: so a
 * server that does not answer, a connection that is made anew and a stop of this process count
 * against nobody. */
#include <string.h>

#include "carrier.h"

bool cluster_is_name(const char *name)
{
    size_t size = strnlen(name, AXO_NODE_NAME_MAX + 1);
    for (size_t i = 0; i < size; i++) {
        char c = name[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '-' || c == '_'))
            return false;
    }
    return size > 0 && size <= AXO_NODE_NAME_MAX;
}

static bool roster_is(const axo_node *one, const axo_node *other)
{
    return one->incarnation == other->incarnation && strcmp(one->name, other->name) == 0;
}

static void roster_tell(const cluster_peer *peer, axo_cluster_why why, uint32_t kind)
{
    const axo_cluster_event event = {.node = peer->node, .number = peer->number, .why = why};
    (void)axo_system_publish(peer->home->system, kind, &event, sizeof event);
}

void cluster_roster_say(axo_cluster *cluster, const axo_node *node, axo_cluster_why why,
                        uint32_t kind)
{
    const axo_cluster_event event = {.node = *node, .why = why};
    (void)axo_system_publish(cluster->system, kind, &event, sizeof event);
}

/* It is found with each packet of the node, or each time that its entry comes. */
void cluster_roster_no_room(axo_cluster *cluster, const axo_node *node)
{
    int64_t now = cluster_now();
    if (cluster->no_room_at != 0 &&
        now - cluster->no_room_at < cluster->options.down_ms * CLUSTER_MS)
        return;
    cluster->no_room_at = now;
    cluster_roster_say(cluster, node, AXO_CLUSTER_UNSAID, AXO_KIND_NODE_NO_ROOM);
}

/* The lock is held, and no peer's. */
static void roster_lose(cluster_peer *peer, axo_cluster_why why)
{
    if (peer->state != CLUSTER_PEER_UP)
        return;
    cluster_peer_quarantine(peer);
    (void)pthread_mutex_lock(&peer->mutex);
    peer->state = CLUSTER_PEER_LOST;
    peer->lost = false;
    peer->why = why;
    peer->since = cluster_now();
    (void)pthread_mutex_unlock(&peer->mutex);
    (void)axo_remote_lose(peer->home->system, peer->number);
    cluster_silo_place(peer->home, peer->number, &peer->node, false);
    roster_tell(peer, why, AXO_KIND_NODE_DOWN);
}

cluster_peer *cluster_roster_add(axo_cluster *cluster, const axo_node *node)
{
    uint32_t number = 0;
    for (uint32_t i = 1; i <= AXO_NODES_MAX; i++) {
        cluster_peer *peer = &cluster->peers[i];
        (void)pthread_mutex_lock(&peer->mutex);
        peer->missed = false; /* of a node that was lost */
        (void)pthread_mutex_unlock(&peer->mutex);
    }
    axo_status status = axo_remote_add(cluster->system, node, &number);
    if (status == AXO_ELIMIT)
        cluster_roster_no_room(cluster, node);
    if (status != AXO_OK)
        return NULL;
    cluster_peer *peer = &cluster->peers[number];
    cluster_peer_open(peer, node);
    if (number > atomic_load(&cluster->used))
        atomic_store(&cluster->used, number);
    cluster_silo_place(cluster, number, node, true);
    roster_tell(peer, AXO_CLUSTER_UNSAID, AXO_KIND_NODE_UP);
    atomic_store(&cluster->beat_now, true); /* who is new learns of this one */
    cluster_wake(cluster);
    return peer;
}

/* A name that is this node's own, or one that is here: which of the two is the older. */
static bool roster_is_old(axo_cluster *cluster, const axo_node *node)
{
    if (strcmp(node->name, cluster->remote.here.name) == 0) {
        if (node->incarnation <= cluster->remote.here.incarnation)
            return true;
        atomic_store(&cluster->over, true);
        cluster_roster_say(cluster, &cluster->remote.here, AXO_CLUSTER_REPLACED,
                           AXO_KIND_NODE_OVER);
        return true;
    }
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++) {
        cluster_peer *peer = &cluster->peers[i];
        if (peer->state != CLUSTER_PEER_UP || strcmp(peer->node.name, node->name) != 0)
            continue;
        if (peer->node.incarnation > node->incarnation)
            return true;
        roster_lose(peer, AXO_CLUSTER_REPLACED);
    }
    return false;
}

static cluster_peer *roster_find(axo_cluster *cluster, const axo_node *node)
{
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++) {
        cluster_peer *peer = &cluster->peers[i];
        if (peer->state != CLUSTER_PEER_FREE && roster_is(&peer->node, node))
            return peer;
    }
    return NULL;
}

cluster_peer *cluster_roster_heard(axo_cluster *cluster, const axo_node *node, bool *lost)
{
    cluster_peer *peer = NULL;
    *lost = false;
    (void)pthread_mutex_lock(&cluster->roster);
    if (!atomic_load(&cluster->over) && !atomic_load(&cluster->ends)) {
        peer = roster_find(cluster, node);
        if (peer == NULL && cluster->who == NULL && cluster_is_name(node->name) &&
            !roster_is_old(cluster, node))
            peer = cluster_roster_add(cluster, node);
    }
    if (peer != NULL) {
        *lost = peer->state == CLUSTER_PEER_LOST;
        atomic_store(&peer->heard, true);
        atomic_store(&peer->heard_at, cluster_now());
        if (atomic_exchange(&peer->quiet, false))
            cluster_wake(cluster);
    }
    (void)pthread_mutex_unlock(&cluster->roster);
    return peer;
}

void cluster_roster_down(axo_cluster *cluster, const axo_node *node, axo_cluster_why why)
{
    cluster_peer *peer = roster_find(cluster, node);
    if (peer != NULL)
        roster_lose(peer, why);
}

/* Its links have said before that it holds this node lost. */
void cluster_roster_leaves(axo_cluster *cluster, const axo_node *node)
{
    (void)pthread_mutex_lock(&cluster->roster);
    cluster_roster_down(cluster, node, AXO_CLUSTER_LEFT);
    cluster_peer *peer = roster_find(cluster, node);
    if (peer != NULL) {
        (void)pthread_mutex_lock(&peer->mutex);
        peer->why = peer->why == AXO_CLUSTER_LOST ? AXO_CLUSTER_LEFT : peer->why;
        (void)pthread_mutex_unlock(&peer->mutex);
    }
    (void)pthread_mutex_unlock(&cluster->roster);
}

void cluster_roster_lose(axo_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->roster);
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++) {
        cluster_peer *peer = &cluster->peers[i];
        (void)pthread_mutex_lock(&peer->mutex);
        bool lost = peer->lost;
        (void)pthread_mutex_unlock(&peer->mutex);
        bool over = atomic_load(&cluster->over);
        if (lost && !over && cluster->who != NULL)
            cluster_who_lost(cluster, &peer->node);
        if (lost || over)
            roster_lose(peer, over ? AXO_CLUSTER_UNSAID : AXO_CLUSTER_LOST);
    }
    (void)pthread_mutex_unlock(&cluster->roster);
}

void cluster_roster_step(axo_cluster *cluster, int64_t now)
{
    int64_t beat_ns = cluster->options.beat_ms * CLUSTER_MS;
    int64_t passed = now - cluster->looked_at;
    cluster->looked_at = now;
    if (passed > beat_ns)
        passed = beat_ns; /* this process was stopped */
    cluster->echo_age_ns = atomic_exchange(&cluster->echo, false) ? 0
                                                                  : cluster->echo_age_ns + passed;
    if (cluster->echo_age_ns > 2 * beat_ns)
        passed = 0;
    (void)pthread_mutex_lock(&cluster->roster);
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++) {
        cluster_peer *peer = &cluster->peers[i];
        bool heard = atomic_exchange(&peer->heard, false);
        peer->silent_ns = heard ? 0 : peer->silent_ns + passed;
        if (peer->silent_ns > cluster->options.down_ms * CLUSTER_MS)
            roster_lose(peer, AXO_CLUSTER_SILENT);
    }
    (void)pthread_mutex_unlock(&cluster->roster);
}

bool cluster_roster_subject(axo_cluster *cluster, const char *name, char *out,
                            uint64_t *incarnation)
{
    bool found = false;
    (void)pthread_mutex_lock(&cluster->roster);
    for (uint32_t i = 1; i <= atomic_load(&cluster->used) && !found; i++) {
        const cluster_peer *peer = &cluster->peers[i];
        found = peer->state == CLUSTER_PEER_UP && strcmp(peer->node.name, name) == 0;
        if (found) {
            memcpy(out, peer->subject, CLUSTER_SUBJECT_MAX);
            *incarnation = peer->node.incarnation;
        }
    }
    (void)pthread_mutex_unlock(&cluster->roster);
    return found;
}

uint32_t cluster_roster_number(axo_cluster *cluster, const char *name)
{
    uint32_t number = 0;
    (void)pthread_mutex_lock(&cluster->roster);
    for (uint32_t i = 1; i <= atomic_load(&cluster->used) && number == 0; i++) {
        const cluster_peer *peer = &cluster->peers[i];
        if (peer->state == CLUSTER_PEER_UP && strcmp(peer->node.name, name) == 0)
            number = i;
    }
    (void)pthread_mutex_unlock(&cluster->roster);
    return number;
}

void cluster_roster_leave(axo_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->roster);
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++)
        roster_lose(&cluster->peers[i], AXO_CLUSTER_UNSAID);
    (void)pthread_mutex_unlock(&cluster->roster);
}

uint32_t cluster_roster_nodes(axo_cluster *cluster, axo_node *out, uint32_t max)
{
    uint32_t count = 0;
    (void)pthread_mutex_lock(&cluster->roster);
    for (uint32_t i = 1; i <= atomic_load(&cluster->used) && count < max; i++) {
        if (cluster->peers[i].state != CLUSTER_PEER_UP)
            continue;
        if (out != NULL)
            out[count] = cluster->peers[i].node;
        count++;
    }
    (void)pthread_mutex_unlock(&cluster->roster);
    return count;
}

uint32_t axo_cluster_nodes(axo_cluster *cluster, axo_node *out, uint32_t max)
{
    return cluster != NULL && out != NULL ? cluster_roster_nodes(cluster, out, max) : 0;
}
