/* inject.h - work from outside and overflow: a shared queue, whose consumers exclude each other.
 *
 * Roles      push_any: every thread.  pop_any: every worker; one at a time, the others are told
 *            LOST instead of waiting.
 * Order      first in first out.
 *
 * Orders
 *   [J1] exchange acq_rel, taken    takes the consumer's end; pairs with [J2]
 *   [J2] store release, taken       gives it back
 *   [J3] seq_cst, pushed            a pusher counts before it looks for parked workers; a worker
 *                                   announces idleness before it looks here: one sees the other
 */
#ifndef AXO__QUEUE_INJECT_H
#define AXO__QUEUE_INJECT_H

#include "base/atomic.h"
#include "base/config.h"
#include "queue/mpsc.h"

typedef struct axo__inject {
    axo__mpsc queue;
    _Alignas(AXO__CACHE_LINE) axo__a32 taken;
    axo__a32 pushed; /* entries not yet popped; a hint that saves looking */
} axo__inject;

typedef enum axo__inject_pop {
    AXO__INJECT_EMPTY = 0,
    AXO__INJECT_ITEM = 1,
    AXO__INJECT_LOST = 2 /* another worker is at it, or a push is half done */
} axo__inject_pop;

void axo__inject_init(axo__inject *inject);
void axo__inject_push_any(axo__inject *inject, axo__mpsc_node *node);
axo__inject_pop axo__inject_pop_any(axo__inject *inject, axo__mpsc_node **out);

/* Whether there is something, a half-done push included. */
static inline bool axo__inject_has_any(const axo__inject *inject)
{
    return axo__a32_load_seq_cst(&inject->pushed) != 0; /* [J3] */
}

/* Whether there is something, and not so much that it is a backlog. A hint. */
static inline bool axo__inject_few_any(const axo__inject *inject)
{
    return axo__a32_load_relaxed(&inject->pushed) - 1 < AXO__INJECT_FEW;
}

#endif
