/* pauses.h - subtrees that a thread outside pauses and resumes. A fourth of the seeds has some;
 * what they choose is drawn apart, so that the others are what they were.
 */
#ifndef TEST_SIM_PAUSES_H
#define TEST_SIM_PAUSES_H

#include <axo/axo.h>

void pauses_reset(void);

/* Perhaps pauses somebody, or asks for one that is paused, or resumes it. Between two steps. */
void pauses_act(axo_system *system);

/* Resumes all. */
void pauses_end(axo_system *system);

#endif
