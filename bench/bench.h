/* bench.h - the harness: settings, repeats, median and spread, one JSON line a result.
 *
 * A benchmark is one program: bench_settings_read, then for each workload bench_measure with a
 * function that runs it once in a fresh system. A run during which other processes used more than
 * BENCH_FOREIGN_MAX of the processors is disturbed: it is taken again, as often as there are
 * repeats; if the machine does not get quiet, the disturbed runs count and the result says so. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <axo/axo.h>

#include "clock.h"

#define BENCH_REPEATS_MAX 100
#define BENCH_FOREIGN_MAX 0.06
#define BENCH_STOP_NS     INT64_C(60000000000)

/* A number that a program takes beside --workers, --repeats and --json. */
typedef struct bench_option {
    const char *name; /* "--pairs" */
    uint64_t *value;
    const char *help;
} bench_option;

typedef struct bench_settings {
    uint32_t workers; /* 0: the library's default */
    uint32_t repeats;
    FILE *json; /* one line a result; NULL: none */
} bench_settings;

/* What one run found. */
typedef struct bench_sample {
    double figure;       /* in the unit of the workload */
    double foreign;      /* share of the processors that others used */
    uint64_t peak_bytes; /* resident set, its highest */
    uint32_t workers;    /* that ran */
} bench_sample;

/* A workload: what it is called and how it runs once. */
typedef struct bench_work {
    const char *name;    /* "W1" */
    const char *unit;    /* "messages/s" */
    const char *options; /* inside of a JSON object: "\"pairs\":8" */
    void (*run)(const bench_settings *settings, void *arg, bench_sample *sample);
    void *arg;
} bench_work;

/* Ends the program unless all is well. */
static inline void bench_check(axo_status status, const char *what)
{
    if (status == AXO_OK)
        return;
    (void)fprintf(stderr, "bench: %s: %s\n", what, axo_status_text(status));
    exit(1);
}

static inline void bench_usage(const char *program, const bench_option *options, uint32_t count)
{
    (void)fprintf(stderr,
                  "usage: %s [--workers N] [--repeats N] [--json FILE]\n"
                  "  --workers N    worker threads; 0: the library's default\n"
                  "  --repeats N    runs a workload, after one to warm up (5)\n"
                  "  --json FILE    append one JSON line a result; -: standard output\n",
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

/* Fills the settings and the program's own options; ends the program with help if it cannot. */
static inline void bench_settings_read(bench_settings *settings, char **argv,
                                       const bench_option *options, uint32_t count)
{
    uint64_t workers = 0;
    uint64_t repeats = 5;
    *settings = (bench_settings){.json = NULL};
    for (char **arg = argv + 1; *arg != NULL; arg += 2) {
        bool good = false;
        if (strcmp(*arg, "--workers") == 0)
            good = bench_number(arg[1], &workers);
        else if (strcmp(*arg, "--repeats") == 0)
            good = bench_number(arg[1], &repeats);
        else if (strcmp(*arg, "--json") == 0 && arg[1] != NULL) {
            settings->json = strcmp(arg[1], "-") == 0 ? stdout : fopen(arg[1], "a");
            good = settings->json != NULL;
        }
        for (uint32_t i = 0; i < count; i++) {
            if (strcmp(*arg, options[i].name) == 0)
                good = bench_number(arg[1], options[i].value);
        }
        if (!good)
            bench_usage(argv[0], options, count);
    }
    if (workers > AXO_WORKERS_MAX || repeats < 1 || repeats > BENCH_REPEATS_MAX)
        bench_usage(argv[0], options, count);
    settings->workers = (uint32_t)workers;
    settings->repeats = (uint32_t)repeats;
}

/* Writes the machine as the inside of a JSON object. */
static inline void bench_machine(FILE *out)
{
    char line[512];
    char cpu[256] = "unknown";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "model name : %255[^\n\"\\]", cpu) == 1)
            break;
    }
    if (file != NULL)
        (void)fclose(file); /* only read */
    cpu_set_t mine;
    int cpus = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 0;
    (void)fprintf(out, "\"cpu\":\"%s\",\"cpus\":%d,\"compiler\":\"%s\",\"library\":\"%s\"", cpu,
                  cpus, __VERSION__, axo_version());
}

/* ---- what a run used ----------------------------------------------------------------------- */

/* Seconds of processor time, of this process and of all; and the wall's. */
typedef struct bench_usage_mark {
    double own;
    double all;
    uint64_t wall_ns;
} bench_usage_mark;

static inline double bench_all_seconds(void)
{
    uint64_t used[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL)
        return 0.0;
    int read =
        fscanf(file,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64,
               &used[0], &used[1], &used[2], &used[3], &used[4], &used[5], &used[6], &used[7]);
    (void)fclose(file); /* only read */
    if (read != 8)
        return 0.0;
    uint64_t busy = used[0] + used[1] + used[2] + used[5] + used[6] + used[7];
    return (double)busy / 100.0; /* USER_HZ is 100 on every Linux ABI that matters here */
}

static inline void bench_mark(bench_usage_mark *mark)
{
    struct rusage own;
    (void)getrusage(RUSAGE_SELF, &own); /* cannot fail with these arguments */
    mark->own = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6;
    mark->all = bench_all_seconds();
    mark->wall_ns = clock_ns();
}

/* The share of all processors that other processes used between two marks. */
static inline double bench_foreign(const bench_usage_mark *from, const bench_usage_mark *to)
{
    cpu_set_t mine;
    int cpus = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
    double wall = (double)(to->wall_ns - from->wall_ns) / 1e9 * (double)cpus;
    double foreign = (to->all - from->all) - (to->own - from->own);
    return foreign > 0.0 && wall > 0.0 ? foreign / wall : 0.0;
}

/* Makes the peak of the resident set start anew, where the kernel lets us. */
static inline void bench_peak_reset(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file == NULL)
        return;
    (void)fputs("5", file); /* without it the peak is the program's, not the run's */
    (void)fclose(file);
}

static inline uint64_t bench_peak_bytes(void)
{
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %" SCNu64, &kib) == 1)
            break;
    }
    (void)fclose(file); /* only read */
    return kib * 1024;
}

/* ---- a system for one run ------------------------------------------------------------------ */

static inline axo_system *bench_system_start(const bench_settings *settings)
{
    axo_options options = AXO_OPTIONS(.workers = settings->workers, .seed = 1);
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
                  "bench: messages are lost: sent %" PRIu64 ", handled %" PRIu64 ", dead %" PRIu64
                  ", dropped %" PRIu64 "\n",
                  stats->sent, stats->handled, stats->dead, stats->dropped);
    exit(1);
}

/* Waits for a system that one of its actors shuts down, and takes it apart. */
static inline void bench_system_end(axo_system *system, bench_sample *sample)
{
    axo_outcome outcome;
    axo_stats stats;
    bench_check(axo_system_wait(system, BENCH_STOP_NS, &outcome), "wait");
    if (outcome.failed != 0) {
        (void)fprintf(stderr, "bench: the system failed: %s\n", outcome.text);
        exit(1);
    }
    sample->peak_bytes = bench_peak_bytes();
    sample->workers = axo_system_workers(system);
    bench_accounting(system, &stats);
    bench_check(axo_system_destroy(system), "destroy");
}

/* ---- measuring ----------------------------------------------------------------------------- */

static inline int bench_compare(const void *one, const void *other)
{
    double first = ((const bench_sample *)one)->figure;
    double second = ((const bench_sample *)other)->figure;
    return (first > second) - (first < second);
}

static inline void bench_print(const bench_settings *settings, const bench_work *work,
                               const bench_sample *samples, uint32_t count, uint32_t disturbed)
{
    double median = (samples[count / 2].figure + samples[(count - 1) / 2].figure) / 2.0;
    double least = samples[0].figure;
    double most = samples[count - 1].figure;
    uint64_t peak = 0;
    for (uint32_t i = 0; i < count; i++)
        peak = samples[i].peak_bytes > peak ? samples[i].peak_bytes : peak;
    (void)printf("%-5s %9.3f M%s  (min %.3f, max %.3f)  peak %.1f MiB  %" PRIu32 " workers%s\n",
                 work->name, median / 1e6, work->unit, least / 1e6, most / 1e6,
                 (double)peak / 1048576.0, samples[0].workers,
                 disturbed > 0 ? "  disturbed by other processes" : "");
    (void)fflush(stdout);
    if (settings->json == NULL)
        return;
    (void)fprintf(settings->json,
                  "{\"bench\":\"%s\",\"unit\":\"%s\",\"median\":%.0f,\"min\":%.0f,\"max\":%.0f,"
                  "\"repeats\":%" PRIu32 ",\"disturbed\":%" PRIu32 ",\"peak_rss_bytes\":%" PRIu64
                  ",\"workers\":%" PRIu32 ",\"options\":{%s},\"machine\":{",
                  work->name, work->unit, median, least, most, count, disturbed, peak,
                  samples[0].workers, work->options);
    bench_machine(settings->json);
    (void)fputs("}}\n", settings->json);
    (void)fflush(settings->json);
}

static inline void bench_once(const bench_settings *settings, const bench_work *work,
                              bench_sample *sample)
{
    bench_usage_mark before;
    bench_usage_mark after;
    *sample = (bench_sample){.figure = 0.0};
    bench_peak_reset();
    bench_mark(&before);
    work->run(settings, work->arg, sample);
    bench_mark(&after);
    sample->foreign = bench_foreign(&before, &after);
}

/* Runs a workload once to warm up, then as often as asked, and prints the result. */
static inline void bench_measure(const bench_settings *settings, const bench_work *work)
{
    bench_sample quiet[BENCH_REPEATS_MAX];
    bench_sample loud[BENCH_REPEATS_MAX];
    bench_sample sample;
    uint32_t quiet_count = 0;
    uint32_t loud_count = 0;
    bench_once(settings, work, &sample);
    while (quiet_count < settings->repeats && loud_count < settings->repeats) {
        bench_once(settings, work, &sample);
        if (sample.foreign <= BENCH_FOREIGN_MAX)
            quiet[quiet_count++] = sample;
        else
            loud[loud_count++] = sample;
    }
    bool calm = quiet_count == settings->repeats;
    bench_sample *samples = calm ? quiet : loud;
    qsort(samples, settings->repeats, sizeof *samples, bench_compare);
    bench_print(settings, work, samples, settings->repeats, calm ? 0 : loud_count);
}

#endif
