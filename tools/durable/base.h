/* base.h - what a store stands on: tables with keys in order, changed by transactions. LMDB's is
 * lmdb.c; another library brings another, and opens the store by axo_store_open_on.
 *
 * One thread at a time has a transaction that writes, any may have one that reads, and none sees
 * what is not committed. What is pointed to by a transaction is good until its next change or its
 * end. Each function that returns an int returns 0, an errno or one of the numbers below. */
#ifndef DURABLE_BASE_H
#define DURABLE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/durable.h>

/* LMDB's numbers. */
#define DURABLE_NOTFOUND  (-30798)
#define DURABLE_CORRUPTED (-30796)
#define DURABLE_MAP_FULL  (-30792)

typedef enum durable_table {
    DURABLE_META = 0,
    DURABLE_QUEUES = 1,
    DURABLE_MESSAGES = 2,
    DURABLE_DEAD = 3,
    DURABLE_EVENTS = 4,
    DURABLE_SNAPSHOTS = 5
} durable_table;
#define DURABLE_TABLES 6

typedef struct durable_bytes {
    size_t size;
    void *data;
} durable_bytes;

typedef struct durable_txn durable_txn;

typedef struct durable_base {
    /* ENOTCONN: what it stands on is away; EBUSY: it is another's by now. */
    int (*begin)(void *on, bool reads, durable_txn **out);
    /* On failure nothing has changed; ETIMEDOUT: but it may have, when it is opened again. The
     * transaction has ended. */
    int (*commit)(durable_txn *txn);
    void (*abort)(durable_txn *txn);
    int (*get)(durable_txn *txn, durable_table table, const durable_bytes *key,
               durable_bytes *value);
    /* Makes room for value->size bytes, which the caller fills at value->data. */
    int (*put)(durable_txn *txn, durable_table table, const durable_bytes *key,
               durable_bytes *value);
    int (*del)(durable_txn *txn, durable_table table, const durable_bytes *key);
    /* The first at *key or behind it, which becomes its key; then those behind that one. */
    int (*seek)(durable_txn *txn, durable_table table, durable_bytes *key, durable_bytes *value);
    int (*step)(durable_txn *txn, durable_bytes *key, durable_bytes *value);
    /* What transactions may fill: with the reserve, or without. */
    void (*reserve)(void *on, bool with);
    int (*sync)(void *on);
    const char *(*text)(int error);
    void (*close)(void *on);
} durable_base;

/* What is the same of all stores. */
typedef struct durable_ways {
    const durable_base *base;
    void *on;           /* closed with the store, also when that does not open */
    const char *folder; /* of the file of hands; NULL: deaths of the process are not counted */
    uint32_t sync;
    uint32_t sync_ms;
    uint32_t loaded_max;
} durable_ways;

/* Opens a store: as axo_store_open. An export of libaxo-durable's, for libraries beside it. */
AXO_API axo_status axo_store_open_on(axo_system *system, const durable_ways *ways,
                                      axo_store_problem *problem, axo_store **out);

#endif
