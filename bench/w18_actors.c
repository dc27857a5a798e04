/* w18_actors.c - W18: how costs grow with the number of actors: 10, 1000, 100 000, a million.
 *
 * All are children of one judge, and are made, talk, and end in one run:
 *   messages/s  pairs of them send one message to and fro, all pairs at once, 8 bytes
 *   spawn_ns    an actor, from the first spawn to the moment when the last has started
 *   restart_ns  a restart of one more sibling, back to back: fail, decide, next message
 *   churn_ns    one more sibling: spawned, sent a message, stopped; at most 1024 at a time
 *   stop_ns     an actor, from the shutdown to the end of the system
 * Two workers share what the nanoseconds say: they are time passed, divided by actors. */
#include <stdatomic.h>

#include "bench.h"

enum { READY = 1, GO = 2, BALL = 3, OVER = 4, FAIL = 5, NEXT = 6, WORK = 7, BATCH = 8, CHECK = 9 };

#define BLOCK      1024 /* actors that count down on one line */
#define ACTORS_MAX 4000000
#define BATCH_SIZE 256
#define BATCHES    4
#define WINDOW_NS  INT64_C(10000000000)

typedef struct block {
    _Alignas(64) _Atomic uint32_t left;
} block;

typedef struct batch {
    _Alignas(64) _Atomic uint64_t left;
} batch;

typedef struct crowd {
    uint64_t actors;
    uint64_t messages; /* of all pairs together */
    uint64_t restarts;
    uint64_t churn; /* actors spawned and stopped beside the others */
    uint64_t own;   /* messages to the judge and to the victim */
    uint64_t rounds;
    uint64_t spawn_ns;
    uint64_t talk_ns;
    uint64_t restart_ns;
    uint64_t churn_ns;
    uint64_t shutdown_at;
    axo_ref judge;
    _Alignas(64) _Atomic uint32_t blocks_left;
    block *blocks;
    batch batches[BATCHES];
} crowd;

static uint64_t crowd_pairs(const crowd *shared)
{
    return shared->actors / 2;
}

/* Lets `count` actors count down. */
static void crowd_arm(crowd *shared, uint64_t count)
{
    uint64_t blocks = (count + BLOCK - 1) / BLOCK;
    for (uint64_t i = 0; i < blocks; i++)
        atomic_store(&shared->blocks[i].left,
                     (uint32_t)(i + 1 < blocks ? BLOCK : count - i * BLOCK));
    atomic_store(&shared->blocks_left, (uint32_t)blocks);
}

/* Counts one down; the last one tells the judge. */
static void crowd_down(axo_ctx *ctx, crowd *shared, uint64_t index, uint32_t tag)
{
    if (atomic_fetch_sub(&shared->blocks[index / BLOCK].left, 1) == 1 &&
        atomic_fetch_sub(&shared->blocks_left, 1) == 1)
        bench_check(axo_send(ctx, shared->judge, tag, NULL, 0), "send");
}

/* ---- players ------------------------------------------------------------------------------- */

typedef struct player {
    crowd *crowd;
    axo_ref other; /* none: answers only */
    uint64_t index;
    uint64_t left; /* balls to serve */
} player;

static axo_status player_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(player *)state = *(const player *)args;
    return AXO_OK;
}

static axo_status player_start(axo_ctx *ctx, void *state)
{
    player *me = state;
    crowd_down(ctx, me->crowd, me->index, READY);
    return AXO_OK;
}

static axo_status ping_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    player *me = state;
    if (message->tag == BALL && --me->left == 0) {
        crowd_down(ctx, me->crowd, me->index / 2, OVER);
        return AXO_OK;
    }
    return axo_send(ctx, me->other, BALL, &me->left, sizeof me->left);
}

static axo_status pong_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return axo_reply(ctx, message, BALL, message->payload, message->size);
}

static const axo_class ping_class =
    AXO_CLASS(.name = "ping", .state_size = sizeof(player), .construct = player_construct,
              .pre_start = player_start, .receive = ping_receive);
static const axo_class pong_class =
    AXO_CLASS(.name = "pong", .state_size = sizeof(player), .construct = player_construct,
              .pre_start = player_start, .receive = pong_receive);

/* ---- one that is restarted ----------------------------------------------------------------- */

typedef struct victim {
    crowd *crowd;
} victim;

static axo_status victim_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    ((victim *)state)->crowd = (crowd *)(uintptr_t)args;
    return AXO_OK;
}

static axo_status victim_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    crowd *shared = ((victim *)state)->crowd;
    shared->own++;
    if (message->tag == FAIL)
        return AXO_EFAILED;
    if (axo_instance(ctx) > shared->restarts)
        return axo_send(ctx, shared->judge, OVER, NULL, 0);
    bench_check(axo_send(ctx, axo_self(ctx), FAIL, NULL, 0), "send");
    return axo_send(ctx, axo_self(ctx), NEXT, NULL, 0);
}

static const axo_class victim_class =
    AXO_CLASS(.name = "victim", .state_size = sizeof(victim), .construct = victim_construct,
              .receive = victim_receive);

/* ---- those that come and go ---------------------------------------------------------------- */

typedef struct mayfly {
    batch *batch;
} mayfly;

static axo_status mayfly_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    ((mayfly *)state)->batch = (batch *)(uintptr_t)args;
    return AXO_OK;
}

static axo_status mayfly_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    return axo_stop_self(ctx);
}

static axo_status mayfly_stop(axo_ctx *ctx, void *state)
{
    batch *mine = ((mayfly *)state)->batch;
    if (atomic_fetch_sub(&mine->left, 1) == 1)
        bench_check(axo_send(ctx, axo_parent(ctx), BATCH, &mine, sizeof mine), "send");
    return AXO_OK;
}

static const axo_class mayfly_class =
    AXO_CLASS(.name = "mayfly", .state_size = sizeof(mayfly), .construct = mayfly_construct,
              .receive = mayfly_receive, .post_stop = mayfly_stop);

/* ---- judge --------------------------------------------------------------------------------- */

typedef struct judge {
    crowd *crowd;
    axo_ref *pings;
    uint64_t begin_ns; /* of the phase */
    uint64_t left;     /* mayflies to spawn */
    uint64_t busy;     /* batches under way */
    uint32_t phase;
} judge;

static axo_status judge_construct(axo_ctx *ctx, void *state, const void *args)
{
    judge *me = state;
    memcpy(&me->crowd, args, sizeof me->crowd);
    me->pings = axo_alloc(ctx, (size_t)crowd_pairs(me->crowd) * sizeof *me->pings);
    return me->pings == NULL ? AXO_ENOMEM : AXO_OK;
}

static axo_status judge_spawn_all(axo_ctx *ctx, judge *me)
{
    player recipe = {.crowd = me->crowd, .left = me->crowd->rounds};
    axo_props pong = AXO_PROPS(.cls = &pong_class, .args = &recipe, .args_size = sizeof recipe);
    axo_props ping = AXO_PROPS(.cls = &ping_class, .args = &recipe, .args_size = sizeof recipe);
    me->crowd->judge = axo_self(ctx);
    crowd_arm(me->crowd, 2 * crowd_pairs(me->crowd));
    me->begin_ns = clock_ns();
    for (uint64_t i = 0; i < crowd_pairs(me->crowd); i++) {
        axo_ref answers;
        recipe.index = 2 * i;
        bench_check(axo_spawn(ctx, &pong, &answers), "spawn");
        recipe.other = answers;
        recipe.index++;
        bench_check(axo_spawn(ctx, &ping, &me->pings[i]), "spawn");
    }
    return AXO_OK;
}

static axo_status judge_talk(axo_ctx *ctx, judge *me)
{
    crowd_arm(me->crowd, crowd_pairs(me->crowd));
    me->begin_ns = clock_ns();
    for (uint64_t i = 0; i < crowd_pairs(me->crowd); i++)
        bench_check(axo_send(ctx, me->pings[i], GO, NULL, 0), "send");
    return AXO_OK;
}

static axo_status judge_restart(axo_ctx *ctx, judge *me)
{
    axo_ref one;
    axo_props props = AXO_PROPS(.cls = &victim_class, .args = me->crowd);
    bench_check(axo_spawn(ctx, &props, &one), "spawn");
    me->begin_ns = clock_ns();
    return axo_send(ctx, one, NEXT, NULL, 0);
}

static void judge_fill(axo_ctx *ctx, judge *me, batch *next)
{
    uint64_t count = me->left < BATCH_SIZE ? me->left : BATCH_SIZE;
    axo_props props = AXO_PROPS(.cls = &mayfly_class, .args = next);
    if (count == 0)
        return;
    me->left -= count;
    me->busy++;
    atomic_store(&next->left, count);
    for (uint64_t i = 0; i < count; i++) {
        axo_ref ref;
        bench_check(axo_spawn(ctx, &props, &ref), "spawn");
        bench_check(axo_send(ctx, ref, WORK, &i, sizeof i), "send");
    }
}

/* Ends when nobody is left but those who were there before. */
static axo_status judge_churned(axo_ctx *ctx, judge *me)
{
    if (me->busy > 0)
        return AXO_OK;
    if (axo_child_count(ctx) > 2 * crowd_pairs(me->crowd) + 1) /* ends: each is about to */
        return axo_send(ctx, axo_self(ctx), CHECK, NULL, 0);
    me->crowd->churn_ns = clock_ns() - me->begin_ns;
    me->crowd->shutdown_at = clock_ns();
    return axo_system_shutdown(axo_system_of(ctx));
}

static axo_status judge_churn(axo_ctx *ctx, judge *me)
{
    me->left = me->crowd->churn;
    me->begin_ns = clock_ns();
    for (uint32_t i = 0; i < BATCHES; i++)
        judge_fill(ctx, me, &me->crowd->batches[i]);
    return AXO_OK;
}

/* The answers to OVER come in the order of the phases. */
static axo_status judge_over(axo_ctx *ctx, judge *me)
{
    uint64_t took = clock_ns() - me->begin_ns;
    if (me->phase++ == 0) {
        me->crowd->talk_ns = took;
        return judge_restart(ctx, me);
    }
    me->crowd->restart_ns = took;
    return judge_churn(ctx, me);
}

static axo_status judge_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    judge *me = state;
    batch *stopped;
    me->crowd->own++;
    switch (message->tag) {
    case GO:
        return judge_spawn_all(ctx, me);
    case READY:
        me->crowd->spawn_ns = clock_ns() - me->begin_ns;
        return judge_talk(ctx, me);
    case OVER:
        return judge_over(ctx, me);
    case BATCH:
        memcpy(&stopped, message->payload, sizeof stopped);
        me->busy--;
        judge_fill(ctx, me, stopped);
        return judge_churned(ctx, me);
    default:
        return judge_churned(ctx, me);
    }
}

static const axo_class judge_class =
    AXO_CLASS(.name = "judge", .state_size = sizeof(judge), .construct = judge_construct,
              .receive = judge_receive);

static const axo_strategy counted =
    AXO_STRATEGY(.limited = 1, .retries_max = INT32_MAX, .within_ns = WINDOW_NS);

/* ---- program ------------------------------------------------------------------------------- */

static void actors_check(const crowd *shared, const axo_stats *stats)
{
    uint64_t pairs = crowd_pairs(shared);
    uint64_t talk = pairs * (2 * shared->rounds + 1);
    bench_expect(stats->handled, talk + shared->churn + shared->own, "messages handled");
    bench_expect(stats->restarts, shared->restarts, "restarts");
    bench_expect(stats->terminated, stats->spawned, "actors terminated");
}

static void actors_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    crowd *shared = arg;
    axo_stats stats;
    uint64_t pairs = crowd_pairs(shared);
    axo_system *system = bench_system_start(settings);
    axo_props props = AXO_PROPS(.cls = &judge_class, .args = &shared, .args_size = sizeof shared,
                                .strategy = &counted);
    axo_ref ref;
    shared->rounds = shared->messages / pairs / 2;
    shared->own = 0;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    bench_check(axo_system_send(system, ref, GO, NULL, 0), "send");
    bench_check(axo_system_wait(system, BENCH_STOP_NS, NULL), "wait");
    uint64_t stop_ns = clock_ns() - shared->shutdown_at;
    bench_system_finish(system, sample, &stats);
    actors_check(shared, &stats);
    sample->figure = (double)(pairs * (2 * shared->rounds + 1)) * 1e9 / (double)shared->talk_ns;
    sample->values[0] = (double)shared->spawn_ns / (double)(2 * pairs);
    sample->values[1] = (double)shared->restart_ns / (double)shared->restarts;
    sample->values[2] = (double)shared->churn_ns / (double)shared->churn;
    sample->values[3] = (double)stop_ns / (double)(2 * pairs);
}

static void actors_measure(const bench_settings *settings, crowd *shared)
{
    char text[160];
    (void)snprintf(text, sizeof text,
                   "\"actors\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"restarts\":%" PRIu64
                   ",\"churn\":%" PRIu64,
                   shared->actors, shared->messages, shared->restarts, shared->churn);
    shared->blocks = aligned_alloc(64, (shared->actors / BLOCK + 1) * sizeof *shared->blocks);
    bench_check(shared->blocks == NULL ? AXO_ENOMEM : AXO_OK, "memory for the counts");
    bench_measure(settings, &(bench_work){.name = "W18",
                                          .unit = "messages/s",
                                          .options = text,
                                          .run = actors_run,
                                          .arg = shared,
                                          .values = {{"spawn_ns", true},
                                                     {"restart_ns", true},
                                                     {"churn_ns", true},
                                                     {"stop_ns", true}}});
    free(shared->blocks);
}

int main(int argc, char **argv)
{
    static const uint64_t steps[] = {10, 1000, 100000, 1000000};
    static crowd own = {.messages = 8000000, .restarts = 200000, .churn = 200000};
    uint64_t actors = 0;
    const bench_option options[] = {
        {"--actors", &actors, "that live; 0: 10, 1000, 100 000 and a million in turn"},
        {"--messages", &own.messages, "of all pairs together"},
        {"--restarts", &own.restarts, "of one more actor"},
        {"--churn", &own.churn, "more actors that come and go"}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 4);
    if (actors == 1 || actors > ACTORS_MAX || own.restarts < 1 || own.churn < 1 ||
        own.messages < (actors == 0 ? 1000000 : actors))
        bench_usage(argv[0], options, 4);
    for (uint32_t i = 0; i < (actors == 0 ? 4 : 1); i++) {
        own.actors = actors == 0 ? steps[i] : actors;
        actors_measure(&settings, &own);
    }
    return 0;
}
