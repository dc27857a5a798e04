/* worker.h - a worker's step: find a cell and run it, do housekeeping, or park. */
#ifndef AXO__SCHED_WORKER_H
#define AXO__SCHED_WORKER_H

#include "sched/pool.h"

/* One bounded thing: some turns, a look around, or the decision to park. */
axo__step axo__worker_step(void *worker);
extern const axo__os_body axo__worker_body;

/* For kinds with a body of their own, as elastic.c has: the parts of axo__worker_body. */
void axo__worker_begin(void *worker);
void axo__worker_sleep(void *worker);
void axo__worker_wake(void *worker);
void axo__worker_end(void *worker);

/* For kinds whose threads sleep at their parker until their next timer, and do not end by
 * themselves: `wake`, `deadline` and `ends`. */
void axo__worker_wake_parker(axo__worker *worker);
int64_t axo__worker_deadline(const axo__worker *worker);
bool axo__worker_ends_never(axo__worker *worker);

/* The `is_idle` of kinds whose workers have threads. */
bool axo__worker_is_parked(axo__worker *worker);

#endif
