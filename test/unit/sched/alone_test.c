/* alone_test.c - a worker whose callbacks are short and that is the only one awake wakes nobody for
 * what it comes to itself; and if a callback lasts all the same, the spare does. */
#include "unit/sched/idle_world.h"

#include "sched/find.h"

/* The first worker is up and in a handler, the others are parked, and nobody watches. */
static void alone_open(uint32_t workers, uint32_t spares)
{
    world_open(workers, spares);
    world.sched.ops = &world_ops;
    all_rest();
    axo__sched_wake_one(&world.sched);
    wake(worker_at(0));
    worker_at(0)->long_ago = 0;
    enter_handler(worker_at(0));
}

static uint32_t alone_awake(void)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < world.sched.worker_count; i++)
        count += axo__a32_load_relaxed(&worker_at(i)->state) == AXO__WORKER_AWAKE;
    return count;
}

static void what_it_makes_ready_is_its_own(void **state)
{
    alone_open(3, AXO__SPARES);
    axo__sched_announce_user(worker_at(0), cell_new());
    assert_non_null(axo__aptr_load_relaxed(&worker_at(0)->next));
    axo__sched_announce_system(worker_at(0), cell_new());
    for (uint32_t i = 1; i < AXO__STEAL_MIN; i++)
        axo__sched_announce_user(worker_at(0), cell_new());
    assert_int_equal(alone_awake(), 0);
    axo__sched_announce_user(worker_at(0), cell_new()); /* so many are too many for one */
    assert_int_equal(alone_awake(), 1);
    world_close();
}

/* Callbacks that were long, others that are awake, no spare: each is a reason to wake one. */
static void others_are_woken_where_it_may_take_long(void **state)
{
    for (uint32_t reason = 0; reason < 3; reason++) {
        alone_open(3, reason == 0 ? 0 : AXO__SPARES);
        if (reason == 1)
            worker_at(0)->long_ago = 1;
        if (reason == 2) {
            assert_true(axo__sched_wake_worker(worker_at(2)));
            wake(worker_at(2));
            enter_handler(worker_at(2));
        }
        axo__sched_announce_user(worker_at(0), cell_new());
        assert_null(axo__aptr_load_relaxed(&worker_at(0)->next));
        assert_int_equal(axo__a32_load_relaxed(&worker_at(1)->state), AXO__WORKER_AWAKE);
        check_that_somebody_looks();
        assert_false(work_is_left());
        world_close();
    }
}

static void alone_leave_handler(axo__worker *worker)
{
    world.stuck[worker - world.sched.workers] = false;
    worker->current = NULL;
    worker->message = NULL;
    axo__aptr_store_relaxed(&worker->running, NULL);
}

/* A watcher that finds work hands its watch on, unless it is alone then. */
static void the_watch_ends_with_the_others(void **state)
{
    for (uint32_t others = 0; others < 2; others++) {
        alone_open(3, AXO__SPARES);
        assert_true(axo__sched_wake_worker(worker_at(1)));
        wake(worker_at(1));
        run_until_idle(worker_at(1));
        assert_int_equal(worker_at(1)->role, AXO__IDLE_WATCHING);
        worker_at(1)->long_ago = 0;
        if (others == 0) {
            alone_leave_handler(worker_at(0));
            run_until_idle(worker_at(0));
            assert_int_equal(axo__a32_load_relaxed(&worker_at(0)->state), AXO__WORKER_PARKED);
        }
        axo__cell *cell = cell_new();
        announced(cell);
        assert_true(axo__runq_push_owner(&worker_at(0)->urgent, cell));
        assert_true(gets_up(worker_at(1)));
        wake(worker_at(1));
        run_until_idle(worker_at(1));
        assert_true(world.stuck[1]);
        uint32_t woken = others == 0 ? AXO__WORKER_PARKED : AXO__WORKER_AWAKE;
        assert_int_equal(axo__a32_load_relaxed(&worker_at(2)->state), woken);
        world_close();
    }
}

static void alone_spare_looks(int64_t later)
{
    world.now += later;
    axo__worker *spare = worker_at(world.sched.worker_count);
    wake(spare);
    run_until_idle(spare);
}

/* The spare looks often as long as there are turns, and wakes a worker for what waits behind a
 * callback that lasts: once, since that one watches then. */
static void the_spare_wakes_one_if_it_lasts(void **state)
{
    for (uint32_t waits = 0; waits < 2; waits++) {
        alone_open(2, AXO__SPARES);
        axo__spare_notice(&world.sched);
        if (waits)
            axo__sched_announce_user(worker_at(0), cell_new());
        axo__worker *spare = worker_at(2);
        alone_spare_looks(0);
        assert_int_equal(spare->thread.deadline, world.now + AXO__SPARE_NS);
        assert_int_equal(alone_awake(), 0);
        alone_spare_looks(AXO__SPARE_NS);
        assert_int_equal(alone_awake(), waits);
        check_that_somebody_looks();
        assert_false(work_is_left());
        world_close();
    }
}

/* Each clock reading that finds a long callback is remembered for some readings. */
static void long_callbacks_are_remembered(void **state)
{
    world_open(1, 0);
    axo__worker *worker = worker_at(0);
    axo__self = worker;
    axo__worker_read_clock(worker);
    for (uint32_t i = AXO__LONG_AGO; i > 0; i--) {
        assert_int_equal(worker->long_ago, i);
        world.now += world.sched.quantum_ns / 2;
        (void)axo__worker_clock(worker);
    }
    assert_int_equal(worker->long_ago, 0);
    (void)axo__worker_clock(worker);
    assert_int_equal(worker->long_ago, 0);
    world.now += world.sched.quantum_ns / 2 + 1;
    (void)axo__worker_clock(worker);
    assert_int_equal(worker->long_ago, AXO__LONG_AGO);
    world_close();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_it_makes_ready_is_its_own),
    cmocka_unit_test(others_are_woken_where_it_may_take_long),
    cmocka_unit_test(the_watch_ends_with_the_others),
    cmocka_unit_test(the_spare_wakes_one_if_it_lasts),
    cmocka_unit_test(long_callbacks_are_remembered),
};
TEST_MAIN(tests)
