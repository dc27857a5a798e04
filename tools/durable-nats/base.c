/* base.c - the door: a store opened on a stream, and its base. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "durable-nats/jet.h"
#include "durable/record.h"
#include "pattern/given.h"

#define BASE_PART_MAX ((size_t)512 * 1024)
/* Of what the server takes for a message: headers. */
#define BASE_HEADERS ((size_t)1024)
#define BASE_SLACK   (UINT64_C(1) << 20)

/* ---- transactions ---- */

static int base_begin(void *on, bool reads, durable_txn **out)
{
    jet_base *jet = on;
    durable_txn *txn = &jet->txn;
    if (reads) {
        txn = axo_system_alloc(jet->system, sizeof *txn);
        if (txn == NULL)
            return ENOMEM;
        *txn = (durable_txn){.jet = jet, .reads = true};
    } else {
        int error = jet_stream_ready(&jet->log.stream);
        if (error != 0)
            return error;
    }
    (void)pthread_mutex_lock(&jet->mutex);
    *out = txn;
    return 0;
}

static void base_end(durable_txn *txn)
{
    jet_base *jet = txn->jet;
    (void)pthread_mutex_unlock(&jet->mutex);
    if (txn->reads)
        axo_system_free(jet->system, txn, sizeof *txn);
}

static int base_commit(durable_txn *txn)
{
    jet_base *jet = txn->jet;
    int error = txn->changes.count > 0 ? jet_log_write(&jet->log, &txn->changes) : 0;
    if (error == 0)
        jet_map_keep(&jet->map, &txn->changes);
    else
        jet_map_undo(&jet->map, &txn->changes);
    if (error == 0)
        jet_log_shorten(&jet->log, &jet->map);
    base_end(txn);
    return error;
}

static void base_abort(durable_txn *txn)
{
    jet_map_undo(&txn->jet->map, &txn->changes);
    base_end(txn);
}

/* ---- in a transaction ---- */

static int base_get(durable_txn *txn, durable_table table, const durable_bytes *key,
                    durable_bytes *value)
{
    jet_entry *entry = jet_map_get(&txn->jet->map, table, key->data, key->size);
    if (entry == NULL)
        return DURABLE_NOTFOUND;
    *value = (durable_bytes){.size = entry->value_size, .data = jet_entry_value(entry)};
    return 0;
}

static int base_put(durable_txn *txn, durable_table table, const durable_bytes *key,
                    durable_bytes *value)
{
    jet_base *jet = txn->jet;
    const jet_entry *was = jet_map_get(&jet->map, table, key->data, key->size);
    const uint64_t max = jet->bytes_max + (jet->reserve ? jet->bytes_max / 8 : 0);
    const uint64_t less = was != NULL ? jet_entry_bytes(was) : 0;
    const uint64_t more = key->size + value->size + JET_ENTRY_BYTES;
    if (more > less && jet->map.bytes - less + more > max)
        return DURABLE_MAP_FULL;
    jet_entry *entry = jet_map_put(&jet->map, table, key, value->size, &txn->changes);
    if (entry == NULL)
        return ENOMEM;
    value->data = jet_entry_value(entry);
    return 0;
}

static int base_del(durable_txn *txn, durable_table table, const durable_bytes *key)
{
    return jet_map_del(&txn->jet->map, table, key, &txn->changes);
}

static int base_at(durable_txn *txn, durable_bytes *key, durable_bytes *value)
{
    jet_entry *at = txn->at;
    if (at == NULL)
        return DURABLE_NOTFOUND;
    *key = (durable_bytes){.size = at->key_size, .data = jet_entry_key(at)};
    *value = (durable_bytes){.size = at->value_size, .data = jet_entry_value(at)};
    return 0;
}

static int base_seek(durable_txn *txn, durable_table table, durable_bytes *key,
                     durable_bytes *value)
{
    txn->at = jet_map_seek(&txn->jet->map, table, key->data, key->size);
    return base_at(txn, key, value);
}

static int base_step(durable_txn *txn, durable_bytes *key, durable_bytes *value)
{
    txn->at = txn->at->next[0];
    return base_at(txn, key, value);
}

/* ---- beside transactions ---- */

static void base_reserve(void *on, bool with)
{
    ((jet_base *)on)->reserve = with;
}

/* The server's. */
static int base_sync(void *on)
{
    (void)on;
    return 0;
}

static const char *base_text(int error)
{
    switch (error) {
    case ENOTCONN:
        return "no server answers";
    case ETIMEDOUT:
        return "the server has not answered";
    case EBUSY:
        return "another process has opened the store";
    case ESTALE:
        return "the stream has lost what it had acknowledged";
    case ENOSPC:
        return "the server has no room";
    case EIO:
        return "the server refuses";
    case DURABLE_MAP_FULL:
        return "the store is full";
    case DURABLE_CORRUPTED:
        return "a record is damaged";
    case ENOMEM:
        return "no memory";
    default:
        return "an error";
    }
}

static void base_close(void *on)
{
    jet_base *jet = on;
    jet_stream_close(&jet->log.stream);
    jet_changes_free(&jet->map, &jet->txn.changes);
    jet_map_clear(&jet->map);
    if (jet->log.part != NULL)
        axo_system_free(jet->system, jet->log.part, sizeof(jet_head) + jet->log.part_max);
    (void)pthread_mutex_destroy(&jet->mutex);
    axo_system_free(jet->system, jet, sizeof *jet);
}

static const durable_base jet_functions = {.begin = base_begin,
                                           .commit = base_commit,
                                           .abort = base_abort,
                                           .get = base_get,
                                           .put = base_put,
                                           .del = base_del,
                                           .seek = base_seek,
                                           .step = base_step,
                                           .reserve = base_reserve,
                                           .sync = base_sync,
                                           .text = base_text,
                                           .close = base_close};

/* ---- open ---- */

static bool open_is_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (name == NULL || name[0] == 0)
        return false;
    size_t length = strnlen(name, AXO_STORE_STREAM_NAME_MAX + 1);
    return length <= AXO_STORE_STREAM_NAME_MAX && strspn(name, allowed) == length;
}

static axo_status open_read(const axo_store_stream *from, axo_store_stream *out)
{
    axo_status status = axo__given_read(from, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    bool good = open_is_name(out->stream) &&
                (out->folder == NULL || (out->folder[0] != 0 && strlen(out->folder) < 4000)) &&
                (out->bytes == 0 || out->bytes >= AXO_STORE_MAP_MIN) &&
                out->bytes <= UINT64_C(1) << 46 &&
                (out->wait_ms == 0 || (out->wait_ms >= 100 && out->wait_ms <= 600000)) &&
                out->replicas <= 5 && out->reserved == 0;
    if (!good)
        return AXO_EINVAL;
    if (out->bytes == 0)
        out->bytes = AXO_STORE_STREAM_BYTES;
    if (out->wait_ms == 0)
        out->wait_ms = AXO_STORE_STREAM_WAIT_MS;
    if (out->loaded_max == 0)
        out->loaded_max = AXO_STORE_LOADED;
    return AXO_OK;
}

static jet_base *open_make(axo_system *system, const axo_store_stream *settings)
{
    uint64_t chance[2];
    jet_base *made = axo_system_alloc(system, sizeof *made);
    if (made == NULL)
        return NULL;
    if (getrandom(chance, sizeof chance, 0) != (ssize_t)sizeof chance) {
        axo_system_free(system, made, sizeof *made);
        return NULL;
    }
    memset(made, 0, sizeof *made);
    made->system = system;
    made->map.system = system;
    made->map.chance = chance[0] | 1;
    made->bytes_max = settings->bytes;
    made->txn.jet = made;
    jet_stream *stream = &made->log.stream;
    stream->settings = settings;
    stream->wait_ms = settings->wait_ms;
    stream->run = chance[1];
    memcpy(stream->name, settings->stream, strlen(settings->stream));
    (void)snprintf(stream->subject, sizeof stream->subject, "axo.store.%s", settings->stream);
    (void)pthread_mutex_init(&made->mutex, NULL);
    return made;
}

/* A stream with a bound has room for a log of twice the map, a checkpoint, and one that was not
 * finished. */
static axo_status open_measure(jet_base *jet, axo_store_problem *problem)
{
    const int64_t payload = natsConnection_GetMaxPayload(jet->log.stream.connection);
    const size_t least = sizeof(jet_head) + BASE_HEADERS + 4096;
    if (jet->log.stream.max_bytes / 6 < jet->bytes_max)
        jet->bytes_max = jet->log.stream.max_bytes / 6;
    if (jet->bytes_max < AXO_STORE_MAP_MIN || payload < (int64_t)least) {
        jet_say(problem, ENOSPC, jet->log.stream.name,
                "the stream, or what a message may have, "
                "is too small");
        return AXO_ESYSTEM;
    }
    size_t part = (size_t)payload - sizeof(jet_head) - BASE_HEADERS;
    jet->log.part_max = part < BASE_PART_MAX ? part : BASE_PART_MAX;
    jet->log.slack = jet->bytes_max / 8 < BASE_SLACK ? jet->bytes_max / 8 : BASE_SLACK;
    jet->log.part = axo_system_alloc(jet->system, sizeof(jet_head) + jet->log.part_max);
    return jet->log.part != NULL ? AXO_OK : AXO_ENOMEM;
}

/* The first transaction, by which the stream is this process's: a format, if there is none. */
static axo_status open_own(jet_base *jet, axo_store_problem *problem)
{
    const durable_format format = DURABLE_FORMAT_FRESH;
    durable_bytes key = {.size = 6, .data = "format"};
    int error = 0;
    if (jet_map_get(&jet->map, DURABLE_META, key.data, key.size) == NULL) {
        jet_entry *entry =
            jet_map_put(&jet->map, DURABLE_META, &key, sizeof format, &jet->txn.changes);
        if (entry == NULL)
            return AXO_ENOMEM;
        memcpy(jet_entry_value(entry), &format, sizeof format);
    }
    error = jet_log_write(&jet->log, &jet->txn.changes);
    jet_map_keep(&jet->map, &jet->txn.changes);
    if (error == 0)
        return AXO_OK;
    jet_say(problem, error, jet->log.stream.name, base_text(error));
    return error == EBUSY ? AXO_EBUSY : AXO_ESYSTEM;
}

static axo_status open_all(jet_base *jet, axo_store_problem *problem)
{
    axo_status status = jet_stream_open(&jet->log.stream, problem);
    if (status == AXO_OK)
        status = open_measure(jet, problem);
    if (status == AXO_OK)
        status = jet_log_read(&jet->log, &jet->map, problem);
    if (status == AXO_OK)
        status = open_own(jet, problem);
    jet->log.stream.settings = NULL;
    return status;
}

static axo_status open_folder(const axo_store_stream *settings, axo_store_problem *problem)
{
    if (settings->folder == NULL || mkdir(settings->folder, 0700) == 0 || errno == EEXIST)
        return AXO_OK;
    jet_say(problem, errno, settings->folder, "the folder cannot be made");
    return AXO_ESYSTEM;
}

axo_status axo_store_open_stream(axo_system *system, const axo_store_stream *settings,
                                 axo_store_problem *problem, axo_store **out)
{
    axo_store_stream read;
    axo_store_problem own;
    if (problem == NULL)
        problem = &own;
    memset(problem, 0, sizeof *problem);
    if (out == NULL)
        return AXO_EINVAL;
    *out = NULL;
    if (system == NULL)
        return AXO_EINVAL;
    axo_status status = open_read(settings, &read);
    if (status == AXO_OK)
        status = open_folder(&read, problem);
    if (status != AXO_OK)
        return status;
    jet_base *jet = open_make(system, &read);
    if (jet == NULL)
        return AXO_ENOMEM;
    status = open_all(jet, problem);
    if (status != AXO_OK) {
        base_close(jet);
        return status;
    }
    const durable_ways ways = {
        .base = &jet_functions, .on = jet, .folder = read.folder, .loaded_max = read.loaded_max};
    return axo_store_open_on(system, &ways, problem, out);
}
