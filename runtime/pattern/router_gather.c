/* router_gather.c - who waits for the first answer of many: an actor of /system for each request,
 * so that it outlives its router's restarts and is no child among routees. */
#include <string.h>

#include "pattern/router.h"

typedef struct gather {
    axo_ref asker;
    axo_ref router;
    uint32_t tag;
    uint32_t asked;
    int64_t since_ns;
    int64_t within_ns;
} gather;

static axo_status gather_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(gather));
    return AXO_OK;
}

static axo_status gather_pre_start(axo_ctx *ctx, void *state)
{
    const gather *self = state;
    int64_t left = self->since_ns + self->within_ns - axo_now(ctx);
    return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, left > 0 ? left : 0, 0, AXO__TAG_GATHER_OVER,
                           NULL, 0);
}

static axo_status gather_over(axo_ctx *ctx, const gather *self)
{
    axo_router_no_answer verdict = {.tag = self->tag,
                                    .asked = self->asked,
                                    .waited_ns = axo_now(ctx) - self->since_ns};
    axo_status status = axo_send_from(ctx, self->router, self->asker, AXO_ROUTER_NO_ANSWER,
                                      &verdict, sizeof verdict);
    if (status == AXO_ENOMEM || status == AXO_EFULL) /* later, then */
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, INT64_C(10000000), 0, AXO__TAG_GATHER_OVER,
                               NULL, 0);
    return axo_stop_self(ctx);
}

static axo_status gather_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const gather *self = state;
    if (message->tag == AXO__TAG_GATHER_OVER && axo_ref_equal(message->sender, axo_self(ctx)))
        return gather_over(ctx, self);
    if (message->tag >= AXO_TAG_RESERVED)
        return AXO_UNHANDLED;
    axo_status status = axo_forward(ctx, message, self->asker);
    if (status != AXO_OK && status != AXO_EGONE)
        (void)axo_drop(ctx, message, self->asker, axo_status_text(status));
    return axo_stop_self(ctx);
}

static const axo_class gather_class =
    AXO_CLASS(.name = "gatherer", .state_size = sizeof(gather), .construct = gather_construct,
              .pre_start = gather_pre_start, .receive = gather_receive);

axo_status axo__router_gather(const axo__router *self, const axo_message *message, uint32_t asked,
                              axo_ref *out)
{
    gather args = {.asker = message->sender,
                   .router = self->self,
                   .tag = message->tag,
                   .asked = asked,
                   .since_ns = axo_system_now(self->system),
                   .within_ns = self->settings.within_ns};
    axo_props props = AXO_PROPS(.cls = &gather_class, .args = &args, .args_size = sizeof args,
                                .system_actor = 1);
    return axo_system_spawn(self->system, &props, out);
}
