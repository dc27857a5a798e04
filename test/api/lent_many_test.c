/* lent_many_test.c - lent threads: many of them, and their ends. */
#include "lent_world.h"

/* ---- many threads ---- */

static void pool_of_threads(uint32_t threads, uint32_t slots)
{
    lent_world w;
    uint32_t count = 200;
    lent_begin(&w, slots);
    pool_begin(&w, threads);
    axo_ref spreaders[20];
    for (uint32_t i = 0; i < 20; i++)
        spreaders[i] = lent_spawn(&w, &spreader_class, AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 0; i < 20; i++)
        assert_int_equal(
            axo_system_send(w.system, spreaders[i], SPREAD, &count, sizeof count), AXO_OK);
    while (w.notes < 20 * count)
        sched_yield();
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 0; i < 50; i++) {
        lent_tell(&w, a, ARM);
        while (w.ticks <= i)
            sched_yield();
    }
    for (uint32_t i = 0; i < 200; i++) { /* wakes one by one: none is lost */
        uint32_t notes = w.notes;
        lent_tell(&w, a, NOTE);
        while (w.notes == notes)
            sched_yield();
    }
    pool_end(&w);
    lent_end(&w);
}

static void threads_and_slots(void **state)
{
    (void)state;
    pool_of_threads(1, 1);
    pool_of_threads(2, 2);
    pool_of_threads(1, 4); /* most slots are empty at any time */
    pool_of_threads(6, 2); /* most threads are refused */
    pool_of_threads(4, 4);
}

/* Work moves from the slot that made it to the others. */
static void slots_steal(void **state)
{
    lent_world w;
    lent_visit visits[2];
    axo_ref blocked[2];
    (void)state;
    lent_begin(&w, 3);
    lent_run(&w, 0);
    for (uint32_t i = 0; i < 2; i++)
        blocked[i] = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_run(&w, 0);
    for (uint32_t i = 0; i < 2; i++)
        lent_tell(&w, blocked[i], BLOCK);
    for (uint32_t i = 0; i < 2; i++)
        visit_begin(&visits[i], &w, i);
    lent_await(&w.inside);
    lent_await(&w.inside); /* each is in a slot of its own */
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_tell(&w, a, NOTE);
    lent_run(&w, 2);
    assert_int_equal(w.notes, 1);
    (void)sem_post(&w.go_on);
    (void)sem_post(&w.go_on);
    visit_end(&visits[0]);
    visit_end(&visits[1]);
    lent_end(&w);
}

static void asks_from_outside(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w, 2);
    pool_begin(&w, 2);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    for (uint32_t i = 0; i < 100; i++) {
        axo_status status = axo_system_graceful_stop(
            w.system, lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT), NULL, LONG, NULL);
        assert_int_equal(status, AXO_OK);
        lent_tell(&w, a, NOTE);
    }
    while (w.notes < 100)
        sched_yield();
    pool_end(&w);
    lent_end(&w);
}

static void a_group_is_helped(void **state)
{
    lent_world w;
    axo_group *group;
    (void)state;
    lent_begin(&w, 2);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    axo_ref h = lent_spawn(&w, &member_class, AXO_DISPATCH_HOST);
    assert_int_equal(axo_group_make(w.system, &group), AXO_OK);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(axo_group_send(group, i % 2 ? a : h, NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_group_wait(group, AXO_GROUP_FOREVER, AXO_GROUP_HELP), AXO_OK);
    assert_int_equal(w.notes, 1000);
    assert_int_equal(axo_group_free(group), AXO_OK);
    lent_end(&w);
}

/* The host's actors, and nobody who might block in a slot. */
static void a_group_is_helped_by_the_host_alone(void **state)
{
    static const axo_dispatcher others[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_BLOCKING,
                                            AXO_DISPATCH_PINNED};
    lent_world w;
    axo_group *group;
    (void)state;
    lent_begin(&w, 2);
    axo_ref h = lent_spawn(&w, &member_class, AXO_DISPATCH_HOST);
    lent_run(&w, 0); /* its parent's part of its birth */
    assert_int_equal(axo_group_make(w.system, &group), AXO_OK);
    assert_int_equal(axo_group_send(group, h, NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_group_wait(group, LONG, AXO_GROUP_HOST), AXO_OK);
    assert_int_equal(w.notes, 1);
    for (uint32_t i = 0; i < 3; i++) {
        axo_ref other = lent_spawn(&w, &member_class, others[i]);
        assert_int_equal(axo_group_send(group, other, NOTE, NULL, 0), AXO_OK);
        assert_int_equal(axo_group_send(group, h, NOTE, NULL, 0), AXO_OK);
        assert_int_equal(axo_group_wait(group, 5000000, AXO_GROUP_HOST), AXO_ETIMEDOUT);
        assert_int_equal(w.notes, 2 * i + 2);
        assert_int_equal(axo_group_count(group), 1);
        lent_run(&w, 0);
        assert_int_equal(axo_group_wait(group, 0, AXO_GROUP_HOST), AXO_OK);
        assert_int_equal(w.notes, 2 * i + 3);
    }
    assert_int_equal(axo_group_free(group), AXO_OK);
    lent_end(&w);
}

/* A function in axo_block waits for a group whose actors only its own thread can run. */
static void helper_wait(void *arg)
{
    lent_world *world = arg;
    axo_group *group;
    axo_ref a = lent_spawn(world, &member_class, AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_group_make(world->system, &group), AXO_OK);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(axo_group_send(group, a, NOTE, NULL, 0), AXO_OK);
    assert_int_equal(axo_group_wait(group, AXO_GROUP_FOREVER, AXO_GROUP_HELP), AXO_OK);
    assert_int_equal(world->notes, 100);
    assert_int_equal(axo_group_free(group), AXO_OK);
}

static axo_status helper_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    lent_world *world = *(lent_world **)state;
    (void)message;
    return axo_block(ctx, helper_wait, world);
}

static void a_group_is_helped_in_axo_block(void **state)
{
    static const axo_class helper_class =
        AXO_CLASS(.name = "helper", .state_size = sizeof(lent_world *),
                  .construct = member_construct, .receive = helper_receive);
    lent_world w;
    (void)state;
    lent_begin(&w, 2);
    axo_ref helper = lent_spawn(&w, &helper_class, AXO_DISPATCH_DEFAULT);
    lent_tell(&w, helper, NOTE);
    lent_run(&w, 0);
    assert_int_equal(w.notes, 100);
    lent_end(&w);
}

/* ---- ends ---- */

static void a_system_that_nobody_ever_visits(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w, 4);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_tell(&w, a, NOTE);
    assert_int_equal(axo_system_wait(w.system, MS, NULL), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_destroy(w.system), AXO_ESTOPPING);
    lent_end(&w); /* axo_system_stop visits */
}

static void a_shutdown_waits_for_visits(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w, 2);
    lent_run(&w, 0);
    (void)lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_system_shutdown(w.system), AXO_OK);
    assert_int_equal(axo_system_wait(w.system, MS, NULL), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_destroy(w.system), AXO_ESTOPPING);
    axo_status status = AXO_OK;
    for (uint32_t i = 0; status == AXO_OK; i++)
        status = axo_worker_run(w.system, i % 2, -1, NULL);
    assert_int_equal(status, AXO_ESTOPPING);
    assert_int_equal(axo_system_wait(w.system, 0, NULL), AXO_OK);
    lent_end(&w);
}

/* A stop while a slot is visited names what is late, and helps in the other slot; a stop for which
 * no slot is free waits. */
static void a_stop_beside_a_visit(void **state)
{
    lent_world w;
    lent_visit visit;
    axo_late late;
    uint32_t count;
    (void)state;
    for (uint32_t slots = 1; slots < 3; slots++) {
        lent_begin(&w, slots);
        lent_run(&w, 0);
        axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
        lent_run(&w, 0);
        lent_tell(&w, a, BLOCK);
        visit_begin(&visit, &w, 0);
        lent_await(&w.inside);
        assert_int_equal(axo_system_stop(w.system, MS, &late, 1, &count), AXO_ETIMEDOUT);
        assert_true(count > 0);
        (void)sem_post(&w.go_on);
        assert_int_equal(axo_system_stop(w.system, LONG, NULL, 0, NULL), AXO_OK);
        /* The visitor may still be on its way out. */
        axo_system *system = w.system;
        assert_int_equal(axo_system_destroy(system), AXO_OK);
        visit_end(&visit);
        (void)sem_destroy(&w.work);
        (void)sem_destroy(&w.inside);
        (void)sem_destroy(&w.go_on);
    }
}

/* The last visitor ends the system, and another thread destroys it at once. */
static void destroyed_under_a_visitor(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        lent_world w;
        lent_visit visits[2];
        lent_begin(&w, 2);
        lent_run(&w, 0);
        axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
        axo_ref b = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
        lent_run(&w, 0);
        lent_tell(&w, a, BLOCK);
        lent_tell(&w, b, BLOCK);
        visit_begin(&visits[0], &w, 0);
        visit_begin(&visits[1], &w, 1);
        lent_await(&w.inside);
        lent_await(&w.inside);
        assert_int_equal(axo_system_shutdown(w.system), AXO_OK);
        (void)sem_post(&w.go_on);
        (void)sem_post(&w.go_on);
        if (axo_system_wait(w.system, 100 * MS, NULL) != AXO_OK) /* both went before the end */
            assert_int_equal(axo_system_stop(w.system, LONG, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(w.system), AXO_OK);
        visit_end(&visits[0]);
        visit_end(&visits[1]);
        (void)sem_destroy(&w.work);
        (void)sem_destroy(&w.inside);
        (void)sem_destroy(&w.go_on);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_and_slots),
    cmocka_unit_test(slots_steal),
    cmocka_unit_test(asks_from_outside),
    cmocka_unit_test(a_group_is_helped),
    cmocka_unit_test(a_group_is_helped_by_the_host_alone),
    cmocka_unit_test(a_group_is_helped_in_axo_block),
    cmocka_unit_test(a_system_that_nobody_ever_visits),
    cmocka_unit_test(a_shutdown_waits_for_visits),
    cmocka_unit_test(a_stop_beside_a_visit),
    cmocka_unit_test(destroyed_under_a_visitor),
};

TEST_MAIN(tests)
