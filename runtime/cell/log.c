/* log.c - lines of the log: what a record is filled with, and who reads it. */
#include "cell/log.h"

#include <string.h>

#include <axo/ask.h>
#include <axo/demand.h>
#include <axo/event.h>
#include <axo/graceful.h>
#include <axo/io.h>
#include <axo/listener.h>
#include <axo/machine.h>
#include <axo/stream.h>
#include <axo/time.h>

#include "base/aside.h"
#include "base/border.h"
#include "base/record.h"
#include "base/traceparent.h"
#include "cell/extra.h"

/* Bytes of a line for people; a longer one is cut. */
#define LOG_LINE_MAX 640

/* The tags of the runtime, which no class names, and those that services send to the program. */
static const char *log_own_tag(uint32_t tag)
{
    static const struct {
        uint32_t tag;
        const char *name;
    } own[] = {
        {AXO_TERMINATED, "AXO_TERMINATED"},
        {AXO_TERMINATION_HOOK, "AXO_TERMINATION_HOOK"},
        {AXO_EVENT, "AXO_EVENT"},
        {AXO_RECEIVE_TIMEOUT, "AXO_RECEIVE_TIMEOUT"},
        {AXO_REQUEST_FAILED, "AXO_REQUEST_FAILED"},
        {AXO_POISON_PILL, "AXO_POISON_PILL"},
        {AXO_KILL, "AXO_KILL"},
        {AXO_INJECTED, "AXO_INJECTED"},
        {AXO_IO_READY, "AXO_IO_READY"},
        {AXO_DEMAND_ROOM, "AXO_DEMAND_ROOM"},
        {AXO_ASK_ANSWER, "AXO_ASK_ANSWER"},
        {AXO_ASK_FAILED, "AXO_ASK_FAILED"},
        {AXO_STOP_ENDED, "AXO_STOP_ENDED"},
        {AXO_STATE_TIMEOUT, "AXO_STATE_TIMEOUT"},
        {AXO_STREAM_DUE, "AXO_STREAM_DUE"},
        {AXO_CONNECTED, "AXO_CONNECTED"},
        {AXO_DISCONNECT, "AXO_DISCONNECT"},
        {AXO_LISTENER_IS, "AXO_LISTENER_IS"},
    };
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (own[i].tag == tag)
            return own[i].name;
    }
    return NULL;
}

const char *axo__log_tag_name(const axo_class *cls, uint32_t tag)
{
    if (tag >= AXO_TAG_RESERVED)
        return log_own_tag(tag);
    const char *own = tag >= AXO_TAG_SERVICES ? log_own_tag(tag) : NULL;
    if (cls->tag_name == NULL)
        return own;
    /* tag_name is the program's and may be a cancellation point. */
    int before = axo__os_cancel_hold();
    axo__aside++;
    AXO_BORDER();
    const char *name = cls->tag_name(tag);
    axo__aside--;
    axo__os_cancel_let(before);
    return name != NULL ? name : own;
}

void axo__log_begin(axo__log_line *line, axo__core *core, axo_log_level level,
                    axo_log_event event, const axo__cell *cell)
{
    memset(line, 0, sizeof *line);
    line->record.level = (uint32_t)level;
    line->record.event = (uint32_t)event;
    line->record.actor = axo__cell_ref(cell);
    line->record.path = line->path;
    line->record.class_name = axo__log_class_name(axo__cell_class(cell));
    (void)axo__core_path(core, cell, line->path, sizeof line->path);
}

void axo__log_message(axo_log_record *record, axo__core *core, const axo_class *cls, uint32_t tag)
{
    record->has_tag = 1;
    record->tag = tag;
    record->tag_name = axo__log_tag_name(cls, tag);
    axo__core_back(core);
}

/* Failures of hooks that nobody decides about have sites without a public number. */
static const char *log_site_name(uint32_t site)
{
    if (site == AXO__SITE_PRE_RESTART)
        return "pre_restart";
    if (site == AXO__SITE_CLEANUP)
        return "a clean-up";
    return site == AXO__SITE_POST_STOP ? "post_stop" : axo_site_name(site);
}

/* The class of the actor whose failure it is, which is another one after an escalation: that one is
 * suspended until the failure is answered, but others may have stopped it. NULL: it has ended. */
static const axo_class *log_origin(axo__log_line *line, axo__core *core, axo_ref actor)
{
    const axo__cell *cell = axo__table_find(&core->table, actor);
    axo_log_record *record = &line->record;
    record->origin = actor;
    record->origin_path = line->origin_path;
    if (cell == NULL)
        return NULL;
    (void)axo__core_path(core, cell, line->origin_path, sizeof line->origin_path);
    record->origin_class = axo__log_class_name(axo__cell_class(cell));
    return axo__cell_class(cell);
}

/* Names a trace, in a record that names none. */
static void log_trace(axo_log_record *record, axo__log_trace *text, const axo_trace_context *trace)
{
    axo__hex_write(text->trace_id, trace->trace_id, sizeof trace->trace_id);
    axo__hex_write(text->span_id, trace->span_id, sizeof trace->span_id);
    record->trace_id = text->trace_id;
    record->span_id = text->span_id;
}

void axo__log_cause(axo__log_line *line, axo__core *core, const axo__cause *cause)
{
    axo_log_record *record = &line->record;
    const axo_failure failure = axo__cause_show(&core->texts, cause);
    const axo__cell *cell = axo__table_find(&core->table, record->actor);
    const axo_class *cls = cell != NULL ? axo__cell_class(cell) : NULL;
    if (!axo_ref_equal(failure.actor, record->actor))
        cls = log_origin(line, core, failure.actor);
    record->kind = failure.kind;
    record->kind_name = axo_failure_kind_name(failure.kind);
    record->site = failure.site;
    record->site_name = log_site_name(failure.site);
    record->code = failure.code;
    record->has_status = failure.has_status;
    record->sender = failure.sender;
    record->about = failure.about;
    record->text = failure.text;
    if (failure.has_message == 0)
        return;
    record->has_tag = 1;
    record->tag = failure.tag;
    if (cause->text != 0 && core->texts.all[cause->text].traced)
        log_trace(record, &line->trace, &core->texts.all[cause->text].trace);
    if (cls != NULL)
        axo__log_message(record, core, cls, failure.tag);
}

void axo__log_pending(axo__local *local, axo_log_level level, axo_log_event event,
                      const axo__cell *cell, const axo__cause *pending)
{
    axo__core *core = local->core;
    axo__log_line line;
    if (!axo__log_is_read(core, level))
        return;
    axo__log_begin(&line, core, level, event, cell);
    line.record.instance = axo__cell_instance(cell);
    axo__log_cause(&line, core, pending);
    axo__log_failure(local, &line.record, axo__cell_class(cell));
}

void axo__log_failure(axo__local *local, axo_log_record *record, const axo_class *cls)
{
    if (local->core->failed != NULL)
        local->core->failed(local, record, cls);
    else
        axo__log(local, record);
}

/* Fills in what every record has, so that no reader meets a NULL. */
static void log_complete(const axo__core *core, axo_log_record *record)
{
    const char **texts[] = {&record->path,        &record->class_name, &record->origin_path,
                            &record->origin_class, &record->kind_name,  &record->site_name,
                            &record->tag_name,    &record->text,       &record->trace_id,
                            &record->span_id};
    record->size = sizeof *record;
    record->time_ns = axo__core_now(core);
    record->unix_ns = axo__os_wall();
    record->event_name = axo_log_event_name(record->event);
    record->system = core->name != NULL ? core->name : "";
    record->directive_name = record->directive != 0 ? axo_directive_name(record->directive) : "";
    record->status_name = "";
    if (record->has_status != 0 && axo_status_name((axo_status)record->code)[4] != '?')
        record->status_name = axo_status_name((axo_status)record->code);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (*texts[i] == NULL)
            *texts[i] = "";
    }
}

/* The hooks are the program's functions: an outside thread is not cancelled inside them, and a
 * child of a fork does not come back from them. */
static void log_tell(axo__core *core, const axo_log_record *record)
{
    int before = axo__os_cancel_hold();
    axo__aside++;
    if (core->log_record != NULL) {
        AXO_BORDER();
        core->log_record(core->log_record_user, record);
        axo__core_back(core);
    }
    if (core->log != NULL) {
        AXO_BORDER();
        core->log(core->log_user, (axo_log_level)record->level, record->actor, record->line);
        axo__core_back(core);
    }
    axo__aside--;
    axo__os_cancel_let(before);
}

void axo__log(axo__local *local, axo_log_record *record)
{
    axo__core *core = local->core;
    char line[LOG_LINE_MAX];
    axo__log_trace trace;
    axo_event_log data;
    if (!axo__log_is_read(core, (axo_log_level)record->level))
        return;
    const axo_trace_context *span = axo__local_span(local);
    if (span != NULL && record->trace_id == NULL && record->count == 0)
        log_trace(record, &trace, span);
    log_complete(core, record);
    axo__text_out out = axo__text_begin(line, sizeof line);
    axo__record_line(&out, record);
    (void)axo__text_end(&out);
    record->line = line;
    log_tell(core, record);
    memset(&data, 0, sizeof data);
    data.level = record->level;
    out = axo__text_begin(data.text, sizeof data.text);
    axo__text_bytes(&out, line, strlen(line));
    axo__event event = {.kind = axo__log_kind(record->level), .source = record->actor,
                        .data = &data, .size = sizeof data};
    axo__event_publish(local, &event);
    record->line = "";
    record->trace_id = "";
    record->span_id = "";
}
