/* ready.h - where ready cells are put, and every place where a ready cell may lie.
 *
 * A ready cell has an entry in one of nine places. A worker looks into them in this order, and
 * runs the first cell that it can claim: an entry is a hint. When no place has such a cell, the
 * worker looks into the queues of other workers, and then parks.
 *
 *      place             put there by, or filled with                also taken by
 *      ----------------  ------------------------------------------  --------------------------
 *   1  urgent lane       a worker: system work of its own pool       thieves, spares: at once
 *   2  urgent injector   any thread; an urgent lane without room     every worker of the pool
 *   3  newborns          a worker whose actor spawns; the youngest   thieves: half of them, if
 *                        goes first                                  many, or the last is late
 *   4  next slot         a worker whose actor makes a cell ready     thieves: if its owner has
 *                                                                    not moved since they slept
 *   5  ready queue       the former cell of 4; an ended turn with    thieves: as of 3
 *                        messages left; a thief's further cells;
 *                        newborns without room. As long as it
 *                        needs to be, while there is memory
 *   6  injector          any thread; a ready queue without room      every worker of the pool
 *   7  overrun queue     a turn that took all the time a turn may,   thieves: at once
 *                        with messages left: an overrun cell; a
 *                        thief's further cells
 *   8  overrun injector  an overrun queue without room               every worker of the pool
 *   9  followers         a worker whose actor floods one that      thieves: if the worker sleeps
 *                        this worker runs: follow.h                or is in one turn for long
 *  10  another worker's 1, 3, 5, 7, 9 and 4, in this order: steal.c
 *
 * Exceptions, each a bounded number of times in a row, so that no place waits for ever:
 *   1, 2   after AXO__URGENT_RUNS_MAX turns another cell has a turn, for as long as they took, then
 *          they go on
 *   2      goes before 1 each AXO__URGENT_TURNS of these turns
 *   3      after AXO__NEWBORN_RUNS_MAX turns 4 to 6 go first; each AXO__NEWBORN_OLDEST-th newborn
 *          is the oldest
 *   4      AXO__NEXT_RUNS_MAX turns, or the time of one turn; then its cell goes to the end of 5
 *   6      goes before 3 each AXO__INJECT_TURNS turns, and when an outside thread's entry waits
 *   7, 8   go before 3 then, if they have waited for AXO__OVERRUN_QUANTA times the time of a turn
 *   9      goes before 3 then, so often that each has a turn in AXO__FOLLOW_LATE_NS
 *   6 and 7 to 9, if both have entries then, go first by turns
 *
 * A worker of a shared pool and a spare worker have no queues of their own: their places 1, 3, 4,
 * 5, 7 and 9 stay empty, and their pushes go to 2, 6 and 8; in a shared pool overrun cells go to
 * 6, as other cells do.
 *
 * The next slot is private speed: the cell just made ready runs next, on warm caches, and thieves
 * leave it alone until its owner has been in one turn for a while. It is used only while some
 * worker watches (or none is idle), so an actor never waits behind a stuck handler unseen.
 */
#ifndef AXO__SCHED_READY_H
#define AXO__SCHED_READY_H

#include "sched/pool.h"

/* Push an entry for a cell whose word has asked for one: to the next slot, or to the end of the
 * ready queue. The worker is the caller. */
void axo__worker_push_ready(axo__worker *worker, axo__cell *cell);
void axo__worker_push_back(axo__worker *worker, axo__cell *cell);

/* Gives back the rings of the ready queue that are empty, but for its first one; at the worker's
 * end all of them. */
void axo__worker_tidy_ready(axo__worker *worker);
void axo__worker_free_ready(axo__worker *worker);

/* The same for an overrun cell, whose turn took all the time that a turn may; and for a cell with
 * system work. */
void axo__worker_push_overrun(axo__worker *worker, axo__cell *cell);
void axo__worker_push_urgent(axo__worker *worker, axo__cell *cell);

/* Whether a worker of the pool sleeps: to nobody else is anything offered. A hint. */
static inline bool axo__worker_has_sleeper(const axo__worker *worker)
{
    return axo__unlikely(axo__a32_load_relaxed(&worker->sched->parked) != 0);
}

/* Newborns stay behind while this worker begins a turn: many of them are offered to others. And
 * ready cells that were told as few when they were pushed (sched/keep.h), at each reading of the
 * clock. */
void axo__worker_offer_newborns(axo__worker *worker);
void axo__worker_offer_ready(axo__worker *worker);

/* Offers to others what this worker has pushed between two turns and has not taken itself. */
void axo__worker_offer_quiet(axo__worker *worker);

/* Urgent cells stay behind while this worker begins a turn: another worker may take them. */
void axo__worker_offer_urgent(axo__worker *worker);

/* The same before a callback within the turn: only what was pushed since the last offer. */
void axo__worker_offer_new_urgent(axo__worker *worker);

/* Announce and push to the cell's own pool, from a worker or (worker NULL) from outside. */
void axo__sched_announce_user(axo__worker *worker, axo__cell *cell);

/* Queues a message that no bound refuses, announces it and pushes an entry if the word asks for
 * one; from a worker or (worker NULL) from outside. */
void axo__sched_accept(axo__worker *worker, axo__cell *cell, axo__message *message);

/* As axo__sched_announce_user, for system messages and directives: an urgent entry. */
void axo__sched_announce_system(axo__worker *worker, axo__cell *cell);

/* Asks a cell to stop, from a worker or (worker NULL) from outside. */
void axo__sched_stop(axo__worker *worker, axo__cell *cell);

/* The running cell goes back with an urgent entry, for the rest of its system work. */
void axo__sched_go_on(axo__worker *worker, axo__cell *cell);

/* Gives a borrowed cell back, with an entry in its own pool if it has work: from the worker that
 * has borrowed it in a turn, or (worker NULL) from outside. */
void axo__sched_hand_back(axo__worker *worker, axo__cell *cell);

/* As axo__sched_hand_back, for a borrowed cell that the worker has suspended: only system work
 * needs an entry. */
void axo__sched_hand_back_held(axo__worker *worker, axo__cell *cell);

/* An entry in the cell's own pool, from a worker or (worker NULL) from outside. */
void axo__sched_push_ready(axo__worker *worker, axo__cell *cell);

/* Whether no cell in the worker's next slot, and no single newborn, can wait unseen while the
 * worker is in a turn: no worker is parked, or a watcher will look, or the worker is alone: then,
 * as with none parked, the spare looks, and wakes one if the turn lasts (spare_call). A worker that
 * parks just after these loads becomes the watcher, unless there is one, since it finds this worker
 * awake (park_look). */
static inline bool axo__worker_is_watched(const axo__worker *worker)
{
    const axo__sched *sched = worker->sched;
    return axo__likely(axo__a32_load_relaxed(&sched->parked) == 0) ||
           axo__a32_load_relaxed(&sched->watcher) != 0 || axo__worker_is_alone(worker);
}

/* Whether a running actor's worker may use its next slot for a cell of the default pool. */
static inline bool axo__worker_slot_is_free(const axo__worker *worker)
{
    AXO_DEBUG_ASSERT(worker == axo__self && worker->current != NULL);
    return axo__likely(axo__a32_load_relaxed(worker->parked) == 0) ||
           ((worker->attention & AXO__LOOK_FOREIGN) == 0 && axo__worker_is_watched(worker));
}

/* Puts the cell into the next slot and returns the slot's former cell, for the ready queue. The
 * release store hands the cell's address to a thief's load in steal_from or axo__worker_rescue
 * ([W3]); the thief's claim then acquires the cell. */
static inline axo__cell *axo__worker_put_next(axo__worker *worker, axo__cell *cell)
{
    axo__cell *displaced = axo__aptr_load_relaxed(&worker->next);
    axo__aptr_store_release(&worker->next, cell); /* [W2] */
    return displaced;
}

/* An entry for a cell that the running actor has spawned. */
void axo__sched_push_newborn(axo__worker *worker, axo__cell *cell);

#endif
