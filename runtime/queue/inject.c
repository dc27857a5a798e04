/* inject.c - work from outside and overflow: a shared queue, whose consumers exclude each other.
 *
 * An mpsc has room for one consumer, so `taken` is a lock that no worker waits for. A worker that
 * finds `taken` set looks for work elsewhere; the holder pops at most one entry.
 */
#include "queue/inject.h"

#include <stddef.h>

#include "base/assert.h"

void axo__inject_init(axo__inject *inject, axo__a64 *counts, uint32_t shift)
{
    axo__mpsc_init(&inject->queue);
    axo__a32_store_relaxed(&inject->taken, 0);
    inject->counts = counts;
    inject->shift = shift;
}

void axo__inject_push_any(axo__inject *inject, axo__mpsc_node *node)
{
    /* The pusher raises the count before the entry is there: its later look at `parked`
     * (axo__sched_wake_one) pairs, in the single order of seq_cst, with a sleeper's
     * axo__inject_has_any. At least one of the two threads sees the other, so no entry waits beside
     * a sleeping pool. */
    (void)axo__a64_add_seq_cst(inject->counts, UINT64_C(1) << inject->shift); /* [J3] */
    axo__mpsc_push_any(&inject->queue, node);
}

axo__inject_pop axo__inject_pop_any(axo__inject *inject, axo__mpsc_node **out)
{
    if (!axo__inject_has_any(inject))
        return AXO__INJECT_EMPTY;
    /* Pairs with the store release of `taken` below by the consumer before: this worker sees the
     * head of the queue as that consumer left it. */
    if (axo__a32_xchg_acq_rel(&inject->taken, 1) != 0) /* [J1] */
        return AXO__INJECT_LOST;
    axo__pop pop = axo__mpsc_pop_owner(&inject->queue, out);
    /* Publishes the moved head to the next worker's exchange above. */
    axo__a32_store_release(&inject->taken, 0); /* [J2] */
    if (pop != AXO__POP_ITEM)
        return AXO__INJECT_LOST;
    /* Relaxed is enough: a value that is too high for a moment costs a worker one empty look, and a
     * pusher's own increment cannot be lost by an atomic decrement. The entry was counted before it
     * was pushed, so this half is not 0, and nothing is borrowed from the other one. */
    uint64_t one = UINT64_C(1) << inject->shift;
    uint64_t counts = axo__a64_add_relaxed(inject->counts, UINT64_MAX - one + 1);
    AXO_DEBUG_ASSERT((uint32_t)(counts >> inject->shift) > 0);
    (void)counts;
    return AXO__INJECT_ITEM;
}
