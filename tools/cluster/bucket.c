/* bucket.c - the store of member.h: a bucket of JetStream, an entry a name.
 *
 * A thread asks and takes what the watch brings, on a connection of its own that is never made
 * again: when it breaks, or an answer does not come, or an own entry is not brought by the watch,
 * the store is away until there is another connection, with another watch. What was asked on the
 * former one went with it, so that it cannot reach a store that has forgotten. NATS's library has
 * no way to wait for a watch and for something else: a second thread of each connection waits for
 * the watch, and hands over one entry at a time.
 *
 * The key of an entry is the name, its value a packet of wire.h, CLUSTER_ENTRY: sealed as those
 * between nodes. A put or a removal names the revision that is to be there, as the message's
 * Nats-Expected-Last-Subject-Sequence: it is one step. A removal is a marker, a message with
 * KV-Operation: DEL. What is there is asked of the stream's leader: a replica may lag. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "carrier.h"

#define BUCKET_WAIT_MS  2000 /* for an answer */
#define BUCKET_WATCH_MS 600000 /* a call; it ends before when there is something */
#define BUCKET_AGAIN_MS 100  /* between attempts to connect */
/* Until the watch has to have brought an entry that was put, or its list. */
#define BUCKET_BRINGS_MS 5000
#define BUCKET_TRIES     3
/* Of a name: a watch that is late sees that it left, though it was removed, and came again. */
#define BUCKET_HISTORY   8
#define BUCKET_SUBJECT_MAX (CLUSTER_BUCKET_MAX + AXO_NODE_NAME_MAX + 8)

/* A connection to the store; the thread's own. */
typedef struct bucket {
    axo_cluster *cluster;
    natsConnection *connection;
    jsCtx *js;
    kvStore *kv;
    kvWatcher *watcher;
    bool listed;      /* the watch has brought what was there at first */
    uint64_t seen;    /* the last revision that the watch has brought */
    uint64_t taken;   /* of the last own entry that was put */
    uint64_t awaits;  /* the revision of an own entry that was put; 0: none */
    int64_t awaits_at; /* since when it does, or lists */
    pthread_t feeder; /* waits for the watch */
    bool feeds;       /* it runs */
    /* Guarded by the roster's lock; cluster_who.changed says that they change. */
    bool stops;       /* the feeder is to end */
    bool full;        /* the next two are to be taken */
    natsStatus fed;
    kvEntry *entry;   /* NULL: that was the list */
} bucket;

/* ---- the connection ---- */

static natsStatus bucket_make(bucket *b)
{
    const axo_cluster_options *o = &b->cluster->options;
    kvConfig config;
    natsStatus status = kvConfig_Init(&config);
    config.Bucket = b->cluster->who->bucket;
    config.History = BUCKET_HISTORY;
    config.TTL = o->lease_ms * CLUSTER_MS;
    return status == NATS_OK ? js_CreateKeyValue(&b->kv, b->js, &config) : status;
}

/* One of two that make it at once may be refused, and finds it then. */
static natsStatus bucket_bind(bucket *b)
{
    const char *name = b->cluster->who->bucket;
    natsStatus status = js_KeyValue(&b->kv, b->js, name);
    if (status != NATS_NOT_FOUND)
        return status;
    status = bucket_make(b);
    return status == NATS_OK ? status : js_KeyValue(&b->kv, b->js, name);
}

/* NATS_MISMATCH: its entries have another lease, or too short a history. */
static natsStatus bucket_look(const bucket *b)
{
    kvStatus *is = NULL;
    natsStatus status = kvStore_Status(&is, b->kv);
    if (status == NATS_OK && (kvStatus_TTL(is) != b->cluster->options.lease_ms * CLUSTER_MS ||
                              kvStatus_History(is) < BUCKET_HISTORY))
        status = NATS_MISMATCH;
    kvStatus_Destroy(is);
    return status;
}

static natsStatus bucket_open(bucket *b)
{
    jsOptions options;
    natsStatus status = jsOptions_Init(&options);
    options.Wait = BUCKET_WAIT_MS;
    if (status == NATS_OK)
        status = cluster_nats_connect(b->cluster, false, &b->connection);
    if (status == NATS_OK)
        status = natsConnection_JetStream(&b->js, b->connection, &options);
    if (status == NATS_OK)
        status = bucket_bind(b);
    return status == NATS_OK ? bucket_look(b) : status;
}

/* One that waits for the watch is woken by the connection's end. Not by kvWatcher_Stop: a message
 * that kvWatcher_Next has in hand then is leaked (nats.c's #987). */
static void bucket_stop_feeder(bucket *b)
{
    if (!b->feeds)
        return;
    natsConnection_Close(b->connection);
    (void)pthread_mutex_lock(&b->cluster->roster);
    b->stops = true;
    (void)pthread_cond_broadcast(&b->cluster->who->changed);
    (void)pthread_mutex_unlock(&b->cluster->roster);
    (void)pthread_join(b->feeder, NULL);
    kvEntry_Destroy(b->entry);
}

static void bucket_close(bucket *b)
{
    bucket_stop_feeder(b);
    kvWatcher_Destroy(b->watcher);
    kvStore_Destroy(b->kv);
    jsCtx_Destroy(b->js);
    natsConnection_Destroy(b->connection);
    *b = (bucket){.cluster = b->cluster};
}

/* ---- asking ---- */

static void bucket_subject(const bucket *b, const char *name, char *out)
{
    (void)snprintf(out, BUCKET_SUBJECT_MAX, "$KV.%s.%s", b->cluster->who->bucket, name);
}

static natsStatus bucket_message(const bucket *b, const cluster_entry *entry, bool removal,
                                 natsMsg **out)
{
    unsigned char bytes[CLUSTER_AROUND_MAX + 8];
    char subject[BUCKET_SUBJECT_MAX];
    const cluster_key *key = &b->cluster->key;
    const cluster_find part = {.id = entry->phase};
    bucket_subject(b, entry->node.name, subject);
    if (removal) {
        natsStatus status = natsMsg_Create(out, subject, NULL, NULL, 0);
        return status == NATS_OK ? natsMsgHeader_Set(*out, "KV-Operation", "DEL") : status;
    }
    size_t size = cluster_wire_begin(bytes, key, CLUSTER_ENTRY, &entry->node, 0);
    size += cluster_wire_put_find(bytes + size, CLUSTER_ENTRY, &part);
    size = cluster_wire_end(bytes, size, 1, key);
    return natsMsg_Create(out, subject, NULL, (const char *)bytes, (int)size);
}

/* Where the last message of the name has that revision; 0: where there is none.
 *   returns   NATS_MISMATCH: it has another one */
static natsStatus bucket_publish(const bucket *b, const cluster_entry *entry, uint64_t expected,
                                 bool removal, uint64_t *revision)
{
    natsMsg *message = NULL;
    jsPubAck *ack = NULL;
    jsPubOptions options;
    jsErrCode error = 0;
    natsStatus status = jsPubOptions_Init(&options);
    options.ExpectLastSubjectSeq = expected;
    options.ExpectNoMessage = expected == 0;
    if (status == NATS_OK)
        status = bucket_message(b, entry, removal, &message);
    if (status == NATS_OK)
        status = js_PublishMsg(&ack, b->js, message, &options, &error);
    if (status == NATS_OK)
        *revision = ack->Sequence;
    else if (error == JSStreamWrongLastSequenceErr)
        status = NATS_MISMATCH;
    jsPubAck_Destroy(ack);
    natsMsg_Destroy(message);
    return status;
}

/* false: it is none. */
static bool bucket_read(const bucket *b, const char *bytes, int size, cluster_entry *out)
{
    cluster_packet packet;
    cluster_find part;
    cluster_refusal refusal = cluster_wire_read(&b->cluster->key, bytes, (size_t)size, &packet);
    if (refusal != CLUSTER_GOOD) {
        cluster_counted(b->cluster, CLUSTER_COUNT_REFUSED + refusal);
        return false;
    }
    if (packet.kind != CLUSTER_ENTRY)
        return false;
    cluster_wire_read_find(&packet, &part);
    *out = (cluster_entry){.node = packet.from, .phase = (cluster_phase)part.id};
    return part.id >= CLUSTER_JOINING && part.id <= CLUSTER_LEAVING;
}

/* Revisions grow: a store that gives, or has, a lower one than before is another one. */
static bool bucket_has_forgotten(const bucket *b, const cluster_entry *put, cluster_answer answer,
                                 const cluster_entry *there)
{
    if (answer == CLUSTER_TAKEN)
        return there->revision <= b->seen || there->revision <= b->taken;
    return answer == CLUSTER_REFUSED && there->revision < put->revision;
}

/* What is there of the name. */
static natsStatus bucket_get(const bucket *b, const char *name, cluster_answer *answer,
                             cluster_entry *there)
{
    char stream[CLUSTER_BUCKET_MAX + 4];
    char subject[BUCKET_SUBJECT_MAX];
    const char *operation = NULL;
    natsMsg *message = NULL;
    (void)snprintf(stream, sizeof stream, "KV_%s", b->cluster->who->bucket);
    bucket_subject(b, name, subject);
    natsStatus status = js_GetLastMsg(&message, b->js, stream, subject, NULL, NULL);
    *answer = CLUSTER_MISSING;
    *there = (cluster_entry){.revision = 0};
    if (status == NATS_NOT_FOUND)
        return NATS_OK;
    if (status != NATS_OK)
        return status;
    if (natsMsgHeader_Get(message, "KV-Operation", &operation) == NATS_OK)
        *answer = CLUSTER_REMOVED;
    else if (bucket_read(b, natsMsg_GetData(message), natsMsg_GetDataLength(message), there) &&
             strcmp(there->node.name, name) == 0)
        *answer = CLUSTER_REFUSED;
    else
        *answer = CLUSTER_UNKNOWN;
    there->revision = natsMsg_GetSequence(message);
    natsMsg_Destroy(message);
    return NATS_OK;
}

/* A put where no entry is to be may find a marker, and goes over it. */
static natsStatus bucket_put(const bucket *b, const cluster_entry *entry, cluster_answer *answer,
                             cluster_entry *there)
{
    uint64_t expected = entry->revision;
    for (int i = 0; i < BUCKET_TRIES; i++) {
        *there = *entry;
        *answer = CLUSTER_TAKEN;
        natsStatus status = bucket_publish(b, entry, expected, false, &there->revision);
        if (status != NATS_MISMATCH)
            return status;
        status = bucket_get(b, entry->node.name, answer, there);
        bool none = *answer == CLUSTER_REMOVED || *answer == CLUSTER_MISSING;
        if (status != NATS_OK || entry->revision != 0 || !none)
            return status;
        expected = there->revision;
    }
    *answer = CLUSTER_UNKNOWN;
    return NATS_OK;
}

static natsStatus bucket_ask_put(bucket *b, const cluster_entry *entry)
{
    cluster_who *who = b->cluster->who;
    cluster_entry there;
    cluster_answer answer = CLUSTER_UNKNOWN;
    natsStatus status = bucket_put(b, entry, &answer, &there);
    if (status != NATS_OK)
        return status; /* it is answered when the store is away */
    if (bucket_has_forgotten(b, entry, answer, &there))
        return NATS_STALE_CONNECTION;
    bool is = answer == CLUSTER_TAKEN || answer == CLUSTER_REFUSED;
    if (answer == CLUSTER_TAKEN && b->awaits == 0)
        b->awaits_at = cluster_now();
    if (answer == CLUSTER_TAKEN)
        b->awaits = b->taken = there.revision;
    (void)pthread_mutex_lock(&b->cluster->roster);
    cluster_member_answer(&who->member, cluster_who_clock(b->cluster), answer, is ? &there : NULL);
    (void)pthread_mutex_unlock(&b->cluster->roster);
    cluster_wake(b->cluster);
    return NATS_OK;
}

/* One that has another revision by now is not removed. */
static natsStatus bucket_ask_remove(const bucket *b, const cluster_entry *entry)
{
    uint64_t unused;
    natsStatus status = bucket_publish(b, entry, entry->revision, true, &unused);
    return status == NATS_MISMATCH ? NATS_OK : status;
}

/* What waits to be asked. */
static natsStatus bucket_ask(bucket *b)
{
    cluster_who *who = b->cluster->who;
    natsStatus status = NATS_OK;
    cluster_entry entry = {.revision = 0};
    bool asks = true;
    while (asks && status == NATS_OK) {
        (void)pthread_mutex_lock(&b->cluster->roster);
        bool puts = who->put_waits;
        if (puts)
            entry = who->put;
        else if (who->removals > 0)
            entry = who->removal[0];
        asks = puts || who->removals > 0;
        if (!puts && asks)
            memmove(&who->removal[0], &who->removal[1], --who->removals * sizeof entry);
        who->put_waits = false;
        who->asks = asks;
        (void)pthread_mutex_unlock(&b->cluster->roster);
        if (asks)
            status = puts ? bucket_ask_put(b, &entry) : bucket_ask_remove(b, &entry);
    }
    return status;
}

/* ---- watching ---- */

static void bucket_tell(const bucket *b, cluster_store_state state)
{
    cluster_who *who = b->cluster->who;
    (void)pthread_mutex_lock(&b->cluster->roster);
    cluster_member_store(&who->member, cluster_who_clock(b->cluster), state);
    (void)pthread_mutex_unlock(&b->cluster->roster);
    cluster_wake(b->cluster);
}

static void bucket_take(bucket *b, kvEntry *is)
{
    cluster_member *member = &b->cluster->who->member;
    const char *name = kvEntry_Key(is);
    cluster_entry entry = {.revision = 0};
    bool there = kvEntry_Operation(is) == kvOp_Put;
    b->seen = kvEntry_Revision(is);
    if (!cluster_is_name(name))
        return;
    if (there && (!bucket_read(b, kvEntry_Value(is), kvEntry_ValueLen(is), &entry) ||
                  strcmp(entry.node.name, name) != 0))
        return;
    entry.revision = b->seen;
    if (entry.revision >= b->awaits && strcmp(name, b->cluster->remote.here.name) == 0)
        b->awaits = 0;
    (void)pthread_mutex_lock(&b->cluster->roster);
    if (there)
        cluster_member_entry(member, cluster_who_clock(b->cluster), &entry);
    else
        cluster_member_gone(member, cluster_who_clock(b->cluster), name, entry.revision,
                            CLUSTER_GONE_REMOVED);
    (void)pthread_mutex_unlock(&b->cluster->roster);
    cluster_wake(b->cluster);
}

/* false: the feeder is to end. */
static bool bucket_feed(bucket *b, natsStatus status, kvEntry *entry)
{
    (void)pthread_mutex_lock(&b->cluster->roster);
    while (b->full && !b->stops)
        (void)pthread_cond_wait(&b->cluster->who->changed, &b->cluster->roster);
    bool stops = b->stops;
    if (!stops) {
        b->full = true;
        b->fed = status;
        b->entry = entry;
        (void)pthread_cond_broadcast(&b->cluster->who->changed);
    }
    (void)pthread_mutex_unlock(&b->cluster->roster);
    if (stops)
        kvEntry_Destroy(entry);
    return !stops;
}

static void *bucket_feeder(void *arg)
{
    bucket *b = arg;
    bool goes_on = true;
    while (goes_on) {
        kvEntry *entry = NULL;
        natsStatus status = kvWatcher_Next(&entry, b->watcher, BUCKET_WATCH_MS);
        if (status != NATS_TIMEOUT)
            goes_on = bucket_feed(b, status, entry) && status == NATS_OK;
    }
    nats_ReleaseThreadMemory();
    return NULL;
}

/* Takes what the watch has brought. Behind what was there at first comes one that is NULL. */
static natsStatus bucket_next(bucket *b)
{
    (void)pthread_mutex_lock(&b->cluster->roster);
    bool full = b->full;
    natsStatus status = full ? b->fed : NATS_OK;
    kvEntry *entry = b->entry;
    b->full = false;
    b->entry = NULL;
    (void)pthread_cond_broadcast(&b->cluster->who->changed);
    (void)pthread_mutex_unlock(&b->cluster->roster);
    if (!full || status != NATS_OK)
        return status;
    if (entry != NULL && kvEntry_Revision(entry) <= b->seen)
        status = NATS_STALE_CONNECTION;
    else if (entry != NULL)
        bucket_take(b, entry);
    else if (!b->listed)
        bucket_tell(b, CLUSTER_STORE_IS_THERE);
    b->listed |= entry == NULL;
    kvEntry_Destroy(entry);
    return status;
}

/* ---- the thread ---- */

/* The roster's lock is held. */
static bool bucket_has_done(axo_cluster *cluster)
{
    const cluster_who *who = cluster->who;
    return (who->member.phase == CLUSTER_OVER && who->removals == 0) || atomic_load(&cluster->ends);
}

static bool bucket_is_done(axo_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->roster);
    bool done = bucket_has_done(cluster);
    (void)pthread_mutex_unlock(&cluster->roster);
    return done;
}

/* Nothing that waits is asked of the next one. */
static void bucket_away(axo_cluster *cluster)
{
    cluster_who *who = cluster->who;
    (void)pthread_mutex_lock(&cluster->roster);
    cluster_member_store(&who->member, cluster_who_clock(cluster), CLUSTER_STORE_AWAY);
    cluster_member_answer(&who->member, cluster_who_clock(cluster), CLUSTER_UNKNOWN, NULL);
    who->put_waits = false;
    who->asks = false;
    who->removals = 0;
    (void)pthread_mutex_unlock(&cluster->roster);
    cluster_wake(cluster);
}

/* Another bucket has the place of the one that is watched; or what was to be listed was gone before
 * it was brought, and its end is waited for. */
static bool bucket_is_deaf(const bucket *b)
{
    bool waits = !b->listed || b->awaits != 0;
    return waits && cluster_now() - b->awaits_at > BUCKET_BRINGS_MS * CLUSTER_MS;
}

/* Until the watch has brought something, something is to be asked, or the end; or what is awaited
 * should have come. */
static void bucket_sleep(bucket *b)
{
    const cluster_who *who = b->cluster->who;
    bool waits = !b->listed || b->awaits != 0;
    int64_t until = b->awaits_at + (BUCKET_BRINGS_MS + 1) * CLUSTER_MS;
    const struct timespec at = {.tv_sec = until / INT64_C(1000000000),
                                .tv_nsec = until % INT64_C(1000000000)};
    int late = 0;
    (void)pthread_mutex_lock(&b->cluster->roster);
    while (!b->full && !who->put_waits && who->removals == 0 && !bucket_has_done(b->cluster) &&
           late == 0) {
        if (waits)
            late = pthread_cond_timedwait(&b->cluster->who->changed, &b->cluster->roster, &at);
        else
            late = pthread_cond_wait(&b->cluster->who->changed, &b->cluster->roster);
    }
    (void)pthread_mutex_unlock(&b->cluster->roster);
}

static void bucket_serve(bucket *b)
{
    natsStatus status = kvStore_WatchAll(&b->watcher, b->kv, NULL);
    if (status == NATS_OK)
        b->feeds = cluster_thread(&b->feeder, bucket_feeder, b);
    if (!b->feeds)
        return;
    bucket_tell(b, CLUSTER_STORE_LISTS);
    b->awaits_at = cluster_now();
    while (status == NATS_OK && !bucket_is_done(b->cluster)) {
        bucket_sleep(b);
        status = bucket_next(b);
        if (status == NATS_OK)
            status = bucket_ask(b);
        if (bucket_is_deaf(b))
            status = NATS_STALE_CONNECTION;
    }
    bucket_away(b->cluster);
}

static void *bucket_run(void *arg)
{
    const struct timespec pause = {.tv_nsec = BUCKET_AGAIN_MS * 1000000};
    bucket b = {.cluster = arg};
    while (!bucket_is_done(b.cluster)) {
        if (bucket_open(&b) == NATS_OK)
            bucket_serve(&b);
        bucket_close(&b);
        if (!bucket_is_done(b.cluster))
            (void)nanosleep(&pause, NULL);
    }
    nats_ReleaseThreadMemory();
    return NULL;
}

/* ---- trying, starting, ending ---- */

natsStatus cluster_bucket_try(axo_cluster *cluster, axo_cluster_problem *problem)
{
    bucket b = {.cluster = cluster};
    (void)snprintf(cluster->who->bucket, sizeof cluster->who->bucket, "axo_%s_%08x",
                   cluster->options.cluster, (unsigned)cluster->key.token);
    natsStatus status = bucket_open(&b);
    bucket_close(&b);
    if (status == NATS_OK)
        return status;
    cluster_nats_problem(cluster, status, problem);
    size_t used = strlen(problem->text);
    (void)snprintf(problem->text + used, sizeof problem->text - used, "%s",
                   status == NATS_MISMATCH ? ": the bucket has another lease or history"
                                     : ": no JetStream");
    return status;
}

bool cluster_bucket_start(axo_cluster *cluster)
{
    cluster->who->runs = cluster_thread(&cluster->who->thread, bucket_run, cluster);
    return cluster->who->runs;
}

void cluster_bucket_wake(axo_cluster *cluster)
{
    (void)pthread_cond_broadcast(&cluster->who->changed);
}

void cluster_bucket_end(axo_cluster *cluster)
{
    (void)pthread_mutex_lock(&cluster->roster);
    cluster_bucket_wake(cluster);
    (void)pthread_mutex_unlock(&cluster->roster);
    if (cluster->who->runs)
        (void)pthread_join(cluster->who->thread, NULL);
    cluster->who->runs = false;
}
