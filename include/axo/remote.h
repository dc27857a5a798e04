/* remote.h - the seam to other systems: what carries messages between nodes stands on it.
 *
 * A node is a system that others know by a name; each of its lives is an incarnation. The carrier,
 * a library or the program, makes a node known with axo_remote_add and gets its number here. From
 * then on a reference to an actor there is a reference like any: axo_send, axo_reply, axo_watch,
 * axo_stop and the like take it, and the carrier is asked by its axo_remote, a table of functions.
 * What comes from there it hands over with axo_remote_deliver and the functions behind it.
 *
 * A reference names its node by the number, which means nothing elsewhere: at the border it is
 * translated into the node's name and incarnation and 56 bits, and back (axo_remote_leave,
 * axo_remote_enter). One of a node that nobody here knows, of one that is lost, or of another
 * incarnation reaches nobody; what is sent to it is a dead letter.
 *
 * A node that is lost (axo_remote_lose) stays so: nothing of that incarnation is taken any more,
 * and every watch of an actor there is answered with AXO_TERMINATED, address_terminated 1. When the
 * node is back it has another incarnation, and another number. A number is given to another node
 * only when all AXO_NODES_MAX have been given; then it is the one that was lost the longest ago,
 * whose old references reach nobody, as in any other system (ref.h). */
#ifndef AXO_REMOTE_H
#define AXO_REMOTE_H

#include <axo/actor.h>
#include <axo/init.h>
#include <axo/message.h>

#define AXO_NODES_MAX     254 /* nodes that are known, or lost and not forgotten, at a time */
#define AXO_NODE_NAME_MAX 63  /* bytes */
#define AXO_NODE_NOBODY   255 /* the number in a reference of a node that nobody here knows */

/* A life of a node. */
typedef struct axo_node {
    char name[AXO_NODE_NAME_MAX + 1]; /* unique among the nodes: 1 to AXO_NODE_NAME_MAX bytes */
    uint64_t incarnation;             /* another in each life, never 0 */
} axo_node;

/* What the carrier does for a system. Each function gets axo_options.remote_user, and is called on
 * the thread where it happens, with no lock held; it calls no function that takes a context, and
 * does not block. References are of nodes that axo_remote_add has made known; one may come shortly
 * after its node is lost, and nothing is carried then.
 *
 * send, poison, kill and stop return AXO_OK: it is taken, and carried or not, as the carrier
 * promises. AXO_EFULL, AXO_ENOMEM, AXO_ETOOBIG: nothing has happened, and the call says so to its
 * caller. Any other: the reference reaches nobody; what was sent is a dead letter.
 *
 * What one actor sends comes in the order in which it is sent. watch and unwatch of one node are
 * called in their order by one thread at a time; terminated comes behind all that the dead one has
 * sent. A table may be shorter than this: what a later version adds stands behind. One with stray
 * alone has no nodes: `here` is zero then, and axo_remote_add is AXO_EINVAL. */
typedef struct axo_remote {
    size_t size;   /* sizeof(axo_remote), set by AXO_REMOTE */
    axo_node here; /* this system, as others know it */
    /* A message of an actor, or of nobody. It lives during the call, and its payload. */
    axo_status (*send)(void *user, axo_ref to, const axo_message *message);
    /* axo_poison and axo_kill: behind what the same sender has sent. */
    axo_status (*poison)(void *user, axo_ref to, axo_ref from);
    axo_status (*kill)(void *user, axo_ref to, axo_ref from);
    /* axo_stop. NULL, as for the two before: nobody is reached. */
    axo_status (*stop)(void *user, axo_ref to);
    /* Somebody here watches an actor of another node, or nobody does any more. That node is to call
     * axo_remote_watch, axo_remote_unwatch. A carrier that cannot see to it loses the node. */
    void (*watch)(void *user, axo_ref target);
    void (*unwatch)(void *user, axo_ref target);
    /* An actor of this system that the node `number` watches has terminated. That node is to call
     * axo_remote_terminated. A carrier that cannot see to it loses the node. */
    void (*terminated)(void *user, uint32_t number, const axo_terminated *end);
    /* A message for nobody: no actor here has the reference, and it is of no node that is up. For
     * who shares references with another system as they are, as a process does with its host.
     * AXO_OK: it is taken, else it is a dead letter. NULL: it is one at once. */
    axo_status (*stray)(void *user, axo_ref to, const axo_message *message);
    /* The system itself has lost the node: it has no memory for a watch of the node, or ends. As
     * after axo_remote_lose; a carrier tells the node that it has been lost. */
    void (*lost)(void *user, uint32_t number);
} axo_remote;
#define AXO_REMOTE(...) AXO_INIT(axo_remote, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_remote_init(axo_remote *out)
{
    const axo_remote fresh = AXO_REMOTE();
    *out = fresh;
}

/* A message that comes from another node. */
typedef struct axo_remote_message {
    size_t size;      /* sizeof(axo_remote_message), set by AXO_REMOTE_MESSAGE */
    axo_ref to;       /* of this node */
    axo_ref from;     /* the sender as axo_remote_enter gives it, of any node; or none */
    uint32_t tag;     /* below AXO_TAG_SERVICES */
    uint32_t payload_size;
    const void *payload;
} axo_remote_message;
#define AXO_REMOTE_MESSAGE(...) AXO_INIT(axo_remote_message, __VA_ARGS__)

/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_remote_message_init(axo_remote_message *out)
{
    const axo_remote_message fresh = AXO_REMOTE_MESSAGE();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* The number of the reference's node; 0: it is of this system, or none; AXO_NODE_NOBODY.
 *   thread    any */
AXO_API uint32_t axo_ref_node(axo_ref ref);

/* ---- nodes. Any thread; AXO_EINVAL from a system without axo_options.remote, AXO_EFORKED */

/* Makes a node known.
 *   returns   AXO_OK, also if it is known already; AXO_EGONE: this incarnation has been lost;
 *             AXO_EEXIST: another incarnation of that name is known, and has to be lost first, or
 *             it is this system itself; AXO_ELIMIT: AXO_NODES_MAX are known; AXO_ENAME: a name
 *             that is empty or does not end; AXO_EINVAL: incarnation 0; AXO_ENOMEM, AXO_ESTOPPING
 *   after     *number is the node's, from 1 to AXO_NODES_MAX; 0 on failure */
AXO_API AXO_NODISCARD axo_status axo_remote_add(axo_system *system, const axo_node *node,
                                                uint32_t *number);

/* Loses a node for good: when the call has returned nothing of it is delivered any more, and
 * watches of its actors are answered, behind what was delivered before.
 *   blocks    for calls that deliver meanwhile; not from an allocator or a mailbox's priority
 *   returns   AXO_OK; AXO_EGONE: it is lost already; AXO_EINVAL: no node had the number */
AXO_API axo_status axo_remote_lose(axo_system *system, uint32_t number);

/* Which node a number is of.
 *   returns   AXO_OK; AXO_EGONE: it is lost; *node is filled in both cases; AXO_EINVAL: none */
AXO_API axo_status axo_remote_node(axo_system *system, uint32_t number, axo_node *node);

/* A reference on its way out: its node, and the bits by which that node knows it.
 *   returns   AXO_OK; AXO_EGONE: of no node that is remembered here; AXO_EINVAL: none */
AXO_API AXO_NODISCARD axo_status axo_remote_leave(axo_system *system, axo_ref ref, axo_node *node,
                                                  uint64_t *bits);

/* A reference on its way in. Whatever the arguments are, what is made of them names who was meant,
 * or reaches nobody.
 *   returns   none for bits of 0, and for a system without axo_options.remote */
AXO_API axo_ref axo_remote_enter(axo_system *system, const axo_node *node, uint64_t bits);

/* ---- what comes from a node. Any thread. AXO_EGONE: the node is lost, and nothing was done;
 * AXO_EINVAL: no node has the number, or a reference is not of the node that it has to be of;
 * AXO_ENOMEM: nothing was done, and it may be tried again; AXO_EFORKED */

/* Sends the message as axo_system_send_from does; a receiver that has gone makes it a dead letter.
 *   returns   as above; AXO_OK, also for a dead letter; AXO_EINVAL too for a tag of the services or
 *             of the runtime; AXO_ETOOBIG, AXO_EFULL; AXO_EVERSION */
AXO_API AXO_NODISCARD axo_status axo_remote_deliver(axo_system *system, uint32_t number,
                                                    const axo_remote_message *message);

/* A poison pill for an actor of this system, as axo_remote_kill a kill and axo_remote_stop a stop.
 *   returns   as above; AXO_OK also if it has gone */
AXO_API AXO_NODISCARD axo_status axo_remote_poison(axo_system *system, uint32_t number, axo_ref to,
                                                   axo_ref from);
AXO_API AXO_NODISCARD axo_status axo_remote_kill(axo_system *system, uint32_t number, axo_ref to,
                                                 axo_ref from);
AXO_API AXO_NODISCARD axo_status axo_remote_stop(axo_system *system, uint32_t number, axo_ref to);

/* The node watches an actor of this system, until it has ended, the node is lost, or
 * axo_remote_unwatch is called. axo_remote.terminated is called once for each watch that it ends,
 * also if the actor has ended or never was. Watching twice is watching once. */
AXO_API AXO_NODISCARD axo_status axo_remote_watch(axo_system *system, uint32_t number,
                                                  axo_ref target);
AXO_API AXO_NODISCARD axo_status axo_remote_unwatch(axo_system *system, uint32_t number,
                                                    axo_ref target);

/* An actor of the node has terminated: every watch of it here is answered, behind what was
 * delivered before. `existence_known` is passed on. Without a watch nothing happens. */
AXO_API AXO_NODISCARD axo_status axo_remote_terminated(axo_system *system, uint32_t number,
                                                       const axo_terminated *end);

AXO_END_DECLS

#endif
