/* steal.h - cells of other workers: for a thief, and for a spare when all workers are stuck. */
#ifndef AXO__SCHED_STEAL_H
#define AXO__SCHED_STEAL_H

#include "sched/pool.h"

/* Takes and claims a cell of another worker; NULL: no worker has one that may be taken. */
axo__cell *axo__worker_steal(axo__worker *worker);

/* Takes and claims a cell that a stuck worker has left in its queues, of any age; NULL: none. */
axo__cell *axo__worker_rescue(axo__worker *worker, axo__worker *victim, bool urgent_only);

#endif
