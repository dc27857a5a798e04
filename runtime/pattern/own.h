/* own.h - how a service knows a message of its own. A sender chooses all that a message shows, its
 * sender too (axo_send_from), and any service's tag may be sent to any actor. So a service takes
 * for its own
 *
 *   a payload   only where it was told to expect one when it was made, and freed by its function
 *   a tick      only if it has set the timer and the timer is over
 *   a request   only with a number that no other actor has been told
 *
 * and never follows a pointer because of a tag. */
#ifndef AXO__PATTERN_OWN_H
#define AXO__PATTERN_OWN_H

#include <stdbool.h>

#include <axo/time.h>

#include "pattern/ring.h"

/* Takes the payload of a message if it is the expected one: its address, and its destructor. A
 * payload at that address with another destructor is a forgery, and is freed. */
static inline bool axo__own_take(axo_ctx *ctx, const axo_message *message, const void *expected,
                                 axo_payload_free destroy)
{
    axo_owned owned;
    if (message->payload != expected || axo_message_take(ctx, message, &owned) != AXO_OK)
        return false;
    if (owned.destroy != destroy && owned.destroy != NULL)
        owned.destroy(owned.payload, owned.user);
    return owned.destroy == destroy;
}

/* Whether a message is the tick of the service's own AXO_TIMER_ONCE of this key, which has been
 * started and not stopped: the key is free from the moment when the tick comes up, and not
 * before. */
static inline bool axo__own_tick(axo_ctx *ctx, const axo_message *message, uint64_t key)
{
    return axo_ref_equal(message->sender, axo_self(ctx)) && !axo_timer_active(ctx, key);
}

/* A number that another actor could guess only by knowing where a block of memory lies, and since
 * when. */
static inline uint64_t axo__own_number(const void *block, int64_t now)
{
    return axo__ring_mix(axo__ring_mix((uint64_t)(uintptr_t)block + AXO__RING_STEP) +
                         (uint64_t)now);
}

#endif
