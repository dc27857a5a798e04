/* storm.c - runs a storm and adds up what each message left. */
#include "storm.h"

#include <stdatomic.h>
#include <sys/prctl.h>

enum { WORK = 1 };

#define STORM_AWAKE_NS  60000 /* the sender sleeps until so long before, then watches the clock */
#define STORM_WINDOW_NS INT64_C(10000000000)

/* A sibling, from outside of its instances. Only its own turns write it. */
typedef struct storm_place {
    uint64_t failing; /* number of the message that it failed on, + 1; 0: none */
    uint64_t failed_at;
} storm_place;

typedef struct storm {
    const storm_case *what;
    clock_gauge gauge;
    uint64_t burn;     /* ticks */
    uint64_t begin;    /* of the storm: number of its first message */
    uint64_t count;    /* messages that have a place */
    uint64_t *handled; /* ticks, when each message's handler began; 0: it has not */
    uint64_t *rebuilt; /* ns, of the failing ones */
    storm_place *places;
    axo_ref *refs;
    _Atomic uint32_t waiting; /* siblings that have not started */
    _Atomic uint64_t twice;   /* messages that were handled again */
} storm;

typedef struct storm_args {
    storm *all;
    uint64_t number; /* of the sibling */
} storm_args;

static uint64_t storm_mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

bool storm_fails(const storm_case *what, uint64_t number)
{
    bool sick = number % what->siblings % 2 == 1;
    double share = (double)(what->siblings / 2) / (double)what->siblings;
    uint64_t dice = storm_mix(number + what->seed * UINT64_C(0x9e3779b97f4a7c15)) >> 11;
    return sick && (double)dice * 0x1p-53 < what->percent / 100.0 / share;
}

/* ---- actors -------------------------------------------------------------------------------- */

static axo_status storm_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(storm_args));
    return AXO_OK;
}

static axo_status sibling_start(axo_ctx *ctx, void *state)
{
    (void)ctx;
    storm_args *me = state;
    storm *all = me->all;
    storm_place *place = &all->places[me->number];
    if (place->failing == 0) {
        atomic_fetch_sub(&all->waiting, 1);
        return AXO_OK;
    }
    all->rebuilt[place->failing - 1] =
        clock_between(&all->gauge, place->failed_at, clock_ticks(&all->gauge)) + 1;
    place->failing = 0;
    return AXO_OK;
}

static axo_status sibling_fail(axo_ctx *ctx, storm *all, storm_place *place, uint64_t number)
{
    place->failing = number + 1;
    place->failed_at = clock_ticks(&all->gauge);
    if (all->what->how == BY_STATUS)
        return AXO_EFAILED;
    if (all->what->how == BY_THROW)
        axo_throw(ctx, 7, "on request");
    if (restart_crashes(all->what->how))
        restart_crash(all->what->how);
    return axo_fail(ctx, 7, "on request");
}

static axo_status sibling_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    storm_args *me = state;
    storm *all = me->all;
    uint64_t begin = clock_ticks(&all->gauge);
    uint64_t number = *AXO_PAYLOAD(message, uint64_t);
    if (message->tag != WORK)
        return AXO_UNHANDLED;
    if (all->handled[number] != 0)
        atomic_fetch_add(&all->twice, 1);
    all->handled[number] = begin;
    while (clock_ticks(&all->gauge) - begin < all->burn) {
        /* ends: the clock runs */
    }
    if (number >= all->begin && storm_fails(all->what, number))
        return sibling_fail(ctx, all, &all->places[me->number], number);
    return AXO_OK;
}

static const axo_class sibling_class =
    AXO_CLASS(.name = "sibling", .state_size = sizeof(storm_args), .construct = storm_construct,
              .pre_start = sibling_start, .receive = sibling_receive, .on_crash = AXO_CRASH_FAILS);

static axo_status parent_start(axo_ctx *ctx, void *state)
{
    storm_args *me = state;
    for (uint32_t i = 0; i < me->all->what->siblings; i++) {
        storm_args args = {.all = me->all, .number = i};
        axo_props props = AXO_PROPS(.cls = &sibling_class, .args = &args, .args_size = sizeof args);
        bench_check(axo_spawn(ctx, &props, &me->all->refs[i]), "spawn");
    }
    return AXO_OK;
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_UNHANDLED;
}

static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .state_size = sizeof(storm_args), .construct = storm_construct,
              .pre_start = parent_start, .receive = parent_receive);

/* ---- sender -------------------------------------------------------------------------------- */

typedef struct storm_clock {
    uint64_t start; /* ticks, when message 0 is due */
    double period;  /* ticks */
    double ns_per_tick;
} storm_clock;

static uint64_t storm_due(const storm_clock *own, uint64_t number)
{
    return own->start + (uint64_t)((double)number * own->period);
}

/* false: cut short */
static bool storm_wait(const clock_gauge *gauge, const storm_clock *own, uint64_t due,
                       const volatile sig_atomic_t *cut)
{
    for (;;) {
        uint64_t now = clock_ticks(gauge);
        if (*cut != 0)
            return false;
        if (now >= due)
            return true;
        double left = (double)(due - now) * own->ns_per_tick - STORM_AWAKE_NS;
        if (left <= 0.0)
            continue;
        if (left > 20e6)
            left = 20e6; /* and look at the signals */
        struct timespec pause = {.tv_nsec = (long)left};
        (void)nanosleep(&pause, NULL); /* short is as good */
    }
}

/* Sends all; the number that were sent. */
static uint64_t storm_send(axo_system *system, storm *all, const storm_clock *own, uint64_t most,
                           const volatile sig_atomic_t *cut, storm_sample *sample)
{
    uint64_t number = 0;
    for (; number < most; number++) {
        uint64_t due = storm_due(own, number);
        if (!storm_wait(&all->gauge, own, due, cut))
            break;
        if (number >= all->begin)
            histogram_record(&sample->late,
                             clock_between(&all->gauge, due, clock_ticks(&all->gauge)));
        bench_check(axo_system_send(system, all->refs[number % all->what->siblings], WORK, &number,
                                    sizeof number),
                    "send");
    }
    return number;
}

/* ---- one run ------------------------------------------------------------------------------- */

static void storm_rest(axo_system *system, uint64_t sent, axo_stats *stats)
{
    uint64_t limit = clock_ns() + UINT64_C(60000000000);
    do {
        struct timespec pause = {.tv_nsec = 200000};
        (void)nanosleep(&pause, NULL); /* short is as good */
        *stats = (axo_stats)AXO_STATS(.sent = 0);
        bench_check(axo_system_stats(system, stats), "stats");
        if (clock_ns() > limit)
            bench_expect(stats->handled, sent, "messages handled at rest");
    } while (stats->handled + stats->dead + stats->dropped < sent ||
             stats->restarts < stats->failures);
}

/* What each message left, and whether it is what the sender knows that it has to be. */
static void storm_add(storm *all, const storm_clock *own, uint64_t warm, uint64_t sent,
                      const axo_stats *stats, storm_sample *sample)
{
    uint64_t missing = 0;
    uint64_t failing = 0;
    uint64_t rebuilt = 0;
    for (uint64_t i = 0; i < sent; i++) {
        bool fails = i >= all->begin && storm_fails(all->what, i);
        bool sick = i % all->what->siblings % 2 == 1;
        uint64_t ns = clock_between(&all->gauge, storm_due(own, i), all->handled[i]);
        missing += all->handled[i] == 0;
        failing += fails;
        rebuilt += all->rebuilt[i] != 0;
        if (all->rebuilt[i] != 0 && !fails)
            missing++;
        if (fails && all->rebuilt[i] != 0)
            histogram_record(&sample->rebuilt, all->rebuilt[i] - 1);
        if (i < warm || fails)
            continue;
        if (!sick)
            histogram_record(i < all->begin ? &sample->calm : &sample->healthy, ns);
        else if (i >= all->begin)
            histogram_record(&sample->sick, ns);
    }
    bench_expect(missing, 0, "messages that were not handled, restarts that were not due");
    bench_expect(atomic_load(&all->twice), 0, "messages handled twice");
    bench_expect(stats->sent, sent, "messages sent");
    bench_expect(stats->handled, sent, "messages handled");
    bench_expect(stats->failures, failing, "failures");
    bench_expect(stats->restarts, failing, "restarts");
    bench_expect(rebuilt, failing, "new instances");
    sample->failures = failing;
    sample->messages = sent > all->begin ? sent - all->begin : 0;
}

static void storm_free(storm *all)
{
    free(all->handled);
    free(all->rebuilt);
    free(all->places);
    free(all->refs);
}

/* Has the kernel bring the pages now, and not when a handler writes to them. */
static void storm_touch(uint64_t *values, uint64_t count)
{
    for (uint64_t i = 0; i < count; i += 512)
        *(volatile uint64_t *)&values[i] = 0;
}

static void storm_make(storm *all, const storm_case *what, const clock_gauge *gauge, uint64_t count)
{
    *all = (storm){.what = what, .gauge = *gauge, .count = count};
    all->burn = (uint64_t)((double)what->burn_ns / gauge->ns_per_tick);
    all->handled = calloc(count, sizeof *all->handled);
    all->rebuilt = calloc(count, sizeof *all->rebuilt);
    all->places = calloc(what->siblings, sizeof *all->places);
    all->refs = calloc(what->siblings, sizeof *all->refs);
    bool memory =
        all->handled != NULL && all->rebuilt != NULL && all->places != NULL && all->refs != NULL;
    bench_check(memory ? AXO_OK : AXO_ENOMEM, "memory for the messages");
    storm_touch(all->handled, count);
    storm_touch(all->rebuilt, count);
    atomic_store(&all->waiting, what->siblings);
}

static axo_system *storm_start(storm *all, uint32_t workers)
{
    static const axo_strategy counted =
        AXO_STRATEGY(.limited = 1, .retries_max = INT32_MAX, .within_ns = STORM_WINDOW_NS);
    axo_options options = AXO_OPTIONS(.workers = workers, .seed = all->what->seed);
    axo_system *system;
    storm_args args = {.all = all};
    axo_props props = AXO_PROPS(.cls = &parent_class, .args = &args, .args_size = sizeof args,
                                .strategy = &counted);
    axo_ref ref;
    restart_contain(&options, all->what->how);
    bench_check(axo_system_start(&options, &system), "start");
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    uint64_t limit = clock_ns() + UINT64_C(60000000000);
    while (atomic_load(&all->waiting) != 0) {
        struct timespec pause = {.tv_nsec = 200000};
        (void)nanosleep(&pause, NULL); /* short is as good */
        if (clock_ns() > limit)
            bench_expect(0, 1, "siblings have started");
    }
    return system;
}

bool storm_run(const storm_case *what, uint32_t workers, double warmup, double seconds,
               const clock_gauge *gauge, const volatile sig_atomic_t *cut, storm_sample *sample)
{
    uint64_t warm = (uint64_t)(warmup * what->rate);
    uint64_t each = (uint64_t)(seconds * what->rate);
    uint64_t most = warm + 2 * each;
    bench_usage_mark from;
    bench_usage_mark to;
    axo_stats stats;
    storm all;
    memset(sample, 0, sizeof *sample);
    if (workers == 0)
        workers = machine_cpus() > 1 ? (uint32_t)machine_cpus() - 1 : 1;
    storm_make(&all, what, gauge, most);
    all.begin = warm + each;
    axo_system *system = storm_start(&all, workers);
    storm_clock schedule = {.start = clock_ticks(gauge),
                            .period = 1e9 / what->rate / gauge->ns_per_tick,
                            .ns_per_tick = gauge->ns_per_tick};
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* else sleeps are 50 us too long; the */
    bench_mark(&from);                                  /* workers have theirs already */
    uint64_t sent = storm_send(system, &all, &schedule, most, cut, sample);
    bench_mark(&to);
    (void)prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
    storm_rest(system, sent, &stats);
    sample->peak_bytes = bench_peak_bytes();
    sample->workers = axo_system_workers(system);
    bench_check(axo_system_stop(system, BENCH_STOP_NS / 4, NULL, 0, NULL), "stop");
    bench_check(axo_system_destroy(system), "destroy");
    storm_add(&all, &schedule, warm, sent, &stats, sample);
    sample->stats = stats;
    sample->foreign = bench_foreign(&from, &to);
    sample->seconds = (double)sample->messages / what->rate;
    storm_free(&all);
    return sent == most;
}
