/* scenes.c - the list of all scenes. */
#include "fault/scenes.h"

static axo_status plain_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == WORLD_FAIL ? axo_fail(ctx, 1, "plainly") : AXO_OK;
}

const axo_class plain_class = AXO_CLASS(.name = "plain", .receive = plain_receive);

const scene *const world_scenes[] = {scenes_basic,  scenes_actor,  scenes_service,
                                     scenes_router, scenes_thread, scenes_zone,
                                     scenes_hook,   scenes_memory, scenes_remote, NULL};
