/* cluster.h - nodes: systems in other processes and on other machines, whose actors are reached as
 * those of here. A library of its own, libaxo-cluster (pkg-config: axo-cluster), on NATS, which
 * carries: a nats-server that all nodes reach. libaxo needs it not. <axo/axo.h> does not include
 * it. A whole program is test/example/cluster.c.
 *
 *     axo_cluster_options with = AXO_CLUSTER_OPTIONS(.cluster = "shop", .node = "till-1",
 *                                                    .token = secret);
 *     status = axo_cluster_open(&with, &problem, &cluster);
 *     options.remote = axo_cluster_remote(cluster);
 *     options.remote_user = cluster;
 *     status = axo_system_start(&options, &system);
 *     status = axo_cluster_start(cluster, system);
 *     status = axo_cluster_find_wait(cluster, "stock", "shelves", 5000000000, &shelves);
 *     status = axo_system_send(system, shelves, TAKE, &item, sizeof item);
 *     ...
 *     axo_cluster_leave(cluster);         then the system is stopped and destroyed, then
 *     axo_cluster_close(cluster);
 *
 * Nodes that have the same cluster's name and the same token find each other. A reference travels:
 * whoever gets a message may answer its sender, watch it, pass it on to a third node. A node's
 * actors are found by the keys of its registry (registry.h).
 *
 * Promises, as Akka's: what one actor sends to another comes at most once, and in order. Watches,
 * notices of ends and stops come exactly once and in order while both nodes live: they are sent
 * again until they are acknowledged. Where that cannot be kept, and when a node is silent for
 * down_ms, the node is lost: for good, and each watch of its actors is answered with
 * AXO_TERMINATED, address_terminated 1 (remote.h). Both sides come to hold each other lost; the one
 * that is to go on has to be started again, which is another incarnation. So also when a cut
 * between them is over. While NATS itself does not answer nobody is taken for silent; it is
 * connected to again for ever.
 *
 * Payloads travel as the bytes that they are; both sides have to mean the same by them. One that
 * holds pointers, or references, needs a codec for its tag (axo_cluster_add_codec), and so does one
 * that was handed over without a size: without, it is a dead letter. Tags from AXO_TAG_SERVICES up
 * do not travel.
 *
 * Who is there: axo_cluster_options.membership, the same for all nodes of a cluster.
 *
 * AXO_CLUSTER_BEATS  By plain messages, each beat_ms; no JetStream is needed. Each node judges for
 *     itself. Two nodes of one name: the one that was started last stays, the other one is over.
 * AXO_CLUSTER_STORE  By entries in a bucket of JetStream, one a name, with a lease of lease_ms, and
 *     by the messages. Two nodes of one name: the first keeps it, and the other one is refused
 *     (AXO_KIND_NODE_REFUSED) and waits until the entry is gone, or has not been renewed for a
 *     lease. A node that others hold lost is over, unless they are outnumbered: who is up in the
 *     end is up everywhere. While the store does not answer nobody comes up, and nobody goes by its
 *     lease. With seeds a node knows whether it sees the larger part of them, and says so by
 *     events, or is over (on_minority).
 *     The bucket is axo_<cluster>_<8 digits of a hash of the token>. One that is there is taken as
 *     it is, of three replicas, say, if its history is 8 or more and its age limit lease_ms; where
 *     there is none it is made, of one replica, in files.
 *
 * A node that is over has lost all the others, for good, and is told so by AXO_KIND_NODE_OVER. It
 * may be closed, and opened again: as another incarnation. What is told by events before anybody
 * has subscribed is told to nobody: who is to know subscribes before axo_cluster_start.
 *
 * Remote children: an actor may have a child on another node, axo_cluster_spawn, of a class that is
 * known there by a name, axo_cluster_add_class. The reference that the parent gets is the child's
 * stand-in: an actor here, a child of the parent's like any, which passes on what is sent to it, in
 * order and with its sender, and stays the same over all restarts. There, the child is an actor of
 * that node:
 *
 *   - axo_self is its own reference, by which others see it as a sender. It may be used directly,
 *     from any node: that saves the way by the stand-in, and ends with the node. axo_parent is its
 *     keeper, which passes on to the parent what it is sent.
 *   - When it fails it is suspended with its children, and the stand-in fails here, with the same
 *     kind, code and text, AXO_SITE_SETTLE, and no message: so the parent's decider is asked, its
 *     budget, back-off and scope count as for any child, and siblings here and elsewhere are
 *     reached. What is decided is done there: pre_restart is handed the message that it has failed
 *     under. Messages that have come stay in its mailbox.
 *   - The parent's restart, its end and a stop of the stand-in end the child first, and wait for
 *     that, a minute at most, on a thread of the blocking dispatcher. A child that has crashed, was
 *     stuck or did not start, and is stopped for that, is not waited for.
 *   - A restart of the stand-in that is not for the child's failure (a sibling's, a kill) comes to
 *     the child behind the messages that it has then: it is told to fail, AXO_INJECTED.
 *   - A stop, a pill and a kill of the stand-in are of the stand-in, and overtake what is on its
 *     way to the child.
 *   - When its node is lost, or it ends by itself, the child has ended, and the stand-in ends as
 *     one that stops itself: so a permanent one fails, AXO_FAILURE_ENDED, with AXO_EGONE as code if
 *     the node is lost, and is made anew by a Restart, behind the same reference: on `node`, else
 *     on `spare`, whichever is up; until one is it waits, with what is sent to it. What was on its
 *     way is lost. Who watches the child's own reference is told address_terminated 1. When this
 *     node is lost there, the child ends there, as soon as that is known.
 *   - axo_strategy.answer_failed and .quarantine of the parent do not see the child's messages.
 *
 * Between this node and that one each failure and each answer comes exactly once. Where that cannot
 * be kept the nodes lose each other. So a child has one life at a time, but for one with a `spare`:
 * the next may begin there before a node that is cut off has noticed that it is.
 *
 * Actors that are there by name, on some node: grain.h.
 *
 * Events (event.h): AXO_KIND_NODE.
 *
 * Threads: the library has three for each node, with AXO_CLUSTER_STORE five, and those of NATS's
 * library. */
#ifndef AXO_CLUSTER_H
#define AXO_CLUSTER_H

#include <axo/event.h>
#include <axo/metrics.h>
#include <axo/remote.h>
#include <axo/system.h>

/* Defaults of axo_cluster_options. */
#define AXO_CLUSTER_BEAT_MS    500
#define AXO_CLUSTER_GIVE_UP_MS 30000
#define AXO_CLUSTER_KEPT       65536
#define AXO_CLUSTER_HELD       (AXO_CAST(size_t, 16) * 1024 * 1024)
#define AXO_CLUSTER_RECEIVED   (AXO_CAST(size_t, 64) * 1024 * 1024)
#define AXO_CLUSTER_WATCHES    1048576
#define AXO_CLUSTER_FINDS      1024
/* Codecs of a node at most. */
#define AXO_CLUSTER_CODECS_MAX 256
/* Classes of a node that others may have children of, bytes of their names, and of arguments. */
#define AXO_CLUSTER_CLASSES_MAX    256
#define AXO_CLUSTER_CLASS_NAME_MAX 127
#define AXO_CLUSTER_ARGS_MAX       32768
/* Children that other nodes have here at a time; one more is refused, AXO_ELIMIT. */
#define AXO_CLUSTER_CHILDREN_MAX 65536
/* Bytes of axo_cluster_problem.text. */
#define AXO_CLUSTER_TEXT_MAX 160

typedef struct axo_cluster axo_cluster;

/* By what it is known who is there. */
typedef enum axo_cluster_membership {
    AXO_CLUSTER_BEATS = 0,
    AXO_CLUSTER_STORE = 1
} axo_cluster_membership;

typedef enum axo_cluster_minority {
    AXO_CLUSTER_GO_ON = 0, /* told by AXO_KIND_NODE_MINORITY */
    AXO_CLUSTER_STOP = 1   /* it is over */
} axo_cluster_minority;

typedef struct axo_cluster_options {
    size_t size;             /* sizeof(axo_cluster_options), set by AXO_CLUSTER_OPTIONS */
    const char *url;         /* of nats-servers, at most 16, with commas between them; NULL:
                                nats://127.0.0.1:4222 */
    const char *cluster;     /* its name; this and the next: 1..AXO_NODE_NAME_MAX of letters,
                                digits, '-', '_' */
    const char *node;        /* this node's name, unique among the nodes */
    const char *token;       /* what all nodes share, and is never sent; NULL: none */
    const char *credentials; /* a file of NATS's (.creds); NULL: none */
    const char *ca;          /* a file of certificates (PEM): TLS, by which the server is verified;
                                NULL: TLS if the url says so (tls://) */
    uint32_t beat_ms;        /* between two announcements; 0: AXO_CLUSTER_BEAT_MS; 10..60000 */
    uint32_t down_ms;        /* silent for so long: lost. 0: 10 beats; at least 3 */
    uint32_t give_up_ms;     /* a watch, an end or a stop that is not acknowledged for so long loses
                                the node; 0: AXO_CLUSTER_GIVE_UP_MS */
    uint32_t kept_max;       /* of these for a node that wait to be acknowledged; one more loses it.
                                0: AXO_CLUSTER_KEPT */
    size_t held_max;         /* bytes that wait for NATS, for each node; a send that has no room
                                says AXO_EFULL. 0: AXO_CLUSTER_HELD; at least 65536 */
    size_t received_max;     /* bytes that have come and wait to be delivered; what comes beyond is
                                lost, and what has to be is sent again. 0: AXO_CLUSTER_RECEIVED */
    uint32_t watches_max;    /* actors here that a node may watch; one more loses it. 0:
                                AXO_CLUSTER_WATCHES */
    uint32_t finds_max;      /* finds of this node that wait for their answer; 0:
                                AXO_CLUSTER_FINDS; at most 65536 */
    uint32_t membership;     /* an axo_cluster_membership; 0: AXO_CLUSTER_BEATS, which reads none of
                                the following */
    uint32_t lease_ms;       /* the same for all nodes; 0: 3 down_ms; at least 1000 and 3 beats, at
                                most an hour */
    uint32_t on_minority;    /* an axo_cluster_minority; what a node does that has seen more
                                than half of the seeds, and does no more. 0: AXO_CLUSTER_GO_ON */
    uint32_t seeds_count;    /* at most AXO_NODES_MAX */
    const char *const *seeds; /* nodes' names; NULL: none */
} axo_cluster_options;
#define AXO_CLUSTER_OPTIONS(...) AXO_INIT(axo_cluster_options, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_cluster_options_init(axo_cluster_options *out)
{
    const axo_cluster_options fresh = AXO_CLUSTER_OPTIONS();
    *out = fresh;
}

/* Why a cluster could not be opened or started. */
typedef struct axo_cluster_problem {
    int32_t error; /* NATS's (natsStatus); 0: none beside the status */
    char text[AXO_CLUSTER_TEXT_MAX];
} axo_cluster_problem;

/* Makes bytes of a payload, or a payload of bytes: `size` bytes at `from` into `out`, where are
 * `room` bytes. One that needs more writes nothing and is called again with as much. Encoding, an
 * owned payload is `from`, with the size with which it was sent.
 *   thread    any: of who sends, or one of the library's; several at a time
 *   blocks    no; calls nothing of the library but axo_remote_leave and axo_remote_enter
 *   returns   how many bytes it makes; SIZE_MAX: it cannot, and the message is a dead letter or, on
 *             its way in, dropped and counted */
typedef size_t (*axo_cluster_code_fn)(void *user, const void *from, size_t size, void *out,
                                      size_t room);

typedef struct axo_cluster_codec {
    size_t size; /* sizeof(axo_cluster_codec), set by AXO_CLUSTER_CODEC */
    uint32_t tag; /* below AXO_TAG_SERVICES */
    uint32_t reserved; /* 0 */
    axo_cluster_code_fn encode; /* NULL: as they are, as the next */
    axo_cluster_code_fn decode;
    void *user;
} axo_cluster_codec;
#define AXO_CLUSTER_CODEC(...) AXO_INIT(axo_cluster_codec, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_cluster_codec_init(axo_cluster_codec *out)
{
    const axo_cluster_codec fresh = AXO_CLUSTER_CODEC();
    *out = fresh;
}

/* Events about nodes; data: axo_cluster_event. */
#define AXO_KIND_NODE      UINT32_C(0x43000000)
#define AXO_KIND_NODE_UP   UINT32_C(0x43010000)
#define AXO_KIND_NODE_DOWN UINT32_C(0x43020000) /* lost: it has left, is silent, or was replaced */
/* AXO_NODES_MAX are known: `node` is left out until one is lost. Told once in down_ms at most. */
#define AXO_KIND_NODE_NO_ROOM UINT32_C(0x43070000)
/* About this node; the last three with AXO_CLUSTER_STORE. */
#define AXO_KIND_NODE_OVER UINT32_C(0x43030000) /* for good; told once */
#define AXO_KIND_NODE_REFUSED UINT32_C(0x43040000) /* `node` has the name; told once of each */
#define AXO_KIND_NODE_MINORITY UINT32_C(0x43050000) /* it sees the smaller part of the seeds */
#define AXO_KIND_NODE_MAJORITY UINT32_C(0x43060000) /* and the larger one again */

/* Why a node is down, or this one over. */
typedef enum axo_cluster_why {
    AXO_CLUSTER_UNSAID = 0,   /* a down node, as this one leaves or is over; an event that has
                                 none */
    AXO_CLUSTER_LEFT = 1,     /* by itself */
    AXO_CLUSTER_SILENT = 2,   /* for down_ms */
    AXO_CLUSTER_EXPIRED = 3,  /* its lease */
    AXO_CLUSTER_REPLACED = 4, /* another incarnation has the name */
    AXO_CLUSTER_EVICTED = 5,  /* others have held it lost */
    AXO_CLUSTER_LOST = 6,     /* what it has to acknowledge is not, or cannot be kept; or it holds
                                 this node lost, as one that leaves does: with AXO_CLUSTER_BEATS the
                                 event says this or LEFT, axo_cluster_link LEFT soon */
    AXO_CLUSTER_MINORITY = 7, /* over: AXO_CLUSTER_STOP */
    AXO_CLUSTER_OUTNUMBERED = 8 /* over: it has held lost more than it has seen */
} axo_cluster_why;

typedef struct axo_cluster_event {
    axo_node node;
    uint32_t number;   /* in references here; 0: this node, or one that is not up */
    uint32_t why;      /* an axo_cluster_why */
} axo_cluster_event;

/* The answer to axo_cluster_find. */
#define AXO_CLUSTER_FOUND (AXO_TAG_SERVICES + 0xa0)

typedef struct axo_cluster_found {
    uint64_t id;       /* as it was given */
    axo_ref ref;       /* none, unless status is AXO_OK */
    int32_t status;    /* AXO_OK; AXO_ENOENT: nobody there has the key; AXO_ETIMEDOUT: no such node
                          has answered; AXO_ESTOPPING: this node leaves */
    uint32_t reserved; /* 0 */
} axo_cluster_found;

/* A recipe for a remote child. */
typedef struct axo_cluster_child {
    size_t size;         /* sizeof(axo_cluster_child), set by AXO_CLUSTER_CHILD */
    const char *node;    /* where; not this node */
    const char *spare;   /* where, while that one is not up; NULL: nowhere */
    const char *cls;     /* a name of axo_cluster_add_class there */
    const void *args;    /* handed to each construct there, as bytes; copied */
    size_t args_size;    /* at most AXO_CLUSTER_ARGS_MAX */
    const char *name;    /* the stand-in's: as axo_props.name */
    uint32_t lifetime;   /* an axo_lifetime */
    uint32_t stash_max;  /* messages that may wait until it is made, or NATS has room; one more is
                            a failure of the stand-in. 0: AXO_STASH_DEFAULT */
} axo_cluster_child;
#define AXO_CLUSTER_CHILD(...) AXO_INIT(axo_cluster_child, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_cluster_child_init(axo_cluster_child *out)
{
    const axo_cluster_child fresh = AXO_CLUSTER_CHILD();
    *out = fresh;
}

/* What a node has done since it was opened. */
typedef struct axo_cluster_figures {
    uint64_t nodes;    /* that are up now, without this one */
    uint64_t sent;     /* messages, watches and the like, given to NATS's library or held */
    uint64_t received; /* that were handed to the system */
    uint64_t packets_out; /* messages of NATS's, with many of these in each */
    uint64_t packets_in;
    uint64_t full;     /* sends refused: held_max */
    uint64_t too_big;  /* sends refused, AXO_ETOOBIG: beyond held_max, or what the server takes */
    uint64_t no_codec; /* sends refused: an owned payload of no known size, or a codec that could
                          not */
    uint64_t unsent;   /* packets that were lost in this process */
    uint64_t dropped;  /* messages that came and were not delivered: a full mailbox, a decode that
                          could not */
    uint64_t strangers; /* packets of nodes that are lost, or for another incarnation */
    /* Packets that were refused before anything of them was taken. */
    uint64_t not_ours;      /* no packets */
    uint64_t other_version;
    uint64_t bad_length;
    uint64_t other_cluster;
    uint64_t other_token;
    uint64_t bad_seal;      /* damaged, or made without the token */
    uint64_t bad_form;
} axo_cluster_figures;

/* What is known of the link to a node. Counts begin with the link, times are of the call. Between
 * two nodes nothing of which was lost or refused, what one has sent the other has received. */
typedef struct axo_cluster_link {
    size_t size;       /* sizeof(axo_cluster_link), set by AXO_CLUSTER_LINK */
    axo_node node;
    uint32_t number;   /* in references here */
    uint32_t up;       /* 1; 0: it is lost */
    uint32_t why;      /* an axo_cluster_why, of a lost one */
    uint32_t reserved; /* 0 */
    int64_t for_ns;    /* it is up, or lost, for so long */
    int64_t heard_ns;  /* since anything of it came, also of a lost one */
    uint64_t sent;     /* messages, watches and the like, each once */
    uint64_t received; /* in their turn, handed to the system or dropped */
    uint64_t missed;   /* messages of actors there that did not come, or not in their turn */
    uint64_t bytes_out; /* of all frames: with what is sent again, and acknowledgements */
    uint64_t bytes_in;
    uint64_t held;     /* bytes that wait for NATS; axo_cluster_options.held_max */
    uint64_t kept;     /* watches, ends and stops that wait to be acknowledged; .kept_max */
    int64_t lag_ns;    /* for how long the oldest of these has been that without an
                          acknowledgement; .give_up_ms */
    uint64_t resent;   /* of these, sent again */
    uint64_t watches;  /* actors here that it watches; .watches_max */
    double phi;        /* how much its silence says (AXO_CLUSTER_STORE): below 1 nothing, from 8 on
                          it is lost; at most 1000. 0: AXO_CLUSTER_BEATS, or it is lost */
} axo_cluster_link;
#define AXO_CLUSTER_LINK(...) AXO_INIT(axo_cluster_link, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_cluster_link_init(axo_cluster_link *out)
{
    const axo_cluster_link fresh = AXO_CLUSTER_LINK();
    *out = fresh;
}

struct axo_console_section;

AXO_BEGIN_DECLS

/* Connects to a nats-server, as a node of a cluster. The strings are copied.
 *   problem   may be NULL; says why in words
 *   blocks    until it is connected or refused, some seconds at most
 *   returns   AXO_OK; AXO_EINVAL, AXO_ENAME, AXO_EVERSION; AXO_ESYSTEM: problem->error, also where
 *             AXO_CLUSTER_STORE has no JetStream; AXO_ENOMEM
 *   after     on failure *out is NULL */
AXO_API AXO_NODISCARD axo_status axo_cluster_open(const axo_cluster_options *options,
                                                  axo_cluster_problem *problem, axo_cluster **out);

/* What axo_options.remote of the node's system is to be; remote_user is the cluster. It lives as
 * long as that does. NULL for NULL. */
AXO_API const axo_remote *axo_cluster_remote(axo_cluster *cluster);

/* Adds a codec for a tag, before axo_cluster_start. One thread at a time.
 *   returns   AXO_OK; AXO_EEXIST: the tag has one; AXO_ELIMIT: AXO_CLUSTER_CODECS_MAX; AXO_EBUSY:
 *             it is started; AXO_EINVAL, AXO_EVERSION */
AXO_API AXO_NODISCARD axo_status axo_cluster_add_codec(axo_cluster *cluster,
                                                       const axo_cluster_codec *codec);

/* Other nodes may have children of this class here. Before axo_cluster_start; one thread at a time.
 *   name      at most AXO_CLUSTER_CLASS_NAME_MAX bytes
 *   props     copied; `args` and `name` are NULL, `lifetime` and `system_actor` 0: whoever spawns
 *             says what they are. What it points to stays as axo_spawn wants it
 *   returns   AXO_OK; AXO_EEXIST: the name is known; AXO_ELIMIT: AXO_CLUSTER_CLASSES_MAX;
 *             AXO_EBUSY: it is started; AXO_ENAME, AXO_EINVAL, AXO_EVERSION */
AXO_API AXO_NODISCARD axo_status axo_cluster_add_class(axo_cluster *cluster, const char *name,
                                                       const axo_props *props);

/* From here on the node is there, for the others, and they for it.
 *   system    whose axo_options.remote is axo_cluster_remote of this cluster
 *   returns   AXO_OK; AXO_EBUSY: it is started; AXO_ETHREAD, AXO_ENOMEM; AXO_ESYSTEM: NATS refuses;
 *             AXO_EINVAL
 *   after     on failure nothing is started, and it may be tried again */
AXO_API AXO_NODISCARD axo_status axo_cluster_start(axo_cluster *cluster, axo_system *system);

/* Who has a key in a node's registry. The answer is one AXO_CLUSTER_FOUND to the actor `asker`. A
 * node that is not up yet is waited for.
 *   node      a name; not this node's own
 *   timeout_ns  0..2^62, of the operating system's clock
 *   thread    any
 *   blocks    no
 *   returns   AXO_OK: an answer will come; AXO_ENAME; AXO_ELIMIT: finds_max wait; AXO_ESTOPPING: it
 *             is not started, or leaves; AXO_EINVAL */
AXO_API AXO_NODISCARD axo_status axo_cluster_find(axo_cluster *cluster, axo_ref asker,
                                                  const char *node, const char *key,
                                                  int64_t timeout_ns, uint64_t id);
/* The same for a thread, which waits.
 *   thread    any but a worker's: it would hold that up
 *   returns   AXO_OK, AXO_ENOENT, AXO_ETIMEDOUT, and as axo_cluster_find
 *   after     on failure *out is axo_ref_none() */
AXO_API AXO_NODISCARD axo_status axo_cluster_find_wait(axo_cluster *cluster, const char *node,
                                                       const char *key, int64_t timeout_ns,
                                                       axo_ref *out);

/* Starts a child of the caller on another node; see above. It is made there later: what keeps it
 * from that, a class that nobody knows there (code AXO_ENOENT) too, is a failure of the stand-in,
 * AXO_FAILURE_INIT, or AXO_FAILURE_POST_RESTART for a later instance.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   as axo_spawn; AXO_EGONE: neither node is up; AXO_ETOOBIG: args_size, or what the
 *             server takes; AXO_ENAME: a node's name, or the class's; AXO_EINVAL: no node or class,
 *             this node itself, a cluster of another system; AXO_ESTOPPING too: it is not started,
 *             or has left
 *   after     on failure *out is axo_ref_none() and nothing was started */
AXO_API AXO_NODISCARD axo_status axo_cluster_spawn(axo_ctx *ctx, axo_cluster *cluster,
                                                   const axo_cluster_child *child, axo_ref *out);

/* The nodes that are up now, without this one; at most `max`. Any thread.
 *   returns   how many were written; 0 for NULL */
AXO_API uint32_t axo_cluster_nodes(axo_cluster *cluster, axo_node *out, uint32_t max);

/* Fills *out. Any thread.
 *   returns   AXO_OK, AXO_EINVAL */
AXO_API axo_status axo_cluster_count(axo_cluster *cluster, axo_cluster_figures *out);

/* The links: of each node that is up, and of each that is lost, as long as its number is not
 * another one's; in the order of their numbers.
 *   out       room for `max`, of the size that out[0].size says; NULL with a max of 0
 *   count     how many there are, also beyond `max`; may be NULL
 *   thread    any
 *   blocks    while a frame is taken or sent again, and with AXO_CLUSTER_STORE while a node is
 *             being lost; holds up none of these for longer than it reads one link
 *   returns   AXO_OK; AXO_EINVAL: NULL, or no size */
AXO_API axo_status axo_cluster_links(axo_cluster *cluster, axo_cluster_link *out, uint32_t max,
                                     uint32_t *count);

/* Writes axo_cluster_figures and all links as text, as axo_metrics_write does, but without an end:
 * that writes behind it, into the same answer. Samples have this node's name as the label "here";
 * those of links "node" and "number", and whether a node is up "why" (CLUSTER.md lists them).
 *   format    an axo_metrics_format
 *   thread    any; `write` runs on the caller's, with no lock held
 *   blocks    as axo_cluster_links
 *   returns   AXO_OK; what `write` returned; AXO_ENOMEM; AXO_EINVAL */
AXO_API axo_status axo_cluster_metrics_write(axo_cluster *cluster, uint32_t format,
                                             axo_metrics_write_fn write, void *user);

/* What axo_console.sections takes (console.h): a page "/nodes", and these figures in "/metrics".
 * It lives as long as the cluster. NULL for NULL. */
AXO_API const struct axo_console_section *axo_cluster_section(axo_cluster *cluster);

/* Says to the others that this node goes, loses them all, and ends the library's threads: from here
 * on nothing is carried, and the system may be stopped and destroyed, and has to be before
 * axo_cluster_close. A system that is stopped before tells its actors' ends by then.
 *   thread    any but a worker's, one at a time
 *   blocks    until what waits is given to NATS's library, some seconds at most
 *   returns   AXO_OK, also if it has left or was not started; AXO_EINVAL */
AXO_API axo_status axo_cluster_leave(axo_cluster *cluster);

/* Frees a cluster that has left, or was never started, when its system is destroyed. NULL:
 * nothing. */
AXO_API void axo_cluster_close(axo_cluster *cluster);

AXO_END_DECLS

#endif
