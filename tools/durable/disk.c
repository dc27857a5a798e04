/* disk.c - what a store has on disk, in the tables of its base:
 *
 *   meta       "format" -> durable_format
 *   queues     a name -> durable_queue_record
 *   messages   id, number -> durable_record, payload
 *   dead       id, number -> durable_dead, and the value that the message had
 *   events     id, number -> durable_record, payload
 *   snapshots  id, 0 -> durable_record, payload; the record's `number` says of which event
 *
 * id and number are 64 bits each, the highest byte first, so that the base's order is theirs.
 * Records are in the byte order of the machine, as LMDB's pages are: a base refuses those of
 * another one. Each has a CRC-32C of its key and of all of it that follows; a file that lies is
 * checked page by page before (check.c). */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "record.h"
#include "store.h"

const char *durable_disk_text(const axo_store *store, int error)
{
    return store->base->text(error);
}

/* ---- keys and records ---- */

static durable_bytes disk_key(unsigned char bytes[DURABLE_KEY], uint64_t id, uint64_t number)
{
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(id >> (56 - 8 * i));
        bytes[8 + i] = (unsigned char)(number >> (56 - 8 * i));
    }
    return (durable_bytes){.size = DURABLE_KEY, .data = bytes};
}

static uint64_t disk_number(const unsigned char *bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | bytes[i];
    return number;
}

static uint32_t disk_crc_add(const axo_store *store, uint32_t crc, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        crc = store->crc[(crc ^ at[i]) & 0xff] ^ crc >> 8;
    return crc;
}

/* Of a key and a value without its first four bytes, which are the sum. */
static uint32_t disk_crc(const axo_store *store, const durable_bytes *key, const void *value,
                         size_t size)
{
    uint32_t crc = disk_crc_add(store, UINT32_MAX, key->data, key->size);
    return ~disk_crc_add(store, crc, (const unsigned char *)value + 4, size - 4);
}

void durable_disk_init(axo_store *store)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0x82f63b78) & (0 - (crc & 1)));
        store->crc[i] = crc;
    }
}

static bool disk_is_whole(const axo_store *store, const durable_bytes *key,
                          const durable_bytes *value)
{
    durable_record record;
    if (value->size < sizeof record)
        return false;
    memcpy(&record, value->data, sizeof record);
    return record.size == value->size - sizeof record &&
           record.crc == disk_crc(store, key, value->data, value->size);
}

static int disk_put(axo_store *store, durable_txn *txn, durable_table to, durable_bytes *key,
                    const durable_block *block)
{
    durable_record record = {.tag = block->tag,
                             .size = block->size,
                             .fails = block->fails,
                             .sender = block->sender.bits,
                             .run = store->run,
                             .accepted_ns = block->accepted_ns,
                             .number = block->number};
    durable_bytes value = {.size = sizeof record + block->size};
    int error = store->base->put(txn, to, key, &value);
    if (error != 0)
        return error;
    memcpy(value.data, &record, sizeof record);
    memcpy((char *)value.data + sizeof record, block->bytes, block->size);
    record.crc = disk_crc(store, key, value.data, value.size);
    memcpy(value.data, &record, sizeof record);
    return 0;
}

/* ---- transactions ---- */

int durable_disk_begin(axo_store *store, durable_txn **txn)
{
    return store->base->begin(store->on, false, txn);
}

static int disk_look(const axo_store *store, durable_txn **txn)
{
    return store->base->begin(store->on, true, txn);
}

static int disk_put_copy(const axo_store *store, durable_txn *txn, durable_table table,
                         const durable_bytes *key, const void *bytes, size_t size)
{
    durable_bytes value = {.size = size};
    int error = store->base->put(txn, table, key, &value);
    if (error == 0)
        memcpy(value.data, bytes, size);
    return error;
}

static void disk_forget_changes(axo_store *store, bool committed)
{
    while (store->changed != NULL) {
        durable_queue *queue = store->changed;
        store->changed = queue->next_changed;
        queue->changed = false;
        if (committed) {
            queue->was_id = queue->id;
            queue->was_number = queue->number;
            queue->was_event = queue->event;
        } else {
            queue->id = queue->was_id;
            queue->number = queue->was_number;
            queue->event = queue->was_event;
        }
    }
    if (committed)
        store->was_next_id = store->next_id;
    else
        store->next_id = store->was_next_id;
}

int durable_disk_format(axo_store *store, durable_txn *txn)
{
    durable_format format = {.version = DURABLE_VERSION, .next_id = store->next_id};
    memcpy(format.magic, DURABLE_MAGIC, sizeof format.magic);
    durable_bytes key = {.size = 6, .data = "format"};
    return disk_put_copy(store, txn, DURABLE_META, &key, &format, sizeof format);
}

static int disk_write_queues(axo_store *store, durable_txn *txn)
{
    int error = 0;
    for (durable_queue *queue = store->changed; queue != NULL && error == 0;
         queue = queue->next_changed) {
        durable_queue_record record = {
            .id = queue->id, .number = queue->number, .event = queue->event};
        durable_bytes key = {.size = queue->length, .data = queue->name};
        record.crc = disk_crc(store, &key, &record, sizeof record);
        error = disk_put_copy(store, txn, DURABLE_QUEUES, &key, &record, sizeof record);
    }
    if (error == 0 && store->next_id != store->was_next_id)
        error = durable_disk_format(store, txn);
    return error;
}

int durable_disk_commit(axo_store *store, durable_txn *txn)
{
    int error = disk_write_queues(store, txn);
    if (error == 0)
        error = store->base->commit(txn);
    else
        store->base->abort(txn);
    disk_forget_changes(store, error == 0);
    (void)atomic_fetch_add(error == 0 ? &store->transactions : &store->errors, 1);
    return error;
}

void durable_disk_abort(axo_store *store, durable_txn *txn)
{
    store->base->abort(txn);
    disk_forget_changes(store, false);
}

/* A map is never made smaller than what is in use: LMDB sees to it. */
void durable_disk_reserve(axo_store *store, bool with)
{
    store->base->reserve(store->on, with);
}

static void disk_change(axo_store *store, durable_queue *queue)
{
    if (queue->changed)
        return;
    queue->changed = true;
    queue->next_changed = store->changed;
    store->changed = queue;
}

int durable_disk_know(axo_store *store, durable_txn *txn, durable_queue *queue)
{
    durable_queue_record record;
    if (queue->known)
        return 0;
    durable_bytes key = {.size = queue->length, .data = queue->name};
    durable_bytes value;
    int error = store->base->get(txn, DURABLE_QUEUES, &key, &value);
    if (error != 0 && error != DURABLE_NOTFOUND)
        return error;
    if (error == 0) {
        if (value.size != sizeof record)
            return DURABLE_CORRUPTED;
        memcpy(&record, value.data, sizeof record);
        if (record.crc != disk_crc(store, &key, &record, sizeof record))
            return DURABLE_CORRUPTED;
        queue->id = queue->was_id = record.id;
        queue->number = queue->was_number = record.number;
        queue->event = queue->was_event = record.event;
    }
    queue->known = true;
    return 0;
}

static int disk_need_id(axo_store *store, durable_txn *txn, durable_queue *queue)
{
    int error = durable_disk_know(store, txn, queue);
    if (error != 0)
        return error;
    disk_change(store, queue);
    if (queue->id == 0)
        queue->id = store->next_id++;
    return 0;
}

int durable_disk_accept(axo_store *store, durable_txn *txn, durable_queue *queue,
                        durable_block *block)
{
    unsigned char bytes[DURABLE_KEY];
    int error = disk_need_id(store, txn, queue);
    if (error != 0)
        return error;
    block->number = ++queue->number;
    durable_bytes key = disk_key(bytes, queue->id, block->number);
    return disk_put(store, txn, DURABLE_MESSAGES, &key, block);
}

int durable_disk_acknowledge(axo_store *store, durable_txn *txn, const durable_queue *queue,
                             uint64_t number)
{
    unsigned char bytes[DURABLE_KEY];
    durable_bytes key = disk_key(bytes, queue->id, number);
    int error = store->base->del(txn, DURABLE_MESSAGES, &key);
    return error == DURABLE_NOTFOUND ? 0 : error;
}

/* Writes the failures of a message; UINT32_MAX: one more. A damaged one is left as it is. */
static int disk_fails(axo_store *store, durable_txn *txn, uint64_t id, uint64_t number,
                      uint32_t fails)
{
    unsigned char bytes[DURABLE_KEY];
    durable_record record;
    durable_bytes key = disk_key(bytes, id, number);
    durable_bytes value;
    int error = store->base->get(txn, DURABLE_MESSAGES, &key, &value);
    if (error != 0)
        return error == DURABLE_NOTFOUND ? 0 : error;
    if (!disk_is_whole(store, &key, &value))
        return 0;
    size_t size = value.size;
    char *copy = axo_system_alloc(store->system, size);
    if (copy == NULL)
        return ENOMEM;
    memcpy(copy, value.data, size);
    memcpy(&record, copy, sizeof record);
    record.fails = fails != UINT32_MAX ? fails : record.fails + 1;
    memcpy(copy, &record, sizeof record);
    record.crc = disk_crc(store, &key, copy, size);
    memcpy(copy, &record, sizeof record);
    error = disk_put_copy(store, txn, DURABLE_MESSAGES, &key, copy, size);
    axo_system_free(store->system, copy, size);
    return error;
}

int durable_disk_note(axo_store *store, durable_txn *txn, const durable_queue *queue,
                      uint64_t number, uint32_t fails)
{
    return disk_fails(store, txn, queue->id, number, fails);
}

int durable_disk_died(axo_store *store, durable_txn *txn, uint64_t id, uint64_t number)
{
    return disk_fails(store, txn, id, number, UINT32_MAX);
}

/* The value as it is, whole or not, goes behind what is known of its death. */
int durable_disk_bury(axo_store *store, durable_txn *txn, const durable_queue *queue,
                      const durable_block *block)
{
    unsigned char bytes[DURABLE_KEY];
    struct timespec now;
    durable_dead dead = {
        .reason = block->cause.reason, .code = block->cause.code, .fails = block->fails};
    durable_bytes key = disk_key(bytes, queue->id, block->number);
    durable_bytes value;
    int error = store->base->get(txn, DURABLE_MESSAGES, &key, &value);
    if (error != 0)
        return error == DURABLE_NOTFOUND ? 0 : error;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    dead.died_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    memcpy(dead.text, block->cause.text, sizeof dead.text);
    /* `value` is good until the next change of the transaction. */
    size_t size = sizeof dead + value.size;
    char *copy = axo_system_alloc(store->system, size);
    if (copy == NULL)
        return ENOMEM;
    memcpy(copy, &dead, sizeof dead);
    memcpy(copy + sizeof dead, value.data, value.size);
    error = disk_put_copy(store, txn, DURABLE_DEAD, &key, copy, size);
    axo_system_free(store->system, copy, size);
    return error == 0 ? durable_disk_acknowledge(store, txn, queue, block->number) : error;
}

static durable_block *disk_block(const axo_store *store, const durable_bytes *key,
                                 const durable_bytes *value);

/* A damaged one cannot be sent again. */
int durable_disk_letter(axo_store *store, durable_txn *txn, durable_queue *queue,
                        const durable_request *request, durable_block **again)
{
    unsigned char bytes[DURABLE_KEY];
    durable_bytes key = disk_key(bytes, queue->id, request->letter);
    durable_bytes value;
    *again = NULL;
    int error = store->base->get(txn, DURABLE_DEAD, &key, &value);
    if (error == 0 && request->then == AXO_STORE_AGAIN) {
        if (value.size < sizeof(durable_dead))
            return DURABLE_CORRUPTED;
        value.data = (char *)value.data + sizeof(durable_dead);
        value.size -= sizeof(durable_dead);
        durable_block *block = disk_block(store, &key, &value);
        if (block == NULL)
            return ENOMEM;
        block->fails = 0;
        error = block->damaged ? DURABLE_CORRUPTED : durable_disk_accept(store, txn, queue, block);
        if (error != 0)
            durable_block_drop(block);
        else
            *again = block;
    }
    if (error == 0)
        error = store->base->del(txn, DURABLE_DEAD, &key);
    if (error != 0 && *again != NULL) {
        durable_block_drop(*again);
        *again = NULL;
    }
    return error;
}

int durable_disk_event(axo_store *store, durable_txn *txn, durable_queue *queue,
                       durable_block *block)
{
    unsigned char bytes[DURABLE_KEY];
    int error = disk_need_id(store, txn, queue);
    if (error != 0)
        return error;
    block->number = ++queue->event;
    durable_bytes key = disk_key(bytes, queue->id, block->number);
    return disk_put(store, txn, DURABLE_EVENTS, &key, block);
}

/* Deletes the events that the snapshot stands for. */
int durable_disk_snapshot(axo_store *store, durable_txn *txn, const durable_queue *queue,
                          const durable_block *block)
{
    unsigned char bytes[DURABLE_KEY];
    durable_bytes key = disk_key(bytes, queue->id, 0);
    int error = disk_put(store, txn, DURABLE_SNAPSHOTS, &key, block);
    while (error == 0) {
        durable_bytes value;
        durable_bytes first = key;
        error = store->base->seek(txn, DURABLE_EVENTS, &first, &value);
        if (error == 0 && (first.size != DURABLE_KEY || disk_number(first.data) != queue->id))
            error = DURABLE_NOTFOUND;
        uint64_t number = error == 0 ? disk_number((unsigned char *)first.data + 8) : UINT64_MAX;
        if (number > block->number)
            break;
        first = disk_key(bytes, queue->id, number); /* what lies in the table is not its own key */
        error = store->base->del(txn, DURABLE_EVENTS, &first);
    }
    return error == DURABLE_NOTFOUND ? 0 : error;
}

/* ---- reading ---- */

static durable_block *disk_block(const axo_store *store, const durable_bytes *key,
                                 const durable_bytes *value)
{
    durable_record record = {0};
    bool whole = disk_is_whole(store, key, value);
    if (whole)
        memcpy(&record, value->data, sizeof record);
    durable_block *block = durable_block_make(
        store->system, record.tag, (const char *)value->data + sizeof record, record.size);
    if (block == NULL)
        return NULL;
    block->damaged = !whole;
    block->number = whole ? record.number : disk_number((unsigned char *)key->data + 8);
    block->fails = record.fails;
    block->accepted_ns = record.accepted_ns;
    block->again = record.run != store->run || record.fails > 0;
    if (record.run == store->run)
        block->sender.bits = record.sender;
    return block;
}

/* Blocks of one queue behind `after`. */
static int disk_read(axo_store *store, durable_txn *txn, durable_table from, uint64_t id,
                     uint64_t after, uint64_t max, durable_list *out, bool *more)
{
    unsigned char bytes[DURABLE_KEY];
    durable_bytes value;
    durable_bytes key = disk_key(bytes, id, after + 1);
    *more = false;
    int error = store->base->seek(txn, from, &key, &value);
    while (error == 0 && key.size == DURABLE_KEY && disk_number(key.data) == id) {
        if (out->count == max) {
            *more = true;
            break;
        }
        durable_block *block = disk_block(store, &key, &value);
        if (block == NULL)
            return ENOMEM;
        durable_list_push(out, block);
        error = store->base->step(txn, &key, &value);
    }
    return error == DURABLE_NOTFOUND ? 0 : error;
}

int durable_disk_load(axo_store *store, const durable_queue *queue, uint64_t after, uint64_t max,
                      durable_list *out, bool *more)
{
    durable_txn *txn;
    *out = (durable_list){0};
    *more = false;
    int error = disk_look(store, &txn);
    if (error != 0)
        return error;
    error = disk_read(store, txn, DURABLE_MESSAGES, queue->id, after, max, out, more);
    store->base->abort(txn);
    return error;
}

int durable_disk_recover(axo_store *store, const durable_queue *queue, uint64_t after, uint64_t max,
                         durable_list *out, bool *more, bool *harmed)
{
    unsigned char bytes[DURABLE_KEY];
    durable_txn *txn;
    durable_bytes value;
    *out = (durable_list){0};
    *more = false;
    int error = disk_look(store, &txn);
    if (error != 0)
        return error;
    durable_bytes key = disk_key(bytes, queue->id, 0);
    if (after == 0)
        error = store->base->get(txn, DURABLE_SNAPSHOTS, &key, &value);
    if (after == 0 && error == 0) {
        durable_block *block = disk_block(store, &key, &value);
        error = block != NULL ? 0 : ENOMEM;
        if (block != NULL) {
            block->kind = DURABLE_SNAPSHOT;
            durable_list_push(out, block);
            after = block->number;
        }
    }
    durable_list events = {0};
    if (error == 0 || error == DURABLE_NOTFOUND)
        error = disk_read(store, txn, DURABLE_EVENTS, queue->id, after, max, &events, more);
    store->base->abort(txn);
    for (durable_block *it = events.first; it != NULL; it = it->next) {
        it->kind = DURABLE_EVENT;
        it->damaged = it->damaged || it->number != ++after;
    }
    durable_list_append(out, &events);
    for (durable_block *it = out->first; it != NULL; it = it->next)
        *harmed = *harmed || it->damaged;
    return error;
}

int durable_disk_meet(axo_store *store, durable_queue *queue)
{
    durable_txn *txn;
    int error = disk_look(store, &txn);
    if (error != 0)
        return error;
    error = durable_disk_know(store, txn, queue);
    store->base->abort(txn);
    return error;
}

/* ---- the dead ---- */

/* The value of the first letter behind *number, as a copy. */
static int disk_next_dead(axo_store *store, durable_txn *txn, const char *name, uint64_t *number,
                          char **copy, size_t *size)
{
    unsigned char bytes[DURABLE_KEY];
    durable_queue_record queue;
    durable_bytes key = {.size = strlen(name), .data = (void *)(uintptr_t)name};
    durable_bytes value;
    int error = store->base->get(txn, DURABLE_QUEUES, &key, &value);
    if (error != 0)
        return error;
    if (value.size != sizeof queue)
        return DURABLE_CORRUPTED;
    memcpy(&queue, value.data, sizeof queue);
    key = disk_key(bytes, queue.id, *number + 1);
    error = store->base->seek(txn, DURABLE_DEAD, &key, &value);
    if (error == 0 && (key.size != DURABLE_KEY || disk_number(key.data) != queue.id))
        error = DURABLE_NOTFOUND;
    if (error == 0 && value.size < sizeof(durable_dead))
        error = DURABLE_CORRUPTED;
    if (error == 0) {
        *number = disk_number((unsigned char *)key.data + 8);
        *size = value.size;
        *copy = axo_system_alloc(store->system, value.size);
        if (*copy != NULL)
            memcpy(*copy, value.data, value.size);
        else
            error = ENOMEM;
    }
    return error;
}

/* A damaged one is shown as it is. */
static axo_store_then disk_show(uint64_t number, const char *copy, size_t size,
                                axo_store_dead_fn look, void *user)
{
    durable_dead dead;
    durable_record record = {0};
    memcpy(&dead, copy, sizeof dead);
    dead.text[sizeof dead.text - 1] = 0;
    const char *payload = copy + sizeof dead;
    size_t bytes = size - sizeof dead;
    if (dead.reason != AXO_STORE_DAMAGED && bytes >= sizeof record) {
        memcpy(&record, payload, sizeof record);
        payload += sizeof record;
        bytes -= sizeof record;
    }
    const axo_store_letter letter = {.number = number,
                                     .accepted_ns = record.accepted_ns,
                                     .died_ns = dead.died_ns,
                                     .payload = bytes > 0 ? payload : NULL,
                                     .tag = record.tag,
                                     .size = (uint32_t)bytes,
                                     .reason = dead.reason,
                                     .fails = dead.fails,
                                     .code = dead.code,
                                     .text = dead.text};
    return look(user, &letter);
}

int durable_disk_dead(axo_store *store, const char *name, uint64_t *number, uint64_t end,
                      axo_store_dead_fn look, void *user, axo_store_then *then)
{
    durable_txn *txn;
    char *copy = NULL;
    size_t size = 0;
    int error = disk_look(store, &txn);
    if (error == 0) {
        error = disk_next_dead(store, txn, name, number, &copy, &size);
        store->base->abort(txn);
    }
    if (error == 0 && *number >= end)
        error = DURABLE_NOTFOUND;
    if (error == 0)
        *then = disk_show(*number, copy, size, look, user);
    if (copy != NULL)
        axo_system_free(store->system, copy, size);
    return error;
}
