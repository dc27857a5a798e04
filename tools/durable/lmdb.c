/* lmdb.c - a store's base in an environment of LMDB. */
#include <errno.h>
#include <unistd.h>

#include "lmdb_base.h"
#include "store.h"

_Static_assert(DURABLE_NOTFOUND == MDB_NOTFOUND, "LMDB's numbers");
_Static_assert(DURABLE_CORRUPTED == MDB_CORRUPTED, "LMDB's numbers");
_Static_assert(DURABLE_MAP_FULL == MDB_MAP_FULL, "LMDB's numbers");

static MDB_val lmdb_val(const durable_bytes *bytes)
{
    return (MDB_val){.mv_size = bytes->size, .mv_data = bytes->data};
}

static durable_bytes lmdb_bytes(const MDB_val *val)
{
    return (durable_bytes){.size = val->mv_size, .data = val->mv_data};
}

/* ---- transactions ---- */

static void lmdb_end(durable_txn *txn)
{
    durable_lmdb *lmdb = txn->lmdb;
    if (!txn->reads)
        return;
    (void)pthread_rwlock_unlock(&lmdb->map);
    axo_system_free(lmdb->system, txn, sizeof *txn);
}

static int lmdb_begin(void *on, bool reads, durable_txn **out)
{
    durable_lmdb *lmdb = on;
    durable_txn *txn = reads ? durable_alloc(lmdb->system, sizeof *txn) : &lmdb->writes;
    if (txn == NULL)
        return ENOMEM;
    if (reads)
        (void)pthread_rwlock_rdlock(&lmdb->map);
    *txn = (durable_txn){.lmdb = lmdb, .reads = reads};
    *out = txn;
    int error = mdb_txn_begin(lmdb->env, NULL, reads ? MDB_RDONLY : 0, &txn->txn);
    if (error != 0)
        lmdb_end(txn);
    return error;
}

static void lmdb_close_cursor(durable_txn *txn)
{
    if (txn->cursor != NULL)
        mdb_cursor_close(txn->cursor);
    txn->cursor = NULL;
}

static int lmdb_commit(durable_txn *txn)
{
    lmdb_close_cursor(txn);
    int error = mdb_txn_commit(txn->txn);
    lmdb_end(txn);
    return error;
}

static void lmdb_abort(durable_txn *txn)
{
    lmdb_close_cursor(txn);
    mdb_txn_abort(txn->txn);
    lmdb_end(txn);
}

/* ---- in a transaction ---- */

static int lmdb_get(durable_txn *txn, durable_table table, const durable_bytes *key,
                    durable_bytes *value)
{
    MDB_val at = lmdb_val(key);
    MDB_val there = {0};
    int error = mdb_get(txn->txn, txn->lmdb->tables[table], &at, &there);
    *value = lmdb_bytes(&there);
    return error;
}

static int lmdb_put(durable_txn *txn, durable_table table, const durable_bytes *key,
                    durable_bytes *value)
{
    MDB_val at = lmdb_val(key);
    MDB_val room = {.mv_size = value->size};
    int error = mdb_put(txn->txn, txn->lmdb->tables[table], &at, &room, MDB_RESERVE);
    value->data = room.mv_data;
    return error;
}

static int lmdb_del(durable_txn *txn, durable_table table, const durable_bytes *key)
{
    MDB_val at = lmdb_val(key);
    return mdb_del(txn->txn, txn->lmdb->tables[table], &at, NULL);
}

static int lmdb_move(durable_txn *txn, durable_bytes *key, durable_bytes *value, MDB_cursor_op op)
{
    MDB_val at = lmdb_val(key);
    MDB_val there = {0};
    int error = mdb_cursor_get(txn->cursor, &at, &there, op);
    *key = lmdb_bytes(&at);
    *value = lmdb_bytes(&there);
    return error;
}

static int lmdb_seek(durable_txn *txn, durable_table table, durable_bytes *key,
                     durable_bytes *value)
{
    lmdb_close_cursor(txn);
    int error = mdb_cursor_open(txn->txn, txn->lmdb->tables[table], &txn->cursor);
    return error == 0 ? lmdb_move(txn, key, value, MDB_SET_RANGE) : error;
}

static int lmdb_step(durable_txn *txn, durable_bytes *key, durable_bytes *value)
{
    return lmdb_move(txn, key, value, MDB_NEXT);
}

/* ---- beside transactions ---- */

/* The next transaction that writes may fill as much. While no other thread reads. */
static void lmdb_reserve(void *on, bool with)
{
    durable_lmdb *lmdb = on;
    uint64_t bytes = lmdb->map_bytes + (with ? lmdb->map_bytes / 8 : 0);
    (void)pthread_rwlock_wrlock(&lmdb->map);
    (void)mdb_env_set_mapsize(lmdb->env, bytes);
    (void)pthread_rwlock_unlock(&lmdb->map);
}

static int lmdb_sync(void *on)
{
    return mdb_env_sync(((durable_lmdb *)on)->env, 1);
}

static const char *lmdb_text(int error)
{
    return mdb_strerror(error);
}

static void lmdb_close(void *on)
{
    durable_lmdb *lmdb = on;
    if (lmdb->env != NULL) {
        if (lmdb->sync == AXO_SYNC_INTERVAL)
            (void)mdb_env_sync(lmdb->env, 1);
        mdb_env_close(lmdb->env);
    }
    if (lmdb->owner_fd >= 0)
        (void)close(lmdb->owner_fd);
    (void)pthread_rwlock_destroy(&lmdb->map);
    axo_system_free(lmdb->system, lmdb, sizeof *lmdb);
}

const durable_base durable_lmdb_base = {.begin = lmdb_begin,
                                        .commit = lmdb_commit,
                                        .abort = lmdb_abort,
                                        .get = lmdb_get,
                                        .put = lmdb_put,
                                        .del = lmdb_del,
                                        .seek = lmdb_seek,
                                        .step = lmdb_step,
                                        .reserve = lmdb_reserve,
                                        .sync = lmdb_sync,
                                        .text = lmdb_text,
                                        .close = lmdb_close};
