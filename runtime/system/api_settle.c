/* api_settle.c - the door of axo_want_settle (actor.h). */
#include <axo/axo.h>

#include "system/system.h"

axo_status axo_want_settle(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (axo__cell_class(cell)->settle == NULL)
        return AXO_EINVAL;
    uint32_t site = axo__self->site;
    if (site == AXO__SITE_PRE_RESTART || site == AXO__SITE_POST_STOP)
        return AXO_ESTOPPING;
    if (site != AXO_SITE_SETTLE)
        cell->settled = 0;
    cell->attention |= AXO__ATTENTION_SETTLE;
    return AXO_OK;
}
