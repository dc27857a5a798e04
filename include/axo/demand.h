/* demand.h - what an actor has outstanding: answers that it has asked for, and bytes that it holds
 * for whom they are.
 *
 * An actor that has its requests answered by others asks for more than it can pass on, if whoever
 * they are for takes them slowly. With axo_props.outstanding_bytes or outstanding_max it has an
 * account, and a request beyond that is refused, where it is made: so who answers never waits and
 * is never refused, whoever it answers, and no message to the actor is.
 *
 *     case ORDER:
 *         if (axo_demand_owe(ctx, 1) != AXO_OK) ...            AXO_DEMAND_ROOM comes; or refuse
 *         axo_send(ctx, shard, FIND, ...);
 *     case FOUND:
 *         axo_demand_answered(ctx, message->size);             it is held from now on
 *     ... when it has gone
 *         axo_demand_release(ctx, size);
 *     case AXO_DEMAND_ROOM:                                    takes up what it has put off
 *
 * What is outstanding is the bytes that are held and, for each answer that is owed, as many as an
 * answer has: `outstanding_answer`, if the program knows the longest, and then the bound holds as
 * long as none is longer; else, or where one is, the longest of late, and a quarter of the bound at
 * first. With nothing outstanding any request fits, however long its answers are.
 *
 * An axo_ask and an axo_promise count by themselves: beyond the bound they are AXO_EFULL, and when
 * the handler gets AXO_ASK_ANSWER or AXO_ASK_FAILED one answer less is owed; what it keeps of that,
 * it holds (axo_demand_hold).
 *
 * The account is the running instance's: the next one begins with nothing, and what comes late for
 * this one is not its. A stream has an account of its own (stream.h). An actor without an account
 * may use these functions too: nothing is counted and nothing refused. */
#ifndef AXO_DEMAND_H
#define AXO_DEMAND_H

#include <stdbool.h>

#include <axo/actor.h>

/* To the actor that was refused, once for all refusals since the last one: there is room again, for
 * as many answers as were refused together, but for what the actor has held or asked for since.
 * Half of the bound of bytes has gone then. No sender, no payload; it is not counted in sent,
 * handled and dead, and no bound of a mailbox refuses it. */
#define AXO_DEMAND_ROOM UINT32_C(0xffff0006)

/* The most bytes of a bound, of an answer, of what is held or released at a time. */
#define AXO_DEMAND_MAX (AXO_CAST(size_t, 1) << 30)

/* How the account is. */
typedef struct axo_demand_info {
    size_t size;          /* sizeof(axo_demand_info), set by the macro */
    uint64_t held;        /* bytes */
    uint64_t outstanding; /* bytes: with those of the answers that are owed; 0: without
                             outstanding_bytes */
    uint32_t owed;        /* answers */
    uint32_t refused;     /* 1: AXO_DEMAND_ROOM is to come */
} axo_demand_info;
#define AXO_DEMAND_INFO(...) AXO_INIT(axo_demand_info, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_demand_info_init(axo_demand_info *out)
{
    const axo_demand_info fresh = AXO_DEMAND_INFO();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* All of these: thread, only the callback that was given `ctx`; blocks, no; AXO_ECONTEXT, or false,
 * for a bad context. */

/* Whether axo_demand_owe of one answer would be AXO_OK. */
AXO_API bool axo_demand_has_room(axo_ctx *ctx);

/* Says, before a request is made, that so many answers will come: all of them are owed, or none.
 *   returns   AXO_OK; AXO_EFULL: they might not fit, AXO_DEMAND_ROOM follows when they do;
 *             AXO_ENOMEM: they might not fit, and there is no memory for that message; AXO_EINVAL:
 *             more than UINT32_MAX would be owed
 *   after     on failure none of them is owed */
AXO_API AXO_NODISCARD axo_status axo_demand_owe(axo_ctx *ctx, uint32_t answers);

/* One that was owed has come, and so many bytes of it are held until axo_demand_release. It is not
 * refused. Not for the answer of an ask.
 *   bytes     of the answer, up to AXO_DEMAND_MAX; one that is not kept is released at once
 *   returns   AXO_OK; AXO_EINVAL: none is owed; AXO_ETOOBIG
 *   after     on failure nothing has changed */
AXO_API axo_status axo_demand_answered(axo_ctx *ctx, size_t bytes);

/* So many that were owed will not come: the request could not be sent, or was refused.
 *   returns   AXO_OK; AXO_EINVAL: so many are not owed
 *   after     on failure nothing has changed */
AXO_API axo_status axo_demand_forgive(axo_ctx *ctx, uint32_t answers);

/* So many bytes more are held. It is not refused.
 *   returns   AXO_OK; AXO_ETOOBIG: more than AXO_DEMAND_MAX at a time, or 2^62 in all
 *   after     on failure nothing has changed */
AXO_API axo_status axo_demand_hold(axo_ctx *ctx, size_t bytes);

/* So many bytes are held no more.
 *   returns   AXO_OK; AXO_EINVAL: so many are not held
 *   after     on failure nothing has changed */
AXO_API axo_status axo_demand_release(axo_ctx *ctx, size_t bytes);

/* How the account is. *info is filled as far as its size says.
 *   returns   AXO_OK; AXO_EINVAL (NULL), AXO_EVERSION */
AXO_API axo_status axo_demand_look(axo_ctx *ctx, axo_demand_info *info);

AXO_END_DECLS

#endif
