/* api_crash.c - the doors of crash.h. */
#include <axo/crash.h>

#include "sched/contain.h"
#include "sched/land.h"
#include "sched/trap.h"
#include "sched/walk.h"
#include "system/system.h"

const axo_crash *axo_failure_crash(const axo_failure *failure)
{
    const axo__worker *worker = axo__self;
    if (worker == NULL || failure == NULL || !axo__kind_breaks(failure->root_kind))
        return NULL;
    return axo__texts_crash(&worker->local.core->texts, failure->text);
}

uint64_t axo_system_crashes(axo_system *system, axo_crash *out, uint32_t max)
{
    if (axo__system_check(system) != AXO_OK || system->core.contain == NULL ||
        (out == NULL && max > 0))
        return 0;
    return axo__contain_read(system->core.contain, out, max);
}

uint32_t axo_contain_state(axo_system *system)
{
    if (axo__system_check(system) != AXO_OK || system->core.contain == NULL)
        return AXO_CONTAIN_NONE;
    return axo__trap_is_first() ? AXO_CONTAIN_FIRST : AXO_CONTAIN_BEHIND;
}

void axo_guard_begin(axo_ctx *ctx)
{
    if (axo__caller(ctx) != NULL)
        axo__open_guard(axo__self);
}

void axo_guard_end(axo_ctx *ctx)
{
    if (axo__caller(ctx) != NULL)
        axo__open_guard_done(axo__self);
}

axo_status axo_trust(const void *address)
{
    return axo__walk_trust(address);
}
