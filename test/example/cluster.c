/* cluster.c - a node of a cluster: greets the other nodes as they come, and says who is lost. The
 * first node that a host meets has a child of his, a waiter, which is made anew when that node has
 * been lost and is back. Each node is a process of its own, with its own name;
 * test/example/cluster.sh starts three beside a nats-server, and kills one.
 *
 *   cluster NAME [URL]      until SIGTERM */
#define _GNU_SOURCE 1 /* sigwait */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>
#include <axo/cluster.h>

enum { HELLO = 1, WELCOME, READY };

#define SECONDS INT64_C(1000000000)

typedef struct host {
    axo_cluster *cluster;
    const char *name;
    axo_ref waiter;
} host;

/* On another node than its host: its parent is told all the same. */
static axo_status waiter_start(axo_ctx *ctx, void *state)
{
    (void)state;
    return axo_send(ctx, axo_parent(ctx), READY, NULL, 0);
}

static axo_status waiter_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_UNHANDLED;
}

static const axo_class waiter_class =
    AXO_CLASS(.name = "waiter", .pre_start = waiter_start, .receive = waiter_receive);

static axo_status host_start(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(host));
    return axo_subscribe(ctx, axo_self(ctx), AXO_KIND_NODE);
}

/* Permanent: made anew when its node is lost, there as soon as it is back. */
static axo_status host_hire(axo_ctx *ctx, host *me, const char *where)
{
    const axo_cluster_child waiter =
        AXO_CLUSTER_CHILD(.node = where, .cls = "waiter", .lifetime = AXO_PERMANENT);
    axo_status status = axo_cluster_spawn(ctx, me->cluster, &waiter, &me->waiter);
    return status == AXO_EGONE ? AXO_OK : status; /* it has gone again */
}

/* A node has come: which of its actors has the key "host"? */
static axo_status host_event(axo_ctx *ctx, host *me, const axo_event_message *event)
{
    const axo_cluster_event *about = AXO_EVENT_DATA(event, axo_cluster_event);
    int up = event->kind == AXO_KIND_NODE_UP;
    const char *what = event->kind == AXO_KIND_NODE_DOWN ? "down" : "over";
    printf("%s: %s is %s\n", me->name, about->node.name, up ? "up" : what);
    if (!up)
        return AXO_OK;
    if (axo_ref_is_none(me->waiter)) {
        axo_status status = host_hire(ctx, me, about->node.name);
        if (status != AXO_OK)
            return status;
    }
    return axo_cluster_find(me->cluster, axo_self(ctx), about->node.name, "host", 10 * SECONDS, 0);
}

/* It is watched and greeted as an actor of this process is. */
static axo_status host_found(axo_ctx *ctx, host *me, const axo_cluster_found *found)
{
    if (found->status != AXO_OK) {
        printf("%s: no host: %s\n", me->name, axo_status_text((axo_status)found->status));
        return AXO_OK;
    }
    axo_status status = axo_watch(ctx, found->ref);
    (void)axo_send(ctx, found->ref, HELLO, me->name, strlen(me->name) + 1);
    return status;
}

static axo_status host_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    host *me = state;
    switch (message->tag) {
    case AXO_EVENT:
        return host_event(ctx, me, AXO_PAYLOAD(message, axo_event_message));
    case AXO_CLUSTER_FOUND:
        return host_found(ctx, me, AXO_PAYLOAD(message, axo_cluster_found));
    case HELLO:
        printf("%s: %.*s says hello\n", me->name, (int)message->size,
               (const char *)message->payload);
        (void)axo_reply(ctx, message, WELCOME, me->name, strlen(me->name) + 1);
        return AXO_OK;
    case WELCOME:
        printf("%s: %.*s says welcome\n", me->name, (int)message->size,
               (const char *)message->payload);
        return AXO_OK;
    case READY:
        printf("%s: a waiter is ready\n", me->name);
        return AXO_OK;
    case AXO_TERMINATED:
        printf("%s: a host was lost\n", me->name);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class host_class = AXO_CLASS(.name = "host", .state_size = sizeof(host),
                                              .construct = host_start, .receive = host_receive);

/* The host, and who may be hired here, are there before the node is. */
static axo_status node_begin(axo_cluster *cluster, axo_system *system, const char *name)
{
    const axo_props waiter = AXO_PROPS(.cls = &waiter_class);
    const host me = {.cluster = cluster, .name = name};
    axo_props props = AXO_PROPS(.cls = &host_class, .args = &me, .args_size = sizeof me,
                                .name = "host");
    axo_ref ref;
    axo_status status = axo_cluster_add_class(cluster, "waiter", &waiter);
    if (status == AXO_OK)
        status = axo_system_spawn(system, &props, &ref);
    if (status == AXO_OK)
        status = axo_system_register(system, "host", ref);
    return status == AXO_OK ? axo_cluster_start(cluster, system) : status;
}

static axo_status node_run(axo_cluster *cluster, const char *name, const sigset_t *ends)
{
    axo_system *system;
    int which;
    axo_options options = AXO_OPTIONS(.workers = 2, .remote = axo_cluster_remote(cluster),
                                      .remote_user = cluster);
    axo_status status = axo_system_start(&options, &system);
    if (status != AXO_OK)
        return status;
    status = node_begin(cluster, system, name);
    if (status == AXO_OK)
        (void)sigwait(ends, &which);
    (void)axo_cluster_leave(cluster);
    (void)axo_system_stop(system, 5 * SECONDS, NULL, 0, NULL);
    axo_status end = axo_system_destroy(system);
    return status != AXO_OK ? status : end;
}

int main(int argc, char **argv)
{
    axo_cluster *cluster;
    axo_cluster_problem problem;
    sigset_t ends;
    if (argc < 2) {
        printf("cluster NAME [URL]\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL); /* threads that come inherit it */
    axo_cluster_options with = AXO_CLUSTER_OPTIONS(.cluster = "inn", .node = argv[1],
                                                   .token = "the example's", .beat_ms = 200);
    if (argc > 2)
        with.url = argv[2];
    axo_status status = axo_cluster_open(&with, &problem, &cluster);
    if (status != AXO_OK) {
        printf("%s: %s: %s\n", argv[1], axo_status_text(status), problem.text);
        return 1;
    }
    status = node_run(cluster, argv[1], &ends);
    axo_cluster_close(cluster);
    return status == AXO_OK ? 0 : 1;
}
