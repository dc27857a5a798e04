/* blame.c - why the running callback has failed: the record of its failure, in worker->pending. */
#include "sched/blame.h"

#include <stdio.h>

/* A format without a conversion is copied: most texts are such, and formatting costs ten times as
 * much. */
static void blame_format(char *out, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));

static void blame_format(char *out, const char *format, va_list list)
{
    for (size_t i = 0; i < AXO_FAILURE_TEXT_MAX; i++) {
        out[i] = format[i];
        if (format[i] == 0)
            return;
        if (format[i] == '%')
            break;
    }
    (void)vsnprintf(out, AXO_FAILURE_TEXT_MAX, format, list);
}

static void blame_fill(axo__worker *worker, const axo__cell *cell, axo_failure_kind kind,
                       int32_t code)
{
    AXO_DEBUG_ASSERT((uint32_t)kind < 1 << 5 && worker->site < 1 << 5);
    worker->pending = (axo__cause){.code = code,
                                   .kind = (uint32_t)kind & 31,
                                   .site = worker->site & 31,
                                   .root_kind = (uint32_t)kind & 31,
                                   .actor = axo__cell_ref(cell)};
}

void axo__blame_record(axo__worker *worker, axo_failure_kind kind, int32_t code, const char *format,
                       va_list list)
{
    AXO_DEBUG_ASSERT(worker == axo__self && worker->current != NULL);
    AXO_DEBUG_ASSERT(kind != AXO_FAILURE_NONE);
    axo__texts *texts = &worker->local.core->texts;
    axo__cause *pending = &worker->pending;
    if (axo__unlikely(pending->kind == AXO_FAILURE_MEMORY && !axo__kind_breaks(kind)))
        return;
    axo__cause_drop(texts, pending);
    if (worker->message != NULL)
        worker->message->flags |= AXO__MESSAGE_BLAMED;
    blame_fill(worker, worker->current, kind, code);
    if (format == NULL || format[0] == 0)
        return;
    pending->text = axo__texts_take(texts) & AXO__TEXT_MASK;
    if (pending->text != 0)
        blame_format(axo__texts_at(texts, pending->text), format, list);
}

void axo__blame_memory(axo__worker *worker, axo_status status, const char *format, ...)
{
    va_list list;
    bool first = worker->pending.kind != AXO_FAILURE_MEMORY;
    AXO_DEBUG_ASSERT(axo__blame_is_open(worker));
    va_start(list, format);
    axo__blame_record(worker, AXO_FAILURE_MEMORY, (int32_t)status, format, list);
    va_end(list);
    if (first)
        worker->pending.status = 1;
}

void axo__blame(axo__worker *worker, const axo__cell *cell, axo_status status)
{
    AXO_DEBUG_ASSERT(status != AXO_OK);
    axo__cause *pending = &worker->pending;
    if (pending->kind != AXO_FAILURE_NONE && status == AXO_EFAILED)
        return;
    axo__cause_drop(&worker->local.core->texts, pending);
    blame_fill(worker, cell, AXO_FAILURE_ORDINARY, (int32_t)status);
    pending->status = 1;
}
