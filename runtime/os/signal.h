/* signal.h - signals of the process as descriptors: each listener has one that is readable when its
 * signal has come. The same in the simulator, where nobody waits for such a descriptor.
 *
 * What a handler may touch is the process's, and it cannot be given a pointer: the table of
 * listeners is static, the one that there is beside the words of forks.
 *
 * A listener has an owner, who may leave it for a while: it stays open, and counts what comes,
 * until the owner takes one of that number again, or closes it.
 *
 * A signal's first listener puts the handler in, its last one takes it out, and puts back what was
 * there before; if the program has put in another one meanwhile, that stays. A handler that has
 * found a listener is waited for before its descriptor is closed, so none writes to a number that
 * has become another's. In a child of fork the handler puts back what was there before and lets the
 * signal come again: the parent is not told of it.
 *
 * Orders
 *   [G1] add seq_cst, inside     the handler's, before it looks at the table
 *   [G2] add seq_cst, number     the closer's, before it looks at `inside`: either the handler
 *                                finds the listener gone, or the closer finds it inside
 *   [G3] store release, number   a new listener's descriptor comes before its number */
#ifndef AXO__OS_SIGNAL_H
#define AXO__OS_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

/* Listeners of a process, of all signals. */
#define AXO__SIGNAL_LISTENERS 64

typedef enum axo__os_signal_answer {
    AXO__SIGNAL_OK = 0,
    AXO__SIGNAL_INVALID = 1, /* no such signal, or none that may be listened to */
    AXO__SIGNAL_FULL = 2,
    AXO__SIGNAL_REFUSED = 3, /* the system has no descriptor left */
    AXO__SIGNAL_FORKED = 4   /* a child of a process that listens */
} axo__os_signal_answer;

/* Opens a listener; any thread. *id, not 0, is no other listener's ever. `owner` is not looked
 * at. */
axo__os_signal_answer axo__os_signal_open(int number, void *owner, int *fd, uint32_t *id);

/* One that the owner has left, with what has come since; false: there is none of that number. */
bool axo__os_signal_again(int number, const void *owner, int *fd, uint32_t *id);

/* The owner leaves a listener; false: it has before, and may not stay away `still`. Nothing has
 * happened then. */
bool axo__os_signal_leave(uint32_t id, bool still);

/* NULL: the listener is closed, or the parent's of a fork. */
void *axo__os_signal_owner(uint32_t id);

/* Closes a listener and its descriptor; one that is closed already, and in a child of fork: nothing
 * happens. Not in a handler of a signal. */
void axo__os_signal_close(uint32_t id);

/* The listener with this descriptor; 0: none. */
uint32_t axo__os_signal_find(int fd);

/* How often the signal has come since the last call, and clears that. */
uint64_t axo__os_signal_take(int fd);

#endif
