/* carrier.h - what the files of libaxo-cluster share.
 *
 *   peer.c     a link with what waits for NATS, and the table of functions of the system
 *   roster.c   who is there, who is lost
 *   who.c      who is there by member.h: its time, and what it tells
 *   bucket.c   member.h's store: a bucket of JetStream, and its thread
 *   find.c     keys of other nodes' registries
 *   seen.c     what is seen of the links: figures, as text too
 *   silo.h     the grains of this node
 *   child.c    a child here of which the instances are on another node: its stand-in
 *   keeper.c   a child here of which the parent is on another node
 *   nats.c     the connection and the threads
 *   cluster.c  the doors of <axo/cluster.h>
 *
 * Threads: any thread of the system comes by the table of functions. One thread publishes
 * ("carrier"), and does what is due; one takes what comes for this node, one what comes for all. A
 * fourth asks the bucket and waits for its answers, a fifth for what it watches, holding no lock.
 *
 * Locks, in this order: roster, then the silo's, then a peer's, then that of askings; a find's
 * alone. The system is called with any of the first three held, but for axo_remote_lose never with
 * a peer's: it waits for those who deliver, who hold one. The member is called with the roster's
 * held. */
#ifndef CLUSTER_CARRIER_H
#define CLUSTER_CARRIER_H

#include <pthread.h>
#include <stdatomic.h>

#include <axo/cluster.h>
#include <axo/console.h>
#include <axo/registry.h>
#include <nats/nats.h>

#include "member.h"
#include "wire.h"

/* Bytes of a packet that is filled by many frames. */
#define CLUSTER_BATCH 32768
/* What waits for NATS beyond held_max: system messages, which are sent again anyhow. */
#define CLUSTER_RESERVE 1048576
#define CLUSTER_SUBJECT_MAX 192
#define CLUSTER_EVERYBODY_MAX (AXO_NODE_NAME_MAX + 8)
/* Servers in a url. */
#define CLUSTER_MS INT64_C(1000000)
/* Of a bucket: axo_, the cluster's name, _ and 8 digits. */
#define CLUSTER_BUCKET_MAX (AXO_NODE_NAME_MAX + 16)

typedef struct cluster_silo cluster_silo;

/* A packet that is filled. */
typedef struct cluster_batch {
    struct cluster_batch *next;
    size_t size;
    size_t room; /* of bytes, without the seal's */
    uint64_t to; /* incarnation */
    uint32_t count;
    unsigned char bytes[];
} cluster_batch;

typedef enum cluster_peer_state {
    CLUSTER_PEER_FREE = 0,
    CLUSTER_PEER_UP = 1,
    CLUSTER_PEER_LOST = 2 /* its link is quarantined, and says so to who speaks for it */
} cluster_peer_state;

/* A node, by its number in references here. */
typedef struct cluster_peer {
    axo_cluster *home;     /* fixed, as the number */
    uint32_t number;
    pthread_mutex_t mutex; /* guards what follows, to the subject */
    cluster_peer_state state; /* changed with the roster's lock too */
    bool missed;           /* it was watched before it had a link */
    bool lost;             /* its link is quarantined; the roster is to lose it */
    axo_node node;
    uint64_t base;         /* what a reference to its actors has above its bits */
    cluster_link link;
    cluster_batch *first;  /* what waits for NATS, oldest first */
    cluster_batch *last;
    cluster_batch *spare;
    size_t held;           /* bytes of these */
    uint64_t watches;      /* of actors here */
    axo_cluster_why why;   /* it is lost */
    int64_t since;         /* it is up, or lost */
    uint64_t users_in;     /* messages of actors, in their turn */
    uint64_t bytes_out;    /* of frames */
    uint64_t bytes_in;
    char subject[CLUSTER_SUBJECT_MAX];
    atomic_int_least64_t heard_at;
    atomic_bool heard;     /* since the roster looked last */
    atomic_bool quiet;     /* nothing was heard on this connection to NATS: what waits, waits */
    int64_t silent_ns;     /* guarded by the roster's lock */
} cluster_peer;

typedef struct cluster_finding {
    bool used;
    bool waits;   /* a thread; it frees the record */
    bool done;
    axo_ref asker;
    uint64_t own_id; /* of the find on the wire; never given twice */
    uint64_t id;
    int64_t until;
    int64_t ask_at;
    axo_status status;
    axo_ref ref;
    char node[AXO_NODE_NAME_MAX + 1];
    char key[AXO_KEY_MAX + 1];
} cluster_finding;

/* Of this library's actors: LOOK, a stand-in's timer; GONE_ON, which it finds behind a Resume; a
 * word that has come from another node, with the kind added. */
#define CLUSTER_TAG_LOOK    (AXO_TAG_SERVICES + 0xb8)
#define CLUSTER_TAG_GONE_ON (AXO_TAG_SERVICES + 0xb9)
#define CLUSTER_TAG_WORD    (AXO_TAG_SERVICES + 0xb0)

/* A class that other nodes may have children of here. */
typedef struct cluster_class {
    axo_props props;
    char name[CLUSTER_CLASS_MAX + 1];
} cluster_class;

/* Of that many lists of askings, by their stand-ins. */
#define CLUSTER_ASKINGS 1024

/* A stand-in that waits for a keeper's first word; of its instance. */
typedef struct cluster_asking {
    struct cluster_asking *next;
    axo_ref stand_in;
    uint32_t number;   /* of the node */
    uint32_t order;
    bool linked;
    bool answered;     /* by a word that is on its way to the stand-in: */
    axo_ref keeper;    /* none: there is none */
} cluster_asking;

/* Indices of counters, in the order of axo_cluster_figures behind `nodes`. */
typedef enum cluster_counter {
    CLUSTER_COUNT_SENT,
    CLUSTER_COUNT_RECEIVED,
    CLUSTER_COUNT_PACKETS_OUT,
    CLUSTER_COUNT_PACKETS_IN,
    CLUSTER_COUNT_FULL,
    CLUSTER_COUNT_TOO_BIG,
    CLUSTER_COUNT_NO_CODEC,
    CLUSTER_COUNT_UNSENT,
    CLUSTER_COUNT_DROPPED,
    CLUSTER_COUNT_STRANGERS,
    CLUSTER_COUNT_REFUSED /* and behind it, by cluster_refusal */
} cluster_counter;
#define CLUSTER_COUNTERS (CLUSTER_COUNT_REFUSED + CLUSTER_REFUSALS)

typedef struct cluster_listener {
    axo_cluster *cluster;
    natsSubscription *subscription;
    pthread_t thread;
    bool runs;
} cluster_listener;

/* With AXO_CLUSTER_STORE. The roster's lock guards all but the thread. */
typedef struct cluster_who {
    cluster_member member;
    int64_t clock;     /* the member's: stands still while no own beat comes back */
    int64_t clock_at;  /* when it was looked at */
    int64_t echo_at;   /* when an own beat came back last */
    bool still;        /* the clock stands */
    uint64_t beat;     /* a heartbeat that is to be sent; 0: none */
    bool put_waits;    /* what the store is to be asked */
    bool asks;         /* it is being asked */
    bool is_up;        /* the silo was told so */
    cluster_entry put;
    uint32_t removals; /* more are left out: the member asks again */
    cluster_entry removal[AXO_NODES_MAX + 1];
    pthread_cond_t changed; /* what the bucket's threads wait for */
    pthread_t thread;
    bool runs;
    char bucket[CLUSTER_BUCKET_MAX];
} cluster_who;

struct axo_cluster {
    axo_cluster_options options; /* its strings are copies */
    axo_remote remote;
    axo_console_section section;
    axo_system *system;          /* NULL before the start */
    cluster_key key;
    bool started;
    bool left;
    atomic_bool ends;            /* the threads are to end */

    axo_cluster_codec codecs[AXO_CLUSTER_CODECS_MAX]; /* fixed from the start on, by tag */
    uint32_t codec_count;
    cluster_class *classes;      /* AXO_CLUSTER_CLASSES_MAX; fixed from the start on */
    uint32_t class_count;
    axo_ref nursery;             /* keepers' parent, from the start on */
    pthread_mutex_t asking_mutex;
    pthread_cond_t asking_cond;
    cluster_asking *askings[CLUSTER_ASKINGS];

    natsConnection *connection;
    natsStatistics *statistics;
    uint64_t connections;        /* that were made anew; the carrier's */
    cluster_listener mine;       /* what comes for this node */
    cluster_listener all;
    char everybody[CLUSTER_EVERYBODY_MAX];
    atomic_size_t packet_max;    /* of the server */

    pthread_t thread;            /* the carrier */
    bool runs;
    pthread_mutex_t wake_mutex;
    pthread_cond_t wake_cond;
    atomic_bool woken;

    pthread_mutex_t roster;      /* guards who is which peer */
    atomic_uint used;            /* peers beyond have never been */
    int64_t no_room_at;          /* when that was told last; 0: never */
    uint64_t beats;              /* the carrier's, as the next three */
    int64_t beat_at;
    int64_t looked_at;
    int64_t echo_age_ns;         /* since an own beat came back */
    atomic_bool echo;            /* one has */
    atomic_bool beat_now;
    atomic_bool over;            /* this node is no part of the cluster any more */
    cluster_who *who;            /* NULL: AXO_CLUSTER_BEATS */
    cluster_silo *silo;          /* NULL: no kind of grains */

    pthread_mutex_t find_mutex;
    pthread_cond_t find_cond;
    cluster_finding *finds;      /* options.finds_max */
    uint32_t finds_used;
    uint64_t next_find;
    bool finds_end;

    atomic_uint_least64_t counts[CLUSTER_COUNTERS];
    cluster_peer peers[AXO_NODES_MAX + 1]; /* by number; 0 is nobody */
};

static inline void cluster_counted(axo_cluster *cluster, uint32_t which)
{
    (void)atomic_fetch_add_explicit(&cluster->counts[which], 1, memory_order_relaxed);
}

/* ---- peer.c */

extern const axo_remote cluster_table;

/* What a codec has made, or what needs none. */
typedef struct cluster_coded {
    const void *bytes;
    size_t size;
    void *large; /* freed by the caller */
    unsigned char small[512];
} cluster_coded;

/* A message's payload as it travels.
 *   returns   AXO_ENOTSUP: owned, and nobody knows what it is, or its codec cannot; AXO_EINVAL: a
 *             tag of the services; AXO_ETOOBIG, AXO_ENOMEM */
axo_status cluster_encode(const axo_cluster *cluster, const axo_message *message,
                          cluster_coded *out);
/* And back. */
axo_status cluster_decode(const axo_cluster *cluster, uint32_t tag, const void *bytes, size_t size,
                          cluster_coded *out);
/* A message to a grain, on its way. As axo_remote.send. */
axo_status cluster_peer_parcel(cluster_peer *peer, uint32_t kind, bool back, axo_ref from,
                               uint32_t tag, const cluster_slip *slip);

void cluster_peers_init(axo_cluster *cluster);
void cluster_peers_fini(axo_cluster *cluster);
/* Makes the peer's link anew, for a node that the system knows by the peer's number. */
void cluster_peer_open(cluster_peer *peer, const axo_node *node);
/* What has come of its frames. */
void cluster_peer_receive(cluster_peer *peer, const cluster_packet *packet);
/* Answers what somebody has said who is held lost here, by the link. */
void cluster_peer_answer(cluster_peer *peer, const cluster_packet *packet);
/* Does what is due; hands out what is to be published.
 *   beat      its link says that it lives
 *   *due      becomes lower, if it is to be called before
 *   returns   batches, oldest first: the caller publishes and returns each by
 *             cluster_peer_published; NULL: none, or not `connected` */
cluster_batch *cluster_peer_turn(cluster_peer *peer, int64_t now, bool connected, bool beat,
                                 int64_t *due);
/* What was handed out goes on waiting, before all that waits, while the peer is quiet.
 *   returns   what does not: it is to be published, as before */
cluster_batch *cluster_peer_put_back(cluster_peer *peer, cluster_batch *first);
void cluster_peer_published(cluster_peer *peer, cluster_batch *batch);
/* Quarantines its link; cluster_roster_lose does the rest. */
void cluster_peer_quarantine(cluster_peer *peer);

/* Says a word to a child's keeper or stand-in on that node: exactly once, if both nodes live.
 *   returns   AXO_OK; AXO_EGONE: the node is lost, or not up; AXO_ENOMEM, of a SPAWN only;
 *             AXO_ETOOBIG */
axo_status cluster_peer_say(axo_cluster *cluster, uint32_t number, uint64_t to, axo_ref from,
                            const cluster_word *word);

/* ---- roster.c */

/* Whether it is 1..AXO_NODE_NAME_MAX of what stands in a subject of NATS's as it is. */
bool cluster_is_name(const char *name);
/* A node speaks.
 *   returns   its peer, made if the node is new, and whether it is lost; NULL: it is nobody */
cluster_peer *cluster_roster_heard(axo_cluster *cluster, const axo_node *node, bool *lost);
/* The roster's lock is held. NULL: the system does not take it. */
cluster_peer *cluster_roster_add(axo_cluster *cluster, const axo_node *node);
void cluster_roster_down(axo_cluster *cluster, const axo_node *node, axo_cluster_why why);
/* About this node, or one that is not up. */
void cluster_roster_say(axo_cluster *cluster, const axo_node *node, axo_cluster_why why,
                        uint32_t kind);
/* The roster's lock is held: AXO_NODES_MAX others are known. */
void cluster_roster_no_room(axo_cluster *cluster, const axo_node *node);
/* A node says that it goes. */
void cluster_roster_leaves(axo_cluster *cluster, const axo_node *node);
/* Loses those whose links are quarantined. */
void cluster_roster_lose(axo_cluster *cluster);
/* Looks who is silent. */
void cluster_roster_step(axo_cluster *cluster, int64_t now);
/* The subject of the node of that name that is up, and its incarnation. false: none is. */
bool cluster_roster_subject(axo_cluster *cluster, const char *name, char *out,
                            uint64_t *incarnation);
/* The number of the node of that name that is up; 0: none is. */
uint32_t cluster_roster_number(axo_cluster *cluster, const char *name);
void cluster_roster_leave(axo_cluster *cluster);
/* Those that are up, `max` at most, written to `out` if that is not NULL; returns how many. */
uint32_t cluster_roster_nodes(axo_cluster *cluster, axo_node *out, uint32_t max);

/* ---- who.c */

axo_status cluster_who_open(axo_cluster *cluster);
void cluster_who_close(axo_cluster *cluster);
/* From here on it is a member that wants to join. */
void cluster_who_start(axo_cluster *cluster);
/* The roster's lock is held. */
int64_t cluster_who_clock(axo_cluster *cluster);
/* The roster's lock is held: its link is quarantined. */
void cluster_who_lost(axo_cluster *cluster, const axo_node *node);
/* Does what is due.
 *   *due      becomes lower, if it is to be called before
 *   returns   the number of a heartbeat that is to be sent; 0: none */
uint64_t cluster_who_step(axo_cluster *cluster, int64_t *due);
void cluster_who_heard(axo_cluster *cluster, const cluster_packet *packet);
bool cluster_who_is_over(axo_cluster *cluster);
/* Of a node that is up; 0: it is not. */
double cluster_who_phi(axo_cluster *cluster, const axo_node *node);
/* Says in the store that it goes; waits until it has, 2 seconds at most. */
void cluster_who_leave(axo_cluster *cluster);

/* ---- bucket.c */

/* Whether there is a bucket as it has to be. */
natsStatus cluster_bucket_try(axo_cluster *cluster, axo_cluster_problem *problem);
bool cluster_bucket_start(axo_cluster *cluster);
/* Something is to be asked, or it is over. The roster's lock is held. */
void cluster_bucket_wake(axo_cluster *cluster);
/* Ends its threads; axo_cluster.ends is set. */
void cluster_bucket_end(axo_cluster *cluster);

/* ---- seen.c */

void cluster_section_init(axo_cluster *cluster);

/* ---- silo.c: without a silo nothing happens */

axo_status cluster_silo_start(axo_cluster *cluster);
/* Ends all lives, and waits for it, 2 seconds at most. */
void cluster_silo_leave(axo_cluster *cluster);
/* Ends the threads, and what is left. */
void cluster_silo_end(axo_cluster *cluster);
void cluster_silo_free(axo_cluster *cluster);
/* The roster's lock is held: a node, by its number, is up, or no more. */
void cluster_silo_place(axo_cluster *cluster, uint32_t number, const axo_node *node, bool up);
/* This one is. */
void cluster_silo_self(axo_cluster *cluster, bool up);
/* A peer's lock is held: a parcel has come. */
axo_status cluster_silo_post(axo_cluster *cluster, axo_ref from, const cluster_body *body);

/* ---- find.c */

void cluster_find_asked(axo_cluster *cluster, const cluster_packet *packet);
void cluster_find_answered(axo_cluster *cluster, const cluster_packet *packet);
/* Asks, asks again, gives up. */
void cluster_find_step(axo_cluster *cluster, int64_t now, int64_t *due);
/* Whether the node is started, and has not left. */
bool cluster_find_may(axo_cluster *cluster);
/* Answers all. */
void cluster_find_end(axo_cluster *cluster);

/* ---- child.c */

/* A word has come that may be a keeper's first: an UP or a DOWN. */
void cluster_child_heard(axo_cluster *cluster, axo_ref keeper, axo_ref to,
                         const cluster_word *word);

/* ---- keeper.c */

/* Whether it is what a class is called: 1..CLUSTER_CLASS_MAX bytes. */
bool cluster_is_class(const char *name);
axo_status cluster_nursery_start(axo_cluster *cluster);
void cluster_nursery_end(axo_cluster *cluster);

/* ---- nats.c */

int64_t cluster_now(void); /* the operating system's monotonic clock */
void cluster_wake(axo_cluster *cluster);
/* Publishes one packet of at most one part, which is a find or a beat; NULL: none. */
void cluster_publish(axo_cluster *cluster, const char *subject, cluster_packet_kind kind,
                     uint64_t to, const cluster_find *part);
void cluster_subject(axo_cluster *cluster, const axo_node *node, char *out);
/* A connection; `again`: that is made again when it breaks. */
natsStatus cluster_nats_connect(axo_cluster *cluster, bool again, natsConnection **out);
/* Why NATS refuses. */
void cluster_nats_problem(const axo_cluster *cluster, natsStatus status,
                          axo_cluster_problem *problem);
/* No signal of the program's is handled there. */
bool cluster_thread(pthread_t *thread, void *(*run)(void *), void *arg);
natsStatus cluster_nats_open(axo_cluster *cluster, axo_cluster_problem *problem);
axo_status cluster_nats_start(axo_cluster *cluster);
/* Ends the threads. */
void cluster_nats_end(axo_cluster *cluster);
void cluster_nats_close(axo_cluster *cluster);

#endif
