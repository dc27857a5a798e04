/* stack.h - pushed by many, taken whole; each node comes with a tag of three bits.
 *
 * A link is a node's address and its tag in one word, so that what a node is for costs the node
 * nothing.
 *
 * Roles      push_any, take_any: every thread.
 * Order      take returns the youngest first; the caller reverses, once.
 * Progress   push is lock-free, take is wait-free: no half-done state.
 * Memory     a node is the stack's from push to take.
 *
 * Orders
 *   [L1] cas acq_rel, push    releases the node and what is told with it; pairs with [L2]
 *   [L2] xchg acq_rel, take   acquires all that was pushed: each push releases what it found
 *   [L3] load acquire, look   whether there is something
 */
#ifndef AXO__QUEUE_STACK_H
#define AXO__QUEUE_STACK_H

#include "base/assert.h"
#include "base/atomic.h"

#define AXO__STACK_TAGS UINT64_C(7)

/* An address and a tag; 0: nothing. */
typedef uint64_t axo__stack_link;

typedef struct axo__stack_node {
    axo__stack_link next;
} axo__stack_node;

typedef struct axo__stack {
    axo__a64 top;
} axo__stack;

static inline void axo__stack_init(axo__stack *stack)
{
    axo__a64_store_relaxed(&stack->top, 0);
}

static inline axo__stack_link axo__stack_link_to(axo__stack_node *node, uint32_t tag)
{
    axo__stack_link address = (uint64_t)(uintptr_t)node;
    AXO_DEBUG_ASSERT((address & AXO__STACK_TAGS) == 0 && tag <= AXO__STACK_TAGS);
    return address | tag;
}

static inline axo__stack_node *axo__stack_node_of(axo__stack_link link)
{
    return (axo__stack_node *)(uintptr_t)(link & ~AXO__STACK_TAGS);
}

static inline uint32_t axo__stack_tag_of(axo__stack_link link)
{
    return (uint32_t)(link & AXO__STACK_TAGS);
}

static inline void axo__stack_push_any(axo__stack *stack, axo__stack_node *node, uint32_t tag)
{
    axo__stack_link link = axo__stack_link_to(node, tag);
    uint64_t old = axo__a64_load_relaxed(&stack->top);
    do {
        AXO_DEBUG_ASSERT(axo__stack_node_of(old) != node); /* in one lane, once */
        node->next = old;
    } while (!axo__a64_cas_acq_rel(&stack->top, &old, link)); /* [L1] */
}

/* false: there may be nothing to take. */
static inline bool axo__stack_has_any(const axo__stack *stack)
{
    return axo__a64_load_acquire(&stack->top) != 0; /* [L3] */
}

/* All, youngest first; 0: none. */
static inline axo__stack_link axo__stack_take_any(axo__stack *stack)
{
    return axo__a64_xchg_acq_rel(&stack->top, 0); /* [L2] */
}

/* Oldest first. */
static inline axo__stack_link axo__stack_reverse(axo__stack_link link)
{
    axo__stack_link reversed = 0;
    while (link != 0) {
        axo__stack_node *node = axo__stack_node_of(link);
        axo__stack_link next = node->next;
        node->next = reversed;
        reversed = link;
        link = next;
    }
    return reversed;
}

#endif
