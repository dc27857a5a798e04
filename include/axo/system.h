/* system.h - a system of actors: start, use from outside, stop. A whole program is
 * test/example/hello_supervisor.c. */
#ifndef AXO_SYSTEM_H
#define AXO_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/init.h>
#include <axo/log.h>
#include <axo/remote.h>
#include <axo/stats.h>
#include <axo/trace.h>

/* The user's allocator. Both functions or none; they are called from many threads at once.
 * `align` is a power of two. alloc returns NULL when there is no memory; an address of 2^48 or
 * above is given back at once and taken for NULL.
 *
 * All memory that the runtime takes for a system is from it, but for: stacks of threads and what
 * the C library keeps of a thread, a mutex or a wait (axo_options.thread_stack); liburcu's record
 * of a thread, which is thread-local; a page for the word by which a child of fork is known; with
 * `contain` the signal stack of each thread; with `board` the file's pages; of a test kit its own
 * record, its probes and what they keep, which are malloc's; and sockets, pipes, descriptors. */
typedef struct axo_allocator {
    void *(*alloc)(void *user, size_t size, size_t align);
    void (*free)(void *user, void *block, size_t size, size_t align);
    void *user;
} axo_allocator;

/* What a block is for. One system's blocks of a kind come from it and go back to it with that
 * kind. */
typedef enum axo_memory_kind {
    AXO_MEMORY_SYSTEM = 0,   /* the system's record, and small things that there are few of */
    AXO_MEMORY_WORKERS = 1,  /* workers' records and queues, doors */
    AXO_MEMORY_TABLE = 2,    /* the index from references to actors */
    AXO_MEMORY_CELLS = 3,    /* the actors' records: kept for actors to come until the system's
                                end */
    AXO_MEMORY_POOL = 4,     /* chunks of 32 KiB for all blocks up to 4 KiB: messages, states, what
                                instances hold (axo_alloc), watches, actors' timers. axo_system_trim
                                gives back those that are empty */
    AXO_MEMORY_LARGE = 5,    /* each such block of more than 4 KiB; it goes back at once */
    AXO_MEMORY_TEXTS = 6,    /* texts of failures, records of crashes */
    AXO_MEMORY_NAMES = 7,    /* names of actors, keys of the registry */
    AXO_MEMORY_TIMERS = 8,   /* wheels, messages that wait for a time */
    AXO_MEMORY_STREAM = 9,   /* subscriptions to events, dead letters that are kept */
    AXO_MEMORY_SERVICES = 10, /* axo_system_alloc, and services that are made with it */
    AXO_MEMORY_BOUNDED = 11, /* mailboxes with a bound or an order of their own */
    AXO_MEMORY_IO = 12,      /* watched descriptors */
    AXO_MEMORY_FIGURES = 13, /* axo_options.figures */
    AXO_MEMORY_WALLS = 14    /* axo_options.walls, and the pages that have them */
} axo_memory_kind;
#define AXO_MEMORY_KINDS 15

/* As axo_allocator, with an axo_memory_kind: for arenas and budgets by kind. free gets the kind,
 * the size and the alignment that alloc got. A number of a later version is one more kind. */
typedef struct axo_kind_allocator {
    void *(*alloc)(void *user, size_t size, size_t align, uint32_t kind);
    void (*free)(void *user, void *block, size_t size, size_t align, uint32_t kind);
    void *user;
} axo_kind_allocator;

/* Why a message became a dead letter. */
typedef enum axo_dead_reason {
    AXO_DEAD_GONE = 1,   /* no living actor had the reference */
    AXO_DEAD_STOPPED = 2, /* it was in the mailbox when the actor terminated */
    AXO_DEAD_OVERFLOW = 3, /* the mailbox was full */
    AXO_DEAD_DROPPED = 4, /* who handled it had nobody to pass it on to: axo_drop */
    AXO_DEAD_POISON = 5   /* so many instances failed under it: axo_strategy.quarantine */
} axo_dead_reason;

typedef struct axo_dead_letter {
    const axo_message *message; /* lives during the call */
    axo_ref recipient;
    uint32_t reason;            /* an axo_dead_reason */
    uint32_t suppressed;        /* 1: harmless: a PoisonPill to one that is gone, a tick of its own
                                   timers, a message for an instance that is gone
                                   (axo_draft_bind) */
    const char *path;           /* axo_select to a path where nobody is: that path, and recipient is
                                   none; else NULL */
} axo_dead_letter;

/* Called for each dead letter, on the thread where it happens, with no lock held. It must be quick
 * and must not send. */
typedef void (*axo_dead_letter_fn)(void *user, const axo_dead_letter *letter);

/* A message that its receiver did not know. */
typedef struct axo_unhandled {
    const axo_message *message; /* lives during the call */
    axo_ref recipient;
} axo_unhandled;

/* Called for each message of users for which receive returned AXO_UNHANDLED, after it was counted,
 * on the thread where it happens, in the receiver's turn, with no lock held. It must be quick, must
 * not send, and calls nothing with a context: the callback is over. Not called for what is no
 * user's message (notices, receive timeouts, events), nor for one that was stashed. */
typedef void (*axo_unhandled_fn)(void *user, const axo_unhandled *unhandled);

/* Called for what a person should know: failures decided, hooks that failed, dead letters, handlers
 * that hang (axo_options.stuck_ns). On the thread where it happens, with no lock held. NULL:
 * silence. The same lines are events of AXO_KIND_LOG, and axo_options.log_record gets them field by
 * field. Of failures of one class with the same code and answer, the first of a window are lines
 * (axo_options.failure_log), then one says how many there were. */
typedef void (*axo_log_fn)(void *user, axo_log_level level, axo_ref actor, const char *text);

/* What the program runs itself, in axo_run_host, axo_step_host, axo_group_wait, axo_system_quiesce
 * and axo_system_stop. */
typedef enum axo_manual {
    AXO_MANUAL_NONE = 0,
    AXO_MANUAL_ALL = 1,    /* everything: no thread is started, all dispatchers are the host's */
    AXO_MANUAL_DEFAULT = 2 /* the default dispatcher: it is the host's. Actors of the blocking and
                              the pinned one have their threads, so a handler that blocks holds up
                              no frame. Their timers and descriptors are looked after by the host,
                              and one that is spawned from outside begins when the host has run.
                              What runs when is not the same in two runs */
} axo_manual;

/* Whose threads run the actors. */
typedef enum axo_threads {
    AXO_THREADS_OWN = 0, /* the system's; `manual` may say otherwise */
    AXO_THREADS_LENT = 1 /* the program's, in axo_worker_run, `workers` of them at a time. The
                            system starts no thread at all. Actors of the blocking and the pinned
                            dispatcher run there too; those of the host dispatcher in axo_run_host,
                            on the thread that calls it. axo_system_stop, axo_system_quiesce and
                            axo_group_wait visit free slots meanwhile, beyond their timeout if
                            a handler there takes longer */
} axo_threads;

/* A thread that the library has started. */
typedef enum axo_thread_kind {
    AXO_THREAD_WORKER = 1,   /* runs actors of the default dispatcher */
    AXO_THREAD_SPARE = 2,    /* looks after workers whose handlers hang */
    AXO_THREAD_BLOCKING = 3, /* runs actors of the blocking dispatcher */
    AXO_THREAD_PINNED = 4,   /* runs the actor that it belongs to */
    AXO_THREAD_RECLAIMER = 5 /* waits for the ends of grace periods */
} axo_thread_kind;

typedef struct axo_thread {
    uint32_t kind;    /* an axo_thread_kind */
    uint32_t index;   /* the number in its name; RECLAIMER: 0 */
    const char *name; /* as debuggers and top show it: "axo/w0"; lives during the call */
} axo_thread;

/* axo_options.thread_start is called on each thread that the library has started, before all else
 * that it does, thread_stop after all else: for affinity, priority, names, a profiler, what an
 * allocator or engine keeps of a thread. Threads of the blocking dispatcher, and those of pinned
 * actors, come and go while the system runs. axo_system_destroy has joined all. A manual system has
 * none, and the threads of the program are told of to nobody.
 *   blocks    it must be quick: actors wait for the thread
 *   after     calls nothing of the library, and returns: it neither throws nor ends the thread */
typedef void (*axo_thread_fn)(void *user, const axo_thread *thread);

#define AXO_THREAD_STACK_MIN 65536

typedef struct axo_options {
    size_t size;                      /* sizeof(axo_options), set by AXO_OPTIONS */
    uint32_t workers;                 /* 0: as many as affinity and the container's CPU quota allow;
                                         at most AXO_WORKERS_MAX */
    uint32_t quantum;                 /* 0: 64 messages before an actor yields its worker, up to
                                         2048 for one that is behind; else as many; at most 65536 */
    uint32_t quantum_us;              /* 0: 100 us before it yields; at most 1000000. Effort: the
                                         operating system's clock. no_quantum_us: none */
    uint32_t actors_max;              /* actors alive at a time, beside the three guardians: the
                                         next spawn says AXO_ELIMIT, until axo_terminated or
                                         axo_stats says that one has gone. All count, the program's
                                         and those of services, of all dispatchers. Those that are
                                         gone while a callback runs on keep their memory until it
                                         has ended (axo_block): an eighth more, at least 65536; then
                                         AXO_ELIMIT too. 0: 2^22; at most 2^24 - 2^17 */
    uint32_t failure_texts;           /* 0: 1024 texts of failures kept at once; at most 2^20 */
    uint32_t timers_max;              /* 0: 2^20 timers that wait for their time, on each worker */
    uint64_t seed;                    /* of all chance but what references are made of; 0: from the
                                         operating system */
    axo_allocator allocator;          /* zeroed: malloc and free */
    const axo_strategy *user_strategy; /* how /user supervises; NULL: the default */
    axo_dead_letter_fn on_dead_letter; /* NULL: only counted */
    void *dead_letter_user;
    axo_log_fn log;                   /* NULL: silence */
    void *log_user;
    axo_trace_fn trace;               /* NULL: no events are made */
    void *trace_user;
    const char *name;                 /* of the system: letters, digits, '-' and '_', these two not
                                         first; at most AXO_NAME_MAX bytes; NULL: "axo" */
    uint32_t dead_letter_log;         /* 0: 5 dead letters of a reason that are logged one by one in
                                         a window; the rest are counted in one line */
    uint32_t no_dead_letter_log;      /* 1: none is logged */
    int64_t dead_letter_window_ns;    /* 0: 5 minutes; time: `clock` */
    uint32_t dead_letter_log_at_stop; /* 1: also while the system shuts down */
    uint32_t dead_letters_kept;       /* 0: 64 for axo_system_dead_letters; at most 65536 */
    uint32_t no_dead_letters_kept;    /* 1: none is kept */
    uint32_t blocking_max;            /* threads of the blocking dispatcher; 0: 64; at most 1024 */
    uint32_t blocking_idle_ms;        /* how long one waits for work before it ends; 0: 10000;
                                         effort: the operating system's clock */
    int64_t stuck_ns;                 /* a handler on the default dispatcher that runs longer is
                                         logged with path, message and duration, once each time
                                         that long has passed; 0: 1 s; negative: never. Effort: the
                                         operating system's clock */
    uint32_t manual;                  /* an axo_manual: what the program runs itself */
    uint32_t threads;                 /* an axo_threads: whose they are. LENT: `manual` is NONE, and
                                         `workers` the number of slots */
    axo_clock_fn clock;               /* the program's clock: time, see axo_clock_fn. NULL: the
                                         operating system's */
    void *clock_user;
    uint32_t registry_max;            /* keys of living actors at a time; 0: 4096; at most 2^20 */
    uint32_t no_quantum_us;           /* 1: a turn ends by its messages alone (`quantum`), however
                                         long they take: which actor runs when does not depend on
                                         the machine. Then quantum_us is 0 */
    uint64_t trace_kinds;             /* the events that `trace` is told of, a bit each:
                                         AXO_EVENT_BIT; others cost no reading of the clock. 0:
                                         all; bits of no kind: AXO_EINVAL. axo_system_trace_kinds
                                         changes it */
    axo_unhandled_fn on_unhandled;    /* NULL: only counted */
    void *unhandled_user;
    axo_log_record_fn log_record;     /* each line of the log as a record (log.h), beside `log`;
                                         axo_log_write writes it. NULL: none */
    void *log_record_user;
    int64_t failure_window_ns;        /* 0: 5 minutes; time: `clock` */
    uint32_t failure_log;             /* 0: 5 failures of a class with one code and one answer that
                                         are logged one by one in a window; the rest are counted in
                                         one line. UINT32_MAX: all are logged */
    uint32_t reserved_log;            /* 0 */
    const char *board;                /* path of a file that shows the system to other processes,
                                         also when it hangs or has died: board.h, axo-top. At most
                                         255 bytes; an older file of that name is replaced, but a
                                         board whose process did not end it is kept, with ".old"
                                         behind its name; one that cannot be made: AXO_ETHREAD.
                                         NULL: none. With it a message takes 16 ns more, an
                                         actor's life 250 */
    uint32_t board_actors;            /* records of actors in it, 192 bytes each: 0: 16384; at most
                                         2^24; actors whose axo_ref_index is beyond are not in it */
    uint32_t board_reserved;          /* 0 */
    uint32_t figures;                 /* an axo_figures (metrics.h): what is counted and timed of
                                         each class of actors. 0: nothing, and it costs nothing */
    uint32_t figures_reserved;        /* 0 */
    uint32_t storm_max;               /* restarts that may begin together, and in each
                                         storm_window_ns behind them; others wait for their turn
                                         (supervision.h, storms). At most 10^9. 0: no bound, and it
                                         costs nothing. With one an actor takes 150 bytes more */
    uint32_t storm_reserved;          /* 0 */
    int64_t storm_window_ns;          /* 0: 1 s, if storm_max is not; storm_max..60 s; time:
                                         `clock` */
    axo_thread_fn thread_start;       /* told of each thread, see axo_thread_fn; NULL: not */
    axo_thread_fn thread_stop;
    void *thread_user;
    size_t thread_stack;              /* bytes of each thread's stack, AXO_THREAD_STACK_MIN..2^40;
                                         0: as the operating system has it */
    uint32_t contain;                 /* 1: classes may ask for AXO_CRASH_FAILS (crash.h).
                                         axo_system_start installs handlers of SIGSEGV, SIGBUS,
                                         SIGFPE, SIGILL, SIGABRT and, for watchdogs, SIGURG for the
                                         process, until the last such system is destroyed. Its
                                         default dispatcher's threads do not block SIGURG, and one
                                         that is not the library's goes to the handler before.
                                         AXO_ENOTSUP: not Linux with glibc 2.35 on x86-64, a static
                                         libc, a sanitizer in the program, the one-file library */
    uint32_t crashes_max;             /* crashes that are contained in a window, at most 65536; the
                                         next one ends the process. 0: 100 */
    int64_t crash_window_ns;          /* 0: 1 minute; the operating system's clock */
    uint32_t walls;                   /* bits of axo_wall (memory.h): walls round the memory of
                                         actors, for debugging. The environment may ask for more:
                                         AXO_WALLS. 0: none */
    uint32_t walls_reserved;          /* 0 */
    const char *walls_class;          /* the name of the class whose actors have them, at most 127
                                         bytes; copied. NULL: all */
    axo_work_fn on_work;              /* AXO_THREADS_LENT: a visit is due. NULL: the program comes
                                         by itself */
    void *work_user;
    axo_kind_allocator kind_allocator; /* instead of `allocator`; zeroed: that one. Half of one, or
                                         both: AXO_EINVAL */
    const axo_remote *remote;         /* carries what is sent to other nodes (remote.h), a copy of
                                         it; send, watch, unwatch and terminated are there, or
                                         stray alone. NULL: nothing is carried, and remote_user is
                                         NULL */
    void *remote_user;
} axo_options;
#define AXO_OPTIONS(...) AXO_INIT(axo_options, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_options_init(axo_options *out)
{
    const axo_options fresh = AXO_OPTIONS();
    *out = fresh;
}
#define AXO_WORKERS_MAX 256

/* The three guardians: they are there from the start to the end of the system. */
typedef enum axo_guardian {
    AXO_GUARDIAN_ROOT = 0,
    AXO_GUARDIAN_USER = 1,
    AXO_GUARDIAN_SYSTEM = 2
} axo_guardian;

/* One actor that is late at a stop. */
typedef struct axo_late {
    axo_ref actor;
    char path[256];       /* its end behind AXO_PATH_CUT if longer */
    const char *doing;    /* "running", "waiting for children", "queued", "suspended", "parked" */
    uint32_t tag;         /* running: tag of its message, if has_tag */
    uint32_t has_tag;
    int64_t since_ns;     /* running: for how long its worker has been at it, about */
} axo_late;

/* Why the system ended, as axo_system_wait returns it. */
typedef struct axo_outcome {
    uint32_t failed;      /* 1: a failure reached the root; 0: it was stopped */
    uint32_t kind;        /* of the failure: an axo_failure_kind */
    int32_t code;
    uint32_t reserved;
    axo_ref actor;        /* who failed first */
    char text[AXO_FAILURE_TEXT_MAX];
} axo_outcome;

/* fork without exec. A child process has a copy of the system's memory and none of its threads: the
 * system stays the parent's. In the child every function that takes an axo_system, or what was made
 * with one (axo_phases, axo_testkit, axo_probe), returns AXO_EFORKED, or NULL, none, false, 0
 * (axo_host_deadline: INT64_MAX, axo_host_fd: -1), and changes nothing. The child may exit; it may
 * not start a system, unless the parent had none when it forked.
 *
 * A child that is forked in a callback must exec or _exit in it. Until then every function that
 * takes a context says the same as above; axo_throw, and a callback that returns to the library,
 * end the child with a line on stderr that names actor, class and message, by abort. (Needs Linux
 * 4.14; contexts know of fork, not of a clone that is called without it.) */

AXO_BEGIN_DECLS

/* Starts a system: its memory, its guardians, its workers.
 *   blocks    until the workers run
 *   owns      copies the options; hooks must stay valid until axo_system_destroy
 *   returns   AXO_OK, AXO_EINVAL, AXO_EVERSION, AXO_ENAME, AXO_ENOMEM, AXO_ETHREAD, AXO_ENOTSUP
 *             (contain), AXO_EFORKED (a child of fork whose parent had a system then)
 *   after     on failure *out is NULL and nothing is left behind */
AXO_API AXO_NODISCARD axo_status axo_system_start(const axo_options *options, axo_system **out);

/* Asks /user to stop and waits until the whole system has terminated, at most `timeout_ns` (0: do
 * not wait; negative: for ever). May be repeated, and called by many threads. Meanwhile the caller
 * runs the actors of the host dispatcher, if no other thread does.
 *   thread    any but a worker's (there: AXO_ECONTEXT; use axo_system_shutdown)
 *   returns   AXO_OK: terminated; AXO_ETIMEDOUT: then up to `late_max` of those that are late are
 *             written to `late` (may be NULL with 0) and their number to *late_count (may be
 *             NULL) */
AXO_API axo_status axo_system_stop(axo_system *system, int64_t timeout_ns, axo_late *late,
                                   uint32_t late_max, uint32_t *late_count);

/* Asks /user to stop and returns. Any thread, actors too; takes no memory. */
AXO_API axo_status axo_system_shutdown(axo_system *system);

/* Waits until the system has terminated, at most `timeout_ns` (negative: for ever). Unlike
 * axo_system_stop it runs no actors of the host dispatcher.
 *   thread    any but a worker's
 *   returns   AXO_OK and *outcome (may be NULL), AXO_ETIMEDOUT, AXO_ECONTEXT on a worker,
 *             AXO_EINVAL */
AXO_API axo_status axo_system_wait(axo_system *system, int64_t timeout_ns, axo_outcome *outcome);

/* Waits until nothing is running or queued: AXO_OK says that there was a moment, between the call
 * and its return, at which no actor had a message to handle, no handler, hook or decider ran, and
 * no spawn, failure, restart, stop or end was under way. What other threads do meanwhile may end
 * that moment before the call returns; what a call has sent that had returned before this one began
 * is seen to, and what ran before that moment has written is seen. An ended system is at rest.
 *
 * A handler in axo_block runs. What does not count, as nobody knows when it goes on: timers and
 * delayed messages that are not due (a reading of the clock just before the moment decides), or
 * that somebody cancels meanwhile; restarts that wait for their delay, and the messages of an actor
 * that is suspended by one; stashed messages; asks whose answer has to come from outside;
 * descriptors whose readiness no worker has taken up yet; and calls that other threads are in,
 * until they return.
 *
 * Nobody pays for it while nobody waits. Who waits looks again by the clock, at least each
 * millisecond. As in axo_system_stop the caller meanwhile runs the actors of the host dispatcher,
 * in a manual system all, and visits a free slot of a system of lent threads, if no other thread
 * does; so the call goes beyond its timeout if a handler there takes longer. Who must not run them
 * calls it with 0.
 *   thread    any but a worker's, and none that is in a callback of any system or in axo_block
 *   blocks    for `timeout_ns` of the operating system's clock at most; 0: it looks once and runs
 *             nothing; negative: for ever
 *   returns   AXO_OK; AXO_ETIMEDOUT: each look has found something; AXO_ECONTEXT; AXO_EINVAL
 *             (NULL); AXO_ETHREAD (no latch); AXO_EFORKED */
AXO_API axo_status axo_system_quiesce(axo_system *system, int64_t timeout_ns);

/* Has `fn` called once when every actor has terminated and before axo_system_wait and
 * axo_system_stop return: the last registered first. It runs on a worker of the system, outside of
 * any actor; a function that waits returns AXO_ECONTEXT there.
 *   thread    any, actors too
 *   owns      `user` must stay valid until `fn` has run
 *   returns   AXO_OK: it will run, exactly once; AXO_ESTOPPING: it is too late, it never will;
 *             AXO_EINVAL, AXO_ENOMEM */
typedef void (*axo_termination_fn)(axo_system *system, void *user);
AXO_API AXO_NODISCARD axo_status axo_system_on_termination(axo_system *system,
                                                           axo_termination_fn fn, void *user);

/* Joins the workers and frees everything. The system must have terminated, and no other thread may
 * be in a call on it or make one after; but one that is in a slot (axo_worker_run) is waited for:
 * it has nothing left to do.
 *   returns   AXO_OK; AXO_ESTOPPING: it has not terminated, nothing changed; AXO_ECONTEXT on a
 *             worker */
AXO_API axo_status axo_system_destroy(axo_system *system);

/* ---- from any thread (axo.h) ----------------------------------------------------------------
 * No registration is needed; blocks only for as long as another outside thread is in the same
 * call, so a signal handler may not call. Sender of these messages is none. Otherwise as the
 * functions of actor.h. */

/* Spawns a child of /user (or of /system, axo_props.system_actor).
 *   returns   as axo_spawn; AXO_ESTOPPING: the guardian is terminating */
AXO_API AXO_NODISCARD axo_status axo_system_spawn(axo_system *system, const axo_props *props,
                                                  axo_ref *out);

/* As axo_send, axo_send_from, axo_send_owned, axo_send_many (axo_system_send_many), axo_stop
 * (axo_system_stop_actor), axo_poison and axo_kill.
 *   thread    any
 *   returns   as they do, never AXO_ECONTEXT; AXO_EINVAL for a NULL system */
AXO_API axo_status axo_system_send(axo_system *system, axo_ref to, uint32_t tag,
                                   const void *payload, size_t size);
AXO_API axo_status axo_system_send_from(axo_system *system, axo_ref from, axo_ref to, uint32_t tag,
                                        const void *payload, size_t size);
AXO_API axo_status axo_system_send_owned(axo_system *system, axo_ref to, uint32_t tag,
                                         void *payload, size_t size, axo_payload_free destroy,
                                         void *user);
AXO_API axo_status axo_system_send_many(axo_system *system, const axo_ref *to, uint32_t count,
                                        uint32_t tag, const void *payload, size_t size,
                                        uint32_t *accepted);
AXO_API axo_status axo_system_stop_actor(axo_system *system, axo_ref ref);
AXO_API axo_status axo_system_poison(axo_system *system, axo_ref ref);
AXO_API axo_status axo_system_kill(axo_system *system, axo_ref ref);

/* Injects a failure: when its turn in the mailbox comes the actor fails as if its receive had, with
 * this code; pre_restart is handed an AXO_INJECTED. For tests of what supervisors do.
 *   kind      AXO_FAILURE_ORDINARY or AXO_FAILURE_FATAL; else AXO_EINVAL
 *   returns   as axo_system_kill */
AXO_API axo_status axo_system_fail(axo_system *system, axo_ref ref, axo_failure_kind kind,
                                   int32_t code);

/* A guardian's reference; axo_ref_none() for a number that is none. */
AXO_API axo_ref axo_system_guardian(axo_system *system, axo_guardian which);

/* The actor's path; as axo_path, for any actor.
 *   returns   as axo_path; AXO_EFORKED */
AXO_API axo_status axo_system_path(axo_system *system, axo_ref ref, char *out, size_t size);

/* Fills *stats. `stats->size` must be set (AXO_STATS).
 *   returns   AXO_OK, AXO_EINVAL, AXO_EVERSION */
AXO_API axo_status axo_system_stats(axo_system *system, axo_stats *stats);

/* The name from the options; it lives as long as the system. NULL for a NULL system. */
AXO_API const char *axo_system_name(axo_system *system);

/* The time of the system's clock (axo_options.clock), in ns from no particular moment; 0 for
 * NULL. */
AXO_API int64_t axo_system_now(axo_system *system);

/* Memory from the system's allocator, aligned for any object, not initialised. It must be given
 * back by axo_system_free, with its size, before axo_system_destroy. Any thread.
 *   returns   NULL: no memory, size 0, or no system */
AXO_API void *axo_system_alloc(axo_system *system, size_t size);
AXO_API void axo_system_free(axo_system *system, void *block, size_t size);

/* Gives memory that nobody uses back to the allocator: after a burst, at the end of a level. That
 * is chunks of AXO_MEMORY_POOL in which no block is used; one message, state or instance's block
 * that lives keeps the chunk of 32 KiB that it lies in, and what an instance holds (memory.h) is
 * its own until it frees it or ends. Records of actors, names' buckets, queues and wheels stay as
 * large as they have been; blocks of more than 4 KiB have gone back already. Actors that have just
 * ended are given back behind a grace period, so a second call, somewhat later, may find more.
 *
 * Each worker keeps some free blocks to itself. It gives them up when it looks up from its actors:
 * one that sleeps is woken for that, one that is in a handler comes to it after some more turns.
 *   thread    any; in a callback, an observer or the allocator: AXO_ECONTEXT
 *   blocks    at most `timeout_ns` (0: not) for workers, then for its own work, by the number of
 *             free blocks. Others send, spawn and end meanwhile; those that want memory may take it
 *             from the allocator. A thread that comes to the host, or to a slot that nobody is in,
 *             while its cache is emptied gets AXO_EBUSY
 *   returns   AXO_OK: all have given up theirs; AXO_ETIMEDOUT: some worker has not, and its blocks
 *             stay this time; AXO_ENOMEM: nothing was given back; AXO_EBUSY: another thread is in
 *             this call; AXO_EINVAL: no system, or timeout_ns is negative; AXO_EFORKED
 *   after     *bytes (may be NULL): how much was given back, with AXO_ETIMEDOUT too; else 0 */
AXO_API axo_status axo_system_trim(axo_system *system, int64_t timeout_ns, uint64_t *bytes);

/* How many workers the default dispatcher has; 1 in a manual system; 0 for NULL. */
AXO_API uint32_t axo_system_workers(axo_system *system);

AXO_END_DECLS

#endif
