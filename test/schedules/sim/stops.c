/* stops.c - stops, pills and kills that the simulated actors ask for. */
#include "stops.h"

#include "model.h"

#define STOPS_CHILDREN 512

/* A stop is never refused, whatever there is of memory. */
void stops_one(axo_ctx *ctx, axo_ref whom)
{
    ghost *it = ghost_find(whom.bits);
    bool lives = it != NULL && !look_is_over(it);
    axo_status status = axo_stop(ctx, whom);
    HOLDS_ALL(41, status == AXO_OK || (status == AXO_EGONE && !lives), "axo_stop: %s",
              axo_status_name(status));
    if (!lives || status != AXO_OK)
        return;
    if (it->parent == axo_self(ctx).bits) {
        it->excused = true;
        model_stop(it);
    }
    it->stop_asked = true;
}

void stops_child(axo_ctx *ctx)
{
    axo_ref children[STOPS_CHILDREN];
    uint32_t count = axo_children(ctx, children, STOPS_CHILDREN);
    if (count > 0 && count <= STOPS_CHILDREN)
        stops_one(ctx, children[world_below(count)]);
}

/* Its parent, or one of its parent's children: another than itself, if there is one. */
void stops_kin(axo_ctx *ctx)
{
    const ghost *me = ghost_find(axo_self(ctx).bits);
    const ghost *parent = ghost_find(me->parent);
    if (parent->guardian)
        return;
    if (world_below(2) == 0)
        stops_one(ctx, (axo_ref){.bits = parent->bits});
    else if (parent->first_child != GHOST_NOBODY)
        stops_one(ctx, (axo_ref){.bits = ghost_at(parent->first_child)->bits});
}

void stops_self(axo_ctx *ctx)
{
    if (axo_stop_self(ctx) == AXO_OK)
        ghost_find(axo_self(ctx).bits)->stop_asked = true;
}

void stops_queued(axo_ctx *ctx, bool kill)
{
    axo_ref whom = world_somebody();
    axo_status status = kill ? axo_kill(ctx, whom) : axo_poison(ctx, whom);
    if (status == AXO_OK)
        mail_special(axo_self(ctx).bits, whom.bits, kill);
}
