/* brain.c - the plugin of plugin.c, in two versions: BRAIN_VERSION is 1 or 2. It is linked with
 * nothing. The first one fails at every seventh thought; the second one remembers more. */
#include "brain.h"

#include <string.h>

typedef struct brain {
    brain_core core;
#if BRAIN_VERSION == 2
    int mood[100];
#endif
} brain;

static axo_status brain_construct(axo_ctx *ctx, void *state, const void *args)
{
    brain *me = state;
    (void)ctx;
    memcpy(&me->core.number, args, sizeof me->core.number);
    return AXO_OK;
}

static axo_status brain_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    brain *me = state;
    (void)ctx;
    if (message->tag != THINK)
        return AXO_UNHANDLED;
    me->core.thoughts++;
#if BRAIN_VERSION == 1
    return me->core.thoughts % 7 == 0 ? AXO_EINVAL : AXO_OK;
#else
    me->mood[me->core.thoughts % 100]++;
    return AXO_OK;
#endif
}

static axo_status brain_migrate(axo_ctx *ctx, void *state, void *old, void *user)
{
    brain *me = state;
    (void)ctx;
    (void)user;
    memcpy(&me->core, old, sizeof me->core);
    return AXO_OK;
}

static const axo_class brain_class =
    AXO_CLASS(.name = "brain", .state_size = sizeof(brain), .construct = brain_construct,
              .receive = brain_receive);

__attribute__((visibility("default"))) extern const brain_plugin brain_plugin_here;
const brain_plugin brain_plugin_here = {.cls = &brain_class, .migrate = brain_migrate};
