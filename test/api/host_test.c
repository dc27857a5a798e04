/* host_test.c - the host dispatcher and manual systems: actors on a thread of the program. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

#define HOST_WAIT_MS 20000

typedef struct host_world {
    axo_system *system;
    int64_t now;        /* of the program's clock */
    pthread_t thread;   /* that may run the actors */
    uint32_t got;       /* messages handled */
    uint32_t wrong;     /* of them on another thread */
    uint32_t last;      /* tag of the last one */
    axo_status nested;  /* what axo_run_host says in a callback */
    uint64_t hash;      /* of all events */
    sem_t gate;         /* a handler of tag 99 waits for it */
    sem_t told;         /* the report has come */
    char stuck[256];
} host_world;

static int64_t host_now(void *user)
{
    return ((host_world *)user)->now;
}

static void host_event(void *user, const axo_event *event)
{
    host_world *world = user;
    axo_ref arg = {event->arg}; /* or a number, most of which are small */
    uint64_t words[] = {(uint64_t)event->time_ns, axo_ref_index(event->actor), axo_ref_index(arg),
                        event->kind};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        world->hash = (world->hash ^ words[i]) * UINT64_C(0x100000001b3);
}

static axo_status host_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    host_world *world = *(host_world *const *)state;
    world->got++;
    world->last = message->tag;
    if (!pthread_equal(pthread_self(), world->thread))
        world->wrong++;
    if (message->tag == 7)
        return axo_fail(ctx, 7, "as told");
    if (message->tag == 8)
        world->nested = axo_run_host(world->system, 0, NULL);
    if (message->tag == 99) {
        while (sem_wait(&world->gate) != 0)
            continue;
    }
    if (message->tag >= 1000 && message->tag < 1010)
        return axo_send(ctx, axo_self(ctx), message->tag + 1, NULL, 0);
    return AXO_OK;
}

static axo_status host_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(host_world *));
    return AXO_OK;
}

static const axo_class host_class = AXO_CLASS(.name = "hosted",
                                              .state_size = sizeof(host_world *),
                                              .construct = host_construct,
                                              .receive = host_receive);

static axo_ref host_spawn(host_world *world, axo_dispatcher dispatcher)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &host_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = (uint32_t)dispatcher);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    return ref;
}

static void host_start(host_world *world, const axo_options *options)
{
    memset(world, 0, sizeof *world);
    world->thread = pthread_self();
    world->now = 1000000000;
    assert_int_equal(sem_init(&world->gate, 0, 0), 0);
    assert_int_equal(sem_init(&world->told, 0, 0), 0);
    assert_int_equal(axo_system_start(options, &world->system), AXO_OK);
}

static void host_stop(host_world *world)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stop(world->system, INT64_C(20000000000), NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(world->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    (void)sem_destroy(&world->gate);
    (void)sem_destroy(&world->told);
    assert_int_equal(world->wrong, 0);
}

static bool host_readable(axo_system *system, int wait_ms)
{
    struct pollfd fd = {.fd = axo_host_fd(system), .events = POLLIN};
    assert_true(fd.fd >= 0);
    return poll(&fd, 1, wait_ms) == 1;
}

/* Runs until nothing is left; messages from other threads may still be on their way. */
static void host_run_until(host_world *world, uint32_t got)
{
    while (world->got < got) {
        assert_true(host_readable(world->system, HOST_WAIT_MS));
        assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
    }
}

/* ---- the host dispatcher beside workers ---- */

static void only_in_run_host(void **state)
{
    host_world world;
    host_start(&world, NULL);
    axo_ref a = host_spawn(&world, AXO_DISPATCH_HOST);
    assert_int_equal(axo_system_send(world.system, a, 1, NULL, 0), AXO_OK);
    assert_true(host_readable(world.system, HOST_WAIT_MS));
    assert_int_equal(world.got, 0);
    host_run_until(&world, 1);
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_false(host_readable(world.system, 0));
    assert_true(axo_host_deadline(world.system) == INT64_MAX);
    assert_int_equal(axo_system_send(world.system, a, 2, NULL, 0), AXO_OK);
    assert_true(host_readable(world.system, HOST_WAIT_MS));
    assert_true(axo_host_deadline(world.system) == 0);
    host_run_until(&world, 2);
    assert_int_equal(world.last, 2);
    host_stop(&world);
}

/* ---- the first actor of the host, spawned while the system is being stopped ---- */

static axo_status late_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    host_world *world = *(host_world *const *)state;
    axo_props props = AXO_PROPS(.cls = &host_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = AXO_DISPATCH_HOST);
    axo_ref child;
    while (sem_wait(&world->gate) != 0)
        continue;
    if (axo_spawn(ctx, &props, &child) != AXO_OK)
        world->wrong++;
    return AXO_OK;
}

static void *late_stop(void *user)
{
    host_world *world = user;
    if (axo_system_stop(world->system, INT64_C(20000000000), NULL, 0, NULL) != AXO_OK)
        world->wrong++;
    return NULL;
}

static void stop_meets_the_first_host_actor(void **state)
{
    static const axo_class cls = AXO_CLASS(.state_size = sizeof(host_world *),
                                           .construct = host_construct, .receive = late_receive);
    host_world world;
    host_world *args = &world;
    axo_props props = AXO_PROPS(.cls = &cls, .args = &args, .args_size = sizeof args);
    axo_props none = AXO_PROPS(.cls = &host_class, .args = &args, .args_size = sizeof args);
    axo_ref a;
    axo_ref b;
    pthread_t thread;
    host_start(&world, NULL);
    assert_int_equal(axo_system_spawn(world.system, &props, &a), AXO_OK);
    assert_int_equal(axo_system_send(world.system, a, 1, NULL, 0), AXO_OK);
    assert_int_equal(pthread_create(&thread, NULL, late_stop, &world), 0);
    while (axo_system_spawn(world.system, &none, &b) == AXO_OK)
        sched_yield(); /* until it stops */
    assert_int_equal(sem_post(&world.gate), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    host_stop(&world);
}

static void fails_and_restarts_there(void **state)
{
    host_world world;
    host_start(&world, NULL);
    axo_ref a = host_spawn(&world, AXO_DISPATCH_HOST);
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(axo_system_send(world.system, a, i % 2 != 0 ? 7 : 1, NULL, 0), AXO_OK);
    host_run_until(&world, 50);
    host_stop(&world);
}

static void a_budget_ends_a_run(void **state)
{
    host_world world;
    uint64_t turns = 0;
    axo_options options = AXO_OPTIONS(.quantum = 1);
    host_start(&world, &options);
    axo_ref a = host_spawn(&world, AXO_DISPATCH_HOST);
    assert_int_equal(axo_system_send(world.system, a, 1000, NULL, 0), AXO_OK);
    host_run_until(&world, 1);
    while (world.got < 11) {
        uint32_t before = world.got;
        assert_true(host_readable(world.system, 0)); /* a run that was cut leaves it set */
        assert_int_equal(axo_run_host(world.system, 0, &turns), AXO_OK);
        assert_true(turns <= 1);
        assert_true(world.got - before <= 1);
    }
    assert_int_equal(world.last, 1010);
    assert_int_equal(axo_system_send(world.system, a, 1000, NULL, 0), AXO_OK);
    assert_int_equal(axo_step_host(world.system, 3, &turns), AXO_OK);
    assert_int_equal(turns, 3);
    assert_int_equal(world.got, 14);
    host_stop(&world);
}

static void *host_other(void *argument)
{
    host_world *world = argument;
    while (world->got == 0)
        (void)axo_run_host(world->system, -1, NULL);
    return NULL;
}

static void one_thread_at_a_time(void **state)
{
    host_world world;
    pthread_t thread;
    host_start(&world, NULL);
    axo_ref a = host_spawn(&world, AXO_DISPATCH_HOST);
    host_run_until(&world, 0);
    assert_int_equal(axo_system_send(world.system, a, 99, NULL, 0), AXO_OK);
    assert_int_equal(pthread_create(&thread, NULL, host_other, &world), 0);
    for (axo_status status = AXO_OK; status != AXO_EBUSY;)
        status = axo_step_host(world.system, 0, NULL); /* 0: nothing is run here */
    assert_int_equal(sem_post(&world.gate), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(world.got, 1);
    world.wrong = 0; /* it was handled there, once */
    host_stop(&world);
}

static void bad_calls(void **state)
{
    host_world world;
    axo_system *system = NULL;
    host_start(&world, NULL);
    axo_ref a = host_spawn(&world, AXO_DISPATCH_HOST);
    assert_int_equal(axo_system_send(world.system, a, 8, NULL, 0), AXO_OK);
    host_run_until(&world, 1);
    assert_int_equal(world.nested, AXO_ECONTEXT);
    assert_int_equal(axo_run_host(NULL, 0, NULL), AXO_EINVAL);
    assert_int_equal(axo_step_host(NULL, 0, NULL), AXO_EINVAL);
    assert_int_equal(axo_host_fd(NULL), -1);
    assert_true(axo_host_deadline(NULL) == INT64_MAX);
    axo_options options = AXO_OPTIONS(.quantum_us = 1, .no_quantum_us = 1);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    options = (axo_options)AXO_OPTIONS(.no_quantum_us = 2);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    options = (axo_options)AXO_OPTIONS(.manual = 3);
    assert_int_equal(axo_system_start(&options, &system), AXO_EINVAL);
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &host_class, .dispatcher = 4);
    assert_int_equal(axo_system_spawn(world.system, &props, &ref), AXO_EINVAL);
    host_stop(&world);
}

/* ---- manual systems ---- */

static uint64_t host_manual(bool others)
{
    host_world world;
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 5, .clock = host_now,
                                      .clock_user = &world, .trace = host_event,
                                      .trace_user = &world, .stuck_ns = -1,
                                      .no_quantum_us = 1);
    host_start(&world, &options);
    axo_ref refs[3];
    for (uint32_t i = 0; i < 3; i++)
        refs[i] = host_spawn(&world, others ? (axo_dispatcher)(i + 1) : AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 0; i < 30; i++) {
        assert_int_equal(axo_system_send(world.system, refs[i % 3], i % 5 == 0 ? 7 : 1, NULL, 0),
                         AXO_OK);
        world.now += 1000;
        assert_int_equal(axo_step_host(world.system, i % 4, NULL), AXO_OK);
    }
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_int_equal(world.got, 30);
    uint64_t hash = world.hash;
    host_stop(&world);
    return hash;
}

/* The same calls give the same events at the same times: nothing else runs anything. */
static void manual_is_the_same_each_time(void **state)
{
    uint64_t hash = host_manual(false);
    for (int i = 0; i < 5; i++)
        assert_true(host_manual(false) == hash);
    assert_true(host_manual(true) == hash); /* all dispatchers are the host's */
}

static void manual_waits_for_its_clock(void **state)
{
    host_world world;
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = host_now, .clock_user = &world);
    host_start(&world, &options);
    axo_ref a = host_spawn(&world, AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_stop(world.system, 0, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_send(world.system, a, 1, NULL, 0), AXO_EGONE);
    assert_int_equal(axo_system_destroy(world.system), AXO_OK);
    (void)sem_destroy(&world.gate);
    (void)sem_destroy(&world.told);
}

/* The clock jumps over 300 periods: a fixed rate catches up, a fixed delay does not (TM-10). */
static void a_jump_of_the_clock(void **state)
{
    host_world world;
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = host_now, .clock_user = &world);
    axo_timer timer;
    const int64_t ms = 1000000;
    host_start(&world, &options);
    axo_ref a = host_spawn(&world, AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_schedule_fixed_rate(world.system, ms, ms, a, 1, NULL, 0, &timer),
                     AXO_OK);
    assert_true(axo_host_deadline(world.system) <= world.now + 2 * ms);
    world.now += ms - 1;
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_int_equal(world.got, 0); /* never early */
    world.now += 300 * ms;
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_int_equal(world.got, 300);
    assert_true(axo_system_timer_cancel(world.system, timer));
    assert_int_equal(axo_system_schedule_fixed_delay(world.system, ms, ms, a, 2, NULL, 0, &timer),
                     AXO_OK);
    world.now += 300 * ms;
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_int_equal(world.got, 301);
    assert_int_equal(world.last, 2);
    assert_true(axo_system_timer_cancel(world.system, timer));
    world.now += 300 * ms;
    assert_int_equal(axo_run_host(world.system, -1, NULL), AXO_OK);
    assert_int_equal(world.got, 301);
    assert_true(axo_host_deadline(world.system) == INT64_MAX);
    host_stop(&world);
}

/* ---- a handler that hangs is named ---- */

static void host_log(void *user, axo_log_level level, axo_ref actor, const char *text)
{
    host_world *world = user;
    if (level != AXO_LOG_WARNING || strncmp(text, "stuck", 5) != 0)
        return;
    (void)snprintf(world->stuck, sizeof world->stuck, "%s", text);
    (void)sem_post(&world->gate); /* that opens the gate */
    (void)sem_post(&world->told);
}

static void stuck_is_named(void **state)
{
    host_world world;
    axo_options options = AXO_OPTIONS(.workers = 1, .stuck_ns = 3000000, .log = host_log,
                                      .log_user = &world);
    host_start(&world, &options);
    axo_props props = AXO_PROPS(.cls = &host_class, .args = &(host_world *){&world},
                                .args_size = sizeof(host_world *), .name = "slow");
    axo_ref a;
    assert_int_equal(axo_system_spawn(world.system, &props, &a), AXO_OK);
    assert_int_equal(axo_system_send(world.system, a, 99, NULL, 0), AXO_OK);
    while (sem_wait(&world.told) != 0)
        continue;
    assert_int_equal(axo_system_stop(world.system, INT64_C(20000000000), NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(world.system), AXO_OK);
    assert_non_null(strstr(world.stuck, "/user/slow"));
    assert_non_null(strstr(world.stuck, "99"));
    (void)sem_destroy(&world.gate);
    (void)sem_destroy(&world.told);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(only_in_run_host),
    cmocka_unit_test(stop_meets_the_first_host_actor),
    cmocka_unit_test(fails_and_restarts_there),
    cmocka_unit_test(a_budget_ends_a_run),
    cmocka_unit_test(one_thread_at_a_time),
    cmocka_unit_test(bad_calls),
    cmocka_unit_test(manual_is_the_same_each_time),
    cmocka_unit_test(manual_waits_for_its_clock),
    cmocka_unit_test(a_jump_of_the_clock),
    cmocka_unit_test(stuck_is_named),
};
TEST_MAIN(tests)
