/* figures.h - what is counted and timed of each class of actors: <axo/metrics.h>.
 *
 * A worker counts in blocks of its own, one for each class that it has run, and readers add them
 * up. Nobody pays who has figures off: the trace points (axo__trace) tell of messages, as they tell
 * a board, and stamps are a bit of the cell (`timed`) beside the one of bounded mailboxes. With
 * figures no turn is plain.
 *
 * Roles      A block: the worker that owns it. A class's own counts: everybody, by additions that
 *            are whole. A worker's seats: its thread.
 *
 * Invariants
 *   F1  A block stays in its class's list until the system ends, and its counters only grow: what
 *       a worker that is gone has counted stays, and the next worker goes on in its block.
 *   F2  No two classes of the table have one name. One that the table has no place for is counted
 *       in class 0, "other".
 *   F3  No count needs memory: a message that finds none for a block is counted in its class's own
 *       counts, as failures and restarts always are (D10), and is not timed.
 *
 * Orders
 *   [F1] store release, class_count / load acquire    the class's name
 *   [F2] cas acq_rel, blocks / load acquire           a block of zeros, and its link
 *   [F3] cas acq_rel, owner / store release           one worker counts in a block, behind all that
 *                                                     the last one has counted
 */
#ifndef AXO__SCHED_FIGURES_H
#define AXO__SCHED_FIGURES_H

#include <axo/metrics.h>

#include "sched/pool.h"

/* Classes that a worker finds at once: a power of two. */
#define AXO__FIGURES_SEATS 64

/* Actors that are asked for the length of their mailbox at a time. */
#define AXO__FIGURES_ASKED 64

typedef enum axo__figure {
    AXO__FIGURE_HANDLED = 0,
    AXO__FIGURE_FAILURES = 1,
    AXO__FIGURE_RESTARTS = 2,
    AXO__FIGURES
} axo__figure;

typedef enum axo__figure_time {
    AXO__FIGURE_HANDLER = 0,
    AXO__FIGURE_MAILBOX = 1,
    AXO__FIGURE_TIMES
} axo__figure_time;

typedef struct axo__figures_times {
    axo__a64 sum;
    axo__a64 buckets[AXO_METRICS_BUCKETS];
} axo__figures_times;

/* What one worker has counted of one class. */
typedef struct axo__figures_block {
    struct axo__figures_block *next; /* fixed once it is in the list */
    axo__aptr owner;                 /* the worker; NULL: nobody's */
    axo__a64 handled;
    axo__figures_times times[];      /* AXO__FIGURE_TIMES of them, where times are taken */
} axo__figures_block;

/* Actors whose mailboxes a writer could not look into: longest.h. */
typedef struct axo__figures_asking {
    axo__os_mutex looking; /* one look at a time; before doors and all else */
    axo__os_mutex mutex;   /* guards the next; a leaf */
    struct axo__figures_asked {
        axo_ref actor;     /* none: the place is free */
        uint64_t look;     /* the last one that has met it running */
        uint64_t count;    /* what it has answered with */
        bool answered;
    } all[AXO__FIGURES_ASKED];
    uint64_t look;         /* the number of the look; under `looking` */
    axo__a32 open;         /* those that have not answered; written under the mutex */
} axo__figures_asking;

typedef struct axo__figures_class {
    char name[AXO_METRICS_NAME];
    axo__aptr blocks;
    axo__a64 counts[AXO__FIGURES];
} axo__figures_class;

/* The block that a worker counts an axo_class in, while that has this name. */
typedef struct axo__figures_seat {
    const axo_class *cls;
    axo__figures_block *block;
    char name[AXO_METRICS_NAME];
} axo__figures_seat;

struct axo__figures {
    axo__heap *heap;
    bool times;                 /* fixed */
    axo__os_mutex mutex;        /* guards the making of classes */
    axo__a32 class_count;
    axo__figures_class classes[AXO_METRICS_CLASSES_MAX];
    axo__figures_times late;    /* of timers; everybody's, by additions that are whole */
    axo__figures_asking asking;
};

/* NULL: *status says why. */
axo__figures *axo__figures_make(axo__heap *heap, bool times, axo_status *status);

/* NULL: there are none. No worker is left. */
void axo__figures_free(axo__figures *figures);

/* A worker that will have no thread any more, or never had one. */
void axo__figures_worker_gone(const axo__core *core, axo__worker *worker);

/* ---- on the cell's runner ---- */

/* What the core tells figures of; and a trace point, of these kinds or of others. */
#define AXO__FIGURES_KINDS                                                                         \
    (AXO_EVENT_BIT(AXO_EV_RECEIVE) | AXO_EVENT_BIT(AXO_EV_RECEIVED) | AXO_EVENT_BIT(AXO_EV_FAIL))
void axo__figures_tell(const axo__local *local, const axo__cell *cell, uint32_t kind);

/* Counts what no trace point tells of. Takes no memory. */
void axo__figures_add(axo__figures *figures, const axo__cell *cell, axo__figure figure);

/* A message that never reaches its handler counts as handled. */
static inline void axo__figures_special(const axo__worker *worker, const axo__cell *cell)
{
    if (axo__unlikely(worker->local.core->figures != NULL))
        axo__figures_add(worker->local.core->figures, cell, AXO__FIGURE_HANDLED);
}

/* One test of a word that is at hand: a restart is a path that is measured. */
static inline void axo__figures_restarted(const axo__worker *worker, const axo__cell *cell)
{
    if (axo__unlikely((worker->attention & AXO__LOOK_TRACED) != 0) &&
        worker->local.core->figures != NULL)
        axo__figures_add(worker->local.core->figures, cell, AXO__FIGURE_RESTARTS);
}

/* The message is TIMED, and is about to be given to the handler. */
void axo__figures_waited(axo__worker *worker, const axo__cell *cell, axo__message *message);

/* ---- on the sender's thread ---- */

/* A message to a cell that is `timed`, before it is anybody else's. One that is refused may be
 * stamped again. */
void axo__figures_stamp(const axo__cell *cell, axo__message *message);

/* A message has come out of a bounded mailbox, whose messages have no room for the flag. */
static inline void axo__figures_unbound(const axo__cell *cell, axo__message *message)
{
    if (axo__unlikely(cell->timed && message != NULL &&
                      (message->flags & ~(uint32_t)AXO__MESSAGE_TRACED) == 0))
        message->flags |= AXO__MESSAGE_TIMED;
}

/* ---- any thread ---- */

/* A timer that was due at `due` fires at `now`. */
void axo__figures_late(axo__figures *figures, int64_t now, int64_t due);

/* How late timers were; there are times. */
void axo__figures_read_late(const axo__figures *figures, axo_metrics_times *out);

/* The number of the class of a name, which has one from now on. */
uint32_t axo__figures_number(axo__figures *figures, const char *name);

/* The number of classes; each has a lower number. */
uint32_t axo__figures_classes(const axo__figures *figures);

/* Adds a class's blocks up; `out` is filled in whole. */
void axo__figures_read(const axo__figures *figures, uint32_t number, axo_metrics_class *out);

/* The bucket of a time, and the longest time of a bucket. */
uint32_t axo__figures_bucket(int64_t ns);
int64_t axo__figures_bound(uint32_t bucket);

#endif
