/* bounded.c - a mailbox with a bound or an order of its own.
 *
 * Each public function is one section of the mutex around static functions that know nothing of
 * locks. Invariants I1 to I3 of bounded.h hold whenever the mutex is free. */
#include "mailbox/bounded.h"

#include <string.h>

#include "base/aside.h"
#include "base/assert.h"
#include "base/border.h"
#include "mailbox/walled.h"

#define BOUNDED_ROOM_MIN 32 /* entries */
/* While a mailbox holds a message for a waiter, or in `late`, the message carries its priority in
 * the upper bits of its flags: the priority was asked once, and the program may answer otherwise
 * next time. */
#define BOUNDED_FLAG_BITS 8
#define BOUNDED_PRIORITY_MAX (UINT32_MAX >> BOUNDED_FLAG_BITS)
/* The priority of PoisonPill and Kill: behind every message sent before them (PK-01, PK-05). */
#define BOUNDED_LAST BOUNDED_PRIORITY_MAX

AXO_STATIC_ASSERT(AXO__MESSAGE_FLAGS_END <= 1 << BOUNDED_FLAG_BITS,
                  "flags and a priority in a word");

/* ---- make and free ---- */

/* The settings are copied, so the props may go after the spawn. Bounds of 0 become the largest
 * number: then bounded_admits needs no case for "no bound". */
axo__bounded_mailbox *axo__bounded_make(axo__cache *cache, const axo_mailbox *how)
{
    axo__bounded_mailbox *bounded = axo__pool_alloc(cache, sizeof *bounded);
    if (bounded == NULL)
        return NULL;
    memset((void *)bounded, 0, sizeof *bounded);
    if (!axo__os_mutex_init(&bounded->mutex)) {
        axo__pool_free(cache, bounded, sizeof *bounded);
        return NULL;
    }
    bounded->heap = cache->pool->heap;
    memcpy(&bounded->how, how, how->size < sizeof bounded->how ? how->size : sizeof bounded->how);
    AXO_DEBUG_ASSERT(bounded->how.kind == AXO_MAILBOX_FIFO || bounded->how.priority != NULL);
    if (bounded->how.messages_max == 0)
        bounded->how.messages_max = UINT64_MAX;
    if (bounded->how.bytes_max == 0)
        bounded->how.bytes_max = UINT64_MAX;
    return bounded;
}

/* No thread can be on its way to the mailbox: a grace period has passed since it was closed, or its
 * actor's birth has failed. */
void axo__bounded_free(axo__cache *cache, axo__bounded_mailbox *bounded)
{
    if (bounded == NULL)
        return;
    AXO_ASSERT(axo__bounded_count(bounded) == 0 && bounded->line.first == NULL);
    axo__heap_free(bounded->heap, bounded->entries,
                   sizeof(axo__bounded_entry) * bounded->entry_room, AXO__CACHE_LINE,
                   AXO__SITE_BOUNDED);
    axo__os_mutex_fini(&bounded->mutex);
    axo__pool_free(cache, bounded, sizeof *bounded);
}

/* ---- bounds ---- */

/* Only ordinary messages of users are bounded. PoisonPill, Kill, the runtime's own messages and
 * those for one instance each have a flag besides OWNED and TRACED, and are never refused
 * (PH-27). */
static bool bounded_counts(const axo__message *message)
{
    uint32_t flags = message->flags & ((1u << BOUNDED_FLAG_BITS) - 1);
    return (flags & ~(uint32_t)(AXO__MESSAGE_OWNED | AXO__MESSAGE_TRACED)) == 0;
}

/* A message counts with its envelope, and with an owned payload's size (axo_mailbox.bytes_max). A
 * payload with a canary lies in the envelope's block. */
static uint64_t bounded_bytes(const axo__message *message)
{
    bool owned =
        (message->flags & AXO__MESSAGE_OWNED) != 0 && message->destroy != axo__walled_canary;
    return message->block + (owned ? message->pub.size : 0);
}

/* An empty mailbox admits a message of any size: otherwise one larger than bytes_max could never
 * arrive. */
static bool bounded_admits(const axo__bounded_mailbox *bounded, const axo__message *message)
{
    if (!bounded_counts(message) || bounded->messages == 0)
        return true;
    return bounded->messages < bounded->how.messages_max &&
           bounded->bytes + bounded_bytes(message) <= bounded->how.bytes_max;
}

/* Changes `count` by `more`, which wraps round for a decrease. A plain load is enough, for only the
 * holder of the mutex writes; the store [B1] pairs with the consumer's look [B2] outside the
 * mutex. */
static void bounded_counted(axo__bounded_mailbox *bounded, uint64_t more)
{
    /* [B1] */
    axo__a64_store_release(&bounded->count, axo__a64_load_relaxed(&bounded->count) + more);
}

/* A message has left the queue, by a take or by being dropped: both counts go down. */
static void bounded_left(axo__bounded_mailbox *bounded, const axo__message *message)
{
    AXO_DEBUG_ASSERT(axo__a64_peek_owner(&bounded->count) > 0); /* I3 */
    bounded_counted(bounded, UINT64_MAX);
    if (!bounded_counts(message))
        return;
    AXO_DEBUG_ASSERT(bounded->messages > 0 && bounded->bytes >= bounded_bytes(message));
    bounded->messages--;
    bounded->bytes -= bounded_bytes(message);
}

/* ---- the heap ---- */

/* A total order, since numbers differ: smaller priority first, then arrival. */
static bool bounded_before(const axo__bounded_entry *one, const axo__bounded_entry *other)
{
    return one->priority != other->priority ? one->priority < other->priority
                                            : one->number < other->number;
}

/* Makes room for one more entry of a priority mailbox; the other kinds always have room. Called
 * before a message is accepted, so that AXO_ENOMEM changes nothing. */
static bool bounded_room(axo__bounded_mailbox *bounded)
{
    if (bounded->how.kind != AXO_MAILBOX_PRIORITY || bounded->entry_count < bounded->entry_room)
        return true;
    if (bounded->entry_room > UINT32_MAX / 2)
        return false;
    uint32_t room = bounded->entry_room != 0 ? bounded->entry_room * 2 : BOUNDED_ROOM_MIN;
    axo__bounded_entry *grown =
        axo__heap_alloc(bounded->heap, sizeof *grown * room, AXO__CACHE_LINE, AXO__SITE_BOUNDED);
    if (grown == NULL)
        return false;
    if (bounded->entry_count > 0)
        memcpy(grown, bounded->entries, sizeof *grown * bounded->entry_count);
    axo__heap_free(bounded->heap, bounded->entries, sizeof *grown * bounded->entry_room,
                   AXO__CACHE_LINE, AXO__SITE_BOUNDED);
    bounded->entries = grown;
    bounded->entry_room = room;
    return true;
}

/* The caller has made room. */
static void bounded_heap_push(axo__bounded_mailbox *bounded, axo__bounded_entry entry)
{
    AXO_DEBUG_ASSERT(bounded->entry_count < bounded->entry_room);
    uint32_t at = bounded->entry_count++;
    while (at > 0 && bounded_before(&entry, &bounded->entries[(at - 1) / 2])) {
        bounded->entries[at] = bounded->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    bounded->entries[at] = entry;
}

/* The last entry sinks from the top; the smaller child rises into each hole. */
static axo__message *bounded_heap_pop(axo__bounded_mailbox *bounded)
{
    AXO_DEBUG_ASSERT(bounded->entry_count > 0);
    axo__message *first = bounded->entries[0].message;
    axo__bounded_entry last = bounded->entries[--bounded->entry_count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = at * 2 + 1;
        if (child >= bounded->entry_count)
            break;
        if (child + 1 < bounded->entry_count &&
            bounded_before(&bounded->entries[child + 1], &bounded->entries[child]))
            child++;
        if (!bounded_before(&bounded->entries[child], &last))
            break;
        bounded->entries[at] = bounded->entries[child];
        at = child;
    }
    bounded->entries[at] = last;
    return first;
}

/* ---- priorities: asked before the mutex is taken, carried while a message is held ---- */

/* Asks the program's priority function. The mutex is free here, so a slow function does not stop
 * the receiver. */
static uint32_t bounded_ask(const axo__bounded_mailbox *bounded, const axo__message *message)
{
    if (bounded->how.kind == AXO_MAILBOX_FIFO)
        return 0;
    if ((message->flags & (AXO__MESSAGE_PILL | AXO__MESSAGE_KILL)) != 0)
        return BOUNDED_LAST;
    axo__aside++;
    AXO_BORDER();
    uint32_t priority = bounded->how.priority(&message->pub, bounded->how.user);
    axo__aside--;
    return priority < BOUNDED_PRIORITY_MAX ? priority : BOUNDED_PRIORITY_MAX;
}

/* A message for one instance keeps its flags, whose upper bits have a meaning (BEHIND). It comes
 * back with priority 0, first among the messages that wait. */
static void bounded_carry(axo__message *message, uint32_t priority)
{
    AXO_DEBUG_ASSERT(priority <= BOUNDED_PRIORITY_MAX);
    if ((message->flags & AXO__MESSAGE_BOUND) != 0)
        return;
    AXO_DEBUG_ASSERT(message->flags >> BOUNDED_FLAG_BITS == 0);
    message->flags |= priority << BOUNDED_FLAG_BITS;
}

/* Takes the priority out of the flags again, so that the receiver's runner finds flags only. */
static uint32_t bounded_carried(axo__message *message)
{
    uint32_t priority = message->flags >> BOUNDED_FLAG_BITS;
    if ((message->flags & AXO__MESSAGE_BOUND) != 0)
        return 0;
    message->flags &= (1u << BOUNDED_FLAG_BITS) - 1;
    return priority;
}

/* ---- queue and unqueue ---- */

/* Puts a message into the queue that its kind and priority ask for; `late` is the way out where a
 * priority mailbox finds no memory for a message that was accepted already. */
static void bounded_place(axo__bounded_mailbox *bounded, axo__message *message, uint32_t priority)
{
    if (bounded->how.kind != AXO_MAILBOX_PRIORITY) {
        bool control = bounded->how.kind == AXO_MAILBOX_CONTROL && priority == 0;
        axo__chain_push(control ? &bounded->control : &bounded->rest, message);
    } else if (bounded_room(bounded)) {
        bounded_heap_push(bounded, (axo__bounded_entry){message, bounded->number++, priority});
    } else {
        bounded_carry(message, priority);
        axo__chain_push(&bounded->late, message);
    }
}

/* The count goes up last, so that a consumer without the mutex never sees a count of a message that
 * is not there (I3). */
static void bounded_queue(axo__bounded_mailbox *bounded, axo__message *message, uint32_t priority)
{
    bounded_place(bounded, message, priority);
    if (bounded_counts(message)) {
        bounded->messages++;
        bounded->bytes += bounded_bytes(message);
    }
    bounded_counted(bounded, 1);
}

/* The next message of any kind. A pop of the heap frees an entry, which the oldest late message
 * takes at once, so `late` outlives the heap only if the heap never got memory at all. */
static axo__message *bounded_unqueue(axo__bounded_mailbox *bounded)
{
    axo__message *message;
    if (bounded->entry_count > 0) {
        message = bounded_heap_pop(bounded);
        axo__message *late = axo__chain_pop(&bounded->late);
        if (late != NULL)
            bounded_place(bounded, late, bounded_carried(late));
    } else {
        message = axo__chain_pop(&bounded->control);
        if (message == NULL)
            message = axo__chain_pop(&bounded->rest);
        if (message == NULL)
            message = axo__chain_pop(&bounded->late);
        if (message != NULL)
            (void)bounded_carried(message);
    }
    AXO_DEBUG_ASSERT(message != NULL || axo__a64_peek_owner(&bounded->count) == 0); /* I3 */
    if (message != NULL)
        bounded_left(bounded, message);
    return message;
}

/* Moves the oldest message that the bounds count to `dropped`; the caller knows that there is one.
 * Ordinary messages go before those of priority 0 (control). */
static void bounded_drop_oldest(axo__bounded_mailbox *bounded, axo__chain *dropped)
{
    axo__chain *chains[] = {&bounded->rest, &bounded->control};
    AXO_DEBUG_ASSERT(bounded->messages > 0);
    for (uint32_t i = 0; i < 2; i++) {
        axo__message *before = NULL;
        axo__message *message = chains[i]->first;
        while (message != NULL && !bounded_counts(message)) {
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
        bounded_left(bounded, message);
        axo__chain_push(dropped, message);
        return;
    }
}

/* ---- the line ---- */

/* At the end of the line: the first waiter has waited longest. */
static void bounded_line_push(axo__bounded_mailbox *bounded, axo__waiter *waiter)
{
    AXO_DEBUG_ASSERT(waiter->state == AXO__WAITER_WAITS);
    waiter->next = NULL;
    if (bounded->line.first == NULL)
        bounded->line.first = waiter;
    else
        bounded->line.last->next = waiter;
    bounded->line.last = waiter;
}

/* Rebuilds the line without one waiter; its length is the number of parked senders. */
static void bounded_line_remove(axo__bounded_mailbox *bounded, const axo__waiter *waiter)
{
    axo__waiters line = bounded->line;
    bounded->line.first = NULL;
    while (line.first != NULL) {
        axo__waiter *one = line.first;
        line.first = one->next;
        if (one != waiter)
            bounded_line_push(bounded, one);
    }
}

/* From here on the waiter is out of the line for good, and the caller of the public function, which
 * took it out under the mutex, answers for its record. */
static void bounded_done(axo__waiter *waiter, axo__waiter **done)
{
    AXO_DEBUG_ASSERT(waiter->state == AXO__WAITER_WAITS && waiter->held.first == NULL);
    waiter->state = AXO__WAITER_DONE;
    waiter->next = *done;
    *done = waiter;
}

/* Moves one message of each waiter in turn into the queue while there is room, so that a waiter
 * with many messages does not stand before all others. */
static void bounded_move_line(axo__bounded_mailbox *bounded, axo__waiter **done)
{
    while (bounded->line.first != NULL &&
           bounded_admits(bounded, bounded->line.first->held.first)) {
        axo__waiter *waiter = bounded->line.first;
        axo__message *message = axo__chain_pop(&waiter->held);
        bounded_queue(bounded, message, bounded_carried(message));
        bounded->line.first = waiter->next;
        if (waiter->held.first != NULL)
            bounded_line_push(bounded, waiter);
        else
            bounded_done(waiter, done);
    }
    AXO_DEBUG_ASSERT(bounded->line.first == NULL || bounded->messages > 0); /* I1 */
}

/* ---- put ---- */

/* The message joins those of its sender, in order, with the priority that was asked for it. */
static axo__put bounded_hold(axo__message *message, uint32_t priority, axo__waiter *waiter)
{
    AXO_DEBUG_ASSERT(waiter->state == AXO__WAITER_WAITS);
    bounded_carry(message, priority);
    axo__chain_push(&waiter->held, message);
    return AXO__PUT_HELD;
}

/* The message finds no room, or waiters stand before it; the mailbox's policy decides. A PARK needs
 * a NEW waiter, for which the caller has taken memory; without one the answer is FULL, and the
 * caller may come again with a waiter. */
static axo__put bounded_overflow(axo__bounded_mailbox *bounded, axo__message *message,
                                 uint32_t priority, axo__waiter *waiter, axo__chain *dropped)
{
    switch (bounded->how.overflow) {
    case AXO_OVERFLOW_DROP_NEW:
        axo__chain_push(dropped, message);
        return AXO__PUT_DROPPED;
    case AXO_OVERFLOW_DROP_OLD:
        while (!bounded_admits(bounded, message))
            bounded_drop_oldest(bounded, dropped);
        bounded_queue(bounded, message, priority);
        return AXO__PUT_IN;
    case AXO_OVERFLOW_PARK:
        if (waiter == NULL || waiter->state != AXO__WAITER_NEW)
            return AXO__PUT_FULL;
        AXO_DEBUG_ASSERT(bounded->messages > 0); /* I1 */
        waiter->state = AXO__WAITER_WAITS;
        bounded_line_push(bounded, waiter);
        return bounded_hold(message, priority, waiter);
    case AXO_OVERFLOW_REFUSE:
        break;
    }
    return AXO__PUT_FULL;
}

/* A sender that already waits holds its further messages too, whatever their kind, or its order
 * would be lost. Memory for the entry is taken before the message is accepted. */
static axo__put bounded_put(axo__bounded_mailbox *bounded, axo__message *message, uint32_t priority,
                            axo__waiter *waiter, axo__chain *dropped)
{
    bool counts = bounded_counts(message) && !bounded->closed;
    if (waiter != NULL && waiter->state == AXO__WAITER_WAITS)
        return counts && waiter->sealed ? AXO__PUT_SEALED : bounded_hold(message, priority, waiter);
    if (counts && (bounded->line.first != NULL || !bounded_admits(bounded, message)))
        return bounded_overflow(bounded, message, priority, waiter, dropped);
    if (counts && !bounded_room(bounded))
        return AXO__PUT_NO_MEMORY;
    bounded_queue(bounded, message, priority);
    return AXO__PUT_IN;
}

/* The priority is asked first, outside the mutex; `dropped` is buried by the caller after the
 * section. */
axo__put axo__bounded_put_any(axo__bounded_mailbox *bounded, axo__message *message,
                              axo__waiter *waiter, axo__chain *dropped)
{
    uint32_t priority = bounded_ask(bounded, message);
    axo__os_mutex_lock(&bounded->mutex);
    axo__put put = bounded_put(bounded, message, priority, waiter, dropped);
    axo__os_mutex_unlock(&bounded->mutex);
    return put;
}

/* For messages that no bound refuses (notices, timers' messages, events): neither the line nor a
 * lack of memory keeps them out. */
void axo__bounded_accept_any(axo__bounded_mailbox *bounded, axo__message *message)
{
    uint32_t priority = bounded_ask(bounded, message);
    axo__os_mutex_lock(&bounded->mutex);
    bounded_queue(bounded, message, priority);
    axo__os_mutex_unlock(&bounded->mutex);
}

/* The sender ends: its held messages go in before its watchers can learn of the end (DW-11).
 * Whether the waiter still stands in the line is decided under the mutex, against a take, an expiry
 * and a close. */
bool axo__bounded_let_in_any(axo__bounded_mailbox *bounded, axo__waiter *waiter)
{
    axo__os_mutex_lock(&bounded->mutex);
    bool waits = waiter->state == AXO__WAITER_WAITS;
    if (waits) {
        axo__message *message;
        AXO_DEBUG_ASSERT(waiter->held.first != NULL); /* I2 */
        bounded_line_remove(bounded, waiter);
        while ((message = axo__chain_pop(&waiter->held)) != NULL)
            bounded_queue(bounded, message, bounded_carried(message));
        waiter->state = AXO__WAITER_DONE;
    }
    axo__os_mutex_unlock(&bounded->mutex);
    return waits;
}

/* Takes the held messages from a waiter that gives up, or whose receiver has terminated. */
static void bounded_unhold(axo__waiter *waiter, axo__chain *left)
{
    axo__message *message;
    while ((message = axo__chain_pop(&waiter->held)) != NULL) {
        (void)bounded_carried(message);
        axo__chain_push(left, message);
    }
}

/* The line moves although nothing was taken: the next waiter's message may be a smaller one. */
bool axo__bounded_expire_any(axo__bounded_mailbox *bounded, axo__waiter *waiter, axo__chain *held,
                             axo__waiter **done)
{
    axo__os_mutex_lock(&bounded->mutex);
    bool waits = waiter->state == AXO__WAITER_WAITS;
    if (waits) {
        AXO_DEBUG_ASSERT(waiter->held.first != NULL); /* I2 */
        bounded_line_remove(bounded, waiter);
        bounded_unhold(waiter, held);
        bounded_move_line(bounded, done);
        bounded_done(waiter, done);
    }
    axo__os_mutex_unlock(&bounded->mutex);
    return waits;
}

/* ---- take ---- */

/* The look at `count` [B2] saves an idle actor the mutex. A sender that queues after this look
 * announces after its store [B1], so the runner comes again. */
axo__message *axo__bounded_take_owner(axo__bounded_mailbox *bounded, axo__waiter **done)
{
    if (axo__bounded_count(bounded) == 0)
        return NULL;
    axo__os_mutex_lock(&bounded->mutex);
    axo__message *message = bounded_unqueue(bounded);
    if (axo__unlikely(bounded->line.first != NULL))
        bounded_move_line(bounded, done);
    axo__os_mutex_unlock(&bounded->mutex);
    return message;
}

/* `closed` and the emptying are one section: a put that gets the mutex later finds `closed` and is
 * queued without a bound, for the drain after the grace period. */
void axo__bounded_close_owner(axo__bounded_mailbox *bounded, axo__chain *left, axo__waiter **done)
{
    axo__message *message;
    axo__os_mutex_lock(&bounded->mutex);
    AXO_DEBUG_ASSERT(bounded->line.first == NULL || bounded->messages > 0); /* I1 */
    bounded->closed = true;
    while ((message = bounded_unqueue(bounded)) != NULL)
        axo__chain_push(left, message);
    while (bounded->line.first != NULL) {
        axo__waiter *waiter = bounded->line.first;
        bounded->line.first = waiter->next;
        bounded_unhold(waiter, left);
        bounded_done(waiter, done);
    }
    axo__os_mutex_unlock(&bounded->mutex);
}

/* ---- looking ---- */

/* A notice is part of a watch record and no send of its sender's. */
static bool bounded_is_of(const axo__message *message, axo_ref sender)
{
    return axo_ref_equal(message->pub.sender, sender) &&
           (message->flags & AXO__MESSAGE_NOTICE) == 0;
}

/* A heap is not sorted: the place is 1 and the number of entries before the sender's first one. */
static uint64_t bounded_heap_place(const axo__bounded_mailbox *bounded, axo_ref sender)
{
    const axo__bounded_entry *first = NULL;
    uint64_t place = 1;
    for (uint32_t i = 0; i < bounded->entry_count; i++) {
        const axo__bounded_entry *entry = &bounded->entries[i];
        if (bounded_is_of(entry->message, sender) &&
            (first == NULL || bounded_before(entry, first)))
            first = entry;
    }
    if (first == NULL)
        return 0;
    for (uint32_t i = 0; i < bounded->entry_count; i++)
        place += bounded_before(&bounded->entries[i], first) ? 1 : 0;
    return place;
}

/* Control messages come before the rest, in the order of a take. */
static uint64_t bounded_chain_place(const axo__bounded_mailbox *bounded, axo_ref sender)
{
    const axo__chain *const chains[] = {&bounded->control, &bounded->rest};
    uint64_t place = 1;
    for (uint32_t i = 0; i < 2; i++) {
        const axo__message *message = chains[i]->first;
        for (; message != NULL; message = axo__message_next(message), place++) {
            if (bounded_is_of(message, sender))
                return place;
        }
    }
    return 0;
}

/* A walk under the mutex, for an inspector (system/inspect.c): senders wait for its length. */
uint64_t axo__bounded_place_any(axo__bounded_mailbox *bounded, axo_ref sender)
{
    axo__os_mutex_lock(&bounded->mutex);
    uint64_t place = bounded->how.kind == AXO_MAILBOX_PRIORITY
                         ? bounded_heap_place(bounded, sender)
                         : bounded_chain_place(bounded, sender);
    axo__os_mutex_unlock(&bounded->mutex);
    return place;
}

/* ---- a look at all of them ---- */

typedef struct bounded_list {
    axo__message **out;
    size_t room;
    size_t count;
} bounded_list;

static void bounded_list_add(bounded_list *list, axo__message *message)
{
    if (list->count < list->room)
        list->out[list->count] = message;
    list->count++;
}

static void bounded_list_chain(bounded_list *list, const axo__chain *chain)
{
    for (axo__message *message = chain->first; message != NULL;
         message = axo__message_next(message))
        bounded_list_add(list, message);
}

/* Takes the entries out one by one, each into the place that has become free at the end, and turns
 * them round: what is sorted is a heap. */
static void bounded_heap_sort(axo__bounded_mailbox *bounded)
{
    const uint32_t count = bounded->entry_count;
    axo__bounded_entry *entries = bounded->entries;
    while (bounded->entry_count > 1) {
        axo__bounded_entry first = entries[0];
        (void)bounded_heap_pop(bounded);
        entries[bounded->entry_count] = first;
    }
    bounded->entry_count = count;
    for (uint32_t i = 0; i < count / 2; i++) {
        axo__bounded_entry entry = entries[i];
        entries[i] = entries[count - 1 - i];
        entries[count - 1 - i] = entry;
    }
}

size_t axo__bounded_list_any(axo__bounded_mailbox *bounded, axo__message **out, size_t room)
{
    bounded_list list = {.out = out, .room = room};
    axo__os_mutex_lock(&bounded->mutex);
    bounded_heap_sort(bounded);
    bounded_list_chain(&list, &bounded->control);
    for (uint32_t i = 0; i < bounded->entry_count; i++)
        bounded_list_add(&list, bounded->entries[i].message);
    bounded_list_chain(&list, &bounded->rest);
    bounded_list_chain(&list, &bounded->late);
    for (const axo__waiter *waiter = bounded->line.first; waiter != NULL; waiter = waiter->next)
        bounded_list_chain(&list, &waiter->held);
    axo__os_mutex_unlock(&bounded->mutex);
    return list.count;
}
