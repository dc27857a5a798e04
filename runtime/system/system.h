/* system.h - one system: boot in layer order, the guardians, shutdown.
 *
 * Shutdown, step by step; the numbers stand in the code:
 *   (1) somebody stops /user            (2) /user terminates; /system has watched it
 *   (3) /system tells the termination hooks and waits for them (GU-09)
 *   (4) /system stops itself; root has watched it   (5) root stops itself
 *   (6) root is gone: `root_gone`       (7) when every slot is back and nobody fires timers, what
 *   waits for its time is dropped, termination functions are called, and the latch is set
 *   (8) axo_system_destroy: quit, join, free
 *
 * Orders
 *   [Y1] store release / load acquire, root_gone   what root wrote; (6) before (7)
 *   [Y2] cas acq_rel, ended                        the latch is set once
 *   [Y3] seq_cst, root_gone    after a worker's own last free, before it reads the others': of two
 *                              workers that free at once, one sees both
 *   [W1] as in sched/worker.h
 *   [W5] as in sched/worker.h
 *   [T2] as in cell/table.h
 *   [T4] as in cell/table.h
 */
#ifndef AXO__SYSTEM_SYSTEM_H
#define AXO__SYSTEM_SYSTEM_H

#include <axo/inspect.h>

#include "super/super.h"
#include "system/deadletter.h"
#include "system/ending.h"
#include "system/registry.h"
#include "system/stream.h"

/* Pools have numbers up to this; then they start again from 1. */
#define AXO__POOLS_NUMBERED 65534

/* One actor that /system waits for at its end. */
typedef struct axo__hook {
    struct axo__hook *next;
    axo_ref actor;
} axo__hook;

struct axo_system {
    axo__core core;
    axo__sched sched;
    axo_options options;      /* as completed */
    axo_ref guardians[3];
    axo__cell *cells[3];
    axo__os_latch terminated;
    axo__os_mutex pools_mutex;
    axo__sched *pools;        /* guarded by it: all but the default one */
    uint32_t pools_made;      /* guarded by it */
    axo__counters pools_gone; /* guarded by it: of pools that are no more */
    axo__os_mutex outcome_mutex;
    axo_outcome outcome;      /* guarded by it */
    axo__a32 root_gone;
    axo__a32 ended;
    axo__hook *hooks;         /* /system's runner */
    uint32_t hooks_waiting;   /* /system's runner */
    bool hooks_told;          /* /system's runner */
    axo__a32 refused[3];      /* 1: it stops, or a spawn under it was refused (SH-04) */
    axo__stream stream;
    axo__book book;
    axo__ending ending;
    axo__registry registry;
    axo__os_home home;
    char name[AXO_NAME_MAX + 1];
};

/* AXO_EFORKED; a system that was destroyed ends the process. */
axo_status axo__system_away(const axo_system *system) __attribute__((cold));

/* What a call from outside may find: AXO_OK, AXO_EINVAL (NULL), AXO_EFORKED. */
static inline axo_status axo__system_check(const axo_system *system)
{
    if (axo__unlikely(system == NULL))
        return AXO_EINVAL;
    return axo__likely(axo__os_at_home(&system->home)) ? AXO_OK : axo__system_away(system);
}

/* What a call with a context that is none says: AXO_ECONTEXT, or AXO_EFORKED in the child that the
 * callback has forked. */
axo_status axo__no_caller(void) __attribute__((cold));

/* The running cell, if `ctx` is its context on this very thread; else NULL. */
static inline axo__cell *axo__caller(axo_ctx *ctx)
{
    axo__worker *worker = axo__self;
    if (axo__unlikely(worker == NULL || ctx == NULL || (void *)worker->current != (void *)ctx))
        return NULL;
    return worker->current;
}

/* ---- options.c ---- */

/* Copies what the caller's header knew and completes it. AXO_OK, AXO_EINVAL, AXO_EVERSION. */
axo_status axo__options_read(const axo_options *from, axo_options *to);

/* A struct with `size` first: copies what is known; AXO_EVERSION if more is set. */
axo_status axo__struct_read(const void *from, void *to, size_t size);

/* How much of such a struct is there to be filled: a newer header's tail is left as it is. */
axo_status axo__struct_room(const void *to, size_t size, size_t *room);

/* Checks props and what they point at. */
axo_status axo__props_read(const axo_props *from, axo_props *to);

/* ---- guardian.c ---- */

/* Makes root, /user and /system; before the workers run. */
axo_status axo__guardians_make(axo_system *system);
/* The first cause that reaches the top is the system's outcome. */
void axo__guardian_root_failed(axo__core *core, const axo__cause *cause);
axo_status axo__guardian_add_hook(axo_system *system, axo__worker *worker, axo__cell *cell);
axo_status axo__guardian_hook_done(axo_system *system, axo__worker *worker, axo__cell *cell);

/* ---- find.c ---- */

/* Where a path begins: at an actor (its runner is the caller), or with a relative one refused. */
typedef struct axo__find_from {
    axo__core *core;
    axo__cell *cell; /* NULL: absolute only */
} axo__find_from;

typedef struct axo__segment {
    const char *text;
    size_t length;
} axo__segment;

/* What is left of a pattern from its first wildcard on, and from where. */
typedef struct axo__pattern {
    axo_ref base;     /* none: nobody is there */
    const char *rest; /* in the caller's text; NULL: there is no wildcard, `base` is it */
    const char *end;
} axo__pattern;

/* Walks as far as the path is exact, and checks all of it. On a worker or under a door. AXO_OK,
 * AXO_ENAME. */
axo_status axo__find_walk(const axo__find_from *from, const char *path, axo__pattern *pattern);

/* Visits the actors in slots from *slot on that a pattern with wildcards matches, and moves *slot:
 * until there are no more, or so many steps have been made, one for each slot and each segment. On
 * a worker or under a door; false: there is nothing behind. */
typedef void (*axo__find_visit)(void *user, axo_ref ref);
bool axo__find_scan(axo__core *core, const axo__pattern *pattern, uint32_t *slot, uint64_t steps,
                    axo__find_visit visit, void *user);

/* The child of that name, for one who could not take it: AXO_OK, AXO_EEXIST (it is stopping, or, to
 * the parent's callback `now`, has ended), or none, from outside: it has ended. */
axo_status axo__find_sibling(axo__core *core, axo_ref parent, const char *name, axo__moment now,
                             axo_ref *out);

/* ---- inspect.c ---- */

/* Fills `info`; on a worker (its runner is `self`, or NULL), or under a door. *cls is the class of
 * the one that was looked at; NULL: gone. */
void axo__inspect(axo__core *core, axo__cell *self, axo_ref ref, axo_ref waiting_sender,
                  axo_actor_info *info, const axo_class **cls);

/* What the class calls a tag; NULL: nothing. User code, as the next one: with no lock held. */
const char *axo__inspect_ask_name(const axo_class *cls, uint32_t tag);

/* The tag's name. */
void axo__inspect_name_tag(axo_actor_info *info, const axo_class *cls);

/* ---- pools.c ---- */

void axo__pools_settings(axo_system *system, axo__sched *pool, axo__sched_kind kind);
axo_status axo__pools_dispatch(axo__core *core, const axo_props *props, axo__sched **out);
void axo__pools_undispatch(axo__core *core, axo__sched *pool);

/* The pool that axo_run_host runs, made if need be; or NULL if there is none. */
axo_status axo__pools_host(axo_system *system, axo__sched **out);
axo__sched *axo__pools_host_if_any(axo_system *system);

/* Joins pinned threads that have ended; true: others are about to. */
bool axo__pools_reap(void *system);

/* Ends the threads of all pools but the default one; frees the pools. */
void axo__pools_end(axo_system *system);
void axo__pools_fini(axo_system *system);

/* A counter, over all workers and doors, by its offset in axo__counters. */
uint64_t axo__pools_sum(axo_system *system, size_t offset);

void axo__pools_stuck(axo__core *core, axo__local *local, axo__cell *cell, uint64_t tag,
                      int64_t for_ns);

/* ---- system.c ---- */

void axo__system_idle(axo__core *core);

axo_status axo__system_start(const axo_options *options, axo_system **out);
void axo__system_destroy(axo_system *system);
void axo__system_check_end(axo_system *system);
axo_status axo__system_spawn(axo_system *system, const axo_props *props, axo_ref *out);
void axo__system_stop_user(axo_system *system);
uint32_t axo__system_late(axo_system *system, axo_late *late, uint32_t late_max);
void axo__system_stats(axo_system *system, axo_stats *stats);

#endif
