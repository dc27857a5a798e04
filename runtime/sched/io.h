/* io.h - descriptors that actors watch: the records, and how a readiness becomes a message.
 *
 * A watch is a record; its number and its generation are the cookie that the operating system gives
 * back with each readiness. Records are never freed before the system ends, so a cookie that comes
 * late finds a record, and by its generation learns that the watch is over.
 *
 * One word of the record has the generation, what the descriptor is ready for, what the actor wants
 * to hear of, and whether a message is on its way. So each step is one compare-and-swap that also
 * says that the watch still lives:
 *
 *   found     the kernel's edge: ready |= events. If something that is wanted is ready and no
 *             message is on its way, QUEUED is set, and who has set it sends the message
 *   come      the message comes up: what is ready and wanted goes into its payload, and is not
 *             ready any more; QUEUED stays
 *   handled   the handler is done: what it was given and has not called blocked is looked at once
 *             more (ready |=); if something wanted is ready the same message is sent again, else
 *             QUEUED is cleared
 *   want      changes what is wanted; as found
 *   end       the generation goes on; the word is 0
 *
 * Invariants
 *   I1  A living watch with something wanted that is ready has QUEUED.
 *   I2  QUEUED: one message with the watch's cookie exists, or STARVED is set, and then the number
 *       of starved watches is not 0, and somebody looks within AXO__IO_RETRY_NS.
 *   I3  No message is seen whose cookie is not the word's generation.
 *   I4  While descriptors are watched, a worker of the default pool is the poller (sched/poller.h),
 *       or is awake: it looks by the clock, or becomes the poller when it parks.
 *
 * A descriptor that was closed without unwatch is one the kernel has forgotten. When its number is
 * opened and watched again, the older record is LOST: it is told of nothing more, and its end
 * neither takes the newer descriptor out of the set nor closes it.
 *
 * Orders
 *   [I1] cas acq_rel, word                 the steps above
 *   [I2] store release / load acquire, chunks   publishes a chunk of zeroed records
 *   [I3] store release / load acquire, sched->io   publishes the whole
 *   [I4] add / load seq_cst, watched       the first watch, against a worker that parks: that
 *                                          worker becomes the poller, or the watch finds it in
 *                                          `parked`
 *   [I5] cas/xchg acq_rel, poller          one thread at a time has `found` of the set; a worker
 *                                          that could not become the poller because the spare
 *                                          was says so, and the spare wakes one (I4)
 *   [I6] add / load seq_cst, starved       a starved watch, against a worker that parks as the
 *                                          poller: it sleeps for a short time, or is woken
 */
#ifndef AXO__SCHED_IO_H
#define AXO__SCHED_IO_H

#include "os/poll.h"
#include "sched/pool.h"

#define AXO__IO_CHUNKS 18
/* Records of the first chunk; each chunk has twice as many as the one before. */
#define AXO__IO_CHUNK_MIN 64

/* Who waits, or looks. */
enum {
    AXO__POLLER_NONE = 0,
    AXO__POLLER_WORKER = 1, /* a worker, or the host: awake when it is done */
    AXO__POLLER_SPARE = 2,  /* the spare, which does not park for work */
    AXO__POLLER_MISSED = 3  /* the spare, and a worker has parked meanwhile */
};

/* A watch. */
typedef struct axo__io_record {
    axo__a64 word;
    axo__a64 owner;   /* the actor's reference */
    struct axo__io_record *next; /* of the instance; the runner's, as the rest */
    struct axo__io_record *before;
    int fd;
    uint32_t slot;
    uint32_t flags;
    uint32_t given;   /* what the running handler was told, and has not called blocked */
    bool out;         /* the set tells of room to write */
    uint32_t free_next; /* a slot + 1; guarded by the mutex */
} axo__io_record;

/* All watches of a system. */
typedef struct axo__io {
    axo__os_poll poll;
    axo__core *core;
    axo__os_mutex mutex;   /* guards the next four, and what is in the set */
    uint32_t made;         /* records that there are */
    uint32_t free;         /* the first free one's slot + 1 */
    uint32_t *table;       /* of each descriptor its record's slot + 1; 0: not watched */
    uint32_t table_room;
    axo__aptr chunks[AXO__IO_CHUNKS];
    axo__a32 watched;      /* watches that live */
    axo__a32 starved;      /* watches whose message found no memory */
    axo__a32 poller;       /* AXO__POLLER_ */
    axo__a64 polls;        /* these two: by who has `poller`; everybody may read them */
    axo__a64 events;       /* found by polls */
} axo__io;

/* The watches of the system, made if need be; NULL: *status says why. */
axo__io *axo__io_take(axo__core *core, axo_status *status);

/* The same, if they were made. */
static inline axo__io *axo__io_of(const axo__sched *sched)
{
    return axo__aptr_load_acquire(&sched->io); /* [I3] */
}

/* Whether a readiness has found no memory for its message. */
static inline bool axo__io_is_starved(const axo__sched *sched)
{
    const axo__io *io = axo__io_of(sched);
    return io != NULL && axo__a32_load_seq_cst(&io->starved) != 0; /* [I6] */
}

/* Frees them; no worker runs. */
void axo__io_free(axo__sched *sched);

/* ---- by the cell's runner ---- */

/* Statuses as the functions of <axo/io.h>; the arguments are checked. */
axo_status axo__io_watch(axo__worker *worker, axo__cell *cell, int fd, uint32_t events,
                         uint32_t flags);
axo_status axo__io_unwatch(axo__worker *worker, axo__cell *cell, int fd);
axo_status axo__io_want(axo__worker *worker, axo__cell *cell, int fd, uint32_t events);
axo_status axo__io_blocked(axo__worker *worker, axo__cell *cell, int fd, uint32_t events);

/* The instance ends: every watch ends, and what it owns is closed. */
void axo__io_end_all(axo__worker *worker, axo__cell *cell);

/* The message is the cell's next one: true, it is to be handled; false: it was stale or has nothing
 * to tell, and is freed. */
bool axo__io_come(axo__worker *worker, axo__cell *cell, axo__message *message);

/* The message was handled. true: it has been sent again; `keep`: it may not, as it is the message
 * under which the actor fails. */
bool axo__io_handled(axo__worker *worker, axo__cell *cell, axo__message *message, bool keep);

/* ---- by who has waited ---- */

/* Sends what the set has found. */
void axo__io_found(axo__worker *worker, axo__io *io);

/* Tries again to send what has found no memory. */
void axo__io_feed(axo__worker *worker, axo__io *io);

#endif
