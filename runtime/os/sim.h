/* sim.h - what a test may do with the port on one thread: seed it, choose for it, step it, run it
 * on fibers, look at its clock.
 *
 * Two levels. At level 1, the default, a step of a thread is one piece, and the test makes the
 * steps with axo__sim_step. At level 2 each thread is a fiber, and every access to what threads
 * share (base/atomic.h, the queues, mutexes, waits) is a yield point: another fiber may go on
 * there.
 *
 * Choices. Whatever chance decides is a numbered choice: of a kind, with `count` alternatives,
 * the n-th of its kind. 0 is the default: nothing out of the ordinary, the same thread goes on. A
 * strategy makes the choices; each kind draws from a stream of its own, named by the kind, so that
 * one more draw of one kind moves no other. The log holds the choices other than 0. A test can give
 * the log back, whole or with entries taken out: a choice that is not in it is 0. So
 *
 *     axo__sim_strategy("random");              axo__sim_reset(seed, outside);
 *     axo__sim_reset(seed, outside);            axo__sim_replay(log, count);
 *     ... the run ...                           ... the same run ...
 *     copy axo__sim_log(&count)
 */
#ifndef AXO__OS_SIM_H
#define AXO__OS_SIM_H

#include <stdio.h>

#include "os/os.h"

/* ---- choices ---- */

typedef enum axo__sim_kind {
    AXO__SIM_WHO = 0,    /* the thread that runs next: 0 the one that ran, or the next in turn */
    AXO__SIM_EARLY = 1,  /* 1: a wait ends before its time, for no reason */
    AXO__SIM_STARVE = 2, /* level 1: for how many steps a thread gets no turn */
    AXO__SIM_WHOM = 3,   /* level 1: the thread that EARLY or STARVE is about */
    AXO__SIM_LONG = 4,   /* level 1: how long a step takes */
    AXO__SIM_TEST = 5,   /* this kind and the next ones are the tests' own */
    AXO__SIM_TEST_OPERATION = 6,
    AXO__SIM_TEST_FAULT = 7,
    AXO__SIM_TEST_ACTOR = 8,
    AXO__SIM_KINDS = 9
} axo__sim_kind;

typedef struct axo__sim_choice {
    uint32_t kind;
    uint32_t value; /* not 0 */
    /* the number among the choices of its kind, from 0; a choice with one alternative has none */
    uint64_t index;
} axo__sim_choice;

/* The name of a kind, in logs; and back, AXO__SIM_KINDS: none has it. */
const char *axo__sim_kind_name(uint32_t kind);
uint32_t axo__sim_kind_named(const char *name);

/* Makes a choice between `count` alternatives. */
uint32_t axo__sim_choose(axo__sim_kind kind, uint32_t count);

/* Makes a choice between yes and no: true once in `one_in` times, where chance decides. 0:
 * never. */
bool axo__sim_chance(axo__sim_kind kind, uint32_t one_in);

/* Sets how choices are made from the next reset on; false: no such strategy.
 *   random    any thread that can run
 *   sticky    the running thread goes on, nine times in ten
 *   pct:D     priorities, that drop at D - 1 places; D is 1..9
 *   starve    now and then a thread is not run for 10 to 10000 choices
 *   swizzle   one thread after the other is stopped, then released in another order
 *   bound:B   all runs with at most B switches away from a thread that could go on; see
 *             axo__sim_more
 *   delay:B   all runs with at most B places where another thread runs than the one that goes on,
 *             or the next in turn: fewer than with bound:B
 *   default   0, always */
bool axo__sim_strategy(const char *text);

/* Takes the choices that follow from a log, which is copied; a choice that the log does not name is
 * 0. To be called between a reset and the first choice. */
void axo__sim_replay(const axo__sim_choice *log, size_t count);

/* The choices other than 0 since the reset. Good until the next reset. */
const axo__sim_choice *axo__sim_log(size_t *count);

/* Prepares the next run after a run with bound:B or delay:B; false: that run was the last. After a
 * run with another strategy: true. */
bool axo__sim_more(void);

/* The number of choices of a kind since the reset. */
uint64_t axo__sim_choices(axo__sim_kind kind);

/* ---- a run ---- */

/* Starts a run anew from a seed; no thread may be registered. `outside` (may be NULL) is called
 * after each step, before any code outside of steps runs. */
void axo__sim_reset(uint64_t seed, void (*outside)(void));

/* Level 1: one step of one thread that can run, after the clock has gone to the next deadline if
 * none can. Level 2, on the first fiber: the others go on for a few yield points.
 *   returns   false: every thread waits, none with a deadline */
bool axo__sim_step(void);

/* The number of steps since the reset; at level 2, of yield points. */
uint64_t axo__sim_steps(void);

/* Lets the next `count` starts of a thread succeed and refuses the start after them, once. */
void axo__sim_refuse_start(uint32_t count);

/* ---- descriptors: each run begins without ---- */

/* Opens the lowest number that is closed; `refused`: of a kind that cannot be waited for. -1: all
 * are open. The library closes with axo__os_close; so may a test. */
int axo__sim_fd_open(bool refused);
bool axo__sim_fd_is_open(int fd);

/* Sets what an open one is ready for, AXO__POLL_ bits; any bit is an edge, whatever was before. */
void axo__sim_fd_set(int fd, uint32_t level);
/* The same without an edge: a call of this side's own has changed it. */
void axo__sim_fd_fall(int fd, uint32_t level);
uint32_t axo__sim_fd_level(int fd);

/* No set can be made; after so many watches there is no room for more (UINT32_MAX: always). */
void axo__sim_refuse_polls(bool refused);
void axo__sim_refuse_watches(uint32_t after);

/* ---- level 2 ---- */

/* Begins level 2, up to the next reset; the caller becomes the first fiber, "main". To be called
 * after axo__sim_reset. Each fiber has the program's thread-locals, and errno, for itself. */
void axo__sim_fibers(void);

/* Starts a thread of the test's own. The thread ends when `run` returns. */
void axo__sim_start(const char *name, void (*run)(void *arg), void *arg);

/* Names a fiber, for reports. */
void axo__sim_name(uint32_t number, const char *name);

/* Yield points yield; until then a fiber goes on until it waits, and nothing is chosen. */
void axo__sim_explore(bool on);

/* One wait in `early_one_in` ends early (0: none); a yield point takes `tick_ns`. */
void axo__sim_waits(uint32_t early_one_in, int64_t tick_ns);

/* Gives a run up that has passed `points` yield points: it does not come to rest. */
void axo__sim_points_max(uint64_t points);

/* The calling fiber lets all others go on until each of them waits, and not for a deadline within
 * `within_ns`. Only one fiber at a time. */
void axo__sim_settle(int64_t within_ns);

/* The calling fiber has nothing to do until another has moved: of a loop that looks again. */
void axo__sim_relax(void);

/* Fibers that have not ended, the first and those that the runtime has started not counted. */
uint32_t axo__sim_started(void);

/* Until when a fiber waits at most; AXO__NEVER too for one that does not wait, or is none. */
int64_t axo__sim_deadline(uint32_t number);

/* How often the clock went to a deadline because no fiber could run. */
uint64_t axo__sim_jumps(void);

/* What an event that is set has in `fd`. */
#define AXO__SIM_READABLE (-2)

/* The number of the calling fiber, 0: main; below AXO__SIM_FIBERS_MAX. A number is used again. */
#define AXO__SIM_FIBERS_MAX 64
uint32_t axo__sim_me(void);
bool axo__sim_is_fiber(void); /* false at level 1 */

/* Waits on an address until another fiber calls axo__sim_tell with it, or until the deadline; may
 * come early if `early`. false: the deadline has passed. */
bool axo__sim_wait(const char *what, const void *address, int64_t deadline, bool early);
void axo__sim_tell(const void *address);

/* A digest of all switches and notes: the same run has the same. */
uint64_t axo__sim_digest(void);

/* Something happened, for the digest. */
void axo__sim_mark(uint64_t word);

/* Writes a note for the report of the run, which keeps the last notes. */
void axo__sim_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Called once, before a run that cannot go on is given up: deadlock, unfair wait. */
void axo__sim_on_stuck(void (*told)(const char *why));

/* Writes a line for each fiber, with what it waits for. */
void axo__sim_report_waits(FILE *out);

/* The last notes and switches, the oldest first; NULL: there is no such. */
typedef struct axo__sim_noted {
    uint64_t point;    /* yield points before it */
    uint32_t fiber;
    uint32_t next;     /* a switch, to this one; UINT32_MAX: a note */
    const void *place; /* of the fiber's last yield point: a return address */
    char text[72];
} axo__sim_noted;
const axo__sim_noted *axo__sim_noted_at(uint64_t number);
const char *axo__sim_fiber_name(uint32_t number); /* also of one that has ended */
bool axo__sim_is_alive(uint32_t number);

#endif
