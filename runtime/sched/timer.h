/* timer.h - a worker's timers: messages that wait for their time, in a binary heap. */
#ifndef AXO__SCHED_TIMER_H
#define AXO__SCHED_TIMER_H

#include "cell/core.h"

typedef struct axo__timer {
    int64_t due;
    uint64_t number; /* ties fire in the order they were set */
    axo_ref to;
    axo__message *message;
} axo__timer;

typedef struct axo__timers {
    axo__timer *heap;
    uint32_t count;
    uint32_t room;
    uint64_t number;
} axo__timers;

/* AXO_OK, AXO_ENOMEM, AXO_ELIMIT. The message is the heap's until it is popped. */
axo_status axo__timers_add(axo__timers *timers, axo__heap *heap, uint32_t max, int64_t due,
                           axo_ref to, axo__message *message);

/* When the first is due; AXO__NEVER. */
static inline int64_t axo__timers_next(const axo__timers *timers)
{
    return timers->count > 0 ? timers->heap[0].due : AXO__NEVER;
}

/* Takes the first out; there must be one. */
axo__timer axo__timers_pop(axo__timers *timers);

void axo__timers_fini(axo__timers *timers, axo__heap *heap);

#endif
