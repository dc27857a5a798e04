/* r3_grains.c - grains of a cluster (grain.h): three nodes, processes of their own, and a
 * nats-server with JetStream of this program's own, all on this machine.
 *
 * R3c: a message to a grain that is nowhere yet and its answer, one at a time: its claim is read
 *      and put in the store, and a life begins.
 * R3w: the same of one that is there.
 * R3k: of --grains that are there a third dies with its node, by SIGKILL: until all have answered
 *      again. The node is silent for 1 s until it is known to be down, and its lease is of 3 s. */
#include <arpa/inet.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <axo/ask.h>
#include <axo/grain.h>
#include <axo/time.h>

#include "bench.h"

#define MS       INT64_C(1000000)
#define BEAT_MS  100
#define DOWN_MS  1000
#define LEASE_MS 3000
#define AGAIN_NS (100 * MS) /* whoever has not answered is sent a message again */
#define FARS     2

extern char **environ;

enum { GO = 1, PING, AGAIN };

/* Of a PING, and of its answer. */
typedef struct ping {
    uint64_t grain;
    uint64_t sent_ns;
} ping;

typedef struct run {
    uint64_t grains;
    uint64_t asks;
    char url[64];
    char directory[32];
    pid_t fars[FARS];
    axo_cluster *cluster;
    axo_system *system;
    bool cold;             /* each message is to another grain */
    uint64_t named;        /* grains of all runs so far: R3c */
    bool *answered;        /* R3k, `grains` */
    uint64_t missing;
    uint64_t begin_ns;
    uint64_t end_ns;
    histogram times;
} run;

/* ---- the server ---- */

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

static run own = {.grains = 10000, .asks = 2000, .directory = "/tmp/axo-r3-XXXXXX"};
static pid_t server;

static int folder_forget(const char *path, const struct stat *is, int kind, struct FTW *at)
{
    (void)is;
    (void)kind;
    (void)at;
    return remove(path);
}

static void all_end(void)
{
    for (uint32_t i = 0; i < FARS; i++) {
        if (own.fars[i] > 0)
            (void)kill(own.fars[i], SIGKILL);
    }
    (void)kill(server, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        continue;
    (void)nftw(own.directory, folder_forget, 16, FTW_DEPTH | FTW_PHYS);
}

static void server_start(void)
{
    char port[8];
    char *argv[] = {(char[]){"nats-server"}, (char[]){"-a"}, (char[]){"127.0.0.1"}, (char[]){"-p"},
                    port, (char[]){"-l"}, (char[]){"/dev/null"}, (char[]){"-js"}, (char[]){"-sd"},
                    own.directory, NULL};
    (void)snprintf(port, sizeof port, "%u", port_free());
    (void)snprintf(own.url, sizeof own.url, "nats://127.0.0.1:%s", port);
    bench_check(mkdtemp(own.directory) != NULL ? AXO_OK : AXO_ESYSTEM, "a folder");
    int error = posix_spawnp(&server, argv[0], NULL, NULL, argv, environ);
    bench_check(error == 0 ? AXO_OK : AXO_ESYSTEM, "nats-server");
    (void)atexit(all_end);
}

/* ---- a node ---- */

static axo_status thing_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return axo_reply(ctx, message, PING, message->payload, message->size);
}

static const axo_class thing_class = AXO_CLASS(.name = "thing", .receive = thing_receive);

/* The server takes its time to come. */
static axo_cluster *node_open(const char *url, const char *name)
{
    const axo_cluster_options options = AXO_CLUSTER_OPTIONS(
        .url = url, .cluster = "bench", .node = name, .membership = AXO_CLUSTER_STORE,
        .beat_ms = BEAT_MS, .down_ms = DOWN_MS, .lease_ms = LEASE_MS);
    const axo_props props = AXO_PROPS(.cls = &thing_class);
    const axo_grain_kind kind = AXO_GRAIN_KIND(.name = "thing", .props = &props);
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
    bench_check(axo_cluster_add_grain_kind(cluster, &kind), "a kind");
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

/* Another process; it ends with this one. */
static void far_run(char **argv)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)node_start(node_open(argv[2], argv[3]), (uint32_t)atoi(argv[4]));
    for (;;)
        (void)pause();
}

static void far_start(uint32_t which, uint32_t workers)
{
    char name[16];
    char count[16];
    char *argv[] = {(char[]){"r3_grains"}, (char[]){"far"}, own.url, name, count, NULL};
    (void)snprintf(name, sizeof name, "far%u", which);
    (void)snprintf(count, sizeof count, "%u", workers);
    int error = posix_spawn(&own.fars[which], "/proc/self/exe", NULL, NULL, argv, environ);
    bench_check(error == 0 ? AXO_OK : AXO_ESYSTEM, "another node");
}

static void far_kill(uint32_t which)
{
    (void)kill(own.fars[which], SIGKILL);
    (void)waitpid(own.fars[which], NULL, 0);
    own.fars[which] = 0;
}

static void nodes_wait(void)
{
    axo_node nodes[FARS];
    while (axo_cluster_nodes(own.cluster, nodes, FARS) < FARS)
        (void)usleep(1000);
}

/* ---- one message at a time ---- */

static axo_status asker_send(axo_ctx *ctx, const char *kind, uint64_t grain)
{
    const ping out = {.grain = grain, .sent_ns = clock_ns()};
    char key[32];
    axo_ref ref;
    (void)snprintf(key, sizeof key, "%s%" PRIu64, kind, grain);
    bench_check(axo_grain(own.cluster, "thing", key, &ref), "a grain");
    return axo_send(ctx, ref, PING, &out, sizeof out);
}

static axo_status asker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint64_t *left = state;
    if (message->tag == GO) {
        *left = own.asks;
        own.begin_ns = clock_ns();
    } else {
        histogram_record(&own.times, clock_ns() - AXO_PAYLOAD(message, ping)->sent_ns);
        --*left;
    }
    if (*left == 0) {
        own.end_ns = clock_ns();
        return axo_stop_self(ctx);
    }
    return own.cold ? asker_send(ctx, "cold", own.named++) : asker_send(ctx, "warm", 0);
}

static const axo_class asker_class = AXO_CLASS(.name = "asker", .state_size = sizeof(uint64_t),
                                               .receive = asker_receive);

/* ---- all of them ---- */

static axo_status crowd_send(axo_ctx *ctx)
{
    for (uint64_t i = 0; i < own.grains; i++) {
        axo_status status = own.answered[i] ? AXO_OK : asker_send(ctx, "crowd", i);
        if (status != AXO_OK)
            return status;
    }
    return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, AGAIN_NS, 0, AGAIN, NULL, 0);
}

/* A grain is there again when a message that was sent to it since the begin is answered. */
static axo_status crowd_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag != PING)
        return crowd_send(ctx);
    const ping *in = AXO_PAYLOAD(message, ping);
    if (in->sent_ns < own.begin_ns || own.answered[in->grain])
        return AXO_OK;
    own.answered[in->grain] = true;
    histogram_record(&own.times, clock_ns() - own.begin_ns);
    if (--own.missing > 0)
        return AXO_OK;
    own.end_ns = clock_ns();
    return axo_stop_self(ctx);
}

static const axo_class crowd_class = AXO_CLASS(.name = "crowd", .receive = crowd_receive);

/* ---- runs ---- */

static void actor_run(const axo_class *cls)
{
    axo_ref ref;
    char path[64];
    axo_props props = AXO_PROPS(.cls = cls);
    bench_check(axo_system_spawn(own.system, &props, &ref), "spawn");
    bench_check(axo_system_send(own.system, ref, GO, NULL, 0), "send");
    while (axo_system_path(own.system, ref, path, sizeof path) == AXO_OK)
        (void)usleep(1000);
}

static void crowd_run(void)
{
    memset(own.answered, 0, own.grains * sizeof *own.answered);
    own.missing = own.grains;
    own.begin_ns = clock_ns();
    actor_run(&crowd_class);
}

/* The system goes on: its figures are of all runs so far. */
static void sample_fill(bench_sample *sample)
{
    sample->stats = (axo_stats)AXO_STATS();
    bench_check(axo_system_stats(own.system, &sample->stats), "stats");
    sample->workers = axo_system_workers(own.system);
    sample->peak_bytes = bench_peak_bytes();
}

static void asks_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    (void)settings;
    own.cold = *(const bool *)arg;
    actor_run(&asker_class);
    sample_fill(sample);
    sample->figure = (double)own.asks * 1e9 / (double)(own.end_ns - own.begin_ns);
}

static void kill_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    static const histogram none;
    (void)arg;
    crowd_run(); /* all are there */
    own.times = none;
    far_kill(0);
    crowd_run();
    sample_fill(sample);
    sample->figure = (double)(own.end_ns - own.begin_ns) / 1e9;
    far_start(0, settings->workers);
    nodes_wait();
}

static void measure(const bench_settings *settings)
{
    static bool cold = true;
    static bool warm = false;
    char asks[48];
    char grains[64];
    (void)snprintf(asks, sizeof asks, "\"asks\":%" PRIu64, own.asks);
    (void)snprintf(grains, sizeof grains, "\"grains\":%" PRIu64 ",\"lease_ms\":%d", own.grains,
                   LEASE_MS);
    bench_work works[] = {
        {.name = "R3c", .run = asks_run, .arg = &cold, .unit = "round trips/s", .options = asks},
        {.name = "R3w", .run = asks_run, .arg = &warm, .unit = "round trips/s", .options = asks},
        {.name = "R3k", .run = kill_run, .unit = "s", .options = grains,
         .less = true}};
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        works[i].times[0] = (bench_times){.name = "", .all = &own.times};
        bench_measure(settings, &works[i]);
    }
}

int main(int argc, char **argv)
{
    const bench_option options[] = {{"--grains", &own.grains, "that are there, R3k"},
                                    {"--asks", &own.asks, "messages a run, R3c, R3w"}};
    bench_settings settings;
    if (argc == 5 && strcmp(argv[1], "far") == 0)
        far_run(argv);
    bench_settings_read(&settings, argv, options, 2);
    if (own.grains < 1 || own.grains > 50000 || own.asks < 1)
        bench_usage(argv[0], options, 2);
    own.answered = calloc(own.grains, sizeof *own.answered);
    bench_check(own.answered != NULL ? AXO_OK : AXO_ENOMEM, "memory");
    server_start();
    for (uint32_t i = 0; i < FARS; i++)
        far_start(i, settings.workers);
    own.cluster = node_open(own.url, "near");
    own.system = node_start(own.cluster, settings.workers);
    nodes_wait();
    measure(&settings);
    bench_check(axo_cluster_leave(own.cluster), "leave");
    bench_check(axo_system_stop(own.system, -1, NULL, 0, NULL), "stop");
    bench_check(axo_system_destroy(own.system), "destroy");
    axo_cluster_close(own.cluster);
    free(own.answered);
    return 0;
}
