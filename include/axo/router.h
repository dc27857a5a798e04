/* router.h - an actor that passes each message on to one or all of its routees. A whole
 * program is test/example/router_pool.c.
 *
 *     static const axo_props worker = AXO_PROPS(.cls = &worker_class);
 *     axo_router settings = AXO_ROUTER(.pool = 8, .child = &worker);
 *     axo_props props;
 *     axo_router_props(&settings, "workers", &props);
 *     axo_spawn(ctx, &props, &ref);
 *
 * A pool makes its routees, they are its children; a group has those whose references or paths it
 * is given. Routees see messages as if they had been sent to them: tag, sender and payload are the
 * sender's. A pill or a kill for the router is the router's own.
 *
 * A pool escalates by default: one failing routee is a failure of the router, which keeps its
 * routees and restarts them all when its parent says Restart. A strategy of its own
 * (axo_router.strategy, such as a zeroed AXO_STRATEGY()) treats them one by one.
 *
 * A routee that ends is a routee no more. When the last one is gone the router stops, unless it has
 * a resizer, which replaces them, or paths, where another may appear. A message for which there is
 * no routee, or that the routee's mailbox refuses, is a dead letter of reason AXO_DEAD_DROPPED with
 * a text.
 *
 * When a router is restarted a pool keeps its routees; those that are leaving are stopped at once.
 * A group begins again with its settings, without what was added and removed.
 *
 * What one sender sends through a router keeps its order at each routee. */
#ifndef AXO_ROUTER_H
#define AXO_ROUTER_H

#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/init.h>
#include <axo/system.h>

/* ---- messages to a router; another payload than said here is unhandled ----------------------- */

#define AXO_ROUTER_GET_ROUTEES (AXO_TAG_SERVICES + 0x30) /* answer: AXO_ROUTER_ROUTEES */
#define AXO_ROUTER_ADD (AXO_TAG_SERVICES + 0x31)    /* axo_ref; a group only */
#define AXO_ROUTER_REMOVE (AXO_TAG_SERVICES + 0x32) /* axo_ref; one of a pool is stopped, later:
                                                       removal_delay_ns */
#define AXO_ROUTER_ADJUST (AXO_TAG_SERVICES + 0x33) /* int32_t: so many more, or fewer, the
                                                       youngest first; a pool only */
#define AXO_ROUTER_BROADCAST (AXO_TAG_SERVICES + 0x34) /* axo_router_broadcast sends it */

/* ---- messages from a router ------------------------------------------------------------------ */

#define AXO_ROUTER_ROUTEES (AXO_TAG_SERVICES + 0x38)   /* axo_ref[size / sizeof(axo_ref)] */
#define AXO_ROUTER_NO_ANSWER (AXO_TAG_SERVICES + 0x39) /* axo_router_no_answer */

typedef enum axo_router_logic {
    AXO_ROUTE_ROUND_ROBIN = 0, /* one after the other */
    AXO_ROUTE_RANDOM = 1,      /* chance is of the router's axo_seed */
    AXO_ROUTE_SMALLEST = 2,    /* who has the fewest messages, running and waiting. It looks at them
                                  all (axo_inspect, up to a microsecond each), from the one after
                                  the last choice to the first that is idle. A routee is taken to
                                  be long while it runs, unless it has a mailbox of its own
                                  (AXO_MAILBOX()); those of a pool get one. The suspended come
                                  last */
    AXO_ROUTE_HASH = 3,        /* the same routee for the same key, by consistent hashing: a routee
                                  that comes takes its share from the others, the keys of one
                                  that goes are spread over them, and no other key moves */
    AXO_ROUTE_BROADCAST = 4,   /* all of them; each gets a copy */
    AXO_ROUTE_GATHER_FIRST = 5 /* all of them; the first answer goes to the sender, with the routee
                                  as its sender, later ones are dead letters. None within
                                  `within_ns`, or no memory to wait so long: the sender gets
                                  AXO_ROUTER_NO_ANSWER, when its mailbox has room. Without a
                                  sender, and such a NO_ANSWER itself: as BROADCAST */
} axo_router_logic;

/* When a pool changes its size by itself. Every `messages` messages, and every `interval_ns`, it
 * counts the routees in whose mailbox `pressure` or more messages wait. All of them: the pool grows
 * by a share of `ramp_up` of its size. Less than `back_off_below` of them: it shrinks by a share of
 * `back_off`. Both by at least one. */
typedef struct axo_resizer {
    size_t size;           /* sizeof(axo_resizer), set by AXO_RESIZER */
    uint32_t routees_min;  /* 1..routees_max; 0: 1 */
    uint32_t routees_max;  /* ..AXO_ROUTEES_MAX; 0: 10, or routees_min if that is more */
    uint32_t pressure;     /* 0: 1 */
    uint32_t messages;     /* 0: 10 */
    int64_t interval_ns;   /* 0: looks only when messages come; at most AXO_DELAY_MAX */
    double ramp_up;        /* 0..1; 0: 0.2 */
    double back_off_below; /* 0..1; 0: 0.3 */
    double back_off;       /* 0..1; 0: 0.1 */
    uint32_t no_back_off;  /* 1: it never shrinks */
    uint32_t reserved;     /* 0 */
} axo_resizer;
#define AXO_RESIZER(...) AXO_INIT(axo_resizer, __VA_ARGS__)
static inline void axo_resizer_init(axo_resizer *out)
{
    const axo_resizer fresh = AXO_RESIZER();
    *out = fresh;
}

/* A router: a pool (`child` is not NULL) or a group. What it points at must stay valid and
 * unchanged while the router lives. */
typedef struct axo_router {
    size_t size;                 /* sizeof(axo_router), set by AXO_ROUTER */
    axo_router_logic logic;
    uint32_t pool;               /* pool: routees at the start, 1..AXO_ROUTEES_MAX; with a resizer
                                    within its bounds, 0: its routees_min */
    const axo_props *child;      /* pool: their recipe; its name is NULL */
    const axo_strategy *strategy;/* pool: how the router supervises them; NULL: it escalates */
    const axo_resizer *resizer;  /* pool; NULL: none */
    const axo_ref *routees;      /* group: those given, routees_count of them, none is none */
    const char *const *paths;    /* group: and those at these paths (find.h), paths_count. Where
                                    nobody is, each message that comes looks again */
    uint32_t routees_count;
    uint32_t paths_count;        /* together at most AXO_ROUTEES_MAX */
    uint64_t (*hash_key)(const axo_message *message, void *user); /* AXO_ROUTE_HASH: the key of a
                                    message; any number. It must be quick, and calls nothing of
                                    the library */
    void *user;                  /* handed to hash_key */
    uint32_t virtual_nodes;      /* AXO_ROUTE_HASH: places of each routee on the ring, at most
                                    AXO_VIRTUAL_NODES_MAX; 0: 128. More are more even */
    uint32_t reserved;           /* 0 */
    int64_t within_ns;           /* AXO_ROUTE_GATHER_FIRST: 1..AXO_DELAY_MAX */
    int64_t removal_delay_ns;    /* pool: a routee that is removed gets its pill so much later, so
                                    that it handles what others have sent to itself; 0: 100 ms;
                                    negative: none; at most AXO_DELAY_MAX */
} axo_router;
#define AXO_ROUTER(...) AXO_INIT(axo_router, __VA_ARGS__)
static inline void axo_router_init(axo_router *out)
{
    const axo_router fresh = AXO_ROUTER();
    *out = fresh;
}

#define AXO_ROUTEES_MAX 16384
#define AXO_VIRTUAL_NODES_MAX 4096

/* Payload of AXO_ROUTER_BROADCAST; the payload follows. */
typedef struct axo_router_wrapped {
    uint32_t tag;
    uint32_t size;     /* bytes that follow */
    uint64_t reserved; /* 0; what follows is aligned for any object */
} axo_router_wrapped;

/* Payload of AXO_ROUTER_NO_ANSWER; its sender is the router. */
typedef struct axo_router_no_answer {
    uint32_t tag;      /* of the request */
    uint32_t asked;    /* how many routees got it */
    int64_t waited_ns;
} axo_router_no_answer;

AXO_BEGIN_DECLS

/* Fills *props with the recipe of a router; other fields may be set afterwards, but for cls, args
 * and strategy. A message whose payload was handed over (axo_send_owned) cannot be copied: two or
 * more routees do not get it, it is dropped.
 *   thread    any
 *   owns      props->args is `settings`: it must be valid until the spawn, which copies it
 *   name      may be NULL; kept as a pointer
 *   returns   AXO_OK; AXO_EINVAL: NULL, a field out of its range, or one of another choice that is
 *             not zero; AXO_EVERSION
 *   after     on failure *props is unchanged */
AXO_API axo_status axo_router_props(const axo_router *settings, const char *name,
                                    axo_props *props);

/* Sends a message to every routee of a router, whatever its logic, in an AXO_ROUTER_BROADCAST.
 * AXO_TIMER_POISON and AXO_TIMER_KILL (time.h) as tag, without a payload: a pill or a kill for
 * each.
 *   thread    only the callback that was given `ctx`
 *   returns   as axo_send */
AXO_API axo_status axo_router_broadcast(axo_ctx *ctx, axo_ref router, uint32_t tag,
                                        const void *payload, size_t size);

/* The same from any thread; sender is none. */
AXO_API axo_status axo_system_router_broadcast(axo_system *system, axo_ref router, uint32_t tag,
                                               const void *payload, size_t size);

AXO_END_DECLS

#endif
