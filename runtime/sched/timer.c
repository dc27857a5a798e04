/* timer.c - a worker's timers: messages that wait for their time, in a binary heap. */
#include "sched/timer.h"

#include <string.h>

#define TIMER_ROOM_MIN 16

static bool timer_before(const axo__timer *one, const axo__timer *other)
{
    return one->due != other->due ? one->due < other->due : one->number < other->number;
}

static bool timer_room(axo__timers *timers, axo__heap *heap)
{
    if (timers->count < timers->room)
        return true;
    uint32_t room = timers->room != 0 ? timers->room * 2 : TIMER_ROOM_MIN;
    axo__timer *grown = axo__heap_alloc(heap, sizeof(axo__timer) * room, AXO__CACHE_LINE,
                                        AXO__SITE_TIMERS);
    if (grown == NULL)
        return false;
    if (timers->count > 0)
        memcpy(grown, timers->heap, sizeof(axo__timer) * timers->count);
    axo__heap_free(heap, timers->heap, sizeof(axo__timer) * timers->room, AXO__CACHE_LINE);
    timers->heap = grown;
    timers->room = room;
    return true;
}

axo_status axo__timers_add(axo__timers *timers, axo__heap *heap, uint32_t max, int64_t due,
                           axo_ref to, axo__message *message)
{
    if (timers->count >= max)
        return AXO_ELIMIT;
    if (!timer_room(timers, heap))
        return AXO_ENOMEM;
    axo__timer timer = {.due = due, .number = timers->number++, .to = to, .message = message};
    uint32_t at = timers->count++;
    while (at > 0 && timer_before(&timer, &timers->heap[(at - 1) / 2])) {
        timers->heap[at] = timers->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    timers->heap[at] = timer;
    return AXO_OK;
}

axo__timer axo__timers_pop(axo__timers *timers)
{
    AXO_ASSERT(timers->count > 0);
    axo__timer first = timers->heap[0];
    axo__timer last = timers->heap[--timers->count];
    uint32_t at = 0;
    for (;;) {
        uint32_t child = at * 2 + 1;
        if (child >= timers->count)
            break;
        if (child + 1 < timers->count &&
            timer_before(&timers->heap[child + 1], &timers->heap[child]))
            child++;
        if (!timer_before(&timers->heap[child], &last))
            break;
        timers->heap[at] = timers->heap[child];
        at = child;
    }
    timers->heap[at] = last;
    return first;
}

void axo__timers_fini(axo__timers *timers, axo__heap *heap)
{
    axo__heap_free(heap, timers->heap, sizeof(axo__timer) * timers->room, AXO__CACHE_LINE);
    memset(timers, 0, sizeof *timers);
}
