/* restart.h - the restart in two halves, Resume, and a first instance made again.
 *
 * A restart keeps the cell, the reference, the mailbox and the watches, and replaces the
 * instance. No thread waits for the children that pre_restart stopped: the first half ends in
 * phase RECREATING, and the last of those children brings the second half (RS-05). */
#ifndef AXO__SUPER_RESTART_H
#define AXO__SUPER_RESTART_H

#include "super/super.h"

/* Takes the restart that the directive word asks for: for the cell's own failure, or from above. */
void axo__restart_take(axo__worker *worker, axo__cell *cell, uint64_t word);

/* Restarts the cell for its own failure. The parent has answered, so `failure` is the cell's
 * runner's again. */
void axo__restart_own(axo__worker *worker, axo__cell *cell);

/* A child has gone: begins the second half if no other child is waited for. */
void axo__restart_go_on(axo__worker *worker, axo__cell *cell);

/* Takes Resume: the perpetrator gets the same answer, its siblings a plain resumption (SC-04,
 * EG-02). */
void axo__restart_resume_own(axo__worker *worker, axo__cell *cell);

/* Takes suspensions (below zero: resumptions) from above, and passes them to the whole subtree. */
void axo__restart_shift(axo__worker *worker, axo__cell *cell, int32_t delta);

/* The default pre_restart (RS-04) for a hook that calls it: stops the children, then runs
 * post_stop. */
axo_status axo__restart_default_pre_restart(axo__worker *worker, axo__cell *cell);

#endif
