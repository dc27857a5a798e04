/* span.c - the trace context of the handler that runs. */
#include "sched/span.h"

#include <string.h>

#include "base/probe.h"

/* Numbers are random, each worker's own: no lock, and no other thread's line. They come from the
 * operating system's chance and not from the seed (as references do, D18), since two processes with
 * one seed may have a part in one trace. The stream is seeded when it is first needed. */
static uint64_t span_random(axo__span *span)
{
    if (!span->has_ids) {
        axo__random_init(&span->ids, axo__os_entropy(), axo__os_entropy());
        span->has_ids = true;
    }
    return axo__random_next(&span->ids);
}

/* All 0 is no number. */
static void span_number(axo__span *span, uint8_t *out, size_t size)
{
    uint64_t word;
    AXO_DEBUG_ASSERT(size % sizeof word == 0);
    for (size_t at = 0; at < size; at += sizeof word) {
        do
            word = span_random(span);
        while (word == 0);
        memcpy(out + at, &word, sizeof word);
    }
}

void axo__span_begin(axo__worker *worker, const axo__cell *cell, axo__message *message,
                     const axo_trace_context *parent, uint8_t flags)
{
    axo__span *span = &worker->span;
    AXO_DEBUG_ASSERT(worker == axo__self && worker->current == cell);
    span->has_parent = parent != NULL;
    if (parent != NULL) {
        span->parent = *parent;
        span->own = *parent;
    } else {
        memset(&span->parent, 0, sizeof span->parent);
        span_number(span, span->own.trace_id, sizeof span->own.trace_id);
        span->own.flags = flags;
    }
    span_number(span, span->own.span_id, sizeof span->own.span_id);
    message->flags |= AXO__MESSAGE_SPAN;
    worker->span.now = &span->own;
    worker->plain_tags = 0;
    AXO__PROBE4(span, cell, &message->pub, &span->own, &span->parent);
}

void axo__span_take(axo__worker *worker, const axo__cell *cell, axo__message *message)
{
    const axo_trace_context parent = axo__message_trace(message);
    axo__span_begin(worker, cell, message, &parent, parent.flags);
}

void axo__span_leave(axo__worker *worker, axo__message *message, bool fails)
{
    if (fails && (message->flags & AXO__MESSAGE_TRACED) != 0)
        axo__message_set_trace(message, &worker->span.own);
    axo__span_drop(worker);
}

const axo_trace_context *axo__span_of(const axo__local *local)
{
    if (local->index == AXO__NO_WORKER)
        return NULL;
    return ((const axo__worker *)(const void *)local)->span.now;
}
