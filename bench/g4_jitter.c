/* g4_jitter.c - what workers do to the thread of the program: it computes for --work operations of
 * a chain at a time, while workers on all other processors are busy with actors, and each time is
 * taken. Before that the same is done in a process without a system: `alone`.
 *
 * A figure is what a time takes beyond the least of its run, of both sorts: what others took of the
 * processor, and what they made slower. 64 actors work --burn operations a message and send
 * themselves the next one; 1000 times a second the thread of the program sends to one of 1000 more,
 * between two times. */
#include <stdatomic.h>

#include "bench.h"

enum { BURN = 1, LIGHT = 2 };

#define JITTER_BURNERS   64
#define JITTER_LIGHT     1000
#define JITTER_TIMES_MAX 10000000

typedef struct jitter {
    clock_gauge gauge;
    uint64_t times_count;
    uint64_t work;
    uint64_t burn;
    uint64_t *ticks; /* of each time */
    axo_ref light[JITTER_LIGHT];
    _Atomic uint64_t burns;
    _Atomic bool over;
    histogram times;
    histogram alone;
} jitter;

static axo_status jitter_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(jitter *));
    return AXO_OK;
}

static axo_status burner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    jitter *shared = *(jitter *const *)state;
    bench_chain(shared->burn);
    atomic_fetch_add_explicit(&shared->burns, 1, memory_order_relaxed);
    if (atomic_load_explicit(&shared->over, memory_order_relaxed))
        return AXO_OK;
    return axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

static axo_status light_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_OK;
}

static const axo_class burner_class =
    AXO_CLASS(.name = "burner", .state_size = sizeof(jitter *), .construct = jitter_construct,
              .receive = burner_receive);
static const axo_class light_class =
    AXO_CLASS(.name = "light", .state_size = sizeof(jitter *), .construct = jitter_construct,
              .receive = light_receive);

/* Takes all times; with a system it sends between two of them, one a millisecond. */
static void jitter_take(jitter *shared, uint64_t *ticks, axo_system *system)
{
    uint64_t due = clock_ns();
    for (uint64_t i = 0; i < shared->times_count; i++) {
        uint64_t begin = clock_ticks(&shared->gauge);
        bench_chain(shared->work);
        ticks[i] = clock_ticks(&shared->gauge) - begin;
        if (system == NULL || clock_ns() < due)
            continue;
        due += 1000000;
        bench_check(axo_system_send(system, shared->light[i % JITTER_LIGHT], LIGHT, NULL, 0),
                    "send");
    }
}

static void jitter_count(const jitter *shared, const uint64_t *ticks, uint64_t least, histogram *to)
{
    for (uint64_t i = 0; i < shared->times_count; i++)
        histogram_record(to, clock_between(&shared->gauge, least, ticks[i]));
}

static void jitter_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    jitter *shared = arg;
    uint32_t processors = (uint32_t)machine_cpus();
    axo_options options = AXO_OPTIONS(.workers = settings->workers, .seed = 1);
    axo_system *system;
    axo_stats stats;
    uint64_t *beside = shared->ticks + shared->times_count;
    uint64_t least = UINT64_MAX;
    if (options.workers == 0)
        options.workers = processors > 1 ? processors - 1 : 1;
    atomic_store(&shared->over, false);
    atomic_store(&shared->burns, 0);
    jitter_take(shared, shared->ticks, NULL);
    bench_check(axo_system_start(&options, &system), "start");
    for (uint32_t i = 0; i < JITTER_LIGHT; i++)
        shared->light[i] = bench_root(system, &light_class, shared);
    for (uint32_t i = 0; i < JITTER_BURNERS; i++)
        bench_check(axo_system_send(system, bench_root(system, &burner_class, shared), BURN, NULL,
                                    0),
                    "send");
    while (atomic_load_explicit(&shared->burns, memory_order_relaxed) < JITTER_BURNERS)
        continue;
    uint64_t burns = atomic_load(&shared->burns);
    jitter_take(shared, beside, system);
    if (atomic_load(&shared->burns) == burns)
        bench_expect(0, 1, "burns meanwhile");
    atomic_store(&shared->over, true);
    bench_check(axo_system_stop(system, BENCH_STOP_NS, NULL, 0, NULL), "stop");
    bench_system_finish(system, sample, &stats);
    for (uint64_t i = 0; i < 2 * shared->times_count; i++)
        least = shared->ticks[i] < least ? shared->ticks[i] : least;
    jitter_count(shared, shared->ticks, least, &shared->alone);
    jitter_count(shared, beside, least, &shared->times);
    sample->figure = (double)histogram_percentile(&shared->times, 0.99);
    sample->values[0] = (double)least * shared->gauge.ns_per_tick;
}

int main(int argc, char **argv)
{
    static jitter own = {.times_count = 5000, .work = 200000, .burn = 20000};
    const bench_option options[] = {
        {"--times", &own.times_count, "times that are taken, at most 10000000"},
        {"--work", &own.work, "operations of a time"},
        {"--burn", &own.burn, "operations of a busy actor's message"}};
    bench_settings settings;
    char text[96];
    (void)argc;
    bench_settings_read(&settings, argv, options, 3);
    if (own.times_count < 1 || own.times_count > JITTER_TIMES_MAX || own.work < 1 || own.burn < 1)
        bench_usage(argv[0], options, 3);
    clock_calibrate(&own.gauge);
    own.ticks = calloc(2 * own.times_count, sizeof *own.ticks);
    bench_check(own.ticks == NULL ? AXO_ENOMEM : AXO_OK, "times");
    (void)snprintf(text, sizeof text,
                   "\"times\":%" PRIu64 ",\"work\":%" PRIu64 ",\"burn\":%" PRIu64, own.times_count,
                   own.work, own.burn);
    bench_measure(&settings, &(bench_work){.name = "G4",
                                           .unit = "ns",
                                           .options = text,
                                           .run = jitter_run,
                                           .arg = &own,
                                           .less = true,
                                           .values = {{"least_ns", true}},
                                           .times = {{"", &own.times}, {"alone", &own.alone}}});
    free(own.ticks);
    return 0;
}
