/* measure.h - takes the runs of a case. */
#ifndef RESTART_BENCH_MEASURE_H
#define RESTART_BENCH_MEASURE_H

#include <signal.h>

#include "clock.h"
#include "result.h"

/* Runs a case as often as the plan says and leaves what came out. A run during which other
 * processes used more than BENCH_FOREIGN_MAX of the processors is taken again, as often as there
 * are repeats; if the machine does not get quiet, the disturbed runs count. It ends early when *cut
 * is not 0: the result is incomplete then, and may have no run at all. Ends the program with 1 when
 * the sums of a run disagree. */
void measure_case(const plan *own, const plan_case *what, const clock_gauge *gauge,
                  const volatile sig_atomic_t *cut, case_result *out);

#endif
