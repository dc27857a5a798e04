/* trap_land.h - what the handlers of crashes and the landing behind them share: a worker's record
 * of its crash, the tests that need no look at the stack, and the landing.
 *
 * Orders
 *   [C2] as in cell/replacing.h
 */
#ifndef AXO__SCHED_TRAP_LAND_H
#define AXO__SCHED_TRAP_LAND_H

#include <signal.h>

#include <axo/crash.h>

#include "sched/pool.h"

/* For endless.h. Above: the worker's own, in the handler; below: for spares, too. `thread` is the
 * number of the thread that is the worker, 0 between two of them. `refused` and `until` are
 * relaxed: an old value costs a signal more, or one later. */
typedef struct axo__endless {
    uint32_t site;    /* of the callback that worker->noted names */
    int64_t began;    /* when it was noted */
    int64_t ran;      /* how long it has run, at least, when it was interrupted */
    axo_crash crash;  /* where it was at the last signal */
    axo__a32 thread;
    axo__a32 refused; /* an axo__verdict: why the last signal has not interrupted it */
    axo__a64 until;   /* before then a signal interrupts nothing */
} axo__endless;

/* A signal may come between any two instructions of the handler, and its own handler may crash: so
 * `back` is set behind the point it leads to, and no second crash touches `crash` while the first
 * one has it. */
struct axo__trap {
    axo__unwind *back; /* where a crash of the handler itself goes; NULL: nowhere */
    bool busy;         /* `crash` is the handler's, and then the landing's */
    bool fresh;        /* the landing is a crash's */
    axo_crash crash;
    axo__endless endless;
    pid_t thread;      /* that is the worker; a child of its vfork has all its memory */
    const struct robust_list *held; /* by the thread: axo__walk_held */
    stack_t before;    /* the thread's own */
    sigset_t mask;     /* the thread's own */
    uintptr_t known;   /* the stack's number with valgrind */
};

/* A handler that comes in between finds both as they stand in the program. */
static inline void axo__trap_back(axo__trap *trap, axo__unwind *to)
{
    __asm__("" ::: "memory");
    trap->back = to;
    __asm__("" ::: "memory");
}

static inline void axo__trap_busy(axo__trap *trap, bool busy)
{
    __asm__("" ::: "memory");
    trap->busy = busy;
    __asm__("" ::: "memory");
}

/* Tests of whether a crash of this thread may be contained, each for those that have passed the one
 * before. For signal handlers.
 *
 * The thread is a worker of a system that contains crashes, in the process that has started it. */
static inline bool axo__trap_is_worker(const axo__worker *worker)
{
    return worker != NULL && worker->trap != NULL && !worker->forked &&
           axo__os_at_home(worker->local.core->home);
}

/* It runs a callback of an actor. */
bool axo__trap_is_user(const axo__worker *worker);

/* The callback is in a guard of its own, or the library has called a function of the program
 * aside. */
bool axo__trap_is_guarded(const axo__worker *worker);

/* An address in the module of the callback that runs: the class's, or the migrate's. For signal
 * handlers. */
void axo__trap_own(const axo__worker *worker, const axo_class *cls, const void **own);

/* What a signal is called. For signal handlers. */
const char *axo__trap_name(int number);

/* No hook of the instance runs any more, and all its children go with it. One that has not started
 * is left as it is. */
void axo__trap_break(axo__cell *cell);

/* Behind a landing: if it was a crash that has led there, it becomes the failure of the callback
 * that `site` names, and the instance is broken. */
void axo__trap_land(axo__worker *worker);

#endif
