/* rt_test.c - the receive timeout (RT-01..06, IN-09). No test here waits for time to prove that
 * nothing comes; what must not come is asked for where it would have come first. */
#include <stdio.h>
#include <time.h>

#include "conformance/parts.h"

#define MS INT64_C(1000000)
#define RT_FAR (INT64_C(3600) * 1000 * MS)
#define RT_QUIET_TAG (AXO_TAG_QUIET | 7)

static int64_t rt_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * MS + now.tv_nsec;
}

typedef struct rt_plan {
    int64_t after;
    uint32_t until;  /* switch it off at this timeout; 0: never */
    int64_t then;    /* what it is set to at that */
} rt_plan;

/* Marks timeouts; the script's user is the plan. */
static axo_status rt_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    const rt_plan *plan = self->script->user;
    if (message->tag == RT_QUIET_TAG) {
        kit_mark(self, "quiet", message->size);
        if (message->size > 0)
            KIT_REQUIRE(self->k, axo_receive_timeout(ctx, *AXO_PAYLOAD(message, int64_t)) ==
                                     AXO_OK);
        return AXO_OK;
    }
    if (message->tag != AXO_RECEIVE_TIMEOUT)
        return kit_receive(ctx, state, message);
    KIT_REQUIRE(self->k, message->size == 0 && axo_ref_is_none(message->sender));
    kit_mark(self, "timeout", ++self->value);
    if (plan->until != 0 && self->value == plan->until)
        KIT_REQUIRE(self->k, axo_receive_timeout(ctx, plan->then) == AXO_OK);
    return AXO_OK;
}

static axo_status rt_on(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const rt_plan *plan = self->script->user;
    KIT_REQUIRE(self->k, axo_become(ctx, rt_receive) == AXO_OK);
    kit_mark(self, "on", 0); /* its time is none after the runtime's */
    KIT_REQUIRE(self->k, axo_receive_timeout(ctx, plan->after) == AXO_OK);
    return AXO_OK;
}

static kit_script *rt_actor(kit *k, const char *label, const rt_plan *plan)
{
    kit_script *a = kit_actor(k, label);
    a->pre_start.run = rt_on;
    a->user = (void *)(uintptr_t)plan;
    return a;
}

/* Never early; again and again until it is changed. */
static void RT_01(kit *k)
{
    static const rt_plan plan = {.after = 2 * MS, .until = 3, .then = RT_FAR};
    kit_script *a = rt_actor(k, "a", &plan);
    kit_spawn(k, a);
    kit_await(k, "a.timeout(3)");
    int64_t before = kit_find(k, "a.on").time_ns;
    for (int i = 1; i <= 3; i++) {
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "a.timeout(%d)", i);
        int64_t at = kit_find(k, pattern).time_ns;
        assert_true(at - before >= 2 * MS);
        before = at;
    }
    kit_settle(k);
    kit_expect_count(k, "a.timeout", 3);
}

/* A message every so often: each gap without one is what counts. */
static axo_status rt_tell_later(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_payload order = {.value = 0};
    for (int64_t i = 1; i <= 10; i++)
        KIT_REQUIRE(self->k, axo_schedule_once(ctx, i * 5 * MS, self->ref, KIT_NOTE, &order,
                                               sizeof order, NULL) == AXO_OK);
    return AXO_OK;
}

static void RT_01_rearmed(kit *k)
{
    static const rt_plan plan = {.after = 20 * MS, .until = 1, .then = 0};
    kit_script *a = rt_actor(k, "a", &plan);
    kit_spawn(k, a);
    kit_run(k, a, rt_tell_later, NULL);
    kit_await_count(k, "a.note", 10);
    kit_await(k, "a.timeout(1)");
    int64_t at = kit_find(k, "a.timeout(1)").time_ns;
    int64_t last = kit_find(k, "a.on").time_ns;
    for (int i = 1; i <= 10; i++) { /* the last before it is 20 ms before it */
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "a.note@%d", i);
        int64_t note = kit_find(k, pattern).time_ns;
        if (note < at)
            last = note;
    }
    assert_true(at - last >= 20 * MS);
}

/* Off in its own handler; on again from another; quiet messages do neither, unless they set it. */
static void RT_02(kit *k)
{
    static const rt_plan plan = {.after = MS, .until = 1, .then = 0};
    kit_script *a = rt_actor(k, "a", &plan);
    int64_t after = 2 * MS;
    kit_spawn(k, a);
    kit_await(k, "a.timeout(1)");
    kit_settle(k);
    axo_system_send(kit_system(k), kit_ref(a), RT_QUIET_TAG, NULL, 0);
    kit_await(k, "a.quiet(0)");
    kit_settle(k);
    kit_expect_count(k, "a.timeout", 1);
    axo_system_send(kit_system(k), kit_ref(a), RT_QUIET_TAG, &after, sizeof after);
    kit_await(k, "a.timeout(2)");
    assert_true(kit_find(k, "a.timeout(2)").time_ns - kit_find(k, "a.quiet(8)").time_ns >= after);
    kit_run(k, a, rt_on, NULL);
    kit_await(k, "a.timeout(3)");
    kit_finish(k);
}

/* Quiet messages come all the time, and still the timeout comes. */
static void RT_02_quiet(kit *k)
{
    static const rt_plan plan = {.after = 5 * MS, .until = 2, .then = 0};
    kit_script *a = rt_actor(k, "a", &plan);
    axo_timer timer;
    kit_spawn(k, a);
    kit_await(k, "a.on");
    assert_int_equal(axo_system_schedule_fixed_rate(kit_system(k), 0, MS / 2, kit_ref(a),
                                                    RT_QUIET_TAG, NULL, 0, &timer), AXO_OK);
    kit_await(k, "a.timeout(2)");
    assert_true(axo_system_timer_cancel(kit_system(k), timer));
    kit_finish(k);
}

/* Set in pre_start: the new instance's pre_start, on the way of its post_restart, sets it too. */
static void RT_03(kit *k)
{
    static const rt_plan plan = {.after = MS, .until = 2, .then = 0};
    kit_script *p = kit_top(k, "p");
    kit_script *a = rt_actor(k, "a", &plan);
    kit_spawn_child(k, p, a, 0);
    kit_await(k, "a#1.timeout(2)"); /* off */
    kit_tell(k, a, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "a#2.timeout(2)");
    kit_order(k, "a#2.on", "a#2.timeout(1)", "a#2.timeout(2)");
}

static axo_status rt_on_once(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, rt_receive) == AXO_OK);
    if (self->instance == 1)
        return rt_on(ctx, self, arg);
    kit_mark(self, "later", 0);
    return AXO_OK;
}

/* It survives a restart. */
static void RT_04(kit *k)
{
    static const rt_plan plan = {.after = 3 * MS};
    kit_script *p = kit_top(k, "p");
    kit_script *a = rt_actor(k, "a", &plan);
    a->pre_start.run = rt_on_once;
    kit_spawn_child(k, p, a, 0);
    kit_await(k, "a#1.preStart");
    kit_tell(k, a, KIT_FAIL, KIT_DO_RESTART);
    kit_await_all(k, "a#2.timeout(1)", "a#2.timeout(2)");
    kit_order(k, "a#1.on", "a#2.later", "a#2.timeout(1)");
    kit_never(k, "a#2.on");
}

static axo_status rt_set_and_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "fails", 0);
    KIT_REQUIRE(self->k, axo_receive_timeout(ctx, 3 * MS) == AXO_OK);
    return axo_fail(ctx, KIT_DO_RESUME, "with a timeout ahead");
}

/* While it is suspended the clock runs on: the timeout is not handled then, but at once after. */
static void RT_04_suspended(kit *k)
{
    static const rt_plan plan = {.after = RT_FAR, .until = 1, .then = 0};
    kit_family f = kit_plan(k, "p");
    kit_script *a = rt_actor(k, "a", &plan);
    f.p->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_spawn_child(k, f.p, a, 0);
    kit_await(k, "a.preStart");
    kit_run(k, a, rt_set_and_fail, NULL);
    kit_gate_arrived(f.p->decider.gate, 1);
    for (int64_t until = rt_now() + 10 * MS; rt_now() < until;) /* longer than the timeout */
        continue;
    kit_never(k, "a.timeout");
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "a.timeout(1)");
    assert_true(kit_find(k, "a.timeout(1)").time_ns - kit_find(k, "a.fails").time_ns >= 3 * MS);
}

static axo_status rt_stop_after(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_receive_timeout(ctx, MS / 10) == AXO_OK);
    return part_stop_self(ctx, self, arg);
}

static axo_status rt_in_post_stop(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_receive_timeout(ctx, MS / 10) == AXO_OK);
    return AXO_OK;
}

/* No stray one after the end, also if the handler that set it stopped the actor. */
static void RT_05(kit *k)
{
    static const rt_plan plan = {.after = RT_FAR};
    kit_script *w = kit_top(k, "w");
    kit_script *a = rt_actor(k, "a", &plan);
    kit_payload order = {.value = 1};
    a->post_stop.run = rt_in_post_stop;
    kit_spawn(k, a);
    kit_await(k, "a.preStart");
    uint64_t sent = kit_stats(k).sent;
    kit_run(k, a, rt_stop_after, NULL);
    kit_await(k, "user.child_gone(a)");
    axo_system_schedule_once(kit_system(k), 2 * MS, kit_ref(w), KIT_NOTE, &order, sizeof order,
                             NULL);
    kit_await(k, "w.note(1)");
    kit_expect(k, "a.timeout=0", "a.dl=0");
    assert_int_equal(kit_stats(k).sent - sent, 2);
    kit_finish(k);
}

/* An attempt to create the first instance that failed takes its setting along. */
static axo_status rt_on_fails(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, rt_receive) == AXO_OK);
    if (self->instance > 1)
        return AXO_OK;
    KIT_REQUIRE(self->k, axo_receive_timeout(ctx, MS) == AXO_OK);
    return axo_fail(ctx, 7, "after it was set");
}

static void RT_06(kit *k)
{
    static const rt_plan plan = {.after = MS};
    kit_family f = kit_tree(k, "w, -p");
    kit_script *a = rt_actor(k, "a", &plan);
    kit_payload order = {.value = 1};
    a->pre_start.run = rt_on_fails;
    f.p->directive = AXO_RESTART;
    kit_spawn(k, f.p);
    kit_spawn_child(k, f.p, a, 0);
    kit_await(k, "a#2.preStart");
    kit_settle(k);
    axo_system_schedule_once(kit_system(k), 4 * MS, kit_ref(f.w), KIT_NOTE, &order, sizeof order,
                             NULL);
    kit_await(k, "w.note(1)");
    kit_settle(k);
    kit_never(k, "a.timeout");
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RT-01", RT_01),
    KIT_TEST("RT-01 armed anew", RT_01_rearmed),
    KIT_TEST("RT-02", RT_02),
    KIT_TEST("RT-02 quiet", RT_02_quiet),
    KIT_TEST("RT-03", RT_03),
    KIT_TEST("RT-04", RT_04),
    KIT_TEST("RT-04 suspended", RT_04_suspended),
    KIT_TEST("RT-05", RT_05),
    KIT_TEST("RT-06", RT_06),
    KIT_TEST("IN-09", RT_06),
};
TEST_MAIN(tests)
