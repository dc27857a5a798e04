/* timing.c - what the simulated actors do with time. */
#include "timing.h"

#include "world.h"

/* At a fixed rate: no period is so short that after a leap of the clock only ticks run. */
#define TIMING_RATE_MIN 20000

static void timing_key(axo_ctx *ctx, uint64_t key, int64_t first, int64_t period)
{
    axo_timer_kind kind = (axo_timer_kind)world_below(3);
    period += kind == AXO_TIMER_FIXED_RATE ? TIMING_RATE_MIN : 0;
    keyed payload = {.key = key,
                     .instance = ghost_find(axo_self(ctx).bits)->instance,
                     .due = axo_system_now(axo_system_of(ctx)) + first};
    bool before = axo_timer_active(ctx, key);
    axo_status status =
        axo_timer_start(ctx, key, kind, first, period, TAG_KEYED, &payload, sizeof payload);
    if (status != AXO_OK && !(w.dry && status == AXO_ENOMEM))
        ghost_fail("axo_timer_start: %s", axo_status_name(status));
    HOLDS_ALL(51, axo_timer_active(ctx, key) == (before || status == AXO_OK),
              "a key that was started is not active, or a failed start changed it");
}

/* Raw timers that anybody may cancel, keys that are few, so that they meet. */
void timing_act(axo_ctx *ctx)
{
    axo_timer *any = &w.timers[world_below(WORLD_TIMERS)];
    uint64_t key = world_below(3);
    int64_t first = world_below(500000);
    int64_t period = 1 + world_below(300000);
    switch (world_below(7)) {
    case 0:
    case 1:
        timing_key(ctx, key, first, period);
        return;
    case 2: {
        bool active = axo_timer_active(ctx, key);
        HOLDS_ALL(51, (axo_timer_stop(ctx, key) == AXO_OK) == active && !axo_timer_active(ctx, key),
                  "axo_timer_stop and axo_timer_active differ");
        return;
    }
    case 3: {
        axo_status status = axo_receive_timeout(ctx, world_below(2) == 0 ? 0 : first);
        if (status != AXO_OK && !(w.dry && status == AXO_ENOMEM))
            ghost_fail("axo_receive_timeout: %s", axo_status_name(status));
        return;
    }
    case 4:
        if (axo_timer_cancel(ctx, *any)) {
            probe_hit(PROBE_TIMER_CANCELLED);
            HOLDS_ALL(51, !axo_timer_cancel(ctx, *any), "a timer was cancelled twice");
        }
        return;
    case 5:
        (void)axo_timer_at_close(ctx, *any);
        return;
    default:
        (void)axo_timer_cancel(ctx, *any);
        (void)axo_schedule_fixed_rate(ctx, first, period + TIMING_RATE_MIN, world_somebody(),
                                      TAG_TICK, &key, sizeof key, any);
        return;
    }
}

/* One shot, which comes once, and not early. */
void timing_later(axo_ctx *ctx, uint32_t left)
{
    int64_t after = world_below(4000000);
    axo_ref to = world_somebody();
    work late = {.left = left - 1, .shot = mail_shot(axo_system_now(axo_system_of(ctx)) + after)};
    (void)axo_send_after(ctx, after, to, TAG_WORK, &late, sizeof late);
}

/* The calm comes: what ticks for ever is stopped. */
axo_status timing_quiet(axo_ctx *ctx)
{
    for (uint64_t key = 0; key < 3; key++)
        (void)axo_timer_stop(ctx, key);
    for (uint32_t i = 0; i < WORLD_TIMERS; i++)
        (void)axo_timer_cancel(ctx, w.timers[i]);
    return axo_receive_timeout(ctx, 0);
}
