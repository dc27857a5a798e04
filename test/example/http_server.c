/* http_server.c - HTTP/1.1: an actor a connection, with Debian's http_parser (libhttp-parser-dev).
 *
 *   ./http_server [--port 8080] [--body-max N] [--idle-ms N] ...; --help
 *
 *     GET, HEAD  /hello           at once
 *     POST       /echo            its body back, by Content-Length or in chunks
 *     GET, HEAD  /slow?ms=20      a worker answers, on a thread that may block
 *     GET, HEAD  /poison          fails the connection: it is closed, the others go on
 *     GET, HEAD  /poison/worker   fails the worker: it goes on, and who asked is told: 500
 *
 *     /user/server               starts the others; SIGTERM comes to it
 *       worker0, worker1, ...    what takes long
 *       listener                 accepts, until the end begins
 *         $a, $b, ...            a connection each
 *
 * At SIGTERM it accepts nobody any more, answers what is under way with "Connection: close", and
 * ends with one line of totals; its exit code says whether they add up. */
#include <getopt.h>
#include <signal.h>

#include "http_connection.h"

/* ---- a worker ---- */

static axo_status worker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    if (message->tag < HTTP_WORK || message->tag >= HTTP_WORK + HTTP_NUMBERS)
        return AXO_UNHANDLED;
    const http_work *work = AXO_PAYLOAD(message, http_work);
    struct timespec span = {.tv_sec = work->ms / 1000, .tv_nsec = work->ms % 1000 * HTTP_MS};
    if (work->poison != 0)
        return axo_fail(ctx, 13, "poison");
    (void)nanosleep(&span, NULL); /* a question to a database, say */
    axo_status status =
        axo_send(ctx, message->sender, message->tag - HTTP_WORK + HTTP_DONE, NULL, 0);
    return status == AXO_EGONE ? AXO_OK : status; /* the connection has ended */
}

static const axo_class worker_class = AXO_CLASS(.name = "worker", .receive = worker_receive);

/* ---- the server ---- */

typedef struct server {
    http *http;
    axo_ref listener;
    uint32_t workers_left;
    int term, interrupt; /* descriptors of signals */
    bool ends;
    char address[AXO_ADDRESS_MAX];
    axo_props connection; /* as long as the listener lives, as the address */
} server;

static axo_status server_spawn_workers(axo_ctx *ctx, server *me)
{
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < HTTP_WORKERS && status == AXO_OK; i++) {
        char name[32];
        axo_props props =
            AXO_PROPS(.cls = &worker_class, .name = name, .dispatcher = AXO_DISPATCH_BLOCKING);
        (void)snprintf(name, sizeof name, "worker%" PRIu32, i);
        status = axo_spawn(ctx, &props, &me->http->workers[i]);
        if (status == AXO_OK)
            status = axo_watch(ctx, me->http->workers[i]);
        me->workers_left += status == AXO_OK;
    }
    return status;
}

static axo_status server_spawn_listener(axo_ctx *ctx, server *me)
{
    axo_props props;
    axo_listener settings = AXO_LISTENER(.address = me->address, .connection = &me->connection,
                                         .connections_max = me->http->connections_max);
    me->connection = (axo_props)AXO_PROPS(.cls = &connection_class, .args = &me->http,
                                          .args_size = sizeof me->http);
    (void)snprintf(me->address, sizeof me->address, "127.0.0.1:%" PRIu32, me->http->port);
    axo_status status = axo_listener_props(&settings, "listener", &props);
    if (status == AXO_OK)
        status = axo_spawn(ctx, &props, &me->listener);
    if (status == AXO_OK)
        status = axo_watch(ctx, me->listener);
    return status == AXO_OK ? axo_send(ctx, me->listener, AXO_LISTENER_LOOK, NULL, 0) : status;
}

static axo_status server_construct(axo_ctx *ctx, void *state, const void *args)
{
    server *me = state;
    memcpy(&me->http, args, sizeof me->http);
    axo_status status = axo_signal_watch(ctx, SIGTERM, &me->term);
    if (status == AXO_OK)
        status = axo_signal_watch(ctx, SIGINT, &me->interrupt);
    if (status == AXO_OK)
        status = server_spawn_workers(ctx, me);
    return status == AXO_OK ? server_spawn_listener(ctx, me) : status;
}

/* The end: first the listener with its connections, then the workers, whom they have asked. */
static axo_status server_end(axo_ctx *ctx, server *me)
{
    if (me->ends)
        return AXO_OK;
    me->ends = true;
    (void)axo_send_after(ctx, me->http->ask_ns + me->http->drain_ns + 1000 * HTTP_MS, axo_self(ctx),
                         HTTP_TOO_LATE, NULL, 0);
    return axo_send(ctx, me->listener, AXO_LISTENER_CLOSE, NULL, 0);
}

static axo_status server_ended(axo_ctx *ctx, server *me, axo_ref who)
{
    bool listener = axo_ref_equal(who, me->listener);
    if (!me->ends)
        return axo_fail(ctx, 1, "%s has ended", listener ? "the listener" : "a worker");
    if (!listener)
        return --me->workers_left == 0 ? axo_system_shutdown(axo_system_of(ctx)) : AXO_OK;
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < HTTP_WORKERS && status == AXO_OK; i++)
        status = axo_poison(ctx, me->http->workers[i]);
    return status;
}

static axo_status server_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    server *me = state;
    switch (message->tag) {
    case AXO_LISTENER_IS:
        (void)printf("listening at %s\n", AXO_PAYLOAD(message, axo_listener_info)->address);
        (void)fflush(stdout);
        return AXO_OK;
    case AXO_IO_READY:
        if (axo_signal_take(ctx, me->term) + axo_signal_take(ctx, me->interrupt) == 0)
            return AXO_OK;
        return server_end(ctx, me);
    case HTTP_TOO_LATE:
        (void)axo_stop(ctx, me->listener);
        return AXO_OK;
    case AXO_TERMINATED:
        return server_ended(ctx, me, AXO_PAYLOAD(message, axo_terminated)->actor);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class server_class =
    AXO_CLASS(.name = "server", .state_size = sizeof(server), .construct = server_construct,
              .receive = server_receive);
/* One for one. Who has asked a worker that fails is told. */
static const axo_strategy server_strategy = AXO_STRATEGY(.answer_failed = 1);
/* What the server itself cannot mend ends the program. */
static const axo_strategy user_strategy = AXO_STRATEGY(.decider = axo_decide_escalate);

/* ---- the program ---- */

/* The totals, and whether they add up and nothing is left. */
static bool main_report(const http *it, const axo_stats *stats)
{
    uint64_t requests = atomic_load(&it->totals.requests);
    uint64_t answered = atomic_load(&it->totals.answered);
    uint64_t gone = atomic_load(&it->totals.gone);
    (void)printf("connections %" PRIuFAST64 " requests %" PRIu64 " answered %" PRIu64
                 " gone %" PRIu64 " restarts %" PRIu64 " actors %" PRIu64 "\n",
                 atomic_load(&it->totals.connections), requests, answered, gone, stats->restarts,
                 stats->spawned - stats->terminated);
    return requests == answered + gone && stats->spawned == stats->terminated;
}

static bool main_run(http *it)
{
    axo_log_sink log = AXO_LOG_SINK();
    axo_options options =
        AXO_OPTIONS(.name = "http", .workers = it->threads, .user_strategy = &user_strategy,
                    .log_record = axo_log_write, .log_record_user = &log);
    axo_props props = AXO_PROPS(.cls = &server_class, .name = "server", .args = &it,
                                .args_size = sizeof it, .strategy = &server_strategy);
    axo_stats stats = AXO_STATS();
    axo_outcome outcome;
    axo_system *system;
    axo_ref ref;
    http_parser_set_max_header_size(HTTP_HEAD_MAX);
    if (axo_log_open(&log) != AXO_OK || axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &props, &ref) != AXO_OK) {
        (void)fprintf(stderr, "http_server: cannot start\n");
        return false;
    }
    (void)axo_system_wait(system, -1, &outcome);
    (void)axo_system_stats(system, &stats);
    (void)axo_system_destroy(system);
    axo_log_close(&log);
    if (outcome.failed)
        (void)fprintf(stderr, "http_server: %s\n", outcome.text);
    return main_report(it, &stats) && !outcome.failed;
}

static const struct option main_options[] = {
    {"port", 1, NULL, 'p'},     {"workers", 1, NULL, 'w'}, {"connections", 1, NULL, 'c'},
    {"body-max", 1, NULL, 'b'}, {"idle-ms", 1, NULL, 'i'}, {"read-ms", 1, NULL, 'r'},
    {"write-ms", 1, NULL, 'o'}, {"ask-ms", 1, NULL, 'a'},  {0}};

static const char main_help[] =
    "http_server: HTTP/1.1 at 127.0.0.1\n"
    "  --port N         0: one that is free, which is printed      8080\n"
    "  --workers N      threads; 0: as many as processors          0\n"
    "  --connections N  at most; the others wait; 0: no bound      10000\n"
    "  --body-max N     bytes of a request's body                  1048576\n"
    "  --idle-ms N      a connection that is silent so long ends   60000\n"
    "  --read-ms N      and one whose request is not whole by then 10000\n"
    "  --write-ms N     and one that reads no answer               30000\n"
    "  --ask-ms N       a worker's time for an answer              5000\n";

/* false: a bad option. */
static bool main_read(http *it, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "", main_options, NULL)) != -1) {
        char *end = NULL;
        unsigned long number = option != '?' ? strtoul(optarg, &end, 10) : 0;
        if (option == '?' || optarg[0] < '0' || optarg[0] > '9' || *end != 0 ||
            number > INT32_MAX / 4)
            return false;
        if (option == 'p')
            it->port = (uint32_t)number;
        else if (option == 'w')
            it->threads = (uint32_t)number;
        else if (option == 'c')
            it->connections_max = (uint32_t)number;
        else if (option == 'b')
            it->body_max = number;
        else if (option == 'i')
            it->idle_ns = (int64_t)number * HTTP_MS;
        else if (option == 'r')
            it->read_ns = (int64_t)number * HTTP_MS;
        else if (option == 'o')
            it->write_ns = (int64_t)number * HTTP_MS;
        else
            it->ask_ns = (int64_t)number * HTTP_MS;
    }
    return optind == argc && it->port <= 65535 && it->ask_ns > 0 &&
           it->body_max <= AXO_STREAM_MAX / 4;
}

int main(int argc, char **argv)
{
    static http it = {.port = 8080,
                      .connections_max = 10000,
                      .body_max = 1048576,
                      .idle_ns = 60000 * HTTP_MS,
                      .read_ns = 10000 * HTTP_MS,
                      .write_ns = 30000 * HTTP_MS,
                      .ask_ns = 5000 * HTTP_MS,
                      .drain_ns = 5000 * HTTP_MS};
    if (!main_read(&it, argc, argv)) {
        (void)fputs(main_help, stderr);
        return 2;
    }
    return main_run(&it) ? 0 : 1;
}
