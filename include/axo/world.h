/* world.h - all that a system has in it: paused, and resumed as if nothing had happened; shown
 * while it stands still, so that a program saves its world and makes it again from what it has
 * saved (test/example/saved_game.c); and given other code while it runs, so that a plugin can be
 * unloaded (test/example/plugin.c).
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

/* Makes the state of one class from that of another, in the actor's own turn. `state` is
 * to->state_size bytes of zeros, `old` the state as `from` has left it, perhaps in the middle of a
 * callback that failed; `old` goes when this has returned AXO_OK. The instance is the same: its
 * number, its memory (axo_alloc), its clean-ups, children, timers, watches and messages. Of
 * axo_become nothing is left: `receive` is to->receive, and this may become another. Another status
 * than AXO_OK, axo_fail and axo_throw are a failure of the actor, with AXO_SITE_MIGRATE; whether a
 * crash is one says `from` (axo_class.on_crash). */
typedef axo_status (*axo_migrate_fn)(axo_ctx *ctx, void *state, void *old, void *user);

/* What axo_class_replace does. */
typedef struct axo_replacement {
    size_t size;           /* sizeof(axo_replacement), set by AXO_REPLACEMENT */
    const axo_class *from; /* not NULL */
    const axo_class *to;   /* not NULL; another */
    axo_migrate_fn migrate; /* NULL: the state stays as it is, where it is, of one size */
    void *user;            /* for migrate */
} axo_replacement;
#define AXO_REPLACEMENT(...) AXO_INIT(axo_replacement, __VA_ARGS__)
static inline void axo_replacement_init(axo_replacement *out)
{
    const axo_replacement fresh = AXO_REPLACEMENT();
    *out = fresh;
}

/* Subtrees that can be paused at a time. */
#define AXO_PAUSES_MAX 64

AXO_BEGIN_DECLS

/* Pauses an actor and all below it, those that are spawned there from now on too; `top` is the
 * highest of them, none: all of /user. What comes waits in its mailbox: messages, notices, events,
 * readiness. Nothing of it is lost or overtaken.
 *
 * The time of timers stands still for them: of axo_timer_start, axo_receive_timeout, and of what
 * anybody has scheduled to be sent to them (time.h). When they go on each has the time left that it
 * had when they were paused. axo_now goes on, and so does the time of all else: deadlines of the
 * program's threads, retry windows, back-offs, sends that wait for room.
 *
 * The system's own work goes on: stops and what they call, restarts that were decided on, births
 * with construct and pre_start, watches, axo_class_replace. A failure waits for a supervisor that
 * is paused, as messages do; one of `top` is decided by its parent, which is not.
 *
 * A subtree of a paused one can be paused too: an actor goes on when none of them is any more, and
 * axo_visited.suspends counts each. What is paused already is AXO_OK, and no second time.
 *
 *   thread      any, outside of callbacks. It takes what nobody else would run, as
 *               axo_class_replace does: turns in which an actor may still handle messages before
 *               it is paused
 *   timeout_ns  of the operating system's clock; 0: none; negative: no deadline
 *   blocks      until none of them is in a callback and none begins one by itself, which is what
 *               axo_system_visit asks for. While it looks through the timers of a worker, who sets
 *               one there waits
 *   returns     AXO_OK; AXO_ETIMEDOUT: they are paused, but one is in a callback, or the system
 *               has to do with it: another call waits on. AXO_ENOENT: it was paused, and has been
 *               resumed meanwhile. AXO_EGONE: none lives that has the reference, or it has ended
 *               meanwhile; AXO_EINVAL: NULL, an actor that is not below /user; AXO_ELIMIT:
 *               AXO_PAUSES_MAX; AXO_ECONTEXT, AXO_ETHREAD, AXO_EFORKED
 *   after       on all but AXO_OK, AXO_ETIMEDOUT and AXO_ETHREAD nobody is paused */
AXO_API AXO_NODISCARD axo_status axo_system_pause(axo_system *system, axo_ref top,
                                                  int64_t timeout_ns);

/* Goes on. What was scheduled for an actor below `top` that has ended goes on too, to be a dead
 * letter.
 *   thread    any
 *   blocks    no; for the timers as axo_system_pause
 *   returns   AXO_OK; AXO_ENOENT: `top` is not paused; AXO_EGONE: it was, and has ended;
 *             AXO_EINVAL: NULL; AXO_EFORKED */
AXO_API axo_status axo_system_resume(axo_system *system, axo_ref top);

/* The same from an actor, which may be one of them. It does not wait: the highest of them is paused
 * behind the callback that it is in, those below as soon as it has told them.
 *   thread    only the callback that was given `ctx`
 *   returns   as the two above, but for AXO_ETIMEDOUT and AXO_ETHREAD */
AXO_API axo_status axo_pause(axo_ctx *ctx, axo_ref top);
AXO_API axo_status axo_resume(axo_ctx *ctx, axo_ref top);

/* Shows every actor below /user that has not ended, a parent before its children and those from the
 * oldest on, each with what waits for it. An actor is kept from running from when it is shown until
 * all of its children have been; messages may come meanwhile, and are not shown.
 *
 * All that is shown belongs together if the system stands still: between two calls of axo_run_host,
 * while no thread visits a slot, or behind axo_system_quiesce or axo_system_pause. Meanwhile
 * nothing that was scheduled may be cancelled by another thread. The runtime's own messages are not
 * shown: notices, requests to stop, and what descriptors are ready.
 *
 *   thread    any, outside of callbacks
 *   blocks    no
 *   returns   AXO_OK; AXO_EBUSY: it does not stand still: some actor is in a callback, or is about
 *             to begin, restart or end; what was shown is a part. AXO_ENOMEM: the same;
 *             AXO_EINVAL, AXO_ECONTEXT, AXO_ESTOPPING, AXO_EFORKED */
AXO_API AXO_NODISCARD axo_status axo_system_visit(axo_system *system, axo_visit_fn fn, void *user);

/* Gives every actor of the class `from` the class `to`: each in a turn of its own, between two of
 * its messages, wherever it runs. Returns when no actor has the old one, and no thread of the
 * library that has met it is still about to look at it: so the plugin that it lies in can be
 * unloaded.
 *
 * One that is suspended is replaced as any other: with the state that Resume would go on with; a
 * restart that waits is the new class's, pre_restart too. One that is broken (a crash, a first
 * creation or a re-creation that failed) has no state to go on with: its instance is ended, its
 * clean-ups run, and its supervision goes on; what that makes next is of `to`. A broken one that
 * has children, and any that waits for children, is replaced when they have gone. One that ends
 * does so as what it was. And from the call on a spawn of `from` makes an actor of `to`, until it
 * has returned AXO_OK: then none may spawn `from` any more.
 *
 * If migrate fails, so does the actor, as if it had crashed: it is broken, Resume is Restart, its
 * children are stopped, its next instance is of `to`. To an actor that had failed before that is a
 * line of the log. A strategy that is asked sees an ordinary failure (axo_fail, or a status).
 *
 * The caller sees to what the library cannot know, before he unloads: that nothing leads into the
 * plugin but the class. That is the callers of axo_spawn and those who keep props (axo_router,
 * axo_backoff_supervisor); strategies with their deciders, props.args of size 0 and ranks of
 * mailboxes, which an actor keeps for life; functions of axo_defer and of payloads that are handed
 * over, as long as they may still be called. An actor of axo.hpp has two of these: what spawn
 * copies leads to its constructor, and its destructor is deferred; test/example/engine/entity.hpp
 * does with neither. And calls of other threads that look at actors, as a console's do, have
 * returned (axo_class, actor.h).
 *
 * One at a time: a call that has run into its deadline has begun what goes on without it; it is
 * waited for by another call with the same replacement, which may come each frame with 0. Meanwhile
 * births take longer.
 *
 *   thread      any, outside of callbacks. It takes what nobody else would run: turns of a manual
 *               system and of the host's, a visit of a free slot of lent threads
 *   timeout_ns  of the operating system's clock; 0: none; negative: no deadline
 *   blocks      until then
 *   returns     AXO_OK; AXO_ETIMEDOUT: not done yet; AXO_ENOMEM: nothing was begun, or an actor has
 *               found no memory for its state and keeps what it has until there is some: it has
 *               been told again, and another call waits for it; AXO_EBUSY: another thread is in
 *               this call, or another replacement is not done;
 *               AXO_EINVAL: NULL, the same class, another size of state without migrate, a
 *               pre_restart where `from` has none (its children are made for that), a class of the
 *               library's; AXO_EVERSION, AXO_ECONTEXT, AXO_ETHREAD, AXO_EFORKED
 *   after       on all but AXO_OK, AXO_ETIMEDOUT and AXO_ENOMEM nothing has changed */
AXO_API AXO_NODISCARD axo_status axo_class_replace(axo_system *system, const axo_replacement *what,
                                                   int64_t timeout_ns);

AXO_END_DECLS

#endif
