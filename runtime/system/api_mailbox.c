/* api_mailbox.c - the door for actors: the stash, and messages that are passed on.
 *
 * A program sees only the public part of a message. Each function here first proves that the
 * pointer is the message in hand, and only then touches the envelope around it. */
#include <axo/axo.h>

#include <string.h>

#include "sched/answer.h"
#include "sched/send.h"
#include "super/stash.h"
#include "system/filled.h"
#include "system/system.h"

/* ---- stash ---- */

axo_status axo_stash(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    return cell != NULL ? axo__stash_keep(axo__self, cell) : axo__no_caller();
}

axo_status axo_unstash(axo_ctx *ctx, uint32_t count)
{
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    axo__stash_return(cell, count);
    return AXO_OK;
}

axo_status axo_unstash_all(axo_ctx *ctx)
{
    return axo_unstash(ctx, UINT32_MAX);
}

uint32_t axo_stash_count(axo_ctx *ctx)
{
    axo__cell *cell = axo__caller(ctx);
    const axo__extra *extra = cell != NULL ? axo__cell_extra(cell) : NULL;
    return extra != NULL ? extra->stash_count : 0;
}

/* ---- passing on ---- */

/* The envelope of the message that the running callback was given; NULL: `shown` is another
 * message. In pre_restart that message is the one that failed. */
static axo__message *mailbox_given(const axo__cell *cell, const axo_message *shown)
{
    axo__worker *worker = axo__self;
    axo__message *given = worker->message;
    if (given == NULL && worker->site == AXO__SITE_PRE_RESTART)
        given = cell->failed;
    return given != NULL && shown == &given->pub ? given : NULL;
}

/* A stashed message is queued again and keeps its payload. What the runtime hands over is its own,
 * and ends with it; so does a payload with walls, which was copied. */
static bool mailbox_can_take(const axo__message *message)
{
    return (message->flags & (AXO__MESSAGE_OWNED | AXO__MESSAGE_STASHED | AXO__MESSAGE_SIGNAL)) ==
               AXO__MESSAGE_OWNED &&
           !axo__message_is_walled(message);
}

/* The payload has another owner from here on: the envelope is freed without it. */
static void mailbox_disown(axo__message *message)
{
    message->flags &= ~(uint32_t)AXO__MESSAGE_OWNED;
    message->pub.payload = NULL;
    message->pub.size = 0;
}

/* The destructor's `user` lies behind the envelope (axo__message_own). */
static axo_owned mailbox_owned(const axo__message *message)
{
    return (axo_owned){.payload = (void *)(uintptr_t)message->pub.payload,
                       .size = message->pub.size,
                       .destroy = message->destroy,
                       .user = *(void *const *)(const void *)(message + 1)};
}

axo_status axo_message_take(axo_ctx *ctx, const axo_message *message, axo_owned *out)
{
    axo__cell *cell = axo__caller(ctx);
    if (out != NULL)
        *out = (axo_owned){.payload = NULL};
    if (cell == NULL)
        return axo__no_caller();
    axo__message *given = mailbox_given(cell, message);
    if (given == NULL || out == NULL || !mailbox_can_take(given))
        return AXO_EINVAL;
    *out = mailbox_owned(given);
    mailbox_disown(given);
    return AXO_OK;
}

/* What a copy of the message carries: it comes from the handler that passes it on; in pre_restart
 * from the one that failed, which has left its context in the message. */
static const axo_trace_context *mailbox_trace(const axo__worker *worker, const axo__message *given,
                                              axo_trace_context *kept)
{
    if (worker->span.now != NULL || (given->flags & AXO__MESSAGE_TRACED) == 0)
        return worker->span.now;
    *kept = axo__message_trace(given);
    return kept;
}

axo_status axo_forward(axo_ctx *ctx, const axo_message *message, axo_ref to)
{
    axo__cell *cell = axo__caller(ctx);
    axo__worker *worker = axo__self;
    if (cell == NULL)
        return axo__no_caller();
    axo__message *given = mailbox_given(cell, message);
    if (given == NULL || axo_ref_is_none(to) || given->pub.tag >= AXO_TAG_RESERVED)
        return AXO_EINVAL;
    /* An owned payload moves to the copy and is not copied, so a second forward finds none. */
    bool owned = (given->flags & AXO__MESSAGE_OWNED) != 0 && !axo__message_is_walled(given);
    if (owned && !mailbox_can_take(given))
        return AXO_EINVAL;
    size_t room = owned ? sizeof(void *) : given->pub.size;
    axo_trace_context kept;
    const axo_trace_context *trace = mailbox_trace(worker, given, &kept);
    axo__message *copy =
        owned ? axo__message_make_traced(&worker->local.cache, given->pub.tag, given->pub.sender,
                                         room, trace)
              : axo__filled_make(worker, given->pub.tag, given->pub.sender, room, trace);
    if (copy == NULL)
        return AXO_ENOMEM;
    if (owned) {
        axo_owned payload = mailbox_owned(given);
        axo__message_own(copy, payload.payload, payload.size, payload.destroy, payload.user);
    } else {
        axo__filled_copy(copy, given->pub.payload, room);
    }
    axo_status status = axo__send_from(worker, to, copy);
    /* Both were accepted: the copy owns the payload. A refused copy was freed without its payload,
     * which stays with `given`. */
    if (owned && (status == AXO_OK || status == AXO_EGONE))
        mailbox_disown(given);
    if (status == AXO_OK) /* whoever has it now answers it; a dead letter is nobody's */
        axo__answer_undo(worker->local.core, given);
    return status;
}
