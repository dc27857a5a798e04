/* restart_report.c - how long a restart takes, and how often (W8, W9a).
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
#include <spawn.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "histogram.h"

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

static const struct {
    const char *name;
    double share; /* of the report's time, for all shapes together */
} modes[MODES] = {{"hot", 0.125}, {"paced", 0.5}, {"loaded", 0.375}};

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
        (void)fprintf(stderr, "restart_report: late: %s, %s\n", late[i].path, late[i].doing);
    bench_check(status, "stop");
}

static void case_run(const bench_settings *settings, probe *shared, double seconds)
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
    bench_accounting(system, &after);
    bench_check(axo_system_destroy(system), "destroy");
}

/* ---- report -------------------------------------------------------------------------------- */

typedef struct report {
    const char *folder;
    FILE *json;
    FILE *curves; /* gnuplot's data: blocks of "1/(1-quantile) ns" */
    uint32_t results;
    uint32_t workers;
} report;

static FILE *report_open(const report *all, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/restart_report.%s", all->folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        (void)fprintf(stderr, "restart_report: cannot write %s\n", path);
        exit(1);
    }
    return file;
}

static void report_begin(report *all, const bench_settings *settings, const clock_gauge *gauge)
{
    axo_system *system = bench_system_start(settings);
    all->workers = axo_system_workers(system);
    case_stop(system);
    bench_check(axo_system_destroy(system), "destroy");
    all->json = report_open(all, "json");
    all->curves = report_open(all, "dat");
    (void)fprintf(all->json,
                  "{\"report\":\"restart\",\"clock\":{\"source\":\"%s\",\"ns_per_tick\":%.6f,"
                  "\"cost_ns\":%.1f},\"workers\":%" PRIu32 ",\"machine\":{",
                  gauge->source, gauge->ns_per_tick, gauge->cost_ns, all->workers);
    machine_json(all->json);
    (void)fputs("},\"build\":{", all->json);
    machine_build_json(all->json);
    (void)fprintf(all->json, "},\"commit\":\"%s\",\"results\":[", settings->commit);
    (void)printf("restart latency in ns, %" PRIu32 " workers; from the failing call to the next "
                 "message of the new instance,\nor to the restart of the last child; one reading "
                 "of the clock (%s) costs %.1f ns, none is subtracted\n\n",
                 all->workers, gauge->source, gauge->cost_ns);
    (void)printf("%-7s%-19s%-14s%9s%9s%9s%9s%9s%10s%12s%10s\n", "mode", "who fails", "until",
                 "count", "p50", "p90", "p99", "p99.9", "max", "restarts/s", "load/s");
}

static void report_row(report *all, const probe *shared, const histogram *times, const char *until)
{
    static const double quantiles[4] = {0.5, 0.9, 0.99, 0.999};
    uint64_t ns[4];
    for (uint32_t i = 0; i < 4; i++)
        ns[i] = histogram_percentile(times, quantiles[i]);
    const char *name = shapes[shared->shape].name;
    (void)printf("%-7s%-19s%-14s%9" PRIu64 "%9" PRIu64 "%9" PRIu64 "%9" PRIu64 "%9" PRIu64
                 "%10" PRIu64 "%12.0f%10.0f%s\n",
                 modes[shared->mode].name, name, until, times->count, ns[0], ns[1], ns[2], ns[3],
                 times->max, shared->restarts_rate, shared->load_rate,
                 shared->foreign > BENCH_FOREIGN_MAX ? " *" : "");
    (void)fflush(stdout);
    (void)fprintf(all->json,
                  "%s\n{\"mode\":\"%s\",\"who\":\"%s\",\"until\":\"%s\",\"count\":%" PRIu64
                  ",\"p50_ns\":%" PRIu64 ",\"p90_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
                  ",\"p99.9_ns\":%" PRIu64 ",\"max_ns\":%" PRIu64
                  ",\"restarts_per_s\":%.0f,\"load_per_s\":%.0f,\"seconds\":%.3f,"
                  "\"foreign_cpu\":%.3f}",
                  all->results++ == 0 ? "" : ",", modes[shared->mode].name, name, until,
                  times->count, ns[0], ns[1], ns[2], ns[3], times->max, shared->restarts_rate,
                  shared->load_rate, shared->seconds, shared->foreign);
    for (double odds = 1.0; odds <= (double)times->count; odds *= 1.15)
        (void)fprintf(all->curves, "%.4f %" PRIu64 "\n", odds,
                      histogram_percentile(times, 1.0 - 1.0 / odds));
    (void)fputs("\n\n", all->curves);
}

/* One panel a mode; the blocks of the data are in the order of the table. */
static void report_script(const report *all)
{
    FILE *out = report_open(all, "gp");
    (void)fprintf(out,
                  "set terminal svg size 1500,640 noenhanced font 'sans,12' background 'white'\n"
                  "set output '%s/restart_report.svg'\n"
                  "set multiplot layout 1,%d title 'restart latency, %" PRIu32 " workers'\n"
                  "set logscale xy\nset grid\nset bmargin 9\n"
                  "set xlabel 'percentile'\nset ylabel 'from the failing call'\n"
                  "set xtics ('p50' 2,'p90' 10,'p99' 100,'p99.9' 1000,'p99.99' 1e4,"
                  "'p99.9999' 1e6)\nset yrange [10:*]\n"
                  "set ytics ('10 ns' 10,'100 ns' 100,'1 us' 1e3,'10 us' 1e4,'100 us' 1e5,"
                  "'1 ms' 1e6,'10 ms' 1e7,'100 ms' 1e8)\n",
                  all->folder, MODES, all->workers);
    uint32_t block = 0;
    for (uint32_t m = 0; m < MODES; m++) {
        (void)fprintf(out, "set title '%s'\n%s\nplot", modes[m].name,
                      m == MODES / 2 ? "set key bmargin center maxrows 4" : "unset key");
        for (uint32_t s = 0; s < SHAPES; s++) {
            (void)fprintf(out,
                          "%s '%s/restart_report.dat' index %" PRIu32 " with lines lw 2 title '%s'",
                          s == 0 ? "" : ",", all->folder, block++, shapes[s].name);
            if (shapes[s].children == 0)
                continue;
            (void)fprintf(out,
                          ", '%s/restart_report.dat' index %" PRIu32
                          " with lines lw 2 dt 2 title '%s: last child'",
                          all->folder, block++, shapes[s].name);
        }
        (void)fputs("\n", out);
    }
    (void)fclose(out); /* gnuplot says if it is cut */
}

static void report_plot(const report *all)
{
    extern char **environ;
    char script[4096];
    char program[] = "gnuplot";
    (void)snprintf(script, sizeof script, "%s/restart_report.gp", all->folder);
    char *arguments[] = {program, script, NULL};
    pid_t child;
    int status = 1;
    if (posix_spawnp(&child, program, NULL, NULL, arguments, environ) == 0)
        (void)waitpid(child, &status, 0); /* status stays 1 if it fails */
    (void)printf("\n*: other processes used more than %.0f %% of the processors meanwhile\n"
                 "JSON  %s/restart_report.json\n",
                 BENCH_FOREIGN_MAX * 100.0, all->folder);
    if (status == 0)
        (void)printf("SVG   %s/restart_report.svg\n", all->folder);
    else
        (void)printf("SVG   none: gnuplot is missing or failed; its script is %s\n", script);
}

static void report_make_folder(const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/", folder);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777); /* report_open says if it is not there */
        *slash = '/';
    }
}

/* Takes "--out DIR" out of the arguments; the folder, or the default. */
static const char *report_folder(char **argv)
{
    const char *folder = "build/run";
    for (char **arg = argv + 1; *arg != NULL; arg++) {
        if (strcmp(*arg, "--out") != 0 || arg[1] == NULL)
            continue;
        folder = arg[1];
        for (char **rest = arg; *rest != NULL; rest++)
            rest[0] = rest[1] == NULL ? NULL : rest[2];
        break;
    }
    return folder;
}

int main(int argc, char **argv)
{
    (void)argc;
    static probe shared;
    clock_gauge gauge;
    report all = {.folder = report_folder(argv)};
    uint64_t seconds = 16;
    const bench_option options[] = {
        {"--seconds", &seconds, "how long the whole report takes; --out DIR: where it goes"}};
    bench_settings settings;
    bench_settings_read(&settings, argv, options, 1);
    report_make_folder(all.folder);
    clock_calibrate(&gauge);
    report_begin(&all, &settings, &gauge);
    for (uint32_t m = 0; m < MODES; m++) {
        for (uint32_t s = 0; s < SHAPES; s++) {
            memset(&shared, 0, sizeof shared);
            shared.gauge = gauge;
            shared.mode = (mode)m;
            shared.shape = (shape)s;
            case_run(&settings, &shared, (double)seconds * modes[m].share / SHAPES);
            report_row(&all, &shared, &shared.first, "next message");
            if (shapes[s].children != 0)
                report_row(&all, &shared, &shared.last, "last child");
        }
    }
    (void)fputs("\n]}\n", all.json);
    if (fclose(all.json) != 0 || fclose(all.curves) != 0) {
        (void)fprintf(stderr, "restart_report: cannot write to %s\n", all.folder);
        return 1;
    }
    report_script(&all);
    report_plot(&all);
    return 0;
}
