/* histogram.h - how often each latency came: log-linear buckets in fixed memory.
 *
 * Values up to 2 * HISTOGRAM_STEPS are counted exactly; above, each octave is cut into
 * HISTOGRAM_STEPS buckets, so a percentile is at most 1/HISTOGRAM_STEPS too high, never too low.
 * Values beyond 2^HISTOGRAM_BITS count as that; `max` is exact all the same.
 * One writer at a time. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

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

#endif
