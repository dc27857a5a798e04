/* remote.h - nodes in one simulated program: what the files of remote_sim share.
 *
 *   net.c     frames on their way: lost, repeated, late, out of order; pairs of nodes that are cut
 *   node.c    a node: a system, a link to each other node, and the carrier between the two
 *   actors.c  its actors, what they are told to do, and the ghost: what each must and must not get
 *   remote_sim.c   a seed's life: chaos, calm, the end; and the command line
 *
 * All runs on one thread, from one seed and one clock; a violation names its invariant.
 *
 * Invariants
 *   R1  A message comes at most once, and the messages of a pair in their order.
 *   R2  It comes to the one that was meant, never to another life of the slot or the node.
 *   R3  Its sender is named by a reference that leads to the sender.
 *   R4  Nothing comes of one whose end was told, nor of a node's incarnation that is lost.
 *   R5  A notice answers a watch that there is, and each watch is answered once.
 *   R6  It says "ended" of what has ended, "lost" of what this node has lost or never knew.
 *   R7  In the calm each watch of what has ended, or is lost, has been answered.
 *   R8  A stop that was taken has ended its actor, unless the link was lost.
 *   R9  System messages come in their order, none twice, none left out while the link lives.
 *   R10 sent = handled + dead + dropped; no block is left.
 */
#ifndef REMOTE_SIM_H
#define REMOTE_SIM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "base/random.h"
#include "link.h"

#define NODES     3
#define ACTORS    5   /* of a node at a time */
#define UIDS      256 /* actors of a seed */
#define FLYING    4096
#define BODY_MAX  192
#define REMOTE_MS INT64_C(1000000)

/* What a seed has met; with many seeds each has to have been met. */
#define PROBE_LIST(X)                                                                              \
    X(system_again) X(frame_lost) X(frame_repeated) X(frame_overtaken) X(frame_cut)                \
    X(frame_of_old) X(resent) X(system_refused) X(quarantined) X(gave_up) X(node_died)             \
    X(node_came_back) X(message) X(message_to_old) X(watch_far) X(notice_ended) X(notice_lost)     \
    X(unwatched) X(stop_taken) X(killed) X(poisoned) X(third_node) X(delivered_late)
#define PROBE_ENUM(name) PROBE_##name,
typedef enum probe { PROBE_LIST(PROBE_ENUM) PROBES } probe;
#undef PROBE_ENUM

typedef struct world world;
typedef struct node node;

/* The link to another node, as it is known here. */
typedef struct peer {
    node *home;
    uint32_t other;       /* its index */
    bool linked;
    uint32_t number;      /* axo_remote_add's */
    axo_node is;
    cluster_link link;
    uint64_t ordered;     /* system messages that were sent by this link, for R9 */
    uint64_t came;        /* and taken */
} peer;

struct node {
    world *w;
    uint32_t index;
    bool alive;
    axo_node is;
    axo_system *system;
    peer peers[NODES];
    uint32_t actors[ACTORS]; /* uids; 0: none */
    uint64_t blocks;      /* of its links */
};

/* What is known of an actor, whatever becomes of it. */
typedef struct ghost {
    node *home;
    uint64_t incarnation;
    axo_ref ref;          /* at home */
    bool ended;
    uint32_t stopped_by;  /* a node whose stop was taken, and its incarnation; 0: none */
    uint64_t stopped_incarnation;
} ghost;

/* What an actor has to do with another. */
typedef struct pair {
    uint32_t sent;
    uint32_t got;
    axo_ref watched;      /* none: it is not */
    bool told;            /* of its end */
} pair;

typedef struct flying {
    int64_t due;
    uint64_t order;
    uint32_t from, to;    /* nodes */
    cluster_frame frame;
    unsigned char body[BODY_MAX];
} flying;

struct world {
    uint64_t seed;
    axo__random chance;
    int64_t now;
    bool calm;
    uint32_t loss, repeat, late, reorder, refuse; /* in 1000 */
    bool cut[NODES][NODES];
    uint64_t incarnations;
    node nodes[NODES];
    uint32_t uids;        /* the next */
    ghost ghosts[UIDS];
    pair pairs[UIDS][UIDS];
    flying *air;
    uint32_t air_count;
    uint64_t air_order;
    bool violated;
    uint64_t hash;        /* of all frames that were sent */
    uint64_t met[PROBES];
};

#define HOLDS(w, number, condition, ...)                                                           \
    do {                                                                                           \
        if (!(condition) && !(w)->violated) {                                                      \
            (w)->violated = true;                                                                  \
            printf("seed %llu: R%d: ", (unsigned long long)(w)->seed, number);                     \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

static inline uint32_t chance_below(world *w, uint32_t bound)
{
    return axo__random_below(&w->chance, bound);
}

/* Whether what happens `of` times in 1000 does now. */
static inline bool chance_of(world *w, uint32_t of)
{
    return !w->calm && chance_below(w, 1000) < of;
}

/* ---- net.c ---- */
void net_put(world *w, uint32_t from, uint32_t to, const cluster_frame *frame);
/* Delivers what is due; the time of the next; INT64_MAX: there is none. */
int64_t net_run(world *w);

/* ---- node.c ---- */
void node_boot(world *w, uint32_t index);
void node_halt(node *n);
/* Learns who is there. */
void node_looks(node *n, uint32_t other);
void node_receive(node *n, uint32_t from, const cluster_frame *frame);
void node_run(node *n);
void node_step(node *n);
void node_beat(node *n);
int64_t node_due(const node *n);
/* The peer of a number; NULL: it has none by now. */
peer *node_peer(node *n, uint32_t number);

/* ---- actors.c ---- */
void actors_spawn(node *n, uint32_t place);
void actors_act(world *w);
/* The reference of an actor as the node names it. */
axo_ref actors_ref(const node *n, uint32_t uid);
void actors_of_dead(node *n);
/* R7 and R8; `all`: every node is lost by every other. */
void actors_check(world *w, bool all);

#endif
