/* park.h - a worker that has nothing to do goes to sleep. */
#ifndef AXO__SCHED_PARK_H
#define AXO__SCHED_PARK_H

#include "sched/pool.h"

/* Parks, or says AGAIN: there is work after all. */
axo__step axo__worker_park(axo__worker *worker);

/* Takes the worker out of PARKED if nobody has. */
void axo__worker_unpark_owner(axo__worker *worker);

#endif
