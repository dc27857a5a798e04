/* scenes_leaf.c - plain leaves: one that ends, and one that is born and ends at once, against all
 * who have something to do with it or with its parent meanwhile. */
#include "scenes.h"

enum { WORK = 1, STOP = 2, WATCH = 3, BEAR = 4 };

static axo_ref leaf;
static axo_ref parent;
static axo_ref other;
static uint64_t notices;
static uint64_t ended;  /* post_stops */
static uint64_t lived;  /* leaves that were made */
static uint64_t failed; /* of them in construct, by a throw */
static uint64_t most;   /* children that the parent has seen at a time */

static axo_status leaf_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(uint64_t *)state = 1;
    lived++;
    if (args != NULL) {
        failed++;
        axo_throw(ctx, 1, "as it was told");
    }
    return AXO_OK;
}

static axo_status leaf_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    CHECK(*(uint64_t *)state == 1 && ended < lived);
    return message->tag == STOP ? axo_stop_self(ctx) : AXO_OK;
}

static axo_status leaf_stop(axo_ctx *ctx, void *state)
{
    CHECK(*(uint64_t *)state == 1);
    ended++;
    return AXO_OK;
}

static const axo_class leaf_class =
    AXO_CLASS(.name = "leaf", .state_size = sizeof(uint64_t), .construct = leaf_construct,
              .receive = leaf_receive, .post_stop = leaf_stop);

/* BEAR: two that live on, one that stops itself, one that is never made. */
static void parent_bear(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &leaf_class);
    axo_ref ref;
    for (uint32_t i = 0; i < 3; i++) {
        CHECK(axo_spawn(ctx, &props, &ref) == AXO_OK);
        CHECK(axo_send(ctx, ref, i == 1 ? STOP : WORK, NULL, 0) == AXO_OK);
        at.sent++;
    }
    props.args = &props;
    CHECK(axo_spawn(ctx, &props, &ref) == AXO_OK);
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &leaf_class);
    if (message->tag == AXO_TERMINATED) {
        notices++;
        return AXO_OK;
    }
    at.handled++;
    uint64_t now = axo_child_count(ctx);
    most = now > most ? now : most;
    if (message->tag == WATCH)
        return axo_watch(ctx, leaf);
    if (message->tag == BEAR)
        parent_bear(ctx);
    return message->tag == STOP ? axo_spawn(ctx, &props, &leaf) : AXO_OK;
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

static void leaf_send(void *arg)
{
    axo_status status = stage_send(leaf, *(const uint32_t *)arg);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void parent_send(void *arg)
{
    CHECK(stage_send(parent, *(const uint32_t *)arg) == AXO_OK);
}

static void other_send(void *arg)
{
    CHECK(stage_send(other, *(const uint32_t *)arg) == AXO_OK);
}

static const uint32_t work = WORK;
static const uint32_t stop = STOP;
static const uint32_t watch = WATCH;
static const uint32_t bear = BEAR;

static void leaf_begin(void)
{
    notices = ended = lived = failed = most = 0;
    stage_boot(2);
    parent = stage_spawn(&parent_class, NULL);
    other = stage_spawn(&parent_class, NULL);
    CHECK(stage_send(parent, STOP) == AXO_OK); /* its child */
    axo__sim_settle(-1);
    CHECK_SAME(lived, 1);
}

static void leaf_end(uint64_t actors)
{
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(at.system, &stats);
    CHECK_SAME(stats.actors, 3 + actors); /* the guardians */
    CHECK_SAME(at.handled + at.dead, at.sent);
    stage_account();
    stage_end();
}

/* Sends to it, work for its parent. */
static void play_leaf(void)
{
    leaf_begin();
    stage_thread("stopper", leaf_send, (void *)(uintptr_t)&stop);
    stage_thread("sender", leaf_send, (void *)(uintptr_t)&work);
    stage_thread("busy", parent_send, (void *)(uintptr_t)&work);
    stage_go();
    CHECK_SAME(ended, 1);
    leaf_end(2);
}

const stage_scene scene_leaf = {.name = "leaf",
                                .what = "a leaf's end against sends to it and its parent",
                                .play = play_leaf, .delay = 1};

/* A watch by its parent, and by another one. */
static void play_leaf_watch(void)
{
    leaf_begin();
    stage_thread("stopper", leaf_send, (void *)(uintptr_t)&stop);
    stage_thread("watcher", other_send, (void *)(uintptr_t)&watch);
    stage_thread("above", parent_send, (void *)(uintptr_t)&watch);
    stage_go();
    CHECK_SAME(ended, 1);
    CHECK_SAME(notices, 2);
    leaf_end(2);
}

const stage_scene scene_leaf_watch = {.name = "leaf_watch",
                                      .what = "a leaf's end against two watches",
                                      .play = play_leaf_watch, .delay = 1};

/* Births on one worker that the other one may take, and their ends on both. */
static void play_leaves(void)
{
    leaf_begin();
    stage_thread("bearer", parent_send, (void *)(uintptr_t)&bear);
    stage_thread("busy", parent_send, (void *)(uintptr_t)&work);
    stage_go();
    CHECK_SAME(lived, 5);
    CHECK_SAME(failed, 1);
    CHECK_SAME(ended, 1);
    CHECK(most <= 5);
    leaf_end(5);
}

const stage_scene scene_leaves = {.name = "leaves",
                                  .what = "births and ends that another worker may take",
                                  .play = play_leaves, .delay = 1};
