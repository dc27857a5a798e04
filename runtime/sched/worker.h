/* worker.h - a worker: its thread, its queues, what it runs; and the pool they form.
 *
 * A worker looks for a ready cell in this order: its urgent lane, the urgent injector, its newborns
 * (the youngest first), its next slot (both a bounded number of times in a row), its run queue, the
 * injector, its spent cells, other workers. When there is nothing it parks. A cell is spent when
 * its turn has taken all the time that a turn may and has left messages: it goes behind all others,
 * who give way to it now and then.
 *
 * The next slot is private speed: the cell just made ready runs next, on warm caches, and thieves
 * leave it alone until its owner has been in one turn for a while. It is used only while some
 * worker watches (or none is idle), so an actor never waits behind a stuck handler unseen.
 *
 * Parking protocol. Numbers stand in the code.
 *   sleeper  (1) take a ticket  (2) state = PARKED, parked += 1  (3) look everywhere once more
 *            (4) wait with the ticket
 *   waker    (5) push the work  (6) a seq_cst read-modify-write  (7) parked > 0?  (8) PARKED ->
 *            AWAKE and wake
 *   (2) and (6) are seq_cst, so the sleeper's (3) sees the work of (5), or the waker's (7) sees
 *   the sleeper of (2); if both miss, one of the two came before the other in that order and read
 *   the older value: a contradiction.
 *
 * What a worker pushes outside of a turn (timers that fire, the cell whose turn has just ended) is
 * `quiet`: the worker goes on to find itself a cell, and does (6) to (8) for all of it at once
 * before that cell's turn begins, if something is left then. Until there it is awake and in no
 * handler; a sleeper whose (3) misses the push comes in that order before (6), and is seen by (7).
 *
 * Orders
 *   [W1] seq_cst, state, parked, expired_any   (2) against (6)-(7). The run queues are CK's, and
 *                                    looked at plainly: that (2) and (6) order this too is what a
 *                                    locked instruction of x86-64 does, C11 does not ask for it
 *   [W2] store release, next         the slot's cell; pairs with [W3]
 *   [W3] load acquire, next          a thief's look; the claim decides
 *   [W4] cas acq_rel, state          who takes a parked worker out
 *   [W5] store release / load acquire, quit
 *   [W6] seq_cst, spare_mode, rescuing   the spare says that it sleeps, then looks once more; a
 *                                    worker that gets up, or a pusher that finds nobody parked,
 *                                    looks at the mode after what it did: one sees the other
 *   [W9] store release / load acquire, grown   publishes an elastic worker's record, before it has
 *                                    its first thread; it goes with the pool
 */
#ifndef AXO__SCHED_WORKER_H
#define AXO__SCHED_WORKER_H

#include <stdarg.h>

#include "base/config.h"
#include "base/random.h"
#include "base/unwind.h"
#include "cell/more.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "sched/timer.h"

AXO_STATIC_ASSERT((AXO__NEWBORNS & (AXO__NEWBORNS - 1)) == 0, "indices wrap round");
AXO_STATIC_ASSERT((AXO__RUNQ_SIZE & (AXO__RUNQ_SIZE - 1)) == 0, "a ring's size");
AXO_STATIC_ASSERT((AXO__URGENT_SIZE & (AXO__URGENT_SIZE - 1)) == 0, "a ring's size");

typedef struct axo__spare_mark axo__spare_mark;

/* What the layer above does for a runner. */
typedef struct axo__super_ops {
    /* Takes the system lane and the directives, or a portion: then ASIDE_REST says that there is
     * more. */
    void (*system)(axo__worker *worker, axo__cell *cell);
    /* The running callback failed: worker->pending says why. */
    void (*fail)(axo__worker *worker, axo__cell *cell);
    /* A notice has come up: false, it is void and gone. */
    bool (*notice)(axo__worker *worker, axo__cell *cell, axo__message *message);
    /* A notice that was given to the handler is stashed: an unwatch reaches it again. */
    void (*notice_keep)(axo__cell *cell, axo__message *message);
    /* A notice was handled: its record goes. */
    void (*notice_free)(axo__core *core, axo__local *local, axo__message *message);
    /* Answers what has reached a closed cell since its last look; any local. */
    void (*drain)(axo__core *core, axo__local *local, axo__cell *cell);
    /* A cell whose grace period is over: leftovers, then the slot. */
    void (*expire)(axo__core *core, axo__local *local, axo__cell *cell);
} axo__super_ops;

enum {
    AXO__WORKER_AWAKE = 0,
    AXO__WORKER_PARKED = 1,
    AXO__WORKER_ABSENT = 2 /* has no thread now */
};

/* What one kind of pools does in its own way: a constant in the kind's own file, which is fixed.c,
 * elastic.c, pinned.c or host.c. No function of it is called within a turn, or on the way from one
 * turn to the next. */
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
    axo__core *core;
    axo__sched *sched;
    axo__sched *own;        /* the pool whose private queues it may push to; NULL: none */

    /* ---- runner ---- */
    axo__cell *current;     /* whose callbacks may use their context; NULL between turns */
    axo__message *message;  /* in receive */
    axo__unwind *unwind;    /* where a throw lands */
    uint32_t site;          /* axo_site of the running callback, or AXO__SITE_*; NONE outside */
    uint32_t left;          /* messages left in this turn */
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
    int64_t slow_clock;     /* reading when a spent cell had its turn last, or none waited */
    uint32_t spent_turn;    /* the turn that has used up its time by itself */
    bool quiet;             /* it has pushed between two turns, and told nobody yet */
    bool slow_due;          /* a spent cell has waited for long: it goes before the ready ones */
    axo_ref sender;         /* axo_sender in a decider */
    axo__cause pending;     /* what axo_fail recorded; kind NONE: nothing */
    uint64_t asked_at;      /* the callback under which the last one failed */
    axo__random random;
    axo__timers *timers;    /* NULL: its pool has no wheels */
    axo__seen *seen;        /* of each worker, when this one last parked; NULL: it steals nothing */
    int64_t seen_at;
    uint32_t seen_turns;    /* a spare's: of all workers, when it last looked */
    int64_t watch_ns;       /* how long the next watch is */
    bool watching;          /* this one is the watcher */
    bool watched;           /* it was, and has not found work since */
    bool ending;            /* calls what waits for the system's end */
    bool woken;             /* it was taken out of PARKED, and has not found work since */
    bool searched;          /* it was a searcher, and has neither found work nor parked since */
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
    axo__runq slow;         /* spent cells */
};

/* What a worker's queues lie in. Those of a pool whose work is shared have none: their queues are
 * always full, so that all they push goes to their pool's injectors. */
typedef struct axo__worker_slots {
    struct ck_ring_buffer urgent[AXO__URGENT_SIZE];
    struct ck_ring_buffer ready[AXO__RUNQ_SIZE];
    struct ck_ring_buffer slow[AXO__RUNQ_SIZE];
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
    uint32_t behind_max;           /* how often it may be doubled */
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
    axo__inject slow;              /* spent cells that no worker's own queue has room for */
};

/* The running callback. `left` goes down with each message, so no two of a turn are alike but a
 * message and the hooks that run before the next one. Those of a restart within the turn in which
 * the actor failed are told apart from the message it failed under. */
static inline uint64_t axo__worker_count(const axo__worker *worker)
{
    uint64_t turn = axo__a32_load_relaxed(&worker->turn);
    return turn << 33 | (uint64_t)worker->left << 1;
}

static inline axo__moment axo__worker_moment(const axo__worker *worker)
{
    uint64_t when = axo__worker_count(worker);
    return (axo__moment){.who = worker, .when = when | (when == worker->asked_at ? 1 : 0)};
}

/* What a spare last saw of a worker. */
struct axo__spare_mark {
    uint64_t handled;
    uint32_t turn;
    int64_t since;    /* no progress since then; 0: it was not in a turn */
    int64_t reported; /* when it was last said to be stuck; 0: not in this handler */
};

/* The worker of a number, spare ones included; NULL: elastic, and neither this one nor any after it
 * has had a thread. Whoever has heard of a thread finds its record. */
static inline axo__worker *axo__sched_worker(const axo__sched *sched, uint32_t index)
{
    AXO_DEBUG_ASSERT(index < sched->worker_count + sched->spare_count);
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
                                         : axo__cell_more(cell)->sched;
}

/* Whether that is this one. */
static inline bool axo__cell_is_in(const axo__core *core, const axo__cell *cell,
                                   const axo__sched *sched)
{
    const axo__sched *its = core->sched;
    if (axo__unlikely(cell->elsewhere)) {
        const axo__more *more = axo__cell_more(cell);
        AXO_DEBUG_ASSERT(more != NULL && more->sched != NULL);
        its = more->sched;
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

/* ---- worker.c ---- */

/* One bounded thing: a turn, a look around, or the decision to park. */
axo__step axo__worker_step(void *worker);
extern const axo__os_body axo__worker_body;

/* For kinds with a body of their own: parts of that one. */
void axo__worker_begin(void *worker);
void axo__worker_sleep(void *worker);
void axo__worker_wake(void *worker);
void axo__worker_end(void *worker);

/* For kinds: the worker's thread sleeps at its parker, until it has timers; it does not end. */
void axo__worker_wake_parker(axo__worker *worker);
int64_t axo__worker_deadline(const axo__worker *worker);
bool axo__worker_ends_never(axo__worker *worker);

/* The same for a spare worker: looks after the others, runs what they leave while all of them are
 * stuck. The last one takes urgent cells only, so that a failure is seen to in any case. */
axo__step axo__spare_step(void *worker);
extern const axo__os_body axo__spare_body;

void axo__worker_init(axo__worker *worker, axo__sched *sched, uint32_t index);

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
    const axo__core *core = worker->core;
    return axo__likely(core->clock == NULL) ? worker->now : axo__core_clock(core);
}

/* Whether a worker of its pool says that it is in the cell; with which message (0: none), since
 * when about. The turn may end between two of these loads: it is a report of about now. The caller
 * has found the cell, in a step of a worker or under a door: its pool is there as long. */
bool axo__sched_running(const axo__cell *cell, uint64_t *tag, int64_t *since);

/* Somebody outside waits for a worker: the turn ends soon, and the injector is looked at next. */
static inline void axo__worker_outside(axo__worker *worker)
{
    uint64_t handled = axo__a64_load_relaxed(&worker->local.count.handled);
    if (handled < worker->inject_from)
        return;
    worker->left = 0;
    worker->inject_from = handled + AXO__INJECT_MESSAGES;
    worker->inject_turn = axo__a32_load_relaxed(&worker->turn) - AXO__INJECT_TURNS;
}

/* Reads the clocks: the turn's share, timers; true: it has fired some. */
bool axo__worker_clock(axo__worker *worker);
/* A claimed cell from the worker's own queues and the injectors; NULL: none. */
axo__cell *axo__worker_find(axo__worker *worker);

/* The same after a turn, for the next one of this step; NULL: also if the step has to end. */
axo__cell *axo__worker_find_next(axo__worker *worker);
axo__cell *axo__worker_find_urgent(axo__worker *worker);

/* Nothing is found: housekeeping, timers, stealing, the decision to park. */
axo__step axo__worker_idle(axo__worker *worker);

/* ---- sched.c ---- */

/* Fills a zeroed pool: its kind, its core and its settings are set. AXO_OK, AXO_ENOMEM,
 * AXO_ETHREAD; on failure nothing is left. */
axo_status axo__sched_init(axo__sched *sched, uint32_t workers);
void axo__sched_fini(axo__sched *sched);

/* Starts the threads that the kind has from the start. AXO_OK, AXO_ETHREAD: none runs. */
axo_status axo__sched_start(axo__sched *sched);

/* Tells all threads to end. */
void axo__sched_quit(axo__sched *sched);

/* Waits for them. */
void axo__sched_join(axo__sched *sched);

/* Whether all have ended by themselves: then they are joined. */
bool axo__sched_try_join(axo__sched *sched);

/* For kinds: zeroed memory of the pool, NULL: none, or none was asked for. */
void *axo__sched_array(axo__sched *sched, size_t size, uint32_t count);
void axo__sched_free_array(axo__sched *sched, void *array, size_t size, uint32_t count);

/* For kinds: make and unmake of a pool whose workers lie in one array, the spare ones behind the
 * others, each with queues of its own. */
axo_status axo__sched_make_workers(axo__sched *sched);
void axo__sched_unmake_workers(axo__sched *sched);

/* For kinds: no actor is counted. */
axo_status axo__sched_enter_any(axo__sched *sched);
void axo__sched_leave_any(axo__sched *sched);

/* ---- spare.c ---- */

/* Nobody is parked and there is work: the spare, if there is one, looks closely from now on. */
void axo__spare_alarm(axo__sched *sched);

/* A worker has got up: the spare, if there is one, sees to it that it is looked after. */
void axo__spare_notice(axo__sched *sched);

/* ---- park.c ---- */

/* An entry for a cell that an announce said to push. */
void axo__worker_push_ready(axo__worker *worker, axo__cell *cell);
void axo__worker_push_back(axo__worker *worker, axo__cell *cell);

/* The same for a spent one: its turn took all the time that a turn may. */
void axo__worker_push_slow(axo__worker *worker, axo__cell *cell);
void axo__worker_push_urgent(axo__worker *worker, axo__cell *cell);
void axo__sched_push_ready_any(axo__sched *sched, axo__cell *cell);
void axo__sched_push_urgent_any(axo__sched *sched, axo__cell *cell);

/* Newborns stay behind while this worker begins a turn: others are told of many. */
void axo__worker_offer_newborns(axo__worker *worker);
/* What it has pushed between two turns and does not take itself: another may. */
void axo__worker_offer_quiet(axo__worker *worker);

/* Urgent cells stay behind while this worker begins a turn: another may take them. */
void axo__worker_offer_urgent(axo__worker *worker);

/* Announce and push to the cell's own pool, from a worker or (worker NULL) from outside. */
void axo__sched_announce_user(axo__worker *worker, axo__cell *cell);

/* Queues a message that no bound refuses, announces it and pushes: the same way. */
void axo__sched_accept(axo__worker *worker, axo__cell *cell, axo__message *message);

void axo__sched_announce_system(axo__worker *worker, axo__cell *cell);

/* Asks a cell to stop, from a worker or (worker NULL) from outside. */
void axo__sched_stop(axo__worker *worker, axo__cell *cell);

/* A claimed cell goes back to its own pool unrun, whatever it has work for. */
void axo__sched_unclaim(axo__cell *cell);

/* The running cell goes back with an entry for the rest of its system work. */
void axo__sched_go_on(axo__worker *worker, axo__cell *cell);

/* A borrowed cell goes back to its own pool, with an entry if it has work: from the worker that has
 * borrowed it in its turn, or (NULL) from outside. */
void axo__sched_hand_back(axo__worker *worker, axo__cell *cell);

/* The same, of one that the worker has suspended. */
void axo__sched_hand_back_held(axo__worker *worker, axo__cell *cell);

/* The cell, if this worker may run it now; NULL: the entry that led to it was stale. The pool is
 * looked at after the claim: an entry of the slot's former life may name another pool's cell. */
static inline axo__cell *axo__worker_claim(axo__worker *worker, axo__cell *cell)
{
    axo__mpsc_node *lane = NULL;
    axo__claim claim = axo__state_claim(&cell->state, &lane);
    if (claim == AXO__CLAIM_STALE)
        return NULL;
    if (axo__unlikely(claim == AXO__CLAIM_URGENT))
        cell->aside |= AXO__ASIDE_SYSTEM;
    if (lane != NULL)
        axo__inbox_put(&cell->inbox, lane);
    if (axo__likely(axo__cell_is_in(worker->core, cell, worker->sched)))
        return cell;
    axo__sched_unclaim(cell);
    return NULL;
}

/* An entry in the cell's own pool, from a worker or (worker NULL) from outside. */
void axo__sched_push_ready(axo__worker *worker, axo__cell *cell);

/* An entry for a cell that the running actor has spawned. */
void axo__sched_push_newborn(axo__worker *worker, axo__cell *cell);

/* Wakes one parked worker, if there is one; if there is none, sees to it that work does not wait
 * for ever behind blocked handlers. */
void axo__sched_wake_one(axo__sched *sched);

/* Wakes all that are parked. */
void axo__sched_wake_all(axo__sched *sched);

/* Wakes this very one if it is parked: a timer of its has come nearer. Steps (6) and (7) of
 * sched/timer.h. false: it was not. */
bool axo__sched_wake_worker(axo__worker *worker);

/* A claimed cell from another worker; NULL: none that may be taken. */
axo__cell *axo__worker_steal(axo__worker *worker);

/* Parks, or says AGAIN: there is work after all. */
axo__step axo__worker_park(axo__worker *worker);

/* Takes a cell that another worker has left, of any age; NULL: none. */
axo__cell *axo__worker_rescue(axo__worker *worker, axo__worker *victim, bool urgent_only);

/* Takes the worker out of PARKED if nobody has. */
void axo__worker_unpark_owner(axo__worker *worker);

/* ---- newborn.c: cells that have not run yet, of one worker ---- */

/* false: there are some, unless thieves have taken them. */
static inline bool axo__newborn_is_empty_owner(const axo__worker *worker)
{
    return axo__a32_load_relaxed(&worker->newborn_floor) ==
           axo__a32_load_relaxed(&worker->newborn_top);
}

/* false: there is no room. */
bool axo__newborn_push_owner(axo__worker *worker, axo__cell *cell);

/* A claimed cell; NULL: there is none. */
axo__cell *axo__newborn_youngest_owner(axo__worker *worker);
axo__cell *axo__newborn_oldest_owner(axo__worker *worker);

/* How many a thief would find, about. */
uint32_t axo__newborn_count_any(const axo__worker *worker);

/* The oldest entry, to be claimed; NULL: there is none. `all`: also what a count may have missed,
 * for when the worker does not move. */
axo__cell *axo__newborn_take_any(axo__worker *victim, bool all);

/* ---- run.c ---- */

/* Runs a claimed cell for one turn, of at most so many messages, and then others that are found,
 * until so many turns were run. One unwind point serves them all. */
void axo__run_cells(axo__worker *worker, axo__cell *cell, uint32_t messages, uint32_t turns);

/* Calls a hook under an unwind point of its own. On another status than AXO_OK,
 * worker->pending says why. */
axo_status axo__run_own_hook(axo__worker *worker, axo__cell *cell, uint32_t site,
                             const axo_failure *failure, const axo__message *message);

/* `there`: the class has it. */
static inline axo_status axo__run_hook(axo__worker *worker, axo__cell *cell, uint32_t site,
                                       bool there)
{
    return there ? axo__run_own_hook(worker, cell, site, NULL, NULL) : AXO_OK;
}

/* Calls a hook within the callback that is running, for what a default hook does: no unwind point,
 * what the hook throws is the running callback's. */
axo_status axo__run_within(axo__cell *cell, uint32_t site, bool there);

/* Calls the decider of the parent's strategy in its name; false: it failed, see worker->pending. */
bool axo__run_decider(axo__worker *worker, axo__cell *parent, const axo__cell *child,
                      const axo_failure *failure, axo_directive *directive);

/* Records a failure of the running callback. */
void axo__run_record(axo__worker *worker, axo_failure_kind kind, int32_t code, const char *format,
                     va_list list) __attribute__((format(printf, 4, 0)));

/* Frees a handled or undeliverable message, whatever it is; one that is stashed stays. */
void axo__run_free(axo__worker *worker, axo__message *message);

/* ---- send.c ---- */

/* The running actor has sent to one that a turn ago was more than a turn behind: its own turn ends
 * with this message. */
static inline void axo__worker_yield(axo__worker *worker)
{
    worker->yields = true;
    worker->until_clock = 1;
}

/* Sends a message. AXO_OK, or AXO_EGONE (dead-lettered): it is accepted, counted and consumed.
 * AXO_EFULL, AXO_ENOMEM: nothing has changed, and the message is the caller's.
 * worker NULL: from outside, under the door's mutex; then dead letters come back in *dead, linked
 * by their nodes, for the caller to see to without the mutex: if the status is AXO_EGONE the
 * message, else what has found no room. */
axo_status axo__send_keep(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                          axo__message *message, axo__message **dead);

/* As axo__send_keep, and the envelope is consumed in any case; not so an owned payload. */
axo_status axo__send(axo__sched *sched, axo__worker *worker, axo__local *local, axo_ref to,
                     axo__message *message, axo__message **dead);

/* The same from a worker; most go into a lane. */
static inline axo_status axo__send_from(axo__worker *worker, axo_ref to, axo__message *message)
{
    AXO_DEBUG_ASSERT(worker == axo__self);
    axo__cell *cell = axo__table_find(&worker->core->table, to);
    if (axo__unlikely(cell == NULL || cell->boxed))
        return axo__send(worker->sched, worker, &worker->local, to, message, NULL);
    axo__a64_bump_owner(&worker->local.count.sent);
    uint64_t before = axo__state_push(&cell->state, &message->node);
    if (axo__state_woken(before) == AXO__ANNOUNCE_PUSH)
        axo__sched_push_ready(worker, cell);
    else if (axo__unlikely((before & AXO__READY) != 0))
        axo__worker_yield(worker);
    return AXO_OK;
}

/* Sends a message that no running actor sends: a timer's. It is accepted, counted and consumed;
 * what finds no room is a dead letter. */
void axo__send_due(axo__worker *worker, axo_ref to, axo__message *message);

/* ---- parked.c: senders that wait for room ---- */

typedef struct axo__parked {
    axo__waiter waiter;       /* first */
    axo__stack_node room;     /* brings the record back */
    axo__timer timer;         /* its limit */
    axo__a32 users;           /* who may touch it: the line's end, and the timer that is armed */
    axo_ref sender;
    axo_ref receiver;
    struct axo__parked *next; /* of the same sender; its runner's */
    bool stops;               /* its sender takes no messages meanwhile; its runner's */
} axo__parked;

/* The running cell's latest record for a receiver; NULL: none. */
axo__parked *axo__parked_find(const axo__cell *sender, axo_ref receiver);

/* A record that is not in use yet; NULL: no memory. */
axo__parked *axo__parked_make(axo__worker *worker, axo_ref receiver);
void axo__parked_free(axo__core *core, axo__local *local, axo__parked *parked);

/* A message of the running cell is held in `parked`, which is in its list, or new. */
void axo__parked_held(axo__worker *worker, axo__parked *parked);

/* It is new, and waits no longer than that. */
void axo__parked_limit(axo__worker *worker, axo__parked *parked, int64_t park_ns);

/* The callback in which the cell was parked is over: no more is held. */
void axo__parked_seal(axo__cell *cell);

/* Records whose messages have all found room go home. On a worker. */
void axo__parked_return(axo__core *core, axo__local *local, axo__waiter *done);

/* One has come home. */
void axo__parked_home(axo__worker *worker, axo__cell *cell, axo__stack_node *room);

/* It has come home to one that is gone. */
void axo__parked_closed(axo__core *core, axo__local *local, axo__stack_node *room);

/* The cell stops: it is not parked any more (SC-13); what is held stays held. */
void axo__parked_undo(axo__worker *worker, axo__cell *cell);

/* The cell ends, and can still be found: what is held of it is let in. */
void axo__parked_end(axo__worker *worker, axo__cell *cell);

/* ---- doors ---- */
axo__door *axo__door_enter(axo__sched *sched);
void axo__door_leave(axo__door *door);

#endif
