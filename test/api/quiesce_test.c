/* quiesce_test.c - waiting until a system is at rest: in each kind of threads, under work of each
 * kind; what counts and what does not; what is refused. */
#include "quiesce_world.h"

/* How the threads of a world come about. */
static const axo_options quiet_kinds[] = {
    AXO_OPTIONS(.workers = 1), AXO_OPTIONS(.workers = 2), AXO_OPTIONS(.workers = 4),
    AXO_OPTIONS(.manual = AXO_MANUAL_ALL), AXO_OPTIONS(.manual = AXO_MANUAL_DEFAULT),
    AXO_OPTIONS(.workers = 1, .threads = AXO_THREADS_LENT),
    AXO_OPTIONS(.workers = 3, .threads = AXO_THREADS_LENT)};
enum { QUIET_KINDS = sizeof quiet_kinds / sizeof quiet_kinds[0] };

static void in_each_kind(void (*test)(quiet_world *w))
{
    for (uint32_t i = 0; i < QUIET_KINDS; i++) {
        quiet_world w;
        quiet_begin(&w, quiet_kinds[i]);
        test(&w);
        quiet_finish(&w);
    }
}

/* ---- work that ends ---- */

static void hops_between(quiet_world *w, axo_dispatcher one, axo_dispatcher other)
{
    const uint32_t count = 300;
    axo_ref a = quiet_spawn(w, one);
    axo_ref b = quiet_spawn(w, other);
    for (uint32_t round = 1; round <= 20; round++) {
        w->hops = 0;
        for (uint32_t i = 0; i < 3; i++)
            quiet_hops(w, a, b, count, 0);
        quiet_is_so(w);
        assert_int_equal(w->hops, 3 * (count + 1));
    }
}

static void play_hops(quiet_world *w)
{
    hops_between(w, AXO_DISPATCH_DEFAULT, AXO_DISPATCH_DEFAULT);
    hops_between(w, AXO_DISPATCH_DEFAULT, AXO_DISPATCH_BLOCKING);
    hops_between(w, AXO_DISPATCH_BLOCKING, AXO_DISPATCH_PINNED);
    hops_between(w, AXO_DISPATCH_PINNED, AXO_DISPATCH_HOST);
    hops_between(w, AXO_DISPATCH_DEFAULT, AXO_DISPATCH_HOST);
}

static void a_ping_pong_that_ends(void **state)
{
    (void)state;
    in_each_kind(play_hops);
}

/* Every actor's fourth hop fails, and its restart is done when the call returns. */
static void play_failures(quiet_world *w)
{
    axo_ref a = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
    axo_ref b = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
    for (uint32_t round = 0; round < 20; round++) {
        axo_stats stats = AXO_STATS();
        w->hops = 0;
        quiet_hops(w, a, b, 40, 4);
        quiet_is_so(w);
        assert_int_equal(w->hops, 41);
        assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
        assert_int_equal(stats.restarts, (round + 1) * 10);
        assert_int_equal(w->born, 2 + stats.restarts);
    }
}

static void failures_and_restarts(void **state)
{
    (void)state;
    in_each_kind(play_failures);
}

/* 1 + 5 + 20 + 60 + 120 + 120 are born, and end. */
static void play_family(quiet_world *w)
{
    const uint32_t five = 5;
    for (uint32_t round = 1; round <= 5; round++) {
        axo_stats stats = AXO_STATS();
        axo_ref root = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
        assert_int_equal(axo_system_send(w->system, root, FAMILY, &five, sizeof five), AXO_OK);
        quiet_is_so(w);
        assert_int_equal(w->born, round * 326);
        assert_int_equal(w->ended, (round - 1) * 326);
        assert_int_equal(axo_system_stop_actor(w->system, root), AXO_OK);
        quiet_is_so(w);
        assert_int_equal(w->ended, round * 326);
        assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
        assert_int_equal(stats.actors, 3);
    }
}

static void births_and_ends(void **state)
{
    (void)state;
    in_each_kind(play_family);
}

static void play_shutdown(quiet_world *w)
{
    const uint32_t five = 5;
    axo_ref root = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
    (void)quiet_spawn(w, AXO_DISPATCH_PINNED);
    (void)quiet_spawn(w, AXO_DISPATCH_BLOCKING);
    assert_int_equal(axo_system_send(w->system, root, FAMILY, &five, sizeof five), AXO_OK);
    quiet_is_so(w);
    assert_int_equal(axo_system_shutdown(w->system), AXO_OK);
    assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK);
    assert_int_equal(w->ended, 328);
    /* The last step waits for grace periods, and for who has them pass. */
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
}

static void a_stop_under_way(void **state)
{
    (void)state;
    in_each_kind(play_shutdown);
}

/* ---- what counts, and what does not ---- */

static void a_handler_that_blocks(void **state)
{
    static const axo_dispatcher dispatchers[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_BLOCKING,
                                                 AXO_DISPATCH_PINNED};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        quiet_world w;
        quiet_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
        axo_ref a = quiet_spawn(&w, dispatchers[i]);
        quiet_is_so(&w);
        quiet_tell(&w, a, BLOCK);
        quiet_await(&w.inside);
        assert_int_equal(w.status, AXO_ECONTEXT);
        assert_int_equal(axo_system_quiesce(w.system, 0), AXO_ETIMEDOUT);
        int64_t before = axo_system_now(w.system);
        assert_int_equal(axo_system_quiesce(w.system, 20 * QUIET_MS), AXO_ETIMEDOUT);
        assert_true(axo_system_now(w.system) - before >= 20 * QUIET_MS);
        (void)sem_post(&w.go_on);
        quiet_is_so(&w);
        quiet_finish(&w);
    }
}

static void play_waits(quiet_world *w)
{
    const int64_t hour = INT64_C(3600000000000);
    axo_timer timer;
    axo_ref a = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_system_send(w->system, a, LATER, &hour, sizeof hour), AXO_OK);
    assert_int_equal(axo_system_schedule_once(w->system, hour, a, NOTE, NULL, 0, &timer), AXO_OK);
    quiet_is_so(w); /* two timers that are not due */
    assert_int_equal(w->notes, 0);
    quiet_tell(w, a, ASIDE);
    quiet_tell(w, a, NOTE);
    assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK); /* one is stashed */
    assert_int_equal(w->notes, 1);
    quiet_tell(w, a, BACK);
    assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK); /* and again */
    for (uint32_t i = 1; i <= 20; i++) {
        int64_t soon = QUIET_MS / 2;
        assert_int_equal(axo_system_send(w->system, a, LATER, &soon, sizeof soon), AXO_OK);
        assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK);
        int64_t until = axo_system_now(w->system) + QUIET_MS;
        while (axo_system_now(w->system) < until)
            continue;
        assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK); /* it was due */
        assert_int_equal(w->notes, 1 + i);
    }
    assert_true(axo_system_timer_cancel(w->system, timer));
}

static void timers_and_stashes(void **state)
{
    (void)state;
    in_each_kind(play_waits);
}

static int64_t quiet_now(void *user)
{
    return ((quiet_world *)user)->now;
}

/* A timer is due when the program's clock says so. */
static void a_clock_of_the_programs(void **state)
{
    quiet_world w;
    axo_timer timer;
    (void)state;
    memset(&w, 0, sizeof w);
    axo_options options =
        AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .clock = quiet_now, .clock_user = &w);
    quiet_begin(&w, options);
    axo_ref a = quiet_spawn(&w, AXO_DISPATCH_DEFAULT);
    assert_int_equal(axo_system_schedule_once(w.system, 1000, a, NOTE, NULL, 0, &timer), AXO_OK);
    quiet_is_so(&w);
    assert_int_equal(axo_system_quiesce(w.system, 0), AXO_OK);
    w.now = QUIET_MS;
    assert_int_equal(axo_system_quiesce(w.system, 0), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK);
    assert_int_equal(w.notes, 1);
    quiet_finish(&w);
}

/* Work that never ends, and ends. */
static void play_spin(quiet_world *w)
{
    axo_ref a = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
    quiet_is_so(w);
    w->spin = true;
    quiet_tell(w, a, SPIN);
    assert_int_equal(axo_system_quiesce(w->system, 0), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_quiesce(w->system, 5 * QUIET_MS), AXO_ETIMEDOUT);
    w->spin = false;
    assert_int_equal(axo_system_quiesce(w->system, INT64_MAX), AXO_OK);
    assert_int_equal(axo_system_quiesce(w->system, INT64_MIN), AXO_OK);
    assert_int_equal(axo_system_quiesce(w->system, 0), AXO_OK);
}

static void work_without_end(void **state)
{
    (void)state;
    in_each_kind(play_spin);
}

/* A look runs nothing, and is true of one message. */
static void a_look_runs_nothing(void **state)
{
    (void)state;
    for (uint32_t i = 3; i < QUIET_KINDS; i++) {
        quiet_world w;
        quiet_begin(&w, quiet_kinds[i]);
        axo_ref a = quiet_spawn(&w, AXO_DISPATCH_DEFAULT);
        quiet_is_so(&w);
        quiet_tell(&w, a, NOTE);
        for (uint32_t k = 0; k < 100; k++)
            assert_int_equal(axo_system_quiesce(w.system, 0), AXO_ETIMEDOUT);
        assert_int_equal(w.notes, 0);
        quiet_is_so(&w);
        assert_int_equal(w.notes, 1);
        quiet_finish(&w);
    }
}

/* The host that nobody runs: its messages count, and whoever waits runs them. */
static void a_host_that_nobody_runs(void **state)
{
    quiet_world w;
    (void)state;
    quiet_begin(&w, (axo_options)AXO_OPTIONS(.workers = 2));
    assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK);
    assert_true(axo_host_fd(w.system) >= 0);
    assert_int_equal(axo_system_quiesce(w.system, -1), AXO_OK); /* a host without actors */
    axo_ref a = quiet_spawn(&w, AXO_DISPATCH_HOST);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    quiet_is_so(&w);
    for (uint32_t i = 0; i < 5; i++)
        quiet_tell(&w, a, NOTE);
    assert_int_equal(axo_system_quiesce(w.system, 0), AXO_ETIMEDOUT);
    assert_int_equal(axo_step_host(w.system, 1, NULL), AXO_OK); /* a turn, and it leaves */
    quiet_is_so(&w);
    assert_int_equal(w.notes, 5);
    quiet_finish(&w);
}

/* One turn, whose actor makes another one ready: by a message, a birth, an end. */
static void leave_one(uint32_t tag)
{
    const uint32_t one = 1;
    quiet_world w;
    uint64_t turns;
    quiet_begin(&w, (axo_options)AXO_OPTIONS(.manual = AXO_MANUAL_ALL));
    axo_ref a = quiet_spawn(&w, AXO_DISPATCH_DEFAULT);
    w.other = quiet_spawn(&w, AXO_DISPATCH_DEFAULT);
    quiet_is_so(&w);
    assert_int_equal(axo_system_send(w.system, a, tag, &one, sizeof one), AXO_OK);
    assert_int_equal(axo_step_host(w.system, 1, &turns), AXO_OK);
    assert_int_equal(turns, 1);
    assert_int_equal(axo_system_quiesce(w.system, 0), AXO_ETIMEDOUT);
    quiet_is_so(&w);
    assert_int_equal(w.notes + w.born + w.ended, 3); /* two births, and this one thing */
    quiet_finish(&w);
}

static void what_a_host_leaves(void **state)
{
    (void)state;
    leave_one(TELL);
    leave_one(BEAR);
    leave_one(END);
}

/* ---- many threads ---- */

/* Nobody's own message is left when his call returns. */
static void *waiter_run(void *arg)
{
    quiet_world *w = arg;
    for (uint32_t i = 0; i < 200; i++) {
        axo_ref a = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
        axo_actor_info info = AXO_ACTOR_INFO(.queued = 0);
        quiet_tell(w, a, i % 4 == 0 ? CRASH : NOTE);
        assert_int_equal(axo_system_stop_actor(w->system, a), AXO_OK);
        assert_int_equal(axo_system_quiesce(w->system, -1), AXO_OK);
        assert_int_equal(axo_system_inspect(w->system, a, axo_ref_none(), &info), AXO_EGONE);
    }
    return NULL;
}

static void many_that_wait(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < QUIET_KINDS; i++) {
        quiet_world w;
        pthread_t threads[4];
        quiet_begin(&w, quiet_kinds[i]);
        for (uint32_t k = 0; k < 4; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, waiter_run, &w), 0);
        for (uint32_t k = 0; k < 4; k++)
            assert_int_equal(pthread_join(threads[k], NULL), 0);
        assert_int_equal(w.born, w.ended);
        quiet_finish(&w);
    }
}

/* ---- what is refused ---- */

static void play_refused(quiet_world *w)
{
    axo_ref a = quiet_spawn(w, AXO_DISPATCH_DEFAULT);
    quiet_tell(w, a, ASK);
    quiet_is_so(w);
    assert_int_equal(w->status, AXO_ECONTEXT);
}

static void in_a_callback(void **state)
{
    (void)state;
    in_each_kind(play_refused);
    assert_int_equal(axo_system_quiesce(NULL, 0), AXO_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ping_pong_that_ends), cmocka_unit_test(failures_and_restarts),
        cmocka_unit_test(births_and_ends),       cmocka_unit_test(a_stop_under_way),
        cmocka_unit_test(a_handler_that_blocks), cmocka_unit_test(timers_and_stashes),
        cmocka_unit_test(a_clock_of_the_programs), cmocka_unit_test(work_without_end),
        cmocka_unit_test(a_look_runs_nothing),   cmocka_unit_test(a_host_that_nobody_runs),
        cmocka_unit_test(what_a_host_leaves),    cmocka_unit_test(many_that_wait),
        cmocka_unit_test(in_a_callback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
