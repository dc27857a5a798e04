/* r1_remote.c - messages between two nodes (cluster.h), beside NATS itself: two processes and a
 * nats-server of this program's own, all on this machine.
 *
 * R1s: messages of 64 bytes one way, of which at most --window are on their way.
 * R1t: one message and its answer, one at a time.
 * R1r: a message under which a child on the other node fails, its restart, which its parent here
 *      decides, and the answer to the message behind it, one at a time.
 * R1p: NATS alone: as many messages published one way, until the other side says that it has all.
 * R1q: NATS alone: one request and its answer, one at a time, each sent at once. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <nats/nats.h>

#include <axo/cluster.h>
#include <axo/registry.h>

#include "bench.h"

#define DATA_BYTES 64u
#define PARTS      4u /* of a window: so often it is said that a part has come */
#define WAIT_NS    INT64_C(10000000000)
#define WAIT_MS    60000
#define BARE_DATA  "bare.data"
#define BARE_ASK   "bare.ask"

extern char **environ;

enum { GO = 1, DATA, CREDIT, PING, FALL };

typedef struct run {
    uint64_t messages;
    uint64_t window;
    uint64_t asks;
    uint64_t falls;
    char url[64];
    axo_ref far;
    axo_system *system;
    axo_cluster *cluster;
    uint64_t begin_ns;
    uint64_t end_ns;
    histogram times;
} run;

static void nats_check(natsStatus status, const char *what)
{
    if (status == NATS_OK)
        return;
    (void)fprintf(stderr, BENCH_NAME ": %s: %s\n", what, natsStatus_GetText(status));
    exit(1);
}

/* ---- the server, and the other process ---- */

static uint16_t port_free(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    bool good = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &size) == 0;
    bench_check(good ? AXO_OK : AXO_ESYSTEM, "a port");
    (void)close(fd);
    return ntohs(at.sin_port);
}

static pid_t server;

static void server_end(void)
{
    (void)kill(server, SIGTERM);
    (void)waitpid(server, NULL, 0);
}

static void server_start(run *own)
{
    char port[8];
    char *argv[] = {(char[]){"nats-server"}, (char[]){"-a"}, (char[]){"127.0.0.1"}, (char[]){"-p"},
                    port, (char[]){"-l"}, (char[]){"/dev/null"}, NULL};
    (void)snprintf(port, sizeof port, "%u", port_free());
    (void)snprintf(own->url, sizeof own->url, "nats://127.0.0.1:%s", port);
    int error = posix_spawnp(&server, argv[0], NULL, NULL, argv, environ);
    bench_check(error == 0 ? AXO_OK : AXO_ESYSTEM, "nats-server");
    (void)atexit(server_end);
}

/* The server takes its time to come. */
static axo_cluster *node_open(const run *own, const char *name)
{
    const axo_cluster_options options =
        AXO_CLUSTER_OPTIONS(.url = own->url, .cluster = "bench", .node = name);
    axo_cluster_problem problem;
    axo_cluster *cluster = NULL;
    axo_status status = AXO_ESYSTEM;
    for (uint32_t i = 0; i < 100 && status == AXO_ESYSTEM; i++) {
        if (i > 0)
            (void)usleep(50000);
        status = axo_cluster_open(&options, &problem, &cluster);
    }
    if (status != AXO_OK)
        (void)fprintf(stderr, BENCH_NAME ": %s\n", problem.text);
    bench_check(status, "open");
    return cluster;
}

static axo_system *node_start(axo_cluster *cluster, uint32_t workers)
{
    const axo_options options = AXO_OPTIONS(.workers = workers,
                                            .remote = axo_cluster_remote(cluster),
                                            .remote_user = cluster);
    axo_system *system;
    bench_check(axo_system_start(&options, &system), "start");
    bench_check(axo_cluster_start(cluster, system), "start of the node");
    return system;
}

static axo_status far_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)state;
    (void)args;
    return axo_register(ctx, "far", axo_self(ctx));
}

/* A window says by GO how large its parts are. */
typedef struct far_state {
    uint64_t came;
    uint64_t part;
} far_state;

static axo_status far_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    far_state *me = state;
    switch (message->tag) {
    case PING:
        return axo_reply(ctx, message, PING, message->payload, message->size);
    case GO:
        me->part = *AXO_PAYLOAD(message, uint64_t);
        me->came = 0;
        return axo_reply(ctx, message, GO, NULL, 0);
    case DATA:
        if (++me->came % me->part == 0)
            return axo_reply(ctx, message, CREDIT, NULL, 0);
        return AXO_OK;
    default:
        return AXO_OK;
    }
}

static const axo_class far_class = AXO_CLASS(.name = "far", .state_size = sizeof(far_state),
                                             .construct = far_construct, .receive = far_receive);

static axo_status failer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag == FALL)
        return axo_fail(ctx, 1, "it falls");
    return axo_reply(ctx, message, PING, message->payload, message->size);
}

static const axo_class failer_class = AXO_CLASS(.name = "failer", .receive = failer_receive);

static void bare_data(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *arg)
{
    atomic_uint_least64_t *came = arg;
    (void)nc;
    (void)sub;
    (void)atomic_fetch_add(came, 1);
    natsMsg_Destroy(message);
}

/* Answered with how many have come so far. */
static void bare_ask(natsConnection *nc, natsSubscription *sub, natsMsg *message, void *arg)
{
    uint64_t came = atomic_load((atomic_uint_least64_t *)arg);
    (void)sub;
    nats_check(natsConnection_Publish(nc, natsMsg_GetReply(message), &came, sizeof came), "answer");
    natsMsg_Destroy(message);
}

static natsConnection *bare_connect(const run *own)
{
    natsOptions *options;
    natsConnection *nc;
    nats_check(natsOptions_Create(&options), "options");
    nats_check(natsOptions_SetURL(options, own->url), "url");
    nats_check(natsOptions_SetSendAsap(options, true), "at once");
    nats_check(natsConnection_Connect(&nc, options), "connect");
    natsOptions_Destroy(options);
    return nc;
}

/* The other process: a node and NATS alone, until nobody holds the other end of `alive`. */
static void far_run(const run *own, int alive, uint32_t workers)
{
    static atomic_uint_least64_t came;
    natsSubscription *subs[2];
    char byte;
    axo_ref ref;
    const axo_props failer = AXO_PROPS(.cls = &failer_class);
    axo_cluster *cluster = node_open(own, "far");
    bench_check(axo_cluster_add_class(cluster, "failer", &failer), "class");
    axo_system *system = node_start(cluster, workers);
    axo_props props = AXO_PROPS(.cls = &far_class);
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    natsConnection *data = bare_connect(own);
    natsConnection *ask = bare_connect(own);
    nats_check(natsConnection_Subscribe(&subs[0], data, BARE_DATA, bare_data, &came), "subscribe");
    nats_check(natsSubscription_SetPendingLimits(subs[0], -1, -1), "limits");
    nats_check(natsConnection_Subscribe(&subs[1], ask, BARE_ASK, bare_ask, &came), "subscribe");
    while (read(alive, &byte, 1) > 0)
        continue;
    _exit(0);
}

/* ---- between nodes ---- */

static axo_cluster *near_start(const bench_settings *settings, run *own)
{
    axo_cluster *cluster = node_open(own, "near");
    own->cluster = cluster;
    own->system = node_start(cluster, settings->workers);
    bench_check(axo_cluster_find_wait(cluster, "far", "far", WAIT_NS, &own->far), "find");
    return cluster;
}

static void near_end(axo_cluster *cluster, run *own, bench_sample *sample)
{
    axo_stats stats = AXO_STATS();
    bench_check(axo_system_wait(own->system, BENCH_STOP_NS, NULL), "wait");
    bench_check(axo_cluster_leave(cluster), "leave");
    bench_check(axo_system_stats(own->system, &stats), "stats");
    sample->stats = stats;
    sample->workers = axo_system_workers(own->system);
    bench_check(axo_system_destroy(own->system), "destroy");
    axo_cluster_close(cluster);
}

typedef struct source {
    run *run;
    uint64_t sent;
    uint64_t came;
} source;

static axo_status source_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(run *));
    return AXO_OK;
}

static axo_status source_send(axo_ctx *ctx, source *me, uint64_t count)
{
    const char data[DATA_BYTES] = "";
    for (uint64_t i = 0; i < count && me->sent < me->run->messages; i++, me->sent++) {
        axo_status status = axo_send(ctx, me->run->far, DATA, data, sizeof data);
        if (status != AXO_OK)
            bench_check(status, "send");
    }
    return AXO_OK;
}

static axo_status source_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    source *me = state;
    run *own = me->run;
    const uint64_t part = own->window / PARTS;
    if (message->tag == GO) {
        own->begin_ns = clock_ns();
        return source_send(ctx, me, own->window);
    }
    if (message->tag != CREDIT)
        return axo_send(ctx, own->far, GO, &part, sizeof part);
    me->came += part;
    if (me->came < own->messages)
        return source_send(ctx, me, part);
    own->end_ns = clock_ns();
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class source_class =
    AXO_CLASS(.name = "source", .state_size = sizeof(source), .construct = source_construct,
              .receive = source_receive);

static axo_status asker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    source *me = state;
    run *own = me->run;
    uint64_t now = clock_ns();
    if (message->tag == PING)
        histogram_record(&own->times, now - *AXO_PAYLOAD(message, uint64_t));
    else
        own->begin_ns = now;
    if (me->sent++ == own->asks) {
        own->end_ns = now;
        return axo_system_shutdown(axo_system_of(ctx));
    }
    return axo_send(ctx, own->far, PING, &now, sizeof now);
}

static const axo_class asker_class =
    AXO_CLASS(.name = "asker", .state_size = sizeof(source), .construct = source_construct,
              .receive = asker_receive);

/* ---- a child on the other node ---- */

typedef struct boss {
    run *run;
    axo_ref child;
    uint64_t falls;
} boss;

static axo_status boss_start(axo_ctx *ctx, void *state)
{
    boss *me = state;
    const axo_cluster_child child = AXO_CLUSTER_CHILD(.node = "far", .cls = "failer");
    return axo_cluster_spawn(ctx, me->run->cluster, &child, &me->child);
}

/* The first answer says that it is there. */
static axo_status boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    boss *me = state;
    run *own = me->run;
    uint64_t now = clock_ns();
    if (message->tag != PING)
        return axo_send(ctx, me->child, PING, &now, sizeof now);
    if (me->falls == 0)
        own->begin_ns = now;
    else
        histogram_record(&own->times, now - *AXO_PAYLOAD(message, uint64_t));
    if (me->falls++ == own->falls) {
        own->end_ns = now;
        return axo_system_shutdown(axo_system_of(ctx));
    }
    axo_status status = axo_send(ctx, me->child, FALL, NULL, 0);
    return status == AXO_OK ? axo_send(ctx, me->child, PING, &now, sizeof now) : status;
}

static const axo_class boss_class =
    AXO_CLASS(.name = "boss", .state_size = sizeof(boss), .construct = source_construct,
              .pre_start = boss_start, .receive = boss_receive);

static void near_run(const bench_settings *settings, run *own, const axo_class *cls,
                     bench_sample *sample)
{
    axo_ref ref;
    axo_cluster *cluster = near_start(settings, own);
    axo_props props = AXO_PROPS(.cls = cls, .args = &own, .args_size = sizeof own);
    bench_check(axo_system_spawn(own->system, &props, &ref), "spawn");
    bench_check(axo_system_send(own->system, ref, 0, NULL, 0), "send");
    near_end(cluster, own, sample);
}

static double run_rate(const run *own, uint64_t count)
{
    return (double)count * 1e9 / (double)(own->end_ns - own->begin_ns);
}

static void stream_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    near_run(settings, own, &source_class, sample);
    sample->figure = run_rate(own, own->messages);
}

static void trip_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    near_run(settings, own, &asker_class, sample);
    sample->figure = run_rate(own, own->asks);
}

static void restart_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    near_run(settings, own, &boss_class, sample);
    bench_expect(own->times.count, own->falls, "restarts");
    sample->figure = run_rate(own, own->falls);
}

/* ---- NATS alone ---- */

static uint64_t bare_came(natsConnection *nc)
{
    natsMsg *answer;
    uint64_t came;
    nats_check(natsConnection_Request(&answer, nc, BARE_ASK, "", 0, WAIT_MS), "request");
    bench_expect((uint64_t)natsMsg_GetDataLength(answer), sizeof came, "an answer");
    memcpy(&came, natsMsg_GetData(answer), sizeof came);
    natsMsg_Destroy(answer);
    return came;
}

static void publish_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    natsConnection *nc;
    const char data[DATA_BYTES] = "";
    (void)settings;
    (void)sample;
    nats_check(natsConnection_ConnectTo(&nc, own->url), "connect");
    const uint64_t until = bare_came(nc) + own->messages;
    own->begin_ns = clock_ns();
    for (uint64_t i = 0; i < own->messages; i++)
        nats_check(natsConnection_Publish(nc, BARE_DATA, data, sizeof data), "publish");
    nats_check(natsConnection_FlushTimeout(nc, WAIT_MS), "flush");
    uint64_t came = bare_came(nc);
    for (; came < until; came = bare_came(nc))
        (void)usleep(200);
    own->end_ns = clock_ns();
    bench_expect(came, until, "messages");
    natsConnection_Destroy(nc);
    sample->figure = run_rate(own, own->messages);
}

static void request_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    (void)settings;
    natsConnection *nc = bare_connect(own);
    own->begin_ns = clock_ns();
    for (uint64_t i = 0; i < own->asks; i++) {
        uint64_t since = clock_ns();
        (void)bare_came(nc);
        histogram_record(&own->times, clock_ns() - since);
    }
    own->end_ns = clock_ns();
    natsConnection_Destroy(nc);
    sample->figure = run_rate(own, own->asks);
}

/* ---- all of them ---- */

static void measure(const bench_settings *settings, run *own)
{
    char messages[64];
    char asks[48];
    char falls[48];
    (void)snprintf(messages, sizeof messages, "\"messages\":%" PRIu64 ",\"window\":%" PRIu64,
                   own->messages, own->window);
    (void)snprintf(asks, sizeof asks, "\"asks\":%" PRIu64, own->asks);
    (void)snprintf(falls, sizeof falls, "\"falls\":%" PRIu64, own->falls);
    const struct {
        const char *name;
        void (*run)(const bench_settings *settings, void *arg, bench_sample *sample);
        const char *unit;
        const char *options;
        bool times;
    } rows[] = {{"R1s", stream_run, "messages/s", messages, false},
                {"R1t", trip_run, "round trips/s", asks, true},
                {"R1r", restart_run, "restarts/s", falls, true},
                {"R1p", publish_run, "messages/s", messages, false},
                {"R1q", request_run, "round trips/s", asks, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_work work = {.name = rows[i].name, .run = rows[i].run, .arg = own,
                           .unit = rows[i].unit, .options = rows[i].options};
        if (rows[i].times)
            work.times[0] = (bench_times){.name = "", .all = &own->times};
        bench_measure(settings, &work);
    }
}

int main(int argc, char **argv)
{
    static run own = {.messages = 1048576, .window = 16384, .asks = 10000, .falls = 2000};
    const bench_option options[] = {{"--messages", &own.messages, "messages a run, R1s, R1p"},
                                    {"--window", &own.window, "of them at most on their way"},
                                    {"--asks", &own.asks, "round trips a run, R1t, R1q"},
                                    {"--falls", &own.falls, "restarts a run, R1r"}};
    bench_settings settings;
    int alive[2];
    (void)argc;
    bench_settings_read(&settings, argv, options, 4);
    if (own.window < PARTS || own.messages < own.window || own.asks < 1 ||
        own.falls < 1)
        bench_usage(argv[0], options, 4);
    own.window -= own.window % PARTS;
    own.messages -= own.messages % own.window;
    bench_check(pipe2(alive, O_CLOEXEC) == 0 ? AXO_OK : AXO_ESYSTEM, "pipe");
    server_start(&own);
    pid_t far = fork();
    bench_check(far >= 0 ? AXO_OK : AXO_ESYSTEM, "fork");
    (void)close(alive[far == 0 ? 1 : 0]);
    if (far == 0)
        far_run(&own, alive[0], settings.workers);
    measure(&settings, &own);
    (void)close(alive[1]);
    (void)waitpid(far, NULL, 0);
    return 0;
}
