/* router_size.c - the size of a pool: spawning, dismissing, resizing.
 *
 * A dismissed routee leaves at once for choices and later for good: messages that other actors have
 * sent it are handled before the pill, which comes after the removal delay. */
#include "pattern/router.h"

#include "pattern/given.h"

#define SIZE_REMOVAL_DELAY_NS INT64_C(100000000)

/* Whether the router looks at lengths: only a mailbox of the routee's own counts them exactly
 * (axo_actor_info.counted). */
static bool size_needs_counts(const axo__router *self)
{
    return self->settings.logic == AXO_ROUTE_SMALLEST || self->settings.resizer != NULL;
}

/* Spawns and watches one routee. Room is made first, so a spawned routee can always be listed; a
 * routee that cannot be watched is stopped again, since its end would not be noticed. */
static axo_status size_spawn(axo_ctx *ctx, axo__router *self)
{
    static const axo_mailbox counted = AXO_MAILBOX(.kind = AXO_MAILBOX_FIFO);
    axo_props props = *self->settings.child;
    axo_ref ref;
    if (props.mailbox == NULL && size_needs_counts(self))
        props.mailbox = &counted;
    axo_status status = axo__router_reserve(self, self->routees.count + 1);
    if (status == AXO_OK)
        status = axo_spawn(ctx, &props, &ref);
    if (status != AXO_OK)
        return status;
    status = axo_watch(ctx, ref);
    if (status != AXO_OK) {
        (void)axo_stop(ctx, ref);
        return status;
    }
    axo__router_insert(self, ref, axo_ref_index(ref));
    return AXO_OK;
}

axo_status axo__router_grow(axo_ctx *ctx, axo__router *self, uint32_t count)
{
    axo_status status = AXO_OK;
    for (; count > 0 && status == AXO_OK; count--)
        status = size_spawn(ctx, self);
    return status;
}

axo_status axo__router_dismiss(axo_ctx *ctx, axo__router *self, axo_ref ref)
{
    int64_t delay = self->settings.removal_delay_ns;
    axo_status status;
    /* A pill in the routee's mailbox, behind messages that were sent to it before. */
    if (delay < 0)
        status = axo_poison(ctx, ref);
    else
        status = axo_schedule_once(ctx, delay > 0 ? delay : SIZE_REMOVAL_DELAY_NS, ref,
                                   AXO_TIMER_POISON, NULL, 0, NULL);
    if (status != AXO_OK && status != AXO_EGONE)
        return status;
    (void)axo__router_take_away(self, ref, true);
    /* the routee is leaving until its AXO_TERMINATED */
    self->leaving.at[self->leaving.count++] = ref;
    return AXO_OK;
}

axo_status axo__router_shrink(axo_ctx *ctx, axo__router *self, uint32_t count)
{
    axo_status status = AXO_OK;
    for (; count > 0 && self->routees.count > 0 && status == AXO_OK; count--)
        status = axo__router_dismiss(ctx, self, self->routees.at[self->routees.count - 1]);
    return status;
}

/* ---- the resizer ---- */

/* The number of routees whose queue is at least as long as the resizer's pressure. */
static uint32_t size_under_pressure(axo_ctx *ctx, const axo__router *self)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < self->routees.count; i++) {
        axo_actor_info info = AXO_ACTOR_INFO(.doing = AXO_DOING_GONE);
        if (axo_inspect(ctx, self->routees.at[i], axo_ref_none(), &info) == AXO_OK &&
            info.queued >= self->resizer.pressure)
            busy++;
    }
    return busy;
}

/* A share of the size, rounded up, at least one. */
static uint32_t size_share(uint32_t size, double share)
{
    double exact = size * share;
    uint32_t whole = (uint32_t)exact;
    return whole < exact || whole == 0 ? whole + 1 : whole;
}

void axo__router_resize(axo_ctx *ctx, axo__router *self)
{
    const axo_resizer *resizer = &self->resizer;
    uint32_t size = self->routees.count;
    uint32_t wanted = size;
    self->since = 0;
    /* A size outside the bounds is corrected first, whatever the load. */
    if (size >= resizer->routees_min && size <= resizer->routees_max) {
        uint32_t busy = size_under_pressure(ctx, self);
        if (busy == size)
            wanted += size_share(size, resizer->ramp_up);
        else if (!resizer->no_back_off && busy < size * resizer->back_off_below)
            wanted -= size_share(size, resizer->back_off);
    }
    if (wanted < resizer->routees_min)
        wanted = resizer->routees_min;
    if (wanted > resizer->routees_max)
        wanted = resizer->routees_max;
    /* without memory the next look tries again */
    if (wanted > size)
        (void)axo__router_grow(ctx, self, wanted - size);
    else
        (void)axo__router_shrink(ctx, self, size - wanted);
}

static bool size_is_share(double share)
{
    return share >= 0 && share <= 1; /* the comparison is false for a NaN */
}

axo_status axo__resizer_read(const axo_resizer *given, axo_resizer *out)
{
    axo_status status = axo__given_read(given, out, sizeof *out);
    if (status != AXO_OK)
        return status;
    if (out->routees_min == 0)
        out->routees_min = 1;
    if (out->routees_max == 0)
        out->routees_max = out->routees_min > 10 ? out->routees_min : 10;
    if (out->pressure == 0)
        out->pressure = 1;
    if (out->messages == 0)
        out->messages = 10;
    bool shares = size_is_share(out->ramp_up) && size_is_share(out->back_off_below) &&
                  size_is_share(out->back_off);
    if (!shares || out->routees_max > AXO_ROUTEES_MAX || out->routees_min > out->routees_max ||
        out->interval_ns < 0 || out->interval_ns > AXO_DELAY_MAX || out->no_back_off > 1 ||
        out->reserved != 0)
        return AXO_EINVAL;
    if (!(out->ramp_up > 0))
        out->ramp_up = 0.2;
    if (!(out->back_off_below > 0))
        out->back_off_below = 0.3;
    if (!(out->back_off > 0))
        out->back_off = 0.1;
    return AXO_OK;
}
