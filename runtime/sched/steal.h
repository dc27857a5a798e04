/* steal.h - cells of other workers: a thief's, and a spare's when all workers are stuck. */
#ifndef AXO__SCHED_STEAL_H
#define AXO__SCHED_STEAL_H

#include "sched/pool.h"

/* A claimed cell from another worker; NULL: none that may be taken. */
axo__cell *axo__worker_steal(axo__worker *worker);

/* Takes a cell that another worker has left, of any age; NULL: none. */
axo__cell *axo__worker_rescue(axo__worker *worker, axo__worker *victim, bool urgent_only);

#endif
