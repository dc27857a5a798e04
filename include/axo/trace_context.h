/* trace_context.h - which request a message belongs to, as W3C Trace Context names it: a trace, a
 * span in it, and flags. A server reads the header `traceparent` of a request, says so in the
 * handler (axo_trace_context_set), and every message that comes of it says so too, from actor to
 * actor, until one goes out again as a header. Lines of the log (log.h), the events of trace.h and
 * the probe `span` name trace and span.
 *
 * A handler that gets a message with a context runs in a span of its own: the trace is the
 * message's, the number of the span is new, and its parent is the span that sent the message. What
 * the handler sends carries trace, span and flags of the handler. In particular:
 *
 *   axo_send, axo_reply, axo_send_from, axo_send_owned, axo_select, axo_poison, axo_kill
 *                          carry it
 *   axo_message_new        the draft carries the context of the handler that makes it, whoever
 *                          sends it
 *   axo_ask                the request carries it, and the answer that of who answers; a timeout
 *                          has none
 *   axo_forward            carries it too; in pre_restart the context of the handler that failed
 *   axo_send_after, axo_schedule_once, timers with a key of kind AXO_TIMER_ONCE
 *                          carry it; periodic ones carry none, as their trace would not end
 *   axo_stash              keeps the message's; handled again, it is another span
 *   AXO_REQUEST_FAILED     carries that of the handler that failed, if the request had one
 *   axo_spawn, axo_watch, axo_io_watch, subscriptions
 *                          carry none: construct, pre_start, AXO_TERMINATED, AXO_IO_READY and
 *                          AXO_EVENT belong to no request; nor do hooks, settle and deciders
 *   axo_block, axo_system_send from a callback
 *                          carry none: they know no actor
 *
 * A message with a context takes 32 bytes more. One without, and who sends it, pays nothing. */
#ifndef AXO_TRACE_CONTEXT_H
#define AXO_TRACE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <axo/export.h>
#include <axo/ref.h>
#include <axo/status.h>

typedef struct axo_ctx axo_ctx;
typedef struct axo_system axo_system;

/* Bits of `flags`. A bit that is unknown here is carried, and neither read nor written as text. */
#define AXO_TRACE_SAMPLED 1 /* the caller may have recorded its part */
#define AXO_TRACE_RANDOM  2 /* trace_id's last seven bytes at least are random */

/* A span of a trace. The first byte of a number is the first of its text. */
typedef struct axo_trace_context {
    uint8_t trace_id[16]; /* not all 0 */
    uint8_t span_id[8];   /* W3C's parent-id, seen from who gets it; not all 0 */
    uint8_t flags;
} axo_trace_context;

/* Bytes of a `traceparent` of version 00 as text, with the closing zero. */
#define AXO_TRACEPARENT_SIZE 56

AXO_BEGIN_DECLS

/* The context of the running handler, which its messages carry: trace, its own span, flags. In
 * pre_restart and post_stop of an instance that failed, that of the handler that failed, if its
 * message had one.
 *   returns   AXO_OK; AXO_ENOENT: there is none; AXO_EINVAL (out is NULL), AXO_ECONTEXT
 *   after     on failure *out is zero */
AXO_API axo_status axo_trace_context_of(axo_ctx *ctx, axo_trace_context *out);

/* What the running handler was given, by its message or by axo_trace_context_set: the parent of its
 * span.
 *   returns   AXO_OK; AXO_ENOENT: there is none, or the trace begins here; AXO_EINVAL (out is
 *             NULL), AXO_ECONTEXT
 *   after     on failure *out is zero */
AXO_API axo_status axo_trace_context_parent(axo_ctx *ctx, axo_trace_context *out);

/* From here to its end the running handler belongs to a request that has come with this context, or
 * to one that the actor has kept: a new span begins, whose parent is `parent`'s. Another call
 * begins another. Messages that were sent and drafts that were made before keep what they have.
 *   parent    copied; NULL: the rest of the handler belongs to no request
 *   returns   AXO_OK; AXO_EINVAL (a number is all 0), AXO_ECONTEXT (also outside of `receive`)
 *   after     on failure nothing has changed */
AXO_API axo_status axo_trace_context_set(axo_ctx *ctx, const axo_trace_context *parent);

/* As axo_trace_context_set, for a request that has come without a context: a trace begins here,
 * with a random number. `flags`: of the trace, as AXO_TRACE_SAMPLED | AXO_TRACE_RANDOM; below 256.
 *   returns   AXO_OK; AXO_EINVAL, AXO_ECONTEXT (also outside of `receive`) */
AXO_API axo_status axo_trace_context_new(axo_ctx *ctx, uint32_t flags);

/* As axo_system_send (system.h), and the message carries a context.
 *   trace     copied: the span of the sender; NULL: none
 *   thread    any
 *   returns   as axo_system_send; AXO_EINVAL also if a number of *trace is all 0 */
AXO_API axo_status axo_system_send_traced(axo_system *system, axo_ref to, uint32_t tag,
                                          const void *payload, size_t size,
                                          const axo_trace_context *trace);

/* Reads the value of a `traceparent` header, strictly: hexadecimal digits are small, no number is
 * all 0, no blanks around it. Of version 00 it is 55 bytes long; of a later one (01 to fe) at
 * least, and what follows a further "-" is not read. Version ff is none.
 *   text      `size` bytes, no closing zero needed
 *   out       flags: the two bits that are known here
 *   thread    any
 *   returns   AXO_OK; AXO_EINVAL: it is malformed, or an argument is NULL
 *   after     on failure *out is zero */
AXO_API axo_status axo_traceparent_parse(const char *text, size_t size, axo_trace_context *out);

/* Writes a context as a `traceparent` of version 00, with a closing zero.
 *   out       `size` bytes
 *   thread    any
 *   returns   AXO_OK; AXO_ETOOBIG (size is below AXO_TRACEPARENT_SIZE), AXO_EINVAL (NULL, or a
 *             number is all 0)
 *   after     on failure *out is empty, unless `size` is 0 */
AXO_API axo_status axo_traceparent_format(const axo_trace_context *trace, char *out, size_t size);

AXO_END_DECLS

#endif
