/* instance.h - the begin and the end of an instance.
 *
 * An instance is one life of an actor between restarts: its state block, its region and its
 * clean-ups go with it (D2), while the cell, the mailbox and the reference stay. */
#ifndef AXO__SUPER_INSTANCE_H
#define AXO__SUPER_INSTANCE_H

#include "super/super.h"

/* Makes the first instance, or tries again after a failed try: construct, then pre_start. If either
 * fails, the cell fails (IN-02). */
void axo__instance_create(axo__worker *worker, axo__cell *cell);

/* Ends the instance before, zeroes the state block and constructs the next instance in it. */
axo_status axo__instance_construct(axo__worker *worker, axo__cell *cell);

/* Ends the instance's region: its clean-ups run and its memory is freed. */
void axo__instance_destroy(axo__worker *worker, axo__cell *cell);

/* Frees the message under which the instance failed. */
void axo__instance_drop_failed(axo__worker *worker, axo__cell *cell);

#endif
