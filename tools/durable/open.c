/* open.c - opening a store's folder and closing it: its owner, the check of the file, LMDB, the
 * format, what was in hand when the last process ended. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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
static axo_status open_read_format(axo_store *store, MDB_txn *txn, axo_store_problem *problem,
                                   bool *fresh)
{
    durable_format format;
    MDB_val key = {.mv_size = 6, .mv_data = "format"};
    MDB_val value;
    MDB_dbi main;
    MDB_stat stat;
    int error = mdb_dbi_open(txn, NULL, 0, &main);
    if (error == 0)
        error = mdb_stat(txn, main, &stat);
    if (error != 0)
        return open_status(open_say(problem, error, "the main database"));
    *fresh = stat.ms_entries == 0;
    if (*fresh)
        return AXO_OK;
    error = mdb_dbi_open(txn, "meta", 0, &store->meta);
    if (error == 0)
        error = mdb_get(txn, store->meta, &key, &value);
    if (error != 0 && error != MDB_NOTFOUND && error != MDB_INCOMPATIBLE)
        return open_status(open_say(problem, error, "the format"));
    memset(&format, 0, sizeof format);
    if (error == 0 && value.mv_size >= sizeof format)
        memcpy(&format, value.mv_data, sizeof format);
    if (memcmp(format.magic, DURABLE_MAGIC, sizeof format.magic) != 0) {
        (void)snprintf(problem->text, sizeof problem->text, "data.mdb is no store of axo's");
        return AXO_EVERSION;
    }
    if (format.version != DURABLE_VERSION || value.mv_size != sizeof format) {
        (void)snprintf(problem->text, sizeof problem->text,
                       "the store is of version %u; this library reads version %u", format.version,
                       DURABLE_VERSION);
        return AXO_EVERSION;
    }
    store->next_id = store->was_next_id = format.next_id;
    return AXO_OK;
}

static int open_all(axo_store *store, MDB_txn *txn, bool fresh)
{
    const struct {
        const char *name;
        MDB_dbi *dbi;
    } all[] = {{"meta", &store->meta},         {"queues", &store->queues},
               {"messages", &store->messages}, {"dead", &store->dead},
               {"events", &store->events},     {"snapshots", &store->snapshots}};
    int error = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0] && error == 0; i++)
        error = mdb_dbi_open(txn, all[i].name, fresh ? MDB_CREATE : 0, all[i].dbi);
    if (error != 0 || !fresh)
        return error;
    store->next_id = store->was_next_id = 1;
    return durable_disk_format(store, txn);
}

static axo_status open_begin_use(axo_store *store, axo_store_problem *problem)
{
    MDB_txn *txn;
    bool fresh = false;
    int dead_readers;
    (void)mdb_reader_check(store->env, &dead_readers);
    int error = mdb_txn_begin(store->env, NULL, 0, &txn);
    if (error != 0)
        return open_status(open_say(problem, error, "the first transaction"));
    axo_status status = open_read_format(store, txn, problem, &fresh);
    if (status != AXO_OK) {
        mdb_txn_abort(txn);
        return status;
    }
    error = open_all(store, txn, fresh);
    if (error == 0)
        error = mdb_txn_commit(txn);
    else
        mdb_txn_abort(txn);
    return error == 0 ? AXO_OK : open_status(open_say(problem, error, "the first transaction"));
}

/* One process at a time, and once in it: LMDB bears no second environment. */
static axo_status open_own(axo_store *store, const char *path, axo_store_problem *problem)
{
    char file[4096];
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        (void)open_say(problem, errno, path);
        return AXO_ESYSTEM;
    }
    (void)snprintf(file, sizeof file, "%s/owner", path);
    store->owner_fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (store->owner_fd < 0) {
        (void)open_say(problem, errno, file);
        return AXO_ESYSTEM;
    }
    if (flock(store->owner_fd, LOCK_EX | LOCK_NB) == 0)
        return AXO_OK;
    int error = errno;
    (void)open_say(problem, error, "the store is open already");
    return error == EWOULDBLOCK ? AXO_EBUSY : AXO_ESYSTEM;
}

int durable_disk_open(axo_store *store, const char *path, axo_store_problem *problem,
                      axo_status *status)
{
    char file[4096];
    durable_disk_init(store);
    *status = open_own(store, path, problem);
    if (*status != AXO_OK)
        return problem->error;
    (void)snprintf(file, sizeof file, "%s/data.mdb", path);
    int error = 0;
    if (!store->no_check)
        error = durable_check(file, problem->text, sizeof problem->text);
    if (error != 0) {
        problem->error = error;
        *status = open_status(error);
        return error;
    }
    error = mdb_env_create(&store->env);
    if (error == 0)
        error = mdb_env_set_maxdbs(store->env, 6);
    if (error == 0)
        error = mdb_env_set_mapsize(store->env, store->map_bytes);
    unsigned flags = MDB_NOTLS | (store->sync == AXO_SYNC_INTERVAL ? MDB_NOSYNC : 0);
    if (error == 0)
        error = mdb_env_open(store->env, path, flags, 0600);
    if (error != 0) {
        *status = open_status(open_say(problem, error, file));
        return error;
    }
    *status = open_begin_use(store, problem);
    if (*status != AXO_OK)
        return problem->error;
    error = durable_hands_open(store, path);
    if (error != 0)
        *status = open_status(open_say(problem, error, "what was in hand"));
    return error;
}

void durable_disk_close(axo_store *store)
{
    if (store->env != NULL) {
        if (store->sync == AXO_SYNC_INTERVAL)
            (void)mdb_env_sync(store->env, 1);
        mdb_env_close(store->env);
    }
    store->env = NULL;
    durable_hands_close(store);
    if (store->owner_fd >= 0)
        (void)close(store->owner_fd);
    store->owner_fd = -1;
}
