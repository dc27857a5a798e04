/* answer.h - who has sent the message under which an actor failed is told so (axo_strategy's
 * answer_failed), without memory: the request itself becomes the answer.
 *
 * At the failure (axo__answer_look) the request is marked, and what is to be told goes into the
 * failure's text in the reserve. Request and text then wait in the cell, as `failed`, until the
 * failure is answered: pre_restart may still be shown them. Every way out of there (Resume,
 * Restart, Stop, an end) frees the request once, and what frees it (axo__answer_send) turns its
 * envelope into the answer instead, so there is exactly one. The answer's payload is the text in
 * the reserve; if that was spent, what the envelope has room for: all but the text. */
#ifndef AXO__SCHED_ANSWER_H
#define AXO__SCHED_ANSWER_H

#include "sched/pool.h"
#include "sched/run.h"

/* The message under which the cell fails is answered if its parent's strategy says so and if it is
 * a request: one of a user's that has a sender and goes with this failure. `pending` is the cause,
 * whose text gets the details. Where nobody is ever told it costs a failure a load and a branch. */
void axo__answer_look(axo__worker *worker, const axo__cell *cell, axo__message *message);
static inline void axo__answer_promise(axo__worker *worker, const axo__cell *cell,
                                       axo__message *message)
{
    if (axo__unlikely(axo__a32_load_relaxed(&worker->local.core->answers) != 0))
        axo__answer_look(worker, cell, message);
}

/* Takes the promise back: pre_restart has passed the request on. */
void axo__answer_undo(axo__core *core, axo__message *message);

/* Frees the message under which the cell failed, or answers it. Runs the payload's destructor, and
 * no other function of the program: no lock is held. */
void axo__answer_send(axo__worker *worker, const axo__cell *cell, axo__message *message);
static inline void axo__answer_free(axo__worker *worker, const axo__cell *cell,
                                    axo__message *message)
{
    if (axo__unlikely((message->flags & AXO__MESSAGE_ANSWER) != 0))
        axo__answer_send(worker, cell, message);
    else
        axo__run_free(worker, message);
}

#endif
