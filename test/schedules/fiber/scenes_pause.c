/* scenes_pause.c - a subtree is paused and resumed while its actors work, are born, fail and end:
 * when the call has returned none of them is in a handler, and none begins one. */
#include "scenes.h"

#include <axo/world.h>

#include "base/config.h"

enum { WORK = 1, BEAR, FALL, TICK };
#define TICK_NS INT64_C(100000)

static bool still; /* the pause is complete */
static axo_ref top; /* that is paused; none: /user */
static axo_ref parent;
static axo_ref child;
static uint32_t born;

static const axo_class paused_class;

static axo_status paused_construct(axo_ctx *ctx, void *state, const void *args)
{
    born++;
    return AXO_OK;
}

/* Others may go on. */
static void paused_dawdle(void)
{
    axo_ref none;
    CHECK(axo_system_lookup(at.system, "none", &none) == AXO_ENOENT);
}

static axo_status paused_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    const axo_props props = AXO_PROPS(.cls = &paused_class);
    axo_status status = AXO_OK;
    CHECK(!still);
    at.handled += message->tag != AXO_RECEIVE_TIMEOUT ? 1 : 0; /* which nobody sends */
    switch (message->tag) {
    case BEAR:
        status = axo_spawn(ctx, &props, &child);
        return status == AXO_OK ? axo_send(ctx, child, WORK, NULL, 0) : status;
    case FALL:
        return axo_fail(ctx, 1, "it falls");
    case TICK:
        return axo_receive_timeout(ctx, TICK_NS);
    case AXO_RECEIVE_TIMEOUT:
        return axo_receive_timeout(ctx, 0);
    default:
        paused_dawdle(); /* who does not wait for a handler is out of the call meanwhile */
        CHECK(!still);
        return AXO_OK;
    }
}

static const axo_class paused_class = AXO_CLASS(.name = "paused", .construct = paused_construct,
                                                .receive = paused_receive);

static void paused_send(void *arg)
{
    const uint32_t tag = *(const uint32_t *)arg;
    axo_status status = stage_send(tag == FALL || tag == TICK ? child : parent, tag);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void paused_call(void *arg)
{
    static const uint32_t work = WORK;
    for (uint32_t i = 0; i < 2; i++) {
        axo_status status;
        while ((status = axo_system_pause(at.system, top, 0)) == AXO_ETIMEDOUT)
            axo__sim_relax();
        if (status == AXO_EGONE)
            return;
        CHECK(status == AXO_OK);
        still = true;
        paused_send((void *)(uintptr_t)&work);
        paused_dawdle();
        still = false;
        status = axo_system_resume(at.system, top);
        CHECK(status == AXO_OK || status == AXO_EGONE);
    }
}

static void paused_fall(void *arg)
{
    CHECK(stage_send(parent, FALL) == AXO_OK);
}

static void paused_spawn(void *arg)
{
    axo_ref ref;
    const axo_props props = AXO_PROPS(.cls = &paused_class);
    CHECK(axo_system_spawn(at.system, &props, &ref) == AXO_OK);
    CHECK(stage_send(ref, WORK) == AXO_OK);
}

static void paused_stop(void *arg)
{
    CHECK(axo_system_stop_actor(at.system, parent) == AXO_OK);
}

/* A parent with a child. */
static void paused_begin(uint32_t workers)
{
    still = false;
    born = 0;
    stage_boot(workers);
    parent = stage_spawn(&paused_class, NULL);
    CHECK(stage_send(parent, BEAR) == AXO_OK);
    axo__sim_settle(-1);
    at.sent++; /* the parent's own */
    CHECK_SAME(born, 2);
    top = parent;
}

/* Nobody is paused, and what has waited has been handled. */
static void paused_end(void)
{
    axo_status status = stage_send(child, WORK);
    CHECK(status == AXO_OK || status == AXO_EGONE);
    status = stage_send(parent, WORK);
    CHECK(status == AXO_OK || status == AXO_EGONE);
    axo__sim_settle(-1);
    CHECK(axo_system_resume(at.system, top) == AXO_ENOENT);
    CHECK_SAME(at.handled + at.dead, at.sent);
    stage_account();
    stage_end();
}

static void play_pause(void)
{
    static const uint32_t work = WORK, bear = BEAR;
    paused_begin(2);
    stage_thread("pauser", paused_call, NULL);
    stage_thread("sender", paused_send, (void *)(uintptr_t)&work);
    stage_thread("bearer", paused_send, (void *)(uintptr_t)&bear);
    stage_go();
    CHECK_SAME(born, 3);
    at.sent++;
    paused_end();
}

const stage_scene scene_pause = {.name = "pause",
                                 .what = "a subtree is paused, a message and a birth",
                                 .play = play_pause, .delay = 1};

static void play_pause_fall(void)
{
    static const uint32_t fall = FALL;
    paused_begin(2);
    stage_thread("pauser", paused_call, NULL);
    stage_thread("child's", paused_send, (void *)(uintptr_t)&fall);
    stage_thread("parent's", paused_fall, NULL);
    stage_go();
    paused_end();
}

const stage_scene scene_pause_fall = {.name = "pause-fall",
                                      .what = "a subtree is paused, and both in it fail",
                                      .play = play_pause_fall, .delay = 1};

/* Born by a thread outside, below /user, which is paused: adopted before it or behind it. */
static void play_pause_born(void)
{
    static const uint32_t work = WORK;
    paused_begin(2);
    top = axo_ref_none();
    stage_thread("pauser", paused_call, NULL);
    stage_thread("sender", paused_send, (void *)(uintptr_t)&work);
    stage_thread("spawner", paused_spawn, NULL);
    stage_go();
    CHECK_SAME(born, 3);
    paused_end();
}

const stage_scene scene_pause_born = {.name = "pause-born",
                                      .what = "all is paused, and one is spawned from outside",
                                      .play = play_pause_born, .delay = 1};

/* The top itself ends, and its child with it. */
static void play_pause_end(void)
{
    static const uint32_t tick = TICK;
    paused_begin(2);
    stage_thread("pauser", paused_call, NULL);
    stage_thread("stopper", paused_stop, NULL);
    stage_thread("sender", paused_send, (void *)(uintptr_t)&tick);
    stage_go();
    paused_end();
}

const stage_scene scene_pause_end = {.name = "pause-end",
                                     .what = "a subtree is paused, and ends",
                                     .play = play_pause_end, .delay = 1};

static void paused_on(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo_status status = axo_system_pause(at.system, top, 0);
        CHECK(status == AXO_OK || status == AXO_ETIMEDOUT || status == AXO_ENOENT);
    }
}

static void paused_off(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo_status status = axo_system_resume(at.system, top);
        CHECK(status == AXO_OK || status == AXO_ENOENT);
    }
}

/* Who says last that they go on is heard, whatever was said before. */
static void play_pause_two(void)
{
    static const uint32_t fall = FALL;
    paused_begin(2);
    stage_thread("pauser", paused_on, NULL);
    stage_thread("resumer", paused_off, NULL);
    stage_thread("failer", paused_send, (void *)(uintptr_t)&fall);
    stage_go();
    (void)axo_system_resume(at.system, top);
    axo__sim_settle(-1);
    paused_end();
}

const stage_scene scene_pause_two = {.name = "pause-two",
                                     .what = "one thread pauses a subtree, another resumes it",
                                     .play = play_pause_two, .delay = 1};
