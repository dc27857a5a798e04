/* strategy.h - what a parent decides about a failed child.
 *
 * A decision has three parts: the decider's directive, the budgets' permission, and the telling
 * of every child that it reaches. It is made in a turn of the parent, or in the failed child's
 * turn while the parent is borrowed; both ways run the same steps in the same order. */
#ifndef AXO__SUPER_STRATEGY_H
#define AXO__SUPER_STRATEGY_H

#include "super/super.h"

/* Takes a child's report: decides it now, or holds it while the parent may not decide (SC-09). */
void axo__strategy_report(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* How the running cell gets the answer to its failure. */
typedef enum axo__answer {
    AXO__ANSWER_LATER = 0,  /* not yet: the caller reports to the parent */
    AXO__ANSWER_TOLD = 1,   /* by directives, or a delay has begun, or the parent has failed too */
    AXO__ANSWER_RESTART = 2 /* the caller restarts the cell at once; no directive says so */
} axo__answer;

/* Lets the parent decide about the running cell's failure in that cell's turn, if the parent is
 * idle. */
axo__answer axo__strategy_decide_here(axo__worker *worker, axo__cell *child);

/* Decides the held reports in order, as long as the cell may decide (SC-10). */
void axo__strategy_unhold(axo__worker *worker, axo__cell *cell);

/* Has a child's report that was put off (AXO_LATER) decided behind the running callback of the
 * cell. false: none was. */
bool axo__strategy_again(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* Asks one child's budget for a restart and counts it (RW). Without a budget, `record` may be
 * NULL. */
bool axo__strategy_permit(const axo_strategy *strategy, axo__child_record *record, int64_t now);

/* A delayed restart is due: it is held, or carried out. Returns true if the child has terminated
 * meanwhile and waits to be forgotten. */
bool axo__strategy_due(axo__worker *worker, axo__cell *cell, axo__cell *child);

#endif
