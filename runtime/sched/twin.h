/* twin.h - another copy of the library in this process, as of a program with the static one and a
 * module with the shared one: how its handler of crashes is known, and what is said to it.
 *
 * Two copies know nothing of each other but what a signal's disposition holds. So the handler
 * begins with a mark, and behind it stand, a step each from its start, the same handler for a crash
 * of which another copy has something to say, and a call for when another copy has left. Who finds
 * such a handler in the place of one before knows that the crash may be contained there, and that
 * there is one line to say of it, not one for each copy.
 */
#ifndef AXO__SCHED_TWIN_H
#define AXO__SCHED_TWIN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Who has had a crash before this copy; the number of steps from the handler's start. */
typedef enum axo__twin_how {
    AXO__TWIN_NONE,  /* no copy, or one that has no system */
    AXO__TWIN_ASKED, /* a copy on whose worker it is not; nothing is said yet */
    AXO__TWIN_SAID   /* a copy that has said why it is not contained */
} axo__twin_how;

/* The handler, as a disposition holds it: it jumps to axo__trap_handle. */
void axo__twin_entry(int number, siginfo_t *info, void *context)
    __attribute__((visibility("hidden")));

/* Whether a disposition is a copy's, this one's too. For signal handlers, too. */
bool axo__twin_is(const struct sigaction *action);

/* Calls another copy's handler. It does not return if the crash is contained there. */
void axo__twin_pass(const struct sigaction *before, axo__twin_how how, int number, siginfo_t *info,
                    void *context);

/* Another copy's handlers are in their places again: it takes them out if it has no system any
 * more. No mutex is held. */
void axo__twin_left(const struct sigaction *before);

/* A handler of this copy stays behind another one, which calls it: the module that the copy lies in
 * is never unloaded. No mutex is held. */
void axo__twin_stay(void);

#endif
