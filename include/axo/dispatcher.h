/* dispatcher.h - which threads run an actor. Whole programs are test/example/dispatchers.c and, for
 * a program with a loop of its own, test/example/game_loop.c. */
#ifndef AXO_DISPATCHER_H
#define AXO_DISPATCHER_H

#include <stdint.h>

#include <axo/export.h>
#include <axo/status.h>

typedef struct axo_system axo_system;

/* Dispatchers. The choice is an actor's for life, restarts included (SX-05); its children do not
 * inherit it. */
typedef enum axo_dispatcher {
    AXO_DISPATCH_DEFAULT = 0,  /* the system's workers; its handlers do not block */
    AXO_DISPATCH_PINNED = 1,   /* a thread of its own, which ends with it (DI-05) */
    AXO_DISPATCH_BLOCKING = 2, /* a pool for handlers that block (see axo_block): threads are
                                  started when all are busy, up to `blocking_max`, and end after
                                  `blocking_idle_ms` without work (DI-04) */
    AXO_DISPATCH_HOST = 3      /* the thread of the program that calls axo_run_host */
} axo_dispatcher;

/* The program's own clock: monotonic nanoseconds. Any thread. */
typedef int64_t (*axo_clock_fn)(void *user);

AXO_BEGIN_DECLS

struct axo_ctx;

/* Calls fn(arg), which may block for as long as it likes. While a callback runs the system counts
 * on its end: what has terminated meanwhile keeps its memory, a slot of axo_options.actors_max
 * among it, until then. Not so while fn runs. To the library its thread is an outside one
 * meanwhile: fn may use what takes an axo_system, axo_system_ask too, and not `ctx`, nor axo_throw.
 * It must not wait for the end of this actor or of the system. Which other actors wait meanwhile
 * is the dispatcher's matter: on AXO_DISPATCH_BLOCKING and AXO_DISPATCH_PINNED none.
 *   thread    only the callback that was given `ctx`
 *   blocks    as fn does
 *   returns   AXO_OK; AXO_ECONTEXT, AXO_EINVAL (no fn): it was not called */
AXO_API axo_status axo_block(struct axo_ctx *ctx, void (*fn)(void *arg), void *arg);

/* Runs the actors of the host dispatcher on the calling thread until they have nothing to do or
 * `budget_ns` have passed (negative: no limit); at least one turn is run if there is one, and a
 * running handler is not cut short. In a manual system all actors run here, and only here.
 *   thread    any that is not in a callback; one at a time
 *   returns   AXO_OK and in *turns (may be NULL) how many turns were run; AXO_EINVAL;
 *             AXO_ECONTEXT in a callback; AXO_EBUSY: another thread is in it; AXO_ENOMEM,
 *             AXO_ETHREAD: the first call of all could not make it */
AXO_API axo_status axo_run_host(axo_system *system, int64_t budget_ns, uint64_t *turns);

/* As axo_run_host, for at most `turns_max` turns and without a limit of time.
 *   returns   as axo_run_host */
AXO_API axo_status axo_step_host(axo_system *system, uint64_t turns_max, uint64_t *turns);

/* When axo_run_host is due without anything being sent meanwhile: a time of the system's clock; 0:
 * now; INT64_MAX: not at all. From the thread that calls axo_run_host. */
AXO_API int64_t axo_host_deadline(axo_system *system);

/* A file descriptor that is readable while there is something to run: for poll, select, epoll. It
 * is the system's; do not read from it. -1: there is none. */
AXO_API int axo_host_fd(axo_system *system);

AXO_END_DECLS

#endif
