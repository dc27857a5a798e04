/* find.h - a worker's look for its next cell, in the order of ready.h's table; and its clock. */
#ifndef AXO__SCHED_FIND_H
#define AXO__SCHED_FIND_H

#include "sched/claim.h"

/* An outside thread waits for a worker: the running turn ends after this message, and the worker
 * looks into the injector next. At most every AXO__INJECT_MESSAGES messages, so that a stream from
 * outside does not cost a turn a message. */
static inline void axo__worker_outside(axo__worker *worker)
{
    uint64_t handled = axo__a64_load_relaxed(&worker->local.count.handled);
    if (handled < worker->inject_from)
        return;
    worker->messages_left = 0;
    worker->inject_from = handled + AXO__INJECT_MESSAGES;
    worker->inject_turn = axo__a32_load_relaxed(&worker->turn) - AXO__INJECT_TURNS;
}

/* Reads the clock and settles what depends on it: the share of the turn, and the worker's timers.
 * true: timers were fired, so cells may have become ready. */
bool axo__worker_clock(axo__worker *worker);

/* A claimed cell from the worker's own queues or its pool's injectors; NULL: none has a cell. */
axo__cell *axo__worker_find(axo__worker *worker);

/* As axo__worker_find, for the next turn of the running step. */
axo__cell *axo__worker_find_next(axo__worker *worker);

/* How many entries lie in the pool's injectors whose turn may come before the next slot's. */
static inline uint32_t axo__sched_outside(const axo__sched *sched)
{
    return axo__inject_count_any(&sched->inject) + axo__inject_count_any(&sched->urgent);
}

/* Claims the next slot's cell, if axo__worker_find_next would find it and it has messages and
 * nothing else; NULL: axo__worker_find_next says. `outside`: the injectors' entries, as last looked
 * at. *first as of axo__worker_claim_plain. */
static inline axo__cell *axo__worker_find_plain(axo__worker *worker, uint32_t outside,
                                                axo__message **first)
{
    axo__cell *cell = axo__aptr_load_relaxed(&worker->next);
    if (axo__unlikely(cell == NULL || (outside | worker->attention) != 0 ||
                      worker->next_runs >= AXO__NEXT_RUNS_MAX))
        return NULL;
    if (axo__unlikely(!axo__worker_claim_plain(worker, cell, first)))
        return NULL;
    axo__aptr_store_relaxed(&worker->next, NULL);
    worker->next_runs++;
    return cell;
}

/* As axo__worker_find, urgent cells only. */
axo__cell *axo__worker_find_urgent(axo__worker *worker);

#endif
