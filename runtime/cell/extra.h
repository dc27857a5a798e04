/* extra.h - what few actors have, apart from the cell: three records, each present or not.
 *
 *   cell -> extra   what is rare in any actor
 *            |---> family   of a parent: its children, and a failure of theirs or with them
 *            `---> child    what the parent keeps of this child: budget, back-off, a
 *                           restart from above
 *
 *   record   taken                                             given back
 *   extra    at spawn, if the props or the parent ask for it;  with the slot
 *            else by its first use
 *   family   by the first child's spawn; a guardian's at boot  with the slot
 *   child    at spawn, if the parent may restart the child     when the parent forgets the child
 *            with others, counts its restarts or delays them
 *
 * Failing, restarting and ending take none of them (D10): each field that a failure touches belongs
 * to a child, a watch, a stash or a timer, and the call that made that has taken the record.
 *
 * Two threads may install `extra` of one cell: its runner, and the runner of an actor that is about
 * to watch it. The first one to succeed wins and the other frees its block.
 *
 * Orders
 *   [M1] cas acq_rel, extra    publishes the zeroed record; pairs with [M2], and with the acquiring
 *                              load of the cas that fails
 *   [M2] load acquire, extra   a reader that finds the pointer finds the record zeroed, or newer
 */
#ifndef AXO__CELL_EXTRA_H
#define AXO__CELL_EXTRA_H

#include "base/assert.h"
#include "base/way.h"
#include "cell/account.h"
#include "cell/core.h"

typedef struct axo__delay axo__delay;

/* One layer of the behaviour stack, in the instance's region: a restart ends it with the region
 * (RS-11). */
typedef struct axo__behaviour {
    struct axo__behaviour *below;
    axo_receive_fn receive;
} axo__behaviour;

/* Children that are told of a decision, a portion a turn (super/sweep.h). */
typedef struct axo__sweep {
    const struct axo__sweep_ops *ops; /* NULL: no sweep is under way */
    axo__cell *next;                  /* the first child that has not been told */
    axo__cell *end;                   /* not among them */
    axo__cell *about;                 /* a child that the decision treats apart; NULL: none */
    int64_t number;                   /* for the ops' own use, as is `flag` */
    bool flag;
} axo__sweep;

/* A parent's part; its runner's, or a borrower's. It has the room for every step of a failure of or
 * with the children, so that such a step takes no memory (D10). */
typedef struct axo__family {
    axo__cell *children;      /* youngest first */
    axo__cell *earlier;       /* the youngest child of an earlier instance */
    uint32_t count;
    uint32_t stopping;        /* children told to stop by their parent */
    axo__sweep sweep;
    axo__stack_link held;     /* reports held back, oldest first (SC-09) */
    axo__stack_node *held_last;
    axo_ref perpetrator;      /* the child whose failure the cell escalated */
    axo__cause failure;       /* an escalated child's, whole, if the cell's short one says so */
    axo__cause restart_cause; /* of a restart that waits for children, or of a sweep */
    uint8_t restart_own;      /* while RECREATING or CREATING: this restart answers the report */
    uint8_t plain;            /* 1: no child gets an axo__child_record; known since the first one */
    uint32_t kept;            /* children that have ended and whose DUE is under way */
} axo__family;

/* What a parent keeps of one child; the parent's runner's, except `cause`, and but for `print` and
 * `failed`, which are the child's runner's. */
typedef struct axo__child_record {
    axo__cause cause;         /* of a restart from above; under directive.h's I2 */
    int64_t window_start;     /* restart budget (RW) */
    uint32_t restarts;
    uint8_t limited;          /* window_start is set */
    int64_t *failures;        /* sliding window: AXO_SLIDING_MAX times */
    axo__delay *delay;        /* its restarts may wait */
    uint64_t print;           /* of the message under which the last instance failed */
    uint32_t failed;          /* instances in a row that have failed under it */
} axo__child_record;

/* The rare part of an actor; the runner's, except for the fields that are fixed from spawn on. */
typedef struct axo__extra {
    axo__name *name;                 /* fixed from spawn on; every thread may look at it */
    axo__child_record *child_record; /* fixed from spawn on; the parent's */
    const axo_strategy *strategy;    /* fixed from spawn on */
    axo__bounded_mailbox *bounded;   /* fixed from spawn on; senders' too */
    struct axo__sched *sched;        /* fixed from spawn on; senders' too. NULL: the default pool */
    uint32_t stash_max;              /* 0: the default */
    bool looked;                     /* with FRONT: none was taken since axo_health looked */
    axo__family *family;
    axo__region *region;
    axo__budget *budget;             /* fixed from spawn on; NULL: no bound, and no wall */
    axo__account *account;           /* fixed from spawn on; NULL: nothing outstanding is counted */
    axo__behaviour *behaviours;      /* saved layers, in the region */
    struct axo__keyed_timers *keyed; /* keyed timers, receive timeout */
    struct axo__io_record *io;       /* watched descriptors */
    struct axo__parked *parked;      /* where the actor waits for room, latest first */
    axo__way *watching;              /* own watches, by their targets: super/watch.c */
    axo__watch *watchers;            /* watches of this actor by others */
    axo__chain front;                /* unstashed messages, handled before the user lane */
    axo__chain stash;                /* oldest first */
    uint32_t stash_count;
    axo__stack_link lane;            /* taken off the system lane, oldest first */
    axo__stack_link unturned;        /* later ones, newest first; 0 whenever a node is taken */
    axo__watch *above;               /* after the end: the parent's watch records */
    axo_ref about;                   /* the watched actor that the cell's failure is about; none */
    axo__message *done;              /* of a termination hook, until it is said: the answer */
} axo__extra;

/* NULL: the actor has none. The load [M2] pairs with the installing cas [M1], since another worker
 * may have installed the record. */
static inline axo__extra *axo__cell_extra(const axo__cell *cell)
{
    return axo__aptr_load_acquire(&cell->extra); /* [M2] */
}

/* The record, made if need be; NULL: no memory. The caller is the cell's runner, its maker, or a
 * worker that has found the cell in this turn, so that the slot cannot be given back meanwhile. */
axo__extra *axo__extra_take(axo__local *local, axo__cell *cell);

/* A parent's family, made if need be; NULL: no memory. By the parent's runner. */
axo__family *axo__family_take(axo__local *local, axo__cell *cell);

/* A child's record, made if need be, before any thread can find the child; NULL: no memory. */
axo__child_record *axo__child_record_take(axo__local *local, axo__cell *cell);

/* The parent forgets the child; the record's failures and delay have been freed before. */
void axo__child_record_free(axo__local *local, axo__cell *cell);

/* Frees the records of a cell that no thread can look at. Everything they lead to has been freed
 * before. */
void axo__extra_free(axo__local *local, axo__cell *cell);

static inline axo__family *axo__cell_family(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->family : NULL;
}

static inline axo__child_record *axo__cell_child_record(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->child_record : NULL;
}

/* The same for a cell that is known to have the record. */
static inline axo__family *axo__cell_own_family(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    AXO_DEBUG_ASSERT(extra != NULL && extra->family != NULL);
    return extra->family;
}

static inline axo__child_record *axo__cell_own_child_record(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    AXO_DEBUG_ASSERT(extra != NULL && extra->child_record != NULL);
    return extra->child_record;
}

/* The youngest child; NULL: none. */
static inline axo__cell *axo__cell_children(const axo__cell *cell)
{
    const axo__family *family = axo__cell_family(cell);
    return family != NULL ? family->children : NULL;
}

/* The youngest child of an earlier instance; NULL: none. It and all children behind it in the list
 * are survivors of a restart. */
static inline axo__cell *axo__cell_earlier_children(const axo__cell *cell)
{
    const axo__family *family = axo__cell_family(cell);
    return family != NULL ? family->earlier : NULL;
}

/* Children that the cell has told to stop and not forgotten yet: a restart waits for these
 * (RS-05). */
static inline uint32_t axo__cell_stopping_count(const axo__cell *cell)
{
    const axo__family *family = axo__cell_family(cell);
    return family != NULL ? family->stopping : 0;
}

static inline uint32_t axo__cell_child_count(const axo__cell *cell)
{
    const axo__family *family = axo__cell_family(cell);
    return family != NULL ? family->count : 0;
}

static inline const axo_strategy *axo__cell_strategy(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->strategy : NULL;
}

/* The same for a cell that is known to have a strategy. */
static inline const axo_strategy *axo__cell_own_strategy(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    AXO_DEBUG_ASSERT(extra != NULL && extra->strategy != NULL);
    return extra->strategy;
}

static inline axo__name *axo__cell_name(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return extra != NULL ? extra->name : NULL;
}

/* ---- its mailbox ---- */

/* The mailbox in place of the lane; NULL: none. The bit in the cell saves the usual sender the load
 * of `extra`. */
static inline axo__bounded_mailbox *axo__cell_bounded(const axo__cell *cell)
{
    if (axo__likely(!cell->bounded))
        return NULL;
    const axo__extra *extra = axo__cell_extra(cell);
    AXO_DEBUG_ASSERT(extra != NULL && extra->bounded != NULL);
    return extra->bounded;
}

/* Queues a message that no bound refuses, and announces it. Any thread that has found the cell. */
static inline axo__announce axo__cell_accept(axo__cell *cell, axo__message *message)
{
    if (axo__likely(!cell->bounded))
        return axo__state_woken(axo__state_push(&cell->state, &message->node));
    axo__bounded_accept_any(axo__cell_bounded(cell), message);
    return axo__state_announce_user(&cell->state);
}

/* ---- its failure: the runner writes it before the report, the parent reads it after ---- */

axo__cause axo__cell_failure_any(const axo__cell *cell);
void axo__cell_keep_failure_any(axo__cell *cell, const axo__cause *cause);

/* NONE: the cell keeps no failure. */
static inline axo_failure_kind axo__cell_failure_kind(const axo__cell *cell)
{
    return (axo_failure_kind)axo__cell_cold(cell)->failure.kind;
}

/* A copy of the failure that holds no texts of its own: it is good as long as the cell keeps its
 * failure. A cell without `extra` has it in one place. */
static inline axo__cause axo__cell_failure(const axo__cell *cell)
{
    if (axo__likely(axo__cell_extra(cell) == NULL))
        return axo__cause_of_short(&axo__cell_cold(cell)->failure, axo__cell_ref(cell));
    return axo__cell_failure_any(cell);
}

/* Moves *cause into the cell. The parent's runner reads it after the report's push, which releases
 * it. */
static inline void axo__cell_keep_failure(axo__cell *cell, axo__cause *cause)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    AXO_DEBUG_ASSERT(cause->kind != AXO_FAILURE_NONE && !cause->whole);
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(cell) == AXO_FAILURE_NONE);
    if (axo__likely(axo__cell_extra(cell) == NULL && axo_ref_is_none(cause->about)))
        axo__cell_cold(cell)->failure = axo__cause_shorten(cause);
    else
        axo__cell_keep_failure_any(cell, cause);
    *cause = (axo__cause){.kind = AXO_FAILURE_NONE};
}

/* Moves the failure out of the cell; its texts go with it. */
static inline axo__cause axo__cell_take_failure(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(cell) != AXO_FAILURE_NONE);
    axo__cause cause = axo__cell_failure(cell);
    axo__cell_cold(cell)->failure = (axo__cause_short){.kind = AXO_FAILURE_NONE};
    return cause;
}

void axo__cell_drop_failure_any(axo__texts *texts, axo__cell *cell);

static inline void axo__cell_drop_failure(axo__texts *texts, axo__cell *cell)
{
    if (axo__cell_failure_kind(cell) != AXO_FAILURE_NONE)
        axo__cell_drop_failure_any(texts, cell);
}

/* The living child that has this reference; NULL: none. A walk along the list, for the parent's
 * runner. */
static inline axo__cell *axo__cell_find_child(axo__cell *cell, axo_ref ref)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    axo__cell *child = axo__cell_children(cell);
    for (; child != NULL; child = axo__cell_next(child)) {
        if (axo_ref_equal(axo__cell_ref(child), ref))
            return child;
    }
    return NULL;
}

#endif
