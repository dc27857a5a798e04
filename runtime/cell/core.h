/* core.h - what all layers above share of one system: memory, tables, hooks; and a local, the part
 * of it that a worker or a door has for itself.
 *
 * A local is the answer to contention: free blocks, free cells, retired cells and counters are
 * each thread's own, and move to and from the shared structures in batches. */
#ifndef AXO__CELL_CORE_H
#define AXO__CELL_CORE_H

#include <inttypes.h>

#include <axo/event.h>
#include <axo/system.h>

#include "base/clock.h"
#include "cell/limit.h"
#include "cell/name.h"
#include "cell/paused.h"
#include "cell/replacing.h"
#include "cell/storm.h"
#include "cell/table.h"

#define AXO__NO_WORKER UINT32_MAX

/* The counters; each is a field of axo_stats too. Statistics sum them in this order, outcomes
 * before arrivals, so that sums taken while the system runs do not show more messages handled than
 * sent. */
#define AXO__COUNTER_LIST(X)                                                                       \
    X(handled)                                                                                     \
    X(dead)                                                                                        \
    X(dropped)                                                                                     \
    X(sent)                                                                                        \
    X(turns)                                                                                       \
    X(unhandled)                                                                                   \
    X(terminated)                                                                                  \
    X(spawned)                                                                                     \
    X(failures)                                                                                    \
    X(restarts)                                                                                    \
    X(notices)                                                                                     \
    X(steals)                                                                                      \
    X(parks)                                                                                       \
    X(wakes)                                                                                       \
    X(events)                                                                                      \
    X(events_lost)                                                                                 \
    X(restarts_merged)                                                                             \
    X(restarts_governed)                                                                           \
    X(timers_fired)                                                                                \
    X(polls)                                                                                       \
    X(poll_events)

typedef struct axo__counters {
#define CORE_COUNTER(name) axo__a64 name;
    AXO__COUNTER_LIST(CORE_COUNTER)
#undef CORE_COUNTER
    axo__a64 freed; /* slots given back */
} axo__counters;

typedef struct axo__core axo__core;
typedef struct axo__board axo__board;
typedef struct axo__figures axo__figures;
struct axo__local;

/* The own part of a worker (touched by its thread) or of a door (touched inside it). Every
 * thread may read the counters. Functions take a local to know where their caller stands. */
typedef struct axo__local {
    axo__core *core;          /* fixed */
    axo__counters count;      /* the first ones, which each message raises, share a line with it */
    axo__cache cache;         /* of the core's pool */
    axo__cell *free;          /* cells to spawn into, by `free_next` */
    axo__cell *freed;         /* cells to give back, by `free_next` */
    uint32_t freed_count;
    uint32_t batch;           /* fewer cells than this are kept in each list; 0, 1: none */
    axo__grace_item *retired; /* cells to hand over to the reclaimer */
    axo__grace_item *retired_last;
    uint32_t retired_count;
    uint32_t index;           /* the worker's, or AXO__NO_WORKER */
    uint64_t traces;          /* a worker's: axo__core_kinds when it last looked */
} axo__local;

struct axo__event;

struct axo__core {
    axo__heap heap;
    axo__pool pool;
    axo__table table;
    axo__limit limit;
    axo__names names;
    axo__texts texts;
    axo__grace grace;
    axo__os_common threads;
    axo__os_mutex expired_mutex;
    axo__grace_item *expired[AXO__GRACE_HOMES]; /* guarded by it: cells whose grace period is over,
                                                   by home */
    axo__grace_item *held;    /* guarded as `expired`: see axo__core_hold */
    axo__a32 expired_any;     /* a bit for each home that has some: a hint that saves the mutex */
    uint32_t homes;           /* of cells: the first so many workers of the default pool; fixed */
    axo_trace_fn trace;
    void *trace_user;
    /* A bit for each kind of event. A worker has a copy of both, which it renews now and then
     * (axo__worker_notice). */
    axo__a64 told_kinds; /* that the observer wants; any thread may change it. 0 without `trace` */
    uint64_t kept_kinds; /* that the board and the figures need; fixed after boot */
    const axo__board *board; /* the layer above; NULL: there is none */
    void (*board_tell)(const struct axo__local *local, const axo__cell *cell, uint32_t kind,
                       uint64_t arg);
    axo__figures *figures; /* the layer above; NULL: there are none */
    void (*figures_tell)(const struct axo__local *local, const axo__cell *cell, uint32_t kind);
    struct axo__contain *contain; /* the layer above; NULL: crashes end the process */
    /* The layer above (sched/span.h): the trace context of the handler that runs; NULL: none. The
     * pointer is NULL where no handler runs. */
    const axo_trace_context *(*span)(const struct axo__local *local);
    axo_dead_letter_fn on_dead_letter;
    void *dead_letter_user;
    struct axo__peers *peers; /* cell/peers.h; NULL: the system is alone */
    axo_unhandled_fn on_unhandled;
    void *unhandled_user;
    axo_log_fn log;
    void *log_user;
    axo_log_record_fn log_record;
    void *log_record_user;
    const char *name;         /* the system's; NULL before it is known */
    uint64_t seed;
    bool manual;              /* no threads: everything runs in axo_run_host */
    bool lent;                /* no threads: everything but the host's runs in axo_worker_run */
    axo_work_fn on_work;      /* lent: a visit is due */
    void *work_user;
    axo_clock_fn clock;       /* the program's; NULL: the operating system's */
    void *clock_user;
    /* Of the layers above: a handler hangs; the pool of an actor to come; an actor's end in it. */
    void (*stuck)(axo__local *local, axo__cell *cell, uint64_t tag, int64_t for_ns,
                  const char *why);
    axo_status (*dispatch)(struct axo__core *core, const axo_props *props,
                           struct axo__sched **out);
    void (*undispatch)(struct axo__core *core, struct axo__sched *sched);
    axo_system *system;
    struct axo__sched *sched; /* the layer above */
    axo__a64 wants[4];        /* a bit for each first byte of a kind that has a subscriber */
    axo__a32 closing;         /* 1: a guardian is stopping, for good */
    axo__a32 answers;         /* 1: an actor has been spawned whose strategy has senders told of
                                 failed requests; while 0, no failure looks (sched/answer.h) */
    axo__storm storm;         /* the governor of restarts */
    axo__aptr replacing;      /* an axo__replacing; NULL: no class is replaced */
    axo__paused paused;
    /* Of the layers above: the event stream and the book of dead letters; see cell/event.h. */
    void (*publish)(axo__local *local, const struct axo__event *event);
    void (*record)(axo__local *local, const axo_dead_record *record);
    /* Writes the line of a failure, or leaves it out; see cell/log.h. NULL: each is written. */
    void (*failed)(axo__local *local, axo_log_record *record, const axo_class *cls);
    const struct axo__root_ops *root; /* for the tree's top; see super/super.h */
    /* A function of the program has returned in a child process that it has forked: prints that,
     * and ends the process. */
    __attribute__((noreturn)) void (*forked)(void);
    const axo__os_home *home; /* the process of the system; NULL before it is known */
    axo__a32 watchdogs; /* 1: an actor has been spawned whose class has one: sched/endless.h */
    /* For an outside thread that is in no door: a local with a core and nothing else. No function
     * takes from it, gives to it or counts in it. */
    axo__local outside;
};

/* A function of the program has returned to the runtime, perhaps in the child of a fork: that
 * process has none of the system's threads and must not go on. */
static inline void axo__core_back(const axo__core *core)
{
    if (axo__unlikely(core->home != NULL && !axo__os_at_home(core->home)))
        core->forked();
}

/* Asks the program's clock, which axo__core_now has found. */
int64_t axo__core_clock(const axo__core *core);

/* The system's time in nanoseconds: the program's clock if there is one, else a monotonic one
 * (D40). */
static inline int64_t axo__core_now(const axo__core *core)
{
    return axo__likely(core->clock == NULL) ? axo__os_now() : axo__core_clock(core);
}

/* Whether the time of an actor stands still. In a turn, or in a door. */
static inline bool axo__core_stands(const axo__core *core, axo_ref actor)
{
    return axo__unlikely(axo__paused_any(&core->paused)) &&
           axo__paused_has(&core->paused, &core->table, actor);
}

/* A cell whose grace period is over, and whose node lies in the injector of the host, which comes
 * when it likes, or of a shared pool, whose threads may all block: it waits until who takes nodes
 * from there calls unhold, and has expired again then. hold, false: the node has gone. unhold,
 * true: something has waited. */
bool axo__core_hold(axo__core *core, axo__cell *cell);
bool axo__core_unhold(axo__core *core);

/* Asks the program for a visit, of a system of lent threads. */
void axo__core_ask(const axo__core *core);

/* Calls the program's observer of traces. */
void axo__core_tell(const axo__core *core, const axo_event *event);

void axo__local_trace(const axo__local *local, const axo__cell *cell, uint32_t kind, uint64_t arg);

/* The same; NULL for `trace`: the context of the handler that runs, if one does. */
void axo__local_trace_under(const axo__local *local, const axo__cell *cell, uint32_t kind,
                            uint64_t arg, const axo_trace_context *trace);

/* A bit for each kind that anybody wants. */
static inline uint64_t axo__core_kinds(const axo__core *core)
{
    return axo__a64_load_relaxed(&core->told_kinds) | core->kept_kinds;
}

/* Whether anybody wants events of the kind, as a worker knows. */
static inline bool axo__local_wants(const axo__local *local, uint32_t kind)
{
    AXO_DEBUG_ASSERT(local->index != AXO__NO_WORKER);
    return (local->traces & AXO_EVENT_BIT(kind)) != 0;
}

/* Of a worker; costs one predictable branch while no observer wants the kind. */
static inline void axo__trace(const axo__local *local, const axo__cell *cell, uint32_t kind,
                              uint64_t arg)
{
    if (axo__unlikely(axo__local_wants(local, kind)))
        axo__local_trace(local, cell, kind, arg);
}

/* Of a worker or in a door. */
static inline void axo__trace_anywhere(const axo__local *local, const axo__cell *cell,
                                       uint32_t kind, uint64_t arg)
{
    if (axo__unlikely((axo__core_kinds(local->core) & AXO_EVENT_BIT(kind)) != 0))
        axo__local_trace(local, cell, kind, arg);
}

/* Whether an observer keeps a path from being plain that tells of none of these kinds. In the
 * simulator plain paths tell of them too, as it sees everything by them, and half of the seeds have
 * such paths. */
static inline bool axo__local_traces(const axo__local *local, uint64_t kinds)
{
#ifdef AXO_SIM
    if (local->core->seed % 2 != 0)
        return false;
#endif
    AXO_DEBUG_ASSERT(local->index != AXO__NO_WORKER);
    return (local->traces & kinds) != 0;
}

#ifdef AXO_SIM
#define AXO__PLAIN_TRACE(...) axo__trace(__VA_ARGS__)
#else
#define AXO__PLAIN_TRACE(...) ((void)0)
#endif

/* Fills in zeroed memory. `index`: the worker's, or AXO__NO_WORKER. */
static inline void axo__local_init(axo__local *local, axo__core *core, uint32_t index,
                                   uint32_t batch)
{
    local->core = core;
    axo__cache_init(&local->cache, &core->pool);
    local->index = index;
    local->batch = batch;
}

/* Whose caches have the cells that the local has retired, as a number below `homes`. */
static inline uint32_t axo__local_home(const axo__local *local)
{
    return local->index % local->core->homes;
}

/* Whether nothing of the local may be touched but its core and its index. */
static inline bool axo__local_is_outside(const axo__local *local)
{
    return local == &local->core->outside;
}

/* Takes a free cell for a birth and counts the birth; NULL: *status says why. */
axo__cell *axo__local_take_cell(axo__local *local, axo_status *status);

/* The trace context of the handler that runs, if the local is a worker's; NULL: none. */
static inline const axo_trace_context *axo__local_span(const axo__local *local)
{
    return local->core->span != NULL ? local->core->span(local) : NULL;
}

/* Undoes axo__local_take_cell: no actor was born. */
void axo__local_untake_cell(axo__local *local, axo__cell *cell);

/* As axo__local_take_cell where the local has a cell and no birth is one too many; NULL: nothing
 * was taken, and axo__local_take_cell decides. */
static inline axo__cell *axo__local_take_plain(axo__local *local)
{
    axo__cell *cell = local->free;
    if (axo__unlikely(cell == NULL))
        return NULL;
    AXO_DEBUG_ASSERT(!axo__cell_lives_owner(cell));
    local->free = cell->free_next;
    axo__a64_bump_owner(&local->count.spawned); /* before the look: cell/limit.h */
    if (axo__likely(!axo__limit_is_tight(&local->core->limit)))
        return cell;
    axo__local_untake_cell(local, cell);
    return NULL;
}

/* Gives back a cell that no thread can reach. */
void axo__local_give_cell(axo__local *local, axo__cell *cell);

/* Gives back a cell that other threads may still reach, after a grace period. */
void axo__local_retire(axo__local *local, axo__cell *cell);

/* Gives back everything that a local holds, before the local itself goes. */
void axo__local_fini(axo__local *local);

/* Hands the retired cells to the reclaimer: once there are enough of them, and now and then. */
void axo__local_hand_over(axo__local *local);

/* Hands over all that has been collected, freed cells too: before the thread waits. */
void axo__local_flush(axo__local *local);

/* The name in a path of a child without a name of its own: its reference's bits. */
#define AXO__ANONYMOUS "$%" PRIx64

/* Writes the cell's path; false: the path is longer than `size` (> 0), and its end stands behind
 * AXO_PATH_CUT. The caller makes sure that no ancestor can be freed meanwhile. */
bool axo__core_path(axo__core *core, const axo__cell *cell, char *out, size_t size);

/* The same for a path that is text already. */
bool axo__core_path_keep(const char *path, char *out, size_t size);

#endif
