/* report.h - the messages that one instance has had, kept in a ring beside its state; when it fails
 * under one, they are written to a file, and played again elsewhere, up to that one. In every mode:
 * with workers, lent threads or none. A part of libaxo-record (pkg-config: axo-record); libaxo has
 * nothing of it. <axo/axo.h> does not include it. A whole system is recorded by record.h. A whole
 * program is test/example/failure_report.c.
 *
 *     int main(void)
 *     {
 *         const axo_class *kept;
 *         const axo_report_ring ring = AXO_REPORT_RING(.cls = &parser, .record_bytes = 65536);
 *         status = axo_report_class(&ring, &kept);
 *         axo_report_main();                     returns, but under axo-replay
 *         axo_options options = AXO_OPTIONS();
 *         status = axo_report_begin("/var/lib/app", 0, &options, &reports);
 *         status = axo_system_start(&options, &system);
 *         axo_props props = AXO_PROPS(.cls = kept);
 *
 *     axo-replay report [--gdb] FILE ./app       later, elsewhere
 *
 * An actor of the class that axo_report_class has made is one of `cls` whose messages are kept: the
 * time, the tag, the sender and the bytes of each, before its handler runs. A message costs a
 * reading of the clock and a copy of its payload; memory is taken with the actor, record_bytes for
 * each, and none later: it is a part of the state, behind the program's, and counts as that
 * (axo_props.memory_max), and a restart zeroes it. Where it has no room the earliest go: the report
 * says how many. Each instance begins with an empty ring, and a resumed one goes on with its own. A
 * message that is taken up again (stash.h) is kept again.
 *
 * A failure under a message leaves a report: a status, axo_fail, axo_throw, a death pact, a crash
 * that is contained (crash.h), a callback that its watchdog has interrupted. It is written on the
 * thread of the failure, before anybody decides about it. No report has a failure in another
 * callback than receive, a kill, the end of a permanent actor, one of memory_fails behind a result
 * AXO_OK, nor a crash that ends the process.
 *
 * A replay makes the instance anew, in a manual system of its own, in the same program: construct
 * with the same bytes of args, pre_start, then the same messages one by one, each at its time. It
 * stops before the last one in axo_replay_here, for a debugger, and says whether the same failure
 * has come. Nothing else comes to the instance: not what it sends to itself, nor its timers, nor
 * answers to what it asks in the replay, as what had come is in the file. Senders are actors that
 * do nothing; where a payload has the reference of the instance, its parent or a sender in an
 * aligned word, the replay's stands there.
 *
 * What it does not cover is all that the instance does not take through its messages and context:
 *
 *   - the operating system's time, chance, files, memory of others, globals, threads, addresses;
 *   - pointers in payloads and args, and payloads that were handed over with size 0;
 *   - axo_seed, axo_instance, axo_ref_index, bits and paths of references: axo_report_seed is the
 *     same; references of children and of others that it was not sent a message by;
 *   - what functions of the library have answered: a full mailbox, no memory, an actor that has
 *     gone; its props (bounds of memory and mailbox, strategy, stash_max); what its children do,
 *     and its decider; timers that stop or kill;
 *   - time that goes on within a handler: in a replay axo_now is axo_report_now, which is the same;
 *   - a handler that runs another system within axo_block;
 *   - a watchdog: a handler that one has interrupted runs in a replay until the debugger, or who
 *     has started it, stops it;
 *   - handlers of axo_become, whose messages are not kept: a class that uses it is not to be
 *     played (axo_report_become is); an own post_restart, in whose place pre_start runs; settle,
 *     which runs behind each message; a class that axo_class_replace has changed; messages taken
 *     over (axo_message_take) and passed on (axo_forward), which are the replay's own there. */
#ifndef AXO_REPORT_H
#define AXO_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/supervision.h>
#include <axo/system.h>

/* The version of the file's format. */
#define AXO_REPORT_FORMAT 1
/* Classes that a process can have made, and bytes of a ring. */
#define AXO_REPORT_CLASSES_MAX 32
#define AXO_REPORT_BYTES_MIN 64
#define AXO_REPORT_BYTES_MAX (UINT32_C(1) << 30)
/* Receive functions on top of the class's, axo_report_become. */
#define AXO_REPORT_BECOME_MAX 8

/* A class whose messages are to be kept. */
typedef struct axo_report_ring {
    size_t size;          /* sizeof(axo_report_ring), set by the macro below */
    const axo_class *cls; /* the program's; it must stay valid for good */
    size_t record_bytes;  /* of each actor's ring; a message takes 32 and its payload, rounded up to
                             8; AXO_REPORT_BYTES_MIN to AXO_REPORT_BYTES_MAX */
    size_t args_size;     /* bytes of args that a report has, at most AXO_ARGS_MAX; every actor of
                             the class has so many. 0: none, and the replay's construct gets NULL */
} axo_report_ring;
#define AXO_REPORT_RING(...) AXO_INIT(axo_report_ring, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_report_ring_init(axo_report_ring *out)
{
    const axo_report_ring fresh = AXO_REPORT_RING();
    *out = fresh;
}

/* What a replay has come to. */
typedef struct axo_report_outcome {
    size_t size;        /* sizeof(axo_report_outcome), set by the macro below */
    uint32_t same;      /* 1: it has failed under the last message, with the report's kind and code;
                           0: `text` says what was else */
    uint32_t instance;  /* of the report: the instance's number */
    uint32_t kind;      /* of the replay's failure, an axo_failure_kind; AXO_FAILURE_NONE: none */
    int32_t code;
    uint32_t said_kind; /* of the report's */
    int32_t said_code;
    uint64_t messages;  /* in the report; the last one is that of the failure */
    uint64_t lost;      /* that had no room: the replay begins so many too late */
    uint64_t failed_at; /* the message of the replay's failure, from 1; 0: none */
    char failure[AXO_FAILURE_TEXT_MAX]; /* the text of the replay's failure */
    char name[64];      /* of the class */
    char text[256];     /* what is wrong, or empty */
} axo_report_outcome;
#define AXO_REPORT_OUTCOME(...) AXO_INIT(axo_report_outcome, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_report_outcome_init(axo_report_outcome *out)
{
    const axo_report_outcome fresh = AXO_REPORT_OUTCOME();
    *out = fresh;
}

typedef struct axo_reports axo_reports; /* where the reports of a system go */

AXO_BEGIN_DECLS

/* Makes the class to spawn with: as `cls`, with a ring behind its state. For good: there are
 * AXO_REPORT_CLASSES_MAX in a process.
 *   thread    any
 *   owns      copies what `ring` says and the class; *out stays valid for good
 *   returns   AXO_OK; AXO_EINVAL (a class without a name or receive too), AXO_EVERSION; AXO_EEXIST:
 *             one of that name was made; AXO_ELIMIT
 *   after     on failure *out is NULL */
AXO_API AXO_NODISCARD axo_status axo_report_class(const axo_report_ring *ring,
                                                  const axo_class **out);

/* Has failures of a system that is yet to start leave reports: `options` are changed, trace and
 * trace_user become the reports', which pass on to the program's what trace_kinds asks for. Who
 * changes that later (axo_system_trace_kinds) keeps AXO_EV_FAIL in it.
 *   directory   exists; copied. A report's name is report-PID-N.axorep, the first one's N is 1,
 *               mode 0600; none that is there is written over, but the next free N is taken
 *   reports_max that are written at most; 0: 100
 *   returns     AXO_OK, AXO_EINVAL, AXO_EVERSION, AXO_ENOMEM
 *   after       on failure *out is NULL and `options` are as before */
AXO_API AXO_NODISCARD axo_status axo_report_begin(const char *directory, uint32_t reports_max,
                                                  axo_options *options, axo_reports **out);

/* axo_report_written: how many reports were written. axo_report_missed: how many were not: beyond
 * reports_max, no memory, or the file could not be written, whose latest number of the operating
 * system is in *error (may be NULL; 0: none). What was written of such a file is removed. Any
 * thread. 0 for NULL. */
AXO_API uint64_t axo_report_written(const axo_reports *reports);
AXO_API uint64_t axo_report_missed(const axo_reports *reports, int32_t *error);

/* Frees it, when the system is destroyed, or was not started. Nothing happens for NULL. */
AXO_API void axo_report_end(axo_reports *reports);

/* axo_seed, for actors whose messages are kept: in a replay that of the report.
 *   thread    only the callback that was given `ctx` */
AXO_API uint64_t axo_report_seed(axo_ctx *ctx);

/* The time of the message in hand, which is that of the report in a replay: for receive of actors
 * whose messages are kept. It stands still in a handler, where axo_now goes on. Elsewhere it is
 * axo_now.
 *   thread    only the callback that was given `ctx` */
AXO_API int64_t axo_report_now(axo_ctx *ctx);

/* axo_become and axo_unbecome, for receive of actors whose messages are kept: the functions on top
 * are seen by the ring and in a replay.
 *   thread    only the receive that was given `ctx`
 *   returns   axo_report_become: AXO_OK, AXO_EINVAL (NULL), AXO_ECONTEXT (another callback, or an
 *             actor whose messages are not kept), AXO_ELIMIT (AXO_REPORT_BECOME_MAX)
 *             axo_report_unbecome: AXO_OK, also if there is nothing to take off; AXO_ECONTEXT */
AXO_API AXO_NODISCARD axo_status axo_report_become(axo_ctx *ctx, axo_receive_fn receive);
AXO_API axo_status axo_report_unbecome(axo_ctx *ctx);

/* Plays a report. The class of its name must have been made. A loop without an end has none here
 * either.
 *   thread    any, outside of callbacks
 *   blocks    as long as the handlers run
 *   returns   AXO_OK, and *out says what it has come to; AXO_EINVAL: no report, or not whole, of no
 *             class that was made or of one with other args_size, or `out`; AXO_EVERSION: of
 *             another format, order of bytes or size of pointers; AXO_ESYSTEM: it cannot be read;
 *             AXO_ENOMEM; as axo_system_start; out->text says more */
AXO_API AXO_NODISCARD axo_status axo_report_play(const char *path, axo_report_outcome *out);

/* For main, behind axo_report_class: when axo-replay has started the program, the environment names
 * a report: it plays that, prints what it comes to, and ends the process, with 0: the same failure;
 * 1: another or none; 2: it cannot be played. Else it does nothing. */
AXO_API void axo_report_main(void);

/* Called in a replay before the handler of the report's last message: a place for breakpoints. It
 * does nothing. */
AXO_API void axo_replay_here(uint64_t number, uint32_t tag);

AXO_END_DECLS

#endif
