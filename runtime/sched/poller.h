/* poller.h - which worker waits for descriptors.
 *
 * A worker of the default pool that parks while descriptors are watched becomes the poller, unless
 * there is one: it sleeps in the set and not at its parker, until the same deadline. While there is
 * none, a worker looks without waiting when `look_at` of the pool has passed, one at a time; so
 * does the spare, for the time in which the workers are in handlers that take long, and the thread
 * that runs a manual system. The poller, and whoever looks, has `poller` ([I5] of sched/io.h). */
#ifndef AXO__SCHED_POLLER_H
#define AXO__SCHED_POLLER_H

#include "sched/pool.h"

/* The calling worker has decided to sleep until its thread's deadline: perhaps it polls then. */
void axo__poller_park(axo__worker *worker);

/* A worker that polled is awake again: sends what it has found. */
void axo__poller_wake(axo__worker *worker);

/* Looks without waiting, if nobody else polls. true: something was found. */
bool axo__poller_look(axo__worker *worker);

/* Whether the time to look has come: a load of a line that a reading of the clock loads anyway. */
static inline bool axo__poller_is_due(const axo__sched *sched, int64_t now)
{
    return now >= (int64_t)axo__a64_load_relaxed(&sched->look_at);
}

/* The first watch has begun, or a message found no memory: somebody looks or polls from now on,
 * with the deadlines that this asks for. `worker`: the caller. */
void axo__poller_tell(axo__worker *worker);

#endif
