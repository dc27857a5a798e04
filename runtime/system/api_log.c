/* api_log.c - the door for lines of the log: an actor's own, text, JSON, and the sinks.
 *
 * A sink is the program's struct and has no memory of the library's. A record is rendered on the
 * stack of whoever writes it, so sinks have no locks: the operating system keeps lines apart. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/record.h"
#include "cell/log.h"
#include "mem/alloc.h"
#include "os/os.h"
#include "sched/send.h"
#include "system/options.h"

/* The place of `opened` in a sink that axo_log_open has made ready. */
#define LOG_OPENED UINT32_C(0x6c6f6721)

#define LOG_STANDARD_ERROR 2
#define LOG_FACILITY_MAX   23
#define LOG_DAEMON         3

/* ---- an actor's own ---- */

static void log_say(axo__worker *worker, axo__cell *cell, axo_log_level level, const char *text)
{
    axo__log_line line;
    axo__core *core = worker->local.core;
    const axo_class *cls = axo__cell_class(cell);
    axo__log_begin(&line, core, level, AXO_LOG_LINE, cell);
    line.record.instance = axo__cell_instance(cell);
    line.record.text = text;
    if (worker->message != NULL)
        axo__log_message(&line.record, core, cls, worker->message->pub.tag);
    axo__log(&worker->local, &line.record);
}

axo_status axo_log(axo_ctx *ctx, axo_log_level level, const char *format, ...)
{
    char text[AXO_FAILURE_TEXT_MAX];
    va_list list;
    axo__cell *cell = axo__caller(ctx);
    if (cell == NULL)
        return axo__no_caller();
    if (level < AXO_LOG_ERROR || level > AXO_LOG_INFO || format == NULL)
        return AXO_EINVAL;
    if (!axo__log_is_read(axo__self->local.core, level))
        return AXO_OK;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    log_say(axo__self, cell, level, text);
    return AXO_OK;
}

/* ---- text ---- */

/* The line of a record: as the library made it, or made now, for one of the program's own. */
static const char *log_line(const axo_log_record *record, char *out, size_t size)
{
    if (record->line != NULL && record->line[0] != 0)
        return record->line;
    axo__text_out text = axo__text_begin(out, size);
    axo__record_line(&text, record);
    (void)axo__text_end(&text);
    return out;
}

/* A record of this library's size; a program's own may be from an older header. */
static axo_status log_read(const axo_log_record *from, axo_log_record *to)
{
    if (from == NULL)
        return AXO_EINVAL;
    axo_status status = axo__struct_read(from, to, sizeof *to);
    if (status == AXO_OK && to->level == 0)
        to->level = AXO_LOG_INFO;
    if (status == AXO_OK && to->event > AXO_LOG_STORM)
        to->event = AXO_LOG_LINE; /* of a newer header: its text is what can be written */
    return status;
}

axo_status axo_log_text(const axo_log_record *record, char *out, size_t size)
{
    axo_log_record copy;
    if (out == NULL || size == 0)
        return AXO_EINVAL;
    out[0] = 0;
    axo_status status = log_read(record, &copy);
    if (status != AXO_OK)
        return status;
    axo__text_out text = axo__text_begin(out, size);
    axo__record_line(&text, &copy);
    return axo__text_end(&text) ? AXO_OK : AXO_ETOOBIG;
}

axo_status axo_log_json(const axo_log_record *record, char *out, size_t size)
{
    axo_log_record copy;
    char line[AXO_FAILURE_TEXT_MAX + 2 * AXO_EVENT_PATH_MAX];
    if (out == NULL || size == 0)
        return AXO_EINVAL;
    out[0] = 0;
    axo_status status = size >= AXO_LOG_JSON_MIN ? log_read(record, &copy) : AXO_EINVAL;
    if (status != AXO_OK)
        return status;
    axo__text_out text = axo__text_begin(out, size);
    axo__record_json(&text, &copy, log_line(&copy, line, sizeof line));
    return axo__text_end(&text) ? AXO_OK : AXO_ETOOBIG;
}

/* ---- sinks ---- */

static axo_status log_check(const axo_log_sink *sink)
{
    axo_log_sink copy;
    if (sink == NULL)
        return AXO_EINVAL;
    axo_status status = axo__struct_read(sink, &copy, sizeof copy);
    if (status != AXO_OK)
        return status;
    if (sink->size < sizeof copy)
        return AXO_EVERSION; /* the program's own struct is used later: it must be whole */
    if (copy.format > AXO_LOG_JOURNAL || copy.level_max > AXO_LOG_INFO || copy.fd < 0 ||
        copy.facility > LOG_FACILITY_MAX)
        return AXO_EINVAL;
    bool to_socket = copy.format == AXO_LOG_SYSLOG || copy.format == AXO_LOG_JOURNAL;
    if ((to_socket && copy.fd != 0) || (!to_socket && copy.path != NULL))
        return AXO_EINVAL;
    if (copy.path == NULL)
        return AXO_OK;
    size_t length = strlen(copy.path);
    if (length == 0)
        return AXO_EINVAL;
    return length < AXO__OS_SOCKET_PATH ? AXO_OK : AXO_ETOOBIG;
}

axo_status axo_log_open(axo_log_sink *sink)
{
    axo_status status = log_check(sink);
    if (status != AXO_OK)
        return status;
    int made = -1;
    if (sink->format == AXO_LOG_SYSLOG || sink->format == AXO_LOG_JOURNAL) {
        made = axo__os_datagram_open();
        if (made < 0)
            return AXO_ETHREAD;
    }
    sink->socket = made;
    sink->lost = 0;
    sink->opened = LOG_OPENED;
    return AXO_OK;
}

void axo_log_close(axo_log_sink *sink)
{
    if (sink == NULL || sink->opened != LOG_OPENED)
        return;
    sink->opened = 0;
    if (sink->socket >= 0)
        axo__os_datagram_close(sink->socket);
    sink->socket = -1;
}

/* The count is shared by all that write; it lies in the program's struct. */
static axo__a64 *log_lost(const axo_log_sink *sink)
{
    return (axo__a64 *)(uintptr_t)&sink->lost;
}

uint64_t axo_log_lost(const axo_log_sink *sink)
{
    return sink != NULL ? axo__a64_load_relaxed(log_lost(sink)) : 0;
}

static const char *log_ident(const axo_log_sink *sink, const axo_log_record *record)
{
    return axo__text_or(sink->ident, axo__text_or(record->system, "axo"));
}

/* Syslog's severities. */
static uint32_t log_severity(const axo_log_record *record)
{
    return record->level == AXO_LOG_ERROR ? 3 : record->level == AXO_LOG_WARNING ? 4 : 6;
}

static void log_render_journal(const axo_log_sink *sink, const axo_log_record *record,
                               const char *line, axo__text_out *out)
{
    axo__text_add(out, "PRIORITY=%" PRIu32 "\nSYSLOG_IDENTIFIER=%s\n", log_severity(record),
                  log_ident(sink, record));
    axo__record_journal(out, record, line);
}

static void log_render(const axo_log_sink *sink, const axo_log_record *record, const char *line,
                       axo__text_out *out)
{
    switch (sink->format) {
    case AXO_LOG_JSON:
        out->end--; /* for the line feed */
        axo__record_json(out, record, line);
        out->end++;
        axo__text_bytes(out, "\n", 1);
        break;
    case AXO_LOG_SYSLOG:
        axo__text_add(out, "<%" PRIu32 ">%s[%" PRId64 "]: %s",
                      (sink->facility != 0 ? sink->facility : LOG_DAEMON) * 8 +
                          log_severity(record),
                      log_ident(sink, record), axo__os_process(), line);
        break;
    case AXO_LOG_JOURNAL:
        log_render_journal(sink, record, line, out);
        break;
    default:
        out->end--;
        axo__record_moment(out, record->unix_ns);
        axo__text_add(out, " %s: %s", axo_log_level_name(record->level), line);
        out->end++;
        axo__text_bytes(out, "\n", 1);
        break;
    }
}

static const char *log_path(const axo_log_sink *sink)
{
    if (sink->path != NULL)
        return sink->path;
    return sink->format == AXO_LOG_SYSLOG ? "/dev/log" : "/run/systemd/journal/socket";
}

/* Renders into AXO_LOG_LINE_MAX bytes and writes them. */
static __attribute__((noinline)) bool log_put(const axo_log_sink *sink,
                                              const axo_log_record *record, const char *line)
{
    char bytes[AXO_LOG_LINE_MAX + 1];
    axo__text_out out = axo__text_begin(bytes, sizeof bytes);
    log_render(sink, record, line, &out);
    size_t count = (size_t)(out.at - bytes);
    if (sink->socket >= 0)
        return axo__os_datagram_send(sink->socket, log_path(sink), bytes, count);
    return axo__os_write(sink->fd != 0 ? sink->fd : LOG_STANDARD_ERROR, bytes, count);
}

void axo_log_write(void *user, const axo_log_record *record)
{
    axo_log_sink *sink = user;
    axo_log_record copy;
    char line[AXO_FAILURE_TEXT_MAX + 2 * AXO_EVENT_PATH_MAX];
    if (sink == NULL || sink->opened != LOG_OPENED || log_read(record, &copy) != AXO_OK)
        return;
    if (sink->level_max != 0 && copy.level > sink->level_max)
        return;
    if (copy.unix_ns == 0)
        copy.unix_ns = axo__os_wall();
    if (!log_put(sink, &copy, log_line(&copy, line, sizeof line)))
        (void)axo__a64_add_relaxed(log_lost(sink), 1);
}
