/* w5_skynet.c - W5: a tree of actors, ten children each, a million leaves; numbers sum upward.
 *
 * A leaf sends its number to its parent and stops; an inner actor spawns its children as it starts,
 * adds what they send, sends the sum on and stops. From the message that starts it to the sum at
 * the root: the ends of actors that are still stopping then are not in the time. The peak is of the
 * whole process. */
#include "bench.h"

enum { GO = 1, SUM = 2 };

typedef struct tree {
    uint64_t fan;
    uint64_t leaves; /* a power of fan */
    uint64_t sum;
    uint64_t begin_ns;
    uint64_t end_ns;
} tree;

/* One actor of the tree: the leaves first..first + size - 1 are below it, or it is one. */
typedef struct node {
    const tree *tree;
    uint64_t first;
    uint64_t size;
    uint64_t sum;
    uint64_t waiting; /* children that have not sent */
} node;

static const axo_class node_class;

static axo_status node_spawn(axo_ctx *ctx, const node *recipe)
{
    axo_props props = AXO_PROPS(.cls = &node_class, .args = recipe, .args_size = sizeof *recipe);
    axo_ref ref;
    return axo_spawn(ctx, &props, &ref);
}

static axo_status node_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(node *)state = *(const node *)args;
    return AXO_OK;
}

static axo_status node_send_sum(axo_ctx *ctx, uint64_t sum)
{
    bench_check(axo_send(ctx, axo_parent(ctx), SUM, &sum, sizeof sum), "send");
    return axo_stop_self(ctx);
}

static axo_status node_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    if (me->size == 1)
        return node_send_sum(ctx, me->first);
    node recipe = {.tree = me->tree, .size = me->size / me->tree->fan};
    me->waiting = me->tree->fan;
    for (uint64_t i = 0; i < me->tree->fan; i++) {
        recipe.first = me->first + i * recipe.size;
        bench_check(node_spawn(ctx, &recipe), "spawn");
    }
    return AXO_OK;
}

static axo_status node_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    me->sum += *AXO_PAYLOAD(message, uint64_t);
    return --me->waiting > 0 ? AXO_OK : node_send_sum(ctx, me->sum);
}

static const axo_class node_class =
    AXO_CLASS(.name = "node", .state_size = sizeof(node), .construct = node_construct,
              .pre_start = node_start, .receive = node_receive);

/* ---- judge --------------------------------------------------------------------------------- */

static axo_status judge_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(tree *));
    return AXO_OK;
}

static axo_status judge_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    tree *shared = *(tree *const *)state;
    if (message->tag == GO) {
        node recipe = {.tree = shared, .size = shared->leaves};
        shared->begin_ns = clock_ns();
        return node_spawn(ctx, &recipe);
    }
    shared->end_ns = clock_ns();
    shared->sum = *AXO_PAYLOAD(message, uint64_t);
    return axo_system_shutdown(axo_system_of(ctx));
}

static const axo_class judge_class =
    AXO_CLASS(.name = "judge", .state_size = sizeof(tree *), .construct = judge_construct,
              .receive = judge_receive);

/* ---- program ------------------------------------------------------------------------------- */

static uint64_t tree_nodes(const tree *shared)
{
    uint64_t nodes = 0;
    for (uint64_t row = shared->leaves; row > 0; row /= shared->fan)
        nodes += row;
    return nodes;
}

static void skynet_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    tree *shared = arg;
    axo_stats stats;
    shared->sum = 0;
    bench_system_run(settings, &judge_class, shared, GO, sample, &stats);
    bench_expect(shared->sum, shared->leaves * (shared->leaves - 1) / 2, "sum of the leaves");
    bench_expect(stats.handled, tree_nodes(shared) + 1, "messages handled");
    bench_expect(stats.terminated, stats.spawned, "actors terminated");
    sample->figure = (double)(shared->end_ns - shared->begin_ns) / 1e6;
}

int main(int argc, char **argv)
{
    tree own = {.fan = 10, .leaves = 1000000};
    const bench_option options[] = {{"--fan", &own.fan, "children of an inner actor"},
                                    {"--leaves", &own.leaves, "leaves, a power of --fan"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 2);
    uint64_t rest = own.leaves;
    while (own.fan >= 2 && rest > 1 && rest % own.fan == 0)
        rest /= own.fan;
    if (rest != 1)
        bench_usage(argv[0], options, 2);
    char text[96];
    (void)snprintf(text, sizeof text, "\"fan\":%" PRIu64 ",\"leaves\":%" PRIu64, own.fan,
                   own.leaves);
    bench_measure(&settings, &(bench_work){.name = "W5",
                                           .unit = "ms",
                                           .less = true,
                                           .options = text,
                                           .run = skynet_run,
                                           .arg = &own});
    return 0;
}
