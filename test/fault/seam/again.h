/* again.h - stands before the hierarchy test (-include): who is refused memory tries again, and
 * must find everything as it was. */
#ifndef FAULT_SEAM_AGAIN_H
#define FAULT_SEAM_AGAIN_H

#include <axo/axo.h>

static inline void *again_alloc(axo_ctx *ctx, size_t size)
{
    void *memory;
    do
        memory = axo_alloc(ctx, size);
    while (memory == NULL);
    return memory;
}

/* Functions: what is handed to them is looked at once. */
#define AGAIN(name, parameters, call)                                                              \
    static inline axo_status again_##name parameters                                               \
    {                                                                                              \
        axo_status status;                                                                         \
        do                                                                                         \
            status = (call);                                                                       \
        while (status == AXO_ENOMEM);                                                              \
        return status;                                                                             \
    }

AGAIN(defer, (axo_ctx * ctx, void (*fn)(void *arg), void *arg), axo_defer(ctx, fn, arg))
AGAIN(send, (axo_ctx * ctx, axo_ref to, uint32_t tag, const void *payload, size_t size),
      axo_send(ctx, to, tag, payload, size))
AGAIN(send_after,
      (axo_ctx * ctx, int64_t delay, axo_ref to, uint32_t tag, const void *payload, size_t size),
      axo_send_after(ctx, delay, to, tag, payload, size))
AGAIN(reply,
      (axo_ctx * ctx, const axo_message *message, uint32_t tag, const void *payload, size_t size),
      axo_reply(ctx, message, tag, payload, size))
AGAIN(spawn, (axo_ctx * ctx, const axo_props *props, axo_ref *out), axo_spawn(ctx, props, out))
AGAIN(watch, (axo_ctx * ctx, axo_ref ref), axo_watch(ctx, ref))
AGAIN(system_send,
      (axo_system * system, axo_ref to, uint32_t tag, const void *payload, size_t size),
      axo_system_send(system, to, tag, payload, size))
AGAIN(system_spawn, (axo_system * system, const axo_props *props, axo_ref *out),
      axo_system_spawn(system, props, out))

/* A guardian that cannot start ends the system: that is another scene. */
axo_status again_system_start(const axo_options *options, axo_system **out);

#define axo_alloc again_alloc
#define axo_defer again_defer
#define axo_send again_send
#define axo_send_after again_send_after
#define axo_reply again_reply
#define axo_spawn again_spawn
#define axo_watch again_watch
#define axo_system_send again_system_send
#define axo_system_spawn again_system_spawn
#define axo_system_start again_system_start

#endif
