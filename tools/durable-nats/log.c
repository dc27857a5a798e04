/* log.c - the log of a store's transactions in a stream, and reading it.
 *
 * A transaction is a sequence of jet_op, each with its key and its value behind it, which is cut
 * into as many messages as it needs. */
#include <errno.h>
#include <string.h>

#include "durable-nats/jet.h"

/* What a message takes of the server beside its bytes: subject, headers, the record's own. */
#define LOG_MESSAGE_BYTES 300

typedef struct jet_op {
    uint32_t value_size;
    uint16_t key_size;
    uint8_t table;
    uint8_t deletes;
} jet_op;

_Static_assert(sizeof(jet_op) == 8, "the layout of version 1");

/* ---- writing ---- */

static int log_publish(jet_log *log, bool last)
{
    log->head.flags &= ~(uint32_t)(JET_FIRST | JET_LAST);
    log->head.flags |= log->head.part == 0 ? JET_FIRST : 0;
    log->head.flags |= last ? JET_LAST : 0;
    int error =
        jet_stream_publish(&log->stream, &log->head, log->part, sizeof log->head + log->used);
    if (error == ETIMEDOUT && !last)
        error = ENOTCONN; /* without its last message it is none */
    if (error != 0)
        return error;
    if (log->head.part == 0)
        log->began = log->stream.tail;
    log->bytes += sizeof log->head + log->used + LOG_MESSAGE_BYTES;
    log->head.part++;
    log->used = 0;
    return 0;
}

static void log_begin(jet_log *log, uint32_t flags)
{
    log->head =
        (jet_head){.number = ++log->number, .builds_on = log->committed, .flags = flags, .part = 0};
    log->used = 0;
}

static int log_add(jet_log *log, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    while (size > 0) {
        int error = log->used == log->part_max ? log_publish(log, false) : 0;
        if (error != 0)
            return error;
        size_t room = log->part_max - log->used;
        size_t now = size < room ? size : room;
        memcpy(log->part + sizeof log->head + log->used, at, now);
        log->used += now;
        at += now;
        size -= now;
    }
    return 0;
}

static int log_add_entry(jet_log *log, durable_table table, jet_entry *entry, bool deletes)
{
    const jet_op op = {.value_size = deletes ? 0 : entry->value_size,
                       .key_size = (uint16_t)entry->key_size,
                       .table = (uint8_t)table,
                       .deletes = deletes};
    int error = log_add(log, &op, sizeof op);
    if (error == 0)
        error = log_add(log, jet_entry_key(entry), entry->key_size);
    if (error == 0)
        error = log_add(log, jet_entry_value(entry), op.value_size);
    return error;
}

static int log_end(jet_log *log)
{
    int error = log_publish(log, true);
    if (error == 0)
        log->committed = log->stream.tail;
    return error;
}

int jet_log_write(jet_log *log, const jet_changes *changes)
{
    int error = 0;
    log_begin(log, 0);
    for (size_t i = 0; i < changes->count && error == 0; i++) {
        const jet_change *change = &changes->all[i];
        error = log_add_entry(log, change->table, change->is != NULL ? change->is : change->was,
                              change->is == NULL);
    }
    return error == 0 ? log_end(log) : error;
}

void jet_log_shorten(jet_log *log, jet_map *map)
{
    const uint64_t before = log->bytes;
    int error = 0;
    if (log->bytes < 2 * map->bytes + log->slack || log->bytes < log->shorten_at)
        return;
    log_begin(log, JET_CHECKPOINT);
    for (uint32_t table = 0; table < DURABLE_TABLES && error == 0; table++) {
        for (jet_entry *entry = map->first[table][0]; entry != NULL && error == 0;) {
            error = log_add_entry(log, (durable_table)table, entry, false);
            entry = entry->next[0];
        }
    }
    if (error == 0)
        error = log_end(log);
    if (error == 0 && jet_stream_purge(&log->stream, log->began)) { /* J4 */
        log->bytes -= before;
        log->shorten_at = 0;
    } else {
        log->shorten_at = log->bytes + map->bytes + log->slack;
    }
}

/* ---- reading ---- */

typedef struct log_reading {
    jet_map *map;
    jet_changes changes;
    jet_buffer open; /* the transaction whose messages come */
    jet_head head;   /* of the first of them */
    uint32_t next_part;
    jet_buffer whole; /* the last one that is whole; the next one says whether it counts */
    bool has_whole;
    bool whole_is_checkpoint;
    uint64_t whole_end;
    bool begun; /* the first message of a transaction has come */
    bool based; /* the map is that of the log's beginning, or of a checkpoint */
} log_reading;

static bool buffer_add(const jet_map *map, jet_buffer *buffer, const void *bytes, size_t size)
{
    if (size == 0)
        return true;
    if (buffer->bytes == NULL || size > buffer->room - buffer->size) {
        size_t room = 2 * (buffer->size + size);
        unsigned char *all = axo_system_alloc(map->system, room);
        if (all == NULL)
            return false;
        if (buffer->bytes != NULL) {
            memcpy(all, buffer->bytes, buffer->size);
            axo_system_free(map->system, buffer->bytes, buffer->room);
        }
        buffer->bytes = all;
        buffer->room = room;
    }
    memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
    return true;
}

static void buffer_free(const jet_map *map, jet_buffer *buffer)
{
    if (buffer->bytes != NULL)
        axo_system_free(map->system, buffer->bytes, buffer->room);
}

static int reading_apply_one(log_reading *r, const jet_op *op, const unsigned char *key)
{
    const durable_bytes at = {.size = op->key_size, .data = (void *)(uintptr_t)key};
    if (op->deletes != 0) {
        int error = jet_map_del(r->map, (durable_table)op->table, &at, &r->changes);
        return error == DURABLE_NOTFOUND ? 0 : error; /* of a log that has lost its beginning */
    }
    jet_entry *entry =
        jet_map_put(r->map, (durable_table)op->table, &at, op->value_size, &r->changes);
    if (entry == NULL)
        return ENOMEM;
    memcpy(jet_entry_value(entry), key + op->key_size, op->value_size);
    return 0;
}

static int reading_apply(log_reading *r)
{
    const unsigned char *at = r->whole.bytes;
    size_t left = at != NULL ? r->whole.size : 0;
    int error = 0;
    if (r->whole_is_checkpoint) {
        jet_map_clear(r->map);
        r->based = true;
    }
    while (left > 0 && error == 0) {
        jet_op op;
        if (left < sizeof op)
            return DURABLE_CORRUPTED;
        memcpy(&op, at, sizeof op);
        const size_t size = sizeof op + op.key_size + op.value_size;
        if (op.table >= DURABLE_TABLES || op.deletes > 1 || size > left)
            return DURABLE_CORRUPTED;
        error = reading_apply_one(r, &op, at + sizeof op);
        jet_map_keep(r->map, &r->changes);
        at += size;
        left -= size;
    }
    return error;
}

/* J3. */
static int reading_settle(log_reading *r, uint64_t builds_on)
{
    bool counts = r->has_whole && builds_on >= r->whole_end;
    r->has_whole = false;
    return counts ? reading_apply(r) : 0;
}

static int reading_take(log_reading *r, const jet_head *head, const void *bytes, size_t size,
                        uint64_t sequence)
{
    bool first = (head->flags & JET_FIRST) != 0;
    if (!first && !r->begun)
        return 0; /* the rest of one whose beginning is purged: a checkpoint is to come */
    if (first) {
        int error = reading_settle(r, head->builds_on);
        if (error != 0)
            return error;
        r->based = r->based || sequence == 1;
        r->begun = true;
        r->head = *head;
        r->next_part = 0;
        r->open.size = 0;
    }
    if (head->run != r->head.run || head->number != r->head.number || head->part != r->next_part)
        return DURABLE_CORRUPTED;
    r->next_part++;
    if (!buffer_add(r->map, &r->open, bytes, size))
        return ENOMEM;
    if ((head->flags & JET_LAST) != 0) {
        jet_buffer whole = r->open;
        r->open = r->whole;
        r->whole = whole;
        r->has_whole = true;
        r->whole_end = sequence;
        r->whole_is_checkpoint = (head->flags & JET_CHECKPOINT) != 0;
        r->next_part = UINT32_MAX; /* no more of it */
    }
    return 0;
}

static axo_status reading_check(const jet_log *log, const jet_head *head, size_t size,
                                axo_store_problem *problem)
{
    const char *why = NULL;
    if (size >= sizeof *head && head->magic == __builtin_bswap64(JET_MAGIC))
        why = "the store is of a machine of another byte order";
    else if (size < sizeof *head || head->magic != JET_MAGIC)
        why = "a message of the stream is none of a store of axo's";
    else if (head->version != JET_VERSION)
        why = "the stream is of another version of this library";
    if (why == NULL)
        return AXO_OK;
    jet_say(problem, 0, log->stream.name, why);
    return AXO_EVERSION;
}

static axo_status reading_failed(const jet_log *log, int error, axo_store_problem *problem)
{
    jet_say(problem, error, log->stream.name,
            error == ENOMEM ? "no memory" : "messages of the stream are missing");
    return error == ENOMEM ? AXO_ENOMEM : AXO_ESYSTEM;
}

static axo_status reading_message(jet_log *log, log_reading *r, natsMsg *message, uint64_t sequence,
                                  axo_store_problem *problem)
{
    jet_head head = {.magic = 0};
    const char *bytes = natsMsg_GetData(message);
    const size_t size = (size_t)natsMsg_GetDataLength(message);
    if (size >= sizeof head)
        memcpy(&head, bytes, sizeof head);
    axo_status status = reading_check(log, &head, size, problem);
    if (status != AXO_OK)
        return status;
    log->bytes += size + LOG_MESSAGE_BYTES;
    int error = reading_take(r, &head, bytes + sizeof head, size - sizeof head, sequence);
    return error == 0 ? AXO_OK : reading_failed(log, error, problem);
}

static axo_status reading_all(jet_log *log, log_reading *r, axo_store_problem *problem)
{
    jet_reader reader;
    axo_status status = AXO_OK;
    natsStatus is = jet_reader_open(&log->stream, &reader);
    for (uint64_t next = log->stream.first;
         is == NATS_OK && status == AXO_OK && next <= log->stream.tail; next++) {
        natsMsg *message = NULL;
        uint64_t sequence = 0;
        is = jet_reader_next(&log->stream, &reader, &message, &sequence);
        if (is == NATS_OK && sequence != next)
            status = reading_failed(log, DURABLE_CORRUPTED, problem);
        else if (is == NATS_OK)
            status = reading_message(log, r, message, sequence, problem);
        natsMsg_Destroy(message);
    }
    jet_reader_close(&reader);
    if (is == NATS_OK)
        return status;
    jet_say(problem, ENOTCONN, log->stream.name, natsStatus_GetText(is));
    return AXO_ESYSTEM;
}

axo_status jet_log_read(jet_log *log, jet_map *map, axo_store_problem *problem)
{
    log_reading r = {.map = map, .based = log->stream.first == 0};
    axo_status status = AXO_OK;
    log->committed = log->stream.tail;
    if (log->stream.first > 0)
        status = reading_all(log, &r, problem);
    int error = status == AXO_OK ? reading_settle(&r, UINT64_MAX) : 0;
    if (status == AXO_OK && error == 0 && !r.based)
        error = DURABLE_CORRUPTED;
    if (error != 0)
        status = reading_failed(log, error, problem);
    jet_map_keep(map, &r.changes);
    jet_changes_free(map, &r.changes);
    buffer_free(map, &r.open);
    buffer_free(map, &r.whole);
    return status;
}
