/* crash.h - crashes of the simulated actors: the places in the program's own code where one may
 * come, and the checker's account of them. A crash is contained if it comes in a callback of a
 * class that asks for it, in a system that contains crashes, outside of the callback's guards, and
 * within the budget; else it is refused, and the program goes on, where a real one would end.
 *
 * Whether a crash comes is drawn apart from everything else: a place where none comes moves no
 * other draw.
 */
#ifndef TEST_SIM_CRASH_H
#define TEST_SIM_CRASH_H

#include "cell/cause.h"
#include "look.h"
#include "sched/trap.h"

/* A life begins. Before the system starts: it contains so many crashes in a window; 0: none. */
void crash_reset(void);
void crash_contains(uint32_t most, int64_t window_ns);

/* The running callback is this one (an axo_site, or the library's number of a hook) and may crash
 * here: then this does not return. Never between a call of the library and what is noted of it. */
void crash_point(axo_ctx *ctx, uint32_t site);

/* The same in a clean-up; in a function that the library calls aside; and outside. */
void crash_point_cleanup(void);
void crash_point_aside(void);
void crash_point_outside(void);

/* Begins a guard in the running callback; ends those that are there. */
void crash_guard(axo_ctx *ctx);
void crash_unguard(axo_ctx *ctx);

/* The message that the running receive was given. */
void crash_handles(const axo_message *message);

/* What has crashed has come out where it should. After each step, and at each event. */
void crash_landed(void);

/* A failure has the crash that it is of, and no other. */
void crash_check_failure(const axo_failure *failure);

/* The library's own account, before the end of the system. */
void crash_check(axo_system *system);

#endif
