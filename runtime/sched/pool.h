/* pool.h - a worker, and the pool that workers form: the two records, and what a look at them says.
 *
 * The other files of this layer stand on this one, each on those before it:
 *
 *   wake      who is woken; the parking protocol. idle, below all: the roles of idle workers
 *   claim     entries in injectors; the claim of a cell that an entry names
 *   newborn   a worker's array of cells that have not run yet
 *   ready     where ready cells are put, and the table of all the places
 *   timer     a wheel behind its mutex; wheel: without it
 *   parked    senders that wait for room      send     a message's way to its mailbox; doors
 *   scheduled   messages that wait for a time   keyed_timer  what an actor has of time
 *   steal     cells of other workers          find     a worker's look for a cell; the clock
 *   run       one turn of one cell
 *   park      a worker goes to sleep          worker   a worker's step
 *   spare     workers for when all others are stuck
 *   sched     a pool is made, started, ended
 *   kinds     the kinds of pools, a file each
 *
 * Orders
 *   [W2] store release, next         the slot's cell; pairs with [W3]
 *   [W3] load acquire, next          a thief's look; the claim decides
 *   [W5] store release / load acquire, quit
 *   [W9] store release / load acquire, grown   publishes an elastic worker's record, before it has
 *                                    its first thread; it goes with the pool
 */
#ifndef AXO__SCHED_POOL_H
#define AXO__SCHED_POOL_H

#include <stdarg.h>

#include "base/config.h"
#include "base/random.h"
#include "base/unwind.h"
#include "cell/extra.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "sched/idle.h"

AXO_STATIC_ASSERT((AXO__NEWBORNS & (AXO__NEWBORNS - 1)) == 0, "indices wrap round");
AXO_STATIC_ASSERT((AXO__RUNQ_SIZE & (AXO__RUNQ_SIZE - 1)) == 0, "a ring's size");
AXO_STATIC_ASSERT((AXO__URGENT_SIZE & (AXO__URGENT_SIZE - 1)) == 0, "a ring's size");

typedef struct axo__sched axo__sched;
typedef struct axo__worker axo__worker;
typedef struct axo__timers axo__timers;
typedef struct axo__spare_mark axo__spare_mark;

/* What the layer above does for a runner. */
typedef struct axo__super_ops {
    /* Takes the system lane and the directives, or a portion: then ATTENTION_REST says that there
     * is more. */
    void (*system)(axo__worker *worker, axo__cell *cell);
    /* The running callback failed: worker->pending says why. */
    void (*fail)(axo__worker *worker, axo__cell *cell);
    /* A notice has come up: false, it is void and gone. */
    bool (*notice)(axo__worker *worker, axo__cell *cell, axo__message *message);
    /* A notice that was given to the handler is stashed: an unwatch reaches it again. */
    void (*notice_keep)(axo__cell *cell, axo__message *message);
    /* A notice was handled: its record goes. */
    void (*notice_free)(axo__local *local, axo__message *message);
    /* Answers what has reached a closed cell since its last look; any local. */
    void (*drain)(axo__local *local, axo__cell *cell);
    /* A cell whose grace period is over: leftovers, then the slot. */
    void (*expire)(axo__local *local, axo__cell *cell);
} axo__super_ops;

enum {
    AXO__WORKER_AWAKE = 0,
    AXO__WORKER_PARKED = 1,
    AXO__WORKER_ABSENT = 2 /* has no thread now */
};

/* What one kind of pools does in its own way: a constant in the kind's own file (kinds.h). No
 * function of it is called within a turn, or on the way from one turn to the next. */
typedef struct axo__sched_kind {
    bool shared; /* all its work lies in its injectors: its workers have no queues of their own */
    bool manned; /* every worker has a thread from axo__sched_start to axo__sched_quit */
    bool single; /* the pool is one actor's, and ends with it */
    const axo__os_body *body; /* of its workers, but the spare ones */

    /* Makes the workers of a pool whose common part is made. AXO_OK, AXO_ENOMEM, AXO_ETHREAD; what
     * a failure leaves is for unmake. */
    axo_status (*make)(axo__sched *sched);
    void (*unmake)(axo__sched *sched);

    /* An actor comes: AXO_OK, AXO_ENOMEM or AXO_ETHREAD. An actor goes. */
    axo_status (*enter)(axo__sched *sched);
    void (*leave)(axo__sched *sched);

    /* Work has been pushed, and no worker is parked. */
    void (*nobody_parked)(axo__sched *sched);

    /* The caller has taken the worker out of PARKED. */
    void (*wake)(axo__worker *worker);

    /* Until when a worker sleeps that parks now. */
    int64_t (*deadline)(const axo__worker *worker);

    /* A worker has found nothing to do. true: its thread ends. */
    bool (*ends)(axo__worker *worker);
} axo__sched_kind;

/* How closely the spare workers look at the others. A pool that has none is in WATCH for ever:
 * there is nobody to call. */
enum {
    AXO__SPARE_WATCH = 0, /* every AXO__SPARE_NS: nobody was parked when work was pushed */
    AXO__SPARE_DOZE = 1,  /* now and then, for handlers that hang */
    AXO__SPARE_DEEP = 2   /* not at all: every worker is parked */
};

typedef struct axo__seen {
    uint32_t turn;
} axo__seen;

struct axo__worker {
    axo__local local;
    axo__sched *sched;
    axo__sched *own;        /* the pool whose private queues it may push to; NULL: none */

    /* ---- runner ---- */
    axo__cell *current;     /* whose callbacks may use their context; NULL between turns */
    axo__message *message;  /* in receive */
    axo__unwind *unwind;    /* where a throw lands */
    uint32_t site;          /* axo_site of the running callback, or AXO__SITE_*; NONE outside */
    uint32_t messages_left; /* messages left in this turn */
    bool yields;            /* the turn ends with this message */
    uint32_t turns_left;    /* turns left in this step */
    uint32_t until_clock;   /* messages until the clock is read */
    uint32_t clock_stride;
    uint32_t clock_stride_max;
    int64_t until;          /* a reading with which turns end at once; AXO__NEVER: none does */
    uint32_t next_runs;     /* turns from the next slot in a row */
    uint32_t newborn_runs;  /* newborns run since something else was */
    uint32_t newborn_turns;
    uint32_t urgent_runs;
    uint32_t inject_turn;   /* when the injector was last looked at for fairness */
    uint64_t inject_from;   /* count of messages from which a turn is cut short for it */
    int64_t now;            /* last reading of the operating system's clock: effort, never time */
    int64_t turn_clock;     /* reading known at the turn's start */
    int64_t next_clock;     /* the first reading while it is used; AXO__NEVER: none yet */
    int64_t overrun_clock;  /* reading when an overrun cell had its turn last, or none waited */
    uint32_t overrun_turn;  /* the turn that has used up its time by itself */
    bool quiet;             /* it has pushed between two turns, and told nobody yet */
    bool overrun_due;       /* an overrun cell has waited for long: it goes before the ready ones */
    axo_ref sender;         /* axo_sender in a decider */
    axo__cause pending;     /* what axo_fail recorded; kind NONE: nothing */
    uint64_t asked_at;      /* the callback under which the last one failed */
    axo__random random;
    axo__timers *timers;    /* NULL: its pool has no wheels */
    axo__seen *seen;        /* of each worker, when this one last parked; NULL: it steals nothing */
    int64_t seen_at;
    uint32_t seen_turns;    /* a spare's: of all workers, when it last looked */
    int64_t watch_ns;       /* how long the next watch is */
    axo__idle_role role;    /* while it has no work */
    bool ending;            /* calls what waits for the system's end */
    int64_t idle_at;        /* elastic: since when it has had nothing to do; 0: it has */
    bool was_parked;        /* host: its last run ended for want of work */
    bool has_thread;        /* one to join; guarded by the pool's mutex */
    bool forked;            /* in a child that one of its callbacks has forked ... */
    axo__cell *forked_in;   /* ... of this actor; NULL: of none */

    /* ---- read by others ---- */
    _Alignas(AXO__CACHE_LINE) axo__aptr next;
    axo__a32 turn;          /* turns begun */
    axo__a32 state;
    axo__a32 fence;         /* (6) of the parking protocol */
    axo__a32 in_turn;       /* 1: inside a turn */
    axo__aptr running;      /* the cell of the turn */
    axo__a64 running_tag;   /* 1 << 32 | tag while in receive */
    axo__a64 since;         /* last reading of the operating system's clock */
    axo__os_thread thread;
    axo__runq urgent;
    axo__runq ready;
    axo__a32 newborn_floor; /* these four: newborn.c */
    axo__a32 newborn_top;
    axo__a32 newborn_taken;
    axo__aptr newborns[AXO__NEWBORNS];
    axo__runq overrun;      /* overrun cells */
};

/* What a worker's queues lie in. Those of a pool whose work is shared have none: their queues are
 * always full, so that all they push goes to their pool's injectors. */
typedef struct axo__worker_slots {
    struct ck_ring_buffer urgent[AXO__URGENT_SIZE];
    struct ck_ring_buffer ready[AXO__RUNQ_SIZE];
    struct ck_ring_buffer overrun[AXO__RUNQ_SIZE];
} axo__worker_slots;

/* A door: outside threads pass one at a time. */
typedef struct axo__door {
    _Alignas(AXO__CACHE_LINE) axo__os_mutex mutex;
    axo__local local;
} axo__door;

struct axo__sched {
    axo__core *core;
    const axo__super_ops *ops;
    void (*idle)(axo__core *core); /* told when a worker finds nothing to do */
    axo__sched *next;              /* of the system's pools */
    const axo__sched_kind *kind;
    uint32_t number;               /* of the pool, 16 bits; 0: the default one */
    axo__worker *workers;          /* the spare ones follow the others; NULL: elastic */
    axo__aptr *grown;              /* elastic: a record for each thread that there ever was, from
                                      the first on; NULL: another kind */
    axo__worker_slots *slots;      /* of each; NULL: elastic */
    uint32_t worker_count;
    uint32_t spare_count;
    uint32_t quantum;
    uint32_t backlog_turns_max;    /* how often it may be doubled */
    uint32_t turns;                /* in a step, at most */
    int64_t quantum_ns;            /* AXO__QUANTUM_NEVER: time ends no turn */
    axo__door *doors;              /* the default pool's only */
    uint32_t door_count;
    uint32_t timers_max;
    int64_t stuck_ns;              /* a handler that runs longer is reported; 0: never */
    int64_t idle_ns;               /* elastic: a thread that has had no work so long ends */
    axo__os_mutex mutex;           /* guards the next three */
    axo__a32 actors;               /* elastic: living ones; others may look */
    axo__a32 live;                 /* elastic: threads that run; others may look */
    axo__a32 starting;             /* elastic: one has not begun yet; others may look */
    axo__spare_mark *marks;        /* spare_count rows, one entry for each worker */
    axo__a32 spare_mode;
    axo__a32 rescuing;             /* the first spare is in a cell */
    axo__os_event event;           /* host: set when there is something to run */
    axo__a32 host_busy;            /* host: a thread is in it */
    _Alignas(AXO__CACHE_LINE) axo__a32 parked;
    axo__a32 searching;
    axo__a32 watcher;       /* 1: an idle worker wakes now and then to look after the others */
    axo__a32 watch_due;     /* 1: the watch was handed on, and nobody has taken it up yet */
    axo__a32 quit;
    _Alignas(AXO__CACHE_LINE) axo__inject inject;
    axo__inject urgent;
    axo__inject overrun;           /* overrun cells that no worker's own queue has room for */
};

/* The running callback. `messages_left` goes down with each message, so no two of a turn are alike
 * but a message and the hooks that run before the next one. Those of a restart within the turn in
 * which the actor failed are told apart from the message it failed under. */
static inline uint64_t axo__worker_count(const axo__worker *worker)
{
    uint64_t turn = axo__a32_load_relaxed(&worker->turn);
    return turn << 33 | (uint64_t)worker->messages_left << 1;
}

static inline axo__moment axo__worker_moment(const axo__worker *worker)
{
    uint64_t when = axo__worker_count(worker);
    return (axo__moment){.who = worker, .when = when | (when == worker->asked_at ? 1 : 0)};
}

/* How many workers there are, spare ones included. */
static inline uint32_t axo__sched_all(const axo__sched *sched)
{
    return sched->worker_count + sched->spare_count;
}

/* The worker of a number, spare ones included; NULL: elastic, and neither this one nor any after it
 * has had a thread. Whoever has heard of a thread finds its record. */
static inline axo__worker *axo__sched_worker(const axo__sched *sched, uint32_t index)
{
    AXO_DEBUG_ASSERT(index < axo__sched_all(sched));
    if (axo__likely(sched->grown == NULL))
        return &sched->workers[index];
    return axo__aptr_load_acquire(&sched->grown[index]); /* [W9] */
}

/* The default pool of a core. */
static inline axo__sched *axo__core_sched(axo__core *core)
{
    return core->sched;
}

/* The pool that runs the cell. */
static inline axo__sched *axo__cell_sched(const axo__cell *cell)
{
    return axo__likely(!cell->elsewhere) ? axo__cell_shelf(cell)->table->home
                                         : axo__cell_extra(cell)->sched;
}

/* Whether that is this one. */
static inline bool axo__cell_is_in(const axo__core *core, const axo__cell *cell,
                                   const axo__sched *sched)
{
    const axo__sched *its = core->sched;
    if (axo__unlikely(cell->elsewhere)) {
        const axo__extra *extra = axo__cell_extra(cell);
        AXO_DEBUG_ASSERT(extra != NULL && extra->sched != NULL);
        its = extra->sched;
    }
    return its == sched;
}

/* The worker this thread is; NULL outside. */
extern _Thread_local axo__worker *axo__self;

/* The worker that this thread is when axo_block comes back; NULL: it is in none. */
extern _Thread_local axo__worker *axo__away;

/* For checks: this thread is the worker, in the cell's turn or with the cell as its borrowed
 * parent. */
static inline bool axo__worker_is_in(const axo__worker *worker, const axo__cell *cell)
{
    const axo__cell *mine = worker->current;
    return worker == axo__self && mine != NULL && axo__state_is_running(&cell->state) &&
           (cell == mine || mine->parent == axo__cell_link(cell));
}

/* The worker whose local it is; NULL: a door's. */
static inline axo__worker *axo__local_worker(axo__local *local)
{
    _Static_assert(offsetof(axo__worker, local) == 0, "a worker begins with its local");
    return local->index != AXO__NO_WORKER ? (axo__worker *)(void *)local : NULL;
}

/* Reads the operating system's clock, and says so: `since` is what others are told about a running
 * handler. */
static inline void axo__worker_read_clock(axo__worker *worker)
{
    worker->now = axo__os_now();
    axo__a64_store_relaxed(&worker->since, (uint64_t)worker->now);
}

/* The time, for timers: as of the last reading, or what the program's clock says. */
static inline int64_t axo__worker_time(const axo__worker *worker)
{
    const axo__core *core = worker->local.core;
    return axo__likely(core->clock == NULL) ? worker->now : axo__core_clock(core);
}

/* Fills a zeroed record. */
void axo__worker_init(axo__worker *worker, axo__sched *sched, uint32_t index);

/* Whether a worker of its pool says that it is in the cell; with which message (0: none), since
 * when about. The turn may end between two of these loads: it is a report of about now. The caller
 * has found the cell, in a step of a worker or under a door: its pool is there as long. */
bool axo__sched_running(const axo__cell *cell, uint64_t *tag, int64_t *since);

#endif
