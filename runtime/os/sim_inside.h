/* sim_inside.h - what the simulator's files share: the run's clock and level, and the choice of the
 * thread that runs next. */
#ifndef AXO__OS_SIM_INSIDE_H
#define AXO__OS_SIM_INSIDE_H

#include "os/sim.h"

/* The clock begins here and not at zero, which would hide a field that was never set. */
#define AXO__SIM_EPOCH INT64_C(1000000000)

typedef struct axo__sim_run {
    int64_t now;
    uint64_t points; /* yield points at level 2 */
    bool fibers;     /* level 2 */
} axo__sim_run;

/* The one run of the one thread. */
extern axo__sim_run axo__sim_now;

/* ---- sim_poll.c ---- */

void axo__sim_poll_reset(void);

/* Whether a wait at the set would come back at once. */
bool axo__sim_poll_is_ready(const axo__os_poll *poll);

/* ---- sim_choice.c ---- */

void axo__sim_choice_reset(uint64_t seed);

/* The thread that runs next: an index into `ids`, the numbers by which the strategy knows threads.
 * `stays`: the first is the thread that ran, and it can go on. */
uint32_t axo__sim_who(const uint32_t *ids, uint32_t count, bool stays);

/* Puts a thread that waits by looking again behind the others, for strategies with priorities. */
void axo__sim_behind(uint32_t id);

/* ---- sim_fiber.c ---- */

/* Ends level 2: all fibers but the first have ended. */
void axo__sim_fiber_reset(void);

/* Level 2 of the port's calls of the same names. */
bool axo__sim_fiber_start(axo__os_thread *thread);
void axo__sim_fiber_join(axo__os_thread *thread);
bool axo__sim_fiber_try_join(axo__os_thread *thread);

/* Lets the other fibers go on for `points` yield points; false: none can, and none has a
 * deadline. */
bool axo__sim_fiber_pause(uint64_t points);

#endif
