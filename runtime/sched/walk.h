/* walk.h - whether a crash may be contained: the stack, from the instruction that crashed up to the
 * library's call of the callback. For signal handlers, on a stack of their own.
 *
 * The library's code is known by a section of its own, in which the Makefile puts all of it; its
 * calls of callbacks by a note in the unwind tables (AXO_CALLBACK_BORDER); the program's by
 * the modules that the dynamic linker has loaded; libc's functions by the starts of their unwind
 * entries, so no symbols are needed.
 */
#ifndef AXO__SCHED_WALK_H
#define AXO__SCHED_WALK_H

#include <stdlib.h>

#include <axo/crash.h>

#include "sched/pool.h"

/* Whether crashes can be contained in this build at all. */
#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && \
    defined(__GCC_HAVE_DWARF2_CFI_ASM) && !defined(AXO_SIM) && !defined(AXO_TSAN)
#if __GLIBC_PREREQ(2, 35)
#define AXO__WALKS 1
#endif
#endif
#ifndef AXO__WALKS
#define AXO__WALKS 0
#endif

/* Why a crash is not contained: a word for each, and what a line says of it. */
#define AXO__VERDICT_LIST(X)                                                                       \
    X(CONTAINED, "it is")                                                                          \
    X(NOT_WORKER, "not on a worker of a system with axo_options.contain")                          \
    X(NOT_USER, "no callback of an actor was running")                                             \
    X(CLASS, "the actor's class does not ask for it (on_crash)")                                   \
    X(SENT, "the signal was sent from outside")                                                    \
    X(GUARDED, "within a guard, or a destructor or an observer")                                   \
    X(HELD, "a robust mutex is held")                                                              \
    X(LOCKED, "a lock is held")                                                                    \
    X(LIMIT, "the crash budget is spent")                                                          \
    X(RUNTIME, "in a function of axo")                                                             \
    X(LIBRARY, "in a function of libc that may hold a lock or change what others see")             \
    X(FOREIGN, "in a module that is neither the program's nor the class's nor trusted")            \
    X(UNWIND, "the stack cannot be walked to the callback")                                        \
    X(HANDLER, "SIGURG has another handler now")

typedef enum axo__verdict {
#define AXO__VERDICT_ENUM(word, text) AXO__VERDICT_##word,
    AXO__VERDICT_LIST(AXO__VERDICT_ENUM)
#undef AXO__VERDICT_ENUM
} axo__verdict;

/* What is known of the stack that crashed. */
typedef struct axo__walked {
    uintptr_t pc;
    bool sent;   /* by a call of its own: raise, abort */
    bool writes; /* it was a write that crashed */
    bool interrupted; /* it has not crashed: sched/endless.h */
    const void *own; /* an address in the class's module */
} axo__walked;

/* What a line says of a verdict. */
const char *axo__verdict_text(uint32_t verdict);

/* Looks up what a walk needs: once, before the first. false: none is possible in this program. */
bool axo__walk_ready(void);

/* Walks, and notes frames in `crash`. */
axo__verdict axo__walk(const axo__walked *from, axo_crash *crash);

axo_status axo__walk_trust(const void *address);

/* The list of robust mutexes that this thread holds, which the C library has told the kernel of
 * when the thread began. Of others nobody has one. NULL: there is none. */
const struct robust_list *axo__walk_held(void);

/* Whether such a list has any. By its thread; for signal handlers. */
bool axo__walk_holds(const struct robust_list *held);

/* Whether this thread holds a lock of which axo-lockcount.o knows (tools/lockcount), if the program
 * has that. For signal handlers. */
bool axo__walk_locks(void);

#endif
