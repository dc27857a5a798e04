/* lent_test.c - lent threads: what a visit is, and what slots that nobody visits leave. */
#include "lent_world.h"

/* ---- what a visit is ---- */

static void nothing_runs_but_in_a_visit(void **state)
{
    lent_world w;
    uint64_t turns = 7;
    (void)state;
    lent_begin(&w, 2);
    lent_run(&w, 0); /* the guardians begin */
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_tell(&w, a, NOTE);
    assert_int_equal(w.notes, 0);
    assert_true(w.asked > 0);
    assert_int_equal(axo_worker_run(w.system, 1, -1, &turns), AXO_OK);
    assert_int_equal(w.notes, 1);
    assert_true(turns > 0);
    assert_int_equal(axo_worker_run(w.system, 1, -1, &turns), AXO_OK);
    assert_int_equal(turns, 0);
    assert_true(axo_worker_due(w.system) == INT64_MAX);
    lent_end(&w);
}

/* Each push asks while a visit may still be asked for, and no more. */
static void asks_are_as_many_as_slots(void **state)
{
    lent_world w;
    axo_ref a[8];
    (void)state;
    lent_begin(&w, 3);
    lent_run(&w, 0);
    for (uint32_t i = 0; i < 8; i++)
        a[i] = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_run(&w, 1);
    lent_run(&w, 2);
    lent_run(&w, 0);
    uint32_t before = w.asked;
    for (uint32_t i = 0; i < 8; i++)
        lent_tell(&w, a[i], NOTE);
    assert_int_equal(w.asked - before, 3);
    lent_run(&w, 0); /* it does everything; one ask is answered, the others are out */
    assert_int_equal(w.notes, 8);
    before = w.asked;
    for (uint32_t i = 0; i < 8; i++)
        lent_tell(&w, a[i], NOTE);
    assert_int_equal(w.asked - before, 1);
    lent_run(&w, 1);
    lent_run(&w, 1); /* these two answer asks for others */
    lent_run(&w, 1);
    before = w.asked;
    for (uint32_t i = 0; i < 8; i++)
        lent_tell(&w, a[i], NOTE);
    assert_int_equal(w.asked - before, 3);
    lent_run(&w, 2);
    assert_int_equal(w.notes, 24);
    lent_end(&w);
}

static void every_dispatcher(void **state)
{
    static const uint32_t dispatchers[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED,
                                           AXO_DISPATCH_BLOCKING, AXO_DISPATCH_HOST};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        lent_world w;
        lent_begin(&w, 2);
        lent_run(&w, 1);
        axo_ref a = lent_spawn(&w, &member_class, dispatchers[i]);
        lent_run(&w, 0);
        lent_tell(&w, a, NOTE);
        lent_tell(&w, a, FAIL);
        lent_run(&w, 0);
        assert_int_equal(w.notes, i < 3);
        for (uint32_t k = 0; k < 4; k++) { /* the failure goes to and fro */
            assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
            lent_run(&w, k % 2);
        }
        lent_tell(&w, a, NOTE);
        assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
        lent_run(&w, 0);
        assert_int_equal(w.notes, 2);
        lent_end(&w);
    }
}

static void bad_input(void **state)
{
    lent_world w;
    axo_options own = AXO_OPTIONS(.workers = 1);
    axo_system *other;
    uint64_t turns = 7;
    (void)state;
    lent_begin(&w, 2);
    lent_run(&w, 0);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_tell(&w, a, NOTE);
    assert_int_equal(axo_worker_run(NULL, 0, -1, NULL), AXO_EINVAL);
    assert_int_equal(axo_worker_run(w.system, 2, -1, &turns), AXO_EINVAL);
    assert_int_equal(turns, 0);
    assert_int_equal(axo_worker_run(w.system, UINT32_MAX, -1, NULL), AXO_EINVAL);
    assert_int_equal(axo_worker_run(w.system, 0, 0, NULL), AXO_EINVAL);
    assert_int_equal(w.notes, 0);
    assert_true(axo_worker_due(NULL) == INT64_MAX);
    assert_int_equal(axo_system_start(&own, &other), AXO_OK);
    assert_int_equal(axo_worker_run(other, 0, -1, NULL), AXO_EINVAL);
    assert_true(axo_worker_due(other) == INT64_MAX);
    assert_int_equal(axo_system_stop(other, LONG, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(other), AXO_OK);
    lent_run(&w, 0);
    lent_tell(&w, a, INSIDE);
    lent_tell(&w, a, ASIDE);
    lent_run(&w, 0);
    assert_int_equal(w.nested, AXO_ECONTEXT);
    assert_int_equal(w.away, AXO_ECONTEXT);
    lent_end(&w);
}

static void options_that_do_not_fit(void **state)
{
    axo_options bad[] = {
        AXO_OPTIONS(.threads = AXO_THREADS_LENT + 1),
        AXO_OPTIONS(.threads = AXO_THREADS_LENT, .manual = AXO_MANUAL_ALL),
        AXO_OPTIONS(.threads = AXO_THREADS_LENT, .manual = AXO_MANUAL_DEFAULT),
        AXO_OPTIONS(.on_work = lent_asked),
        AXO_OPTIONS(.threads = AXO_THREADS_LENT, .work_user = bad),
    };
    axo_system *system;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(axo_system_start(&bad[i], &system), AXO_EINVAL);
}

/* The slot is somebody's; who was refused is not forgotten. */
static void two_threads_in_one_slot(void **state)
{
    lent_world w;
    lent_visit visit;
    (void)state;
    lent_begin(&w, 2);
    lent_run(&w, 1);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    axo_ref b = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_run(&w, 1);
    lent_tell(&w, a, BLOCK);
    visit_begin(&visit, &w, 0);
    lent_await(&w.inside);
    lent_tell(&w, b, NOTE);
    assert_int_equal(axo_worker_run(w.system, 0, -1, NULL), AXO_EBUSY);
    assert_int_equal(axo_worker_run(w.system, 0, 1, NULL), AXO_EBUSY);
    assert_int_equal(w.notes, 0);
    lent_run(&w, 1);
    assert_int_equal(w.notes, 1);
    (void)sem_post(&w.go_on);
    visit_end(&visit);
    lent_end(&w);
}

/* ---- slots that nobody visits ---- */

/* A budget ends the visit with a full queue, newborns and all; nobody comes to that slot again. */
static void an_abandoned_queue(void **state)
{
    lent_world w;
    uint32_t count = 3000;
    uint64_t turns;
    (void)state;
    lent_begin(&w, 3);
    lent_run(&w, 1);
    axo_ref a = lent_spawn(&w, &spreader_class, AXO_DISPATCH_DEFAULT);
    lent_run(&w, 1);
    assert_int_equal(axo_system_send(w.system, a, SPREAD, &count, sizeof count), AXO_OK);
    uint32_t before = w.asked;
    assert_int_equal(axo_worker_run(w.system, 0, 1, &turns), AXO_OK);
    assert_true(w.notes < count);
    assert_true(w.asked > before);
    lent_run(&w, 2);
    assert_int_equal(w.notes, count);
    lent_end(&w);
}

/* The same, and the one visitor that there is is never idle. */
static void an_abandoned_queue_beside_a_busy_slot(void **state)
{
    lent_world w;
    uint32_t count = 3000;
    (void)state;
    lent_begin(&w, 2);
    lent_run(&w, 0);
    axo_ref a = lent_spawn(&w, &spreader_class, AXO_DISPATCH_DEFAULT);
    axo_ref busy = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_run(&w, 0);
    assert_int_equal(axo_system_send(w.system, a, SPREAD, &count, sizeof count), AXO_OK);
    assert_int_equal(axo_worker_run(w.system, 0, 1, NULL), AXO_OK);
    assert_true(w.notes < count);
    w.spins = true;
    lent_tell(&w, busy, SPIN);
    while (w.notes < count)
        assert_int_equal(axo_worker_run(w.system, 1, MS, NULL), AXO_OK);
    w.spins = false;
    lent_end(&w);
}

/* Timers that were armed in a slot which nobody visits again. */
static void an_abandoned_wheel(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w, 2);
    lent_run(&w, 0);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    axo_ref busy = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_tell(&w, a, ARM);
    lent_run(&w, 0);
    int64_t due = axo_worker_due(w.system);
    assert_true(w.ticks > 0 || due < 2 * MS); /* a slow machine has run it already */
    while (w.ticks == 0)
        lent_run(&w, 1);
    lent_tell(&w, a, ARM);
    lent_run(&w, 0);
    w.spins = true;
    lent_tell(&w, busy, SPIN);
    while (w.ticks < 2)
        assert_int_equal(axo_worker_run(w.system, 1, MS, NULL), AXO_OK);
    w.spins = false;
    lent_end(&w);
}

/* Such a timer is the next visitor's, at once: nobody is left to whom time would be granted. */
static void a_wheel_that_is_due(void **state)
{
    lent_world w;
    (void)state;
    lent_begin(&w, 2);
    lent_run(&w, 0);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_run(&w, 0);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t before = w.ticks;
        lent_tell(&w, a, ARM);
        lent_run(&w, 0);
        while (w.ticks == before && axo_worker_due(w.system) > 0)
            sched_yield();
        lent_run(&w, 1);
        assert_int_equal(w.ticks, before + 1);
    }
    lent_end(&w);
}

/* Actors end in slots that are away then, and what they leave is given back: there are three times
 * as many as a table of this size has slots for. */
static void actors_come_and_go_in_turns(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = 3, .actors_max = 64);
    lent_world w;
    (void)state;
    lent_open(&w, &options);
    lent_run(&w, 0);
    for (uint32_t i = 0; i < 200000; i++) {
        axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
        assert_int_equal(axo_system_stop_actor(w.system, a), AXO_OK);
        lent_run(&w, i % 3);
    }
    lent_end(&w);
}

/* ---- handlers that hang ---- */

static void a_handler_that_hangs(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .stuck_ns = 2 * MS);
    lent_world w;
    lent_visit visit;
    (void)state;
    lent_open(&w, &options);
    lent_run(&w, 1);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    axo_ref b = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_run(&w, 1);
    lent_tell(&w, a, BLOCK);
    visit_begin(&visit, &w, 0);
    lent_await(&w.inside);
    lent_tell(&w, b, NOTE);
    lent_tell(&w, b, FAIL); /* and a failure is decided meanwhile */
    lent_tell(&w, b, NOTE);
    lent_run(&w, 1);
    assert_int_equal(w.notes, 2);
    assert_true(axo_worker_due(w.system) <= 2 * MS); /* somebody is to look after it */
    while (w.told == 0)
        lent_run(&w, 1);
    (void)sem_post(&w.go_on);
    visit_end(&visit);
    lent_end(&w);
}

/* ---- clocks ---- */

/* The program's clock may stand still, leap and go back; the budget is the operating system's. */
static void a_clock_that_goes_back(void **state)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .clock_user = NULL);
    lent_world w;
    (void)state;
    options.clock = lent_clock;
    options.clock_user = &w;
    lent_open(&w, &options);
    w.now = 1000 * MS;
    lent_run(&w, 0);
    axo_ref a = lent_spawn(&w, &member_class, AXO_DISPATCH_DEFAULT);
    lent_tell(&w, a, ARM);
    lent_run(&w, 0);
    assert_int_equal(w.ticks, 0);
    assert_true(axo_worker_due(w.system) >= MS && axo_worker_due(w.system) < 2 * MS);
    w.now = 1;
    assert_int_equal(axo_clock_changed(w.system), AXO_OK);
    lent_run(&w, 1);
    assert_int_equal(w.ticks, 0);
    w.spins = true;
    lent_tell(&w, a, SPIN);
    assert_int_equal(axo_worker_run(w.system, 1, MS, NULL), AXO_OK); /* it ends */
    w.spins = false;
    w.now = 2000 * MS;
    uint32_t before = w.asked;
    lent_run(&w, 1);
    lent_run(&w, 0);
    assert_int_equal(w.ticks, 1);
    lent_tell(&w, a, ARM);
    lent_run(&w, 0);
    w.now = 3000 * MS;
    before = w.asked;
    assert_int_equal(axo_clock_changed(w.system), AXO_OK);
    assert_true(w.asked > before);
    assert_true(axo_worker_due(w.system) == 0);
    lent_run(&w, 1);
    assert_int_equal(w.ticks, 2);
    lent_end(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_runs_but_in_a_visit),
    cmocka_unit_test(asks_are_as_many_as_slots),
    cmocka_unit_test(every_dispatcher),
    cmocka_unit_test(bad_input),
    cmocka_unit_test(options_that_do_not_fit),
    cmocka_unit_test(two_threads_in_one_slot),
    cmocka_unit_test(an_abandoned_queue),
    cmocka_unit_test(an_abandoned_queue_beside_a_busy_slot),
    cmocka_unit_test(an_abandoned_wheel),
    cmocka_unit_test(a_wheel_that_is_due),
    cmocka_unit_test(actors_come_and_go_in_turns),
    cmocka_unit_test(a_handler_that_hangs),
    cmocka_unit_test(a_clock_that_goes_back),
};

TEST_MAIN(tests)
