/* poll.h - the port's contract for descriptors: which of many are ready, as edges; and a thread
 * that waits for them in the place of its parker.
 *
 * linux_poll.c keeps it with epoll; sim_poll.c with descriptors that exist in the simulator only.
 *
 * A thread that `polls` waits at its set. A waker that has moved the parker's word looks whether
 * the thread is `polling`, and then ends that wait, too; the thread says `polling` before it looks
 * at its ticket. Both are read-modify-writes of one word, so the one that comes second has the
 * other's news: the thread finds its ticket out of date, or the waker finds it polling.
 *
 * Orders
 *   [P4] add acq_rel, polling   the thread's, before its look at the ticket; the waker's, after it
 *                               has moved the parker's word
 */
#ifndef AXO__OS_POLL_H
#define AXO__OS_POLL_H

#include "os/os.h"

/* What a descriptor is ready for; the bits of <axo/io.h>. */
enum {
    AXO__POLL_IN = 1,
    AXO__POLL_OUT = 2,
    AXO__POLL_HUP = 4,
    AXO__POLL_ERR = 8,
    AXO__POLL_URGENT = 16
};

/* Found at once, at most. */
#define AXO__POLL_FOUND_MAX 64

/* The cookie of no descriptor. */
#define AXO__POLL_NONE UINT64_MAX

typedef struct axo__os_found {
    uint64_t cookie;
    uint32_t events; /* AXO__POLL_ bits */
} axo__os_found;

/* A set of descriptors. `found` and `count` are of the one thread that waits. */
struct axo__os_poll {
    int fd;          /* readable while something is found, and while the event of init is set */
    int wake;        /* the event descriptor that ends a wait */
    bool own_wake;   /* `wake` is the set's */
    axo__a32 coarse; /* 1: the kernel has no wait of nanoseconds */
    uint32_t count;
    axo__os_found found[AXO__POLL_FOUND_MAX];
};

typedef enum axo__os_poll_answer {
    AXO__POLL_OK = 0,
    AXO__POLL_CLOSED = 1,   /* no such descriptor is open */
    AXO__POLL_REFUSED = 2,  /* it is of a kind that cannot be waited for */
    AXO__POLL_TWICE = 3,    /* it is in the set */
    AXO__POLL_FULL = 4,     /* the user has too many */
    AXO__POLL_NO_MEMORY = 5,
    AXO__POLL_INVALID = 6   /* the set itself */
} axo__os_poll_answer;

/* Makes an empty set. With `event`, the set's descriptor is readable while that is set. false: the
 * system refused a descriptor. */
bool axo__os_poll_init(axo__os_poll *poll, const axo__os_event *event);
void axo__os_poll_fini(axo__os_poll *poll);

/* Adds a descriptor: from now on each change to ready is found with the cookie, and what it is
 * ready for now; OUT only with `out`, since the kernel tells of room after each read of some kinds'
 * peers. */
axo__os_poll_answer axo__os_poll_add(axo__os_poll *poll, int fd, uint64_t cookie, bool out);

/* OUT too from now on, and what it is ready for now; nothing if the descriptor is not in the set,
 * as its number was closed meanwhile. */
void axo__os_poll_add_out(axo__os_poll *poll, int fd, uint64_t cookie);

/* Takes one out; false: it was not in the set, as its number was closed meanwhile. */
bool axo__os_poll_remove(axo__os_poll *poll, int fd);

/* Waits until something is found, a waker has come or the clock passes `deadline`; 0: not at all.
 * Fills `found`. May come early. */
void axo__os_poll_wait(axo__os_poll *poll, int64_t deadline);

/* Ends the wait of now, or the next one. */
void axo__os_poll_wake(axo__os_poll *poll);

/* Of `events`, IN and OUT, what a descriptor is ready for now; with HUP and ERR. */
uint32_t axo__os_poll_look(int fd, uint32_t events);

/* Closes a descriptor of the program's. */
void axo__os_close(int fd);

/* ---- a thread that waits ---- */

/* The wait of a thread whose step has said PARK. Only for the port's own loops. */
static inline void axo__os_thread_wait(axo__os_thread *thread)
{
    if (__builtin_expect(!thread->polls, 1)) {
        axo__os_parker_wait(&thread->parker, thread->ticket, thread->deadline);
        return;
    }
    (void)axo__a32_add_acq_rel(&thread->polling, 1); /* [P4] */
    bool woken = axo__os_parker_ticket(&thread->parker) != thread->ticket;
    axo__os_poll_wait(axo__aptr_load_relaxed(&thread->poll), woken ? 0 : thread->deadline);
    (void)axo__a32_add_acq_rel(&thread->polling, UINT32_MAX); /* [P4] */
}

/* Wakes a thread that waits, or will wait, with a ticket taken before this call. A set at which it
 * has waited once is there as long as the thread's record. */
static inline void axo__os_thread_wake(axo__os_thread *thread)
{
    axo__os_parker_wake(&thread->parker);
    if (__builtin_expect(axo__a32_add_acq_rel(&thread->polling, 0) != 0, 0)) /* [P4] */
        axo__os_poll_wake(axo__aptr_load_relaxed(&thread->poll));
}

#endif
