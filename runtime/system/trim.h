/* trim.h - memory that nobody uses goes back to the program's allocator. */
#ifndef AXO__SYSTEM_TRIM_H
#define AXO__SYSTEM_TRIM_H

#include "system/system.h"

/* axo_system_trim, of a thread that is in no turn and holds no door. */
axo_status axo__trim(axo_system *system, int64_t timeout_ns, uint64_t *bytes);

#endif
