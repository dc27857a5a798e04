/* w1_pingpong.c - pairs of actors that send one message to and fro: W1, W2, W2k. */
#include "bench.h"

enum { GO = 1, BALL = 2, DONE = 3 };

typedef struct match {
    uint64_t pairs;
    uint64_t messages; /* of all pairs together */
    uint64_t begin_ns;
    uint64_t end_ns;
} match;

/* ---- players ------------------------------------------------------------------------------- */

/* Serves `rounds` balls and tells the judge when the last is back. */
typedef struct ping {
    axo_ref pong;
    axo_ref judge;
    uint64_t rounds;
} ping;

static axo_status ping_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(ping *)state = *(const ping *)args;
    return AXO_OK;
}

static axo_status ping_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    ping *me = state;
    if (message->tag == BALL && --me->rounds == 0) {
        (void)axo_send(ctx, me->judge, DONE, NULL, 0);
        return AXO_OK;
    }
    (void)axo_send(ctx, me->pong, BALL, &me->rounds, sizeof me->rounds);
    return AXO_OK;
}

static axo_status pong_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)axo_reply(ctx, message, BALL, message->payload, message->size);
    return AXO_OK;
}

static const axo_class ping_class = AXO_CLASS(.name = "ping", .state_size = sizeof(ping),
                                              .construct = ping_construct, .receive = ping_receive);
static const axo_class pong_class = AXO_CLASS(.name = "pong", .receive = pong_receive);

/* ---- judge --------------------------------------------------------------------------------- */

/* Makes the pairs, starts them and stops the clock when the last pair is done. */
typedef struct judge {
    match *match;
    axo_ref *pings;
    uint64_t playing;
} judge;

static axo_status judge_construct(axo_ctx *ctx, void *state, const void *args)
{
    judge *me = state;
    match *shared;
    memcpy(&shared, args, sizeof shared);
    me->match = shared;
    me->pings = axo_alloc(ctx, (size_t)shared->pairs * sizeof *me->pings);
    return me->pings == NULL ? AXO_ENOMEM : AXO_OK;
}

static axo_status judge_start(axo_ctx *ctx, void *state)
{
    judge *me = state;
    ping recipe = {.judge = axo_self(ctx), .rounds = me->match->messages / me->match->pairs / 2};
    axo_props pong_props = AXO_PROPS(.cls = &pong_class);
    axo_props ping_props =
        AXO_PROPS(.cls = &ping_class, .args = &recipe, .args_size = sizeof recipe);
    for (uint64_t i = 0; i < me->match->pairs; i++) {
        bench_check(axo_spawn(ctx, &pong_props, &recipe.pong), "spawn");
        bench_check(axo_spawn(ctx, &ping_props, &me->pings[i]), "spawn");
    }
    return AXO_OK;
}

static axo_status judge_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    judge *me = state;
    if (message->tag == GO) {
        me->playing = me->match->pairs;
        me->match->begin_ns = clock_ns();
        for (uint64_t i = 0; i < me->match->pairs; i++)
            (void)axo_send(ctx, me->pings[i], GO, NULL, 0);
    } else if (--me->playing == 0) {
        me->match->end_ns = clock_ns();
        return axo_system_shutdown(axo_system_of(ctx));
    }
    return AXO_OK;
}

static const axo_class judge_class =
    AXO_CLASS(.name = "judge", .state_size = sizeof(judge), .construct = judge_construct,
              .pre_start = judge_start, .receive = judge_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void pingpong_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    match *shared = arg;
    axo_stats stats;
    bench_system_run(settings, &judge_class, shared, GO, sample, &stats);
    uint64_t sent = shared->messages / shared->pairs / 2 * 2 * shared->pairs;
    bench_expect(stats.handled, sent + 1 + 2 * shared->pairs, "messages handled"); /* GO, DONE */
    sample->figure = (double)sent * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

static void pingpong_measure(const bench_settings *settings, uint64_t pairs, uint64_t messages)
{
    match shared = {.pairs = pairs, .messages = messages};
    char options[96];
    (void)snprintf(options, sizeof options, "\"pairs\":%" PRIu64 ",\"messages\":%" PRIu64, pairs,
                   messages);
    bench_work work = {.name = pairs == 1      ? "W1"
                               : pairs == 1000 ? "W2k"
                                               : "W2",
                       .unit = "messages/s",
                       .options = options,
                       .run = pingpong_run,
                       .arg = &shared};
    bench_measure(settings, &work);
}

int main(int argc, char **argv)
{
    (void)argc;
    uint64_t pairs = 0;
    uint64_t messages = 10000000;
    const bench_option options[] = {{"--pairs", &pairs, "pairs; 0: 1, 8 and 1000 in turn"},
                                    {"--messages", &messages, "messages a run, all pairs"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 2);
    if (messages < 2 * (pairs == 0 ? 1000 : pairs))
        bench_usage(argv[0], options, 2);
    if (pairs != 0) {
        pingpong_measure(&settings, pairs, messages);
        return 0;
    }
    pingpong_measure(&settings, 1, messages);
    pingpong_measure(&settings, 8, messages);
    pingpong_measure(&settings, 1000, messages);
    return 0;
}
