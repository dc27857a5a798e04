/* kv_shard.h - an actor that holds a part of the keys. It is asked by messages and answers each. */
#ifndef KV_SHARD_H
#define KV_SHARD_H

#include <stddef.h>

#include "kv.h"
#include "kv_resp.h"

typedef struct shard {
    kv_home *home;
} shard;

typedef struct shard_answer {
    int64_t number;
    const char *head;
    size_t head_size;
    const table_entry *value; /* NULL: none */
} shard_answer;

/* Answers by a message that is written where it is sent from. */
static axo_status shard_reply(axo_ctx *ctx, const axo_message *message, const shard_answer *answer)
{
    axo_draft *draft;
    void *payload;
    size_t value = answer->value != NULL ? answer->value->value_size + 2U : 0;
    axo_status status =
        axo_message_new(ctx, message->tag - KV_DO + KV_DONE,
                        offsetof(kv_done, text) + answer->head_size + value, &draft, &payload);
    if (status != AXO_OK)
        return status;
    kv_done *done = payload;
    done->number = answer->number;
    memcpy(done->text, answer->head, answer->head_size);
    if (answer->value != NULL) {
        memcpy(done->text + answer->head_size, table_value(answer->value), value - 2);
        memcpy(done->text + answer->head_size + value - 2, "\r\n", 2);
    }
    status = axo_send_message(ctx, message->sender, draft);
    if (status != AXO_OK && status != AXO_EGONE)
        axo_message_discard(ctx, draft);
    /* The connection has ended, or is of a node that takes no more, and has a time limit. */
    return status == AXO_EGONE || status == AXO_EFULL ? AXO_OK : status;
}

static axo_status shard_say(axo_ctx *ctx, const axo_message *message, const char *text)
{
    return shard_reply(ctx, message, &(shard_answer){.head = text, .head_size = strlen(text)});
}

static axo_status shard_number(axo_ctx *ctx, const axo_message *message, int64_t number)
{
    char head[RESP_HEAD_MAX];
    size_t size = resp_head(head, ':', number);
    return shard_reply(ctx, message,
                       &(shard_answer){.number = number, .head = head, .head_size = size});
}

static axo_status shard_get(axo_ctx *ctx, const axo_message *message, const table_entry *found)
{
    char head[RESP_HEAD_MAX];
    if (found == NULL)
        return shard_say(ctx, message, "$-1\r\n");
    size_t size = resp_head(head, '$', found->value_size);
    return shard_reply(ctx, message,
                       &(shard_answer){.head = head, .head_size = size, .value = found});
}

static axo_status shard_set(axo_ctx *ctx, const axo_message *message, table *keys)
{
    const kv_do *it = message->payload;
    bool stored = table_set(keys, it->hash, it->bytes, it->key_size, it->bytes + it->key_size,
                            it->value_size);
    return shard_say(ctx, message, stored ? "+OK\r\n" : "-OOM out of memory\r\n");
}

/* The value and one more; false: there is none such. */
static bool shard_next(const table_entry *found, int64_t *next)
{
    int64_t number = 0;
    if (found != NULL &&
        (!resp_number((resp_word){.data = table_value(found), .size = found->value_size},
                      &number) ||
         number == INT64_MAX))
        return false;
    *next = number + 1;
    return true;
}

static axo_status shard_increment(axo_ctx *ctx, const axo_message *message, table *keys)
{
    const kv_do *it = message->payload;
    const table_entry *found = table_get(keys, it->hash, it->bytes, it->key_size);
    char text[RESP_HEAD_MAX];
    int64_t next;
    if (!shard_next(found, &next))
        return shard_say(ctx, message, "-ERR value is not an integer or out of range\r\n");
    int size = snprintf(text, sizeof text, "%" PRId64, next);
    int64_t due = found != NULL ? found->due : 0;
    if (!table_set(keys, it->hash, it->bytes, it->key_size, text, (size_t)size))
        return shard_say(ctx, message, "-OOM out of memory\r\n");
    table_expire(keys, table_get(keys, it->hash, it->bytes, it->key_size), due);
    return shard_number(ctx, message, next);
}

/* ---- keys that end ---- */

/* A timer of the instance's, for as long as there is a key that ends. */
static axo_status shard_watch_time(axo_ctx *ctx, const table *keys)
{
    if (keys->expiring == 0)
        return axo_timer_active(ctx, KV_SWEEP) ? axo_timer_stop(ctx, KV_SWEEP) : AXO_OK;
    if (axo_timer_active(ctx, KV_SWEEP))
        return AXO_OK;
    return axo_timer_start(ctx, KV_SWEEP, AXO_TIMER_FIXED_DELAY, KV_SWEEP_NS, KV_SWEEP_NS, KV_SWEEP,
                           NULL, 0);
}

/* A key that has ended is none any more, for whoever asks. */
static void shard_look_at(axo_ctx *ctx, table *keys, const kv_do *it)
{
    const table_entry *found =
        keys->expiring > 0 ? table_get(keys, it->hash, it->bytes, it->key_size) : NULL;
    if (found != NULL && found->due != 0 && found->due <= axo_now(ctx))
        (void)table_delete(keys, it->hash, it->bytes, it->key_size);
}

static axo_status shard_expire(axo_ctx *ctx, const axo_message *message, table *keys)
{
    const kv_do *it = message->payload;
    table_entry *found = table_get(keys, it->hash, it->bytes, it->key_size);
    int64_t seconds = 0;
    if (!resp_number((resp_word){.data = it->bytes + it->key_size, .size = it->value_size},
                     &seconds) ||
        seconds > KV_EXPIRE_MAX)
        return shard_say(ctx, message, "-ERR value is not an integer or out of range\r\n");
    if (found != NULL && seconds <= 0)
        (void)table_delete(keys, it->hash, it->bytes, it->key_size);
    else if (found != NULL)
        table_expire(keys, found, axo_now(ctx) + seconds * KV_SECOND);
    axo_status status = shard_watch_time(ctx, keys);
    return status == AXO_OK ? shard_number(ctx, message, found != NULL) : status;
}

static axo_status shard_ttl(axo_ctx *ctx, const axo_message *message, const table_entry *found)
{
    if (found == NULL || found->due == 0)
        return shard_number(ctx, message, found == NULL ? -2 : -1);
    return shard_number(ctx, message, (found->due - axo_now(ctx) + KV_SECOND - 1) / KV_SECOND);
}

static axo_status shard_do(axo_ctx *ctx, table *keys, const axo_message *message)
{
    const kv_do *it = message->payload;
    shard_look_at(ctx, keys, it);
    switch ((kv_operation)it->operation) {
    case KV_GET:
        return shard_get(ctx, message, table_get(keys, it->hash, it->bytes, it->key_size));
    case KV_SET:
        return shard_set(ctx, message, keys);
    case KV_DELETE:
        return shard_number(ctx, message, table_delete(keys, it->hash, it->bytes, it->key_size));
    case KV_EXISTS:
        return shard_number(ctx, message,
                            table_get(keys, it->hash, it->bytes, it->key_size) != NULL);
    case KV_INCREMENT:
        return shard_increment(ctx, message, keys);
    case KV_COUNT:
        return shard_number(ctx, message, (int64_t)keys->count);
    case KV_POISON:
        return axo_fail(ctx, 13, "poison");
    case KV_EXPIRE:
        return shard_expire(ctx, message, keys);
    case KV_TTL:
        return shard_ttl(ctx, message, table_get(keys, it->hash, it->bytes, it->key_size));
    }
    return axo_fail(ctx, 1, "no operation %u", it->operation);
}

static axo_status shard_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kv_home *home = ((shard *)state)->home;
    if (message->tag == KV_SWEEP) {
        table_sweep(&home->table, axo_now(ctx), KV_SWEEP_HEADS);
        return shard_watch_time(ctx, &home->table);
    }
    if (message->tag < KV_DO || message->tag >= KV_DO + KV_WINDOW)
        return AXO_UNHANDLED;
    axo_status status = shard_do(ctx, &home->table, message);
    home->done += status == AXO_OK;
    home->failed += status != AXO_OK;
    return status;
}

/* The keys outlive the instance: a request that fails has changed nothing before it does. */
static axo_status shard_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(shard));
    return shard_watch_time(ctx, &((shard *)state)->home->table);
}

static const char *shard_tag_name(uint32_t tag)
{
    return tag >= KV_DO && tag < KV_DO + KV_WINDOW ? "DO" : NULL;
}

static const axo_class shard_class =
    AXO_CLASS(.name = "shard", .state_size = sizeof(shard), .construct = shard_construct,
              .receive = shard_receive, .tag_name = shard_tag_name);

#endif
