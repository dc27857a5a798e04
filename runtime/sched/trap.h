/* trap.h - crashes of callbacks as failures of their actors.
 *
 * A signal that says that code is wrong (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) comes to the
 * handler here, on a stack of the worker's own. If the thread is where axo_throw could have been
 * called, as far as tests and a walk up the stack can tell, it goes the way of a throw; what the
 * crash was is told behind the landing. Else a line says why not, and the signal goes to the
 * handler before, or does what it would have done.
 *
 * Central idea: nothing is counted or marked for it while nothing crashes. All that the handler
 * asks is there anyway.
 */
#ifndef AXO__SCHED_TRAP_H
#define AXO__SCHED_TRAP_H

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
    stack_t before;    /* the thread's own */
    sigset_t mask;     /* the thread's own */
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

/* Takes over the signals for this process, or counts one system more; false: it is not possible
 * here. The last axo__trap_leave gives them back. */
bool axo__trap_enter(void);
void axo__trap_leave(void);

/* The worker's stack for its handler, if its system contains crashes; false: no memory. */
bool axo__trap_make(axo__worker *worker);
void axo__trap_free(axo__worker *worker);

/* The thread becomes the worker, or is it no more; only of a worker that has a trap. */
void axo__trap_begin(axo__worker *worker);
void axo__trap_end(axo__worker *worker);

/* Behind a landing: if it was a crash that has led there, it becomes the failure of the callback
 * that `site` names, and the instance is broken. */
void axo__trap_land(axo__worker *worker);

#endif
