/* hierarchy_warden.c - the harness above the tree: it hands out the work, asks who is alive, stops
 * the tree and asks after everybody who ever lived. It is never restarted (SX-10). */
#include "hierarchy_inside.h"

#include <inttypes.h>
#include <stdlib.h>

enum { WARDEN_BATCH = 16 };
#define WARDEN_PAUSE_NS 20000

static hierarchy *warden_of(const void *state)
{
    return *(hierarchy *const *)state;
}

static void warden_done(hierarchy *h)
{
    h->phase = HIERARCHY_DONE;
    pthread_mutex_lock(&h->mutex);
    h->done = true;
    pthread_cond_signal(&h->change);
    pthread_mutex_unlock(&h->mutex);
}

/* ---- work ---- */

/* 0 with 90 %, 1 with 7 %, 2 with 3 %. */
static uint8_t warden_012(hierarchy *h)
{
    uint32_t draw = axo__random_below(&h->chance, 100);
    return draw < 90 ? 0 : draw < 97 ? 1 : 2;
}

void hierarchy_draw_item(hierarchy *h, hierarchy_item *item, uint32_t *target)
{
    uint32_t kind = axo__random_below(&h->chance, 4);
    *target = axo__random_below(&h->chance, h->actors);
    uint8_t draws[7];
    for (uint32_t i = 0; i < 7; i++) {
        draws[i] = warden_012(h);
        h->digest = (h->digest ^ draws[i]) * UINT64_C(0x100000001b3);
    }
    h->digest = (h->digest ^ (uint64_t)kind << 32 ^ *target) * UINT64_C(0x100000001b3);
    item->directive = kind < 2 ? 0 : kind == 2 ? AXO_RESTART : AXO_RESUME;
    item->escalate = draws[0];
    item->pre = draws[1];
    item->post = draws[2];
    item->construct = draws[3];
    item->start = (uint8_t)(draws[4] + *target % 2); /* more often: few get to pre_start */
    item->stop = draws[5];
    item->kids = draws[6];
}

static void warden_ask(hierarchy *h, axo_ctx *ctx, uint32_t index)
{
    hierarchy_last last = {.index = index, .round = h->round};
    (void)axo_send(ctx, h->known[index].ref, TAG_LAST, &last, sizeof last);
}

static void warden_round(hierarchy *h, axo_ctx *ctx)
{
    h->phase = HIERARCHY_ROUNDS;
    h->round++;
    h->round_left = h->actors;
    h->round_life = HIERARCHY_GET(h, life);
    for (uint32_t i = 0; i < h->actors; i++)
        warden_ask(h, ctx, i);
}

static bool warden_is_full(const hierarchy *h)
{
    return h->issued + h->refused - HIERARCHY_GET(h, settled) >= h->window;
}

/* false: its node is gone, and will be announced anew: the item waits for that. */
static bool warden_issue(hierarchy *h, axo_ctx *ctx)
{
    if (!h->drawn)
        hierarchy_draw_item(h, &h->item[h->issued], &h->target);
    h->drawn = true;
    hierarchy_work work = {.to = h->known[h->target].ref, .item = h->issued};
    if (axo_send(ctx, work.to, TAG_ITEM, &work, sizeof work) != AXO_OK) {
        h->refused++;
        return false;
    }
    h->drawn = false;
    h->issued++;
    return true;
}

static void warden_work(hierarchy *h, axo_ctx *ctx)
{
    bool pause = false;
    for (uint32_t i = 0; i < WARDEN_BATCH && h->issued < h->items && !pause; i++)
        pause = warden_is_full(h) || !warden_issue(h, ctx);
    if (HIERARCHY_GET(h, broken) != 0)
        warden_done(h);
    else if (h->issued == h->items)
        warden_round(h, ctx);
    else if (pause)
        (void)axo_send_after(ctx, WARDEN_PAUSE_NS, axo_self(ctx), TAG_WORK, NULL, 0);
    else
        (void)axo_send(ctx, axo_self(ctx), TAG_WORK, NULL, 0);
}

static void warden_remember(hierarchy *h, axo_ref ref)
{
    if (h->refs_count == h->refs_max) {
        uint32_t max = h->refs_max == 0 ? 4096 : 2 * h->refs_max;
        axo_ref *refs = realloc(h->refs, max * sizeof *refs);
        if (refs == NULL)
            abort();
        h->refs = refs;
        h->refs_max = max;
    }
    h->refs[h->refs_count++] = ref;
}

static void warden_born(hierarchy *h, axo_ctx *ctx, const hierarchy_born *born)
{
    hierarchy_known *known = &h->known[born->index];
    warden_remember(h, born->ref);
    if (h->phase >= HIERARCHY_STOPPING)
        hierarchy_breach(h, born->index, 0, "born while the tree ends");
    if (born->births <= known->births)
        return;
    bool first = known->births == 0;
    known->births = born->births;
    known->ref = born->ref;
    if (h->phase == HIERARCHY_ROUNDS) {
        if (known->answered == h->round)
            h->round_left++;
        known->answered = 0;
        warden_ask(h, ctx, born->index);
    } else if (first && ++h->born == h->actors) {
        h->phase = HIERARCHY_WORK;
        (void)axo_send(ctx, axo_self(ctx), TAG_WORK, NULL, 0);
    }
}

/* ---- the end ---- */

/* Nothing moved for a whole round: whoever had anything to do has done it. */
static void warden_rest(hierarchy *h, axo_ctx *ctx)
{
    for (uint32_t i = 0; i < h->actors; i++) {
        uint32_t suspends = HIERARCHY_GET(&h->nodes[i], suspends);
        if (suspends != 0)
            hierarchy_breach(h, i, 4, "suspended %" PRIu32 " times at rest", suspends);
    }
    if (HIERARCHY_GET(h, settled) != h->items + h->refused)
        hierarchy_breach(h, HIERARCHY_NOBODY, 0, "%" PRIu32 " of %" PRIu32 " items settled",
                         HIERARCHY_GET(h, settled), h->items + h->refused);
    h->phase = HIERARCHY_STOPPING;
    h->stop_began = axo__os_now();
    atomic_store_explicit(&h->final, 1, memory_order_relaxed);
    (void)axo_stop(ctx, h->nodes[0].ref);
}

static void warden_last_pong(hierarchy *h, axo_ctx *ctx, const axo_message *message)
{
    const hierarchy_last *last = message->payload;
    hierarchy_known *known = &h->known[last->index];
    if (h->phase != HIERARCHY_ROUNDS || last->round != h->round ||
        known->answered == h->round || !axo_ref_equal(known->ref, message->sender))
        return;
    known->answered = h->round;
    if (--h->round_left > 0)
        return;
    if (HIERARCHY_GET(h, broken) != 0)
        warden_done(h);
    else if (HIERARCHY_GET(h, life) == h->round_life)
        warden_rest(h, ctx);
    else
        warden_round(h, ctx);
}

/* A few at a time: whoever watches many watches slowly. */
static void warden_ask_dead(hierarchy *h, axo_ctx *ctx)
{
    while (h->refs_asked < h->refs_count && h->refs_waiting < HIERARCHY_WATCHES) {
        if (axo_watch(ctx, h->refs[h->refs_asked++]) != AXO_OK)
            hierarchy_breach(h, HIERARCHY_NOBODY, 8, "a dead one cannot be watched");
        h->refs_waiting++;
    }
    if (h->refs_waiting == 0)
        warden_done(h);
}

static void warden_terminated(hierarchy *h, axo_ctx *ctx, const axo_terminated *gone)
{
    HIERARCHY_COUNT(h, moves);
    if (gone->existence_known != 1)
        hierarchy_breach(h, HIERARCHY_NOBODY, 8, "%016" PRIx64 " is said never to have lived",
                         gone->actor.bits);
    if (h->phase < HIERARCHY_STOPPING) {
        hierarchy_breach(h, 0, 10, "the root of the tree has gone");
        warden_done(h);
    } else if (h->phase == HIERARCHY_STOPPING) {
        h->stop_took = axo__os_now() - h->stop_began;
        h->phase = HIERARCHY_ASKING;
        warden_ask_dead(h, ctx);
    } else if (h->phase == HIERARCHY_ASKING && --h->refs_waiting == 0) {
        warden_ask_dead(h, ctx);
    }
}

/* ---- callbacks ---- */

static axo_status warden_construct(axo_ctx *ctx, void *state, const void *args)
{
    hierarchy *h = (hierarchy *)(uintptr_t)args;
    *(hierarchy **)state = h;
    if (++h->wardens > 1)
        hierarchy_breach(h, HIERARCHY_NOBODY, 10, "the warden has been restarted");
    return AXO_OK;
}

static axo_status warden_start(axo_ctx *ctx, void *state)
{
    hierarchy *h = warden_of(state);
    atomic_store_explicit(&h->warden, axo_self(ctx).bits, memory_order_relaxed);
    (void)hierarchy_spawn(ctx, &h->nodes[0], false);
    return AXO_OK;
}

static axo_status warden_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    hierarchy *h = warden_of(state);
    hierarchy_on_worker(h, HIERARCHY_NOBODY);
    if (h->phase == HIERARCHY_DONE)
        return AXO_OK;
    switch (message->tag) {
    case TAG_BORN:
        warden_born(h, ctx, message->payload);
        return AXO_OK;
    case TAG_WORK:
        warden_work(h, ctx);
        return AXO_OK;
    case TAG_PONG:
        return AXO_OK;
    case TAG_LAST_PONG:
        warden_last_pong(h, ctx, message);
        return AXO_OK;
    case AXO_TERMINATED:
        warden_terminated(h, ctx, message->payload);
        return AXO_OK;
    default:
        hierarchy_breach(h, HIERARCHY_NOBODY, 0, "the warden got tag %" PRIu32, message->tag);
        return AXO_OK;
    }
}

static axo_status warden_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    hierarchy_breach(warden_of(state), HIERARCHY_NOBODY, 10, "pre_restart of the warden");
    axo_throw(ctx, failure->code, "the warden must not be restarted");
}

static axo_status warden_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    hierarchy_breach(warden_of(state), HIERARCHY_NOBODY, 10, "post_restart of the warden");
    axo_throw(ctx, failure->code, "the warden must not be restarted");
}

/* It answers everything and escalates nothing. */
axo_directive hierarchy_warden_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                      void *user)
{
    hierarchy *h = user;
    HIERARCHY_COUNT(h, warden_decisions);
    HIERARCHY_COUNT(h, life);
    if (!axo_ref_equal(axo_sender(ctx), h->nodes[0].ref))
        hierarchy_breach(h, HIERARCHY_NOBODY, 10, "a report of one that is no child");
    const hierarchy_item *item = hierarchy_item_of(h, HIERARCHY_NOBODY, failure);
    return item != NULL ? hierarchy_answer(h, item, failure) : AXO_RESTART;
}

const axo_class hierarchy_warden_class =
    AXO_CLASS(.name = "warden", .state_size = sizeof(hierarchy *), .construct = warden_construct,
              .pre_start = warden_start, .receive = warden_receive,
              .pre_restart = warden_pre_restart, .post_restart = warden_post_restart);
