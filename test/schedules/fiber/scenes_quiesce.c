/* scenes_quiesce.c - who asks whether the system is at rest, while work goes from one place to the
 * next: the answer may not be that it is as long as some is left. */
#include "scenes.h"

static axo_ref hops[3];
static uint32_t total; /* messages that will have been handled at the end */

/* Two questions: each is asked at any time. */
static void quiet_ask(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo_status status = axo_system_quiesce(at.system, 0);
        CHECK(status == AXO_OK || status == AXO_ETIMEDOUT);
        if (status == AXO_OK)
            CHECK_SAME(at.handled, total);
    }
}

/* All is at rest, and nothing is in the way of saying so. */
static void quiet_end(void)
{
    CHECK_SAME(at.handled, total);
    axo__sim_settle(-1);
    CHECK(axo_system_quiesce(at.system, 0) == AXO_OK);
    stage_end();
}

static axo_ref quiet_spawn(const axo_class *cls, axo_dispatcher dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = cls, .dispatcher = dispatcher);
    CHECK(axo_system_spawn(at.system, &props, &ref) == AXO_OK);
    axo__sim_settle(-1);
    return ref;
}

/* ---- from pool to pool: one has been looked at when the message leaves the other ---- */

static axo_status hop_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    if (message->tag == 1)
        return AXO_OK;
    return axo_send(ctx, hops[message->tag % 2], message->tag - 1, NULL, 0);
}

/* The one in the middle goes on when the question has been put. */
static bool quiet_asked;

static axo_status step_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    while (message->tag == 2 && !quiet_asked)
        axo__sim_relax();
    return hop_receive(ctx, state, message);
}

static void quiet_ask_then(void *arg)
{
    while (at.handled == 0)
        axo__sim_relax();
    quiet_asked = true;
    quiet_ask(arg);
}

static const axo_class step_class = AXO_CLASS(.name = "step", .receive = step_receive);
static const axo_class hop_class = AXO_CLASS(.name = "hop", .receive = hop_receive);

static void play_hops(axo_dispatcher one, axo_dispatcher other)
{
    stage_boot_with((axo_options)AXO_OPTIONS(.workers = 1, .blocking_max = 1));
    hops[0] = quiet_spawn(&hop_class, one);
    hops[1] = quiet_spawn(&hop_class, other);
    total = 3;
    CHECK(stage_send(hops[0], total) == AXO_OK);
    stage_thread("asker", quiet_ask, NULL);
    stage_go();
    quiet_end();
}

static void play_quiet_there(void)
{
    play_hops(AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED);
}

const stage_scene scene_quiet_there = {.name = "quiet-there",
                                       .what = "at rest? while a message goes there and back",
                                       .play = play_quiet_there,
                                       .bound = 1};

static void play_quiet_back(void)
{
    play_hops(AXO_DISPATCH_BLOCKING, AXO_DISPATCH_DEFAULT);
}

const stage_scene scene_quiet_back = {.name = "quiet-back",
                                      .what = "at rest? while a message goes the other way",
                                      .play = play_quiet_back,
                                      .bound = 1};

/* The actor in the other pool has the message, and hands it to one in the first pool, whose worker
 * has been seen to sleep: only the second sum tells. */
static void play_quiet_step(void)
{
    quiet_asked = false;
    stage_boot(1);
    hops[0] = quiet_spawn(&hop_class, AXO_DISPATCH_DEFAULT);
    hops[1] = quiet_spawn(&step_class, AXO_DISPATCH_PINNED);
    total = 3;
    CHECK(stage_send(hops[0], total) == AXO_OK);
    stage_thread("asker", quiet_ask_then, NULL);
    stage_go();
    quiet_end();
}

const stage_scene scene_quiet_step = {.name = "quiet-step",
                                      .what = "at rest? one sleeps, and is given work by another",
                                      .play = play_quiet_step,
                                      .bound = 1};

/* ---- from worker to worker: cells that are stolen, newborns, a failure on its way ---- */

static axo_status fan_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref child;
    axo_props props = AXO_PROPS(.cls = &hop_class);
    at.handled++;
    for (uint32_t i = 0; i < 2; i++) {
        axo_status status = axo_spawn(ctx, &props, &child);
        if (status == AXO_OK)
            status = axo_send(ctx, child, 2, NULL, 0);
        if (status != AXO_OK)
            return status;
    }
    return axo_send(ctx, hops[0], 1, NULL, 0);
}

static const axo_class fan_class = AXO_CLASS(.name = "fan", .receive = fan_receive);

static void play_quiet_fan(void)
{
    stage_boot(2);
    hops[0] = hops[1] = quiet_spawn(&hop_class, AXO_DISPATCH_DEFAULT);
    hops[2] = quiet_spawn(&fan_class, AXO_DISPATCH_DEFAULT);
    total = 6;
    CHECK(stage_send(hops[2], 1) == AXO_OK);
    stage_thread("asker", quiet_ask, NULL);
    stage_go();
    quiet_end();
}

const stage_scene scene_quiet_fan = {.name = "quiet-fan",
                                     .what = "at rest? while two workers share births",
                                     .play = play_quiet_fan,
                                     .bound = 1};

/* ---- lent threads: a visitor takes over what another one leaves ---- */

static uint32_t quiet_visits;

static void quiet_visitor(void *arg)
{
    const uint32_t *slot = arg;
    (void)axo_worker_run(at.system, *slot, 1, NULL); /* one turn, and it breaks off */
    while (at.handled < total) {
        if (axo_worker_run(at.system, 1 - *slot, -1, NULL) == AXO_EBUSY)
            axo__sim_relax();
    }
    quiet_visits++;
}

static void play_quiet_lent(void)
{
    static uint32_t slots[] = {0, 1};
    quiet_visits = 0;
    stage_boot_with((axo_options)AXO_OPTIONS(.workers = 2, .threads = AXO_THREADS_LENT));
    for (uint32_t i = 0; i < 3; i++) {
        axo_props props = AXO_PROPS(.cls = i == 2 ? &fan_class : &hop_class);
        CHECK(axo_system_spawn(at.system, &props, &hops[i]) == AXO_OK);
    }
    while (axo_system_quiesce(at.system, 0) != AXO_OK)
        CHECK(axo_worker_run(at.system, 0, -1, NULL) == AXO_OK);
    total = 6;
    hops[1] = hops[0];
    CHECK(stage_send(hops[2], 1) == AXO_OK);
    stage_thread("asker", quiet_ask, NULL);
    stage_thread("one", quiet_visitor, &slots[0]);
    stage_thread("two", quiet_visitor, &slots[1]);
    stage_go();
    quiet_end();
}

const stage_scene scene_quiet_lent = {.name = "quiet-lent",
                                      .what = "at rest? while visitors hand work on",
                                      .play = play_quiet_lent,
                                      .bound = 1};

/* ---- two senders to one actor: the second one pushes no entry, the first has not yet ---- */

static uint32_t quiet_seen;

static axo_status seen_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    quiet_seen |= 1u << message->tag;
    at.handled++;
    return AXO_OK;
}

static const axo_class seen_class = AXO_CLASS(.name = "seen", .receive = seen_receive);

/* What this thread has sent has been handled, if it is told that all is at rest. */
static void quiet_send(void *arg)
{
    uint32_t tag = *(const uint32_t *)arg;
    CHECK(stage_send(hops[0], tag) == AXO_OK);
    if (axo_system_quiesce(at.system, 0) == AXO_OK)
        CHECK((quiet_seen & 1u << tag) != 0);
}

static void play_quiet_door(void)
{
    static uint32_t tags[] = {1, 2};
    quiet_seen = 0;
    stage_boot(1);
    hops[0] = quiet_spawn(&seen_class, AXO_DISPATCH_DEFAULT);
    total = 2;
    stage_thread("one", quiet_send, &tags[0]);
    stage_thread("two", quiet_send, &tags[1]);
    stage_go();
    quiet_end();
}

const stage_scene scene_quiet_door = {.name = "quiet-door",
                                      .what = "at rest? behind a sender that has an entry in hand",
                                      .play = play_quiet_door,
                                      .bound = 1};

/* ---- a message that meets an actor's end is dead before all is at rest ---- */

static void quiet_send_late(void *arg)
{
    axo_status status = stage_send(hops[0], 1);
    CHECK(status == AXO_OK || status == AXO_EGONE);
    if (axo_system_quiesce(at.system, 0) == AXO_OK)
        CHECK_SAME(at.handled + at.dead, 1);
}

static void quiet_stop(void *arg)
{
    (void)axo_system_stop_actor(at.system, hops[0]);
    if (axo_system_quiesce(at.system, 0) == AXO_OK)
        CHECK_SAME(at.events[AXO_EV_TERMINATED], 1);
}

static void play_quiet_late(void)
{
    stage_boot(1);
    hops[0] = quiet_spawn(&stage_counter, AXO_DISPATCH_DEFAULT);
    stage_thread("sender", quiet_send_late, NULL);
    stage_thread("stopper", quiet_stop, NULL);
    stage_go();
    CHECK_SAME(at.handled + at.dead, 1);
    total = (uint32_t)at.handled;
    quiet_end();
}

const stage_scene scene_quiet_late = {.name = "quiet-late",
                                      .what = "at rest? after a send to an actor that ends",
                                      .play = play_quiet_late,
                                      .bound = 1};
