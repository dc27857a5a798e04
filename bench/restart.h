/* restart.h - an actor that fails again and again: what w8_restart.c and restart_report.c share.
 *
 * One actor, the victim, fails on a message while its next message is already queued. The clock is
 * read just before the failing call and as the first thing when the new instance handles that next
 * message. Nothing is subtracted; the report says what reading the clock costs. The victim is the
 * child of a supervisor whose strategy counts restarts in a window, so a restart is the whole
 * protocol: suspend, report, decide, pre_restart, a new instance, post_restart, resume.
 *
 * Shapes   a leaf that returns a status, returns axo_fail, or throws; a parent whose 10 or 1000
 *          children survive its pre_restart and are restarted after it. For parents also the time
 *          until the last child is restarted: its post_restart is entered.
 * Modes    hot: back to back.  paced: 1000 a second on an idle system.  loaded: 10 000 actors that
 *          are always ready and burn 1 us a message keep every worker busy, and one of them tells
 *          the victim to fail at a fixed rate. */
#ifndef BENCH_RESTART_H
#define BENCH_RESTART_H

#include <stdatomic.h>

#include "bench.h"

enum { TICK = 1, FAIL = 2, NEXT = 3, LAST = 4, BURN = 5 };

#define BURNERS        10000
#define BURN_NS        1000.0
#define CHILDREN_MAX   1000
#define PACE_NS        1000000
#define LOAD_SETTLE_NS 100000000.0
#define WINDOW_NS      INT64_C(10000000000)

/* Every shape: enum word, name, children, most ticks a second under load. */
#define SHAPE_LIST(X)                                                                              \
    X(LEAF_STATUS, "leaf, bare status", 0, 10000)                                                  \
    X(LEAF_FAIL, "leaf, axo_fail", 0, 10000)                                                       \
    X(LEAF_THROW, "leaf, axo_throw", 0, 10000)                                                     \
    X(PARENT_10, "parent of 10", 10, 5000)                                                         \
    X(PARENT_1000, "parent of 1000", 1000, 500)

typedef enum shape {
#define SHAPE_ENUM(word, name, children, rate) word,
    SHAPE_LIST(SHAPE_ENUM)
#undef SHAPE_ENUM
        SHAPES
} shape;

static const struct {
    const char *name;
    uint32_t children;
    uint32_t loaded_rate;
} shapes[SHAPES] = {
#define SHAPE_ROW(word, name, children, rate) {name, children, rate},
    SHAPE_LIST(SHAPE_ROW)
#undef SHAPE_ROW
};

typedef enum mode { HOT, PACED, LOADED, MODES } mode;

static const char *const mode_names[MODES] = {"hot", "paced", "loaded"};

/* One case: what it is, and what came out. The victim writes it, and main reads it when the system
 * has ended; what others touch meanwhile is atomic. */
typedef struct probe {
    clock_gauge gauge;
    shape shape;
    mode mode;
    bool armed;         /* failed, and nothing handled since */
    bool busy;          /* from a tick until all of its restart is over */
    bool first_handled; /* parents: halves of the end of a round */
    bool last_restarted;
    uint64_t failed_at; /* ticks of the clock */
    uint64_t rounds;
    double seconds;
    double restarts_rate;              /* instances made a second, children too */
    double load_rate;                  /* messages of burners a second */
    double foreign;                    /* share of the processors that other processes used */
    histogram first;                   /* ns until the next message is handled */
    histogram last;                    /* ns until the last child is restarted */
    _Atomic uint64_t victim;           /* its reference's bits, set once by the supervisor */
    _Atomic uint64_t last_at;          /* clock, when the last child was restarted */
    _Atomic uint32_t children_waiting; /* for their restart in this round */
    _Atomic uint64_t tick_due;         /* clock; loaded: when the next tick is to be sent */
    _Atomic uint64_t burned;           /* messages of burners, counted in hundreds */
    uint64_t tick_period;
} probe;

/* The state of every actor here. */
typedef struct part {
    probe *probe;
    uint64_t count;
} part;

static axo_status part_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    part *me = state;
    memcpy(&me->probe, args, sizeof me->probe);
    return AXO_OK;
}

static axo_ref part_spawn(axo_ctx *ctx, const axo_class *cls, probe *shared)
{
    axo_props props = AXO_PROPS(.cls = cls, .args = &shared, .args_size = sizeof shared);
    axo_ref ref;
    bench_check(axo_spawn(ctx, &props, &ref), "spawn");
    return ref;
}

/* ---- child: survives its parent's failure and is restarted after it ------------------------ */

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_UNHANDLED;
}

static axo_status child_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)failure;
    part *me = state;
    uint64_t now = clock_ticks(&me->probe->gauge);
    if (atomic_fetch_sub(&me->probe->children_waiting, 1) == 1) {
        atomic_store(&me->probe->last_at, now);
        (void)axo_send(ctx, axo_parent(ctx), LAST, NULL, 0);
    }
    return AXO_OK;
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .state_size = sizeof(part), .construct = part_construct,
              .receive = child_receive, .post_restart = child_post_restart);

/* ---- victim -------------------------------------------------------------------------------- */

static axo_status victim_fail(axo_ctx *ctx, probe *shared)
{
    shared->armed = true;
    atomic_store(&shared->children_waiting, shapes[shared->shape].children);
    switch (shared->shape) {
    case LEAF_STATUS:
        shared->failed_at = clock_ticks(&shared->gauge);
        return AXO_EFAILED;
    case LEAF_THROW:
        shared->failed_at = clock_ticks(&shared->gauge);
        axo_throw(ctx, 7, "on request");
    default:
        shared->failed_at = clock_ticks(&shared->gauge);
        return axo_fail(ctx, 7, "on request");
    }
}

static void victim_begin(axo_ctx *ctx, probe *shared)
{
    shared->busy = true;
    shared->first_handled = false;
    shared->last_restarted = shapes[shared->shape].children == 0;
    (void)axo_send(ctx, axo_self(ctx), FAIL, NULL, 0);
    (void)axo_send(ctx, axo_self(ctx), NEXT, NULL, 0);
}

static void victim_end(axo_ctx *ctx, probe *shared)
{
    if (!shared->first_handled || !shared->last_restarted)
        return;
    shared->rounds++;
    shared->busy = false;
    if (shared->mode == HOT)
        victim_begin(ctx, shared);
}

static axo_status victim_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    part *me = state;
    probe *shared = me->probe;
    uint64_t now = clock_ticks(&shared->gauge);
    if (shared->armed) {
        shared->armed = false;
        histogram_record(&shared->first, clock_between(&shared->gauge, shared->failed_at, now));
    }
    switch (message->tag) {
    case TICK:
        if (!shared->busy)
            victim_begin(ctx, shared);
        return AXO_OK;
    case FAIL:
        return victim_fail(ctx, shared);
    case NEXT:
        shared->first_handled = true;
        victim_end(ctx, shared);
        return AXO_OK;
    case LAST:
        histogram_record(&shared->last, clock_between(&shared->gauge, shared->failed_at,
                                                      atomic_load(&shared->last_at)));
        shared->last_restarted = true;
        victim_end(ctx, shared);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status victim_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    for (uint32_t i = 0; i < shapes[me->probe->shape].children; i++)
        (void)part_spawn(ctx, &child_class, me->probe);
    return AXO_OK;
}

/* The children are left alone: they survive. */
static axo_status victim_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)failure;
    (void)message;
    return AXO_OK;
}

/* They are there already: none are made. */
static axo_status victim_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)ctx;
    (void)state;
    (void)failure;
    return AXO_OK;
}

static const axo_class leaf_class =
    AXO_CLASS(.name = "leaf", .state_size = sizeof(part), .construct = part_construct,
              .receive = victim_receive);
static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = victim_start, .receive = victim_receive,
              .pre_restart = victim_pre_restart, .post_restart = victim_post_restart);

/* ---- supervisor ---------------------------------------------------------------------------- */

static const axo_strategy counted =
    AXO_STRATEGY(.limited = 1, .retries_max = INT32_MAX, .within_ns = WINDOW_NS);

static axo_status supervisor_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    bool leaf = shapes[me->probe->shape].children == 0;
    axo_ref victim = part_spawn(ctx, leaf ? &leaf_class : &parent_class, me->probe);
    atomic_store(&me->probe->victim, victim.bits);
    return AXO_OK;
}

static const axo_class supervisor_class =
    AXO_CLASS(.name = "supervisor", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = supervisor_start, .receive = child_receive);

/* ---- load ---------------------------------------------------------------------------------- */

static axo_status burner_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)message;
    part *me = state;
    probe *shared = me->probe;
    uint64_t begin = clock_ticks(&shared->gauge);
    uint64_t burn = (uint64_t)(BURN_NS / shared->gauge.ns_per_tick);
    uint64_t now = begin;
    while (now - begin < burn) /* ends: the clock runs */
        now = clock_ticks(&shared->gauge);
    uint64_t due = atomic_load_explicit(&shared->tick_due, memory_order_relaxed);
    if (now >= due &&
        atomic_compare_exchange_strong(&shared->tick_due, &due, now + shared->tick_period)) {
        axo_ref victim = {.bits = atomic_load(&shared->victim)};
        (void)axo_send(ctx, victim, TICK, NULL, 0);
    }
    if (++me->count % 100 == 0)
        atomic_fetch_add_explicit(&shared->burned, 100, memory_order_relaxed);
    (void)axo_send(ctx, axo_self(ctx), BURN, NULL, 0);
    return AXO_OK;
}

static const axo_class burner_class =
    AXO_CLASS(.name = "burner", .state_size = sizeof(part), .construct = part_construct,
              .receive = burner_receive);

static axo_status load_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    for (uint32_t i = 0; i < BURNERS; i++) {
        axo_ref burner = part_spawn(ctx, &burner_class, me->probe);
        (void)axo_send(ctx, burner, BURN, NULL, 0);
    }
    return AXO_OK;
}

static const axo_class load_class =
    AXO_CLASS(.name = "load", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = load_start, .receive = child_receive);

/* ---- one case ------------------------------------------------------------------------------ */

static void case_sleep_until(uint64_t when_ns)
{
    struct timespec when = {.tv_sec = (time_t)(when_ns / 1000000000u),
                            .tv_nsec = (long)(when_ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0) {
        /* ends: a signal only cuts a sleep short */
    }
}

static axo_ref case_spawn(axo_system *system, const axo_class *cls, probe *shared)
{
    axo_props props =
        AXO_PROPS(.cls = cls, .args = &shared, .args_size = sizeof shared, .strategy = &counted);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    return ref;
}

/* Lets the victim fail for `seconds` in the case's mode. */
static void case_drive(axo_system *system, probe *shared, double seconds)
{
    axo_ref victim = {.bits = atomic_load(&shared->victim)};
    uint64_t now = clock_ns();
    uint64_t end = now + (uint64_t)(seconds * 1e9);
    if (shared->mode == HOT)
        (void)axo_system_send(system, victim, TICK, NULL, 0);
    while (shared->mode == PACED && now < end) {
        now += PACE_NS;
        case_sleep_until(now);
        (void)axo_system_send(system, victim, TICK, NULL, 0);
    }
    case_sleep_until(end);
}

static void case_stop(axo_system *system)
{
    axo_late late[8];
    uint32_t count = 0;
    axo_status status = axo_system_stop(system, BENCH_STOP_NS / 4, late, 8, &count);
    for (uint32_t i = 0; status == AXO_ETIMEDOUT && i < count && i < 8; i++)
        (void)fprintf(stderr, "bench: late: %s, %s\n", late[i].path, late[i].doing);
    bench_check(status, "stop");
}

/* Every failure was a round, but for one that the end may have cut short. */
static void case_count(const probe *shared, const axo_stats *stats)
{
    uint64_t one = 1 + shapes[shared->shape].children;
    uint64_t rounds = shared->rounds + (stats->failures > shared->rounds ? 1 : 0);
    bench_expect(stats->failures, rounds, "failures");
    if (stats->restarts < shared->rounds * one || stats->restarts > rounds * one)
        bench_expect(stats->restarts, rounds * one, "restarts");
    if (shared->first.count != shared->rounds)
        bench_expect(shared->first.count, rounds, "next messages");
}

static void case_run(const bench_settings *settings, probe *shared, double seconds,
                     bench_sample *sample)
{
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    axo_system *system = bench_system_start(settings);
    (void)case_spawn(system, &supervisor_class, shared);
    while (atomic_load(&shared->victim) == 0) /* ends: the supervisor starts */
        case_sleep_until(clock_ns() + PACE_NS);
    if (shared->mode == LOADED) {
        double tick = 1e9 / shapes[shared->shape].loaded_rate;
        shared->tick_period = (uint64_t)(tick / shared->gauge.ns_per_tick);
        atomic_store(&shared->tick_due, clock_ticks(&shared->gauge) +
                                            (uint64_t)(LOAD_SETTLE_NS / shared->gauge.ns_per_tick));
        (void)case_spawn(system, &load_class, shared);
        case_sleep_until(clock_ns() + (uint64_t)LOAD_SETTLE_NS);
    }
    bench_check(axo_system_stats(system, &before), "stats");
    uint64_t burned = atomic_load(&shared->burned);
    bench_usage_mark from;
    bench_usage_mark to;
    bench_mark(&from);
    case_drive(system, shared, seconds);
    bench_mark(&to);
    bench_check(axo_system_stats(system, &after), "stats");
    shared->seconds = (double)(to.wall_ns - from.wall_ns) / 1e9;
    shared->foreign = bench_foreign(&from, &to);
    shared->restarts_rate = (double)(after.restarts - before.restarts) / shared->seconds;
    shared->load_rate = (double)(atomic_load(&shared->burned) - burned) / shared->seconds;
    case_stop(system);
    sample->peak_bytes = bench_peak_bytes();
    sample->workers = axo_system_workers(system);
    bench_accounting(system, &after);
    sample->stats = after;
    case_count(shared, &after);
    bench_check(axo_system_destroy(system), "destroy");
}

#endif
