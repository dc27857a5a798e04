/* follow_step_test.c - followers wait for their leader, and nobody waits for ever: workers on one
 * thread, stopped at each of their steps. */
#include "unit/sched/idle_world.h"

static void follower_of(axo__worker *leader)
{
    axo__cell *cell = cell_new();
    assert_int_equal(axo__state_announce_user(&cell->state), AXO__ANNOUNCE_PUSH);
    axo__claim_inject(&leader->followers, cell);
}

/* Their leader goes on: they are left to it, and so is what it has else, for longer than usual. */
static void followers_are_left_to_a_leader_that_moves(void **state)
{
    const int64_t late = AXO__FOLLOW_LATE_NS;
    watch_open();
    follower_of(worker_at(0));
    assert_false(watch_takes(8 * late, 1));
    watch_open();
    follower_of(worker_at(0));
    assert_false(watch_takes(late - 1, 0));
    watch_open();
    follower_of(worker_at(0));
    assert_true(watch_takes(late, 0));
    for (uint32_t turns = 1; turns <= 3; turns++) {
        queue_of_two();
        follower_of(worker_at(0));
        assert_int_equal(watch_takes(late, turns), turns <= 2);
    }
}

/* The second worker has run the consumer, and is about to park, at each of its steps; the first one
 * sends it a producer. */
static void change_follow(void)
{
    axo__worker *worker = worker_at(0);
    axo__cell *consumer = cell_new();
    axo__cell *producer = cell_new();
    axo__cell *current = worker->current;
    (void)axo__state_announce_user(&producer->state);
    follow_lead(worker_at(1), consumer);
    worker->follow_cell = consumer;
    worker->follow_sends = AXO__FOLLOW_SENDS;
    worker->clock_turn = axo__worker_turn(worker);
    worker->turn_clock = worker->now;
    worker->current = NULL;
    world.seen = axo__follow_push(worker, producer);
    if (!world.seen)
        axo__worker_push_back(worker, producer);
    axo__worker_offer_quiet(worker);
    worker->current = current;
}

static uint32_t follow_at(uint32_t at)
{
    world_open(2, 0);
    world.sched.ops = &world_ops;
    all_rest();
    axo__sched_wake_one(&world.sched);
    wake(worker_at(0));
    enter_handler(worker_at(0));
    axo__sched_wake_one(&world.sched);
    wake(worker_at(1));
    int64_t now = world.now;
    worker_at(0)->now = worker_at(1)->now = now;
    step_begin(at, change_follow);
    run_until_idle(worker_at(1));
    uint32_t steps = step_end();
    step_rest();
    check_that_somebody_looks();
    assert_false(work_is_left());
    assert_true(!world.seen || world.now == now); /* no watch had to end first */
    world_close();
    return steps;
}

static void a_follower_at_every_step_of_its_leader(void **state)
{
    assert_in_range(step_each(follow_at, IDLE_STEPS_MAX), 21, IDLE_STEPS_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(followers_are_left_to_a_leader_that_moves),
    cmocka_unit_test(a_follower_at_every_step_of_its_leader),
};
TEST_MAIN(tests)
