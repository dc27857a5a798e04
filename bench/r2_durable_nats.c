/* r2_durable_nats.c - what a durable message costs on JetStream (durable_nats.h), beside JetStream
 * itself; a nats-server of this program's own, on this machine.
 *
 * R2j: messages of 64 bytes from one actor to the mailbox of another, of which at most --window are
 *      not in the stream yet, until all are handled and acknowledged.
 * R2p: JetStream alone: as many messages, each published with an acknowledgement of its own, of
 *      which at most --window are awaited, until all have come. Nothing is consumed. */
#include <arpa/inet.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nats/nats.h>

#include <axo/durable_nats.h>

#include "bench.h"

enum { GO = 1, DATA };
#define DATA_BYTES 64u

typedef struct run {
    uint64_t messages;
    uint64_t window;
    uint64_t part;
    uint32_t streams;
    axo_store *store;
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t handled;
    char url[64];
} run;

/* ---- the server ---- */

static pid_t server;
static char server_folder[] = "/tmp/r2_durable_nats.XXXXXX";

static void server_end(void)
{
    char command[96];
    (void)kill(server, SIGTERM);
    (void)waitpid(server, NULL, 0);
    (void)snprintf(command, sizeof command, "rm -rf %s", server_folder);
    bench_expect((uint64_t)system(command), 0, "rm");
}

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

static void nats_check(natsStatus status, const char *what)
{
    if (status != NATS_OK)
        (void)fprintf(stderr, "%s: %s\n", what, natsStatus_GetText(status));
    bench_check(status == NATS_OK ? AXO_OK : AXO_ESYSTEM, what);
}

/* It takes its time to come. */
static void server_start(run *own)
{
    char port[8];
    char *argv[] = {(char[]){"nats-server"},
                    (char[]){"-a"},
                    (char[]){"127.0.0.1"},
                    (char[]){"-p"},
                    port,
                    (char[]){"-js"},
                    (char[]){"-sd"},
                    server_folder,
                    (char[]){"-l"},
                    (char[]){"/dev/null"},
                    NULL};
    natsConnection *connection = NULL;
    natsStatus status = NATS_ERR;
    (void)snprintf(port, sizeof port, "%u", port_free());
    (void)snprintf(own->url, sizeof own->url, "nats://127.0.0.1:%s", port);
    bench_check(mkdtemp(server_folder) != NULL ? AXO_OK : AXO_ESYSTEM, "a folder");
    int error = posix_spawnp(&server, argv[0], NULL, NULL, argv, environ);
    bench_check(error == 0 ? AXO_OK : AXO_ESYSTEM, "nats-server");
    (void)atexit(server_end);
    for (uint32_t i = 0; i < 100 && status != NATS_OK; i++) {
        if (i > 0)
            (void)usleep(50000);
        status = natsConnection_ConnectTo(&connection, own->url);
    }
    nats_check(status, "connect");
    natsConnection_Destroy(connection);
}

/* ---- a store on it ---- */

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
        bench_check((axo_status)AXO_PAYLOAD(message, axo_durable_answer)->status, "accepted");
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

static void store_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    char name[32];
    axo_ref ref;
    axo_system *system;
    axo_stats stats = AXO_STATS();
    axo_options options = AXO_OPTIONS(.workers = settings->workers);
    (void)snprintf(name, sizeof name, "run%u", own->streams++);
    axo_store_stream stream = AXO_STORE_STREAM(.url = own->url, .stream = name);
    bench_check(axo_system_start(&options, &system), "start");
    bench_check(axo_store_open_stream(system, &stream, NULL, &own->store), "open");
    own->handled = 0;
    axo_durable recipe = AXO_DURABLE(.store = own->store, .name = "sink");
    axo_props sink = AXO_PROPS(.cls = &sink_class, .args = &own, .args_size = sizeof own);
    axo_props props = AXO_PROPS(.cls = &source_class, .args = &own, .args_size = sizeof own);
    bench_check(axo_system_durable_spawn(system, &recipe, &sink, &ref), "spawn");
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "go");
    bench_check(axo_system_wait(system, BENCH_STOP_NS, NULL), "wait");
    bench_check(axo_system_stats(system, &stats), "stats");
    sample->stats = stats;
    sample->workers = axo_system_workers(system);
    bench_check(axo_system_destroy(system), "destroy");
    sample->figure = (double)own->messages * 1e9 / (double)(own->end_ns - own->begin_ns);
}

/* ---- JetStream alone ---- */

static void bare_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    run *own = arg;
    const char data[DATA_BYTES] = "";
    const char *subjects[] = {"bare"};
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    jsOptions options;
    jsStreamConfig config;
    (void)settings;
    nats_check(natsConnection_ConnectTo(&connection, own->url), "connect");
    nats_check(jsOptions_Init(&options), "options");
    options.PublishAsync.MaxPending = (int64_t)own->window;
    nats_check(natsConnection_JetStream(&js, connection, &options), "jetstream");
    nats_check(jsStreamConfig_Init(&config), "stream");
    config.Name = "bare";
    config.Subjects = subjects;
    config.SubjectsLen = 1;
    nats_check(js_AddStream(NULL, js, &config, NULL, NULL), "stream");
    uint64_t begin_ns = clock_ns();
    for (uint64_t i = 0; i < own->messages; i++)
        nats_check(js_PublishAsync(js, "bare", data, sizeof data, NULL), "publish");
    nats_check(js_PublishAsyncComplete(js, NULL), "acknowledgements");
    double seconds = (double)(clock_ns() - begin_ns) / 1e9;
    nats_check(js_DeleteStream(js, "bare", NULL, NULL), "stream");
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    sample->figure = (double)own->messages / seconds;
}

int main(int argc, char **argv)
{
    static run own = {.messages = 102400, .window = 1024};
    const bench_option options[] = {{"--messages", &own.messages, "messages a run"},
                                    {"--window", &own.window, "of them at most not acknowledged"},
                                    {"--part", &own.part, "1: only R2j, 2: only R2p; 0: both"}};
    bench_settings settings;
    char text[96];
    (void)argc;
    bench_settings_read(&settings, argv, options, 3);
    if (own.window < 1 || own.window > INT32_MAX || own.messages < own.window || own.part > 2)
        bench_usage(argv[0], options, 3);
    (void)snprintf(text, sizeof text, "\"messages\":%" PRIu64 ",\"window\":%" PRIu64, own.messages,
                   own.window);
    server_start(&own);
    bench_work work = {.unit = "messages/s", .options = text, .arg = &own};
    work.name = "R2j";
    work.run = store_run;
    if (own.part != 2)
        bench_measure(&settings, &work);
    work.name = "R2p";
    work.run = bare_run;
    if (own.part != 1)
        bench_measure(&settings, &work);
    return 0;
}
