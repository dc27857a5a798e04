/* attempt.h - schedules in a process of their own, and what is known of the last one. */
#ifndef FIBER_ATTEMPT_H
#define FIBER_ATTEMPT_H

#include "stage.h"

#define ATTEMPT_LOG_MAX 200000
#define ATTEMPT_WHY 256

/* Shared with the process that plays. */
typedef struct attempt {
    const stage_scene *scene;
    char strategy[32];
    uint64_t seed;        /* of the first schedule, then of the running one */
    uint64_t count;       /* schedules at most */
    bool given;           /* the log is replayed */
    bool loud;            /* the chart is printed at the end */
    bool twice;           /* now and then a seed is played twice */

    uint64_t played;
    uint64_t points;
    uint64_t points_most;
    uint64_t choices_most;
    uint64_t again;       /* played twice */
    uint64_t differ;      /* with another digest */
    bool complete;        /* a walk has come to its end */
    bool failed;
    uint64_t digest;      /* of the last one */
    char why[ATTEMPT_WHY];
    size_t log_count;
    axo__sim_choice log[ATTEMPT_LOG_MAX];
} attempt;

/* A record that a child process can write to. */
attempt *attempt_make(const stage_scene *scene, const char *strategy, uint64_t seed,
                      uint64_t count);

/* Whether its schedules are those of a walk, which has no seed. */
bool attempt_walks(const attempt *it);

/* Plays; false: one failed, and everything is known about it. */
bool attempt_play(attempt *it);

/* The length of the scene: choices of a run in which nothing is chosen. */
uint64_t attempt_length(const stage_scene *scene);

#endif
