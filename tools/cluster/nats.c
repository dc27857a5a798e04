/* nats.c - the connection and the threads: one publishes what waits and does what is due, two take
 * what comes. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../nats_options.h"
#include "carrier.h"

/* A write that the server does not take for so long makes the connection anew. */
#define NATS_WRITE_MS 2000
#define NATS_PING_MS  2000
#define NATS_PINGS    3
#define NATS_AGAIN_MS 100 /* between attempts to connect again */
#define NATS_FLUSH_MS 2000
#define NATS_LISTEN_MS 100
/* Announcements, between two of which each link says that it lives. */
#define NATS_BEATS_A_LINK 4

int64_t cluster_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void cluster_wake(axo_cluster *cluster)
{
    if (atomic_exchange(&cluster->woken, true))
        return;
    (void)pthread_mutex_lock(&cluster->wake_mutex);
    (void)pthread_cond_signal(&cluster->wake_cond);
    (void)pthread_mutex_unlock(&cluster->wake_mutex);
}

void cluster_subject(axo_cluster *cluster, const axo_node *node, char *out)
{
    (void)snprintf(out, CLUSTER_SUBJECT_MAX, "%s.%s.%016llx", cluster->everybody, node->name,
                   (unsigned long long)node->incarnation);
}

/* ---- out ---- */

static void nats_publish(axo_cluster *cluster, const char *subject, const unsigned char *bytes,
                         size_t size)
{
    natsStatus status = natsConnection_Publish(cluster->connection, subject, bytes, (int)size);
    cluster_counted(cluster, status == NATS_OK ? CLUSTER_COUNT_PACKETS_OUT : CLUSTER_COUNT_UNSENT);
}

void cluster_publish(axo_cluster *cluster, const char *subject, cluster_packet_kind kind,
                     uint64_t to, const cluster_find *part)
{
    unsigned char bytes[CLUSTER_AROUND_MAX + 8 + AXO_KEY_MAX];
    size_t size = cluster_wire_begin(bytes, &cluster->key, kind, &cluster->remote.here, to);
    if (part != NULL)
        size += cluster_wire_put_find(bytes + size, kind, part);
    size = cluster_wire_end(bytes, size, part != NULL, &cluster->key);
    nats_publish(cluster, subject, bytes, size);
}

/* Whether the connection was made anew, since this was asked last: what is sent to a node before it
 * has one too reaches nobody, so what waits goes on waiting until the node is heard. */
static bool nats_is_new(axo_cluster *cluster)
{
    uint64_t unused[4];
    uint64_t made = 0;
    if (natsConnection_GetStats(cluster->connection, cluster->statistics) != NATS_OK ||
        natsStatistics_GetCounts(cluster->statistics, &unused[0], &unused[1], &unused[2],
                                 &unused[3], &made) != NATS_OK ||
        made == cluster->connections)
        return false;
    cluster->connections = made;
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++)
        atomic_store(&cluster->peers[i].quiet, true);
    atomic_store(&cluster->beat_now, true);
    return true;
}

static bool nats_is_connected(const axo_cluster *cluster)
{
    return natsConnection_Status(cluster->connection) == NATS_CONN_STATUS_CONNECTED;
}

/* What may have become another while it is connected. */
static void nats_look(axo_cluster *cluster)
{
    (void)nats_is_new(cluster);
    int64_t most = natsConnection_GetMaxPayload(cluster->connection);
    if (most > 2 * CLUSTER_AROUND_MAX && most <= INT32_MAX)
        atomic_store(&cluster->packet_max, (size_t)most);
}

static void nats_batches(cluster_peer *peer, cluster_batch *batch)
{
    axo_cluster *cluster = peer->home;
    while (batch != NULL) {
        cluster_batch *next = batch->next;
        batch->size = cluster_wire_end(batch->bytes, batch->size, batch->count, &cluster->key);
        nats_publish(cluster, peer->subject, batch->bytes, batch->size);
        cluster_peer_published(peer, batch);
        batch = next;
    }
}

/* ---- the carrier ---- */

static void carrier_beat(axo_cluster *cluster, uint64_t number)
{
    const cluster_find part = {.id = number};
    cluster->beats++;
    cluster_publish(cluster, cluster->everybody, CLUSTER_BEAT, 0, &part);
}

/* Before the first that is published it is looked whether the connection is new, unless this turn
 * `has_looked`. */
static void carrier_peers(axo_cluster *cluster, int64_t now, bool connected, bool beat,
                          bool has_looked, int64_t *due)
{
    for (uint32_t i = 1; i <= atomic_load(&cluster->used); i++) {
        cluster_peer *peer = &cluster->peers[i];
        cluster_batch *batch = cluster_peer_turn(peer, now, connected, beat, due);
        if (batch != NULL && !has_looked) {
            has_looked = true;
            if (nats_is_new(cluster))
                batch = cluster_peer_put_back(peer, batch);
        }
        nats_batches(peer, batch);
    }
}

/* Of a node that has not come up, or hears nothing of itself, a beat has the number 0, which is of
 * use to nobody else. */
static int64_t carrier_turn(axo_cluster *cluster)
{
    int64_t due = INT64_MAX;
    bool stored = cluster->who != NULL;
    bool connected = nats_is_connected(cluster);
    uint64_t number = stored ? cluster_who_step(cluster, &due) : cluster->beats + 1;
    int64_t now = cluster_now();
    bool due_now = now >= cluster->beat_at || (stored && number != 0);
    bool beat = due_now && cluster->beats % NATS_BEATS_A_LINK == 0;
    if (due_now)
        cluster->beat_at = now + cluster->options.beat_ms * CLUSTER_MS;
    if (due_now && connected)
        nats_look(cluster);
    if (connected && ((atomic_exchange(&cluster->beat_now, false) && !stored) || due_now) &&
        !atomic_load(&cluster->over))
        carrier_beat(cluster, number);
    if (due_now && !stored)
        cluster_roster_step(cluster, now);
    due = cluster->beat_at < due ? cluster->beat_at : due;
    carrier_peers(cluster, now, connected, beat, due_now, &due);
    cluster_roster_lose(cluster);
    cluster_find_step(cluster, now, &due);
    return due;
}

static void carrier_sleep(axo_cluster *cluster, int64_t until)
{
    const struct timespec at = {.tv_sec = until / INT64_C(1000000000),
                                .tv_nsec = until % INT64_C(1000000000)};
    int timed_out = 0;
    (void)pthread_mutex_lock(&cluster->wake_mutex);
    while (!atomic_load(&cluster->woken) && timed_out == 0)
        timed_out = pthread_cond_timedwait(&cluster->wake_cond, &cluster->wake_mutex, &at);
    (void)pthread_mutex_unlock(&cluster->wake_mutex);
    /* What was there before a wake-up is seen behind this, also of one that found `woken` set. */
    (void)atomic_exchange(&cluster->woken, false);
}

/* What the system has said before goes first. Who has left by the store is not lost as well. */
static void carrier_last(axo_cluster *cluster)
{
    int64_t due = INT64_MAX;
    bool connected = nats_is_connected(cluster);
    carrier_peers(cluster, cluster_now(), connected, false, false, &due);
    cluster_roster_leave(cluster);
    if (cluster->who == NULL || !cluster_who_is_over(cluster))
        carrier_peers(cluster, cluster_now(), connected, false, false, &due);
    cluster_find_end(cluster);
    if (!connected)
        return;
    cluster_publish(cluster, cluster->everybody, CLUSTER_LEAVE, 0, NULL);
    (void)natsConnection_FlushTimeout(cluster->connection, NATS_FLUSH_MS);
}

static void *carrier_run(void *arg)
{
    axo_cluster *cluster = arg;
    cluster->looked_at = cluster_now();
    while (!atomic_load(&cluster->ends)) {
        int64_t due = carrier_turn(cluster);
        if (due > cluster_now())
            carrier_sleep(cluster, due);
    }
    carrier_last(cluster);
    return NULL;
}

/* ---- what comes ---- */

static void listener_others(axo_cluster *cluster, const cluster_packet *packet)
{
    bool lost;
    if (packet->kind == CLUSTER_BEAT && cluster->who != NULL)
        cluster_who_heard(cluster, packet);
    cluster_peer *peer = cluster_roster_heard(cluster, &packet->from, &lost);
    if (peer == NULL) {
        cluster_counted(cluster, CLUSTER_COUNT_STRANGERS);
        return;
    }
    if (lost) { /* it does not know yet */
        cluster_counted(cluster, CLUSTER_COUNT_STRANGERS);
        cluster_peer_answer(peer, packet);
        cluster_wake(cluster);
        return;
    }
    if (packet->kind == CLUSTER_LINK)
        cluster_peer_receive(peer, packet);
    else if (packet->kind == CLUSTER_FIND)
        cluster_find_asked(cluster, packet);
    else if (packet->kind == CLUSTER_FOUND)
        cluster_find_answered(cluster, packet);
}

static void listener_take(axo_cluster *cluster, const char *bytes, int size)
{
    cluster_packet packet;
    const axo_node *here = &cluster->remote.here;
    cluster_counted(cluster, CLUSTER_COUNT_PACKETS_IN);
    cluster_refusal refusal = cluster_wire_read(&cluster->key, bytes, (size_t)size, &packet);
    if (refusal != CLUSTER_GOOD) {
        cluster_counted(cluster, CLUSTER_COUNT_REFUSED + refusal);
        return;
    }
    if (strcmp(packet.from.name, here->name) == 0 && packet.from.incarnation == here->incarnation)
        atomic_store(&cluster->echo, true);
    else if (packet.to != 0 && packet.to != here->incarnation)
        cluster_counted(cluster, CLUSTER_COUNT_STRANGERS);
    else if (packet.kind == CLUSTER_LEAVE && cluster->who == NULL)
        cluster_roster_leaves(cluster, &packet.from);
    else if (packet.kind != CLUSTER_LEAVE)
        listener_others(cluster, &packet);
}

static void *listener_run(void *arg)
{
    cluster_listener *listener = arg;
    axo_cluster *cluster = listener->cluster;
    natsMsg *message = NULL;
    while (!atomic_load(&cluster->ends)) {
        natsStatus status = natsSubscription_NextMsg(&message, listener->subscription,
                                                     NATS_LISTEN_MS);
        if (status == NATS_OK) {
            listener_take(cluster, natsMsg_GetData(message), natsMsg_GetDataLength(message));
            natsMsg_Destroy(message);
        } else if (status != NATS_TIMEOUT && status != NATS_SLOW_CONSUMER) {
            const struct timespec pause = {.tv_nsec = NATS_LISTEN_MS * 1000000};
            (void)nanosleep(&pause, NULL);
        }
    }
    return NULL;
}

/* ---- open, start, end, close ---- */

static natsStatus nats_options(const axo_cluster_options *from, natsOptions *to)
{
    natsStatus status =
        nats_options_fill(to, from->url, from->credentials, from->ca, from->node);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectWait(to, NATS_AGAIN_MS);
    if (status == NATS_OK)
        status = natsOptions_SetPingInterval(to, NATS_PING_MS);
    if (status == NATS_OK)
        status = natsOptions_SetMaxPingsOut(to, NATS_PINGS);
    if (status == NATS_OK)
        status = natsOptions_SetWriteDeadline(to, NATS_WRITE_MS);
    return status;
}

/* A url without the password that may be in it. */
static const char *nats_shown(const char *url)
{
    const char *at = strrchr(url, '@');
    return at != NULL ? at + 1 : url;
}

natsStatus cluster_nats_connect(axo_cluster *cluster, bool again, natsConnection **out)
{
    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK)
        status = nats_options(&cluster->options, options);
    if (status == NATS_OK)
        status = natsOptions_SetAllowReconnect(options, again);
    if (status == NATS_OK)
        status = natsConnection_Connect(out, options);
    natsOptions_Destroy(options);
    return status;
}

void cluster_nats_problem(const axo_cluster *cluster, natsStatus status,
                          axo_cluster_problem *problem)
{
    problem->error = (int32_t)status;
    (void)snprintf(problem->text, sizeof problem->text, "%.80s: %s",
                   nats_shown(cluster->options.url), natsStatus_GetText(status));
}

natsStatus cluster_nats_open(axo_cluster *cluster, axo_cluster_problem *problem)
{
    (void)snprintf(cluster->everybody, sizeof cluster->everybody, "axo.%s",
                   cluster->options.cluster);
    natsStatus status = natsStatistics_Create(&cluster->statistics);
    if (status == NATS_OK)
        status = cluster_nats_connect(cluster, true, &cluster->connection);
    if (status != NATS_OK) {
        cluster_nats_problem(cluster, status, problem);
        return status;
    }
    nats_look(cluster);
    return cluster->who != NULL ? cluster_bucket_try(cluster, problem) : NATS_OK;
}

bool cluster_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool runs = pthread_create(thread, NULL, run, arg) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return runs;
}

static axo_status listener_start(axo_cluster *cluster, cluster_listener *listener,
                                 const char *subject)
{
    size_t most = cluster->options.received_max;
    int bytes = most < INT32_MAX ? (int)most : INT32_MAX;
    listener->cluster = cluster;
    natsStatus status = natsConnection_SubscribeSync(&listener->subscription, cluster->connection,
                                                     subject);
    if (status == NATS_OK)
        status = natsSubscription_SetPendingLimits(listener->subscription, -1, bytes);
    if (status != NATS_OK)
        return status == NATS_NO_MEMORY ? AXO_ENOMEM : AXO_ESYSTEM;
    listener->runs = cluster_thread(&listener->thread, listener_run, listener);
    return listener->runs ? AXO_OK : AXO_ETHREAD;
}

static void listener_end(cluster_listener *listener)
{
    if (listener->runs)
        (void)pthread_join(listener->thread, NULL);
    listener->runs = false;
    if (listener->subscription != NULL)
        (void)natsSubscription_Unsubscribe(listener->subscription);
    natsSubscription_Destroy(listener->subscription);
    listener->subscription = NULL;
}

axo_status cluster_nats_start(axo_cluster *cluster)
{
    char subject[CLUSTER_SUBJECT_MAX];
    cluster_subject(cluster, &cluster->remote.here, subject);
    atomic_store(&cluster->ends, false);
    if (cluster->who != NULL)
        cluster_who_start(cluster);
    axo_status status = listener_start(cluster, &cluster->mine, subject);
    if (status == AXO_OK)
        status = listener_start(cluster, &cluster->all, cluster->everybody);
    if (status != AXO_OK)
        return status;
    cluster->runs = cluster_thread(&cluster->thread, carrier_run, cluster);
    if (cluster->runs && (cluster->who == NULL || cluster_bucket_start(cluster)))
        return AXO_OK;
    return AXO_ETHREAD;
}

void cluster_nats_end(axo_cluster *cluster)
{
    if (cluster->started)
        cluster_silo_leave(cluster);
    if (cluster->who != NULL && cluster->started)
        cluster_who_leave(cluster);
    atomic_store(&cluster->ends, true);
    cluster_wake(cluster);
    if (cluster->who != NULL)
        cluster_bucket_end(cluster);
    if (cluster->runs)
        (void)pthread_join(cluster->thread, NULL);
    cluster->runs = false;
    listener_end(&cluster->mine);
    listener_end(&cluster->all);
}

void cluster_nats_close(axo_cluster *cluster)
{
    natsConnection_Destroy(cluster->connection);
    cluster->connection = NULL;
    natsStatistics_Destroy(cluster->statistics);
    cluster->statistics = NULL;
}
