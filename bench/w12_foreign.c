/* w12_foreign.c - W12: a thread that is no worker sends to an actor.
 *
 * W12s  what a send costs while the workers run: bursts of --burst sends, timed as a whole; after
 *       each the thread waits until the actor has handled all; that is not in the time.
 * W12r  from before the send to the handler while the workers run: each has an actor that sends to
 *       itself without end. One message at a time, --gap ns after the one before was handled.
 *       Before each run: what a cache line takes from one thread to another. `line_ways` is how
 *       many of these ways the message took; the processors' distance is what moves the figure.
 * W12p  the same to a system of which every worker is parked: a millisecond of sleep before each.
 *       In turn with it, and after the same sleep, a bare futex wake of a thread that waits: from
 *       before the store that it waits for to its first instruction. `ratio_p50` is actor to futex.
 * W12q  of `make bench-parts` alone: where the time of W12p goes, the medians of its parts, each
 *       from the end of the one before; base/stamp.h has the moments. Their sum is not the median
 *       of all. A reading of the clock is in each (`stamp_ns`), so the whole is longer, too.
 *
 * The sender keeps a processor: W12s and W12r have one worker less than processors, at least one,
 * unless --workers says otherwise. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "bench.h"

#ifdef AXO_STAMPS
#include "base/stamp.h"
#endif

enum { SPIN = 1, ITEM = 2, STAMP = 3, LINE_ROUNDS = 20000,
       LINE_BATCH = 16, LINE_LOOKS = 10000 };

typedef struct door {
    clock_gauge gauge;
    uint64_t sends;
    uint64_t burst;
    uint64_t stamps; /* one at a time, while the workers run */
    uint64_t wakes;  /* of parked workers */
    uint64_t gap_ns;
    uint64_t part; /* of the program; 0: all */
    histogram times;
    histogram futex_times;
    histogram line_times; /* of one way, each the mean of a batch */
    _Alignas(64) _Atomic uint64_t handled;
    _Atomic bool over;
    _Alignas(64) _Atomic uint32_t futex; /* rounds that the bare thread was woken for */
    _Atomic uint64_t futex_stamp;
    _Atomic uint32_t futex_done;
    _Alignas(128) _Atomic uint32_t there; /* a line each, and its neighbour */
    _Alignas(128) _Atomic uint32_t back;
} door;

/* ---- the parts of a wake-up ------------------------------------------------------------------ */

#ifdef AXO_STAMPS

/* From before the send to the first stamp, between two, and from the last one to the handler. */
enum { PARTS = AXO__STAMPS + 1 };

/* What each takes from the first wake-up after parts_begin: a second worker that gets up meanwhile
 * comes later. */
static struct parts {
    const door *shared;
    uint64_t whole; /* wake-ups that met every moment */
    _Alignas(64) _Atomic uint64_t at[AXO__STAMPS];
    histogram times[PARTS];
} parts;

void axo__stamp_take(axo__stamp which)
{
    uint64_t none = 0;
    if (parts.shared != NULL)
        (void)atomic_compare_exchange_strong(&parts.at[which], &none,
                                             clock_ticks(&parts.shared->gauge));
}

/* All are parked, so nobody takes a stamp. */
static void parts_begin(void)
{
    for (uint32_t i = 0; i < AXO__STAMPS; i++)
        atomic_store(&parts.at[i], 0);
}

/* In the handler, of the message that was sent at `begin`. A worker that did not sleep yet has not
 * met all moments. */
static void parts_record(uint64_t begin, uint64_t now)
{
    uint64_t at[AXO__STAMPS + 2] = {begin};
    at[PARTS] = now;
    for (uint32_t i = 0; i < AXO__STAMPS; i++) {
        at[i + 1] = atomic_load(&parts.at[i]);
        if (at[i + 1] == 0)
            return;
    }
    parts.whole++;
    for (uint32_t i = 0; i < PARTS; i++)
        histogram_record(&parts.times[i], clock_between(&parts.shared->gauge, at[i], at[i + 1]));
}

#endif

/* ---- actors -------------------------------------------------------------------------------- */

static axo_status door_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(door *));
    return AXO_OK;
}

/* Takes what comes from outside. */
static axo_status porter_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    door *shared = *(door *const *)state;
    (void)ctx;
    if (message->tag == STAMP) {
        uint64_t now = clock_ticks(&shared->gauge);
        uint64_t begin = *AXO_PAYLOAD(message, uint64_t);
        histogram_record(&shared->times, clock_between(&shared->gauge, begin, now));
#ifdef AXO_STAMPS
        parts_record(begin, now);
#endif
    }
    uint64_t handled = atomic_load_explicit(&shared->handled, memory_order_relaxed);
    atomic_store_explicit(&shared->handled, handled + 1, memory_order_release); /* only writer */
    return AXO_OK;
}

/* Keeps a worker from parking. */
static axo_status spinner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    door *shared = *(door *const *)state;
    if (atomic_load_explicit(&shared->over, memory_order_relaxed))
        return AXO_OK;
    return axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

static const axo_class porter_class =
    AXO_CLASS(.name = "porter", .state_size = sizeof(door *), .construct = door_construct,
              .receive = porter_receive);
static const axo_class spinner_class =
    AXO_CLASS(.name = "spinner", .state_size = sizeof(door *), .construct = door_construct,
              .receive = spinner_receive);

/* ---- the thread outside -------------------------------------------------------------------- */

static void door_await(door *shared, uint64_t handled)
{
    while (atomic_load_explicit(&shared->handled, memory_order_acquire) < handled)
        (void)sched_yield(); /* ends: all that was sent is handled */
}

static void door_sleep(void)
{
    struct timespec pause = {.tv_nsec = 1000000};
    (void)nanosleep(&pause, NULL); /* a shorter pause is as good, see the check of the parks */
}

/* A system with one porter, and a spinner a worker if it is to run. */
static axo_system *door_open(const bench_settings *settings, door *shared, bool running,
                             axo_ref *porter)
{
    atomic_store(&shared->handled, 0);
    atomic_store(&shared->over, false);
    axo_system *system = bench_system_start(settings);
    *porter = bench_root(system, &porter_class, shared);
    for (uint32_t i = 0; running && i < axo_system_workers(system); i++) {
        axo_ref spinner = bench_root(system, &spinner_class, shared);
        bench_check(axo_system_send(system, spinner, SPIN, NULL, 0), "send");
    }
    bench_check(axo_system_send(system, *porter, ITEM, NULL, 0), "send");
    door_await(shared, 1);
    return system;
}

static void door_close(axo_system *system, door *shared, uint64_t handled, bench_sample *sample)
{
    bench_expect(atomic_load(&shared->handled), handled, "messages handled");
    atomic_store(&shared->over, true);
    bench_check(axo_system_shutdown(system), "shutdown");
    bench_system_end(system, sample);
}

static void send_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    door *shared = arg;
    axo_ref porter;
    axo_system *system = door_open(settings, shared, true, &porter);
    uint64_t sent = 1;
    double ns = 0.0;
    for (uint64_t rounds = shared->sends / shared->burst; rounds > 0; rounds--) {
        uint64_t begin = clock_ticks(&shared->gauge);
        for (uint64_t i = 0; i < shared->burst; i++)
            bench_check(axo_system_send(system, porter, ITEM, &i, sizeof i), "send");
        ns += (double)clock_between(&shared->gauge, begin, clock_ticks(&shared->gauge));
        sent += shared->burst;
        door_await(shared, sent);
    }
    door_close(system, shared, sent, sample);
    sample->figure = ns / (double)(sent - 1);
}

/* ---- a cache line ---- */

static uint32_t line_rounds(const door *shared)
{
    return shared->stamps < LINE_ROUNDS ? (uint32_t)shared->stamps : LINE_ROUNDS;
}

/* Gives the processor away now and then, which the other thread may need. */
static void line_await(const _Atomic uint32_t *word, uint32_t round)
{
    for (uint32_t looks = 1; atomic_load_explicit(word, memory_order_acquire) != round; looks++)
        if (looks % LINE_LOOKS == 0)
            (void)sched_yield(); /* ends: the other thread stores this number */
}

static void *line_thread(void *arg)
{
    door *shared = arg;
    for (uint32_t round = 1; round <= line_rounds(shared); round++) {
        line_await(&shared->there, round);
        atomic_store_explicit(&shared->back, round, memory_order_release);
    }
    return NULL;
}

/* ns of one way: the median, since the threads may be preempted. 0: too few rounds for one
 * batch. */
static double line_way(door *shared)
{
    pthread_t thread;
    memset(&shared->line_times, 0, sizeof shared->line_times);
    atomic_store(&shared->there, 0);
    atomic_store(&shared->back, 0);
    if (pthread_create(&thread, NULL, line_thread, shared) != 0)
        bench_check(AXO_ETHREAD, "thread");
    atomic_store(&shared->there, 1);
    line_await(&shared->back, 1); /* the thread runs */
    uint64_t begin = clock_ticks(&shared->gauge);
    for (uint32_t round = 2; round <= line_rounds(shared); round++) {
        atomic_store_explicit(&shared->there, round, memory_order_release);
        line_await(&shared->back, round);
        if (round % LINE_BATCH != 1)
            continue;
        uint64_t end = clock_ticks(&shared->gauge);
        histogram_record(&shared->line_times,
                         clock_between(&shared->gauge, begin, end) / (2 * LINE_BATCH));
        begin = end;
    }
    (void)pthread_join(thread, NULL); /* it ends after its last round */
    return (double)histogram_percentile(&shared->line_times, 0.5);
}

static void running_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    door *shared = arg;
    axo_ref porter;
    double way = line_way(shared);
    axo_system *system = door_open(settings, shared, true, &porter);
    for (uint64_t i = 0; i < shared->stamps; i++) {
        uint64_t now = clock_ns();
        while (clock_ns() < now + shared->gap_ns) {
            /* ends: the clock runs */
        }
        uint64_t stamp = clock_ticks(&shared->gauge);
        bench_check(axo_system_send(system, porter, STAMP, &stamp, sizeof stamp), "send");
        door_await(shared, i + 2);
    }
    door_close(system, shared, shared->stamps + 1, sample);
    bench_expect(shared->times.count, shared->stamps, "stamps");
    sample->figure = (double)histogram_percentile(&shared->times, 0.5);
    sample->values[0] = way > 0.0 ? sample->figure / way : 0.0;
    sample->values[1] = way;
}

/* ---- parked workers, and a bare futex ------------------------------------------------------ */

static void *futex_thread(void *arg)
{
    door *shared = arg;
    for (uint32_t seen = 0; seen < shared->wakes; seen++) {
        while (atomic_load(&shared->futex) == seen) /* ends: a round for each number */
            (void)syscall(SYS_futex, &shared->futex, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
        uint64_t now = clock_ticks(&shared->gauge);
        histogram_record(&shared->futex_times, clock_between(&shared->gauge,
                                                             shared->futex_stamp, now));
        atomic_store(&shared->futex_done, seen + 1);
    }
    return NULL;
}

static void futex_round(door *shared, uint32_t round)
{
    atomic_store(&shared->futex_stamp, clock_ticks(&shared->gauge));
    atomic_store(&shared->futex, round);
    (void)syscall(SYS_futex, &shared->futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    while (atomic_load(&shared->futex_done) < round)
        (void)sched_yield(); /* ends: the thread was woken */
}

static void parked_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    door *shared = arg;
    pthread_t thread;
    axo_ref porter;
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    atomic_store(&shared->futex, 0);
    atomic_store(&shared->futex_done, 0);
    if (pthread_create(&thread, NULL, futex_thread, shared) != 0)
        bench_check(AXO_ETHREAD, "thread");
    axo_system *system = door_open(settings, shared, false, &porter);
    bench_check(axo_system_stats(system, &before), "stats");
    for (uint32_t i = 1; i <= shared->wakes; i++) {
        door_sleep();
#ifdef AXO_STAMPS
        parts_begin();
#endif
        uint64_t stamp = clock_ticks(&shared->gauge);
        bench_check(axo_system_send(system, porter, STAMP, &stamp, sizeof stamp), "send");
        door_await(shared, i + 1);
        door_sleep();
        futex_round(shared, i);
    }
    (void)pthread_join(thread, NULL); /* it ends after its last round */
    bench_check(axo_system_stats(system, &after), "stats");
    door_close(system, shared, shared->wakes + 1, sample);
    bench_expect(shared->times.count, shared->wakes, "stamps");
    bench_expect(shared->futex_times.count, shared->wakes, "futex wakes");
    double axo = (double)histogram_percentile(&shared->times, 0.5);
    sample->figure = axo;
    sample->values[0] = axo / (double)histogram_percentile(&shared->futex_times, 0.5);
    sample->values[1] = (double)(after.parks - before.parks) / (double)shared->wakes;
}

#ifdef AXO_STAMPS

static void parts_run(const bench_settings *settings, void *arg, bench_sample *sample)
{
    door *shared = arg;
    memset(parts.times, 0, sizeof parts.times);
    parts.whole = 0;
    parts.shared = shared;
    parked_run(settings, arg, sample);
    if (parts.whole * 10 < shared->wakes * 9)
        bench_expect(parts.whole, shared->wakes, "wake-ups with all of their parts");
    for (uint32_t i = 0; i < PARTS; i++)
        sample->values[i] = (double)histogram_percentile(&parts.times[i], 0.5);
    sample->values[PARTS] = shared->gauge.cost_ns;
}

static void foreign_parts(const bench_settings *settings, door *shared)
{
    char options[96];
    (void)snprintf(options, sizeof options, "\"wakes\":%" PRIu64, shared->wakes);
    bench_measure(settings,
                  &(bench_work){.name = "W12q",
                                .unit = "ns",
                                .less = true,
                                .options = options,
                                .run = parts_run,
                                .arg = shared,
                                .values = {{"send_ns", true},
                                           {"system_ns", true},
                                           {"online_ns", true},
                                           {"unpark_ns", true},
                                           {"ready_ns", true},
                                           {"look_ns", true},
                                           {"handler_ns", true},
                                           {"stamp_ns", true}},
                                .times = {{"", &shared->times}, {"futex", &shared->futex_times}}});
}

#endif

/* ---- program ------------------------------------------------------------------------------- */

/* The settings with a processor left for the sender. */
static bench_settings foreign_fewer(const bench_settings *settings)
{
    bench_settings fewer = *settings;
    int cpus = machine_cpus();
    if (fewer.workers == 0)
        fewer.workers = cpus > 1 ? (uint32_t)cpus - 1 : 1;
    return fewer;
}

static void foreign_send(const bench_settings *settings, door *shared)
{
    bench_settings fewer = foreign_fewer(settings);
    char options[96];
    (void)snprintf(options, sizeof options, "\"sends\":%" PRIu64 ",\"burst\":%" PRIu64,
                   shared->sends, shared->burst);
    bench_measure(&fewer, &(bench_work){.name = "W12s",
                                        .unit = "ns",
                                        .less = true,
                                        .options = options,
                                        .run = send_run,
                                        .arg = shared});
}

static void foreign_running(const bench_settings *settings, door *shared)
{
    bench_settings fewer = foreign_fewer(settings);
    char options[96];
    (void)snprintf(options, sizeof options, "\"stamps\":%" PRIu64 ",\"gap_ns\":%" PRIu64,
                   shared->stamps, shared->gap_ns);
    bench_measure(&fewer, &(bench_work){.name = "W12r",
                                        .unit = "ns",
                                        .less = true,
                                        .options = options,
                                        .run = running_run,
                                        .arg = shared,
                                        .values = {{"line_ways", true}, {"line_ns", true}},
                                        .times = {{"", &shared->times}}});
}

static void foreign_parked(const bench_settings *settings, door *shared)
{
    char options[96];
    (void)snprintf(options, sizeof options, "\"wakes\":%" PRIu64, shared->wakes);
    bench_measure(settings,
                  &(bench_work){.name = "W12p",
                                .unit = "ns",
                                .less = true,
                                .options = options,
                                .run = parked_run,
                                .arg = shared,
                                .values = {{"ratio_p50", true}, {"parks_per_wake", false}},
                                .times = {{"", &shared->times}, {"futex", &shared->futex_times}}});
}

#ifdef AXO_STAMPS
#define FOREIGN_HELP "1: only W12s, 2: only W12r, 3: only W12p, 4: only its parts; 0: all"
#else
#define FOREIGN_HELP "1: only W12s, 2: only W12r, 3: only W12p; 0: all"
#endif

static void (*const foreign[])(const bench_settings *settings, door *shared) = {
    foreign_send, foreign_running, foreign_parked,
#ifdef AXO_STAMPS
    foreign_parts,
#endif
};
#define FOREIGN_PARTS (sizeof foreign / sizeof foreign[0])

int main(int argc, char **argv)
{
    static door own = {
        .sends = 2000000, .burst = 1000, .stamps = 50000, .wakes = 1000, .gap_ns = 5000};
    const bench_option options[] = {{"--sends", &own.sends, "sends a run, W12s"},
                                    {"--burst", &own.burst, "sends that are timed together"},
                                    {"--stamps", &own.stamps, "messages a run, W12r"},
                                    {"--gap", &own.gap_ns, "ns between them"},
                                    {"--wakes", &own.wakes, "messages a run, W12p"},
                                    {"--part", &own.part, FOREIGN_HELP}};
    bench_settings settings;
    (void)argc;
    bench_settings_read(&settings, argv, options, 6);
    if (own.burst < 1 || own.sends < own.burst || own.stamps < 1 || own.wakes < 1 ||
        own.wakes > UINT32_MAX - 2 || own.part > FOREIGN_PARTS)
        bench_usage(argv[0], options, 6);
    clock_calibrate(&own.gauge);
    for (uint32_t i = 0; i < FOREIGN_PARTS; i++) {
        if (own.part == 0 || own.part == i + 1)
            foreign[i](&settings, &own);
    }
    return 0;
}
