/* quiesce.h - whether there was a moment at which nothing was running or queued in a system.
 *
 * Central idea: nobody counts messages. Each worker numbers the times that it becomes idle, on its
 * way to sleep, and the one who asks looks at everything between two sums of these numbers. While
 * all workers are idle nothing is taken out of any queue, so what is found empty then was empty
 * when the looks began.
 *
 * A worker is idle from its number on ([Z1]) until it is taken to work again: PARKED or ABSENT; a
 * slot of lent threads without a visitor; the host between two calls. In between it holds no cell
 * and no entry, takes none, and runs nothing. A worker within axo_block is not idle. Each look is
 * at a place where work can be, in the order in which work moves from one place to the next:
 *
 *   (1) the sum of `idled` of all workers
 *   (2) the doors: each was free for a moment     outside threads
 *   (3) cells that wait for a grace period        the reclaimer, or who polls
 *   (4) cells that have expired
 *   (5) timers that are due at a time that was read just before (1)
 *   (6) queues: the ten places of ready.h, of all pools
 *   (7) each worker is idle
 *   (8) the sum again, which is the same
 *
 * Proof. If each look finds nothing, then nothing was running or queued at the moment M when (1)
 * was done:
 *   Workers    The numbers only rise, so equal sums are equal numbers. The worker is idle at (7),
 *              and what it wrote before that is seen by (8): so the number that (1) has read is
 *              that of the idleness which (7) has met, and the worker was idle all the while.
 *   So from M to (7) nothing was taken out of a queue, a list of expired cells, or a wheel, but
 *   by who disarms a timer: threads outside and the reclaimer only add.
 *   Cells      A cell that could run at M has an entry, or the thread that brought its word into
 *              that state is about to push one (I1 of cell/state.h), or has borrowed the cell and
 *              pushes one as it gives it back. That thread is in a door: it entered before M, and
 *              has left before (2) found the door free, so the entry is in its queue at (6), where
 *              nobody takes it. The message of a second sender, which found work in the word and
 *              pushed nothing, is covered by that entry.
 *   Ends       A cell that waits for its grace period at M is handed on to the expired ones, and
 *              stays there: it is seen by (3) or by (4).
 *   Timers     One that was due by that reading is in its wheel at (5), unless somebody has
 *              disarmed it. One that has come due since counts as coming due behind M.
 * Conversely, where all is at rest every look finds nothing, unless a call from outside is on.
 *
 * What does not count is in <axo/system.h>. Who takes a worker to work is a worker, or in a door,
 * or the clock: what he has pushed for it is found as all the rest.
 *
 * Nobody pays for this in a turn: a worker's number and its state are on a line of its own, and are
 * written where it goes to sleep. The one who asks adds 0 to words of theirs, and enters doors.
 *
 * Orders
 *   [Z1] store release, idled      what the worker has pushed, for (1); and that it was awake
 *                                  before the number, for (8)
 *        store release, state      the number, for (8); in its place [W8], [W10], or the mutex of
 *                                  a pool of blocking actors
 *   [Z2] load acquire, idled       (1), (8): pairs with [Z1]
 *        add acq_rel, state, visited, host_busy; xchg acq_rel, state of a spare   (7) is a
 *                                  read-modify-write, as is what takes a worker to work: if (7)
 *                                  came first, that one acquires the looks (2) to (6), so they
 *                                  cannot have seen what the worker did after. A thread that a
 *                                  pool of blocking actors starts is stored under the pool's
 *                                  mutex, which (7) takes
 *   [P2] [P3] of os/os.h, [J3] of queue/inject.h, [Q2] of queue/runq.h, and mutexes: (2) to (6)
 *
 * Rejected   A counter of messages under way: two shared writes a message. A counter in each worker
 *            of what it has sent and handled: a message in a mailbox that is suspended, stashed or
 *            bounded has no handling to wait for, and restarts, ends and spawns are no messages.
 *            A walk over all cells: a million words, and work moves on behind the walk.
 *            The numbers of turns in the place of `idled`: a worker that has moved entries and gone
 *            back to sleep has begun no turn.
 * Checked by test/schedules/model/quiesce.pml (two pools, a sender; a mutant for each look),
 *            test/schedules/fiber/scenes_quiesce.c, test/schedules/weak/scene_quiesce.c,
 *            test/schedules/sim (invariant 77)
 */
#ifndef AXO__SCHED_QUIESCE_H
#define AXO__SCHED_QUIESCE_H

#include "sched/pool.h"

/* Looks once. `first` is the default pool, `others` are linked by `next`; the caller sees to it
 * that no pool is made or freed meanwhile, and has just read `now` (axo__core_now). Any thread that
 * is in no turn and in no door. true: there was such a moment since the call began. */
bool axo__quiesce_look(axo__sched *first, axo__sched *others, int64_t now);

#endif
