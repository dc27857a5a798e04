/* pool.h - a worker, and the pool that workers form: the two records, and what a look at them says.
 *
 * A pool (axo__sched) is a number of workers and three injectors. A worker is the record of a
 * thread that runs cells: its fields above the line "read by others" belong to that thread alone;
 * those below are read, and in part taken from, by thieves, spares and wakers. Cells are never
 * owned by a queue: an entry is a hint, and the cell's word says which worker is inside
 * (cell/state.h).
 *
 * The other files of this layer stand on this one, each on those before it:
 *
 *   wake      which worker is woken; the parking protocol. idle, below all: roles of idle workers
 *   claim     entries in injectors; the claim of a cell that an entry names
 *   newborn   a worker's array of cells that have not run yet
 *   ready     where ready cells are put, and the table of all the places
 *   timer     a wheel behind its mutex; wheel: without it
 *   parked    senders that wait for room      send     a message's way to its mailbox; doors
 *   scheduled   messages that wait for a time   keyed_timer  an actor's timers
 *   follow    producers that follow their consumer
 *   steal     cells of other workers          find     a worker's look for a cell; the clock
 *   blame     why a callback has failed       hook      calls of hooks
 *   span      the trace context of a handler
 *   figures   counts and times by class       longest  who has the most messages
 *   rest      how long a worker has slept     land     where a throw, or a crash, comes out
 *   contain, walk, trap_land, trap   crashes of callbacks, and whether they may be failures
 *   twin                  another copy of the library's handlers of them
 *   endless   callbacks that do not end
 *   run       one turn of one cell; plain turns
 *   io        watched descriptors             poller   which worker waits for them
 *   crew      a call's job that workers share
 *   park      a worker goes to sleep          worker   a worker's step
 *   spare     workers for when all others are stuck
 *   sched     a pool is made, started, ended
 *   kinds     the kinds of pools, a file each
 *   quiesce   whether nothing was running or queued
 *
 * Orders
 *   [W2] store release, next         the slot's cell; pairs with [W3]
 *   [W3] load acquire, next          a thief's look; the claim decides
 *   [W5] or acq_rel / load acquire, quit   the worker that reads END sees what was written before
 *                                    axo__sched_quit
 *   [W9] store release / load acquire, grown   publishes an elastic worker's record, before it has
 *                                    its first thread; it goes with the pool
 *   [Z1] [Z2] idled, state, visited, host_busy   as in sched/quiesce.h
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
#include "sched/bell.h"
#include "sched/idle.h"

AXO_STATIC_ASSERT((AXO__NEWBORNS & (AXO__NEWBORNS - 1)) == 0, "indices wrap round");
AXO_STATIC_ASSERT((AXO__RUNQ_SIZE & (AXO__RUNQ_SIZE - 1)) == 0, "a ring's size");
AXO_STATIC_ASSERT((AXO__URGENT_SIZE & (AXO__URGENT_SIZE - 1)) == 0, "a ring's size");

typedef struct axo__sched axo__sched;
typedef struct axo__worker axo__worker;
typedef struct axo__timers axo__timers;
typedef struct axo__trap axo__trap;
typedef struct axo__spare_mark axo__spare_mark;
typedef struct axo__crew_job axo__crew_job;

/* What a handler that has a trace context does: span.h. */
typedef struct axo__span {
    const axo_trace_context *now; /* `own` while a handler runs that has one; else NULL */
    axo_trace_context own;    /* what its messages carry */
    axo_trace_context parent; /* what it was given */
    bool has_parent;          /* false: the trace begins here */
    bool has_ids;             /* the next has its seed */
    axo__random ids;
} axo__span;

/* What super/ does for a runner: sched/ knows no children, watches or strategies, so the turn calls
 * up through these pointers, which system/ sets once. */
typedef struct axo__super_ops {
    /* Takes the system lane and the directives, or a portion of them: then ATTENTION_REST says that
     * there is more. */
    void (*system)(axo__worker *worker, axo__cell *cell);
    /* What `system` would do, in short paths (super/leaf.h): a newborn's first turn has begun; the
     * actor has asked itself to stop in a turn of plain messages. What is left is `system`'s, and
     * the cell's `attention` says so. If worker->current is NULL behind it, the actor has ended,
     * the cell is released, and the turn is over. */
    void (*begin)(axo__worker *worker, axo__cell *cell);
    void (*end)(axo__worker *worker, axo__cell *cell);
    /* A callback that has no unwind point of its own has thrown (hook.h). */
    void (*thrown)(axo__worker *worker, axo__cell *cell);
    /* The running callback failed: worker->pending says why. */
    void (*fail)(axo__worker *worker, axo__cell *cell);
    /* The next message is a notice; false: it is void, and its record has been given back. */
    bool (*notice)(axo__worker *worker, axo__cell *cell, axo__message *message);
    /* A notice that was given to the handler is stashed: an unwatch reaches it again. */
    void (*notice_keep)(axo__cell *cell, axo__message *message);
    /* A notice was handled: gives its record back. */
    void (*notice_free)(axo__local *local, axo__message *message);
    /* Answers the nodes that have reached a closed cell since its last look; any local. */
    void (*drain)(axo__local *local, axo__cell *cell);
    /* Finishes a cell whose grace period is over: its leftovers, then its slot. */
    void (*expire)(axo__local *local, axo__cell *cell);
} axo__super_ops;

/* The values of `state` of a worker. Any thread may take a worker out of PARKED ([W4] in wake.h);
 * only the worker itself parks; ABSENT is an elastic pool's, under its mutex, or a lent one's, for
 * any thread ([W4]). */
enum {
    AXO__WORKER_AWAKE = 0,
    AXO__WORKER_PARKED = 1,
    AXO__WORKER_ABSENT = 2 /* has no thread now; lent: a thread is asked for and has not come */
};

/* What one kind of pools does in its own way: a constant in the kind's own file (kinds.h). No
 * function of it is called within a turn, or on the way from one turn to the next. */
typedef struct axo__sched_kind {
    bool shared; /* all its work lies in its injectors: its workers have no queues of their own */
    bool manned; /* every worker has a thread from axo__sched_start to axo__sched_quit */
    bool single; /* the pool is one actor's, and ends with it */
    bool lent;   /* its workers are visited: one that is not AWAKE has no thread */
    uint32_t woken; /* what a waker makes of PARKED: AWAKE, or ABSENT if a thread has to come */
    const axo__os_body *body; /* of its workers, but the spare workers */

    /* Makes the workers of a pool whose common part is made. AXO_OK, AXO_ENOMEM, AXO_ETHREAD; what
     * a failure leaves is for unmake. */
    axo_status (*make)(axo__sched *sched);
    void (*unmake)(axo__sched *sched);

    /* An actor comes: AXO_OK, AXO_ENOMEM or AXO_ETHREAD. An actor goes. */
    axo_status (*enter)(axo__sched *sched);
    void (*leave)(axo__sched *sched);

    /* Work has been pushed, and no worker is parked. */
    void (*nobody_parked)(axo__sched *sched);

    /* The caller has taken the worker out of PARKED: ends its sleep. */
    void (*wake)(axo__worker *worker);

    /* The time until which a worker sleeps that parks now. */
    int64_t (*deadline)(const axo__worker *worker);

    /* A worker has found nothing to do. true: its thread ends. */
    bool (*ends)(axo__worker *worker);

    /* Whether the worker, or spare worker, is idle, by a read-modify-write: [Z2] in quiesce.h. */
    bool (*is_idle)(axo__worker *worker);
} axo__sched_kind;

/* The bits of `quit`, at which a worker looks that has found no cell. */
enum {
    AXO__QUIT_END = 1, /* the threads end; for good */
    AXO__QUIT_CREW = 2 /* the default pool's: a job has a portion that nobody has taken (crew.h) */
};

/* How closely the spare workers look at the others. A pool without spare workers is in WATCH for
 * ever, so that no caller of wake_spare ever finds a mode to lower. */
enum {
    AXO__SPARE_WATCH = 0, /* every AXO__SPARE_NS: no worker was parked when work was pushed */
    AXO__SPARE_DOZE = 1,  /* every AXO__SPARE_DOZE_NS, for handlers that hang */
    AXO__SPARE_DEEP = 2   /* not at all: every worker is parked */
};

/* What a worker has to look at between two turns, besides its pool's injectors: its own bits, set
 * with the cause and cleared by the look that finds the cause gone. A set bit without a cause costs
 * one look. */
enum {
    AXO__LOOK_URGENT = 1,  /* entries may be in its urgent lane, or `urgent_runs` is not 0 */
    AXO__LOOK_NEWBORN = 2, /* entries may be in its newborns, or `newborn_runs` is not 0 */
    AXO__LOOK_QUIET = 4,   /* pushes between two turns have not been offered to others yet */
    AXO__LOOK_OVERRUN = 8, /* an overrun cell has waited for long: it goes before ready cells */
    AXO__LOOK_FOLLOW = 64, /* a follower has */
    AXO__LOOK_LATE = AXO__LOOK_OVERRUN | AXO__LOOK_FOLLOW,
    AXO__LOOK_TRACED = 16, /* an observer, or figures, want to hear of messages */
    AXO__LOOK_FOREIGN = 32 /* the worker has no queues, or its pool is not the default one: its
                              next slot is not for the default pool's cells; for good */
};

/* What a worker noted of another worker when it parked: steal.c compares it after the sleep. */
typedef struct axo__seen {
    uint64_t turn;   /* when this worker last parked */
    uint64_t looked; /* when it last looked for something to steal */
} axo__seen;

/* What may be kept for the worker that has it: keep.h. */
typedef enum axo__keep {
    AXO__KEEP_NEWBORNS = 0,
    AXO__KEEP_URGENT = 1,
    AXO__KEEP_READY = 2,
    AXO__KEEPS = 3
} axo__keep;

/* What a thief has stolen together. */
typedef struct axo__haul {
    uint32_t count; /* 0: nothing that is to be judged */
    axo__keep what;
    int64_t at;     /* the thief's reading of then ... */
    uint64_t turn;  /* ... and its turn */
    const axo__worker *victim;
    uint64_t victim_turn;
} axo__haul;

/* Drafts of a callback that its worker has room for; land.h. */
#define AXO__OPEN_DRAFTS 8

/* What a callback has open. */
typedef struct axo__open {
    uint64_t when;      /* axo__worker_count of it; 0: none has */
    uint32_t site;      /* of it */
    uint32_t guards;    /* axo_guard_begin without its end */
    uint32_t count;
    axo__message *more; /* the others, linked by their nodes */
    axo__message *drafts[AXO__OPEN_DRAFTS];
} axo__open;

/* The first part is touched by the worker's own thread only, so it needs no order; other threads
 * read only `has_thread` and the counters of `local`. For the worker of a host pool the thread that
 * has entered is the worker's own ([W8] in host.c). The second part begins on a line of its own,
 * since other threads read it while the runner writes the first. */
struct axo__worker {
    axo__local local;
    axo__sched *sched;
    axo__sched *own;        /* `sched` if the worker has private queues; NULL: it has none */
    const axo__a32 *parked; /* of `sched`; of a FOREIGN worker a word that is never 0 */

    /* ---- runner ---- */
    axo__cell *current;     /* the cell whose callbacks may use their context; NULL between turns */
    axo__message *message;  /* the message in receive */
    axo__unwind *unwind;    /* where a throw lands */
    uint32_t site;          /* axo_site of the running callback, or AXO__SITE_*; NONE outside */
    uint32_t attention;     /* AXO__LOOK_ bits; 0: between two turns the next slot comes first */
    uint32_t messages_left; /* messages left in this turn */
    uint32_t until_clock;   /* messages until the clock is read */
    uint32_t plain_tags;    /* a send of a lower tag may be a plain one; 0: none may (span.h) */
    uint64_t plain_end;     /* run_plain looks up when this turn is over: one of the next two, or
                               the reclaimer is due */
    uint64_t step_end;      /* the last turn of this step */
    uint64_t next_end;      /* the last turn of cells from the next slot in a row; 0: none yet */
    uint64_t yield_turn;    /* the turn that ends with its next message */
    uint64_t restart_turn;  /* the last turn in which its actor was restarted ... */
    uint64_t ahead_turn;    /* ... and the last one in which a message went ahead for that */
    uint32_t clock_stride;  /* messages from one reading to the next, adapted in find.c */
    uint32_t clock_stride_max;
    uint32_t long_ago;      /* readings of the clock until a callback that took long is forgotten */
    int64_t until;          /* a reading with which turns end at once; AXO__NEVER: none does */
    uint32_t newborn_runs;  /* newborns run since another cell was */
    uint32_t newborn_turns; /* newborns run, ever */
    uint32_t urgent_runs;   /* urgent cells run since another cell was */
    uint32_t urgent_untold; /* entries pushed into `urgent` since it was last offered */
    int64_t urgent_clock;   /* reading when half of AXO__URGENT_RUNS_MAX were run */
    uint64_t between_turn;  /* the last turn of another cell between urgent ones ... */
    int64_t between_until;  /* ... and a reading with which it ends */
    uint64_t inject_turn;   /* the turn in which the injector was last looked at for fairness */
    uint64_t inject_from;   /* count of messages from which a turn is cut short for the injector */
    int64_t now;            /* last reading of the operating system's clock: effort, never time */
    int64_t turn_clock;     /* reading known at the start of turn `clock_turn` */
    uint64_t clock_turn;    /* the turn in which, or after which, the clock was last read */
    int64_t next_clock;     /* first reading while the next slot is used; AXO__NEVER: none yet */
    int64_t overrun_clock;  /* reading when an overrun cell had its turn last, or none waited */
    uint64_t late_turn;     /* the last turn that went before the injector: outside waits for it */
    uint64_t overrun_turn;  /* the turn that has used up its time by itself */
    int64_t follow_clock;   /* reading when a follower had its turn last, or none waited */
    uint64_t follow_turn;   /* the last turn that has sent to cells that are behind ... */
    uint32_t follow_sends;  /* ... how often ... */
    uint32_t follow_slow;   /* turns of producers beside their consumer that were slow, in a row */
    axo__cell *follow_cell; /* ... to which, with the AXO__FOLLOW_SENDS-th ... */
    bool follow_here;       /* ... and whether it waited on this worker then */
    bool late_first;        /* what waits for long went before the injector, the last time it did */
    axo_ref sender;         /* axo_sender in a decider */
    axo__cause pending;     /* what axo_fail recorded; kind NONE: nothing */
    uint64_t asked_at;      /* the callback in which a borrowed parent last decided */
    axo__random random;
    axo__timers *timers;    /* NULL: its pool has no wheels */
    axo__seen *seen;        /* of each worker, at the last parking; NULL: it steals nothing */
    int64_t seen_at;        /* the reading of then */
    axo__haul haul;         /* what it has stolen last */
    int64_t keep_ns[AXO__KEEPS]; /* for how long they are kept, if it was not worth it */
    int64_t line_ns;        /* how long a line of another worker's takes, and to read the clock */
    uint64_t seen_turns;    /* a spare's: turns of all workers, when it last looked ... */
    bool saw_turns;         /* ... and whether there have been any since the look before */
    int64_t watch_ns;       /* length of the next watch */
    axo__idle_role role;    /* while it has no work: idle.h */
    bool ending;            /* the worker calls the functions that wait for the system's end */
    int64_t idle_at;        /* elastic: since when the worker has had no work; 0: it has some */
    bool was_parked;        /* host: the last run ended for want of work */
    bool has_thread;        /* a thread is to be joined; elastic: guarded by the pool's mutex */
    uint32_t outer_aside;   /* axo__aside of the thread before it became this worker ... */
    bool outer_offline;     /* ... and whether it was another one, in axo_block */
    bool forked;            /* in a child that one of its callbacks has forked ... */
    axo__cell *forked_in;   /* ... of this actor; NULL: of none */
    axo__a64 *board;        /* its record (sched/board.h); NULL: it has none */
    struct axo__figures_seat *figures; /* by class (sched/figures.h); NULL: it has none */
    int64_t figures_began;  /* when the running receive began; 0: not known */
    axo__span span;
    axo__open open;
    axo__message *copying;  /* whose payload is being copied, by axo__copy_in; NULL: none is */
    axo__trap *trap;        /* sched/trap.h; NULL: the system contains no crashes */
    uint64_t noted;         /* axo__worker_count of the callback that its watchdog has seen */
    int64_t endless_at;     /* a spare's: when a watchdog wants it to look again */
    int64_t chores_at;      /* lent: a reading from which it looks after the other workers */

    /* ---- read by others ---- */
    _Alignas(AXO__CACHE_LINE) axo__aptr next; /* the next slot; thieves load it, none clears it */
    axo__a32 state;         /* AXO__WORKER_*; by the protocol of wake.h. A spare's: PARKED while it
                               rests */
    axo__a64 idled;         /* how often it has become idle; [Z1] in quiesce.h */
    axo__a32 fence;         /* (6) of the parking protocol */
    axo__aptr running;      /* the cell of the turn */
    axo__a64 running_tag;   /* tag + 1 while in receive, else 0 */
    axo__a64 since;         /* last reading of the operating system's clock ... */
    axo__a64 since_moves;   /* ... and axo__worker_moves of then */
    axo__a64 rest;          /* how long it has slept (rest.h) */
    axo__a64 rest_began;    /* when its first thread began; 0: none has */
    int64_t told_slept;     /* these two: guarded by the system's pools_mutex */
    int64_t told_awake;
    uint64_t health_moves;  /* these two, by its mutex: axo__worker_moves at the last look, ... */
    int64_t health_since;   /* ... and the first look that found as many */
    axo__os_thread thread;
    axo__a32 visited;       /* lent: LENT_*; [W10] in lent.c */
    axo__grace_reader reader; /* lent, or the host's beside lent ones */
    axo__runq urgent;
    axo__runq ready;
    axo__a32 newborn_floor; /* these four: newborn.c */
    axo__a32 newborn_top;
    axo__a32 newborn_taken;
    axo__aptr newborns[AXO__NEWBORNS];
    axo__runq overrun;      /* overrun cells */
    _Alignas(AXO__CACHE_LINE) axo__a64 follows; /* entries in `followers` */
    axo__inject followers;  /* producers of cells that this worker runs */
};

/* The memory of a worker's queues. Workers of a pool whose work is shared have none: their queues
 * are always full, so that everything they push goes to their pool's injectors. */
typedef struct axo__worker_slots {
    axo__spmc_slot urgent[AXO__URGENT_SIZE];
    axo__spmc_slot ready[AXO__RUNQ_SIZE];
    axo__spmc_slot overrun[AXO__RUNQ_SIZE];
} axo__worker_slots;

/* A door: outside threads pass one at a time, and the thread inside uses the door's local. */
typedef struct axo__door {
    _Alignas(AXO__CACHE_LINE) axo__os_gate gate;
    axo__local local;
} axo__door;

/* The first part is fixed when the threads start, but for the fields that name their guard. The
 * words that wakers and sleepers share, and the injectors, lie on lines of their own behind it. */
struct axo__sched {
    axo__core *core;
    const axo__super_ops *ops;
    void (*idle)(axo__core *core); /* called when a worker finds nothing to do */
    axo__sched *next;              /* of the system's pools */
    const axo__sched_kind *kind;
    uint32_t number;               /* of the pool, 16 bits; 0: the default one */
    axo__worker *workers;          /* the spare workers come last; NULL: elastic */
    axo__aptr *grown;              /* elastic: a record for each thread that there ever was, from
                                      the first on; NULL: another kind */
    axo__worker_slots *slots;      /* of each worker, spares left out; NULL: elastic */
    uint32_t worker_count;
    uint32_t spare_count;
    uint32_t quantum;              /* messages of a turn */
    uint32_t quantum_rest;         /* of those, behind the first one */
    uint32_t backlog_turns_max;    /* how often the quantum may be doubled for a cell */
    uint32_t turns;                /* in a step, at most */
    int64_t quantum_ns;            /* AXO__QUANTUM_NEVER: time ends no turn */
    axo__door *doors;              /* the default pool's only */
    uint32_t door_count;           /* a power of two */
    uint32_t timers_max;
    int64_t stuck_ns;              /* a handler that runs longer is reported; 0: never */
    int64_t idle_ns;               /* elastic: a thread ends that has had no work for this long */
    axo__crew_job *crew;           /* guarded by `mutex`; NULL: no job has a portion left */
    axo__os_mutex mutex;           /* guards starts of threads, and writes of the next two */
    axo__a32 actors;               /* elastic: actors that live; others may look */
    axo__a32 live;                 /* elastic: threads that run; others may look */
    axo__a32 starting;             /* elastic: 1 from a start, under the mutex, until that thread
                                      lowers it without; others may look */
    axo__spare_mark *marks;        /* spare_count rows, one entry for each worker; lent: one row,
                                      guarded by `looking` */
    axo__a32 spare_mode;           /* AXO__SPARE_*; [W6] in wake.h */
    axo__a32 rescuing;             /* 1: the first spare is in a cell */
    axo__bell bell;                /* host: rung when there is something to run */
    axo__a32 host_busy;            /* host: a thread is in it */
    axo__a32 host_idle;            /* host: calls that had nothing to do */
    axo__a32 looking;              /* lent: a visitor looks at the others */
    axo__a64 watch_at;             /* lent: when a visit is due, while `watcher` is 1 */
    axo__aptr io;                  /* the default pool's: watched descriptors; NULL: none ever */
    _Alignas(AXO__CACHE_LINE) axo__a64 overruns; /* entries in `overrun` */
    axo__a32 parked;        /* workers that are PARKED, about */
    axo__a32 searching;     /* workers that look into other workers' queues */
    axo__a32 watcher;       /* 1: an idle worker wakes now and then to look after busy ones */
    axo__a32 watch_due;     /* 1: the watch was handed on, and no worker has taken it up yet */
    axo__a32 quit;          /* AXO__QUIT_* */
    axo__a64 look_at;       /* a reading from which a worker looks at descriptors: poller.h */
    axo__a64 keep_until[AXO__KEEPS]; /* a reading until which they are kept: keep.h */
    /* The count that busy workers look at, on the line of the queue that it counts: the one line
     * of the pool that an entry from outside moves to a worker. */
    _Alignas(AXO__CACHE_LINE) axo__a64 outside; /* entries in `inject` and, above, in `urgent` */
    axo__inject inject;
    _Alignas(AXO__CACHE_LINE) axo__inject urgent;
    _Alignas(AXO__CACHE_LINE) axo__inject overrun; /* overrun cells that no worker's own queue has
                                                      room for */
};

/* The number of the worker's turn, from 1 on, or between two turns of the last one. Relaxed for
 * other threads, to whom an old value only delays a decision. */
static inline uint64_t axo__worker_turn(const axo__worker *worker)
{
    return axo__a64_load_relaxed(&worker->local.count.turns);
}

/* Turns begun and messages handled: while it stays, so does the message in hand. Any thread. */
static inline uint64_t axo__worker_moves(const axo__worker *worker)
{
    return axo__worker_turn(worker) + axo__a64_load_relaxed(&worker->local.count.handled);
}

/* The actor of this turn has been restarted. The first message behind a restart goes ahead, as the
 * restart did, if the turn is over by then: it would otherwise wait for every cell that is ready.
 * That is one message a turn, however often the actor is restarted in it, and none beyond the end
 * of a step. */
static inline void axo__worker_restarted(axo__worker *worker)
{
    worker->restart_turn = axo__worker_turn(worker);
}

/* Whether one more message may be handled in this turn, although it is over. */
static inline bool axo__worker_goes_ahead(const axo__worker *worker)
{
    uint64_t turn = axo__worker_turn(worker);
    return worker->restart_turn == turn && worker->ahead_turn != turn &&
           worker->now < worker->until;
}

/* One message of the turn is taken, or the one that goes ahead. */
static inline void axo__worker_takes(axo__worker *worker)
{
    if (axo__likely(worker->messages_left != 0))
        worker->messages_left--;
    else
        worker->ahead_turn = axo__worker_turn(worker);
}

/* A number of the running callback. `messages_left`, which is less than 2^31, goes down with each
 * message, so within a turn only a message and the hooks that run before the next message have the
 * same number; a message that goes ahead finds it 0, as the hooks before it did, and has a bit of
 * its own. The lowest bit is free for axo__worker_moment, which tells the hooks of a restart from
 * the message under which the actor failed. */
static inline uint64_t axo__worker_count(const axo__worker *worker)
{
    uint64_t turn = axo__worker_turn(worker);
    uint64_t ahead = worker->ahead_turn == turn ? UINT64_C(1) << 32 : 0;
    return turn << 33 | ahead | (uint64_t)worker->messages_left << 1;
}

/* The callback that this worker runs, as a name remembers it. If a borrowed parent has decided
 * under the same number (`asked_at`), the callbacks that follow have the odd number. */
static inline axo__moment axo__worker_moment(const axo__worker *worker)
{
    uint64_t when = axo__worker_count(worker);
    return (axo__moment){.who = worker, .when = when | (when == worker->asked_at ? 1 : 0)};
}

/* The number of workers, spare workers included. */
static inline uint32_t axo__sched_all(const axo__sched *sched)
{
    return sched->worker_count + sched->spare_count;
}

/* The worker of a number, spare workers included; NULL: the pool is elastic, and neither this
 * worker nor any after it has had a thread. The load acquires the record that elastic_add has
 * published; a caller that has heard of a thread, by its entry or its count, therefore finds its
 * record. */
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

/* Whether `sched` is the pool that runs the cell. */
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

/* The worker that this thread is; NULL: an outside thread. */
extern _Thread_local axo__worker *axo__self;

/* The worker of this system that this thread is; NULL: an outside thread, or one that is in an
 * actor of another system. */
static inline axo__worker *axo__self_in(const axo__core *core)
{
    axo__worker *self = axo__self;
    return self != NULL && self->local.core == core ? self : NULL;
}

/* The worker that this thread will be again when axo_block returns; NULL: it is not in
 * axo_block. */
extern _Thread_local axo__worker *axo__away;

/* For assertions: the calling thread is the worker, and is in the cell's turn or in the turn of a
 * child of the cell, with the cell borrowed. */
static inline bool axo__worker_is_in(const axo__worker *worker, const axo__cell *cell)
{
    const axo__cell *mine = worker->current;
    return worker == axo__self && mine != NULL && axo__state_is_running(&cell->state) &&
           (cell == mine || mine->parent == axo__cell_link(cell));
}

/* The worker to which a local belongs; NULL: a door's local, or the one for no door. */
static inline axo__worker *axo__local_worker(axo__local *local)
{
    _Static_assert(offsetof(axo__worker, local) == 0, "a worker begins with its local");
    return local->index != AXO__NO_WORKER ? (axo__worker *)(void *)local : NULL;
}

/* Takes over which events are told of, which any thread may change, and flushes its cache if a trim
 * has asked for that: when the worker begins, when it wakes, and with its housekeeping. */
void axo__worker_notice(axo__worker *worker);

/* Reads the operating system's clock, for the worker and, in `since`, for threads that ask how long
 * a handler has been running. */
static inline void axo__worker_read_clock(axo__worker *worker)
{
    worker->now = axo__os_now();
    axo__a64_store_relaxed(&worker->since, (uint64_t)worker->now);
    axo__a64_store_relaxed(&worker->since_moves, axo__worker_moves(worker));
}

/* The time, for timers: the last reading of the operating system's clock, or the program's clock
 * if it has one, which is asked anew each time. */
static inline int64_t axo__worker_time(const axo__worker *worker)
{
    const axo__core *core = worker->local.core;
    return axo__likely(core->clock == NULL) ? worker->now : axo__core_clock(core);
}

/* Fills a zeroed record. */
void axo__worker_init(axo__worker *worker, axo__sched *sched, uint32_t index);

/* The worker has laid down all that it had in hand, and becomes idle (quiesce.h): from here until
 * it says that it works again it takes nothing out of a queue, and runs nothing. */
static inline void axo__worker_idles(axo__worker *worker)
{
    axo__a64_store_release(&worker->idled, axo__a64_peek_owner(&worker->idled) + 1); /* [Z1] */
}

/* Whether outside threads wait for so few entries that a turn is worth cutting short. One look at
 * `outside` says of most turns that there are none. */
static inline bool axo__sched_has_few(const axo__sched *sched)
{
    return axo__unlikely(axo__a64_load_relaxed(&sched->outside) != 0) &&
           axo__inject_few_any(&sched->inject);
}

/* What a worker's `running_tag` says: 1 and the tag of the message that it is in; 0: in none. */
static inline uint32_t axo__running_tag(uint64_t told, uint32_t *tag)
{
    *tag = told != 0 ? (uint32_t)(told - 1) : 0;
    return told != 0;
}

/* Whether a worker of the cell's pool says that it is in the cell, with its `running_tag`
 * and since about when. The turn may end between two of these loads, so the answer is
 * only about now. The caller has found the cell in a step of a worker or under a door, and the pool
 * stays as long as that lasts. */
bool axo__sched_running(const axo__cell *cell, uint64_t *tag, int64_t *since);

/* Whether the worker is the only one awake in a pool that has a spare, and its callbacks have been
 * short: what it makes ready it comes to itself, sooner than another worker would get up. */
static inline bool axo__worker_is_alone(const axo__worker *worker)
{
    const axo__sched *sched = worker->sched;
    return worker->long_ago == 0 && sched->spare_count > 0 &&
           axo__a32_load_relaxed(&sched->parked) + 1 == sched->worker_count;
}

#endif
