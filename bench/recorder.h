/* recorder.h - the marks of one restart after another, from the runtime's own trace.
 *
 * Six marks, in this order, of RESTART.md; five phases lie between them:
 *
 *   failure   the failing call, read from the recorder's clock by who fails
 *   suspended the failed actor is suspended              SUSPEND of it
 *   decided   its supervisor, or one above, said Restart DECIDE of that one
 *   cleared   nothing of the old is waited for           RESUME of the actor that is restarted
 *   rebuilt   who is in the failed one's place started   STARTED of it
 *   message   its first message is handed to it          RECEIVE
 *
 * One restart at a time: the next begins after the last mark. The events of the marks follow one
 * another by cause, so each finds what those before it wrote; events of other actors may come at
 * any time and on any worker. A mark that comes out of its turn is counted as broken. */
#ifndef BENCH_RECORDER_H
#define BENCH_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <axo/axo.h>

#include "histogram.h"

typedef enum recorder_mark {
    MARK_FAILURE,
    MARK_SUSPENDED,
    MARK_DECIDED,
    MARK_CLEARED,
    MARK_REBUILT,
    MARK_MESSAGE,
    MARKS
} recorder_mark;

#define PHASES (MARKS - 1)

/* The phase that ends at each mark after the first. */
static const char *const phase_names[PHASES] = {"suspend", "decide", "clear", "rebuild", "resume"};

#define RECORDER_KINDS                                                                             \
    (AXO_EVENT_BIT(AXO_EV_SUSPEND) | AXO_EVENT_BIT(AXO_EV_DECIDE) | AXO_EVENT_BIT(AXO_EV_RESUME) | \
     AXO_EVENT_BIT(AXO_EV_STARTED) | AXO_EVENT_BIT(AXO_EV_RECEIVE))

/* The marks of one restart, ns from its first. */
typedef struct recorder_row {
    int64_t marks[MARKS];
} recorder_row;

#define RECORDER_ROWS_MAX 65536

/* Who fails, who decides, who is restarted: by their references' bits. Zero: nobody yet. */
typedef struct recorder {
    _Atomic uint64_t victim;
    _Atomic uint64_t decider;
    _Atomic uint64_t target;
    _Atomic uint32_t next; /* the mark that is waited for; 0: no restart is under way */
    _Atomic int64_t marks[MARKS];
    _Atomic uint64_t broken; /* marks out of turn */
    bool counted;            /* this restart is measured; the rest is written by it */
    uint64_t count;
    uint64_t sums[PHASES]; /* ns */
    uint64_t total_sum;
    histogram phases[PHASES];
    histogram total;
    recorder_row *rows; /* of the first RECORDER_ROWS_MAX, or NULL */
    uint32_t rows_count;
} recorder;

static inline void recorder_mark_at(recorder *own, uint32_t mark, int64_t now)
{
    atomic_store_explicit(&own->marks[mark], now, memory_order_relaxed);
    atomic_store_explicit(&own->next, (mark + 1) % MARKS, memory_order_relaxed);
}

/* A restart begins: called by who fails, with the recorder's clock, as the last thing before. */
static inline void recorder_begin(recorder *own, axo_ctx *ctx, bool counted)
{
    if (atomic_load_explicit(&own->next, memory_order_relaxed) != 0)
        atomic_fetch_add_explicit(&own->broken, 1, memory_order_relaxed);
    own->counted = counted;
    recorder_mark_at(own, MARK_FAILURE, axo_now(ctx));
}

/* The last mark is there: the restart's phases are those between its marks, and their sum is the
 * time from the first to the last. */
static inline void recorder_finish(recorder *own)
{
    int64_t first = atomic_load_explicit(&own->marks[0], memory_order_relaxed);
    int64_t before = first;
    uint64_t sum = 0;
    bool kept = own->rows != NULL && own->rows_count < RECORDER_ROWS_MAX;
    recorder_row *row = kept ? &own->rows[own->rows_count] : NULL;
    if (!own->counted)
        return;
    for (uint32_t i = 0; i < MARKS; i++) {
        int64_t now = atomic_load_explicit(&own->marks[i], memory_order_relaxed);
        if (now < before)
            atomic_fetch_add_explicit(&own->broken, 1, memory_order_relaxed);
        if (row != NULL)
            row->marks[i] = now - first;
        if (i > 0) {
            uint64_t phase = now < before ? 0 : (uint64_t)(now - before);
            histogram_record(&own->phases[i - 1], phase);
            own->sums[i - 1] += phase;
            sum += phase;
        }
        before = now;
    }
    if (sum != (uint64_t)(before - first))
        atomic_fetch_add_explicit(&own->broken, 1, memory_order_relaxed);
    own->count++;
    own->total_sum += (uint64_t)(before - first);
    histogram_record(&own->total, (uint64_t)(before - first));
    own->rows_count += row != NULL;
}

static inline bool recorder_is(_Atomic uint64_t *who, const axo_event *event)
{
    return atomic_load_explicit(who, memory_order_relaxed) == event->actor.bits;
}

static inline void recorder_event(void *user, const axo_event *event)
{
    recorder *own = user;
    uint32_t next = atomic_load_explicit(&own->next, memory_order_relaxed);
    bool mine = false;
    switch (next) {
    case MARK_SUSPENDED:
        mine = event->kind == AXO_EV_SUSPEND && event->arg == 0 && recorder_is(&own->victim, event);
        break;
    case MARK_DECIDED:
        mine = event->kind == AXO_EV_DECIDE && event->arg >> 32 == AXO_RESTART &&
               recorder_is(&own->decider, event);
        break;
    case MARK_CLEARED:
        mine = event->kind == AXO_EV_RESUME && event->arg == 0 && recorder_is(&own->target, event);
        break;
    case MARK_REBUILT:
        mine = event->kind == AXO_EV_STARTED && recorder_is(&own->victim, event);
        break;
    case MARK_MESSAGE:
        mine = event->kind == AXO_EV_RECEIVE && recorder_is(&own->victim, event);
        break;
    default:
        return;
    }
    if (!mine)
        return;
    recorder_mark_at(own, next, event->time_ns);
    if (next == MARK_MESSAGE)
        recorder_finish(own);
}

#endif
