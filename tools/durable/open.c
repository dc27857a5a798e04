/* open.c - opening a folder: its owner, the check of the file, LMDB, the format. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lmdb_base.h"
#include "record.h"
#include "store.h"

static int open_say(axo_store_problem *problem, int error, const char *what)
{
    problem->error = error;
    (void)snprintf(problem->text, sizeof problem->text, "%.100s: %s", what, mdb_strerror(error));
    return error;
}

static axo_status open_status(int error)
{
    if (error == MDB_VERSION_MISMATCH)
        return AXO_EVERSION;
    return error == ENOMEM ? AXO_ENOMEM : AXO_ESYSTEM;
}

/* Whether the file is a store's of this version; one in which nothing is becomes one. */
static axo_status open_find_format(MDB_txn *txn, axo_store_problem *problem, bool *fresh)
{
    MDB_val key = {.mv_size = 6, .mv_data = "format"};
    MDB_val value = {0};
    MDB_dbi main;
    MDB_dbi meta;
    MDB_stat stat;
    int error = mdb_dbi_open(txn, NULL, 0, &main);
    if (error == 0)
        error = mdb_stat(txn, main, &stat);
    if (error != 0)
        return open_status(open_say(problem, error, "the main database"));
    *fresh = stat.ms_entries == 0;
    if (*fresh)
        return AXO_OK;
    error = mdb_dbi_open(txn, "meta", 0, &meta);
    if (error == 0)
        error = mdb_get(txn, meta, &key, &value);
    if (error != 0 && error != MDB_NOTFOUND && error != MDB_INCOMPATIBLE)
        return open_status(open_say(problem, error, "the format"));
    const durable_bytes bytes = {.size = error == 0 ? value.mv_size : 0, .data = value.mv_data};
    return durable_format_check("data.mdb", &bytes, problem);
}

static int open_tables(durable_lmdb *lmdb, MDB_txn *txn, bool fresh)
{
    static const char *const names[DURABLE_TABLES] = {"meta", "queues", "messages",
                                                      "dead", "events", "snapshots"};
    int error = 0;
    for (size_t i = 0; i < DURABLE_TABLES && error == 0; i++)
        error = mdb_dbi_open(txn, names[i], fresh ? MDB_CREATE : 0, &lmdb->tables[i]);
    if (error != 0 || !fresh)
        return error;
    durable_format format = DURABLE_FORMAT_FRESH;
    MDB_val key = {.mv_size = 6, .mv_data = "format"};
    MDB_val value = {.mv_size = sizeof format, .mv_data = &format};
    return mdb_put(txn, lmdb->tables[DURABLE_META], &key, &value, 0);
}

static axo_status open_begin_use(durable_lmdb *lmdb, axo_store_problem *problem)
{
    MDB_txn *txn;
    bool fresh = false;
    int dead_readers;
    (void)mdb_reader_check(lmdb->env, &dead_readers);
    int error = mdb_txn_begin(lmdb->env, NULL, 0, &txn);
    if (error != 0)
        return open_status(open_say(problem, error, "the first transaction"));
    axo_status status = open_find_format(txn, problem, &fresh);
    if (status != AXO_OK) {
        mdb_txn_abort(txn);
        return status;
    }
    error = open_tables(lmdb, txn, fresh);
    if (error == 0)
        error = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    return error == 0 ? AXO_OK : open_status(open_say(problem, error, "the first transaction"));
}

/* One process at a time, and once in it: LMDB bears no second environment. */
static axo_status open_own(durable_lmdb *lmdb, const char *path, axo_store_problem *problem)
{
    char file[4096];
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        (void)open_say(problem, errno, path);
        return AXO_ESYSTEM;
    }
    (void)snprintf(file, sizeof file, "%s/owner", path);
    lmdb->owner_fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lmdb->owner_fd < 0) {
        (void)open_say(problem, errno, file);
        return AXO_ESYSTEM;
    }
    if (flock(lmdb->owner_fd, LOCK_EX | LOCK_NB) == 0)
        return AXO_OK;
    int error = errno;
    (void)open_say(problem, error, "the store is open already");
    return error == EWOULDBLOCK ? AXO_EBUSY : AXO_ESYSTEM;
}

static axo_status open_environment(durable_lmdb *lmdb, const axo_store_settings *settings,
                                   axo_store_problem *problem)
{
    char file[4096];
    axo_status status = open_own(lmdb, settings->path, problem);
    if (status != AXO_OK)
        return status;
    (void)snprintf(file, sizeof file, "%s/data.mdb", settings->path);
    int error = 0;
    if (!settings->no_check)
        error = durable_check(file, problem->text, sizeof problem->text);
    if (error != 0) {
        problem->error = error;
        return open_status(error);
    }
    error = mdb_env_create(&lmdb->env);
    if (error == 0)
        error = mdb_env_set_maxdbs(lmdb->env, DURABLE_TABLES);
    if (error == 0)
        error = mdb_env_set_mapsize(lmdb->env, lmdb->map_bytes);
    unsigned flags = MDB_NOTLS | (lmdb->sync == AXO_SYNC_INTERVAL ? MDB_NOSYNC : 0);
    if (error == 0)
        error = mdb_env_open(lmdb->env, settings->path, flags, 0600);
    if (error != 0)
        return open_status(open_say(problem, error, file));
    return open_begin_use(lmdb, problem);
}

axo_status durable_lmdb_open(axo_system *system, const axo_store_settings *settings,
                             axo_store_problem *problem, durable_lmdb **out)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *out = NULL;
    durable_lmdb *lmdb = durable_alloc(system, sizeof *lmdb);
    if (lmdb == NULL)
        return AXO_ENOMEM;
    lmdb->system = system;
    lmdb->map_bytes = (settings->map_bytes + page - 1) / page * page;
    lmdb->sync = settings->sync;
    lmdb->owner_fd = -1;
    (void)pthread_rwlock_init(&lmdb->map, NULL);
    axo_status status = open_environment(lmdb, settings, problem);
    if (status == AXO_OK)
        *out = lmdb;
    else
        durable_lmdb_base.close(lmdb);
    return status;
}
