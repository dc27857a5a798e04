/* killed.h - an actor whose instances are processes, each of which is killed as it waits. */
#ifndef RESTART_BENCH_KILLED_H
#define RESTART_BENCH_KILLED_H

#include <signal.h>

#include "bench.h"
#include "plan.h"

/* Whether this program has been built with libaxo-process. */
#ifdef BENCH_PROCESS
#define KILLED_THERE true
#else
#define KILLED_THERE false
#endif

typedef struct killed_sample {
    histogram first; /* ns from the signal to the first instruction of the handler of a message that
                        was sent right behind it, which the next instance handles */
    uint64_t missed; /* ticks that came while it was restarted */
    uint64_t rounds; /* restarts, those of the warm-up too */
    double seconds;
    double foreign;
    uint64_t peak_bytes; /* of the host */
    uint32_t workers;
    axo_stats stats; /* the system's counters at its end */
} killed_sample;

/* The first thing that main does: in the process of an actor it never returns. */
void killed_main(int argc, char **argv);

/* Runs a case BY_KILL once in a fresh system, with one spare process: `warmup` seconds that are not
 * measured, then `seconds`, and for longer if too few restarts have come.
 * false: it was cut short */
bool killed_run(const restart_case *what, uint32_t workers, double warmup, double seconds,
                const volatile sig_atomic_t *cut, killed_sample *sample);

#endif
