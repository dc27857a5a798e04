/* record.h - a record of the log as text: the line for people, JSON, the fields of the journal.
 *
 * Each writer stops at the end of its room and says that it did; none takes memory. Strings of a
 * record may be NULL and hold any bytes. */
#ifndef AXO__BASE_RECORD_H
#define AXO__BASE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include <axo/log.h>

/* Text that is being written. `room` keeps a byte for the closing zero. */
typedef struct axo__text_out {
    char *at;
    char *end; /* the first byte that is not text's any more */
    bool cut;
} axo__text_out;

/* The caller's room, of at least one byte. */
axo__text_out axo__text_begin(char *out, size_t size);
/* Writes the closing zero. true: all of the text is there. */
bool axo__text_end(axo__text_out *out);
void axo__text_add(axo__text_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The first `count` bytes as they are. */
void axo__text_bytes(axo__text_out *out, const void *bytes, size_t count);

/* Bytes at `text` that are one UTF-8 sequence, as Unicode allows them: no overlong one, no
 * surrogate, nothing above U+10FFFF. *whole: false, and the bytes are the longest beginning of one,
 * at least one byte, which is one U+FFFD. A zero is no continuation, so nothing behind the end is
 * read. */
uint32_t axo__text_utf8(const unsigned char *text, bool *whole);

static inline const char *axo__text_or(const char *text, const char *other)
{
    return text != NULL && text[0] != 0 ? text : other;
}

/* The line for people. */
void axo__record_line(axo__text_out *out, const axo_log_record *record);
/* The moment in UTC, as ISO 8601 with microseconds. */
void axo__record_moment(axo__text_out *out, int64_t unix_ns);
/* A JSON object, valid in any room of AXO_LOG_JSON_MIN. `line`: the line for people. */
void axo__record_json(axo__text_out *out, const axo_log_record *record, const char *line);
/* Fields in the journal's protocol. */
void axo__record_journal(axo__text_out *out, const axo_log_record *record, const char *line);

#endif
