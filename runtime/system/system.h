/* system.h - one system: boot in layer order, the guardians, shutdown.
 *
 * Central idea: `struct axo_system` embeds all that a process has of one system, and each part is
 * made, and unmade, at a fixed place of boot.c. No part is reached through a global.
 *
 * Shutdown, step by step; the numbers stand in the code:
 *   (1) some thread stops /user         (2) /user terminates; /system has watched it
 *   (3) /system tells the termination hooks and waits for them (GU-09)
 *   (4) /system stops itself; root has watched it   (5) root stops itself
 *   (6) root is gone: `root_gone`       (7) when every slot is back and no worker fires timers,
 *   messages that wait for their time are dropped, termination functions are called, and the latch
 *   is set
 *   (8) axo_system_destroy: quit, join, free
 *
 * Orders
 *   [Y1] store release / load acquire, root_gone   what root wrote; (6) before (7)
 *   [Y2] cas acq_rel, ended                        the latch is set once
 *   [Y3] seq_cst, root_gone    after a worker's own last free, before it reads the others': of two
 *                              workers that free at the same time, one sees both
 *   [Y4] cas acq_rel / store release, replaces     the record of the replacement, from one caller
 *                              to the next
 *   [W1] as in sched/wake.h
 *   [W5] as in sched/pool.h
 *   [C1] [C2] as in cell/replacing.h
 *   [T2] as in cell/table.h
 *   [T4] as in cell/table.h
 */
#ifndef AXO__SYSTEM_SYSTEM_H
#define AXO__SYSTEM_SYSTEM_H

#include <axo/inspect.h>

#include "sched/board.h"
#include "super/super.h"
#include "system/deadletter.h"
#include "system/ending.h"
#include "system/health.h"
#include "system/failurelog.h"
#include "system/registry.h"
#include "system/stream.h"

/* Pools have numbers from 1 to this, then from 1 again: a number and a worker's index share one
 * 32-bit word, axo__local.index. */
#define AXO__POOLS_NUMBERED 65534

/* A termination hook: an actor that /system waits for at its end. */
typedef struct axo__hook {
    struct axo__hook *next;
    axo_ref actor;
} axo__hook;

struct axo_system {
    axo__core core;
    axo__sched sched;
    axo_options options;      /* the program's options, defaults filled in */
    axo_ref guardians[3];     /* root, /user, /system; fixed after boot, as the cells */
    axo__cell *cells[3];
    axo__os_latch terminated; /* step (7): axo_system_wait waits for it */
    axo__os_mutex pools_mutex;
    axo__sched *pools;        /* guarded by pools_mutex: all but the default one */
    uint32_t pools_made;      /* guarded by pools_mutex */
    axo__counters pools_gone; /* guarded by pools_mutex: of pools that have ended */
    axo__os_mutex outcome_mutex;
    axo_outcome outcome;      /* guarded by outcome_mutex */
    axo__a32 root_gone;       /* 1 from step (6) on; [Y1] [Y3] */
    axo__a32 ended;           /* 1: a worker does step (7); [Y2] */
    axo__hook *hooks;         /* /system's runner */
    uint32_t hooks_waiting;   /* /system's runner */
    bool hooks_told;          /* /system's runner */
    axo__a32 refused[3];      /* 1: the guardian stops, or a spawn under it was refused (SH-04) */
    axo__stream stream;
    axo__book book;
    axo__failures failures;
    axo__ending ending;
    axo__registry registry;
    axo__board board;
    axo__health health;
    axo__a32 replaces;        /* 1: a thread is in axo_class_replace; [Y4] */
    axo__os_home home;        /* the process that made the system */
    uint32_t plain_tags;      /* fixed: a send from outside of a lower tag may be a plain one */
    char name[AXO_NAME_MAX + 1];
};

/* The answer for a system whose word is not HERE: AXO_EFORKED in a child of fork. A system that was
 * destroyed ends the process, because its memory may be another object's by now. */
axo_status axo__system_away(const axo_system *system) __attribute__((cold));

/* Tests the system at the start of a call from outside: AXO_OK, AXO_EINVAL (NULL), AXO_EFORKED. One
 * load and a branch in the common case. */
static inline axo_status axo__system_check(const axo_system *system)
{
    if (axo__unlikely(system == NULL))
        return AXO_EINVAL;
    return axo__likely(axo__os_at_home(&system->home)) ? AXO_OK : axo__system_away(system);
}

/* The answer for a call whose context is not the running one: AXO_ECONTEXT, or AXO_EFORKED in the
 * child that the callback has forked. */
axo_status axo__no_caller(void) __attribute__((cold));

/* The running cell, if `ctx` is its context on this very thread; else NULL. The test is what makes
 * a kept context harmless: a context of another cell, or on another thread, never equals the
 * worker's current cell. */
static inline axo__cell *axo__caller(axo_ctx *ctx)
{
    axo__worker *worker = axo__self;
    if (axo__unlikely(worker == NULL || ctx == NULL || (void *)worker->current != (void *)ctx))
        return NULL;
    return worker->current;
}

#endif
