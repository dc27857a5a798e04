/* run.h - one turn of one cell, and its hooks: the only calls of user code. */
#ifndef AXO__SCHED_RUN_H
#define AXO__SCHED_RUN_H

#include "sched/pool.h"

/* Runs a claimed cell for one turn, of at most so many messages, and then others that are found,
 * until so many turns were run. One unwind point serves them all. */
void axo__run_cells(axo__worker *worker, axo__cell *cell, uint32_t messages, uint32_t turns);

/* Calls a hook under an unwind point of its own. On another status than AXO_OK,
 * worker->pending says why. */
axo_status axo__run_own_hook(axo__worker *worker, axo__cell *cell, uint32_t site,
                             const axo_failure *failure, const axo__message *message);

/* `there`: the class has it. */
static inline axo_status axo__run_hook(axo__worker *worker, axo__cell *cell, uint32_t site,
                                       bool there)
{
    return there ? axo__run_own_hook(worker, cell, site, NULL, NULL) : AXO_OK;
}

/* Calls a hook within the callback that is running, for what a default hook does: no unwind point,
 * what the hook throws is the running callback's. */
axo_status axo__run_within(axo__cell *cell, uint32_t site, bool there);

/* Calls the decider of the parent's strategy in its name; false: it failed, see worker->pending. */
bool axo__run_decider(axo__worker *worker, axo__cell *parent, const axo__cell *child,
                      const axo_failure *failure, axo_directive *directive);

/* Records a failure of the running callback. */
void axo__run_record(axo__worker *worker, axo_failure_kind kind, int32_t code, const char *format,
                     va_list list) __attribute__((format(printf, 4, 0)));

/* Frees a handled or undeliverable message, whatever it is; one that is stashed stays. */
void axo__run_free(axo__worker *worker, axo__message *message);

#endif
