/* trace.h - the life-cycle events of a system, for recorders, checkers and benchmarks: told to one
 * function where they happen. Those of event.h are messages to actors. Whole programs are
 * test/example/look_inside.c and, for a profiler, test/example/chrome_trace.c. */
#ifndef AXO_TRACE_H
#define AXO_TRACE_H

#include <stdint.h>

#include <axo/export.h>
#include <axo/ref.h>
#include <axo/status.h>

/* Every event: enum word, name, what `arg` holds. A manual system does the same again with other
 * bits of references (ref.h): who compares two runs takes axo_ref_index of actors and of args that
 * are references. */
#define AXO_EVENT_LIST(X)                                                                          \
    X(AXO_EV_SPAWN, "spawn", "parent's reference bits")                                            \
    X(AXO_EV_CONSTRUCT, "construct", "0 before the call")                                          \
    X(AXO_EV_CONSTRUCTED, "constructed", "status")                                                 \
    X(AXO_EV_PRE_START, "pre_start", "0 before the call")                                          \
    X(AXO_EV_STARTED, "started", "status of pre_start or post_restart")                            \
    X(AXO_EV_RECEIVE, "receive", "tag, before the call")                                           \
    X(AXO_EV_RECEIVED, "received", "status")                                                       \
    X(AXO_EV_FAIL, "fail", "failure kind << 32 | code")                                            \
    X(AXO_EV_SUSPEND, "suspend", "0: own failure; 1: by parent, axo_pause; 2: until it has ended") \
    X(AXO_EV_RESUME, "resume", "0: own failure is over; 1: by parent, axo_resume")                 \
    X(AXO_EV_REPORT, "report", "child's reference bits: report taken by its parent")               \
    X(AXO_EV_HOLD, "hold", "child's reference bits: report held back")                             \
    X(AXO_EV_DECIDE, "decide", "directive << 32 | low bits of the child's slot")                   \
    X(AXO_EV_DIRECTIVE, "directive", "directive applied to this cell")                             \
    X(AXO_EV_PRE_RESTART, "pre_restart", "1: with the failing message")                            \
    X(AXO_EV_PRE_RESTARTED, "pre_restarted", "status")                                             \
    X(AXO_EV_POST_RESTART, "post_restart", "0 before the call")                                    \
    X(AXO_EV_POST_STOP, "post_stop", "0 before the call")                                          \
    X(AXO_EV_POST_STOPPED, "post_stopped", "status")                                               \
    X(AXO_EV_DESTROY, "destroy", "instance's memory goes")                                         \
    X(AXO_EV_STOPPING, "stopping", "children it waits for")                                        \
    X(AXO_EV_TERMINATED, "terminated", "0")                                                        \
    X(AXO_EV_CHILD_GONE, "child_gone", "child's reference bits: removed from the parent")          \
    X(AXO_EV_WATCH, "watch", "target's reference bits")                                            \
    X(AXO_EV_UNWATCH, "unwatch", "target's reference bits")                                        \
    X(AXO_EV_NOTICE, "notice", "target's reference bits, queued for the handler")                  \
    X(AXO_EV_DEAD_LETTER, "dead_letter", "tag; of the recipient, instance 0, suspends 0")          \
    X(AXO_EV_UNHANDLED, "unhandled", "tag")                                                        \
    X(AXO_EV_DELAY, "delay", "ns until the restart that was decided just before, or is due, by "   \
      "this actor; 0: it is its turn (axo_options.storm_max)")                                     \
    X(AXO_EV_PARK, "park", "receiver's reference bits: there was no room")                         \
    X(AXO_EV_UNPARK, "unpark", "0: there is, or the parking was undone")                           \
    X(AXO_EV_MERGE, "merge", "child's reference bits: this restart and one that waits are one")    \
    X(AXO_EV_DECIDER_BEGIN, "decider_begin", "child's reference bits, before the program's own")   \
    X(AXO_EV_DECIDER_END, "decider_end", "what it has answered; 0: it has failed")

typedef enum axo_event_kind {
#define AXO_EVENT_ENUM(word, name, arg) word,
    AXO_EVENT_LIST(AXO_EVENT_ENUM)
#undef AXO_EVENT_ENUM
        AXO_EVENT_KINDS
} axo_event_kind;

/* The bit of a kind in axo_options.trace_kinds. */
#define AXO_EVENT_BIT(kind) (UINT64_C(1) << (kind))

typedef struct axo_trace_context axo_trace_context; /* trace_context.h */
typedef struct axo_class axo_class;                 /* actor.h */
typedef struct axo_system axo_system;

typedef struct axo_event {
    int64_t time_ns;     /* monotonic; virtual in the simulator */
    axo_ref actor;       /* whose event it is */
    uint64_t arg;        /* see the list */
    uint32_t kind;       /* an axo_event_kind */
    uint32_t worker;     /* number of its pool << 16 | its index there; the default pool is 0;
                            UINT32_MAX from outside */
    uint32_t instance;   /* number of the instance, from 1; 0 before the first */
    uint32_t suspends;   /* the actor's suspend count */
    const axo_trace_context *trace; /* of the handler that ran on that thread when it happened; of
                            a failure under a message that had one, of the handler that failed;
                            NULL: none. Valid during the call */
    const axo_class *cls; /* the actor's, whose `user` is the program's; NULL: a dead letter's */
} axo_event;

/* Called at each event, on the thread where it happens, while it happens: it must be quick, take
 * care of its own locking and call nothing of the library. */
typedef void (*axo_trace_fn)(void *user, const axo_event *event);

AXO_BEGIN_DECLS

/* The events that axo_options.trace is told of from now on, a bit each; 0: none. A system that
 * starts with axo_options.trace_kinds of rare events, or with all and is told 0 at once, pays for
 * those of messages (RECEIVE, RECEIVED) only while they are selected. A worker takes it over when
 * it wakes, and within 256 turns; axo_run_host and axo_worker_run do when they are called. So the
 * first and the last pair of events may lack one.
 *   thread    any; in callbacks too, but not in the trace function
 *   blocks    no
 *   returns   AXO_OK; AXO_EINVAL (bits of no kind; no axo_options.trace), AXO_EFORKED: nothing has
 *             changed */
AXO_API axo_status axo_system_trace_kinds(axo_system *system, uint64_t kinds);

/* The name of an event kind; "?" for a number that is none. */
AXO_API const char *axo_event_name(uint32_t kind);

AXO_END_DECLS

#endif
