/* storm_test.c - the governor of restarts (axo_options.storm_max): how many begin, when, in which
 * order; what becomes of those that wait. Most worlds are manual, with a clock of their own. */
#include <stdatomic.h>
#include <string.h>

#include <axo/axo.h>

#include "cell/storm.h"
#include "support/cmocka.h"

#define MS INT64_C(1000000)
#define SECOND (1000 * MS)
#define CRASHERS 100

enum { FAIL = 1, NOTE };

typedef struct storm_begin {
    uint32_t who;
    int64_t at;
} storm_begin;

typedef struct storm_world {
    axo_system *system;
    axo_strategy strategy;
    int64_t now;
    axo_ref refs[CRASHERS];
    storm_begin begins[4 * CRASHERS]; /* of second and later instances */
    uint32_t count;
    uint32_t notes;
    uint32_t storms;
    uint32_t overs;
    uint32_t lines;
    int64_t first_wait;
} storm_world;

typedef struct crasher {
    storm_world *world;
    uint32_t who;
} crasher;

static int64_t storm_now(void *user)
{
    return ((storm_world *)user)->now;
}

static void storm_log(void *user, const axo_log_record *record)
{
    storm_world *world = user;
    if (record->event != AXO_LOG_STORM)
        return;
    world->lines++;
    if (record->for_ns > 0) {
        assert_int_equal(record->count, ++world->storms);
        world->first_wait = record->for_ns;
        assert_non_null(strstr(record->line, "restarts wait for their turn, first that of /user/"));
    } else {
        assert_int_equal(record->count, ++world->overs);
        assert_int_equal(world->overs, world->storms);
        assert_non_null(strstr(record->line, "no restart waits any more"));
    }
}

static axo_status crasher_construct(axo_ctx *ctx, void *state, const void *args)
{
    crasher *self = state;
    memcpy(self, args, sizeof *self);
    storm_world *world = self->world;
    if (axo_instance(ctx) > 1) {
        assert_in_range(world->count, 0, 4 * CRASHERS - 1);
        world->begins[world->count++] = (storm_begin){.who = self->who, .at = world->now};
    }
    return AXO_OK;
}

static axo_status crasher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    crasher *self = state;
    if (message->tag == FAIL)
        return axo_fail(ctx, 7, "a database went away");
    self->world->notes++;
    return AXO_OK;
}

static const axo_class crasher_class =
    AXO_CLASS(.name = "crasher", .state_size = sizeof(crasher), .construct = crasher_construct,
              .receive = crasher_receive);

static void storm_go(storm_world *world, int64_t to)
{
    world->now = to;
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static void storm_tell(storm_world *world, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(world->system, to, tag, NULL, 0), AXO_OK);
}

static void storm_open(storm_world *world, uint32_t most, int64_t window, int64_t now,
                       const axo_backoff *backoff, uint32_t crashers)
{
    memset(world, 0, sizeof *world);
    world->now = now;
    world->strategy = (axo_strategy)AXO_STRATEGY(.decider = axo_decide_restart,
                                                 .backoff = backoff);
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 5, .clock = storm_now,
                                      .clock_user = world, .storm_max = most,
                                      .storm_window_ns = window, .log_record = storm_log,
                                      .log_record_user = world,
                                      .user_strategy = &world->strategy);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    for (uint32_t i = 0; i < crashers; i++) {
        const crasher args = {.world = world, .who = i};
        const axo_props props =
            AXO_PROPS(.cls = &crasher_class, .args = &args, .args_size = sizeof args);
        assert_int_equal(axo_system_spawn(world->system, &props, &world->refs[i]), AXO_OK);
    }
    storm_go(world, now);
}

static void storm_close(storm_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
}

static void storm_fail(storm_world *world, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        storm_tell(world, world->refs[i], FAIL);
    storm_go(world, world->now);
}

static uint64_t storm_governed(const storm_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    return stats.restarts_governed;
}

/* Moves the clock on by steps of a millisecond until so many have begun. */
static void storm_until(storm_world *world, uint32_t count)
{
    for (uint32_t i = 0; world->count < count; i++) {
        assert_in_range(i, 0, 100000);
        storm_go(world, world->now + MS);
    }
}

/* ---- how many, when, in which order ---- */

static void ten_at_once_then_one_each_tenth(void **state)
{
    storm_world w;
    (void)state;
    storm_open(&w, 10, SECOND, 5 * SECOND, NULL, CRASHERS);
    storm_fail(&w, 0, CRASHERS);
    assert_int_equal(w.count, 10);
    assert_int_equal(storm_governed(&w), CRASHERS - 10);
    assert_int_equal(w.storms, 1);
    assert_true(w.first_wait >= SECOND / 10 && w.first_wait < 2 * SECOND / 10);
    storm_until(&w, CRASHERS);
    for (uint32_t i = 0; i < CRASHERS; i++) {
        int64_t turn = i < 10 ? 0 : (int64_t)(i - 9) * SECOND / 10;
        int64_t waited = w.begins[i].at - 5 * SECOND;
        assert_int_equal(w.begins[i].who, i); /* oldest first */
        assert_true(waited >= turn);
        assert_true(waited <= turn + (i < 10 ? 0 : SECOND / 10 + MS + AXO_TICK_NS));
    }
    assert_int_equal(w.overs, 1);
    assert_int_equal(w.lines, 2);
    storm_close(&w);
}

static void below_the_bound_nobody_waits(void **state)
{
    storm_world w;
    (void)state;
    storm_open(&w, 10, SECOND, 0, NULL, CRASHERS);
    for (uint32_t i = 0; i < CRASHERS; i++) {
        storm_fail(&w, i, i + 1);
        assert_int_equal(w.count, i + 1);
        storm_go(&w, w.now + SECOND / 10);
    }
    assert_int_equal(w.lines, 0);
    assert_int_equal(storm_governed(&w), 0);
    storm_close(&w);
}

/* A quiet window gives the burst back, and the next storm has the next number. */
static void storms_are_counted(void **state)
{
    storm_world w;
    (void)state;
    storm_open(&w, 10, SECOND, 0, NULL, 20);
    for (uint32_t round = 1; round <= 3; round++) {
        storm_fail(&w, 0, 20);
        assert_int_equal(w.count, 20 * (round - 1) + 10);
        assert_int_equal(w.storms, round);
        storm_until(&w, 20 * round);
        assert_int_equal(w.overs, round);
        storm_go(&w, w.now + 2 * SECOND);
    }
    storm_close(&w);
}

static void messages_wait_with_their_actor_and_others_do_not(void **state)
{
    storm_world w;
    (void)state;
    storm_open(&w, 1, SECOND, 0, NULL, 4);
    storm_fail(&w, 0, 3);
    for (uint32_t i = 0; i < 4; i++)
        storm_tell(&w, w.refs[i], NOTE);
    storm_go(&w, w.now);
    assert_int_equal(w.notes, 2); /* of who was restarted at once, and of who never failed */
    storm_until(&w, 3);
    assert_int_equal(w.notes, 4);
    storm_close(&w);
}

/* ---- ends while they wait ---- */

static void who_ends_waits_no_more(void **state)
{
    storm_world w;
    (void)state;
    storm_open(&w, 1, SECOND, 0, NULL, 8);
    storm_fail(&w, 0, 8);
    for (uint32_t i = 1; i < 7; i++)
        assert_int_equal(axo_system_stop_actor(w.system, w.refs[i]), AXO_OK);
    storm_go(&w, w.now);
    assert_int_equal(w.overs, 0);
    storm_until(&w, 2);
    assert_int_equal(w.begins[1].who, 7);
    assert_int_equal(w.overs, 1);
    storm_close(&w);
}

static void the_end_of_the_last_that_waits_ends_the_storm(void **state)
{
    storm_world w;
    (void)state;
    storm_open(&w, 1, SECOND, 0, NULL, 8);
    storm_fail(&w, 0, 8);
    for (uint32_t i = 1; i < 8; i++)
        assert_int_equal(axo_system_stop_actor(w.system, w.refs[i]), AXO_OK);
    storm_go(&w, w.now);
    assert_int_equal(w.overs, 1);
    storm_close(&w);
}

static void a_shutdown_waits_for_nobody(void **state)
{
    storm_world w;
    (void)state;
    storm_open(&w, 1, SECOND, 0, NULL, CRASHERS);
    storm_fail(&w, 0, CRASHERS);
    assert_int_equal(w.count, 1);
    storm_close(&w);
    assert_int_equal(w.count, 1);
}

/* The end waits for hooks of /system's actors; the program's clock stands still meanwhile. */
static axo_status hooked_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == AXO_TERMINATION_HOOK) {
        ((crasher *)state)->world->notes++;
        return axo_termination_hook_done(ctx);
    }
    return axo_fail(ctx, 7, "a service went away");
}

static axo_status hooked_start(axo_ctx *ctx, void *state)
{
    (void)state;
    return axo_termination_hook(ctx);
}

static void a_service_that_the_end_waits_for_has_no_turn(void **state)
{
    static const axo_class hooked = AXO_CLASS(
        .name = "hooked", .state_size = sizeof(crasher), .construct = crasher_construct,
        .pre_start = hooked_start, .receive = hooked_receive);
    storm_world w;
    axo_ref service;
    (void)state;
    storm_open(&w, 1, SECOND, 0, NULL, 2);
    const crasher args = {.world = &w, .who = CRASHERS};
    const axo_props props = AXO_PROPS(.cls = &hooked, .args = &args, .args_size = sizeof args,
                                      .system_actor = 1);
    assert_int_equal(axo_system_spawn(w.system, &props, &service), AXO_OK);
    storm_fail(&w, 0, 2);
    assert_int_equal(w.storms, 1);
    storm_tell(&w, service, FAIL);
    storm_tell(&w, service, FAIL);
    storm_go(&w, w.now);
    assert_int_equal(w.count, 3); /* the first one's, and the service's two */
    assert_int_equal(axo_system_stop(w.system, 10 * SECOND, NULL, 0, NULL), AXO_OK);
    assert_int_equal(w.notes, 1);
    storm_close(&w);
}

/* ---- beside a back-off; clocks ---- */

static void behind_a_back_off_the_turn_is_asked_for(void **state)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 10 * MS, .max_ns = 10 * MS);
    storm_world w;
    (void)state;
    storm_open(&w, 2, SECOND, 0, &backoff, 6);
    storm_fail(&w, 0, 6);
    assert_int_equal(w.count, 0);
    assert_int_equal(w.storms, 0);
    storm_until(&w, 2);
    assert_true(w.now <= 12 * MS + AXO_TICK_NS);
    storm_go(&w, w.now);
    assert_int_equal(w.count, 2);
    assert_int_equal(w.storms, 1);
    storm_until(&w, 6);
    for (uint32_t i = 2; i < 6; i++)
        assert_true(w.begins[i].at >= 10 * MS + (int64_t)(i - 1) * SECOND / 2);
    assert_int_equal(w.overs, 1);
    storm_close(&w);
}

static void a_clock_that_was_set_back_owes_nothing(void **state)
{
    static const int64_t times[] = {INT64_MIN, -3600 * SECOND, 0, INT64_MAX - 3600 * SECOND};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        storm_world w;
        storm_open(&w, 10, SECOND, 3600 * SECOND, NULL, 10);
        storm_fail(&w, 0, 10);
        assert_int_equal(w.count, 10);
        storm_go(&w, times[i]);
        storm_fail(&w, 0, 10);
        assert_int_equal(w.count, 20);
        storm_close(&w);
    }
}

/* ---- options ---- */

static void bad_bounds_are_refused(void **state)
{
    static const struct {
        uint32_t most;
        uint32_t reserved;
        int64_t window;
        axo_status want;
    } rows[] = {
        {0, 0, 1, AXO_EINVAL},           {1, 0, -1, AXO_EINVAL},
        {11, 0, 10, AXO_EINVAL},         {1, 0, 60 * SECOND + 1, AXO_EINVAL},
        {1, 1, SECOND, AXO_EINVAL},      {UINT32_MAX, 0, 0, AXO_EINVAL},
        {10, 0, 10, AXO_OK},             {1, 0, 60 * SECOND, AXO_OK},
        {1000000000, 0, 0, AXO_OK},
    };
    (void)state;
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        axo_system *system;
        axo_options options = AXO_OPTIONS(.manual = 1, .storm_max = rows[i].most,
                                          .storm_reserved = rows[i].reserved,
                                          .storm_window_ns = rows[i].window);
        assert_int_equal(axo_system_start(&options, &system), rows[i].want);
        if (rows[i].want != AXO_OK)
            continue;
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
    }
}

/* ---- the arithmetic, against a list of places ---- */

static void places_are_those_of_a_list(void **state)
{
    axo__storm storm;
    uint64_t chance = 88172645463325252U;
    (void)state;
    for (uint32_t most = 1; most <= 64; most *= 4) {
        int64_t now = -20 * SECOND - 7; /* no place is exactly 0 */
        int64_t next = INT64_MIN;
        int64_t interval = SECOND / most;
        axo__storm_init(&storm, most, SECOND);
        for (uint32_t i = 0; i < 3000; i++) {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            now += (int64_t)(chance % (uint64_t)(2 * interval)) * (i % 50 < 25 ? 0 : 1);
            int64_t place = next > now ? next : now;
            next = place + interval;
            int64_t want = place - now - (SECOND - interval);
            int64_t wait = axo__storm_ask(&storm, now);
            assert_true(wait == (want > 0 ? want : 0));
            if (wait > 0)
                (void)axo__storm_enter(&storm); /* so that the place is owed */
        }
    }
}

/* ---- threads ---- */

#define CROWD 600

typedef struct storm_crowd {
    _Atomic uint32_t begun;
    _Atomic uint32_t storms;
    _Atomic uint32_t overs;
} storm_crowd;

static axo_status crowd_construct(axo_ctx *ctx, void *state, const void *args)
{
    storm_crowd *crowd;
    memcpy(&crowd, args, sizeof crowd);
    memcpy(state, args, sizeof crowd);
    if (axo_instance(ctx) > 1)
        crowd->begun++;
    return AXO_OK;
}

static axo_status crowd_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    return axo_fail(ctx, 7, NULL);
}

static void crowd_log(void *user, const axo_log_record *record)
{
    storm_crowd *crowd = user;
    if (record->event == AXO_LOG_STORM && record->for_ns > 0)
        crowd->storms++;
    else if (record->event == AXO_LOG_STORM)
        crowd->overs++;
}

static const axo_class crowd_class =
    AXO_CLASS(.name = "crowd", .state_size = sizeof(storm_crowd *), .construct = crowd_construct,
              .receive = crowd_receive);

/* No restart is lost, and there are not fewer windows than the bound asks for. */
static void a_crowd_on_four_workers(void **state)
{
    storm_crowd crowd = {.begun = 0};
    storm_crowd *args = &crowd;
    axo_strategy strategy = AXO_STRATEGY(.decider = axo_decide_restart);
    axo_options options = AXO_OPTIONS(.workers = 4, .storm_max = 100, .storm_window_ns = 20 * MS,
                                      .user_strategy = &strategy, .log_record = crowd_log,
                                      .log_record_user = &crowd);
    axo_props props =
        AXO_PROPS(.cls = &crowd_class, .args = &args, .args_size = sizeof args);
    axo_system *system;
    axo_ref refs[CROWD];
    axo_stats stats = AXO_STATS();
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i < CROWD; i++)
        assert_int_equal(axo_system_spawn(system, &props, &refs[i]), AXO_OK);
    int64_t begin = axo_system_now(system);
    for (uint32_t i = 0; i < CROWD; i++)
        assert_int_equal(axo_system_send(system, refs[i], FAIL, NULL, 0), AXO_OK);
    while (crowd.begun < CROWD)
        (void)axo_system_stats(system, &stats);
    assert_true(axo_system_now(system) - begin >= (CROWD - 100) / 100 * 20 * MS);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.restarts, CROWD);
    assert_true(stats.restarts_governed > 0);
    assert_true(crowd.storms > 0);
    assert_int_equal(crowd.storms, crowd.overs);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(ten_at_once_then_one_each_tenth),
    cmocka_unit_test(below_the_bound_nobody_waits),
    cmocka_unit_test(storms_are_counted),
    cmocka_unit_test(messages_wait_with_their_actor_and_others_do_not),
    cmocka_unit_test(who_ends_waits_no_more),
    cmocka_unit_test(the_end_of_the_last_that_waits_ends_the_storm),
    cmocka_unit_test(a_shutdown_waits_for_nobody),
    cmocka_unit_test(a_service_that_the_end_waits_for_has_no_turn),
    cmocka_unit_test(behind_a_back_off_the_turn_is_asked_for),
    cmocka_unit_test(a_clock_that_was_set_back_owes_nothing),
    cmocka_unit_test(bad_bounds_are_refused),
    cmocka_unit_test(places_are_those_of_a_list),
    cmocka_unit_test(a_crowd_on_four_workers),
};

TEST_MAIN(tests)
