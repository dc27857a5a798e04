/* extra.h - what few actors have, apart from the cell: three records, each there or not.
 *
 *   cell -> extra   what is rare in any actor
 *            |---> family   of a parent: its children, and a failure of theirs or with them
 *            `---> child    what its own parent keeps of it, in its child record: budget,
 *                           back-off, a restart from above
 *
 *   record   taken                                             given back
 *   extra    at spawn, if the props or the parent ask for it;  with the slot
 *            else by its first use
 *   family   by the first child's spawn; a guardian's at boot  with the slot
 *   child    at spawn, if the parent may restart the child     when the parent forgets the child
 *            with others, counts its restarts or delays them
 *
 * None is taken by failing, restarting or ending (D10): what those touch belongs to a child,
 * a watch, a stash, a timer or memory that there is only because its record was taken before.
 *
 * `extra` may be installed by the cell's runner and by a watcher of it: first come.
 *
 * Orders
 *   [M1] cas acq_rel, extra    publishes the zeroed record; pairs with [M2] and the other cas
 *   [M2] load acquire, extra   the record is whole
 */
#ifndef AXO__CELL_EXTRA_H
#define AXO__CELL_EXTRA_H

#include "base/assert.h"
#include "cell/core.h"

typedef struct axo__delay axo__delay;

/* One layer of the behaviour stack. */
typedef struct axo__behaviour {
    struct axo__behaviour *below;
    axo_receive_fn receive;
} axo__behaviour;

/* Children that are told of a decision, a portion a turn (super/sweep.h). */
typedef struct axo__sweep {
    const struct axo__sweep_ops *ops; /* NULL: no sweep is under way */
    axo__cell *next;                  /* the children from here on have not been told */
    axo__cell *end;                   /* not among them */
    axo__cell *about;                 /* a child that the decision treats apart; NULL: none */
    int64_t number;                   /* the ops' own, as is `flag` */
    bool flag;
} axo__sweep;

/* The runner's. */
typedef struct axo__family {
    axo__cell *children;      /* youngest first */
    axo__cell *earlier;       /* the first of an earlier instance's; all behind it are too */
    uint32_t count;
    uint32_t stopping;        /* children told to stop by their parent */
    axo__sweep sweep;
    axo__stack_link held;     /* reports held back, oldest first (SC-09) */
    axo__stack_node *held_last;
    axo_ref perpetrator;      /* the child whose failure it escalated */
    axo__cause failure;       /* whole, where the cell's short one says so: a child's, escalated */
    axo__cause restart_cause; /* of a restart that waits for children, or of a sweep */
    uint8_t restart_own;      /* while RECREATING or CREATING: the restart answers the report */
    uint32_t kept;            /* children that have ended and wait for their DUE */
} axo__family;

/* The parent's. */
typedef struct axo__child_record {
    axo__cause cause;         /* of a restart from above; under directive.h's I2 */
    int64_t window_start;     /* restart budget (RW) */
    uint32_t restarts;
    uint8_t limited;          /* window_start is set */
    int64_t *failures;        /* sliding window: AXO_SLIDING_MAX times */
    axo__delay *delay;        /* the parent's strategy has a back-off */
} axo__child_record;

/* The runner's, but for what is said. */
typedef struct axo__extra {
    axo__name *name;                 /* fixed from spawn on; anybody's who may look at the cell */
    axo__child_record *child_record; /* fixed from spawn on; the parent's */
    const axo_strategy *strategy;    /* fixed from spawn on */
    axo__bounded_mailbox *bounded;   /* fixed from spawn on; senders' too */
    struct axo__sched *sched;        /* fixed from spawn on; senders' too. NULL: the default pool */
    uint32_t stash_max;              /* 0: the default */
    axo__family *family;
    axo__region *region;
    axo__behaviour *behaviours;      /* saved ones, in the region */
    struct axo__keyed_timers *keyed; /* keyed timers, receive timeout */
    struct axo__parked *parked;      /* where it waits for room, latest first */
    axo__watch *watching;            /* records of what it watches */
    axo__watch *watchers;            /* records of who watches it */
    axo__chain front;                /* handled before the user lane: what was unstashed */
    axo__chain stash;                /* oldest first */
    uint32_t stash_count;
    axo__stack_link lane;            /* out of the system lane and not seen to, oldest first */
    axo__stack_link unturned;        /* behind those, newest first; it is 0 when a node is taken */
    axo__watch *above;               /* its parent's records, of one that is gone */
    axo_ref about;                   /* whom the cell's failure is about, one it watched; none */
} axo__extra;

/* NULL: nothing of it. */
static inline axo__extra *axo__cell_extra(const axo__cell *cell)
{
    return axo__aptr_load_acquire(&cell->extra); /* [M2] */
}

/* The record, made if need be; NULL: no memory. By its runner, by its maker, or by a worker that
 * has found the cell in this turn. */
axo__extra *axo__extra_take(axo__local *local, axo__cell *cell);

/* A parent's, made if need be; NULL: no memory. */
axo__family *axo__family_take(axo__local *local, axo__cell *cell);

/* A child's, by its maker; NULL: no memory. */
axo__child_record *axo__child_record_take(axo__local *local, axo__cell *cell);

/* The parent forgets the child; its failures and its delay have gone before. */
void axo__child_record_free(axo__local *local, axo__cell *cell);

/* Nobody looks at the cell any more. All that was in the records has gone before. */
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

/* The same of a cell that has it. */
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

/* The youngest child of an earlier instance; NULL: none. */
static inline axo__cell *axo__cell_earlier_children(const axo__cell *cell)
{
    const axo__family *family = axo__cell_family(cell);
    return family != NULL ? family->earlier : NULL;
}

/* Children that the cell has told to stop and not forgotten yet. */
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

/* Of a cell that has one: its children may be delayed. */
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

/* In place of the lane; NULL: none. */
static inline axo__bounded_mailbox *axo__cell_bounded(const axo__cell *cell)
{
    if (axo__likely(!cell->bounded))
        return NULL;
    const axo__extra *extra = axo__cell_extra(cell);
    AXO_DEBUG_ASSERT(extra != NULL && extra->bounded != NULL);
    return extra->bounded;
}

/* Queues a message that no bound refuses, and announces it. Any thread. */
static inline axo__announce axo__cell_accept(axo__cell *cell, axo__message *message)
{
    if (axo__likely(!cell->bounded))
        return axo__state_woken(axo__state_push(&cell->state, &message->node));
    axo__bounded_accept_any(axo__cell_bounded(cell), message);
    return axo__state_announce_user(&cell->state);
}

/* ---- its failure: the runner writes it before the report, the parent reads it after ---- */

/* A look: it holds its texts no longer than the cell does. */
axo__cause axo__cell_failure(const axo__cell *cell);

/* Keeps what was in *cause. */
void axo__cell_keep_failure(axo__cell *cell, axo__cause *cause);

/* What was kept: its texts go with it. */
axo__cause axo__cell_take_failure(axo__cell *cell);

/* NONE: it has not failed. */
static inline axo_failure_kind axo__cell_failure_kind(const axo__cell *cell)
{
    return (axo_failure_kind)axo__cell_cold(cell)->failure.kind;
}

static inline void axo__cell_drop_failure(axo__texts *texts, axo__cell *cell)
{
    if (axo__cell_failure_kind(cell) == AXO_FAILURE_NONE)
        return;
    axo__cause cause = axo__cell_take_failure(cell);
    axo__cause_drop(texts, &cause);
}

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
