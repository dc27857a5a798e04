/* core.h - what all layers above share of one system: memory, tables, hooks; and a local, the part
 * of it that a worker or a door has for itself. */
#ifndef AXO__CELL_CORE_H
#define AXO__CELL_CORE_H

#include <inttypes.h>

#include <axo/event.h>
#include <axo/system.h>

#include "base/clock.h"
#include "cell/limit.h"
#include "cell/name.h"
#include "cell/table.h"

#define AXO__NO_WORKER UINT32_MAX

/* What is counted: each is a field of axo_stats too. They are summed up in this order: what has
 * gone out before what has come in. */
#define AXO__COUNTER_LIST(X)                                                                       \
    X(handled)                                                                                     \
    X(dead)                                                                                        \
    X(dropped)                                                                                     \
    X(sent)                                                                                        \
    X(unhandled)                                                                                   \
    X(terminated)                                                                                  \
    X(spawned)                                                                                     \
    X(failures)                                                                                    \
    X(restarts)                                                                                    \
    X(notices)                                                                                     \
    X(turns)                                                                                       \
    X(steals)                                                                                      \
    X(parks)                                                                                       \
    X(wakes)                                                                                       \
    X(events)                                                                                      \
    X(events_lost)                                                                                 \
    X(restarts_merged)

typedef struct axo__counters {
    axo__a64 freed; /* slots given back */
#define CORE_COUNTER(name) axo__a64 name;
    AXO__COUNTER_LIST(CORE_COUNTER)
#undef CORE_COUNTER
} axo__counters;

typedef struct axo__core axo__core;

/* A worker's or a door's own: touched by its thread, or under its mutex. The counters may be read
 * by anyone. It is what a function is told of where its caller stands. */
typedef struct axo__local {
    axo__core *core;          /* fixed */
    axo__cache cache;         /* of the core's pool */
    axo__cell *free;          /* cells to spawn into, by `free_next` */
    axo__cell *freed;         /* cells to give back, by `free_next` */
    uint32_t freed_count;
    uint32_t batch;           /* keeps fewer of each; 0, 1: none */
    axo__grace_item *retired; /* to hand over */
    axo__grace_item *retired_last;
    uint32_t retired_count;
    uint32_t index;           /* the worker's, or AXO__NO_WORKER */
    axo__counters count;
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
    axo__os_mutex expired_mutex;
    axo__grace_item *expired; /* guarded by it: cells nobody can reach any more */
    axo__a32 expired_any;     /* a hint that saves the mutex */
    axo_trace_fn trace;
    void *trace_user;
    uint64_t trace_kinds; /* a bit for each kind that is told; 0 without `trace` */
    axo_dead_letter_fn on_dead_letter;
    void *dead_letter_user;
    axo_unhandled_fn on_unhandled;
    void *unhandled_user;
    axo_log_fn log;
    void *log_user;
    uint64_t seed;
    bool manual;              /* no threads: everything runs in axo_run_host */
    axo_clock_fn clock;       /* the program's; NULL: the operating system's */
    void *clock_user;
    /* The layers above: a handler hangs; the pool for an actor, and an actor's end in it. */
    void (*stuck)(axo__local *local, axo__cell *cell, uint64_t tag, int64_t for_ns);
    axo_status (*dispatch)(struct axo__core *core, const axo_props *props,
                           struct axo__sched **out);
    void (*undispatch)(struct axo__core *core, struct axo__sched *sched);
    axo_system *system;
    struct axo__sched *sched; /* the layer above */
    axo__a64 wants[4];        /* a bit for each first byte of a kind that somebody wants */
    axo__a32 closing;         /* 1: a guardian is stopping, for good */
    /* The event stream and the book of dead letters, above; see cell/event.h. */
    void (*publish)(axo__local *local, const struct axo__event *event);
    void (*record)(axo__local *local, const axo_dead_record *record);
    const struct axo__root_ops *root; /* what becomes of the root, above; see super/super.h */
    /* A function of the program has come back in a child that it has forked: says so, and ends that
     * process. */
    __attribute__((noreturn)) void (*forked)(void);
    const axo__os_home *home; /* the process of the system; NULL: of none yet */
    /* Where an outside thread stands that is in no door: it has a core and no more, so that nothing
     * is taken from it, given to it or counted there. */
    axo__local outside;
};

/* A function of the program has come back in the middle of something. */
static inline void axo__core_back(const axo__core *core)
{
    if (axo__unlikely(core->home != NULL && !axo__os_at_home(core->home)))
        core->forked();
}

/* The program's clock, if there is one. */
int64_t axo__core_clock(const axo__core *core);

/* The system's time: monotonic nanoseconds. */
static inline int64_t axo__core_now(const axo__core *core)
{
    return axo__likely(core->clock == NULL) ? axo__os_now() : axo__core_clock(core);
}

/* Tells the observer of traces. */
void axo__core_tell(const axo__core *core, const axo_event *event);

void axo__local_trace(const axo__local *local, const axo__cell *cell, uint32_t kind, uint64_t arg);

/* One predictable branch while nobody records the kind. */
static inline void axo__trace(const axo__local *local, const axo__cell *cell, uint32_t kind,
                              uint64_t arg)
{
    if (axo__unlikely((local->core->trace_kinds & AXO_EVENT_BIT(kind)) != 0))
        axo__local_trace(local, cell, kind, arg);
}

/* Of zeroed memory. `index`: the worker's, or AXO__NO_WORKER. */
static inline void axo__local_init(axo__local *local, axo__core *core, uint32_t index,
                                   uint32_t batch)
{
    local->core = core;
    local->cache.pool = &core->pool;
    local->index = index;
    local->batch = batch;
}

/* Nothing of it may be touched but its core and its index. */
static inline bool axo__local_is_outside(const axo__local *local)
{
    return local == &local->core->outside;
}

/* A free cell for a birth, which is counted; NULL: *status says why. */
axo__cell *axo__local_take_cell(axo__local *local, axo_status *status);

/* The cell was not taken after all, nor was anybody born. */
void axo__local_untake_cell(axo__local *local, axo__cell *cell);

/* A cell that nobody can reach goes back. */
void axo__local_give_cell(axo__local *local, axo__cell *cell);

/* A cell that others may still reach goes back after a grace period. */
void axo__local_retire(axo__local *local, axo__cell *cell);

/* Gives everything back that a local holds, before it goes itself. */
void axo__local_fini(axo__local *local);

/* Hands over what is retired: when there is enough of it, and now and then. */
void axo__local_hand_over(axo__local *local);

/* Hands over all that is collected, free cells too: before a wait. */
void axo__local_flush(axo__local *local);

/* The name of a child that was given none, from its reference's bits. */
#define AXO__ANONYMOUS "$%" PRIx64

/* Writes the path; false: it is longer than `size` (> 0), and its end stands behind AXO_PATH_CUT.
 * Safe for cells whose ancestors cannot go meanwhile. */
bool axo__core_path(axo__core *core, const axo__cell *cell, char *out, size_t size);

/* The same of a path that somebody has written. */
bool axo__core_path_keep(const char *path, char *out, size_t size);

#endif
