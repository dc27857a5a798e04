/* result.c - figures by name, their spread, and distributions of several runs. */
#include "result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void result_full(const char *what)
{
    (void)fprintf(stderr, "axo-restart-bench: no room for %s\n", what);
    exit(1);
}

static case_figure *result_figure_find(case_result *own, const char *name)
{
    for (uint32_t i = 0; i < own->figures_count; i++) {
        if (strcmp(own->figures[i].name, name) == 0)
            return &own->figures[i];
    }
    return NULL;
}

const case_figure *result_find(const case_result *own, const char *name)
{
    for (uint32_t i = 0; i < own->figures_count; i++) {
        if (strcmp(own->figures[i].name, name) == 0)
            return &own->figures[i];
    }
    return NULL;
}

void result_figure(case_result *own, const char *name, bool less, double value)
{
    case_figure *one = result_figure_find(own, name);
    if (one == NULL) {
        if (own->figures_count == FIGURES_MAX || strlen(name) >= NAME_MAX_)
            result_full(name);
        one = &own->figures[own->figures_count++];
        (void)strcpy(one->name, name);
        one->less = less;
    }
    if (one->runs == PLAN_REPEATS_MAX)
        result_full(name);
    one->values[one->runs++] = value;
}

const histogram *result_times_find(const case_result *own, const char *name)
{
    for (uint32_t i = 0; i < own->times_count; i++) {
        if (strcmp(own->times[i].name, name) == 0)
            return own->times[i].all;
    }
    return NULL;
}

static histogram *result_times_new(case_result *own, const char *name)
{
    case_times *one = &own->times[own->times_count];
    if (own->times_count == TIMES_MAX || strlen(name) >= NAME_MAX_)
        result_full(name);
    one->all = calloc(1, sizeof *one->all);
    if (one->all == NULL)
        result_full(name);
    (void)strcpy(one->name, name);
    own->times_count++;
    return one->all;
}

void result_times(case_result *own, const char *name, const histogram *all)
{
    static const struct {
        const char *name;
        double quantile;
    } ranks[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1.0}};
    char full[2 * NAME_MAX_];
    histogram *sum = NULL;
    if (all->count == 0)
        return;
    for (uint32_t i = 0; i < own->times_count; i++) {
        if (strcmp(own->times[i].name, name) == 0)
            sum = own->times[i].all;
    }
    histogram_add(sum != NULL ? sum : result_times_new(own, name), all);
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        (void)snprintf(full, sizeof full, "%s%s%s_ns", name, name[0] == '\0' ? "" : "_",
                       ranks[i].name);
        result_figure(own, full, true, (double)histogram_percentile(all, ranks[i].quantile));
    }
}

static int figure_compare(const void *one, const void *other)
{
    double first = *(const double *)one;
    double second = *(const double *)other;
    return (first > second) - (first < second);
}

case_spread figure_spread(const case_figure *one)
{
    double sorted[PLAN_REPEATS_MAX];
    if (one == NULL || one->runs == 0)
        return (case_spread){0};
    memcpy(sorted, one->values, one->runs * sizeof *sorted);
    qsort(sorted, one->runs, sizeof *sorted, figure_compare);
    return (case_spread){.median = (sorted[one->runs / 2] + sorted[(one->runs - 1) / 2]) / 2.0,
                         .least = sorted[0],
                         .most = sorted[one->runs - 1]};
}

double result_median(const case_result *own, const char *name)
{
    return figure_spread(result_find(own, name)).median;
}

const char *result_main(const case_result *own)
{
    return own->what->storm ? "p99.9_ns" : "p50_ns";
}

void result_free(case_result *own)
{
    for (uint32_t i = 0; i < own->times_count; i++)
        free(own->times[i].all);
    free(own->rows);
    memset(own, 0, sizeof *own);
}
