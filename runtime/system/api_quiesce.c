/* api_quiesce.c - the door for who waits until a system is at rest. */
#include <axo/axo.h>

#include "base/aside.h"
#include "system/pools.h"
#include "system/quiet.h"

static axo_status quiesce_rests(axo_system *system, const void *none)
{
    (void)none;
    return axo__pools_look(system) ? AXO_OK : AXO_ETIMEDOUT;
}

axo_status axo_system_quiesce(axo_system *system, int64_t timeout_ns)
{
    axo_status status = axo__system_check(system);
    if (status != AXO_OK)
        return status;
    /* The callback, or the call in whose door an observer is, would wait for itself. */
    if (axo__self != NULL || axo__away != NULL || axo__aside != 0)
        return AXO_ECONTEXT;
    return axo__quiet_until(system, quiesce_rests, NULL, timeout_ns);
}
