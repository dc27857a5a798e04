/* silo.h - the grains of a node: what stands round the state machine of grain.h.
 *
 *   silo.c     the machine with its lock, its time, what comes for it and what it asks
 *   ledger.c   its store (store.h): a stream of JetStream, and the threads that ask it
 *   life.c     lives: actors of the program's classes, and the guardian of a kind, their parent
 *   kind.c     the doors of <axo/grain.h>, and the actors of this node that stand for grains
 *
 * Threads: any of the system's come by the actors; the keeper does what is due, and takes what has
 * come from other nodes; CLUSTER_LEDGER_THREADS ask the store, one call each at a time, and bring
 * the answers.
 *
 * Locks: the roster's, then the silo's, then a peer's, or one of the small ones, with which nothing
 * is called: the post's, the ledger's. What is handed over by a peer whose lock is held waits in
 * the post. The machine is called with the silo's lock held, and so is what it asks, and the
 * system, by that.
 *
 * Lives: `begin` makes a cluster_life, and the guardian of its kind spawns the actor; it is there
 * until the guardian is told that the actor has terminated, or terminates itself. Its handlers
 * begin only while life_may says so: the lease covers, by the clock, and then the end is not asked.
 * `ending` is set before the next lease is even asked, and `covers` behind its answer: so who sees
 * that of a later lease sees `ending` too, and no life takes another lease for its own.
 *
 * When the node leaves all lives end; then `ended` is true, and nobody calls the machine. */
#ifndef CLUSTER_SILO_H
#define CLUSTER_SILO_H

#include <axo/grain.h>

#include "carrier.h"
#include "grain.h"

#define CLUSTER_LEDGER_THREADS 4
#define CLUSTER_LIFE_HEADS     4096 /* chains of lives by reference, of proxies by name */

/* To a guardian: there is something to do. To a life: there is a message. They say nothing else,
 * so anybody may send them. */
#define CLUSTER_SILO_LOOK (AXO_TAG_SERVICES + 0xa1)

typedef struct cluster_kind {
    cluster_silo *silo;
    uint32_t number;           /* a hash of the name; not 0 */
    char name[AXO_NODE_NAME_MAX + 1];
    axo_class of;              /* the program's, as it was read */
    axo_class cls;             /* that, with a few steps round each callback */
    size_t state_at;           /* of the program's state in the actor's */
    axo_props props;
    void *args;                /* a copy; NULL: they have no size */
    const axo_strategy *strategy;
    int64_t idle_ns;
    axo_ref guardian;
    /* The silo's lock guards the rest. */
    bool gone;                 /* the guardian */
    bool told;                 /* that there is something to do */
    struct cluster_life *todo;
} cluster_kind;

typedef struct cluster_life {
    struct cluster_life *next; /* of its chain, with `ref` */
    struct cluster_life *then; /* of what is to do, with `queued` */
    cluster_kind *kind;
    cluster_grain *grain;
    axo_ref ref;               /* none: it is not spawned */
    bool queued;
    bool watched;
    bool told_end;
    bool unwoken;              /* no memory to tell it of its message */
    bool has;                  /* a message of the machine's, behind which it looks for the next */
    atomic_bool ending;
    /* The actor's own. */
    void *sent;                /* the payload of the message that it has sent itself; NULL: none */
    bool took;                 /* a message, and began to handle it */
    bool in_hand;              /* its handler has begun, and is not known to have returned */
    axo_grain_given given;
    char key[AXO_GRAIN_KEY_MAX + 1];
} cluster_life;

/* An actor that stands for a grain. */
typedef struct cluster_proxy {
    struct cluster_proxy *next;
    cluster_silo *silo;
    cluster_grain_name name;
    axo_ref ref;
} cluster_proxy;

/* A message as the machine keeps it: its body. */
typedef struct cluster_letter {
    axo_ref sender; /* as this node knows it */
    uint32_t tag;
    uint32_t size;
} cluster_letter;

/* What has come from another node. */
typedef struct cluster_arrival {
    struct cluster_arrival *next;
    cluster_parcel parcel;
    bool back;
} cluster_arrival;

typedef struct cluster_ask {
    struct cluster_ask *next;
    uint64_t number;
    enum { CLUSTER_ASK_GET, CLUSTER_ASK_PUT, CLUSTER_ASK_REMOVE } what;
    int64_t asked_at;
    uint64_t incarnation;      /* a lease; 0: a claim */
    cluster_grain_name name;
    uint64_t revision;
    uint64_t term;             /* PUT */
} cluster_ask;

typedef struct cluster_ledger {
    natsConnection *connection;
    jsCtx *js;
    char stream[CLUSTER_BUCKET_MAX + 8];
    pthread_mutex_t mutex;     /* guards what follows, to the threads */
    pthread_cond_t cond;
    cluster_ask *first;
    cluster_ask *last;
    uint32_t under_way;        /* or waiting, but of the lease's */
    bool ends;
    pthread_t threads[CLUSTER_LEDGER_THREADS];
    uint32_t runs;
} cluster_ledger;

struct cluster_silo {
    axo_cluster *cluster;
    uint64_t incarnation;      /* of the name, too: so no other node's */
    cluster_kind *kinds[AXO_GRAIN_KINDS_MAX]; /* fixed from the start on */
    uint32_t kinds_count;
    axo_ref undertaker;        /* makes dead letters */
    cluster_grain_ops ops;

    pthread_mutex_t mutex;     /* guards what follows, to the post */
    cluster_grains grains;
    bool open;                 /* started, and not left */
    bool ended;                /* nobody calls the machine; so before the start */
    bool is_up;                /* this node is, as far as the machine knows */
    int64_t wakes_at;          /* the keeper, at the latest */
    bool unwoken;              /* some life is */
    uint64_t begun;
    uint64_t undelivered;      /* dead, but not by the machine */
    uint64_t nodes[AXO_NODES_MAX + 1]; /* by number; 0: none that is up */
    cluster_life *lives[CLUSTER_LIFE_HEADS];
    cluster_proxy *proxies[CLUSTER_LIFE_HEADS];
    atomic_int_least64_t covers; /* until when handlers may begin */

    pthread_mutex_t post;      /* guards the next five */
    pthread_cond_t post_cond;
    bool woken;
    bool ends;
    cluster_arrival *first;
    cluster_arrival *last;
    uint32_t arrivals;
    pthread_t keeper;
    bool runs;
    cluster_ledger ledger;
};

/* ---- silo.c */

/* Nanoseconds; goes on while the machine sleeps (lease.h). */
int64_t cluster_silo_now(void);
/* What a life of a node is in the store. */
void cluster_silo_holder(const axo_node *node, uint64_t term, cluster_lease_holder *out);
cluster_silo *cluster_silo_new(axo_cluster *cluster);
void cluster_silo_lock(cluster_silo *silo);
/* Also says what has become due. */
void cluster_silo_unlock(cluster_silo *silo);
/* The silo's lock is held: the message will not be handled. */
void cluster_silo_dead(cluster_silo *silo, const cluster_parcel *parcel);
cluster_kind *cluster_silo_kind(const cluster_silo *silo, uint32_t number);

/* ---- ledger.c */

extern const cluster_store cluster_ledger_store;
axo_status cluster_ledger_open(cluster_silo *silo);
axo_status cluster_ledger_start(cluster_silo *silo);
/* Whether a claim is still to be put or removed. */
bool cluster_ledger_is_busy(cluster_silo *silo);
void cluster_ledger_end(cluster_silo *silo);
void cluster_ledger_close(cluster_silo *silo);

/* ---- life.c: the silo's lock is held, but for the first two */

void cluster_life_class(cluster_kind *kind);
axo_status cluster_life_guardian(cluster_kind *kind);
bool cluster_life_begin(void *silo, cluster_grain *grain);
void cluster_life_ready(void *silo, cluster_grain *grain);
void cluster_life_end(void *silo, cluster_grain *grain);
/* Tells again for what there was no memory. false: some is still missing. */
bool cluster_life_retry(cluster_silo *silo);
/* Frees what is left, when the system is destroyed. */
void cluster_lives_free(cluster_silo *silo);

#endif
