/* w11_fair.c - W11: 64 actors burn 50 us a message without pause, so that every worker is busy;
 * 1000 light actors are pinged, and each answer is timed.
 *
 * The pinger is an actor too. A timer of --rate a second tells it to ping the next light actor,
 * whether the pings before have been answered or not, so a late answer hides none behind it. The
 * time of a ping is from its send to the handling of its answer: two waits for a worker. The
 * lateness of the timer is not in it. Nothing of the first --settle milliseconds is counted. */
#include <stdatomic.h>

#include "bench.h"

enum { GO = 1, BURN = 2, TICK = 3, PING = 4, PONG = 5 };

#define LIGHT_MAX 100000

typedef struct fair {
    clock_gauge gauge;
    uint64_t burners;
    uint64_t burn_ns;
    uint64_t light;
    uint64_t rate; /* pings a second */
    uint64_t milliseconds;
    uint64_t settle;
    uint64_t lasted_ns; /* what was counted */
    uint64_t burned;    /* burns meanwhile */
    uint64_t counted;   /* pings meanwhile */
    histogram times;
    _Atomic uint64_t burns;
    _Atomic bool over;
} fair;

static axo_status fair_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(fair *));
    return AXO_OK;
}

/* ---- burner and light ---------------------------------------------------------------------- */

static axo_status burner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    fair *shared = *(fair *const *)state;
    uint64_t burn = (uint64_t)((double)shared->burn_ns / shared->gauge.ns_per_tick);
    uint64_t begin = clock_ticks(&shared->gauge);
    while (clock_ticks(&shared->gauge) - begin < burn) {
        /* ends: the clock runs */
    }
    atomic_fetch_add_explicit(&shared->burns, 1, memory_order_relaxed);
    if (atomic_load_explicit(&shared->over, memory_order_relaxed))
        return AXO_OK;
    return axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

static axo_status light_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    return axo_reply(ctx, message, PONG, message->payload, message->size);
}

static const axo_class burner_class =
    AXO_CLASS(.name = "burner", .state_size = sizeof(fair *), .construct = fair_construct,
              .receive = burner_receive);
static const axo_class light_class =
    AXO_CLASS(.name = "light", .state_size = sizeof(fair *), .construct = fair_construct,
              .receive = light_receive);

/* ---- pinger -------------------------------------------------------------------------------- */

typedef struct pinger {
    fair *fair;
    axo_ref *light;
    axo_timer timer;
    uint64_t pings;
    uint64_t waiting;  /* answers */
    uint64_t begin_ns; /* of what is counted; 0: settling */
    uint64_t settled_ns;
    uint64_t burns;
    bool over;
} pinger;

static axo_status pinger_construct(axo_ctx *ctx, void *state, const void *args)
{
    pinger *me = state;
    memcpy(&me->fair, args, sizeof me->fair);
    me->light = axo_alloc(ctx, (size_t)me->fair->light * sizeof *me->light);
    return me->light == NULL ? AXO_ENOMEM : AXO_OK;
}

static axo_status pinger_start(axo_ctx *ctx, void *state)
{
    pinger *me = state;
    axo_props props =
        AXO_PROPS(.cls = &burner_class, .args = &me->fair, .args_size = sizeof me->fair);
    for (uint64_t i = 0; i < me->fair->burners; i++) {
        axo_ref burner;
        bench_check(axo_spawn(ctx, &props, &burner), "spawn");
        bench_check(axo_send(ctx, burner, BURN, NULL, 0), "send");
    }
    props.cls = &light_class;
    for (uint64_t i = 0; i < me->fair->light; i++)
        bench_check(axo_spawn(ctx, &props, &me->light[i]), "spawn");
    return AXO_OK;
}

/* Stops the timer and the burners. */
static void pinger_end(axo_ctx *ctx, pinger *me, uint64_t now)
{
    me->over = true;
    me->fair->lasted_ns = now - me->begin_ns;
    me->fair->burned = atomic_load(&me->fair->burns) - me->burns;
    atomic_store(&me->fair->over, true);
    (void)axo_timer_cancel(ctx, me->timer); /* a tick that was sent already is passed over */
}

static void pinger_tick(axo_ctx *ctx, pinger *me)
{
    fair *shared = me->fair;
    uint64_t now = clock_ns();
    if (me->over)
        return;
    if (me->begin_ns == 0 && now >= me->settled_ns) {
        me->begin_ns = now;
        me->burns = atomic_load(&shared->burns);
    }
    if (me->begin_ns != 0 && now >= me->begin_ns + shared->milliseconds * 1000000) {
        pinger_end(ctx, me, now);
        return;
    }
    uint64_t stamp = me->begin_ns == 0 ? 0 : clock_ticks(&shared->gauge);
    axo_ref light = me->light[me->pings++ % shared->light];
    shared->counted += stamp == 0 ? 0 : 1;
    me->waiting++;
    bench_check(axo_send(ctx, light, PING, &stamp, sizeof stamp), "send");
}

static axo_status pinger_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    pinger *me = state;
    if (message->tag == GO) {
        int64_t period = (int64_t)(UINT64_C(1000000000) / me->fair->rate);
        me->settled_ns = clock_ns() + me->fair->settle * 1000000;
        return axo_schedule_fixed_rate(ctx, period, period, axo_self(ctx), TICK, NULL, 0,
                                       &me->timer);
    }
    if (message->tag == TICK) {
        pinger_tick(ctx, me);
    } else {
        uint64_t now = clock_ticks(&me->fair->gauge);
        uint64_t stamp = *AXO_PAYLOAD(message, uint64_t);
        if (stamp != 0)
            histogram_record(&me->fair->times, clock_between(&me->fair->gauge, stamp, now));
        me->waiting--;
    }
    return me->over && me->waiting == 0 ? axo_system_shutdown(axo_system_of(ctx)) : AXO_OK;
}

static const axo_class pinger_class =
    AXO_CLASS(.name = "pinger", .state_size = sizeof(pinger), .construct = pinger_construct,
              .pre_start = pinger_start, .receive = pinger_receive);

/* ---- program ------------------------------------------------------------------------------- */

static void fair_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    fair *shared = arg;
    axo_stats stats;
    atomic_store(&shared->burns, 0);
    atomic_store(&shared->over, false);
    shared->counted = 0;
    bench_system_run(settings, &pinger_class, shared, GO, sample, &stats);
    bench_expect(shared->times.count, shared->counted, "answers");
    if (shared->counted == 0)
        bench_expect(0, 1, "pings");
    sample->figure = (double)shared->burned * 1e9 / (double)shared->lasted_ns;
    sample->values[0] = (double)shared->counted * 1e9 / (double)shared->lasted_ns;
}

int main(int argc, char **argv)
{
    static fair own = {.burners = 64,
                       .burn_ns = 50000,
                       .light = 1000,
                       .rate = 2000,
                       .milliseconds = 2000,
                       .settle = 100};
    const bench_option options[] = {{"--burners", &own.burners, "actors that burn"},
                                    {"--burn", &own.burn_ns, "ns a message"},
                                    {"--light", &own.light, "actors that are pinged"},
                                    {"--rate", &own.rate, "pings a second, at most 1000000"},
                                    {"--ms", &own.milliseconds, "length of a run"},
                                    {"--settle", &own.settle, "ms before it"}};
    bench_settings settings;
    char text[160];
    (void)argc;
    bench_settings_read(&settings, argv, options, 6);
    if (own.light < 1 || own.light > LIGHT_MAX || own.rate < 1 || own.rate > 1000000 ||
        own.milliseconds < 1)
        bench_usage(argv[0], options, 6);
    clock_calibrate(&own.gauge);
    (void)snprintf(text, sizeof text,
                   "\"burners\":%" PRIu64 ",\"burn_ns\":%" PRIu64 ",\"light\":%" PRIu64
                   ",\"rate\":%" PRIu64 ",\"ms\":%" PRIu64,
                   own.burners, own.burn_ns, own.light, own.rate, own.milliseconds);
    bench_measure(&settings, &(bench_work){.name = "W11",
                                           .unit = "burns/s",
                                           .options = text,
                                           .run = fair_run,
                                           .arg = &own,
                                           .values = {{"pings_per_s", false}},
                                           .times = {{"", &own.times}}});
    return 0;
}
