/* contain.c - what a system keeps of crashes. */
#include "sched/contain.h"

#include <string.h>

#include "base/config.h"

axo__contain *axo__contain_make(axo__heap *heap, uint32_t max, int64_t window_ns)
{
    axo__contain *contain =
        axo__heap_alloc(heap, sizeof *contain, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
    if (contain == NULL)
        return NULL;
    memset(contain, 0, sizeof *contain);
    contain->max = max;
    contain->window_ns = window_ns;
    contain->times = axo__heap_alloc(heap, sizeof(int64_t) * max, AXO__CACHE_LINE,
                                     AXO__SITE_SYSTEM);
    if (contain->times != NULL && axo__os_mutex_init(&contain->mutex)) {
        memset(contain->times, 0, sizeof(int64_t) * max);
        return contain;
    }
    axo__heap_free(heap, contain->times, sizeof(int64_t) * max, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
    axo__heap_free(heap, contain, sizeof *contain, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
    return NULL;
}

void axo__contain_free(axo__heap *heap, axo__contain *contain)
{
    if (contain == NULL)
        return;
    axo__os_mutex_fini(&contain->mutex);
    axo__heap_free(heap, contain->times, sizeof(int64_t) * contain->max, AXO__CACHE_LINE,
                   AXO__SITE_SYSTEM);
    axo__heap_free(heap, contain, sizeof *contain, AXO__CACHE_LINE, AXO__SITE_SYSTEM);
}

/* The crash that was `max` crashes ago must lie before the window. Other handlers are waited for:
 * each is there for a few instructions, in which nothing can crash. */
bool axo__contain_spend(axo__contain *contain, int64_t now)
{
    uint32_t free = 0;
    while (!axo__a32_cas_acq_rel(&contain->taken, &free, 1)) /* [K1] */
        free = 0;
    int64_t oldest = contain->times[contain->at];
    bool allowed = oldest == 0 || now - oldest >= contain->window_ns;
    if (allowed) {
        contain->times[contain->at] = now;
        contain->at = contain->at + 1 < contain->max ? contain->at + 1 : 0;
    }
    axo__a32_store_release(&contain->taken, 0); /* [K2] */
    return allowed;
}

void axo__contain_note(axo__contain *contain, const axo_crash *crash)
{
    axo__os_mutex_lock(&contain->mutex);
    contain->kept[contain->count % AXO_CRASHES_KEPT] = *crash;
    contain->count++;
    axo__os_mutex_unlock(&contain->mutex);
}

uint64_t axo__contain_read(axo__contain *contain, axo_crash *out, uint32_t max)
{
    axo__os_mutex_lock(&contain->mutex);
    uint64_t count = contain->count;
    for (uint32_t i = 0; i < max && i < AXO_CRASHES_KEPT && i < count; i++)
        out[i] = contain->kept[(count - 1 - i) % AXO_CRASHES_KEPT];
    axo__os_mutex_unlock(&contain->mutex);
    return count;
}
