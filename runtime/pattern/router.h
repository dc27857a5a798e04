/* router.h - what the parts of a router share: its state, and who changes it.
 *
 * A router is one actor: a message is chosen for and passed on in its receive, so the state needs
 * no lock, and order from one sender through the router to one routee is kept.
 */
#ifndef AXO__PATTERN_ROUTER_H
#define AXO__PATTERN_ROUTER_H

#include <stdbool.h>

#include <axo/axo.h>

#include "pattern/context.h"
#include "pattern/ring.h"

/* Ticks of the router's own timers; routees never see them. */
#define AXO__TAG_ROUTER_LOOK (AXO_TAG_SERVICES + 0x3e)
#define AXO__TAG_GATHER_OVER (AXO_TAG_SERVICES + 0x3f)

#define AXO__ROUTER_LOOK 1 /* key of the resizer's timer */

/* References in an array that grows; order is age. */
typedef struct axo__refs {
    axo_ref *at;
    uint32_t count;
    uint32_t room;
} axo__refs;

/* The state of a router's instance. Its arrays are taken from the system and given back when the
 * instance ends. */
typedef struct axo__router {
    axo_router settings; /* defaults filled in */
    axo_resizer resizer; /* defaults filled in; only with settings.resizer */
    axo_system *system;
    axo_ref self;
    bool freed_later;    /* the clean-up that gives the arrays back is registered */
    bool open;           /* the routees are listed; else there was no memory to list them */
    axo__refs routees;   /* oldest first */
    /* routees of a pool that have been dismissed and have not ended; room for all routees */
    axo__refs leaving;
    /* the actor at each path; none: no actor is there; self: the path is not looked up any more */
    axo_ref *at_path;
    uint32_t missing;    /* paths without an actor */
    axo__ring ring;      /* AXO_ROUTE_HASH */
    uint32_t next;       /* index of the routee at which the next choice begins */
    uint32_t since;      /* messages since the last look at the size */
    int64_t look_ns;     /* the next tick of the resizer comes no earlier */
    uint64_t chance;
} axo__router;

static inline bool axo__router_is_pool(const axo__router *self)
{
    return self->settings.child != NULL;
}

/* ---- router_members.c: the list of routees ---- */

/* Makes room for `routees` routees in all; on failure nothing has changed but spare room. */
axo_status axo__router_reserve(axo__router *self, uint32_t routees);

/* Adds a routee, for which there is room. `name` is what its places on the ring come from. */
void axo__router_insert(axo__router *self, axo_ref ref, uint64_t name);

/* Whether `ref` is a routee. */
bool axo__router_has(const axo__router *self, axo_ref ref);

/* Takes a routee away; false: `ref` was none. Another actor may come to its path, unless the routee
 * went for good. */
bool axo__router_take_away(axo__router *self, axo_ref ref, bool for_good);

/* Forgets a dismissed routee that has ended; false: `ref` was none. */
bool axo__router_left(axo__router *self, axo_ref ref);

/* Lists the routees of a new instance: a pool's children, a group's settings. For a group, and at
 * the start, they are watched. */
axo_status axo__router_open(axo_ctx *ctx, axo__router *self);

/* Adds a routee to a group, and watches it; AXO_OK, too, if it is one already. */
axo_status axo__router_join(axo_ctx *ctx, axo__router *self, axo_ref ref, uint64_t name);

/* Looks again at the paths without an actor. AXO_ENAME: a path is malformed. */
axo_status axo__router_look_up(axo_ctx *ctx, axo__router *self);

/* ---- router_size.c: how many a pool has ---- */

/* Spawns `count` more routees, or as many as it can. */
axo_status axo__router_grow(axo_ctx *ctx, axo__router *self, uint32_t count);

/* Dismisses a routee: no choice falls on it any more, and it gets a pill after the removal
 * delay. */
axo_status axo__router_dismiss(axo_ctx *ctx, axo__router *self, axo_ref ref);

/* Dismisses the `count` youngest routees. */
axo_status axo__router_shrink(axo_ctx *ctx, axo__router *self, uint32_t count);

/* Lets the resizer look at the mailboxes, and grow or shrink the pool. */
void axo__router_resize(axo_ctx *ctx, axo__router *self);

/* Copies a resizer and fills in the defaults. AXO_EINVAL, AXO_EVERSION. */
axo_status axo__resizer_read(const axo_resizer *given, axo_resizer *out);

/* ---- router_choose.c: the choice of a routee ---- */

/* The routee for a message, by the router's logic; there must be at least one routee. */
axo_ref axo__router_choose(axo_ctx *ctx, axo__router *self, const axo_message *message);

/* ---- router_gather.c: the first answer ---- */

/* Spawns the gatherer that waits for the first answer to `message` from all routees. */
axo_status axo__router_gather(axo_ctx *ctx, const axo__router *self, const axo_message *message,
                              axo_ref *out);

#endif
