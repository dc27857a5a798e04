/* world.h - all that a system has in it, shown while it stands still: a program saves its world so,
 * and makes it again from what it has saved. A whole program is test/example/saved_game.c.
 *
 *     static void save(void *user, const axo_visited *it)
 *     {
 *         if (it->kind == AXO_VISITED_ACTOR)
 *             fwrite(it->state, 1, it->state_size, user);
 *         else if (it->kind == AXO_VISITED_MESSAGE)
 *             fwrite(it->message->payload, 1, it->message->size, user);
 *     }
 *     axo_run_host(system, -1, NULL);       of a manual system; else axo_system_quiesce
 *     status = axo_system_visit(system, save, file);
 */
#ifndef AXO_WORLD_H
#define AXO_WORLD_H

#include <axo/actor.h>
#include <axo/init.h>
#include <axo/system.h>
#include <axo/time.h>

typedef enum axo_visited_kind {
    AXO_VISITED_ACTOR = 0,     /* an actor; what else is its own follows at once */
    AXO_VISITED_MESSAGE = 1,   /* of its mailbox, in the order in which it would handle them */
    AXO_VISITED_STASHED = 2,   /* put aside by axo_stash, oldest first */
    AXO_VISITED_TIMER = 3,     /* a timer of its instance (axo_timer_start), in no order */
    AXO_VISITED_SCHEDULED = 4  /* a message to it that waits for its time (axo_send_after,
                                  axo_system_schedule_once, ...): behind all actors, in no order;
                                  its receiver may be none that lives */
} axo_visited_kind;

/* What is shown; valid until the function returns. Fields of other kinds are 0. */
typedef struct axo_visited {
    uint32_t kind;     /* an axo_visited_kind */
    uint32_t instance; /* ACTOR: number of its instance, from 1; 0: not made yet */
    axo_ref actor;     /* whose it is */
    axo_ref parent;    /* ACTOR; none: it is a child of /user */
    const axo_class *cls;       /* ACTOR */
    void *state;                /* ACTOR: of its instance; NULL: there is none */
    size_t state_size;          /* ACTOR: cls->state_size, or 0 */
    uint32_t suspends;          /* ACTOR: how often it is suspended */
    uint32_t timer_kind;        /* TIMER, SCHEDULED: an axo_timer_kind */
    int64_t timeout_ns;         /* ACTOR: its receive timeout; 0: it has none */
    const axo_message *message; /* MESSAGE, STASHED; TIMER, SCHEDULED: what it sends */
    uint64_t key;               /* TIMER */
    int64_t left_ns;            /* TIMER, SCHEDULED: until it is due; 0: it is */
    int64_t period_ns;          /* TIMER, SCHEDULED: of one that goes on */
} axo_visited;

/* It may look at and change what `state` leads to, and call what may be called from any thread, but
 * not a function that runs or waits for actors. */
typedef void (*axo_visit_fn)(void *user, const axo_visited *it);

AXO_BEGIN_DECLS

/* Shows every actor below /user that has not ended, a parent before its children and those from the
 * oldest on, each with what waits for it. An actor is kept from running from when it is shown until
 * all of its children have been; messages may come meanwhile, and are not shown.
 *
 * All that is shown belongs together if the system stands still: between two calls of axo_run_host,
 * while no thread visits a slot, or behind axo_system_quiesce. Meanwhile nothing that was scheduled
 * may be cancelled by another thread. The runtime's own messages are not shown: notices, requests
 * to stop, and what descriptors are ready.
 *
 *   thread    any, outside of callbacks
 *   blocks    no
 *   returns   AXO_OK; AXO_EBUSY: it does not stand still: some actor is in a callback, or is about
 *             to begin, restart or end; what was shown is a part. AXO_ENOMEM: the same;
 *             AXO_EINVAL, AXO_ECONTEXT, AXO_ESTOPPING, AXO_EFORKED */
AXO_API AXO_NODISCARD axo_status axo_system_visit(axo_system *system, axo_visit_fn fn, void *user);

AXO_END_DECLS

#endif
