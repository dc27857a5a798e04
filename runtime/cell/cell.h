/* cell.h - an actor's record: who may touch which field, and when.
 *
 * "Runner" is the worker that has set RUNNING in the word. "Parent" is the parent's runner. Cells
 * are type-stable: their memory stays until the system is destroyed, and a slot is used again only
 * after a grace period, with another generation.
 *
 * A million idle leaves are the case that a cell is cut for. What few actors have is in records of
 * cell/more.h: taken at spawn if the props or the parent's ways ask for it, else when it is first
 * used, so that failing and ending take no memory.
 */
#ifndef AXO__CELL_CELL_H
#define AXO__CELL_CELL_H

#include <axo/actor.h>
#include <axo/trace.h>

#include "cell/cause.h"
#include "cell/directive.h"
#include "cell/state.h"
#include "mailbox/box.h"
#include "mailbox/inbox.h"
#include "mem/grace.h"
#include "mem/region.h"
#include "queue/stack.h"

typedef struct axo__cell axo__cell;
typedef struct axo__watch axo__watch;
typedef struct axo__name axo__name;

/* A message of the system lane. Each is part of a cell or a watch record, and in one lane at a
 * time (OR-13). */
typedef enum axo__sys_kind {
    AXO__SYS_ADOPT = 1,   /* child -> parent: spawned from outside, take me in */
    AXO__SYS_FAILED = 2,  /* child -> parent: I have failed */
    AXO__SYS_GONE = 3,    /* child -> parent: I have terminated */
    AXO__SYS_WATCH = 4,   /* watcher -> target */
    AXO__SYS_UNWATCH = 5, /* watcher -> target */
    AXO__SYS_RETURN = 6,  /* target -> watcher: the record comes back */
    AXO__SYS_DUE = 7,     /* timer -> parent, on the child's FAILED: its delayed restart is due */
    AXO__SYS_ROOM = 8     /* receiver -> sender: what it held of you has found room */
} axo__sys_kind;

typedef struct axo__sys {
    axo__stack_node node; /* first */
    uint32_t kind;
    axo__cell *from;      /* ADOPT, FAILED, GONE, DUE: the child */
    axo__watch *watch;    /* WATCH, UNWATCH, RETURN */
} axo__sys;

/* Where a cell is in its life. */
typedef enum axo__phase {
    AXO__PHASE_NEW = 0,        /* before its first turn */
    AXO__PHASE_NORMAL = 1,
    AXO__PHASE_RECREATING = 2, /* waits for children before the new instance (RS-05) */
    AXO__PHASE_CREATING = 3,   /* waits for a failed attempt's children (IN-06) */
    AXO__PHASE_TERMINATING = 4,
    AXO__PHASE_GONE = 5
} axo__phase;

/* What there is of an instance. */
typedef enum axo__instance {
    AXO__INSTANCE_NONE = 0,    /* none, or a first creation that failed */
    AXO__INSTANCE_BROKEN = 1,  /* a re-creation that failed: its memory is still there */
    AXO__INSTANCE_STARTED = 2, /* its start finished: post_stop is owed to it */
    AXO__INSTANCE_STOPPED = 3  /* post_stop ran */
} axo__instance;

/* What makes its messages more than ordinary: the runner looks into cell/more.h then. */
enum {
    AXO__ASIDE_FRONT = 1, /* messages may be in front of the lane */
    AXO__ASIDE_TIMED = 2  /* it has used timers of its own */
};

struct axo__cell {
    /* ---- senders write ---- */
    axo__state state;           /* the scheduling word and the user lane */
    axo__stack system;          /* system lane */
    axo__directives directives;
    axo__mpsc_node inject_node; /* in use while INJECTED */
    axo__mpsc_node urgent_node; /* in use while URGENT_INJECTED */
    axo__a32 generation;        /* of the living incarnation; 0: nobody lives here */
    axo__a32 next_generation;   /* of the next one; 0: spent */
    uint32_t slot;              /* fixed */
    struct axo__sched *sched;   /* the pool that runs it: fixed from spawn on */
    axo__box *box;              /* in place of the user lane; NULL: none; fixed from spawn on */

    /* ---- runner ---- */
    _Alignas(AXO__CACHE_LINE) const axo_class *cls;
    axo_receive_fn receive;     /* top of the behaviour stack */
    void *state_block;
    axo__inbox inbox;           /* taken out of the lane */
    axo__message *failed;       /* the message this instance failed under, until it ends; while it
                                   is stashed the stash owns it */
    const void *args;
    axo__aptr more;             /* cell/more.h; NULL: nothing of it */
    uint32_t instance;          /* number, from 1 */
    uint8_t phase;
    uint8_t life;               /* an axo__instance */
    uint8_t reported;           /* its own failure is with the parent, undecided */
    uint8_t lifetime;           /* an axo_lifetime, fixed from spawn on; the parent reads it too */
    uint8_t constructed;        /* construct succeeded, destroy is owed */
    uint8_t aside;              /* AXO__ASIDE bits */

    /* ---- runner writes before the report, parent reads after ---- */
    axo__cause failure;
    axo__sys report;            /* FAILED, DUE */

    /* ---- parent (the spawner before) ---- */
    axo_ref self;               /* fixed from spawn on */
    axo__cell *parent;          /* fixed from spawn on */
    axo__cell *next;            /* siblings */
    axo__cell *before;
    axo__sys passage;           /* ADOPT, then GONE */
    uint32_t born_in;           /* the parent's instance that spawned it */
    uint8_t stopping;           /* told to stop by the parent */
    uint8_t waited;             /* counted in the family's `waiting` */

    axo__grace_item retired;
};

/* Asks the cell to stop, by its runner: who looks again before it is done. */
static inline void axo__cell_stop_self(axo__cell *cell)
{
    axo__directives_stop(&cell->directives);
    (void)axo__state_announce_system(&cell->state);
}

/* Queues a message that no bound refuses, and announces it. Any thread. */
static inline axo__announce axo__cell_accept(axo__cell *cell, axo__message *message)
{
    if (axo__likely(cell->box == NULL))
        return axo__state_push(&cell->state, &message->node);
    axo__box_accept_any(cell->box, message);
    return axo__state_announce_user(&cell->state);
}

/* How many messages wait in its mailbox, about. false: the mailbox does not count. Any thread that
 * may look at the cell. */
static inline bool axo__cell_queued(const axo__cell *cell, uint64_t *count)
{
    *count = cell->box != NULL ? axo__box_count(cell->box) : 0;
    return cell->box != NULL;
}

static inline axo__cell *axo__cell_of_inject(axo__mpsc_node *node)
{
    return (axo__cell *)(void *)((char *)node - offsetof(axo__cell, inject_node));
}

static inline axo__cell *axo__cell_of_urgent(axo__mpsc_node *node)
{
    return (axo__cell *)(void *)((char *)node - offsetof(axo__cell, urgent_node));
}

static inline axo__cell *axo__cell_of_retired(axo__grace_item *item)
{
    return (axo__cell *)(void *)((char *)item - offsetof(axo__cell, retired));
}

#endif
