/* lease.h - what a node may do for how long: its lease in the store, and those of the others.
 *
 * A node has one lease, not one for each grain: 10^5 of them would be as many writes to the store
 * in each period. It is a record of the node's incarnation, which the node writes anew before its
 * time is over; what the node has claimed is its own as long as it has the lease.
 *
 *   CLOSED -> HELD    [cluster_lease_answer]  a put of this term has been carried out
 *   HELD -> CLOSED    [lease_lose]            its time is over but for a handler's, or the record
 *                                             is not what was put there: the next term begins
 *
 * Who has the lease is told by no clock but those of the nodes, which run on their own and are not
 * the same; they only have to run at nearly the same rate:
 *
 *   1  The node counts `lease_ns` from before its call.
 *   2  The call is carried out, which gives the record a revision.
 *   3  Another node reads the record, and counts from the answer on.
 *   4  By 1, 2 and 3 it has begun later. When it has counted lease_ns * (1 + d) / (1 - d) and the
 *      record still has this revision, where d is how far a clock's rate may be off, then the time
 *      of 1 is over by the node's own clock, and it has ended all.
 *   5  It removes the record if it has this revision. If it has not, the node has renewed it.
 *
 * Behind 5 the node cannot renew (S1), and a term that was lost is never held again: whatever of it
 * is still on its way to the store cannot bring it back. So "gone" is for good.
 *
 * Invariants
 *   I1  With HELD, until <= when the last put that was carried out was called + lease_ns.
 *   I2  A term is held once, for one span of time without a gap.
 *   I3  covers is false from `guard_ns` before the end on: what was begun while it was true is over
 *       in time if it takes no longer.
 *   I4  A lease is said to be gone only if its holder can have had it no longer by then.
 *   I5  A term is not written to the store before the time of the one before is over: what was
 *       begun in that may go on till then, and others take the higher term for its end.
 *
 * The clock       goes on while the machine sleeps (CLOCK_BOOTTIME), and is not set. The time that
 *                 a function is given is read after what it reports has come, and not later than
 *                 what it does: a process may be stopped anywhere, and goes on with this call.
 * Not guaranteed  A process that is stopped within a handler, or between the question and its first
 *                 instruction, finishes it when it goes on (and so with the begin of a life). A
 *                 virtual machine whose clock stood still does not know that time has passed. A
 *                 handler may take longer than it may. For these there is the fencing number.
 */
#ifndef CLUSTER_LEASE_H
#define CLUSTER_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "store.h"

#define CLUSTER_LEASE_WATCHED_MAX 64
/* The numbers of its calls have this bit; those of others have not. */
#define CLUSTER_LEASE_ASKS (UINT64_C(1) << 63)

typedef struct cluster_lease_settings {
    int64_t lease_ns;    /* at most an hour */
    int64_t renew_ns;    /* from one call that renews it to the next; a third of it is good */
    int64_t guard_ns;    /* the longest that a handler and the end of its life behind it may take */
    int64_t answer_ns;   /* without an answer a call of the store is made again */
    int64_t pause_ns;    /* before what failed is tried again */
    uint32_t drift_ppm;  /* how far the rate of each clock may be off; below 100000 */
} cluster_lease_settings;

/* What is known of the lease of another incarnation. */
typedef struct cluster_lease_watched {
    uint64_t incarnation; /* 0: none */
    uint64_t revision;
    int64_t since;        /* the first answer that had it */
    int64_t looked_at;    /* the last */
} cluster_lease_watched;

typedef enum cluster_verdict {
    CLUSTER_LEASE_THERE,  /* as far as is known */
    CLUSTER_LEASE_SILENT, /* it may be removed with the revision that was seen: step 5 */
    CLUSTER_LEASE_GONE
} cluster_verdict;

typedef struct cluster_lease {
    const cluster_store *store;
    void *user;
    uint64_t asks;        /* the last number of a call; from CLUSTER_LEASE_ASKS on */
    cluster_lease_settings settings;
    cluster_lease_holder me; /* with the term that is held, or is next */
    bool held;
    int64_t until;        /* with `held` */
    uint64_t revision;    /* of the record, as far as is known */
    uint64_t ask;         /* that has no answer; 0: none */
    bool reads;           /* and is a get */
    int64_t asked_at;     /* with `ask` */
    int64_t next_at;      /* of the next put, without */
    int64_t silent_ns;    /* step 4 */
    uint64_t lost;        /* so many terms */
    cluster_lease_watched watched[CLUSTER_LEASE_WATCHED_MAX];
} cluster_lease;

/* Nothing is asked yet: cluster_lease_step does. */
void cluster_lease_init(cluster_lease *lease, const cluster_lease_settings *settings,
                        const cluster_store *store, void *user, uint64_t node,
                        uint64_t incarnation);

/* Loses what is over by now, and asks what is due. First in each round of calls. */
void cluster_lease_step(cluster_lease *lease, int64_t now);

/* When cluster_lease_step is due. */
int64_t cluster_lease_due(const cluster_lease *lease);

/* An answer has come. false: it is none of the lease's, or has been given up. `record`: of a get;
 * of a put only its revision. */
bool cluster_lease_answer(cluster_lease *lease, int64_t now, uint64_t ask,
                          cluster_store_answer answer, const cluster_store_record *record);

/* Whether something that takes no longer than `guard_ns` may begin. */
static inline bool cluster_lease_covers(const cluster_lease *lease, int64_t now)
{
    return lease->held && now < lease->until - lease->settings.guard_ns;
}

/* What the record of the lease of `whose` says of it; it was got by an answer that is here now. */
cluster_verdict cluster_lease_judge(cluster_lease *lease, int64_t now,
                                    const cluster_lease_holder *whose,
                                    const cluster_store_record *record);

#endif
