/* hierarchy.h - the hierarchy stress test: a random tree whose actors fail in every way (SX).
 *
 * A warden above the tree sends work items to random nodes: half are pings, a quarter fails with
 * Restart, a quarter with Resume. Each failure carries small counters: escalate so many levels,
 * fail in pre_restart, post_restart, construct and pre_start, stop some children. Nodes watch
 * their children and make them anew, with the same name. Every node checks itself; when all items
 * are through, the warden pings until a whole round has passed in which nothing moved.
 *
 * One seed gives the same tree, the same items and the same sizes, not the same schedule.
 */
#ifndef TEST_SUPPORT_HIERARCHY_H
#define TEST_SUPPORT_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <axo/axo.h>

enum { HIERARCHY_ACTORS = 500, HIERARCHY_ITEMS = 500000, HIERARCHY_ENTRIES = 13 };

/* Which runs record events; without a recorder the runtime takes its short cuts. */
typedef enum hierarchy_record {
    HIERARCHY_DRAWN = 0, /* three seeds in four record */
    HIERARCHY_RECORDS = 1,
    HIERARCHY_BLIND = 2
} hierarchy_record;

/* Which dispatchers the nodes are on. */
typedef enum hierarchy_dispatch {
    HIERARCHY_PLAIN = 0, /* the default one */
    HIERARCHY_MIXED = 1  /* default, blocking, host, and some pinned */
} hierarchy_dispatch;

typedef struct hierarchy_options {
    uint64_t seed;
    uint32_t actors;         /* 0: HIERARCHY_ACTORS */
    uint32_t items;          /* 0: HIERARCHY_ITEMS */
    uint32_t workers;        /* 0: drawn, 1..4 */
    hierarchy_record record;
    hierarchy_dispatch dispatch;
    uint32_t plant;          /* not 0: the node that gets this item, from 1, reports a breach */
    FILE *out;               /* where breaches are reported; NULL: stdout */
} hierarchy_options;

/* How often each thing happened. */
typedef struct hierarchy_counts {
    uint64_t pings;
    uint64_t constructs;
    uint64_t undone;          /* instances whose region has ended */
    uint64_t pre_restarts;
    uint64_t post_restarts;
    uint64_t post_stops;
    uint64_t decisions;
    uint64_t escalations;
    uint64_t stops;           /* Stop by a deep actor */
    uint64_t warden_decisions;
    uint64_t pre_failed;
    uint64_t post_failed;
    uint64_t construct_failed;
    uint64_t start_failed;    /* pre_start failed after its children were spawned (SX-12) */
    uint64_t kids_stopped;    /* in pre_restart */
    uint64_t recreated_here;  /* in post_restart */
    uint64_t recreated_later; /* in the handler of the notice */
    uint64_t dead;
} hierarchy_counts;

typedef struct hierarchy_result {
    uint32_t breaches;                    /* 0: the run is good */
    uint32_t entry[HIERARCHY_ENTRIES];    /* of SX-01..SX-12; [0]: of what has no entry here */
    char first[256];
    uint64_t digest;                      /* of the tree and the items: the same for a seed */
    uint32_t workers;
    bool recorded;
    bool mixed;
    uint32_t refs;                        /* references announced */
    uint32_t rounds;
    uint32_t wardens;                     /* instances of the warden */
    double seconds;
    double stop_seconds;                  /* from the stop of the tree's root to its end */
    hierarchy_counts counts;
    axo_stats stats;
} hierarchy_result;

/* One run.
 *   blocks    until the run is over, or nothing has moved for a long time
 *   returns   true: no breach */
bool hierarchy_run(const hierarchy_options *options, hierarchy_result *result);

#endif
