/* crash.h - crashes of actors as failures: what is contained, what is not.
 *
 * With axo_options.contain and .on_crash = AXO_CRASH_FAILS in its class, a crash of an actor's
 * callback is a failure of kind AXO_FAILURE_CRASH, decided as any other, if all of this holds: the
 * signal was raised by an instruction of that callback or by its own call of abort, assert, raise;
 * every function between the runtime's call and that instruction belongs to the program, to the
 * module of the class or to one named by axo_trust, or is one of libc's that hold nothing (string
 * and memory functions, qsort, bsearch), outside of what allocates for them, and of the program's
 * signal handlers; it is not between axo_guard_begin and axo_guard_end; no robust mutex is held,
 * and in a program with axo-lockcount.o no lock at all; it has unwind tables; the crash budget is
 * not spent. Guaranteed then: the runtime's own state is as after axo_throw at that place; every
 * message is accounted for; the instance's memory and clean-ups go; no hook of the crashed instance
 * is called; the same reference and mailbox go on.
 *
 * Else the process ends as if axo were not there (the handler that was installed before, or the
 * default action at the very instruction: the core shows it), after one line on standard error that
 * says why it could not be contained and, if it was a worker, which actor.
 *
 * Not guaranteed: that nothing was overwritten before the crash; that what was taken other than
 * through `ctx` (malloc, descriptors, locks) is given back; that destructors of C++ frames run;
 * data that actors share without a guard. A crash budget (crashes_max in crash_window_ns, default
 * 100 in a minute) bounds how long a program lives on with such damage.
 *
 * In particular. A crashed instance is not resumed: AXO_RESUME restarts it, and says so in the log.
 * Its children are stopped, all of them, before the next instance is made. A crash in pre_restart,
 * in post_stop or in a clean-up of axo_defer is a line of the log, and what follows it is done. A
 * decider's is a failure of the parent whose it is, also when it decides about a crash, and the
 * child goes with it; axo_system_crashes has both. A destructor, an observer or an allocator is no
 * callback: its crash ends the process. The failure's code is the signal's number, its text says
 * where. A handler that is installed after the system's start comes first, and has to call the one
 * that it has found (axo_contain_state). Where the program and a module of it have a copy of the
 * library each, a crash is contained by the copy whose worker it is on, and of one that is not
 * there is one line; a module whose handlers another one still calls is never unloaded. A stack
 * that overflows is a crash as long as it has no more than two million frames, and none is larger
 * than the MiB that lies below the stacks of the library's own threads, and may not be touched;
 * below a thread of the program's lies what the program has put there. An allocator that is linked
 * into the program is the program's code: its malloc, free and the like are not left, but where
 * they end with a jump to an inner function a crash in that one is contained, whatever lock it
 * holds; one in a library of its own is no such risk. A payload that axo_send, axo_send_from or
 * axo_reply cannot read is a crash of the callback that has called them; any other bad argument
 * ends the process.
 *
 * Locks. A robust mutex (pthread_mutexattr_setrobust) that the thread holds is seen. Others are
 * seen in a program that is linked with axo-lockcount.o, which is installed beside the library:
 *
 *     cc main.c $(pkg-config --variable=libdir axo)/axo-lockcount.o $(pkg-config --libs axo)
 *
 * It stands in the place of the C library's functions and counts what each thread holds: mutexes,
 * locks for reading and writing, spin locks, those of C11 and C++, and files (flockfile), for the
 * program, its libraries and modules that are loaded later. A crash under one of them ends the
 * process, and no watchdog interrupts there. Taking a lock and giving it back costs 1.5 ns more.
 * Not counted are semaphores, locks made of atomics, and those of a module that was loaded to look
 * into its own libraries first; nothing is, where libaxo itself comes by dlopen. A lock that one
 * thread takes and another gives back counts for good.
 *
 * Loops that never end. A class with a watchdog_ms, of such a system and with the same on_crash,
 * has callbacks that run for longer interrupted: that is a failure of kind AXO_FAILURE_STUCK, with
 * watchdog_ms as its code and where it was as its text, and all that is said above of a crash holds
 * for it, the budget too. A callback that runs for less never fails, whatever has run before it.
 * One that runs for longer fails if it is in its own code when it has run for twice as long (and
 * some 50 ms, and what the operating system takes), or in a function of libc's that holds nothing
 * and that its own code has called. One that is elsewhere then (in a function of axo, of libc, of
 * another module, in a system call, in axo_block, in a guard, with a lock that is seen), or for
 * which the budget is spent, goes on and is tried again, a thousand times a second at first, once a
 * second in the end; the line of the log that it holds its worker, at the rate of
 * axo_options.stuck_ns, says why. Of what is being tried, system calls that SA_RESTART does not
 * continue may end with EINTR. What a callback holds when it is interrupted stays held: code that
 * takes a lock of its own, or changes what others share, stands between axo_guard_begin and
 * axo_guard_end. For a decider the classes of the parent and of its children need a watchdog: it
 * runs in the turn of either.
 *
 * Under valgrind's memcheck crashes are contained and loops interrupted; it reports each bad
 * access, and nothing that needs a suppression, unless they come in handlers of the program's that
 * have the same stack, or clang has compiled the library: then also what a watchdog's handler does.
 * What it has in the place of strlen, memcpy and the like is in a module of its own, so a crash
 * there ends the process.
 *
 * Only the default dispatcher's own threads are looked at: a manual system has none, and lent ones
 * are the program's. The signal is SIGURG: a handler of the program's that is there before the
 * system's start gets all others; with one that comes later no callback is interrupted, and the
 * line says so.
 *
 * Example: test/example/crashy_server.c. */
#ifndef AXO_CRASH_H
#define AXO_CRASH_H

#include <stdint.h>

#include <axo/actor.h>
#include <axo/supervision.h>

/* What was done at axo_crash.address. */
typedef enum axo_crash_access {
    AXO_CRASH_AT = 0,    /* it is where it happened, or nothing */
    AXO_CRASH_READ = 1,
    AXO_CRASH_WRITE = 2,
    AXO_CRASH_FETCH = 3  /* a call or a jump to it */
} axo_crash_access;

/* Who is told of a crash first. */
typedef enum axo_containment {
    AXO_CONTAIN_NONE = 0,  /* not the library: the system contains nothing */
    AXO_CONTAIN_FIRST = 1, /* the library */
    AXO_CONTAIN_BEHIND = 2 /* for one of the signals another handler, installed later: what it does
                              not pass on is not contained */
} axo_containment;

/* Frames that are kept of a crash, from the innermost on, and crashes that a system remembers. */
#define AXO_CRASH_FRAMES 16
#define AXO_CRASHES_KEPT 64

/* A crash that was contained, or a callback that was interrupted. */
typedef struct axo_crash {
    axo_ref actor;
    uint32_t instance;
    uint32_t site;        /* an axo_site; pre_restart, post_stop, a clean-up: AXO_SITE_NONE */
    uint32_t tag;         /* of the message that was being handled, if has_tag */
    uint32_t has_tag;
    int32_t signal;       /* SIGURG: it was interrupted */
    int32_t code;         /* si_code */
    uint32_t access;      /* an axo_crash_access */
    uint32_t reserved;    /* 0 */
    uint64_t address;     /* si_addr */
    uint64_t pc;
    uint32_t depth;       /* frames up to the library's call of the callback */
    uint32_t frame_count; /* of them kept */
    uint64_t frames[AXO_CRASH_FRAMES]; /* addresses in the program: the crash's, then returns */
    int64_t when_ns;      /* the operating system's monotonic clock */
} axo_crash;

AXO_BEGIN_DECLS

/* The crash behind a failure of kind AXO_FAILURE_CRASH or AXO_FAILURE_STUCK, or whose root_kind is
 * one of them: for a callback that was handed the failure, and until it returns.
 *   thread    only the callback's
 *   returns   NULL: none, or the system's reserve of texts was spent (axo_options.failure_texts) */
AXO_API const axo_crash *axo_failure_crash(const axo_failure *failure);

/* Copies the last crashes of a system that were contained, and callbacks that were interrupted,
 * latest first, at most `max`.
 *   thread    any
 *   blocks    for as long as another thread copies
 *   returns   how many there have been, which may be more than `max` and AXO_CRASHES_KEPT; 0 for a
 *             NULL system, for one without axo_options.contain, and for NULL with a `max` */
AXO_API uint64_t axo_system_crashes(axo_system *system, axo_crash *out, uint32_t max);

/* Whether crashes come to the library's handlers first, as the signals are now. A system that
 * starts behind another handler says so in the log, and so does the line of a crash that is not
 * contained.
 *   thread    any
 *   returns   an axo_containment; AXO_CONTAIN_NONE for a NULL system */
AXO_API uint32_t axo_contain_state(axo_system *system);

/* Between axo_guard_begin and axo_guard_end a crash of this callback ends the process, and no
 * watchdog interrupts it: the code there holds a lock or changes what others share. They nest; what
 * is open when the callback ends is closed. Nothing happens for a bad context. */
AXO_API void axo_guard_begin(axo_ctx *ctx);
AXO_API void axo_guard_end(axo_ctx *ctx);

/* Code of the module (a shared object) at `address` counts as the actors' own: it holds no lock
 * over a callback and keeps nothing half-done that others see. Process-wide, for good: the module
 * must not be unloaded.
 *   thread    any
 *   returns   AXO_OK; AXO_EINVAL: no module, libc, the loader, axo; AXO_ENOMEM: 64 are trusted;
 *             AXO_ENOTSUP: axo_options.contain is not possible here */
AXO_API axo_status axo_trust(const void *address);

AXO_END_DECLS

#endif
