/* ending.h - the functions of axo_system_on_termination, which are called when every actor has
 * terminated (SH-01..SH-03).
 *
 * Roles      add: any thread.  run: the one worker that ends the system.
 * A function is either in the list when `run` takes the list, and runs once, or its adding is
 * refused: both happen under the mutex.
 */
#ifndef AXO__SYSTEM_ENDING_H
#define AXO__SYSTEM_ENDING_H

#include <axo/system.h>

#include "mem/alloc.h"
#include "os/os.h"

typedef struct axo__last_call {
    struct axo__last_call *next;
    axo_termination_fn fn;
    void *user;
} axo__last_call;

typedef struct axo__ending {
    axo__os_mutex mutex;   /* guards what follows */
    axo__last_call *calls; /* the last function added first (SH-02) */
    bool over;
} axo__ending;

bool axo__ending_init(axo__ending *ending);
void axo__ending_fini(axo__ending *ending);

/* Adds a function. AXO_OK, AXO_ESTOPPING (the list was taken already), AXO_ENOMEM. */
axo_status axo__ending_add(axo__ending *ending, axo__heap *heap, axo_termination_fn fn,
                           void *user);

/* Takes the list and calls its functions, without the mutex: a function may wait for another thread
 * that adds one. Once for a system. */
void axo__ending_run(axo__ending *ending, axo__heap *heap, axo_system *system);

#endif
