/* life.h - what must hold of an actor's life, from its events: instances, hooks and messages in
 * their order, suspensions, failures and what is decided of them, and what is left at rest.
 */
#ifndef TEST_SIM_LIFE_H
#define TEST_SIM_LIFE_H

#include "grammar.h"
#include "sched/worker.h"

/* A step is over: everybody is outside. */
void ghost_outside(void);

void ghost_note(const axo_event *e);
ghost *ghost_event(const axo_event *e);

/* Nothing can run, no timer waits. */
void ghost_check_rest(void);

/* The system has ended. */
void ghost_check_end(void);

#endif
