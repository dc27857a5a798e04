/* w22_crowd.c - W22: one actor tells many, again and again, as a frame or a tick does.
 *
 * It sends one message to each of --actors others; the last one that has handled its message asks
 * for the next round. From the first round to the end of the last. */
#include <stdatomic.h>

#include "bench.h"

enum { GO = 1, TELL = 2, NEXT = 3 };

#define CROWD_MAX 100000

typedef struct crowd {
    uint64_t actors;
    uint64_t rounds;
    uint64_t work; /* of a message, in links */
    uint64_t begin_ns;
    uint64_t end_ns;
    axo_ref teller;
    axo_ref all[CROWD_MAX];
    _Alignas(64) _Atomic uint64_t left; /* that have not handled this round's message */
} crowd;

/* ---- one of many --------------------------------------------------------------------------- */

typedef struct member {
    crowd *crowd;
    uint64_t handled;
} member;

static axo_status member_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((member *)state)->crowd, args, sizeof(crowd *));
    return AXO_OK;
}

static axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    member *me = state;
    bench_expect(*AXO_PAYLOAD(message, uint64_t), me->handled++, "a round's number");
    bench_chain(me->crowd->work);
    if (atomic_fetch_sub(&me->crowd->left, 1) == 1)
        return axo_send(ctx, me->crowd->teller, NEXT, NULL, 0);
    return AXO_OK;
}

static const axo_class member_class =
    AXO_CLASS(.name = "member", .state_size = sizeof(member), .construct = member_construct,
              .receive = member_receive);

/* ---- the one that tells -------------------------------------------------------------------- */

typedef struct teller {
    crowd *crowd;
    uint64_t round;
} teller;

static axo_status teller_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(&((teller *)state)->crowd, args, sizeof(crowd *));
    return AXO_OK;
}

static axo_status teller_start(axo_ctx *ctx, void *state)
{
    crowd *shared = ((teller *)state)->crowd;
    axo_props props = AXO_PROPS(.cls = &member_class, .args = &shared, .args_size = sizeof shared);
    shared->teller = axo_self(ctx);
    for (uint64_t i = 0; i < shared->actors; i++)
        bench_check(axo_spawn(ctx, &props, &shared->all[i]), "spawn");
    return AXO_OK;
}

static axo_status teller_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    teller *me = state;
    crowd *shared = me->crowd;
    if (message->tag == GO)
        shared->begin_ns = clock_ns();
    if (me->round == shared->rounds) {
        shared->end_ns = clock_ns();
        return axo_system_shutdown(axo_system_of(ctx));
    }
    atomic_store(&shared->left, shared->actors);
    for (uint64_t i = 0; i < shared->actors; i++)
        bench_check(axo_send(ctx, shared->all[i], TELL, &me->round, sizeof me->round), "send");
    me->round++;
    return AXO_OK;
}

static const axo_class teller_class =
    AXO_CLASS(.name = "teller", .state_size = sizeof(teller), .construct = teller_construct,
              .pre_start = teller_start, .receive = teller_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void crowd_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    crowd *shared = arg;
    axo_stats stats;
    uint64_t messages = shared->actors * shared->rounds;
    bench_system_run(settings, &teller_class, shared, GO, sample, &stats);
    bench_expect(stats.handled, messages + shared->rounds + 1, "messages handled");
    sample->figure = (double)messages * 1e9 / (double)(shared->end_ns - shared->begin_ns);
}

int main(int argc, char **argv)
{
    static crowd own = {.actors = 1000, .rounds = 3000};
    const bench_option options[] = {{"--actors", &own.actors, "1 to 100000"},
                                    {"--rounds", &own.rounds, "of a run"},
                                    {"--work", &own.work, BENCH_CHAIN_HELP}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 3);
    if (own.actors < 1 || own.actors > CROWD_MAX || own.rounds < 1)
        bench_usage(argv[0], options, 3);
    char text[128];
    (void)snprintf(text, sizeof text,
                   "\"actors\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"work\":%" PRIu64, own.actors,
                   own.rounds, own.work);
    bench_measure(&settings, &(bench_work){.name = "W22",
                                           .unit = "messages/s",
                                           .options = text,
                                           .run = crowd_run,
                                           .arg = &own});
    return 0;
}
