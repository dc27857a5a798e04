/* log.h - the log: each line as a record with all that is known, and sinks that write it: text,
 * JSON lines, syslog, the journal. An actor writes lines of its own by axo_log. A whole program is
 * test/example/who_failed.c. */
#ifndef AXO_LOG_H
#define AXO_LOG_H

#include <stddef.h>
#include <stdint.h>

#include <axo/export.h>
#include <axo/init.h>
#include <axo/ref.h>
#include <axo/status.h>

typedef enum axo_log_level {
    AXO_LOG_ERROR = 1,
    AXO_LOG_WARNING = 2,
    AXO_LOG_INFO = 3
} axo_log_level;

/* What a line tells of: enum word, value, name. */
#define AXO_LOG_EVENT_LIST(X)                                                                      \
    X(AXO_LOG_LINE, 0, "line")                 /* an actor's or the program's: `text` */           \
    X(AXO_LOG_FAILURE, 1, "failure")           /* a parent has answered it: `directive` */         \
    X(AXO_LOG_FAILURE_AGAIN, 2, "failure_again") /* of one whose failure is not answered yet, or   \
                                                    that is ending: nobody decides */              \
    X(AXO_LOG_HOOK, 3, "hook")                 /* pre_restart or post_stop failed */               \
    X(AXO_LOG_RESUME, 4, "resume")             /* restarted instead, since its restart failed */   \
    X(AXO_LOG_FAILURES, 5, "failures")         /* `count` lines of failures were left out: with    \
                                                  the next one of their sort behind the window, or \
                                                  when the system ends */                          \
    X(AXO_LOG_DEAD_LETTER, 6, "dead_letter")                                                       \
    X(AXO_LOG_DEAD_LETTERS, 7, "dead_letters") /* `count` lines of those of a reason, likewise */  \
    X(AXO_LOG_STUCK, 8, "stuck")               /* a handler holds its worker, for `for_ns` */      \
    X(AXO_LOG_STORM, 9, "storm")               /* the restart of `actor` is the first of storm     \
                                                  `count` to wait for its turn, for `for_ns`; 0:   \
                                                  it is the last one (axo_options.storm_max) */

typedef enum axo_log_event {
#define AXO_LOG_EVENT_ENUM(word, value, name) word = value,
    AXO_LOG_EVENT_LIST(AXO_LOG_EVENT_ENUM)
#undef AXO_LOG_EVENT_ENUM
} axo_log_event;

/* One line. The library fills it for axo_options.log_record, and every string is there then, "" for
 * what is not known; the record and its strings live during the call. A program may make one of its
 * own for the sinks below: a NULL is "". */
typedef struct axo_log_record {
    size_t size;             /* sizeof(axo_log_record), set by AXO_LOG_RECORD */
    int64_t time_ns;         /* of the system's clock (axo_options.clock) */
    int64_t unix_ns;         /* since 1970, UTC, by the operating system's clock; 0: not known */
    uint32_t level;          /* an axo_log_level; 0: AXO_LOG_INFO */
    uint32_t event;          /* an axo_log_event */
    const char *event_name;
    const char *system;      /* axo_options.name */
    axo_ref actor;           /* whom it is about: the child that was decided about, the receiver of
                                a dead letter */
    const char *path;        /* its path */
    const char *class_name;  /* its class's; not of dead letters */
    uint32_t instance;       /* its instance's number, from 1; 0: not known */
    uint32_t directive;      /* FAILURE: what is done with it, an axo_directive; else 0 */
    const char *directive_name;
    axo_ref origin;          /* of an escalated failure: who failed first; else none */
    const char *origin_path;
    const char *origin_class;
    uint32_t kind;           /* of the failure: an axo_failure_kind */
    uint32_t site;           /* an axo_site */
    const char *kind_name;   /* axo_failure_kind_name */
    const char *site_name;   /* axo_site_name; of HOOK also "pre_restart", "post_stop",
                                "a clean-up" */
    int32_t code;            /* of the failure */
    uint32_t has_status;     /* 1: `code` is the status that a callback returned */
    const char *status_name; /* then its name, if it is one of axo_status; else "" */
    uint32_t has_tag;        /* 1: it happened under a message, or is about one */
    uint32_t tag;            /* the message's */
    const char *tag_name;    /* what the class of who got it calls the tag (axo_class.tag_name);
                                a tag of the library's own, such as "AXO_IO_READY" */
    axo_ref sender;          /* who sent the message, as axo_failure.sender */
    axo_ref about;           /* DEATH_PACT: whose end was not handled */
    const char *text;        /* what the actor said as it failed; of a dead letter the reason; of
                                STUCK why its watchdog has not interrupted it (crash.h) */
    uint64_t count;          /* FAILURES, DEAD_LETTERS: lines that were left out; STORM: its number;
                                else 0 */
    uint32_t bytes;          /* of a dead letter's payload */
    uint32_t last;           /* 1: more of these are left out for a while */
    int64_t for_ns;          /* STUCK: at least for so long; STORM: the first wait; 0: it is over */
    const char *line;        /* all of it as one line of text, as axo_options.log gets it */
    const char *trace_id;    /* 32 digits: the trace (trace_context.h) of the handler that failed,
                                or that ran when it happened */
    const char *span_id;     /* 16 digits: its span */
} axo_log_record;
#define AXO_LOG_RECORD(...) AXO_INIT(axo_log_record, __VA_ARGS__)
static inline void axo_log_record_init(axo_log_record *out)
{
    const axo_log_record fresh = AXO_LOG_RECORD();
    *out = fresh;
}

/* Called for each line, on the thread where it happens, with no lock held. It must be quick, must
 * not send, and calls nothing with a context. */
typedef void (*axo_log_record_fn)(void *user, const axo_log_record *record);

/* How a sink writes. Each record is one line, or one datagram, written by one call of the operating
 * system, so lines of several threads, and of several processes that append to one file, are whole.
 * A record that is longer than AXO_LOG_LINE_MAX bytes is cut: its texts are. axo_options takes
 * axo_log_write as `log_record` and the sink as `log_record_user`. */
typedef enum axo_log_format {
    AXO_LOG_TEXT = 0,    /* to a descriptor: time, level, and the record's line:
                            2026-11-23T09:00:06.123456Z error: restart: /user/a (a) failed in ... */
    AXO_LOG_JSON = 1,    /* to a descriptor: axo_log_json */
    AXO_LOG_SYSLOG = 2,  /* to the socket of a syslog daemon, which gives it its time */
    AXO_LOG_JOURNAL = 3  /* to systemd's journal, with each field of the JSON in capitals behind
                            "AXO" and "_", so that journalctl finds it by path, class or tag */
} axo_log_format;

/* Bytes that a sink writes at most for a record. */
#define AXO_LOG_LINE_MAX 2000
/* Bytes of room with which axo_log_json always has enough for valid JSON. */
#define AXO_LOG_JSON_MIN 1200

/* Where lines are written. axo_log_open makes it ready before the system starts, axo_log_close ends
 * it when the system is destroyed. */
typedef struct axo_log_sink {
    size_t size;          /* sizeof(axo_log_sink), set by AXO_LOG_SINK */
    uint32_t format;      /* an axo_log_format */
    uint32_t level_max;   /* an axo_log_level: those above it are left out; 0: none is */
    int32_t fd;           /* TEXT, JSON: the descriptor, which stays the program's; 0: standard
                             error. A line that it does not take at once (non-blocking and full) is
                             lost; one that blocks holds the actor up; a pipe without a reader is
                             SIGPIPE, as always */
    uint32_t facility;    /* SYSLOG: 0: 3, a daemon; at most 23 */
    const char *path;     /* SYSLOG, JOURNAL: the socket; NULL: "/dev/log",
                             "/run/systemd/journal/socket" */
    const char *ident;    /* SYSLOG, JOURNAL: who writes; NULL: the system's name */
    int32_t socket;       /* the library's, as is all that follows */
    uint32_t opened;
    uint64_t lost;
} axo_log_sink;
#define AXO_LOG_SINK(...) AXO_INIT(axo_log_sink, __VA_ARGS__)
static inline void axo_log_sink_init(axo_log_sink *out)
{
    const axo_log_sink fresh = AXO_LOG_SINK();
    *out = fresh;
}

AXO_BEGIN_DECLS

typedef struct axo_ctx axo_ctx;

/* Writes a line of the running actor's into the system's log: AXO_LOG_LINE, with its path, class,
 * instance, the tag of the message in hand, and its trace. The text is cut to AXO_FAILURE_TEXT_MAX
 * bytes. Nobody limits how many lines a program writes. A level that nobody reads costs no
 * formatting. It is what Akka's ActorLogging is.
 *   returns   AXO_OK; AXO_EINVAL: no level, no format; AXO_ECONTEXT, AXO_EFORKED */
AXO_API axo_status axo_log(axo_ctx *ctx, axo_log_level level, const char *format, ...)
    AXO_PRINTF(3, 4);

/* Makes a sink ready. A socket that nobody listens at yet is no error: each record is sent by
 * itself, so the daemon may come later, and come again.
 *   thread    one, before the first axo_log_write
 *   owns      the struct and its strings stay the program's and must stay until axo_log_close
 *   returns   AXO_OK, AXO_EINVAL, AXO_EVERSION (it must be whole), AXO_ETOOBIG (a path that is no
 *             socket's), AXO_ETHREAD (no descriptor)
 *   after     on failure nothing was opened */
AXO_API AXO_NODISCARD axo_status axo_log_open(axo_log_sink *sink);

/* Writes a record: an axo_log_record_fn. Takes no memory. What cannot be written is counted.
 *   thread    any
 *   blocks    as long as the descriptor does; a socket never
 *   user      an axo_log_sink that is open; otherwise nothing happens */
AXO_API void axo_log_write(void *user, const axo_log_record *record);

/* How many records could not be written since axo_log_open. Any thread. 0 for NULL. */
AXO_API uint64_t axo_log_lost(const axo_log_sink *sink);

/* Ends a sink; no thread may write to it any more, so the system that has it is destroyed before.
 * A program's descriptor stays open. Nothing happens for NULL and for one that is not open. */
AXO_API void axo_log_close(axo_log_sink *sink);

/* Writes the record's line for people, without time and level, cut to `size` bytes with the closing
 * zero. Control characters (U+0080..U+009F too), quotes in texts, backslashes and bytes that are no
 * UTF-8 are written as in C, most of them by their hexadecimal digits, so a text neither ends a
 * line nor looks like another, and tells a terminal nothing. Other UTF-8 stays as it is, and no
 * character of it is cut in two.
 *   thread    any
 *   returns   AXO_OK; AXO_ETOOBIG: it was cut; AXO_EINVAL (NULL, size 0), AXO_EVERSION */
AXO_API axo_status axo_log_text(const axo_log_record *record, char *out, size_t size);

/* Writes the record as a JSON object in one line, without a line feed and with a closing zero. What
 * is not known is left out; references are strings in hexadecimal. Bytes that are no UTF-8 are
 * written as U+FFFD. "message" is the line for people.
 *   thread    any
 *   returns   AXO_OK; AXO_ETOOBIG: texts were cut, and it is valid all the same; AXO_EINVAL (NULL,
 *             or `size` is below AXO_LOG_JSON_MIN), AXO_EVERSION */
AXO_API axo_status axo_log_json(const axo_log_record *record, char *out, size_t size);

/* "error", "warning", "info"; "?" for a number that is none. */
AXO_API const char *axo_log_level_name(uint32_t level);

/* The name of an axo_log_event; "?" for a number that is none. */
AXO_API const char *axo_log_event_name(uint32_t event);

AXO_END_DECLS

#endif
