/* grace.h - when memory that another thread may still read can be used again.
 *
 * Workers are urcu-qsbr readers: quiescent once a turn, offline while they wait. Outside threads
 * may block for ever between two calls, so they are no readers: each of their calls runs under the
 * gate of a door, and a grace period ends by passing through every door once.
 *
 * Behind a batch the reclaimer naps for AXO__GRACE_NAP_NS: what is retired meanwhile is the next
 * one, and costs who retires it no system call. It sleeps until it is woken only when a nap has
 * brought nothing.
 *
 * A system of lent threads has no reclaimer. Its workers are readers of it, and of no other system,
 * for the length of a visit: a word for each says in which period the reader was last quiescent, or
 * that it is away. Who leaves, or has nothing to do, asks whether the period of the batch that
 * waits is over, and never waits for it.
 *
 * Roles      retire: any worker or door.  step: the reclaimer's thread.  visit, heard, away: the
 *            reader's thread.  poll: any that is no reader now, or is quiescent
 * Progress   retire never waits for readers; the reclaimer does; poll does not.
 * Memory     a retired item is the grace's until `expire` gets it, a block until `give_block` does.
 *
 * Orders
 *   [G1] add acq_rel, period         a poller begins a period, then looks at the readers; a reader
 *                                    stores that it is here, then adds 0: the later one of the two
 *                                    additions reads the other, so the poller sees the reader, or
 *                                    the reader what was unlinked
 *   [G2] load acquire, period        a reader that reads the new period sees what was unlinked
 *   [G3] store release / load acquire, seen   what the reader has read was read before the poller
 *                                    hands it back
 */
#ifndef AXO__MEM_GRACE_H
#define AXO__MEM_GRACE_H

#include <stdbool.h>
#include <stddef.h>

#include "os/os.h"

typedef struct axo__grace_item {
    struct axo__grace_item *next;
} axo__grace_item;

/* What is retired is kept apart by its home, a number below this, so that it comes back to the
 * processor whose cache has it. */
#define AXO__GRACE_HOMES 8

/* The beginning of a block of memory that is given up. */
typedef struct axo__grace_block {
    struct axo__grace_block *next;
    size_t size;
} axo__grace_block;

/* A reader of one system of lent threads. */
typedef struct axo__grace_reader {
    axo__a64 seen; /* the period in which it was last quiescent; 0: it is away */
} axo__grace_reader;

typedef enum axo__grace_how {
    AXO__GRACE_THREAD = 0, /* a reclaimer */
    AXO__GRACE_ALONE = 1,  /* the system has one thread, which calls axo__grace_run */
    AXO__GRACE_POLLED = 2  /* lent threads call axo__grace_poll */
} axo__grace_how;

typedef struct axo__grace_ops {
    /* enters and leaves the gate of every door */
    void (*pass)(void *user);
    /* Takes the items of a home back: no thread can read them any more. */
    void (*expire)(void *user, uint32_t home, axo__grace_item *first, axo__grace_item *last);
    /* Takes a block back: no thread can read it any more. */
    void (*give_block)(void *user, axo__grace_block *block);
    /* joins threads that have ended; true: more threads are about to end. NULL: none to join */
    bool (*reap)(void *user);
    /* THREAD: false: all is about to end; axo__grace_hurry follows what makes it so. NULL: true */
    bool (*naps)(void *user);
    /* POLLED: whether each reader is away or has been quiescent in this period
     * (axo__grace_is_heard); and whether every gate from *door on could be entered and left, *door
     * being the first that could not. */
    bool (*heard)(void *user, uint64_t period);
    bool (*try_pass)(void *user, uint32_t *door);
} axo__grace_ops;

/* What is retired at one time: a batch for one grace period. `any`: a bit for each home that has
 * items. */
typedef struct axo__grace_batch {
    axo__grace_item *items[AXO__GRACE_HOMES];
    axo__grace_item *last[AXO__GRACE_HOMES];
    axo__grace_block *blocks;
    uint32_t any;
} axo__grace_batch;

typedef struct axo__grace {
    axo__os_thread thread;
    axo__os_mutex mutex;                   /* guards the next seven */
    axo__grace_batch retired;              /* since the last period began */
    uint32_t waiting;                      /* batches with items that have not expired */
    uint64_t taken;                        /* batches, ever */
    uint64_t passed;                       /* of them, those whose period is over */
    bool asked;                            /* somebody waits for a period that begins now */
    bool naps;                             /* the reclaimer comes by itself, soon */
    bool quit;
    axo__grace_how how;
    axo__os_mutex poll_mutex;              /* guards the next four, and beginnings of periods */
    axo__grace_batch batch;                /* POLLED: waits for the end of its period */
    bool waits;
    bool heard;                            /* by all readers; now the doors, from `door` on */
    uint32_t door;
    axo__a64 period;                       /* POLLED: the last that has begun; never 0 */
    const axo__grace_ops *ops;
    void *user;
} axo__grace;

/* Whether no item is retired that has not been handed to `expire`. Blocks do not count. */
bool axo__grace_is_idle(axo__grace *grace);

/* Starts the reclaimer, if it has a thread. false: the system refused, and nothing was started. */
bool axo__grace_start(axo__grace *grace, const axo__grace_ops *ops, axo__grace_how how, void *user,
                      const axo__os_common *threads);

/* Makes the reclaimer look for threads to join. */
void axo__grace_wake(axo__grace *grace);

/* What is retired, or will be, is waited for: a nap is over. */
void axo__grace_hurry(axo__grace *grace);

/* Asks for a grace period that begins now, of readers and of doors; and whether that one is over.
 * By any thread; it is the reclaimer, the host or a visitor who brings it about. */
uint64_t axo__grace_ask(axo__grace *grace);
bool axo__grace_has_passed(axo__grace *grace, uint64_t asked);

/* Manual systems: expires what is retired. The caller is the only reader and must be quiescent.
 * false: nothing was retired. */
bool axo__grace_run(axo__grace *grace);

/* POLLED: the reader is here; is quiescent, as axo__grace_quiet; is away. In pairs, on the thread
 * that is the reader for so long. */
void axo__grace_visit(axo__grace *grace, axo__grace_reader *reader);
void axo__grace_heard(axo__grace *grace, axo__grace_reader *reader);
void axo__grace_away(axo__grace_reader *reader);

/* POLLED: whether the reader holds nothing that was retired before the period. */
bool axo__grace_is_heard(const axo__grace_reader *reader, uint64_t period);

/* POLLED: a step towards the end of the batch that waits; without one, what is retired is one. Each
 * reader that leaves calls it when it is away, so a batch that waits for this reader alone does not
 * wait on. `reader`: the caller, quiescent; NULL: it is none. true: something has expired. No lock
 * is held. */
bool axo__grace_poll(axo__grace *grace, axo__grace_reader *reader);

/* Expires what is retired and joins the reclaimer. The caller guarantees that no thread retires any
 * more. */
void axo__grace_stop(axo__grace *grace);

/* Hands over a list of items that no new reader can find; `last` is its end. Takes no memory. */
void axo__grace_retire(axo__grace *grace, uint32_t home, axo__grace_item *first,
                       axo__grace_item *last);

/* Hands over a block that no new reader can find. Takes no memory. */
void axo__grace_retire_block(axo__grace *grace, axo__grace_block *block);

/* A worker registers as a reader and unregisters; in pairs, on its own thread. A thread may be
 * several workers, one inside the other, the outer one offline (axo_block): the inner one is
 * online, and leaves the thread as it has found it. enter returns whether it was offline, leave
 * gets that. */
bool axo__grace_enter(void);
void axo__grace_leave(bool offline);

/* The worker declares that it holds nothing that it has read before: once a turn. */
void axo__grace_quiet(void);

/* Around every wait of a worker: a grace period does not wait for an offline worker. */
void axo__grace_offline(void);
void axo__grace_online(void);

/* Waits until each worker has been quiescent or offline since this call began. */
void axo__grace_wait(void);

#endif
