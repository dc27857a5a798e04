/* kv_server.c - keys and values for clients of Redis: redis-cli and redis-benchmark work with it.
 *
 *   ./kv_server [--port 7379] [--workers N] [--shards N] [--board FILE] ...; --help
 *
 *     /user/server             starts the others; SIGTERM comes to it
 *       shard0, shard1, ...    the keys: one that fails goes on with them, and who asked is told
 *       listener               accepts, until the end begins
 *         $a, $b, ...          a connection each: one that fails is closed, the others go on
 *
 * A request that breaks the protocol is answered by -ERR, and its connection closed.
 *
 * At SIGTERM, or SHUTDOWN, it accepts nobody any more, answers what has come, and ends with one
 * line of totals; its exit code says whether they add up. */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "kv.h"
#include "kv_listen.h"
#include "kv_shard.h"

/* The keys outlive the shard: they are at its home. */
static axo_status main_spawn(axo_ctx *ctx, kv *it, uint32_t i)
{
    char name[32];
    shard args = {.home = &it->homes[i]};
    axo_props props =
        AXO_PROPS(.cls = &shard_class, .name = name, .args = &args, .args_size = sizeof args);
    (void)snprintf(name, sizeof name, "shard%u", i);
    return axo_spawn(ctx, &props, &it->shards[i]);
}

/* --bytes: an allocator that knows what the system has of it; `user` is the kv. */
static void *main_alloc(void *user, size_t size, size_t align)
{
    void *block = NULL;
    if (posix_memalign(&block, align < sizeof block ? sizeof block : align, size) != 0)
        return NULL;
    atomic_fetch_add(&((kv *)user)->taken, (int_fast64_t)size);
    return block;
}

static void main_free(void *user, void *block, size_t size, size_t align)
{
    (void)align;
    atomic_fetch_sub(&((kv *)user)->taken, (int_fast64_t)size);
    free(block);
}

static uint32_t main_descriptors(void)
{
    uint32_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    while (all != NULL && readdir(all) != NULL)
        count++;
    if (all != NULL)
        (void)closedir(all);
    return count;
}

/* The totals, and whether they add up and nothing is left. */
static bool main_report(kv *it, const axo_stats *stats, uint32_t descriptors)
{
    const kv_totals *all = &it->totals;
    uint64_t done = 0;
    uint64_t failed = 0;
    for (uint32_t i = 0; i < it->shards_count; i++) {
        done += it->homes[i].done;
        failed += it->homes[i].failed;
        table_free(&it->homes[i].table);
    }
    uint64_t refused = all->refused + all->gone;
    (void)printf("connections %" PRIuFAST64 " executed %" PRIuFAST64 " answered %" PRIuFAST64
                 " refused %" PRIu64 " (gone %" PRIuFAST64 ") asked %" PRIuFAST64 " done %" PRIu64
                 " failed %" PRIu64 " restarts %" PRIu64 " actors %" PRIu64
                 " descriptors %u bytes %" PRIdFAST64 "\n",
                 all->connections, all->executed, all->answered, refused, all->gone, all->asked,
                 done, failed, stats->restarts, stats->spawned - stats->terminated, descriptors,
                 it->taken);
    return all->executed == all->answered + refused && all->asked == done + failed &&
           stats->spawned == stats->terminated && descriptors == 0 && it->taken == 0;
}

static bool main_run(kv *it)
{
    axo_log_sink log = AXO_LOG_SINK();
    axo_options options = AXO_OPTIONS(.name = "kv", .workers = it->workers, .board = it->board,
                                      .user_strategy = &user_strategy, .log_record = axo_log_write,
                                      .log_record_user = &log);
    axo_props props = AXO_PROPS(.cls = &server_class, .name = "server", .args = &it,
                                .args_size = sizeof it, .strategy = &server_strategy);
    if (it->bytes)
        options.allocator = (axo_allocator){.alloc = main_alloc, .free = main_free, .user = it};
    axo_stats stats = AXO_STATS();
    axo_outcome outcome;
    axo_system *system;
    axo_ref ref;
    uint32_t before = main_descriptors();
    if (axo_log_open(&log) != AXO_OK || axo_system_start(&options, &system) != AXO_OK ||
        axo_system_spawn(system, &props, &ref) != AXO_OK) {
        (void)fprintf(stderr, "kv_server: cannot start\n");
        return false;
    }
    (void)axo_system_wait(system, -1, &outcome);
    (void)axo_system_stats(system, &stats);
    (void)axo_system_destroy(system);
    axo_log_close(&log);
    if (outcome.failed)
        (void)fprintf(stderr, "kv_server: %s\n", outcome.text);
    return main_report(it, &stats, main_descriptors() - before) && !outcome.failed;
}

static const struct option main_options[] = {
    {"port", 1, NULL, 'p'},        {"workers", 1, NULL, 'w'},
    {"shards", 1, NULL, 's'},      {"board", 1, NULL, 'b'},
    {"connections", 1, NULL, 'c'}, {"request-max", 1, NULL, 'r'},
    {"idle-ms", 1, NULL, 'i'},     {"write-ms", 1, NULL, 'o'},
    {"drain-ms", 1, NULL, 'd'},    {"answer-max", 1, NULL, 'a'},
    {"bytes", 0, NULL, 'm'},
    {0}};

static const char main_help[] =
    "kv_server: keys and values for clients of Redis, at 127.0.0.1\n"
    "  --port N         0: one that is free, which is printed      7379\n"
    "  --workers N      threads; 0: as many as processors          0\n"
    "  --shards N       actors that hold the keys, 1..64           8\n"
    "  --connections N  at most; the others wait; 0: no bound      0\n"
    "  --request-max N  bytes of a request                         1048576\n"
    "  --answer-max N   bytes of an answer, if that is known       0: learnt\n"
    "  --idle-ms N      a connection that is silent so long ends   0: none\n"
    "  --write-ms N     and one that reads no answer               30000\n"
    "  --drain-ms N     time for the last answers at the end       5000\n"
    "  --board FILE     for axo-top\n"
    "  --bytes          counts the memory that the system has: INFO\n";

/* false: a bad option. */
static bool main_read(kv *it, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "", main_options, NULL)) != -1) {
        int64_t number = 0;
        bool good = option != '?' &&
                    (option == 'b' || option == 'm' ||
                     (resp_number((resp_word){.data = optarg, .size = strlen(optarg)}, &number) &&
                      number >= 0 && number <= INT32_MAX));
        if (!good)
            return false;
        switch (option) {
        case 'p':
            it->port = (uint32_t)number;
            break;
        case 'w':
            it->workers = (uint32_t)number;
            break;
        case 's':
            it->shards_count = (uint32_t)number;
            break;
        case 'b':
            it->board = optarg;
            break;
        case 'm':
            it->bytes = true;
            break;
        case 'c':
            it->connections_max = (uint32_t)number;
            break;
        case 'r':
            it->request_max = (size_t)number;
            break;
        case 'a':
            it->answer_max = (size_t)number;
            break;
        case 'i':
            it->idle_ns = number * 1000000;
            break;
        case 'o':
            it->write_ns = number * 1000000;
            break;
        default:
            it->drain_ns = number * 1000000;
            break;
        }
    }
    return optind == argc && it->port <= 65535 && it->shards_count >= 1 &&
           it->shards_count <= KV_SHARDS_MAX && it->drain_ns > 0 &&
           it->answer_max <= AXO_STREAM_MAX;
}

int main(int argc, char **argv)
{
    static kv it = {.port = 7379,
                    .spawn = main_spawn,
                    .shards_count = 8,
                    .request_max = 1048576,
                    .write_ns = 30 * KV_SECOND,
                    .drain_ns = 5 * KV_SECOND};
    if (!main_read(&it, argc, argv) || getrandom(&it.seed, sizeof it.seed, 0) < 0) {
        (void)fputs(main_help, stderr);
        return 2;
    }
    return main_run(&it) ? 0 : 1;
}
