/* manual_default_test.c - AXO_MANUAL_DEFAULT: the default dispatcher is this thread's, the others
 * have theirs. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { NOTE = 1, BLOCK, PING, PONG, ARM, TICK, FAIL };
#define MS INT64_C(1000000)

typedef struct manual_world {
    axo_system *system;
    pthread_t host;
    sem_t inside;
    sem_t go_on;
    _Atomic uint32_t here;  /* messages that were handled on the host's thread */
    _Atomic uint32_t apart; /* and on others */
    _Atomic uint32_t pongs;
    _Atomic uint32_t ticks;
    axo_ref blocks;
} manual_world;

static axo_status member_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    manual_world *world = *(manual_world **)state;
    bool here = pthread_equal(pthread_self(), world->host) != 0;
    *(here ? &world->here : &world->apart) += 1;
    switch (message->tag) {
    case BLOCK:
        (void)sem_post(&world->inside);
        while (sem_wait(&world->go_on) != 0)
            continue;
        return AXO_OK;
    case NOTE:
        (void)sem_post(&world->inside);
        return AXO_OK;
    case PING:
        return axo_send(ctx, world->blocks, PONG, NULL, 0);
    case PONG:
        world->pongs++;
        return AXO_OK;
    case ARM:
        return axo_timer_start(ctx, 1, AXO_TIMER_ONCE, MS, 0, TICK, NULL, 0);
    case TICK:
        world->ticks++;
        return AXO_OK;
    default:
        return axo_fail(ctx, 1, "told to");
    }
}

static axo_status member_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(manual_world *));
    return AXO_OK;
}

static const axo_class member_class =
    AXO_CLASS(.name = "member", .state_size = sizeof(manual_world *),
              .construct = member_construct, .receive = member_receive);

static void manual_run(const manual_world *world)
{
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
}

static axo_ref manual_spawn(manual_world *world, uint32_t dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &member_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = dispatcher);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    manual_run(world); /* /user, which adopts it, is the host's */
    return ref;
}

static void manual_open(manual_world *world)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_DEFAULT, .blocking_idle_ms = 1);
    memset((void *)world, 0, sizeof *world);
    world->host = pthread_self();
    assert_int_equal(sem_init(&world->inside, 0, 0), 0);
    assert_int_equal(sem_init(&world->go_on, 0, 0), 0);
    assert_int_equal(axo_system_start(&options, &world->system), AXO_OK);
    assert_int_equal(axo_system_workers(world->system), 1);
}

static void manual_close(manual_world *world)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    (void)sem_destroy(&world->inside);
    (void)sem_destroy(&world->go_on);
}

static void manual_tell(const manual_world *world, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(world->system, to, tag, NULL, 0), AXO_OK);
}

static void manual_await(sem_t *what)
{
    while (sem_wait(what) != 0)
        continue;
}

/* A handler that blocks, and would for ever in AXO_MANUAL_ALL: the host goes on. */
static void a_handler_that_blocks_holds_up_no_frame(void **state)
{
    manual_world w;
    (void)state;
    manual_open(&w);
    w.blocks = manual_spawn(&w, AXO_DISPATCH_BLOCKING);
    axo_ref mine = manual_spawn(&w, AXO_DISPATCH_DEFAULT);
    manual_tell(&w, w.blocks, BLOCK);
    manual_await(&w.inside);
    manual_tell(&w, mine, NOTE);
    manual_tell(&w, mine, PING);
    manual_run(&w);
    assert_int_equal(w.here, 2);
    assert_int_equal(w.apart, 1);
    assert_int_equal(w.pongs, 0);
    (void)sem_post(&w.go_on);
    while (w.pongs == 0)
        manual_run(&w);
    assert_int_equal(w.apart, 2);
    manual_close(&w);
}

static void who_runs_what(void **state)
{
    static const uint32_t dispatchers[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_HOST,
                                           AXO_DISPATCH_PINNED, AXO_DISPATCH_BLOCKING};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        manual_world w;
        manual_open(&w);
        axo_ref ref = manual_spawn(&w, dispatchers[i]);
        manual_tell(&w, ref, NOTE);
        if (i < 2) {
            assert_int_equal(sem_trywait(&w.inside), -1);
            manual_run(&w);
        }
        manual_await(&w.inside);
        assert_int_equal(w.here, i < 2);
        assert_int_equal(w.apart, i >= 2);
        manual_close(&w);
    }
}

static void timers_and_restarts_of_both(void **state)
{
    manual_world w;
    axo_stats stats = AXO_STATS();
    (void)state;
    manual_open(&w);
    axo_ref mine = manual_spawn(&w, AXO_DISPATCH_DEFAULT);
    axo_ref pinned = manual_spawn(&w, AXO_DISPATCH_PINNED);
    manual_tell(&w, mine, FAIL);
    manual_tell(&w, pinned, FAIL);
    manual_tell(&w, mine, ARM);
    manual_tell(&w, pinned, ARM);
    while (w.ticks < 2)
        manual_run(&w);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_int_equal(stats.restarts, 2);
    manual_close(&w);
}

/* A stop that comes while a handler blocks names it. */
static void a_stop_waits_for_the_threads(void **state)
{
    manual_world w;
    axo_late late;
    uint32_t count;
    (void)state;
    manual_open(&w);
    w.blocks = manual_spawn(&w, AXO_DISPATCH_BLOCKING);
    manual_tell(&w, w.blocks, BLOCK);
    manual_await(&w.inside);
    assert_int_equal(axo_system_stop(w.system, MS, &late, 1, &count), AXO_ETIMEDOUT);
    assert_int_equal(count > 0, true);
    (void)sem_post(&w.go_on);
    manual_close(&w);
}

static void a_number_that_is_none_is_refused(void **state)
{
    axo_system *system;
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_DEFAULT + 1);
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_handler_that_blocks_holds_up_no_frame),
    cmocka_unit_test(who_runs_what),
    cmocka_unit_test(timers_and_restarts_of_both),
    cmocka_unit_test(a_stop_waits_for_the_threads),
    cmocka_unit_test(a_number_that_is_none_is_refused),
};

TEST_MAIN(tests)
