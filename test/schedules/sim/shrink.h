/* shrink.h - what is left of a failure: operations are left out as long as the same invariant is
 * violated, then faults, then choices; a bundle of text says the rest, with a chart of who did
 * what. Each try is a process of its own, so that a crash is a failure like any other.
 */
#ifndef TEST_SIM_SHRINK_H
#define TEST_SIM_SHRINK_H

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "replay.h"

/* Makes the bundle of a seed, and that of what is left of it. 0: it fails no more. */
int shrink_seed(uint64_t seed);

#endif
