/* members.h - nodes that look for each other in one simulated program: what the files of member_sim
 * share.
 *
 *   store.c      the store: entries by compare-and-set, leases, watches; it may be away or forget
 *   air.c        what is on its way: heartbeats, puts, answers, the watch; lost, late, cut off
 *   process.c    a process: a member, its clock, its connection to the store; stopped, dead, again
 *   ghost.c      what is known of each incarnation, and whether what a member tells is true
 *   member_sim.c a seed's life: chaos, calm; and the command line
 *
 * All runs on one thread, from one seed and one time that no process knows. A violation names its
 * invariant: those of tools/cluster/member.h, seen from outside, and
 *
 *   I10 What a member says of a node, and of itself at its end, has happened.
 *   I11 Nobody takes the name of one that has put its entry within the lease.
 *   I12 In the calm, after CALM_NS, each name that a process lives of has one that is up; those see
 *       each other up and nobody else, and nothing changes any more.
 */
#ifndef MEMBERS_H
#define MEMBERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "member.h"

#define NAMES     5
#define PLACES    6   /* of processes: one a name, and a second of the first name */
#define LIVES     160 /* incarnations of a seed, from 1 on */
#define FLYING    8192
#define MS        INT64_C(1000000)
#define BEAT_NS   (1000 * MS)
#define LEASE_NS  (9000 * MS)
#define PAUSE_NS  (3000 * MS)
#define CALM_NS   (4 * LEASE_NS)
#define QUIET_NS  (3 * LEASE_NS)

/* What a seed has met; with many seeds each has to have been met. */
#define PROBE_LIST(X)                                                                              \
    X(up) X(up_again) X(left) X(suspected) X(expired) X(replaced) X(evicted) X(lost)               \
    X(over_left) X(over_replaced) X(over_evicted) X(over_minority) X(over_outnumbered)             \
    X(minority) X(majority) X(refused) X(name_taken_over) X(entry_put_again) X(put_unknown)        \
    X(put_taken_unknown) X(removal_refused) X(stopped) X(stopped_for_a_lease) X(died)              \
    X(store_away) X(store_forgot) X(marker_forgotten) X(kept_up_without_store) X(beat_lost)        \
    X(beat_repeated) X(beat_overtaken) X(beat_of_old) X(watch_late) X(dispute) X(left_without_store)
#define PROBE_ENUM(name) PROBE_##name,
typedef enum probe { PROBE_LIST(PROBE_ENUM) PROBES } probe;
#undef PROBE_ENUM

typedef struct world world;

typedef struct process {
    world *w;
    uint32_t place;
    bool alive;
    uint32_t life;           /* its incarnation */
    cluster_member member;
    int64_t offset, rate;    /* its clock: ppm */
    int64_t stopped_until;
    int64_t halted;          /* the time of its stops */
    uint32_t stops;
    bool told_over;
    cluster_why over;
    int64_t over_at;
    cluster_store_state store; /* as the member was told */
    uint64_t watch;          /* what comes of a former one is dropped */
    bool watch_broken;       /* which is not noticed yet */
    int64_t notice_at;       /* that it is, or that the store is cut off */
    int64_t connect_at;
    int64_t watched_until;   /* events come in their order */
    uint64_t put;            /* under way; 0: none */
    int64_t put_until;
} process;

/* What is true of an incarnation. */
typedef struct ghost {
    uint32_t name;
    uint32_t place;
    bool asked_to_leave;
    bool was_up;             /* its entry said so */
    bool lapsed;             /* a lease went by between two of its puts */
    bool removed;
    bool followed;           /* another had the name behind it */
    int64_t written;         /* when the store last took a put of it; 0: never */
    uint64_t revision;       /* then */
    uint64_t beats;
} ghost;

/* What one incarnation was told, or has said, of another. */
typedef struct view {
    bool up, down;
    bool evicted;            /* the store took its removal */
    bool lost;               /* told so by the link */
    int64_t down_at;
    int64_t heard_at;        /* with what the process had been stopped by then */
    int64_t heard_halted;
    uint32_t heard_stops;
    uint64_t number;
} view;

typedef enum flying_kind {
    FLY_BEAT, FLY_LOST, FLY_PUT, FLY_REMOVE, FLY_ANSWER, FLY_ENTRY, FLY_GONE, FLY_LISTED
} flying_kind;

typedef struct flying {
    int64_t due;
    uint64_t order;
    flying_kind kind;
    uint32_t from, to;       /* places; PLACES: the store */
    uint32_t from_life, to_life; /* to_life 0: whoever is there */
    uint64_t number;         /* of a beat, a put, a watch */
    cluster_entry entry;
    cluster_answer answer;
    cluster_gone how;
    bool none;               /* ANSWER: no entry with it */
} flying;

typedef struct record {
    bool present;
    bool marked;             /* its removal is known */
    cluster_entry entry;     /* or of the removal the name and the revision */
    int64_t written;
} record;

struct world {
    uint64_t seed;
    axo__random chance;
    int64_t now;
    bool calm;
    uint32_t names;
    uint32_t loss, repeat, late, watch_late; /* in 1000 */
    bool quarantines;        /* links tell the other side that it is down here */
    bool expiry_told;
    int64_t expiry_late;     /* the store's own clock of leases is */
    const char *seeds[NAMES];
    cluster_member_settings settings;
    bool cut[PLACES + 1][PLACES + 1]; /* from, to; PLACES: the store */
    process processes[PLACES];
    uint32_t lives;          /* the next */
    ghost of[LIVES];
    view views[LIVES][LIVES];
    record records[NAMES];
    uint64_t revision;
    bool store_down;
    bool forgot;
    uint64_t puts;
    flying *air;
    uint32_t air_count;
    uint64_t air_order;
    int64_t changed;         /* when a member last told anything */
    int64_t calm_at;
    int64_t settled;         /* the longest time until nothing changed, of all seeds */
    bool violated;
    uint64_t met[PROBES];
};

#define HOLDS(w, number, condition, ...)                                                           \
    do {                                                                                           \
        if (!(condition) && !(w)->violated) {                                                      \
            (w)->violated = true;                                                                  \
            printf("seed %llu, %.3f s: I%d: ", (unsigned long long)(w)->seed,                      \
                   (double)(w)->now / 1e9, number);                                                \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

/* MEMBER_SIM_SAY=1 in the environment: what happens, line by line. */
extern bool members_say;
#define SAY(w, ...)                                                                                \
    do {                                                                                           \
        if (members_say) {                                                                         \
            printf("%9.3f ", (double)(w)->now / 1e9);                                              \
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

/* The place's name, by its number. */
static inline uint32_t name_of(uint32_t place)
{
    return place < NAMES ? place : 0;
}

static inline uint32_t name_number(const axo_node *node)
{
    return (uint32_t)(node->name[1] - '0');
}

/* ---- store.c */
void store_take_put(world *w, const flying *it);
void store_take_removal(world *w, const flying *it);
void store_expire(world *w);
/* Goes away, and is back; it may have lost everything then. */
void store_fail(world *w);
void store_return(world *w, bool forgets);
/* Sends a new watch what is there. */
void store_list(world *w, process *p);

/* ---- air.c */
void air_put(world *w, const flying *it, int64_t after);
void air_run(world *w);
/* Nothing is on its way to or from the store any more. */
void air_forget(world *w);

/* ---- process.c */
void process_boot(world *w, uint32_t place);
void process_die(process *p);
void process_stop(process *p, int64_t for_ns);
bool process_runs(const process *p);
int64_t process_clock(process *p);
void process_receive(process *p, const flying *it);
/* The connection to the store is broken, or cut off; it notices later. */
void process_break(process *p, bool broken);
void process_run(process *p);
void process_leave(process *p);

/* ---- ghost.c */
void ghost_born(world *w, process *p);
void ghost_heard(process *p, uint32_t life, uint64_t number);
void ghost_up(process *p, const axo_node *node);
void ghost_down(process *p, const axo_node *node, cluster_why why);
void ghost_over(process *p, cluster_why why);
/* A put that was taken; whose entry was there before, 0: nobody's. */
void ghost_put(world *w, uint32_t life, const cluster_entry *entry, uint32_t before);
/* A removal that was taken. */
void ghost_removed(world *w, uint32_t by, const cluster_entry *entry);
/* I12 */
void ghost_calm(world *w);

#endif
