/* stream.c - the stream of a store: its connection, and what may be published behind what. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../nats_options.h"
#include "durable-nats/jet.h"

#define STREAM_AGAIN_MS 100 /* between attempts to connect */
#define STREAM_PAUSE_MS 10
/* For one answer: what is not answered is asked again, on another connection perhaps. */
#define STREAM_ANSWER_MS 1000
#define STREAM_PING_MS   1000
#define STREAM_PINGS     3
#define STREAM_ID_MAX    64

int64_t jet_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

void jet_say(axo_store_problem *problem, int error, const char *what, const char *why)
{
    problem->error = error;
    (void)snprintf(problem->text, sizeof problem->text, "%.70s: %.80s", what, why);
}

static void stream_pause(void)
{
    const struct timespec pause = {.tv_nsec = STREAM_PAUSE_MS * 1000000};
    (void)nanosleep(&pause, NULL);
}

/* ---- the connection ---- */

static natsStatus stream_options(const axo_store_stream *from, natsOptions *to)
{
    natsStatus status =
        nats_options_fill(to, from->url, from->credentials, from->ca, from->stream);
    if (status == NATS_OK)
        status = natsOptions_SetReconnectWait(to, STREAM_AGAIN_MS);
    if (status == NATS_OK)
        status = natsOptions_SetPingInterval(to, STREAM_PING_MS);
    if (status == NATS_OK)
        status = natsOptions_SetMaxPingsOut(to, STREAM_PINGS);
    return status;
}

static natsStatus stream_connect(jet_stream *stream)
{
    natsOptions *options = NULL;
    natsStatus status = natsOptions_Create(&options);
    if (status == NATS_OK)
        status = stream_options(stream->settings, options);
    if (status == NATS_OK)
        status = natsConnection_Connect(&stream->connection, options);
    natsOptions_Destroy(options);
    return status == NATS_OK ? natsConnection_JetStream(&stream->js, stream->connection, NULL)
                             : status;
}

/* ---- the stream ---- */

static natsStatus stream_make(jet_stream *stream, jsStreamInfo **info)
{
    const char *subjects[] = {stream->subject};
    jsStreamConfig config;
    jsOptions options;
    natsStatus status = jsStreamConfig_Init(&config);
    if (status == NATS_OK)
        status = jsOptions_Init(&options);
    if (status != NATS_OK)
        return status;
    config.Name = stream->name;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Storage = js_FileStorage;
    config.Discard = js_DiscardNew;
    config.Replicas = stream->settings->replicas != 0 ? stream->settings->replicas : 1;
    options.Wait = stream->wait_ms;
    return js_AddStream(info, stream->js, &config, &options, NULL);
}

static natsStatus stream_info(jet_stream *stream, int64_t wait_ms, jsStreamInfo **info)
{
    jsOptions options;
    natsStatus status = jsOptions_Init(&options);
    options.Wait = wait_ms;
    if (status == NATS_OK)
        status = js_GetStreamInfo(info, stream->js, stream->name, &options, NULL);
    return status;
}

/* Whether the server keeps what it has acknowledged, and only that of the store. */
static bool stream_keeps(const jet_stream *stream, const jsStreamConfig *config)
{
    return config->Retention == js_LimitsPolicy && config->MaxAge == 0 && config->MaxMsgs <= 0 &&
           config->MaxMsgsPerSubject <= 0 && config->Mirror == NULL && config->SourcesLen == 0 &&
           !config->NoAck && !config->Sealed && config->Storage == js_FileStorage &&
           (config->MaxBytes < 0 || config->Discard == js_DiscardNew) && config->SubjectsLen == 1 &&
           strcmp(config->Subjects[0], stream->subject) == 0;
}

static axo_status stream_look(jet_stream *stream, const jsStreamInfo *info,
                              axo_store_problem *problem)
{
    const jsStreamConfig *config = info->Config;
    if (!stream_keeps(stream, config)) {
        jet_say(problem, 0, stream->name,
                "a stream for a store discards new messages and no others, in a file, of its "
                "subject");
        return AXO_EVERSION;
    }
    if (info->State.NumDeleted > 0 || (info->State.Msgs == 0 && info->State.LastSeq > 0)) {
        jet_say(problem, DURABLE_CORRUPTED, stream->name, "messages of the stream are missing");
        return AXO_ESYSTEM;
    }
    stream->first = info->State.Msgs > 0 ? info->State.FirstSeq : 0;
    stream->tail = info->State.LastSeq;
    stream->max_bytes = config->MaxBytes >= 0 ? (uint64_t)config->MaxBytes : UINT64_MAX;
    return AXO_OK;
}

axo_status jet_stream_open(jet_stream *stream, axo_store_problem *problem)
{
    jsStreamInfo *info = NULL;
    natsStatus status = stream_connect(stream);
    if (status == NATS_OK)
        status = stream_info(stream, stream->wait_ms, &info);
    if (status == NATS_NOT_FOUND)
        status = stream_make(stream, &info);
    if (status != NATS_OK) {
        const char *why = nats_GetLastError(NULL);
        jet_say(problem, ENOTCONN, natsStatus_GetText(status), why != NULL ? why : "");
        return status == NATS_NO_MEMORY ? AXO_ENOMEM : AXO_ESYSTEM;
    }
    axo_status result = stream_look(stream, info, problem);
    jsStreamInfo_Destroy(info);
    return result;
}

void jet_stream_close(jet_stream *stream)
{
    jsCtx_Destroy(stream->js);
    natsConnection_Destroy(stream->connection);
    stream->js = NULL;
    stream->connection = NULL;
}

/* ---- what is behind the tail ---- */

static bool stream_is_there(const jet_stream *stream)
{
    return natsConnection_Status(stream->connection) == NATS_CONN_STATUS_CONNECTED;
}

static int stream_lose(jet_stream *stream, int error)
{
    stream->lost = error;
    return error;
}

static bool stream_read_head(jet_stream *stream, uint64_t sequence, jet_head *head)
{
    natsMsg *message = NULL;
    jsOptions options;
    natsStatus status = jsOptions_Init(&options);
    options.Wait = STREAM_ANSWER_MS;
    if (status == NATS_OK)
        status = js_GetMsg(&message, stream->js, stream->name, sequence, &options, NULL);
    if (status != NATS_OK)
        return false;
    memset(head, 0, sizeof *head);
    if (natsMsg_GetDataLength(message) >= (int)sizeof *head)
        memcpy(head, natsMsg_GetData(message), sizeof *head);
    natsMsg_Destroy(message);
    return true;
}

/* Asks once what is behind the tail; *last is the head of the last message, if that is. By J1 all
 * there is of the writer of the last one. ENOTCONN: no answer. */
static int stream_ask(jet_stream *stream, jet_head *last)
{
    jsStreamInfo *info = NULL;
    *last = (jet_head){.magic = 0};
    if (stream_info(stream, STREAM_ANSWER_MS, &info) != NATS_OK)
        return ENOTCONN;
    uint64_t tail = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    if (tail < stream->tail)
        return stream_lose(stream, ESTALE);
    if (tail > stream->tail && !stream_read_head(stream, tail, last))
        return ENOTCONN;
    if (tail > stream->tail && last->run != stream->run)
        return stream_lose(stream, EBUSY);
    stream->tail = tail;
    stream->doubtful = false;
    return 0;
}

static int stream_find_tail(jet_stream *stream, int64_t until, jet_head *last)
{
    int error = stream_ask(stream, last);
    while (error == ENOTCONN && jet_now() < until) {
        stream_pause();
        error = stream_ask(stream, last);
    }
    return error;
}

int jet_stream_ready(jet_stream *stream)
{
    const int64_t until = jet_now() + stream->wait_ms;
    jet_head last;
    if (stream->lost != 0)
        return stream->lost;
    while (!stream_is_there(stream)) {
        if (jet_now() >= until)
            return ENOTCONN;
        stream_pause();
    }
    return stream->doubtful ? stream_find_tail(stream, until, &last) : 0;
}

/* ---- publishing ---- */

static natsStatus stream_publish(jet_stream *stream, const jet_head *head, const void *bytes,
                                 size_t size, int64_t wait_ms, jsErrCode *error)
{
    char id[STREAM_ID_MAX];
    jsPubAck *ack = NULL;
    jsPubOptions options;
    natsStatus status = jsPubOptions_Init(&options);
    (void)snprintf(id, sizeof id, "%016llx.%llu.%u", (unsigned long long)head->run,
                   (unsigned long long)head->number, head->part);
    options.MaxWait = wait_ms;
    options.MsgId = id;
    options.ExpectLastSeq = stream->tail;
    options.ExpectNoMessage = stream->tail == 0; /* the option knows no 0 */
    if (status == NATS_OK)
        status = js_Publish(&ack, stream->js, stream->subject, bytes, (int)size, &options, error);
    if (status == NATS_OK)
        stream->tail = ack->Sequence;
    jsPubAck_Destroy(ack);
    return status;
}

static int stream_refused(jsErrCode error)
{
    switch ((int)error) {
    case JSAccountResourcesExceededErr:
    case JSInsufficientResourcesErr:
    case JSStorageResourcesExceededErr:
    case JSStreamStoreFailedErr:
        return ENOSPC;
    default:
        return EIO;
    }
}

/* What was published before, and not heard of, may have come between; or this one itself. */
static int stream_settle(jet_stream *stream, const jet_head *head, int64_t until, bool *stored)
{
    jet_head last;
    int error = stream_find_tail(stream, until, &last);
    *stored = error == 0 && last.number == head->number && last.part == head->part &&
              last.run == head->run;
    return error;
}

/* Once it has gone out without an answer, only that it is stored can be known. */
int jet_stream_publish(jet_stream *stream, jet_head *head, void *bytes, size_t size)
{
    const int64_t until = jet_now() + stream->wait_ms;
    int nobody_knows = ENOTCONN;
    head->magic = JET_MAGIC;
    head->version = JET_VERSION;
    head->run = stream->run;
    memcpy(bytes, head, sizeof *head);
    for (int64_t now = jet_now(); now < until; now = jet_now()) {
        jsErrCode refusal = 0;
        bool stored = false;
        int error = 0;
        int64_t wait = until - now < STREAM_ANSWER_MS ? until - now : STREAM_ANSWER_MS;
        if (stream_is_there(stream)) {
            stream->doubtful = true;
            stored = stream_publish(stream, head, bytes, size, wait, &refusal) == NATS_OK;
            if (!stored && refusal == 0)
                nobody_knows = ETIMEDOUT;
        }
        if (refusal == JSStreamWrongLastSequenceErr)
            error = stream_settle(stream, head, until, &stored);
        else if (refusal != 0)
            error = stream_refused(refusal);
        if (stored) {
            stream->doubtful = false;
            return 0;
        }
        if (error != 0 && error != ENOTCONN)
            return nobody_knows == ETIMEDOUT ? ETIMEDOUT : error;
        stream_pause();
    }
    return nobody_knows;
}

/* A server that goes in the midst of it is not waited for: the log may then be shorter than is
 * counted. */
bool jet_stream_purge(jet_stream *stream, uint64_t below)
{
    jsOptions options;
    natsStatus status = jsOptions_Init(&options);
    options.Wait = STREAM_ANSWER_MS;
    options.Stream.Purge.Sequence = below;
    if (status == NATS_OK)
        status = js_PurgeStream(stream->js, stream->name, &options, NULL);
    return status == NATS_OK;
}

/* ---- reading ---- */

natsStatus jet_reader_open(jet_stream *stream, jet_reader *reader)
{
    jsSubOptions options;
    natsStatus status = jsSubOptions_Init(&options);
    options.Ordered = true;
    options.Stream = stream->name;
    reader->subscription = NULL;
    if (status == NATS_OK)
        status = js_SubscribeSync(&reader->subscription, stream->js, stream->subject, NULL,
                                  &options, NULL);
    if (status == NATS_OK)
        status = natsSubscription_SetPendingLimits(reader->subscription, -1, -1);
    return status;
}

natsStatus jet_reader_next(jet_stream *stream, jet_reader *reader, natsMsg **message,
                           uint64_t *sequence)
{
    jsMsgMetaData *meta = NULL;
    natsStatus status = natsSubscription_NextMsg(message, reader->subscription, stream->wait_ms);
    if (status == NATS_OK)
        status = natsMsg_GetMetaData(&meta, *message);
    if (status != NATS_OK)
        return status;
    *sequence = meta->Sequence.Stream;
    jsMsgMetaData_Destroy(meta);
    return NATS_OK;
}

void jet_reader_close(jet_reader *reader)
{
    if (reader->subscription != NULL)
        (void)natsSubscription_Unsubscribe(reader->subscription);
    natsSubscription_Destroy(reader->subscription);
    reader->subscription = NULL;
}
