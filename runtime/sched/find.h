/* find.h - a worker's look for its next cell, in the order of ready.h's table; and its clock. */
#ifndef AXO__SCHED_FIND_H
#define AXO__SCHED_FIND_H

#include "sched/pool.h"

/* Somebody outside waits for a worker: the turn ends soon, and the injector is looked at next. */
static inline void axo__worker_outside(axo__worker *worker)
{
    uint64_t handled = axo__a64_load_relaxed(&worker->local.count.handled);
    if (handled < worker->inject_from)
        return;
    worker->messages_left = 0;
    worker->inject_from = handled + AXO__INJECT_MESSAGES;
    worker->inject_turn = axo__a32_load_relaxed(&worker->turn) - AXO__INJECT_TURNS;
}

/* Reads the clocks: the turn's share, timers; true: it has fired some. */
bool axo__worker_clock(axo__worker *worker);

/* A claimed cell from the worker's own queues and the injectors; NULL: none. */
axo__cell *axo__worker_find(axo__worker *worker);

/* The same after a turn, for the next one of this step; NULL: also if the step has to end. */
axo__cell *axo__worker_find_next(axo__worker *worker);

/* The same, urgent cells only. */
axo__cell *axo__worker_find_urgent(axo__worker *worker);

#endif
