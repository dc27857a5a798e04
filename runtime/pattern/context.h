/* context.h - what a service asks of a context or a system before anything else.
 *
 * Services stand on <axo/...> alone (pattern/ARCHITECTURE.md), so these questions are put with
 * public functions, where system/ would look into the structs. */
#ifndef AXO__PATTERN_CONTEXT_H
#define AXO__PATTERN_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/system.h>

/* No function of the library is a cancellation point: a pthread_cancel of this thread waits until
 * axo__context_let is given what hold has returned. Around waits, and around functions of the
 * program. */
static inline int axo__context_hold(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void axo__context_let(int before)
{
    (void)pthread_setcancelstate(before, &before);
}

/* Whether `ctx` is the context of the running callback: AXO_OK, AXO_ECONTEXT, AXO_EFORKED. The door
 * checks the context before the draft, so a NULL draft changes nothing. */
static inline axo_status axo__context_check(axo_ctx *ctx)
{
    /* AXO_EINVAL: the context is good, and there is no draft */
    axo_status status = axo_draft_from(ctx, NULL, axo_ref_none());
    return status == AXO_EINVAL ? AXO_OK : status;
}

/* Whether the system was made in this process, and not in the one that has forked it. */
static inline bool axo__context_at_home(axo_system *system)
{
    return axo_system_workers(system) > 0;
}

/* The time `delay` after `time`, with delay >= 0; INT64_MAX if that time has no number. */
static inline int64_t axo__context_later(int64_t time, int64_t delay)
{
    return time > INT64_MAX - delay ? INT64_MAX : time + delay;
}

#endif
