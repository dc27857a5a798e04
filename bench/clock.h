/* clock.h - the benchmarks' clocks: monotonic ns, and the cheapest counter that can be trusted.
 *
 * The counter is the processor's time stamp where Linux says that it runs at one rate and never
 * stops; it is calibrated against CLOCK_MONOTONIC. Elsewhere it is CLOCK_MONOTONIC itself. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

typedef struct clock_gauge {
    const char *source; /* "tsc" or "monotonic" */
    double ns_per_tick;
    double cost_ns; /* of one reading, mean of a million back to back */
    bool tsc;
} clock_gauge;

static inline uint64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail with this clock */
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One reading. The fence keeps the counter from being read before what stands above it is done. */
static inline uint64_t clock_ticks(const clock_gauge *gauge)
{
#if defined(__x86_64__)
    if (gauge->tsc) {
        _mm_lfence();
        return __rdtsc();
    }
#endif
    (void)gauge;
    return clock_ns();
}

/* Ticks from one reading to a later one as ns; 0 if the counter went backwards between cores. */
static inline uint64_t clock_between(const clock_gauge *gauge, uint64_t from, uint64_t to)
{
    if (to <= from)
        return 0;
    return (uint64_t)((double)(to - from) * gauge->ns_per_tick + 0.5);
}

/* Whether the time stamp counter is one clock for all cores, as the kernel sees it. */
static inline bool clock_tsc_steady(void)
{
    bool steady = false;
#if defined(__x86_64__)
    char line[8192];
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL)
        return false;
    while (!steady && fgets(line, sizeof line, file) != NULL)
        steady = strncmp(line, "flags", 5) == 0 && strstr(line, " constant_tsc") != NULL &&
                 strstr(line, " nonstop_tsc") != NULL;
    (void)fclose(file); /* only read */
#endif
    return steady;
}

static inline void clock_calibrate(clock_gauge *gauge)
{
    gauge->tsc = clock_tsc_steady();
    gauge->source = gauge->tsc ? "tsc" : "monotonic";
    gauge->ns_per_tick = 1.0;
    if (gauge->tsc) {
        uint64_t ns = clock_ns();
        uint64_t ticks = clock_ticks(gauge);
        struct timespec pause = {.tv_nsec = 100000000};
        (void)nanosleep(&pause, NULL); /* a shorter pause is as good */
        uint64_t ns_later = clock_ns();
        uint64_t ticks_later = clock_ticks(gauge);
        gauge->ns_per_tick = (double)(ns_later - ns) / (double)(ticks_later - ticks);
    }
    uint64_t begin = clock_ns();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 1000000; i++)
        sum += clock_ticks(gauge);
    uint64_t end = clock_ns();
    gauge->cost_ns = (double)(end - begin) / 1e6 + (sum == 1 ? 1.0 : 0.0); /* sum must be made */
}

#endif
