/* kv_connection.h - an actor for each connection: takes requests from its stream, asks the shards,
 * and writes the answers in the order of the requests, whichever comes first. */
#ifndef KV_CONNECTION_H
#define KV_CONNECTION_H

#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

#include "kv.h"
#include "kv_resp.h"

/* What becomes of the shards' answers to one request. */
typedef enum slot_kind {
    SLOT_AS_IT_IS = 0, /* there is one */
    SLOT_ALL = 1,      /* +OK, if none is an error */
    SLOT_SUM = 2
} slot_kind;

/* An answer that is not written yet. */
typedef struct slot {
    char *text; /* once it is whole; of several parts: the first error */
    uint32_t size;
    uint32_t waiting; /* parts that have not come */
    int64_t sum;
    uint8_t kind;   /* a slot_kind */
    uint8_t counts; /* 1: it ends a request; 0: more answers of the same one follow */
} slot;

typedef struct connection {
    kv *kv;
    axo_stream *stream;
    slot *slots;          /* KV_WINDOW of them, while there are answers to wait for */
    uint64_t first, next; /* numbers of slots: those that wait */
    uint32_t part;        /* words that are done, of a request of more slots than are free */
    bool over;            /* takes no more requests */
    bool last;            /* the server ends: those that have come are the last */
    bool closing;         /* the stream is */
    size_t texts;         /* bytes of answers that wait for their turn */
    uint64_t executed, answered, refused, asked; /* not in the totals yet */
} connection;

/* ---- slots: answers in order ---- */

static slot *slot_at(const connection *me, uint64_t number)
{
    return &me->slots[number % KV_WINDOW];
}

static bool slot_is_whole(const slot *it)
{
    return it->waiting == 0;
}

/* The stream owes an answer more. The caller has asked it for room. */
static slot *slot_open(axo_ctx *ctx, connection *me, slot_kind kind, uint32_t parts)
{
    if (me->slots == NULL)
        me->slots = malloc(KV_WINDOW * sizeof(slot));
    if (me->slots == NULL || axo_stream_owe(ctx, me->stream, 1) != AXO_OK)
        return NULL;
    slot *it = slot_at(me, me->next++);
    *it = (slot){.kind = (uint8_t)kind, .waiting = parts, .counts = 1};
    me->executed++;
    return it;
}

/* The request goes on in the next slot. */
static void slot_goes_on(connection *me, slot *it)
{
    it->counts = 0;
    me->executed--;
}

/* The first one is over, by this answer. */
static void slot_close(connection *me, const char *text)
{
    const slot *it = slot_at(me, me->first++);
    me->answered += it->counts && text[0] != '-';
    me->refused += it->counts && text[0] == '-';
}

static axo_status slot_write(axo_ctx *ctx, connection *me, const char *text, size_t size)
{
    slot_close(me, text);
    return axo_stream_answer(ctx, me->stream, text, size);
}

static void text_free(void *payload, void *user)
{
    (void)user;
    free(payload);
}

/* What has been held is handed over: the stream sends it from where it lies, and frees it. */
static axo_status slot_write_held(axo_ctx *ctx, connection *me, const slot *it)
{
    const axo_owned block = {.payload = it->text, .size = it->size, .destroy = text_free};
    me->texts -= it->size;
    slot_close(me, it->text);
    axo_status status = axo_stream_answer_owned(ctx, me->stream, &block);
    if (status != AXO_OK)
        free(block.payload); /* it is still this one's */
    return status;
}

/* The text becomes the slot's. */
static axo_status slot_keep(connection *me, slot *it, char *text, size_t size)
{
    if (text == NULL)
        return AXO_ENOMEM;
    it->text = text;
    it->size = (uint32_t)size;
    me->texts += size;
    return AXO_OK;
}

static axo_status slot_hold(connection *me, slot *it, const char *text, size_t size)
{
    char *copy = malloc(size);
    if (copy != NULL)
        memcpy(copy, text, size);
    return slot_keep(me, it, copy, size);
}

/* The answer is known. Who is first is written, others wait for their turn. */
static axo_status slot_answer(axo_ctx *ctx, connection *me, slot *it, resp_word answer)
{
    if (it == slot_at(me, me->first))
        return slot_write(ctx, me, answer.data, answer.size);
    return slot_hold(me, it, answer.data, answer.size);
}

/* A shard's answer, perhaps one of several. */
static axo_status slot_part(axo_ctx *ctx, connection *me, slot *it, resp_word text, int64_t number)
{
    char head[RESP_HEAD_MAX];
    it->waiting--;
    if (it->kind == SLOT_AS_IT_IS)
        return slot_answer(ctx, me, it, text);
    it->sum += number;
    if (text.data[0] == '-' && it->text == NULL &&
        slot_hold(me, it, text.data, text.size) != AXO_OK)
        return AXO_ENOMEM;
    if (!slot_is_whole(it) || it->text != NULL)
        return AXO_OK;
    if (it->kind == SLOT_ALL)
        return slot_answer(ctx, me, it, (resp_word){.data = "+OK\r\n", .size = 5});
    size_t size = resp_head(head, ':', it->sum);
    return slot_answer(ctx, me, it, (resp_word){.data = head, .size = size});
}

/* Writes those that are whole and have waited for their turn. */
static axo_status slots_write(axo_ctx *ctx, connection *me)
{
    axo_status status = AXO_OK;
    while (status == AXO_OK && me->first < me->next && slot_is_whole(slot_at(me, me->first)))
        status = slot_write_held(ctx, me, slot_at(me, me->first));
    if (me->first == me->next) {
        free(me->slots);
        me->slots = NULL;
    }
    return status;
}

/* ---- requests ---- */

typedef struct command command;
typedef axo_status (*command_run)(axo_ctx *ctx, connection *me, const command *it,
                                  const resp_request *request);
struct command {
    const char *name;
    uint32_t words_min;
    uint32_t words_max;
    command_run run;
    kv_operation operation;
    slot_kind kind;
    uint32_t step; /* words of a part: a key, or a key and a value */
};

static axo_status connection_say(axo_ctx *ctx, connection *me, const char *text)
{
    slot *it = slot_open(ctx, me, SLOT_AS_IT_IS, 0);
    if (it == NULL)
        return AXO_ENOMEM;
    return slot_answer(ctx, me, it, (resp_word){.data = text, .size = strlen(text)});
}

static axo_status connection_say_bulk(axo_ctx *ctx, connection *me, resp_word text)
{
    char head[RESP_HEAD_MAX];
    slot *it = slot_open(ctx, me, SLOT_AS_IT_IS, 0);
    size_t size = resp_head(head, '$', (int64_t)text.size);
    char *whole = it != NULL ? malloc(size + text.size + 2) : NULL;
    if (whole == NULL)
        return AXO_ENOMEM;
    memcpy(whole, head, size);
    memcpy(whole + size, text.data, text.size);
    memcpy(whole + size + text.size, "\r\n", 2);
    return slot_keep(me, it, whole, size + text.size + 2); /* slots_write follows */
}

/* Asks a shard for a part of a slot. */
static axo_status connection_ask(axo_ctx *ctx, connection *me, slot *it, uint32_t index,
                                 const kv_do *what, const resp_word *words)
{
    axo_draft *draft;
    void *payload;
    uint32_t tag = KV_DO + (uint32_t)(it - me->slots);
    axo_status status = axo_message_new(ctx, tag, sizeof *what + what->key_size + what->value_size,
                                        &draft, &payload);
    if (status != AXO_OK)
        return status;
    kv_do *message = payload;
    *message = *what;
    if (what->key_size > 0)
        memcpy(message->bytes, words[0].data, what->key_size);
    if (what->value_size > 0)
        memcpy(message->bytes + what->key_size, words[1].data, what->value_size);
    status = axo_send_message(ctx, me->kv->shards[index], draft);
    me->asked += status == AXO_OK;
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(ctx, draft);
    if (status == AXO_EGONE) /* the server ends */
        return slot_part(ctx, me, it, (resp_word){.data = "-ERR no shard\r\n", .size = 15}, 0);
    return status;
}

static axo_status connection_ask_key(axo_ctx *ctx, connection *me, slot *it, const command *what,
                                     const resp_word *words)
{
    kv_do request = {.operation = what->operation,
                     .key_size = (uint32_t)words[0].size,
                     .value_size = what->step > 1 ? (uint32_t)words[1].size : 0,
                     .hash = table_hash(me->kv->seed, words[0].data, words[0].size)};
    return connection_ask(ctx, me, it, kv_shard_of(me->kv, request.hash), &request, words);
}

/* One answer, of one key or of all. */
static axo_status command_keys(axo_ctx *ctx, connection *me, const command *it,
                               const resp_request *request)
{
    if ((request->count - 1) % it->step != 0)
        return connection_say(ctx, me, "-ERR wrong number of arguments\r\n");
    slot *answer = slot_open(ctx, me, it->kind, (request->count - 1) / it->step);
    axo_status status = answer != NULL ? AXO_OK : AXO_ENOMEM;
    for (uint32_t i = 1; i < request->count && status == AXO_OK; i += it->step)
        status = connection_ask_key(ctx, me, answer, it, &request->words[i]);
    return status;
}

/* An answer for each key: as many as there is room for, the rest when there is again. */
static axo_status command_mget(axo_ctx *ctx, connection *me, const command *it,
                               const resp_request *request)
{
    axo_status status = AXO_OK;
    if (me->part == 0) {
        char head[RESP_HEAD_MAX];
        size_t size = resp_head(head, '*', request->count - 1);
        slot *first = slot_open(ctx, me, SLOT_AS_IT_IS, 0);
        if (first == NULL)
            return AXO_ENOMEM;
        slot_goes_on(me, first);
        me->part = 1;
        status = slot_answer(ctx, me, first, (resp_word){.data = head, .size = size});
    }
    while (status == AXO_OK && me->part < request->count &&
           axo_stream_has_room(ctx, me->stream)) {
        slot *answer = slot_open(ctx, me, SLOT_AS_IT_IS, 1);
        if (answer == NULL)
            return AXO_ENOMEM;
        if (me->part + 1 < request->count)
            slot_goes_on(me, answer);
        status = connection_ask_key(ctx, me, answer, it, &request->words[me->part++]);
    }
    if (me->part == request->count)
        me->part = 0;
    return status;
}

static axo_status command_dbsize(axo_ctx *ctx, connection *me, const command *it,
                                 const resp_request *request)
{
    const kv_do count = {.operation = KV_COUNT};
    slot *answer = slot_open(ctx, me, SLOT_SUM, me->kv->shards_count);
    axo_status status = answer != NULL ? AXO_OK : AXO_ENOMEM;
    (void)it;
    (void)request;
    for (uint32_t i = 0; i < me->kv->shards_count && status == AXO_OK; i++)
        status = connection_ask(ctx, me, answer, i, &count, NULL);
    return status;
}

static axo_status command_ping(axo_ctx *ctx, connection *me, const command *it,
                               const resp_request *request)
{
    (void)it;
    return request->count > 1 ? connection_say_bulk(ctx, me, request->words[1])
                              : connection_say(ctx, me, "+PONG\r\n");
}

static axo_status command_quit(axo_ctx *ctx, connection *me, const command *it,
                               const resp_request *request)
{
    (void)it;
    (void)request;
    me->over = true;
    return connection_say(ctx, me, "+OK\r\n");
}

/* No commands are described. */
static axo_status command_command(axo_ctx *ctx, connection *me, const command *it,
                                  const resp_request *request)
{
    (void)it;
    (void)request;
    return connection_say(ctx, me, "*0\r\n");
}

/* Every setting is empty: what redis-benchmark asks for. */
static axo_status command_config(axo_ctx *ctx, connection *me, const command *it,
                                 const resp_request *request)
{
    char text[256];
    (void)it;
    if (!resp_is(request->words[1], "GET") || request->words[2].size > 128)
        return connection_say(ctx, me, "-ERR only CONFIG GET\r\n");
    int size =
        snprintf(text, sizeof text, "*2\r\n$%zu\r\n%.*s\r\n$0\r\n\r\n", request->words[2].size,
                 (int)request->words[2].size, request->words[2].data);
    slot *answer = slot_open(ctx, me, SLOT_AS_IT_IS, 0);
    if (answer == NULL)
        return AXO_ENOMEM;
    return slot_answer(ctx, me, answer, (resp_word){.data = text, .size = (size_t)size});
}

static axo_status command_info(axo_ctx *ctx, connection *me, const command *it,
                               const resp_request *request)
{
    char text[400];
    kv_totals *all = &me->kv->totals;
    (void)it;
    (void)request;
    int size =
        snprintf(text, sizeof text,
                 "connections:%" PRIuFAST64 "\r\nexecuted:%" PRIuFAST64 "\r\nanswered:%" PRIuFAST64
                 "\r\nrefused:%" PRIuFAST64 "\r\ngone:%" PRIuFAST64 "\r\nheld_most:%zu"
                 "\r\nbytes:%" PRIdFAST64 "\r\n",
                 atomic_load(&all->connections), atomic_load(&all->executed),
                 atomic_load(&all->answered), atomic_load(&all->refused), atomic_load(&all->gone),
                 atomic_load(&all->held_most), atomic_load(&me->kv->taken));
    return connection_say_bulk(ctx, me, (resp_word){.data = text, .size = (size_t)size});
}

/* A line for each actor, from the root down, at most TREE_MAX of them. Each level looks at every
 * actor of the system: a command for people. */
enum { TREE_MAX = 200, TREE_LEVELS = 6, TREE_LINE = 400 };

static int tree_line(axo_ctx *ctx, axo_ref ref, char *out)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    if (axo_inspect(ctx, ref, axo_ref_none(), &info) != AXO_OK)
        return 0; /* it has ended */
    return snprintf(out, TREE_LINE, "%s %s %s queued %u restarts %u\r\n", info.path,
                    info.class_name, axo_doing_name(info.doing), info.queued,
                    info.instance > 0 ? info.instance - 1 : 0);
}

static axo_status command_tree(axo_ctx *ctx, connection *me, const command *it,
                               const resp_request *request)
{
    char pattern[2 * TREE_LEVELS + 2] = "/";
    axo_ref found[TREE_MAX];
    uint32_t all = 0;
    uint32_t count = 1;
    size_t size = 0;
    char *text = malloc((TREE_MAX + 1) * TREE_LINE);
    (void)it;
    (void)request;
    if (text == NULL)
        return AXO_ENOMEM;
    for (uint32_t level = 0; level < TREE_LEVELS && count > 0 && all < TREE_MAX; level++) {
        if (axo_find_all(ctx, pattern, found, TREE_MAX - all, &count) != AXO_OK)
            break;
        for (uint32_t i = 0; i < count && all < TREE_MAX; i++, all++)
            size += (size_t)tree_line(ctx, found[i], text + size);
        (void)strcat(pattern, level > 0 ? "/*" : "*");
    }
    if (all == TREE_MAX)
        size += (size_t)snprintf(text + size, TREE_LINE, "... perhaps more\r\n");
    axo_status status = connection_say_bulk(ctx, me, (resp_word){.data = text, .size = size});
    free(text);
    return status;
}

/* As SIGTERM does: what was asked is answered, this too. */
static axo_status command_shutdown(axo_ctx *ctx, connection *me, const command *it,
                                   const resp_request *request)
{
    (void)it;
    (void)request;
    axo_status status = axo_send(ctx, me->kv->server, KV_SHUTDOWN, NULL, 0);
    if (status != AXO_OK && status != AXO_EGONE)
        return status;
    return connection_say(ctx, me, "+OK\r\n");
}

/* DEBUG PANIC fails the connection, DEBUG POISON key the key's shard. */
static axo_status command_debug(axo_ctx *ctx, connection *me, const command *it,
                                const resp_request *request)
{
    if (resp_is(request->words[1], "PANIC")) {
        if (slot_open(ctx, me, SLOT_AS_IT_IS, 1) == NULL)
            return AXO_ENOMEM;
        return axo_fail(ctx, 14, "panic");
    }
    if (!resp_is(request->words[1], "POISON") || request->count < 3)
        return connection_say(ctx, me, "-ERR only DEBUG PANIC, DEBUG POISON key\r\n");
    slot *answer = slot_open(ctx, me, SLOT_AS_IT_IS, 1);
    if (answer == NULL)
        return AXO_ENOMEM;
    return connection_ask_key(ctx, me, answer, it, &request->words[2]);
}

static const command commands[] = {
    {"GET", 2, 2, command_keys, KV_GET, SLOT_AS_IT_IS, 1},
    {"SET", 3, 3, command_keys, KV_SET, SLOT_AS_IT_IS, 2},
    {"INCR", 2, 2, command_keys, KV_INCREMENT, SLOT_AS_IT_IS, 1},
    {"DEL", 2, RESP_WORDS_MAX, command_keys, KV_DELETE, SLOT_SUM, 1},
    {"EXISTS", 2, RESP_WORDS_MAX, command_keys, KV_EXISTS, SLOT_SUM, 1},
    {"MSET", 3, RESP_WORDS_MAX, command_keys, KV_SET, SLOT_ALL, 2},
    {"MGET", 2, RESP_WORDS_MAX, command_mget, KV_GET, SLOT_AS_IT_IS, 1},
    {"DBSIZE", 1, 1, command_dbsize, KV_COUNT, SLOT_SUM, 1},
    {"PING", 1, 2, command_ping, KV_GET, SLOT_AS_IT_IS, 1},
    {"ECHO", 2, 2, command_ping, KV_GET, SLOT_AS_IT_IS, 1},
    {"INFO", 1, 2, command_info, KV_GET, SLOT_AS_IT_IS, 1},
    {"COMMAND", 1, RESP_WORDS_MAX, command_command, KV_GET, SLOT_AS_IT_IS, 1},
    {"CONFIG", 3, 3, command_config, KV_GET, SLOT_AS_IT_IS, 1},
    {"DEBUG", 2, 3, command_debug, KV_POISON, SLOT_AS_IT_IS, 1},
    {"EXPIRE", 3, 3, command_keys, KV_EXPIRE, SLOT_AS_IT_IS, 2},
    {"TTL", 2, 2, command_keys, KV_TTL, SLOT_AS_IT_IS, 1},
    {"TREE", 1, 1, command_tree, KV_GET, SLOT_AS_IT_IS, 1},
    {"SHUTDOWN", 1, 2, command_shutdown, KV_GET, SLOT_AS_IT_IS, 1},
    {"QUIT", 1, 1, command_quit, KV_GET, SLOT_AS_IT_IS, 1},
};

static axo_status connection_run(axo_ctx *ctx, connection *me, const resp_request *request)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const command *it = &commands[i];
        if (!resp_is(request->words[0], it->name))
            continue;
        if (request->count < it->words_min || request->count > it->words_max)
            return connection_say(ctx, me, "-ERR wrong number of arguments\r\n");
        return it->run(ctx, me, it, request);
    }
    return connection_say(ctx, me, "-ERR unknown command\r\n");
}

/* ---- the stream ---- */

/* What is no request is told, and ends the connection. */
static axo_status connection_refuse(axo_ctx *ctx, connection *me, const char *text)
{
    me->over = true;
    return connection_say(ctx, me, text);
}

/* The next request, if all of it is there. */
static axo_status connection_take(axo_ctx *ctx, connection *me, bool *took)
{
    axo_stream_bytes all;
    resp_request request;
    *took = false;
    if (axo_stream_peek(ctx, me->stream, &all) != AXO_OK)
        return AXO_OK;
    resp_found found = resp_parse(all.data, all.size, &request);
    if (found == RESP_PART) {
        if (axo_stream_next(ctx, me->stream, request.bytes, &all) != AXO_ETOOBIG)
            return AXO_OK;
        return connection_refuse(ctx, me, "-ERR Protocol error: the request is too long\r\n");
    }
    if (found == RESP_WRONG)
        return connection_refuse(ctx, me, "-ERR Protocol error\r\n");
    *took = true;
    axo_status status = request.count > 0 ? connection_run(ctx, me, &request) : AXO_OK;
    if (status == AXO_OK && me->part == 0)
        status = axo_stream_next(ctx, me->stream, request.bytes, &all);
    return status;
}

/* Behind every message: writes what can be written, takes what can be answered. */
static axo_status connection_go_on(axo_ctx *ctx, connection *me)
{
    bool took = true;
    axo_status status = AXO_OK;
    while (status == AXO_OK && took && !me->over && axo_stream_has_room(ctx, me->stream)) {
        status = connection_take(ctx, me, &took);
        if (status == AXO_OK)
            status = slots_write(ctx, me);
    }
    if (status != AXO_OK || me->closing || me->first < me->next)
        return status;
    me->closing = me->over || (me->last && !took) || axo_stream_ended(ctx, me->stream);
    return me->closing ? axo_stream_close(ctx, me->stream, me->kv->drain_ns) : AXO_OK;
}

/* ---- the actor ---- */

static void connection_count(connection *me)
{
    kv_totals *all = &me->kv->totals;
    atomic_fetch_add(&all->executed, me->executed);
    atomic_fetch_add(&all->answered, me->answered);
    atomic_fetch_add(&all->refused, me->refused);
    atomic_fetch_add(&all->asked, me->asked);
    me->executed = me->answered = me->refused = me->asked = 0;
}

/* However it ends. */
static void connection_clean(void *arg)
{
    connection *me = arg;
    uint64_t gone = 0;
    for (; me->first < me->next; me->first++) {
        gone += slot_at(me, me->first)->counts;
        free(slot_at(me, me->first)->text);
    }
    free(me->slots);
    atomic_fetch_add(&me->kv->totals.gone, gone);
    connection_count(me);
}

static axo_status connection_construct(axo_ctx *ctx, void *state, const void *args)
{
    connection *me = state;
    memcpy(&me->kv, args, sizeof me->kv);
    atomic_fetch_add(&me->kv->totals.connections, 1);
    return axo_defer(ctx, connection_clean, me);
}

static axo_status connection_accept(axo_ctx *ctx, connection *me, const axo_message *message)
{
    const axo_stream_settings settings =
        AXO_STREAM_SETTINGS(.input_max = me->kv->request_max, .idle_ns = me->kv->idle_ns,
                            .write_ns = me->kv->write_ns, .outstanding_bytes = KV_OUTSTANDING,
                            .outstanding_max = KV_WINDOW,
                            .outstanding_answer = (uint32_t)me->kv->answer_max);
    return axo_stream_accept(ctx, message, &settings, &me->stream);
}

static axo_status connection_done(axo_ctx *ctx, connection *me, const axo_message *message)
{
    const kv_done *done = message->payload;
    resp_word text = {.data = done->text, .size = message->size - offsetof(kv_done, text)};
    return slot_part(ctx, me, &me->slots[message->tag - KV_DONE], text, done->number);
}

/* The shard has failed under a request; it goes on with the next. */
static axo_status connection_failed(axo_ctx *ctx, connection *me, const axo_message *message)
{
    char text[AXO_FAILURE_TEXT_MAX + 32];
    axo_request_failed why = axo_request_failed_of(message);
    int size = snprintf(text, sizeof text, "-ERR failed: %s\r\n", why.text);
    return slot_part(ctx, me, &me->slots[why.tag - KV_DO],
                     (resp_word){.data = text, .size = (size_t)size}, 0);
}

static axo_status connection_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    connection *me = state;
    axo_status status = AXO_OK;
    if (message->tag == AXO_CONNECTED)
        return connection_accept(ctx, me, message);
    if (message->tag >= KV_DONE && message->tag < KV_DONE + KV_WINDOW) {
        status = connection_done(ctx, me, message);
    } else if (message->tag == AXO_REQUEST_FAILED) {
        status = connection_failed(ctx, me, message);
    } else if (message->tag == AXO_DISCONNECT) {
        me->last = true;
        (void)axo_stream_pause(ctx, me->stream);
    } else {
        uint32_t events = axo_stream_receive(ctx, me->stream, message);
        if (events == 0)
            return AXO_UNHANDLED;
        if ((events & AXO_STREAM_CLOSED) != 0)
            return axo_stop_self(ctx);
    }
    if (status == AXO_OK)
        status = slots_write(ctx, me);
    return status == AXO_OK ? connection_go_on(ctx, me) : status;
}

/* What the connection holds, before what it may write is gone. */
static void connection_measure(axo_ctx *ctx, const connection *me)
{
    axo_stream_info info = AXO_STREAM_INFO();
    if (!me->kv->bytes || axo_stream_look(ctx, me->stream, &info) != AXO_OK)
        return;
    size_t held = info.output + me->texts;
    size_t most = atomic_load(&me->kv->totals.held_most);
    while (held > most && !atomic_compare_exchange_weak(&me->kv->totals.held_most, &most, held))
        ; /* another has measured more, or less */
}

/* At the end of a turn: all its answers are one write. */
static axo_status connection_settle(axo_ctx *ctx, void *state)
{
    connection_count(state);
    connection_measure(ctx, state);
    return axo_stream_settle(ctx, ((connection *)state)->stream);
}

static const char *connection_tag_name(uint32_t tag)
{
    return tag >= KV_DONE && tag < KV_DONE + KV_WINDOW ? "DONE" : NULL;
}

static const axo_class connection_class =
    AXO_CLASS(.name = "connection", .state_size = sizeof(connection),
              .construct = connection_construct, .receive = connection_receive,
              .settle = connection_settle, .tag_name = connection_tag_name);

#endif
