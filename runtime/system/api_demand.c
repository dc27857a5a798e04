/* api_demand.c - the door of demand.h: for the running callback only. */
#include <axo/axo.h>

#include <string.h>

#include "sched/account.h"
#include "system/options.h"

/* The account of the actor whose callback runs. NULL: *status says that none runs, or, with AXO_OK,
 * that it counts nothing. */
static axo__account *demand_of(axo_ctx *ctx, axo_status *status)
{
    const axo__cell *cell = axo__caller(ctx);
    *status = cell != NULL ? AXO_OK : axo__no_caller();
    return cell != NULL ? axo__account_of(cell) : NULL;
}

bool axo_demand_has_room(axo_ctx *ctx)
{
    axo_status status;
    const axo__account *it = demand_of(ctx, &status);
    return it != NULL ? axo__demand_may_owe(&it->demand, it->held, 1) : status == AXO_OK;
}

axo_status axo_demand_owe(axo_ctx *ctx, uint32_t answers)
{
    axo_status status;
    axo__account *it = demand_of(ctx, &status);
    return it != NULL ? axo__account_owe(axo__self, it, answers) : status;
}

axo_status axo_demand_answered(axo_ctx *ctx, size_t bytes)
{
    axo_status status;
    axo__account *it = demand_of(ctx, &status);
    return it != NULL ? axo__account_answered(axo__self, axo__self->current, it, bytes) : status;
}

axo_status axo_demand_forgive(axo_ctx *ctx, uint32_t answers)
{
    axo_status status;
    axo__account *it = demand_of(ctx, &status);
    return it != NULL ? axo__account_forgive(axo__self, axo__self->current, it, answers) : status;
}

axo_status axo_demand_hold(axo_ctx *ctx, size_t bytes)
{
    axo_status status;
    axo__account *it = demand_of(ctx, &status);
    return it != NULL ? axo__account_hold(it, bytes) : status;
}

axo_status axo_demand_release(axo_ctx *ctx, size_t bytes)
{
    axo_status status;
    axo__account *it = demand_of(ctx, &status);
    return it != NULL ? axo__account_drop(axo__self, axo__self->current, it, bytes) : status;
}

axo_status axo_demand_look(axo_ctx *ctx, axo_demand_info *info)
{
    axo_demand_info full = {.held = 0};
    size_t room = 0;
    axo_status status;
    const axo__account *it = demand_of(ctx, &status);
    if (status == AXO_OK)
        status = info != NULL ? axo__struct_room(info, sizeof full, &room) : AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    if (it != NULL) {
        full.held = it->held;
        full.owed = it->demand.owed;
        full.refused = it->notice != NULL;
        if (it->demand.bound != 0)
            full.outstanding = axo__demand_outstanding(&it->demand, it->held);
    }
    full.size = info->size;
    memcpy(info, &full, room);
    return AXO_OK;
}
