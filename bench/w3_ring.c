/* w3_ring.c - tokens that go round a ring of actors: W3a, W3b. */
#include "bench.h"

enum { GO = 1, NEXT = 2, TOKEN = 3, DONE = 4 };

typedef struct lap {
    uint64_t actors;
    uint64_t tokens;
    uint64_t hops; /* of all tokens together */
    uint64_t begin_ns;
    uint64_t end_ns;
} lap;

/* ---- runner -------------------------------------------------------------------------------- */

/* Hands each token on until its hops are spent. */
typedef struct runner {
    axo_ref judge;
    axo_ref next;
} runner;

static axo_status runner_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(runner *)state = *(const runner *)args;
    return AXO_OK;
}

static axo_status runner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    runner *me = state;
    if (message->tag == NEXT) {
        me->next = *AXO_PAYLOAD(message, axo_ref);
        return AXO_OK;
    }
    uint64_t left = *AXO_PAYLOAD(message, uint64_t) - 1;
    if (left == 0)
        (void)axo_send(ctx, me->judge, DONE, NULL, 0);
    else
        (void)axo_send(ctx, me->next, TOKEN, &left, sizeof left);
    return AXO_OK;
}

static const axo_class runner_class =
    AXO_CLASS(.name = "runner", .state_size = sizeof(runner), .construct = runner_construct,
              .receive = runner_receive);

/* ---- judge --------------------------------------------------------------------------------- */

/* Makes the ring, throws the tokens in and stops the clock when the last is spent. */
typedef struct judge {
    lap *lap;
    axo_ref *runners;
    uint64_t running;
} judge;

static axo_status judge_construct(axo_ctx *ctx, void *state, const void *args)
{
    judge *me = state;
    lap *shared;
    memcpy(&shared, args, sizeof shared);
    me->lap = shared;
    me->runners = axo_alloc(ctx, (size_t)shared->actors * sizeof *me->runners);
    return me->runners == NULL ? AXO_ENOMEM : AXO_OK;
}

static axo_status judge_start(axo_ctx *ctx, void *state)
{
    judge *me = state;
    uint64_t actors = me->lap->actors;
    runner recipe = {.judge = axo_self(ctx)};
    axo_props props = AXO_PROPS(.cls = &runner_class, .args = &recipe, .args_size = sizeof recipe);
    for (uint64_t i = 0; i < actors; i++)
        bench_check(axo_spawn(ctx, &props, &me->runners[i]), "spawn");
    for (uint64_t i = 0; i < actors; i++)
        (void)axo_send(ctx, me->runners[i], NEXT, &me->runners[(i + 1) % actors],
                       sizeof me->runners[0]);
    return AXO_OK;
}

static axo_status judge_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    judge *me = state;
    lap *shared = me->lap;
    if (message->tag == GO) {
        uint64_t hops = shared->hops / shared->tokens;
        me->running = shared->tokens;
        shared->begin_ns = clock_ns();
        for (uint64_t i = 0; i < shared->tokens; i++)
            (void)axo_send(ctx, me->runners[i * shared->actors / shared->tokens], TOKEN, &hops,
                           sizeof hops);
    } else if (--me->running == 0) {
        shared->end_ns = clock_ns();
        return axo_system_shutdown(axo_system_of(ctx));
    }
    return AXO_OK;
}

static const axo_class judge_class =
    AXO_CLASS(.name = "judge", .state_size = sizeof(judge), .construct = judge_construct,
              .pre_start = judge_start, .receive = judge_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void ring_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    lap *shared = arg;
    axo_stats stats;
    bench_system_run(settings, &judge_class, shared, GO, sample, &stats);
    uint64_t hops = shared->hops / shared->tokens * shared->tokens;
    bench_expect(stats.handled, hops + 1 + shared->actors + shared->tokens, "messages handled");
    sample->figure = (double)hops * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

static void ring_measure(const bench_settings *settings, const lap *what)
{
    lap shared = *what;
    bool sparse = what->actors == 100 && what->tokens == 1;
    bool dense = what->actors == 1000 && what->tokens == 100;
    char options[128];
    (void)snprintf(options, sizeof options,
                   "\"actors\":%" PRIu64 ",\"tokens\":%" PRIu64 ",\"hops\":%" PRIu64, shared.actors,
                   shared.tokens, shared.hops);
    bench_work work = {
        .name = sparse  ? "W3a"
                : dense ? "W3b"
                        : "W3",
        .unit = "hops/s",
        .options = options,
        .run = ring_run,
        .arg = &shared};
    bench_measure(settings, &work);
}

int main(int argc, char **argv)
{
    (void)argc;
    lap own = {.tokens = 1, .hops = 10000000};
    const bench_option options[] = {
        {"--actors", &own.actors, "actors in the ring; 0: 100 with 1 token, 1000 with 100 tokens"},
        {"--tokens", &own.tokens, "tokens, with --actors"},
        {"--hops", &own.hops, "hops a run, all tokens"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 3);
    if (own.tokens == 0 || own.hops < own.tokens || own.hops < 100)
        bench_usage(argv[0], options, 3);
    if (own.actors != 0) {
        ring_measure(&settings, &own);
        return 0;
    }
    lap sparse = {.actors = 100, .tokens = 1, .hops = own.hops};
    lap dense = {.actors = 1000, .tokens = 100, .hops = own.hops};
    ring_measure(&settings, &sparse);
    ring_measure(&settings, &dense);
    return 0;
}
