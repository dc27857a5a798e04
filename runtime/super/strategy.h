/* strategy.h - what a parent decides about a failed child. */
#ifndef AXO__SUPER_STRATEGY_H
#define AXO__SUPER_STRATEGY_H

#include "super/super.h"

/* A child's report: held back, or decided. */
void axo__strategy_report(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* How the running cell has its answer to its failure. */
typedef enum axo__answer {
    AXO__ANSWER_LATER = 0,  /* not yet: the parent needs a report */
    AXO__ANSWER_TOLD = 1,   /* by directives, or a delay has begun, or the parent has failed too */
    AXO__ANSWER_RESTART = 2 /* it restarts at once, which the caller does; no directive says so */
} axo__answer;

/* The parent decides about the running cell's failure in that cell's turn, if it can. */
axo__answer axo__strategy_decide_here(axo__worker *worker, axo__cell *child);

/* Decides what was held back, in order, as long as the cell may (SC-10). */
void axo__strategy_unhold(axo__worker *worker, axo__cell *cell);

/* Restart permission for one child, counted (RW). Without a budget, `record` is not looked at. */
bool axo__strategy_permit(const axo_strategy *strategy, axo__child_record *record, int64_t now);

/* A delayed restart is due: held back, or done. true: the child has terminated meanwhile, and is to
 * be forgotten. */
bool axo__strategy_due(axo__worker *worker, axo__cell *cell, axo__cell *child);

#endif
