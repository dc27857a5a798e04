/* peer.c - a link with what waits for NATS, and what the system asks of its carrier. */
#include <stdlib.h>
#include <string.h>

#include "carrier.h"

/* ---- what waits for NATS: the peer's mutex is held ---- */

static size_t peer_usual_room(const axo_cluster *cluster)
{
    size_t most = atomic_load(&cluster->packet_max) - CLUSTER_SEAL_SIZE;
    return most < CLUSTER_BATCH ? most : CLUSTER_BATCH;
}

static cluster_batch *peer_new_batch(cluster_peer *peer, size_t need)
{
    axo_cluster *cluster = peer->home;
    size_t room = peer_usual_room(cluster);
    if (need + CLUSTER_AROUND_MAX > room)
        room = need + CLUSTER_AROUND_MAX;
    cluster_batch *batch = peer->spare;
    if (batch != NULL && batch->room == room)
        peer->spare = NULL;
    else
        batch = malloc(sizeof *batch + room + CLUSTER_SEAL_SIZE);
    if (batch == NULL)
        return NULL;
    batch->next = NULL;
    batch->room = room;
    batch->count = 0;
    batch->to = peer->node.incarnation;
    batch->size = cluster_wire_begin(batch->bytes, &cluster->key, CLUSTER_LINK,
                                     &cluster->remote.here, peer->node.incarnation);
    return batch;
}

/* Room for a frame; AXO_EFULL, AXO_ENOMEM. */
static axo_status peer_room(cluster_peer *peer, size_t need, size_t held_max)
{
    if (peer->held + need > held_max)
        return AXO_EFULL;
    if (peer->last != NULL && peer->last->room - peer->last->size >= need)
        return AXO_OK;
    cluster_batch *batch = peer_new_batch(peer, need);
    if (batch == NULL)
        return AXO_ENOMEM;
    if (peer->last != NULL)
        peer->last->next = batch;
    else
        peer->first = batch;
    peer->last = batch;
    return AXO_OK;
}

/* A frame without room is lost, as on its way: the link sends again what has to come. */
static void peer_put(void *user, const cluster_frame *frame)
{
    cluster_peer *peer = user;
    size_t need = CLUSTER_FRAME_SIZE + frame->size;
    if (peer_room(peer, need, peer->home->options.held_max + CLUSTER_RESERVE) != AXO_OK)
        return;
    peer->last->size += cluster_wire_put_frame(peer->last->bytes + peer->last->size, frame);
    peer->last->count++;
    peer->held += need;
    peer->bytes_out += need;
}

static void peer_drop_batches(cluster_peer *peer)
{
    while (peer->first != NULL) {
        cluster_batch *batch = peer->first;
        peer->first = batch->next;
        free(batch);
    }
    peer->last = NULL;
    peer->held = 0;
}

/* ---- codecs ---- */

static const axo_cluster_codec *peer_codec(const axo_cluster *cluster, uint32_t tag)
{
    uint32_t low = 0;
    uint32_t high = cluster->codec_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cluster->codecs[middle].tag == tag)
            return &cluster->codecs[middle];
        if (cluster->codecs[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static axo_status peer_code(axo_cluster_code_fn code, void *user, const void *from, size_t size,
                            cluster_coded *out)
{
    out->large = NULL;
    out->bytes = out->small;
    out->size = code(user, from, size, out->small, sizeof out->small);
    if (out->size <= sizeof out->small)
        return AXO_OK;
    if (out->size == SIZE_MAX || out->size > AXO_PAYLOAD_MAX)
        return out->size == SIZE_MAX ? AXO_ENOTSUP : AXO_ETOOBIG;
    size_t room = out->size;
    out->large = malloc(room);
    if (out->large == NULL)
        return AXO_ENOMEM;
    out->bytes = out->large;
    out->size = code(user, from, size, out->large, room);
    return out->size <= room ? AXO_OK : AXO_ENOTSUP;
}

/* A payload of a size and no codec travels as it is. */
axo_status cluster_encode(const axo_cluster *cluster, const axo_message *message,
                          cluster_coded *out)
{
    const axo_cluster_codec *codec = peer_codec(cluster, message->tag);
    out->bytes = message->payload;
    out->size = message->size;
    out->large = NULL;
    if (message->tag >= AXO_TAG_SERVICES)
        return AXO_EINVAL;
    if (codec != NULL && codec->encode != NULL)
        return peer_code(codec->encode, codec->user, message->payload, message->size, out);
    if (message->size == 0 && message->payload != NULL)
        return AXO_ENOTSUP; /* owned, and nobody knows what it is */
    return AXO_OK;
}

axo_status cluster_decode(const axo_cluster *cluster, uint32_t tag, const void *bytes, size_t size,
                          cluster_coded *out)
{
    const axo_cluster_codec *codec = peer_codec(cluster, tag);
    out->bytes = bytes;
    out->size = size;
    out->large = NULL;
    if (codec == NULL || codec->decode == NULL)
        return AXO_OK;
    return peer_code(codec->decode, codec->user, bytes, size, out);
}

/* ---- what comes: the peer's mutex is held ---- */

static axo_ref peer_from(cluster_peer *peer, const cluster_body *body)
{
    if (body->from == 0)
        return axo_ref_none();
    if (body->from_node.incarnation == 0)
        return (axo_ref){.bits = peer->base | body->from};
    return axo_remote_enter(peer->home->system, &body->from_node, body->from);
}

static axo_status peer_deliver(cluster_peer *peer, const cluster_body *body)
{
    axo_system *system = peer->home->system;
    cluster_coded coded;
    axo_status status = cluster_decode(peer->home, body->tag, body->payload, body->payload_size,
                                       &coded);
    if (status == AXO_OK) {
        axo_remote_message m = AXO_REMOTE_MESSAGE(.to = {.bits = body->to},
                                                  .from = peer_from(peer, body), .tag = body->tag,
                                                  .payload_size = (uint32_t)coded.size);
        m.payload = coded.size > 0 ? coded.bytes : NULL;
        status = axo_remote_deliver(system, peer->number, &m);
    }
    free(coded.large);
    return status;
}

/* An honest system watches an actor once, so each is counted once. */
static axo_status peer_watch(cluster_peer *peer, axo_ref to)
{
    if (peer->watches >= peer->home->options.watches_max) {
        cluster_link_quarantine(&peer->link);
        return AXO_ELIMIT;
    }
    axo_status status = axo_remote_watch(peer->home->system, peer->number, to);
    peer->watches += status == AXO_OK;
    return status;
}

/* A word for an actor of this library, which looks who says it. */
static axo_status peer_word(cluster_peer *peer, const cluster_body *body)
{
    axo_ref to = {.bits = body->to};
    const axo_ref from = peer_from(peer, body);
    cluster_word word;
    if (body->tag == CLUSTER_WORD_SPAWN)
        to = peer->home->nursery;
    axo_status status = axo_system_send_from(peer->home->system, from, to,
                                             CLUSTER_TAG_WORD + body->tag, body->payload,
                                             body->payload_size);
    if ((status == AXO_OK || status == AXO_EGONE) &&
        cluster_wire_read_word(body->tag, body->payload, body->payload_size, &word))
        cluster_child_heard(peer->home, from, to, &word);
    return status == AXO_EGONE ? AXO_OK : status;
}

static axo_status peer_hand(cluster_peer *peer, const cluster_body *body)
{
    axo_system *system = peer->home->system;
    const axo_ref to = {.bits = body->to};
    const axo_terminated end = {.actor = {.bits = peer->base | body->to},
                                .existence_known = body->known};
    switch ((cluster_what)body->what) {
    case CLUSTER_WHAT_SEND:
        return peer_deliver(peer, body);
    case CLUSTER_WHAT_POISON:
        return axo_remote_poison(system, peer->number, to, peer_from(peer, body));
    case CLUSTER_WHAT_KILL:
        return axo_remote_kill(system, peer->number, to, peer_from(peer, body));
    case CLUSTER_WHAT_STOP:
        return axo_remote_stop(system, peer->number, to);
    case CLUSTER_WHAT_WATCH:
        return peer_watch(peer, to);
    case CLUSTER_WHAT_UNWATCH:
        peer->watches -= peer->watches > 0;
        return axo_remote_unwatch(system, peer->number, to);
    case CLUSTER_WHAT_TERMINATED:
        return axo_remote_terminated(system, peer->number, &end);
    case CLUSTER_WHAT_PARCEL:
        return cluster_silo_post(peer->home, peer_from(peer, body), body);
    case CLUSTER_WHAT_CHILD:
        return peer_word(peer, body);
    }
    return AXO_EINVAL;
}

/* A system message for which there is no memory comes again. */
static bool peer_take(void *user, const cluster_frame *frame)
{
    cluster_peer *peer = user;
    cluster_body body;
    peer->users_in += frame->kind == CLUSTER_USER;
    if (!cluster_wire_read_body(frame->body, frame->size, &body))
        return true;
    axo_status status = peer_hand(peer, &body);
    if (status == AXO_ENOMEM && frame->kind == CLUSTER_SYSTEM)
        return false;
    cluster_counted(peer->home,
                    status == AXO_OK ? CLUSTER_COUNT_RECEIVED : CLUSTER_COUNT_DROPPED);
    return true;
}

/* The system is told by the roster, which holds no peer's mutex. */
static void peer_lost(void *user)
{
    cluster_peer *peer = user;
    peer->lost = true;
}

static void *peer_alloc(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void peer_free(void *user, void *block, size_t size)
{
    (void)user;
    (void)size;
    free(block);
}

static const cluster_link_ops peer_ops = {peer_put, peer_take, peer_lost, peer_alloc, peer_free};

/* ---- peers ---- */

void cluster_peers_init(axo_cluster *cluster)
{
    for (uint32_t i = 0; i <= AXO_NODES_MAX; i++) {
        cluster_peer *peer = &cluster->peers[i];
        peer->home = cluster;
        peer->number = i;
        (void)pthread_mutex_init(&peer->mutex, NULL);
    }
}

void cluster_peers_fini(axo_cluster *cluster)
{
    for (uint32_t i = 0; i <= AXO_NODES_MAX; i++) {
        cluster_peer *peer = &cluster->peers[i];
        if (peer->state != CLUSTER_PEER_FREE)
            cluster_link_fini(&peer->link);
        peer_drop_batches(peer);
        free(peer->spare);
        (void)pthread_mutex_destroy(&peer->mutex);
    }
}

void cluster_peer_open(cluster_peer *peer, const axo_node *node)
{
    axo_cluster *cluster = peer->home;
    const cluster_link_settings settings = {
        .resend_ns = 100 * CLUSTER_MS, .resend_ns_max = 1000 * CLUSTER_MS,
        .give_up_ns = cluster->options.give_up_ms * CLUSTER_MS,
        .kept_max = cluster->options.kept_max, .burst_max = 64};
    (void)pthread_mutex_lock(&peer->mutex);
    if (peer->state != CLUSTER_PEER_FREE)
        cluster_link_fini(&peer->link);
    peer_drop_batches(peer);
    peer->node = *node;
    peer->base = axo_remote_enter(cluster->system, node, 1).bits & ~(CLUSTER_BITS_END - 1);
    peer->watches = 0;
    peer->lost = false;
    peer->why = AXO_CLUSTER_UNSAID;
    peer->since = cluster_now();
    atomic_store(&peer->heard_at, peer->since);
    peer->users_in = 0;
    peer->bytes_out = 0;
    peer->bytes_in = 0;
    peer->silent_ns = 0;
    atomic_store(&peer->quiet, false);
    cluster_subject(cluster, node, peer->subject);
    cluster_link_init(&peer->link, &settings, &peer_ops, peer,
                      cluster->remote.here.incarnation, node->incarnation);
    peer->state = CLUSTER_PEER_UP;
    if (peer->missed)
        cluster_link_quarantine(&peer->link);
    peer->missed = false;
    (void)pthread_mutex_unlock(&peer->mutex);
}

/* The mutex is let go between frames, so that no sender waits for a whole packet. */
void cluster_peer_receive(cluster_peer *peer, const cluster_packet *packet)
{
    cluster_frame frame;
    size_t at = 0;
    int64_t now = cluster_now();
    bool has = cluster_wire_next(packet, &at, &frame);
    while (has) {
        (void)pthread_mutex_lock(&peer->mutex);
        peer->bytes_in += CLUSTER_FRAME_SIZE + frame.size;
        cluster_link_receive(&peer->link, now, &frame);
        has = cluster_wire_next(packet, &at, &frame);
        if (!has)
            cluster_link_step(&peer->link, now);
        (void)pthread_mutex_unlock(&peer->mutex);
    }
    cluster_wake(peer->home);
}

/* Whoever says so knows, and is not told: two who hold each other lost would answer each other's
 * answers for ever. */
static bool peer_is_quarantine(const cluster_packet *packet)
{
    cluster_frame frame;
    size_t at = 0;
    bool says = false;
    while (packet->kind == CLUSTER_LINK && !says && cluster_wire_next(packet, &at, &frame))
        says = frame.kind == CLUSTER_QUARANTINE;
    return says;
}

void cluster_peer_answer(cluster_peer *peer, const cluster_packet *packet)
{
    if (peer_is_quarantine(packet))
        return;
    (void)pthread_mutex_lock(&peer->mutex);
    if (peer->state != CLUSTER_PEER_FREE && peer->link.quarantined) {
        const cluster_frame frame = {.kind = CLUSTER_ACK, .from = peer->link.theirs,
                                     .to = peer->link.mine};
        cluster_link_receive(&peer->link, cluster_now(), &frame);
    }
    (void)pthread_mutex_unlock(&peer->mutex);
}

cluster_batch *cluster_peer_turn(cluster_peer *peer, int64_t now, bool connected, bool beat,
                                 int64_t *due)
{
    cluster_batch *first = NULL;
    (void)pthread_mutex_lock(&peer->mutex);
    if (peer->state != CLUSTER_PEER_FREE) {
        if (beat)
            cluster_link_beat(&peer->link);
        cluster_link_step(&peer->link, now);
        int64_t at = cluster_link_due(&peer->link);
        *due = at < *due ? at : *due;
    }
    bool waits = peer->state == CLUSTER_PEER_UP && atomic_load(&peer->quiet);
    if (connected && !waits) {
        first = peer->first;
        peer->first = NULL;
        peer->last = NULL;
    }
    (void)pthread_mutex_unlock(&peer->mutex);
    return first;
}

cluster_batch *cluster_peer_put_back(cluster_peer *peer, cluster_batch *first)
{
    (void)pthread_mutex_lock(&peer->mutex);
    if (peer->state == CLUSTER_PEER_UP && atomic_load(&peer->quiet) &&
        first->to == peer->node.incarnation) {
        cluster_batch *last = first;
        while (last->next != NULL)
            last = last->next;
        last->next = peer->first;
        if (peer->last == NULL)
            peer->last = last;
        peer->first = first;
        first = NULL;
    }
    (void)pthread_mutex_unlock(&peer->mutex);
    return first;
}

void cluster_peer_published(cluster_peer *peer, cluster_batch *batch)
{
    (void)pthread_mutex_lock(&peer->mutex);
    size_t around = CLUSTER_HEAD_SIZE + strlen(peer->home->remote.here.name);
    size_t frames = batch->size - around - CLUSTER_SEAL_SIZE;
    peer->held -= frames < peer->held ? frames : peer->held;
    if (peer->spare == NULL && batch->room <= CLUSTER_BATCH) {
        peer->spare = batch;
        batch = NULL;
    }
    (void)pthread_mutex_unlock(&peer->mutex);
    free(batch);
}

void cluster_peer_quarantine(cluster_peer *peer)
{
    (void)pthread_mutex_lock(&peer->mutex);
    if (peer->state == CLUSTER_PEER_UP)
        cluster_link_quarantine(&peer->link);
    (void)pthread_mutex_unlock(&peer->mutex);
}

/* ---- the table of functions ---- */

static cluster_peer *table_peer(axo_cluster *cluster, uint32_t number)
{
    return number > 0 && number <= AXO_NODES_MAX ? &cluster->peers[number] : NULL;
}

/* The sender, as it leaves. One that nobody remembers is nobody. */
static void table_from(axo_cluster *cluster, cluster_body *body, axo_ref from)
{
    if (axo_ref_node(from) == 0) {
        body->from = from.bits;
        return;
    }
    if (axo_remote_leave(cluster->system, from, &body->from_node, &body->from) == AXO_OK)
        return;
    body->from = 0;
    body->from_node.incarnation = 0;
}

static axo_status table_put(cluster_peer *peer, const cluster_body *body, size_t size)
{
    axo_status status = AXO_EGONE;
    (void)pthread_mutex_lock(&peer->mutex);
    if (peer->state == CLUSTER_PEER_UP && !peer->link.quarantined)
        status = peer_room(peer, CLUSTER_FRAME_SIZE + size, peer->home->options.held_max);
    if (status == AXO_OK) { /* where peer_put puts it */
        unsigned char *at = peer->last->bytes + peer->last->size + CLUSTER_FRAME_SIZE;
        (void)cluster_wire_put_body(at, body);
        (void)cluster_link_send(&peer->link, at, (uint32_t)size);
    }
    (void)pthread_mutex_unlock(&peer->mutex);
    return status;
}

/* `to` of the body is filled in. */
static axo_status table_frame(cluster_peer *peer, axo_ref from, cluster_body *body)
{
    axo_cluster *cluster = peer->home;
    table_from(cluster, body, from);
    size_t name = body->from_node.incarnation != 0 ? 8 + strlen(body->from_node.name) : 0;
    size_t size = CLUSTER_BODY_SIZE + name + body->payload_size;
    size_t need = size + CLUSTER_FRAME_SIZE;
    if (need + CLUSTER_AROUND_MAX > atomic_load(&cluster->packet_max) ||
        need > cluster->options.held_max) {
        cluster_counted(cluster, CLUSTER_COUNT_TOO_BIG);
        return AXO_ETOOBIG;
    }
    axo_status status = table_put(peer, body, size);
    if (status == AXO_OK || status == AXO_EFULL)
        cluster_counted(cluster, status == AXO_OK ? CLUSTER_COUNT_SENT : CLUSTER_COUNT_FULL);
    if (status == AXO_OK)
        cluster_wake(cluster);
    return status;
}

static axo_status table_user(axo_cluster *cluster, axo_ref to, axo_ref from, cluster_body *body)
{
    cluster_peer *peer = table_peer(cluster, axo_ref_node(to));
    if (peer == NULL)
        return AXO_EGONE;
    body->to = to.bits & (CLUSTER_BITS_END - 1);
    return table_frame(peer, from, body);
}

axo_status cluster_peer_parcel(cluster_peer *peer, uint32_t kind, bool back, axo_ref from,
                               uint32_t tag, const cluster_slip *slip)
{
    size_t size = CLUSTER_SLIP_SIZE + slip->key_size + slip->payload_size;
    unsigned char *bytes = malloc(size);
    if (bytes == NULL)
        return AXO_ENOMEM;
    (void)cluster_wire_put_slip(bytes, slip);
    cluster_body body = {.what = CLUSTER_WHAT_PARCEL, .known = back, .tag = tag, .to = kind,
                         .payload_size = (uint32_t)size, .payload = bytes};
    axo_status status = table_frame(peer, from, &body);
    free(bytes);
    return status;
}

static axo_status table_send(void *user, axo_ref to, const axo_message *message)
{
    axo_cluster *cluster = user;
    cluster_coded coded;
    axo_status status = cluster_encode(cluster, message, &coded);
    if (status == AXO_OK) {
        cluster_body body = {.what = CLUSTER_WHAT_SEND, .tag = message->tag,
                             .payload_size = (uint32_t)coded.size, .payload = coded.bytes};
        status = table_user(cluster, to, message->sender, &body);
    } else if (status == AXO_ENOTSUP) {
        cluster_counted(cluster, CLUSTER_COUNT_NO_CODEC);
    }
    free(coded.large);
    return status;
}

static axo_status table_poison(void *user, axo_ref to, axo_ref from)
{
    cluster_body body = {.what = CLUSTER_WHAT_POISON};
    return table_user(user, to, from, &body);
}

static axo_status table_kill(void *user, axo_ref to, axo_ref from)
{
    cluster_body body = {.what = CLUSTER_WHAT_KILL};
    return table_user(user, to, from, &body);
}

/* A node that cannot be told is quarantined by its link; one that has no link yet, as soon as it
 * has one. */
static axo_status table_system_bytes(axo_cluster *cluster, uint32_t number,
                                     const cluster_body *body, const unsigned char *bytes,
                                     size_t size)
{
    cluster_peer *peer = table_peer(cluster, number);
    if (peer == NULL)
        return AXO_EGONE;
    bool sent = false;
    (void)pthread_mutex_lock(&peer->mutex);
    if (peer->state == CLUSTER_PEER_UP)
        sent = cluster_link_send_system(&peer->link, cluster_now(), bytes, (uint32_t)size);
    else if (body->what == CLUSTER_WHAT_WATCH || body->what == CLUSTER_WHAT_TERMINATED)
        peer->missed = true;
    if (sent && body->what == CLUSTER_WHAT_TERMINATED)
        peer->watches -= peer->watches > 0;
    (void)pthread_mutex_unlock(&peer->mutex);
    if (sent)
        cluster_counted(cluster, CLUSTER_COUNT_SENT);
    cluster_wake(cluster);
    return sent ? AXO_OK : AXO_EGONE;
}

static axo_status table_system(axo_cluster *cluster, uint32_t number, const cluster_body *body)
{
    unsigned char bytes[CLUSTER_BODY_MAX];
    return table_system_bytes(cluster, number, body, bytes, cluster_wire_put_body(bytes, body));
}

axo_status cluster_peer_say(axo_cluster *cluster, uint32_t number, uint64_t to, axo_ref from,
                            const cluster_word *word)
{
    unsigned char small[512]; /* for every word but a SPAWN */
    const size_t size = CLUSTER_BODY_SIZE + CLUSTER_WORD_SIZE + word->size;
    const cluster_body body = {.what = CLUSTER_WHAT_CHILD, .tag = word->kind, .to = to,
                               .from = from.bits};
    if (size + CLUSTER_FRAME_SIZE + CLUSTER_AROUND_MAX > atomic_load(&cluster->packet_max))
        return AXO_ETOOBIG;
    unsigned char *bytes = size <= sizeof small ? small : malloc(size);
    if (bytes == NULL)
        return AXO_ENOMEM;
    (void)cluster_wire_put_body(bytes, &body);
    (void)cluster_wire_put_word(bytes + CLUSTER_BODY_SIZE, word);
    axo_status status = table_system_bytes(cluster, number, &body, bytes, size);
    if (bytes != small)
        free(bytes);
    return status;
}

static axo_status table_about(axo_cluster *cluster, cluster_what what, axo_ref to)
{
    const cluster_body body = {.what = what, .to = to.bits & (CLUSTER_BITS_END - 1)};
    return table_system(cluster, axo_ref_node(to), &body);
}

static axo_status table_stop(void *user, axo_ref to)
{
    return table_about(user, CLUSTER_WHAT_STOP, to);
}

static void table_watch(void *user, axo_ref target)
{
    (void)table_about(user, CLUSTER_WHAT_WATCH, target);
}

static void table_unwatch(void *user, axo_ref target)
{
    (void)table_about(user, CLUSTER_WHAT_UNWATCH, target);
}

static void table_terminated(void *user, uint32_t number, const axo_terminated *end)
{
    const cluster_body body = {.what = CLUSTER_WHAT_TERMINATED, .known = end->existence_known,
                               .to = end->actor.bits & (CLUSTER_BITS_END - 1)};
    (void)table_system(user, number, &body);
}

static void table_lost(void *user, uint32_t number)
{
    axo_cluster *cluster = user;
    cluster_peer *peer = table_peer(cluster, number);
    if (peer == NULL)
        return;
    cluster_peer_quarantine(peer);
    cluster_wake(cluster);
}

const axo_remote cluster_table =
    AXO_REMOTE(.send = table_send, .poison = table_poison, .kill = table_kill, .stop = table_stop,
               .watch = table_watch, .unwatch = table_unwatch, .terminated = table_terminated,
               .lost = table_lost);
