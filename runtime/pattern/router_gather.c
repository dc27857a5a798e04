/* router_gather.c - the gatherer, which waits for the first answer of many: an actor of /system for
 * each request, so that it outlives its router's restarts and is no child among routees. The
 * message that says that no answer has come is made with the gatherer, so sending it takes no
 * memory. */
#include <stdbool.h>
#include <string.h>

#include "pattern/router.h"
#include "pattern/wait.h"

/* the gatherer tries again after this when the asker's mailbox was full */
#define GATHER_AGAIN_NS INT64_C(10000000)

typedef struct gather {
    axo_ref asker;
    axo_ref router;
    axo_draft *letter; /* NULL: the asker has been told, or has its answer */
    axo_router_no_answer *verdict; /* the payload of the letter */
    int64_t since_ns;
    int64_t within_ns;
} gather;

static axo_status gather_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(gather));
    return AXO_OK;
}

/* Tells the asker that no answer has come; false: its mailbox has no room. */
static bool gather_tell(axo_ctx *ctx, gather *self)
{
    self->verdict->waited_ns = axo__wait_passed(axo_now(ctx), self->since_ns);
    axo_status status = axo_send_message(ctx, self->asker, self->letter);
    if (status != AXO_OK && status != AXO_EGONE)
        return false;
    self->letter = NULL;
    return true;
}

/* Tells the asker, now or never: a refused letter goes to the gatherer's own mailbox, which becomes
 * dead letters as the gatherer stops. */
static axo_status gather_tell_last(axo_ctx *ctx, gather *self)
{
    if (!gather_tell(ctx, self))
        (void)axo_send_message(ctx, axo_self(ctx), self->letter);
    self->letter = NULL;
    return axo_stop_self(ctx);
}

static axo_status gather_pre_start(axo_ctx *ctx, void *state)
{
    gather *self = state;
    int64_t left = axo__wait_left(axo_now(ctx), self->since_ns, self->within_ns);
    /* The asker knows the router, not the gatherer: the letter comes from there. */
    (void)axo_draft_from(ctx, self->letter, self->router);
    axo_status status = axo_timer_start(ctx, 1, AXO_TIMER_FIXED_DELAY, left,
                                        GATHER_AGAIN_NS, AXO__TAG_GATHER_OVER, NULL, 0);
    return status == AXO_OK ? AXO_OK : gather_tell_last(ctx, self);
}

/* A gatherer that is stopped with the system still tells the asker. */
static axo_status gather_post_stop(axo_ctx *ctx, void *state)
{
    gather *self = state;
    return self->letter != NULL ? gather_tell_last(ctx, self) : AXO_OK;
}

/* Whether the time is over. Before it no tick is believed; a forged tick after it only sends the
 * letter once more, if it is still there. */
static bool gather_is_over(axo_ctx *ctx, const gather *self, const axo_message *message)
{
    return axo_ref_equal(message->sender, axo_self(ctx)) &&
           axo__wait_left(axo_now(ctx), self->since_ns, self->within_ns) == 0;
}

static axo_status gather_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    gather *self = state;
    if (message->tag == AXO__TAG_GATHER_OVER) {
        if (!gather_is_over(ctx, self, message))
            return AXO_UNHANDLED;
        return gather_tell(ctx, self) ? axo_stop_self(ctx) : AXO_OK;
    }
    if (message->tag >= AXO_TAG_RESERVED)
        return AXO_UNHANDLED;
    /* The first answer, with its routee as the sender; later ones find no gatherer and become dead
     * letters. */
    axo_status status = axo_forward(ctx, message, self->asker);
    if (status != AXO_OK && status != AXO_EGONE)
        (void)axo_drop(ctx, message, self->asker, axo_status_text(status));
    axo_message_discard(ctx, self->letter);
    self->letter = NULL;
    return axo_stop_self(ctx);
}

static const axo_class gather_class =
    AXO_CLASS(.name = "gatherer", .state_size = sizeof(gather), .construct = gather_construct,
              .pre_start = gather_pre_start, .receive = gather_receive,
              .post_stop = gather_post_stop, .pre_restart = axo__wait_pre_restart);

axo_status axo__router_gather(axo_ctx *ctx, const axo__router *self, const axo_message *message,
                              axo_ref *out)
{
    gather args = {.asker = message->sender,
                   .router = self->self,
                   .since_ns = axo_now(ctx),
                   .within_ns = self->settings.within_ns};
    axo_props props = AXO_PROPS(.cls = &gather_class, .args = &args, .args_size = sizeof args,
                                .system_actor = 1);
    void *room;
    axo_status status =
        axo_message_new(ctx, AXO_ROUTER_NO_ANSWER, sizeof *args.verdict, &args.letter, &room);
    if (status != AXO_OK)
        return status;
    (void)axo_draft_keep(ctx, args.letter); /* the gatherer's */
    args.verdict = room;
    *args.verdict = (axo_router_no_answer){.tag = message->tag, .asked = self->routees.count};
    /* The gatherer is a child of /system: the router's family is its routees. */
    status = axo_system_spawn(self->system, &props, out);
    if (status != AXO_OK)
        axo_message_discard(ctx, args.letter);
    return status;
}
