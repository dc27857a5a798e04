/* restart.h - the restart in two halves, resume, a first instance made again. */
#ifndef AXO__SUPER_RESTART_H
#define AXO__SUPER_RESTART_H

#include "super/super.h"

/* Takes the restart that the word asks for: for its own failure, or from above. */
void axo__restart_take(axo__worker *worker, axo__cell *cell, uint64_t word);

/* For its own failure, which nobody else looks at any more. */
void axo__restart_own(axo__worker *worker, axo__cell *cell);

/* A child is gone: the second half, if the first has waited for no other. */
void axo__restart_go_on(axo__worker *worker, axo__cell *cell);

/* The perpetrator gets its answer, its siblings a plain resume (SC-04, EG-02). */
void axo__restart_resume_own(axo__worker *worker, axo__cell *cell);

/* Suspensions (or, below zero, resumptions) from above, to the whole subtree. */
void axo__restart_shift(axo__worker *worker, axo__cell *cell, int32_t delta);

/* The default pre_restart (RS-04), for a pre_restart that is running: leaves the children, then
 * post_stop. */
axo_status axo__restart_default_pre_restart(axo__worker *worker, axo__cell *cell);

#endif
