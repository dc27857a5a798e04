/* ghost.h - the checker's records: a ghost of every actor, kept from the events alone, how one is
 * found, how a violation is said, and what holds of watches.
 *
 * HOLDS(number, who, what, text) is a check: it counts, and a violation names its number.
 */
#ifndef TEST_SIM_GHOST_H
#define TEST_SIM_GHOST_H

#include <axo/axo.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probes.h"

#define GHOSTS_MAX 16384
#define GHOST_TABLE (GHOSTS_MAX * 2)
#define GHOST_RING 4096
#define GHOST_WATCHES 48
#define GHOST_GUARDIANS 3
#define GHOST_NAME 8
#define GHOST_SLOT_MASK UINT64_C(0xffffff)
#define GHOST_NOBODY UINT32_MAX
#define GHOST_FAILURES AXO_SLIDING_MAX

typedef struct ghost_watch {
    uint64_t target;
    bool queued; /* its notice is */
    bool own;    /* a message of its own comes in the place of the notice */
    bool late;   /* the target was gone already */
} ghost_watch;

/* Whether the message under which it has failed is to be told of as poison. */
typedef enum ghost_poison { POISON_NO, POISON_DUE, POISON_PERHAPS } ghost_poison;

/* Why it has failed, as it was told upward. */
typedef struct ghost_cause {
    uint64_t kind_code; /* of AXO_EV_FAIL */
    uint64_t actor;     /* who failed first */
    uint32_t levels;    /* of escalation */
} ghost_cause;

/* What a parent keeps of a child: its budget, its back-off. */
typedef struct ghost_record {
    int64_t start;       /* of the window */
    int64_t failures[GHOST_FAILURES];
    int64_t since;       /* the last failure or restart, at the earliest */
    int64_t since_most;  /* and at the latest */
    uint32_t restarts;
    uint32_t tries;      /* delays since the reset */
    bool limited;
    bool over;           /* a delay is, since some time before the restart that is to be seen */
    bool unsure;         /* it was decided at the very edge of a window */
    uint8_t blurred;     /* 1: `failed` may be another; 2: `print`, too */
    uint32_t failed;     /* instances in a row, under the same message ... */
    uint64_t print;      /* ... this one */
} ghost_record;

typedef struct ghost {
    uint64_t bits;
    uint64_t identity;    /* the same in a run with other operations; see world.h */
    uint64_t parent;
    uint64_t decided;     /* bits of the last child it decided on */
    uint64_t blamed;      /* the child whose failure is just becoming its own */
    uint64_t perpetrator; /* model: the child whose failure it escalated */
    int64_t due;          /* not before this may its own failure be over */
    uint64_t deciding;    /* bits of the child whose report it took, until it decides */
    uint64_t held_at;     /* its report is held: a number that grows; 0: it is not */
    uint32_t self;        /* index */
    uint32_t first_child; /* index, youngest first; GHOST_NOBODY: none */
    uint32_t next_child;
    uint32_t suspends;
    uint32_t instance;
    uint32_t born_in;     /* the parent's instance that made it */
    uint32_t ancestors;
    uint32_t children;    /* made and not yet gone */
    uint32_t constructs;
    uint32_t destroys;
    uint32_t watch_count;
    uint32_t pongs;
    uint32_t pool;        /* of its dispatcher; GHOST_NOBODY: not known yet */
    uint32_t dispatcher;  /* that it asked for */
    uint32_t acts;        /* callbacks of the world so far */
    uint32_t behaviours;  /* on its stack */
    uint32_t settles;     /* the instance that has asked to settle, until it has; 0: none */
    uint32_t undone;      /* clean-ups so far */
    uint32_t unwatches;   /* the guard of `watches` at a notice's place */
    axo_lifetime lifetime;
    const axo_strategy *strategy;
    const axo_class *cls;
    ghost_cause pending;  /* of AXO_EV_FAIL */
    ghost_cause cause;    /* of the failure that is reported */
    ghost_record record;
    int32_t told;         /* model: suspensions told and not yet taken */
    uint8_t answer;       /* model: to its own failure, told and not yet taken */
    uint8_t merges;       /* model: restarts told that met one, and were not said yet to be one */
    uint8_t letters;      /* grammar.h */
    uint8_t made;         /* model: an axo__instance */
    bool restart_told;    /* model: from above */
    bool restart_resolves;/* model: and answers its own failure */
    bool stop_told;       /* model: by its parent */
    bool parent_first;    /* model: restart_told came before the answer */
    bool delayed;         /* model: its restart waits for its time */
    bool unsure;          /* spawned from outside, and perhaps not adopted yet */
    bool wild;            /* model: something was told while it was unsure */
    bool resuming;        /* model: RESUME was taken, for its own failure */
    bool restarting;      /* model: from DIRECTIVE to the instance's end */
    bool creating;        /* model: that restart makes a first instance again */
    bool shrugs;          /* model: it took a restart while terminating */
    bool survivors;       /* model: the failure that comes leaves them as they are */
    bool judged;          /* model: it has decided Restart, and what becomes of it is not said */
    bool excused;         /* its parent's callbacks have stopped it */
    bool stop_asked;      /* by somebody: it must end, unless it is permanent */
    bool pilled;
    bool harsh;           /* it has decided Stop or Restart */
    bool guardian;
    bool failed;          /* own failure, unresolved */
    bool settle_excused;  /* it has failed since it asked to settle */
    bool owed;            /* a report that was not decided */
    bool constructing;
    bool live;            /* an instance exists */
    bool started;
    bool pre_restarted;
    bool post_stopped;
    bool remaking;        /* from pre_restart to the end of the new instance's start */
    bool remade;          /* and it has been resumed in there */
    bool stops_children;  /* default pre_restart ran: none may be left at construct */
    bool stopping;
    bool terminated;
    bool gone;            /* its parent has seen it */
    bool inside;          /* in a callback */
    bool unmade;          /* the last instance did not start */
    bool escalates;       /* it has just decided so: the failure that follows is no own one */
    bool refused;         /* its last receive failed */
    bool must_fail;       /* its next event is a failure */
    bool must_pact;       /* and it is the death pact */
    bool has_message;     /* the instance failed under a message */
    bool boxed;           /* it has a mailbox of its own */
    bool narrow;          /* whoever sends to it may be parked for ever */
    bool parked;
    bool put_aside;       /* it has stashed the message that it is given */
    bool spawned_early;   /* its instance has spawned before it started */
    bool broken;          /* its instance has crashed */
    bool mending;         /* it restarts, because its instance has crashed */
    bool within;          /* pre_start runs within post_restart */
    bool spawned_late;    /* its instance has spawned behind the end of its children */
    bool poison_told;     /* in this restart */
    uint8_t poison;       /* model: a ghost_poison, until its next event */
    char name[GHOST_NAME];
    ghost_watch watches[GHOST_WATCHES];
} ghost;

/* The governor of restarts, and the turns that it has given, the latest ones. */
#define GHOST_TURNS 64
typedef struct ghost_storm {
    uint32_t most;       /* 0: there is none */
    uint32_t count;      /* turns so far */
    uint64_t waited;
    int64_t window_ns;
    int64_t turns[GHOST_TURNS];
} ghost_storm;

typedef struct ghosts {
    uint64_t seed;
    uint64_t hash;
    uint64_t events;
    uint64_t kinds[AXO_EVENT_KINDS];
    uint64_t holds;      /* reports held so far */
    uint32_t delayed;    /* restarts that were put off so far */
    uint32_t pauses;     /* of subtrees, so far */
    ghost_storm storm;
    uint64_t step;       /* of somebody */
    uint32_t step_worker; /* of this step's events */
    int64_t time;        /* of the last event */
    uint32_t count;
    uint32_t living;     /* users' actors */
    uint32_t memory_barred; /* who fails or ends just now: index + 1 */
    const void *barred;     /* the worker in whose turn that is: others may take memory */
    const void *barred_in;  /* the cell whose turn that is; NULL: the turn is over */
    bool manual;
    bool lent;
    bool loud;           /* show the last events at a failure */
    ghost *inside;       /* in a callback */
    void (*on_end)(uint32_t violated, const char *text); /* the bundle */
    char said[320];      /* the violation */
    axo_event ring[GHOST_RING];
    uint32_t table[GHOST_TABLE]; /* index + 1 */
    ghost all[GHOSTS_MAX];
} ghosts;

extern ghosts g;

void ghost_show_events(FILE *out, uint64_t most);
void ghost_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

void ghost_violated(uint32_t number, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

#define HOLDS(number, who, condition, text)                                                        \
    do {                                                                                           \
        tallied->checked[number]++;                                                                \
        if (__builtin_expect(!(condition), 0))                                                     \
            ghost_violated(number, "%s (actor %014" PRIx64 ")", text, (who)->bits);                \
    } while (0)

/* With a text of its own; nobody's. */
#define HOLDS_ALL(number, condition, ...)                                                          \
    do {                                                                                           \
        tallied->checked[number]++;                                                                \
        if (__builtin_expect(!(condition), 0))                                                     \
            ghost_violated(number, __VA_ARGS__);                                                   \
    } while (0)

/* Whether this worker's actor fails or ends just now. */
bool ghost_is_barred(void);

ghost *ghost_find(uint64_t bits);
ghost *ghost_at(uint32_t index);
ghost *ghost_make(uint64_t bits);

/* A life begins: the system's before it is forgotten, the hash goes on. */
void ghost_reset(uint64_t seed, bool loud);

ghost_watch *ghost_watching(ghost *it, uint64_t target);
void ghost_unwatch(ghost *it, ghost_watch *watch);
void ghost_watch_event(ghost *it, const axo_event *e);

/* Called by the actors: AXO_TERMINATED has reached the handler. */
void ghost_noticed(uint64_t watcher, const axo_terminated *notice);

/* The same for a message of one's own (DW-15). */
void ghost_lost(uint64_t watcher, uint64_t target, uint64_t sender);

#endif
