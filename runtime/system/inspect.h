/* inspect.h - what an actor is doing: the answer to axo_inspect, and of the verdicts of waits. */
#ifndef AXO__SYSTEM_INSPECT_H
#define AXO__SYSTEM_INSPECT_H

#include "system/system.h"

/* Fills `info` about `ref`. The caller is a worker (`self` is the cell that it runs, or NULL) or
 * holds a door. *cls is the class of the actor; NULL: the actor has ended. */
void axo__inspect(axo__core *core, axo__cell *self, axo_ref ref, axo_ref waiting_sender,
                  axo_actor_info *info, const axo_class **cls);

/* Fills in the name of the tag that `info` has. Runs user code: the caller holds no lock and no
 * door. */
void axo__inspect_name_tag(axo_actor_info *info, const axo_class *cls);

#endif
