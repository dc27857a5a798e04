/* boot.h - a system begins, and is taken apart: one function for each, opposite in order. */
#ifndef AXO__SYSTEM_BOOT_H
#define AXO__SYSTEM_BOOT_H

#include "system/system.h"

/* Makes a system from completed options and starts its threads. On failure nothing is left: no
 * thread, no memory, *out unchanged. */
axo_status axo__boot_start(const axo_options *options, axo_system **out);
/* Takes a terminated system apart and frees it. No thread may be in a call on it, or call later. */
void axo__boot_destroy(axo_system *system);

#endif
