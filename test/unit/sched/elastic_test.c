/* elastic_test.c - a thread of the blocking pool that is about to end does not stand in for one:
 * work that comes just then is run, an actor that is spawned just then has a thread. */
#include <stdbool.h>

#include "os/os.h"

static bool late_try_join(axo__os_thread *thread);
static bool early_start(axo__os_thread *thread, const axo__os_body *body, void *argument);
#define axo__os_thread_try_join late_try_join
#define axo__os_thread_start early_start
#include "sched/elastic.c"
#undef axo__os_thread_start
#undef axo__os_thread_try_join

#include <semaphore.h>

#include <axo/axo.h>

#include "sched/kinds.h"
#include "system/system.h"
#include "unit/unit.h"

#define ELASTIC_DEADLINE_MS 20000

static axo__a32 late_ends; /* 1: no thread has got to its very end yet */

static bool late_try_join(axo__os_thread *thread)
{
    return axo__a32_load_acquire(&late_ends) == 0 && axo__os_thread_try_join(thread);
}

static axo__a32 early_alone; /* threads of an elastic pool that began before they were counted */

/* While it is 1, a thread that has been started waits before it begins. */
static axo__a32 begin_waits;

static void begin_late(void *argument)
{
    struct timespec pause = {.tv_nsec = 1000000};
    while (axo__a32_load_acquire(&begin_waits) != 0)
        (void)nanosleep(&pause, NULL);
    elastic_begin(argument);
}

static const axo__os_body late_body = {
    .name = "axo/blk",
    .begin = begin_late,
    .step = axo__worker_step,
    .sleep = axo__worker_sleep,
    .wake = axo__worker_wake,
    .end = axo__worker_end,
};

/* A new thread may look at once whether it is the last. */
static bool early_start(axo__os_thread *thread, const axo__os_body *body, void *argument)
{
    const axo__sched *sched = ((const axo__worker *)argument)->sched;
    if (sched->kind == &axo__elastic_kind &&
        axo__a32_load_seq_cst(&sched->live) == 0) /* [W7] */
        (void)axo__a32_add_relaxed(&early_alone, 1);
    return axo__os_thread_start(thread, body == &elastic_body ? &late_body : body, argument);
}

static sem_t elastic_gate;
static sem_t elastic_inside;
static sem_t elastic_done;

static axo_status elastic_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == 1) {
        (void)sem_post(&elastic_inside);
        while (sem_wait(&elastic_gate) != 0)
            continue;
    }
    (void)sem_post(&elastic_done);
    return AXO_OK;
}

static void elastic_wait(sem_t *what)
{
    struct timespec until;
    assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
    until.tv_sec += ELASTIC_DEADLINE_MS / 1000;
    assert_int_equal(sem_timedwait(what, &until), 0);
}

static axo_system *elastic_start(uint32_t threads)
{
    axo_options options = AXO_OPTIONS(.workers = 1, .blocking_max = threads,
                                      .blocking_idle_ms = 1);
    axo_system *system = NULL;
    axo__a32_store_relaxed(&late_ends, 0);
    assert_int_equal(sem_init(&elastic_gate, 0, 0), 0);
    assert_int_equal(sem_init(&elastic_inside, 0, 0), 0);
    assert_int_equal(sem_init(&elastic_done, 0, 0), 0);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static axo_ref elastic_spawn(axo_system *system)
{
    static const axo_class cls = AXO_CLASS(.receive = elastic_receive);
    axo_props props = AXO_PROPS(.cls = &cls, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

/* Until so many threads of the pool are left; from then on those that end take their time. */
static void elastic_await_live(axo_system *system, uint32_t live)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (uint32_t i = 0; axo__a32_load_seq_cst(&system->pools->live) != live; i++) { /* [W7] */
        assert_true(i < ELASTIC_DEADLINE_MS);
        (void)nanosleep(&pause, NULL);
    }
    axo__a32_store_release(&late_ends, 1);
}

static void elastic_stop(axo_system *system)
{
    axo__a32_store_release(&late_ends, 0);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* All other threads are in handlers that block. */
static void work_that_comes_as_a_thread_ends(void **state)
{
    axo_system *system = elastic_start(2);
    axo_ref a = elastic_spawn(system);
    axo_ref b = elastic_spawn(system);
    assert_int_equal(axo_system_send(system, a, 1, NULL, 0), AXO_OK);
    elastic_wait(&elastic_inside);
    assert_int_equal(axo_system_send(system, b, 2, NULL, 0), AXO_OK);
    elastic_wait(&elastic_done);
    elastic_await_live(system, 1);
    assert_int_equal(axo_system_send(system, b, 2, NULL, 0), AXO_OK);
    elastic_wait(&elastic_done);
    (void)sem_post(&elastic_gate);
    elastic_stop(system);
}

static void a_spawn_that_comes_as_the_last_thread_ends(void **state)
{
    axo_system *system = elastic_start(1);
    axo_ref a = elastic_spawn(system);
    assert_int_equal(axo_system_stop_actor(system, a), AXO_OK);
    elastic_await_live(system, 0);
    a = elastic_spawn(system);
    assert_int_equal(axo_system_send(system, a, 2, NULL, 0), AXO_OK);
    elastic_wait(&elastic_done);
    elastic_stop(system);
}

/* With the first thread the pool has one: a thread that finds none ends. */
static void a_thread_is_counted_before_it_begins(void **state)
{
    axo__a32_store_relaxed(&early_alone, 0);
    axo_system *system = elastic_start(2);
    axo_ref a = elastic_spawn(system);
    assert_int_equal(axo_system_send(system, a, 2, NULL, 0), AXO_OK);
    elastic_wait(&elastic_done);
    elastic_stop(system);
    assert_int_equal(axo__a32_load_relaxed(&early_alone), 0);
}

static axo_status watcher_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_int_equal(axo_watch(ctx, *AXO_PAYLOAD(message, axo_ref)), AXO_OK);
    (void)sem_post(&elastic_done);
    return AXO_OK;
}

/* All that pushed while a thread began relied on it: it takes an urgent entry, of an actor whose
 * handler blocks, and others wait in the other injector. */
static void work_that_came_before_a_thread_began(void **state)
{
    static const axo_class watcher_class = AXO_CLASS(.receive = watcher_receive);
    axo_props props = AXO_PROPS(.cls = &watcher_class);
    axo_system *system = elastic_start(3);
    axo_ref watcher;
    axo_ref actors[3];
    assert_int_equal(axo_system_spawn(system, &props, &watcher), AXO_OK);
    for (uint32_t i = 0; i < 3; i++) {
        actors[i] = elastic_spawn(system);
        assert_int_equal(axo_system_send(system, actors[i], 2, NULL, 0), AXO_OK);
        elastic_wait(&elastic_done);
    }
    elastic_await_live(system, 1);
    assert_int_equal(axo_system_send(system, actors[0], 1, NULL, 0), AXO_OK);
    elastic_wait(&elastic_inside);
    axo__a32_store_release(&begin_waits, 1);
    assert_int_equal(axo_system_send(system, actors[1], 1, NULL, 0), AXO_OK); /* a thread starts */
    assert_int_equal(axo_system_send(system, watcher, 3, &actors[1], sizeof actors[1]), AXO_OK);
    elastic_wait(&elastic_done);
    assert_int_equal(axo_system_send(system, actors[2], 2, NULL, 0), AXO_OK);
    axo__a32_store_release(&late_ends, 0);
    axo__a32_store_release(&begin_waits, 0);
    elastic_wait(&elastic_inside);
    elastic_wait(&elastic_done);
    (void)sem_post(&elastic_gate);
    (void)sem_post(&elastic_gate);
    elastic_stop(system);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_thread_is_counted_before_it_begins),
    cmocka_unit_test(work_that_came_before_a_thread_began),
    cmocka_unit_test(work_that_comes_as_a_thread_ends),
    cmocka_unit_test(a_spawn_that_comes_as_the_last_thread_ends),
};
TEST_MAIN(tests)
