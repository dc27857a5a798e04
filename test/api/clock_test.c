/* clock_test.c - a clock of the program's own: with workers, over the whole range, back and forth.
 */

#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { TICK = 1, SET, HOLD, TIMEOUT, FAIL };
#define MS INT64_C(1000000)

typedef struct clock_world {
    axo_system *system;
    _Atomic int64_t now;
    _Atomic uint32_t got;
    _Atomic uint32_t timeouts;
    _Atomic uint32_t built;
    sem_t told;    /* for each message */
    sem_t held;    /* a handler is in */
    sem_t release; /* it may go on */
} clock_world;

static int64_t clock_now(void *user)
{
    return ((clock_world *)user)->now;
}

static axo_status clock_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(clock_world *));
    (*(clock_world **)state)->built++;
    return AXO_OK;
}

static axo_status clock_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    clock_world *world = *(clock_world **)state;
    switch (message->tag) {
    case TICK:
        world->got++;
        (void)sem_post(&world->told);
        return AXO_OK;
    case SET:
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, *AXO_PAYLOAD(message, int64_t), 0, TICK,
                               NULL, 0);
    case TIMEOUT:
        return axo_receive_timeout(ctx, *AXO_PAYLOAD(message, int64_t));
    case AXO_RECEIVE_TIMEOUT:
        world->timeouts++;
        return AXO_OK;
    case HOLD:
        (void)sem_post(&world->held);
        (void)sem_wait(&world->release);
        return AXO_OK;
    default:
        return AXO_EFAILED;
    }
}

static const axo_class clock_class =
    AXO_CLASS(.name = "clock", .state_size = sizeof(clock_world *), .construct = clock_construct,
              .receive = clock_receive);

static axo_ref clock_open(clock_world *world, int64_t now, uint32_t workers,
                          const axo_strategy *strategy)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &clock_class, .args = &world, .args_size = sizeof world);
    axo_options options = AXO_OPTIONS(.manual = workers == 0, .workers = workers,
                                      .clock = clock_now, .clock_user = world,
                                      .user_strategy = strategy);
    memset((void *)world, 0, sizeof *world);
    world->now = now;
    assert_int_equal(sem_init(&world->told, 0, 0), 0);
    assert_int_equal(sem_init(&world->held, 0, 0), 0);
    assert_int_equal(sem_init(&world->release, 0, 0), 0);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    if (workers == 0)
        assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
    return ref;
}

static void clock_close(clock_world *world)
{
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    (void)sem_destroy(&world->told);
    (void)sem_destroy(&world->held);
    (void)sem_destroy(&world->release);
}

/* The program's clock says this now, and all that is to be done is. */
static void clock_go(clock_world *world, int64_t now)
{
    world->now = now;
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static void clock_say(clock_world *world, axo_ref to, uint32_t tag, int64_t what)
{
    assert_int_equal(axo_system_send(world->system, to, tag, &what, sizeof what), AXO_OK);
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

/* ---- the whole range ---- */

static const int64_t clock_times[] = {
    INT64_MIN, INT64_MIN + 5 * MS, -AXO_DELAY_MAX, -1,            0,         1,
    MS,        AXO_DELAY_MAX,      INT64_MAX - MS, INT64_MAX - 1, INT64_MAX,
};
enum { TIMES = sizeof clock_times / sizeof clock_times[0] };

static void timers_at_any_time(void **state)
{
    for (uint32_t i = 0; i < TIMES; i++) {
        clock_world world;
        axo_timer raw;
        int64_t at = clock_times[i];
        axo_ref ref = clock_open(&world, at, 0, NULL);
        clock_say(&world, ref, SET, MS);
        assert_int_equal(axo_system_schedule_once(world.system, MS / 2, ref, TICK, NULL, 0, &raw),
                         AXO_OK);
        bool comes = at <= INT64_MAX - MS;
        if (comes) {
            clock_go(&world, at); /* it has been told of the timer that came nearer */
            assert_true(axo_host_deadline(world.system) >= at + MS / 2);
            clock_go(&world, at + MS / 2 - 1);
            assert_int_equal(world.got, 0);
            clock_go(&world, at + MS / 2 > INT64_MAX - AXO_TICK_NS ? INT64_MAX
                                                                   : at + MS / 2 + AXO_TICK_NS);
            assert_int_equal(world.got, 1);
        }
        clock_go(&world, INT64_MAX); /* and it returns */
        assert_int_equal(world.got, comes ? 2 : 0);
        assert_true(axo_host_deadline(world.system) == INT64_MAX);
        clock_close(&world);
    }
}

static void every_jump(void **state)
{
    for (uint32_t from = 0; from < TIMES; from++) {
        for (uint32_t to = 0; to < TIMES; to++) {
            clock_world world;
            axo_ref ref = clock_open(&world, clock_times[from], 0, NULL);
            clock_say(&world, ref, SET, 3 * MS);
            clock_say(&world, ref, TIMEOUT, 2 * MS);
            clock_go(&world, clock_times[to]);
            bool due = clock_times[to] > clock_times[from] &&
                       (uint64_t)clock_times[to] - (uint64_t)clock_times[from] >=
                           (uint64_t)(3 * MS + AXO_TICK_NS);
            assert_int_equal(world.got, due);
            clock_say(&world, ref, SET, 0); /* here and now, wherever that is */
            clock_go(&world, clock_times[to] < INT64_MAX - AXO_TICK_NS
                                 ? clock_times[to] + AXO_TICK_NS
                                 : INT64_MAX);
            assert_int_equal(world.got, due + 1);
            clock_close(&world);
        }
    }
}

/* The receive timeout runs from the latest message, also when that is before the one before. */
static void a_receive_timeout_of_a_clock_that_goes_back(void **state)
{
    clock_world world;
    axo_ref ref = clock_open(&world, 1000 * MS, 0, NULL);
    clock_say(&world, ref, TIMEOUT, 10 * MS);
    world.now = 0;
    clock_say(&world, ref, TICK, 0);
    clock_go(&world, 10 * MS - 1);
    assert_int_equal(world.timeouts, 0);
    clock_go(&world, 11 * MS);
    assert_int_equal(world.timeouts, 1);
    clock_close(&world);
}

/* Two restarts in a second: the failures lie at both ends of time. */
static void a_window_over_the_whole_range(void **state)
{
    static const axo_window kinds[] = {AXO_WINDOW_FIXED, AXO_WINDOW_SLIDING};
    for (uint32_t i = 0; i < 2; i++) {
        clock_world world;
        axo_strategy strategy = AXO_STRATEGY(.limited = 1, .retries_max = 1,
                                             .within_ns = 1000 * MS, .window = kinds[i]);
        axo_ref ref = clock_open(&world, INT64_MIN, 0, &strategy);
        for (uint32_t n = 0; n < 4; n++) {
            clock_go(&world, n % 2 == 0 ? INT64_MIN + n * 2000 * MS : INT64_MAX - 1);
            if (n < 2)
                clock_say(&world, ref, FAIL, 0);
        }
        assert_int_equal(world.built, 3); /* both were restarted: they are far from each other */
        clock_close(&world);
    }
}

static void a_back_off_at_any_time(void **state)
{
    for (uint32_t i = 0; i < TIMES; i++) {
        clock_world world;
        axo_backoff backoff = AXO_BACKOFF(.min_ns = MS, .max_ns = 10 * MS);
        axo_strategy strategy = AXO_STRATEGY(.backoff = &backoff);
        axo_ref ref = clock_open(&world, clock_times[i], 0, &strategy);
        clock_say(&world, ref, FAIL, 0);
        assert_int_equal(world.built, 1);
        clock_go(&world, INT64_MAX);
        bool comes = clock_times[i] <= INT64_MAX - MS;
        assert_int_equal(world.built, comes ? 2 : 1);
        clock_close(&world);
    }
}

/* ---- with workers ---- */

static bool clock_wait(sem_t *sem, int64_t ns)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(ns / 1000000000);
    return sem_timedwait(sem, &until) == 0;
}

static void workers_are_told_that_it_has_changed(void **state)
{
    for (uint32_t workers = 1; workers <= 3; workers++) {
        clock_world world;
        axo_ref ref = clock_open(&world, -5 * MS, workers, NULL);
        for (uint32_t round = 0; round < 50; round++) {
            axo_timer timer;
            assert_int_equal(axo_system_schedule_once(world.system, MS, ref, TICK, NULL, 0,
                                                      &timer), AXO_OK);
            assert_int_equal(world.got, round); /* nobody has moved the clock */
            world.now += MS + AXO_TICK_NS;
            assert_int_equal(axo_clock_changed(world.system), AXO_OK);
            assert_true(clock_wait(&world.told, INT64_C(30000000000)));
        }
        clock_close(&world);
    }
}

/* The worker whose wheel it is hangs: another one sees to it. */
static void a_worker_in_a_handler_leaves_its_timers_to_others(void **state)
{
    clock_world world;
    axo_timer timer;
    axo_ref ref = clock_open(&world, 7, 2, NULL);
    axo_ref other;
    clock_world *it = &world;
    axo_props props = AXO_PROPS(.cls = &clock_class, .args = &it, .args_size = sizeof it);
    assert_int_equal(axo_system_spawn(world.system, &props, &other), AXO_OK);
    assert_int_equal(axo_system_send(world.system, other, HOLD, NULL, 0), AXO_OK);
    assert_true(clock_wait(&world.held, INT64_C(30000000000)));
    for (uint32_t i = 0; i < 32; i++) /* on the wheels of both */
        assert_int_equal(axo_system_schedule_once(world.system, MS, ref, TICK, NULL, 0, &timer),
                         AXO_OK);
    world.now += 2 * MS;
    assert_int_equal(axo_clock_changed(world.system), AXO_OK);
    for (uint32_t i = 0; i < 32; i++)
        assert_true(clock_wait(&world.told, INT64_C(30000000000)));
    (void)sem_post(&world.release);
    clock_close(&world);
}

/* An ask of a thread ends by its own clock, and says how long it has waited. */
static void a_thread_waits_by_its_own_clock(void **state)
{
    clock_world world;
    axo_asked asked;
    axo_ref ref = clock_open(&world, INT64_MIN, 2, NULL);
    assert_int_equal(axo_system_ask(world.system, ref, TICK, NULL, 0, 20 * MS, &asked),
                     AXO_ETIMEDOUT);
    assert_true(asked.waited_ns >= 20 * MS && asked.verdict.waited_ns >= 20 * MS);
    clock_close(&world);
}

static void bad_calls(void **state)
{
    clock_world world;
    assert_int_equal(axo_clock_changed(NULL), AXO_EINVAL);
    axo_ref ref = clock_open(&world, 0, 0, NULL);
    assert_int_equal(axo_clock_changed(world.system), AXO_OK);
    world.now = -5;
    assert_int_equal(axo_step_host(world.system, 0, NULL), AXO_OK);
    assert_true(axo_host_deadline(world.system) == INT64_MAX); /* nothing to run */
    assert_int_equal(axo_system_send(world.system, ref, TICK, NULL, 0), AXO_OK);
    assert_int_equal(axo_step_host(world.system, 0, NULL), AXO_OK);
    assert_true(axo_host_deadline(world.system) <= -5);
    clock_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(timers_at_any_time),
    cmocka_unit_test(every_jump),
    cmocka_unit_test(a_receive_timeout_of_a_clock_that_goes_back),
    cmocka_unit_test(a_window_over_the_whole_range),
    cmocka_unit_test(a_back_off_at_any_time),
    cmocka_unit_test(workers_are_told_that_it_has_changed),
    cmocka_unit_test(a_worker_in_a_handler_leaves_its_timers_to_others),
    cmocka_unit_test(a_thread_waits_by_its_own_clock),
    cmocka_unit_test(bad_calls),
};
TEST_MAIN(tests)
