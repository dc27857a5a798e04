/* hierarchy_inside.h - what the files of the hierarchy stress share: the world of one run.
 *
 * Who writes what: `fixed` before the system runs; `parent` the incarnations of the node's parent;
 * `self` its own. Both are plain fields: the runtime orders an actor's incarnations, and the
 * thread sanitizer sees whether it does. The recorder uses relaxed atomics only, so that it adds
 * no order of its own.
 */
#ifndef TEST_SUPPORT_HIERARCHY_INSIDE_H
#define TEST_SUPPORT_HIERARCHY_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/random.h"
#include "os/os.h"
#include "support/hierarchy.h"

enum {
    HIERARCHY_BREADTH = 6,
    HIERARCHY_EVENTS = 64,      /* of each actor */
    HIERARCHY_SLOTS = 1 << 16,  /* actors at once */
    HIERARCHY_STALL_S = 60,     /* nothing moves for so long: somebody is frozen */
    HIERARCHY_STOP_S = 20,      /* the tree's end may take so long */
    HIERARCHY_WATCHES = 256     /* references asked about at once */
};

#define HIERARCHY_NOBODY UINT32_MAX

enum { TAG_ITEM = 1, TAG_PONG, TAG_BORN, TAG_WORK, TAG_LAST, TAG_LAST_PONG };

typedef struct hierarchy hierarchy;

/* A failure's counters; they go down as they are used. */
typedef struct hierarchy_item {
    _Atomic uint8_t escalate;
    _Atomic uint8_t pre;
    _Atomic uint8_t post;
    _Atomic uint8_t construct;
    _Atomic uint8_t start;
    _Atomic uint8_t directive; /* 0: a ping */
    _Atomic uint8_t stop;      /* deep actors answer Stop */
    _Atomic uint8_t kids;      /* pre_restart stops 0: none; 1: some; 2: all */
} hierarchy_item;

typedef struct hierarchy_event {
    _Atomic uint64_t time;
    _Atomic uint64_t bits;
    _Atomic uint64_t arg;
    _Atomic uint64_t kind;   /* instance << 32 | kind */
    _Atomic uint64_t where;  /* suspends << 32 | worker */
} hierarchy_event;

typedef struct hierarchy_ring {
    _Atomic uint64_t head;
    hierarchy_event events[HIERARCHY_EVENTS];
} hierarchy_ring;

typedef struct hierarchy_node {
    /* ---- fixed ---- */
    hierarchy *h;
    uint32_t index;
    uint32_t parent;
    uint32_t level;
    uint32_t kids;
    uint32_t kid[HIERARCHY_BREADTH];
    axo_dispatcher dispatcher;
    char name[12];
    /* ---- parent ---- */
    uint32_t births;
    axo_ref ref;
    bool tentative;            /* born in an instance whose start has not finished */
    /* ---- self ---- */
    uint32_t failing;          /* item + 1 that construct and pre_start look at */
    uint32_t live;             /* instances whose region has not ended */
    /* ---- any thread ---- */
    _Atomic uint32_t inside;
    _Atomic uint32_t suspends; /* as of the last event */
    hierarchy_ring ring;
} hierarchy_node;

typedef struct hierarchy_place {
    _Atomic uint64_t bits;
    _Atomic uint32_t node;
} hierarchy_place;

typedef enum hierarchy_phase {
    HIERARCHY_BIRTH = 0,
    HIERARCHY_WORK = 1,
    HIERARCHY_ROUNDS = 2,
    HIERARCHY_STOPPING = 3,
    HIERARCHY_ASKING = 4,
    HIERARCHY_DONE = 5
} hierarchy_phase;

/* What the warden knows of one node. */
typedef struct hierarchy_known {
    axo_ref ref;
    uint32_t births;
    uint32_t answered;       /* the round it has answered in */
} hierarchy_known;

struct hierarchy {
    /* ---- fixed ---- */
    hierarchy_options options;
    uint32_t actors;
    uint32_t items;          /* of work; each actor has one of its own behind them */
    uint32_t workers;
    uint32_t quantum;
    uint32_t window;         /* items under way at once */
    bool recorded;
    bool mixed;              /* nodes are on several dispatchers */
    axo_strategy node_strategy;
    axo_strategy warden_strategy;
    axo_strategy user_strategy;
    hierarchy_node *nodes;   /* one more, for whoever is not of the tree */
    hierarchy_item *item;
    hierarchy_place *places; /* by slot */
    axo_system *system;

    /* ---- the warden ---- */
    axo__random chance;      /* of the items */
    hierarchy_phase phase;
    hierarchy_known *known;
    axo_ref *refs;           /* every reference announced */
    uint32_t refs_count;
    uint32_t refs_max;
    uint32_t refs_asked;
    uint32_t refs_waiting;
    uint32_t born;
    uint32_t issued;
    uint32_t refused;        /* sends to a node that was gone */
    uint32_t target;         /* of the item that is drawn and not issued */
    bool drawn;
    uint32_t round;
    uint32_t round_left;
    uint64_t round_life;
    uint64_t digest;
    uint32_t wardens;
    int64_t stop_began;
    int64_t stop_took;

    /* ---- any thread ---- */
    _Atomic uint64_t warden; /* reference bits */
    _Atomic uint64_t life;   /* moves whenever something happens in the tree but a ping */
    _Atomic uint64_t moves;  /* moves whenever anything happens in the tree */
    _Atomic uint32_t settled; /* items handled or dead */
    _Atomic uint32_t final;  /* the tree is being stopped, nothing is unresolved */
    _Atomic uint32_t broken; /* breaches */
    _Atomic uint32_t threads; /* that have run a callback */
    _Atomic uint64_t blocks; /* of the allocator */
    _Atomic uint64_t pings;
    _Atomic uint64_t constructs;
    _Atomic uint64_t undone;
    _Atomic uint64_t pre_restarts;
    _Atomic uint64_t post_restarts;
    _Atomic uint64_t post_stops;
    _Atomic uint64_t decisions;
    _Atomic uint64_t escalations;
    _Atomic uint64_t stops;
    _Atomic uint64_t warden_decisions;
    _Atomic uint64_t pre_failed;
    _Atomic uint64_t post_failed;
    _Atomic uint64_t construct_failed;
    _Atomic uint64_t start_failed;
    _Atomic uint64_t kids_stopped;
    _Atomic uint64_t recreated_here;
    _Atomic uint64_t recreated_later;
    _Atomic uint64_t dead;

    /* ---- guarded by the mutex ---- */
    pthread_mutex_t mutex;
    pthread_cond_t change;
    bool done;
    uint32_t breaches[HIERARCHY_ENTRIES];
    char first[256];
};

typedef struct hierarchy_work {
    axo_ref to;
    uint32_t item;
} hierarchy_work;

typedef struct hierarchy_born {
    uint32_t index;
    uint32_t births;
    axo_ref ref;
} hierarchy_born;

typedef struct hierarchy_last {
    uint32_t index;
    uint32_t round;
} hierarchy_last;

#define HIERARCHY_COUNT(h, field) atomic_fetch_add_explicit(&(h)->field, 1, memory_order_relaxed)
#define HIERARCHY_GET(h, field) atomic_load_explicit(&(h)->field, memory_order_relaxed)

/* ---- hierarchy_record.c ---- */

/* The node that this thread is spawning, plus one: whose the next SPAWN is. */
extern _Thread_local uint32_t hierarchy_spawning;

void hierarchy_trace(void *user, const axo_event *event);

/* Reports a breach of SX-`entry` (0: of something else) by a node or HIERARCHY_NOBODY; the first
 * one prints the seed and the merged events. Any thread. */
void hierarchy_breach(hierarchy *h, uint32_t node, uint32_t entry, const char *format, ...)
    AXO_PRINTF(4, 5);

/* SX-05: call on entry to each callback of a node, or of the warden (HIERARCHY_NOBODY). */
void hierarchy_on_worker(hierarchy *h, uint32_t node);

/* The calling thread is the program's own: only actors of the host dispatcher run on it. */
void hierarchy_outside(void);

/* ---- hierarchy_node.c ---- */

extern const axo_class hierarchy_node_class;

/* Spawns a node as a child of the caller, watches it, tells the warden. */
bool hierarchy_spawn(axo_ctx *ctx, hierarchy_node *node, bool tentative);

axo_directive hierarchy_node_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user);

/* What is to be answered to an item's failure in the end: what it says, but the other one for
 * half of those that failed while they were made: Resume for one that is broken (HF-07, IN-05). */
axo_directive hierarchy_answer(const hierarchy *h, const hierarchy_item *item,
                               const axo_failure *failure);

/* The item that a failure names; NULL: none, a breach of `node`. */
hierarchy_item *hierarchy_item_of(hierarchy *h, uint32_t node, const axo_failure *failure);

/* ---- hierarchy_warden.c ---- */
extern const axo_class hierarchy_warden_class;
axo_directive hierarchy_warden_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                      void *user);
void hierarchy_draw_item(hierarchy *h, hierarchy_item *item, uint32_t *target);

#endif
