/* inject.c - work from outside and overflow: a shared queue, whose consumers exclude each other. */
#include "queue/inject.h"

#include <stddef.h>

#include "base/assert.h"

void axo__inject_init(axo__inject *inject)
{
    axo__mpsc_init(&inject->queue);
    axo__a32_store_relaxed(&inject->taken, 0);
    axo__a32_store_relaxed(&inject->pushed, 0);
}

void axo__inject_push_any(axo__inject *inject, axo__mpsc_node *node)
{
    (void)axo__a32_add_seq_cst(&inject->pushed, 1); /* [J3] */
    axo__mpsc_push_any(&inject->queue, node);
}

axo__inject_pop axo__inject_pop_any(axo__inject *inject, axo__mpsc_node **out)
{
    if (!axo__inject_has_any(inject))
        return AXO__INJECT_EMPTY;
    if (axo__a32_xchg_acq_rel(&inject->taken, 1) != 0) /* [J1] */
        return AXO__INJECT_LOST;
    axo__pop pop = axo__mpsc_pop_owner(&inject->queue, out);
    axo__a32_store_release(&inject->taken, 0); /* [J2] */
    if (pop != AXO__POP_ITEM)
        return AXO__INJECT_LOST;
    uint32_t pushed = axo__a32_add_relaxed(&inject->pushed, UINT32_MAX);
    AXO_DEBUG_ASSERT(pushed > 0);
    return AXO__INJECT_ITEM;
}
