/* context.h - what a service asks of a context or a system before anything else. */
#ifndef AXO__PATTERN_CONTEXT_H
#define AXO__PATTERN_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <axo/actor.h>
#include <axo/system.h>

/* No function of the library is a cancellation point: a pthread_cancel of this thread waits, until
 * it is let with what hold has returned. Around waits, and functions of the program. */
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

/* Whether it is that of the running callback: AXO_OK, AXO_ECONTEXT, AXO_EFORKED. */
static inline axo_status axo__context_check(axo_ctx *ctx)
{
    axo_status status = axo_draft_from(ctx, NULL, axo_ref_none()); /* AXO_EINVAL: no draft */
    return status == AXO_EINVAL ? AXO_OK : status;
}

/* Whether the system is this process's, and not that of the one that forked it. */
static inline bool axo__context_at_home(axo_system *system)
{
    return axo_system_workers(system) > 0;
}

/* A time, and a delay of at least 0 after it; the last number if that has none. */
static inline int64_t axo__context_later(int64_t time, int64_t delay)
{
    return time > INT64_MAX - delay ? INT64_MAX : time + delay;
}

#endif
