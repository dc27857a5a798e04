/* place.h - how far apart two processors are now, and how fast they run: a cache line's way from
 * one to the other, and a chain of operations that wait for each other.
 *
 * On a virtual machine both change from one minute to the next, and a message between workers costs
 * what the line does. Results are comparable that were made near, or far, at one speed. */
#ifndef BENCH_PLACE_H
#define BENCH_PLACE_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "clock.h"

#define PLACE_NEAR_NS  80.0 /* a way of less is near: one cache has both */
#define PLACE_SPEED    1.1  /* speeds that differ by less are the same */
#define PLACE_LIMIT_NS 50000000u
#define PLACE_TRIPS    200u /* there and back, of a batch */
#define PLACE_BATCHES  15u
#define PLACE_LINKS    20000u
#define PLACE_CHAINS   5u

typedef struct place_seen {
    double line_ns; /* a cache line's way, one direction; 0: one processor; < 0: not known */
    double link_ns; /* one operation of the chain */
} place_seen;

typedef enum place_word { PLACE_NEAR, PLACE_FAR, PLACE_ALONE, PLACE_MIXED, PLACES } place_word;

static const char *const place_words[PLACES] = {"near", "far", "alone", "mixed"};

/* ---- the chain ----------------------------------------------------------------------------- */

/* The least of a few: what else ran meanwhile is not in it. */
static inline double place_link(void)
{
    uint64_t least = UINT64_MAX;
    volatile uint64_t seed = 1;
    for (uint32_t i = 0; i < PLACE_CHAINS; i++) {
        uint64_t value = seed;
        uint64_t begin = clock_ns();
        for (uint32_t link = 0; link < PLACE_LINKS; link++)
            value = value * 6364136223846793005u + 1442695040888963407u;
        seed = value;
        uint64_t took = clock_ns() - begin;
        least = took < least ? took : least;
    }
    return (double)least / PLACE_LINKS;
}

/* ---- the line ------------------------------------------------------------------------------ */

/* A line that goes to and fro: odd, it is the helper's turn. */
typedef struct place_line {
    _Alignas(128) _Atomic uint32_t ball;
    _Alignas(128) int processor; /* the helper's */
    _Atomic uint32_t over; /* not in the ball, where the helper's answer might come after it */
} place_line;

static inline void place_pin(int processor)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one); /* else where it is */
}

static void *place_helper(void *arg)
{
    place_line *line = arg;
    place_pin(line->processor);
    while (atomic_load_explicit(&line->over, memory_order_relaxed) == 0) {
        uint32_t ball = atomic_load_explicit(&line->ball, memory_order_acquire);
        if ((ball & 1u) != 0)
            atomic_store_explicit(&line->ball, ball + 1, memory_order_release);
    }
    return NULL;
}

/* One trip there and back; false: the helper has no processor. */
static inline bool place_trip(place_line *line, uint32_t ball, uint64_t limit)
{
    uint32_t looks = 0;
    atomic_store_explicit(&line->ball, ball + 1, memory_order_release);
    while (atomic_load_explicit(&line->ball, memory_order_acquire) != ball + 2) {
        if ((++looks & 4095u) == 0 && clock_ns() > limit)
            return false;
    }
    return true;
}

static inline int place_order(const void *one, const void *other)
{
    double first = *(const double *)one;
    double second = *(const double *)other;
    return (first > second) - (first < second);
}

/* One batch, its mean way in ns; < 0: the helper has no processor. */
static inline double place_batch(place_line *line, uint32_t ball, uint64_t limit)
{
    uint64_t begin = clock_ns();
    for (uint32_t i = 0; i < PLACE_TRIPS; i++) {
        if (!place_trip(line, ball + 2 * i, limit))
            return -1.0;
    }
    return (double)(clock_ns() - begin) / (2.0 * PLACE_TRIPS);
}

/* The median of the batches that the time allows; < 0: of none. */
static inline double place_batches(place_line *line)
{
    double ways[PLACE_BATCHES];
    uint32_t count = 0;
    uint64_t limit = clock_ns() + PLACE_LIMIT_NS;
    while (count < PLACE_BATCHES) {
        ways[count] = place_batch(line, 2 * PLACE_TRIPS * count, limit);
        if (ways[count] < 0.0)
            break;
        count++;
    }
    qsort(ways, count, sizeof *ways, place_order);
    return count == 0 ? -1.0 : ways[count / 2];
}

/* The first two processors that this thread may run on; false: there is one. */
static inline bool place_two(const cpu_set_t *mine, int two[2])
{
    int found = 0;
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++) {
        if (CPU_ISSET((size_t)i, mine))
            two[found++] = i;
    }
    return found == 2;
}

static inline double place_way(void)
{
    place_line line = {.ball = 0};
    cpu_set_t mine;
    int two[2];
    pthread_t helper;
    if (pthread_getaffinity_np(pthread_self(), sizeof mine, &mine) != 0)
        return -1.0;
    if (!place_two(&mine, two))
        return 0.0;
    line.processor = two[1];
    place_pin(two[0]);
    double way = -1.0;
    if (pthread_create(&helper, NULL, place_helper, &line) == 0) {
        way = place_batches(&line);
        atomic_store(&line.over, 1);
        (void)pthread_join(helper, NULL); /* it looks all the time */
    }
    (void)pthread_setaffinity_np(pthread_self(), sizeof mine, &mine); /* as it was */
    return way;
}

/* ---- both ---------------------------------------------------------------------------------- */

/* Some milliseconds: 50 at most for the line. */
static inline place_seen place_look(void)
{
    place_seen seen = {.link_ns = place_link()};
    seen.line_ns = place_way();
    return seen;
}

static inline bool place_same_speed(double one, double other)
{
    return one < other * PLACE_SPEED && other < one * PLACE_SPEED;
}

/* Where a run was, by what was seen before and after it: mixed, if it cannot be said. */
static inline place_word place_of(const place_seen *before, const place_seen *after)
{
    if (!place_same_speed(before->link_ns, after->link_ns) || before->line_ns < 0.0 ||
        after->line_ns < 0.0)
        return PLACE_MIXED;
    if (before->line_ns == 0.0 && after->line_ns == 0.0)
        return PLACE_ALONE;
    bool near = before->line_ns < PLACE_NEAR_NS;
    if (near != (after->line_ns < PLACE_NEAR_NS))
        return PLACE_MIXED;
    return near ? PLACE_NEAR : PLACE_FAR;
}

#endif
