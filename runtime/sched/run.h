/* run.h - one turn of one cell, and its hooks: the only calls of user code. run.c tells what a turn
 * is. */
#ifndef AXO__SCHED_RUN_H
#define AXO__SCHED_RUN_H

#include "sched/pool.h"

/* Runs a claimed cell for one turn of at most `messages` messages (more for a cell with a backlog),
 * and then the cells that axo__worker_find_next finds, until `turns` turns were run. One unwind
 * point serves all of these turns. */
void axo__run_cells(axo__worker *worker, axo__cell *cell, uint32_t messages, uint32_t turns);

/* Calls a hook under an unwind point of its own. On another status than AXO_OK,
 * worker->pending says why. */
axo_status axo__run_own_hook(axo__worker *worker, axo__cell *cell, uint32_t site,
                             const axo_failure *failure, const axo__message *message);

/* Calls a hook if `there` says that the class has it. */
static inline axo_status axo__run_hook(axo__worker *worker, axo__cell *cell, uint32_t site,
                                       bool there)
{
    return there ? axo__run_own_hook(worker, cell, site, NULL, NULL) : AXO_OK;
}

/* Calls a hook within the callback that is running, for a default hook that calls another hook. The
 * call has no unwind point of its own: a throw of the hook is the running callback's. */
axo_status axo__run_within(axo__cell *cell, uint32_t site, bool there);

/* Calls the decider of the parent's strategy in the parent's name; false: the decider has failed,
 * and worker->pending says why. */
bool axo__run_decider(axo__worker *worker, axo__cell *parent, const axo__cell *child,
                      const axo_failure *failure, axo_directive *directive);

/* Frees a handled or undeliverable message of any kind; a stashed message stays with its stash. */
void axo__run_free(axo__worker *worker, axo__message *message);

#endif
