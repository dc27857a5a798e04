/* decide.h - the model's arithmetic: whom a strategy reaches, what a budget permits (RW), how long
 * a back-off lasts (BO, PH-10..PH-13). From the catalogue, not from the runtime's code.
 */
#ifndef TEST_SIM_DECIDE_H
#define TEST_SIM_DECIDE_H

#include <math.h>

#include "mail.h"

/* The first of those that it reaches, the youngest; then on to *last. */
ghost *model_reach(const ghost *parent, ghost *child, const ghost **last);

typedef enum decide_answer { DECIDE_NO, DECIDE_YES, DECIDE_EITHER } decide_answer;

/* AF-06: all that the restart reaches count it, whoever refuses. */
decide_answer model_permits(const ghost *parent, ghost *child, int64_t now);

/* PH-13: follows the decision. A quiet time between the two bounds of the last event's own time
 * may have been long enough, or not. */
void model_delay(ghost *it, const axo_event *e);

/* Whether restarts of its children take turns; those of /system's do not. */
bool model_governs(const ghost *it);

/* With a governor, and no back-off: the restart's turn, at once if its delay is 0. */
void model_turn(ghost *it, const axo_event *e);

/* The delayed restart is done: at some time since it was due. */
void model_delay_over(const ghost *parent, ghost *child);

#endif
