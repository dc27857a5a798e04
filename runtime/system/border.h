/* border.h - a function of the program that comes back in another process.
 *
 * base/border.h guards the ways out of such a function that are no return; this file has the end of
 * the process for all of them, with the one line that says where it was. */
#ifndef AXO__SYSTEM_BORDER_H
#define AXO__SYSTEM_BORDER_H

/* The function behind core->forked: prints which callback has forked and returned in the child, and
 * ends that process. The child has the worker's stack and none of the other threads, so nothing in
 * it could go on. */
void axo__border_forked(void) __attribute__((noreturn, cold));

#endif
