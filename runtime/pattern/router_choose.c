/* router_choose.c - the choice of a routee for a message, by the router's logic.
 *
 * Every choice is made of indices and draws from the router's seed: no reference's bits decide, and
 * a repeated run chooses the same. */
#include "pattern/router.h"

static axo_ref choose_next(axo__router *self)
{
    /* `next` may be behind the end: a routee has ended since. */
    uint32_t i = self->next < self->routees.count ? self->next : 0;
    self->next = i + 1;
    return self->routees.at[i];
}

static axo_ref choose_random(axo__router *self)
{
    self->chance += AXO__RING_STEP;
    /* The upper half of a product maps 32 random bits to an index without a division. */
    uint64_t high = axo__ring_mix(self->chance) >> 32;
    return self->routees.at[(high * self->routees.count) >> 32];
}

/* The length of a routee's queue, as far as it can be seen. Suspended routees are longer than all
 * that run, ending ones longest. A running routee whose messages are not counted is longer than all
 * that are counted. */
static uint64_t choose_length(axo_ctx *ctx, axo_ref ref)
{
    enum { UNKNOWN = 33, SUSPENDED = 34, ENDING = 35 };
    axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_GONE);
    if (axo_inspect(ctx, ref, axo_ref_none(), &info) != AXO_OK)
        return UINT64_C(1) << ENDING;
    uint64_t length = info.queued;
    if (info.doing == AXO_DOING_RUNNING)
        length += info.counted == AXO_COUNTED_NONE ? UINT64_C(1) << UNKNOWN : 1;
    if (info.doing == AXO_DOING_STOPPING)
        length += UINT64_C(1) << ENDING;
    if (info.suspends > 0 || info.doing == AXO_DOING_RESTARTING || info.doing == AXO_DOING_PARKED)
        length += UINT64_C(1) << SUSPENDED;
    return length;
}

/* The routee with the shortest queue. The search begins behind the last choice, so that equally
 * short routees get their turns; it ends at the first empty one. */
static axo_ref choose_smallest(axo_ctx *ctx, axo__router *self)
{
    uint32_t count = self->routees.count;
    uint32_t from = self->next < count ? self->next : 0;
    uint32_t best = from;
    uint64_t least = UINT64_MAX;
    for (uint32_t k = 0; count > 1 && k < count && least > 0; k++) {
        uint32_t i = from + k < count ? from + k : from + k - count;
        uint64_t length = choose_length(ctx, self->routees.at[i]);
        if (length < least) {
            least = length;
            best = i;
        }
    }
    self->next = best + 1;
    return self->routees.at[best];
}

axo_ref axo__router_choose(axo_ctx *ctx, axo__router *self, const axo_message *message)
{
    switch (self->settings.logic) {
    case AXO_ROUTE_RANDOM:
        return choose_random(self);
    case AXO_ROUTE_SMALLEST:
        return choose_smallest(ctx, self);
    case AXO_ROUTE_HASH:
        return axo__ring_find(&self->ring,
                              self->settings.hash_key(message, self->settings.user));
    case AXO_ROUTE_ROUND_ROBIN:
    case AXO_ROUTE_BROADCAST:
    case AXO_ROUTE_GATHER_FIRST:
        break;
    }
    return choose_next(self);
}
