/* process.h - actors each of whose instances is a process. A library of its own, libaxo-process
 * (pkg-config: axo-process), on libseccomp: libaxo needs it not. <axo/axo.h> does not include it. A
 * whole program is test/example/process.c.
 *
 *     int main(int argc, char **argv)
 *     {
 *         axo_process_main(argc, argv, classes, 1);      returns but in the processes of actors
 *         ...
 *         axo_zygote *zygote;
 *         status = axo_zygote_start(system, NULL, &zygote);
 *         axo_process recipe = AXO_PROCESS(.zygote = zygote);
 *         axo_props props = AXO_PROPS(.cls = &parser, .args = &settings,
 *                                     .args_size = sizeof settings);
 *         status = axo_system_process_spawn(system, &recipe, &props, &ref);
 *
 * It is the same class, the same reference, the same messages, supervision and hooks. Only its
 * instances live elsewhere: each in a process of its own, which a zygote forks and the operating
 * system keeps apart. Whatever it does to its memory, it is a failure of this actor and nobody's
 * else: of kind AXO_FAILURE_CRASH, with the signal as its code, or AXO_FAILURE_STUCK (watchdog_ns).
 * No hook of such an instance runs, as none does of one that has crashed (crash.h).
 *
 * In the process the instance is an actor of a system of its own, with one thread. What it sends to
 * references from outside goes to them; what is sent to it goes there, each payload as bytes, owned
 * ones too. The message that is handled when the process dies is the one that the instance has
 * failed under (quarantine, answer_failed); those behind it are handled by the next instance, in
 * order. None is handled twice, whoever restarts it; of a process that has spoilt what says so, the
 * oldest message counts as the one that it had in hand. Behind others that the process has put
 * aside (axo_stash) it is dropped, and its sender is not told.
 *
 *   what fails                                kind (kinds of the table of supervision.h otherwise)
 *   a signal ends it                          CRASH, the signal
 *   it exits with another status than 0       CRASH, the status
 *   it exits with 0                           none: it ends, as by axo_stop_self
 *   the watchdog                              STUCK
 *   it does not start: any of these, a        INIT; of a later instance POST_RESTART
 *   deadline, a zygote that does not answer
 *   its shared memory has what cannot be      CRASH, "spoilt ring"
 *   a payload of more than half a ring        ORDINARY, AXO_ETOOBIG
 *   its keeper was stopped, its zygote        CRASH
 *   has ended
 *   it fails with AXO_FAILURE_FATAL, and      CRASH, its code and text; it is killed
 *   is confined
 *
 * A process says itself of what kind its failures are. AXO_FAILURE_FATAL is one of them unless it
 * is confined, and the default decider escalates that, up to the end of the system: for a process
 * that is not trusted set `confine`, or a decider that does not escalate.
 *
 * How it differs from an actor of this process:
 *
 *   - axo_self is a reference that only its own process knows; as a sender it becomes the one that
 *     others know, which axo_process_self is, to be put into payloads. So are its children's as
 *     senders: they live in the process, are seen from nowhere else, and end with it, those too
 *     that a pre_restart keeps. So do timers, and messages that it sends to axo_self.
 *   - axo_instance counts in its process: 1, or 2 for one that a restart has made.
 *   - axo_watch, axo_stop, axo_ask and the registry are those of its own system. A message that it
 *     sends has tags below AXO_TAG_SERVICES, and its status does not say what becomes of it: a
 *     mailbox that refuses it drops it.
 *   - It is kept from the memory of others, not from sending: it may make up references, as
 *     receiver and as sender, and feign progress to its watchdog.
 *   - A pill, a kill and a stop overtake the messages that are on their way to the process. Those
 *     are dead letters then, and those that it has handled behind one that it keeps (axo_stash),
 *     and perhaps one that it has handled just now.
 *   - Each actor has a child here, "keeper", on the blocking dispatcher while its process starts
 *     and ends. Its strategy is the library's: axo_props.strategy is NULL.
 *   - A payload that it takes over (axo_message_take) counts as handled when it is freed. */
#ifndef AXO_PROCESS_H
#define AXO_PROCESS_H

#include <axo/system.h>

/* Bytes of a ring, each way; and the largest. */
#define AXO_PROCESS_RING (AXO_CAST(size_t, 256) * 1024)
#define AXO_PROCESS_RING_MAX (AXO_CAST(size_t, 1) << 30)
/* How long it may take to start and to stop. */
#define AXO_PROCESS_START_NS INT64_C(10000000000)
#define AXO_PROCESS_STOP_NS INT64_C(10000000000)
/* Spare processes at most. */
#define AXO_PROCESS_SPARES_MAX 64

/* What a process is kept from when it has started; bits. Behind them nothing is gained back.
 *
 * They are set right behind construct and the hook that follows it, so a message that the hook has
 * sent to axo_self is handled behind them. They are of a thread, and of those that it starts: a
 * process that has other threads then is refused (a start that fails, code EBUSY), unless they end
 * within a second. So is each one under ThreadSanitizer, which has a thread of its own. Processes
 * that construct or the hook has forked stay outside. */
#define AXO_CONFINE_SYSCALLS UINT32_C(1) /* all system calls but those that an actor needs which
                                            computes, waits and takes memory: another one kills
                                            it, SIGSYS (seccomp) */
#define AXO_CONFINE_FILES UINT32_C(2)    /* the file system: nothing can be opened (Landlock) */

/* What forks the processes: a program that has been started anew, so that it is small and has one
 * thread. It belongs to a system and ends with it. */
typedef struct axo_zygote axo_zygote;

typedef struct axo_zygote_settings {
    size_t size;         /* sizeof(axo_zygote_settings), set by the macro below */
    const char *program; /* a path; its main calls axo_process_main before anything else. NULL:
                            this program, as /proc/self/exe: under valgrind, where that is
                            valgrind, it does not start (AXO_ESYSTEM) */
    uint32_t spares;     /* processes that are kept ready; at most AXO_PROCESS_SPARES_MAX */
    uint32_t reserved;   /* 0 */
} axo_zygote_settings;
#define AXO_ZYGOTE_SETTINGS(...) AXO_INIT(axo_zygote_settings, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_zygote_settings_init(axo_zygote_settings *out)
{
    const axo_zygote_settings fresh = AXO_ZYGOTE_SETTINGS();
    *out = fresh;
}

/* A recipe for the process of an actor. */
typedef struct axo_process {
    size_t size;         /* sizeof(axo_process), set by the macro below */
    axo_zygote *zygote;  /* whose program has the class; not NULL */
    size_t ring_bytes;   /* memory for what is on its way, each way: rounded up to a power of two
                            and to pages; 0: AXO_PROCESS_RING; at most AXO_PROCESS_RING_MAX */
    uint32_t confine;    /* AXO_CONFINE_SYSCALLS | AXO_CONFINE_FILES, behind construct and the hook
                            that follows it */
    uint32_t stash_max;  /* messages that may wait for the process, those on their way included; one
                            more is a failure, AXO_EFULL. 0: no bound */
    size_t memory_max;   /* bytes of address space beyond what the program has before construct,
                            by setrlimit: memory that is mapped and never touched counts, and no
                            control group is asked for. 0: no bound */
    int64_t watchdog_ns; /* so long it may be at one thing; looked at four times in that time, by
                            the system's clock. 0: no watchdog; at least 1 ms */
    int64_t start_ns;    /* so long a start may take; 0: AXO_PROCESS_START_NS. The operating
                            system's clock, as the next */
    int64_t stop_ns;     /* so long its last hooks may take before it is killed; 0:
                            AXO_PROCESS_STOP_NS */
} axo_process;
#define AXO_PROCESS(...) AXO_INIT(axo_process, __VA_ARGS__)
/* As the macro, for C++ before C++20 (init.h). */
static inline void axo_process_init(axo_process *out)
{
    const axo_process fresh = AXO_PROCESS();
    *out = fresh;
}

AXO_BEGIN_DECLS

/* The first thing that main of a zygote's program does. In a zygote, and in the processes that it
 * forks, it never returns; else it does nothing.
 *   classes   those that its processes may be actors of, known by their names; NULL with 0 */
AXO_API void axo_process_main(int argc, char **argv, const axo_class *const *classes,
                              uint32_t count);

/* Starts a zygote for a system, which ends it, and frees it, before axo_system_wait and
 * axo_system_stop return. One that dies meanwhile takes its processes with it, which are failures
 * of their actors, and is started again.
 *   settings  NULL: this program, no spares; copied
 *   blocks    until it says that it is there
 *   returns   AXO_OK; AXO_EINVAL; AXO_EVERSION; AXO_ESYSTEM: the program cannot be started (errno),
 *             or ends at once; AXO_ETIMEDOUT: it does not say so within AXO_PROCESS_START_NS: it
 *             calls no axo_process_main; AXO_ENOMEM; AXO_ETHREAD; and as axo_system_spawn
 *   after     on failure *out is NULL and nothing is left */
AXO_API AXO_NODISCARD axo_status axo_zygote_start(axo_system *system,
                                                  const axo_zygote_settings *settings,
                                                  axo_zygote **out);

/* Spawns an actor whose instances are processes; otherwise as axo_spawn and axo_system_spawn.
 *   props     `cls` has a name, of at most 127 bytes, by which the zygote's program knows it; its
 *             callbacks are not called here. `args` with a size, which is copied, or NULL;
 *             `strategy` NULL
 *   returns   as axo_spawn and axo_system_spawn; AXO_EINVAL (recipe, props as above, a zygote of
 *             another system); AXO_EVERSION; AXO_ENOTSUP: the kernel cannot confine it so */
AXO_API AXO_NODISCARD axo_status axo_process_spawn(axo_ctx *ctx, const axo_process *recipe,
                                                   const axo_props *props, axo_ref *out);
AXO_API AXO_NODISCARD axo_status axo_system_process_spawn(axo_system *system,
                                                          const axo_process *recipe,
                                                          const axo_props *props, axo_ref *out);

/* In a process: the reference of its actor that others know. Elsewhere axo_self. */
AXO_API axo_ref axo_process_self(axo_ctx *ctx);

AXO_END_DECLS

#endif
