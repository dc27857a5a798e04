/* w9_children.c - W9: a parent with a thousand children fails, again and again; from the failing
 * call until the last child of the new generation is ready, its start callback entered.
 *
 * W9a  the children survive the parent's pre_restart and are restarted after it.
 * W9b  the default hooks: the children are stopped, and the new parent's pre_start makes new ones.
 *
 * The figure is the median of a run's rounds; its strategy counts restarts. */
#include <stdatomic.h>

#include "bench.h"

enum { FAIL = 1, READY = 2 };

#define WINDOW_NS INT64_C(10000000000)

typedef struct family {
    clock_gauge gauge;
    bool remade; /* W9b */
    uint64_t children;
    uint64_t rounds;
    uint64_t part; /* 0: both; 1: W9a, 2: W9b */
    uint64_t left; /* rounds to go, and one for the first generation */
    uint64_t failed_at;
    histogram times;
    _Alignas(64) _Atomic uint64_t waiting; /* children that are not ready */
    _Atomic uint64_t last_at;              /* clock, when the last was */
} family;

static axo_status family_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(family *));
    return AXO_OK;
}

/* ---- child --------------------------------------------------------------------------------- */

static axo_status child_start(axo_ctx *ctx, void *state)
{
    family *shared = *(family *const *)state;
    uint64_t now = clock_ticks(&shared->gauge);
    if (atomic_fetch_sub(&shared->waiting, 1) == 1) {
        atomic_store(&shared->last_at, now);
        bench_check(axo_send(ctx, axo_parent(ctx), READY, NULL, 0), "send");
    }
    return AXO_OK;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_UNHANDLED;
}

/* post_restart is the default: pre_start. */
static const axo_class child_class =
    AXO_CLASS(.name = "child", .state_size = sizeof(family *), .construct = family_construct,
              .pre_start = child_start, .receive = child_receive);

/* ---- parent -------------------------------------------------------------------------------- */

static axo_status parent_start(axo_ctx *ctx, void *state)
{
    family *shared = *(family *const *)state;
    axo_props props =
        AXO_PROPS(.cls = &child_class, .args = &shared, .args_size = sizeof shared);
    for (uint64_t i = 0; i < shared->children; i++) {
        axo_ref ref;
        bench_check(axo_spawn(ctx, &props, &ref), "spawn");
    }
    return AXO_OK;
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    family *shared = *(family *const *)state;
    if (message->tag == FAIL) {
        atomic_store(&shared->waiting, shared->children);
        shared->failed_at = clock_ticks(&shared->gauge);
        return axo_fail(ctx, 9, "on request");
    }
    bench_expect(axo_child_count(ctx), shared->children, "children");
    if (shared->failed_at != 0)
        histogram_record(&shared->times, clock_between(&shared->gauge, shared->failed_at,
                                                       atomic_load(&shared->last_at)));
    if (--shared->left == 0)
        return axo_system_shutdown(axo_system_of(ctx));
    return axo_send(ctx, axo_self(ctx), FAIL, NULL, 0);
}

/* The children are left alone. */
static axo_status parent_keep(axo_ctx *ctx, void *state, const axo_failure *failure,
                              const axo_message *message)
{
    (void)ctx, (void)state, (void)failure, (void)message;
    return AXO_OK;
}

/* They are there already. */
static axo_status parent_kept(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)ctx, (void)state, (void)failure;
    return AXO_OK;
}

static const axo_class keeping_class =
    AXO_CLASS(.name = "keeping", .state_size = sizeof(family *), .construct = family_construct,
              .pre_start = parent_start, .receive = parent_receive, .pre_restart = parent_keep,
              .post_restart = parent_kept);
static const axo_class remaking_class =
    AXO_CLASS(.name = "remaking", .state_size = sizeof(family *), .construct = family_construct,
              .pre_start = parent_start, .receive = parent_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void children_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    static const axo_strategy counted =
        AXO_STRATEGY(.limited = 1, .retries_max = INT32_MAX, .within_ns = WINDOW_NS);
    family *shared = arg;
    axo_options options =
        AXO_OPTIONS(.workers = settings->workers, .seed = 1, .user_strategy = &counted,
                    .no_quantum_us = settings->steady);
    axo_system *system;
    axo_stats stats;
    shared->left = shared->rounds + 1;
    shared->failed_at = 0;
    atomic_store(&shared->waiting, shared->children);
    bench_check(axo_system_start(&options, &system), "start");
    (void)bench_root(system, shared->remade ? &remaking_class : &keeping_class, shared);
    bench_system_finish(system, sample, &stats);
    uint64_t generation = shared->remade ? 1 : 1 + shared->children;
    uint64_t made = shared->children * (shared->remade ? shared->rounds + 1 : 1);
    bench_expect(shared->times.count, shared->rounds, "rounds");
    bench_expect(stats.failures, shared->rounds, "failures");
    bench_expect(stats.restarts, shared->rounds * generation, "restarts");
    if (stats.spawned <= made || stats.spawned > made + 8) /* guardians, the parent */
        bench_expect(stats.spawned, made + 1, "actors spawned");
    sample->figure = (double)histogram_percentile(&shared->times, 0.5) / 1e3;
}

int main(int argc, char **argv)
{
    static family own = {.children = 1000, .rounds = 200};
    const bench_option options[] = {{"--children", &own.children, "of the parent"},
                                    {"--rounds", &own.rounds, "failures a run"},
                                    {"--part", &own.part, "1: only W9a, 2: only W9b; 0: both"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 3);
    if (own.children < 1 || own.children > 100000 || own.rounds < 1 || own.part > 2)
        bench_usage(argv[0], options, 3);
    char text[96];
    (void)snprintf(text, sizeof text, "\"children\":%" PRIu64 ",\"rounds\":%" PRIu64, own.children,
                   own.rounds);
    clock_calibrate(&own.gauge);
    for (uint32_t i = 0; i < 2; i++) {
        own.remade = i == 1;
        if (own.part != 0 && own.part != i + 1)
            continue;
        bench_measure(&settings, &(bench_work){.name = own.remade ? "W9b" : "W9a",
                                               .unit = "us",
                                               .less = true,
                                               .options = text,
                                               .run = children_run,
                                               .arg = &own,
                                               .times = {{"", &own.times}}});
    }
    return 0;
}
