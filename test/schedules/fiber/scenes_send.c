/* scenes_send.c - messages in a whole system: senders, parking, bounds, timers, answers. */
#include "scenes.h"

static axo_ref target;

static void send_one(void *arg)
{
    CHECK(stage_send(target, 1) == AXO_OK);
}

static void send_two(void *arg)
{
    send_one(arg);
    send_one(arg);
}

/* ---- two senders against the runner of their receiver ---- */

static void play_send(void)
{
    stage_boot(0);
    target = stage_spawn(&stage_counter, NULL);
    stage_thread("one", send_one, NULL);
    stage_thread("two", send_one, NULL);
    stage_go();
    CHECK_SAME(at.handled, 2);
    stage_end();
}

const stage_scene scene_send = {.name = "send", .what = "two senders, one receiver",
                                .play = play_send, .bound = 2};

/* ---- a sender against a worker that parks ---- */

static void play_park(void)
{
    stage_boot(1);
    target = stage_spawn(&stage_counter, NULL);
    stage_thread("sender", send_two, NULL);
    stage_go();
    CHECK_SAME(at.handled, 2); /* before the clock has gone to any deadline */
    stage_end();
}

const stage_scene scene_park = {.name = "park", .what = "a sender against a worker that parks",
                                .play = play_park, .bound = 2, .early_one_in = 8};

/* ---- two workers: what one makes ready is run, whoever parks meanwhile ---- */

static axo_status relay_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    if (message->tag == 1 && axo_send(ctx, target, 2, NULL, 0) != AXO_OK)
        return axo_fail(ctx, 1, "it is gone");
    return AXO_OK;
}

static const axo_class relay = AXO_CLASS(.name = "relay", .receive = relay_receive);
static axo_ref relays[2];

static void relay_send(void *arg)
{
    CHECK(stage_send(*(axo_ref *)arg, 1) == AXO_OK);
}

static void play_relay(void)
{
    stage_boot(2);
    target = stage_spawn(&stage_counter, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        relays[i] = stage_spawn(&relay, NULL);
        stage_thread(i == 0 ? "one" : "two", relay_send, &relays[i]);
    }
    stage_go();
    CHECK_SAME(at.handled, 4);
    stage_end();
}

const stage_scene scene_relay = {.name = "relay", .what = "two workers that steal and park",
                                 .play = play_relay, .bound = 1, .delay = 1, .early_one_in = 16};

/* ---- actors that use up their turns: more than a tiny queue of them has room for ---- */

#define SPENDERS 6
#define SPENDS   8

static axo_ref spenders[SPENDERS];

static axo_status spender_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    if (message->tag == SPENDS)
        return AXO_OK;
    return axo_send(ctx, axo_self(ctx), message->tag + 1, NULL, 0);
}

static const axo_class spender = AXO_CLASS(.name = "spender", .receive = spender_receive);

static void spenders_send(void *arg)
{
    for (uint32_t i = 0; i < SPENDERS; i++)
        CHECK(stage_send(spenders[i], 1) == AXO_OK);
}

static void play_overrun(void)
{
    stage_boot_with((axo_options)AXO_OPTIONS(.workers = 2, .quantum_us = 1));
    for (uint32_t i = 0; i < SPENDERS; i++)
        spenders[i] = stage_spawn(&spender, NULL);
    axo__sim_waits(at.scene->early_one_in, 100); /* ns a yield point: a few messages are a turn */
    stage_thread("sender", spenders_send, NULL);
    stage_go();
    CHECK_SAME(at.handled, SPENDERS * SPENDS);
    stage_end();
}

const stage_scene scene_overrun = {.name = "overrun", .what = "actors that use up their turns",
                                   .play = play_overrun, .early_one_in = 16};

/* ---- producers that flood a consumer, and follow it from worker to worker ---- */

#define FLOODS 10 /* messages of a producer, of FLOOD each to the consumer */
#define FLOOD  4

static axo_ref flooders[3];

static axo_status flooder_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    for (uint32_t i = 0; i < FLOOD; i++) {
        if (axo_send(ctx, target, 1, NULL, 0) != AXO_OK)
            return axo_fail(ctx, 1, "it is gone");
    }
    if (message->tag == FLOODS)
        return AXO_OK;
    return axo_send(ctx, axo_self(ctx), message->tag + 1, NULL, 0);
}

static const axo_class flooder = AXO_CLASS(.name = "flooder", .receive = flooder_receive);

static void flooders_send(void *arg)
{
    for (uint32_t i = 0; i < 3; i++)
        CHECK(stage_send(flooders[i], 1) == AXO_OK);
}

static void play_follow(void)
{
    stage_boot_with((axo_options)AXO_OPTIONS(.workers = 2, .quantum_us = 1));
    target = stage_spawn(&stage_counter, NULL);
    for (uint32_t i = 0; i < 3; i++)
        flooders[i] = stage_spawn(&flooder, NULL);
    axo__sim_waits(at.scene->early_one_in, 100); /* ns a yield point: a few messages are a turn */
    stage_thread("sender", flooders_send, NULL);
    stage_go();
    CHECK_SAME(at.handled, 3 * FLOODS * (1 + FLOOD));
    stage_end();
}

const stage_scene scene_follow = {.name = "follow", .what = "producers that follow their consumer",
                                  .play = play_follow, .early_one_in = 16};

/* ---- a bounded mailbox: a sender that parks against room ---- */

static axo_ref bounded;

static axo_status pusher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == 1) {
        for (uint32_t i = 0; i < 2; i++) {
            if (axo_send(ctx, bounded, 3, NULL, 0) != AXO_OK)
                return axo_fail(ctx, 1, "refused");
        }
    }
    at.handled++;
    return AXO_OK;
}

static const axo_class pusher = AXO_CLASS(.name = "pusher", .receive = pusher_receive);

static void play_room(void)
{
    axo_mailbox one = {.size = sizeof one, .overflow = AXO_OVERFLOW_PARK, .messages_max = 1};
    axo_props props = AXO_PROPS(.cls = &stage_counter, .mailbox = &one);
    stage_boot(2);
    CHECK(axo_system_spawn(at.system, &props, &bounded) == AXO_OK);
    axo__sim_settle(-1);
    target = stage_spawn(&pusher, NULL);
    stage_thread("sender", send_two, NULL);
    stage_go();
    CHECK_SAME(at.handled, 6); /* two of its own, four passed on: nobody is parked for ever */
    stage_end();
}

const stage_scene scene_room = {.name = "room", .what = "a parked sender against room",
                                .play = play_room, .bound = 1, .delay = 1};

/* ---- a timer: cancelled from outside against its firing ---- */

static axo_timer timer;
static uint64_t cancelled;

static void timer_cancel(void *arg)
{
    if (axo_system_timer_cancel(at.system, timer))
        cancelled++;
    CHECK(!axo_system_timer_cancel(at.system, timer)); /* once at most */
}

static void play_timer(void)
{
    cancelled = 0;
    stage_boot(1);
    target = stage_spawn(&stage_counter, NULL);
    CHECK(axo_system_schedule_once(at.system, AXO_TICK_NS, target, 1, NULL, 0, &timer) == AXO_OK);
    axo__sim_settle(0);
    axo__sim_waits(at.scene->early_one_in, AXO_TICK_NS / 4); /* it is due amid: */
    stage_thread("canceller", timer_cancel, NULL);
    stage_go_within(0);
    axo__sim_waits(0, 1);
    axo__sim_settle(-1);
    CHECK_SAME(at.handled + cancelled, 1);
    stage_end();
}

const stage_scene scene_timer = {.name = "timer", .what = "a timer cancelled against its firing",
                                 .play = play_timer, .bound = 2, .early_one_in = 8};

/* ---- the program's clock is moved while the worker goes to park ---- */

static int64_t program_now;

static int64_t program_clock(void *user)
{
    return program_now;
}

/* The worker is up for the message, and goes to park as the clock is moved. */
static void changed_move(void *arg)
{
    program_now += 2 * AXO_TICK_NS;
    CHECK(axo_clock_changed(at.system) == AXO_OK);
}

static void changed_arm(void *arg)
{
    CHECK(axo_system_schedule_once(at.system, AXO_TICK_NS, target, 1, NULL, 0, &timer) == AXO_OK);
}

static void changed_send(void *arg)
{
    CHECK(stage_send(target, 1) == AXO_OK);
}

static void changed_begin(uint32_t workers)
{
    program_now = 5;
    axo_options options = AXO_OPTIONS(.workers = workers, .clock = program_clock);
    stage_boot_with(options);
    target = stage_spawn(&stage_counter, NULL);
}

/* No time of the machine's passes: no spare that looks now and then sees to it. */
static void changed_end(void)
{
    stage_go_within(0);
    CHECK_SAME(axo__sim_started(), 0);
    CHECK_SAME(at.handled, 2);
    stage_end();
}

static void play_changed(void)
{
    changed_begin(1);
    changed_arm(NULL);
    axo__sim_settle(-1);
    CHECK_SAME(at.handled, 0);
    stage_thread("sender", changed_send, NULL);
    stage_thread("mover", changed_move, NULL);
    changed_end();
}

const stage_scene scene_changed = {.name = "changed", .what = "a clock that is moved, a sleeper",
                                   .play = play_changed, .bound = 2, .delay = 1};

/* Two workers, and the timer is armed beside: who arms and then moves the clock is heard. */
static void changed_both(void *arg)
{
    changed_arm(arg);
    changed_move(arg);
}

static void play_changed_busy(void)
{
    changed_begin(2);
    stage_thread("sender", changed_send, NULL);
    stage_thread("mover", changed_both, NULL);
    changed_end();
}

const stage_scene scene_changed_busy = {.name = "changed_busy",
                                        .what = "the same with two workers, and armed amid",
                                        .play = play_changed_busy, .delay = 1};

/* ---- an ask from outside against the end of the asked ---- */

static axo_status bank_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    (void)axo_reply(ctx, message, 9, "x", 1);
    return AXO_OK;
}

static const axo_class bank = AXO_CLASS(.name = "bank", .receive = bank_receive);
static axo_status asked_status;

static void ask_one(void *arg)
{
    axo_asked asked;
    asked_status = axo_system_ask(at.system, target, 1, NULL, 0, INT64_C(3600000000000), &asked);
    if (asked_status == AXO_OK)
        CHECK(asked.message.tag == 9 && asked.message.size == 1);
    axo_asked_free(at.system, &asked);
}

static void stop_target(void *arg)
{
    (void)axo_system_stop_actor(at.system, target);
}

static void play_ask(void)
{
    asked_status = AXO_EINVAL;
    stage_boot(0);
    target = stage_spawn(&bank, NULL);
    stage_thread("asker", ask_one, NULL);
    stage_thread("stopper", stop_target, NULL);
    stage_go();
    CHECK(asked_status == AXO_OK || asked_status == AXO_EGONE);
    CHECK_SAME(asked_status == AXO_OK, at.handled);
    stage_end();
}

const stage_scene scene_ask = {.name = "ask", .what = "an ask against the end of the asked",
                               .play = play_ask, .bound = 1};
