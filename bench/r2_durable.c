/* r2_durable.c - what a durable message costs (durable.h), beside LMDB itself, and how long a store
 * with many messages takes until they are handled.
 *
 * R2c: messages of 64 bytes from one actor to the mailbox of another, of which at most --window are
 *      not on disk yet, until all are handled and acknowledged; each commit synced.
 * R2i: the same, synced each second.
 * R2l: LMDB alone: --window messages put by one transaction and deleted by the next, until as many
 *      have gone; each commit synced, `nosync` as R2i.
 * R2r: --kept messages lie in a mailbox, in a store that is closed: from its opening to the last
 *      one's handler. `open_ms` is the opening, which reads the file through; the rest is the
 *      mailbox. */
#include <stdlib.h>
#include <string.h>

#include <lmdb.h>

#include <axo/durable.h>

#include "bench.h"

enum { GO = 1, DATA };
#define DATA_BYTES 64u

typedef struct run {
    uint64_t messages;
    uint64_t window;
    uint64_t kept;
    uint64_t part;
    uint32_t sync;
    axo_store *store;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t handled;
    char path[64];
} run;

static axo_status sink_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(run *));
    return AXO_OK;
}

static axo_status sink_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    run *own = *(run **)state;
    (void)message;
    if (++own->handled < own->messages)
        return AXO_OK;
    own->end_ns = clock_ns();
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class sink_class = AXO_CLASS(.name = "sink", .state_size = sizeof(run *),
                                              .construct = sink_construct, .receive = sink_receive);

typedef struct source {
    run *run;
    uint64_t sent;
} source;

static axo_status source_send(axo_ctx *ctx, source *me)
{
    const char data[DATA_BYTES] = "";
    if (me->sent == me->run->messages)
        return AXO_OK;
    return axo_durable_send(ctx, me->run->store, "sink", DATA, data, sizeof data, me->sent++);
}

static axo_status source_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    source *me = state;
    if (message->tag == AXO_DURABLE_ANSWER) {
        bench_check((axo_status)AXO_PAYLOAD(message, axo_durable_answer)->status, "on disk");
        return source_send(ctx, me);
    }
    me->run->begin_ns = clock_ns();
    for (uint64_t i = 0; i < me->run->window; i++)
        bench_check(source_send(ctx, me), "send");
    return AXO_OK;
}

static const axo_class source_class =
    AXO_CLASS(.name = "source", .state_size = sizeof(source), .construct = sink_construct,
              .receive = source_receive);

static void folder_make(run *own)
{
    (void)snprintf(own->path, sizeof own->path, "/tmp/r2_durable.XXXXXX");
    if (mkdtemp(own->path) == NULL)
        bench_check(AXO_ESYSTEM, "a folder");
}

static void folder_remove(const run *own)
{
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r %s", own->path);
    bench_expect((uint64_t)system(command), 0, "rm");
}

static axo_system *world_open(const bench_settings *settings, run *own)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = settings->workers);
    axo_store_settings store =
        AXO_STORE_SETTINGS(.path = own->path, .sync = own->sync, .map_bytes = UINT64_C(4) << 30);
    bench_check(axo_system_start(&options, &system), "start");
    bench_check(axo_store_open(system, &store, NULL, &own->store), "open");
    own->handled = 0;
    return system;
}

static void world_sink(axo_system *system, run *own)
{
    axo_ref ref;
    axo_durable recipe = AXO_DURABLE(.store = own->store, .name = "sink");
    axo_props props = AXO_PROPS(.cls = &sink_class, .args = &own, .args_size = sizeof own);
    bench_check(axo_system_durable_spawn(system, &recipe, &props, &ref), "spawn");
}

static void world_close(axo_system *system, bench_sample *sample)
{
    axo_stats stats = AXO_STATS();
    bench_check(axo_system_wait(system, BENCH_STOP_NS, NULL), "wait");
    bench_check(axo_system_stats(system, &stats), "stats");
    sample->stats = stats;
    sample->workers = axo_system_workers(system);
    bench_check(axo_system_destroy(system), "destroy");
}

static void stream_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    axo_ref ref;
    folder_make(own);
    axo_system *system = world_open(settings, own);
    world_sink(system, own);
    axo_props props = AXO_PROPS(.cls = &source_class, .args = &own, .args_size = sizeof own);
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "go");
    world_close(system, sample);
    folder_remove(own);
    sample->figure = (double)own->messages * 1e9 / (double)(own->end_ns - own->begin_ns);
}

/* ---- LMDB alone ---- */

static void bare_check(int error, const char *what)
{
    if (error != 0)
        (void)fprintf(stderr, "%s: %s\n", what, mdb_strerror(error));
    bench_check(error == 0 ? AXO_OK : AXO_ESYSTEM, what);
}

static void bare_batch(MDB_env *env, MDB_dbi dbi, uint64_t first, uint64_t count, bool put)
{
    MDB_txn *txn;
    char data[DATA_BYTES] = "";
    bare_check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    for (uint64_t i = first; i < first + count; i++) {
        uint64_t number = __builtin_bswap64(i);
        MDB_val key = {.mv_size = sizeof number, .mv_data = &number};
        MDB_val value = {.mv_size = sizeof data, .mv_data = data};
        bare_check(put ? mdb_put(txn, dbi, &key, &value, 0) : mdb_del(txn, dbi, &key, NULL), "op");
    }
    bare_check(mdb_txn_commit(txn), "commit");
}

static double bare_once(run *own, unsigned flags)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    folder_make(own);
    bare_check(mdb_env_create(&env), "create");
    bare_check(mdb_env_set_mapsize(env, UINT64_C(4) << 30), "map");
    bare_check(mdb_env_open(env, own->path, flags, 0600), "open");
    bare_check(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    bare_check(mdb_dbi_open(txn, NULL, 0, &dbi), "database");
    bare_check(mdb_txn_commit(txn), "commit");
    uint64_t begin_ns = clock_ns();
    for (uint64_t i = 0; i < own->messages; i += own->window) {
        bare_batch(env, dbi, i, own->window, true);
        bare_batch(env, dbi, i, own->window, false);
    }
    double seconds = (double)(clock_ns() - begin_ns) / 1e9;
    mdb_env_close(env);
    folder_remove(own);
    return (double)own->messages / seconds;
}

static void bare_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    (void)settings;
    sample->figure = bare_once(arg, 0);
    sample->values[0] = bare_once(arg, MDB_NOSYNC);
}

/* ---- recovery ---- */

static void keep_all(const bench_settings *settings, run *own)
{
    axo_ref ref;
    bench_sample unused;
    const uint64_t messages = own->messages;
    own->messages = own->kept;
    own->sync = AXO_SYNC_INTERVAL;
    axo_system *system = world_open(settings, own);
    axo_props props = AXO_PROPS(.cls = &source_class, .args = &own, .args_size = sizeof own);
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "go");
    for (axo_store_figures figures = {0}; figures.accepted < own->kept;) {
        (void)usleep(1000);
        bench_check(axo_store_count(own->store, &figures), "count");
    }
    bench_check(axo_system_shutdown(system), "shutdown");
    world_close(system, &unused);
    own->messages = messages;
}

static void recover_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    const uint64_t messages = own->messages;
    folder_make(own);
    keep_all(settings, own);
    own->messages = own->kept;
    uint64_t begin_ns = clock_ns();
    axo_system *system = world_open(settings, own);
    sample->values[0] = (double)(clock_ns() - begin_ns) / 1e6;
    world_sink(system, own);
    world_close(system, sample);
    folder_remove(own);
    own->messages = messages;
    sample->figure = (double)own->kept * 1e9 / (double)(own->end_ns - begin_ns);
}

int main(int argc, char **argv)
{
    static run own = {.messages = 102400, .window = 1024, .kept = 1000000};
    const bench_option options[] = {{"--messages", &own.messages, "messages a run, R2c, R2i, R2l"},
                                    {"--window", &own.window, "of them at most not on disk"},
                                    {"--kept", &own.kept, "messages that lie there, R2r"},
                                    {"--part", &own.part, "1 to 4: only R2c, i, l, r; 0: all"}};
    bench_settings settings;
    char text[96];
    (void)argc;
    bench_settings_read(&settings, argv, options, 4);
    if (own.window < 1 || own.messages < own.window || own.kept < own.window || own.part > 4)
        bench_usage(argv[0], options, 4);
    own.messages -= own.messages % own.window;
    (void)snprintf(text, sizeof text, "\"messages\":%" PRIu64 ",\"window\":%" PRIu64, own.messages,
                   own.window);
    bench_work work = {.unit = "messages/s", .options = text, .run = stream_run, .arg = &own};
    for (uint32_t part = 1; part <= 2; part++) {
        work.name = part == 1 ? "R2c" : "R2i";
        own.sync = part == 1 ? AXO_SYNC_COMMIT : AXO_SYNC_INTERVAL;
        if (own.part == 0 || own.part == part)
            bench_measure(&settings, &work);
    }
    work.name = "R2l";
    work.run = bare_run;
    work.values[0] = (bench_value){"nosync", false};
    if (own.part == 0 || own.part == 3)
        bench_measure(&settings, &work);
    (void)snprintf(text, sizeof text, "\"kept\":%" PRIu64, own.kept);
    work.name = "R2r";
    work.run = recover_run;
    work.values[0] = (bench_value){"open_ms", true};
    if (own.part == 0 || own.part == 4)
        bench_measure(&settings, &work);
    return 0;
}
