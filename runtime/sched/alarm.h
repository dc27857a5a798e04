/* alarm.h - messages that wait for their time: their records, their handles, the close. */
#ifndef AXO__SCHED_ALARM_H
#define AXO__SCHED_ALARM_H

#include "sched/timer.h"

/* A message that waits, once or again and again. Guarded by its home's mutex; while it is being
 * fired, `message` and `due` are the firing worker's. */
typedef struct axo__alarm {
    axo__timer timer; /* first; its node links the free ones; number 0: free */
    axo_ref to;
    axo__message *message;
    int64_t due;       /* saturated */
    int64_t period;
    uint32_t index;
    uint8_t kind;      /* an axo_timer_kind */
    uint8_t at_close;
    uint8_t cancelled; /* while it was being fired */
} axo__alarm;

#define AXO__ALARM_CHUNK 256

struct axo__alarm_chunk {
    struct axo__alarm_chunk *next; /* of those with room */
    struct axo__alarm_chunk *before;
    axo__wheel_node *free;
    uint32_t used;
    uint32_t index;
    axo__alarm alarms[AXO__ALARM_CHUNK];
};

typedef struct axo__alarm_order {
    axo_ref to;
    axo__message *message; /* its template, if it is periodic */
    int64_t first;         /* delay */
    int64_t period;
    axo_timer_kind kind;
} axo__alarm_order;

/* Sets an alarm: AXO_OK, AXO_ENOMEM, AXO_ELIMIT, AXO_ESTOPPING; then the message is still the
 * caller's. *out may be NULL. */
axo_status axo__alarm_set(axo__local *local, const axo__alarm_order *order, axo_timer *out);

/* true: it was waiting and is no more. Any thread with a local of its own. */
bool axo__alarm_cancel(axo__local *local, axo_timer timer);

/* true: it was waiting and will run at close. */
bool axo__alarm_mark(axo__core *core, axo_timer timer);

/* /user begins to stop: sends what is marked. */
void axo__alarms_close(axo__worker *worker);

/* The end: drops what waits. false: some worker is firing; ask again. */
bool axo__alarms_end(axo__worker *worker);

/* Gives the memory back; no alarm is set any more. Comes before axo__timers_free. */
void axo__alarms_fini(axo__timers *timers);

#endif
