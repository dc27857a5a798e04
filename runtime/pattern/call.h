/* call.h - a thread that is no worker waits for an actor: the meeting place of the two.
 *
 * The block is shared by the waiting thread, by the message that brings it to the actor, and by the
 * actor's instance; `users` counts them and the last one frees. Whoever closes it first has decided
 * how the call went; after that nobody writes the result, and only the thread reads it. */
#ifndef AXO__PATTERN_CALL_H
#define AXO__PATTERN_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "pattern/wait.h"

typedef struct axo__call {
    axo_system *system;
    axo__wait wait;        /* what is waited for; never changed */
    struct timespec until; /* the thread's patience, from the opening on; never changed */
    pthread_mutex_t mutex;
    pthread_cond_t change;
    uint32_t users;      /* guarded by the mutex, as all below */
    bool taken;          /* an instance has it */
    bool closed;
    int64_t closed_ns;   /* once closed: when, by axo__wait_thread_now */
    axo_status status;   /* once closed */
    axo_message answer;  /* once closed with AXO_OK: payload from axo_system_alloc, */
    axo_owned owned;     /* or this one */
} axo__call;

/* Whether a thread may wait for this system here and now: AXO_OK, AXO_EINVAL, AXO_ECONTEXT on a
 * worker, AXO_ESTOPPING when the system has terminated. */
axo_status axo__call_allowed(axo_system *system);

/* Makes a call and its actor. On failure there is nothing. */
axo_status axo__call_open(axo_system *system, const axo__wait *wait, axo__call **out,
                          axo_ref *actor);

/* Waits for the actor, or gives up; then nobody else decides any more.
 *   returns   how it went */
axo_status axo__call_wait(axo__call *call, axo_ref actor);

/* Waits until its deadline, and does not give up.
 *   returns   whether it is decided */
bool axo__call_await(axo__call *call);

/* When it was decided. */
int64_t axo__call_closed_ns(axo__call *call);

/* Decides that it has gone like this: closes without waiting.
 *   returns   false: it was decided already */
bool axo__call_give_up(axo__call *call, axo_ref actor, axo_status status);

/* Moves the answer of a call that ended with AXO_OK to the caller. */
void axo__call_take_answer(axo__call *call, axo_asked *out);

/* Frees what axo__call_take_answer gave. */
void axo__call_free_answer(axo_system *system, axo_message *answer, axo_owned *owned);

/* The thread's last word. An answer it did not take is freed. */
void axo__call_drop(axo__call *call);

#endif
