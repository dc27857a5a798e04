/* world.h - the simulated world: how often each thing happens in a seed, who is there, and the
 * streams of chance of which all that its actors do is drawn.
 *
 * Each seed first draws how often each thing happens, many of them never, so that rare pairs meet.
 * In the calm phase nothing fails and nothing is started any more.
 *
 * A callback's draws come from its actor's identity (its parent's, and which of its children it is)
 * and the callback's number; each knob's from these and how often it was asked. So one that is left
 * out, as shrinking does, moves no other but by what it would have caused.
 */
#ifndef TEST_SIM_WORLD_H
#define TEST_SIM_WORLD_H

#include "base/random.h"
#include "mail.h"

#define WORLD_DEPTH_MAX 8
#define WORLD_WATCHES_MAX 36
#define WORLD_TIMERS 16
#define WORLD_OPERATIONS 65536
#define WORLD_FAILURES_MAX 8192

typedef struct keyed {
    uint64_t key;
    uint64_t instance; /* that started it */
    int64_t due;
} keyed;

/* How often, in 1024ths; the most that a seed draws, what it is called, whether it is a fault. */
#define KNOB_LIST(X)                                                                               \
    X(KNOB_SPAWN, 300, "spawn", 0)                                                                 \
    X(KNOB_STOP, 40, "stop somebody", 0)                                                           \
    X(KNOB_STOP_SELF, 40, "stop itself", 0)                                                        \
    X(KNOB_STOP_CHILD, 60, "stop a child", 0)                                                      \
    X(KNOB_STOP_KIN, 40, "stop its parent or a sibling", 0)                                        \
    X(KNOB_POISON, 40, "poison", 0)                                                                \
    X(KNOB_KILL, 60, "kill", 1)                                                                    \
    X(KNOB_WATCH, 300, "watch", 0)                                                                 \
    X(KNOB_UNWATCH, 200, "unwatch", 0)                                                             \
    X(KNOB_SEND, 800, "send", 0)                                                                   \
    X(KNOB_AFTER, 200, "send later", 0)                                                            \
    X(KNOB_TIMER, 200, "time", 0) /* keyed timers, raw handles, receive timeouts */                \
    X(KNOB_FAIL, 350, "fail", 1)                                                                   \
    X(KNOB_FATAL, 100, "fail fatally", 1)                                                          \
    X(KNOB_UNHANDLED, 100, "leave unhandled", 1)                                                   \
    X(KNOB_CONSTRUCT, 300, "fail in construct", 1)                                                 \
    X(KNOB_PRE_START, 300, "fail in pre_start", 1)                                                 \
    X(KNOB_PRE_RESTART, 400, "fail in pre_restart", 1)                                             \
    X(KNOB_POST_RESTART, 400, "fail in post_restart", 1)                                           \
    X(KNOB_POST_STOP, 400, "fail in post_stop", 1)                                                 \
    X(KNOB_DECIDER, 150, "fail in the decider", 1)                                                 \
    X(KNOB_KEEP, 1024, "keep the children", 0)                                                     \
    X(KNOB_EARLY, 400, "spawn in a hook", 0)                                                       \
    X(KNOB_REGION, 300, "own memory", 0)                                                           \
    X(KNOB_BECOME, 200, "become", 0)                                                               \
    X(KNOB_TOP, 20, "/user escalates", 1)                                                          \
    X(KNOB_SHUTDOWN, 20, "shut down", 0)                                                           \
    X(KNOB_HOOK, 800, "termination hook", 0)                                                       \
    X(KNOB_DRY, 10, "no memory for a while", 1)                                                    \
    X(KNOB_POOL, 500, "another dispatcher", 0)                                                     \
    X(KNOB_BOX, 1024, "a mailbox of its own", 0)                                                   \
    X(KNOB_UNLIMITED, 1, "park without a limit", 0) /* then nobody sends to an older one */        \
    X(KNOB_STASH, 300, "stash", 0)                                                                 \
    X(KNOB_UNSTASH, 200, "unstash", 0)                                                             \
    X(KNOB_FORWARD, 200, "forward", 0)                                                             \
    X(KNOB_WITH, 500, "watch with a message", 0)                                                   \
    X(KNOB_BURST, 300, "send many", 0)                                                             \
    X(KNOB_ASK, 150, "ask", 0)                                                                     \
    X(KNOB_REPLY, 900, "reply", 0)                                                                 \
    X(KNOB_CAUSE, 600, "send after what it was told", 0)                                           \
    X(KNOB_STORM, 60, "fail again and again", 1)                                                   \
    X(KNOB_OUTSIDE, 1024, "a call from outside", 0)                                                \
    X(KNOB_READ, 400, "a descriptor", 0)                                                           \
    X(KNOB_SETTLE, 700, "ask to settle", 0)                                                        \
    X(KNOB_SETTLE_FAIL, 200, "fail in settle", 1)                                                  \
    X(KNOB_WIRE, 1024, "a call of a stream", 0)                                                    \
    X(KNOB_PEER, 1024, "a peer's move", 0)                                                         \
    X(KNOB_WIRE_FAIL, 150, "fail with a stream", 1)                                                \
    X(KNOB_WIRE_END, 120, "end with a stream", 0)                                                  \
    X(KNOB_WIRE_OWE, 1024, "a stream that owes answers", 0)                                        \
    X(KNOB_CRASH, 60, "crash", 1) /* at one place of many in each callback */                      \
    X(KNOB_DRAFT, 300, "open drafts", 0)

typedef enum knob {
#define KNOB_WORD(word, most, text, fault) word,
    KNOB_LIST(KNOB_WORD)
#undef KNOB_WORD
        KNOBS
} knob;

typedef struct knob_info {
    uint16_t most;
    uint16_t fault;
    const char *text;
} knob_info;

extern const knob_info knob_infos[KNOBS];

/* A draw that came out: what shrinking may leave out. */
typedef struct operation {
    uint64_t key;
    uint64_t who; /* bits; 0: from outside */
    uint32_t what;
    uint32_t life;
} operation;

typedef struct stream {
    uint64_t base;
    uint64_t at;
    uint8_t asked[KNOBS];
} stream;

/* What a replay says beyond the seed. Set once, for all lives. */
typedef struct orders {
    bool record;
    bool only;            /* no operation but these, sorted */
    const uint64_t *keys;
    uint32_t key_count;
    uint32_t operation_count;
    operation operations[WORLD_OPERATIONS];
} orders;

extern orders o;

typedef struct world {
    axo__random chance; /* of who is next outside of actors */
    stream now_runs;    /* the running callback's */
    uint32_t knobs[KNOBS];
    uint32_t life;      /* of this seed */
    uint32_t living_max;
    uint64_t outside;   /* calls from outside so far */
    uint32_t failures;  /* that its hooks have asked for, in this life */
    uint64_t callback;  /* the number of the callback that has begun last ... */
    uint64_t left;      /* ... and of the last one that was left */
    bool calm;
    bool dry;           /* the allocator has nothing */
    bool scarce;        /* and now and then it has, in a life with streams */
    bool noisy;         /* foreign kills and stops too */
    bool manual;        /* no threads; the clock is the world's */
    bool lent;          /* no threads: slots are visited */
    uint32_t asked;     /* visits that are due */
    int64_t now;
    uint32_t refs;
    axo_timer timers[WORLD_TIMERS];
    axo_ref known[GHOSTS_MAX];
    uint64_t owned;     /* payloads handed over */
    uint64_t freed;     /* and freed */
    uint64_t deferred;
    uint64_t undone;
    uint64_t dead_letters;
    uint64_t put_aside; /* of these: shown by who handled them */
    uint64_t mine;      /* blocks of the counting allocator */
    uint64_t bytes;
} world;

extern world w;

typedef struct node {
    uint32_t depth;
} node;

uint64_t world_mix(uint64_t a, uint64_t b);

/* A callback, or a call from outside, begins. */
void world_begin(uint64_t base);

uint32_t world_below(uint32_t bound);
bool world_is(knob what);

/* Outside of actors: who is next, how long. */
uint32_t world_next(uint32_t bound);

/* A callback of an actor begins: its ghost, and what it runs is noted. */
ghost *world_enter(axo_ctx *ctx, stream *before);

void world_leave(const stream *before);

/* Somebody: mostly a young one, sometimes an old one, rarely nobody ever. */
axo_ref world_somebody(void);

void world_free_payload(void *payload, void *user);
void world_undo(void *arg);

/* The code says what deciders make of it: see world_decide. */
axo_status world_fail(axo_ctx *ctx);

#define WORLD_COUNT(array) ((uint32_t)(sizeof(array) / sizeof(array)[0]))

extern axo_strategy world_strategies[];

/* Each so-many-th strategy has senders told of failed requests; 0: none does. Before the system
 * starts. */
void world_told(uint32_t every);

/* Whether there is a governor: then no strategy has a back-off, so that each delay is one or the
 * other. Before the system starts. */
void world_govern(bool governed);

/* Each second strategy keeps messages in quarantine under which so many instances have failed; 0:
 * none does. Before the system starts. */
void world_quarantine(uint32_t instances);

/* Good until the next call. */
const axo_props *world_props(uint32_t depth);

void world_reset(uint64_t seed, uint32_t life);

#endif
