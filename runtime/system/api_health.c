/* api_health.c - the door for <axo/health.h>. */
#include <string.h>

#include "system/health.h"
#include "system/options.h"
#include "system/system.h"

axo_status axo_health(axo_system *system, int64_t within_ns, axo_health_report *late)
{
    axo_health_report full = AXO_HEALTH_REPORT();
    size_t room = 0;
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    if (within_ns < 1)
        return AXO_EINVAL;
    axo_status status = late != NULL ? axo__struct_room(late, sizeof full, &room) : AXO_OK;
    if (status != AXO_OK)
        return status;
    if (!axo__health_look(system, within_ns, &full))
        return AXO_ENOMEM;
    if (late != NULL) {
        full.size = late->size;
        memcpy(late, &full, room);
    }
    return full.count > 0 ? AXO_ETIMEDOUT : AXO_OK;
}
