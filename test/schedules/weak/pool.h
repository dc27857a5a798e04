/* pool.h - a pool of the product's own workers, for scenarios: its queues, its parking, its loop
 * are the real ones; what a cell does in its turn is counted only. */
#ifndef AXO_TEST_WEAK_POOL_H
#define AXO_TEST_WEAK_POOL_H

#include "sched/spare.h"
#include "sched/timer.h"

#define POOL_WORKERS 3
#define POOL_CELLS 4

typedef struct pool {
    axo__core core;
    axo__sched sched;
    axo__worker workers[POOL_WORKERS];
    axo__worker_slots slots[POOL_WORKERS];
    axo__shelf shelf;
    axo__timers timers;
    axo__timer timer;
    axo__seen seen[POOL_WORKERS][POOL_WORKERS];
    axo__spare_mark marks[POOL_WORKERS * POOL_WORKERS];
    uint32_t written[POOL_CELLS]; /* by who pushes a cell, read in its turn */
    uint32_t wanted;              /* turns */
    uint32_t ran;
    uint32_t fired;
    uint32_t pushers;             /* that are not done */
    bool event;
    uint32_t started;             /* threads */
    uint32_t asked;               /* visits that are due */
    weak_knot told;               /* what the last turn has told others */
    bool stopped;
} pool;

extern pool weak_pool;

/* So many workers of this kind, all awake, and spare ones behind them. */
void pool_init(const axo__sched_kind *kind, uint32_t workers, uint32_t spares);

/* Grace periods of this pool, polled: its workers are the readers, and there are no doors. */
extern const axo__grace_ops pool_grace_ops;

/* It sleeps already. */
void pool_parked(axo__worker *worker);

axo__cell *pool_cell(uint32_t which);

/* Work for a cell: its entry is to be pushed. */
void pool_work(uint32_t which);

/* A worker's thread: until it exits, or nothing is left to do. */
void pool_thread(axo__worker *worker);

/* All that was wanted has run. */
void pool_check(void);

#endif
