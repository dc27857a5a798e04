/* jet.h - the base of a store (durable/base.h) on a stream of JetStream.
 *
 * All that a store has is in memory (map.c), and the stream is the log of its transactions (log.c):
 * each is one message, or several, of which the last one says so. A checkpoint is a transaction
 * that has all of the map; what is before it is purged.
 *
 * Invariants
 *   J1  A message of the log is stored only directly behind the last one that its writer knows
 *       (Nats-Expected-Last-Sequence). So there is one writer: when another one has written, all
 *       that the first one publishes is refused.
 *   J2  The map has what the log's transactions that count have left, when nobody writes.
 *   J3  A transaction counts when it is whole and the one behind it says so: its builds_on is not
 *       less than the last sequence of the one before; the last one of all counts. So what a
 *       writer did not hear of is taken back by the next thing that it writes.
 *   J4  Messages are purged only below a checkpoint that counts. */
#ifndef DURABLE_JET_H
#define DURABLE_JET_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <nats/nats.h>

#include <axo/axo.h>
#include <axo/durable_nats.h>

#include "durable/base.h"

/* ---- map.c ---- */

#define JET_HEIGHT 20
/* What an entry counts beside its key and its value. */
#define JET_ENTRY_BYTES 64

/* Its key, then its value, are behind the links. */
typedef struct jet_entry {
    uint32_t key_size;
    uint32_t value_size;
    uint32_t height;
    struct jet_entry *next[];
} jet_entry;

/* Tables in order: a skip list each. */
typedef struct jet_map {
    axo_system *system;
    uint64_t chance;
    uint64_t bytes; /* as axo_store_stream.bytes counts */
    jet_entry *first[DURABLE_TABLES][JET_HEIGHT];
} jet_map;

/* What is between the two of an entry: how it is taken back. */
typedef struct jet_change {
    durable_table table;
    jet_entry *was; /* NULL: none */
    jet_entry *is;  /* NULL: deleted */
} jet_change;

typedef struct jet_changes {
    jet_change *all;
    size_t count;
    size_t room;
} jet_changes;

unsigned char *jet_entry_key(jet_entry *entry);
unsigned char *jet_entry_value(jet_entry *entry);
uint64_t jet_entry_bytes(const jet_entry *entry);
/* The first at a key or behind it; NULL: none. */
jet_entry *jet_map_seek(jet_map *map, durable_table table, const void *key, size_t size);
/* The one of a key; NULL: none. */
jet_entry *jet_map_get(jet_map *map, durable_table table, const void *key, size_t size);
/* Puts an entry with room for a value, noted in *changes; NULL: no memory, nothing has changed. */
jet_entry *jet_map_put(jet_map *map, durable_table table, const durable_bytes *key, size_t size,
                       jet_changes *changes);
/* 0; DURABLE_NOTFOUND; ENOMEM. */
int jet_map_del(jet_map *map, durable_table table, const durable_bytes *key, jet_changes *changes);
void jet_map_keep(jet_map *map, jet_changes *changes);
void jet_map_undo(jet_map *map, jet_changes *changes);
void jet_map_clear(jet_map *map);
void jet_changes_free(const jet_map *map, jet_changes *changes);

/* ---- stream.c ---- */

#define JET_SUBJECT_MAX (AXO_STORE_STREAM_NAME_MAX + 16)
#define JET_MAGIC       UINT64_C(0x31676f6c2e6f7861) /* "axo.log1", on most machines */
#define JET_VERSION     UINT32_C(1)

typedef enum jet_flag { JET_FIRST = 1, JET_LAST = 2, JET_CHECKPOINT = 4 } jet_flag;

/* What a message of the log begins with, in the byte order of the machine. It is not changed:
 * another layout is another version. What the server gives is what it was given: it has sums. */
typedef struct jet_head {
    uint64_t magic;
    uint32_t version;
    uint32_t flags;
    uint64_t run;       /* the writer's: of one opening */
    uint64_t number;    /* of the transaction in the run */
    uint64_t builds_on; /* the last sequence that counts, as its writer knows */
    uint32_t part;      /* from 0 */
    uint32_t reserved;
} jet_head;

_Static_assert(sizeof(jet_head) == 48, "the layout of version 1");

/* A stream, and what its one writer knows of it. */
typedef struct jet_stream {
    const axo_store_stream *settings; /* while it is opened */
    natsConnection *connection;
    jsCtx *js;
    char name[AXO_STORE_STREAM_NAME_MAX + 1];
    char subject[JET_SUBJECT_MAX];
    int64_t wait_ms;
    uint64_t run;
    uint64_t first;     /* at the open; 0: there is no message */
    uint64_t tail;      /* the last sequence, as far as it is known */
    uint64_t max_bytes; /* of the stream; UINT64_MAX: no bound */
    bool doubtful;      /* something may be behind the tail */
    int lost;           /* EBUSY, ESTALE: nothing is written any more; 0 */
} jet_stream;

/* Connects, and finds or makes the stream; else *problem. */
axo_status jet_stream_open(jet_stream *stream, axo_store_problem *problem);
void jet_stream_close(jet_stream *stream);
/* 0: what is published now comes directly behind the tail; ENOTCONN, or `lost`. Waits. */
int jet_stream_ready(jet_stream *stream);
/* Publishes a message: a head, whose magic, version and run are filled in here, and what is behind
 * it at `bytes`. The tail is its sequence then. ENOTCONN: it did not go out; ETIMEDOUT: nobody
 * knows; ENOSPC, EIO: refused; or `lost`. Waits. */
int jet_stream_publish(jet_stream *stream, jet_head *head, void *bytes, size_t size);
/* Deletes what is below a sequence. */
bool jet_stream_purge(jet_stream *stream, uint64_t below);
/* Milliseconds. */
int64_t jet_now(void);
void jet_say(axo_store_problem *problem, int error, const char *what, const char *why);

typedef struct jet_reader {
    natsSubscription *subscription;
} jet_reader;
natsStatus jet_reader_open(jet_stream *stream, jet_reader *reader);
natsStatus jet_reader_next(jet_stream *stream, jet_reader *reader, natsMsg **message,
                           uint64_t *sequence);
void jet_reader_close(jet_reader *reader);

/* ---- log.c ---- */

/* Bytes that grow. */
typedef struct jet_buffer {
    unsigned char *bytes;
    size_t size;
    size_t room;
} jet_buffer;

typedef struct jet_log {
    jet_stream stream;
    uint64_t number;
    uint64_t committed;  /* the last sequence of the last transaction that counts */
    uint64_t bytes;      /* of the stream, about */
    uint64_t shorten_at; /* when it has so many beyond twice the map's, a checkpoint is written */
    uint64_t slack;
    /* of the transaction that is written */
    jet_head head;
    size_t part_max;
    unsigned char *part; /* a head, and room for part_max bytes */
    size_t used;
    uint64_t began; /* the sequence of its first part */
} jet_log;

/* Reads all into the map; else *problem. */
axo_status jet_log_read(jet_log *log, jet_map *map, axo_store_problem *problem);
/* Writes what has changed as one transaction: as jet_stream_publish. */
int jet_log_write(jet_log *log, const jet_changes *changes);
/* Writes a checkpoint when it is time, and purges. What fails is tried again later. */
void jet_log_shorten(jet_log *log, jet_map *map);

/* ---- base.c ---- */

struct durable_txn {
    struct jet_base *jet;
    bool reads;
    jet_changes changes;
    jet_entry *at;
};

typedef struct jet_base {
    axo_system *system;
    pthread_mutex_t mutex; /* from the begin of a transaction to its end */
    jet_map map;
    jet_log log;
    uint64_t bytes_max;
    bool reserve;
    durable_txn txn;
} jet_base;

#endif
