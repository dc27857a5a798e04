/* scenes_life.c - lives and ends in a whole system: stops, failures, watches, slots, shutdown. */
#include "scenes.h"

#include "base/config.h"
#include "sched/trap.h"
#include "system/system.h"

static axo_ref target;
static axo_ref other;

static void life_stop(void *arg)
{
    (void)axo_system_stop_actor(at.system, target);
}

static void life_send(void *arg)
{
    axo_status status = stage_send(target, 1);
    CHECK(status == AXO_OK || status == AXO_EGONE);
}

/* ---- a stale reference against the slot's next life ---- */

static axo_status heir_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    at.handled++;
    CHECK(message->tag == 7); /* 1 is for the one before */
    return AXO_OK;
}

static const axo_class heir = AXO_CLASS(.name = "heir", .receive = heir_receive);

/* From here on there is no slot but those of the living. */
static void slot_no_other(void)
{
    axo__table *table = &at.system->core.table;
    memset(table->free, 0, sizeof table->free);
    table->slots_max = axo__a32_load_relaxed(&table->slots);
}

static void slot_replace(void *arg)
{
    axo_props props = AXO_PROPS(.cls = &heir);
    (void)axo_system_stop_actor(at.system, target);
    for (uint32_t i = 0; i < 2; i++) { /* its slot is the only one */
        axo_status status = axo_system_spawn(at.system, &props, &other);
        if (status == AXO_OK) {
            CHECK(other.bits != target.bits);
            CHECK(stage_send(other, 7) == AXO_OK);
            return;
        }
        CHECK(status == AXO_ELIMIT);
        axo__sim_relax();
    }
}

static void play_slot(void)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .actors_max = 1);
    stage_boot_with(options);
    target = stage_spawn(&stage_counter, NULL);
    slot_no_other();
    stage_thread("sender", life_send, NULL);
    stage_thread("replacer", slot_replace, NULL);
    stage_go();
    CHECK_SAME(at.handled + at.dead, at.sent);
    stage_end();
}

const stage_scene scene_slot = {.name = "slot", .what = "a stale reference, the next life",
                                .play = play_slot, .bound = 1};

/* ---- a plain birth against who looks for actors ---- */

enum { BORN = 2 };

static axo_status born_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &stage_counter);
    axo_ref child;
    for (uint32_t i = 0; i < BORN; i++) /* the first shows that the family is plain */
        CHECK(axo_spawn(ctx, &props, &child) == AXO_OK);
    return AXO_OK;
}

static const axo_class born_parent = AXO_CLASS(.name = "parent", .receive = born_receive);

static void born_tell(void *arg)
{
    CHECK(axo_system_send(at.system, target, 1, NULL, 0) == AXO_OK);
}

static void born_find(void *arg)
{
    axo_ref found[BORN];
    uint32_t count = 0;
    CHECK(axo_system_find_all(at.system, "/user/*/*", found, BORN, &count) == AXO_OK);
    for (uint32_t i = 0; i < count; i++)
        CHECK(stage_send(found[i], 1) == AXO_OK);
}

/* Far from the bound of actors, near which births are made another way. */
static void play_born(void)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .actors_max = 1 << 16);
    stage_boot_with(options);
    target = stage_spawn(&born_parent, NULL);
    stage_thread("teller", born_tell, NULL);
    stage_thread("finder", born_find, NULL);
    stage_go();
    CHECK_SAME(at.handled, at.sent);
    stage_end();
}

const stage_scene scene_born = {.name = "born", .what = "a plain birth, who looks for actors",
                                .play = play_born, .bound = 1};

/* The same with threads: who found the cell is in a door, and the slot's grace period waits. */
static void slot_replace_patiently(void *arg)
{
    axo_props props = AXO_PROPS(.cls = &heir);
    axo_status status = AXO_ELIMIT;
    (void)axo_system_stop_actor(at.system, target);
    for (uint32_t i = 0; i < 8 && status == AXO_ELIMIT; i++) {
        axo__sim_relax();
        status = axo_system_spawn(at.system, &props, &other);
    }
    CHECK(status == AXO_ELIMIT || status == AXO_OK);
    if (status == AXO_OK)
        CHECK(stage_send(other, 7) == AXO_OK);
}

static void play_slots(void)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .actors_max = 1);
    stage_boot_with(options);
    target = stage_spawn(&stage_counter, NULL);
    slot_no_other();
    stage_thread("sender", life_send, NULL);
    stage_thread("replacer", slot_replace_patiently, NULL);
    stage_go();
    CHECK_SAME(at.handled + at.dead, at.sent);
    stage_end();
}

const stage_scene scene_slots = {.name = "slots", .what = "the same with threads: a grace period",
                                 .play = play_slots, .delay = 1};

/* ---- a stop from outside against a failure, a restart, a message ---- */

static axo_status brittle_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == 2)
        return axo_fail(ctx, 1, "as it was told");
    at.handled++;
    return AXO_OK;
}

static const axo_class brittle = AXO_CLASS(.name = "brittle", .receive = brittle_receive);

static void fail_then_send(void *arg)
{
    (void)stage_send(target, 2);
    (void)stage_send(target, 1);
}

static void life_check_ended(uint64_t actors)
{
    axo_stats stats = AXO_STATS(0);
    (void)axo_system_stats(at.system, &stats);
    CHECK_SAME(stats.actors, 3 + actors); /* the guardians */
    stage_account();
}

static void play_stop(void)
{
    stage_boot(0);
    target = stage_spawn(&brittle, NULL);
    stage_thread("failer", fail_then_send, NULL);
    stage_thread("stopper", life_stop, NULL);
    stage_go();
    life_check_ended(0);
    stage_end();
}

const stage_scene scene_stop = {.name = "stop", .what = "a stop against a failure and its restart",
                                .play = play_stop, .bound = 2};

/* ---- the same on two workers: the parent's decision against the stop ---- */

static void life_fail(void *arg)
{
    (void)stage_send(target, 2);
}

static void play_restart(void)
{
    stage_boot(2);
    target = stage_spawn(&brittle, NULL);
    stage_thread("failer", life_fail, NULL);
    stage_thread("stopper", life_stop, NULL);
    stage_go();
    life_check_ended(0);
    stage_end();
}

const stage_scene scene_restart = {.name = "restart", .what = "a restart against a stop",
                                   .play = play_restart, .delay = 1};

/* ---- watch against termination; unwatch against the notice ---- */

enum { WATCH = 1, UNWATCH = 2 };
static uint64_t notices;
static bool unwatched;

static axo_status watcher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == AXO_TERMINATED) {
        CHECK(!unwatched);
        notices++;
        return AXO_OK;
    }
    at.handled++;
    unwatched = message->tag == UNWATCH;
    return unwatched ? axo_unwatch(ctx, target) : axo_watch(ctx, target);
}

static const axo_class watcher = AXO_CLASS(.name = "watcher", .receive = watcher_receive);

static void watch_send(void *arg)
{
    CHECK(stage_send(other, *(const uint32_t *)arg) == AXO_OK);
}

static void watch_begin(uint32_t workers)
{
    notices = 0;
    unwatched = false;
    stage_boot(workers);
    target = stage_spawn(&stage_counter, NULL);
    other = stage_spawn(&watcher, NULL);
}

static void play_watch(void)
{
    static const uint32_t watch = WATCH;
    watch_begin(2);
    stage_thread("sender", watch_send, (void *)(uintptr_t)&watch);
    stage_thread("stopper", life_stop, NULL);
    stage_go();
    CHECK_SAME(notices, 1);
    life_check_ended(1);
    stage_end();
}

const stage_scene scene_watch = {.name = "watch", .what = "a watch against the end of the watched",
                                 .play = play_watch, .delay = 1};

static void play_unwatch(void)
{
    static const uint32_t watch = WATCH;
    static const uint32_t unwatch = UNWATCH;
    watch_begin(2);
    watch_send((void *)(uintptr_t)&watch);
    axo__sim_settle(-1);
    stage_thread("sender", watch_send, (void *)(uintptr_t)&unwatch);
    stage_thread("stopper", life_stop, NULL);
    stage_go();
    CHECK(notices <= 1);
    life_check_ended(1);
    stage_end();
}

const stage_scene scene_unwatch = {.name = "unwatch", .what = "an unwatch against the notice",
                                   .play = play_unwatch, .delay = 1};

/* ---- an end in portions: who watches, unwatches and sends meanwhile ---- */

enum { CROWD = AXO__PORTION + 1 };
static axo_ref crowd[CROWD];
static uint64_t answers[CROWD + 1]; /* of each; the last is `other` */
static bool gone;                   /* `other` has unwatched */

static axo_status crowd_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t which = *(const uint32_t *)state;
    CHECK(which <= CROWD);
    if (message->tag == AXO_TERMINATED) {
        CHECK(which < CROWD || !gone);
        answers[which]++;
        return AXO_OK;
    }
    at.handled++;
    if (message->tag == UNWATCH) {
        gone = true;
        return axo_unwatch(ctx, target);
    }
    return axo_watch(ctx, target);
}

static axo_status crowd_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(uint32_t *)state = *(const uint32_t *)args;
    return AXO_OK;
}

static const axo_class crowd_class = AXO_CLASS(.name = "crowd", .receive = crowd_receive,
                                               .construct = crowd_construct,
                                               .state_size = sizeof(uint32_t));

static axo_ref crowd_spawn(uint32_t which)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &crowd_class, .args = &which, .args_size = sizeof which);
    answers[which] = 0;
    CHECK(axo_system_spawn(at.system, &props, &ref) == AXO_OK);
    return ref;
}

/* It has more messages than a portion, and its stop overtakes them: both of its parts are long. */
static void portions_stop(void)
{
    for (uint32_t i = 0; i < CROWD; i++)
        CHECK(stage_send(target, 1) == AXO_OK);
    CHECK(axo_system_stop_actor(at.system, target) == AXO_OK);
}

static void portions_begin(uint32_t workers)
{
    gone = false;
    stage_boot(workers);
    target = stage_spawn(&stage_counter, NULL);
    for (uint32_t i = 0; i < CROWD; i++) {
        crowd[i] = crowd_spawn(i);
        CHECK(stage_send(crowd[i], WATCH) == AXO_OK);
    }
    other = crowd_spawn(CROWD);
    axo__sim_settle(-1);
}

static void portions_end(void)
{
    for (uint32_t i = 0; i < CROWD; i++)
        CHECK_SAME(answers[i], 1);
    CHECK_SAME(at.handled + at.dead, at.sent);
    life_check_ended(CROWD + 1);
    stage_end();
}

static void play_portions(void)
{
    static const uint32_t watch = WATCH;
    portions_begin(2);
    portions_stop();
    stage_thread("sender", life_send, NULL);
    stage_thread("watcher", watch_send, (void *)(uintptr_t)&watch);
    stage_go();
    CHECK_SAME(answers[CROWD], 1);
    portions_end();
}

const stage_scene scene_portions = {.name = "portions", .what = "an end in portions, a late watch",
                                    .play = play_portions, .heavy = 4};

static void play_portions_unwatch(void)
{
    static const uint32_t unwatch = UNWATCH;
    portions_begin(2);
    CHECK(stage_send(other, WATCH) == AXO_OK);
    axo__sim_settle(-1);
    portions_stop();
    stage_thread("sender", life_send, NULL);
    stage_thread("unwatcher", watch_send, (void *)(uintptr_t)&unwatch);
    stage_go();
    CHECK(answers[CROWD] <= 1);
    portions_end();
}

const stage_scene scene_portions_unwatch = {.name = "portions_unwatch",
                                            .what = "an end in portions, an unwatch",
                                            .play = play_portions_unwatch, .heavy = 4};

/* ---- shutdown against spawn and send from outside ---- */

static bool shut; /* axo_system_shutdown has returned */

static void life_shutdown(void *arg)
{
    CHECK(axo_system_shutdown(at.system) == AXO_OK);
    shut = true;
}

static void shutdown_spawn(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        bool late = shut;
        axo_props props = AXO_PROPS(.cls = &stage_counter);
        axo_status status = axo_system_spawn(at.system, &props, &other);
        CHECK(status == AXO_ESTOPPING || (status == AXO_OK && !late));
        if (status == AXO_OK)
            (void)stage_send(other, 1);
    }
}

static void play_shutdown(void)
{
    shut = false;
    stage_boot(0);
    stage_thread("shutdown", life_shutdown, NULL);
    stage_thread("spawner", shutdown_spawn, NULL);
    stage_go();
    CHECK_SAME(at.handled + at.dead, at.sent);
    life_check_ended((uint64_t)-3);
    stage_end();
}

const stage_scene scene_shutdown = {.name = "shutdown", .what = "a shutdown against spawns",
                                    .play = play_shutdown, .bound = 1};

/* ---- registry: a lookup against unregister and register ---- */

static void registry_lookup(void *arg)
{
    for (uint32_t i = 0; i < 2; i++) {
        axo_ref found;
        axo_status status = axo_system_lookup(at.system, "key", &found);
        CHECK(status == AXO_OK || status == AXO_ENOENT);
        if (status == AXO_OK)
            CHECK(found.bits == target.bits || found.bits == other.bits);
        else
            CHECK(found.bits == 0);
    }
}

static void registry_change(void *arg)
{
    axo_status status = axo_system_unregister(at.system, "key");
    CHECK(status == AXO_OK || status == AXO_ENOENT); /* the target may have ended */
    CHECK(axo_system_register(at.system, "key", other) == AXO_OK);
}

static void play_registry(void)
{
    axo_ref found;
    stage_boot(0);
    target = stage_spawn(&stage_counter, NULL);
    other = stage_spawn(&stage_counter, NULL);
    CHECK(axo_system_register(at.system, "key", target) == AXO_OK);
    stage_thread("looker", registry_lookup, NULL);
    stage_thread("changer", registry_change, NULL);
    stage_thread("stopper", life_stop, NULL);
    stage_go();
    CHECK(axo_system_lookup(at.system, "key", &found) == AXO_OK && found.bits == other.bits);
    life_check_ended(1);
    stage_end();
}

const stage_scene scene_registry = {.name = "registry", .what = "a lookup against a change of key",
                                    .play = play_registry, .bound = 1};

/* ---- elastic pool: a thread that ends against a message ---- */

static void elastic_send(void *arg)
{
    (void)axo__sim_wait("time", &target, *(const int64_t *)arg, false);
    CHECK(stage_send(target, 1) == AXO_OK);
}

static void play_elastic(void)
{
    static int64_t due;
    axo_options options = AXO_OPTIONS(.workers = 1, .blocking_max = 2, .blocking_idle_ms = 1);
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_BLOCKING);
    stage_boot_with(options);
    CHECK(axo_system_spawn(at.system, &props, &target) == AXO_OK);
    CHECK(axo_system_spawn(at.system, &props, &other) == AXO_OK);
    CHECK(stage_send(target, 1) == AXO_OK && stage_send(other, 1) == AXO_OK);
    axo__sim_settle(0); /* both threads may be there, and wait for their time to end */
    due = axo__os_now() + 1000000;
    stage_thread("one", elastic_send, &due);
    stage_thread("two", elastic_send, &due);
    stage_go_within(1100000);
    CHECK_SAME(axo__sim_started(), 0);
    CHECK_SAME(at.handled, 4);
    stage_end();
}

const stage_scene scene_elastic = {.name = "elastic", .what = "a thread that ends, a push",
                                   .play = play_elastic, .bound = 1, .delay = 2};

/* ---- elastic pool: its first thread stays for the actor, and sleeps without a limit ---- */

/* Those that are there; `ends`: and wait for their time to end. */
static uint32_t pool_threads(bool ends)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < AXO__SIM_FIBERS_MAX; i++)
        count += axo__sim_is_alive(i) && strcmp(axo__sim_fiber_name(i), "thread") == 0 &&
                 (!ends || axo__sim_deadline(i) != AXO__NEVER);
    return count;
}

static void first_spawn(void *arg)
{
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_BLOCKING);
    CHECK(axo_system_spawn(at.system, &props, &target) == AXO_OK);
    CHECK(stage_send(target, 1) == AXO_OK);
}

static void play_first(void)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .blocking_max = 1, .blocking_idle_ms = 1);
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_BLOCKING);
    stage_boot_with(options);
    CHECK(axo_system_spawn(at.system, &props, &other) == AXO_OK); /* the pool is there now */
    CHECK(axo_system_stop_actor(at.system, other) == AXO_OK);
    axo__sim_settle(-1); /* and its thread has ended */
    stage_thread("spawner", first_spawn, NULL);
    stage_go();
    CHECK_SAME(at.handled, 1);
    CHECK_SAME(pool_threads(true), 0);
    CHECK_SAME(pool_threads(false), 1);
    stage_end();
}

const stage_scene scene_first = {.name = "first", .what = "a pool's first thread, and its actor",
                                 .play = play_first, .bound = 1};

/* ---- elastic pool: a second thread comes, and of the two one ends in time ---- */

static void second_send(void *arg)
{
    CHECK(stage_send(*(axo_ref *)arg, 1) == AXO_OK);
}

static void play_second(void)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .blocking_max = 2, .blocking_idle_ms = 1);
    axo_props props = AXO_PROPS(.cls = &stage_counter, .dispatcher = AXO_DISPATCH_BLOCKING);
    stage_boot_with(options);
    CHECK(axo_system_spawn(at.system, &props, &target) == AXO_OK);
    CHECK(axo_system_spawn(at.system, &props, &other) == AXO_OK);
    axo__sim_settle(-1);
    CHECK_SAME(pool_threads(false), 1);
    stage_thread("one", second_send, &target);
    stage_thread("two", second_send, &other);
    stage_go();
    CHECK_SAME(at.handled, 2);
    axo__sim_settle(-1);
    CHECK_SAME(pool_threads(false), 1);
    stage_end();
}

const stage_scene scene_second = {.name = "second", .what = "a pool's second thread comes and goes",
                                  .play = play_second, .bound = 1};

/* ---- two that stop the system ---- */

static void life_stop_system(void *arg)
{
    CHECK(axo_system_stop(at.system, -1, NULL, 0, NULL) == AXO_OK);
}

static void play_stops(void)
{
    stage_boot(1);
    target = stage_spawn(&stage_counter, NULL);
    stage_thread("one", life_stop_system, NULL);
    stage_thread("two", life_stop_system, NULL);
    stage_thread("sender", life_send, NULL);
    stage_go_within(1000000000);
    CHECK_SAME(axo__sim_started(), 0);
    stage_end();
}

const stage_scene scene_stops = {.name = "stops", .what = "two that stop the system, and a sender",
                                 .play = play_stops, .delay = 1};

/* ---- a crash against a stop, a kill and a message; who is left is restarted with it ---- */

enum { FRAGILE = 2, CRASH = 2 };
static axo_ref fragile[FRAGILE];
static uint32_t fragile_raised;
static uint32_t fragile_deferred;
static uint32_t fragile_undone;

static void fragile_undo(void *arg)
{
    fragile_undone++;
}

/* The state says whether the instance has crashed. */
static axo_status fragile_construct(axo_ctx *ctx, void *state, const void *args)
{
    CHECK(!*(const bool *)state);
    CHECK(axo_defer(ctx, fragile_undo, NULL) == AXO_OK);
    fragile_deferred++;
    return AXO_OK;
}

static void fragile_crash(bool *crashed)
{
    AXO__YIELD_POINT();
    *crashed = true;
    fragile_raised++;
    stage_fail("refused: %s", axo__verdict_text(axo__trap_raise(SIGSEGV)));
}

/* It crashes before or behind a message to its sibling. */
static axo_status fragile_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    CHECK(!*(const bool *)state);
    at.handled++;
    if (message->tag != CRASH)
        return AXO_OK;
    AXO__YIELD_POINT();
    if (axo__sim_choose(AXO__SIM_TEST_FAULT, 2) == 0)
        fragile_crash(state);
    (void)axo_send(ctx, fragile[1], 1, NULL, 0);
    fragile_crash(state);
    return AXO_OK;
}

static axo_status fragile_post_stop(axo_ctx *ctx, void *state)
{
    CHECK(!*(const bool *)state);
    return AXO_OK;
}

static const axo_class fragile_class =
    AXO_CLASS(.name = "fragile", .state_size = sizeof(bool), .construct = fragile_construct,
              .receive = fragile_receive, .post_stop = fragile_post_stop,
              .on_crash = AXO_CRASH_FAILS);

static axo_status fragile_start(axo_ctx *ctx, void *state)
{
    axo_props props = AXO_PROPS(.cls = &fragile_class);
    for (uint32_t i = 0; i < FRAGILE; i++)
        CHECK(axo_spawn(ctx, &props, &fragile[i]) == AXO_OK);
    return AXO_OK;
}

static axo_status fragile_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static const axo_class fragile_parent = AXO_CLASS(.name = "parent", .pre_start = fragile_start,
                                                  .receive = fragile_parent_receive);

static void fragile_tell(void *arg)
{
    (void)stage_send(fragile[0], 1);
    (void)stage_send(fragile[0], CRASH);
}

static void fragile_stop(void *arg)
{
    (void)axo_system_stop_actor(at.system, fragile[1]);
}

static void fragile_kill(void *arg)
{
    (void)axo_system_kill(at.system, fragile[0]);
}

static void play_crash(void)
{
    static const axo_strategy strategy = AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE);
    axo_options options = AXO_OPTIONS(.workers = 2, .contain = 1);
    axo_props props = AXO_PROPS(.cls = &fragile_parent, .strategy = &strategy);
    fragile_raised = fragile_deferred = fragile_undone = 0;
    stage_boot_with(options);
    CHECK(axo_system_spawn(at.system, &props, &target) == AXO_OK);
    axo__sim_settle(-1);
    stage_thread("sender", fragile_tell, NULL);
    stage_thread("stopper", fragile_stop, NULL);
    stage_thread("killer", fragile_kill, NULL);
    stage_go();
    CHECK(fragile_raised <= 1);
    CHECK_SAME(axo_system_crashes(at.system, NULL, 0), fragile_raised);
    CHECK_SAME(axo_system_send(at.system, target, 1, NULL, 0), AXO_OK);
    axo__sim_settle(-1);
    stage_account();
    stage_end();
    CHECK_SAME(fragile_deferred, fragile_undone);
}

const stage_scene scene_crash = {.name = "crash", .what = "a crash against a stop and a kill",
                                 .play = play_crash};
