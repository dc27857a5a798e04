/* plan.h - what axo-restart-bench is to measure and where the results go: made by options.c. */
#ifndef RESTART_BENCH_PLAN_H
#define RESTART_BENCH_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <axo/axo.h>

#include "restart_case.h"

#define PLAN_CASES_MAX   256
#define PLAN_NAME_MAX    96
#define PLAN_REPEATS_MAX 100
#define PLAN_STORM_MAX   50.0 /* percent: half of the actors never fail */

/* A storm: a sender follows a schedule whatever happens, and some of its messages make one half of
 * the siblings fail. */
typedef struct storm_case {
    restart_how how;
    double percent;    /* of all messages */
    uint32_t siblings; /* from 2; every second one may fail */
    double rate;       /* messages a second */
    uint32_t burn_ns;  /* work of a message */
    uint64_t seed;
} storm_case;

typedef struct plan_case {
    char name[PLAN_NAME_MAX]; /* of files and rows: what differs from the plainest case */
    bool storm;
    restart_case restart;
    storm_case storm_of;
} plan_case;

typedef struct plan {
    uint32_t workers; /* 0: the library's default; storms: one processor is the sender's */
    uint32_t repeats;
    double duration;   /* s, of a run; storms: of each of its halves */
    double warmup;     /* s, before it, not measured */
    uint32_t at_least; /* restarts a run */
    uint64_t seed;
    bool phases;
    bool list; /* only say what the cases are */
    bool progress;
    const char *json; /* files and folders; NULL: none; "-": standard output */
    const char *csv;
    const char *markdown;
    const char *marks;
    const char *percentiles;
    const char *plots;
    bool plots_if;      /* plots are left out if gnuplot is not there */
    const char *out;    /* folder for all of them; NULL: none */
    char command[1024]; /* the options but those of where it goes */
    uint32_t count;
    plan_case cases[PLAN_CASES_MAX];
} plan;

/* Fills the plan. On a bad option it says what is wrong and ends the program with 2; --help and
 * --version print and end it with 0. Nothing is written before that. */
void plan_read(plan *own, int argc, char **argv);

/* The inside of a JSON object: the case's parameters. */
void plan_case_json(const plan *own, const plan_case *what, FILE *out);

#endif
