/* bench.h - the harness: settings, repeats, median and spread, one line and one JSON line a result.
 *
 * A benchmark is one program: bench_settings_read, then for each workload bench_measure with a
 * function that runs it once in a fresh system. The first run warms up and is not counted. A run
 * during which other processes used more than BENCH_FOREIGN_MAX of the processors is disturbed: it
 * is taken again, as often as there are repeats; if the machine does not get quiet, the disturbed
 * runs count and the result says so.
 *
 * Before and after each run it is probed how far apart the processors are and how fast (place.h).
 * Only runs that were near, or far, are taken together: runs go on until there are as many of one
 * sort as asked, or three times as many of all; then all count, and the result is mixed.
 *
 * A run leaves one figure, further values, and latencies in histograms, all of which the harness
 * turns into median, least and most over the runs. README.md says how to read what is printed. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <unistd.h>

#include <axo/axo.h>

#include "histogram.h"
#include "machine.h"
#include "place.h"

#ifndef BENCH_NAME
#define BENCH_NAME "bench"
#endif
#define BENCH_REPEATS_MAX 100
#define BENCH_FOREIGN_MAX 0.06
#define BENCH_STOP_NS     INT64_C(60000000000)
#define BENCH_VALUES_MAX  8
#define BENCH_TIMES_MAX   2
#define BENCH_RANKS       5 /* p50, p90, p99, p99.9, max */
#define BENCH_COLUMNS_MAX (2 + BENCH_VALUES_MAX + BENCH_TIMES_MAX * BENCH_RANKS)

/* A message's own work: so many operations of a chain that waits for itself, some 1 ns each
 * (`link` in a result). */
#define BENCH_CHAIN_HELP "own work of a message, in operations that wait for each other (0)"
static inline void bench_chain(uint64_t links)
{
    uint64_t value = links;
    for (; links > 0; links--)
        value = value * 6364136223846793005u + 1442695040888963407u;
    __asm__ volatile("" : : "r"(value)); /* it is not left out */
}

/* A number that a program takes beside those that all take. */
typedef struct bench_option {
    const char *name; /* "--pairs" */
    uint64_t *value;
    const char *help;
} bench_option;

typedef struct bench_settings {
    uint32_t workers; /* 0: the library's default */
    uint32_t repeats;
    FILE *json;              /* one line a result; NULL: none */
    const char *percentiles; /* folder for percentile files; NULL: none */
    bool progress;           /* says on stderr how far it is */
    bool terminal;           /* stderr is one */
    bool cold;               /* no run to warm up, and no probe of the machine */
    bool steady;             /* no turn ends by its time */
    char commit[BENCH_COMMIT_MAX];
} bench_settings;

/* What one run found. */
typedef struct bench_sample {
    double figure;                   /* in the unit of the workload */
    double values[BENCH_VALUES_MAX]; /* as the workload names them */
    double foreign;                  /* share of the processors that others used */
    place_seen seen[2];              /* before and after; all 0: not probed */
    uint64_t peak_bytes;             /* resident set, its highest */
    uint32_t workers;                /* that ran */
    axo_stats stats;                 /* the system's counters at its end */
} bench_sample;

/* Latencies in ns that each run records; the harness empties them before a run. */
typedef struct bench_times {
    const char *name; /* "" for the workload's main one */
    histogram *all;   /* NULL: none */
} bench_times;

typedef struct bench_value {
    const char *name; /* with its unit, "bytes_counted"; NULL: none */
    bool less;        /* less is better */
} bench_value;

/* A workload: what it is called and how it runs once. */
typedef struct bench_work {
    const char *name;    /* "W1" */
    const char *unit;    /* "messages/s" */
    const char *options; /* inside of a JSON object: "\"pairs\":8" */
    void (*run)(const bench_settings *settings, void *arg, bench_sample *sample);
    void *arg;
    bool less; /* less of the figure is better */
    bench_value values[BENCH_VALUES_MAX];
    bench_times times[BENCH_TIMES_MAX];
} bench_work;

/* Ends the program unless all is well. */
static inline void bench_check(axo_status status, const char *what)
{
    if (status == AXO_OK)
        return;
    (void)fprintf(stderr, BENCH_NAME ": %s: %s\n", what, axo_status_text(status));
    exit(1);
}

/* Ends the program unless a number is the one that it has to be. */
static inline void bench_expect(uint64_t found, uint64_t wanted, const char *what)
{
    if (found == wanted)
        return;
    (void)fprintf(stderr, BENCH_NAME ": %s: %" PRIu64 ", not %" PRIu64 "\n", what, found, wanted);
    exit(1);
}

/* ---- settings ------------------------------------------------------------------------------ */

static inline void bench_usage(const char *program, const bench_option *options, uint32_t count)
{
    (void)fprintf(stderr,
                  "usage: %s [option...]\n"
                  "  --workers N        worker threads; 0: the library's default\n"
                  "  --repeats N        runs of each workload, after one to warm up (5)\n"
                  "  --json FILE        append one JSON line a result; -: standard output\n"
                  "  --percentiles DIR  write each latency distribution to DIR/NAME.hgrm\n"
                  "  --progress         say how far it is, also if stderr is no terminal\n"
                  "  --cold             no run to warm up, no probe of the processors\n"
                  "  --steady           turns end by their messages alone, not by time\n",
                  program);
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(stderr, "  %s N    %s (%" PRIu64 ")\n", options[i].name, options[i].help,
                      *options[i].value);
    exit(2);
}

/* Reads a whole number; false if it is none. */
static inline bool bench_number(const char *text, uint64_t *value)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    return *end == '\0';
}

/* Reads one option that every program takes; false if it is none or is not good. */
static inline bool bench_setting_read(bench_settings *settings, char **arg)
{
    uint64_t number = 0;
    if (strcmp(*arg, "--workers") == 0) {
        bool good = bench_number(arg[1], &number) && number <= AXO_WORKERS_MAX;
        settings->workers = (uint32_t)number;
        return good;
    }
    if (strcmp(*arg, "--repeats") == 0) {
        bool good = bench_number(arg[1], &number) && number >= 1 && number <= BENCH_REPEATS_MAX;
        settings->repeats = (uint32_t)number;
        return good;
    }
    if (strcmp(*arg, "--json") == 0 && arg[1] != NULL) {
        settings->json = strcmp(arg[1], "-") == 0 ? stdout : fopen(arg[1], "a");
        return settings->json != NULL;
    }
    if (strcmp(*arg, "--percentiles") == 0 && arg[1] != NULL) {
        settings->percentiles = arg[1];
        return true;
    }
    return false;
}

/* Fills the settings and the program's own options; ends the program with help if it cannot. */
static inline void bench_settings_read(bench_settings *settings, char **argv,
                                       const bench_option *options, uint32_t count)
{
    *settings = (bench_settings){.repeats = 5, .terminal = isatty(STDERR_FILENO) == 1};
    settings->progress = settings->terminal;
    for (char **arg = argv + 1; *arg != NULL; arg++) {
        if (strcmp(*arg, "--progress") == 0) {
            settings->progress = true;
            continue;
        }
        if (strcmp(*arg, "--cold") == 0) {
            settings->cold = true;
            continue;
        }
        if (strcmp(*arg, "--steady") == 0) {
            settings->steady = true;
            continue;
        }
        bool good = bench_setting_read(settings, arg);
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(*arg, options[i].name) == 0)
                good = bench_number(arg[1], options[i].value);
        }
        if (!good)
            bench_usage(argv[0], options, count);
        arg++;
    }
    machine_commit(settings->commit);
}

/* ---- a system for one run ------------------------------------------------------------------ */

static inline axo_system *bench_system_start(const bench_settings *settings)
{
    axo_options options = AXO_OPTIONS(.workers = settings->workers, .seed = 1,
                                      .no_quantum_us = settings->steady);
    axo_system *system;
    bench_check(axo_system_start(&options, &system), "start");
    return system;
}

/* Checks that every message is accounted for; ends the program if not. */
static inline void bench_accounting(axo_system *system, axo_stats *stats)
{
    *stats = (axo_stats)AXO_STATS(.sent = 0);
    bench_check(axo_system_stats(system, stats), "stats");
    if (stats->sent == stats->handled + stats->dead + stats->dropped)
        return;
    (void)fprintf(stderr,
                  BENCH_NAME ": messages are lost: sent %" PRIu64 ", handled %" PRIu64
                  ", dead %" PRIu64 ", dropped %" PRIu64 "\n",
                  stats->sent, stats->handled, stats->dead, stats->dropped);
    exit(1);
}

/* Waits for a system that one of its actors shuts down, takes it apart, and leaves its counts. */
static inline void bench_system_finish(axo_system *system, bench_sample *sample, axo_stats *stats)
{
    axo_outcome outcome;
    bench_check(axo_system_wait(system, BENCH_STOP_NS, &outcome), "wait");
    if (outcome.failed != 0) {
        (void)fprintf(stderr, BENCH_NAME ": the system failed: %s\n", outcome.text);
        exit(1);
    }
    sample->peak_bytes = bench_peak_bytes();
    sample->workers = axo_system_workers(system);
    bench_accounting(system, stats);
    sample->stats = *stats;
    bench_check(axo_system_destroy(system), "destroy");
}

static inline void bench_system_end(axo_system *system, bench_sample *sample)
{
    axo_stats stats;
    bench_system_finish(system, sample, &stats);
}

/* Spawns an actor below /user whose construct gets the pointer `shared`. */
static inline axo_ref bench_root(axo_system *system, const axo_class *cls, void *shared)
{
    axo_props props = AXO_PROPS(.cls = cls, .args = &shared, .args_size = sizeof shared);
    axo_ref ref;
    bench_check(axo_system_spawn(system, &props, &ref), "spawn");
    return ref;
}

/* A whole run: a system, one actor in it that is sent `tag`, and the end that it calls for. */
static inline void bench_system_run(const bench_settings *settings, const axo_class *cls,
                                    void *shared, uint32_t tag, bench_sample *sample,
                                    axo_stats *stats)
{
    axo_system *system = bench_system_start(settings);
    axo_ref root = bench_root(system, cls, shared);
    bench_check(axo_system_send(system, root, tag, NULL, 0), "send");
    bench_system_finish(system, sample, stats);
}

/* ---- summary ------------------------------------------------------------------------------- */

/* One run, as its columns: the figure, the peak in MiB, the values, the ranks of the times. */
typedef struct bench_row {
    double columns[BENCH_COLUMNS_MAX];
    bench_sample sample;
} bench_row;

typedef struct bench_spread {
    double median;
    double least;
    double most;
} bench_spread;

typedef struct bench_result {
    const bench_row *rows;
    uint32_t count;
    uint32_t disturbed;        /* of the rows */
    place_word where;          /* of all rows */
    const histogram *times[BENCH_TIMES_MAX]; /* of all rows together */
} bench_result;

static const char *const bench_ranks[BENCH_RANKS] = {"p50", "p90", "p99", "p99.9", "max"};

static inline void bench_row_fill(bench_row *row, const bench_work *work)
{
    static const double quantiles[BENCH_RANKS] = {0.5, 0.9, 0.99, 0.999, 1.0};
    uint32_t at = 0;
    row->columns[at++] = row->sample.figure;
    row->columns[at++] = (double)row->sample.peak_bytes / 1048576.0;
    for (uint32_t i = 0; i < BENCH_VALUES_MAX; i++)
        row->columns[at++] = row->sample.values[i];
    for (uint32_t i = 0; i < BENCH_TIMES_MAX; i++) {
        for (uint32_t r = 0; r < BENCH_RANKS; r++)
            row->columns[at++] =
                work->times[i].all == NULL
                    ? 0.0
                    : (double)histogram_percentile(work->times[i].all, quantiles[r]);
    }
}

static inline int bench_compare(const void *one, const void *other)
{
    double first = *(const double *)one;
    double second = *(const double *)other;
    return (first > second) - (first < second);
}

static inline bench_spread bench_spread_of(const bench_result *result, uint32_t column)
{
    double sorted[BENCH_REPEATS_MAX];
    for (uint32_t i = 0; i < result->count; i++)
        sorted[i] = result->rows[i].columns[column];
    qsort(sorted, result->count, sizeof *sorted, bench_compare);
    uint32_t middle = result->count / 2;
    return (bench_spread){.median = (sorted[middle] + sorted[(result->count - 1) / 2]) / 2.0,
                          .least = sorted[0],
                          .most = sorted[result->count - 1]};
}

/* The mean over the rows of what was seen: < 0 is not known, and not in it. */
static inline place_seen bench_seen(const bench_result *result)
{
    place_seen mean = {.line_ns = 0.0};
    double known = 0.0;
    for (uint32_t i = 0; i < 2 * result->count; i++) {
        const place_seen *one = &result->rows[i / 2].sample.seen[i % 2];
        mean.link_ns += one->link_ns / (2.0 * result->count);
        known += one->line_ns >= 0.0 ? 1.0 : 0.0;
        mean.line_ns += one->line_ns >= 0.0 ? one->line_ns : 0.0;
    }
    mean.line_ns = known > 0.0 ? mean.line_ns / known : -1.0;
    return mean;
}

/* ---- a line for people --------------------------------------------------------------------- */

static inline void bench_print_ns(double ns)
{
    if (ns < 1e4)
        (void)printf("%.0f ns", ns);
    else if (ns < 1e7)
        (void)printf("%.1f us", ns / 1e3);
    else
        (void)printf("%.1f ms", ns / 1e6);
}

static inline void bench_print_line(const bench_work *work, const bench_result *result)
{
    size_t length = strlen(work->unit);
    bool rate = length > 2 && strcmp(work->unit + length - 2, "/s") == 0;
    bench_spread figure = bench_spread_of(result, 0);
    bool mega = rate && figure.median >= 1e5;
    double scale = mega ? 1e6 : 1.0;
    (void)printf("%-5s %9.3f %s%s  (min %.3f, max %.3f)", work->name, figure.median / scale,
                 mega ? "M " : "", work->unit, figure.least / scale, figure.most / scale);
    for (uint32_t i = 0; i < BENCH_VALUES_MAX && work->values[i].name != NULL; i++)
        (void)printf("  %s %.6g", work->values[i].name, bench_spread_of(result, 2 + i).median);
    for (uint32_t i = 0; i < BENCH_TIMES_MAX && work->times[i].all != NULL; i++) {
        const char *name = work->times[i].name;
        (void)printf(" %s%s ", name[0] == '\0' ? "" : " ", name);
        for (uint32_t r = 0; r < BENCH_RANKS; r++) {
            uint32_t column = 2 + BENCH_VALUES_MAX + i * BENCH_RANKS + r;
            (void)printf("%s%s ", r == 0 ? "" : ", ", bench_ranks[r]);
            bench_print_ns(bench_spread_of(result, column).median);
        }
    }
    (void)printf("  peak %.1f MiB  %" PRIu32 " workers", bench_spread_of(result, 1).most,
                 result->rows[0].sample.workers);
    place_seen seen = bench_seen(result);
    if (seen.link_ns > 0.0)
        (void)printf("  %s (line %.0f ns, link %.2f ns)", place_words[result->where], seen.line_ns,
                     seen.link_ns);
    (void)printf("%s\n", result->disturbed > 0 ? "  disturbed by other processes" : "");
    (void)fflush(stdout);
}

/* ---- a line for programs ------------------------------------------------------------------- */

static inline void bench_json_spread(FILE *out, const bench_result *result, uint32_t column,
                                     bool less)
{
    bench_spread spread = bench_spread_of(result, column);
    (void)fprintf(out, "\"better\":\"%s\",\"median\":%.9g,\"min\":%.9g,\"max\":%.9g",
                  less ? "less" : "more", spread.median, spread.least, spread.most);
}

static inline void bench_json_values(FILE *out, const bench_work *work, const bench_result *result)
{
    (void)fputs("\"peak_mib\":{", out);
    bench_json_spread(out, result, 1, true);
    for (uint32_t i = 0; i < BENCH_VALUES_MAX && work->values[i].name != NULL; i++) {
        (void)fprintf(out, "},\"%s\":{", work->values[i].name);
        bench_json_spread(out, result, 2 + i, work->values[i].less);
    }
    for (uint32_t i = 0; i < BENCH_TIMES_MAX && work->times[i].all != NULL; i++) {
        const char *name = work->times[i].name;
        for (uint32_t r = 0; r < BENCH_RANKS; r++) {
            (void)fprintf(out, "},\"%s%s%s_ns\":{", name, name[0] == '\0' ? "" : "_",
                          bench_ranks[r]);
            bench_json_spread(out, result, 2 + BENCH_VALUES_MAX + i * BENCH_RANKS + r, true);
        }
    }
    (void)fputs("}", out);
}

/* What the last run's system counted. */
static inline void bench_json_counters(FILE *out, const axo_stats *stats)
{
    (void)fprintf(out,
                  ",\"counters\":{\"handled\":%" PRIu64 ",\"spawned\":%" PRIu64
                  ",\"restarts\":%" PRIu64 ",\"turns\":%" PRIu64 ",\"steals\":%" PRIu64
                  ",\"parks\":%" PRIu64 ",\"wakes\":%" PRIu64 "}",
                  stats->handled, stats->spawned, stats->restarts, stats->turns, stats->steals,
                  stats->parks, stats->wakes);
}

static inline void bench_json_line(const bench_settings *settings, const bench_work *work,
                                   const bench_result *result)
{
    FILE *out = settings->json;
    uint64_t peak = 0;
    for (uint32_t i = 0; i < result->count; i++) {
        uint64_t bytes = result->rows[i].sample.peak_bytes;
        peak = bytes > peak ? bytes : peak;
    }
    (void)fprintf(out, "{\"bench\":\"%s\",\"unit\":\"%s\",", work->name, work->unit);
    bench_json_spread(out, result, 0, work->less);
    (void)fprintf(out,
                  ",\"repeats\":%" PRIu32 ",\"disturbed\":%" PRIu32 ",\"peak_rss_bytes\":%" PRIu64
                  ",\"workers\":%" PRIu32 ",\"values\":{",
                  result->count, result->disturbed, peak, result->rows[0].sample.workers);
    bench_json_values(out, work, result);
    (void)fputs("}", out);
    bench_json_counters(out, &result->rows[result->count - 1].sample.stats);
    place_seen seen = bench_seen(result);
    if (seen.link_ns > 0.0)
        (void)fprintf(out, ",\"place\":\"%s\",\"line_ns\":%.2f,\"link_ns\":%.4f",
                      place_words[result->where], seen.line_ns, seen.link_ns);
    (void)fprintf(out, ",\"options\":{%s},\"machine\":{", work->options);
    machine_json(out);
    (void)fputs("},\"build\":{", out);
    machine_build_json(out);
    (void)fprintf(out, "},\"commit\":\"%s\"}\n", settings->commit);
    (void)fflush(out);
}

static inline void bench_percentile_files(const bench_settings *settings, const bench_work *work,
                                          const bench_result *result)
{
    for (uint32_t i = 0; i < BENCH_TIMES_MAX && work->times[i].all != NULL; i++) {
        char path[4096];
        const char *name = work->times[i].name;
        (void)snprintf(path, sizeof path, "%s/%s%s%s.hgrm", settings->percentiles, work->name,
                       name[0] == '\0' ? "" : "-", name);
        FILE *file = fopen(path, "w");
        if (file == NULL) {
            (void)fprintf(stderr, BENCH_NAME ": cannot write %s\n", path);
            exit(1);
        }
        histogram_print(result->times[i], file);
        (void)fclose(file); /* what is cut has no footer */
    }
}

/* ---- measuring ----------------------------------------------------------------------------- */

static inline void bench_once(const bench_settings *settings, const bench_work *work,
                              bench_row *row)
{
    bench_usage_mark before;
    bench_usage_mark after;
    row->sample = (bench_sample){.figure = 0.0};
    for (uint32_t i = 0; i < BENCH_TIMES_MAX && work->times[i].all != NULL; i++)
        memset(work->times[i].all, 0, sizeof *work->times[i].all);
    bench_peak_reset();
    place_seen seen = settings->cold ? (place_seen){.line_ns = 0.0} : place_look();
    bench_mark(&before);
    work->run(settings, work->arg, &row->sample);
    bench_mark(&after);
    row->sample.foreign = bench_foreign(&before, &after);
    row->sample.seen[0] = seen;
    row->sample.seen[1] = settings->cold ? seen : place_look();
    bench_row_fill(row, work);
}

/* The runs of one sort: a place, or disturbed. */
typedef struct bench_runs {
    bench_row rows[BENCH_REPEATS_MAX];
    histogram times[BENCH_TIMES_MAX];
    uint32_t count;
} bench_runs;

#define BENCH_LOUD  PLACES       /* the sort of those that others disturbed */
#define BENCH_SORTS (PLACES + 1) /* and one for each place */

/* Of a run that is not probed the place is not said. */
static inline uint32_t bench_sort(const bench_settings *settings, const bench_sample *sample)
{
    if (sample->foreign > BENCH_FOREIGN_MAX)
        return BENCH_LOUD;
    return settings->cold ? PLACE_ALONE : place_of(&sample->seen[0], &sample->seen[1]);
}

static inline void bench_keep(bench_runs *runs, const bench_work *work, const bench_row *row)
{
    runs->rows[runs->count++] = *row;
    for (uint32_t i = 0; i < BENCH_TIMES_MAX && work->times[i].all != NULL; i++)
        histogram_add(&runs->times[i], work->times[i].all);
}

static inline void bench_report(const bench_settings *settings, const bench_work *work,
                                const bench_runs *runs, place_word where,
                                bool disturbed)
{
    bench_result result = {.rows = runs->rows,
                           .count = runs->count,
                           .where = where,
                           .disturbed = disturbed ? runs->count : 0};
    for (uint32_t i = 0; i < BENCH_TIMES_MAX; i++)
        result.times[i] = &runs->times[i];
    bench_print_line(work, &result);
    if (settings->json != NULL)
        bench_json_line(settings, work, &result);
    if (settings->percentiles != NULL)
        bench_percentile_files(settings, work, &result);
}

static inline void bench_progress(const bench_settings *settings, const bench_work *work,
                                  const bench_runs *runs)
{
    if (!settings->progress)
        return;
    (void)fprintf(stderr, "%s%s: of %" PRIu32 " runs", settings->terminal ? "\r" : "", work->name,
                  settings->repeats);
    for (uint32_t i = 0; i < BENCH_SORTS; i++) {
        if (runs[i].count > 0)
            (void)fprintf(stderr, " %" PRIu32 " %s", runs[i].count,
                          i == BENCH_LOUD ? "disturbed" : place_words[i]);
    }
    (void)fputs(settings->terminal ? "\033[K" : "\n", stderr);
}

static inline void bench_progress_end(const bench_settings *settings)
{
    if (settings->terminal && settings->progress)
        (void)fputs("\r\033[K", stderr);
}

/* The runs of one place if there are enough, else all that were not disturbed, as mixed ones. */
static inline void bench_settle(const bench_settings *settings, const bench_work *work,
                                bench_runs *runs)
{
    for (uint32_t i = 0; i < PLACE_MIXED; i++) {
        if (runs[i].count == settings->repeats) {
            bench_report(settings, work, &runs[i], (place_word)i, false);
            return;
        }
    }
    bench_runs *mixed = &runs[PLACE_MIXED];
    for (uint32_t i = 0; i < PLACE_MIXED; i++) {
        for (uint32_t k = 0; k < runs[i].count && mixed->count < BENCH_REPEATS_MAX; k++)
            mixed->rows[mixed->count++] = runs[i].rows[k];
        for (uint32_t k = 0; k < BENCH_TIMES_MAX && work->times[k].all != NULL; k++)
            histogram_add(&mixed->times[k], &runs[i].times[k]);
    }
    bool calm = mixed->count >= settings->repeats;
    bench_report(settings, work, calm ? mixed : &runs[BENCH_LOUD], PLACE_MIXED, !calm);
}

/* Runs a workload once to warm up, then as often as asked, and prints the result. */
static inline void bench_measure(const bench_settings *settings, const bench_work *work)
{
    bench_row row;
    uint32_t calm = 0;
    uint32_t enough = 3 * settings->repeats;
    bench_runs *runs = calloc(BENCH_SORTS, sizeof *runs);
    bench_check(runs == NULL ? AXO_ENOMEM : AXO_OK, "memory for the results");
    bench_progress(settings, work, runs);
    if (!settings->cold)
        bench_once(settings, work, &row);
    enough = enough > BENCH_REPEATS_MAX ? BENCH_REPEATS_MAX : enough;
    for (bool more = true; more;) {
        bench_once(settings, work, &row);
        uint32_t sort = bench_sort(settings, &row.sample);
        bench_keep(&runs[sort], work, &row);
        calm += sort == BENCH_LOUD ? 0 : 1;
        more = calm < enough && (sort == PLACE_MIXED || runs[sort].count < settings->repeats);
        bench_progress(settings, work, runs);
    }
    bench_progress_end(settings);
    bench_settle(settings, work, runs);
    free(runs);
}

#endif
