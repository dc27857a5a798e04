/* hook.h - hooks and deciders: calls of user code from within a turn. */
#ifndef AXO__SCHED_HOOK_H
#define AXO__SCHED_HOOK_H

#include <axo/world.h>

#include "sched/pool.h"

/* Calls a hook under an unwind point of its own. On another status than AXO_OK,
 * worker->pending says why. */
axo_status axo__hook_run_own(axo__worker *worker, axo__cell *cell, uint32_t site,
                             const axo_failure *failure, const axo__message *message);

/* Calls a hook if `there` says that the class has it. */
static inline axo_status axo__hook_run(axo__worker *worker, axo__cell *cell, uint32_t site,
                                       bool there)
{
    return there ? axo__hook_run_own(worker, cell, site, NULL, NULL) : AXO_OK;
}

/* Calls a hook within the callback that is running, for a default hook that calls another hook. The
 * call has no unwind point of its own: a throw of the hook is the running callback's. */
axo_status axo__hook_within(axo__cell *cell, uint32_t site, bool there);

/* As axo__hook_run_own, of a class that has the hook, for one that the turn itself calls, with no
 * step of the turn open around it: the unwind point is the turn's, and a throw comes back by
 * axo__super_ops.thrown. */
axo_status axo__hook_construct(axo__worker *worker, axo__cell *cell);
axo_status axo__hook_pre_start(axo__worker *worker, axo__cell *cell);
axo_status axo__hook_post_stop(axo__worker *worker, axo__cell *cell);

/* Ends such a callback that has thrown: AXO_EFAILED, and worker->pending says
 * why. */
axo_status axo__hook_thrown(axo__worker *worker, axo__cell *cell);

/* Calls a clean-up, where crashes are contained: one that crashes is a line of the log. */
void axo__hook_cleanup(void (*fn)(void *arg), void *arg);

/* How a state becomes one of another class. */
typedef struct axo__migration {
    axo_migrate_fn fn;
    void *state; /* of the new class */
    void *old;
    void *user;
} axo__migration;

/* Calls a migrate. On another status than AXO_OK, worker->pending says why. */
axo_status axo__hook_migrate(axo__worker *worker, axo__cell *cell, const axo__migration *what);

/* Calls the decider of the parent's strategy in the parent's name; false: the decider has failed,
 * and worker->pending says why. */
bool axo__hook_decide(axo__worker *worker, axo__cell *parent, const axo__cell *child,
                      const axo_failure *failure, axo_directive *directive);

#endif
