/* wake.h - who is woken when there is work, and the protocol that none sleeps beside it.
 *
 * Parking protocol. Numbers stand in the code.
 *   sleeper  (1) take a ticket  (2) state = PARKED, parked += 1  (3) look everywhere once more
 *            (4) wait with the ticket
 *   waker    (5) push the work  (6) a seq_cst read-modify-write  (7) parked > 0?  (8) PARKED ->
 *            AWAKE and wake
 *   (2) and (6) are seq_cst, so the sleeper's (3) sees the work of (5), or the waker's (7) sees
 *   the sleeper of (2); if both miss, one of the two came before the other in that order and read
 *   the older value: a contradiction.
 *
 * What a worker pushes outside of a turn (timers that fire, the cell whose turn has just ended) is
 * `quiet`: the worker goes on to find itself a cell, and does (6) to (8) for all of it at once
 * before that cell's turn begins, if something is left then. Until there it is awake and in no
 * handler; a sleeper whose (3) misses the push comes in that order before (6), and is seen by (7).
 *
 * Orders
 *   [W1] seq_cst, state, parked, expired_any   (2) against (6)-(7). The run queues are CK's, and
 *                                    looked at plainly: that (2) and (6) order this too is what a
 *                                    locked instruction of x86-64 does, C11 does not ask for it
 *   [W4] cas acq_rel, state          who takes a parked worker out
 *   [W6] seq_cst, spare_mode, rescuing   the spare says that it sleeps, then looks once more; a
 *                                    worker that gets up, or a pusher that finds nobody parked,
 *                                    looks at the mode after what it did: one sees the other
 */
#ifndef AXO__SCHED_WAKE_H
#define AXO__SCHED_WAKE_H

#include "sched/pool.h"

/* Wakes one parked worker, if there is one; if there is none, sees to it that work does not wait
 * for ever behind blocked handlers. */
void axo__sched_wake_one(axo__sched *sched);

/* Wakes all that are parked. */
void axo__sched_wake_all(axo__sched *sched);

/* Wakes this very one if it is parked: a timer of its has come nearer. Steps (6) and (7) of
 * sched/timer.h. false: it was not. */
bool axo__sched_wake_worker(axo__worker *worker);

/* Nobody is parked and there is work: the spare, if there is one, looks closely from now on. */
void axo__spare_alarm(axo__sched *sched);

/* A worker has got up: the spare, if there is one, sees to it that it is looked after. */
void axo__spare_notice(axo__sched *sched);

/* There is something in a queue of the worker's that thieves can reach, `queued` of its kind. A
 * searcher finds it; a watcher looks in time, and is woken early only for what it may take at
 * once. */
void axo__wake_tell(axo__worker *worker, uint32_t queued);

/* After a push: as axo__wake_tell within a turn. Between two turns nobody is told: the worker takes
 * a cell itself first, and then offers what it leaves. */
void axo__wake_offer(axo__worker *worker, uint32_t queued);

#endif
