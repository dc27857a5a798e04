/* drafts.c - drafts that callbacks have open: see drafts.h. */
#include "drafts.h"

#include "base/config.h"
#include "crash.h"
#include "sched/pool.h"

#define DRAFTS_LENT 8
#define DRAFTS_MOST (AXO__OPEN_DRAFTS + 5) /* more than a worker has room for */

typedef enum draft_state {
    DRAFT_OPEN, /* goes with its callback, if that is left */
    DRAFT_LENT, /* so does this; else somebody will come for it */
    DRAFT_KEPT, /* somebody will come for it */
    DRAFT_OVER  /* it was sent, or is being discarded */
} draft_state;

/* The payload of an owning draft. */
typedef struct draft {
    uint64_t callback; /* that has made it */
    draft_state state;
    axo_draft *envelope;
} draft;

static struct {
    uint32_t open; /* that the running callback has */
    uint32_t lents;
    draft *lent[DRAFTS_LENT];
} d;

void drafts_reset(void)
{
    memset(&d, 0, sizeof d);
}

static void drafts_take(const draft *it)
{
    uint32_t at = 0;
    while (at < d.lents && d.lent[at] != it)
        at++;
    if (at < d.lents)
        d.lent[at] = d.lent[--d.lents];
}

static void drafts_free(void *payload, void *user)
{
    draft *it = payload;
    queues_callback();
    w.freed++;
    crash_landed();
    if (it->state != DRAFT_OVER) {
        HOLDS_ALL(76, it->callback == w.callback && w.left == w.callback,
                  "a draft is discarded, and its callback was not left");
        HOLDS_ALL(76, it->state != DRAFT_KEPT, "a draft is discarded that was kept");
        probe_hit(PROBE_DRAFT_LEFT);
    }
    if (it->state == DRAFT_OPEN)
        d.open--;
    drafts_take(it);
    crash_point_aside();
    free(it);
}

/* NULL: no memory. */
static draft *drafts_make(axo_ctx *ctx)
{
    draft *it = malloc(sizeof *it);
    const axo_owned payload = {.payload = it, .size = sizeof *it, .destroy = drafts_free};
    *it = (draft){.callback = w.callback};
    w.owned++;
    d.open++;
    axo_status status = axo_message_owning(ctx, TAG_DRAFT, &payload, &it->envelope);
    if (status == AXO_OK)
        return it;
    w.owned--;
    d.open--;
    free(it);
    if (!(w.dry && status == AXO_ENOMEM))
        ghost_fail("axo_message_owning: %s", axo_status_name(status));
    return NULL;
}

/* It is sent, or discarded. */
static void drafts_close(axo_ctx *ctx, draft *it)
{
    axo_ref to = world_somebody();
    bool sends = world_below(2) == 0 && act_may_send(axo_self(ctx).bits, to);
    drafts_take(it);
    d.open -= it->state == DRAFT_OPEN;
    it->state = DRAFT_OVER;
    if (!sends || !act_accepted(axo_send_message(ctx, to, it->envelope), to))
        axo_message_discard(ctx, it->envelope);
}

/* Somebody comes for it later; if this callback is left, it goes, unless it is kept. */
static void drafts_lend(axo_ctx *ctx, draft *it)
{
    if (d.lents == DRAFTS_LENT) {
        drafts_close(ctx, it);
        return;
    }
    d.open--;
    d.lent[d.lents++] = it;
    it->state = DRAFT_LENT;
    if (world_below(2) == 0 && axo_draft_keep(ctx, it->envelope) == AXO_OK)
        it->state = DRAFT_KEPT;
}

/* One that is filled in place: nobody hears when it goes. */
static void drafts_fill(axo_ctx *ctx, uint32_t site)
{
    axo_draft *filled;
    void *room;
    axo_ref to = world_somebody();
    bool sends = world_below(2) == 0 && act_may_send(axo_self(ctx).bits, to);
    axo_status status = axo_message_new(ctx, TAG_TICK, world_below(200), &filled, &room);
    if (status != AXO_OK && !(w.dry && status == AXO_ENOMEM))
        ghost_fail("axo_message_new: %s", axo_status_name(status));
    if (status != AXO_OK)
        return;
    crash_point(ctx, site);
    if (!sends || !act_accepted(axo_send_message(ctx, to, filled), to))
        axo_message_discard(ctx, filled);
}

void drafts_act(axo_ctx *ctx, uint32_t site)
{
    draft *made[DRAFTS_MOST];
    uint32_t count = world_below(8) == 0 ? DRAFTS_MOST : 1 + world_below(3);
    uint32_t lends = site == AXO_SITE_DECIDER ? 2 : 6; /* one in so many; deciders share a turn */
    g.memory_barred = 0; /* of who has failed before this decider */
    drafts_fill(ctx, site);
    if (d.lents > 0 && world_below(2) == 0)
        drafts_close(ctx, d.lent[world_below(d.lents)]);
    for (uint32_t i = 0; i < count; i++) {
        made[i] = drafts_make(ctx);
        crash_point(ctx, site);
    }
    while (count > 0) {
        uint32_t which = world_below(count);
        draft *it = made[which];
        made[which] = made[--count];
        if (it != NULL && world_below(lends) == 0)
            drafts_lend(ctx, it);
        else if (it != NULL)
            drafts_close(ctx, it);
        crash_point(ctx, site);
    }
}

void drafts_closed(void)
{
    HOLDS_ALL(76, d.open == 0, "%" PRIu32 " drafts outlive the callback that was left", d.open);
}

void drafts_end(void)
{
    while (d.lents > 0) {
        free(d.lent[--d.lents]);
        w.freed++;
    }
}
