/* storm.h - one run of a storm: siblings under one supervisor, a sender that keeps to its schedule.
 *
 * The sender is a thread outside of the system. Message i is due at start + i / rate and goes to
 * sibling i modulo their number. The sender waits for nobody: when it is late it sends at once all
 * that is due. A message's latency runs from when it was *due* until its handler begins, so what a
 * stalled system makes the sender or the queue wait is in it: no coordinated omission.
 *
 * A run is a warm-up, a calm stretch and a storm, without a pause between. Siblings of odd number
 * are sick: in the storm some of their messages, chosen by number and seed alone, make them fail.
 * Those of even number are healthy and never fail. The latencies of the healthy are told apart by
 * stretch. Each message has a place of its own in memory, where its handler leaves the time. */
#ifndef RESTART_BENCH_STORM_H
#define RESTART_BENCH_STORM_H

#include <signal.h>

#include "bench.h"
#include "plan.h"

typedef struct storm_sample {
    histogram calm;    /* the healthy before the storm; ns from due to handler */
    histogram healthy; /* in it */
    histogram sick;    /* in it: messages of the sick that did not make them fail */
    histogram rebuilt; /* ns from the failing call to the new instance's start callback */
    histogram late;    /* ns from when a message was due until it was sent */
    uint64_t messages; /* sent in the storm */
    uint64_t failures;
    double seconds; /* of the storm */
    double foreign;
    uint64_t peak_bytes;
    uint32_t workers;
    axo_stats stats; /* the system's counters at its end */
} storm_sample;

/* false: it was cut short */
bool storm_run(const storm_case *what, uint32_t workers, double warmup, double seconds,
               const clock_gauge *gauge, const volatile sig_atomic_t *cut, storm_sample *sample);

/* Whether message `number` makes its receiver fail, in a storm. */
bool storm_fails(const storm_case *what, uint64_t number);

#endif
