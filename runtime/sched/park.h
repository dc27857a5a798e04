/* park.h - a worker that has found no work goes to sleep. */
#ifndef AXO__SCHED_PARK_H
#define AXO__SCHED_PARK_H

#include "sched/pool.h"

/* Parks the calling worker. PARK: its thread is to wait with the ticket until the deadline. AGAIN:
 * there is work after all, and the worker is AWAKE. */
axo__step axo__worker_park(axo__worker *worker);

/* Takes the calling worker out of PARKED, unless a waker has done so, and ends its watch. */
void axo__worker_unpark_owner(axo__worker *worker);

#endif
