/* sim.h - what a test may do with the port on one thread: seed it, step it, look at its clock.
 *
 * Each step of the simulator is one step of one registered thread. Everything that chance decides
 * comes from the seed, so a seed repeats a run.
 */
#ifndef AXO__OS_SIM_H
#define AXO__OS_SIM_H

#include "os/os.h"

/* Starts anew from a seed; no thread may be registered. `outside` (may be NULL) is called after
 * each step, before anything outside runs. */
void axo__sim_reset(uint64_t seed, void (*outside)(void));

/* One step of one thread that can run, after the clock has gone to the next deadline if none can.
 *   returns   false: every thread waits, none with a deadline */
bool axo__sim_step(void);

/* Steps made since the reset. */
uint64_t axo__sim_steps(void);

/* The next `count` starts of a thread succeed, the one after is refused, once. */
void axo__sim_refuse_start(uint32_t count);

#endif
