/* wake.h - which worker is woken when there is work, and the protocol by which no worker sleeps
 * while work waits for it.
 *
 * Waking costs a system call, so a pusher wakes as few workers as it can: none while a searcher
 * looks through the queues, none for an entry that the watcher may find in time, else one. A woken
 * worker that leaves entries behind wakes the next.
 *
 * Parking protocol. Numbers stand in the code.
 *   sleeper  (1) take a ticket  (2) state = PARKED, parked += 1  (3) look everywhere once more
 *            (4) wait with the ticket
 *   waker    (5) push the work  (6) a seq_cst read-modify-write  (7) parked > 0?  (8) PARKED ->
 *            AWAKE and wake
 *   (2) and (6) are seq_cst, so the sleeper's (3) sees the work of (5), or the waker's (7) sees
 *   the sleeper of (2). If both missed, (2) would come before (6) in the order of all seq_cst
 *   operations, since (3) has missed (5), and (6) before (2), since (7) has missed (2): a
 *   contradiction.
 *
 * A push outside of a turn (timers that fire, the cell whose turn has just ended) is `quiet`: the
 * worker goes on to find itself a cell, and does (6) to (8) for all its quiet pushes at once before
 * that cell's turn begins, if entries are left then. Until that point the worker is awake and in no
 * handler; a sleeper whose (3) misses the push comes before (6) in that order, and (7) sees it.
 *
 * Orders
 *   [W1] seq_cst, state, parked, expired_any   (2) against (6)-(7). The run queues are CK's, and
 *                                    looked at plainly: that (2) and (6) order this too is what a
 *                                    locked instruction of x86-64 does, C11 does not ask for it.
 *                                    On aarch64 (2) and (6) end with a store that releases, and
 *                                    the next seq_cst load, `ldar`, comes after that: (7), and of
 *                                    (3) that of the injectors, before the queues
 *   [W4] cas acq_rel, state          one thread takes a parked worker out: a waker or the worker
 *        cas acq_rel, watcher        one parked worker is the watcher
 *   [W6] seq_cst, spare_mode, rescuing   the spare says that it sleeps, then looks once more; a
 *                                    worker that gets up, or a pusher that finds no parked worker,
 *                                    loads the mode after that: the spare's look sees the
 *                                    thread, or the thread's load sees the new mode
 */
#ifndef AXO__SCHED_WAKE_H
#define AXO__SCHED_WAKE_H

#include "sched/pool.h"

/* Wakes one parked worker, after a push. If no worker is parked, the kind makes sure that the entry
 * does not wait for ever behind handlers that block: by a spare, or by a new thread. */
void axo__sched_wake_one(axo__sched *sched);

/* Wakes every parked worker of the pool; so many of them at most. */
void axo__sched_wake_all(axo__sched *sched);
void axo__sched_wake_some(axo__sched *sched, uint32_t most);

/* Wakes a particular worker whose earliest timer has come nearer: steps (6) and (7) of
 * sched/timer.h. false: the worker was not parked. */
bool axo__sched_wake_worker(axo__worker *worker);

/* Nodes have left an injector that is come to late (axo__core_hold): cells that wait for that
 * expire now, in the default pool. A manual system has no such injector. */
void axo__sched_unhold(axo__core *core);

/* No worker is parked and there is work: the spare, if the pool has one, looks closely from now
 * on. */
void axo__spare_alarm(axo__sched *sched);

/* A worker woke: makes the spare start watching it, if the pool has one and it was in DEEP. */
void axo__spare_notice(axo__sched *sched);

/* A queue of the worker's that thieves can reach has `queued` entries: wakes a parked worker,
 * unless a searcher will find them, or a watcher will come in time. The watcher is woken early only
 * for entries that it may take at once. */
void axo__wake_tell(axo__worker *worker, uint32_t queued);

/* After a push: as axo__wake_tell within a turn. Between two turns no worker is woken: the pusher
 * takes a cell itself first, and then offers the entries that it leaves
 * (axo__worker_offer_quiet). */
void axo__wake_offer(axo__worker *worker, uint32_t queued);

#endif
