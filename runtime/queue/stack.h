/* stack.h - pushed by many, taken whole; each node comes with a tag of three bits.
 *
 * A cell's system lane is such a stack. A link is a node's address and its tag in one word, so that
 * the tag, which says what a node is for, costs the node nothing.
 *
 * Roles      push_any, take_any: every thread.
 * Order      take returns the youngest node first; the caller reverses the chain, once.
 * Progress   push is lock-free, take is wait-free: no half-done state.
 * Memory     a node is the stack's from push to take.
 *
 * Orders
 *   [L1] cas acq_rel, push    releases the node and what its pusher wrote for the taker; pairs with
 *                             [L2] [L3]
 *   [L2] xchg acq_rel, take   acquires all that was pushed: each push releases what it found
 *   [L3] load acquire, look   whether a node is there
 */
#ifndef AXO__QUEUE_STACK_H
#define AXO__QUEUE_STACK_H

#include "base/assert.h"
#include "base/atomic.h"

#define AXO__STACK_TAGS UINT64_C(7)

/* An address and a tag in its low bits; 0 is the end of a chain. */
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
    /* A push cannot suffer from ABA: it only puts its node on top of whatever `old` is, and a take
     * removes the whole chain. */
    axo__stack_link link = axo__stack_link_to(node, tag);
    uint64_t old = axo__a64_load_relaxed(&stack->top);
    do {
        AXO_DEBUG_ASSERT(axo__stack_node_of(old) != node); /* a node is in one lane, once */
        node->next = old;
    /* Pairs with the exchange of axo__stack_take_any: the taker reads `next`, and what the pusher
     * wrote before, through every node of the chain. The acquire half of each push carries the
     * older pushes along, so the exchange acquires them all by reading the youngest. */
    } while (!axo__a64_cas_acq_rel(&stack->top, &old, link)); /* [L1] */
}

/* Whether a node is there. The load pairs with [L1], but only the exchange of axo__stack_take_any
 * may follow a link. False may be old at once: a pusher announces its node in the cell's word
 * afterwards, so no node is forgotten. */
static inline bool axo__stack_has_any(const axo__stack *stack)
{
    return axo__a64_load_acquire(&stack->top) != 0; /* [L3] */
}

/* Detaches the whole chain, youngest node first; 0: the stack was empty. Pairs with the
 * compare-and-swap of axo__stack_push_any, as said there; two takers never get the same node. */
static inline axo__stack_link axo__stack_take_any(axo__stack *stack)
{
    return axo__a64_xchg_acq_rel(&stack->top, 0); /* [L2] */
}

/* Moves up to `most` nodes from the front of one detached chain to the front of another, so their
 * order turns round. Only the chains' owner may call it. Returns whether the first chain is empty
 * now. */
static inline bool axo__stack_turn(axo__stack_link *from, axo__stack_link *to, uint32_t most)
{
    for (; most > 0 && *from != 0; most--) {
        axo__stack_link link = *from;
        axo__stack_node *node = axo__stack_node_of(link);
        *from = node->next;
        node->next = *to;
        *to = link;
    }
    return *from == 0;
}

/* Reverses a detached chain, so that its oldest node comes first. Only the chain's owner may call
 * it. */
static inline axo__stack_link axo__stack_reverse(axo__stack_link link)
{
    axo__stack_link reversed = 0;
    bool all = axo__stack_turn(&link, &reversed, UINT32_MAX);
    AXO_DEBUG_ASSERT(all); /* no chain is longer */
    (void)all;
    return reversed;
}

#endif
