/* record.c - a record of the log as text: the line for people, JSON, the fields of the journal. */
#include "base/record.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <axo/supervision.h>

#include "base/assert.h"

/* ---- text in a room ---- */

axo__text_out axo__text_begin(char *out, size_t size)
{
    AXO_DEBUG_ASSERT(size > 0);
    return (axo__text_out){.at = out, .end = out + size - 1};
}

bool axo__text_end(axo__text_out *out)
{
    *out->at = 0;
    return !out->cut;
}

void axo__text_bytes(axo__text_out *out, const void *bytes, size_t count)
{
    size_t room = (size_t)(out->end - out->at);
    if (count > room) {
        out->cut = true;
        count = room;
    }
    if (count > 0)
        memcpy(out->at, bytes, count);
    out->at += count;
}

void axo__text_add(axo__text_out *out, const char *format, ...)
{
    size_t room = (size_t)(out->end - out->at);
    va_list list;
    va_start(list, format);
    int added = vsnprintf(out->at, room + 1, format, list);
    va_end(list);
    if (added < 0)
        added = 0;
    if ((size_t)added > room)
        out->cut = true;
    out->at += (size_t)added < room ? (size_t)added : room;
}

/* ---- the line for people ---- */

/* Whether a terminal may obey what is there: U+0000..U+001F, U+007F, U+0080..U+009F. */
static bool record_is_control(const unsigned char *at)
{
    return at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0);
}

static void record_say_bytes(axo__text_out *out, const unsigned char *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        axo__text_add(out, "\\x%02x", bytes[i]);
}

/* Half a character would be no UTF-8: one that has no room ends the line. */
static void record_say_whole(axo__text_out *out, const unsigned char *at, uint32_t count)
{
    if ((size_t)(out->end - out->at) < count)
        out->end = out->at;
    axo__text_bytes(out, at, count);
}

/* A text of the program's: what would end the line, or be taken for its end, is escaped as in C,
 * and so is what a terminal may obey, and what is no UTF-8, which a terminal may read as bytes. */
static void record_say(axo__text_out *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at != 0) {
        bool whole;
        uint32_t taken = axo__text_utf8(at, &whole);
        if (*at == '\n')
            axo__text_bytes(out, "\\n", 2);
        else if (*at == '\\' || *at == '"')
            axo__text_add(out, "\\%c", *at);
        else if (!whole || record_is_control(at))
            record_say_bytes(out, at, taken);
        else
            record_say_whole(out, at, taken);
        at += taken;
    }
}

/* An actor: its path, or its reference if nobody knows the path, and its class. */
static void record_say_actor(axo__text_out *out, axo_ref ref, const char *path, const char *cls)
{
    if (path != NULL && path[0] != 0)
        record_say(out, path);
    else
        axo__text_add(out, "#%" PRIx64, ref.bits);
    if (cls != NULL && cls[0] != 0) {
        axo__text_bytes(out, " (", 2);
        record_say(out, cls);
        axo__text_bytes(out, ")", 1);
    }
}

static void record_say_message(axo__text_out *out, const axo_log_record *record)
{
    if (record->tag_name != NULL && record->tag_name[0] != 0)
        record_say(out, record->tag_name);
    else
        axo__text_add(out, "tag %" PRIu32, record->tag);
}

static void record_say_site(axo__text_out *out, const axo_log_record *record)
{
    axo__text_add(out, " failed in %s", axo__text_or(record->site_name, "?"));
    if (record->has_tag != 0) {
        axo__text_bytes(out, " of ", 4);
        record_say_message(out, record);
    }
}

/* The code, as a status if it is one of the library's, and what the actor said. */
static void record_say_code(axo__text_out *out, const axo_log_record *record)
{
    if (record->has_status != 0 && record->status_name != NULL && record->status_name[0] != 0)
        axo__text_add(out, ": %s (%s)", record->status_name,
                      axo_status_text((axo_status)record->code));
    else
        axo__text_add(out, ": code %" PRId32, record->code);
    if (record->text != NULL && record->text[0] != 0) {
        axo__text_bytes(out, " \"", 2);
        record_say(out, record->text);
        axo__text_bytes(out, "\"", 1);
    }
    if (record->kind_name != NULL && record->kind_name[0] != 0)
        axo__text_add(out, " (%s)", record->kind_name);
}

static void record_say_kind(axo__text_out *out, const axo_log_record *record)
{
    if (record->kind == AXO_FAILURE_KILLED) {
        axo__text_add(out, " was killed");
    } else if (record->kind == AXO_FAILURE_ENDED) {
        axo__text_add(out, " ended by itself and is permanent");
    } else if (record->kind == AXO_FAILURE_DEATH_PACT) {
        axo__text_add(out, " did not handle the end of #%" PRIx64, record->about.bits);
    } else {
        record_say_site(out, record);
        record_say_code(out, record);
    }
}

/* A decision: whom it is about, and after whose failure if that was another one's. */
static void record_say_failure(axo__text_out *out, const axo_log_record *record)
{
    if (record->directive_name != NULL && record->directive_name[0] != 0)
        axo__text_add(out, "%s: ", record->directive_name);
    record_say_actor(out, record->actor, record->path, record->class_name);
    if (!axo_ref_is_none(record->origin)) {
        axo__text_add(out, " after ");
        record_say_actor(out, record->origin, record->origin_path, record->origin_class);
    }
    record_say_kind(out, record);
}

static void record_say_letter(axo__text_out *out, const axo_log_record *record)
{
    axo__text_add(out, "dead letter: tag %" PRIu32 ", %" PRIu32 " bytes", record->tag,
                  record->bytes);
    if (!axo_ref_is_none(record->sender)) /* DL-05 */
        axo__text_add(out, " from #%" PRIx64, record->sender.bits);
    axo__text_add(out, " to ");
    record_say_actor(out, record->actor, record->path, NULL);
    axo__text_add(out, ": ");
    record_say(out, axo__text_or(record->text, "?"));
}

static void record_say_storm(axo__text_out *out, const axo_log_record *record)
{
    axo__text_add(out, "storm %" PRIu64 ": ", record->count);
    if (record->for_ns <= 0) {
        axo__text_add(out, "over, no restart waits any more; the last was that of ");
        record_say_actor(out, record->actor, record->path, record->class_name);
        return;
    }
    axo__text_add(out, "restarts wait for their turn, first that of ");
    record_say_actor(out, record->actor, record->path, record->class_name);
    axo__text_add(out, ", for %" PRId64 " us", record->for_ns / 1000);
}

static void record_say_stuck(axo__text_out *out, const axo_log_record *record)
{
    axo__text_add(out, "stuck: ");
    record_say_actor(out, record->actor, record->path, record->class_name);
    axo__text_add(out, " has held its worker for %" PRId64 " ms, in ", record->for_ns / 1000000);
    if (record->has_tag == 0) {
        axo__text_add(out, "another callback than receive");
    } else {
        axo__text_add(out, "receive of ");
        record_say_message(out, record);
    }
    if (record->text != NULL && record->text[0] != 0) {
        axo__text_add(out, "; not interrupted: ");
        record_say(out, record->text);
    }
}

static void record_say_event(axo__text_out *out, const axo_log_record *record)
{
    switch (record->event) {
    case AXO_LOG_FAILURE:
        record_say_failure(out, record);
        break;
    case AXO_LOG_FAILURE_AGAIN:
        axo__text_add(out, "a further failure: ");
        record_say_failure(out, record);
        break;
    case AXO_LOG_HOOK:
        record_say_actor(out, record->actor, record->path, record->class_name);
        record_say_site(out, record);
        record_say_code(out, record);
        break;
    case AXO_LOG_RESUME:
        axo__text_add(out, "restart: ");
        record_say_actor(out, record->actor, record->path, record->class_name);
        axo__text_add(out, " cannot resume, since its last restart failed");
        break;
    case AXO_LOG_FAILURES:
        axo__text_add(out, "%" PRIu64 " more failures of class ", record->count);
        record_say(out, axo__text_or(record->class_name, "actor"));
        axo__text_add(out, ", code %" PRId32 ", were not logged", record->code);
        break;
    case AXO_LOG_DEAD_LETTER:
        record_say_letter(out, record);
        break;
    case AXO_LOG_DEAD_LETTERS:
        axo__text_add(out, "%" PRIu64 " more dead letters were not logged: ", record->count);
        record_say(out, axo__text_or(record->text, "?"));
        break;
    case AXO_LOG_STUCK:
        record_say_stuck(out, record);
        break;
    case AXO_LOG_STORM:
        record_say_storm(out, record);
        break;
    default:
        if (record->path != NULL && record->path[0] != 0) {
            record_say_actor(out, record->actor, record->path, record->class_name);
            axo__text_bytes(out, ": ", 2);
        }
        record_say(out, axo__text_or(record->text, ""));
        break;
    }
}

void axo__record_line(axo__text_out *out, const axo_log_record *record)
{
    record_say_event(out, record);
    if (record->trace_id != NULL && record->trace_id[0] != 0) {
        axo__text_bytes(out, "; trace ", 8);
        record_say(out, record->trace_id);
        axo__text_bytes(out, " span ", 6);
        record_say(out, axo__text_or(record->span_id, "?"));
    }
    if (record->last != 0)
        axo__text_add(out, "; no more of these are logged for a while");
}

/* ---- the moment ---- */

#define RECORD_SECOND INT64_C(1000000000)
#define RECORD_DAY    INT64_C(86400)

/* A date of the Gregorian calendar from the days since 1970: years begin in March, so that the leap
 * day is the last of its year. 719468 days lie between the first of March of year 0 and 1970. */
void axo__record_moment(axo__text_out *out, int64_t unix_ns)
{
    int64_t seconds = unix_ns / RECORD_SECOND - (unix_ns % RECORD_SECOND < 0);
    int64_t ns = unix_ns - seconds * RECORD_SECOND;
    int64_t days = seconds / RECORD_DAY - (seconds % RECORD_DAY < 0);
    int64_t second = seconds - days * RECORD_DAY;
    int64_t since = days + 719468; /* at least 600000, as int64_t holds years 1677 to 2262 only */
    int64_t era = since / 146097;
    int64_t day = since - era * 146097; /* of the era, 0..146096 */
    int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    int64_t month = (5 * day + 2) / 153; /* 0: March */
    day -= (153 * month + 2) / 5;
    year += era * 400 + (month >= 10);
    month = month < 10 ? month + 3 : month - 9;
    axo__text_add(out,
                  "%04" PRId64 "-%02" PRId64 "-%02" PRId64 "T%02" PRId64 ":%02" PRId64
                  ":%02" PRId64 ".%06" PRId64 "Z",
                  year, month, day + 1, second / 3600, second / 60 % 60, second % 60, ns / 1000);
}

/* ---- fields, for JSON and the journal ---- */

/* What each field is called in JSON; the journal has AXO_ and capitals. */
typedef struct record_field {
    const char *name;
    const char *text; /* NULL: a number */
    int64_t number;
} record_field;

#define RECORD_FIELDS_MAX 32
#define RECORD_REF 20 /* bytes of a reference as text */

typedef struct record_fields {
    record_field all[RECORD_FIELDS_MAX];
    uint32_t count;
    char refs[4][RECORD_REF];
    uint32_t refs_count;
} record_fields;

static void record_number(record_fields *fields, const char *name, int64_t number)
{
    AXO_ASSERT(fields->count < RECORD_FIELDS_MAX);
    fields->all[fields->count++] = (record_field){.name = name, .number = number};
}

/* A text; one that is empty is not known, and left out. */
static void record_text(record_fields *fields, const char *name, const char *text)
{
    AXO_ASSERT(fields->count < RECORD_FIELDS_MAX);
    if (text != NULL && text[0] != 0)
        fields->all[fields->count++] = (record_field){.name = name, .text = text};
}

/* References are texts, since a reader's numbers may have 53 bits only. */
static void record_ref(record_fields *fields, const char *name, axo_ref ref)
{
    if (axo_ref_is_none(ref))
        return;
    AXO_ASSERT(fields->refs_count < 4);
    char *text = fields->refs[fields->refs_count++];
    (void)snprintf(text, RECORD_REF, "0x%" PRIx64, ref.bits);
    record_text(fields, name, text);
}

static void record_collect_failure(record_fields *fields, const axo_log_record *record)
{
    record_text(fields, "directive", record->directive_name);
    record_text(fields, "kind", record->kind_name);
    record_text(fields, "site", record->site_name);
    if (record->kind != 0 || record->code != 0 || record->event == AXO_LOG_FAILURES)
        record_number(fields, "code", record->code);
    if (record->has_status != 0)
        record_text(fields, "status", record->status_name);
    record_ref(fields, "origin", record->origin);
    record_text(fields, "origin_path", record->origin_path);
    record_text(fields, "origin_class", record->origin_class);
    record_ref(fields, "about", record->about);
}

/* In this order the texts of the program's come last: a cut takes them first. */
static void record_collect(record_fields *fields, const axo_log_record *record)
{
    fields->count = 0;
    fields->refs_count = 0;
    record_text(fields, "level", axo_log_level_name(record->level));
    record_text(fields, "event", axo_log_event_name(record->event));
    record_number(fields, "time_ns", record->time_ns);
    record_ref(fields, "actor", record->actor);
    record_text(fields, "path", record->path);
    record_text(fields, "class", record->class_name);
    if (record->instance != 0)
        record_number(fields, "instance", (int64_t)record->instance);
    record_collect_failure(fields, record);
    if (record->has_tag != 0)
        record_number(fields, "tag", (int64_t)record->tag);
    record_text(fields, "tag_name", record->tag_name);
    record_ref(fields, "sender", record->sender);
    if (record->count != 0)
        record_number(fields, "count", (int64_t)(record->count & INT64_MAX));
    if (record->event == AXO_LOG_DEAD_LETTER)
        record_number(fields, "bytes", (int64_t)record->bytes);
    if (record->event == AXO_LOG_STUCK || record->event == AXO_LOG_STORM)
        record_number(fields, "for_ns", record->for_ns);
    if (record->last != 0)
        record_number(fields, "last", 1);
    record_text(fields, "trace_id", record->trace_id);
    record_text(fields, "span_id", record->span_id);
    record_text(fields, "system", record->system);
    record_text(fields, "text", record->text);
}

/* ---- JSON ---- */

uint32_t axo__text_utf8(const unsigned char *text, bool *whole)
{
    unsigned char first = text[0];
    uint32_t count = first < 0x80                    ? 1
                     : first >= 0xc2 && first < 0xe0 ? 2
                     : first >= 0xe0 && first < 0xf0 ? 3
                     : first >= 0xf0 && first < 0xf5 ? 4
                                                     : 0;
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    uint32_t taken = 1;
    while (taken < count && text[taken] >= least && text[taken] <= most) {
        taken++;
        least = 0x80;
        most = 0xbf;
    }
    *whole = taken == count;
    return taken;
}

/* Writes a string and stops where fewer than `reserve` bytes would be left behind it. Each step is
 * whole: a character, or its escape. */
static void record_json_string(axo__text_out *out, const char *text, size_t reserve)
{
    const unsigned char *at = (const unsigned char *)text;
    axo__text_bytes(out, "\"", 1);
    while (*at != 0) {
        char step[8];
        bool whole;
        uint32_t taken = axo__text_utf8(at, &whole);
        size_t given;
        if (!whole) {
            given = (size_t)snprintf(step, sizeof step, "\xef\xbf\xbd"); /* U+FFFD */
        } else if (record_is_control(at)) { /* C2 is followed by the character's number */
            given = (size_t)snprintf(step, sizeof step, "\\u%04x", at[taken - 1]);
        } else if (*at == '"' || *at == '\\') {
            given = (size_t)snprintf(step, sizeof step, "\\%c", *at);
        } else {
            memcpy(step, at, taken);
            given = taken;
        }
        if ((size_t)(out->end - out->at) < given + 1 + reserve) {
            out->cut = true;
            break;
        }
        axo__text_bytes(out, step, given);
        at += taken;
    }
    axo__text_bytes(out, "\"", 1);
}

/* Bytes that a field needs at least: its name with quotes, colon and comma, and a number or an
 * empty string. */
static size_t record_field_least(const record_field *field)
{
    return strlen(field->name) + 4 + (field->text == NULL ? 20 : 2);
}

/* Each string leaves the rest room for what it needs at least. */
void axo__record_json(axo__text_out *out, const axo_log_record *record, const char *line)
{
    record_fields fields;
    size_t reserve = 1; /* the closing brace */
    record_collect(&fields, record);
    record_text(&fields, "message", line);
    for (uint32_t i = 0; i < fields.count; i++)
        reserve += record_field_least(&fields.all[i]);
    axo__text_bytes(out, "{", 1);
    if (record->unix_ns != 0) {
        axo__text_add(out, "\"time\":\"");
        axo__record_moment(out, record->unix_ns);
        axo__text_add(out, "\",");
    }
    for (uint32_t i = 0; i < fields.count; i++) {
        const record_field *field = &fields.all[i];
        reserve -= record_field_least(field);
        axo__text_add(out, "%s\"%s\":", i > 0 ? "," : "", field->name);
        if (field->text == NULL)
            axo__text_add(out, "%" PRId64, field->number);
        else
            record_json_string(out, field->text, reserve);
    }
    axo__text_bytes(out, "}", 1);
}

/* ---- the journal ---- */

/* NAME=value and a line feed; or, for a value with a line feed, NAME, its size in 64 bits, little
 * end first, and the value. A value is cut where the room ends. */
static void record_journal_text(axo__text_out *out, const char *name, const char *text)
{
    size_t length = strlen(text);
    size_t head = strlen(name) + 10;
    size_t room = (size_t)(out->end - out->at);
    if (room < head + 1) {
        out->cut = true;
        return;
    }
    if (length > room - head - 1) {
        length = room - head - 1;
        out->cut = true;
    }
    if (memchr(text, '\n', length) == NULL) {
        axo__text_add(out, "%s=", name);
    } else {
        unsigned char size[8];
        for (uint32_t i = 0; i < 8; i++)
            size[i] = (unsigned char)((uint64_t)length >> (8 * i));
        axo__text_add(out, "%s\n", name);
        axo__text_bytes(out, size, sizeof size);
    }
    axo__text_bytes(out, text, length);
    axo__text_bytes(out, "\n", 1);
}

void axo__record_journal(axo__text_out *out, const axo_log_record *record, const char *line)
{
    record_fields fields;
    record_collect(&fields, record);
    record_journal_text(out, "MESSAGE", line);
    for (uint32_t i = 0; i < fields.count; i++) {
        const record_field *field = &fields.all[i];
        char name[32];
        char number[24];
        (void)snprintf(name, sizeof name, "AXO_%s", field->name);
        for (char *c = name; *c != 0; c++) {
            if (*c >= 'a' && *c <= 'z')
                *c = (char)(*c - ('a' - 'A'));
        }
        (void)snprintf(number, sizeof number, "%" PRId64, field->number);
        record_journal_text(out, name, field->text != NULL ? field->text : number);
    }
}
