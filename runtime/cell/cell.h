/* cell.h - an actor's record: who may touch which field, and when.
 *
 * "Runner" is the worker that has set RUNNING in the word. "Parent" is the parent's runner. RUNNING
 * is the only lock of a cell: its fields need no atomics where the runner alone uses them, and
 * entering and leaving the cell (state.h's [S2], [S4]) hand them from one worker to the next. Cells
 * are type-stable: their memory stays until the system is destroyed, and a slot is used again only
 * after a grace period, with another generation.
 *
 * A cell is cut for the case of a million idle leaves. What few actors have is in records of
 * cell/extra.h: taken at spawn if the props or the parent's ways ask for it, else when it is first
 * used, so that failing and ending take no memory (D10).
 */
#ifndef AXO__CELL_CELL_H
#define AXO__CELL_CELL_H

#include <axo/actor.h>
#include <axo/system.h>
#include <axo/trace.h>

#include "cell/cause.h"
#include "cell/directive.h"
#include "cell/state.h"
#include "mailbox/bounded.h"
#include "mailbox/inbox.h"
#include "mem/grace.h"
#include "mem/region.h"
#include "queue/stack.h"

typedef struct axo__cell axo__cell;
typedef struct axo__watch axo__watch;
typedef struct axo__name axo__name;

struct axo__sched;

/* A link to a cell: its slot's number plus one, in half the bytes of a pointer; 0: none. */
typedef uint32_t axo__slot_link;
#define AXO__LINK_MASK ((UINT32_C(1) << 25) - 1)

/* Messages of the system lane: the tags of its links. Each node is part of a cell, of a watch
 * record or of a parked record, and in one lane at a time (OR-13). */
typedef enum axo__sys_kind {
    AXO__SYS_ADOPT = 0,   /* child's life_node -> parent: adopt a child spawned from outside */
    AXO__SYS_FAILED = 1,  /* child's report -> parent: the child has failed */
    AXO__SYS_GONE = 2,    /* child's life_node -> parent: the child has terminated */
    AXO__SYS_WATCH = 3,   /* watcher -> target */
    AXO__SYS_UNWATCH = 4, /* watcher -> target */
    AXO__SYS_RETURN = 5,  /* target -> watcher: the record comes back */
    AXO__SYS_DUE = 6,     /* timer -> parent, on the child's report: its delayed restart is due */
    AXO__SYS_ROOM = 7     /* receiver -> sender: the sender's held messages have found room */
} axo__sys_kind;

/* Where a cell is in its life. */
typedef enum axo__phase {
    AXO__PHASE_NEW = 0,        /* before its first turn */
    AXO__PHASE_NORMAL = 1,
    AXO__PHASE_RECREATING = 2, /* waits for children before the new instance (RS-05) */
    AXO__PHASE_CREATING = 3,   /* waits for a failed attempt's children (IN-06) */
    AXO__PHASE_TERMINATING = 4,
    AXO__PHASE_LEAVING = 5,    /* the instance has ended; own watches and timers are given back */
    AXO__PHASE_GONE = 6,
    AXO__PHASE_BURYING = 7     /* as GONE, but its mailbox still has messages to bury */
} axo__phase;

/* What exists of the instance. */
typedef enum axo__instance {
    AXO__INSTANCE_NONE = 0,    /* none, or a first creation that failed */
    AXO__INSTANCE_BROKEN = 1,  /* a re-creation that failed: its memory is still there */
    AXO__INSTANCE_STARTED = 2, /* the start finished: post_stop is owed */
    AXO__INSTANCE_STOPPED = 3  /* post_stop ran */
} axo__instance;

/* Why the runner must do more than handle one message after the other; 0 for most actors, whose
 * turns are plain (sched/run.c). */
enum {
    AXO__ATTENTION_FRONT = 1,    /* messages may be in `front` */
    AXO__ATTENTION_TIMERS = 2,   /* the actor has used keyed timers */
    AXO__ATTENTION_SYSTEM = 4,   /* system work that the word does not show any more */
    AXO__ATTENTION_STOP = 8,     /* the actor has asked itself to stop: with SYSTEM, until taken */
    AXO__ATTENTION_BOUNDED = 16, /* the actor has a bounded mailbox */
    AXO__ATTENTION_REST = 32,    /* a portion of the system work is done; the rest needs a turn */
    AXO__ATTENTION_BACKLOG = 64, /* `backlog_turns` is not 0 */
    AXO__ATTENTION_SETTLE = 128  /* the actor has asked for its settle: until it is called */
};

AXO_STATIC_ASSERT(AXO__PHASE_BURYING < 1 << 3 && AXO__INSTANCE_STOPPED < 1 << 2, "bits of a cell");
AXO_STATIC_ASSERT(AXO__ATTENTION_SETTLE <= UINT8_MAX, "a cell's `attention`");
AXO_STATIC_ASSERT(AXO__SYS_ROOM <= AXO__STACK_TAGS, "kinds are tags");
AXO_STATIC_ASSERT(AXO_TEMPORARY < 1 << 2, "a cell's `lifetime`");

#define AXO__ARGS_UNIT ((size_t)16)
AXO_STATIC_ASSERT(AXO_ARGS_MAX / 16 < 1 << 13, "a copy of args is counted in 13 bits");

/* Two cache lines, all that a leaf's messages touch: a sender touches the first, the runner both. A
 * cell has its slot for good, and the axo__cold of the same number. Fields that are fixed from
 * spawn on are published by `self` (table.h's [T3]). */
struct axo__cell {
    /* ---- senders write ---- */
    _Alignas(AXO__CACHE_LINE) axo__state state; /* the scheduling word and the user lane */
    axo__stack system;          /* system lane */
    axo__directives directives;
    axo__mpsc_node inject_node; /* in use while INJECTED */
    axo__mpsc_node urgent_node; /* in use while URGENT_INJECTED */
    axo__a64 self;              /* the actor's reference; of an actor that has ended, it leads to
                                   another slot (AXO__SELF_ENDED) */
    /* ---- fixed from spawn on ---- */
    axo__slot_link parent;
    uint32_t lifetime : 2;      /* an axo_lifetime */
    uint32_t bounded : 1;       /* a bounded mailbox is in place of the lane (cell/extra.h) */
    uint32_t elsewhere : 1;     /* another pool than the default one runs the cell */
    uint32_t guardian : 1;      /* the root is the parent */
    uint32_t timed : 1;         /* fixed: its messages are stamped when they are sent */
    uint32_t : 2;
    uint32_t slot : 24;         /* fixed */

    /* ---- runner ---- */
    _Alignas(AXO__CACHE_LINE) axo_receive_fn receive; /* top of the behaviour stack */
    void *state_block;
    axo__inbox inbox;           /* messages taken out of the lane */
    axo__aptr extra;            /* cell/extra.h; NULL: the actor has none */
    /* One at a time, in this order: no worker runs the cell until it is adopted, so it cannot fail
     * before; `failed` is dropped before GONE is pushed, and no callback runs after that; the
     * parent takes GONE before it retires the cell; a free cell's grace period is over. */
    union {
        axo__stack_node life_node; /* ADOPT, then GONE */
        axo__message *failed;      /* the message under which this instance failed; while it is
                                      STASHED the stash owns it */
        axo__grace_item retired;
        axo__cell *free_next;      /* in a list of free cells */
    };
    /* The node is the parent's while a failure is undecided; the parent has forgotten the child
     * before the cell is free. */
    union {
        axo__stack_node report;  /* FAILED, DUE */
        axo__cell *free_list;    /* of a free cell that is the first of its list: the next list */
    };
    axo__a32 instance;           /* number, from 1; a parent's log may read it meanwhile */
    uint8_t phase : 3;
    uint8_t life : 2;            /* an axo__instance */
    uint8_t reported : 1;        /* the cell's own failure is with the parent, undecided */
    uint8_t constructed : 1;     /* construct succeeded, destroy is owed */
    uint8_t settled : 1;         /* settle has asked for itself, and nobody else since */
    uint8_t attention;           /* AXO__ATTENTION_ bits */
    uint16_t backlog_turns : 3;  /* turns in a row that left messages, to a bound */
    uint16_t args_units : 13;    /* of a copy of args, behind the state; 0: there is no copy */
};

_Static_assert(AXO__BACKLOG_TURNS_MAX < 1 << 3, "`backlog_turns` has 3 bits");
AXO_STATIC_ASSERT(sizeof(axo__cell) == (size_t)2 * AXO__CACHE_LINE, "two lines");

#define AXO__SLOT_BITS 24
#define AXO__SLOT_MASK ((UINT64_C(1) << AXO__SLOT_BITS) - 1)

/* `self` of a cell without a living actor has the last one's generation, 0 if there was none, and
 * this bit of the slot's number turned over: a reference that leads to the cell has the number, so
 * none is equal to it. */
#define AXO__SELF_ENDED UINT64_C(1)

static inline bool axo__self_lives(const axo__cell *cell, uint64_t self)
{
    return ((self ^ cell->slot) & AXO__SELF_ENDED) == 0;
}

/* Whether the slot has a living actor, for its runner or whoever has the free cell. */
static inline bool axo__cell_lives_owner(const axo__cell *cell)
{
    return axo__self_lives(cell, axo__a64_peek_owner(&cell->self));
}

/* The guardians' cells are the first ones, in the order of axo_guardian. */
static inline bool axo__cell_is_system(const axo__cell *cell)
{
    return cell->guardian != 0 && cell->slot == AXO_GUARDIAN_SYSTEM;
}

/* The cold part of a cell, which a leaf's messages do not touch. */
typedef struct axo__cold {
    /* ---- runner ---- */
    axo__aptr cls; /* an axo_class; any thread may read it: replacing.h */
    const void *args;

    /* ---- runner writes before the report, parent reads after ---- */
    axo__cause_short failure; /* axo__extra and axo__family have the rest of it */

    /* ---- parent ---- */
    axo__slot_link next : 25;   /* siblings */
    uint32_t stopping : 1;      /* the parent has told it to stop: counted in `stopping` */
    uint32_t told_late : 1;     /* the parent's notice waits until the child is forgotten */
    uint32_t put_off : 1;       /* the parent has said AXO_LATER: its report is in no list */
    axo__slot_link before;
} axo__cold;
AXO_STATIC_ASSERT(sizeof(axo__cold) == 40, "small");

/* The instance's number: exact by the cell's runner. */
static inline uint32_t axo__cell_instance(const axo__cell *cell)
{
    return axo__a32_load_relaxed(&cell->instance);
}

/* The actor asks itself to stop, by its runner, which takes the stop before the next message. The
 * flag is the runner's own, so a plain leaf pays no locked operation; an actor with `extra` may be
 * found by its name, so its directive word says it too (axo__find_sibling). */
static inline void axo__cell_stop_self(axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    cell->attention |= AXO__ATTENTION_SYSTEM | AXO__ATTENTION_STOP;
    if (axo__aptr_load_relaxed(&cell->extra) != NULL)
        axo__directives_stop(&cell->directives); /* a look-up by name asks this word */
}

/* What the cell is told to do, by others (the word) and by itself (the flag). By its runner. */
static inline uint64_t axo__cell_directives(const axo__cell *cell)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    uint64_t word = axo__directives_look(&cell->directives);
    return (cell->attention & AXO__ATTENTION_STOP) != 0 ? word | AXO__STOP : word;
}

/* Takes STOP and perhaps STOP_PARENT, from the flag and the word. By the cell's runner; a stop that
 * another thread sets afterwards comes with an announcement of its own. */
static inline void axo__cell_take_stops(axo__cell *cell, uint64_t bits)
{
    AXO_DEBUG_ASSERT(axo__state_is_running(&cell->state));
    AXO_DEBUG_ASSERT(bits != 0 && (bits & ~AXO__STOPS) == 0);
    cell->attention &= (uint8_t)~AXO__ATTENTION_STOP;
    if ((axo__directives_look(&cell->directives) & bits) != 0)
        (void)axo__directives_take(&cell->directives, bits, 0);
}

static inline axo__cell *axo__cell_of_inject(axo__mpsc_node *node)
{
    return (axo__cell *)(void *)((char *)node - offsetof(axo__cell, inject_node));
}

static inline axo__cell *axo__cell_of_urgent(axo__mpsc_node *node)
{
    return (axo__cell *)(void *)((char *)node - offsetof(axo__cell, urgent_node));
}

static inline axo__cell *axo__cell_of_report(axo__stack_node *node)
{
    return (axo__cell *)(void *)((char *)node - offsetof(axo__cell, report));
}

static inline axo__cell *axo__cell_of_life_node(axo__stack_node *node)
{
    return (axo__cell *)(void *)((char *)node - offsetof(axo__cell, life_node));
}

static inline axo__cell *axo__cell_of_retired(axo__grace_item *item)
{
    return (axo__cell *)(void *)((char *)item - offsetof(axo__cell, retired));
}

#endif
