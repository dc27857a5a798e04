/* mpsc.c - many producers, one consumer: liburcu's wfcqueue in its non-blocking forms.
 *
 * cds_wfcq_enqueue exchanges the tail and then links the node before; between these two steps the
 * queue looks cut, and the consumer gets CDS_WFCQ_WOULDBLOCK, which is BUSY here.
 */
#define _LGPL_SOURCE
#include "queue/mpsc.h"

#include <urcu/wfcqueue.h>

#include "base/assert.h"
#include "base/atomic.h"

AXO_STATIC_ASSERT(sizeof(axo__mpsc_node) == sizeof(struct cds_wfcq_node), "same node");
AXO_STATIC_ASSERT(sizeof(struct __cds_wfcq_head) == sizeof(axo__mpsc_node), "same head");
AXO_STATIC_ASSERT(sizeof(struct cds_wfcq_tail) == sizeof(void *), "same tail");

static struct __cds_wfcq_head *mpsc_head(axo__mpsc *queue)
{
    return (struct __cds_wfcq_head *)(void *)&queue->head;
}

static struct cds_wfcq_tail *mpsc_tail(axo__mpsc *queue)
{
    return (struct cds_wfcq_tail *)(void *)&queue->tail;
}

void axo__mpsc_init(axo__mpsc *queue)
{
    __cds_wfcq_init(mpsc_head(queue), mpsc_tail(queue));
}

void axo__mpsc_push_any(axo__mpsc *queue, axo__mpsc_node *node)
{
    AXO_DEBUG_ASSERT(node != &queue->head);
    struct cds_wfcq_node *inner = (struct cds_wfcq_node *)(void *)node;
    /* `next` is cleared before the exchange of the tail inside cds_wfcq_enqueue, which releases it:
     * a consumer that reaches the node reads NULL, or the link that a later pusher stored. */
    cds_wfcq_node_init(inner);
    /* Pairs with AXO_TSAN_ACQUIRE in mpsc_result: whatever the pusher wrote to the cell is there
     * for the worker that pops its node. */
    AXO_TSAN_RELEASE(node);
    (void)cds_wfcq_enqueue(mpsc_head(queue), mpsc_tail(queue), inner);
}

/* Keeps "empty" and "a push is half done" apart: a worker that took BUSY for EMPTY could park
 * beside an entry. */
static axo__pop mpsc_result(struct cds_wfcq_node *node, axo__mpsc_node **out)
{
    if (node == NULL)
        return AXO__POP_EMPTY;
    if (node == CDS_WFCQ_WOULDBLOCK)
        return AXO__POP_BUSY;
    /* liburcu reads the link plainly, which orders what is read through it, and nothing else. */
    axo__plain_load_acquire(); /* [M1] */
    AXO_TSAN_ACQUIRE(node);
    *out = (axo__mpsc_node *)(void *)node;
    return AXO__POP_ITEM;
}

axo__pop axo__mpsc_pop_owner(axo__mpsc *queue, axo__mpsc_node **out)
{
    /* The non-blocking form gives up where the plain one would spin on a preempted pusher. */
    return mpsc_result(__cds_wfcq_dequeue_nonblocking(mpsc_head(queue), mpsc_tail(queue)), out);
}

bool axo__mpsc_is_empty_owner(const axo__mpsc *queue)
{
    axo__mpsc *inner = (axo__mpsc *)(uintptr_t)queue;
    return cds_wfcq_empty(mpsc_head(inner), mpsc_tail(inner));
}
