/* report.h - the results as tables, lines, distributions and pictures. */
#ifndef RESTART_BENCH_REPORT_H
#define RESTART_BENCH_REPORT_H

#include "bench.h"
#include "files.h"
#include "result.h"

typedef struct report {
    const plan *plan;
    const clock_gauge *gauge;
    char commit[BENCH_COMMIT_MAX];
    bool complete; /* nothing was interrupted */
    uint32_t count;
    case_result results[PLAN_CASES_MAX]; /* each with at least one run */
} report;

/* Tables for people: as text, or as Markdown with what a reader elsewhere must know. */
void report_tables(const report *own, FILE *out, bool markdown);

void report_json(const report *own, FILE *out);
void report_csv(const report *own, FILE *out);
void report_marks(const report *own, FILE *out);

/* HdrHistogram's percentile text of every distribution: FOLDER/CASE.hgrm, FOLDER/CASE-WHAT.hgrm. */
void report_percentiles(const report *own, files *out, const char *folder);

/* FOLDER/restart-latency, -phases, -storm as .svg and .png, and the script .gp of each. */
void report_plots(const report *own, files *out, const char *folder);

/* "271 ns", "1.94 us". */
const char *report_ns(char out[32], double ns);

#endif
