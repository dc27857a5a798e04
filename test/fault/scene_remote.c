/* scene_remote.c - a node is known, sends, watches, is watched, and is lost: <axo/remote.h>. */
#include "fault/scenes.h"

typedef struct remote_said {
    uint32_t sent, asked, watches, unwatches, ended, lost;
} remote_said;

static remote_said said;
static const axo_node there = {.name = "there", .incarnation = 7};
static uint32_t number;

static axo_status remote_send(void *user, axo_ref to, const axo_message *message)
{
    said.sent++;
    return AXO_OK;
}

static void remote_watch(void *user, axo_ref target)
{
    said.watches++;
}

static void remote_unwatch(void *user, axo_ref target)
{
    said.unwatches++;
}

static void remote_ended(void *user, uint32_t node, const axo_terminated *end)
{
    said.ended++;
}

static void remote_lost(void *user, uint32_t node)
{
    said.lost++;
}

static const axo_remote remote_table =
    AXO_REMOTE(.here = {.name = "here", .incarnation = 1}, .send = remote_send,
               .watch = remote_watch, .unwatch = remote_unwatch, .terminated = remote_ended,
               .lost = remote_lost);
static const axo_options remote_options = AXO_OPTIONS(.remote = &remote_table);

static bool remote_join(world *w)
{
    said = (remote_said){0};
    return TRY(w, axo_remote_add(w->system, &there, &number)) == AXO_OK;
}

static axo_ref remote_ref(world *w, uint64_t bits)
{
    return axo_remote_enter(w->system, &there, bits);
}

/* ---- messages ---- */

static void remote_says(axo_ctx *ctx, world *w)
{
    axo_ref far = remote_ref(w, 0x1000001);
    (void)TRY(w, axo_send(ctx, far, WORLD_NOTE, NULL, 0));
    (void)TRY(w, axo_send(ctx, far, WORLD_NOTE, "more than a line of a cache has room for, "
                                                "so that a block of another class is taken", 80));
}

static void remote_messages(world *w)
{
    axo_remote_message m = AXO_REMOTE_MESSAGE(.to = w->driver, .tag = WORLD_NOTE);
    if (!remote_join(w))
        return;
    world_do(w, remote_says);
    (void)TRY(w, axo_system_send(w->system, remote_ref(w, 0x1000001), WORLD_NOTE, "x", 2));
    m.from = remote_ref(w, 0x1000001);
    (void)TRY(w, axo_remote_deliver(w->system, number, &m));
    world_run(w);
    if (world_rich(w))
        MUST(w, said.sent == 3 && w->got[WORLD_NOTE] == 1);
    MUST(w, axo_remote_lose(w->system, number) == AXO_OK);
    world_run(w);
}

/* ---- watches: those of actors there ---- */

static void remote_watches(axo_ctx *ctx, world *w)
{
    said.asked += TRY(w, axo_watch(ctx, remote_ref(w, 0x1000001))) == AXO_OK;
    said.asked += TRY(w, axo_watch_with(ctx, remote_ref(w, 0x1000002), WORLD_NOTE, "some", 5)) ==
                AXO_OK;
    said.asked += TRY(w, axo_watch(ctx, remote_ref(w, 0x1000003))) == AXO_OK;
}

/* Whatever is refused: each watch that there is gets one notice, by its actor's end or the loss. */
static void remote_watched(world *w)
{
    axo_terminated end = {.existence_known = 1};
    if (!remote_join(w))
        return;
    world_do(w, remote_watches);
    world_run(w);
    end.actor = remote_ref(w, 0x1000001);
    (void)TRY(w, axo_remote_terminated(w->system, number, &end));
    world_run(w);
    if (world_rich(w))
        MUST(w, said.watches == 3 && w->got[0] == 1);
    MUST(w, axo_remote_lose(w->system, number) == AXO_OK);
    world_run(w);
    MUST(w, w->got[0] + w->got[WORLD_NOTE] == said.asked);
}

/* ---- watches: the node's, of actors here ---- */

/* Without memory for a watch the node is given up, and its carrier hears of it: no watch is
 * forgotten. */
static void remote_watcher(world *w)
{
    axo_props props = world_props(&w);
    refuse_pause();
    MUST(w, axo_system_spawn(w->system, &props, &w->ref) == AXO_OK);
    refuse_resume();
    if (!remote_join(w))
        return;
    bool asked = TRY(w, axo_remote_watch(w->system, number, w->ref)) == AXO_OK;
    world_run(w);
    MUST(w, axo_system_stop_actor(w->system, w->ref) == AXO_OK);
    world_run(w);
    MUST(w, !asked || said.ended + said.lost == 1);
    if (said.lost == 0) {
        (void)TRY(w, axo_remote_unwatch(w->system, number, w->pinger));
        MUST(w, axo_remote_lose(w->system, number) == AXO_OK);
    }
    world_run(w);
}

const scene scenes_remote[] = {
    {.name = "a node's messages", .run = remote_messages, .options = &remote_options},
    {.name = "a node's actors are watched", .run = remote_watched, .options = &remote_options},
    {.name = "a node watches", .run = remote_watcher, .options = &remote_options},
    {.name = NULL},
};
