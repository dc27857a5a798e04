/* quiet.h - how a thread of the program waits for what is going on in a system. */
#ifndef AXO__SYSTEM_QUIET_H
#define AXO__SYSTEM_QUIET_H

#include "system/system.h"

/* AXO_ETIMEDOUT: not yet. */
typedef axo_status (*axo__quiet_look)(axo_system *system, const void *what);

/* Looks, for `what`, and again by the clock, ever less often, until the answer is another one or
 * `timeout_ns` have passed; 0: once; negative: for ever. In between the caller runs what nobody
 * else would. Any thread that is in no turn and in no door. AXO_ETHREAD: it could not wait. */
axo_status axo__quiet_until(axo_system *system, axo__quiet_look look, const void *what,
                            int64_t timeout_ns);

#endif
