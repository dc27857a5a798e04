/* group.h - a barrier for messages: all that were sent through a group have been seen to.
 *
 *     axo_group *frame;
 *     axo_group_make(system, &frame);
 *     for (...)
 *         axo_group_send(frame, actor[i], TICK, &tick, sizeof tick);
 *     axo_group_wait(frame, AXO_GROUP_FOREVER, AXO_GROUP_HELP);    // the frame's work is done
 *
 * Where all get the same, axo_group_send_many(frame, actor, count, TICK, &tick, sizeof tick, NULL)
 * takes the place of the loop, and the workers send for it.
 *
 * A message counts from its send until its life ends: it was handled, also by a handler that failed
 * or an actor that was stopped under it, or it became a dead letter, or was dropped. One that is
 * stashed, or waits in a mailbox, counts; so does one that is forwarded, until its last receiver is
 * done, and one whose payload was taken (axo_message_take), until that is destroyed. What a handler
 * sends through the same group, before it returns, counts before its own message has ended: so work
 * that makes more work is waited for as a whole.
 *
 * A group is reached from any thread, in callbacks too; it belongs to its system. */
#ifndef AXO_GROUP_H
#define AXO_GROUP_H

#include <axo/actor.h>
#include <axo/system.h>

/* To the actor that has called axo_group_tell. The payload is an axo_group_done. */
#define AXO_GROUP_DONE (AXO_TAG_SERVICES + 0x78)

typedef struct axo_group axo_group;

typedef struct axo_group_done {
    uint64_t id;
    axo_group *group;
} axo_group_done;

/* What a thread does while it waits. */
typedef enum axo_group_how {
    AXO_GROUP_SLEEP = 0, /* nothing */
    AXO_GROUP_HELP = 1,  /* it runs the actors of the host dispatcher, in a manual system all, as by
                            axo_run_host, and visits a free slot of a system of lent threads, where
                            it may come upon an actor whose handler blocks, of the blocking and the
                            pinned dispatcher too; while another thread does, and while there is
                            nothing to run, it sleeps */
    AXO_GROUP_HOST = 2   /* the same, but it visits no slot: for a thread that no handler of others
                            may hold up, as that of a frame; those that are lent do the rest */
} axo_group_how;

#define AXO_GROUP_FOREVER INT64_C(-1)

AXO_BEGIN_DECLS

/* Makes a group.
 *   thread    any
 *   owns      the caller, until axo_group_free, which it must call before axo_system_destroy
 *   returns   AXO_OK, AXO_EINVAL, AXO_ENOMEM, AXO_ETHREAD (no mutex), AXO_EFORKED; then *out is
 *             NULL */
AXO_API AXO_NODISCARD axo_status axo_group_make(axo_system *system, axo_group **out);

/* Frees it. NULL is allowed.
 *   returns   AXO_OK; AXO_EBUSY: a message counts, or somebody waits: nothing has changed;
 *             AXO_EFORKED */
AXO_API axo_status axo_group_free(axo_group *group);

/* As axo_system_send, through the group; the sender that the receiver sees is none. In a callback
 * of the group's system axo_group_send_as sends as axo_send does, in the actor's name.
 *   returns   as axo_system_send (axo_send); a message that was refused does not count */
AXO_API axo_status axo_group_send(axo_group *group, axo_ref to, uint32_t tag, const void *payload,
                                  size_t size);
AXO_API axo_status axo_group_send_as(axo_ctx *ctx, axo_group *group, axo_ref to, uint32_t tag,
                                     const void *payload, size_t size);

/* Sends a message to each of `count` actors, as axo_group_send; the payload is copied once for all,
 * and freed with the last of the messages: receivers only read it. The sending is shared: workers
 * that have nothing to run send to portions of the receivers, which become ready where they are to
 * run, and the calling thread does what they leave. A receiver gets the message behind those that
 * this thread has sent it before the call, and before those that it sends when the call has
 * returned; among the receivers there is no order. An actor that stands there twice gets it twice.
 * One that refuses holds up none of the others. Where each is to get something of its own the
 * payload says where that is (a table, and the actor knows its place in it), or axo_group_send
 * sends it.
 *   thread    any, callbacks too. A thread outside of a system of lent threads visits a free slot
 *             meanwhile, and runs no actor there
 *   blocks    until all are sent: as long as the workers go on with it they have the sending, so
 *             between two portions they run what they have made ready; when none has taken one for
 *             200 us the caller does the rest itself. Other threads may be in observers,
 *             destructors and priority functions of the program for it, so the caller holds no lock
 *             that these take
 *   owns      borrows `to` until it returns
 *   returns   AXO_OK: all have accepted it, or `count` is 0; else the first status, in the order of
 *             `to`, that was another, AXO_EGONE for instance; in *accepted (may be NULL) how many
 *             said AXO_OK. AXO_EINVAL (a none among them, a reserved tag, NULL with a size or a
 *             count), AXO_ETOOBIG, AXO_EFORKED, AXO_ENOMEM for the copy: nothing was sent to
 *             anybody
 *   after     `count` more messages count, but for those that were refused */
AXO_API axo_status axo_group_send_many(axo_group *group, const axo_ref *to, uint32_t count,
                                       uint32_t tag, const void *payload, size_t size,
                                       uint32_t *accepted);

/* How many messages count now. 0 for NULL. */
AXO_API uint64_t axo_group_count(const axo_group *group);

/* Waits until none counts, or has counted none in a moment since the call.
 *   thread    any that is in no callback
 *   blocks    for `timeout_ns` of the operating system's clock at most, 0..AXO_DELAY_MAX or
 *             AXO_GROUP_FOREVER; with HELP and HOST for one handler more
 *   returns   AXO_OK; AXO_ETIMEDOUT; AXO_EINVAL, AXO_ECONTEXT (in a callback), AXO_ETHREAD (no
 *             latch), AXO_EFORKED; AXO_ENOMEM, AXO_ETHREAD of axo_run_host */
AXO_API axo_status axo_group_wait(axo_group *group, int64_t timeout_ns, axo_group_how how);

/* Has the calling instance told by AXO_GROUP_DONE when none counts, once; at once, if that is so
 * now. Telling takes no memory. An instance that is gone by then is not told. A child of the caller
 * waits for it: who ends that child is not told either.
 *   id        any number: comes back in the message
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (NULL, or of another system), AXO_ENOMEM,
 *             AXO_ELIMIT, AXO_ESTOPPING */
AXO_API axo_status axo_group_tell(axo_ctx *ctx, axo_group *group, uint64_t id);

AXO_END_DECLS

#endif
