/* mind.c - a plugin with one class of actors; MIND_VERSION is 1 or 2, and how large a state is. */
#include "mind.h"

#include <string.h>

typedef struct mind_state {
    mind_common common;
    char more[MIND_VERSION == 1 ? 20 : 500]; /* each byte is the version */
} mind_state;

static mind_host host;

static void mind_check(const mind_state *me)
{
    if (me->common.version != MIND_VERSION || me->more[0] != MIND_VERSION ||
        me->more[sizeof me->more - 1] != MIND_VERSION)
        host.wrong("the state is of another version");
}

static void mind_begin(mind_state *me)
{
    memset(me->more, MIND_VERSION, sizeof me->more);
    me->common.version = MIND_VERSION;
}

static axo_status mind_construct(axo_ctx *ctx, void *state, const void *args)
{
    mind_state *me = state;
    memcpy(&me->common.id, args, sizeof me->common.id);
    mind_begin(me);
    return AXO_OK;
}

static axo_status mind_receive(axo_ctx *ctx, void *state, const axo_message *message);

/* On top of receive from the first message on. */
static axo_status mind_later(axo_ctx *ctx, void *state, const axo_message *message)
{
    mind_state *me = state;
    mind_check(me);
    switch (message->tag) {
    case MIND_FALL:
        return host.fail(ctx, MIND_VERSION, "it falls");
    case MIND_BREAK:
        return host.fail_as(ctx, AXO_FAILURE_CRASH, MIND_VERSION, "it breaks");
    case MIND_STOP:
        return host.stop_self(ctx);
    default:
        host.counted(me->common.id, ++me->common.count);
        return AXO_OK;
    }
}

static axo_status mind_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (host.become(ctx, mind_later) != AXO_OK)
        host.wrong("no memory for a behaviour");
    return mind_later(ctx, state, message);
}

static axo_status mind_post_stop(axo_ctx *ctx, void *state)
{
    mind_check(state);
    return AXO_OK;
}

static axo_status mind_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    return mind_post_stop(ctx, state);
}

static const char *mind_tag(uint32_t tag)
{
    return tag == MIND_FALL ? "fall" : "another";
}

static axo_status mind_migrate(axo_ctx *ctx, void *state, void *old, void *user)
{
    mind_state *me = state;
    const mind_common *it = old;
    if (user != NULL)
        *(volatile char *)user = 1; /* it is the address of nothing */
    if (it->version != 3 - MIND_VERSION)
        host.wrong("what is migrated is of another version");
    me->common = *it;
    mind_begin(me);
    return AXO_OK;
}

static const axo_class cls =
    AXO_CLASS(.name = MIND_VERSION == 1 ? "mind one" : "mind two",
              .state_size = sizeof(mind_state), .construct = mind_construct,
              .receive = mind_receive, .post_stop = mind_post_stop,
              .pre_restart = mind_pre_restart, .tag_name = mind_tag,
              .on_crash = AXO_CRASH_FAILS);

static const mind it = {.cls = &cls, .migrate = mind_migrate};

__attribute__((visibility("default"))) const mind *mind_open(const mind_host *given);

const mind *mind_open(const mind_host *given)
{
    host = *given;
    return &it;
}
