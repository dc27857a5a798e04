/* scheduled.h - messages that wait for their time: their records, their handles, the close. What a
 * program schedules without being an actor, or for another actor; an actor's own timers with keys
 * stand on this, in keyed_timer.h. */
#ifndef AXO__SCHED_SCHEDULED_H
#define AXO__SCHED_SCHEDULED_H

#include "sched/timer.h"

/* A message that waits for its time, to be sent once or periodically. Guarded by the mutex of its
 * wheel; while the message is being fired, `message` and `due` are the firing worker's. */
typedef struct axo__scheduled {
    axo__timer timer; /* first; its node links free records; number 0: free */
    axo_ref to;
    axo__message *message;
    int64_t due;       /* saturated; while it stands still: what is left, at least 0 */
    int64_t period;
    uint32_t index;
    uint8_t kind;      /* an axo_timer_kind */
    uint8_t at_close;  /* 1: to be sent when /user begins to stop */
    uint8_t cancelled; /* 1: cancelled, or taken by the close, while out of the wheel */
} axo__scheduled;

#define AXO__SCHEDULED_CHUNK 256

/* A block of records. Their number is bounded by `timers_max`; the block is the unit in which the
 * memory comes and goes. */
struct axo__scheduled_chunk {
    struct axo__scheduled_chunk *next; /* of the chunks with a free record */
    struct axo__scheduled_chunk *before;
    axo__wheel_node *free;
    uint32_t used;
    uint32_t index;
    axo__scheduled all[AXO__SCHEDULED_CHUNK];
};

/* What is to be sent, to which actor and when. */
typedef struct axo__scheduled_order {
    axo_ref to;
    axo__message *message; /* the message, or the template of a periodic one */
    int64_t first;         /* delay */
    int64_t period;
    axo_timer_kind kind;
} axo__scheduled_order;

/* Schedules a message. AXO_OK: the record has the message. AXO_ENOMEM, AXO_ELIMIT, AXO_ESTOPPING:
 * the message is still the caller's. `out`, where the handle goes, may be NULL. */
axo_status axo__scheduled_set(axo__local *local, const axo__scheduled_order *order, axo_timer *out);

/* Cancels a scheduled message. true: none will be sent any more, but for a periodic one that is
 * being sent now; false: the handle is stale, or its one message is being sent. Any thread with a
 * local. */
bool axo__scheduled_cancel(axo__local *local, axo_timer timer);

/* Marks a scheduled message to be sent when /user begins to stop. false: the handle is stale, or
 * its one message is being sent. */
bool axo__scheduled_mark(axo__core *core, axo_timer timer);

/* A scheduled message that waits, as it is seen. */
typedef struct axo__scheduled_info {
    axo_ref to;
    axo__message *message; /* the record's: until it fires or is cancelled */
    int64_t due;
    int64_t period;
    uint32_t kind;         /* an axo_timer_kind */
    bool still;            /* its time stands still: `due` is what is left */
} axo__scheduled_info;

/* Looks at the message of a handle; false: none waits. */
bool axo__scheduled_look(axo__core *core, axo_timer timer, axo__scheduled_info *out);

/* Looks at the next one of a wheel from the place *at on, which moves behind it; false: there is
 * none. `timers` may be NULL. */
bool axo__scheduled_next(axo__timers *timers, uint32_t *at, axo__scheduled_info *out);

/* Step (3) of cell/paused.h: the time of what is scheduled for paused actors stands still. Step
 * (6): it goes on for who is paused no more, or has ended. `now`: axo__core_now, from before. */
void axo__scheduled_still(axo__local *local, int64_t now);
void axo__scheduled_go_on(axo__local *local, int64_t now);

/* /user begins to stop: sends the marked messages of all wheels. */
void axo__scheduled_close(axo__worker *worker);

/* The system's end: drops all waiting messages. false: some worker is firing; the caller asks
 * again. */
bool axo__scheduled_end(axo__worker *worker);

/* Gives the records' memory back when no message is scheduled any more; before axo__timers_free. */
void axo__scheduled_fini(axo__timers *timers);

#endif
