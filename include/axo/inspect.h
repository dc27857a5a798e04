/* inspect.h - what an actor is doing: for reports, tests and whoever waits for it. A whole program
 * is test/example/look_inside.c. */
#ifndef AXO_INSPECT_H
#define AXO_INSPECT_H

#include <axo/actor.h>
#include <axo/init.h>

/* What an actor is doing; the first that fits, from the top. */
typedef enum axo_doing {
    AXO_DOING_GONE = 0,       /* terminated, or never lived */
    AXO_DOING_RUNNING = 1,    /* a worker is inside one of its callbacks */
    AXO_DOING_STOPPING = 2,   /* told to stop, or waits for its children to */
    AXO_DOING_RESTARTING = 3, /* a restart is decided and not done: it waits for children, or for a
                                 worker */
    AXO_DOING_SUSPENDED = 4,  /* failed, or an ancestor has; or stopped by its parent's wait */
    AXO_DOING_QUEUED = 5,     /* has work and waits for a worker, or one is about to begin */
    AXO_DOING_IDLE = 6,       /* nothing to do */
    AXO_DOING_PARKED = 7      /* waits for room in a mailbox (mailbox.h); before QUEUED */
} axo_doing;

/* How much of the mailbox was looked at. */
typedef enum axo_counted {
    AXO_COUNTED_NONE = 0, /* nothing: a worker was inside */
    AXO_COUNTED_PART = 1, /* there may be more: AXO_INSPECT_MAX was reached, or a sender was in the
                             middle of a send */
    AXO_COUNTED_ALL = 2   /* always so of one with a mailbox of its own (axo_props.mailbox) */
} axo_counted;

/* At most so many messages are looked at. */
#define AXO_INSPECT_MAX 65536

/* Cut to this, with the zero. */
#define AXO_INSPECT_NAME 64

typedef struct axo_actor_info {
    size_t size;            /* sizeof(axo_actor_info), set by AXO_ACTOR_INFO */
    axo_ref actor;
    uint32_t doing;         /* an axo_doing */
    uint32_t counted;       /* an axo_counted: what the three numbers are worth */
    uint32_t queued;        /* messages in its mailbox, the running one not among them */
    uint32_t place;         /* of the first message of `waiting_sender`: 1: the next to be handled;
                               0: not seen */
    uint32_t has_tag;       /* 1: running, and in receive */
    uint32_t tag;           /* of the message it is at */
    int64_t since_ns;       /* running: for how long, about: as of its worker's last look at the
                               clock */
    uint32_t suspends;      /* how often it is suspended */
    uint32_t stashed;       /* put aside by axo_stash; not in `queued` */
    char tag_name[AXO_INSPECT_NAME];   /* what its class calls `tag`; "" if it does not say */
    char class_name[AXO_INSPECT_NAME];
    char path[256];         /* its end behind AXO_PATH_CUT if longer */
    uint32_t instance;      /* number of its instance, from 1: less one, how often it was
                               restarted; 0: not made yet */
    uint32_t reserved;      /* 0 */
    axo_ref waits_for;      /* parked: whose mailbox has no room; stopping, restarting: the youngest
                               child that it waits for; none: nobody, or not seen */
} axo_actor_info;
#define AXO_ACTOR_INFO(...) AXO_INIT(axo_actor_info, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_actor_info_init(axo_actor_info *out)
{
    const axo_actor_info fresh = AXO_ACTOR_INFO();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* Looks at an actor, the caller itself included. It sends nothing, takes no memory and waits for
 * nobody; a sender, a failure or a stop that comes meanwhile is not lost. An actor that is not
 * running is kept from running for the look, which costs as many steps as it has messages, at most
 * AXO_INSPECT_MAX. The answer is true of one moment, which is past.
 *
 *     axo_actor_info info = AXO_ACTOR_INFO();
 *     axo_inspect(ctx, server, axo_self(ctx), &info);
 *
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK; AXO_EGONE: info->doing is AXO_DOING_GONE and all but `actor` is zero;
 *             AXO_ECONTEXT, AXO_EINVAL (none, NULL, no size), AXO_EVERSION: nothing is written */
AXO_API axo_status axo_inspect(axo_ctx *ctx, axo_ref ref, axo_ref waiting_sender,
                               axo_actor_info *info);

/* The same from any thread. */
AXO_API axo_status axo_system_inspect(axo_system *system, axo_ref ref, axo_ref waiting_sender,
                                      axo_actor_info *info);

/* Writes what the class of an actor calls a tag (axo_class.tag_name), cut to `size` bytes with the
 * closing zero; "" if it does not say. Any thread.
 *   returns   AXO_OK, AXO_EGONE, AXO_EINVAL (none, NULL, no size) */
AXO_API axo_status axo_system_tag_name(axo_system *system, axo_ref ref, uint32_t tag, char *out,
                                       size_t size);

/* "idle", "running", ...; "?" for a number that is none. */
AXO_API const char *axo_doing_name(uint32_t doing);

AXO_END_DECLS

#endif
