/* scenes_later.c - a decision that was put off (AXO_LATER): it is asked for again while the child
 * is stopped by somebody, and while the parent fails and keeps it. Until it is made the child
 * handles nothing, and nobody is asked who was not told to be. */
#include "scenes.h"

enum { LATER_WORK = 1, LATER_FALL, LATER_AGAIN };

static axo_ref parent;
static axo_ref child;
static bool open;        /* put off, and not decided */
static uint32_t reports; /* failures of the child */
static uint32_t agains;  /* that axo_decide_again has taken */
static uint32_t asked;
static uint32_t worked;  /* messages of the child */

static axo_status later_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    CHECK(!open);
    at.handled++;
    if (message->tag != LATER_FALL) {
        worked++;
        return AXO_OK;
    }
    reports++;
    return axo_fail(ctx, 1, "it falls");
}

static const axo_class later_child = AXO_CLASS(.name = "child", .receive = later_child_receive);

/* The first answer to each failure is put off. */
static axo_directive later_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    asked++;
    CHECK(axo_ref_equal(failure->reporter, child));
    CHECK(asked <= reports + agains);
    open = !open;
    return open ? AXO_LATER : AXO_RESTART;
}

static const axo_strategy later_strategy = AXO_STRATEGY(.decider = later_decide);

static axo_status later_parent_start(axo_ctx *ctx, void *state)
{
    const axo_props props = AXO_PROPS(.cls = &later_child);
    return axo_spawn(ctx, &props, &child);
}

static axo_status later_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    if (message->tag == LATER_FALL)
        return axo_fail(ctx, 2, "the parent falls");
    axo_status status = axo_decide_again(ctx, child);
    CHECK(status == AXO_OK || status == AXO_EINVAL || status == AXO_EGONE);
    CHECK(status != AXO_OK || open);
    CHECK(status != AXO_EINVAL || !open || agains > 0); /* or it has been taken, and is to come */
    agains += status == AXO_OK;
    return AXO_OK;
}

/* It keeps its child, with the question. */
static axo_status later_parent_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                           const axo_message *message)
{
    return AXO_OK;
}

static axo_status later_parent_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    return AXO_OK;
}

static const axo_class later_parent =
    AXO_CLASS(.name = "parent", .pre_start = later_parent_start, .receive = later_parent_receive,
              .pre_restart = later_parent_pre_restart, .post_restart = later_parent_post_restart);

static void later_fails(void *arg)
{
    axo_status status = stage_send(child, LATER_FALL);
    CHECK(status == AXO_OK || status == AXO_EGONE);
    status = stage_send(child, LATER_WORK);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void later_asks(void *arg)
{
    CHECK(stage_send(parent, LATER_AGAIN) == AXO_OK);
    CHECK(stage_send(parent, LATER_AGAIN) == AXO_OK);
}

static void later_stops(void *arg)
{
    axo_status status = axo_system_stop_actor(at.system, child);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void later_parent_falls(void *arg)
{
    CHECK(stage_send(parent, LATER_FALL) == AXO_OK);
}

static void later_boot(void)
{
    const axo_props props = AXO_PROPS(.cls = &later_parent, .strategy = &later_strategy);
    open = false;
    reports = agains = asked = worked = 0;
    stage_boot(2);
    CHECK(axo_system_spawn(at.system, &props, &parent) == AXO_OK);
    axo__sim_settle(-1);
}

static void play_later(void)
{
    later_boot();
    stage_thread("fails", later_fails, NULL);
    stage_thread("asks", later_asks, NULL);
    stage_thread("stops", later_stops, NULL);
    stage_go();
    CHECK(asked <= reports + agains);
    stage_end();
}

const stage_scene scene_later = {.name = "later",
                                 .what = "a decision that was put off, and the child is stopped",
                                 .play = play_later, .delay = 1};

static void play_later_kept(void)
{
    later_boot();
    stage_thread("fails", later_fails, NULL);
    stage_thread("asks", later_asks, NULL);
    stage_thread("falls", later_parent_falls, NULL);
    stage_go();
    if (open) { /* nobody has asked behind the failure */
        CHECK_SAME(worked, 0);
        CHECK(stage_send(parent, LATER_AGAIN) == AXO_OK);
        axo__sim_settle(-1);
    }
    CHECK(!open);
    CHECK_SAME(asked, reports + agains);
    CHECK_SAME(worked, 1);
    stage_end();
}

const stage_scene scene_later_kept = {.name = "later_kept",
                                      .what = "a decision that was put off, and the parent fails",
                                      .play = play_later_kept, .delay = 1};
