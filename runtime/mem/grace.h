/* grace.h - when memory that another thread may still read can be used again.
 *
 * Workers are urcu-qsbr readers: quiescent once a turn, offline while they wait. Outside threads
 * may block for ever between two calls, so they are no readers: each of their calls runs under the
 * gate of a door, and a grace period ends by passing through every door once.
 *
 * Roles      retire: any worker or door.  step: the reclaimer's thread.
 * Progress   retire never waits for readers; the reclaimer does.
 * Memory     a retired item is the grace's until `expire` gets it, a block until `give_block` does.
 */
#ifndef AXO__MEM_GRACE_H
#define AXO__MEM_GRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "os/os.h"

typedef struct axo__grace_item {
    struct axo__grace_item *next;
} axo__grace_item;

/* The beginning of a block of memory that is given up. */
typedef struct axo__grace_block {
    struct axo__grace_block *next;
    size_t size;
} axo__grace_block;

typedef struct axo__grace_ops {
    /* enters and leaves the gate of every door */
    void (*pass)(void *user);
    /* Takes the items back: no thread can read them any more. */
    void (*expire)(void *user, axo__grace_item *first, axo__grace_item *last);
    /* Takes a block back: no thread can read it any more. */
    void (*give_block)(void *user, axo__grace_block *block);
    /* joins threads that have ended; true: more threads are about to end. NULL: none to join */
    bool (*reap)(void *user);
} axo__grace_ops;

typedef struct axo__grace {
    axo__os_thread thread;
    axo__os_mutex mutex;                   /* guards the next four */
    axo__grace_item *retired;
    axo__grace_item *retired_last;
    axo__grace_block *blocks;
    bool quit;
    /* the system is manual and has no reclaimer: see axo__grace_run */
    bool manual;
    const axo__grace_ops *ops;
    void *user;
} axo__grace;

/* Starts the reclaimer; `manual`: without a thread. false: the system refused, and nothing was
 * started. */
bool axo__grace_start(axo__grace *grace, const axo__grace_ops *ops, bool manual, void *user,
                      const axo__os_common *threads);

/* Makes the reclaimer look for threads to join. */
void axo__grace_wake(axo__grace *grace);

/* Manual systems: expires what is retired. The caller is the only reader and must be quiescent.
 * false: nothing was retired. */
bool axo__grace_run(axo__grace *grace);

/* Expires what is retired and joins the reclaimer. The caller guarantees that no thread retires any
 * more. */
void axo__grace_stop(axo__grace *grace);

/* Hands over a list of items that no new reader can find; `last` is its end. Takes no memory. */
void axo__grace_retire(axo__grace *grace, axo__grace_item *first, axo__grace_item *last);

/* Hands over a block that no new reader can find. Takes no memory. */
void axo__grace_retire_block(axo__grace *grace, axo__grace_block *block);

/* A worker registers as a reader and unregisters; in pairs, on its own thread. */
void axo__grace_enter(void);
void axo__grace_leave(void);

/* The worker declares that it holds nothing that it has read before: once a turn. */
void axo__grace_quiet(void);

/* Around every wait of a worker: a grace period does not wait for an offline worker. */
void axo__grace_offline(void);
void axo__grace_online(void);

/* Waits until each worker has been quiescent or offline since this call began. */
void axo__grace_wait(void);

#endif
