/* call.h - a thread that is no worker waits for an actor: the meeting place of the two.
 *
 * The block is shared by the waiting thread, by the message that brings it to the actor, and by the
 * actor's instance; `users` counts these owners and the last one frees the block. The owner that
 * closes the call first has decided how it went; after that no thread writes the result, and only
 * the waiting thread reads it. A mutex and a condition variable suffice: a waiting thread sleeps in
 * the kernel anyway. */
#ifndef AXO__PATTERN_CALL_H
#define AXO__PATTERN_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "pattern/wait.h"

typedef struct axo__call {
    axo_system *system;
    axo__wait wait;        /* the target, its request and the deadline; never changed */
    struct timespec until; /* when the thread gives up, fixed at the opening */
    pthread_mutex_t mutex;
    pthread_cond_t change;
    uint32_t users;      /* owners of the block; guarded by the mutex, as all below */
    bool taken;          /* an instance is an owner, or was */
    /* Set once, with status, closed_ns and the answer. */
    bool closed;
    int64_t closed_ns;   /* when it was closed, by axo__wait_thread_now */
    axo_status status;   /* once closed */
    axo_message answer;  /* once closed with AXO_OK: payload from axo_system_alloc, */
    axo_owned owned;     /* or this handed-over one */
    axo_verdict failed;  /* once closed with AXO_EFAILED: its code and text, and nothing else */
} axo__call;

/* Whether the calling thread may wait for this system here and now: AXO_OK, AXO_EINVAL,
 * AXO_ECONTEXT on a worker, AXO_ESTOPPING when the system has terminated. */
axo_status axo__call_allowed(axo_system *system);

/* Makes a call and its actor, a child of /system. On failure nothing is left. */
axo_status axo__call_open(axo_system *system, const axo__wait *wait, axo__call **out,
                          axo_ref *actor);

/* Waits for the actor, or gives up at the deadline; afterwards the call is closed. The result says
 * how it went. */
axo_status axo__call_wait(axo__call *call, axo_ref actor);

/* Waits until the call's deadline, and does not give up. The result says whether the call is
 * closed. */
bool axo__call_await(axo__call *call);

/* When the call was closed. */
int64_t axo__call_closed_ns(axo__call *call);

/* Closes the call with `status`, without waiting, and stops its actor. False: the call was closed
 * already. */
bool axo__call_give_up(axo__call *call, axo_ref actor, axo_status status);

/* Moves the answer of a call that ended with AXO_OK to `out`. */
void axo__call_take_answer(axo__call *call, axo_asked *out);

/* Adds what the target has failed with, of a call that ended with AXO_EFAILED. */
void axo__call_take_failure(const axo__call *call, axo_verdict *out);

/* Frees what axo__call_take_answer gave. */
void axo__call_free_answer(axo_system *system, axo_message *answer, axo_owned *owned);

/* The waiting thread gives up its share of the block. An answer that it did not take is freed. */
void axo__call_drop(axo__call *call);

#endif
