/* message.h - the envelope: a header, and the payload behind it or owned elsewhere.
 *
 * A message is one block of the pool from the send to the end of receive, and its first field links
 * it wherever it waits (lane, inbox, stash, bounded mailbox), so queueing never takes memory. The
 * queue that holds a message owns it; a thread that pushes it must not read it afterwards.
 */
#ifndef AXO__MAILBOX_MESSAGE_H
#define AXO__MAILBOX_MESSAGE_H

#include <string.h>

#include <axo/message.h>
#include <axo/trace_context.h>

#include "base/aside.h"
#include "base/border.h"
#include "mem/slab.h"
#include "queue/mpsc.h"

/* Flags of a message. Values above OWNED take the runner to a slower path, so an ordinary message
 * costs one comparison. */
enum {
    AXO__MESSAGE_OWNED = 1,  /* the payload is elsewhere; `destroy` frees it */
    AXO__MESSAGE_PILL = 2,   /* stops the receiver (PK-01) */
    AXO__MESSAGE_KILL = 4,   /* fails the receiver (PK-05) */
    AXO__MESSAGE_NOTICE = 8, /* AXO_TERMINATED or the message in its place: part of a watch
                                record, not counted */
    AXO__MESSAGE_SIGNAL = 16, /* the runtime's own, not counted */
    AXO__MESSAGE_TRACED = 32,  /* its block ends with a trace context */
    AXO__MESSAGE_TICK = 64,    /* of a keyed timer, the receive timeout or a watched descriptor:
                                 the runner asks whether that still is so when it comes up */
    AXO__MESSAGE_BOUND = 128,  /* for one instance: its number is `instance` */
    AXO__MESSAGE_FLAGS_END = 256
};

/* Together with BOUND: the instance's number lies behind `user`, since an owned payload needs the
 * place of `instance` for destroy. */
#define AXO__MESSAGE_BEHIND AXO__MESSAGE_FLAGS_END

/* The handler that has the message has recorded a failure: until it returns, so in no mailbox. */
#define AXO__MESSAGE_BLAMED (2 * AXO__MESSAGE_FLAGS_END)

/* An actor has failed under the message, and its sender is told so when the message would be freed
 * (sched/answer.h): in no mailbox. */
#define AXO__MESSAGE_ANSWER (4 * AXO__MESSAGE_FLAGS_END)

/* `sent_at` says when the message was sent: only where nothing else is in its place, and only to an
 * actor of a system that times messages. The first look of the receiver's runner takes the flag
 * away. */
#define AXO__MESSAGE_TIMED (8 * AXO__MESSAGE_FLAGS_END)

/* The handler that has the message has, or had, a trace context (sched/span.h): until it returns,
 * so in no mailbox. */
#define AXO__MESSAGE_SPAN (16 * AXO__MESSAGE_FLAGS_END)

/* In the stash or in front of the lane, which owns it: in no bounded mailbox. */
#define AXO__MESSAGE_STASHED (32 * AXO__MESSAGE_FLAGS_END)

/* An answer of an ask that its asker owes no more (sched/account.h). */
#define AXO__MESSAGE_PAID (64 * AXO__MESSAGE_FLAGS_END)

/* Messages that no user misses: their dead letters are suppressed. */
#define AXO__MESSAGE_HARMLESS                                                                      \
    (AXO__MESSAGE_PILL | AXO__MESSAGE_TICK | AXO__MESSAGE_BOUND)

/* The payload of a Kill that stands for an injected failure. */
typedef struct axo__injected {
    uint32_t kind; /* an axo_failure_kind */
    int32_t code;
} axo__injected;

/* The header is 48 bytes, so a message with up to 16 bytes of payload fits a block of 64. */
typedef struct axo__message {
    axo__mpsc_node node; /* first: the lane's link */
    axo_message pub;     /* what the receiver sees */
    uint32_t block; /* bytes of the whole block */
    uint32_t flags;
    union {
        axo_payload_free destroy; /* OWNED */
        uint32_t instance;        /* BOUND, and not BEHIND */
        int64_t sent_at;          /* TIMED; in a bounded mailbox without a flag */
    };
    /* payload, or `user` of destroy, follows */
} axo__message;
AXO_STATIC_ASSERT(offsetof(axo__message, node) == 0, "a node leads to its message");
AXO_STATIC_ASSERT(sizeof(axo__message) == 48, "no word for what few have");
AXO_STATIC_ASSERT(offsetof(axo__message, block) + 4 == offsetof(axo__message, flags), "one store");

/* What follows a draft that owns its payload: such a draft's receiver may be bound later. */
typedef struct axo__message_behind {
    void *user; /* first: destroy's second argument */
    uint32_t instance;
} axo__message_behind;

/* `block`, and no flags: one store, which compilers do not make of two for a constant. */
static inline void axo__message_plain(axo__message *message, uint32_t block)
{
    bool first = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    uint64_t both = first ? block : (uint64_t)block << 32;
    memcpy((char *)message + offsetof(axo__message, block), &both, sizeof both);
}

static inline void axo__message_fill(axo__message *message, uint32_t tag, axo_ref sender,
                                     size_t size)
{
    message->pub.tag = tag;
    message->pub.size = (uint32_t)size;
    message->pub.sender = sender;
    message->pub.payload = size > 0 ? (void *)(message + 1) : NULL;
    axo__message_plain(message, (uint32_t)(sizeof *message + size));
}

/* Makes an envelope with room for `size` bytes of payload; NULL: no memory. pub.payload points at
 * the room (NULL for size 0). */
static inline axo__message *axo__message_make(axo__cache *cache, uint32_t tag, axo_ref sender,
                                              size_t size)
{
    size_t block = sizeof(axo__message) + size;
    AXO_DEBUG_ASSERT(block <= UINT32_MAX);
    axo__message *message = axo__pool_alloc(cache, block);
    if (message == NULL)
        return NULL;
    axo__message_fill(message, tag, sender, size);
    return message;
}

/* As axo__message_make, with the payload copied, for a message of one cache line and a constant
 * `size`. NULL: the cache has none at hand, and axo__message_make says whether there is memory. */
static inline __attribute__((always_inline)) axo__message *
axo__message_make_line(axo__cache *cache, uint32_t tag, axo_ref sender, const void *payload,
                       size_t size)
{
    axo__message *message = axo__pool_alloc_line(cache);
    AXO_DEBUG_ASSERT(size <= AXO__CACHE_LINE - sizeof *message);
    if (axo__unlikely(message == NULL))
        return NULL;
    axo__message_fill(message, tag, sender, size);
    if (size > 0)
        memcpy(message + 1, payload, size);
    return message;
}

/* What a message with a trace context is longer by: its block ends with the context, behind a line
 * at least, so that all that an envelope has room for behind its header (an instance, an answer)
 * still has it. A multiple of 8: what lies before it is aligned. */
#define AXO__MESSAGE_TRACE 32
AXO_STATIC_ASSERT(sizeof(axo_trace_context) <= AXO__MESSAGE_TRACE, "a context has room");

/* Bytes of the message's trace context. */
static inline size_t axo__message_trace_size(const axo__message *message)
{
    return (message->flags & AXO__MESSAGE_TRACED) != 0 ? AXO__MESSAGE_TRACE : 0;
}

static inline char *axo__message_trace_at(const axo__message *message)
{
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_TRACED) != 0);
    AXO_DEBUG_ASSERT(message->block >= AXO__CACHE_LINE + AXO__MESSAGE_TRACE);
    return (char *)(uintptr_t)message + message->block - AXO__MESSAGE_TRACE;
}

/* The context of a message that has one. */
static inline axo_trace_context axo__message_trace(const axo__message *message)
{
    axo_trace_context trace;
    memcpy(&trace, axo__message_trace_at(message), sizeof trace);
    return trace;
}

static inline void axo__message_set_trace(axo__message *message, const axo_trace_context *trace)
{
    memcpy(axo__message_trace_at(message), trace, sizeof *trace);
}

/* As axo__message_make, for a message that carries a trace context. NULL for `trace`: it carries
 * none. */
static inline axo__message *axo__message_make_traced(axo__cache *cache, uint32_t tag,
                                                     axo_ref sender, size_t size,
                                                     const axo_trace_context *trace)
{
    if (axo__likely(trace == NULL))
        return axo__message_make(cache, tag, sender, size);
    size_t line = AXO__CACHE_LINE - sizeof(axo__message);
    size_t room = (size > line ? size : line) + AXO__MESSAGE_TRACE;
    axo__message *message = axo__message_make(cache, tag, sender, room);
    if (message == NULL)
        return NULL;
    message->pub.size = (uint32_t)size;
    if (size == 0)
        message->pub.payload = NULL;
    message->flags = AXO__MESSAGE_TRACED;
    axo__message_set_trace(message, trace);
    return message;
}

/* Copies a message that owns no payload; NULL: no memory. The payload's pointer is moved to the
 * copy. */
static inline axo__message *axo__message_copy(axo__cache *cache, const axo__message *message)
{
    AXO_DEBUG_ASSERT((message->flags & (AXO__MESSAGE_OWNED | AXO__MESSAGE_NOTICE)) == 0);
    axo__message *copy = axo__pool_alloc(cache, message->block);
    if (copy == NULL)
        return NULL;
    memcpy(copy, message, message->block);
    if (message->pub.payload != NULL)
        copy->pub.payload = copy + 1;
    return copy;
}

/* Makes an envelope with room for one pointer own `payload`: the room takes destroy's second
 * argument, so an owned payload costs the header no field. */
static inline void axo__message_own(axo__message *message, void *payload, size_t size,
                                    axo_payload_free destroy, void *user)
{
    AXO_DEBUG_ASSERT(message->block >= sizeof *message + sizeof(void *) && size <= UINT32_MAX);
    message->pub.payload = payload;
    message->pub.size = (uint32_t)size;
    message->flags |= AXO__MESSAGE_OWNED;
    message->destroy = destroy;
    *(void **)(void *)(message + 1) = user;
}

/* Runs the destructor of an owned payload, once: the flag is cleared with it. The destructor is the
 * program's function, so the caller holds no lock. */
static inline void axo__message_free_payload(axo__message *message)
{
    if ((message->flags & AXO__MESSAGE_OWNED) != 0 && message->destroy != NULL) {
        axo__aside++;
        AXO_BORDER();
        message->destroy((void *)(uintptr_t)message->pub.payload, *(void **)(void *)(message + 1));
        axo__aside--;
    }
    message->flags &= ~(uint32_t)AXO__MESSAGE_OWNED;
}

/* Frees the payload, then the block. A notice is part of a watch record and is not freed here. */
static inline void axo__message_free(axo__cache *cache, axo__message *message)
{
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_NOTICE) == 0);
    axo__message_free_payload(message);
    axo__pool_free(cache, message, message->block);
}

/* The node is the first member, so no offset is needed. */
static inline axo__message *axo__message_of_node(axo__mpsc_node *node)
{
    return (axo__message *)(void *)node;
}

/* Messages in a line, first in first out. `last` is valid while `first` is not NULL, so an empty
 * chain costs one store. */
typedef struct axo__chain {
    axo__message *first;
    axo__message *last;
} axo__chain;

static inline axo__message *axo__message_next(const axo__message *message)
{
    return (axo__message *)(void *)message->node.next;
}

static inline void axo__chain_push(axo__chain *chain, axo__message *message)
{
    message->node.next = NULL;
    if (chain->first == NULL)
        chain->first = message;
    else
        chain->last->node.next = &message->node;
    chain->last = message;
}

/* The oldest message; NULL: the chain is empty. */
static inline axo__message *axo__chain_pop(axo__chain *chain)
{
    axo__message *message = chain->first;
    if (message != NULL)
        chain->first = axo__message_next(message);
    return message;
}

/* Moves all messages of `more` behind those of `chain`, in one step. */
static inline void axo__chain_append(axo__chain *chain, axo__chain *more)
{
    if (more->first == NULL)
        return;
    if (chain->first == NULL)
        chain->first = more->first;
    else
        chain->last->node.next = &more->first->node;
    chain->last = more->last;
    more->first = NULL;
}

/* Whether the message counts in sent, handled and dead (D7). The runtime's own messages do not, so
 * the counters a program sees are about its own messages. */
static inline bool axo__message_counts(const axo__message *message)
{
    return (message->flags & (AXO__MESSAGE_NOTICE | AXO__MESSAGE_SIGNAL)) == 0;
}

/* Makes the message for one instance of its receiver and no other (axo_draft_bind). A message that
 * owns its payload was made with an axo__message_behind; the number keeps its place there when the
 * payload is taken. */
static inline void axo__message_bind(axo__message *message, uint32_t instance)
{
    uint32_t kept = message->flags & (AXO__MESSAGE_BOUND - 1);
    message->flags = kept | AXO__MESSAGE_BOUND;
    if ((kept & AXO__MESSAGE_OWNED) == 0) {
        message->instance = instance;
        return;
    }
    AXO_DEBUG_ASSERT(message->block >= sizeof *message + sizeof(axo__message_behind));
    message->flags |= AXO__MESSAGE_BEHIND;
    ((axo__message_behind *)(void *)(message + 1))->instance = instance;
}

/* Whether this instance may handle the message. */
static inline bool axo__message_is_for(const axo__message *message, uint32_t instance)
{
    if ((message->flags & AXO__MESSAGE_BOUND) == 0)
        return true;
    if ((message->flags & AXO__MESSAGE_BEHIND) == 0)
        return message->instance == instance;
    return ((const axo__message_behind *)(const void *)(message + 1))->instance == instance;
}

#endif
