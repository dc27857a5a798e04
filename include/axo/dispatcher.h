/* dispatcher.h - which threads run an actor. Whole programs are test/example/dispatchers.c and, for
 * a program with a loop of its own, test/example/game_loop.c; one with threads of its own,
 * test/example/job_system.c. */
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

/* There is work for `how_many` more threads of the program than are in axo_worker_run or have been
 * asked for: so many visits are due, to any slots.
 *
 *   thread    any, many at a time: in the midst of a turn, and of a call of any thread. The
 *             function must be quick: it puts a job into a queue, or wakes a thread. It calls
 *             nothing of the library, waits for no lock under which the program calls the library,
 *             and neither throws nor ends the thread */
typedef void (*axo_work_fn)(void *user, uint32_t how_many);

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
 * is the system's; do not read from it. From the first call on what makes work for a host that has
 * none costs a system call; without one axo_run_host and what is sent to its actors make none, but
 * for descriptors that actors watch. -1: there is none. */
AXO_API int axo_host_fd(axo_system *system);

/* Lends the calling thread to a system of lent threads (axo_options.threads): for the length of the
 * call it is the worker `slot` of the default dispatcher. It returns when there is nothing to do,
 * or when `budget_ns` of the operating system's clock have passed; at least one turn is begun if
 * there is one, a turn ends with the message in which they have, and a running handler is not cut
 * short.
 *
 * One slot is one worker with queues of its own. Who visits which slot, how often, and which stay
 * empty is the program's to say: visitors take what slots that nobody is in have left, fire their
 * timers, give memory back and report handlers that hang. What only a visit can do waits for one;
 * axo_options.on_work and axo_worker_due say when it is due. A handler that blocks holds its slot:
 * others go on in other slots, so let there be as many slots as threads that may come.
 *
 *   slot      0..axo_system_workers - 1
 *   budget_ns above 0; negative: no limit
 *   thread    any that is in no callback, and in no function that the library has called; one in
 *             a slot at a time. Another visit may bring another thread
 *   returns   AXO_OK and in *turns (may be NULL) how many turns were run; else no turn was run, and
 *             nothing has changed: AXO_EINVAL (no such slot, a budget of 0, or the system has
 *             threads of its own); AXO_EBUSY: a thread is in the slot, which looks for work once
 *             more before it goes, but may be in a handler that blocks: who was asked for tries
 *             another slot; AXO_ECONTEXT: in a callback, or in a function that axo_block calls;
 *             AXO_ESTOPPING: the system has terminated; AXO_EFORKED */
AXO_API axo_status axo_worker_run(axo_system *system, uint32_t slot, int64_t budget_ns,
                                  uint64_t *turns);

/* In how many nanoseconds a visit is due though on_work is not called until then: for the next
 * timer (of the system's clock), for a visitor's handler that may hang, for watched descriptors
 * (1 ms). To be asked by a thread after its visit, each time. 0: now; INT64_MAX: not at all, also
 * if the system has no lent threads, or has terminated.
 *   thread    any */
AXO_API int64_t axo_worker_due(axo_system *system);

AXO_END_DECLS

#endif
