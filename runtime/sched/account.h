/* account.h - what an actor has outstanding (axo/demand.h): what is done with its account.
 *
 * All of it by the cell's runner, in a callback or between two. An actor without an account is
 * never refused.
 *
 * Invariants
 *   I1  `notice` is there from the first refusal on until there is room for what was refused, and
 *       is sent then: one for all refusals between.
 *   I2  What an instance has outstanding ends with it. A message that is for that instance
 *       (AXO__MESSAGE_BOUND) never reaches the next one, so neither an answer nor a notice is
 *       counted there.
 *   I3  An answer of an ask is counted when it comes up for the first time (PAID), also if it is
 *       stashed and comes up again. */
#ifndef AXO__SCHED_ACCOUNT_H
#define AXO__SCHED_ACCOUNT_H

#include "cell/extra.h"
#include "sched/pool.h"

static inline axo__account *axo__account_of(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->account : NULL;
}

/* Takes the child's account, if the props ask for one; false: no memory. */
bool axo__account_begin(axo__local *local, const axo_props *props, axo__cell *cell);

/* The instance ends. */
void axo__account_end(axo__worker *worker, axo__account *it);

/* Statuses as the functions of <axo/demand.h>. */
axo_status axo__account_owe(axo__worker *worker, axo__account *it, uint32_t answers);
axo_status axo__account_answered(axo__worker *worker, axo__cell *cell, axo__account *it,
                                 size_t bytes);
axo_status axo__account_forgive(axo__worker *worker, axo__cell *cell, axo__account *it,
                                uint32_t answers);
axo_status axo__account_hold(axo__account *it, size_t bytes);
axo_status axo__account_drop(axo__worker *worker, axo__cell *cell, axo__account *it,
                             size_t bytes);

/* A message that is for this instance comes up: an ask's answer is owed no more. */
void axo__account_comes(axo__worker *worker, axo__cell *cell, axo__account *it,
                        axo__message *message);
static inline void axo__account_come(axo__worker *worker, axo__cell *cell, axo__message *message)
{
    if ((message->flags & AXO__MESSAGE_BOUND) == 0)
        return;
    axo__account *it = axo__account_of(cell);
    if (it != NULL)
        axo__account_comes(worker, cell, it, message);
}

#endif
