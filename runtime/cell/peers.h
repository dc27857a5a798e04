/* peers.h - the nodes beside this one: whose number is whose, who stands in for an actor of theirs,
 * and what the system asks of its carrier (remote.h).
 *
 * A reference's upper 8 bits are its node's number; 0 is here. No cell of this system has another
 * one in its reference, so a look-up in the table of cells finds nobody, and only then is a peer
 * looked for. Each node that is known has an actor that stands in for it, a child of /system: its
 * lane takes the watches of the node's actors, its end answers them, and it watches actors here for
 * the node (system/peer.c).
 *
 *   FREE -> RESERVED -> UP -> LOST -> RESERVED ...    under the mutex; RESERVED -> FREE: no memory
 *
 *   UP       `stand_in` is its actor; what comes from the node is delivered
 *   LOST     `stand_in` is 0. The number is given anew only when there is no other, to the one that
 *            was lost first, and not before its stand-in has ended
 *
 * Orders
 *   [R1] store release / load acquire, stand_in   who finds the reference finds the actor born
 */
#ifndef AXO__CELL_PEERS_H
#define AXO__CELL_PEERS_H

#include <axo/remote.h>

#include "base/way.h"
#include "cell/core.h"

#define AXO__NODE_SHIFT 56
#define AXO__NODE_BITS  (UINT64_MAX << AXO__NODE_SHIFT)

typedef enum axo__peer_state {
    AXO__PEER_FREE = 0,
    AXO__PEER_RESERVED = 1, /* a thread makes its stand-in */
    AXO__PEER_UP = 2,
    AXO__PEER_LOST = 3
} axo__peer_state;

typedef struct axo__peer {
    axo__a64 stand_in;   /* bits of its reference; 0: nobody stands in */
    axo__way *targets;   /* the stand-in's runner: super/far.h */
    uint32_t number;     /* fixed */
    axo__peer_state state; /* this and what follows: guarded by the mutex */
    axo_node node;
    axo_ref last;        /* the stand-in that there is or was */
    uint64_t lost;       /* how many losses there had been with it */
} axo__peer;

typedef struct axo__peers {
    axo_remote remote;   /* fixed, as `user` */
    void *user;
    axo__os_mutex mutex;
    uint64_t losses;     /* guarded by it */
    axo__peer of[AXO_NODES_MAX]; /* of number 1 and so on */
} axo__peers;

static inline uint32_t axo__ref_node(axo_ref ref)
{
    return (uint32_t)(ref.bits >> AXO__NODE_SHIFT);
}

/* The peer of a number; NULL: no node can have it, or the system has no carrier. */
static inline axo__peer *axo__peer_of(const axo__core *core, uint32_t number)
{
    if (core->peers == NULL || number == 0 || number > AXO_NODES_MAX)
        return NULL;
    return &core->peers->of[number - 1];
}

/* The stand-in of a node that is up; none: there is no such node. */
static inline axo_ref axo__peer_stand_in(const axo__peer *peer)
{
    return (axo_ref){.bits = axo__a64_load_acquire(&peer->stand_in)}; /* [R1] */
}

/* The cell of the living stand-in for an actor of another node; NULL: the reference is of no node
 * that is up. For who may look references up. */
static inline axo__cell *axo__peer_find(const axo__core *core, axo_ref ref)
{
    const axo__peer *peer = axo__peer_of(core, axo__ref_node(ref));
    return peer != NULL ? axo__table_find(&core->table, axo__peer_stand_in(peer)) : NULL;
}

/* Whether the reference is of a node that is up. */
static inline bool axo__peer_is_up(const axo__core *core, axo_ref ref)
{
    const axo__peer *peer = axo__peer_of(core, axo__ref_node(ref));
    return peer != NULL && !axo_ref_is_none(axo__peer_stand_in(peer));
}

/* At boot and at the end. NULL: no memory, or no mutex. The table is a copy of the program's. */
axo__peers *axo__peers_make(axo__heap *heap, const axo_remote *remote, void *user);
void axo__peers_free(axo__heap *heap, axo__peers *peers);

/* Has a number for the node: AXO_OK and *peer is RESERVED, or is UP already; else as
 * axo_remote_add. */
axo_status axo__peers_reserve(axo__core *core, const axo_node *node, axo__peer **peer);

/* Ends the reservation: with its stand-in, or with none, if it could not be made. */
void axo__peers_settle(axo__core *core, axo__peer *peer, axo_ref stand_in);

/* The node of this stand-in is lost. false: another thread has lost it before. */
bool axo__peers_lose(axo__core *core, axo__peer *peer, axo_ref stand_in);

/* Which node has a number: AXO_OK, AXO_EGONE (lost), AXO_EINVAL. */
axo_status axo__peers_node(const axo__core *core, uint32_t number, axo_node *node);

/* The number of a node for a reference: 0, or that of a peer, UP or LOST, or AXO_NODE_NOBODY. */
uint32_t axo__peers_number(const axo__core *core, const axo_node *node);

/* ---- what the carrier is asked. The caller holds no lock ---- */

/* A message whose receiver is not of this system, or has gone. AXO_OK: it is taken, as a copy, and
 * the caller counts and frees it. AXO_EGONE: it reaches nobody; for a reference of here the only
 * other answer. AXO_EFULL, AXO_ENOMEM, AXO_ETOOBIG: nothing has happened. */
axo_status axo__peers_send(const axo__core *core, const axo__message *message, axo_ref to);
axo_status axo__peers_stop(const axo__core *core, axo_ref to);
void axo__peers_watch(const axo__core *core, axo_ref target, bool watched);
void axo__peers_ended(const axo__core *core, uint32_t number, const axo_terminated *end);
void axo__peers_lost(const axo__core *core, uint32_t number);

#endif
