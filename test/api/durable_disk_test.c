/* durable_disk_test.c - what can be wrong with a disk and a file: no room, no right, a torn file,
 * another version's, another program's; and messages under which the process dies. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <lmdb.h>

#include "api/durable_world.h"
#include "record.h"

static const char *self_path;

/* ---- no room ---- */

#define BIG 4000
static axo_status send_big(world *w, const char *name, int64_t value, axo_durable_answer *answer)
{
    static char bytes[BIG];
    memcpy(bytes, &value, sizeof value);
    return axo_system_durable_send(w->store, name, W_ADD, bytes, sizeof bytes, W_LONG, answer);
}

/* The reserve lets acknowledgements through, and then there is room again. */
static void full_map(void **unused)
{
    world w;
    axo_durable_answer answer;
    int64_t accepted = 0;
    int64_t small = 0;
    static const char poison[60000];
    w_init(&w);
    w.settings.map_bytes = AXO_STORE_MAP_MIN;
    w_open(&w);
    assert_int_equal(
        axo_system_durable_send(w.store, "poison", W_FAIL, poison, sizeof poison, W_LONG, NULL),
        AXO_OK);
    while (send_big(&w, "a", accepted + 1, &answer) == AXO_OK)
        accepted++;
    assert_true(accepted > 50);
    assert_int_equal(answer.status, AXO_ESYSTEM);
    assert_int_equal(answer.error, MDB_MAP_FULL);
    assert_int_equal(answer.number, 0);
    while (axo_system_durable_send(w.store, "a", W_ADD, &accepted, sizeof accepted, W_LONG, NULL) ==
           AXO_OK)
        small++; /* to the last page */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(send_big(&w, "new name", 1, &answer), AXO_ESYSTEM);
        assert_int_equal(answer.error, MDB_MAP_FULL);
    }
    w_close(&w);
    w_open(&w); /* full as it is */
    axo_ref ref = w_spawn(&w, "b");
    w_tell(&w, ref, W_SEND, 20); /* to an actor it is said, too */
    W_UNTIL(&w, w.refusals + w.answers == 20);
    (void)w_spawn(&w, "poison"); /* its letter needs as much room again */
    W_UNTIL_STORE(&w, dead, 1);
    w_forget(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, (uint32_t)(accepted + small));
    for (int64_t i = 0; i < accepted; i++)
        assert_int_equal(w.seen[i].value, i + 1);
    W_UNTIL_STORE(&w, acknowledged, accepted + small);
    assert_int_equal(send_big(&w, "a", 0, &answer), AXO_OK);
    assert_int_equal(answer.number, accepted + small + 1); /* of those refused nothing is left */
    w_close(&w);
    w_fini(&w);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static off_t file_size(const world *w)
{
    struct stat stat_;
    char file[300];
    (void)snprintf(file, sizeof file, "%s/data.mdb", w->path);
    assert_int_equal(stat(file, &stat_), 0);
    return stat_.st_size;
}

/* A disk on which the file cannot grow: senders are refused, events and acknowledgements wait. */
static void full_disk(void **unused)
{
    world w;
    axo_durable_answer answer;
    int64_t accepted = 0;
    w_init(&w);
    (void)signal(SIGXFSZ, SIG_IGN);
    w_open(&w);
    (void)w_spawn_journal(&w, "j");
    (void)w_put(&w, "j", W_PUT, 5);
    W_UNTIL(&w, w.applied == 1);
    limit_files((rlim_t)file_size(&w) + 65536);
    while (send_big(&w, "a", accepted + 1, &answer) == AXO_OK)
        accepted++;
    assert_int_equal(answer.status, AXO_ESYSTEM);
    assert_true(answer.error == EFBIG || answer.error == EIO);
    limit_files(1); /* not a page more */
    axo_ref ref;
    assert_int_equal(w_try_spawn(&w, "k", true, &ref), AXO_OK);
    w_tell(&w, ref, W_PUT, 7);
    w_tell(&w, ref, W_SUM, 0);
    W_UNTIL_STORE(&w, errors, 5);
    assert_int_equal(w.applied, 1);
    limit_files(RLIM_INFINITY);
    W_UNTIL(&w, w.applied == 2); /* it has waited */
    w_forget(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, (uint32_t)accepted);
    W_UNTIL_STORE(&w, acknowledged, accepted + 1);
    assert_int_equal(send_big(&w, "a", 0, &answer), AXO_OK);
    assert_int_equal(answer.number, accepted + 1);
    w_close(&w);
    w_forget(&w);
    w_open(&w);
    ref = w_spawn_journal(&w, "k");
    w_tell(&w, ref, W_SUM, 0);
    w_await(&w, 1);
    assert_int_equal(w.seen[0].sum, 7);
    w_close(&w);
    w_fini(&w);
}

/* ---- files that are refused ---- */

static axo_status try_open(world *w, axo_store_problem *problem)
{
    axo_system *system;
    axo_store *store;
    axo_options options = AXO_OPTIONS(.workers = 1);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo_status status = axo_store_open(system, &w->settings, problem, &store);
    assert_true((store != NULL) == (status == AXO_OK));
    assert_int_equal(axo_system_stop(system, W_LONG, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    return status;
}

static void refused(world *w, axo_status status, int error, const char *text)
{
    axo_store_problem problem;
    axo_status got = try_open(w, &problem);
    if (got != status || problem.error != error || strstr(problem.text, text) == NULL)
        fail_msg("%s, %d, %s", axo_status_name(got), problem.error, problem.text);
}

static void fill(world *w, int count)
{
    w_open(w);
    for (int i = 1; i <= count; i++)
        (void)w_put(w, "a", W_ADD, i);
    w_close(w);
}

static void no_right(void **unused)
{
    world w;
    char file[300];
    w_init(&w);
    fill(&w, 3);
    (void)snprintf(file, sizeof file, "%s/data.mdb", w.path);
    bool root = geteuid() == 0;
    if (root) { /* who has every right */
        char command[400];
        (void)snprintf(command, sizeof command, "chown -R 65534 '%s'", w.path);
        assert_int_equal(system(command), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    assert_int_equal(chmod(file, 0400), 0);
    refused(&w, AXO_ESYSTEM, EACCES, "data.mdb");
    assert_int_equal(chmod(file, 0000), 0);
    refused(&w, AXO_ESYSTEM, EACCES, "data.mdb");
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(chmod(w.path, 0000), 0);
    refused(&w, AXO_ESYSTEM, EACCES, w.path);
    assert_int_equal(chmod(w.path, 0700), 0);
    if (root)
        assert_int_equal(seteuid(0), 0);
    w_open(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, 3);
    w_close(&w);
    w.settings.path = "/nowhere/at/all";
    refused(&w, AXO_ESYSTEM, ENOENT, "/nowhere/at/all");
    w_fini(&w);
}

static void open_twice(void **unused)
{
    world w;
    w_init(&w);
    w_open(&w);
    refused(&w, AXO_EBUSY, EWOULDBLOCK, "open already");
    assert_int_equal(w_put(&w, "a", W_ADD, 1), 1);
    w_close(&w);
    w_open(&w);
    assert_int_equal(w_put(&w, "a", W_ADD, 1), 2);
    w_close(&w);
    w_fini(&w);
}

static void bad_settings(void **unused)
{
    world w;
    axo_store *store;
    w_init(&w);
    axo_store_settings bad[] = {AXO_STORE_SETTINGS(.path = NULL),
                                AXO_STORE_SETTINGS(.path = ""),
                                AXO_STORE_SETTINGS(.path = w.path, .map_bytes = 4096),
                                AXO_STORE_SETTINGS(.path = w.path, .sync = 2),
                                AXO_STORE_SETTINGS(.path = w.path, .sync_ms = 2),
                                AXO_STORE_SETTINGS(.path = w.path, .no_check = 2)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        w.settings = bad[i];
        refused(&w, AXO_EINVAL, 0, "");
    }
    assert_int_equal(axo_store_open(NULL, &w.settings, NULL, &store), AXO_EINVAL);
    w_fini(&w);
}

/* Does something to the file as LMDB sees it. */
static void with_lmdb(const world *w, const char *name, void (*act)(MDB_txn *txn, MDB_dbi dbi))
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_maxdbs(env, 8), 0);
    assert_int_equal(mdb_env_open(env, w->path, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, name, MDB_CREATE, &dbi), 0);
    act(txn, dbi);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
}

static void be_of_version_2(MDB_txn *txn, MDB_dbi dbi)
{
    durable_format format = {.magic = DURABLE_MAGIC, .version = 2, .next_id = 1};
    MDB_val key = {.mv_size = 6, .mv_data = "format"};
    MDB_val value = {.mv_size = sizeof format, .mv_data = &format};
    assert_int_equal(mdb_put(txn, dbi, &key, &value, 0), 0);
}

static void be_of_another(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_val key = {.mv_size = 3, .mv_data = "key"};
    assert_int_equal(mdb_put(txn, dbi, &key, &key, 0), 0);
}

static void write_at(const world *w, off_t at, const void *bytes, size_t size)
{
    char file[300];
    (void)snprintf(file, sizeof file, "%s/data.mdb", w->path);
    int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, at), size);
    assert_int_equal(close(fd), 0);
}

static void other_versions(void **unused)
{
    world w;
    w_init(&w);
    fill(&w, 3);
    with_lmdb(&w, "meta", be_of_version_2);
    refused(&w, AXO_EVERSION, 0, "the store is of version 2; this library reads version 1");
    w_fini(&w);
    w_init(&w); /* LMDB's own, and one that has nothing of ours */
    with_lmdb(&w, "their database", be_of_another);
    refused(&w, AXO_EVERSION, 0, "data.mdb is no store of axo's");
    const uint32_t version = 999;
    write_at(&w, 20, &version, sizeof version);
    write_at(&w, 4096 + 20, &version, sizeof version);
    refused(&w, AXO_EVERSION, MDB_VERSION_MISMATCH, "data.mdb");
    w_fini(&w);
    w_init(&w);
    write_at(&w, 0, "#!/bin/sh\necho no database\n", 27);
    refused(&w, AXO_ESYSTEM, MDB_CORRUPTED, "torn");
    w_fini(&w);
}

/* ---- torn files ---- */

static void flip_payload(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    assert_int_equal(mdb_cursor_open(txn, dbi, &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_NEXT), 0);
    char *copy = malloc(value.mv_size);
    assert_non_null(copy);
    memcpy(copy, value.mv_data, value.mv_size);
    copy[value.mv_size - 1] ^= 1;
    value.mv_data = copy;
    assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
    mdb_cursor_close(cursor);
    free(copy);
}

static axo_store_then look(void *user, const axo_store_letter *letter)
{
    *(axo_store_letter *)user = *letter;
    return AXO_STORE_KEEP;
}

static void damaged_message(void **unused)
{
    world w;
    uint64_t count;
    axo_store_letter letter;
    w_init(&w);
    fill(&w, 3);
    with_lmdb(&w, "messages", flip_payload);
    w_open(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, 2);
    assert_int_equal(w.seen[0].number, 1);
    assert_int_equal(w.seen[1].number, 3);
    W_UNTIL_STORE(&w, dead, 1);
    assert_int_equal(axo_store_dead(w.store, "a", look, &letter, &count), AXO_OK);
    assert_int_equal(count, 1);
    assert_int_equal(letter.number, 2);
    assert_int_equal(letter.reason, AXO_STORE_DAMAGED);
    assert_int_equal(letter.size, sizeof(durable_record) + 8);
    w_close(&w);
    w_fini(&w);
}

static void damaged_event(void **unused)
{
    world w;
    w_init(&w);
    w.answer = AXO_STOP;
    w_open(&w);
    axo_ref ref = w_spawn_journal(&w, "j");
    for (int64_t i = 1; i <= 3; i++)
        (void)w_put(&w, "j", W_PUT, i);
    W_UNTIL(&w, w.applied == 3);
    w_close(&w);
    with_lmdb(&w, "events", flip_payload);
    w_forget(&w);
    w_open(&w);
    ref = w_spawn_journal(&w, "j");
    assert_int_equal(axo_system_send(w.system, w.other, 1000, &ref, sizeof ref), AXO_OK);
    W_UNTIL(&w, w.terminated == 1); /* it fails, and does not go on with half of its state */
    assert_int_equal(w.recovered, 0);
    assert_true(w.applied <= 1);
    w_close(&w);
    w_fini(&w);
}

/* ---- a process of its own: opens a store and handles what is in it ---- */

#define TORN_SIZE 64
static atomic_uint torn_handled;

/* Every byte of a payload is its first. */
static axo_status torn_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const unsigned char *bytes = message->payload;
    (void)ctx;
    (void)state;
    for (uint32_t i = 0; i < message->size; i++) {
        if (bytes[i] != bytes[0])
            abort();
    }
    (void)atomic_fetch_add(&torn_handled, 1);
    return AXO_OK;
}

static int torn_main(const char *path)
{
    static const axo_class cls = AXO_CLASS(.receive = torn_receive);
    axo_system *system;
    axo_store *store;
    axo_store_problem problem;
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_store_settings settings = AXO_STORE_SETTINGS(.path = path);
    if (axo_system_start(&options, &system) != AXO_OK)
        return 1;
    axo_status status = axo_store_open(system, &settings, &problem, &store);
    if (status != AXO_OK)
        return problem.text[0] != 0 && status != AXO_EINVAL ? 2 : 1;
    axo_ref ref;
    axo_durable recipe = AXO_DURABLE(.store = store, .name = "torn");
    axo_props props = AXO_PROPS(.cls = &cls);
    if (axo_system_durable_spawn(system, &recipe, &props, &ref) != AXO_OK)
        return 1;
    /* what is behind it is handled after it; a store that has lost its way refuses it */
    status = axo_system_durable_send(store, "torn", 1, NULL, 0, 10 * W_SECOND, NULL);
    if (status != AXO_OK && status != AXO_ESYSTEM)
        return 1;
    (void)axo_system_quiesce(system, W_SECOND);
    return axo_system_stop(system, W_LONG, NULL, 0, NULL) == AXO_OK ? 0 : 1;
}

static int run_self(const char *what, const char *path)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl(self_path, self_path, what, path, NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static uint64_t chance(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Cuts it, or overwrites a piece with zeros, ones, chance or another piece. */
static void tear(unsigned char *bytes, size_t *size, uint64_t *seed)
{
    size_t pieces = 1 + chance(seed) % 3;
    if (chance(seed) % 4 == 0) {
        *size = chance(seed) % *size;
        return;
    }
    for (size_t i = 0; i < pieces; i++) {
        size_t length = chance(seed) % 2 == 0 ? 1 + chance(seed) % 16 : 1 + chance(seed) % 8192;
        size_t at = chance(seed) % *size;
        if (chance(seed) % 2 == 0) /* a page's head, or its first nodes */
            at = at / 4096 * 4096 + chance(seed) % 64;
        size_t from = chance(seed) % *size;
        uint64_t how = chance(seed) % 4;
        for (size_t j = 0; j < length && at + j < *size; j++)
            bytes[at + j] = how == 0   ? 0
                            : how == 1 ? 0xff
                            : how == 2 ? (unsigned char)chance(seed)
                                       : bytes[(from + j) % *size];
    }
}

static size_t read_file(const world *w, unsigned char *to, size_t room)
{
    char file[300];
    (void)snprintf(file, sizeof file, "%s/data.mdb", w->path);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t size = read(fd, to, room);
    assert_true(size >= 0 && (size_t)size < room);
    assert_int_equal(close(fd), 0);
    return (size_t)size;
}

static uint32_t torn_count = 150;
static uint64_t torn_seed;

static void torn_files(void **unused)
{
    enum { ROOM = 8 << 20 };
    world w;
    unsigned char *whole = malloc(ROOM);
    unsigned char *torn = malloc(ROOM);
    unsigned char *after = malloc(ROOM);
    unsigned char bytes[9000];
    char file[300];
    uint32_t opened = 0;
    w_init(&w);
    w_open(&w);
    printf("seed %llu\n", (unsigned long long)torn_seed);
    for (int i = 0; i < 200; i++) { /* of all sizes: within a page, and pages of their own */
        memset(bytes, i, sizeof bytes);
        size_t size = i % 10 == 0 ? sizeof bytes : (size_t)(1 + i * 7);
        assert_int_equal(axo_system_durable_send(w.store, i % 3 == 0 ? "other" : "torn", 1, bytes,
                                                 size, W_LONG, NULL),
                         AXO_OK);
    }
    (void)w_spawn(&w, "other"); /* so there are free pages, too */
    W_UNTIL_STORE(&w, acknowledged, 67);
    w_close(&w);
    size_t size = read_file(&w, whole, ROOM);
    assert_int_equal(run_self("torn", w.path), 0);
    (void)snprintf(file, sizeof file, "%s/data.mdb", w.path);
    for (uint32_t i = 0; i < torn_count; i++) {
        size_t length = size;
        uint64_t at = torn_seed;
        memcpy(torn, whole, size);
        tear(torn, &length, &torn_seed);
        assert_int_equal(truncate(file, 0), 0);
        write_at(&w, 0, torn, length);
        int code = run_self("torn", w.path);
        if (code != 0 && code != 2)
            fail_msg("tear %llu ends the process: %d", (unsigned long long)at, code);
        opened += code == 0;
        if (code == 2) { /* not touched */
            assert_int_equal(read_file(&w, after, ROOM), length);
            assert_memory_equal(after, torn, length);
        }
    }
    printf("%u torn files opened, of %u\n", opened, torn_count);
    assert_true(opened < torn_count);
    free(whole);
    free(torn);
    free(after);
    w_fini(&w);
}

/* ---- messages under which the process dies ---- */

static axo_status die_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    if (message->tag == W_FAIL)
        (void)raise(SIGKILL);
    return AXO_OK;
}

static int die_main(const char *path)
{
    static const axo_class cls = AXO_CLASS(.receive = die_receive);
    axo_system *system;
    axo_store *store;
    axo_ref ref;
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_store_settings settings = AXO_STORE_SETTINGS(.path = path);
    if (axo_system_start(&options, &system) != AXO_OK ||
        axo_store_open(system, &settings, NULL, &store) != AXO_OK)
        return 1;
    axo_durable recipe = AXO_DURABLE(.store = store, .name = "a", .fails_max = 3);
    axo_props props = AXO_PROPS(.cls = &cls);
    if (axo_system_durable_spawn(system, &recipe, &props, &ref) != AXO_OK)
        return 1;
    for (;;)
        (void)pause();
}

static void dies_under_it(void **unused)
{
    world w;
    uint64_t count;
    axo_store_letter letter;
    w_init(&w);
    w_open(&w);
    (void)w_put(&w, "a", W_ADD, 1);
    (void)w_put(&w, "a", W_FAIL, 2);
    (void)w_put(&w, "a", W_ADD, 3);
    w_close(&w);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run_self("die", w.path), 128 + SIGKILL);
    w_open(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, 1);
    W_UNTIL_STORE(&w, dead, 1);
    W_UNTIL(&w, w.seen[w.count - 1].number == 3);
    for (uint32_t i = 0; i < w.count; i++)
        assert_int_not_equal(w.seen[i].number, 2); /* it is not tried again */
    assert_int_equal(axo_store_dead(w.store, "a", look, &letter, &count), AXO_OK);
    assert_int_equal(count, 1);
    assert_int_equal(letter.number, 2);
    assert_int_equal(letter.fails, 3);
    assert_int_equal(letter.reason, AXO_STORE_FAILED);
    w_close(&w);
    w_fini(&w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_map),        cmocka_unit_test(full_disk),
        cmocka_unit_test(no_right),        cmocka_unit_test(open_twice),
        cmocka_unit_test(bad_settings),    cmocka_unit_test(other_versions),
        cmocka_unit_test(damaged_message), cmocka_unit_test(damaged_event),
        cmocka_unit_test(torn_files),      cmocka_unit_test(dies_under_it),
    };
    self_path = argv[0];
    if (argc == 3 && strcmp(argv[1], "torn") == 0)
        return torn_main(argv[2]);
    if (argc == 3 && strcmp(argv[1], "die") == 0)
        return die_main(argv[2]);
    torn_seed = (uint64_t)time(NULL) * 2654435761U + 1;
    if (argc == 4 && strcmp(argv[1], "tear") == 0) { /* COUNT SEED */
        torn_count = (uint32_t)strtoul(argv[2], NULL, 10);
        torn_seed = strtoull(argv[3], NULL, 10);
        cmocka_set_test_filter("torn_files");
    } else if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
