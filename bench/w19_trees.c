/* w19_trees.c - W19: how costs grow with a tree: chains 1 to 10 000 deep, parents of 1 to 10 000.
 *
 * A judge supervises the tree's top. In one run:
 *   actors/s      trees are built and stopped again, from the spawn of the top to the notice of
 *                 its end: actors of all trees in that time
 *   spawn_ns      of it, an actor: from the spawn of the top until every actor has started
 *   stop_ns       of it, an actor: from the stop of the top to the notice of its end
 *   restart_ns    the last leaf fails and its parent restarts it, back to back
 *   escalate_ns   the last leaf fails, every parent above it escalates, the judge resumes all:
 *                 until the leaf handles its next message; divided by the actors of the tree
 *   remake_ns     the same, but the judge restarts the top: all below is stopped and made again;
 *                 an actor */
#include <stdatomic.h>

#include "bench.h"

enum { GO = 1, READY = 2, FAIL = 3, NEXT = 4, OVER = 5, AGAIN = 6 };
enum { CODE_RESTART = 1, CODE_RESUME = 2, CODE_REMAKE = 3 };

#define SIZE_MAX_ACTORS 1000000
#define WINDOW_NS       INT64_C(10000000000)

typedef struct tree {
    uint64_t size; /* actors; a wide tree's top is one more */
    uint64_t wide; /* 1: one parent of all; 0: a chain */
    uint64_t work; /* actors that each phase goes through, about */
    uint64_t own;  /* messages to the judge */
    uint64_t build_ns;
    uint64_t stop_ns;
    uint64_t restart_ns;
    uint64_t escalate_ns;
    uint64_t remake_ns;
    uint64_t leaf_handled;
    axo_ref judge;
    _Atomic uint64_t leaf; /* the last one's reference */
    _Alignas(64) _Atomic uint64_t starting;
} tree;

static uint64_t tree_actors(const tree *shared)
{
    return shared->size + shared->wide;
}

/* How often a phase is repeated that goes through so many actors each time. */
static uint64_t tree_rounds(const tree *shared, uint64_t actors)
{
    uint64_t rounds = shared->work / actors;
    return rounds < 2 ? 2 : rounds;
}

/* ---- node ---------------------------------------------------------------------------------- */

typedef struct node {
    tree *tree;
    uint64_t index; /* 0: the top */
    uint64_t left;  /* the last leaf: failures to come */
    uint64_t code;
} node;

static const axo_class node_class;

/* What an order to the last leaf says. */
typedef struct order {
    uint64_t count;
    uint64_t code;
} order;

static axo_status node_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(node *)state = *(const node *)args;
    return AXO_OK;
}

static axo_directive node_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)ctx, (void)state, (void)user;
    return failure->code == CODE_RESTART ? AXO_RESTART : AXO_ESCALATE;
}

static const axo_strategy node_strategy =
    AXO_STRATEGY(.decider = node_decide, .limited = 1, .retries_max = INT32_MAX,
                 .within_ns = WINDOW_NS);

static void node_spawn(axo_ctx *ctx, tree *shared, uint64_t index)
{
    node recipe = {.tree = shared, .index = index};
    axo_props props = AXO_PROPS(.cls = &node_class, .args = &recipe, .args_size = sizeof recipe,
                                .strategy = &node_strategy);
    axo_ref ref;
    bench_check(axo_spawn(ctx, &props, &ref), "spawn");
}

static axo_status node_start(axo_ctx *ctx, void *state)
{
    node *me = state;
    tree *shared = me->tree;
    if (shared->wide == 0 && me->index + 1 < shared->size)
        node_spawn(ctx, shared, me->index + 1);
    for (uint64_t i = 1; shared->wide != 0 && me->index == 0 && i <= shared->size; i++)
        node_spawn(ctx, shared, i);
    if (me->index + 1 == tree_actors(shared))
        atomic_store(&shared->leaf, axo_self(ctx).bits);
    if (atomic_fetch_sub(&shared->starting, 1) == 1)
        return axo_send(ctx, shared->judge, READY, NULL, 0);
    return AXO_OK;
}

/* Only the last leaf gets messages: an order, then its own. */
static axo_status node_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    node *me = state;
    order told = *AXO_PAYLOAD(message, order);
    me->tree->leaf_handled++;
    if (message->tag == FAIL)
        return axo_fail(ctx, (int32_t)told.code, "as told");
    if (told.count == 0)
        return axo_send(ctx, me->tree->judge, OVER, NULL, 0);
    if (told.code == CODE_REMAKE) /* this instance is not there to go on */
        return axo_fail(ctx, CODE_REMAKE, "as told");
    told.count--;
    bench_check(axo_send(ctx, axo_self(ctx), FAIL, &told, sizeof told), "send");
    return axo_send(ctx, axo_self(ctx), NEXT, &told, sizeof told);
}

/* A leaf that is restarted by its parent has no place of its own to start from. */
static axo_status node_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    return failure->code == CODE_REMAKE ? node_start(ctx, state) : AXO_OK;
}

static const axo_class node_class =
    AXO_CLASS(.name = "node", .state_size = sizeof(node), .construct = node_construct,
              .pre_start = node_start, .receive = node_receive, .post_restart = node_post_restart);

/* ---- judge --------------------------------------------------------------------------------- */

typedef enum phase { BUILD, RESTART, ESCALATE, REMAKE } phase;

typedef struct judge {
    tree *tree;
    axo_ref top;
    phase phase;
    uint64_t left; /* rounds of the phase */
    uint64_t rounds;
    uint64_t begin_ns;
} judge;

static axo_directive judge_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    (void)ctx, (void)state, (void)user;
    return failure->code == CODE_RESUME ? AXO_RESUME : AXO_RESTART;
}

static const axo_strategy judge_strategy =
    AXO_STRATEGY(.decider = judge_decide, .limited = 1, .retries_max = INT32_MAX,
                 .within_ns = WINDOW_NS);

static axo_status judge_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((judge *)state)->tree, args, sizeof(tree *));
    return AXO_OK;
}

static axo_status judge_build(axo_ctx *ctx, judge *me)
{
    node recipe = {.tree = me->tree};
    axo_props props = AXO_PROPS(.cls = &node_class, .args = &recipe, .args_size = sizeof recipe,
                                .strategy = &node_strategy);
    atomic_store(&me->tree->starting, tree_actors(me->tree));
    me->begin_ns = clock_ns();
    bench_check(axo_spawn(ctx, &props, &me->top), "spawn");
    return axo_watch(ctx, me->top);
}

static axo_status judge_order(axo_ctx *ctx, judge *me, uint64_t count, uint64_t code)
{
    order told = {.count = count, .code = code};
    axo_ref leaf = {.bits = atomic_load(&me->tree->leaf)};
    return axo_send(ctx, leaf, NEXT, &told, sizeof told);
}

/* The leaf does all rounds of a phase by itself. */
static axo_status judge_begin(axo_ctx *ctx, judge *me, phase next)
{
    uint64_t actors = tree_actors(me->tree);
    me->phase = next;
    me->rounds = tree_rounds(me->tree, next == RESTART ? 1 : actors);
    me->left = me->rounds;
    me->begin_ns = clock_ns();
    return judge_order(ctx, me, me->rounds, next == RESTART ? CODE_RESTART : CODE_RESUME);
}

/* Each round ends with a new tree, whose last leaf is told to fail. */
static axo_status judge_remake(axo_ctx *ctx, judge *me)
{
    if (me->left-- == 0) {
        me->tree->remake_ns += clock_ns() - me->begin_ns;
        return axo_system_shutdown(axo_system_of(ctx));
    }
    atomic_store(&me->tree->starting, tree_actors(me->tree));
    return judge_order(ctx, me, 1, CODE_REMAKE);
}

static axo_status judge_ready(axo_ctx *ctx, judge *me)
{
    if (me->phase == REMAKE)
        return judge_remake(ctx, me);
    me->tree->build_ns += clock_ns() - me->begin_ns;
    if (--me->left == 0)
        return judge_begin(ctx, me, RESTART);
    me->begin_ns = clock_ns();
    return axo_stop(ctx, me->top);
}

static axo_status judge_over(axo_ctx *ctx, judge *me)
{
    uint64_t took = clock_ns() - me->begin_ns;
    if (me->phase == RESTART) {
        me->tree->restart_ns = took;
        return judge_begin(ctx, me, ESCALATE);
    }
    me->tree->escalate_ns = took;
    me->phase = REMAKE;
    me->left = me->rounds;
    me->begin_ns = clock_ns();
    return judge_remake(ctx, me);
}

static axo_status judge_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    judge *me = state;
    switch (message->tag) {
    case GO:
        me->tree->own++;
        me->tree->judge = axo_self(ctx);
        me->left = me->rounds = tree_rounds(me->tree, tree_actors(me->tree)) + 1;
        return judge_build(ctx, me);
    case READY:
        me->tree->own++;
        return judge_ready(ctx, me);
    case OVER:
        me->tree->own++;
        return judge_over(ctx, me);
    case AXO_TERMINATED:
        me->tree->stop_ns += clock_ns() - me->begin_ns;
        return judge_build(ctx, me);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class judge_class =
    AXO_CLASS(.name = "judge", .state_size = sizeof(judge), .construct = judge_construct,
              .receive = judge_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void trees_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    tree *shared = arg;
    axo_stats stats;
    double actors = (double)tree_actors(shared);
    double rounds = (double)tree_rounds(shared, tree_actors(shared));
    uint64_t restarts = tree_rounds(shared, 1);
    axo_system *system = bench_system_start(settings);
    axo_props props = AXO_PROPS(.cls = &judge_class, .args = &shared, .args_size = sizeof shared,
                                .strategy = &judge_strategy);
    axo_ref ref;
    shared->own = shared->leaf_handled = shared->build_ns = shared->stop_ns = 0;
    shared->remake_ns = 0;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    bench_system_finish(system, sample, &stats);
    bench_expect(stats.handled, shared->own + shared->leaf_handled, "messages handled");
    bench_expect(stats.restarts, restarts + (uint64_t)rounds, "restarts");
    bench_expect(stats.spawned, stats.terminated, "actors terminated");
    sample->figure = actors * rounds * 1e9 / (double)(shared->build_ns + shared->stop_ns);
    sample->values[0] = (double)shared->build_ns / (rounds + 1.0) / actors;
    sample->values[1] = (double)shared->stop_ns / rounds / actors;
    sample->values[2] = (double)shared->restart_ns / (double)restarts;
    sample->values[3] = (double)shared->escalate_ns / rounds / actors;
    sample->values[4] = (double)shared->remake_ns / rounds / actors;
}

static void trees_measure(const bench_settings *settings, tree *shared)
{
    char text[128];
    (void)snprintf(text, sizeof text, "\"shape\":\"%s\",\"size\":%" PRIu64 ",\"work\":%" PRIu64,
                   shared->wide != 0 ? "wide" : "deep", shared->size, shared->work);
    bench_measure(settings, &(bench_work){.name = shared->wide != 0 ? "W19w" : "W19d",
                                          .unit = "actors/s",
                                          .options = text,
                                          .run = trees_run,
                                          .arg = shared,
                                          .values = {{"spawn_ns", true},
                                                     {"stop_ns", true},
                                                     {"restart_ns", true},
                                                     {"escalate_ns", true},
                                                     {"remake_ns", true}}});
}

int main(int argc, char **argv)
{
    static tree own = {.work = 50000};
    uint64_t size = 0;
    uint64_t shape = 0;
    const bench_option options[] = {
        {"--size", &size, "actors of a chain, children of a parent; 0: 1 to 10 000 in turn"},
        {"--shape", &shape, "0: both, 1: deep, 2: wide"},
        {"--work", &own.work, "actors that a phase goes through"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 3);
    if (size > SIZE_MAX_ACTORS || shape > 2 || own.work < 1)
        bench_usage(argv[0], options, 3);
    for (own.wide = shape == 2 ? 1 : 0; own.wide <= (shape == 1 ? 0 : 1); own.wide++) {
        for (own.size = size == 0 ? 1 : size; own.size <= (size == 0 ? 10000 : size);
             own.size *= 10)
            trees_measure(&settings, &own);
    }
    return 0;
}
