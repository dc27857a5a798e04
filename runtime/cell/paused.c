/* paused.c - the list of the tops of paused subtrees. */
#include "cell/paused.h"

uint32_t axo__paused_find(const axo__paused *paused, axo_ref top)
{
    uint32_t place = 0;
    while (place < AXO_PAUSES_MAX && axo__a64_load_relaxed(&paused->tops[place]) != top.bits)
        place++;
    return place;
}

void axo__paused_put(axo__paused *paused, uint32_t place, axo_ref top)
{
    const uint32_t count = axo__a32_load_relaxed(&paused->count);
    AXO_DEBUG_ASSERT(place < AXO_PAUSES_MAX);
    AXO_DEBUG_ASSERT(axo_ref_is_none(top) == (axo__a64_load_relaxed(&paused->tops[place]) != 0));
    axo__a64_store_relaxed(&paused->tops[place], top.bits);
    axo__a32_store_relaxed(&paused->count, axo_ref_is_none(top) ? count - 1 : count + 1);
}

bool axo__paused_sweep(axo__paused *paused, const axo__table *table)
{
    bool any = false;
    for (uint32_t i = 0; i < AXO_PAUSES_MAX && axo__paused_any(paused); i++) {
        const axo_ref top = {axo__a64_load_relaxed(&paused->tops[i])};
        if (axo_ref_is_none(top) || axo__table_find(table, top) != NULL)
            continue;
        axo__paused_put(paused, i, axo_ref_none());
        any = true;
    }
    return any;
}

/* A parent is there as long as its child lives, and behind that for a grace period. */
bool axo__paused_has(const axo__paused *paused, const axo__table *table, axo_ref actor)
{
    const axo__cell *cell = axo__table_find(table, actor);
    for (; cell != NULL; cell = axo__cell_parent(cell)) {
        if (axo__paused_find(paused, axo__cell_ref(cell)) < AXO_PAUSES_MAX)
            return true;
    }
    return false;
}
