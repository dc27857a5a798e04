/* scheduled.h - messages that wait for their time: their records, their handles, the close. */
#ifndef AXO__SCHED_SCHEDULED_H
#define AXO__SCHED_SCHEDULED_H

#include "sched/timer.h"

/* A message that waits, once or again and again. Guarded by its home's mutex; while it is being
 * fired, `message` and `due` are the firing worker's. */
typedef struct axo__scheduled {
    axo__timer timer; /* first; its node links the free ones; number 0: free */
    axo_ref to;
    axo__message *message;
    int64_t due;       /* saturated */
    int64_t period;
    uint32_t index;
    uint8_t kind;      /* an axo_timer_kind */
    uint8_t at_close;
    uint8_t cancelled; /* while it was being fired */
} axo__scheduled;

#define AXO__SCHEDULED_CHUNK 256

struct axo__scheduled_chunk {
    struct axo__scheduled_chunk *next; /* of those with room */
    struct axo__scheduled_chunk *before;
    axo__wheel_node *free;
    uint32_t used;
    uint32_t index;
    axo__scheduled all[AXO__SCHEDULED_CHUNK];
};

typedef struct axo__scheduled_order {
    axo_ref to;
    axo__message *message; /* its template, if it is periodic */
    int64_t first;         /* delay */
    int64_t period;
    axo_timer_kind kind;
} axo__scheduled_order;

/* Schedules a message: AXO_OK, AXO_ENOMEM, AXO_ELIMIT, AXO_ESTOPPING; then the message is still the
 * caller's. *out may be NULL. */
axo_status axo__scheduled_set(axo__local *local, const axo__scheduled_order *order, axo_timer *out);

/* true: it was waiting and is no more. Any thread with a local of its own. */
bool axo__scheduled_cancel(axo__local *local, axo_timer timer);

/* true: it was waiting and will run at close. */
bool axo__scheduled_mark(axo__core *core, axo_timer timer);

/* /user begins to stop: sends what is marked. */
void axo__scheduled_close(axo__worker *worker);

/* The end: drops what waits. false: some worker is firing; ask again. */
bool axo__scheduled_end(axo__worker *worker);

/* Gives the memory back; nothing is scheduled any more. Comes before axo__timers_free. */
void axo__scheduled_fini(axo__timers *timers);

#endif
