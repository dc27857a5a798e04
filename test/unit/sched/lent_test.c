/* lent_test.c - lent threads, looked at from inside: memory is given back in visits, and the
 * counts of who may be asked for are right. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include <axo/axo.h>

#include "unit/unit.h"
#include "sched/lent.h"
#include "sched/timer.h"
#include "system/pools.h"
#include "system/system.h"

enum { NOTE = 1, BLOCK, AWAY, BLOCK_AWAY, HOST_AWAY };

typedef struct lent_world {
    axo_system *system;
    sem_t inside;
    sem_t go_on;
    int64_t budget;
    pthread_t thread;
} lent_world;

static void lent_wait(void *arg)
{
    lent_world *world = arg;
    (void)sem_post(&world->inside);
    while (sem_wait(&world->go_on) != 0)
        continue;
}

static void lent_host_and_wait(void *arg)
{
    const lent_world *world = arg;
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
    lent_wait(arg);
}

static axo_status lent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lent_world *world = *(lent_world **)state;
    if (message->tag == AWAY)
        return axo_block(ctx, lent_wait, world);
    if (message->tag == HOST_AWAY)
        return axo_block(ctx, lent_host_and_wait, world);
    if (message->tag == BLOCK || message->tag == BLOCK_AWAY)
        lent_wait(world);
    if (message->tag == BLOCK_AWAY)
        return axo_block(ctx, lent_wait, world);
    return AXO_OK;
}

static axo_status lent_construct(axo_ctx *ctx, void *state, const void *args)
{
    (void)ctx;
    memcpy(state, args, sizeof(lent_world *));
    return AXO_OK;
}

static const axo_class lent_class = AXO_CLASS(.state_size = sizeof(lent_world *),
                                              .construct = lent_construct,
                                              .receive = lent_receive);

static void lent_run(const lent_world *world, uint32_t slot)
{
    assert_int_equal(axo_worker_run(world->system, slot, -1, NULL), AXO_OK);
}

static void lent_start(lent_world *world, const axo_options *options)
{
    *world = (lent_world){.budget = -1};
    assert_int_equal(sem_init(&world->inside, 0, 0), 0);
    assert_int_equal(sem_init(&world->go_on, 0, 0), 0);
    assert_int_equal(axo_system_start(options, &world->system), AXO_OK);
}

static void lent_begin(lent_world *world)
{
    axo_options options = AXO_OPTIONS(.threads = AXO_THREADS_LENT, .workers = 2);
    lent_start(world, &options);
    lent_run(world, 1);
}

static void lent_end(lent_world *world)
{
    assert_int_equal(axo_system_stop(world->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(world->system), AXO_OK);
    (void)sem_destroy(&world->inside);
    (void)sem_destroy(&world->go_on);
}

static axo_ref lent_spawn(lent_world *world)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &lent_class, .args = &world, .args_size = sizeof world);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    lent_run(world, 1);
    return ref;
}

static void *lent_main(void *arg)
{
    const lent_world *world = arg;
    assert_int_equal(axo_worker_run(world->system, 0, world->budget, NULL), AXO_OK);
    return NULL;
}

static void *lent_host(void *arg)
{
    const lent_world *world = arg;
    assert_int_equal(axo_run_host(world->system, -1, NULL), AXO_OK);
    return NULL;
}

/* A thread is in slot 0, or runs the host, and is in a handler. */
static void lent_hang_in(lent_world *world, axo_ref whom, uint32_t tag, void *(*run)(void *arg))
{
    assert_int_equal(axo_system_send(world->system, whom, tag, NULL, 0), AXO_OK);
    assert_int_equal(pthread_create(&world->thread, NULL, run, world), 0);
    while (sem_wait(&world->inside) != 0)
        continue;
}

static void lent_hang(lent_world *world, axo_ref whom, uint32_t tag)
{
    lent_hang_in(world, whom, tag, lent_main);
}

static void lent_go_on(lent_world *world)
{
    assert_int_equal(sem_post(&world->go_on), 0);
    assert_int_equal(pthread_join(world->thread, NULL), 0);
}

static void lent_come_and_go(lent_world *world)
{
    for (uint32_t i = 0; i < 50; i++)
        assert_int_equal(axo_system_stop_actor(world->system, lent_spawn(world)), AXO_OK);
    lent_run(world, 1);
}

static uint64_t lent_held(const lent_world *world)
{
    return axo__pools_sum(world->system, offsetof(axo__counters, spawned)) -
           axo__pools_sum(world->system, offsetof(axo__counters, freed));
}

/* A visitor that is in a handler has read what it likes; it gives way when it goes, without another
 * visit's help. */
static void memory_waits_for_a_handler(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w);
    axo_ref a = lent_spawn(&w);
    lent_come_and_go(&w);
    assert_int_equal(lent_held(&w), 4);
    lent_hang(&w, a, BLOCK);
    lent_come_and_go(&w);
    assert_true(lent_held(&w) >= 4 + 49);
    lent_go_on(&w);
    assert_true(axo__a32_load_seq_cst(&w.system->core.expired_any) != 0 || lent_held(&w) == 4);
    lent_run(&w, 1);
    lent_run(&w, 1);
    assert_int_equal(lent_held(&w), 4);
    lent_end(&w);
}

/* So it does if it is cut short, and looks for nothing more. */
static void memory_waits_for_a_visit_that_is_cut_short(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w);
    axo_ref a = lent_spawn(&w);
    w.budget = 1;
    lent_hang(&w, a, BLOCK);
    lent_come_and_go(&w);
    lent_run(&w, 1);
    assert_int_equal(axo__a32_load_seq_cst(&w.system->core.expired_any), 0);
    lent_go_on(&w);
    assert_int_not_equal(axo__a32_load_seq_cst(&w.system->core.expired_any), 0);
    lent_end(&w);
}

/* Not so in axo_block. */
static void memory_does_not_wait_for_axo_block(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w);
    axo_ref a = lent_spawn(&w);
    lent_hang(&w, a, AWAY);
    lent_come_and_go(&w);
    assert_int_equal(lent_held(&w), 4);
    lent_go_on(&w);
    lent_come_and_go(&w);
    assert_int_equal(lent_held(&w), 4);
    lent_end(&w);
}

/* Who goes into it gives way, as one who leaves: the program is asked, without another visit. */
static void axo_block_gives_memory_back(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w);
    axo_ref a = lent_spawn(&w);
    lent_hang(&w, a, BLOCK_AWAY);
    lent_come_and_go(&w);
    lent_run(&w, 1);
    assert_true(lent_held(&w) >= 4 + 49);
    assert_int_equal(sem_post(&w.go_on), 0);
    while (sem_wait(&w.inside) != 0)
        continue;
    assert_int_not_equal(axo__a32_load_seq_cst(&w.system->core.expired_any), 0);
    lent_run(&w, 1);
    lent_run(&w, 1);
    assert_int_equal(lent_held(&w), 4);
    lent_go_on(&w);
    lent_end(&w);
}

/* ---- a cell that has ended, with a node in the injector of the host, which does not come ---- */

static bool held_any(axo_system *system)
{
    axo__core *core = &system->core;
    axo__os_mutex_lock(&core->expired_mutex);
    bool any = core->held != NULL;
    axo__os_mutex_unlock(&core->expired_mutex);
    return any;
}

/* One turn of the host's, when there is one. */
static void held_turn(lent_world *world)
{
    uint64_t turns = 0;
    while (turns == 0) {
        (void)axo_worker_run(world->system, 1, -1, NULL);
        assert_int_equal(axo_step_host(world->system, 1, &turns), AXO_OK);
        sched_yield();
    }
    assert_int_equal(turns, 1);
}

/* Its message is left, as an entry, when its end has run: the stop goes first. */
static void held_end(lent_world *world)
{
    axo_ref ref;
    axo_props props = AXO_PROPS(.cls = &lent_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = AXO_DISPATCH_HOST);
    assert_int_equal(axo_system_spawn(world->system, &props, &ref), AXO_OK);
    held_turn(world);
    axo__sched *host = axo__pools_host_if_any(world->system);
    assert_int_equal(axo_system_send(world->system, ref, NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_stop_actor(world->system, ref), AXO_OK);
    while (!axo__inject_has_any(&host->urgent)) {
        (void)axo_worker_run(world->system, 1, -1, NULL);
        sched_yield();
    }
    held_turn(world);
    assert_true(axo__inject_has_any(&host->inject));
}

/* Visitors need not come again and again. */
static void a_dead_cell_waits_for_the_host(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w);
    held_end(&w);
    for (uint32_t i = 0; i < 8; i++)
        lent_run(&w, i % 2);
    assert_true(held_any(w.system));
    assert_int_equal(lent_held(&w), 4);
    assert_false(w.system->core.grace.waits);
    assert_int_equal(w.system->core.grace.retired.any, 0);
    assert_int_equal(axo__a32_load_seq_cst(&w.system->core.expired_any), 0);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_false(held_any(w.system));
    lent_run(&w, 0);
    assert_int_equal(lent_held(&w), 3);
    lent_end(&w);
}

/* Nor need the reclaimer and the workers of a system with threads. */
static void a_dead_cell_waits_in_a_system_with_threads(void **state)
{
    lent_world w = {.system = NULL};
    axo_options options = AXO_OPTIONS(.workers = 1);
    (void)state;
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    held_end(&w);
    while (!held_any(w.system))
        sched_yield();
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_false(held_any(w.system));
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

/* The only thread for actors that block is in axo_block: it has run the end of one whose entry lies
 * behind the one that it has come to. */
static void a_dead_cell_waits_for_a_thread_that_blocks(void **state)
{
    lent_world w;
    lent_world *world = &w;
    axo_ref refs[3];
    axo_options options = AXO_OPTIONS(.workers = 1, .blocking_max = 1);
    axo_props props = AXO_PROPS(.cls = &lent_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = AXO_DISPATCH_BLOCKING);
    (void)state;
    lent_start(&w, &options);
    for (uint32_t i = 0; i < 3; i++) { /* each has begun; the last one is in axo_block */
        assert_int_equal(axo_system_spawn(w.system, &props, &refs[i]), AXO_OK);
        assert_int_equal(axo_system_send(w.system, refs[i], AWAY, NULL, 0), AXO_OK);
        while (sem_wait(&w.inside) != 0)
            continue;
        if (i < 2)
            assert_int_equal(sem_post(&w.go_on), 0);
    }
    assert_int_equal(axo_system_send(w.system, refs[1], AWAY, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(w.system, refs[0], NOTE, NULL, 0), AXO_OK);
    axo__sched *pool = axo__cell_sched(axo__table_find(&w.system->core.table, refs[0]));
    assert_int_equal(axo_system_stop_actor(w.system, refs[0]), AXO_OK);
    while (!axo__inject_has_any(&pool->urgent))
        (void)sched_yield();
    assert_int_equal(sem_post(&w.go_on), 0);
    while (sem_wait(&w.inside) != 0)
        continue;
    while (!held_any(w.system))
        (void)sched_yield();
    assert_int_equal(sem_post(&w.go_on), 0);
    while (held_any(w.system))
        (void)sched_yield();
    while (lent_held(&w) != 5)
        (void)sched_yield();
    lent_end(&w);
}

/* A thread that has run the host in axo_block holds up no memory behind it. */
static void the_host_within_axo_block(void **state)
{
    lent_world w;
    lent_world *world = &w;
    axo_ref refs[2];
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_props props = AXO_PROPS(.cls = &lent_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = AXO_DISPATCH_PINNED);
    (void)state;
    lent_start(&w, &options);
    assert_int_equal(axo_system_spawn(w.system, &props, &refs[0]), AXO_OK);
    assert_int_equal(axo_system_send(w.system, refs[0], HOST_AWAY, NULL, 0), AXO_OK);
    while (sem_wait(&w.inside) != 0)
        continue;
    props.dispatcher = AXO_DISPATCH_DEFAULT;
    assert_int_equal(axo_system_spawn(w.system, &props, &refs[1]), AXO_OK);
    assert_int_equal(axo_system_stop_actor(w.system, refs[1]), AXO_OK);
    while (lent_held(&w) != 4)
        (void)sched_yield();
    assert_int_equal(sem_post(&w.go_on), 0);
    lent_end(&w);
}

/* Of the host's worker, too. */
static void the_host_is_a_reader(void **state)
{
    lent_world w;
    lent_world *world = &w;
    axo_ref ref;
    (void)state;
    lent_begin(&w);
    axo_props props = AXO_PROPS(.cls = &lent_class, .args = &world, .args_size = sizeof world,
                                .dispatcher = AXO_DISPATCH_HOST);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    lent_run(&w, 1);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    lent_hang_in(&w, ref, BLOCK, lent_host);
    lent_come_and_go(&w);
    assert_true(lent_held(&w) >= 4 + 49);
    lent_go_on(&w);
    assert_int_not_equal(axo__a32_load_seq_cst(&w.system->core.expired_any), 0); /* as it leaves */
    lent_run(&w, 1);
    lent_run(&w, 1);
    assert_int_equal(lent_held(&w), 4);
    assert_int_equal(axo_system_stop_actor(w.system, ref), AXO_OK);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    lent_run(&w, 0);
    lent_come_and_go(&w);
    assert_int_equal(lent_held(&w), 3);
    lent_end(&w);
}

/* `parked` is the number of slots that are PARKED, whoever enters which. */
static void slots_are_counted(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w);
    axo_ref a = lent_spawn(&w);
    const axo__sched *sched = &w.system->sched;
    for (uint32_t i = 0; i < 64; i++) {
        if (i % 3 != 0)
            assert_int_equal(axo_system_send(w.system, a, NOTE, NULL, 0), AXO_OK);
        if (i % 5 != 0)
            lent_run(&w, (i / 2) % 2);
        uint32_t parked = 0;
        for (uint32_t k = 0; k < 2; k++) {
            uint32_t is = axo__a32_load_relaxed(&sched->workers[k].state);
            assert_true(is == AXO__WORKER_PARKED || is == AXO__WORKER_ABSENT);
            parked += is == AXO__WORKER_PARKED;
        }
        assert_int_equal(axo__a32_load_relaxed(&sched->parked), parked);
    }
    lent_run(&w, 0);
    lent_run(&w, 0);
    assert_int_equal(axo__a32_load_relaxed(&sched->parked), 2);
    lent_end(&w);
}

/* Slot 0 is asked for, and slot 1 is visited: all may be asked for again. */
static void an_ask_is_answered_in_any_slot(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w);
    axo_ref a = lent_spawn(&w);
    lent_run(&w, 0);
    lent_run(&w, 0);
    const axo__sched *sched = &w.system->sched;
    assert_int_equal(axo__a32_load_relaxed(&sched->parked), 2);
    assert_int_equal(axo_system_send(w.system, a, NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo__a32_load_relaxed(&sched->workers[0].state), AXO__WORKER_ABSENT);
    assert_int_equal(axo__a32_load_relaxed(&sched->parked), 1);
    lent_run(&w, 1);
    assert_int_equal(axo__a32_load_relaxed(&sched->workers[0].state), AXO__WORKER_PARKED);
    assert_int_equal(axo__a32_load_relaxed(&sched->parked), 2);
    lent_end(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(memory_waits_for_a_handler),
    cmocka_unit_test(memory_waits_for_a_visit_that_is_cut_short),
    cmocka_unit_test(memory_does_not_wait_for_axo_block),
    cmocka_unit_test(axo_block_gives_memory_back),
    cmocka_unit_test(a_dead_cell_waits_for_the_host),
    cmocka_unit_test(a_dead_cell_waits_in_a_system_with_threads),
    cmocka_unit_test(a_dead_cell_waits_for_a_thread_that_blocks),
    cmocka_unit_test(the_host_within_axo_block),
    cmocka_unit_test(the_host_is_a_reader),
    cmocka_unit_test(slots_are_counted),
    cmocka_unit_test(an_ask_is_answered_in_any_slot),
};

TEST_MAIN(tests)
