/* box.c - a mailbox with a bound or an order of its own. */
#include "mailbox/box.h"

#include <string.h>

#include "base/assert.h"
#include "base/border.h"

#define BOX_ROOM_MIN 32 /* entries */
/* While it is held a message carries its priority in the upper bits of its flags. */
#define BOX_FLAG_BITS 8
#define BOX_PRIORITY_MAX (UINT32_MAX >> BOX_FLAG_BITS)
/* Of PoisonPill and Kill. */
#define BOX_LAST BOX_PRIORITY_MAX

AXO_STATIC_ASSERT(AXO__MESSAGE_FLAGS_END <= 1 << BOX_FLAG_BITS, "flags and a priority in a word");

/* ---- make and free ---- */

axo__box *axo__box_make(axo__cache *cache, const axo_mailbox *how)
{
    axo__box *box = axo__pool_alloc(cache, sizeof *box);
    if (box == NULL)
        return NULL;
    memset((void *)box, 0, sizeof *box);
    if (!axo__os_mutex_init(&box->mutex)) {
        axo__pool_free(cache, box, sizeof *box);
        return NULL;
    }
    box->heap = cache->pool->heap;
    memcpy(&box->how, how, how->size < sizeof box->how ? how->size : sizeof box->how);
    AXO_DEBUG_ASSERT(box->how.kind == AXO_MAILBOX_FIFO || box->how.priority != NULL);
    if (box->how.messages_max == 0)
        box->how.messages_max = UINT64_MAX;
    if (box->how.bytes_max == 0)
        box->how.bytes_max = UINT64_MAX;
    return box;
}

void axo__box_free(axo__cache *cache, axo__box *box)
{
    if (box == NULL)
        return;
    AXO_ASSERT(axo__box_count(box) == 0 && box->line.first == NULL);
    axo__heap_free(box->heap, box->entries, sizeof(axo__box_entry) * box->entry_room,
                   AXO__CACHE_LINE);
    axo__os_mutex_fini(&box->mutex);
    axo__pool_free(cache, box, sizeof *box);
}

/* ---- bounds ---- */

static bool box_bounded(const axo__message *message)
{
    uint32_t flags = message->flags & ((1u << BOX_FLAG_BITS) - 1);
    return (flags & ~(uint32_t)AXO__MESSAGE_OWNED) == 0;
}

static uint64_t box_bytes(const axo__message *message)
{
    uint64_t owned = (message->flags & AXO__MESSAGE_OWNED) != 0 ? message->pub.size : 0;
    return message->block + owned;
}

static bool box_admits(const axo__box *box, const axo__message *message)
{
    if (!box_bounded(message) || box->messages == 0)
        return true;
    return box->messages < box->how.messages_max &&
           box->bytes + box_bytes(message) <= box->how.bytes_max;
}

static void box_counted(axo__box *box, uint64_t more)
{
    axo__a64_store_release(&box->count, axo__a64_load_relaxed(&box->count) + more); /* [B1] */
}

/* Left the queue, whichever way. */
static void box_left(axo__box *box, const axo__message *message)
{
    AXO_DEBUG_ASSERT(axo__a64_peek_owner(&box->count) > 0); /* I3 */
    box_counted(box, UINT64_MAX);
    if (!box_bounded(message))
        return;
    AXO_DEBUG_ASSERT(box->messages > 0 && box->bytes >= box_bytes(message));
    box->messages--;
    box->bytes -= box_bytes(message);
}

/* ---- the heap ---- */

static bool box_before(const axo__box_entry *one, const axo__box_entry *other)
{
    return one->priority != other->priority ? one->priority < other->priority
                                            : one->number < other->number;
}

static bool box_room(axo__box *box)
{
    if (box->how.kind != AXO_MAILBOX_PRIORITY || box->entry_count < box->entry_room)
        return true;
    if (box->entry_room > UINT32_MAX / 2)
        return false;
    uint32_t room = box->entry_room != 0 ? box->entry_room * 2 : BOX_ROOM_MIN;
    axo__box_entry *grown = axo__heap_alloc(box->heap, sizeof *grown * room, AXO__CACHE_LINE,
                                            AXO__SITE_BOXES);
    if (grown == NULL)
        return false;
    if (box->entry_count > 0)
        memcpy(grown, box->entries, sizeof *grown * box->entry_count);
    axo__heap_free(box->heap, box->entries, sizeof *grown * box->entry_room, AXO__CACHE_LINE);
    box->entries = grown;
    box->entry_room = room;
    return true;
}

/* There is room. */
static void box_heap_push(axo__box *box, axo__box_entry entry)
{
    AXO_DEBUG_ASSERT(box->entry_count < box->entry_room);
    uint32_t at = box->entry_count++;
    while (at > 0 && box_before(&entry, &box->entries[(at - 1) / 2])) {
        box->entries[at] = box->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    box->entries[at] = entry;
}

static axo__message *box_heap_pop(axo__box *box)
{
    AXO_DEBUG_ASSERT(box->entry_count > 0);
    axo__message *first = box->entries[0].message;
    axo__box_entry last = box->entries[--box->entry_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = at * 2 + 1;
        if (child >= box->entry_count)
            break;
        if (child + 1 < box->entry_count &&
            box_before(&box->entries[child + 1], &box->entries[child]))
            child++;
        if (!box_before(&box->entries[child], &last))
            break;
        box->entries[at] = box->entries[child];
        at = child;
    }
    box->entries[at] = last;
    return first;
}

/* ---- priorities: asked before the mutex is taken, carried while a message is held ---- */

static uint32_t box_ask(const axo__box *box, const axo__message *message)
{
    if (box->how.kind == AXO_MAILBOX_FIFO)
        return 0;
    if ((message->flags & (AXO__MESSAGE_PILL | AXO__MESSAGE_KILL)) != 0)
        return BOX_LAST;
    AXO_BORDER();
    uint32_t priority = box->how.priority(&message->pub, box->how.user);
    return priority < BOX_PRIORITY_MAX ? priority : BOX_PRIORITY_MAX;
}

/* One that is for an instance comes first among what waits for room: its bits have a meaning. */
static void box_carry(axo__message *message, uint32_t priority)
{
    AXO_DEBUG_ASSERT(priority <= BOX_PRIORITY_MAX);
    if ((message->flags & AXO__MESSAGE_BOUND) != 0)
        return;
    AXO_DEBUG_ASSERT(message->flags >> BOX_FLAG_BITS == 0);
    message->flags |= priority << BOX_FLAG_BITS;
}

static uint32_t box_carried(axo__message *message)
{
    uint32_t priority = message->flags >> BOX_FLAG_BITS;
    if ((message->flags & AXO__MESSAGE_BOUND) != 0)
        return 0;
    message->flags &= (1u << BOX_FLAG_BITS) - 1;
    return priority;
}

/* ---- queue and unqueue ---- */

static void box_place(axo__box *box, axo__message *message, uint32_t priority)
{
    if (box->how.kind != AXO_MAILBOX_PRIORITY) {
        bool control = box->how.kind == AXO_MAILBOX_CONTROL && priority == 0;
        axo__chain_push(control ? &box->control : &box->rest, message);
    } else if (box_room(box)) {
        box_heap_push(box, (axo__box_entry){message, box->number++, priority});
    } else {
        box_carry(message, priority);
        axo__chain_push(&box->late, message);
    }
}

static void box_queue(axo__box *box, axo__message *message, uint32_t priority)
{
    box_place(box, message, priority);
    if (box_bounded(message)) {
        box->messages++;
        box->bytes += box_bytes(message);
    }
    box_counted(box, 1);
}

static axo__message *box_unqueue(axo__box *box)
{
    axo__message *message;
    if (box->entry_count > 0) {
        message = box_heap_pop(box);
        axo__message *late = axo__chain_pop(&box->late);
        if (late != NULL)
            box_place(box, late, box_carried(late));
    } else {
        message = axo__chain_pop(&box->control);
        if (message == NULL)
            message = axo__chain_pop(&box->rest);
        if (message == NULL)
            message = axo__chain_pop(&box->late);
        if (message != NULL)
            (void)box_carried(message);
    }
    AXO_DEBUG_ASSERT(message != NULL || axo__a64_peek_owner(&box->count) == 0); /* I3 */
    if (message != NULL)
        box_left(box, message);
    return message;
}

/* The oldest that the bounds count goes to `dropped`; there is one. */
static void box_drop_oldest(axo__box *box, axo__chain *dropped)
{
    axo__chain *chains[] = {&box->rest, &box->control};
    AXO_DEBUG_ASSERT(box->messages > 0);
    for (uint32_t i = 0; i < 2; i++) {
        axo__message *before = NULL;
        axo__message *message = chains[i]->first;
        while (message != NULL && !box_bounded(message)) {
            before = message;
            message = axo__message_next(message);
        }
        if (message == NULL)
            continue;
        if (before == NULL)
            chains[i]->first = axo__message_next(message);
        else
            before->node.next = message->node.next;
        if (chains[i]->last == message)
            chains[i]->last = before;
        box_left(box, message);
        axo__chain_push(dropped, message);
        return;
    }
}

/* ---- the line ---- */

static void box_line_push(axo__box *box, axo__waiter *waiter)
{
    AXO_DEBUG_ASSERT(waiter->state == AXO__WAITER_WAITS);
    waiter->next = NULL;
    if (box->line.first == NULL)
        box->line.first = waiter;
    else
        box->line.last->next = waiter;
    box->line.last = waiter;
}

static void box_line_remove(axo__box *box, const axo__waiter *waiter)
{
    axo__waiters line = box->line;
    box->line.first = NULL;
    while (line.first != NULL) {
        axo__waiter *one = line.first;
        line.first = one->next;
        if (one != waiter)
            box_line_push(box, one);
    }
}

static void box_done(axo__waiter *waiter, axo__waiter **done)
{
    AXO_DEBUG_ASSERT(waiter->state == AXO__WAITER_WAITS && waiter->held.first == NULL);
    waiter->state = AXO__WAITER_DONE;
    waiter->next = *done;
    *done = waiter;
}

/* One of each waiter in turn, while there is room. */
static void box_move_line(axo__box *box, axo__waiter **done)
{
    while (box->line.first != NULL && box_admits(box, box->line.first->held.first)) {
        axo__waiter *waiter = box->line.first;
        axo__message *message = axo__chain_pop(&waiter->held);
        box_queue(box, message, box_carried(message));
        box->line.first = waiter->next;
        if (waiter->held.first != NULL)
            box_line_push(box, waiter);
        else
            box_done(waiter, done);
    }
    AXO_DEBUG_ASSERT(box->line.first == NULL || box->messages > 0); /* I1 */
}

/* ---- put ---- */

static axo__put box_hold(axo__message *message, uint32_t priority, axo__waiter *waiter)
{
    AXO_DEBUG_ASSERT(waiter->state == AXO__WAITER_WAITS);
    box_carry(message, priority);
    axo__chain_push(&waiter->held, message);
    return AXO__PUT_HELD;
}

/* There is no room, or others wait for it. */
static axo__put box_overflow(axo__box *box, axo__message *message, uint32_t priority,
                             axo__waiter *waiter, axo__chain *dropped)
{
    switch (box->how.overflow) {
    case AXO_OVERFLOW_DROP_NEW:
        axo__chain_push(dropped, message);
        return AXO__PUT_DROPPED;
    case AXO_OVERFLOW_DROP_OLD:
        while (!box_admits(box, message))
            box_drop_oldest(box, dropped);
        box_queue(box, message, priority);
        return AXO__PUT_IN;
    case AXO_OVERFLOW_PARK:
        if (waiter == NULL || waiter->state != AXO__WAITER_NEW)
            return AXO__PUT_FULL;
        AXO_DEBUG_ASSERT(box->messages > 0); /* I1 */
        waiter->state = AXO__WAITER_WAITS;
        box_line_push(box, waiter);
        return box_hold(message, priority, waiter);
    case AXO_OVERFLOW_REFUSE:
        break;
    }
    return AXO__PUT_FULL;
}

static axo__put box_put(axo__box *box, axo__message *message, uint32_t priority,
                        axo__waiter *waiter, axo__chain *dropped)
{
    bool bounded = box_bounded(message) && !box->closed;
    if (waiter != NULL && waiter->state == AXO__WAITER_WAITS)
        return bounded && waiter->sealed ? AXO__PUT_SEALED : box_hold(message, priority, waiter);
    if (bounded && (box->line.first != NULL || !box_admits(box, message)))
        return box_overflow(box, message, priority, waiter, dropped);
    if (bounded && !box_room(box))
        return AXO__PUT_NO_MEMORY;
    box_queue(box, message, priority);
    return AXO__PUT_IN;
}

axo__put axo__box_put_any(axo__box *box, axo__message *message, axo__waiter *waiter,
                          axo__chain *dropped)
{
    uint32_t priority = box_ask(box, message);
    axo__os_mutex_lock(&box->mutex);
    axo__put put = box_put(box, message, priority, waiter, dropped);
    axo__os_mutex_unlock(&box->mutex);
    return put;
}

void axo__box_accept_any(axo__box *box, axo__message *message)
{
    uint32_t priority = box_ask(box, message);
    axo__os_mutex_lock(&box->mutex);
    box_queue(box, message, priority);
    axo__os_mutex_unlock(&box->mutex);
}

bool axo__box_let_in_any(axo__box *box, axo__waiter *waiter)
{
    axo__os_mutex_lock(&box->mutex);
    bool waits = waiter->state == AXO__WAITER_WAITS;
    if (waits) {
        axo__message *message;
        AXO_DEBUG_ASSERT(waiter->held.first != NULL); /* I2 */
        box_line_remove(box, waiter);
        while ((message = axo__chain_pop(&waiter->held)) != NULL)
            box_queue(box, message, box_carried(message));
        waiter->state = AXO__WAITER_DONE;
    }
    axo__os_mutex_unlock(&box->mutex);
    return waits;
}

/* What is left of a waiter that gives up or whose receiver is gone. */
static void box_unhold(axo__waiter *waiter, axo__chain *left)
{
    axo__message *message;
    while ((message = axo__chain_pop(&waiter->held)) != NULL) {
        (void)box_carried(message);
        axo__chain_push(left, message);
    }
}

/* The line moves: the next one's message may be a smaller one. */
bool axo__box_expire_any(axo__box *box, axo__waiter *waiter, axo__chain *held, axo__waiter **done)
{
    axo__os_mutex_lock(&box->mutex);
    bool waits = waiter->state == AXO__WAITER_WAITS;
    if (waits) {
        AXO_DEBUG_ASSERT(waiter->held.first != NULL); /* I2 */
        box_line_remove(box, waiter);
        box_unhold(waiter, held);
        box_move_line(box, done);
        box_done(waiter, done);
    }
    axo__os_mutex_unlock(&box->mutex);
    return waits;
}

/* ---- take ---- */

axo__message *axo__box_take_owner(axo__box *box, axo__waiter **done)
{
    if (axo__box_count(box) == 0)
        return NULL;
    axo__os_mutex_lock(&box->mutex);
    axo__message *message = box_unqueue(box);
    if (axo__unlikely(box->line.first != NULL))
        box_move_line(box, done);
    axo__os_mutex_unlock(&box->mutex);
    return message;
}

void axo__box_close_owner(axo__box *box, axo__chain *left, axo__waiter **done)
{
    axo__message *message;
    axo__os_mutex_lock(&box->mutex);
    AXO_DEBUG_ASSERT(box->line.first == NULL || box->messages > 0); /* I1 */
    box->closed = true;
    while ((message = box_unqueue(box)) != NULL)
        axo__chain_push(left, message);
    while (box->line.first != NULL) {
        axo__waiter *waiter = box->line.first;
        box->line.first = waiter->next;
        box_unhold(waiter, left);
        box_done(waiter, done);
    }
    axo__os_mutex_unlock(&box->mutex);
}

/* ---- looking ---- */

static bool box_is_of(const axo__message *message, axo_ref sender)
{
    return axo_ref_equal(message->pub.sender, sender) &&
           (message->flags & AXO__MESSAGE_NOTICE) == 0;
}

static uint64_t box_heap_place(const axo__box *box, axo_ref sender)
{
    const axo__box_entry *first = NULL;
    uint64_t place = 1;
    for (uint32_t i = 0; i < box->entry_count; i++) {
        const axo__box_entry *entry = &box->entries[i];
        if (box_is_of(entry->message, sender) && (first == NULL || box_before(entry, first)))
            first = entry;
    }
    if (first == NULL)
        return 0;
    for (uint32_t i = 0; i < box->entry_count; i++)
        place += box_before(&box->entries[i], first) ? 1 : 0;
    return place;
}

static uint64_t box_chain_place(const axo__box *box, axo_ref sender)
{
    const axo__chain *const chains[] = {&box->control, &box->rest};
    uint64_t place = 1;
    for (uint32_t i = 0; i < 2; i++) {
        const axo__message *message = chains[i]->first;
        for (; message != NULL; message = axo__message_next(message), place++) {
            if (box_is_of(message, sender))
                return place;
        }
    }
    return 0;
}

uint64_t axo__box_place_any(axo__box *box, axo_ref sender)
{
    axo__os_mutex_lock(&box->mutex);
    uint64_t place = box->how.kind == AXO_MAILBOX_PRIORITY ? box_heap_place(box, sender)
                                                           : box_chain_place(box, sender);
    axo__os_mutex_unlock(&box->mutex);
    return place;
}
