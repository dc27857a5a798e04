/* timers.h - the timers of a worker, and raw timers of a system, driven by fuzz input. */
#ifndef TEST_FUZZ_TIMERS_H
#define TEST_FUZZ_TIMERS_H

#include <axo/axo.h>

#include "fuzz/fuzz.h"
#include "os/os.h"
#include "sched/timer.h"

void timers_run(fuzz_in *in);
void scheduled_run(fuzz_in *in);

#endif
