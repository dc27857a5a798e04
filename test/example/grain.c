/* grain.c - a node of a cluster with grains: counters, each of which is there by its name, on
 * some node, from its first message on. Each node says hello to three of them. It needs a
 * nats-server with JetStream: nats-server -js.
 *
 *   grain NAME [URL [SECONDS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <axo/axo.h>
#include <axo/grain.h>

enum { HELLO = 1 };

#define SECONDS INT64_C(1000000000)

typedef struct counter {
    const axo_grain_given *given;
    unsigned count;
} counter;

/* A new life: what it should know of former ones it would read here, say from a journal. */
static axo_status counter_begin(axo_ctx *ctx, void *state, const void *args)
{
    counter *me = state;
    (void)ctx;
    me->given = args;
    return AXO_OK;
}

static axo_status counter_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    counter *me = state;
    (void)ctx;
    if (message->tag != HELLO)
        return AXO_UNHANDLED;
    me->count++;
    printf("%s lives on %s: hello from %.*s, the %u. of this life\n", me->given->key,
           (const char *)me->given->args, (int)message->size, (const char *)message->payload,
           me->count);
    return AXO_OK;
}

static const axo_class counter_class = AXO_CLASS(.name = "counter", .state_size = sizeof(counter),
                                                 .construct = counter_begin,
                                                 .receive = counter_receive);

/* References are of this node, whoever has the grain. */
static axo_status node_greets(axo_cluster *cluster, axo_system *system, const char *name)
{
    static const char *const keys[] = {"apples", "pears", "plums"};
    axo_status status = AXO_OK;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && status == AXO_OK; i++) {
        axo_ref ref;
        status = axo_grain(cluster, "counter", keys[i], &ref);
        if (status == AXO_OK)
            status = axo_system_send(system, ref, HELLO, name, strlen(name));
    }
    return status;
}

static axo_status node_run(axo_cluster *cluster, const char *name, int seconds)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.workers = 2, .remote = axo_cluster_remote(cluster),
                                      .remote_user = cluster);
    axo_props props = AXO_PROPS(.cls = &counter_class, .args = name, .args_size = strlen(name) + 1);
    axo_grain_kind kind = AXO_GRAIN_KIND(.name = "counter", .props = &props, .idle_ms = 5000);
    axo_status status = axo_cluster_add_grain_kind(cluster, &kind);
    if (status == AXO_OK)
        status = axo_system_start(&options, &system);
    if (status != AXO_OK)
        return status;
    status = axo_cluster_start(cluster, system);
    for (int i = 0; i < seconds && status == AXO_OK; i++) {
        status = node_greets(cluster, system, name);
        (void)sleep(1);
    }
    (void)axo_cluster_leave(cluster);
    (void)axo_system_stop(system, 5 * SECONDS, NULL, 0, NULL);
    axo_status end = axo_system_destroy(system);
    return status != AXO_OK ? status : end;
}

int main(int argc, char **argv)
{
    axo_cluster *cluster;
    axo_cluster_problem problem;
    if (argc < 2) {
        printf("grain NAME [URL [SECONDS]]\n");
        return 2;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    axo_cluster_options with = AXO_CLUSTER_OPTIONS(.cluster = "market", .node = argv[1],
                                                   .token = "the example's", .beat_ms = 200,
                                                   .membership = AXO_CLUSTER_STORE);
    if (argc > 2)
        with.url = argv[2];
    axo_status status = axo_cluster_open(&with, &problem, &cluster);
    if (status != AXO_OK) {
        printf("%s: %s: %s\n", argv[1], axo_status_text(status), problem.text);
        return 1;
    }
    status = node_run(cluster, argv[1], argc > 3 ? atoi(argv[3]) : 10);
    axo_cluster_close(cluster);
    return status == AXO_OK ? 0 : 1;
}
