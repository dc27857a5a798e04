/* scenes_keep.c - crowds that are kept for the worker that has them (sched/keep.h): behind a
 * callback that does not end before they have been run, and at a worker that moves, but slowly. The
 * other worker must come. */
#include "scenes.h"

#include "base/config.h"
#include "sched/keep.h"
#include "system/system.h"

#define CROWD 5

static axo_ref crowd[CROWD];
static axo__os_parker all_run;

static void one_more(void)
{
    if (++at.handled == 1 + CROWD)
        axo__os_parker_wake(&all_run);
}

static axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    one_more();
    return message->tag == 2 ? axo_stop_self(ctx) : AXO_OK;
}

static const axo_class member = AXO_CLASS(.name = "member", .receive = member_receive);

/* Until the crowd has been run, by others. */
static void wait_for_all(void)
{
    while (at.handled < 1 + CROWD) {
        uint64_t ticket = axo__os_parker_ticket(&all_run);
        if (at.handled < 1 + CROWD)
            axo__os_parker_wait(&all_run, ticket, AXO__NEVER);
    }
}

static axo_status speaker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    for (uint32_t i = 0; i < CROWD; i++) {
        axo_ref to = crowd[i];
        axo_props props = AXO_PROPS(.cls = &member);
        if (message->tag == 2 && axo_spawn(ctx, &props, &to) != AXO_OK)
            return axo_fail(ctx, 1, "no child");
        if (axo_send(ctx, to, message->tag, NULL, 0) != AXO_OK)
            return axo_fail(ctx, 1, "it is gone");
    }
    wait_for_all();
    return AXO_OK;
}

static const axo_class speaker = AXO_CLASS(.name = "speaker", .receive = speaker_receive);

static axo_ref speaking;
static uint32_t speaking_tag;

static void speaker_send(void *arg)
{
    CHECK(stage_send(speaking, speaking_tag) == AXO_OK);
}

/* For ever, which no haul does. */
static void keep_all(void)
{
    for (uint32_t what = 0; what < AXO__KEEPS; what++)
        axo__a64_store_relaxed(&at.system->sched.keep_until[what], INT64_MAX);
}

static void play_kept(uint32_t tag)
{
    speaking_tag = tag;
    axo__os_parker_init(&all_run);
    stage_boot(2);
    for (uint32_t i = 0; i < CROWD; i++)
        crowd[i] = stage_spawn(&member, NULL);
    speaking = stage_spawn(&speaker, NULL);
    keep_all();
    stage_thread("sender", speaker_send, NULL);
    stage_go_within(INT64_C(50000000)); /* a few watches */
    CHECK_SAME(at.handled, 1 + CROWD);
    stage_end();
}

static void play_kept_ready(void)
{
    play_kept(1);
}

static void play_kept_newborns(void)
{
    play_kept(2);
}

const stage_scene scene_kept = {.name = "kept", .what = "kept ready cells behind a long handler",
                                .play = play_kept_ready, .bound = 1, .early_one_in = 16};
const stage_scene scene_kept_newborns = {.name = "kept-newborns",
                                         .what = "kept newborns behind a long handler",
                                         .play = play_kept_newborns, .bound = 1,
                                         .early_one_in = 16};

/* ---- urgent: a restarted parent's children, of whom the first one's hook hangs ---- */

static axo_status sibling_again(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    bool first = at.handled == 1;
    one_more();
    if (first)
        wait_for_all();
    return AXO_OK;
}

static const axo_class sibling =
    AXO_CLASS(.name = "sibling", .receive = member_receive, .post_restart = sibling_again);

static axo_status elder_start(axo_ctx *ctx, void *state)
{
    axo_props props = AXO_PROPS(.cls = &sibling);
    axo_status status = AXO_OK;
    for (uint32_t i = 0; i < CROWD && status == AXO_OK; i++)
        status = axo_spawn(ctx, &props, &crowd[i]);
    return status;
}

static axo_status elder_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    return AXO_EFAILED;
}

/* It keeps its children. */
static axo_status elder_keep(axo_ctx *ctx, void *state, const axo_failure *failure,
                             const axo_message *message)
{
    return AXO_OK;
}

static axo_status elder_kept(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    return AXO_OK;
}

static const axo_class elder =
    AXO_CLASS(.name = "elder", .pre_start = elder_start, .receive = elder_receive,
              .pre_restart = elder_keep, .post_restart = elder_kept);

static void play_kept_urgent(void)
{
    speaking_tag = 1;
    axo__os_parker_init(&all_run);
    stage_boot(2);
    speaking = stage_spawn(&elder, NULL);
    keep_all();
    stage_thread("sender", speaker_send, NULL);
    stage_go_within(INT64_C(50000000));
    CHECK_SAME(at.handled, 1 + CROWD);
    stage_end();
}

const stage_scene scene_kept_urgent = {.name = "kept-urgent",
                                       .what = "kept children behind a sibling's long post_restart",
                                       .play = play_kept_urgent, .bound = 1, .early_one_in = 16};

/* ---- a worker that moves, but slowly ----
 *
 * Each turn is shorter than the shortest watch, so whoever looks finds that the worker has moved.
 * But the crowd is so large that its last member waits for longer than the longest watch. */

enum {
    SLOW_NS = 40000,
    SLOW_CROWD = AXO__WATCH_MAX_NS / SLOW_NS + 10,
    SLOW_TALKS = 400,  /* of the speaker with itself: until the other watches as seldom as it may */
    SLOW_TURNS = 1000, /* of the crowd, if nobody comes */
};

static axo_ref slow_crowd[SLOW_CROWD];
static axo_ref slow_other;
static axo__os_parker slow_clock;
static uint32_t slow_talks;
static uint32_t slow_turns;
static uint32_t slow_owner;   /* the fiber that made them ready */
static int64_t slow_ready_at; /* when it did */
static int64_t slow_came_at;  /* when another one ran the first of them; 0: none has */

static void slow_work(void)
{
    int64_t until = axo__os_now() + SLOW_NS;
    while (axo__os_now() < until) {
        uint64_t ticket = axo__os_parker_ticket(&slow_clock);
        axo__os_parker_wait(&slow_clock, ticket, until);
    }
}

/* Is ready again at once, until another worker has come. */
static axo_status slow_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (axo__sim_me() != slow_owner && slow_came_at == 0)
        slow_came_at = axo__os_now();
    slow_work();
    if (slow_came_at != 0 || ++slow_turns >= SLOW_TURNS)
        return AXO_OK;
    return axo_send(ctx, axo_self(ctx), 1, NULL, 0);
}

static const axo_class slow_member = AXO_CLASS(.name = "member", .receive = slow_receive);

static axo_status slow_speak(axo_ctx *ctx, void *state, const axo_message *message)
{
    slow_work();
    if (++slow_talks < SLOW_TALKS + at.seed % 100) /* anywhere in a watch */
        return axo_send(ctx, axo_self(ctx), 1, NULL, 0);
    slow_owner = axo__sim_me();
    slow_ready_at = axo__os_now();
    for (uint32_t i = 0; i < SLOW_CROWD; i++) {
        if (axo_send(ctx, slow_crowd[i], 1, NULL, 0) != AXO_OK)
            return axo_fail(ctx, 1, "it is gone");
    }
    return AXO_OK;
}

static const axo_class slow_speaker = AXO_CLASS(.name = "speaker", .receive = slow_speak);

/* The second one gets the other worker up, which watches then. */
static void slow_send(void *arg)
{
    CHECK(stage_send(speaking, 1) == AXO_OK);
    CHECK(stage_send(slow_other, 1) == AXO_OK);
}

static void play_kept_slow(void)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .quantum = 1, .actors_max = 128);
    slow_talks = slow_turns = 0;
    slow_came_at = 0;
    axo__os_parker_init(&slow_clock);
    stage_boot_with(options);
    for (uint32_t i = 0; i < SLOW_CROWD; i++)
        slow_crowd[i] = stage_spawn(&slow_member, NULL);
    speaking = stage_spawn(&slow_speaker, NULL);
    slow_other = stage_spawn(&stage_counter, NULL);
    keep_all();
    stage_thread("sender", slow_send, NULL);
    stage_go_within(INT64_C(1000000000));
    CHECK(slow_came_at != 0);
    CHECK(slow_came_at - slow_ready_at <= 2 * AXO__WATCH_MAX_NS); /* a watch is no longer */
    stage_end();
}

const stage_scene scene_kept_slow = {.name = "kept-slow",
                                     .what = "a kept crowd that is long, at a worker that moves",
                                     .play = play_kept_slow, .heavy = 100,
                                     .points_max = 2000000};
