/* member.h - who is there: a state machine without sockets, threads and clock.
 *
 * A member is one incarnation of this node among others. Whoever has it brings two things in and
 * out, calls it by one thread at a time and tells it the time of one monotonic clock of its own:
 *
 *   a store       an entry a name, put and removed only if its revision is still the one that is
 *                 said (compare-and-set). Revisions grow over all entries. One that is not put
 *                 again for `lease_ns` expires. A watch brings what happens to entries in the
 *                 order of their revisions, as late as it likes; one that is made anew says first
 *                 what is there. The store may be away, and may have lost all when it is back
 *   heartbeats    plain messages, which may be lost, repeated, late and out of order
 *
 *   OUTSIDE -> JOINING -> UP -> LEAVING -> OVER    what the own entry says; OUTSIDE: there is none.
 *                                                  From each to OVER, for good
 *
 * A node comes up here when its entry says so and one of its heartbeats has come, while the store
 * is there and this node is UP itself. It goes down when it leaves, is silent (phi), its lease has
 * run out, another incarnation has its name, its entry was removed, or its link is lost. While the
 * store is away heartbeats alone keep up who is up, and nobody comes up.
 *
 * Two of a name     The store decides. Whose entry is there has the name; another incarnation is
 *                   refused, and takes the entry over by compare-and-set when it has not changed
 *                   for a lease, or is gone.
 * One that is down  and lives on: its entry is removed (evicted) by those who hold it down, if they
 *                   are not outnumbered; then it is over. One that is outnumbered evicts nobody,
 *                   and gives way when it sees one alive that it holds down. So who lives in the
 *                   end is up everywhere, and who was down somewhere comes again as another.
 * Outnumbered       With seeds: it saw a majority of the seeds, and does no more. Seeds that have
 *                   left do not count. Without: those with an entry that it holds down are more
 *                   than the others and itself. Of two halves that with the lowest name is the
 *                   larger.
 * Clocks            of others are never looked at. A lease is renewed when a new revision is seen;
 *                   it has run out when an entry of this node's own, put a lease later, has come
 *                   back by the watch, and no revision of the other before it: so neither a late
 *                   watch nor a store that is away nor a stop of this process lets one run out.
 * A stop            of this process (SIGSTOP, a sleeping machine) counts against nobody's beats.
 *                   Its own lease may be gone then, which its next put says.
 * A store that      has lost this node's entry without its being removed gets it again. As others
 * forgets           may hold it down by then, and remove it, it evicts nobody for a lease.
 *
 * Invariants (test/schedules/member checks them from outside)
 *   I1  For an incarnation up is told at most once, and down at most once, behind it.
 *   I2  An incarnation that was down comes never up again, as long as it is remembered: while it
 *       has an entry, and until AXO_NODES_MAX others were there since.
 *   I3  Of a name at most one incarnation is up at a time; never this node's own name.
 *   I4  Nobody comes up while the store is away or its list is not whole, nor before this node.
 *   I5  Only a number of a heartbeat that is higher than all before counts.
 *   I6  A lease runs out only behind an own revision that was put a lease behind its last change.
 *   I7  A node removes the entry of another only with a revision below its own last one: so of two
 *       that hold each other down at most one is evicted, unless the store forgets that.
 *   I8  Once it is over, it does nothing more, and tells nothing; `over` is told once.
 *   I9  One put is under way at a time.
 */
#ifndef CLUSTER_MEMBER_H
#define CLUSTER_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include <axo/remote.h>

#include "phi.h"

typedef enum cluster_phase {
    CLUSTER_OUTSIDE = 0, /* of no entry */
    CLUSTER_JOINING = 1, /* it has the name */
    CLUSTER_UP = 2,
    CLUSTER_LEAVING = 3,
    CLUSTER_OVER = 4 /* of no entry */
} cluster_phase;

typedef struct cluster_entry {
    axo_node node;
    cluster_phase phase; /* JOINING, UP, LEAVING */
    uint64_t revision;   /* from 1; 0 where one is put: there is none */
} cluster_entry;

typedef enum cluster_why {
    CLUSTER_LEFT = 1,   /* by itself */
    CLUSTER_SUSPECTED,  /* down: phi is at the threshold */
    CLUSTER_EXPIRED,    /* down: its lease */
    CLUSTER_REPLACED,   /* another incarnation has the name */
    CLUSTER_EVICTED,    /* the entry was removed, and not by itself */
    CLUSTER_LOST,       /* down: cluster_member_lost */
    CLUSTER_MINORITY,   /* over: CLUSTER_STOP */
    CLUSTER_OUTNUMBERED /* over: it held one down that lives */
} cluster_why;

/* What a member asks of whoever has it. An operation calls no function of the member but
 * cluster_member_lost and those that only look. */
typedef struct cluster_member_ops {
    /* Puts the own entry where the name's revision is entry->revision (0: where there is no entry,
     * or a removed one). Answered by one call of cluster_member_answer, later, in any case. */
    void (*put)(void *user, const cluster_entry *entry);
    /* Removes an entry, the own or another's, where its revision is still that. Not answered. */
    void (*remove)(void *user, const cluster_entry *entry);
    /* To all nodes. */
    void (*beat)(void *user, uint64_t number);
    void (*up)(void *user, const axo_node *node);
    void (*down)(void *user, const axo_node *node, cluster_why why);
    /* This node sees a majority of the seeds no more; and again. Told in turn. With CLUSTER_STOP it
     * is over instead. */
    void (*minority)(void *user);
    void (*majority)(void *user);
    /* Another incarnation has the name, and this one waits. Told once of each. */
    void (*refused)(void *user, const axo_node *holder);
    /* AXO_NODES_MAX others are known: the node cannot come up. Told each time its entry comes. */
    void (*no_room)(void *user, const axo_node *node);
    /* For good: this incarnation is not of the cluster any more. */
    void (*over)(void *user, cluster_why why);
} cluster_member_ops;

typedef enum cluster_on_minority { CLUSTER_GO_ON = 0, CLUSTER_STOP = 1 } cluster_on_minority;

typedef struct cluster_member_settings {
    int64_t beat_ns;  /* between heartbeats; > 0 */
    int64_t lease_ns; /* the store's: an entry is put again each third of it; at least 3 beat_ns */
    cluster_phi_settings phi;
    cluster_on_minority on_minority;
    const char *const *seeds; /* names, which live as long as the member; NULL: none */
    uint32_t seeds_count;     /* at most AXO_NODES_MAX */
} cluster_member_settings;

/* What has become of a put. */
typedef enum cluster_answer {
    CLUSTER_TAKEN,   /* there->revision is the new one */
    CLUSTER_REFUSED, /* `there` is there instead, of this or another incarnation */
    CLUSTER_MISSING, /* no entry is there */
    CLUSTER_REMOVED, /* no entry is there, as somebody has removed it */
    CLUSTER_UNKNOWN  /* it may have been taken, or be taken yet */
} cluster_answer;

typedef enum cluster_store_state {
    CLUSTER_STORE_AWAY,    /* nothing comes of it; in the beginning. A put under way is UNKNOWN */
    CLUSTER_STORE_LISTS,   /* behind AWAY: a new watch; what is there comes now. Nothing comes of a
                              former one, and no put of before it is answered */
    CLUSTER_STORE_IS_THERE /* that was all; what happens from now on comes */
} cluster_store_state;

typedef enum cluster_gone { CLUSTER_GONE_REMOVED, CLUSTER_GONE_EXPIRED } cluster_gone;

typedef enum cluster_slot_state {
    CLUSTER_SLOT_FREE,
    CLUSTER_SLOT_KNOWN, /* by its entry */
    CLUSTER_SLOT_UP,
    CLUSTER_SLOT_DOWN   /* for good */
} cluster_slot_state;

/* An incarnation of another node. */
typedef struct cluster_slot {
    cluster_slot_state state;
    cluster_why why;      /* DOWN */
    cluster_entry entry;  /* the last that was seen */
    bool present;         /* it is in the store, as far as is known */
    int64_t renewed_at;   /* when its last change was seen */
    int64_t down_at;      /* DOWN */
    uint64_t down_order;  /* DOWN */
    uint64_t mark;        /* DOWN: an own revision that was put behind down_at; 0: none yet */
    uint64_t number;      /* of its last heartbeat */
    cluster_phi phi;
} cluster_slot;

typedef struct cluster_member {
    const cluster_member_ops *ops;
    void *user;
    cluster_member_settings settings;
    axo_node self;
    int64_t now;           /* of the last call */

    cluster_phase phase;   /* as the store has it, as far as is known */
    cluster_phase wanted;  /* JOINING, UP, LEAVING */
    bool joined;           /* it has had the name */
    cluster_store_state store;
    uint64_t revision;     /* of the own entry; 0: it has none */
    uint64_t highest;      /* that `revision` was, since the list */
    uint64_t seen;         /* the last own one that this watch has brought */
    uint64_t removed;      /* the last at which it saw the own name removed */
    bool under_way;        /* a put */
    cluster_phase put_phase; /* its */
    int64_t put_at;        /* when the first was that may lead to the next revision */
    bool unsure;           /* whether one that was answered does */
    int64_t revision_at;   /* when `revision` was put */
    int64_t proved_at;     /* when the last own revision that came by the watch was put */
    int64_t due_at;        /* of the next put */
    int64_t beat_at;
    int64_t leave_at;      /* LEAVING is wanted: without a store it is over then */
    int64_t evicts_at;     /* from then on it may */
    uint64_t beats;
    cluster_entry holder;  /* of the name, another incarnation; revision 0: none */
    int64_t holder_at;     /* when its last change was seen */
    uint64_t refused_by;   /* an incarnation that was told */
    bool had_majority;
    bool minority;

    uint64_t downs;
    uint64_t stale;        /* heartbeats that changed nothing */
    uint32_t used;         /* slots that are not free lie before it */
    cluster_slot slots[AXO_NODES_MAX];
} cluster_member;

/* A member takes no memory but its own, about 250 KB.
 * self: a name of 1 to AXO_NODE_NAME_MAX bytes; an incarnation that no life of the name has had. */
void cluster_member_init(cluster_member *member, const cluster_member_settings *settings,
                         const cluster_member_ops *ops, void *user, const axo_node *self,
                         int64_t now);

/* ---- what comes in; after `over` nothing happens */

void cluster_member_store(cluster_member *member, int64_t now, cluster_store_state state);

/* `there` of TAKEN and REFUSED, else NULL. */
void cluster_member_answer(cluster_member *member, int64_t now, cluster_answer answer,
                           const cluster_entry *there);

/* The watch: an entry is there, of this node or another. */
void cluster_member_entry(cluster_member *member, int64_t now, const cluster_entry *entry);

/* The watch: there is none any more. `revision` is that of the removal, or the last that the
 * expired one had. Of expiries nothing has to be said; they are found. */
void cluster_member_gone(cluster_member *member, int64_t now, const char *name, uint64_t revision,
                         cluster_gone how);

/* A heartbeat of another; its own is of no use. */
void cluster_member_heard(cluster_member *member, int64_t now, const axo_node *node,
                          uint64_t number);

/* The link to the node is quarantined: it is down, if it was not. */
void cluster_member_lost(cluster_member *member, int64_t now, const axo_node *node);

/* Leaves: says so in the store, then is over; without a store after a lease. */
void cluster_member_leave(cluster_member *member, int64_t now);

/* Does what is due: a heartbeat, a put; finds the silent and the expired. At cluster_member_due,
 * which is never more than beat_ns after the last call; INT64_MAX: it is over. */
void cluster_member_step(cluster_member *member, int64_t now);
int64_t cluster_member_due(const cluster_member *member);

/* ---- which only look */

bool cluster_member_is_up(const cluster_member *member, const axo_node *node);
/* 0: it is not up. `now` is no earlier than that of the last call. */
double cluster_member_phi(const cluster_member *member, int64_t now, const axo_node *node);
/* Whether it evicts nobody, as those that it sees are the fewer. */
bool cluster_member_is_outnumbered(const cluster_member *member);

#endif
