/* scenes_outside.c - outside threads against ends: of a pinned actor, of what is asked or looked
 * at, of the system. */
#include "scenes.h"

#include "system/pools.h"

static axo_ref target;

static void outside_send(void *arg)
{
    axo_status status = stage_send(target, 1);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

static void outside_stop(void *arg)
{
    (void)axo_system_stop_actor(at.system, target);
}

static void outside_shutdown(void *arg)
{
    CHECK(axo_system_shutdown(at.system) == AXO_OK);
}

static void outside_account(void)
{
    CHECK_SAME(axo__sim_started(), 0);
    CHECK_SAME(at.handled + at.dead, at.sent);
    stage_account();
}

/* ---- an actor with a thread of its own: its end, and who still sends ---- */

static void pinned_spawn(void *arg)
{
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_PINNED);
    axo_ref ref;
    CHECK(axo_system_spawn(at.system, &props, &ref) == AXO_OK);
    CHECK(stage_send(ref, 1) == AXO_OK);
}

static void play_pinned(void)
{
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_PINNED);
    stage_boot(1);
    CHECK(axo_system_spawn(at.system, &props, &target) == AXO_OK);
    axo__sim_settle(-1);
    stage_thread("sender", outside_send, NULL);
    stage_thread("stopper", outside_stop, NULL);
    stage_thread("spawner", pinned_spawn, NULL);
    stage_go();
    outside_account();
    stage_end();
}

const stage_scene scene_pinned = {.name = "pinned", .what = "an actor's own thread and its end",
                                  .play = play_pinned, .delay = 1};

/* ---- the host's actor ends with an entry of its left, and the host does other things ---- */

static void host_once(void *arg)
{
    uint64_t turns = 0;
    for (uint32_t i = 0; i < 2 && turns == 0; i++) {
        CHECK(axo_step_host(at.system, 1, &turns) == AXO_OK);
        axo__sim_relax();
    }
}

static void play_host(void)
{
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_HOST);
    stage_boot(1);
    CHECK(axo_system_spawn(at.system, &props, &target) == AXO_OK);
    CHECK(axo_run_host(at.system, -1, NULL) == AXO_OK);
    axo__sim_settle(-1);
    CHECK(stage_send(target, 1) == AXO_OK);
    outside_stop(NULL);
    stage_thread("host", host_once, NULL);
    stage_go(); /* the workers rest until it comes again */
    CHECK(axo_run_host(at.system, -1, NULL) == AXO_OK);
    stage_end();
}

const stage_scene scene_host = {.name = "host", .what = "the host leaves an entry behind",
                                .play = play_host, .bound = 1};

/* ---- a loop that asks for the host's descriptor while others send ---- */

static bool bell_readable(void)
{
    return axo__pools_host_if_any(at.system)->bell.event.fd == AXO__SIM_READABLE;
}

static void bell_loop(void *arg)
{
    (void)axo_host_fd(at.system);
    while (at.handled < 2) {
        while (!bell_readable())
            axo__sim_relax();
        CHECK(axo_run_host(at.system, -1, NULL) == AXO_OK);
    }
}

static void bell_send(void *arg)
{
    CHECK(stage_send(target, 1) == AXO_OK);
    CHECK(stage_send(target, 1) == AXO_OK);
}

static void play_bell(void)
{
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_HOST);
    stage_boot(1);
    CHECK(axo_system_spawn(at.system, &props, &target) == AXO_OK);
    axo__sim_settle(-1);
    CHECK(axo_run_host(at.system, -1, NULL) == AXO_OK);
    stage_thread("loop", bell_loop, NULL);
    stage_thread("sender", bell_send, NULL);
    stage_go();
    CHECK_SAME(at.handled, 2);
    CHECK(axo_run_host(at.system, -1, NULL) == AXO_OK);
    CHECK(!bell_readable());
    stage_account();
    stage_end();
}

const stage_scene scene_bell = {.name = "bell", .what = "the host's descriptor is asked for",
                                .play = play_bell, .bound = 1};

/* ---- an ask against the end of the system ---- */

static void outside_ask(void *arg)
{
    axo_asked asked;
    axo_status status = axo_system_ask(at.system, target, 1, NULL, 0, INT64_C(3600000000000),
                                       &asked);
    CHECK(status == AXO_EGONE || status == AXO_ESTOPPING);
    axo_asked_free(at.system, &asked);
}

static void play_ask_end(void)
{
    stage_boot(0);
    target = stage_spawn(&stage_counter, NULL); /* it never answers */
    stage_thread("asker", outside_ask, NULL);
    stage_thread("shutdown", outside_shutdown, NULL);
    stage_go();
    stage_account();
    stage_end();
}

const stage_scene scene_ask_end = {.name = "ask-end", .what = "an ask against the system's end",
                                   .play = play_ask_end, .bound = 1};

/* ---- an inspection against messages and the end ---- */

static void outside_inspect(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
        axo_status status = axo_system_inspect(at.system, target, axo_ref_none(), &info);
        CHECK(status == AXO_OK || status == AXO_EGONE || status == AXO_EBUSY);
        char path[64];
        status = axo_system_path(at.system, target, path, sizeof path);
        CHECK(status == AXO_OK || status == AXO_EGONE);
    }
}

static void play_inspect(void)
{
    stage_boot(0);
    target = stage_spawn(&stage_counter, NULL);
    stage_thread("looker", outside_inspect, NULL);
    stage_thread("sender", outside_send, NULL);
    stage_thread("stopper", outside_stop, NULL);
    stage_go();
    outside_account();
    stage_end();
}

const stage_scene scene_inspect = {.name = "inspect", .what = "a look from outside, and the end",
                                   .play = play_inspect, .bound = 1};

/* ---- an inspection while a message is handled, just after another worker's turn ---- */

static bool tag_entered;
static bool tag_looked;

static axo_status tag_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    for (tag_entered = message->tag == 2; tag_entered && !tag_looked;)
        axo__sim_relax();
    return AXO_OK;
}

static const axo_class tag_class = AXO_CLASS(.name = "tag", .receive = tag_receive);

static void tag_send(void *arg)
{
    CHECK(stage_send(target, 1) == AXO_OK);
    while (at.handled == 0)
        axo__sim_relax();
    CHECK(stage_send(target, 2) == AXO_OK);
}

/* A handler that cannot return before the look is over is what the look tells. */
static void tag_look(void *arg)
{
    axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
    while (!tag_entered)
        axo__sim_relax();
    CHECK(axo_system_inspect(at.system, target, axo_ref_none(), &info) == AXO_OK);
    CHECK_SAME(info.doing, AXO_DOING_RUNNING);
    CHECK_SAME(info.has_tag, 1);
    CHECK_SAME(info.tag, 2);
    tag_looked = true;
}

static void play_tag(void)
{
    tag_entered = tag_looked = false;
    stage_boot(2);
    target = stage_spawn(&tag_class, NULL);
    stage_thread("looker", tag_look, NULL);
    stage_thread("sender", tag_send, NULL);
    stage_go();
    outside_account();
    stage_end();
}

const stage_scene scene_tag = {.name = "tag", .what = "the tag that a look tells is the handler's",
                               .play = play_tag, .bound = 1};

/* ---- two in one door: each message arrives once, whole, and is counted ---- */

static uint32_t door_seen;

static axo_status door_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint64_t number = message->size == 0 ? 0 : *AXO_PAYLOAD(message, uint64_t);
    CHECK(number < 32 && (door_seen & 1u << number) == 0);
    CHECK(message->tag == number + 1);
    door_seen |= 1u << number;
    at.handled++;
    return AXO_OK;
}

static const axo_class door_class = AXO_CLASS(.name = "door", .receive = door_receive);

static void door_send(void *first)
{
    for (uint64_t number = (uintptr_t)first; number < (uintptr_t)first + 2; number++) {
        CHECK(axo_system_send(at.system, target, (uint32_t)number + 1, &number, sizeof number) ==
              AXO_OK);
        at.sent++;
    }
}

/* The system is manual: there is one door. */
static void play_door(void)
{
    door_seen = 0;
    stage_boot(0);
    target = stage_spawn(&door_class, NULL);
    stage_thread("one", door_send, (void *)(uintptr_t)1);
    stage_thread("other", door_send, (void *)(uintptr_t)3);
    stage_go();
    CHECK_SAME(door_seen, 30);
    outside_account();
    stage_end();
}

const stage_scene scene_door = {.name = "door", .what = "two threads in one door",
                                .play = play_door, .bound = 1};

/* Five fibers and four doors: who finds a door taken goes to the next one, or waits. */
static void play_doors(void)
{
    door_seen = 0;
    stage_boot(1);
    target = stage_spawn(&door_class, NULL);
    stage_thread("one", door_send, (void *)(uintptr_t)1);
    stage_thread("two", door_send, (void *)(uintptr_t)3);
    stage_thread("three", door_send, (void *)(uintptr_t)5);
    stage_thread("four", door_send, (void *)(uintptr_t)7);
    stage_thread("five", door_send, (void *)(uintptr_t)9);
    stage_go();
    CHECK_SAME(door_seen, 0x7fe);
    outside_account();
    stage_end();
}

const stage_scene scene_doors = {.name = "doors", .what = "more threads than doors",
                                 .play = play_doors};

/* ---- what is to be called at the end, registered as it comes ---- */

static uint32_t hooks_promised;
static uint32_t hooks_called;

static void hook_called(axo_system *system, void *user)
{
    hooks_called++;
}

static void hook_register(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo_status status = axo_system_on_termination(at.system, hook_called, NULL);
        CHECK(status == AXO_OK || status == AXO_ESTOPPING);
        hooks_promised += status == AXO_OK;
    }
}

static void hook_wait(void *arg)
{
    CHECK(axo_system_wait(at.system, -1, NULL) == AXO_OK);
    CHECK(hooks_called >= hooks_promised); /* who registers may not have counted yet */
    CHECK(axo_system_on_termination(at.system, hook_called, NULL) == AXO_ESTOPPING);
}

static void play_hook(void)
{
    hooks_promised = hooks_called = 0;
    stage_boot(1);
    stage_thread("register", hook_register, NULL);
    stage_thread("shutdown", outside_shutdown, NULL);
    stage_thread("waiter", hook_wait, NULL);
    stage_go_within(1000000000);
    CHECK_SAME(axo__sim_started(), 0);
    stage_end();
    CHECK_SAME(hooks_called, hooks_promised);
}

const stage_scene scene_hook = {.name = "hook", .what = "calls at the end, registered as it comes",
                                .play = play_hook, .delay = 1};
