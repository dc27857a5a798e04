/* contain.h - what a system keeps of crashes: how many it may contain, and the last that it has.
 *
 * Orders
 *   [K1] cas acq_rel, taken      the times are changed by one thread at a time, in a signal handler
 *   [K2] store release, taken    publishes them to the next [K1]
 */
#ifndef AXO__SCHED_CONTAIN_H
#define AXO__SCHED_CONTAIN_H

#include <axo/crash.h>

#include "base/atomic.h"
#include "mem/alloc.h"
#include "os/os.h"

/* Times that a budget remembers at most. */
#define AXO__CRASHES_MAX 65536

typedef struct axo__contain {
    int64_t *times;     /* of the last `max` crashes, round and round; 0: there were not so many */
    uint32_t max;
    uint32_t at;        /* the oldest of them */
    int64_t window_ns;
    axo__a32 taken;     /* 1: a handler is at the four above */
    axo__os_mutex mutex;
    uint64_t count;     /* under the mutex, as the rest: crashes contained, ever */
    axo_crash kept[AXO_CRASHES_KEPT];
} axo__contain;

/* NULL: no memory. */
axo__contain *axo__contain_make(axo__heap *heap, uint32_t max, int64_t window_ns);
void axo__contain_free(axo__heap *heap, axo__contain *contain);

/* Takes a crash at the time `now` from the budget; false: it is spent. For signal handlers. */
bool axo__contain_spend(axo__contain *contain, int64_t now);

/* Keeps a crash; not in a handler. Copies those that are kept, latest first; the result is their
 * number, ever. */
void axo__contain_note(axo__contain *contain, const axo_crash *crash);
uint64_t axo__contain_read(axo__contain *contain, axo_crash *out, uint32_t max);

#endif
