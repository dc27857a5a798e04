/* expire_test.c - cells whose grace period is over come back to the worker that has retired them,
 * and to another one if that one sleeps or hangs. */
#include "unit/sched/idle_world.h"

#include "sched/expire.h"

static uint32_t expire_by[IDLE_WORKERS + AXO__SPARES];

static void expire_count(axo__local *local, axo__cell *cell)
{
    assert_non_null(cell);
    expire_by[local->index]++;
}

static const axo__super_ops expire_ops = {.system = no_system, .begin = no_system,
                                          .expire = expire_count};

/* Workers in handlers, `sleepers` of them parked, none of which watches. */
static void expire_open(uint32_t workers, uint32_t sleepers)
{
    memset(expire_by, 0, sizeof expire_by);
    world_open(workers, AXO__SPARES);
    world.sched.ops = &expire_ops;
    assert_true(axo__os_mutex_init(&world.core.expired_mutex));
    all_rest();
    for (uint32_t i = 0; i < workers - sleepers; i++) {
        assert_true(axo__sched_wake_worker(worker_at(i)));
        wake(worker_at(i));
        enter_handler(worker_at(i));
    }
    for (uint32_t i = 0; i < workers; i++) {
        for (uint32_t k = 0; k < workers; k++)
            worker_at(i)->seen[k].turn = axo__worker_turn(worker_at(k));
        worker_at(i)->seen_at = worker_at(i)->now;
    }
}

static void expire_close(void)
{
    axo__os_mutex_fini(&world.core.expired_mutex);
    world_close();
}

/* As boot_expire does. */
static void expire_put(uint32_t home, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        axo__cell *cell = cell_new();
        cell->retired.next = world.core.expired[home];
        world.core.expired[home] = &cell->retired;
    }
    axo__a32_store_relaxed(&world.core.expired_any,
                           axo__a32_load_relaxed(&world.core.expired_any) | 1u << home);
}

static uint32_t expire_left(void)
{
    return axo__a32_load_relaxed(&world.core.expired_any);
}

/* More workers than homes share them; so do threads outside. */
static void each_local_has_a_home(void **state)
{
    expire_open(3, 3);
    assert_int_equal(world.core.homes, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo__local_home(&worker_at(i)->local), i);
    world.core.homes = 2;
    assert_int_equal(axo__local_home(&worker_at(2)->local), 0);
    axo__local outside = {.core = &world.core, .index = AXO__NO_WORKER};
    assert_true(axo__local_home(&outside) < 2);
    world.core.homes = 3;
    expire_close();
}

/* In portions. */
static void a_worker_takes_its_own(void **state)
{
    expire_open(2, 0);
    expire_put(0, 3);
    expire_put(1, 1);
    assert_true(axo__expire_own(worker_at(0), 2));
    assert_int_equal(expire_by[0], 2);
    assert_int_equal(expire_left(), 3);
    assert_true(axo__expire_own(worker_at(0), 2));
    assert_int_equal(expire_by[0], 3);
    assert_int_equal(expire_left(), 2);
    assert_false(axo__expire_own(worker_at(0), 2));
    assert_true(axo__expire_any(worker_at(0), 2));
    assert_int_equal(expire_by[0], 4);
    assert_int_equal(expire_left(), 0);
    assert_false(axo__expire_any(worker_at(0), 2));
    expire_close();
}

/* Who is without work leaves alone what an awake worker comes to. */
static void one_that_sleeps_is_helped(void **state)
{
    for (uint32_t sleepers = 0; sleepers < 2; sleepers++) {
        expire_open(2, sleepers);
        expire_put(1, 1);
        assert_int_equal(axo__expire_waits(worker_at(0)), sleepers);
        assert_int_equal(axo__expire_idle(worker_at(0), 8), sleepers);
        assert_int_equal(expire_left(), sleepers != 0 ? 0 : 2);
        assert_true(sleepers != 0 || axo__expire_waits(worker_at(1)));
        expire_close();
    }
}

static void one_that_hangs_is_helped(void **state)
{
    for (uint32_t moves = 0; moves < 2; moves++) {
        expire_open(2, 0);
        expire_put(1, 1);
        axo__worker *helper = worker_at(0);
        helper->now = helper->seen_at + AXO__WATCH_MIN_NS - 1;
        assert_false(axo__expire_idle(helper, 8));
        if (moves != 0)
            axo__a64_bump_owner(&worker_at(1)->local.count.turns);
        helper->now++;
        assert_int_equal(axo__expire_idle(helper, 8), moves == 0);
        expire_close();
    }
}

/* A worker that hangs, others parked, nobody watching: the spare wakes one, which watches, and
 * helps when the watch ends. */
static void the_spare_sends_help(void **state)
{
    expire_open(2, 1);
    axo__spare_notice(&world.sched);
    axo__worker *spare = worker_at(2);
    wake(spare);
    run_until_idle(spare);
    expire_put(0, 1);
    world.now += AXO__SPARE_NS;
    wake(spare);
    run_until_idle(spare);
    assert_int_equal(axo__a32_load_relaxed(&worker_at(1)->state), AXO__WORKER_AWAKE);
    wake(worker_at(1));
    run_until_idle(worker_at(1));
    for (uint32_t i = 0; i < 2 && expire_by[1] == 0; i++) {
        assert_true(gets_up(worker_at(1)));
        wake(worker_at(1));
        run_until_idle(worker_at(1));
    }
    assert_int_equal(expire_by[1], 1);
    expire_close();
}

/* Now and then a worker that is never idle takes a portion of anybody's, too. */
static void nobody_waits_for_ever(void **state)
{
    expire_open(2, 0);
    axo__worker *busy = worker_at(0);
    busy->current = NULL;
    busy->message = NULL;
    axo__aptr_store_relaxed(&busy->running, NULL);
    expire_put(1, 1);
    uint32_t rounds = 0;
    while (expire_left() != 0 && rounds < AXO__HOUSEKEEPING_ROUNDS + 1) {
        axo__cell *cell = cell_at(world.count - 1);
        uint64_t turn = axo__worker_turn(busy);
        turn += AXO__HOUSEKEEPING_TURNS - turn % AXO__HOUSEKEEPING_TURNS;
        axo__a64_store_relaxed(&busy->local.count.turns, turn - 1);
        axo__a64_store_relaxed(&cell->state.word, 0);
        announced(cell);
        assert_true(axo__runq_push_owner(&busy->urgent, cell));
        busy->attention |= AXO__LOOK_URGENT;
        (void)run_step(busy);
        assert_int_equal(axo__worker_turn(busy), turn);
        rounds++;
    }
    assert_int_equal(expire_by[0], 1);
    assert_true(rounds > 1);
    expire_close();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_local_has_a_home),     cmocka_unit_test(a_worker_takes_its_own),
    cmocka_unit_test(one_that_sleeps_is_helped), cmocka_unit_test(one_that_hangs_is_helped),
    cmocka_unit_test(the_spare_sends_help),      cmocka_unit_test(nobody_waits_for_ever),
};
TEST_MAIN(tests)
