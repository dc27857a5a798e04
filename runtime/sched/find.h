/* find.h - a worker's look for its next cell, in the order of ready.h's table; and its clock. */
#ifndef AXO__SCHED_FIND_H
#define AXO__SCHED_FIND_H

#include "sched/claim.h"

/* An outside thread waits for a worker: the running turn ends after this message, and the worker
 * looks into the injector next. At most every AXO__INJECT_MESSAGES messages, so that a stream from
 * outside does not cost a turn a message; and not a turn that goes before the injector. */
static inline void axo__worker_outside(axo__worker *worker)
{
    uint64_t handled = axo__a64_load_relaxed(&worker->local.count.handled);
    if (handled < worker->inject_from || worker->late_turn == axo__worker_turn(worker))
        return;
    worker->messages_left = 0;
    worker->inject_from = handled + AXO__INJECT_MESSAGES;
    worker->inject_turn = axo__worker_turn(worker) - AXO__INJECT_TURNS;
}

/* Reads the clock and settles what depends on it: the share of the turn, and the worker's timers.
 * true: timers were fired, so cells may have become ready. */
bool axo__worker_clock(axo__worker *worker);

/* A claimed cell from the worker's own queues or its pool's injectors; NULL: none has a cell. */
axo__cell *axo__worker_find(axo__worker *worker);

/* As axo__worker_find, for the next turn of the running step. */
axo__cell *axo__worker_find_next(axo__worker *worker);

/* Whether the next slot's cell may go before the ready queue once more; a cell that comes from
 * there begins a row. After AXO__NEXT_RUNS_MAX turns the answer is no, so two actors that answer
 * each other do not starve that queue. */
bool axo__worker_next_goes_on(axo__worker *worker);

/* As axo__worker_find, urgent cells only. */
axo__cell *axo__worker_find_urgent(axo__worker *worker);

#endif
