/* router.h - what the parts of a router share: its state, and who changes it. */
#ifndef AXO__PATTERN_ROUTER_H
#define AXO__PATTERN_ROUTER_H

#include <stdbool.h>

#include <axo/axo.h>

#include "pattern/context.h"
#include "pattern/ring.h"

/* Ticks of its own, never seen by routees. */
#define AXO__TAG_ROUTER_LOOK (AXO_TAG_SERVICES + 0x3e)
#define AXO__TAG_GATHER_OVER (AXO_TAG_SERVICES + 0x3f)

#define AXO__ROUTER_LOOK 1 /* key of its timer */

typedef struct axo__refs {
    axo_ref *at;
    uint32_t count;
    uint32_t room;
} axo__refs;

/* The state of a router's instance. Its arrays are the system's memory and go with the instance. */
typedef struct axo__router {
    axo_router settings; /* defaults filled in */
    axo_resizer resizer; /* defaults filled in; only with settings.resizer */
    axo_system *system;
    axo_ref self;
    bool freed_later;    /* the arrays are given back when the instance ends */
    bool open;           /* the routees are known; else there was no memory to list them */
    axo__refs routees;   /* oldest first */
    axo__refs leaving;   /* of a pool, to be pilled; room for all routees */
    axo_ref *at_path;    /* who is at each path; none: nobody is; self: it is not looked up */
    uint32_t missing;    /* paths where nobody is */
    axo__ring ring;      /* AXO_ROUTE_HASH */
    uint32_t next;       /* where the next choice begins */
    uint32_t since;      /* messages since the last look at the size */
    int64_t look_ns;     /* no tick of the resizer's comes before */
    uint64_t chance;
} axo__router;

static inline bool axo__router_is_pool(const axo__router *self)
{
    return self->settings.child != NULL;
}

/* ---- router_members.c: who the routees are ---- */

/* Makes room for so many routees in all; on failure nothing has changed. */
axo_status axo__router_reserve(axo__router *self, uint32_t routees);

/* Adds one for which there is room. `name` is what its places on the ring come from. */
void axo__router_insert(axo__router *self, axo_ref ref, uint64_t name);

/* Whether it is one. */
bool axo__router_has(const axo__router *self, axo_ref ref);

/* Takes one away; false if it was none. Another may come to its path, unless it is for good. */
bool axo__router_take_away(axo__router *self, axo_ref ref, bool for_good);

/* One that was leaving has gone; false if none was. */
bool axo__router_left(axo__router *self, axo_ref ref);

/* Lists the routees of a new instance: a pool's children, a group's settings. For a group, and at
 * the start, they are watched. */
axo_status axo__router_open(axo_ctx *ctx, axo__router *self);

/* Adds one to a group, and watches it. */
axo_status axo__router_join(axo_ctx *ctx, axo__router *self, axo_ref ref, uint64_t name);

/* Looks again at the paths where nobody was. AXO_ENAME: a path is malformed. */
axo_status axo__router_look_up(axo_ctx *ctx, axo__router *self);

/* ---- router_size.c: how many a pool has ---- */

/* Spawns so many more, or as many as can be. */
axo_status axo__router_grow(axo_ctx *ctx, axo__router *self, uint32_t count);

/* Has one leave: it is chosen no more, and gets its pill when its time has come. */
axo_status axo__router_dismiss(axo_ctx *ctx, axo__router *self, axo_ref ref);

/* Has the youngest leave. */
axo_status axo__router_shrink(axo_ctx *ctx, axo__router *self, uint32_t count);

/* The resizer looks. */
void axo__router_resize(axo_ctx *ctx, axo__router *self);

/* Fills in the defaults. AXO_EINVAL, AXO_EVERSION. */
axo_status axo__resizer_read(const axo_resizer *given, axo_resizer *out);

/* ---- router_choose.c: whom a message goes to ---- */

/* One of them, by the logic; there must be one. */
axo_ref axo__router_choose(axo_ctx *ctx, axo__router *self, const axo_message *message);

/* ---- router_gather.c: the first answer ---- */

/* Starts who waits for the first answer to `message`, by all routees. */
axo_status axo__router_gather(axo_ctx *ctx, const axo__router *self, const axo_message *message,
                              axo_ref *out);

#endif
