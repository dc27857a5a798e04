/* scenes_group.c - a group's message to many: its sending is shared, and ends once. */
#include "scenes.h"

#include <axo/group.h>

#define GROUP_TO 5 /* two portions of the simulator's */

static axo_group *group;
static axo_ref members[GROUP_TO];
static uint32_t callers;

static void group_begin(uint32_t workers)
{
    stage_boot(workers);
    for (uint32_t i = 0; i < GROUP_TO; i++)
        members[i] = i < 2 ? stage_spawn(&stage_counter, NULL) : members[i % 2];
    CHECK(axo_group_make(at.system, &group) == AXO_OK);
}

static void group_call(void)
{
    uint32_t accepted;
    CHECK(axo_group_send_many(group, members, GROUP_TO, 1, "payload", 8, &accepted) == AXO_OK);
    CHECK_SAME(accepted, GROUP_TO);
    at.sent += GROUP_TO;
}

/* Who is the last to wait frees the group. */
static void group_caller(void *arg)
{
    group_call();
    CHECK(axo_group_wait(group, AXO_GROUP_FOREVER, AXO_GROUP_SLEEP) == AXO_OK);
    if (--callers > 0)
        return;
    CHECK_SAME(at.handled, at.sent);
    CHECK_SAME(axo_group_count(group), 0);
    CHECK(axo_group_free(group) == AXO_OK);
}

/* The callers' looks by the clock end too. */
static void group_end(uint32_t threads)
{
    callers = threads;
    for (uint32_t i = 0; i < threads; i++)
        stage_thread(i == 0 ? "one" : "two", group_caller, NULL);
    stage_go_within(INT64_C(1000000000));
    CHECK_SAME(axo__sim_started(), 0);
    CHECK_SAME(at.handled, threads * GROUP_TO);
    stage_account();
    stage_end();
}

static void play_crew(void)
{
    group_begin(2);
    group_end(1);
}

const stage_scene scene_crew = {.name = "crew",
                                .what = "a call's job, its maker and two workers",
                                .play = play_crew,
                                .bound = 1};

static void play_crew_two(void)
{
    group_begin(1);
    group_end(2);
}

const stage_scene scene_crew_two = {.name = "crew-two",
                                    .what = "two calls and a worker",
                                    .play = play_crew_two,
                                    .bound = 1};

/* ---- the call is made in a handler, so nothing but its end waits for the other worker ---- */

static axo_status group_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    group_call();
    return AXO_OK;
}

static const axo_class group_class = AXO_CLASS(.name = "caller", .receive = group_receive);

static void group_starter(void *arg)
{
    CHECK(stage_send(*(const axo_ref *)arg, 1) == AXO_OK);
}

static void play_crew_call(void)
{
    group_begin(2);
    axo_ref caller = stage_spawn(&group_class, NULL);
    stage_thread("starter", group_starter, &caller);
    stage_go();
    CHECK_SAME(at.handled, 1 + GROUP_TO);
    CHECK(axo_group_free(group) == AXO_OK);
    stage_account();
    stage_end();
}

const stage_scene scene_crew_call = {.name = "crew-call",
                                     .what = "a handler's job, and another worker",
                                     .play = play_crew_call,
                                     .bound = 1};

/* ---- one of the receivers ends meanwhile, and the calling thread does not wait ---- */

static void group_sender(void *arg)
{
    uint32_t accepted;
    axo_status status =
        axo_group_send_many(group, members, GROUP_TO, 1, "payload", 8, &accepted);
    CHECK(status == (accepted == GROUP_TO ? AXO_OK : AXO_EGONE));
    at.sent += GROUP_TO;
}

static void group_stopper(void *arg)
{
    CHECK(axo_system_stop_actor(at.system, members[1]) == AXO_OK);
}

static void play_crew_end(void)
{
    group_begin(1);
    stage_thread("sender", group_sender, NULL);
    stage_thread("stopper", group_stopper, NULL);
    stage_go_within(INT64_C(1000000000));
    CHECK_SAME(axo__sim_started(), 0);
    CHECK_SAME(at.handled + at.dead, GROUP_TO);
    CHECK(axo_group_free(group) == AXO_OK); /* nothing counts */
    stage_account();
    stage_end();
}

const stage_scene scene_crew_end = {.name = "crew-end",
                                    .what = "a receiver ends while a job is done",
                                    .play = play_crew_end,
                                    .bound = 1};
