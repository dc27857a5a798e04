/* keep_test.c - crowds of short work are left to the worker that has them: what a haul says, and
 * the thief, the sleeper and the one that tells agree. */
#include "unit/sched/idle_world.h"

#include "sched/find.h"
#include "sched/keep.h"

enum { HAUL = 8 };

/* A thief that has learnt nothing yet of how far the others are. */
static void keep_open(void)
{
    watch_open();
    worker_at(1)->line_ns = AXO__LINE_NS;
}

static void keep_turns(axo__worker *worker, uint64_t turns)
{
    axo__a64_store_relaxed(&worker->local.count.turns, axo__worker_turn(worker) + turns);
}

/* The second worker has stolen so many from the first and is out of work again after `busy`;
 * meanwhile the two have begun so many turns. Whether such cells are kept now. */
static bool keep_after(axo__keep what, uint32_t count, int64_t busy, uint64_t turns, uint64_t moved)
{
    axo__worker *thief = worker_at(1);
    axo__keep_haul(thief, worker_at(0), what, count);
    keep_turns(thief, turns);
    keep_turns(worker_at(0), moved);
    thief->now += busy;
    axo__keep_judge(thief);
    assert_int_equal(thief->haul.count, 0);
    return axo__keep_holds(thief, what);
}

/* Of HAUL cells which took so many turns, from a worker whose lines take so long. */
static int64_t keep_price_of(axo__keep what, int64_t turns, int64_t line)
{
    const int64_t cells = HAUL + AXO__STEAL_MIN;
    if (what != AXO__KEEP_READY)
        return cells * AXO__CARRY_NS(line);
    return cells * AXO__CARRY_READY_NS + turns * AXO__CARRY_TURN_NS(line);
}

static int64_t keep_price(axo__keep what)
{
    return keep_price_of(what, HAUL, AXO__LINE_NS);
}

/* For twice as long after each one, up to a bound. */
static void short_hauls_keep_the_next(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        keep_open();
        axo__worker *thief = worker_at(1);
        int64_t next = AXO__WATCH_MIN_NS;
        for (uint32_t i = 0; i < 16; i++) {
            assert_true(keep_after(what, HAUL, keep_price(what) - 1, HAUL, HAUL));
            for (axo__keep other = 0; other < AXO__KEEPS; other++)
                assert_true(other == what || !axo__keep_holds(thief, other));
            thief->now += next - 1;
            assert_true(axo__keep_holds(thief, what));
            thief->now++;
            assert_false(axo__keep_holds(thief, what));
            next = 2 * next < AXO__KEEP_MAX_NS ? 2 * next : AXO__KEEP_MAX_NS;
        }
        assert_int_equal(next, AXO__KEEP_MAX_NS);
        world_close();
    }
}

/* It halves that, and does not end what others have found. */
static void a_haul_that_was_worth_it(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        keep_open();
        axo__worker *thief = worker_at(1);
        thief->keep_ns[what] = 4 * AXO__WATCH_MIN_NS;
        assert_false(keep_after(what, HAUL, keep_price(what), HAUL, HAUL));
        assert_int_equal(thief->keep_ns[what], 2 * AXO__WATCH_MIN_NS);
        for (uint32_t i = 0; i < 3; i++)
            assert_false(keep_after(what, HAUL, keep_price(what), HAUL, HAUL));
        assert_int_equal(thief->keep_ns[what], AXO__WATCH_MIN_NS);
        world_close();
    }
}

/* Behind a callback that lasts they were well stolen, and one alone is no crowd; newborns are
 * spawned by a callback that lasts. No haul says nothing. */
static void what_does_not_tell(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        keep_open();
        axo__worker *thief = worker_at(1);
        bool newborns = what == AXO__KEEP_NEWBORNS;
        assert_int_equal(keep_after(what, HAUL, 1, HAUL, HAUL - 1), newborns);
        thief->now += AXO__WATCH_MIN_NS;
        assert_int_equal(keep_after(what, AXO__STEAL_MIN - 1, 1, HAUL, HAUL), newborns);
        thief->now += AXO__WATCH_MAX_NS;
        assert_false(keep_after(what, 0, 1, HAUL, HAUL));
        world_close();
    }
}

/* A ready cell stays, but what it sends in each turn goes back; urgent cells and newborns have one
 * price, however many turns come of them. */
static void each_turn_of_ready_cells_has_a_price(void **state)
{
    const uint64_t turns = 2 * HAUL;
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        int64_t price = keep_price_of(what, turns, AXO__LINE_NS);
        assert_int_equal(price > keep_price(what), what == AXO__KEEP_READY);
        keep_open();
        assert_true(keep_after(what, HAUL, price - 1, turns, turns));
        worker_at(1)->now += AXO__WATCH_MIN_NS;
        assert_false(keep_after(what, HAUL, price, turns, turns));
        world_close();
    }
}

/* From farther away they have to be worth more. */
static void what_is_far_costs_more(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        int64_t price = keep_price_of(what, HAUL, AXO__LINE_MAX_NS);
        assert_true(price > keep_price(what));
        keep_open();
        worker_at(1)->line_ns = AXO__LINE_MAX_NS;
        assert_true(keep_after(what, HAUL, price - 1, HAUL, HAUL));
        worker_at(1)->now += AXO__WATCH_MIN_NS;
        assert_false(keep_after(what, HAUL, price, HAUL, HAUL));
        world_close();
    }
}

/* More turns than twice the cells of the haul, while the victim has begun less than half as many:
 * the actor that makes the work has come along. */
static void work_that_has_moved_was_not_shared(void **state)
{
    const uint64_t turns = 2 * HAUL + 1;
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        int64_t busy = keep_price_of(what, turns, AXO__LINE_NS);
        keep_open();
        assert_false(keep_after(what, HAUL, busy, turns, HAUL));
        world_close();
        keep_open();
        assert_true(keep_after(what, HAUL + 2, 2 * busy, 4 * turns, HAUL + 2));
        world_close();
    }
}

/* Newborns tell even if their victim has not moved; as many turns as twice the haul are its own. */
static void as_many_turns_as_the_haul_has(void **state)
{
    const int64_t busy = keep_price_of(AXO__KEEP_NEWBORNS, 2 * HAUL, AXO__LINE_NS);
    keep_open();
    assert_false(keep_after(AXO__KEEP_NEWBORNS, HAUL, busy, 2 * HAUL, 0));
    assert_true(keep_after(AXO__KEEP_NEWBORNS, HAUL, busy, 2 * HAUL + 1, 0));
    world_close();
}

/* Within a few readings of one that is far, and slowly down again, as lines that somebody has read
 * meanwhile come sooner; a reading during which the thread was kept off tells little. */
static void how_far_the_others_are(void **state)
{
    keep_open();
    axo__worker *thief = worker_at(1);
    assert_int_equal(thief->line_ns, AXO__LINE_NS);
    axo__keep_line(thief, INT64_C(1000000000));
    assert_int_equal(thief->line_ns, AXO__LINE_NS + (AXO__LINE_MAX_NS - AXO__LINE_NS) / 8);
    for (uint32_t i = 0; i < 64; i++)
        axo__keep_line(thief, 200);
    assert_true(thief->line_ns > 190 && thief->line_ns <= 200);
    int64_t before = thief->line_ns;
    axo__keep_line(thief, 20);
    assert_int_equal(thief->line_ns, before - (before - 20) / 64);
    for (uint32_t i = 0; i < 1000; i++)
        axo__keep_line(thief, 20);
    assert_true(thief->line_ns >= 20 && thief->line_ns < 20 + 64);
    world_close();
}

/* ---- the thief, the sleeper, the one that tells ---- */

static void keep_all(bool kept)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++)
        axo__a64_store_relaxed(&world.sched.keep_until[what], kept ? INT64_MAX : 0);
}

/* So many entries for the first worker, which is in a handler. Nobody is told. */
static void keep_fill(axo__keep what, uint32_t count)
{
    axo__worker *worker = worker_at(0);
    for (uint32_t i = 0; i < count; i++) {
        axo__cell *cell = cell_new();
        announced(cell);
        assert_true(what == AXO__KEEP_NEWBORNS ? axo__newborn_push_owner(worker, cell)
                    : what == AXO__KEEP_URGENT ? axo__runq_push_owner(&worker->urgent, cell)
                                               : axo__runq_push_owner(&worker->ready, cell));
    }
}

static bool keep_takes(axo__keep what, bool kept, int64_t span, uint32_t turns)
{
    watch_open();
    keep_fill(what, AXO__STEAL_MIN);
    keep_all(kept);
    return watch_takes(span, turns);
}

/* Of a worker that moves, unless the last would wait for longer than any watch; of one that does
 * not, as ever. */
static void a_thief_leaves_what_is_kept(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        assert_true(keep_takes(what, false, AXO__WATCH_MIN_NS, 1000));
        assert_false(keep_takes(what, true, AXO__WATCH_MIN_NS, 1000));
        assert_false(keep_takes(what, true, AXO__WATCH_MAX_NS, AXO__STEAL_MIN + 1));
        assert_true(keep_takes(what, true, AXO__WATCH_MAX_NS, AXO__STEAL_MIN));
        assert_true(keep_takes(what, true, AXO__WATCH_MIN_NS, 0));
    }
}

/* Nobody is up but the first worker, or the first one has parked meanwhile. */
static void a_sleeper_leaves_what_is_kept(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        for (uint32_t i = 0; i < 4; i++) {
            bool kept = i % 2 != 0;
            bool awake = i / 2 != 0;
            bool busy = false;
            watch_open();
            keep_fill(what, AXO__STEAL_MIN);
            keep_all(kept);
            if (!awake)
                axo__a32_store_relaxed(&worker_at(0)->state, AXO__WORKER_PARKED);
            assert_int_equal(park_look(worker_at(1), &busy), !kept || !awake);
            assert_true(!kept || busy == awake);
            axo__a32_store_relaxed(&worker_at(0)->state, AXO__WORKER_AWAKE);
            world_close();
        }
    }
}

/* Each watch that finds nothing is followed by one twice as long, up to the bound of what a kept
 * crowd waits. */
static void a_watch_has_a_bound(void **state)
{
    int64_t length = AXO__WATCH_MIN_NS;
    watch_open();
    axo__worker *watcher = worker_at(1);
    while (length < AXO__WATCH_MAX_NS) {
        assert_int_equal(watcher->thread.deadline - world.now, length);
        assert_true(gets_up(watcher));
        wake(watcher);
        run_until_idle(watcher);
        length *= 2;
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(watcher->thread.deadline - world.now, AXO__WATCH_MAX_NS);
        assert_true(gets_up(watcher));
        wake(watcher);
        run_until_idle(watcher);
    }
    world_close();
}

/* Who has kept cells does not sleep over them. */
static void the_worker_itself_does_not(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        bool busy = false;
        watch_open();
        keep_fill(what, 1);
        keep_all(true);
        assert_true(park_look(worker_at(0), &busy));
        world_close();
    }
}

static void keep_tell(axo__keep what, bool quiet)
{
    axo__worker *worker = worker_at(0);
    if (quiet)
        worker->current = NULL;
    if (what == AXO__KEEP_NEWBORNS)
        axo__worker_offer_newborns(worker);
    else if (what == AXO__KEEP_URGENT)
        axo__worker_offer_urgent(worker);
    if (quiet || what == AXO__KEEP_READY) {
        worker->current = NULL;
        axo__worker_offer_quiet(worker);
    }
}

/* The watcher is enough; if nobody watches, one is woken all the same. */
static void kept_cells_wake_nobody(void **state)
{
    for (uint32_t i = 0; i < 4 * AXO__KEEPS; i++) {
        axo__keep what = i / 4;
        bool kept = i % 2 != 0;
        bool watched = i % 4 < 2;
        watch_open();
        keep_fill(what, AXO__STEAL_MIN);
        keep_all(kept);
        axo__a32_store_relaxed(&world.sched.watcher, watched);
        worker_at(0)->long_ago = 1; /* it is not alone */
        keep_tell(what, i % 3 == 0);
        bool woken = axo__a32_load_relaxed(&worker_at(1)->state) == AXO__WORKER_AWAKE;
        assert_int_equal(woken, !kept || !watched);
        axo__a32_store_relaxed(&world.sched.watcher, 1);
        world_close();
    }
}

/* A kept urgent cell hides no crowd of ready ones that is not kept. */
static void one_that_is_kept_hides_no_crowd(void **state)
{
    watch_open();
    keep_fill(AXO__KEEP_URGENT, 1);
    keep_fill(AXO__KEEP_READY, AXO__STEAL_MIN);
    keep_all(false);
    axo__a64_store_relaxed(&world.sched.keep_until[AXO__KEEP_URGENT], INT64_MAX);
    keep_tell(AXO__KEEP_READY, true);
    assert_int_equal(axo__a32_load_relaxed(&worker_at(1)->state), AXO__WORKER_AWAKE);
    world_close();
}

/* Of ready cells that were kept when they were pushed the next reading of the clock tells, once
 * they are not; alone, too, if the callbacks have become long. */
static void what_is_kept_no_more_is_told(void **state)
{
    watch_open();
    keep_fill(AXO__KEEP_READY, AXO__STEAL_MIN);
    axo__a32_store_relaxed(&world.sched.watcher, 0);
    for (uint32_t kept = 2; kept-- > 0;) {
        keep_all(kept != 0);
        (void)axo__worker_clock(worker_at(0));
        bool woken = axo__a32_load_relaxed(&worker_at(1)->state) == AXO__WORKER_AWAKE;
        assert_int_equal(woken, !kept);
    }
    axo__a32_store_relaxed(&world.sched.watcher, 1);
    world_close();
}

/* The push that makes them many tells of them, or does not. */
static void the_push_that_makes_them_many(void **state)
{
    for (axo__keep what = 0; what < AXO__KEEPS; what++) {
        for (uint32_t kept = 0; kept < 2; kept++) {
            watch_open();
            keep_all(kept != 0);
            keep_fill(what, AXO__STEAL_MIN - 1);
            axo__cell *cell = cell_new();
            announced(cell);
            if (what == AXO__KEEP_NEWBORNS)
                ready_push_newborn(worker_at(0), cell);
            else
                axo__worker_push_back(worker_at(0), cell);
            bool woken = axo__a32_load_relaxed(&worker_at(1)->state) == AXO__WORKER_AWAKE;
            assert_int_equal(woken, kept == 0 && what != AXO__KEEP_URGENT);
            world_close();
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(short_hauls_keep_the_next),
    cmocka_unit_test(a_haul_that_was_worth_it),
    cmocka_unit_test(what_does_not_tell),
    cmocka_unit_test(each_turn_of_ready_cells_has_a_price),
    cmocka_unit_test(what_is_far_costs_more),
    cmocka_unit_test(work_that_has_moved_was_not_shared),
    cmocka_unit_test(as_many_turns_as_the_haul_has),
    cmocka_unit_test(how_far_the_others_are),
    cmocka_unit_test(a_thief_leaves_what_is_kept),
    cmocka_unit_test(a_sleeper_leaves_what_is_kept),
    cmocka_unit_test(a_watch_has_a_bound),
    cmocka_unit_test(the_worker_itself_does_not),
    cmocka_unit_test(kept_cells_wake_nobody),
    cmocka_unit_test(one_that_is_kept_hides_no_crowd),
    cmocka_unit_test(what_is_kept_no_more_is_told),
    cmocka_unit_test(the_push_that_makes_them_many),
};
TEST_MAIN(tests)
