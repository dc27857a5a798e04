/* bo_count_test.c - back-off supervisors (BO): what counts as a try, when the count starts anew. */
#include "conformance/back_off.h"

static void BO_14(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->delays.reset_after_ns = 0; /* min */
    bo_start(b);
    bo_tell(b, KIT_FAIL, 1);
    bo_await_child(b, 2);
    while (bo_count(b) != 0)
        continue;
    bo_tell(b, KIT_FAIL, 1);
    bo_await_child(b, 3);
    assert_true(bo_count(b) <= 1);
    kit_finish(b->k);
}

static axo_status bo_reset_in(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return axo_send(ctx, axo_parent(ctx), AXO_BACKOFF_RESET, NULL, 0);
}

static void BO_15(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->settings.manual_reset = 1;
    b->delays.reset_after_ns = 0;
    bo_start(b);
    bo_fail_until(b, 2, 4);
    assert_int_equal(bo_count(b), 3);
    bo_tell(b, AXO_BACKOFF_RESET, 0); /* not from the child */
    assert_int_equal(bo_count(b), 3);
    assert_int_equal(kit_stats(b->k).unhandled, 1);
    kit_run(b->k, b->c, bo_reset_in, NULL);
    while (bo_count(b) != 0)
        continue;
    kit_finish(b->k);
}

static void BO_15_auto(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE); /* automatic, never */
    bo_start(b);
    bo_tell(b, KIT_FAIL, 1);
    bo_await_child(b, 2);
    kit_run(b->k, b->c, bo_reset_in, NULL);
    kit_settle(b->k);
    assert_int_equal(bo_count(b), 1);
    assert_int_equal(kit_stats(b->k).unhandled, 1);
    kit_finish(b->k);
}

/* One that lives long enough never exhausts its retries; one that does not, does. */
static void BO_16(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->delays.reset_after_ns = 2 * MS;
    b->settings.limited = 1;
    b->settings.retries_max = 2;
    bo_start(b);
    for (int i = 2; i < 8; i++) {
        bo_tell(b, KIT_FAIL, 1);
        bo_await_child(b, i);
        while (bo_count(b) != 0)
            continue;
    }
    kit_finish(b->k);
}

static void bo_exhaust(void **state, axo_backoff_when when)
{
    bo *b = bo_new(state, when);
    b->settings.limited = 1;
    b->settings.retries_max = 2;
    bo_start(b);
    bo_fail_until(b, 2, 3);
    bo_tell(b, KIT_FAIL, 1);
    bo_await_end(b);
    kit_expect_count(b->k, "c.ctor", 3);
    kit_finish(b->k);
}

static void BO_17(void **state)
{
    bo_exhaust(state, AXO_ON_FAILURE);
    bo_exhaust(state, AXO_ON_STOP);
}

/* The window is over: the count begins anew. A window shorter than the delay restarts for ever. */
static void BO_18(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->delays.min_ns = b->delays.max_ns = MS;
    b->settings.limited = 1;
    b->settings.retries_max = 3;
    b->settings.within_ns = 1000 * MS;
    bo_start(b);
    bo_fail_until(b, 2, 4);
    while (bo_count(b) != 0)
        continue;
    bo_fail_until(b, 5, 7);
    bo_tell(b, KIT_FAIL, 1);
    bo_await_end(b);
    kit_expect_count(b->k, "c.ctor", 7);
    kit_finish(b->k);
}

static void BO_18_short(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->delays.min_ns = b->delays.max_ns = 4 * MS;
    b->settings.limited = 1;
    b->settings.retries_max = 1;
    b->settings.within_ns = MS;
    bo_start(b);
    bo_fail_until(b, 2, 8);
    kit_finish(b->k);
}

/* A failure whose window closes before its child has ended is of no later count. */
static void BO_18_lapsed(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    char closed[32];
    (void)snprintf(closed, sizeof closed, "*.receive(%u)", AXO_TAG_SERVICES + 0x27);
    b->delays.min_ns = b->delays.max_ns = MS;
    b->settings.limited = 1;
    b->settings.retries_max = 1;
    b->settings.within_ns = MS;
    b->c->post_stop.gate = kit_gate_new(b->k);
    b->c->post_stop.gate_call = 1;
    b->c->dispatcher = AXO_DISPATCH_BLOCKING;
    b->child = kit_props(b->c);
    bo_start(b);
    bo_tell(b, KIT_FAIL, 1);
    kit_gate_arrived(b->c->post_stop.gate, 1);
    kit_await(b->k, closed);
    kit_gate_open(b->c->post_stop.gate);
    bo_await_child(b, 2);
    assert_int_equal(bo_count(b), 0);
    bo_tell(b, KIT_FAIL, 1);
    bo_await_child(b, 3);
    kit_finish(b->k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("BO-14", BO_14),
    KIT_TEST("BO-15", BO_15),
    KIT_TEST("BO-15 automatic", BO_15_auto),
    KIT_TEST("BO-16", BO_16),
    KIT_TEST("BO-17", BO_17),
    KIT_TEST("BO-18", BO_18),
    KIT_TEST("BO-18 short", BO_18_short),
    KIT_TEST("BO-18 lapsed", BO_18_lapsed),
};

TEST_MAIN(tests)
