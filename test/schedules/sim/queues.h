/* queues.h - what the linker puts between the runtime's parts, by --wrap in schedules.mk: a mirror
 * of every run queue and injector, of every timer's time, of who uses a text, of what waits for a
 * grace period, and how many locks are held. Each mirror is kept from the calls alone.
 */
#ifndef TEST_SIM_QUEUES_H
#define TEST_SIM_QUEUES_H

#include "life.h"
#include "sched/wheel.h"

#define QUEUES_MAX 4096
#define QUEUE_ROOM 2048
#define QUEUE_NODES 4096
#define QUEUE_TIMERS 8192
#define QUEUE_TEXTS 4096

typedef struct queue_mirror {
    const void *queue;
    uint32_t first;
    uint32_t count;
    void *entries[QUEUE_ROOM];
} queue_mirror;

typedef struct queue_timer {
    const axo__wheel_node *node;
    const axo__wheel *wheel;
    uint64_t tick;
} queue_timer;

typedef struct queues {
    int32_t locks;       /* held */
    bool firing;         /* a worker fires timers, or a mailbox takes what must not be refused: it
                            asks for memory, and can do without */
    bool woke;           /* a thread has, in this step */
    uint64_t graces;     /* grace periods so far */
    uint32_t timer_count;
    uint16_t entries[QUEUE_NODES];  /* by slot: in run queues */
    uint8_t injected[QUEUE_NODES];  /* by slot: bit 0 ready, bit 1 urgent */
    uint64_t retired[QUEUE_NODES];  /* by slot: graces at that time, and 1; 0: it is not */
    uint32_t texts[QUEUE_TEXTS];    /* users */
    queue_timer timers[QUEUE_TIMERS];
    uint32_t places[QUEUES_MAX];    /* by address: index + 1 */
    uint32_t count;
    uint32_t mirrors_made;
    queue_mirror *mirrors[QUEUES_MAX];
} queues;

extern queues q;

void queues_reset(void);

/* User code runs. */
void queues_callback(void);

bool queues_are_empty(void);
uint32_t queues_texts_left(void);

#endif
