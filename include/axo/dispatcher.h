/* dispatcher.h - which threads run an actor. Whole programs are test/example/dispatchers.c and, for
 * a program with a loop of its own, test/example/game_loop.c. */
#ifndef AXO_DISPATCHER_H
#define AXO_DISPATCHER_H

#include <stdint.h>

#include <axo/export.h>
#include <axo/status.h>

typedef struct axo_system axo_system;

/* Dispatchers. The choice is an actor's for life, restarts included; its children do not inherit
 * it. The library's threads have names, which ps -L, top -H and debuggers show: axo/w0 and on are
 * the default workers, axo/spare1 and axo/spare2 stand in for workers that are stuck, axo/pin7
 * runs one actor, axo/blk0 and on are the pool for handlers that block, axo/reclaim gives memory
 * back. */
typedef enum axo_dispatcher {
    AXO_DISPATCH_DEFAULT = 0,  /* the system's workers; its handlers do not block */
    AXO_DISPATCH_PINNED = 1,   /* a thread of its own, which ends with it */
    AXO_DISPATCH_BLOCKING = 2, /* a pool for handlers that block (see axo_block): threads are
                                  started when all are busy, up to `blocking_max`, and end after
                                  `blocking_idle_ms` without work */
    AXO_DISPATCH_HOST = 3      /* the thread of the program that calls axo_run_host */
} axo_dispatcher;

/* The program's own clock, in nanoseconds: of a game, of a recording, of a test. Any number is a
 * time; the clock may stand still, jump and go back.
 *
 * It is *time*: when timers, receive timeouts and the deadlines of asks are over, how long restarts
 * wait and count (windows, back-off), what axo_now, events and traces say. What is due after a
 * sum that has no number (beyond INT64_MAX) does not come. A clock that goes back lets what waits
 * wait until it comes again to the time that it waits for.
 *
 * *Effort* is what work takes, by the operating system's clock, whatever this one says:
 * the budget of axo_run_host, quantum_us, stuck_ns, blocking_idle_ms, how long a handler has been
 * running. So are the waits of threads that are outside: axo_system_ask, axo_system_stop,
 * axo_system_wait, axo_phases_run.
 *
 *   thread    any, many at a time; also in the midst of a turn. The function calls nothing of the
 *             library, and waits for no lock under which the program calls the library */
typedef int64_t (*axo_clock_fn)(void *user);

AXO_BEGIN_DECLS

struct axo_ctx;

/* Calls fn(arg), which may block for as long as it likes. While a callback runs the system counts
 * on its end: what has terminated meanwhile keeps its memory until then, of so many actors as
 * axo_options.actors_max says. Not so while fn runs. To the library its thread is an outside one
 * meanwhile: fn may use what takes an axo_system, axo_system_ask too, and not `ctx`, nor axo_throw.
 * It must not wait for the end of this actor or of the system. Which other actors wait meanwhile
 * is the dispatcher's matter: on AXO_DISPATCH_BLOCKING and AXO_DISPATCH_PINNED none.
 *   thread    only the callback that was given `ctx`
 *   blocks    as fn does
 *   returns   AXO_OK; AXO_ECONTEXT, AXO_EINVAL (no fn): it was not called */
AXO_API axo_status axo_block(struct axo_ctx *ctx, void (*fn)(void *arg), void *arg);

/* Runs the actors of the host dispatcher on the calling thread until they have nothing to do or
 * `budget_ns` of the operating system's clock have passed (negative: no limit); at least one turn
 * is begun if there is one, a turn ends with the message in which they have, and a running handler
 * is not cut short. In a manual system all actors run here, and only here.
 *   thread    any that is not in a callback; one at a time
 *   returns   AXO_OK and in *turns (may be NULL) how many turns were run; AXO_EINVAL;
 *             AXO_ECONTEXT in a callback; AXO_EBUSY: another thread is in it; AXO_ENOMEM,
 *             AXO_ETHREAD: the first call of all could not make it */
AXO_API axo_status axo_run_host(axo_system *system, int64_t budget_ns, uint64_t *turns);

/* As axo_run_host, for at most `turns_max` turns and without a limit of time. With
 * axo_options.no_quantum_us in a manual system the same calls give the same run.
 *   returns   as axo_run_host */
AXO_API axo_status axo_step_host(axo_system *system, uint64_t turns_max, uint64_t *turns);

/* When axo_run_host is due without anything being sent meanwhile: a time of the system's clock (one
 * that is over: now; it is 0, unless the clock is below); INT64_MAX: not at all, or in the last
 * moment of all. From the thread that calls axo_run_host. */
AXO_API int64_t axo_host_deadline(axo_system *system);

/* A file descriptor that is readable while there is something to run: for poll, select, epoll. It
 * is the system's; do not read from it. -1: there is none. */
AXO_API int axo_host_fd(axo_system *system);

AXO_END_DECLS

#endif
