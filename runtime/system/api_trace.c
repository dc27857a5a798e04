/* api_trace.c - the door for <axo/trace_context.h>, and for the choice of <axo/trace.h>'s events;
 * axo_system_send_traced is in api_system.c. */
#include <string.h>

#include "base/traceparent.h"
#include "sched/span.h"
#include "system/system.h"

/* Whether the context is the running handler's, of `receive`. */
static bool trace_is_receive(const axo__worker *worker)
{
    return worker->site == AXO_SITE_RECEIVE && worker->message != NULL;
}

/* In a hook of an instance that failed, its message says what its handler was under. */
axo_status axo_trace_context_of(axo_ctx *ctx, axo_trace_context *out)
{
    const axo__cell *cell = axo__caller(ctx);
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (cell == NULL)
        return axo__no_caller();
    if (out == NULL)
        return AXO_EINVAL;
    const axo__worker *worker = axo__self;
    if (worker->span.now != NULL) {
        *out = *worker->span.now;
        return AXO_OK;
    }
    if (worker->message != NULL || worker->site == AXO_SITE_DECIDER || cell->failed == NULL ||
        (cell->failed->flags & AXO__MESSAGE_TRACED) == 0)
        return AXO_ENOENT;
    *out = axo__message_trace(cell->failed);
    return AXO_OK;
}

axo_status axo_trace_context_parent(axo_ctx *ctx, axo_trace_context *out)
{
    if (out != NULL)
        memset(out, 0, sizeof *out);
    if (axo__caller(ctx) == NULL)
        return axo__no_caller();
    if (out == NULL)
        return AXO_EINVAL;
    const axo__worker *worker = axo__self;
    if (worker->span.now == NULL || !worker->span.has_parent)
        return AXO_ENOENT;
    *out = worker->span.parent;
    return AXO_OK;
}

axo_status axo_trace_context_set(axo_ctx *ctx, const axo_trace_context *parent)
{
    const axo__cell *cell = axo__caller(ctx);
    axo__worker *worker = axo__self;
    if (cell == NULL)
        return axo__no_caller();
    if (!trace_is_receive(worker))
        return AXO_ECONTEXT;
    if (parent == NULL) {
        axo__span_drop(worker);
        return AXO_OK;
    }
    if (!axo__trace_is_valid(parent))
        return AXO_EINVAL;
    const axo_trace_context copy = *parent; /* it may be the library's own */
    axo__span_begin(worker, cell, worker->message, &copy, copy.flags);
    return AXO_OK;
}

axo_status axo_trace_context_new(axo_ctx *ctx, uint32_t flags)
{
    const axo__cell *cell = axo__caller(ctx);
    axo__worker *worker = axo__self;
    if (cell == NULL)
        return axo__no_caller();
    if (!trace_is_receive(worker))
        return AXO_ECONTEXT;
    if (flags > UINT8_MAX)
        return AXO_EINVAL;
    axo__span_begin(worker, cell, worker->message, NULL, (uint8_t)flags);
    return AXO_OK;
}

axo_status axo_traceparent_parse(const char *text, size_t size, axo_trace_context *out)
{
    axo_trace_context read;
    if (out == NULL)
        return AXO_EINVAL;
    memset(out, 0, sizeof *out);
    if (text == NULL || !axo__traceparent_read(text, size, &read))
        return AXO_EINVAL;
    *out = read;
    return AXO_OK;
}

axo_status axo_traceparent_format(const axo_trace_context *trace, char *out, size_t size)
{
    if (out != NULL && size > 0)
        out[0] = 0;
    if (trace == NULL || out == NULL || !axo__trace_is_valid(trace))
        return AXO_EINVAL;
    if (size < AXO_TRACEPARENT_SIZE)
        return AXO_ETOOBIG;
    axo__traceparent_write(out, trace);
    return AXO_OK;
}

axo_status axo_system_trace_kinds(axo_system *system, uint64_t kinds)
{
    axo_status known = axo__system_check(system);
    if (known != AXO_OK)
        return known;
    if (kinds >> AXO_EVENT_KINDS != 0 || system->core.trace == NULL)
        return AXO_EINVAL;
    axo__a64_store_relaxed(&system->core.told_kinds, kinds);
    return AXO_OK;
}
