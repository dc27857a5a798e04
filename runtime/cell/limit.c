/* limit.c - how many actors may live at a time.
 *
 * limit.h has the argument; here is only the arithmetic of margin and sum. */
#include "cell/limit.h"

#include <string.h>

#include "base/assert.h"

bool axo__limit_init(axo__limit *limit, uint32_t most, uint32_t hoards,
                     uint64_t (*living)(void *user), void *user)
{
    AXO_DEBUG_ASSERT(most > 0 && living != NULL);
    memset(limit, 0, sizeof *limit);
    limit->most = most;
    limit->margin = hoards + AXO__LIMIT_MARGIN;
    limit->living = living;
    limit->user = user;
    return axo__os_mutex_init(&limit->mutex);
}

void axo__limit_fini(axo__limit *limit)
{
    axo__os_mutex_fini(&limit->mutex);
}

/* A system whose slots are too few to reach the limit never adds up. `tight` is raised within one
 * margin of the limit and lowered two margins below it, so it does not change with every birth. */
void axo__limit_look(axo__limit *limit, uint32_t slots)
{
    if (limit->living == NULL || (uint64_t)slots + limit->margin <= limit->most)
        return; /* living actors cannot outnumber slots */
    axo__os_mutex_lock(&limit->mutex);
    uint64_t living = limit->living(limit->user);
    if (limit->held || living + limit->margin > limit->most)
        axo__a32_store_relaxed(&limit->tight, 1);
    else if (living + UINT64_C(2) * limit->margin <= limit->most)
        axo__a32_store_relaxed(&limit->tight, 0);
    axo__os_mutex_unlock(&limit->mutex);
}

void axo__limit_hold(axo__limit *limit)
{
    axo__os_mutex_lock(&limit->mutex);
    limit->held = true;
    axo__a32_store_relaxed(&limit->tight, 1);
    axo__os_mutex_unlock(&limit->mutex);
}

/* As at a look that finds the limit near. */
void axo__limit_unhold(axo__limit *limit)
{
    axo__os_mutex_lock(&limit->mutex);
    bool near = limit->living(limit->user) + UINT64_C(2) * limit->margin > limit->most;
    limit->held = false;
    axo__a32_store_relaxed(&limit->tight, near ? 1 : 0);
    axo__os_mutex_unlock(&limit->mutex);
}

/* Births near the limit add up one at a time: the mutex makes each sum include all births that were
 * admitted before, and a refused birth is taken back before the next sum. So of several births that
 * want the last place one gets it. */
bool axo__limit_admits(axo__limit *limit, axo__a64 *births)
{
    axo__os_mutex_lock(&limit->mutex);
    bool admits = limit->living(limit->user) <= limit->most;
    if (!admits)
        axo__a64_store_relaxed(births, axo__a64_load_relaxed(births) - 1);
    axo__os_mutex_unlock(&limit->mutex);
    return admits;
}
