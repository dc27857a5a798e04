/* answer.c - who has sent the message under which an actor failed is told so. */
#include "sched/answer.h"

#include <string.h>

#include "sched/ready.h"

/* Messages that are nobody's request, or are handled again. */
#define ANSWER_NONE                                                                                \
    (AXO__MESSAGE_NOTICE | AXO__MESSAGE_SIGNAL | AXO__MESSAGE_STASHED | AXO__MESSAGE_PILL |        \
     AXO__MESSAGE_KILL)

/* The parent's strategy is fixed from spawn on, and the parent lives as long as its child. A tag of
 * the runtime is no request, so an answer is never answered; nor is what an actor sends itself, as
 * its timers do. */
static bool answer_is_due(const axo__cell *cell, const axo__message *message)
{
    const axo__cell *parent = axo__cell_parent(cell);
    const axo_strategy *strategy = parent != NULL ? axo__cell_strategy(parent) : NULL;
    return strategy != NULL && strategy->answer_failed != 0 &&
           (message->flags & ANSWER_NONE) == 0 && message->pub.tag < AXO_TAG_RESERVED &&
           !axo_ref_is_none(message->pub.sender) &&
           !axo_ref_equal(message->pub.sender, axo__cell_ref(cell));
}

/* What is to be told waits in the link of the message, which is in no queue: the text's address, or
 * if the reserve was spent an odd number of code, kind and has_status. */
#define ANSWER_BARE   UINT64_C(1)
#define ANSWER_STATUS UINT64_C(2)
#define ANSWER_KIND   2 /* shifts */
#define ANSWER_CODE   32
AXO_STATIC_ASSERT(sizeof(void *) == sizeof(uint64_t), "a link has room for a code");
AXO_STATIC_ASSERT(_Alignof(axo__text) > ANSWER_BARE, "no text's address is odd");

static uint64_t answer_link(const axo__message *message)
{
    return (uint64_t)(uintptr_t)message->node.next;
}

static void answer_set_link(axo__message *message, uint64_t link)
{
    message->node.next = (axo__mpsc_node *)(uintptr_t)link;
}

static axo__text *answer_text(const axo__message *message)
{
    return (answer_link(message) & ANSWER_BARE) != 0 ? NULL
                                                     : (axo__text *)(void *)message->node.next;
}

static uint64_t answer_bare(const axo__cause *cause)
{
    return (uint64_t)(uint32_t)cause->code << ANSWER_CODE | (uint64_t)cause->kind << ANSWER_KIND |
           (cause->status != 0 ? ANSWER_STATUS : 0) | ANSWER_BARE;
}

void axo__answer_look(axo__worker *worker, const axo__cell *cell, axo__message *message)
{
    axo__texts *texts = &worker->local.core->texts;
    axo__cause *pending = &worker->pending;
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_ANSWER) == 0);
    if (!answer_is_due(cell, message))
        return;
    axo__cause_under(texts, pending, message);
    const axo__text *text = axo__cause_tell(texts, pending);
    message->flags |= AXO__MESSAGE_ANSWER;
    answer_set_link(message, text != NULL ? (uint64_t)(uintptr_t)text : answer_bare(pending));
}

void axo__answer_undo(axo__core *core, axo__message *message)
{
    if ((message->flags & AXO__MESSAGE_ANSWER) == 0)
        return;
    message->flags &= ~(uint32_t)AXO__MESSAGE_ANSWER;
    if (answer_text(message) != NULL)
        axo__texts_free(&answer_text(message)->failed, &core->texts);
    message->node.next = NULL;
}

/* The request's envelope becomes the answer's. The smallest block of a message is a cache line,
 * whatever was asked for: that is room for a destructor's argument, or for an answer without a
 * text. */
static void answer_fill(axo__core *core, const axo__cell *cell, axo__message *message)
{
    AXO_STATIC_ASSERT(sizeof *message + AXO_REQUEST_FAILED_BARE <= AXO__CACHE_LINE, "it fits");
    AXO_DEBUG_ASSERT(message->block > AXO__CACHE_LINE / 2);
    axo__text *text = answer_text(message);
    uint64_t link = answer_link(message);
    uint32_t tag = message->pub.tag;
    if (message->block < AXO__CACHE_LINE)
        message->block = AXO__CACHE_LINE;
    message->flags &= AXO__MESSAGE_TRACED;
    message->pub = (axo_message){.tag = AXO_REQUEST_FAILED, .sender = axo__cell_ref(cell)};
    if (text != NULL) {
        axo__message_own(message, &text->failed, sizeof text->failed, axo__texts_free,
                         &core->texts);
        message->flags |= AXO__MESSAGE_SIGNAL;
        return;
    }
    const axo_request_failed bare = {
        .tag = tag,
        .code = (int32_t)(uint32_t)(link >> ANSWER_CODE),
        .kind = (uint32_t)link >> ANSWER_KIND,
        .has_status = (link & ANSWER_STATUS) != 0 ? 1 : 0,
    };
    memcpy(message + 1, &bare, AXO_REQUEST_FAILED_BARE);
    message->pub.payload = message + 1;
    message->pub.size = AXO_REQUEST_FAILED_BARE;
    message->flags |= AXO__MESSAGE_SIGNAL;
}

/* The asker's mailbox takes the answer whatever its bound, as it takes what else its owner waits
 * for; an answer to one that has gone is freed, and nobody misses it. */
void axo__answer_send(axo__worker *worker, const axo__cell *cell, axo__message *message)
{
    axo__core *core = worker->local.core;
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_ANSWER) != 0 &&
                     (message->flags & ANSWER_NONE) == 0);
    axo_ref to = message->pub.sender;
    axo__message_free_payload(message);
    answer_fill(core, cell, message);
    axo__cell *asker = axo__table_find(&core->table, to);
    if (asker != NULL)
        axo__sched_accept(worker, asker, message);
    else
        axo__message_free(&worker->local.cache, message);
}
