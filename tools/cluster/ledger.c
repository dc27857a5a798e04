/* ledger.c - the store of grain.h: a stream of JetStream beside the bucket, which keeps one message
 * of a subject.
 *
 *   <stream>.l.<16 digits>             the lease of an incarnation
 *   <stream>.g.<8 digits>.<hex>        the claim to a name, by kind and key
 *
 * A record is a packet of wire.h, CLUSTER_CLAIM: who speaks has it, and the term. What is there is
 * asked of the stream's leader. Threads take the calls in turn, those of the lease before the
 * others; a call that has waited for longer than for an answer is not carried out any more, as it
 * was made again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "silo.h"

#define LEDGER_WAIT_MS_MIN 100
#define LEDGER_SUBJECT_MAX (CLUSTER_BUCKET_MAX + 2 * AXO_GRAIN_KEY_MAX + 32)

/* ---- what the machine asks: the silo's lock is held ---- */

/* A call without memory is lost, and is made again. */
static void ledger_ask(cluster_silo *silo, cluster_store_key key, const cluster_ask *call)
{
    cluster_ledger *ledger = &silo->ledger;
    cluster_ask *ask = malloc(sizeof *ask);
    if (ask == NULL)
        return;
    *ask = *call;
    ask->asked_at = cluster_silo_now();
    ask->incarnation = key.incarnation;
    if (key.incarnation == 0)
        ask->name = *key.name;
    (void)pthread_mutex_lock(&ledger->mutex);
    bool is_lease = (ask->number & CLUSTER_LEASE_ASKS) != 0;
    if (is_lease)
        ask->next = ledger->first;
    *(is_lease || ledger->first == NULL ? &ledger->first : &ledger->last->next) = ask;
    if (ask->next == NULL)
        ledger->last = ask;
    ledger->under_way += !is_lease;
    (void)pthread_cond_signal(&ledger->cond);
    (void)pthread_mutex_unlock(&ledger->mutex);
}

static void ledger_get(void *user, uint64_t number, cluster_store_key key)
{
    const cluster_ask call = {.number = number, .what = CLUSTER_ASK_GET};
    ledger_ask(user, key, &call);
}

static void ledger_put(void *user, uint64_t number, cluster_store_key key, uint64_t revision,
                       const cluster_lease_holder *holder)
{
    const cluster_ask call = {.number = number, .what = CLUSTER_ASK_PUT, .revision = revision,
                              .term = holder->term};
    ledger_ask(user, key, &call);
}

static void ledger_remove(void *user, uint64_t number, cluster_store_key key, uint64_t revision)
{
    const cluster_ask call = {.number = number, .what = CLUSTER_ASK_REMOVE, .revision = revision};
    ledger_ask(user, key, &call);
}

const cluster_store cluster_ledger_store = {ledger_get, ledger_put, ledger_remove};

/* ---- one call ---- */

static void ledger_subject(const cluster_ledger *ledger, const cluster_ask *ask, char *out)
{
    if (ask->incarnation != 0) {
        (void)snprintf(out, LEDGER_SUBJECT_MAX, "%s.l.%016llx", ledger->stream,
                       (unsigned long long)ask->incarnation);
        return;
    }
    int at = snprintf(out, LEDGER_SUBJECT_MAX, "%s.g.%08x.", ledger->stream, ask->name.kind);
    for (uint32_t i = 0; i < ask->name.size; i++)
        at += snprintf(out + at, LEDGER_SUBJECT_MAX - (size_t)at, "%02x", ask->name.key[i]);
}

/* false: it is no record. */
static bool ledger_read(cluster_silo *silo, natsMsg *message, cluster_store_record *out)
{
    cluster_packet packet;
    cluster_find part;
    cluster_refusal refusal = cluster_wire_read(&silo->cluster->key, natsMsg_GetData(message),
                                                (size_t)natsMsg_GetDataLength(message), &packet);
    if (refusal != CLUSTER_GOOD)
        cluster_counted(silo->cluster, CLUSTER_COUNT_REFUSED + refusal);
    if (refusal != CLUSTER_GOOD || packet.kind != CLUSTER_CLAIM)
        return false;
    cluster_wire_read_find(&packet, &part);
    out->revision = natsMsg_GetSequence(message);
    cluster_silo_holder(&packet.from, part.id, &out->holder);
    return true;
}

/* There may be no stream, too, which nobody knows anything of. */
static cluster_store_answer ledger_call_get(cluster_silo *silo, const char *subject,
                                            cluster_store_record *out)
{
    natsMsg *message = NULL;
    jsErrCode error = 0;
    natsStatus status = js_GetLastMsg(&message, silo->ledger.js, silo->ledger.stream, subject, NULL,
                                      &error);
    if (status == NATS_NOT_FOUND && error == JSNoMessageFoundErr)
        return CLUSTER_STORE_DONE;
    if (status != NATS_OK)
        return CLUSTER_STORE_FAILED;
    bool is = ledger_read(silo, message, out);
    natsMsg_Destroy(message);
    return is ? CLUSTER_STORE_DONE : CLUSTER_STORE_FAILED;
}

static cluster_store_answer ledger_call_put(cluster_silo *silo, const char *subject,
                                            const cluster_ask *ask, cluster_store_record *out)
{
    unsigned char bytes[CLUSTER_AROUND_MAX + 8];
    const cluster_key *key = &silo->cluster->key;
    const cluster_find part = {.id = ask->term};
    jsPubAck *ack = NULL;
    jsPubOptions options;
    jsErrCode error = 0;
    size_t size = cluster_wire_begin(bytes, key, CLUSTER_CLAIM, &silo->cluster->remote.here, 0);
    size += cluster_wire_put_find(bytes + size, CLUSTER_CLAIM, &part);
    size = cluster_wire_end(bytes, size, 1, key);
    (void)jsPubOptions_Init(&options);
    options.ExpectLastSubjectSeq = ask->revision;
    options.ExpectNoMessage = ask->revision == 0;
    natsStatus status = js_Publish(&ack, silo->ledger.js, subject, bytes, (int)size, &options,
                                   &error);
    if (status == NATS_OK)
        out->revision = ack->Sequence;
    jsPubAck_Destroy(ack);
    if (status == NATS_OK)
        return CLUSTER_STORE_DONE;
    return error == JSStreamWrongLastSequenceErr ? CLUSTER_STORE_CONFLICT : CLUSTER_STORE_FAILED;
}

/* A refusal says not whether the message was there: that is asked. */
static cluster_store_answer ledger_call_remove(cluster_silo *silo, const char *subject,
                                               uint64_t revision)
{
    jsErrCode error = 0;
    natsStatus status = js_DeleteMsg(silo->ledger.js, silo->ledger.stream, revision, NULL, &error);
    cluster_store_record is = {0};
    if (status == NATS_OK)
        return CLUSTER_STORE_DONE;
    if (error == 0 || ledger_call_get(silo, subject, &is) != CLUSTER_STORE_DONE)
        return CLUSTER_STORE_FAILED;
    return is.revision != revision ? CLUSTER_STORE_CONFLICT : CLUSTER_STORE_FAILED;
}

static void ledger_carry_out(cluster_silo *silo, const cluster_ask *ask)
{
    char subject[LEDGER_SUBJECT_MAX];
    cluster_store_record record = {0};
    cluster_store_answer answer = CLUSTER_STORE_FAILED;
    ledger_subject(&silo->ledger, ask, subject);
    switch (ask->what) {
    case CLUSTER_ASK_GET:
        answer = ledger_call_get(silo, subject, &record);
        break;
    case CLUSTER_ASK_PUT:
        answer = ledger_call_put(silo, subject, ask, &record);
        break;
    case CLUSTER_ASK_REMOVE:
        answer = ledger_call_remove(silo, subject, ask->revision);
        break;
    }
    cluster_silo_lock(silo);
    if (!silo->ended)
        cluster_grains_answer(&silo->grains, cluster_silo_now(), ask->number, answer, &record);
    cluster_silo_unlock(silo);
}

/* ---- the threads ---- */

static cluster_ask *ledger_next(cluster_ledger *ledger)
{
    cluster_ask *ask = NULL;
    (void)pthread_mutex_lock(&ledger->mutex);
    while (ledger->first == NULL && !ledger->ends)
        (void)pthread_cond_wait(&ledger->cond, &ledger->mutex);
    if (!ledger->ends) {
        ask = ledger->first;
        ledger->first = ask->next;
    }
    (void)pthread_mutex_unlock(&ledger->mutex);
    return ask;
}

static void *ledger_run(void *arg)
{
    cluster_silo *silo = arg;
    cluster_ledger *ledger = &silo->ledger;
    int64_t answer_ns = silo->grains.settings.lease.answer_ns;
    cluster_ask *ask;
    while ((ask = ledger_next(ledger)) != NULL) {
        if (cluster_silo_now() - ask->asked_at < answer_ns)
            ledger_carry_out(silo, ask);
        (void)pthread_mutex_lock(&ledger->mutex);
        ledger->under_way -= (ask->number & CLUSTER_LEASE_ASKS) == 0;
        (void)pthread_mutex_unlock(&ledger->mutex);
        free(ask);
    }
    nats_ReleaseThreadMemory();
    return NULL;
}

bool cluster_ledger_is_busy(cluster_silo *silo)
{
    (void)pthread_mutex_lock(&silo->ledger.mutex);
    bool busy = silo->ledger.under_way > 0;
    (void)pthread_mutex_unlock(&silo->ledger.mutex);
    return busy;
}

/* ---- open, start, end, close ---- */

static void ledger_subjects(const cluster_ledger *ledger, char *out)
{
    (void)snprintf(out, LEDGER_SUBJECT_MAX, "%s.>", ledger->stream);
}

static natsStatus ledger_make(const cluster_ledger *ledger, jsStreamInfo **out)
{
    char subjects[LEDGER_SUBJECT_MAX];
    const char *all = subjects;
    jsStreamConfig config;
    natsStatus status = jsStreamConfig_Init(&config);
    ledger_subjects(ledger, subjects);
    config.Name = ledger->stream;
    config.Subjects = &all;
    config.SubjectsLen = 1;
    config.MaxMsgsPerSubject = 1;
    return status == NATS_OK ? js_AddStream(out, ledger->js, &config, NULL, NULL) : status;
}

/* Whether no record goes by itself in it, and each can be removed. */
static bool ledger_is_fit(const cluster_ledger *ledger, const jsStreamConfig *config)
{
    char subjects[LEDGER_SUBJECT_MAX];
    ledger_subjects(ledger, subjects);
    return config->MaxMsgsPerSubject == 1 && config->MaxAge == 0 && config->MaxMsgs <= 0 &&
           config->MaxBytes <= 0 && !config->DenyDelete && config->SubjectsLen == 1 &&
           strcmp(config->Subjects[0], subjects) == 0;
}

/* NATS_MISMATCH: one of another form. */
static natsStatus ledger_look(const cluster_ledger *ledger)
{
    jsStreamInfo *is = NULL;
    natsStatus status = js_GetStreamInfo(&is, ledger->js, ledger->stream, NULL, NULL);
    if (status == NATS_NOT_FOUND)
        status = ledger_make(ledger, &is);
    if (status != NATS_OK && is == NULL) /* another node has made it meanwhile */
        status = js_GetStreamInfo(&is, ledger->js, ledger->stream, NULL, NULL);
    if (status != NATS_OK)
        return status;
    if (!ledger_is_fit(ledger, is->Config))
        status = NATS_MISMATCH;
    jsStreamInfo_Destroy(is);
    return status;
}

axo_status cluster_ledger_open(cluster_silo *silo)
{
    cluster_ledger *ledger = &silo->ledger;
    jsOptions options;
    int64_t wait_ms = silo->cluster->options.lease_ms / 5;
    (void)snprintf(ledger->stream, sizeof ledger->stream, "%s_grains", silo->cluster->who->bucket);
    natsStatus status = jsOptions_Init(&options);
    options.Wait = wait_ms > LEDGER_WAIT_MS_MIN ? wait_ms : LEDGER_WAIT_MS_MIN;
    if (status == NATS_OK)
        status = cluster_nats_connect(silo->cluster, true, &ledger->connection);
    if (status == NATS_OK)
        status = natsConnection_JetStream(&ledger->js, ledger->connection, &options);
    if (status == NATS_OK)
        status = ledger_look(ledger);
    if (status == NATS_OK)
        return AXO_OK;
    return status == NATS_NO_MEMORY ? AXO_ENOMEM : AXO_ESYSTEM;
}

axo_status cluster_ledger_start(cluster_silo *silo)
{
    cluster_ledger *ledger = &silo->ledger;
    ledger->ends = false;
    while (ledger->runs < CLUSTER_LEDGER_THREADS &&
           cluster_thread(&ledger->threads[ledger->runs], ledger_run, silo))
        ledger->runs++;
    return ledger->runs == CLUSTER_LEDGER_THREADS ? AXO_OK : AXO_ETHREAD;
}

void cluster_ledger_end(cluster_silo *silo)
{
    cluster_ledger *ledger = &silo->ledger;
    (void)pthread_mutex_lock(&ledger->mutex);
    ledger->ends = true;
    (void)pthread_cond_broadcast(&ledger->cond);
    (void)pthread_mutex_unlock(&ledger->mutex);
    while (ledger->runs > 0)
        (void)pthread_join(ledger->threads[--ledger->runs], NULL);
    while (ledger->first != NULL) {
        cluster_ask *ask = ledger->first;
        ledger->first = ask->next;
        free(ask);
    }
    ledger->under_way = 0;
}

void cluster_ledger_close(cluster_silo *silo)
{
    cluster_ledger *ledger = &silo->ledger;
    jsCtx_Destroy(ledger->js);
    natsConnection_Destroy(ledger->connection);
    ledger->js = NULL;
    ledger->connection = NULL;
}
