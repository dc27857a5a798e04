/* trap.h - crashes of callbacks as failures of their actors.
 *
 * A signal that says that code is wrong (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) comes to the
 * handler here, on a stack of the worker's own. If the thread is where axo_throw could have been
 * called, as far as tests and a walk up the stack can tell, it goes the way of a throw; what the
 * crash was is told behind the landing (trap_land.h). Else a line says why not, and the signal goes
 * to the handler before, or does what it would have done.
 *
 * Central idea: nothing is counted or marked for it while nothing crashes. All that the handler
 * asks is there anyway.
 *
 * The simulator has no signals, and no walk: its programs crash where they say so.
 */
#ifndef AXO__SCHED_TRAP_H
#define AXO__SCHED_TRAP_H

#include "sched/trap_land.h"
#include "sched/walk.h"

/* Below the stacks of a system's threads where crashes are contained: a frame that is larger than a
 * page steps over a page, and what lies behind is another thread's stack. */
#define AXO__STACK_GUARD ((size_t)1 << 20)

/* Takes over the signals for this process, or counts one system more; false: it is not possible
 * here. The last axo__trap_leave gives them back. */
bool axo__trap_enter(void);
void axo__trap_leave(void);

/* Whether each of the signals comes here first, or to another copy of the library, which passes it
 * on: twin.h. */
bool axo__trap_is_first(void);

/* Gives back what is left of it if no system is any more: what was below another handler when the
 * last one left may be on top now. */
void axo__trap_rest(void);

/* Whether a disposition is a handler, and not SIG_DFL or SIG_IGN. The call of one blocks its mask,
 * as the kernel does. For signal handlers, too. */
bool axo__trap_has(const struct sigaction *action);
void axo__trap_call(const struct sigaction *before, int number, siginfo_t *info, void *context);

/* Before a jump out of a handler: the signals that are blocked, and how floating point is done, as
 * the handler's context says, which a return would have done. */
void axo__trap_restore(const void *context);

/* What twin.h jumps to with a signal's arguments; `how` is an axo__twin_how. */
void axo__trap_handle(int number, siginfo_t *info, void *argument, uint32_t how)
    __attribute__((used, visibility("hidden")));

/* The worker's stack for its handler, if its system contains crashes; false: no memory. */
bool axo__trap_make(axo__worker *worker);
void axo__trap_free(axo__worker *worker);

/* The thread becomes the worker, or is it no more; only of a worker that has a trap. */
void axo__trap_begin(axo__worker *worker);
void axo__trap_end(axo__worker *worker);

#ifdef AXO_SIM
/* The running callback crashes by this signal: judged as by the handler, but for the walk. Returns
 * if it is not contained, and why. */
axo__verdict axo__trap_raise(int number);
#endif

#endif
