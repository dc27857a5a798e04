/* ask.h - a request with one answer: ask, and the promise that any thread can keep. A whole program
 * is test/example/ask_bank.c.
 *
 *     axo_ask(ctx, bank, BALANCE, NULL, 0, 250 * MS, 7);       the request, and its number
 *     ...
 *     case AXO_ASK_ANSWER: {                                   in receive, later
 *         axo_message answer = axo_answer_of(message);
 *         if (AXO_PAYLOAD(message, axo_answer)->id == 7 && answer.tag == BALANCE_IS) ...
 *     case AXO_ASK_FAILED:
 *         axo_verdict_text(AXO_PAYLOAD(message, axo_verdict), text, sizeof text);
 *
 * The asked actor sees an ordinary message; its sender is a reference made for this ask alone, and
 * axo_reply answers it. The first message to that reference is the answer; it terminates then, and
 * what comes later is a dead letter. It may be watched and handed on.
 *
 * Behind it stands an actor, a child of the asker with a name that begins with '$': it is in
 * axo_children, the asks of an instance end with it, and a strategy that is all for one reaches
 * them (a restart keeps them waiting, a stop ends them with AXO_ESTOPPING). It never fails by
 * itself. Answers to an instance that has been restarted meanwhile are suppressed dead letters.
 *
 * An ask that was accepted completes exactly once, also when memory runs out (AXO_ENOMEM in the
 * verdict), and when the asker's mailbox is full: it lets in what its owner has asked for
 * (mailbox.h).
 *
 * That the asked actor fails is not told to the asker, since failures go to supervisors, unless its
 * supervisor's strategy says so (axo_strategy.answer_failed). That it terminates is. */
#ifndef AXO_ASK_H
#define AXO_ASK_H

#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <axo/actor.h>
#include <axo/system.h>
#include <axo/time.h>
#include <axo/verdict.h>

/* To the asker: the answer, an axo_answer with the answer's payload behind it. Sender: the
 * reference of the ask. */
#define AXO_ASK_ANSWER (AXO_TAG_SERVICES + 0x01)

/* To the asker, in place of the answer: an axo_verdict. */
#define AXO_ASK_FAILED (AXO_TAG_SERVICES + 0x02)

/* Head of the payload of AXO_ASK_ANSWER. */
typedef struct axo_answer {
    uint64_t id;        /* as it was given to axo_ask or axo_promise */
    axo_ref from;       /* who answered; none: a thread */
    int64_t waited_ns;
    uint32_t tag;       /* of the answer */
    uint32_t size;      /* bytes of its payload, as it was sent */
    const void *handed; /* a payload that was handed over; NULL: it was copied, and follows */
    uint64_t reserved;  /* 0; what follows is aligned for any object */
} axo_answer;

/* The largest answer that is copied; for a larger one AXO_ASK_FAILED says AXO_ETOOBIG. One that was
 * handed over, and one to axo_system_ask, may be as large as any message. */
#define AXO_ANSWER_MAX (AXO_PAYLOAD_MAX - sizeof(axo_answer))

/* The answer as its sender sent it: tag, payload, and who sent it, so that axo_reply goes on with
 * the conversation. It lives as long as `message`, which must be an AXO_ASK_ANSWER; all zero if it
 * is shorter than its head says, as no ask's is. */
static inline axo_message axo_answer_of(const axo_message *message)
{
    const axo_answer *head = AXO_PAYLOAD(message, axo_answer);
    axo_message answer;
    memset(&answer, 0, sizeof answer);
    if (message->size < sizeof *head ||
        (!head->handed && message->size - sizeof *head < head->size))
        return answer;
    answer.tag = head->tag;
    answer.size = head->size;
    answer.sender = head->from;
    answer.payload = head->handed;
    if (!head->handed && head->size > 0)
        answer.payload = head + 1;
    return answer;
}

/* What axo_system_ask got. */
typedef struct axo_asked {
    axo_message message;   /* the answer; its payload is the caller's, see axo_asked_free */
    axo_owned owned;       /* how to free it, if it was handed over; else zeroed */
    int64_t waited_ns;
    axo_verdict verdict;   /* of a failure, for axo_verdict_text; else zeroed but for status */
} axo_asked;

AXO_BEGIN_DECLS

/* Asks an actor: sends it a message and promises the caller exactly one AXO_ASK_ANSWER or
 * AXO_ASK_FAILED with this id: the first answer; or that `timeout_ns` has passed; or that the asked
 * one has terminated, or has failed and tells so (axo_strategy.answer_failed); or, whatever has
 * become of the request, that there was no memory or no timer to wait, or no memory for the answer,
 * or that it is too large. `id` is the caller's affair.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK; AXO_EGONE: no such actor, the request is a dead letter; AXO_EINVAL (none, a
 *             reserved tag, NULL with a size, a timeout that is not positive or above
 *             AXO_DELAY_MAX), AXO_ETOOBIG, AXO_ECONTEXT, AXO_ENOMEM, AXO_ELIMIT (actors),
 *             AXO_ESTOPPING, AXO_EFULL (the mailbox refuses, mailbox.h, or what the caller
 *             has outstanding is at its bound, demand.h)
 *   after     on failure nothing will come; but for AXO_EGONE nothing was sent */
AXO_API AXO_NODISCARD axo_status axo_ask(axo_ctx *ctx, axo_ref to, uint32_t tag,
                                         const void *payload, size_t size, int64_t timeout_ns,
                                         uint64_t id);

/* Makes a promise: a reference to which any thread or actor sends the result of what it does for
 * the caller. The first message to it comes to the caller as AXO_ASK_ANSWER with this id; if none
 * comes in time, AXO_ASK_FAILED does. So the result of a thread's work is piped to oneself.
 * axo_stop on it takes it back: at most an AXO_ASK_FAILED with AXO_ESTOPPING comes then.
 *   returns   as axo_ask
 *   after     on failure *out is axo_ref_none() */
AXO_API AXO_NODISCARD axo_status axo_promise(axo_ctx *ctx, int64_t timeout_ns, uint64_t id,
                                             axo_ref *out);

/* Asks from a thread that is no worker, and waits for the answer, by the operating system's clock.
 * Behind it stands an actor in /system; many threads may ask at once. It runs no actors: in a
 * manual system another thread must.
 *   blocks    until the answer, the deadline, the asked one's end, or the system's
 *   owns      out->message.payload is the caller's until axo_asked_free
 *   returns   AXO_OK; AXO_ETIMEDOUT; AXO_EGONE; AXO_ESTOPPING: the system ends; AXO_ECONTEXT on a
 *             worker; else as axo_ask, and AXO_ETHREAD: the operating system is out of locks
 *   after     on failure out->verdict says more, and there is nothing to free */
AXO_API AXO_NODISCARD axo_status axo_system_ask(axo_system *system, axo_ref to, uint32_t tag,
                                                const void *payload, size_t size,
                                                int64_t timeout_ns, axo_asked *out);

/* Gives the payload back. May be called after a failure, and again. A payload that was handed over
 * is given to its destructor, on this thread. */
AXO_API void axo_asked_free(axo_system *system, axo_asked *asked);

AXO_END_DECLS

#endif
