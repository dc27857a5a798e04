/* kv_cluster.c - kv_server.c on several nodes, and on disk: a client may connect to any of them,
 * and what was answered +OK outlives kill -9 of any.
 *
 *   kv_cluster NODE NODES FOLDER [URL [PORT]]     until SIGTERM; KV_TOKEN: what the nodes share
 *   kv_cluster ann ann,bob,eve /var/lib/kv        the same list for all of them
 *
 *     /user/server             as kv_server's, with its listener and connections
 *       shard0, ...            this node's keys: the events of a journal in FOLDER (kv_kept.h)
 *       way-ann-0, ...         to each shard of each node, this one too (kv_way.h)
 *
 *   connection --DO--> way --ask--> shard, here or there: persists the request, answers when it is
 *        ^--------------'             on disk
 *
 * Each key has one node, by a hash of both (kv_shard_of), for good: while it is down its keys are
 * answered by -DOWN, and when it is started again it knows them from its journal. Another list of
 * nodes is another database: nothing is moved.
 *
 * An answer of -DOWN that says "nothing is done" means that. Behind one that says "it may be done",
 * or behind a connection that breaks, the request may still be done, shortly afterwards too: a
 * client that sends it again has it done twice, and one that goes on with the same key should
 * first wait for as long as a way does (WAY_LIMIT). A node that was held down while it lived, and
 * stays so, is to be started again (CLUSTER.md). */
#include <stdio.h>
#include <stdlib.h>

#include "kv.h"
#include "kv_kept.h"
#include "kv_listen.h"
#include "kv_way.h"

#define SHARDS 4 /* of each node */
#define NODES  (KV_SHARDS_MAX / SHARDS)

typedef struct node {
    kv kv;         /* the first: the server's actors have this one's address */
    uint32_t mine; /* among the nodes */
    char names[NODES][AXO_NODE_NAME_MAX + 1];
    axo_cluster *cluster;
    axo_store *store;
} node;

/* ---- the server's children ---- */

static axo_status node_spawn_kept(axo_ctx *ctx, node *it, uint32_t i, const char *name,
                                  axo_ref *out)
{
    const kept args = {.kv = &it->kv, .index = i};
    const axo_durable recipe =
        AXO_DURABLE(.store = it->store, .name = name, .journal = &kept_journal);
    const axo_props props =
        AXO_PROPS(.cls = &kept_class, .name = name, .args = &args, .args_size = sizeof args);
    axo_status status = axo_durable_spawn(ctx, &recipe, &props, out);
    return status == AXO_OK ? axo_register(ctx, name, *out) : status;
}

/* The way to a shard, and the shard, if it is this node's. */
static axo_status node_spawn(axo_ctx *ctx, kv *all, uint32_t i)
{
    node *it = (node *)all;
    char name[AXO_NODE_NAME_MAX + 32];
    way args = {.cluster = it->cluster,
                .node = it->names[i / SHARDS],
                .here = i / SHARDS == it->mine,
                .shard = axo_ref_none()};
    const axo_props props =
        AXO_PROPS(.cls = &way_class, .name = name, .args = &args, .args_size = sizeof args);
    axo_status status = AXO_OK;
    (void)snprintf(args.key, sizeof args.key, "shard%u", i % SHARDS);
    if (args.here)
        status = node_spawn_kept(ctx, it, i, args.key, &args.shard);
    (void)snprintf(name, sizeof name, "way-%s-%u", args.node, i % SHARDS);
    return status == AXO_OK ? axo_spawn(ctx, &props, &all->shards[i]) : status;
}

/* ---- the program ---- */

static axo_status node_begin(node *it, axo_system *system, const char *folder)
{
    kv *all = &it->kv;
    axo_ref ref;
    axo_store_problem problem;
    const axo_store_settings settings = AXO_STORE_SETTINGS(.path = folder);
    const axo_props props = AXO_PROPS(.cls = &server_class, .name = "server", .args = &all,
                                      .args_size = sizeof all, .strategy = &server_strategy);
    axo_status status = axo_store_open(system, &settings, &problem, &it->store);
    if (status != AXO_OK)
        (void)fprintf(stderr, "kv_cluster: %s\n", problem.text);
    if (status == AXO_OK)
        status = axo_system_spawn(system, &props, &ref);
    return status == AXO_OK ? axo_cluster_start(it->cluster, system) : status;
}

static bool node_run(node *it, const char *folder)
{
    axo_system *system;
    axo_outcome outcome = {.failed = 0};
    axo_log_sink log = AXO_LOG_SINK();
    const axo_options options =
        AXO_OPTIONS(.name = "kv", .workers = 2, .user_strategy = &user_strategy,
                    .log_record = axo_log_write, .log_record_user = &log,
                    .remote = axo_cluster_remote(it->cluster), .remote_user = it->cluster);
    axo_status status = axo_log_open(&log);
    if (status == AXO_OK)
        status = axo_system_start(&options, &system);
    if (status != AXO_OK) {
        (void)fprintf(stderr, "kv_cluster: cannot start: %s\n", axo_status_text(status));
        return false;
    }
    status = node_begin(it, system, folder);
    if (status != AXO_OK)
        (void)axo_system_shutdown(system);
    (void)axo_system_wait(system, -1, &outcome);
    (void)axo_cluster_leave(it->cluster);
    (void)axo_system_destroy(system);
    axo_log_close(&log);
    if (status != AXO_OK || outcome.failed)
        (void)fprintf(stderr, "kv_cluster: %s\n",
                      outcome.failed ? outcome.text : axo_status_text(status));
    const kv_totals *all = &it->kv.totals;
    (void)printf("executed %" PRIuFAST64 " answered %" PRIuFAST64 " refused %" PRIuFAST64
                 " gone %" PRIuFAST64 "\n",
                 all->executed, all->answered, all->refused, all->gone);
    return status == AXO_OK && !outcome.failed &&
           all->executed == all->answered + all->refused + all->gone;
}

/* Names with commas between them; false: too many, one is no name or comes twice, or this node's is
 * not among them. */
static bool node_names(node *it, const char *mine, const char *names)
{
    uint32_t found = 0;
    for (const char *at = names; *at != '\0' && it->kv.nodes_count < NODES;) {
        size_t size = strcspn(at, ",");
        uint32_t i = it->kv.nodes_count++;
        if (size == 0 || size > AXO_NODE_NAME_MAX)
            return false;
        memcpy(it->names[i], at, size);
        for (uint32_t other = 0; other < i; other++) {
            if (strcmp(it->names[other], it->names[i]) == 0)
                return false;
        }
        it->kv.nodes[i] = kv_mix(table_hash(0, at, size));
        found += strcmp(it->names[i], mine) == 0;
        it->mine = strcmp(it->names[i], mine) == 0 ? i : it->mine;
        at += at[size] == ',' ? size + 1 : size;
        names = at;
    }
    it->kv.shards_count = it->kv.nodes_count * SHARDS;
    return found == 1 && *names == '\0';
}

int main(int argc, char **argv)
{
    /* A seed of chance would make each life's hashes others: who chooses keys may choose where
     * they are. */
    static node it = {.kv = {.seed = 0,
                             .port = 7379,
                             .spawn = node_spawn,
                             .request_max = 524288, /* NATS carries 1 MiB */
                             .write_ns = 30 * KV_SECOND,
                             .drain_ns = 5 * KV_SECOND}};
    int64_t port = 7379;
    axo_cluster_problem problem;
    if (argc < 4 || argc > 6 || !node_names(&it, argv[1], argv[2]) ||
        (argc == 6 && !resp_number((resp_word){.data = argv[5], .size = strlen(argv[5])}, &port)) ||
        port < 0 || port > 65535) {
        (void)fprintf(stderr,
                      "kv_cluster NODE NODES FOLDER [URL [PORT]]\n"
                      "  NODES: at most %d, with commas between, NODE among them; PORT 0: "
                      "a free one, which is printed\n",
                      NODES);
        return 2;
    }
    it.kv.port = (uint32_t)port;
    const axo_cluster_options with =
        AXO_CLUSTER_OPTIONS(.cluster = "kv", .node = argv[1], .url = argc > 4 ? argv[4] : NULL,
                            .token = getenv("KV_TOKEN"), .beat_ms = 200, .down_ms = 3000);
    axo_status status = axo_cluster_open(&with, &problem, &it.cluster);
    if (status != AXO_OK) {
        (void)fprintf(stderr, "kv_cluster: %s: %s\n", axo_status_text(status), problem.text);
        return 1;
    }
    bool good = node_run(&it, argv[3]);
    axo_cluster_close(it.cluster);
    return good ? 0 : 1;
}
