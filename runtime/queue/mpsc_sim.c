/* mpsc_sim.c - many producers, one consumer, in the simulator: a push has two steps, and between
 * them other fibers go on and get BUSY, as often as the contract of mpsc.h permits. Fibers run one
 * at a time, so plain accesses suffice; memory orders are the weak-memory checker's subject. */
#include "queue/mpsc.h"

#include <stddef.h>

#include "base/assert.h"
#include "base/atomic.h"

void axo__mpsc_init(axo__mpsc *queue)
{
    queue->head.next = NULL;
    queue->tail = &queue->head;
}

/* Links a node behind the last node, in the order of wfcqueue: first the tail, then the link. A
 * consumer between the two steps finds the tail moved and no link, and answers BUSY. */
static void mpsc_append(axo__mpsc *queue, axo__mpsc_node *node)
{
    AXO__YIELD_POINT();
    axo__mpsc_node *before = queue->tail;
    queue->tail = node;
    AXO__YIELD_POINT(); /* the push is half done here */
    before->next = node;
}

void axo__mpsc_push_any(axo__mpsc *queue, axo__mpsc_node *node)
{
    node->next = NULL;
    mpsc_append(queue, node);
}

axo__pop axo__mpsc_pop_owner(axo__mpsc *queue, axo__mpsc_node **out)
{
    AXO__YIELD_POINT();
    axo__mpsc_node *node = queue->head.next;
    if (node == NULL)
        return axo__mpsc_is_empty_owner(queue) ? AXO__POP_EMPTY : AXO__POP_BUSY;
    AXO__YIELD_POINT();
    if (node->next == NULL) {
        /* `node` is the last node, or a push behind it is half done */
        queue->head.next = NULL;
        AXO__YIELD_POINT();
        if (queue->tail != node) {
            if (node->next == NULL) {
                queue->head.next = node;
                return AXO__POP_BUSY;
            }
        } else {
            queue->tail = &queue->head;
            *out = node;
            return AXO__POP_ITEM;
        }
    }
    AXO__YIELD_POINT();
    queue->head.next = node->next;
    *out = node;
    return AXO__POP_ITEM;
}

bool axo__mpsc_is_empty_owner(const axo__mpsc *queue)
{
    AXO__YIELD_POINT();
    if (queue->head.next != NULL)
        return false;
    AXO__YIELD_POINT();
    return queue->tail == &queue->head;
}
