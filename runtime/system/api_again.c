/* api_again.c - the door of axo_decide_again (supervision.h). */
#include <axo/axo.h>

#include "super/strategy.h"
#include "system/system.h"

axo_status axo_decide_again(struct axo_ctx *ctx, axo_ref child)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (axo_ref_is_none(child))
        return AXO_EINVAL;
    axo__cell *it = axo__table_find(&axo__self->local.core->table, child);
    if (it == NULL)
        return AXO_EGONE;
    if (axo__cell_parent(it) != cell || !axo__strategy_again(axo__self, cell, it))
        return AXO_EINVAL;
    return AXO_OK;
}
