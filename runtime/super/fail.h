/* fail.h - an actor fails: its subtree is suspended, the cause kept, the parent told.
 *
 * A failure is a value (cell/cause.h) and travels upward in nodes that the failed cell owns, so no
 * step takes memory (D10). */
#ifndef AXO__SUPER_FAIL_H
#define AXO__SUPER_FAIL_H

#include "super/super.h"

/* The cell fails for worker->pending. `perpetrator` is the child whose escalated failure this is
 * (EG-01): that child is suspended already. With `survivors`, children of earlier instances are not
 * suspended again either (HF-08). */
void axo__fail(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors);

/* Does everything but the report. Returns false if the failure is not to be reported, or if the
 * report follows once a sweep has told all children (super/sweep.h). */
bool axo__fail_begin(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors);
/* The sender of the message under which the cell has failed goes into the reserve of texts. Called
 * before anybody is shown the failure; not at all if nobody will be. */
void axo__fail_keep_sender(axo__worker *worker, axo__cell *cell);
/* Pushes the report onto the parent's system lane. A failure of the root ends the system
 * instead. */
void axo__fail_report(axo__worker *worker, axo__cell *cell);

/* The parent's answer has arrived: super.h's I2 ends, and the cell owns its report node and its
 * failure again. */
void axo__fail_resolve(axo__worker *worker, axo__cell *cell);

/* Turns worker->pending, raised by a hook, into a failure of another kind and keeps the original
 * one in it (IN-02, HF-04). */
void axo__fail_wrap(axo__worker *worker, axo_failure_kind kind, axo__cause *original);

/* LT-06: a permanent actor that ends by itself fails for it. Returns false if the actor has already
 * failed and awaits the answer, which comes first: after a Resume, the end is its next failure; a
 * Restart takes the end in (LT-08). */
bool axo__fail_ended(axo__worker *worker, axo__cell *cell);

#endif
