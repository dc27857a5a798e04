/* filled.h - messages whose payload the program fills, by a copy or in place: with walls, where
 * they are wanted (mailbox/walled.h). */
#ifndef AXO__SYSTEM_FILLED_H
#define AXO__SYSTEM_FILLED_H

#include "cell/log.h"
#include "mailbox/walled.h"
#include "sched/pool.h"

/* As axo__message_make_traced, by the running actor: its class says whether the payload has
 * walls. */
static inline axo__message *axo__filled_make(axo__worker *worker, uint32_t tag, axo_ref from,
                                             size_t size, const axo_trace_context *trace)
{
    axo__cache *cache = &worker->local.cache;
    const axo__walls *walls = cache->pool->walls;
    const axo_class *cls = axo__cell_class(worker->current);
    uint32_t kinds = axo__walls_of(walls, axo__log_class_name(cls));
    if (size > 0 && (kinds & AXO__WALLED_KINDS) != 0)
        return axo__walled_make(cache, tag, from, size, trace);
    return axo__message_make_traced(cache, tag, from, size, trace);
}

/* The place of the payload. */
static inline void *axo__filled_room(axo__message *message)
{
    if (axo__unlikely(axo__message_is_walled(message)))
        return (void *)(uintptr_t)message->pub.payload;
    return message + 1;
}

/* The payload is there. */
static inline void axo__filled_close(axo__message *message)
{
    if (axo__unlikely(axo__message_is_walled(message)))
        (void)axo__walled_close(message);
}

/* Copies the payload of `size` bytes, and closes it. */
static inline void axo__filled_copy(axo__message *message, const void *payload, size_t size)
{
    if (size > 0)
        memcpy(axo__filled_room(message), payload, size);
    axo__filled_close(message);
}

#endif
