/* instance.h - the begin and the end of an instance. */
#ifndef AXO__SUPER_INSTANCE_H
#define AXO__SUPER_INSTANCE_H

#include "super/super.h"

/* The first instance, or another try at one: construct and pre_start; fails if they do. */
void axo__instance_create(axo__worker *worker, axo__cell *cell);

/* A new state, constructed; the one before goes. */
axo_status axo__instance_construct(axo__worker *worker, axo__cell *cell);

/* The instance's memory goes. */
void axo__instance_destroy(axo__worker *worker, axo__cell *cell);

/* The message the instance failed under goes. */
void axo__instance_drop_failed(axo__worker *worker, axo__cell *cell);

#endif
