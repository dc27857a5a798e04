/* crew.h - a job that the workers of a pool share: many short things to do for one call.
 *
 * A call that sends 10 000 messages makes its receivers ready on one worker, or in the injector,
 * from where the others have to fetch them one by one. As a job of the pool it is done in portions:
 * a worker that has found no cell takes a portion and does it itself, so what it makes ready lies
 * in its own queues; it runs that, and comes back for the next portion. The caller takes portions
 * too, at once or when no worker does, and waits for those that others are in.
 *
 * A worker looks for a job where it looks whether its thread shall end, behind everything else that
 * it could find: a bit of the word `quit`. So a pool without a job pays nothing. A worker that is
 * about to sleep looks at the word once more, and the opener wakes those that sleep, as after any
 * push: steps (1) to (8) of wake.h; the bit is (5).
 *
 * A pool has one job at a time. A call that finds another one there does its own alone: there is
 * more than one thread that does portions then anyway.
 *
 * Roles      open, help, leave_to, close: who has made the job. step: a worker of its pool.
 * Memory     The job is its maker's, until close has returned. A worker that has taken a portion
 *            keeps it there: `left` is not 0 before that portion is done.
 *
 * Invariants
 *   I1  AXO__QUIT_CREW is set if and only if `crew` is not NULL, and then the job has a portion
 *       that nobody has taken. Both change under the pool's mutex.
 *   I2  Each portion is taken once, by one thread, which does it.
 *
 * Orders
 *   [W5] or / and acq_rel, quit      a worker that reads the bit looks under the mutex
 *   [W11] add acq_rel, left          what was done in each portion is seen by who does the last
 *                                    one, and, by the latch, behind close
 *
 * Rejected   An index that workers add to without a mutex: a worker that has read the job's address
 *            may be the last to know that it is gone, so the job would need an owner beside its
 *            caller. The mutex is taken once for a portion, which takes some microseconds.
 *            Actors that send: they would be seen, counted, and have to be stopped.
 */
#ifndef AXO__SCHED_CREW_H
#define AXO__SCHED_CREW_H

#include "sched/pool.h"

struct axo__crew_job {
    /* Does a portion; worker NULL: on a thread that is no worker of the pool. */
    void (*work)(axo__crew_job *job, axo__worker *worker, uint32_t portion);
    uint32_t portions;
    uint32_t next;      /* the first portion that nobody has taken; guarded by the pool's mutex */
    axo__a32 left;      /* portions that are not done */
    bool open;
    axo__os_latch done; /* of an open one */
};

static inline void axo__crew_init(axo__crew_job *job, uint32_t portions,
                                  void (*does)(axo__crew_job *, axo__worker *, uint32_t))
{
    job->work = does;
    job->portions = portions;
    job->next = 0;
    axo__a32_store_relaxed(&job->left, portions);
    job->open = false;
}

/* Gives the job, which has a portion, to the workers. false: they have another one, or there is no
 * latch; then it is the caller's alone. */
bool axo__crew_open(axo__sched *sched, axo__crew_job *job);

/* Takes a portion and does it; false: all are taken. `worker`: the caller; NULL: it is none. */
bool axo__crew_help(axo__sched *sched, axo__crew_job *job, axo__worker *worker);

/* Returns when it is done, or no worker has taken a portion for AXO__CREW_LOOK_NS. */
void axo__crew_leave_to(axo__sched *sched, axo__crew_job *job);

/* All portions are taken: returns when they are done. */
void axo__crew_close(axo__crew_job *job);

/* The worker does a portion of its pool's job, if there is one. Between two turns. */
bool axo__crew_step(axo__worker *worker);

#endif
