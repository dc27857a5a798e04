/* options.h - what the command line asks for, between options.c, which reads it, and cases.c. */
#ifndef RESTART_BENCH_OPTIONS_H
#define RESTART_BENCH_OPTIONS_H

#include "plan.h"

#define LIST_MAX 64

/* The values of an option that takes several. */
typedef struct list {
    double values[LIST_MAX];
    uint32_t count;
} list;

/* What cases are made of: each of all the lists with each. */
typedef struct wishes {
    list mode;
    list how;
    list depth;
    list children;
    list family;
    list siblings;
    list scope;
    list queue;
    list storm;
    list rate;
    list burn;
    list burners;
    const char *suite;
    double total; /* s; 0: not given */
    bool duration;
} wishes;

static const char *const families[] = {"keep", "remake"};
static const char *const scopes[] = {"one", "all", "rest"};

/* Says what is wrong with the options and ends the program with 2. */
_Noreturn void options_bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reads the values of a list by its name. */
void options_list_read(wishes *all, const char *name, const char *text);

/* Makes the plan's cases. */
void options_cases(plan *own, const wishes *all);

#endif
