/* children.h - the parent's side: telling, counting and forgetting children. */
#ifndef AXO__SUPER_CHILDREN_H
#define AXO__SUPER_CHILDREN_H

#include "super/super.h"

/* Tells a child, in the parent's turn. Directives to a child that is stopping do nothing. */
void axo__child_stop(axo__worker *worker, axo__cell *child);
void axo__child_suspend(axo__worker *worker, axo__cell *child, int32_t delta);
void axo__child_resume_own(axo__worker *worker, axo__cell *child);
void axo__child_restart_own(axo__worker *worker, axo__cell *child);
/* true: it holds the cause's texts once more, which the caller has seen to before. */
bool axo__child_restart_parent(axo__worker *worker, axo__cell *child, const axo__cause *cause,
                               bool resolve);

/* Sweeps: stops the children from `first` to `end`; suspends or resumes all from `first` on. */
bool axo__children_stop(axo__worker *worker, axo__cell *parent, axo__cell *first, axo__cell *end);
void axo__children_shift(axo__worker *worker, axo__cell *parent, axo__cell *first, int32_t delta);

/* Another instance of the parent begins: the children are an earlier one's. */
void axo__children_mark_earlier(axo__cell *parent);

/* The parent has a family. */
void axo__children_link(axo__cell *parent, axo__cell *child);

/* The child has terminated; the caller sees to it if the parent's phase has waited for that. false:
 * the parent cannot forget it yet, and its DUE brings it here again. */
bool axo__children_forget(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* What the parent keeps of a child: taken with its birth, given back when it forgets it. */
bool axo__children_take_record(axo__local *local, const axo__cell *parent, axo__cell *cell);
void axo__children_free_record(axo__local *local, axo__cell *cell);

#endif
