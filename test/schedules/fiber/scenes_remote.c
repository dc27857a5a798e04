/* scenes_remote.c - a node is lost while it delivers, tells of an end, and is watched. */
#include "scenes.h"

#include <axo/remote.h>

static uint32_t number;   /* the node's */
static axo_ref target;    /* an actor of it */
static axo_ref watcher;
static uint32_t lost;     /* 1: axo_remote_lose has returned */
static uint32_t notices;
static uint32_t late;     /* messages of the node behind the notice */
static uint32_t watched;

enum { REMOTE_SAY = 1, REMOTE_WATCH, REMOTE_UNWATCH };

static axo_status remote_send(void *user, axo_ref to, const axo_message *message)
{
    return AXO_OK;
}

static void remote_watches(void *user, axo_ref ref)
{
    CHECK(axo_ref_equal(ref, target));
}

static void remote_ended(void *user, uint32_t node, const axo_terminated *end)
{
    CHECK_SAME(node, number);
}

static axo_status remote_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    switch (message->tag) {
    case AXO_TERMINATED:
        CHECK(axo_ref_equal(AXO_PAYLOAD(message, axo_terminated)->actor, target));
        CHECK(watched == 1);
        watched = 0;
        notices++;
        return AXO_OK;
    case REMOTE_SAY:
        late += notices;
        return AXO_OK;
    case REMOTE_WATCH:
        watched = 1;
        return axo_watch(ctx, target);
    case REMOTE_UNWATCH:
        watched = 0;
        return axo_unwatch(ctx, target);
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class remote_class = AXO_CLASS(.name = "watcher", .receive = remote_receive);

static void remote_loses(void *arg)
{
    CHECK(axo_remote_lose(at.system, number) == AXO_OK);
    lost = 1;
}

/* R4 of remote_sim: when the loss has returned nothing is delivered any more. */
static void remote_delivers(void *arg)
{
    uint32_t before = lost;
    axo_remote_message m = AXO_REMOTE_MESSAGE(.to = watcher, .from = target, .tag = REMOTE_SAY);
    axo_status status = axo_remote_deliver(at.system, number, &m);
    CHECK(status == AXO_OK || status == AXO_EGONE);
    CHECK(before == 0 || status == AXO_EGONE);
}

static void remote_tells(void *arg)
{
    axo_terminated end = {.actor = target, .existence_known = 1};
    axo_status status = axo_remote_terminated(at.system, number, &end);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void remote_unwatches(void *arg)
{
    CHECK(axo_system_send(at.system, watcher, REMOTE_UNWATCH, NULL, 0) == AXO_OK);
}

static void remote_boot(bool watches)
{
    static const axo_remote remote =
        AXO_REMOTE(.here = {.name = "here", .incarnation = 1}, .send = remote_send,
                   .watch = remote_watches, .unwatch = remote_watches, .terminated = remote_ended);
    static const axo_node node = {.name = "there", .incarnation = 1};
    lost = notices = late = watched = 0;
    stage_boot_with((axo_options)AXO_OPTIONS(.workers = 1, .remote = &remote));
    CHECK(axo_remote_add(at.system, &node, &number) == AXO_OK);
    target = axo_remote_enter(at.system, &node, 0x1000001);
    watcher = stage_spawn(&remote_class, NULL);
    if (watches)
        CHECK(axo_system_send(at.system, watcher, REMOTE_WATCH, NULL, 0) == AXO_OK);
    axo__sim_settle(-1);
}

static void play_remote(void)
{
    remote_boot(true);
    stage_thread("loser", remote_loses, NULL);
    stage_thread("carrier", remote_delivers, NULL);
    stage_go();
    CHECK_SAME(notices, 1);
    CHECK_SAME(late, 0);
    stage_end();
}

const stage_scene scene_remote = {.name = "remote", .what = "a node is lost while it delivers",
                                  .play = play_remote, .delay = 1};

static void play_remote_end(void)
{
    remote_boot(true);
    stage_thread("loser", remote_loses, NULL);
    stage_thread("carrier", remote_tells, NULL);
    stage_thread("other", remote_unwatches, NULL);
    stage_go();
    CHECK_SAME(watched, 0);
    CHECK(notices <= 1);
    stage_end();
}

const stage_scene scene_remote_end = {.name = "remote end",
                                      .what = "a node is lost, tells of an end, is unwatched",
                                      .play = play_remote_end, .delay = 1};
