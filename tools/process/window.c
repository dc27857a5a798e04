/* window.c - which of an actor's messages its process has handled, over restarts. */
#include <assert.h>
#include <stdlib.h>

#include "host.h"

process_kept *process_queue_at(const process_queue *queue, uint64_t number)
{
    if (number - queue->first >= queue->count)
        return NULL;
    return &queue->all[number & (queue->room - 1)];
}

bool process_queue_room(process_queue *queue, uint64_t beside)
{
    if (queue->count + beside < queue->room)
        return true;
    uint64_t room = queue->room > 0 ? 2 * queue->room : 64;
    process_kept *all = malloc(room * sizeof *all);
    if (all == NULL)
        return false;
    for (uint64_t i = queue->first; i < queue->first + queue->count; i++)
        all[i & (room - 1)] = queue->all[i & (queue->room - 1)];
    free(queue->all);
    queue->all = all;
    queue->room = room;
    return true;
}

void process_queue_push(process_queue *queue, const process_kept *kept)
{
    assert(queue->count < queue->room);
    queue->all[(queue->first + queue->count++) & (queue->room - 1)] = *kept;
}

process_kept process_queue_pop(process_queue *queue)
{
    assert(queue->count > 0);
    queue->count--;
    return queue->all[queue->first++ & (queue->room - 1)];
}

uint64_t process_window_in_hand(const process_life *life)
{
    const process_link *link = life->link;
    const process_queue *window = &life->window;
    if (link == NULL || link->blamed)
        return 0;
    uint64_t number = atomic_load(&link->map.share->running);
    const process_kept *kept = process_queue_at(window, number);
    if (number < life->next_number && kept != NULL && !kept->handled)
        return number;
    if (number < life->next_number && !link->spoilt)
        return 0; /* none, or one that it has failed under or handled */
    bool written = window->count > 0 && window->first < life->next_number;
    return written && !process_queue_at(window, window->first)->handled ? window->first : 0;
}

/* Puts one in front. */
static void window_unpop(process_queue *queue, const process_kept *kept)
{
    assert(queue->count < queue->room);
    queue->count++;
    queue->all[--queue->first & (queue->room - 1)] = *kept;
}

/* I2: those of the window were owed before, or nothing is owed and the window becomes what is. */
void process_window_owe(process_life *life, uint64_t running)
{
    static const process_kept done = {.handled = true};
    process_queue *window = &life->window;
    process_queue *owed = &life->owed;
    process_kept *under = running != 0 ? process_queue_at(window, running) : NULL;
    if (under != NULL)
        under->handled = true;
    if (owed->count == 0) {
        for (; life->returned > 0; life->returned--)
            process_queue_push(window, &done);
        process_queue kept = *owed;
        *owed = *window;
        *window = (process_queue){.all = kept.all, .room = kept.room};
    }
    for (; life->returned > 0; life->returned--)
        window_unpop(owed, &done);
    while (window->count > 0) {
        window->count--;
        window_unpop(owed, &window->all[(window->first + window->count) & (window->room - 1)]);
    }
    window->first = 1;
    life->next_number = 1;
}
