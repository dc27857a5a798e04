/* access_line.h - one line of a combined-format access log: parsed, or a failure of the actor.
 *
 *   HOST IDENT USER [dd/Mon/yyyy:hh:mm:ss +zzzz] "REQUEST" STATUS BYTES "REFERER" "AGENT"
 *
 * Words are not empty and have no space; in quotes a backslash takes the next byte with it; STATUS
 * is 100..599; BYTES is '-' or 1 to 15 digits; a carriage return may end the line. The check in
 * main_job.sh states the same grammar once more, for awk.
 *
 * Broken structure is found deep in calls and thrown; a value out of range is returned. */
#ifndef EXAMPLE_ACCESS_LINE_H
#define EXAMPLE_ACCESS_LINE_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <axo/axo.h>

/* Codes of the failures. */
enum { LINE_STRUCTURE = 1, LINE_VALUE = 2 };

typedef struct access_line {
    uint32_t status;
    uint32_t hour;
    uint64_t bytes;
} access_line;

/* Where the parser is. */
typedef struct line_cursor {
    axo_ctx *ctx;
    const char *begin;
    const char *at;
    const char *end;
} line_cursor;

static inline AXO_NORETURN void line_broken(const line_cursor *cursor, const char *wanted)
{
    axo_throw(cursor->ctx, LINE_STRUCTURE, "no %s at byte %zu", wanted,
              (size_t)(cursor->at - cursor->begin) + 1);
}

static inline void line_expect(line_cursor *cursor, char byte, const char *wanted)
{
    if (cursor->at == cursor->end || *cursor->at != byte)
        line_broken(cursor, wanted);
    cursor->at++;
}

/* Takes a word and the space after it; its length. */
static inline size_t line_word(line_cursor *cursor, const char *wanted)
{
    const char *space = memchr(cursor->at, ' ', (size_t)(cursor->end - cursor->at));
    if (space == NULL || space == cursor->at)
        line_broken(cursor, wanted);
    size_t length = (size_t)(space - cursor->at);
    cursor->at = space + 1;
    return length;
}

static inline void line_quoted(line_cursor *cursor, const char *wanted)
{
    line_expect(cursor, '"', wanted);
    while (cursor->at < cursor->end && *cursor->at != '"')
        cursor->at += *cursor->at == '\\' && cursor->end - cursor->at > 1 ? 2 : 1;
    line_expect(cursor, '"', wanted);
}

static inline int line_fits(char byte, char pattern)
{
    switch (pattern) {
    case '9':
        return byte >= '0' && byte <= '9';
    case 'A':
        return byte >= 'A' && byte <= 'Z';
    case 'a':
        return byte >= 'a' && byte <= 'z';
    case '5':
        return byte >= '0' && byte <= '5';
    case '+':
        return byte == '+' || byte == '-';
    default:
        return byte == pattern;
    }
}

/* Takes the time in brackets and the space after it; the hour, which may be up to 99. */
static inline uint32_t line_time(line_cursor *cursor)
{
    static const char pattern[] = "[99/Aaa/9999:99:59:59 +9999] ";
    const char *begin = cursor->at;
    for (const char *wanted = pattern; *wanted != '\0'; wanted++) {
        if (cursor->at == cursor->end || !line_fits(*cursor->at, *wanted))
            line_broken(cursor, "time");
        cursor->at++;
    }
    return (uint32_t)(begin[13] - '0') * 10 + (uint32_t)(begin[14] - '0');
}

/* The value of 1 to 15 digits; UINT64_MAX if it is anything else. */
static inline uint64_t line_number(const char *text, size_t length)
{
    uint64_t value = 0;
    if (length < 1 || length > 15)
        return UINT64_MAX;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return UINT64_MAX;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    return value;
}

/* Parses a line of `length` bytes without its newline.
 *   returns   AXO_OK; AXO_EFAILED for a value out of range. Broken structure does not return */
static inline axo_status access_line_parse(axo_ctx *ctx, const char *text, size_t length,
                                           access_line *out)
{
    line_cursor cursor = {.ctx = ctx, .begin = text, .at = text, .end = text + length};
    if (length > 0 && text[length - 1] == '\r')
        cursor.end--;
    (void)line_word(&cursor, "host");
    (void)line_word(&cursor, "identity");
    (void)line_word(&cursor, "user");
    out->hour = line_time(&cursor);
    line_quoted(&cursor, "request");
    line_expect(&cursor, ' ', "space");
    const char *status = cursor.at;
    size_t status_length = line_word(&cursor, "status");
    const char *bytes = cursor.at;
    size_t bytes_length = line_word(&cursor, "bytes");
    line_quoted(&cursor, "referer");
    line_expect(&cursor, ' ', "space");
    line_quoted(&cursor, "agent");
    if (cursor.at != cursor.end)
        line_broken(&cursor, "end of line");
    uint64_t value = line_number(status, status_length);
    if (out->hour > 23)
        return axo_fail(ctx, LINE_VALUE, "hour %" PRIu32 " is out of range", out->hour);
    if (status_length != 3 || value < 100 || value > 599)
        return axo_fail(ctx, LINE_VALUE, "status is not in 100..599");
    out->status = (uint32_t)value;
    out->bytes = bytes_length == 1 && *bytes == '-' ? 0 : line_number(bytes, bytes_length);
    if (out->bytes == UINT64_MAX)
        return axo_fail(ctx, LINE_VALUE, "bytes is not a number");
    return AXO_OK;
}

#endif
