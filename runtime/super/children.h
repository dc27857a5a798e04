/* children.h - the parent's side: telling, counting and forgetting children.
 *
 * The parent's runner does not change a running child. It writes directives into the child's
 * word (cell/directive.h) and announces them, and the child's runner takes them in its own turn;
 * only an idle child is borrowed and suspended on the spot. The list of children, its counts and
 * the cold part of each child belong to the parent's runner alone, so none of them needs a lock. */
#ifndef AXO__SUPER_CHILDREN_H
#define AXO__SUPER_CHILDREN_H

#include "super/super.h"

/* Each function tells one child, in the parent's turn. A child that the parent has already told to
 * stop (`stopping`) ignores every later directive, so resume and restart write none to it
 * (AF-09). */
void axo__child_stop(axo__worker *worker, axo__cell *child);
void axo__child_suspend(axo__worker *worker, axo__cell *child, int32_t delta);
void axo__child_resume_own(axo__worker *worker, axo__cell *child);
void axo__child_restart_own(axo__worker *worker, axo__cell *child);
/* Returns true if the child's record now holds the cause's texts once more. The caller holds the
 * texts for it before the call, since the child's runner may drop them as soon as the bit is
 * set. */
bool axo__child_restart_parent(axo__worker *worker, axo__cell *child, const axo__cause *cause,
                               bool resolve);

/* Sweeps (super/sweep.h): axo__children_stop tells the children from `first` up to `end` to stop;
 * axo__children_shift suspends or resumes every child from `first` on. */
bool axo__children_stop(axo__worker *worker, axo__cell *parent, axo__cell *first, axo__cell *end);
void axo__children_shift(axo__worker *worker, axo__cell *parent, axo__cell *first, int32_t delta);

/* Another instance of the parent begins: every child now in the list was born of an earlier one. */
void axo__children_mark_earlier(axo__cell *parent);

/* Adds a child to the parent's family, which the caller has taken before. */
void axo__children_link(axo__cell *parent, axo__cell *child);

/* The child has terminated and the parent lets its cell go. The caller then checks whether the
 * parent's phase waited for this child. Returns false if the child's DUE is still under way: the
 * cell must stay until the parent's runner takes that DUE, which brings the child here again. */
bool axo__children_forget(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* Whether children that are not temporary get a record: a strategy that counts, or a restart that
 * reaches them, needs it. Fixed as the parent's props and class are. */
bool axo__children_have_records(const axo__core *core, const axo__cell *parent);

/* The parent's record of a child: taken with the child's birth, so that no failure ever needs
 * memory for it (D10), and given back when the parent forgets the child. */
bool axo__children_take_record(axo__local *local, const axo__cell *parent, axo__cell *cell);
void axo__children_free_record(axo__local *local, axo__cell *cell);

#endif
