/* expire.h - cells whose grace period is over come back to the worker that has retired them: its
 * caches have their lines, and the slots of the next births are among them.
 *
 * A worker of the default pool below `homes` is at home in the list of its number; the others, and
 * threads outside, hand what they retire to one of these lists. The worker finishes its list's
 * cells in housekeeping, and looks at the list before it parks; the reclaimer wakes it if it is
 * parked ([W1] of sched/wake.h). So every list has somebody who comes to it. A worker without work
 * helps one that sleeps, or has hung in a callback since this one last parked; and every worker
 * now and then takes a portion of any list, so that none waits for one that hangs while the others
 * are busy.
 */
#ifndef AXO__SCHED_EXPIRE_H
#define AXO__SCHED_EXPIRE_H

#include "sched/pool.h"

/* Finishes up to `max` cells of the worker's home; of any home. false: there was none. */
bool axo__expire_own(axo__worker *worker, uint32_t max);
bool axo__expire_any(axo__worker *worker, uint32_t max);

/* For a worker without work: as axo__expire_own, also of workers that will not come to theirs
 * soon. */
bool axo__expire_idle(axo__worker *worker, uint32_t max);

/* For a worker that has said PARKED: whether cells wait that it would take. A worker that is read
 * as awake comes to its own. */
bool axo__expire_waits(const axo__worker *worker);

#endif
