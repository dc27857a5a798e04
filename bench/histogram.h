/* histogram.h - how often each latency came: log-linear buckets in fixed memory.
 *
 * Values up to 2 * HISTOGRAM_STEPS are counted exactly; above, each octave is cut into
 * HISTOGRAM_STEPS buckets, so a percentile is at most 1/HISTOGRAM_STEPS too high, never too low.
 * Values beyond 2^HISTOGRAM_BITS count as that; `max` is exact all the same.
 * One writer at a time. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#define HISTOGRAM_STEP_BITS 7
#define HISTOGRAM_STEPS     (1u << HISTOGRAM_STEP_BITS)
#define HISTOGRAM_BITS      42 /* in ns: more than an hour */
#define HISTOGRAM_BUCKETS   ((HISTOGRAM_BITS - HISTOGRAM_STEP_BITS + 1) * HISTOGRAM_STEPS)

typedef struct histogram {
    uint64_t count;
    uint64_t max;
    uint64_t buckets[HISTOGRAM_BUCKETS];
} histogram;

/* The bucket that a value falls in. */
static inline uint32_t histogram_bucket(uint64_t value)
{
    if (value < 2 * HISTOGRAM_STEPS)
        return (uint32_t)value;
    if (value >> HISTOGRAM_BITS != 0)
        return HISTOGRAM_BUCKETS - 1;
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(value) - HISTOGRAM_STEP_BITS;
    return shift * HISTOGRAM_STEPS + (uint32_t)(value >> shift);
}

/* The highest value that falls in a bucket. */
static inline uint64_t histogram_top(uint32_t bucket)
{
    if (bucket < 2 * HISTOGRAM_STEPS)
        return bucket;
    uint32_t shift = bucket / HISTOGRAM_STEPS - 1;
    uint64_t first = (uint64_t)(bucket - shift * HISTOGRAM_STEPS) << shift;
    return first + ((uint64_t)1 << shift) - 1;
}

static inline void histogram_record(histogram *all, uint64_t value)
{
    all->count++;
    all->buckets[histogram_bucket(value)]++;
    if (value > all->max)
        all->max = value;
}

/* Adds what `other` has counted. */
static inline void histogram_add(histogram *all, const histogram *other)
{
    all->count += other->count;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        all->buckets[i] += other->buckets[i];
    if (other->max > all->max)
        all->max = other->max;
}

/* The smallest value that a share `quantile` (0..1) of all values does not exceed; 0 if there are
 * none. */
static inline uint64_t histogram_percentile(const histogram *all, double quantile)
{
    double exact = quantile * (double)all->count;
    uint64_t rank = (uint64_t)exact;
    if ((double)rank < exact || rank == 0)
        rank++;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += all->buckets[i];
        if (seen >= rank) {
            uint64_t top = histogram_top(i);
            return top < all->max ? top : all->max;
        }
    }
    return all->max;
}

/* ---- HdrHistogram's percentile text -------------------------------------------------------- */

/* The middle of a bucket's values, rounded up: what the mean takes them for. */
static inline double histogram_middle(uint32_t bucket)
{
    if (bucket < 2 * HISTOGRAM_STEPS)
        return bucket;
    uint32_t shift = bucket / HISTOGRAM_STEPS - 1;
    uint64_t first = (uint64_t)(bucket - shift * HISTOGRAM_STEPS) << shift;
    return (double)(first + ((uint64_t)1 << shift) / 2);
}

static inline double histogram_mean(const histogram *all)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        sum += (double)all->buckets[i] * histogram_middle(i);
    return all->count == 0 ? 0.0 : sum / (double)all->count;
}

static inline double histogram_deviation(const histogram *all)
{
    double mean = histogram_mean(all);
    double sum = 0.0;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double away = histogram_middle(i) - mean;
        sum += (double)all->buckets[i] * away * away;
    }
    return all->count == 0 ? 0.0 : sqrt(sum / (double)all->count);
}

/* The level in percent after `level`: five steps in each half of the way that is left to 100. The
 * arithmetic is HdrHistogram's, so that the rows are. */
static inline double histogram_next_level(double level)
{
    double halves = floor(log2(100.0 / (100.0 - level))) + 1.0;
    return level + 100.0 / (5.0 * exp2(halves));
}

/* Writes what HdrHistogram's outputPercentileDistribution(stream, 5, 1.0) writes: a row for each
 * level that the values reach, a row for 1, and the footer. */
static inline void histogram_print(const histogram *all, FILE *out)
{
    uint64_t seen = 0;
    double level = 0.0;
    (void)fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
                  "1/(1-Percentile)");
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS && seen < all->count; i++) {
        uint64_t top = histogram_top(i) < all->max ? histogram_top(i) : all->max;
        seen += all->buckets[i];
        if (seen == all->count)
            top = all->max; /* a value beyond the last bucket is counted there */
        while (all->buckets[i] != 0 && level < 100.0 &&
               100.0 * (double)seen / (double)all->count >= level) {
            (void)fprintf(out, "%12.3f %2.12f %10llu %14.2f\n", (double)top, level / 100.0,
                          (unsigned long long)seen, 1.0 / (1.0 - level / 100.0));
            level = histogram_next_level(level);
            if (seen == all->count)
                break; /* the rest of the levels is one row */
        }
    }
    if (all->count != 0)
        (void)fprintf(out, "%12.3f %2.12f %10llu\n", (double)all->max, 1.0,
                      (unsigned long long)all->count);
    (void)fprintf(out,
                  "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n"
                  "#[Max     = %12.3f, Total count    = %12llu]\n"
                  "#[Buckets = %12d, SubBuckets     = %12d]\n",
                  histogram_mean(all), histogram_deviation(all), (double)all->max,
                  (unsigned long long)all->count, HISTOGRAM_BITS - HISTOGRAM_STEP_BITS,
                  2 * (int)HISTOGRAM_STEPS);
}

#endif
