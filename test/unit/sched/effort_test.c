/* effort_test.c - effort is the operating system's clock, time the program's: budgets and turns end
 * while a game's clock stands still. Both clocks are the test's; the actors take what effort they
 * are told to. */
#include "unit/unit.h"

#include <axo/axo.h>

#include "base/config.h"
#include "support/limits.h"

enum { GO = 1 };
#define US INT64_C(1000)
#define MS INT64_C(1000000)

static struct {
    axo_system *system;
    int64_t effort;   /* what the operating system says */
    uint64_t reads;   /* how often it was asked */
    int64_t time;     /* what the program says */
    int64_t takes_ns; /* a message */
    int64_t last_ns;  /* the `last_at`-th message instead */
    uint64_t last_at;
    uint64_t handled;
    uint64_t turn;    /* messages in a row of one actor, the most */
    uint64_t row;
    axo_ref who;
    bool over;
} w;

int64_t __wrap_axo__os_now(void);
int64_t __wrap_axo__os_now(void)
{
    w.reads++;
    return w.effort;
}

static int64_t clock_of_the_game(void *user)
{
    return w.time;
}

static axo_status worker_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    w.handled++;
    w.effort += w.handled == w.last_at ? w.last_ns : w.takes_ns;
    w.row = axo_ref_equal(w.who, axo_self(ctx)) ? w.row + 1 : 1;
    w.who = axo_self(ctx);
    w.turn = w.row > w.turn ? w.row : w.turn;
    return w.over ? AXO_OK : axo_send(ctx, axo_self(ctx), message->tag, NULL, 0);
}

static const axo_class worker_class = AXO_CLASS(.name = "effort", .receive = worker_receive);

/* `count` actors that send to themselves without end. */
static void open_with(uint32_t no_quantum_us, uint32_t count)
{
    memset(&w, 0, sizeof w);
    w.effort = INT64_C(1000000000);
    w.time = 5;
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = clock_of_the_game,
                                      .no_quantum_us = no_quantum_us);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    axo_ref refs[4];
    for (uint32_t i = 0; i < count; i++) {
        axo_props props = AXO_PROPS(.cls = &worker_class);
        assert_int_equal(axo_system_spawn(w.system, &props, &refs[i]), AXO_OK);
    }
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(axo_system_send(w.system, refs[i], GO, NULL, 0), AXO_OK);
}

static void close_it(void)
{
    w.over = true;
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static int64_t run_for(int64_t budget)
{
    int64_t before = w.effort;
    assert_int_equal(axo_run_host(w.system, budget, NULL), AXO_OK);
    return w.effort - before;
}

/* The game is paused, its actors go on for ever: the call ends with its budget all the same, past
 * it by less than a message. */
static void a_budget_ends_while_the_program_stands_still(void **state)
{
    for (int64_t takes = 1 * US; takes <= 64 * US; takes *= 4) {
        open_with(0, 3);
        w.takes_ns = takes;
        for (int64_t budget = 0; budget <= 2 * MS; budget += 500 * US) {
            int64_t taken = run_for(budget);
            assert_true(taken >= budget && taken < budget + takes + (budget == 0));
        }
        assert_int_equal(w.time, 5);
        close_it();
    }
}

/* Many short messages, and then a long one, in the midst of a turn. */
static void one_long_message_after_many_short_ones(void **state)
{
    for (uint64_t at = 0; at < 70; at++) {
        open_with(0, 1);
        w.takes_ns = 10;
        w.last_at = 1900 + at;
        w.last_ns = 30 * US;
        int64_t taken = run_for(20 * US);
        assert_true(taken >= 20 * US && taken <= 20 * US + 30 * US);
        assert_true(w.handled <= 2000);
        assert_true(w.handled < w.last_at || taken < 1910 * 10 + 70 * 10 + 30 * US);
        close_it();
    }
}

/* A clock of the program's that runs ahead takes nothing of anybody's budget. */
static void a_program_that_jumps(void **state)
{
    open_with(0, 2);
    w.takes_ns = 10 * US;
    w.time = INT64_MIN;
    assert_int_equal(run_for(100 * US), 100 * US);
    w.time = INT64_MAX;
    assert_int_equal(run_for(100 * US), 100 * US);
    close_it();
}

/* quantum_us is effort: 100 us are ten messages of 10 us, whatever the program's clock says. */
static void a_turn_ends_by_effort(void **state)
{
    skip_with_tiny_limits();
    open_with(0, 2);
    w.takes_ns = 10 * US;
    assert_int_equal(axo_step_host(w.system, 100, NULL), AXO_OK);
    w.turn = w.row = 0;
    assert_int_equal(axo_step_host(w.system, 100, NULL), AXO_OK);
    assert_in_range(w.turn, 8, 12);
    close_it();
}

/* Without it a turn is so many messages: who runs when does not depend on what they take. */
static uint64_t turns_of(int64_t takes)
{
    open_with(1, 2);
    w.takes_ns = takes;
    w.handled = 0;
    assert_int_equal(axo_step_host(w.system, 100, NULL), AXO_OK);
    uint64_t handled = w.handled;
    close_it();
    return handled;
}

static void turns_without_a_limit_of_time(void **state)
{
    uint64_t handled = turns_of(0);
    assert_true(handled > 6000);
    assert_int_equal(turns_of(10 * US), handled);
    assert_int_equal(turns_of(3 * MS), handled);
}

/* Putting a long lane in order is work too. */
static void a_long_lane(void **state)
{
    open_with(0, 1);
    w.takes_ns = 0;
    w.over = true;
    assert_int_equal(run_for(-1), 0);
    axo_ref ref = w.who;
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(axo_system_send(w.system, ref, GO, NULL, 0), AXO_OK);
    uint64_t reads = w.reads;
    uint64_t turns = 0;
    uint64_t handled = w.handled;
    assert_int_equal(axo_run_host(w.system, INT64_MAX, &turns), AXO_OK);
    assert_int_equal(w.handled - handled, 100000);
    assert_true(w.reads - reads >= 100000 + 100000 / AXO__TURN_STEP);
    close_it();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_budget_ends_while_the_program_stands_still),
    cmocka_unit_test(one_long_message_after_many_short_ones),
    cmocka_unit_test(a_program_that_jumps),
    cmocka_unit_test(a_turn_ends_by_effort),
    cmocka_unit_test(turns_without_a_limit_of_time),
    cmocka_unit_test(a_long_lane),
};
TEST_MAIN(tests)
