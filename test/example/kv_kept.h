/* kv_kept.h - a shard that outlives its process: its keys are what the events of a journal have
 * made of them (durable.h). A request that changes something is an event, and is answered when that
 * is on disk. Until then the shard takes no other: so who reads a value reads what is on disk.
 *
 * An event is a request that has been found good. It means the same each time that it is applied,
 * since what was before it is the same. */
#ifndef KV_KEPT_H
#define KV_KEPT_H

#include <axo/durable.h>

#include "kv.h"
#include "kv_shard.h"

/* Events between two snapshots, at least: there are as many as keys, so that each event pays for
 * one key of the next snapshot. */
#define KEPT_EVENTS 100U

typedef struct kept {
    kv *kv;
    uint32_t index;  /* among all nodes' shards */
    uint32_t events; /* since the last snapshot */
    table table;
} kept;

static void kept_clean(void *arg)
{
    table_free(&((kept *)arg)->table);
}

/* The keys come from the journal, in each instance anew. */
static axo_status kept_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(kept));
    return axo_defer(ctx, kept_clean, state);
}

/* ---- snapshots: sizes of key and value, key, value; and so on ---- */

typedef struct kept_sizes {
    uint32_t key;
    uint32_t value;
} kept_sizes;

static size_t kept_entry_size(const table_entry *entry)
{
    return sizeof(kept_sizes) + entry->key_size + entry->value_size;
}

static char *kept_write(char *at, const table_entry *entry)
{
    const kept_sizes sizes = {.key = entry->key_size, .value = entry->value_size};
    memcpy(at, &sizes, sizeof sizes);
    memcpy(at + sizeof sizes, entry->bytes, (size_t)sizes.key + sizes.value);
    return at + kept_entry_size(entry);
}

/* A shard that is too large for one, or has no memory for it, goes on by its events alone. */
static void kept_snapshot(axo_ctx *ctx, kept *me)
{
    const table *keys = &me->table;
    size_t size = 0;
    for (size_t i = 0; i < keys->room; i++) {
        for (const table_entry *entry = keys->heads[i]; entry != NULL; entry = entry->next)
            size += kept_entry_size(entry);
    }
    char *all = size <= AXO_PAYLOAD_MAX ? malloc(size + 1) : NULL;
    char *at = all;
    for (size_t i = 0; i < keys->room && all != NULL; i++) {
        for (const table_entry *entry = keys->heads[i]; entry != NULL; entry = entry->next)
            at = kept_write(at, entry);
    }
    if (all != NULL && axo_journal_snapshot(ctx, all, size) == AXO_OK)
        me->events = 0;
    free(all);
}

static axo_status kept_restore(axo_ctx *ctx, void *state, const axo_journal_event *snapshot)
{
    kept *me = state;
    const char *at = snapshot->payload;
    for (size_t left = snapshot->size; left > 0;) {
        kept_sizes sizes;
        memcpy(&sizes, at, sizeof sizes); /* the store has checked that it is what was written */
        const char *key = at + sizeof sizes;
        if (!table_set(&me->table, table_hash(me->kv->seed, key, sizes.key), key, sizes.key,
                       key + sizes.key, sizes.value))
            return axo_fail_fatal(ctx, AXO_ENOMEM, "no memory for what is on disk");
        at += sizeof sizes + sizes.key + sizes.value;
        left -= sizeof sizes + sizes.key + sizes.value;
    }
    return AXO_OK;
}

/* ---- events ---- */

/* Changes the table; false: no memory. *number is what is answered but to SET. */
static bool kept_change(table *keys, const kv_do *it, int64_t *number)
{
    char text[RESP_HEAD_MAX];
    if (it->operation == KV_SET)
        return table_set(keys, it->hash, it->bytes, it->key_size, it->bytes + it->key_size,
                         it->value_size);
    if (it->operation == KV_DELETE) {
        *number = table_delete(keys, it->hash, it->bytes, it->key_size);
        return true;
    }
    (void)shard_next(table_get(keys, it->hash, it->bytes, it->key_size), number);
    int size = snprintf(text, sizeof text, "%" PRId64, *number);
    return table_set(keys, it->hash, it->bytes, it->key_size, text, (size_t)size);
}

/* Memory that does not hold what is on disk ends the program: it would answer what is not so. */
static axo_status kept_apply(axo_ctx *ctx, void *state, const axo_journal_event *event)
{
    kept *me = state;
    const kv_do *it = event->payload;
    const axo_message request = {.tag = event->tag, .sender = event->sender};
    int64_t number = 0;
    if (!kept_change(&me->table, it, &number))
        return axo_fail_fatal(ctx, AXO_ENOMEM, "no memory for what is on disk");
    me->events++;
    if (event->recovering)
        return AXO_OK;
    if (me->events >= KEPT_EVENTS && me->events >= me->table.count)
        kept_snapshot(ctx, me);
    return it->operation == KV_SET ? shard_say(ctx, &request, "+OK\r\n")
                                   : shard_number(ctx, &request, number);
}

static const axo_journal kept_journal = AXO_JOURNAL(.apply = kept_apply, .restore = kept_restore);

/* ---- requests ---- */

static axo_status kept_persist(axo_ctx *ctx, const axo_message *message)
{
    axo_status status = axo_journal_persist(ctx, message->tag, message->payload, message->size);
    return status == AXO_ENOMEM ? shard_say(ctx, message, "-OOM out of memory\r\n") : status;
}

static axo_status kept_do(axo_ctx *ctx, kept *me, const axo_message *message)
{
    const kv_do *it = message->payload;
    const table_entry *found = table_get(&me->table, it->hash, it->bytes, it->key_size);
    int64_t next;
    if (it->key_size > 0 && kv_shard_of(me->kv, it->hash) != me->index)
        return shard_say(ctx, message, "-ERR the nodes have been told of different nodes\r\n");
    switch ((kv_operation)it->operation) {
    case KV_SET:
        return kept_persist(ctx, message);
    case KV_DELETE:
        return found != NULL ? kept_persist(ctx, message) : shard_number(ctx, message, 0);
    case KV_INCREMENT:
        if (!shard_next(found, &next))
            return shard_say(ctx, message, "-ERR value is not an integer or out of range\r\n");
        return kept_persist(ctx, message);
    case KV_EXPIRE:
    case KV_TTL:
        return shard_say(ctx, message, "-ERR keys that are on disk do not end\r\n");
    case KV_GET:
    case KV_EXISTS:
    case KV_COUNT:
    case KV_POISON:
        break;
    }
    return shard_do(ctx, &me->table, message);
}

/* It may come from another node, of another version. */
static axo_status kept_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const kv_do *it = message->payload;
    if (message->tag < KV_DO || message->tag >= KV_DO + KV_WINDOW)
        return AXO_UNHANDLED;
    if (message->size < sizeof *it ||
        message->size - sizeof *it != (uint64_t)it->key_size + it->value_size)
        return shard_say(ctx, message, "-ERR no request\r\n");
    return kept_do(ctx, state, message);
}

static const axo_class kept_class =
    AXO_CLASS(.name = "shard", .state_size = sizeof(kept), .construct = kept_construct,
              .receive = kept_receive, .tag_name = shard_tag_name);

#endif
