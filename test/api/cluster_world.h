/* cluster_world.h - a nats-server of the test's own, nodes in this process and in others, and
 * actors that note what comes to them. */
#ifndef TEST_API_CLUSTER_WORLD_H
#define TEST_API_CLUSTER_WORLD_H

#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/cluster.h>

#include "support/cmocka.h"

#define CW_MS   INT64_C(1000000)
/* Longer than a busy machine keeps a thread waiting; a test in which nodes die says less. */
#ifndef CW_DOWN_MS
#define CW_DOWN_MS 30000
#endif
#define CW_LONG (60000 * CW_MS) /* that what has to happen takes at most, on a busy machine */

static inline int64_t cw_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline void cw_sleep(int64_t ns)
{
    const struct timespec pause = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    (void)nanosleep(&pause, NULL);
}

/* Waits until it is so. */
#define CW_UNTIL(what)                                                                             \
    do {                                                                                           \
        int64_t cw_end = cw_now() + CW_LONG;                                                       \
        while (!(what)) {                                                                          \
            if (cw_now() > cw_end)                                                                 \
                fail_msg("not so in a minute: %s", #what);                                         \
            cw_sleep(2 * CW_MS);                                                                   \
        }                                                                                          \
    } while (0)

/* ---- processes ---- */

/* It ends with this process, however that ends. */
static inline pid_t cw_spawn(char *const argv[])
{
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
            (void)execvp(argv[0], argv);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static inline void cw_kill(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* ---- the server ---- */

typedef struct cw_server {
    pid_t pid;
    char *store; /* a directory: with JetStream; NULL: without */
    char port[8];
    char url[64];
} cw_server;

/* Debian has it where only root looks. */
static inline bool cw_has_server(void)
{
    const char *path = getenv("PATH");
    char longer[8192];
    (void)snprintf(longer, sizeof longer, "%s:/usr/sbin", path != NULL ? path : "/usr/bin");
    (void)setenv("PATH", longer, 1);
    char *dirs = strdup(longer);
    bool has = false;
    for (char *rest, *dir = strtok_r(dirs, ":", &rest); dir != NULL && !has;
         dir = strtok_r(NULL, ":", &rest)) {
        char file[8300];
        (void)snprintf(file, sizeof file, "%s/nats-server", dir);
        has = access(file, X_OK) == 0;
    }
    free(dirs);
    if (!has)
        (void)puts("left out: nats-server is not there; Debian's nats-server");
    return has;
}

static inline int cw_socket(struct sockaddr_in *at)
{
    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static inline void cw_server_free_port(cw_server *server)
{
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    int fd = cw_socket(&at);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    (void)close(fd);
    (void)snprintf(server->port, sizeof server->port, "%u", ntohs(at.sin_port));
    (void)snprintf(server->url, sizeof server->url, "nats://127.0.0.1:%s", server->port);
}

static inline bool cw_server_answers(const cw_server *server)
{
    struct sockaddr_in at;
    int fd = cw_socket(&at);
    at.sin_port = htons((uint16_t)atoi(server->port));
    bool answers = connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
    (void)close(fd);
    return answers;
}

/* At the port that it has. */
static inline void cw_server_run(cw_server *server)
{
    char *argv[] = {"nats-server", "-a", "127.0.0.1", "-p", server->port, "-l", "/dev/null",
                    server->store != NULL ? "-js" : NULL, "-sd", server->store, NULL};
    server->pid = cw_spawn(argv);
    CW_UNTIL(cw_server_answers(server) || waitpid(server->pid, NULL, WNOHANG) != 0);
    assert_int_equal(waitpid(server->pid, NULL, WNOHANG), 0);
}

static inline void cw_server_start(cw_server *server)
{
    cw_server_free_port(server);
    cw_server_run(server);
}

/* ---- nodes ---- */

typedef struct cw_node {
    axo_cluster *cluster;
    axo_system *system;
    atomic_uint letters;
} cw_node;

static inline void cw_letter(void *user, const axo_dead_letter *letter)
{
    (void)letter;
    atomic_fetch_add(&((cw_node *)user)->letters, 1);
}

static inline axo_cluster_options cw_options(const cw_server *server, const char *name)
{
    return (axo_cluster_options)AXO_CLUSTER_OPTIONS(.url = server->url, .cluster = "test",
                                                    .node = name, .token = "secret",
                                                    .beat_ms = 50, .down_ms = CW_DOWN_MS);
}

static inline void cw_node_open(cw_node *node, const axo_cluster_options *with)
{
    axo_cluster_problem problem;
    memset(node, 0, sizeof *node);
    if (axo_cluster_open(with, &problem, &node->cluster) != AXO_OK)
        fail_msg("%s", problem.text);
}

static inline void cw_node_begin(cw_node *node)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .remote = axo_cluster_remote(node->cluster),
                                      .remote_user = node->cluster,
                                      .on_dead_letter = cw_letter, .dead_letter_user = node);
    assert_int_equal(axo_system_start(&options, &node->system), AXO_OK);
    assert_int_equal(axo_cluster_start(node->cluster, node->system), AXO_OK);
}

static inline void cw_node_start(cw_node *node, const cw_server *server, const char *name)
{
    const axo_cluster_options with = cw_options(server, name);
    cw_node_open(node, &with);
    cw_node_begin(node);
}

/* All that was sent is handled, dead or dropped. */
static inline void cw_node_end(cw_node *node)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_cluster_leave(node->cluster), AXO_OK);
    assert_int_equal(axo_system_stop(node->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(node->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(node->system), AXO_OK);
    axo_cluster_close(node->cluster);
}

static inline axo_cluster_figures cw_figures(const cw_node *node)
{
    axo_cluster_figures figures;
    assert_int_equal(axo_cluster_count(node->cluster, &figures), AXO_OK);
    return figures;
}

static inline axo_ref cw_find(const cw_node *node, const char *there, const char *key)
{
    axo_ref ref;
    assert_int_equal(axo_cluster_find_wait(node->cluster, there, key, CW_LONG, &ref), AXO_OK);
    assert_int_not_equal(axo_ref_node(ref), 0);
    return ref;
}

/* ---- actors ---- */

enum { CW_NUMBER = 1, CW_ECHO, CW_BACK, CW_DO, CW_BLOB };
enum { CW_SEND = 1, CW_ASK, CW_WATCH, CW_UNWATCH, CW_STOP, CW_POISON, CW_KILL, CW_TOO_BIG,
       CW_OWNED, CW_EVENTS };

/* What an actor is told to do. */
typedef struct cw_order {
    uint32_t what;
    uint32_t number; /* SEND, ASK: what is sent */
    axo_ref to;
} cw_order;

/* What an actor notes. */
typedef struct cw_note {
    axo_ref ref;
    atomic_uint done; /* orders */
    atomic_int status; /* of the last */
    atomic_uint numbers, last, disorder;
    atomic_uint back, answers, answer, failed;
    atomic_uint ends, lost, known;
    atomic_uint ups, downs, overs, refusals, minorities, majorities, no_rooms;
    atomic_uint why, why_over; /* of the last down, of the over */
    atomic_uint stopped;
    atomic_uint found, found_id;
    atomic_int found_status;
    atomic_uint found_node;
    atomic_uint blob_size;
    unsigned char blob[64]; /* before blob_size */
} cw_note;

static inline void cw_free(void *payload, void *user)
{
    (void)user;
    free(payload);
}

static inline axo_status cw_do(axo_ctx *ctx, const cw_order *order)
{
    static const unsigned char big[2000000];
    switch (order->what) {
    case CW_SEND:
        return axo_send(ctx, order->to, CW_NUMBER, &order->number, sizeof order->number);
    case CW_ASK:
        return axo_ask(ctx, order->to, CW_ECHO, &order->number, sizeof order->number, CW_LONG, 5);
    case CW_WATCH:
        return axo_watch(ctx, order->to);
    case CW_UNWATCH:
        return axo_unwatch(ctx, order->to);
    case CW_STOP:
        return axo_stop(ctx, order->to);
    case CW_POISON:
        return axo_poison(ctx, order->to);
    case CW_KILL:
        return axo_kill(ctx, order->to);
    case CW_TOO_BIG:
        return axo_send(ctx, order->to, CW_BLOB, big, sizeof big);
    case CW_OWNED:
        return axo_send_owned(ctx, order->to, CW_BLOB, strdup("a list"), 0, cw_free, NULL);
    case CW_EVENTS:
        return axo_subscribe(ctx, axo_self(ctx), AXO_KIND_NODE);
    default:
        return AXO_EINVAL;
    }
}

static inline void cw_take_number(cw_note *me, const axo_message *message)
{
    uint32_t number;
    memcpy(&number, message->payload, sizeof number);
    me->disorder += number <= me->last;
    me->last = number;
    atomic_fetch_add(&me->numbers, 1);
}

static inline void cw_take_end(cw_note *me, const axo_message *message)
{
    const axo_terminated *end = AXO_PAYLOAD(message, axo_terminated);
    me->lost += end->address_terminated;
    me->known += end->existence_known;
    atomic_fetch_add(&me->ends, 1);
}

static inline void cw_take_found(cw_note *me, const axo_cluster_found *found)
{
    me->found_id = (unsigned)found->id;
    me->found_status = found->status;
    me->found_node = axo_ref_node(found->ref);
    atomic_fetch_add(&me->found, 1);
}

static inline void cw_take_answer(cw_note *me, const axo_message *message)
{
    const axo_message answer = axo_answer_of(message);
    uint32_t number = 0;
    if (answer.size == sizeof number)
        memcpy(&number, answer.payload, sizeof number);
    me->answer = number;
    atomic_fetch_add(&me->answers, 1);
}

static inline void cw_take_event(cw_note *me, const axo_event_message *event)
{
    uint32_t why = AXO_EVENT_DATA(event, axo_cluster_event)->why;
    if (event->kind == AXO_KIND_NODE_DOWN)
        me->why = why;
    if (event->kind == AXO_KIND_NODE_OVER)
        me->why_over = why;
    atomic_fetch_add(event->kind == AXO_KIND_NODE_UP         ? &me->ups
                     : event->kind == AXO_KIND_NODE_DOWN     ? &me->downs
                     : event->kind == AXO_KIND_NODE_OVER     ? &me->overs
                     : event->kind == AXO_KIND_NODE_REFUSED  ? &me->refusals
                     : event->kind == AXO_KIND_NODE_MINORITY ? &me->minorities
                     : event->kind == AXO_KIND_NODE_NO_ROOM  ? &me->no_rooms
                                                             : &me->majorities,
                     1);
}

static inline axo_status cw_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    cw_note *me = *(cw_note **)state;
    switch (message->tag) {
    case CW_NUMBER:
        cw_take_number(me, message);
        return AXO_OK;
    case CW_ECHO:
        return axo_reply(ctx, message, CW_BACK, message->payload, message->size);
    case CW_BACK:
        atomic_fetch_add(&me->back, 1);
        return AXO_OK;
    case CW_DO:
        me->status = cw_do(ctx, AXO_PAYLOAD(message, cw_order));
        atomic_fetch_add(&me->done, 1);
        return AXO_OK;
    case CW_BLOB:
        memcpy(me->blob, message->payload, message->size < 64 ? message->size : 64);
        me->blob_size = message->size;
        return AXO_OK;
    case AXO_TERMINATED:
        cw_take_end(me, message);
        return AXO_OK;
    case AXO_CLUSTER_FOUND:
        cw_take_found(me, AXO_PAYLOAD(message, axo_cluster_found));
        return AXO_OK;
    case AXO_ASK_ANSWER:
        cw_take_answer(me, message);
        return AXO_OK;
    case AXO_ASK_FAILED:
        atomic_fetch_add(&me->failed, 1);
        return AXO_OK;
    case AXO_EVENT:
        cw_take_event(me, AXO_PAYLOAD(message, axo_event_message));
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static inline axo_status cw_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(cw_note **)state = (cw_note *)(uintptr_t)args;
    return AXO_OK;
}

static inline axo_status cw_post_stop(axo_ctx *ctx, void *state)
{
    (void)ctx;
    atomic_fetch_add(&(*(cw_note **)state)->stopped, 1);
    return AXO_OK;
}

static const axo_class cw_class =
    AXO_CLASS(.name = "note", .state_size = sizeof(cw_note *), .construct = cw_construct,
              .receive = cw_receive, .post_stop = cw_post_stop);

/* An actor with a key of its node's registry. */
static inline void cw_actor(const cw_node *node, cw_note *note, const char *key)
{
    axo_props props = AXO_PROPS(.cls = &cw_class, .args = note);
    memset(note, 0, sizeof *note);
    assert_int_equal(axo_system_spawn(node->system, &props, &note->ref), AXO_OK);
    assert_int_equal(axo_system_register(node->system, key, note->ref), AXO_OK);
}

/* Has an actor do something, and says what came of it. */
static inline axo_status cw_tell(const cw_node *node, cw_note *note, uint32_t what, axo_ref to,
                                 uint32_t number)
{
    const cw_order order = {.what = what, .number = number, .to = to};
    uint32_t before = note->done;
    assert_int_equal(axo_system_send(node->system, note->ref, CW_DO, &order, sizeof order),
                     AXO_OK);
    CW_UNTIL(note->done == before + 1);
    return (axo_status)note->status;
}

#endif
