/* model.h - the sequential reference model, run in lock-step: what a parent's events make it tell
 * its children, in order, and what they may do because of it.
 *
 * For each actor: how often it has been told to be suspended and has not taken that yet, the answer
 * to its own failure, a restart from above, a stop, its perpetrator. An actor's own event must be
 * something it was told; between two steps the word of directives of each living cell is what the
 * model has. What is decided for delayed restarts has no event of its own: it is carried out when
 * the first thing that can only come from it is seen, and its time has come.
 */
#ifndef TEST_SIM_MODEL_H
#define TEST_SIM_MODEL_H

#include "super/delay.h"
#include "decide.h"
#include "world.h"

void model_stop(ghost *child);

/* A thread outside is about to pause a subtree, and may resume it: what its top is told is not
 * known any more. */
void model_pause(ghost *top);

/* What the default pre_restart does (RS-04). */
void model_leave_children(const ghost *it);

/* What becomes of a decision to restart is said in a line for people (DR-09), before it is done. */
void model_said(axo_ref ref, axo_directive directive);

/* Before an event: what was carried out before it. */
void model_before(const axo_event *e);

/* A dead letter of poison. */
void model_poisoned(const axo_dead_letter *letter);

void model_event(ghost *it, const axo_event *e);
void model_step(void);

#endif
