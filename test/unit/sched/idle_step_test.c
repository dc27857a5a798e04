/* idle_step_test.c - whether somebody always comes for work: workers on one thread, stopped at each
 * of their steps while they search or park, and others act meanwhile. Who has found work is stuck
 * in it for good; then nobody may stay parked while there is more. */
#include "unit/sched/idle_world.h"

/* ---- the watch is handed to one that is about to park ---- */

/* The stuck handler has two failures to tell of, and the watcher wakes for the first. */
static void change_watcher_finds(void)
{
    for (int i = 0; i < 2; i++)
        axo__sched_announce_system(worker_at(0), cell_new());
    assert_true(gets_up(worker_at(1)));
    wake(worker_at(1));
    run_until_idle(worker_at(1));
}

static uint32_t watch_handed_on(uint32_t at)
{
    world_open(IDLE_WORKERS, 0);
    world.sched.ops = &world_ops;
    enter_handler(worker_at(0));
    run_until_idle(worker_at(1));
    assert_int_equal(worker_at(1)->role, AXO__IDLE_WATCHING);
    axo__sched_announce_user(worker_at(0), cell_new());
    assert_non_null(axo__aptr_load_relaxed(&worker_at(0)->next)); /* private */
    run_until_idle(worker_at(3));
    step_begin(at, change_watcher_finds);
    run_until_idle(worker_at(2));
    uint32_t steps = step_end();
    step_rest();
    check_that_somebody_looks();
    world_close();
    return steps;
}

static void the_watch_is_handed_on_at_every_step(void **state)
{
    assert_in_range(step_each(watch_handed_on, IDLE_STEPS_MAX), 21, IDLE_STEPS_MAX);
}

/* ---- pushes that a searcher keeps quiet ---- */

static bool push_newborns;

static void push_one(void)
{
    axo__cell *cell = cell_new();
    if (!push_newborns) {
        axo__sched_announce_user(worker_at(0), cell);
        return;
    }
    axo__state_init(&cell->state, 0);
    axo__state_birth(&cell->state);
    axo__sched_push_newborn(worker_at(0), cell);
}

static void change_push(void)
{
    for (int i = 0; i < 4; i++)
        push_one();
    axo__sched_announce_system(worker_at(0), cell_new());
}

static uint32_t search(uint32_t at)
{
    world_open(IDLE_WORKERS, 0);
    world.sched.ops = &world_ops;
    all_rest();
    axo__sched_wake_one(&world.sched);
    wake(worker_at(0));
    enter_handler(worker_at(0));
    axo__sched_wake_one(&world.sched);
    wake(worker_at(1));
    step_begin(at, change_push);
    run_until_idle(worker_at(1));
    uint32_t steps = step_end();
    step_rest();
    check_that_somebody_looks();
    world_close();
    return steps;
}

static void pushes_at_every_step_of_a_search(void **state)
{
    skip_with_tiny_limits();
    assert_in_range(step_each(search, IDLE_STEPS_MAX), 21, IDLE_STEPS_MAX);
}

static void newborns_at_every_step_of_a_search(void **state)
{
    skip_with_tiny_limits();
    push_newborns = true;
    pushes_at_every_step_of_a_search(state);
    push_newborns = false;
}

/* One newborn of a handler that hangs: the watcher comes for it, or a spare. */
static void a_newborn_of_one_that_hangs(void **state)
{
    for (uint32_t spares = 0; spares <= AXO__SPARES; spares += AXO__SPARES) {
        world_open(spares == 0 ? 2 : 1, spares);
        world.sched.ops = &world_ops;
        all_rest();
        axo__sched_wake_one(&world.sched);
        wake(worker_at(0));
        enter_handler(worker_at(0));
        push_newborns = true;
        push_one();
        push_newborns = false;
        assert_int_equal(axo__newborn_count_any(worker_at(0)), 1);
        check_that_somebody_looks();
        assert_false(work_is_left());
        world_close();
    }
}

/* ---- what a worker leaves to others, and when ---- */

static void a_short_queue_is_taken_if_it_would_wait(void **state)
{
    queue_of_two();
    assert_true(watch_takes(4 * AXO__WATCH_MIN_NS, 8)); /* two turns of 25 us */
    queue_of_two();
    assert_false(watch_takes(4 * AXO__WATCH_MIN_NS, 9));
    queue_of_two();
    assert_true(watch_takes(AXO__WATCH_MIN_NS, 0)); /* it has not moved */
    queue_of_two();
    assert_false(watch_takes(AXO__WATCH_MIN_NS - 1, 0));
}

static void an_overrun_cell_is_taken_at_once(void **state)
{
    watch_open();
    axo__cell *cell = cell_new();
    announced(cell);
    axo__worker_push_overrun(worker_at(0), cell);
    assert_int_equal(axo__a32_load_relaxed(&worker_at(1)->state), AXO__WORKER_AWAKE);
    assert_true(watch_takes(1, 1000));
}

/* A handler has made a crowd urgent. A thief takes half of it along, which it must not forget, and
 * tells the next one of it. */
static void half_of_a_crowd_of_urgent_cells_is_taken(void **state)
{
    world_open(3, 0);
    world.sched.ops = &world_ops;
    all_rest();
    axo__sched_wake_one(&world.sched);
    wake(worker_at(0));
    enter_handler(worker_at(0));
    assert_true(axo__sched_wake_worker(worker_at(2)));
    wake(worker_at(2));
    run_until_idle(worker_at(2));
    assert_int_equal(worker_at(2)->role, AXO__IDLE_WATCHING);
    for (int i = 0; i < 4; i++) {
        axo__cell *cell = cell_new();
        announced(cell);
        assert_true(axo__runq_push_owner(&worker_at(0)->urgent, cell));
    }
    axo__sched_wake_one(&world.sched);
    assert_int_equal(axo__a32_load_relaxed(&worker_at(2)->state), AXO__WORKER_PARKED);
    wake(worker_at(1));
    run_until_idle(worker_at(1));
    assert_true(world.stuck[1]);
    assert_int_equal(axo__runq_count_any(&worker_at(0)->urgent), 2);
    assert_int_equal(axo__runq_count_any(&worker_at(1)->urgent), 1);
    assert_true((worker_at(1)->attention & AXO__LOOK_URGENT) != 0);
    assert_int_equal(axo__a32_load_relaxed(&worker_at(2)->state), AXO__WORKER_AWAKE);
    check_that_somebody_looks();
    world_close();
}

/* Of what comes up between two turns the worker takes one itself: the other one is told of more. */
static void between_two_turns_one_is_nobody_elses(void **state)
{
    for (uint32_t count = 1; count <= 2; count++) {
        world_open(2, 0);
        world.sched.ops = &world_ops;
        all_rest();
        axo__sched_wake_one(&world.sched);
        wake(worker_at(0));
        for (uint32_t i = 0; i < count; i++)
            axo__sched_announce_user(worker_at(0), cell_new());
        assert_int_equal(axo__a32_load_relaxed(&worker_at(1)->state), AXO__WORKER_PARKED);
        run_until_idle(worker_at(0));
        uint32_t other = axo__a32_load_relaxed(&worker_at(1)->state);
        assert_int_equal(other, count == 1 ? AXO__WORKER_PARKED : AXO__WORKER_AWAKE);
        check_that_somebody_looks();
        assert_false(work_is_left());
        world_close();
    }
}

/* The others sleep, and nobody looks in time: what a handler tells is not left to it alone. */
static void what_a_handler_tells_while_nobody_watches(void **state)
{
    world_open(2, 0);
    world.sched.ops = &world_ops;
    all_rest();
    axo__sched_wake_one(&world.sched);
    wake(worker_at(0));
    enter_handler(worker_at(0));
    axo__sched_announce_user(worker_at(0), cell_new());
    check_that_somebody_looks();
    assert_false(work_is_left());
    world_close();
}

/* ---- a storm of urgent cells ---- */

/* Each turn of one of them announces the other. */
static void storm_system(axo__worker *worker, axo__cell *cell)
{
    bool first = cell == cell_at(0);
    axo__sched_announce_system(worker, cell_at(first ? 1 : 0));
}

/* Two cells without an end on the one worker; a third one has nothing to do. */
static axo__cell *storm_begin(void)
{
    static const axo__super_ops storm_ops = {.system = storm_system, .begin = no_system};
    world_open(1, 0);
    world.sched.ops = &storm_ops;
    axo__cell *first = cell_new();
    (void)cell_new();
    axo__cell *other = cell_new();
    axo__sched_announce_system(worker_at(0), first);
    return other;
}

static void a_storm_of_urgent_cells_leaves_others_their_turns(void **state)
{
    axo__cell *other = storm_begin();
    axo__sched_announce_user(worker_at(0), other);
    for (uint32_t i = 0; i < 2 * AXO__URGENT_RUNS_MAX; i++)
        assert_int_equal(axo__worker_body.step(worker_at(0)), AXO__STEP_AGAIN);
    assert_int_equal(axo__state_look(&other->state) & AXO__READY, 0);
    assert_true(work_is_left()); /* the storm */
    world_close();
}

/* What comes from outside is heard, though the worker's own lane is never empty. */
static void a_storm_of_urgent_cells_leaves_those_from_outside_their_turns(void **state)
{
    axo__cell *other = storm_begin();
    axo__sched_announce_system(NULL, other);
    assert_true(axo__inject_has_any(&world.sched.urgent));
    for (uint32_t i = 0; i < AXO__URGENT_TURNS; i++)
        assert_int_equal(axo__worker_body.step(worker_at(0)), AXO__STEP_AGAIN);
    assert_false(axo__inject_has_any(&world.sched.urgent));
    assert_true(work_is_left()); /* the storm */
    world_close();
}

#define STORM_TURN_NS    INT64_C(1000)
#define STORM_MESSAGE_NS INT64_C(3000)
#define STORM_MESSAGES   32

static void long_storm_system(axo__worker *worker, axo__cell *cell)
{
    world.now += STORM_TURN_NS;
    storm_system(worker, cell);
}

static uint32_t storm_handled;

static axo_status storm_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    storm_handled++;
    world.now += STORM_MESSAGE_NS;
    return AXO_OK;
}

/* Many messages wait behind the storm, of which `fit` are handled in each turn between urgent
 * cells; in the end all are, though the storm goes on. */
static void storm_shared(int64_t quantum_ns, uint32_t fit)
{
    static const axo__super_ops storm_ops = {.system = long_storm_system, .begin = no_system};
    world_open(1, 0);
    world.sched.ops = &storm_ops;
    world.sched.quantum_ns = quantum_ns;
    storm_handled = 0;
    axo__worker *worker = worker_at(0);
    axo__worker_read_clock(worker);
    axo__cell *first = cell_new();
    (void)cell_new();
    axo__cell *other = cell_new();
    other->receive = storm_receive;
    other->phase = AXO__PHASE_NORMAL;
    other->life = AXO__INSTANCE_STARTED;
    axo__sched_announce_system(worker, first);
    for (uint32_t i = 0; i < STORM_MESSAGES; i++) {
        axo__message *message = axo__message_make(&worker->local.cache, 1, axo_ref_none(), 0);
        assert_non_null(message);
        axo__sched_accept(worker, other, message);
    }
    for (uint32_t handled = 0; handled < STORM_MESSAGES; handled = storm_handled) {
        for (uint32_t i = 0; i <= AXO__URGENT_RUNS_MAX; i++)
            assert_int_equal(axo__worker_body.step(worker), AXO__STEP_AGAIN);
        assert_int_equal(storm_handled,
                         handled + fit < STORM_MESSAGES ? handled + fit : STORM_MESSAGES);
    }
    assert_true(work_is_left()); /* the storm */
    world_close();
}

static void a_storm_of_urgent_cells_shares_the_time(void **state)
{
    const int64_t share = AXO__URGENT_RUNS_MAX * STORM_TURN_NS;
    const uint32_t fit = (uint32_t)((share + STORM_MESSAGE_NS - 1) / STORM_MESSAGE_NS);
    storm_shared(INT64_C(1000000000), fit);
    storm_shared(AXO__QUANTUM_NEVER, STORM_MESSAGES); /* where time ends no turn, none of these */
}

/* It dozes on while there are turns, so that who gets up often need not call it. */
static void the_spare_goes_to_rest_after_a_quiet_look(void **state)
{
    world_open(1, AXO__SPARES);
    world.sched.ops = &world_ops;
    run_until_idle(worker_at(0));
    axo__spare_notice(&world.sched);
    for (uint32_t look = 0; look < 3; look++) {
        axo__a64_bump_owner(&worker_at(0)->local.count.turns);
        run_until_idle(worker_at(1));
        assert_int_equal(worker_at(1)->thread.deadline, world.now + AXO__SPARE_NS);
        uint64_t ticket = axo__os_parker_ticket(&worker_at(1)->thread.parker);
        axo__spare_notice(&world.sched);
        assert_int_equal(axo__os_parker_ticket(&worker_at(1)->thread.parker), ticket);
    }
    run_until_idle(worker_at(1));
    assert_int_equal(worker_at(1)->thread.deadline, world.now + AXO__SPARE_DOZE_NS);
    run_until_idle(worker_at(1));
    assert_int_equal(worker_at(1)->thread.deadline, AXO__NEVER);
    world_close();
}

/* ---- the spare goes to rest while the only worker gets up ---- */

static void change_outside(void)
{
    axo__sched_announce_user(NULL, cell_new());
}

static void change_spare_rests(void)
{
    run_until_idle(worker_at(1));
}

static uint32_t spare_rests(uint32_t one, uint32_t two)
{
    world_open(1, AXO__SPARES);
    world.sched.ops = &world_ops;
    axo__spare_notice(&world.sched);
    run_until_idle(worker_at(1));
    run_until_idle(worker_at(2));
    step_begin_two(one, change_outside, two, change_spare_rests);
    run_until_idle(worker_at(0));
    uint32_t steps = step_end();
    step_rest();
    if (!world.stuck[0]) {
        assert_true(gets_up(worker_at(0)));
        wake(worker_at(0));
        run_until_idle(worker_at(0));
    }
    assert_true(world.stuck[0]);
    axo__sched_announce_user(worker_at(0), cell_new()); /* by the handler that hangs then */
    check_that_somebody_looks();
    world_close();
    return steps;
}

static void the_spare_rests_at_every_step_of_parking(void **state)
{
    assert_in_range(step_each_two(spare_rests, IDLE_STEPS_MAX), 6, IDLE_STEPS_MAX);
}

/* ---- what is told before user code runs is offered before it does ---- */

static void look_at_the_other(void)
{
    world.seen = axo__a32_load_relaxed(&worker_at(1)->state) == AXO__WORKER_AWAKE;
}

static axo_status offer_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    look_at_the_other();
    if (message->tag == 1)
        world.now += 10 * AXO_TICK_NS; /* a timer is due meanwhile */
    return AXO_OK;
}

static axo_status offer_post_stop(axo_ctx *ctx, void *state)
{
    look_at_the_other();
    return AXO_OK;
}

static axo_directive offer_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    look_at_the_other();
    return AXO_STOP;
}

static const axo_class offer_class =
    AXO_CLASS(.receive = offer_receive, .post_stop = offer_post_stop);
static const axo_strategy offer_strategy = AXO_STRATEGY(.decider = offer_decide);
static axo__extra offer_extra = {.strategy = &offer_strategy};

/* The first worker is up, the other one is parked and nobody watches. */
static axo__cell *offer_open(void)
{
    world_open(2, 0);
    world.sched.ops = &world_ops;
    all_rest();
    axo__sched_wake_one(&world.sched);
    wake(worker_at(0));
    axo__self = worker_at(0);
    axo__cell *cell = cell_new();
    axo__aptr_store_relaxed(&axo__cell_cold(cell)->cls, (void *)(uintptr_t)&offer_class);
    cell->receive = offer_class.receive;
    cell->phase = AXO__PHASE_NORMAL;
    cell->life = AXO__INSTANCE_STARTED;
    (void)axo__a64_or_acq_rel(&cell->state.word, AXO__RUNNING);
    axo__aptr_store_relaxed(&cell->extra, &offer_extra);
    return cell;
}

static int64_t offer_fire(axo__worker *worker, axo__timer *timer, uint64_t number)
{
    axo__sched_announce_system(worker, cell_new());
    return 0;
}

static const axo__timer_ops offer_ops = {.fire = offer_fire, .finish = axo__timer_again};

static void a_timer_that_fires_within_a_turn(void **state)
{
    axo__cell *cell = offer_open();
    axo__worker *worker = worker_at(0);
    axo__timer timer = {.ops = &offer_ops};
    for (uint32_t tag = 1; tag <= 2; tag++) {
        axo__message *message = axo__message_make(&worker->local.cache, tag, axo_ref_none(), 0);
        assert_non_null(message);
        (void)axo__state_push(&cell->state, &message->node);
    }
    assert_true(axo__timer_arm(worker, &timer, axo__timer_due(world.now, AXO_TICK_NS)));
    worker->until_clock = 1;
    axo__run_cells(worker, cell, 64, 1);
    assert_true(world.seen); /* by the second message */
    axo__worker_unpark_owner(worker_at(1));
    world_close();
}

/* And not again by the next hook, unless something was pushed meanwhile. */
static void what_is_told_before_a_hook(void **state)
{
    axo__cell *cell = offer_open();
    axo__worker *worker = worker_at(0);
    worker->current = cell;
    for (uint32_t told = 1; told <= 2; told++) {
        axo__sched_announce_system(worker, cell_new());
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(axo__hook_run(worker, cell, AXO__SITE_POST_STOP, true), AXO_OK);
        assert_true(world.seen);
        assert_int_equal(axo__a32_load_relaxed(&worker->fence), told);
    }
    world_close();
}

static void what_is_told_before_a_decider(void **state)
{
    axo__cell *cell = offer_open();
    axo_failure failure;
    axo_directive directive;
    memset(&failure, 0, sizeof failure);
    failure.kind = AXO_FAILURE_ORDINARY;
    worker_at(0)->current = cell;
    axo__sched_announce_system(worker_at(0), cell_new());
    axo__cell *child = cell_new();
    child->parent = axo__cell_link(cell);
    assert_true(axo__hook_decide(worker_at(0), cell, child, &failure, &directive));
    assert_true(world.seen);
    world_close();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_watch_is_handed_on_at_every_step),
    cmocka_unit_test(pushes_at_every_step_of_a_search),
    cmocka_unit_test(newborns_at_every_step_of_a_search),
    cmocka_unit_test(a_newborn_of_one_that_hangs),
    cmocka_unit_test(a_short_queue_is_taken_if_it_would_wait),
    cmocka_unit_test(an_overrun_cell_is_taken_at_once),
        cmocka_unit_test(half_of_a_crowd_of_urgent_cells_is_taken),
    cmocka_unit_test(between_two_turns_one_is_nobody_elses),
    cmocka_unit_test(what_a_handler_tells_while_nobody_watches),
    cmocka_unit_test(a_storm_of_urgent_cells_leaves_others_their_turns),
    cmocka_unit_test(a_storm_of_urgent_cells_leaves_those_from_outside_their_turns),
    cmocka_unit_test(a_storm_of_urgent_cells_shares_the_time),
    cmocka_unit_test(the_spare_goes_to_rest_after_a_quiet_look),
    cmocka_unit_test(the_spare_rests_at_every_step_of_parking),
    cmocka_unit_test(a_timer_that_fires_within_a_turn),
    cmocka_unit_test(what_is_told_before_a_hook),
    cmocka_unit_test(what_is_told_before_a_decider),
};
TEST_MAIN(tests)
