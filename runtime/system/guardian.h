/* guardian.h - root, /user, /system: the three actors that every system has.
 *
 * They are ordinary cells with classes of the library. What makes them special is here: their
 * deciders, the order of the end, and spawning under them from outside. */
#ifndef AXO__SYSTEM_GUARDIAN_H
#define AXO__SYSTEM_GUARDIAN_H

#include "system/system.h"

/* Makes root, /user and /system; before the workers run. */
axo_status axo__guardians_make(axo_system *system);
/* Keeps the first cause that reaches the top as the system's outcome, for axo_system_wait. */
void axo__guardian_root_failed(axo__core *core, const axo__cause *cause);
/* Ask /system to wait for the running cell at the end of the system (GU-09), and no longer. The
 * request is a message: only /system's runner touches the list of hooks. */
axo_status axo__guardian_add_hook(axo_system *system, axo__worker *worker, axo__cell *cell);
axo_status axo__guardian_hook_done(axo_system *system, axo__worker *worker, axo__cell *cell);

/* Spawns under /user or /system, from an outside thread. */
axo_status axo__guardian_spawn(axo_system *system, const axo_props *props, axo_ref *out);

#endif
