/* event.h - the event stream of a system: what happens in it, told to actors that ask for it; and
 * the last dead letters. A whole program is test/example/events.c. */
#ifndef AXO_EVENT_H
#define AXO_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/supervision.h>

/* An event that this actor has subscribed to; the payload is an axo_event_message with the event's
 * data behind it. Events are not counted in sent, handled and dead, they never become dead letters,
 * and an actor that answers AXO_UNHANDLED to one has done no harm. */
#define AXO_EVENT UINT32_C(0xffff0004)

/* Kinds form a tree by their bytes, the highest first: a kind contains those that agree with it
 * down to its last byte that is not zero. So AXO_KIND_DEAD_LETTER contains both kinds of dead
 * letters, and AXO_KIND_ALL everything. */
#define AXO_KIND_ALL UINT32_C(0)
#define AXO_KIND_DEAD_LETTER UINT32_C(0x01000000) /* data: axo_dead_record */
#define AXO_KIND_DEAD_LETTER_ORDINARY UINT32_C(0x01010000)
#define AXO_KIND_DEAD_LETTER_SUPPRESSED UINT32_C(0x01020000) /* harmless */
#define AXO_KIND_UNHANDLED UINT32_C(0x02000000)   /* data: axo_event_unhandled */
#define AXO_KIND_SUPERVISION UINT32_C(0x03000000) /* data: axo_event_supervision */
#define AXO_KIND_SUPERVISION_RESUME UINT32_C(0x03010000)
#define AXO_KIND_SUPERVISION_RESTART UINT32_C(0x03020000)
#define AXO_KIND_SUPERVISION_STOP UINT32_C(0x03030000) /* a Restart beyond the budget too */
#define AXO_KIND_ESCALATION UINT32_C(0x04000000)  /* data: axo_event_supervision */
#define AXO_KIND_LIFECYCLE UINT32_C(0x05000000)   /* data: axo_event_lifecycle */
#define AXO_KIND_STARTED UINT32_C(0x05010000)     /* the first instance has started */
#define AXO_KIND_RESTARTED UINT32_C(0x05020000)   /* another instance has started */
#define AXO_KIND_TERMINATED UINT32_C(0x05030000)  /* after post_stop */
#define AXO_KIND_LOG UINT32_C(0x06000000)         /* data: axo_event_log; a sub-kind a level */
#define AXO_KIND_LOG_ERROR UINT32_C(0x06010000)
#define AXO_KIND_LOG_WARNING UINT32_C(0x06020000)
#define AXO_KIND_LOG_INFO UINT32_C(0x06030000)
#define AXO_KIND_STUCK UINT32_C(0x07000000)       /* a handler holds its worker for long */
#define AXO_KIND_STORM UINT32_C(0x08000000)       /* data: axo_event_storm; restarts wait for their
                                                     turn, or none does any more */
#define AXO_KIND_SERVICES UINT32_C(0x40000000)    /* from here: services of the library */
#define AXO_KIND_ROUTER UINT32_C(0x41000000)
#define AXO_KIND_LISTENER UINT32_C(0x42000000)    /* data: axo_listener_info; it pauses, goes on */
#define AXO_KIND_USER UINT32_C(0x80000000)        /* from here: the application's own */

/* Kinds that one subscriber may have asked for or excluded at a time. */
#define AXO_KINDS_MAX 16
/* Bytes of a path in an event, with its closing zero; of longer ones the end, behind
 * AXO_PATH_CUT. */
#define AXO_EVENT_PATH_MAX 128
/* Bytes of a message that its event shows. */
#define AXO_EVENT_HEAD_MAX 32
/* Bytes of a log line in its event, with the closing zero. */
#define AXO_EVENT_TEXT_MAX 256

/* Payload of AXO_EVENT; `size` bytes of data follow. */
typedef struct axo_event_message {
    int64_t time_ns;   /* the system's clock, when it was published */
    axo_ref source;    /* whom it is about: see the structs; of a user's event, who published it */
    uint32_t kind;
    uint32_t size;     /* bytes of data */
    uint64_t reserved; /* 0 */
} axo_event_message;

/* The event's data, aligned for any object; it lives as long as the message. */
static inline const void *axo_event_data(const axo_event_message *event)
{
    return event + 1;
}

/* The data as a pointer to `type`. */
#ifdef __cplusplus
#define AXO_EVENT_DATA(event, type) (static_cast<type const *>(axo_event_data(event)))
#else
#define AXO_EVENT_DATA(event, type) ((type const *)axo_event_data(event))
#endif

/* One dead letter. source: the recipient. Its size never changes. */
typedef struct axo_dead_record {
    int64_t time_ns;
    axo_ref recipient;
    axo_ref sender;       /* none: from outside */
    uint32_t tag;
    uint32_t size;        /* bytes of payload */
    uint32_t reason;      /* an axo_dead_reason */
    uint32_t suppressed;  /* 1: harmless */
    uint32_t head_size;   /* bytes of `head`; 0 for a payload that was handed over */
    uint32_t reserved;    /* 0 */
    uint8_t head[AXO_EVENT_HEAD_MAX]; /* how the payload begins */
    char path[AXO_EVENT_PATH_MAX];    /* the recipient's; "" when nobody can tell any more */
    char text[64];        /* more about the reason, or "" */
} axo_dead_record;

/* A message that its receiver did not know. source: the receiver. */
typedef struct axo_event_unhandled {
    axo_ref recipient;
    axo_ref sender;
    uint32_t tag;
    uint32_t size;
    uint32_t head_size;
    uint32_t reserved;
    uint8_t head[AXO_EVENT_HEAD_MAX];
    char path[AXO_EVENT_PATH_MAX];
} axo_event_unhandled;

/* A decision about a failed child. source: the child. */
typedef struct axo_event_supervision {
    axo_ref child;
    axo_ref parent;       /* who decided */
    axo_ref actor;        /* who failed first: differs from `child` after an escalation */
    uint32_t directive;   /* what happens: an axo_directive */
    uint32_t decided;     /* what the decider said: Restart, where the budget makes it Stop */
    uint32_t kind;        /* of the failure: an axo_failure_kind */
    uint32_t site;        /* an axo_site */
    int32_t code;
    uint32_t reserved;    /* 0 */
    char text[AXO_FAILURE_TEXT_MAX];
    char path[AXO_EVENT_PATH_MAX]; /* the child's */
} axo_event_supervision;

/* A step in an actor's life. source: the actor. */
typedef struct axo_event_lifecycle {
    axo_ref actor;
    axo_ref parent;       /* none: the root */
    uint32_t instance;    /* number of the instance, from 1 */
    uint32_t reserved;    /* 0 */
    char path[AXO_EVENT_PATH_MAX];
} axo_event_lifecycle;

/* A line for people, as axo_options.log gets it. source: the actor it is about. */
typedef struct axo_event_log {
    uint32_t level;       /* an axo_log_level */
    uint32_t reserved;    /* 0 */
    char text[AXO_EVENT_TEXT_MAX];
} axo_event_log;

/* A handler on the default dispatcher that holds its worker for long (axo_options.stuck_ns).
 * source: the actor. */
typedef struct axo_event_stuck {
    axo_ref actor;
    int64_t for_ns;       /* at least for so long */
    uint32_t tag;         /* of the message, if has_tag */
    uint32_t has_tag;     /* 0: it is in another callback */
    char path[AXO_EVENT_PATH_MAX];
} axo_event_stuck;

/* Restarts wait for their turn (axo_options.storm_max), or none does any more. source: the child
 * whose restart is the first to wait, or has been the last. */
typedef struct axo_event_storm {
    uint32_t number;      /* of the storm, from 1 */
    uint32_t over;        /* 0: it begins; 1: it is over */
    int64_t wait_ns;      /* it begins: how long the first one waits; else 0 */
    char path[AXO_EVENT_PATH_MAX]; /* the child's */
} axo_event_storm;

AXO_BEGIN_DECLS

/* From now on `who` gets an AXO_EVENT for each event under `kind`, one for each event however many
 * of its subscriptions contain it. It ends with `who`; a restart keeps it. What one publisher
 * publishes comes in order.
 *   thread    only the callback that was given `ctx`
 *   blocks    no
 *   returns   AXO_OK; AXO_EEXIST: it gets all of these already; AXO_ECONTEXT, AXO_EINVAL (none),
 *             AXO_EGONE, AXO_ELIMIT (more than AXO_KINDS_MAX), AXO_ENOMEM
 *   after     on failure nothing has changed */
AXO_API axo_status axo_subscribe(axo_ctx *ctx, axo_ref who, uint32_t kind);

/* Ends it for what is under `kind`. A wider subscription stays for the other kinds. Events that
 * wait in the mailbox still come.
 *   returns   AXO_OK; AXO_ENOENT: it got none of these; AXO_ECONTEXT, AXO_EINVAL (none),
 *             AXO_ELIMIT
 *   after     on failure nothing has changed */
AXO_API axo_status axo_unsubscribe(axo_ctx *ctx, axo_ref who, uint32_t kind);

/* Tells every subscriber of `kind`; `size` bytes of `data` are copied for each. Without a
 * subscriber it costs next to nothing. A subscriber for whose copy there is no memory, or whose
 * bounded mailbox is full, misses it: axo_stats.events_lost.
 *   returns   AXO_OK; AXO_ECONTEXT, AXO_EINVAL (a kind below AXO_KIND_SERVICES, NULL with a size),
 *             AXO_ETOOBIG: nobody was told */
AXO_API axo_status axo_publish(axo_ctx *ctx, uint32_t kind, const void *data, size_t size);

/* Tells of the message that is being handled as a dead letter, of reason AXO_DEAD_DROPPED, with a
 * text that says why: what an actor does that passes messages on and has nobody to pass this one
 * on to. The message counts as handled all the same. At most 63 bytes of `why` are kept; NULL:
 * none.
 *   returns   AXO_OK, AXO_ECONTEXT, AXO_EINVAL (not the message that is being handled) */
AXO_API axo_status axo_drop(axo_ctx *ctx, const axo_message *message, axo_ref recipient,
                            const char *why);

/* As axo_subscribe, axo_unsubscribe and axo_publish, from any thread; the source of what is
 * published is none. */
AXO_API axo_status axo_system_subscribe(axo_system *system, axo_ref who, uint32_t kind);
AXO_API axo_status axo_system_unsubscribe(axo_system *system, axo_ref who, uint32_t kind);
AXO_API axo_status axo_system_publish(axo_system *system, uint32_t kind, const void *data,
                                      size_t size);

/* Copies the latest dead letters, newest first, at most `max`; axo_options.dead_letters_kept says
 * how many the system remembers.
 *   thread    any
 *   blocks    for as long as another thread copies one
 *   returns   how many were written; *total (may be NULL): how many there have been, ever. 0 and 0
 *             for a NULL system, or NULL as `out` with a `max` */
AXO_API uint32_t axo_system_dead_letters(axo_system *system, axo_dead_record *out, uint32_t max,
                                         uint64_t *total);

AXO_END_DECLS

#endif
