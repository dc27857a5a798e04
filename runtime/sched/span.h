/* span.h - the trace context of the handler that runs: what its messages carry.
 *
 * `span.now` leads to it while `receive` runs with one, and `plain_tags` is 0 then, so
 * that a send goes the way that asks for `span` (sched/DESIGN.md). The message says by a flag that
 * its handler needs more than to be freed, so run_outcome ends the span, however the handler ends.
 */
#ifndef AXO__SCHED_SPAN_H
#define AXO__SCHED_SPAN_H

#include "base/traceparent.h"
#include "mailbox/walled.h"
#include "sched/pool.h"

/* The handler of worker->message, or of `message`, which is about to be it, runs in a new span from
 * here on. parent NULL: a trace begins, with `flags`. */
void axo__span_begin(axo__worker *worker, const axo__cell *cell, axo__message *message,
                     const axo_trace_context *parent, uint8_t flags);

/* The same of a message that is TRACED: its own context is the parent. */
void axo__span_take(axo__worker *worker, const axo__cell *cell, axo__message *message);

/* core->span. */
const axo_trace_context *axo__span_of(const axo__local *local);

/* `plain_tags` of a worker whose handler belongs to no trace: where payloads have walls no send is
 * a plain one. */
static inline uint32_t axo__span_plain_tags(const axo__core *core)
{
    const axo__walls *walls = core->pool.walls;
    bool walled = walls != NULL && (walls->kinds & AXO__WALLED_KINDS) != 0;
    return walled ? 0 : AXO_TAG_RESERVED;
}

/* The rest of the handler belongs to no trace. */
static inline void axo__span_drop(axo__worker *worker)
{
    worker->span.now = NULL;
    worker->plain_tags = axo__span_plain_tags(worker->local.core);
}

/* The handler is over. What it was under stays in a message that it has failed under, if that has
 * room for it: the log, pre_restart and the answer of a failed request find it there. */
void axo__span_leave(axo__worker *worker, axo__message *message, bool fails);
static inline void axo__span_end(axo__worker *worker, axo__message *message, bool fails)
{
    if (axo__unlikely(worker->span.now != NULL))
        axo__span_leave(worker, message, fails);
}

#endif
