/* durable_nats_server_test.c - a store on JetStream whose server is killed, stopped, full or not
 * what it should be, and whose stream another process takes. */
#include "api/durable_nats_world.h"

#include <nats/nats.h>
#include <sys/wait.h>

#include "durable-nats/jet.h"

#define BIG 4000

static const char *self_path;

/* ---- the stream as NATS sees it ---- */

typedef struct raw {
    natsConnection *connection;
    jsCtx *js;
    char name[256];
    char subject[272];
} raw;

static raw raw_begin(const world *w)
{
    raw r;
    const axo_store_stream with = w_stream(w);
    (void)snprintf(r.name, sizeof r.name, "%s", with.stream);
    (void)snprintf(r.subject, sizeof r.subject, "axo.store.%s", with.stream);
    assert_int_equal(natsConnection_ConnectTo(&r.connection, with.url), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&r.js, r.connection, NULL), NATS_OK);
    return r;
}

static void raw_end(raw *r)
{
    jsCtx_Destroy(r->js);
    natsConnection_Destroy(r->connection);
}

static jsStreamState raw_state(raw *r)
{
    jsStreamInfo *info = NULL;
    assert_int_equal(js_GetStreamInfo(&info, r->js, r->name, NULL, NULL), NATS_OK);
    jsStreamState state = info->State;
    state.Subjects = NULL;
    state.Deleted = NULL;
    state.Lost = NULL;
    jsStreamInfo_Destroy(info);
    return state;
}

/* Makes it, or gives it another bound or age. */
static void raw_configure(raw *r, bool update, int64_t max_bytes, int64_t max_age)
{
    const char *subjects[] = {r->subject};
    jsStreamConfig config;
    assert_int_equal(jsStreamConfig_Init(&config), NATS_OK);
    config.Name = r->name;
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    config.Discard = js_DiscardNew;
    config.MaxBytes = max_bytes;
    config.MaxAge = max_age;
    natsStatus status = update ? js_UpdateStream(NULL, r->js, &config, NULL, NULL)
                               : js_AddStream(NULL, r->js, &config, NULL, NULL);
    if (status != NATS_OK)
        fail_msg("%s", nats_GetLastError(NULL));
}

static void raw_publish(raw *r, const void *bytes, size_t size)
{
    assert_int_equal(js_Publish(NULL, r->js, r->subject, bytes, (int)size, NULL, NULL), NATS_OK);
}

/* ---- helpers ---- */

static axo_status send_value(world *w, const char *name, int64_t value, axo_durable_answer *answer)
{
    return axo_system_durable_send(w->store, name, W_ADD, &value, sizeof value, W_LONG, answer);
}

/* A busy machine may take longer than the store waits. */
static uint64_t put(world *w, const char *name, int64_t value)
{
    axo_durable_answer answer;
    while (send_value(w, name, value, &answer) != AXO_OK)
        assert_true(answer.error == ETIMEDOUT || answer.error == ENOTCONN);
    return answer.number;
}

static axo_status send_big(world *w, const char *name, int64_t value, axo_durable_answer *answer)
{
    static char bytes[BIG];
    memcpy(bytes, &value, sizeof value);
    return axo_system_durable_send(w->store, name, W_ADD, bytes, sizeof bytes, W_LONG, answer);
}

/* All its threads stand still then. */
static void server_stop(void)
{
    int status;
    assert_int_equal(kill(w_server.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(w_server.pid, &status, WUNTRACED), w_server.pid);
    assert_true(WIFSTOPPED(status));
}

static void server_go_on(void)
{
    assert_int_equal(kill(w_server.pid, SIGCONT), 0);
}

static axo_status try_open(world *w, axo_store_problem *problem)
{
    axo_options options = AXO_OPTIONS(.workers = 1);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    axo_status status = W_OPEN_STORE(w, problem);
    assert_true((w->store != NULL) == (status == AXO_OK));
    w_close(w);
    return status;
}

static void refused(world *w, axo_status status, const char *text)
{
    axo_store_problem problem;
    axo_status got = try_open(w, &problem);
    if (got != status || strstr(problem.text, text) == NULL)
        fail_msg("%s, %d, %s", axo_status_name(got), problem.error, problem.text);
}

/* ---- the server is killed ---- */

typedef struct sender {
    world *w;
    atomic_bool ends;
    unsigned char accepted[W_SEEN_MAX]; /* by value */
    uint32_t count;
    uint32_t refusals;
} sender;

static void *sender_run(void *arg)
{
    sender *s = arg;
    for (int64_t i = 0; !atomic_load(&s->ends) && i < W_SEEN_MAX; i++) {
        axo_status status = send_big(s->w, "a", i, NULL);
        s->accepted[i] = status == AXO_OK;
        s->count += status == AXO_OK;
        s->refusals += status != AXO_OK;
    }
    return NULL;
}

static void check_handled(world *w, const sender *s)
{
    int64_t last = -1;
    w_await(w, s->count);
    W_UNTIL_STORE(w, acknowledged, s->count);
    assert_int_equal(w->count, s->count); /* each once, and nothing else */
    for (uint32_t i = 0; i < w->count; i++) {
        assert_int_equal(w->seen[i].number, i + 1);
        assert_true(w->seen[i].value > last);
        last = w->seen[i].value;
        assert_int_equal(s->accepted[last], 1);
    }
}

static void await_more(world *w, uint32_t more)
{
    (void)pthread_mutex_lock(&w->mutex);
    uint32_t count = w->count + more;
    (void)pthread_mutex_unlock(&w->mutex);
    w_await(w, count);
}

static void killed_with(uint32_t wait_ms, int64_t away_ns)
{
    world w;
    pthread_t thread;
    sender *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->w = &w;
    w_init(&w);
    w.settings.map_bytes = AXO_STORE_MAP_MIN; /* its log is made shorter often */
    w_wait_ms = wait_ms;
    w_open(&w);
    (void)w_spawn(&w, "a");
    assert_int_equal(pthread_create(&thread, NULL, sender_run, s), 0);
    for (uint32_t i = 1; i <= 5; i++) {
        await_more(&w, 20);
        cw_kill(w_server.pid);
        cw_sleep(away_ns);
        cw_server_run(&w_server);
    }
    await_more(&w, 20);
    atomic_store(&s->ends, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_handled(&w, s);
    uint32_t count = s->count;
    w_close(&w);
    w_wait_ms = 0;
    w_forget(&w);
    w_open(&w);
    (void)w_spawn(&w, "a");
    assert_int_equal(w_put(&w, "a", W_ADD, 7), count + 1);
    w_await(&w, 1);
    assert_int_equal(w.seen[0].number, count + 1); /* nothing was left */
    raw r = raw_begin(&w);
    assert_true(raw_state(&r).FirstSeq > 1);
    raw_end(&r);
    w_close(&w);
    printf("%u accepted, %u refused\n", count, s->refusals);
    free(s);
    w_fini(&w);
}

/* It is back before anybody is refused; and later. */
static void server_is_killed(void **unused)
{
    killed_with(60000, 100 * CW_MS);
    killed_with(150, 500 * CW_MS);
}

/* ---- the server is stopped ---- */

/* What was published and not answered is stored when the server goes on, and taken back. */
static void server_is_stopped(void **unused)
{
    world w;
    axo_durable_answer answer;
    w_init(&w);
    w_wait_ms = 1000;
    w_open(&w);
    for (int64_t i = 1; i <= 10; i++)
        (void)put(&w, "a", i);
    server_stop();
    int64_t began = cw_now();
    assert_int_equal(send_value(&w, "b", 100, &answer), AXO_ETIMEDOUT);
    assert_int_equal(answer.error, ETIMEDOUT);
    assert_int_equal(answer.number, 0);
    assert_int_equal(send_value(&w, "a", 101, &answer), AXO_ESYSTEM);
    assert_int_equal(answer.error, ENOTCONN);
    assert_true(cw_now() - began < CW_LONG);
    (void)w_spawn(&w, "a");
    w_await(&w, 10); /* handlers go on */
    server_go_on();
    W_UNTIL_STORE(&w, acknowledged, 10);
    assert_int_equal(put(&w, "a", 11), 11);
    w_await(&w, 11);
    assert_int_equal(w.seen[10].value, 11);
    assert_int_equal(w.count, 11);
    w_close(&w);
    w_forget(&w);
    w_open(&w);
    assert_int_equal(put(&w, "a", 12), 12);
    (void)w_spawn(&w, "a");
    w_await(&w, 1);
    assert_int_equal(w.seen[0].value, 12);
    assert_int_equal(put(&w, "b", 1), 1);
    (void)w_spawn(&w, "b");
    w_await(&w, 2);
    assert_int_equal(w.seen[1].value, 1);
    w_close(&w);
    w_fini(&w);
    w_wait_ms = 0;
}

/* The process goes while nobody knows: what it said is true of each outcome. */
static void ends_in_doubt(void **unused)
{
    world w;
    w_init(&w);
    w_wait_ms = 1000;
    w_open(&w);
    for (int64_t i = 1; i <= 10; i++)
        (void)put(&w, "a", i);
    raw r = raw_begin(&w);
    uint64_t before = raw_state(&r).LastSeq;
    server_stop();
    assert_int_equal(send_value(&w, "a", 11, NULL), AXO_ETIMEDOUT);
    w_close(&w);
    server_go_on();
    CW_UNTIL(raw_state(&r).LastSeq > before); /* that was on its way */
    raw_end(&r);
    w_open(&w);
    assert_int_equal(put(&w, "a", 12), 12); /* the last one counts */
    (void)w_spawn(&w, "a");
    w_await(&w, 12);
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(w.seen[i].value, i + 1);
    w_close(&w);
    w_fini(&w);
    w_wait_ms = 0;
}

static void no_server(void **unused)
{
    world w;
    w_init(&w);
    cw_kill(w_server.pid);
    refused(&w, AXO_ESYSTEM, "No server");
    cw_server_run(&w_server);
    w_fini(&w);
}

/* ---- no room ---- */

/* The reserve lets acknowledgements through, and then there is room again. */
static void full_map(void **unused)
{
    world w;
    axo_durable_answer answer;
    int64_t accepted = 0;
    static const char poison[60000];
    w_init(&w);
    w.settings.map_bytes = AXO_STORE_MAP_MIN;
    w_open(&w);
    assert_int_equal(
        axo_system_durable_send(w.store, "poison", W_FAIL, poison, sizeof poison, W_LONG, NULL),
        AXO_OK);
    while (send_big(&w, "a", accepted + 1, &answer) == AXO_OK)
        accepted++;
    assert_in_range(accepted, 200, 260);
    assert_int_equal(answer.status, AXO_ESYSTEM);
    assert_int_equal(answer.error, -30792);
    assert_int_equal(answer.number, 0);
    w_close(&w);
    w_open(&w);                  /* full as it is */
    (void)w_spawn(&w, "poison"); /* its letter needs as much room again */
    W_UNTIL_STORE(&w, dead, 1);
    w_forget(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, (uint32_t)accepted);
    for (int64_t i = 0; i < accepted; i++)
        assert_int_equal(w.seen[i].value, i + 1);
    W_UNTIL_STORE(&w, acknowledged, accepted);
    assert_int_equal(send_big(&w, "a", 0, &answer), AXO_OK);
    assert_int_equal(answer.number, accepted + 1); /* of those refused nothing is left */
    w_close(&w);
    w_fini(&w);
}

/* A server that has no room for a message more. */
static void full_server(void **unused)
{
    world w;
    axo_durable_answer answer;
    int64_t accepted = 0;
    w_init(&w);
    w.settings.map_bytes = AXO_STORE_MAP_MIN;
    w_open(&w);
    raw r = raw_begin(&w);
    (void)w_spawn_journal(&w, "j");
    (void)w_put(&w, "j", W_PUT, 5);
    W_UNTIL(&w, w.applied == 1);
    raw_configure(&r, true, (int64_t)raw_state(&r).Bytes + 65536, 0);
    while (send_big(&w, "a", accepted + 1, &answer) == AXO_OK)
        accepted++;
    assert_in_range(accepted, 5, 20);
    assert_int_equal(answer.status, AXO_ESYSTEM);
    assert_int_equal(answer.error, ENOSPC);
    assert_int_equal(answer.number, 0);
    raw_configure(&r, true, (int64_t)raw_state(&r).Bytes, 0); /* not a byte more */
    axo_ref ref;
    assert_int_equal(w_try_spawn(&w, "k", true, &ref), AXO_OK);
    w_tell(&w, ref, W_PUT, 7);
    w_tell(&w, ref, W_SUM, 0);
    W_UNTIL_STORE(&w, errors, 5);
    assert_int_equal(w.applied, 1);
    raw_configure(&r, true, -1, 0);
    W_UNTIL(&w, w.applied == 2 && w.count == 3); /* it has waited */
    w_forget(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, (uint32_t)accepted);
    W_UNTIL_STORE(&w, acknowledged, accepted + 1);
    assert_int_equal(send_big(&w, "a", 0, &answer), AXO_OK);
    assert_int_equal(answer.number, accepted + 1);
    w_await(&w, (uint32_t)accepted + 1);
    for (int64_t i = 0; i < accepted; i++)
        assert_int_equal(w.seen[i].value, i + 1);
    assert_int_equal(w.seen[accepted].value, 0); /* those refused are nowhere */
    raw_end(&r);
    w_close(&w);
    w_fini(&w);
}

/* ---- the log ---- */

/* It is made shorter; what nobody handles stays, also what is larger than a message of NATS's. */
static void shortened(void **unused)
{
    enum { LARGE = 3000000, ROUNDS = 4, EACH = 600 };
    world w;
    jsStreamState state;
    char *large = malloc(LARGE);
    assert_non_null(large);
    memset(large, 'x', LARGE);
    w_init(&w);
    w_open(&w);
    raw r = raw_begin(&w);
    assert_int_equal(axo_system_durable_send(w.store, "b", W_ADD, large, LARGE, W_LONG, NULL),
                     AXO_OK);
    for (int64_t i = 1; i <= 50; i++)
        (void)w_put(&w, "c", W_ADD, i);
    for (int round = 0; round < ROUNDS; round++) {
        (void)w_spawn(&w, "a");
        for (int64_t i = 1; i <= EACH; i++)
            assert_int_equal(send_big(&w, "a", i, NULL), AXO_OK);
        W_UNTIL_STORE(&w, acknowledged, EACH);
        state = raw_state(&r);
        assert_in_range(state.Bytes, LARGE, 4 * LARGE);
        w_close(&w);
        w_forget(&w);
        w_open(&w);
    }
    assert_true(state.FirstSeq > 1);
    (void)w_spawn(&w, "c");
    w_await(&w, 50);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(w.seen[i].value, i + 1);
    w_forget(&w);
    (void)w_spawn(&w, "b");
    w_await(&w, 1);
    int64_t value;
    memcpy(&value, large, sizeof value);
    assert_int_equal(w.seen[0].value, value);
    raw_end(&r);
    w_close(&w);
    w_fini(&w);
    free(large);
}

/* ---- streams that are refused ---- */

static void fill(world *w)
{
    w_init(w);
    w_open(w);
    for (int64_t i = 1; i <= 20; i++)
        (void)w_put(w, "a", W_ADD, i);
    w_close(w);
}

static void other_streams(void **unused)
{
    world w;
    jet_head head = {.magic = JET_MAGIC, .version = JET_VERSION + 1, .flags = JET_FIRST | JET_LAST};
    jsOptions options;
    fill(&w);
    raw r = raw_begin(&w);
    raw_publish(&r, "something", 9); /* behind ours */
    refused(&w, AXO_EVERSION, "none of a store");
    raw_end(&r);
    w_fini(&w);
    fill(&w);
    r = raw_begin(&w);
    raw_publish(&r, &head, sizeof head);
    refused(&w, AXO_EVERSION, "another version");
    raw_end(&r);
    w_fini(&w);
    fill(&w);
    r = raw_begin(&w);
    uint64_t last = raw_state(&r).LastSeq;
    assert_int_equal(js_DeleteMsg(r.js, r.name, last - 5, NULL, NULL), NATS_OK);
    refused(&w, AXO_ESYSTEM, "missing");
    assert_int_equal(jsOptions_Init(&options), NATS_OK);
    options.Stream.Purge.Sequence = last - 2;
    assert_int_equal(js_PurgeStream(r.js, r.name, &options, NULL), NATS_OK);
    refused(&w, AXO_ESYSTEM, "missing"); /* its beginning */
    assert_int_equal(js_PurgeStream(r.js, r.name, NULL, NULL), NATS_OK);
    refused(&w, AXO_ESYSTEM, "missing");
    assert_int_equal(raw_state(&r).LastSeq, last); /* nothing was written */
    raw_end(&r);
    w_fini(&w);
}

static void other_configurations(void **unused)
{
    world w;
    w_init(&w);
    raw r = raw_begin(&w);
    raw_configure(&r, false, -1, 3600 * W_SECOND);
    refused(&w, AXO_EVERSION, "discards");
    raw_configure(&r, true, 5 << 20, 0);
    refused(&w, AXO_ESYSTEM, "too small");
    raw_configure(&r, true, 12 << 20, 0);
    w_open(&w); /* a sixth */
    int64_t accepted = 0;
    axo_durable_answer answer;
    while (send_big(&w, "a", accepted + 1, &answer) == AXO_OK)
        accepted++;
    assert_int_equal(answer.error, -30792);
    assert_in_range(accepted, 400, 520);
    (void)w_spawn(&w, "a"); /* there is room for what has to be written */
    for (int i = 0; i < 3000; i++)
        (void)send_big(&w, "b", i, NULL);
    W_UNTIL_STORE(&w, acknowledged, accepted);
    assert_int_equal(w_figures(&w).errors, 0); /* the server has refused nothing */
    raw_end(&r);
    w_close(&w);
    w_fini(&w);
}

static void bad_settings(void **unused)
{
    world w;
    axo_store *store;
    axo_store_stream with;
    axo_options options = AXO_OPTIONS(.workers = 1);
    w_init(&w);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    const axo_store_stream good = w_stream(&w);
    const axo_store_stream bad[] = {
        AXO_STORE_STREAM(.url = good.url),
        AXO_STORE_STREAM(.url = good.url, .stream = ""),
        AXO_STORE_STREAM(.url = good.url, .stream = "a.b"),
        AXO_STORE_STREAM(.url = good.url, .stream = "a", .folder = ""),
        AXO_STORE_STREAM(.url = good.url, .stream = "a", .bytes = AXO_STORE_MAP_MIN - 1),
        AXO_STORE_STREAM(.url = good.url, .stream = "a", .wait_ms = 99),
        AXO_STORE_STREAM(.url = good.url, .stream = "a", .wait_ms = 600001),
        AXO_STORE_STREAM(.url = good.url, .stream = "a", .replicas = 6),
        AXO_STORE_STREAM(.url = good.url, .stream = "a", .reserved = 1)};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo_store_open_stream(w.system, &bad[i], NULL, &store), AXO_EINVAL);
    assert_int_equal(axo_store_open_stream(w.system, &good, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_store_open_stream(NULL, &good, NULL, &store), AXO_EINVAL);
    assert_int_equal(axo_store_open_stream(w.system, NULL, NULL, &store), AXO_EINVAL);
    with = good;
    with.folder = "/proc/nothing";
    assert_int_equal(axo_store_open_stream(w.system, &with, NULL, &store), AXO_ESYSTEM);
    w_close(&w);
    w_fini(&w);
}

/* ---- another process ---- */

static void taken_over(void **unused)
{
    world w;
    world other;
    axo_durable_answer answer;
    w_init(&w);
    w_open(&w);
    for (int64_t i = 1; i <= 10; i++)
        (void)w_put(&w, "a", W_ADD, i);
    w_init(&other);
    assert_int_equal(rmdir(other.path), 0);
    (void)snprintf(other.path, sizeof other.path, "%s", w.path);
    w_open(&other);
    for (int64_t i = 11; i <= 12; i++) {
        assert_int_equal(send_value(&w, "a", 100, &answer), AXO_ESYSTEM);
        assert_int_equal(answer.error, EBUSY);
        assert_int_equal(w_put(&other, "a", W_ADD, i), i);
    }
    w_close(&w);
    (void)w_spawn(&other, "a");
    w_await(&other, 12);
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(other.seen[i].value, i + 1);
    w_close(&other);
    w_fini(&other);
    free(w.seen);
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
    world w = {.settings = AXO_STORE_SETTINGS()};
    axo_ref ref;
    axo_options options = AXO_OPTIONS(.workers = 1);
    (void)snprintf(w.path, sizeof w.path, "%s", path);
    if (axo_system_start(&options, &w.system) != AXO_OK || W_OPEN_STORE(&w, NULL) != AXO_OK)
        return 1;
    axo_durable recipe = AXO_DURABLE(.store = w.store, .name = "a", .fails_max = 3);
    axo_props props = AXO_PROPS(.cls = &cls);
    if (axo_system_durable_spawn(w.system, &recipe, &props, &ref) != AXO_OK)
        return 1;
    for (;;)
        (void)pause();
}

static axo_store_then look(void *user, const axo_store_letter *letter)
{
    *(axo_store_letter *)user = *letter;
    return AXO_STORE_KEEP;
}

static void dies_under_it(void **unused)
{
    world w;
    uint64_t count;
    int status;
    axo_store_letter letter;
    w_init(&w);
    w_open(&w);
    (void)w_put(&w, "a", W_FAIL, 1);
    (void)w_put(&w, "a", W_ADD, 2);
    w_close(&w);
    for (int i = 0; i < 3; i++) {
        char *argv[] = {(char *)(uintptr_t)self_path, "die", w.path, NULL};
        pid_t pid = cw_spawn(argv);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
    }
    w_open(&w);
    (void)w_spawn(&w, "a");
    w_await(&w, 1);
    assert_int_equal(w.seen[0].number, 2); /* it is not tried again */
    W_UNTIL_STORE(&w, dead, 1);
    assert_int_equal(axo_store_dead(w.store, "a", look, &letter, &count), AXO_OK);
    assert_int_equal(count, 1);
    assert_int_equal(letter.number, 1);
    assert_int_equal(letter.fails, 3);
    w_close(&w);
    w_fini(&w);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_is_killed), cmocka_unit_test(server_is_stopped),
        cmocka_unit_test(ends_in_doubt),    cmocka_unit_test(no_server),
        cmocka_unit_test(full_map),         cmocka_unit_test(full_server),
        cmocka_unit_test(shortened),        cmocka_unit_test(other_streams),
        cmocka_unit_test(bad_settings),     cmocka_unit_test(other_configurations),
        cmocka_unit_test(taken_over),       cmocka_unit_test(dies_under_it),
    };
    self_path = argv[0];
    if (argc == 3 && strcmp(argv[1], "die") == 0)
        return die_main(argv[2]);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return W_RUN(tests);
}
