/* stack.h - pushed by many, taken whole: liburcu's lfstack.
 *
 * Roles      push_any, take_any: every thread.
 * Order      take returns the youngest first; the caller reverses, once.
 * Progress   push is lock-free, take is wait-free: no half-done state.
 * Memory     a node is the stack's from push to take.
 */
#ifndef AXO__QUEUE_STACK_H
#define AXO__QUEUE_STACK_H

#include <stdbool.h>

typedef struct axo__stack_node {
    struct axo__stack_node *next;
} axo__stack_node;

typedef struct axo__stack {
    axo__stack_node *top;
} axo__stack;

void axo__stack_init(axo__stack *stack);
void axo__stack_push_any(axo__stack *stack, axo__stack_node *node);
axo__stack_node *axo__stack_take_any(axo__stack *stack);
bool axo__stack_is_empty_any(const axo__stack *stack);

/* Oldest first. */
static inline axo__stack_node *axo__stack_reverse(axo__stack_node *node)
{
    axo__stack_node *reversed = 0;
    while (node != 0) {
        axo__stack_node *next = node->next;
        node->next = reversed;
        reversed = node;
        node = next;
    }
    return reversed;
}

#endif
