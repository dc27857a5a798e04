/* grain.h - grains: actors that are there by name, wherever in a cluster, one life of a name at a
 * time. Of libaxo-cluster (cluster.h), with AXO_CLUSTER_STORE. <axo/axo.h> does not include it. A
 * whole program is test/example/grain.c.
 *
 *     axo_grain_kind carts = AXO_GRAIN_KIND(.name = "cart", .props = &props);
 *     status = axo_cluster_add_grain_kind(cluster, &carts);      before axo_cluster_start
 *     ...
 *     status = axo_grain(cluster, "cart", "customer-7", &ref);   from then on, on any node
 *     status = axo_send(ctx, ref, ADD, &item, sizeof item);
 *
 * A grain has a kind and a key, and always is: nobody spawns it. The first message makes it, on
 * the node that a hash of its name over the nodes that are up gives (rendezvous hashing: with a
 * node that comes or goes only its own share moves). When it has had no message for idle_ms it
 * ends; the next message makes it anew. When its node goes, or another one has its share, it ends
 * and is made anew there. What it knows is to be on disk, or to be found again: a new life begins
 * as its class's construct makes it.
 *
 * All nodes of a cluster add the same kinds; each has its share of them, of 64 nodes at most.
 *
 * The reference that axo_grain gives is of an actor of this node, which passes on what comes to it,
 * with its sender. It may be kept, sent to other nodes, and has no end: axo_stop, axo_poison,
 * axo_kill and axo_watch mean that actor, not the grain, and who stops it stops it for all that
 * have it; axo_grain makes another one then. The reference of a life (axo_self in it) is of that
 * life alone: what is sent to it is an ordinary message, and a dead letter when the life has ended.
 * So a grain that wants to be answered later gives the reference of axo_grain away. One that it is
 * done with ends by axo_stop_self.
 *
 * Promises
 *   One life  At most one life of a name handles messages at a time, in all nodes. A node has a
 *             lease in the store, which it renews each third of lease_ms, and claims each name
 *             there before a life begins; another one takes a claim over only when that lease has
 *             run out by its own clock, and is removed. No handler of a grain begins unless the
 *             lease lasts for another quarter of lease_ms: so a handler, and the end of the life
 *             behind it (post_stop, the ends of its children), may take that long. Beyond it,
 *             when a process is stopped within a handler, or a machine's clock stands still, a
 *             former life may still be there: for what it writes there is the `fence` of
 *             axo_grain_given, a number that is higher in each life of a name than in all before.
 *             The rate of each clock may be off by 2 of 100.
 *   Store     While the store does not answer no life begins. A node whose lease runs out ends all
 *             its lives, and tells none of them more than post_stop; when the store answers again
 *             it has another lease, and names are claimed anew. One that has forgotten what it has
 *             said (a single server, whose machine lost power) is found out by each node's next
 *             renewal; until then a name may have two lives, and numbers may come again.
 *   Messages  come at most once, and those of one sender to one reference in order while the grain
 *             stays where it is. They wait while its node is found and its name claimed, for five
 *             leases at most at each node: AXO_GRAIN_WAITING of one name, AXO_GRAIN_HELD in all,
 *             at a node. What has no room, waits for longer, is handed round too often, or waited
 *             on a node that leaves, is a dead letter of that node; what is on its way to a node
 *             that dies is lost, also when it is not known yet that the node is dead. Who has to
 *             know asks (ask.h).
 *             They travel as the bytes that they are, by the codec of their tag (cluster.h), also
 *             to a grain on the same node, and have AXO_GRAIN_PAYLOAD_MAX bytes at most.
 *   Failure   It is decided by axo_grain_kind.strategy, on the node, as by a parent: with the
 *             default it is restarted, and keeps its name, its fence and the messages that wait. A
 *             life that ends without having handled one, as its construct has failed, takes one
 *             message with it, which is a dead letter. What is escalated is decided by /user; where
 *             that stops, the kind has no lives on the node any more.
 *
 * How its class differs from another actor's: construct is given an axo_grain_given. settle may be
 * called without having been asked for. Another receive is not put on top by axo_become, behind
 * which no message of the reference's would come: a grain changes by its state. A message without a
 * payload has one of 0 bytes, which is not NULL. What it has stashed is a dead letter, a suppressed
 * one, when it is restarted. When the lease is lost what has come to its mailbox, timers and
 * notices too, is dropped.
 *
 * The names' records are in a stream of JetStream beside the bucket, which has the bucket's name
 * and "_grains" behind it, with one message a subject, no limits and no age. One that is there is
 * taken as it is, of three replicas, say (axo_cluster_start is AXO_ESYSTEM where it has other
 * limits); where there is none it is made, of one replica, in files. It is not deleted while nodes
 * run: their lives end then. A name's record goes when its life ends; that of a node that has died
 * when one of its names is wanted.
 *
 * Threads: five more for each node that has a kind, those of another connection to NATS, and 2 MiB
 * of memory. */
#ifndef AXO_GRAIN_H
#define AXO_GRAIN_H

#include <axo/cluster.h>

#define AXO_GRAIN_KINDS_MAX   64    /* of a node */
#define AXO_GRAIN_KEY_MAX     64    /* bytes of a key */
#define AXO_GRAIN_PAYLOAD_MAX 262144
#define AXO_GRAIN_LIVES       131072 /* names that live here, or are sought, at a time */
#define AXO_GRAIN_WAITING     1024
#define AXO_GRAIN_HELD        65536
#define AXO_GRAIN_IDLE_MS     600000 /* default of axo_grain_kind.idle_ms */

/* What construct gets in the place of args. It lives as long as the actor. */
typedef struct axo_grain_given {
    axo_cluster *cluster;
    const char *kind;
    const char *key;
    uint64_t fence;   /* higher in each life of this name than in all before it, on any node; the
                         same for the instances of a life */
    const void *args; /* those of axo_grain_kind.props */
} axo_grain_given;

typedef struct axo_grain_kind {
    size_t size;             /* sizeof(axo_grain_kind), set by AXO_GRAIN_KIND */
    const char *name;        /* 1..AXO_NODE_NAME_MAX of letters, digits, '-', '_'; copied */
    const axo_props *props;  /* of each life; copied, with args of a size. No name, system_actor 0,
                                a mailbox without a bound. What it points at, but for such args,
                                stays valid until axo_cluster_close */
    const axo_strategy *strategy; /* what is decided when a grain fails; NULL: the default. Valid
                                     until axo_cluster_start has returned */
    uint32_t idle_ms;        /* without a message for so long it ends; 0: AXO_GRAIN_IDLE_MS */
    uint32_t reserved;       /* 0 */
} axo_grain_kind;
#define AXO_GRAIN_KIND(...) AXO_INIT(axo_grain_kind, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_grain_kind_init(axo_grain_kind *out)
{
    const axo_grain_kind fresh = AXO_GRAIN_KIND();
    *out = fresh;
}

/* What a node's grains have done since it was started. */
typedef struct axo_grain_figures {
    uint64_t lives;     /* here now */
    uint64_t begun;     /* lives, since the start */
    uint64_t waiting;   /* messages, here now */
    uint64_t handled;   /* messages that were given to a life */
    uint64_t forwarded; /* to another node */
    uint64_t dead;      /* messages that will not be handled */
    uint64_t refused;   /* messages for which there was no room, which are dead letters too */
    uint64_t lapsed;    /* times that the node's lease was lost */
} axo_grain_figures;

AXO_BEGIN_DECLS

/* Adds a kind of grains, before axo_cluster_start. One thread at a time.
 *   returns   AXO_OK; AXO_EEXIST: there is one of that name, or of a name with the same number, a
 *             hash of 32 bits; AXO_ELIMIT: AXO_GRAIN_KINDS_MAX; AXO_EBUSY: it is started;
 *             AXO_ENAME, AXO_ENOMEM, AXO_EINVAL (also without AXO_CLUSTER_STORE), AXO_EVERSION
 *   after     on failure nothing has changed */
AXO_API AXO_NODISCARD axo_status axo_cluster_add_grain_kind(axo_cluster *cluster,
                                                            const axo_grain_kind *kind);

/* The reference of a grain, the same on this node while nobody stops it. The grain itself is made
 * by the first message.
 *   key       1..AXO_GRAIN_KEY_MAX bytes
 *   thread    any
 *   blocks    no
 *   returns   AXO_OK; AXO_ENOENT: no such kind; AXO_ENAME: the key is empty or too long;
 *             AXO_ESTOPPING: it is not started, or leaves; AXO_ENOMEM, AXO_ELIMIT; AXO_EINVAL
 *   after     on failure *out is axo_ref_none() */
AXO_API AXO_NODISCARD axo_status axo_grain(axo_cluster *cluster, const char *kind, const char *key,
                                           axo_ref *out);

/* Fills *out; zeroes without a kind, and before the start. Any thread.
 *   returns   AXO_OK, AXO_EINVAL */
AXO_API axo_status axo_grain_count(axo_cluster *cluster, axo_grain_figures *out);

AXO_END_DECLS

#endif
