/* grains.h - nodes with grains, a store and a network in one simulated program: what the files of
 * grain_sim share.
 *
 *   air.c     calls, answers and messages on their way; the store
 *   node.c    a node: its clock, its grains, the lives that it has begun
 *   watch.c   what must hold of lives and messages, whatever the machine thinks
 *   grain_sim.c   a seed's life: chaos, calm, the end; and the command line
 *
 * All runs on one thread, from one seed and one true time, which no node knows: each has a clock of
 * its own, whose rate changes within the margin. A violation names its rule.
 *
 * Rules
 *   G1  A life begins only where no other life of its key is, in true time; but for those of a
 *       process that was stopped and has not handled a message since.
 *   G2  The fencing numbers of a key's lives rise.
 *   G3  No message is taken by a life, and none is finished, when a later life has begun; but for
 *       one whose process was stopped within its handler.
 *   G4  A message is handled once at most, by a life of its key.
 *   G5  It is in one place: at a node, on its way, handled, told as dead, or lost by the network or
 *       with its node; at the end in one of the last four.
 *   G6  In the calm each key answers each node.
 *   G7  Then, when all are idle, nothing is left: no life, no record, no claim, no block.
 *   G8  A handler or an end that takes no longer than it may is over before the lease is.
 */
#ifndef GRAIN_SIM_H
#define GRAIN_SIM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "grain.h"

#define NODES_MAX  5
#define KEYS       6
#define LEASES     96   /* incarnations of a seed */
#define MESSAGES   8192 /* of a seed */
#define FLYING     2048
#define SIM_MS     INT64_C(1000000)
#define DRIFT_PPM  80000
#define LEASE_NS   (1000 * SIM_MS)

/* What a seed has met; with many seeds each has to have been met. */
#define PROBE_LIST(X)                                                                              \
    X(life) X(handled) X(idle) X(moved) X(lapsed) X(ended_itself) X(unborn) X(fenced)              \
    X(fence_refused) X(taken_over) X(own_claim_again) X(claim_refused) X(released) X(expired)      \
    X(carried_out_twice) X(carried_out_late) X(answer_lost) X(answer_failed) X(cut_from_store)     \
    X(sent_on) X(sent_to_holder) X(came_back) X(parcel_lost) X(dead_timeout) X(dead_gone)          \
    X(dead_limit) X(refused_full) X(refused_limit) X(refused_memory) X(killed) X(booted)           \
    X(stopped) X(stopped_in_handler) X(woke_and_took_nothing) X(woke_and_took) X(left)             \
    X(fenced_while_stopped) X(suspected) X(waited_for_next_life) X(given_back) X(left_behind)
#define PROBE_ENUM(name) PROBE_##name,
typedef enum probe { PROBE_LIST(PROBE_ENUM) PROBES } probe;
#undef PROBE_ENUM

typedef struct world world;

/* A life as its node has it. */
typedef struct life {
    bool there;
    bool ready;
    bool ending;
    bool handles;
    bool torn;            /* its process was stopped within the handler or the end */
    bool late;            /* its process was stopped, and it has taken nothing since */
    uint32_t message;     /* with `handles` */
    int64_t busy_until;   /* true time: of a handler, a pause, or the end */
    int64_t lease_until;  /* by the node's clock: of the handler's lease when it was taken */
    uint64_t fence;
    cluster_grain *grain;
} life;

typedef struct node {
    world *w;
    uint32_t index;
    bool alive;
    bool leaving;
    uint64_t incarnation;
    int64_t stopped_until; /* true time; 0: it runs */
    int64_t true_base;     /* of its clock */
    int64_t local_base;
    int64_t ppm;
    cluster_grains grains;
    int64_t blocks;
    life lives[KEYS];
} node;

typedef enum where { NOWHERE, AT_NODE, FLIES, HANDLED, DEAD, LOST } where;

typedef struct message {
    where is;
    uint32_t node;        /* AT_NODE */
    uint32_t key;
    bool back;            /* a life has given it back */
} message;

typedef enum flying_kind { GET, PUT, REMOVE, ANSWER, PARCEL, BACK } flying_kind;

typedef struct flying {
    flying_kind kind;
    int64_t due;
    uint32_t node;        /* that has asked, or gets it */
    uint64_t incarnation; /* of that */
    uint64_t ask;
    uint64_t lease;       /* the key: an incarnation; 0: the claim of `key` */
    uint32_t key;
    uint64_t revision;
    cluster_lease_holder holder;
    cluster_store_answer answer;
    cluster_store_record record;
    cluster_parcel parcel;
    uint32_t message;
} flying;

typedef struct kept_lease {
    uint64_t incarnation;
    cluster_store_record record;
    int64_t written_at;
} kept_lease;

struct world {
    uint64_t seed;
    axo__random chance;
    int64_t now;          /* true time */
    bool calm;
    bool ends;            /* what is dropped now is no report */
    bool violated;
    bool expires;         /* the store forgets leases that are not renewed */
    uint32_t slow;        /* a node that has its answers late, if there is one of that number */
    uint32_t hot;         /* so many of 1000 messages are to one key */
    uint32_t loss, late, repeat, fail, refuse; /* in 1000 */
    uint32_t nodes_count;
    cluster_grain_settings settings;
    node nodes[NODES_MAX];
    bool cut[NODES_MAX][NODES_MAX];
    bool cut_store[NODES_MAX];
    uint64_t incarnations;
    uint64_t revision;    /* the store's last */
    cluster_store_record claims[KEYS];
    kept_lease leases[LEASES];
    uint64_t top[KEYS];   /* the highest fencing number that has begun */
    message messages[MESSAGES];
    uint32_t messages_count;
    flying air[FLYING];
    uint32_t air_count;
    uint64_t met[PROBES];
};

#define HOLDS(w, number, condition, ...)                                                           \
    do {                                                                                           \
        if (!(condition) && !(w)->violated) {                                                      \
            (w)->violated = true;                                                                  \
            printf("seed %llu: G%d: at %.6f ms: ", (unsigned long long)(w)->seed, number,          \
                   (double)(w)->now / (double)SIM_MS);                                             \
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

static inline int64_t chance_ns(world *w, int64_t most)
{
    return (int64_t)(((axo__random_next(&w->chance) >> 32) * (uint64_t)most) >> 32);
}

/* ---- air.c ---- */
extern const cluster_store air_store;
void air_forward(void *user, uint64_t to, const cluster_parcel *parcel, bool back);
/* Carries out and delivers what is due. */
void air_run(world *w);
int64_t air_due(const world *w);
/* A store that forgets: leases only, and not before their time is over by any clock. */
void air_expire(world *w);

/* ---- node.c ---- */
void node_boot(world *w, uint32_t index);
void node_halt(node *n);
void node_stop(node *n, int64_t for_ns);
void node_wake(node *n);
/* Looks whether the other is there, or just thinks that it is not. */
void node_looks(node *n, uint32_t other, bool suspects);
void node_leaves(node *n);
/* The number of the message; 0: refused. */
uint32_t node_send(node *n, uint32_t key);
void node_answer(node *n, const flying *it);
void node_parcel(node *n, const flying *it);
/* Does what is due by now: of the machine and of lives. */
void node_run(node *n);
int64_t node_due(const node *n);
int64_t node_clock(const node *n);
void node_turns_rate(node *n);
uint64_t node_name(uint32_t index);
void node_key(cluster_grain_name *name, uint32_t key);
static inline bool node_runs(const node *n)
{
    return n->alive && n->stopped_until == 0;
}

/* ---- watch.c ---- */
void watch_begin(node *n, uint32_t key, uint64_t fence);
void watch_take(node *n, uint32_t key, const cluster_parcel *parcel, uint32_t number);
void watch_finish(node *n, uint32_t key);
void watch_dead(node *n, uint32_t number, axo_status why);
void watch_gone(node *n);
void watch_end(world *w);

#endif
