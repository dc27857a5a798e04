/* inject.h - work from outside and overflow: a shared queue, whose consumers exclude each other.
 *
 * A pool has one injector for ready cells, one for urgent cells and one for overrun cells, and each
 * of its workers one for followers (sched/follow.h). Outside threads push into the first two, and
 * so does a worker whose own queue is full or which readies a cell of another pool.
 *
 * Roles      push_any: every thread.  pop_any: every worker; one at a time, the other workers get
 *            LOST instead of waiting.
 * Order      first in first out.
 *
 * Orders
 *   [J1] exchange acq_rel, taken    takes the consumer's end; pairs with [J2]
 *   [J2] store release, taken       gives it back
 *   [J3] seq_cst, counts            a pusher counts before it looks for parked workers; a worker
 *                                   announces idleness before it looks here: one sees the other
 */
#ifndef AXO__QUEUE_INJECT_H
#define AXO__QUEUE_INJECT_H

#include "base/atomic.h"
#include "base/config.h"
#include "queue/mpsc.h"

typedef struct axo__inject {
    axo__mpsc queue;
    axo__a64 *counts; /* fixed, as the next: entries not yet popped, or more, in one half ... */
    uint32_t shift;   /* ... of that word, the lower one (0) or the upper one (32) */
    axo__a32 taken;
} axo__inject;

typedef enum axo__inject_pop {
    AXO__INJECT_EMPTY = 0,
    AXO__INJECT_ITEM = 1,
    AXO__INJECT_LOST = 2 /* another worker holds `taken`, or a push is half done */
} axo__inject_pop;

/* An empty injector. Its entries are counted in a half of `counts`, 0 now, so that one load says
 * whether either of two injectors has some. */
void axo__inject_init(axo__inject *inject, axo__a64 *counts, uint32_t shift);
/* Appends a node, which must be in no queue: the cell's INJECTED bit in the word guards that. Never
 * waits. */
void axo__inject_push_any(axo__inject *inject, axo__mpsc_node *node);
/* Takes the oldest node. LOST is not EMPTY: an entry is there, or may be, and another thread makes
 * progress with it. */
axo__inject_pop axo__inject_pop_any(axo__inject *inject, axo__mpsc_node **out);

/* Whether an entry is there, a half-done push included. Step (3) of sched/wake.h rests on this: a
 * sleeper that reads 0 here is seen by the next pusher. */
static inline bool axo__inject_has_any(const axo__inject *inject)
{
    return (uint32_t)(axo__a64_load_seq_cst(inject->counts) >> inject->shift) != 0; /* [J3] */
}

/* Whether one to AXO__INJECT_FEW entries are there: few enough that outside threads wait for them
 * and the current turn is worth cutting short. Relaxed, a hint: a wrong answer changes only the
 * length of a turn. */
static inline bool axo__inject_few_any(const axo__inject *inject)
{
    uint64_t counts = axo__a64_load_relaxed(inject->counts);
    return (uint32_t)(counts >> inject->shift) - 1 < AXO__INJECT_FEW;
}

#endif
