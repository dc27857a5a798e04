/* w10_big.c - W10, Savina's "big": 64 actors, each pings others at random and waits for the answer.
 *
 * Each has one ping under way at a time, to any actor but itself. Pings and answers count, 8 bytes
 * each; from the first message to the moment when the last actor has had all of its answers. */
#include "bench.h"

enum { GO = 1, PING = 2, PONG = 3, DONE = 4 };

#define PLAYERS_MAX 4096

typedef struct crowd {
    uint64_t actors;
    uint64_t messages;
    uint64_t work; /* of a message, in links */ /* pings and answers of all together */
    uint64_t begin_ns;
    uint64_t end_ns;
    axo_ref judge;
    axo_ref players[PLAYERS_MAX]; /* written before the first message, then only read */
} crowd;

static uint64_t crowd_pings(const crowd *shared)
{
    return shared->messages / shared->actors / 2;
}

/* ---- player -------------------------------------------------------------------------------- */

typedef struct player {
    const crowd *crowd;
    uint64_t index;
    uint64_t left; /* pings without an answer yet */
    uint64_t seed;
} player;

static axo_status player_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    *(player *)state = *(const player *)args;
    return AXO_OK;
}

static axo_status player_ping(axo_ctx *ctx, player *me)
{
    me->seed ^= me->seed << 13;
    me->seed ^= me->seed >> 7;
    me->seed ^= me->seed << 17;
    uint64_t other = (me->seed >> 16) % (me->crowd->actors - 1);
    other += other >= me->index ? 1 : 0;
    return axo_send(ctx, me->crowd->players[other], PING, &me->left, sizeof me->left);
}

static axo_status player_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    player *me = state;
    bench_chain(me->crowd->work);
    if (message->tag == PING)
        return axo_reply(ctx, message, PONG, message->payload, message->size);
    if (message->tag == PONG) {
        bench_expect(*AXO_PAYLOAD(message, uint64_t), me->left, "an answer's number");
        if (--me->left == 0)
            return axo_send(ctx, me->crowd->judge, DONE, NULL, 0);
    }
    return player_ping(ctx, me);
}

static const axo_class player_class =
    AXO_CLASS(.name = "player", .state_size = sizeof(player), .construct = player_construct,
              .receive = player_receive);

/* ---- judge --------------------------------------------------------------------------------- */

typedef struct judge {
    crowd *crowd;
    uint64_t playing;
} judge;

static axo_status judge_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((judge *)state)->crowd, args, sizeof(crowd *));
    return AXO_OK;
}

static axo_status judge_start(axo_ctx *ctx, void *state)
{
    crowd *shared = ((judge *)state)->crowd;
    player recipe = {.crowd = shared, .left = crowd_pings(shared)};
    axo_props props = AXO_PROPS(.cls = &player_class, .args = &recipe, .args_size = sizeof recipe);
    shared->judge = axo_self(ctx);
    for (recipe.index = 0; recipe.index < shared->actors; recipe.index++) {
        recipe.seed = (recipe.index + 1) * UINT64_C(0x9e3779b97f4a7c15);
        bench_check(axo_spawn(ctx, &props, &shared->players[recipe.index]), "spawn");
    }
    return AXO_OK;
}

static axo_status judge_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    judge *me = state;
    crowd *shared = me->crowd;
    if (message->tag == GO) {
        me->playing = shared->actors;
        shared->begin_ns = clock_ns();
        for (uint64_t i = 0; i < shared->actors; i++)
            bench_check(axo_send(ctx, shared->players[i], GO, NULL, 0), "send");
    } else if (--me->playing == 0) {
        shared->end_ns = clock_ns();
        return axo_system_shutdown(axo_system_of(ctx));
    }
    return AXO_OK;
}

static const axo_class judge_class =
    AXO_CLASS(.name = "judge", .state_size = sizeof(judge), .construct = judge_construct,
              .pre_start = judge_start, .receive = judge_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void big_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    crowd *shared = arg;
    axo_stats stats;
    uint64_t messages = 2 * crowd_pings(shared) * shared->actors;
    bench_system_run(settings, &judge_class, shared, GO, sample, &stats);
    bench_expect(stats.handled, messages + 1 + 2 * shared->actors, "messages handled");
    sample->figure = (double)messages * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

int main(int argc, char **argv)
{
    static crowd own = {.actors = 64, .messages = 10000000};
    const bench_option options[] = {{"--actors", &own.actors, "2 to 4096"},
                                    {"--messages", &own.messages, "pings and answers of a run"},
                                    {"--work", &own.work, BENCH_CHAIN_HELP}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 3);
    if (own.actors < 2 || own.actors > PLAYERS_MAX || crowd_pings(&own) < 1)
        bench_usage(argv[0], options, 3);
    char text[128];
    (void)snprintf(text, sizeof text,
                   "\"actors\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"work\":%" PRIu64, own.actors,
                   own.messages, own.work);
    bench_measure(&settings, &(bench_work){.name = "W10",
                                           .unit = "messages/s",
                                           .options = text,
                                           .run = big_run,
                                           .arg = &own});
    return 0;
}
