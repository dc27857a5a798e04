/* guardian.h - root, /user, /system. */
#ifndef AXO__SYSTEM_GUARDIAN_H
#define AXO__SYSTEM_GUARDIAN_H

#include "system/system.h"

/* Makes root, /user and /system; before the workers run. */
axo_status axo__guardians_make(axo_system *system);
/* The first cause that reaches the top is the system's outcome. */
void axo__guardian_root_failed(axo__core *core, const axo__cause *cause);
axo_status axo__guardian_add_hook(axo_system *system, axo__worker *worker, axo__cell *cell);
axo_status axo__guardian_hook_done(axo_system *system, axo__worker *worker, axo__cell *cell);

/* Spawns under /user or /system, from outside. */
axo_status axo__guardian_spawn(axo_system *system, const axo_props *props, axo_ref *out);

#endif
