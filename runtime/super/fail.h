/* fail.h - an actor fails: the subtree is suspended, the cause kept, the parent told. */
#ifndef AXO__SUPER_FAIL_H
#define AXO__SUPER_FAIL_H

#include "super/super.h"

/* The cell fails for worker->pending. `perpetrator`: the child whose failure it is (EG-01), not to
 * be suspended again; `survivors`: nor are children older than the running instance (HF-08). */
void axo__fail(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors);

/* All of it but the report; false: there is nothing to report, or the report will follow when all
 * children have been told (sweep.h). The root's is the end of the system. */
bool axo__fail_begin(axo__worker *worker, axo__cell *cell, axo_ref perpetrator, bool survivors);
void axo__fail_report(axo__worker *worker, axo__cell *cell);

/* The answer to the report has come: I2 ends. */
void axo__fail_resolve(axo__worker *worker, axo__cell *cell);

/* worker->pending, raised by a hook, becomes a failure of another kind (IN-02, HF-04). */
void axo__fail_wrap(axo__worker *worker, axo_failure_kind kind, axo__cause *original);

/* LT-06: a permanent actor that ends by itself fails. One that has failed already is answered
 * first: Resume, and this is its next failure; Restart takes it in. false: that is so. */
bool axo__fail_ended(axo__worker *worker, axo__cell *cell);

#endif
