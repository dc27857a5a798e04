/* lmdb_base.h - an environment of LMDB, as a store's base. */
#ifndef DURABLE_LMDB_BASE_H
#define DURABLE_LMDB_BASE_H

#include <pthread.h>

#include <lmdb.h>

#include "base.h"

typedef struct durable_lmdb durable_lmdb;

struct durable_txn {
    durable_lmdb *lmdb;
    MDB_txn *txn;
    MDB_cursor *cursor;
    bool reads;
};

struct durable_lmdb {
    axo_system *system;
    MDB_env *env;
    MDB_dbi tables[DURABLE_TABLES];
    uint64_t map_bytes;
    uint32_t sync;
    int owner_fd;
    pthread_rwlock_t map; /* read: a transaction that reads; write: a new size */
    durable_txn writes;
};

extern const durable_base durable_lmdb_base;

/* Opens a folder; else *problem says why not. *out is then NULL. */
axo_status durable_lmdb_open(axo_system *system, const axo_store_settings *settings,
                             axo_store_problem *problem, durable_lmdb **out);

#endif
