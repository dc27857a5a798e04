/* event.c - what the layers below system/ tell: events, dead letters.
 *
 * A function here first asks whether a listener exists and then builds the event on the stack, so
 * an event without listeners takes neither time nor memory. */
#include "cell/event.h"

#include <stdio.h>
#include <string.h>

#include "base/aside.h"
#include "base/border.h"
#include "cell/extra.h"
#include "cell/log.h"

/* Copies the first bytes of a payload that the runtime has copied; an owned payload is the
 * program's, and only the program knows how to read it. */
static uint32_t event_head(const axo__message *message, uint8_t *head)
{
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_OWNED) != 0 || message->pub.size == 0 ||
                     message->pub.payload != NULL);
    uint32_t size = message->pub.size;
    if ((message->flags & AXO__MESSAGE_OWNED) != 0)
        return 0;
    if (size > AXO_EVENT_HEAD_MAX)
        size = AXO_EVENT_HEAD_MAX;
    if (size > 0)
        memcpy(head, message->pub.payload, size);
    return size;
}

void axo__event_unhandled(axo__local *local, const axo__cell *cell, const axo__message *message)
{
    axo__core *core = local->core;
    AXO_DEBUG_ASSERT(axo__message_counts(message));
    axo_event_unhandled data;
    if (axo__unlikely(core->on_unhandled != NULL)) {
        axo_unhandled shown = {.message = &message->pub, .recipient = axo__cell_ref(cell)};
        axo__aside++;
        AXO_BORDER();
        core->on_unhandled(core->unhandled_user, &shown);
        axo__aside--;
        axo__core_back(core);
    }
    if (axo__likely(!axo__event_wants(core, AXO_KIND_UNHANDLED)))
        return;
    memset(&data, 0, sizeof data);
    data.recipient = axo__cell_ref(cell);
    data.sender = message->pub.sender;
    data.tag = message->pub.tag;
    data.size = message->pub.size;
    data.head_size = event_head(message, data.head);
    (void)axo__core_path(core, cell, data.path, sizeof data.path);
    axo__event event = {.kind = AXO_KIND_UNHANDLED, .source = data.recipient, .data = &data,
                        .size = sizeof data};
    axo__event_publish(local, &event);
}

static axo_ref event_parent(const axo__cell *cell)
{
    const axo__cell *parent = axo__cell_parent(cell);
    return parent != NULL ? axo__cell_ref(parent) : axo_ref_none();
}

/* Reads the child's failure, which is the parent's to read until the parent answers (super.h's
 * I2). */
void axo__event_tell_supervision(axo__local *local, const axo__cell *child, axo_directive decided,
                                 axo_directive directive, uint32_t kind)
{
    axo__core *core = local->core;
    AXO_DEBUG_ASSERT(axo__cell_failure_kind(child) != AXO_FAILURE_NONE);
    axo_event_supervision data;
    axo__cause cause = axo__cell_failure(child);
    axo_failure failure = axo__cause_show(&core->texts, &cause);
    memset(&data, 0, sizeof data);
    data.child = axo__cell_ref(child);
    data.parent = event_parent(child);
    data.actor = failure.actor;
    data.directive = directive;
    data.decided = decided;
    data.kind = failure.kind;
    data.site = failure.site;
    data.code = failure.code;
    (void)snprintf(data.text, sizeof data.text, "%s", failure.text);
    (void)axo__core_path(core, child, data.path, sizeof data.path);
    axo__event event = {.kind = kind, .source = data.child, .data = &data,
                        .size = sizeof data};
    axo__event_publish(local, &event);
}

void axo__event_tell_life(axo__local *local, const axo__cell *cell, uint32_t kind)
{
    axo_event_lifecycle data;
    memset(&data, 0, sizeof data);
    data.actor = axo__cell_ref(cell);
    data.parent = event_parent(cell);
    data.instance = axo__cell_instance(cell);
    (void)axo__core_path(local->core, cell, data.path, sizeof data.path);
    axo__event event = {.kind = kind, .source = data.actor, .data = &data, .size = sizeof data};
    axo__event_publish(local, &event);
}

void axo__event_storm(axo__local *local, const axo__cell *cell, uint32_t number, int64_t wait)
{
    axo__core *core = local->core;
    axo_event_storm data;
    axo__log_line line;
    memset(&data, 0, sizeof data);
    data.number = number;
    data.over = wait == 0;
    data.wait_ns = wait;
    (void)axo__core_path(core, cell, data.path, sizeof data.path);
    if (axo__log_is_read(core, AXO_LOG_WARNING)) {
        axo__log_begin(&line, core, AXO_LOG_WARNING, AXO_LOG_STORM, cell);
        line.record.count = number;
        line.record.for_ns = wait;
        axo__log(local, &line.record);
    }
    axo__event event = {.kind = AXO_KIND_STORM, .source = axo__cell_ref(cell), .data = &data,
                        .size = sizeof data};
    axo__event_publish(local, &event);
}

axo_dead_record axo__event_dead_record(const axo__core *core, const axo__message *message,
                                       axo_ref recipient, axo_dead_reason reason,
                                       const char *path)
{
    axo_dead_record record;
    memset(&record, 0, sizeof record);
    record.time_ns = axo__core_now(core);
    record.recipient = recipient;
    record.sender = message->pub.sender;
    record.tag = message->pub.tag;
    record.size = message->pub.size;
    record.reason = reason;
    record.suppressed = (message->flags & AXO__MESSAGE_HARMLESS) != 0 ? 1 : 0;
    record.head_size = event_head(message, record.head);
    if (path != NULL)
        (void)axo__core_path_keep(path, record.path, sizeof record.path);
    return record;
}

/* ---- dead letters ---- */

/* The recipient may be gone, or another worker's, so the event names no instance. */
static void event_trace_dead_letter(const axo__local *local, const axo__message *message,
                                    axo_ref recipient)
{
    axo__core *core = local->core;
    axo_event event = {
        .time_ns = axo__core_now(core),
        .actor = recipient,
        .arg = message->pub.tag,
        .kind = AXO_EV_DEAD_LETTER,
        .worker = local->index,
        .trace = axo__local_span(local),
    };
    axo__core_tell(core, &event);
}

/* The path is looked up only where the caller is a reader of the table: a worker, or a thread
 * inside a door. Any other thread might look at a slot that another actor has taken meanwhile. */
void axo__dead_letter_tell(axo__local *local, const axo__message *message, axo_ref recipient,
                           axo_dead_reason reason, const char *path, const char *why)
{
    axo__core *core = local->core;
    uint64_t told = axo__a64_load_relaxed(&core->told_kinds);
    if (axo__unlikely((told & AXO_EVENT_BIT(AXO_EV_DEAD_LETTER)) != 0))
        event_trace_dead_letter(local, message, recipient);
    if (core->on_dead_letter != NULL) {
        axo_dead_letter letter = {
            .message = &message->pub,
            .recipient = recipient,
            .reason = reason,
            .suppressed = (message->flags & AXO__MESSAGE_HARMLESS) != 0 ? 1 : 0,
            .path = axo_ref_is_none(recipient) ? path : NULL,
        };
        int before = axo__os_cancel_hold();
        axo__aside++;
        AXO_BORDER();
        core->on_dead_letter(core->dead_letter_user, &letter);
        axo__aside--;
        axo__core_back(core);
        axo__os_cancel_let(before);
    }
    if (core->record == NULL)
        return;
    axo_dead_record record = axo__event_dead_record(core, message, recipient, reason, path);
    const axo__cell *cell = NULL;
    if (path == NULL && !axo__local_is_outside(local))
        cell = axo__table_find(&core->table, recipient);
    if (cell != NULL)
        (void)axo__core_path(core, cell, record.path, sizeof record.path);
    if (why != NULL)
        (void)snprintf(record.text, sizeof record.text, "%s", why);
    core->record(local, &record);
    axo__event event = {.kind = record.suppressed ? AXO_KIND_DEAD_LETTER_SUPPRESSED
                                                  : AXO_KIND_DEAD_LETTER_ORDINARY,
                        .source = recipient, .data = &record, .size = sizeof record};
    axo__event_publish(local, &event);
}

void axo__dead_letter_at(axo__local *local, axo__message *message, axo_ref recipient,
                         axo_dead_reason reason, const char *path)
{
    AXO_DEBUG_ASSERT((message->flags & AXO__MESSAGE_NOTICE) == 0);
    if (axo__message_counts(message)) {
        axo__a64_bump_owner(&local->count.dead); /* before the observers, which see the new count */
        axo__dead_letter_tell(local, message, recipient, reason, path, NULL);
    }
    axo__message_free(&local->cache, message);
}
