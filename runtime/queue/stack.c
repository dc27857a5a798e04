/* stack.c - pushed by many, taken whole: liburcu's lfstack. */
#define _LGPL_SOURCE
#include "queue/stack.h"

#include <urcu/lfstack.h>

#include "base/assert.h"

AXO_STATIC_ASSERT(sizeof(axo__stack) == sizeof(struct __cds_lfs_stack), "same stack");
AXO_STATIC_ASSERT(sizeof(axo__stack_node) == sizeof(struct cds_lfs_node), "same node");

void axo__stack_init(axo__stack *stack)
{
    __cds_lfs_init((struct __cds_lfs_stack *)(void *)stack);
}

void axo__stack_push_any(axo__stack *stack, axo__stack_node *node)
{
    AXO_TSAN_RELEASE(node);
    (void)cds_lfs_push((struct __cds_lfs_stack *)(void *)stack,
                       (struct cds_lfs_node *)(void *)node);
}

axo__stack_node *axo__stack_take_any(axo__stack *stack)
{
    struct cds_lfs_head *head = __cds_lfs_pop_all((struct __cds_lfs_stack *)(void *)stack);
    axo__stack_node *first = (axo__stack_node *)(void *)head;
    for (axo__stack_node *node = first; node != NULL; node = node->next)
        AXO_TSAN_ACQUIRE(node);
    return first;
}

bool axo__stack_is_empty_any(const axo__stack *stack)
{
    return cds_lfs_empty((struct __cds_lfs_stack *)(uintptr_t)stack);
}
