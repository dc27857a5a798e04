/* grain.h - actors that are there by name, one life of a name at a time in the whole cluster: a
 * state machine without sockets, threads and clock.
 *
 * Whoever has one brings messages and the store's answers in, carries out what it asks for, calls
 * it by one thread at a time and tells it the time (lease.h says which clock, and when it is read).
 * A message goes to the node that the hash gives (rendezvous.h). That one claims the name in the
 * store (store.h) under its own lease (lease.h), begins a life and hands it one message after the
 * other.
 *
 *                .-------------------------------- messages, or a move ----------------------.
 *                v                                                                            |
 *   WAITING -> READING -> CLAIMING -> LIVE -> ENDING -> RELEASING -> (no record, or READING) -'
 *      ^         |  ^
 *      |         v  |  the claim is another's
 *      '------ LOOKING -> FENCING
 *
 *   WAITING    until retry_at: the lease, the store, the claim or the owner is not to be had
 *   READING    whose the claim is: nobody's, this node's (of a lost term, or of a call whose answer
 *              was lost), another's
 *   LOOKING    at the lease of the other. If it is there, the messages are sent on to its node
 *   FENCING    it is not renewed: it is removed, so that it never can be
 *   CLAIMING   by the revision that was read: of all that read it one can
 *   LIVE       with a fencing number, the revision of its claim: each life of a name has a higher
 *              one than all lives before it. What it writes to can refuse a number below one that
 *              it has seen, if each life writes there as it begins
 *   ENDING     it has been idle, its node owns the name no more, or has lost the lease
 *   RELEASING  the claim is removed, unless the lease is lost, by which it is nobody's
 *
 * A name without a record has no message and no life here, and takes no memory.
 *
 * Invariants
 *   I1  At most one life of a name handles at a time, in all nodes, with lease.h's exceptions:
 *       `take` gives nothing unless the lease covers a handler, a claim is taken over only behind
 *       its holder's lease, and is released only behind its life.
 *   I2  The fencing numbers of the lives of a name rise.
 *   I3  A message that was accepted is taken once, or sent on once, or told as dead once, or waits;
 *       accepted = taken + forwarded + dead + waiting.
 *   I4  A message that was refused has changed nothing.
 *   I5  A message is sent on `hops_max` times at most, then goes back to the node where it was
 *       sent, which tries again `tries_max` times. For a life it waits for `give_up_ns` at most at
 *       each node.
 *   I6  A life that was begun is ended: `end` is asked once, unless it ended by itself.
 *   I7  An answer changes something only if it answers the last call of the record's present state.
 *   I8  At most `grains_max` records and `messages_max` messages of `body_max` bytes are kept, and
 *       one of each life that was given back.
 *
 * Promised    At most once. In order between one sender and one name while the route stays; a
 *             message that comes back, or moves, may be overtaken.
 * Left over   The claims of a node that died lie in the store until somebody wants their names; its
 *             lease until somebody wants one of them.
 * Rejected    A lease for each name: see lease.h. A directory in memory, as other systems have it:
 *             two of them at the time of a cut, so two lives.
 * Checked by  test/schedules/grain (make grain-sim), test/unit/cluster/grain_test.c
 */
#ifndef CLUSTER_GRAIN_H
#define CLUSTER_GRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/status.h>

#include "lease.h"
#include "rendezvous.h"
#include "store.h"

#define CLUSTER_GRAIN_KEY_MAX 64

/* A grain's name: its kind by a number that all nodes know, and its key. */
struct cluster_grain_name {
    uint32_t kind;
    uint32_t size; /* 1 to CLUSTER_GRAIN_KEY_MAX */
    unsigned char key[CLUSTER_GRAIN_KEY_MAX];
};

typedef struct cluster_parcel {
    cluster_grain_name name;
    uint64_t origin;       /* the node where it was sent; set by cluster_grains_send, as below */
    uint32_t hops;
    uint32_t tries;
    cluster_lease_holder holder; /* whose claim was seen where it was sent on; zeroes: nobody's */
    uint32_t size;         /* of the body */
    const void *body;      /* lives during the call */
} cluster_parcel;

typedef enum cluster_grain_state {
    CLUSTER_GRAIN_WAITING,
    CLUSTER_GRAIN_READING,
    CLUSTER_GRAIN_LOOKING,
    CLUSTER_GRAIN_FENCING,
    CLUSTER_GRAIN_CLAIMING,
    CLUSTER_GRAIN_LIVE,
    CLUSTER_GRAIN_ENDING,
    CLUSTER_GRAIN_RELEASING
} cluster_grain_state;

/* The record of a name: what a life is known by, from `begin` until it has ended. */
typedef struct cluster_grain cluster_grain;

/* What it asks of whoever has it. None of these calls it again, but `begin` cluster_grain_keep. */
typedef struct cluster_grain_ops {
    cluster_store store;
    /* To another node; it may be lost. `back`: it goes to where it was sent. */
    void (*forward)(void *user, uint64_t node, const cluster_parcel *parcel, bool back);
    /* A life begins, within `guard_ns` from now. false: it cannot; nothing has begun. */
    bool (*begin)(void *user, cluster_grain *grain);
    /* There are messages to take. */
    void (*ready)(void *user, cluster_grain *grain);
    /* Behind the handler that runs, if one does, the life is to end, within `guard_ns` from now;
     * then cluster_grain_ended. */
    void (*end)(void *user, cluster_grain *grain);
    /* The message will not be handled: AXO_ETIMEDOUT; AXO_EGONE, too many tries, or no way back;
     * AXO_ESTOPPING; one that has come also for what cluster_grains_send returns. */
    void (*dead)(void *user, const cluster_parcel *parcel, axo_status why);
    void *(*alloc)(void *user, size_t size); /* NULL: no memory */
    void (*free)(void *user, void *block, size_t size);
} cluster_grain_ops;

typedef struct cluster_grain_settings {
    cluster_lease_settings lease;
    int64_t idle_ns;      /* without a message, until a life is ended: cluster_grain_keep */
    int64_t give_up_ns;   /* that a message waits for a life, at one node */
    uint32_t grains_max;
    uint32_t messages_max;
    uint32_t waiting_max; /* messages of one name */
    uint32_t body_max;    /* bytes of a message */
    uint32_t hops_max;
    uint32_t tries_max;
} cluster_grain_settings;

typedef struct cluster_grains {
    const cluster_grain_ops *ops;
    void *user;
    cluster_grain_settings settings;
    uint64_t node;
    uint64_t asks;
    uint64_t lost;         /* terms of the lease of which all grains know */
    cluster_rendezvous up;
    cluster_lease lease;
    cluster_grain **table; /* chains by hash */
    uint32_t mask;
    cluster_grain **heap;  /* by the time when something is due */
    uint32_t count;
    uint32_t lives;        /* LIVE or ENDING */
    uint64_t accepted, taken, forwarded, dead, waiting, refused; /* messages */
} cluster_grains;

/*   returns   AXO_OK; AXO_ENOMEM: nothing is to be freed */
axo_status cluster_grains_init(cluster_grains *all, const cluster_grain_settings *settings,
                               const cluster_grain_ops *ops, void *user, uint64_t node,
                               uint64_t incarnation);

/* Frees all; each message that waits is told as dead. Lives are not ended by it. */
void cluster_grains_fini(cluster_grains *all);

/* A node is up, in this life (this one, too: without it this one owns nothing), or down. What this
 * one owns no more is moved. Of this one: down is how it leaves; when `count` is 0 it has left.
 *   returns   AXO_OK, AXO_ELIMIT: there are CLUSTER_RENDEZVOUS_MAX */
axo_status cluster_grains_up(cluster_grains *all, int64_t now, uint64_t node, uint64_t incarnation);
void cluster_grains_down(cluster_grains *all, int64_t now, uint64_t node);

/* Accepts a message of this node, of which only name, size and body are read.
 *   returns   AXO_OK; AXO_EINVAL: the name; AXO_ETOOBIG: the body; AXO_EFULL, AXO_ELIMIT: there
 *             are waiting_max of the name, messages_max or grains_max; AXO_ENOMEM
 *   after     on failure nothing has changed */
axo_status cluster_grains_send(cluster_grains *all, int64_t now, const cluster_parcel *parcel);

/* A message has come from another node; what cannot be kept is told as dead. */
void cluster_grains_arrive(cluster_grains *all, int64_t now, const cluster_parcel *parcel,
                           bool back);

/* The store has answered. `record` as with cluster_lease_answer. */
void cluster_grains_answer(cluster_grains *all, int64_t now, uint64_t ask,
                           cluster_store_answer answer, const cluster_store_record *record);

/* Does what is due: when cluster_grains_due says so, and when a process goes on. */
void cluster_grains_step(cluster_grains *all, int64_t now);
int64_t cluster_grains_due(const cluster_grains *all);

/* The next message of a life, to be handled now; none while one is. `now` is read for this call:
 * if the lease does not cover a handler the message is not given.
 *   owns      the block is the caller's, who gives it back by cluster_grain_done */
bool cluster_grain_take(cluster_grains *all, int64_t now, cluster_grain *grain,
                        cluster_parcel *parcel);
void cluster_grain_done(cluster_grains *all, int64_t now, cluster_grain *grain);

/* Of a message that was taken no handler has begun, nor will: it waits again, before the others.
 * The block is the caller's no more. */
void cluster_grain_untake(cluster_grains *all, cluster_grain *grain);

/* A life has ended, because `end` was asked or by itself; no handler runs. `grain` is no more. */
void cluster_grain_ended(cluster_grains *all, int64_t now, cluster_grain *grain);

/* From `begin`: what the caller keeps with the life, and how long that may be idle, which is
 * settings.idle_ns without this call. */
void cluster_grain_keep(cluster_grain *grain, void *life, int64_t idle_ns);
/* NULL: there is none, or nothing was kept. */
void *cluster_grain_kept(const cluster_grain *grain);

const cluster_grain_name *cluster_grain_named(const cluster_grain *grain);
cluster_grain_state cluster_grain_is(const cluster_grain *grain);
/* The fencing number of a life. */
uint64_t cluster_grain_fence(const cluster_grain *grain);

/* What must hold of the records at any time; aborts. */
void cluster_grains_check(const cluster_grains *all);

#endif
