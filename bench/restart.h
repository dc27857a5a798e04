/* restart.h - one run of a case of RESTART.md: an actor that fails again and again, the tree around
 * it, and the clocks. w8_restart.c and bench/restart/ share it.
 *
 * The victim fails on a message while `queue` further ones are queued behind it. The clock is read
 * just before the failing call and as the first thing when the next message is handled in the
 * victim's place. Nothing is subtracted. The deciding supervisor's strategy counts restarts in a
 * window, so a restart is the whole protocol: suspend, report, decide, pre_restart, a new instance,
 * post_restart, resume.
 *
 *     decider --- siblings             what the restart touches: with one for one the chain below
 *        |                             the decider and the victim's children; else siblings too
 *       link ... link                  depth - 1 of them, each escalates
 *        |
 *      victim --- children             kept: they survive and are restarted after it; else they are
 *                                      stopped, with the links below the first, and made again
 *
 * When the first link is restarted and its child is not kept, the victim goes with its mailbox: the
 * queued messages are dead letters, and the next message is one that the new victim's start sends
 * to itself.
 *
 * Modes    hot: back to back.  paced: at a rate on a system that is idle otherwise.  loaded:
 *          actors that are always ready and burn 1 us a message keep every worker busy, and one of
 *          them tells the victim to fail at a rate. A tick that finds a restart not over is missed,
 *          and counted; while one waits in the victim's mailbox no other is sent.
 *
 * A run ends when all that was begun is over; then its sums are compared with the system's. */
#ifndef BENCH_RESTART_H
#define BENCH_RESTART_H

#include <signal.h>

#include "bench.h"
#include "recorder.h"
#include "restart_case.h"

enum { TICK = 1, FAIL = 2, NEXT = 3, LAST = 4, BURN = 5 };

#define BURN_NS        1000.0
#define SLICE_NS       INT64_C(20000000) /* a wait looks at the signals so often */
#define MORE_S         0.002
#define STUCK_LOOPS    1000
#define LOAD_SETTLE_NS 100000000.0
#define REST_NS        INT64_C(30000000000)
#define WINDOW_NS      INT64_C(10000000000)

/* A case under way, and what came out. The victim writes the plain fields, and main reads them when
 * the system has ended; what others touch meanwhile is atomic. */
typedef struct probe {
    clock_gauge gauge;
    restart_case what;
    axo_class stuck; /* the victim's, with a watchdog */
    uint32_t touched;
    bool lost;          /* the victim's mailbox goes with it */
    bool armed;         /* failed, and nothing handled since */
    bool counted;       /* this round is measured */
    bool ready;         /* all that the round touches has started */
    uint32_t next_left; /* messages of this round to come */
    uint64_t failed_at; /* ticks of the clock */
    uint64_t rounds;
    uint64_t ticks;  /* handled */
    histogram first; /* ns until the next message is handled */
    histogram last;  /* ns until the last of all touched has started; none if that is the victim */
    recorder recorder;
    _Atomic uint64_t counted_rounds;
    _Atomic uint64_t missed; /* ticks, while measured */
    _Atomic bool busy;       /* from a tick until all of its restart is over */
    _Atomic bool measuring;
    _Atomic bool stopping;
    _Atomic bool spawned;                   /* the tree */
    _Atomic bool loaded;                    /* the burners are spawned */
    _Atomic bool built;                     /* all that is touched has started for the first time */
    _Atomic uint64_t victim;                /* its reference's bits */
    _Atomic uint64_t last_at;               /* clock, when the last had started */
    _Alignas(64) _Atomic uint32_t left;     /* of those touched: not started */
    _Alignas(64) _Atomic uint64_t tick_due; /* clock; loaded: when the next tick is to be sent */
    _Atomic bool tick_waits;                /* one has been sent and not handled */
    _Atomic uint64_t ticks_sent;
    _Atomic uint64_t burned; /* messages of burners, counted in hundreds, and the rest at the end */
    _Atomic uint32_t burning;
    uint64_t tick_period;
} probe;

/* What a run leaves beside the histograms. */
typedef struct restart_sample {
    double seconds;
    double restarts_rate; /* failures of the victim that were restarted, a second */
    double load_rate;     /* messages of burners a second */
    double foreign;       /* share of the processors that other processes used */
    uint64_t peak_bytes;
    uint32_t workers;
    axo_stats stats; /* the system's counters at its end */
} restart_sample;

/* The state of every actor here, and its argument. */
typedef struct part {
    probe *probe;
    uint32_t level; /* links: 1 below the decider and so on */
    uint32_t count;
} part;

static void probe_init(probe *shared, const clock_gauge *gauge, const restart_case *what)
{
    recorder_row *rows = shared->recorder.rows;
    memset(shared, 0, sizeof *shared);
    shared->recorder.rows = rows;
    shared->gauge = *gauge;
    shared->what = *what;
    shared->touched = restart_touched(what);
    shared->lost = what->remake && what->depth > 1;
}

static uint64_t probe_counted(const probe *shared)
{
    return atomic_load_explicit(&shared->counted_rounds, memory_order_relaxed);
}

static axo_status part_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(part));
    return AXO_OK;
}

static axo_ref part_spawn(axo_ctx *ctx, const axo_class *cls, probe *shared, uint32_t level,
                          const axo_strategy *strategy)
{
    part args = {.probe = shared, .level = level};
    axo_props props =
        AXO_PROPS(.cls = cls, .args = &args, .args_size = sizeof args, .strategy = strategy);
    axo_ref ref;
    bench_check(axo_spawn(ctx, &props, &ref), "spawn");
    return ref;
}

/* One of those that a restart touches has started; so has each at the very beginning. */
static void part_started(axo_ctx *ctx, probe *shared)
{
    uint64_t now = clock_ticks(&shared->gauge);
    if (atomic_fetch_sub(&shared->left, 1) != 1)
        return;
    if (!atomic_exchange(&shared->built, true))
        return;
    atomic_store(&shared->last_at, now);
    (void)axo_send(ctx, (axo_ref){.bits = atomic_load(&shared->victim)}, LAST, NULL, 0);
}

static axo_status part_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_UNHANDLED;
}

/* Whoever is below is left alone. */
static axo_status part_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    (void)ctx, (void)state, (void)failure, (void)message;
    return AXO_OK;
}

/* They are there already: none are made. */
static axo_status part_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    (void)failure;
    part *me = state;
    part_started(ctx, me->probe);
    return AXO_OK;
}

/* ---- children, siblings -------------------------------------------------------------------- */

static axo_status child_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    part_started(ctx, me->probe);
    return AXO_OK;
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = child_start, .receive = part_receive);
/* A sibling that no restart touches. */
static const axo_class idle_class = AXO_CLASS(.name = "idle", .state_size = sizeof(part),
                                              .construct = part_construct, .receive = part_receive);

/* ---- victim -------------------------------------------------------------------------------- */

static inline void victim_mark(axo_ctx *ctx, probe *shared)
{
    if (shared->what.recorded)
        recorder_begin(&shared->recorder, ctx, shared->counted);
    else
        shared->failed_at = clock_ticks(&shared->gauge);
}

static axo_status victim_fail(axo_ctx *ctx, probe *shared)
{
    shared->counted = atomic_load_explicit(&shared->measuring, memory_order_relaxed);
    shared->armed = true;
    switch (shared->what.how) {
    case BY_STATUS:
        victim_mark(ctx, shared);
        return AXO_EFAILED;
    case BY_THROW:
        victim_mark(ctx, shared);
        axo_throw(ctx, 7, "on request");
    case BY_SEGV:
    case BY_ABORT:
        victim_mark(ctx, shared);
        restart_crash(shared->what.how);
        break;
    case BY_STUCK: /* the last mark is that of the interruption: what it waited for is left out */
        while (!shared->what.recorded)
            shared->failed_at = clock_ticks(&shared->gauge);
        victim_mark(ctx, shared);
        for (uint64_t i = 1;; i++) {
            if (i % STUCK_LOOPS == 0)
                recorder_mark_at(&shared->recorder, MARK_FAILURE, axo_now(ctx));
            atomic_signal_fence(memory_order_relaxed); /* a loop in its own code */
        }
    case BY_FAIL:
    case BY_KILL: /* not of this kind */
    case HOWS:
        break;
    }
    victim_mark(ctx, shared);
    return axo_fail(ctx, 7, "on request");
}

static void victim_begin(axo_ctx *ctx, probe *shared)
{
    atomic_store_explicit(&shared->busy, true, memory_order_relaxed);
    shared->ready = shared->touched == 1;
    shared->next_left = shared->lost ? 1 : shared->what.queue;
    if (!shared->ready)
        atomic_store_explicit(&shared->left, shared->touched, memory_order_relaxed);
    (void)axo_send(ctx, axo_self(ctx), FAIL, NULL, 0);
    for (uint32_t i = 0; i < shared->what.queue; i++)
        (void)axo_send(ctx, axo_self(ctx), NEXT, NULL, 0);
}

static void victim_end(axo_ctx *ctx, probe *shared)
{
    if (shared->next_left != 0 || !shared->ready)
        return;
    shared->rounds++;
    if (shared->counted)
        atomic_store_explicit(&shared->counted_rounds, probe_counted(shared) + 1,
                              memory_order_relaxed);
    if (shared->what.mode == HOT && !atomic_load_explicit(&shared->stopping, memory_order_relaxed))
        victim_begin(ctx, shared);
    else
        atomic_store_explicit(&shared->busy, false, memory_order_release);
}

static void tick_missed(probe *shared)
{
    if (atomic_load_explicit(&shared->measuring, memory_order_relaxed))
        atomic_fetch_add_explicit(&shared->missed, 1, memory_order_relaxed);
}

static void victim_tick(axo_ctx *ctx, probe *shared)
{
    shared->ticks++;
    atomic_store(&shared->tick_waits, false);
    if (atomic_load(&shared->stopping))
        return;
    if (!atomic_load_explicit(&shared->busy, memory_order_relaxed))
        victim_begin(ctx, shared);
    else
        tick_missed(shared);
}

static axo_status victim_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    part *me = state;
    probe *shared = me->probe;
    uint64_t now = clock_ticks(&shared->gauge);
    if (shared->armed) {
        shared->armed = false;
        if (shared->counted && !shared->what.recorded)
            histogram_record(&shared->first, clock_between(&shared->gauge, shared->failed_at, now));
    }
    switch (message->tag) {
    case TICK:
        victim_tick(ctx, shared);
        return AXO_OK;
    case FAIL:
        return victim_fail(ctx, shared);
    case NEXT:
        shared->next_left--;
        victim_end(ctx, shared);
        return AXO_OK;
    case LAST:
        if (shared->counted && !shared->what.recorded)
            histogram_record(&shared->last, clock_between(&shared->gauge, shared->failed_at,
                                                          atomic_load(&shared->last_at)));
        shared->ready = true;
        victim_end(ctx, shared);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static axo_status victim_construct(axo_ctx *ctx, void *state, const void *args)
{
    part *me = state;
    memcpy(me, args, sizeof *me);
    uint64_t bits = axo_self(ctx).bits;
    if (atomic_load_explicit(&me->probe->victim, memory_order_relaxed) != bits) {
        atomic_store(&me->probe->recorder.victim, bits);
        atomic_store(&me->probe->victim, bits);
    }
    return AXO_OK;
}

static axo_status victim_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    probe *shared = me->probe;
    for (uint32_t i = 0; i < shared->what.children; i++)
        (void)part_spawn(ctx, &child_class, shared, 0, NULL);
    if (shared->lost && shared->armed) {
        atomic_store(&shared->tick_waits, false); /* it went with the mailbox */
        (void)axo_send(ctx, axo_self(ctx), NEXT, NULL, 0);
    }
    part_started(ctx, shared);
    return AXO_OK;
}

/* It alone is touched: it needs no hooks. */
static const axo_class leaf_class =
    AXO_CLASS(.name = "leaf", .state_size = sizeof(part), .construct = victim_construct,
              .receive = victim_receive, .on_crash = AXO_CRASH_FAILS);
static const axo_class keeping_class =
    AXO_CLASS(.name = "keeping", .state_size = sizeof(part), .construct = victim_construct,
              .pre_start = victim_start, .receive = victim_receive, .pre_restart = part_pre_restart,
              .post_restart = part_post_restart, .on_crash = AXO_CRASH_FAILS);
static const axo_class remaking_class =
    AXO_CLASS(.name = "remaking", .state_size = sizeof(part), .construct = victim_construct,
              .pre_start = victim_start, .receive = victim_receive, .on_crash = AXO_CRASH_FAILS);

/* ---- the chain above it -------------------------------------------------------------------- */

static const axo_strategy passing = AXO_STRATEGY(.decider = axo_decide_escalate);

static const axo_class *restart_plain_class(const probe *shared)
{
    if (shared->touched == 1)
        return &leaf_class;
    return shared->what.remake ? &remaking_class : &keeping_class;
}

static const axo_class *restart_victim_class(const probe *shared)
{
    return shared->what.how == BY_STUCK ? &shared->stuck : restart_plain_class(shared);
}

static axo_status link_start(axo_ctx *ctx, void *state);

static const axo_class keeping_link_class =
    AXO_CLASS(.name = "link", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = link_start, .receive = part_receive, .pre_restart = part_pre_restart,
              .post_restart = part_post_restart);
static const axo_class remaking_link_class =
    AXO_CLASS(.name = "link", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = link_start, .receive = part_receive);

/* The one below the level: a link, or the victim. */
static axo_ref link_below(axo_ctx *ctx, probe *shared, uint32_t level)
{
    if (level + 1 == shared->what.depth)
        return part_spawn(ctx, restart_victim_class(shared), shared, level + 1, NULL);
    return part_spawn(ctx, shared->what.remake ? &remaking_link_class : &keeping_link_class, shared,
                      level + 1, &passing);
}

static axo_status link_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    (void)link_below(ctx, me->probe, me->level);
    part_started(ctx, me->probe);
    return AXO_OK;
}

static axo_status decider_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    probe *shared = me->probe;
    atomic_store(&shared->recorder.decider, axo_self(ctx).bits);
    axo_ref below = link_below(ctx, shared, 0);
    atomic_store(&shared->recorder.target, below.bits);
    if (shared->what.depth == 1) {
        atomic_store(&shared->recorder.victim, below.bits);
        atomic_store(&shared->victim, below.bits);
    }
    const axo_class *cls = shared->what.scope == AXO_ONE_FOR_ONE ? &idle_class : &child_class;
    for (uint32_t i = 0; i < shared->what.siblings; i++)
        (void)part_spawn(ctx, cls, shared, 0, NULL);
    atomic_store(&shared->spawned, true);
    return AXO_OK;
}

static const axo_class decider_class =
    AXO_CLASS(.name = "decider", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = decider_start, .receive = part_receive);

/* ---- load ---------------------------------------------------------------------------------- */

/* Whether none waits: then this one is counted as sent. */
static bool tick_may_be_sent(probe *shared)
{
    if (atomic_exchange(&shared->tick_waits, true))
        return false;
    atomic_fetch_add(&shared->ticks_sent, 1);
    return true;
}

static void burner_tick(axo_ctx *ctx, probe *shared, uint64_t now)
{
    uint64_t due = atomic_load_explicit(&shared->tick_due, memory_order_relaxed);
    if (now < due ||
        !atomic_compare_exchange_strong(&shared->tick_due, &due, now + shared->tick_period))
        return;
    if (!tick_may_be_sent(shared))
        return;
    axo_ref victim = {.bits = atomic_load(&shared->victim)};
    if (axo_send(ctx, victim, TICK, NULL, 0) == AXO_EGONE)
        atomic_store(&shared->tick_waits, false);
}

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
    me->count++;
    if (atomic_load_explicit(&shared->stopping, memory_order_relaxed)) {
        atomic_fetch_add(&shared->burned, me->count);
        atomic_fetch_sub(&shared->burning, 1);
        return AXO_OK;
    }
    burner_tick(ctx, shared, now);
    if (me->count == 100) {
        me->count = 0;
        atomic_fetch_add_explicit(&shared->burned, 100, memory_order_relaxed);
    }
    (void)axo_send(ctx, axo_self(ctx), BURN, NULL, 0);
    return AXO_OK;
}

static const axo_class burner_class =
    AXO_CLASS(.name = "burner", .state_size = sizeof(part), .construct = part_construct,
              .receive = burner_receive);

static axo_status load_start(axo_ctx *ctx, void *state)
{
    part *me = state;
    for (uint32_t i = 0; i < me->probe->what.burners; i++) {
        axo_ref burner = part_spawn(ctx, &burner_class, me->probe, 0, NULL);
        (void)axo_send(ctx, burner, BURN, NULL, 0);
    }
    atomic_store(&me->probe->loaded, true);
    return AXO_OK;
}

static const axo_class load_class =
    AXO_CLASS(.name = "load", .state_size = sizeof(part), .construct = part_construct,
              .pre_start = load_start, .receive = part_receive);

/* ---- one run ------------------------------------------------------------------------------- */

/* A run is cut short when this is not 0; NULL: never. */
typedef const volatile sig_atomic_t *restart_cut;

/* false: cut short */
static bool case_sleep_until(uint64_t when_ns, restart_cut cut)
{
    for (;;) {
        uint64_t now = clock_ns();
        if (cut != NULL && *cut != 0)
            return false;
        if (now >= when_ns)
            return true;
        uint64_t next = when_ns - now > SLICE_NS ? now + SLICE_NS : when_ns;
        struct timespec when = {.tv_sec = (time_t)(next / 1000000000u),
                                .tv_nsec = (long)(next % 1000000000u)};
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL); /* short is as good */
    }
}

static axo_ref case_spawn(axo_system *system, const axo_class *cls, probe *shared,
                          const axo_strategy *strategy)
{
    part args = {.probe = shared};
    axo_props props =
        AXO_PROPS(.cls = cls, .args = &args, .args_size = sizeof args, .strategy = strategy);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    return ref;
}

static void case_tick(axo_system *system, probe *shared)
{
    if (!tick_may_be_sent(shared)) {
        tick_missed(shared);
        return;
    }
    axo_ref victim = {.bits = atomic_load(&shared->victim)};
    if (axo_system_send(system, victim, TICK, NULL, 0) == AXO_EGONE)
        atomic_store(&shared->tick_waits, false);
}

/* Lets the victim fail for `seconds` in the case's mode. */
static void case_drive(axo_system *system, probe *shared, double seconds, restart_cut cut)
{
    uint64_t period = shared->what.mode == PACED ? (uint64_t)(1e9 / shared->what.rate) : 0;
    uint64_t now = clock_ns();
    uint64_t end = now + (uint64_t)(seconds * 1e9);
    for (now += period; shared->what.mode == PACED && now < end; now += period) {
        if (!case_sleep_until(now, cut))
            return;
        case_tick(system, shared);
    }
    (void)case_sleep_until(end, cut);
}

static void case_wait(const _Atomic bool *flag, const char *what)
{
    uint64_t limit = clock_ns() + (uint64_t)REST_NS;
    while (!atomic_load(flag)) {
        if (clock_ns() > limit)
            bench_expect(0, 1, what);
        (void)case_sleep_until(clock_ns() + 200000, NULL);
    }
}

/* Ends what goes on, and waits until nothing is under way. */
static void case_rest(axo_system *system, probe *shared, axo_stats *stats)
{
    uint64_t limit = clock_ns() + (uint64_t)REST_NS;
    atomic_store(&shared->stopping, true);
    do {
        *stats = (axo_stats)AXO_STATS(.sent = 0);
        bench_check(axo_system_stats(system, stats), "stats");
        if (clock_ns() > limit)
            bench_expect(0, 1, "at rest");
        (void)case_sleep_until(clock_ns() + 200000, NULL);
    } while (atomic_load(&shared->busy) || atomic_load(&shared->burning) != 0 ||
             stats->sent != stats->handled + stats->dead + stats->dropped);
    bench_check(axo_system_stats(system, stats), "stats");
}

static void case_stop(axo_system *system)
{
    axo_late late[8];
    uint32_t count = 0;
    axo_status status = axo_system_stop(system, BENCH_STOP_NS / 4, late, 8, &count);
    for (uint32_t i = 0; status == AXO_ETIMEDOUT && i < count && i < 8; i++)
        (void)fprintf(stderr, BENCH_NAME ": late: %s, %s\n", late[i].path, late[i].doing);
    bench_check(status, "stop");
}

/* Every sum that the program can make for itself is the system's. */
static void case_count(const probe *shared, const axo_stats *built, const axo_stats *stats)
{
    const restart_case *what = &shared->what;
    uint64_t rounds = shared->rounds;
    uint64_t made = what->remake ? what->depth - 1 + what->children : 0;
    uint64_t ticks = atomic_load(&shared->ticks_sent);
    uint64_t burned = atomic_load(&shared->burned);
    uint64_t messages = 1 + what->queue + (shared->lost ? 1 : 0) + (shared->touched > 1 ? 1 : 0);
    uint64_t dead = shared->lost ? rounds * what->queue + ticks - shared->ticks : 0;
    bench_expect(stats->failures, rounds * what->depth, "failures");
    bench_expect(stats->restarts, rounds * (shared->touched - made), "restarts");
    bench_expect(stats->spawned - built->spawned, rounds * made, "actors made again");
    bench_expect(stats->terminated, rounds * made, "actors ended");
    bench_expect(stats->sent, rounds * messages + ticks + burned, "messages sent");
    bench_expect(stats->dead, dead, "dead letters");
    bench_expect(stats->handled, stats->sent - dead, "messages handled");
    bench_expect(shared->ticks, shared->lost ? shared->ticks : ticks, "ticks");
    if (what->recorded) {
        const recorder *own = &shared->recorder;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < PHASES; i++) {
            sum += own->sums[i];
            bench_expect(own->phases[i].count, probe_counted(shared), phase_names[i]);
        }
        bench_expect(atomic_load(&own->broken), 0, "marks out of turn");
        bench_expect(own->total.count, probe_counted(shared), "restarts recorded");
        bench_expect(sum, own->total_sum, "sum of the phases");
        return;
    }
    bench_expect(shared->first.count, probe_counted(shared), "next messages");
    bench_expect(shared->last.count, shared->touched > 1 ? probe_counted(shared) : 0,
                 "last starts");
}

static axo_system *case_start(const bench_settings *settings, probe *shared)
{
    axo_options options = AXO_OPTIONS(.workers = settings->workers, .seed = shared->what.seed);
    axo_system *system;
    options.contain = shared->what.contain;
    restart_contain(&options, shared->what.how);
    shared->stuck = *restart_plain_class(shared);
    shared->stuck.watchdog_ms = RESTART_WATCHDOG_MS;
    if (shared->what.recorded) {
        options.trace = recorder_event;
        options.trace_user = &shared->recorder;
        options.trace_kinds = RECORDER_KINDS;
    }
    bench_check(axo_system_start(&options, &system), "start");
    return system;
}

/* The tree, and the load beside it. */
static void case_build(axo_system *system, probe *shared, const axo_strategy *strategy)
{
    if (shared->touched > 1)
        atomic_store(&shared->left, shared->touched);
    (void)case_spawn(system, &decider_class, shared, strategy);
    case_wait(&shared->spawned, "the tree is spawned");
    if (shared->touched > 1)
        case_wait(&shared->built, "the tree is built");
    if (shared->what.mode != LOADED)
        return;
    shared->tick_period = (uint64_t)(1e9 / shared->what.rate / shared->gauge.ns_per_tick);
    atomic_store(&shared->burning, shared->what.burners);
    atomic_store(&shared->tick_due, UINT64_MAX);
    (void)case_spawn(system, &load_class, shared, NULL);
    case_wait(&shared->loaded, "the load is there");
    (void)case_sleep_until(clock_ns() + (uint64_t)LOAD_SETTLE_NS, NULL);
}

/* Runs a case once in a fresh system: `warmup` seconds that are not measured, then `seconds`.
 * false: it was cut short, and is whole all the same for as long as it lasted. */
static bool case_run(const bench_settings *settings, probe *shared, double warmup, double seconds,
                     restart_cut cut, restart_sample *sample)
{
    const axo_strategy counted = AXO_STRATEGY(.scope = shared->what.scope, .limited = 1,
                                              .retries_max = INT32_MAX, .within_ns = WINDOW_NS);
    axo_stats built = AXO_STATS(.sent = 0);
    axo_stats ended = AXO_STATS(.sent = 0);
    axo_stats stats;
    bench_usage_mark from;
    bench_usage_mark to;
    axo_system *system = case_start(settings, shared);
    case_build(system, shared, &counted);
    bench_check(axo_system_stats(system, &built), "stats");
    atomic_store(&shared->tick_due, clock_ticks(&shared->gauge));
    if (shared->what.mode == HOT)
        case_tick(system, shared);
    if (warmup > 0.0)
        case_drive(system, shared, warmup, cut);
    uint64_t burned = atomic_load(&shared->burned);
    atomic_store(&shared->measuring, true);
    bench_mark(&from);
    case_drive(system, shared, seconds, cut);
    uint64_t limit = clock_ns() + (uint64_t)REST_NS;
    while (probe_counted(shared) < shared->what.at_least && clock_ns() < limit &&
           (cut == NULL || *cut == 0))
        case_drive(system, shared,
                   MORE_S + (shared->what.mode == PACED ? 1.5 / shared->what.rate : 0.0), cut);
    bench_mark(&to);
    atomic_store(&shared->measuring, false);
    uint64_t burned_then = atomic_load(&shared->burned);
    case_rest(system, shared, &stats);
    sample->peak_bytes = bench_peak_bytes();
    sample->workers = axo_system_workers(system);
    case_stop(system);
    /* one is counted after its start hook, which may have sent the last message before the rest */
    bench_check(axo_system_stats(system, &ended), "stats");
    stats.restarts = ended.restarts;
    bench_check(axo_system_destroy(system), "destroy");
    case_count(shared, &built, &stats);
    sample->stats = stats;
    sample->seconds = (double)(to.wall_ns - from.wall_ns) / 1e9;
    sample->foreign = bench_foreign(&from, &to);
    sample->restarts_rate = (double)probe_counted(shared) / sample->seconds;
    sample->load_rate = (double)(burned_then - burned) / sample->seconds;
    return cut == NULL || *cut == 0;
}

#endif
