/* drain.h - tells all actors below one to end, and says when they have, or who is late. */
#ifndef AXO_DRAIN_H
#define AXO_DRAIN_H

#include <axo/actor.h>
#include <axo/init.h>
#include <axo/time.h>
#include <axo/verdict.h>

/* To the caller of axo_drain: an axo_drained. */
#define AXO_DRAINED (AXO_TAG_SERVICES + 0x13)

/* So many of the late ones are named. */
#define AXO_DRAIN_NAMES 4

/* One that has been told and has not ended. */
typedef struct axo_drain_late {
    axo_ref actor;
    uint32_t doing;              /* an axo_doing, as axo_inspect tells it */
    uint32_t queued;             /* messages in its mailbox */
    char path[AXO_VERDICT_PATH]; /* its end behind AXO_PATH_CUT if longer; "": it has ended since */
} axo_drain_late;

/* Payload of AXO_DRAINED. */
typedef struct axo_drained {
    uint64_t id;       /* the caller's, as it was given */
    axo_status status; /* AXO_OK: all have been told and have ended; AXO_ETIMEDOUT: `late` have not;
                          AXO_EFULL: a mailbox has refused the message; AXO_ENOMEM, AXO_ELIMIT: no
                          memory, no timer: of these three some have not been told (`refused`; 0:
                          nobody has), and those that have been told have ended;
                          AXO_ESTOPPING: the drain was stopped */
    uint32_t told;     /* actors that got the message */
    uint32_t late;     /* of these, that have not ended */
    uint32_t refused;  /* actors that did not get it, for want of memory or of room: a second drain
                          tells them */
    uint32_t named;    /* how many of `first` are filled in */
    int64_t waited_ns;
    axo_drain_late first[AXO_DRAIN_NAMES]; /* of the late ones, in no particular order */
} axo_drained;

AXO_BEGIN_DECLS

/* Sends a message without a payload to all descendants of an actor, and promises the caller one
 * AXO_DRAINED with this id, when all that got it have ended or `timeout_ns` has passed. Whoever
 * gets it does what there is left to do, and stops itself. The message's sender is the caller. The
 * actor itself and the caller get none. Who is late is left as it is: it may still end.
 *
 *     axo_drain(ctx, me->listener, &cls, BYE, 5 * SECOND, 1);
 *
 * An actor that stops takes its children with it, whatever they have been told and not handled: if
 * they have work to end, give the class of the lowest, and drain those above them behind that.
 *
 * The descendants are looked for once, when the caller's callback has returned: a child that is
 * spawned later is neither told nor waited for. So first stop what spawns, and drain behind that,
 * or drain again until `told` is 0. The look costs, for each level of the tree below the actor, a
 * look at every actor of the system (find.h).
 *
 * The wait is a child of the caller, as in ask.h, and ends with the calling instance; a restart of
 * the child that a strategy orders goes on with it and tells nobody twice.
 *   ref       one that has ended has no descendants: AXO_OK with `told` 0. It may be the caller
 *   cls       only actors whose class has this one's name; NULL: all but those that wait for an
 *             ask or a drain (classes "ask" and "drain"). A router hands the message to one of its
 *             routees, and listeners and supervisors of the library do not end by it: with those
 *             below `ref` a class is better. It need not be valid behind the call
 *   tag       below AXO_TAG_RESERVED
 *   timeout_ns  1..AXO_DELAY_MAX, by the system's clock
 *   thread    only the callback that was given `ctx`
 *   blocks    no; a mailbox that would park a sender refuses the message
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (none, a reserved tag, a timeout out of its range, a
 *             class without a size), AXO_EVERSION (of *cls), AXO_ENOMEM, AXO_ELIMIT, AXO_ESTOPPING
 *   after     on failure nobody was told and nothing will come */
AXO_API AXO_NODISCARD axo_status axo_drain(axo_ctx *ctx, axo_ref ref, const axo_class *cls,
                                           uint32_t tag, int64_t timeout_ns, uint64_t id);

AXO_END_DECLS

#endif
