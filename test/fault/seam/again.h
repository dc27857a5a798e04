/* again.h - stands before the hierarchy test (-include): who is refused memory tries again, and
 * must find everything as it was. */
#ifndef FAULT_SEAM_AGAIN_H
#define FAULT_SEAM_AGAIN_H

#include <axo/axo.h>

#define AGAIN(call)                                                                                \
    __extension__({                                                                                \
        axo_status again_status;                                                                   \
        do                                                                                         \
            again_status = (call);                                                                 \
        while (again_status == AXO_ENOMEM);                                                        \
        again_status;                                                                              \
    })

static inline void *again_alloc(axo_ctx *ctx, size_t size)
{
    void *memory;
    do
        memory = axo_alloc(ctx, size);
    while (memory == NULL);
    return memory;
}

/* A guardian that cannot start ends the system: that is another scene. */
axo_status again_system_start(const axo_options *options, axo_system **out);

#define axo_alloc(ctx, size) again_alloc(ctx, size)
#define axo_defer(ctx, fn, arg) AGAIN(axo_defer(ctx, fn, arg))
#define axo_send(ctx, to, tag, payload, size) AGAIN(axo_send(ctx, to, tag, payload, size))
#define axo_send_after(ctx, delay, to, tag, payload, size)                                         \
    AGAIN(axo_send_after(ctx, delay, to, tag, payload, size))
#define axo_reply(ctx, message, tag, payload, size)                                                \
    AGAIN(axo_reply(ctx, message, tag, payload, size))
#define axo_spawn(ctx, props, out) AGAIN(axo_spawn(ctx, props, out))
#define axo_watch(ctx, ref) AGAIN(axo_watch(ctx, ref))
#define axo_system_send(system, to, tag, payload, size)                                            \
    AGAIN(axo_system_send(system, to, tag, payload, size))
#define axo_system_spawn(system, props, out) AGAIN(axo_system_spawn(system, props, out))
#define axo_system_start(options, out) again_system_start(options, out)

#endif
