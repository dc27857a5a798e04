/* result.h - what was measured of one case: figures with a value a run, and distributions. */
#ifndef RESTART_BENCH_RESULT_H
#define RESTART_BENCH_RESULT_H

#include "histogram.h"
#include "plan.h"
#include "recorder.h"

#define FIGURES_MAX 64
#define TIMES_MAX   12
#define NAME_MAX_   32

/* A figure, by a name with its unit at the end: "p99_ns", "restarts_per_s". */
typedef struct case_figure {
    char name[NAME_MAX_];
    bool less; /* less is better */
    uint32_t runs;
    double values[PLAN_REPEATS_MAX];
} case_figure;

/* A distribution in ns, of all runs together. "" is the main one. */
typedef struct case_times {
    char name[NAME_MAX_];
    histogram *all;
} case_times;

typedef struct case_result {
    const plan_case *what;
    bool complete; /* all runs were taken, and none was cut short */
    uint32_t runs;
    uint32_t disturbed; /* runs in which others used more than BENCH_FOREIGN_MAX */
    uint32_t workers;
    uint64_t peak_bytes;
    axo_stats stats; /* the system's counters at the end of the last run */
    uint32_t figures_count;
    uint32_t times_count;
    case_figure figures[FIGURES_MAX];
    case_times times[TIMES_MAX];
    recorder_row *rows; /* marks of the last run; NULL: none */
    uint32_t rows_count;
} case_result;

typedef struct case_spread {
    double median;
    double least;
    double most;
} case_spread;

/* Adds a value of one more run. */
void result_figure(case_result *own, const char *name, bool less, double value);

/* Adds a run's distribution, and the figures of its percentiles: NAME_p50_ns and so on. */
void result_times(case_result *own, const char *name, const histogram *all);

/* NULL: there is none. */
const case_figure *result_find(const case_result *own, const char *name);
const histogram *result_times_find(const case_result *own, const char *name);

case_spread figure_spread(const case_figure *one);

/* The median of a figure; 0 if there is none. */
double result_median(const case_result *own, const char *name);

/* The figure that stands for the whole: the next message's p50, a storm's healthy p99.9. */
const char *result_main(const case_result *own);

void result_free(case_result *own);

#endif
