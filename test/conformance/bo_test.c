/* bo_test.c - back-off supervisors (BO): starting, replacing, deciding, while there is no child.
 * The delays are real and short; what is asserted is order, and that nothing comes early. */
#include "conformance/back_off.h"

/* ---- starting and replacing ---- */

static void BO_01(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->delays.min_ns = b->delays.max_ns = INT64_C(3600000) * MS; /* an hour would be noticed */
    bo_start(b);
    assert_true(axo_ref_equal(bo_child(b), kit_ref(b->c)));
    kit_finish(b->k);
}

static void BO_02(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    kit_gate *gate = kit_gate_new(b->k);
    bo_start(b);
    axo_ref first = bo_child(b);
    char path[2][64];
    assert_int_equal(axo_system_path(kit_system(b->k), first, path[0], sizeof path[0]), AXO_OK);
    kit_wait_at(b->k, b->c, gate, 0);
    assert_int_equal(axo_system_poison(kit_system(b->k), first), AXO_OK);
    kit_tell(b->k, b->c, KIT_NOTE, 5); /* behind the pill: lost with the mailbox */
    kit_gate_open(gate);
    bo_await_child(b, 2);
    axo_ref second = bo_child(b);
    assert_false(axo_ref_equal(first, second));
    assert_int_equal(axo_system_path(kit_system(b->k), second, path[1], sizeof path[1]), AXO_OK);
    assert_string_equal(path[0], path[1]);
    bo_not_early(b, 1, 2 * MS);
    assert_int_equal(axo_system_stop_actor(kit_system(b->k), second), AXO_OK);
    bo_await_child(b, 3);
    bo_not_early(b, 2, 4 * MS);
    bo_tell(b, KIT_FAIL, 1); /* bo_decide: Stop */
    bo_await_child(b, 4);
    bo_not_early(b, 3, 8 * MS);
    kit_never(b->k, "c.note");
    kit_expect_count(b->k, "c.dl(NOTE)", 1);
    kit_finish(b->k);
}

/* 2, 4, 8, 16, 32, 40, 40 ms; one child at any time (BO-24). */
static void BO_03(void **state)
{
    static const int64_t delays[] = {2, 4, 8, 16, 32, 40, 40};
    bo *b = bo_new(state, AXO_ON_FAILURE);
    bo_start(b);
    for (int i = 0; i < 7; i++) {
        bo_tell(b, KIT_FAIL, 1);
        bo_await_child(b, i + 2);
        bo_not_early(b, i + 1, delays[i] * MS);
        assert_int_equal(bo_count(b), i + 1);
    }
    kit_finish(b->k);
}

/* BO-04 and BO-05 are the arithmetic's. */
static void BO_05(void **state)
{
    static const int64_t day = INT64_C(86400) * 1000 * MS;
    static const int64_t s = 1000 * MS;
    struct {
        uint32_t n;
        int64_t min, max, want;
    } table[] = {{0, 0, 0, 0}, {0, 300 * s, 420 * s, 300 * s}, {2, 5 * s, 7 * s, 7 * s},
                 {2, 5 * s, 7 * day, 20 * s}, {29, 300 * s, 600 * s, 600 * s},
                 {29, 10000 * day, 10000 * day, 10000 * day},
                 {INT32_MAX, 10000 * day, 10000 * day, 10000 * day}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        axo_backoff backoff = AXO_BACKOFF(.min_ns = table[i].min, .max_ns = table[i].max);
        assert_true(axo_backoff_delay(&backoff, table[i].n, 0.5) == table[i].want);
        backoff.jitter = 0.2;
        int64_t with = axo_backoff_delay(&backoff, table[i].n, 0.999);
        assert_true(with >= table[i].want && (double)with <= (double)table[i].want * 1.2);
        assert_true(axo_backoff_delay(&backoff, table[i].n, 0) == table[i].want);
    }
}

static void BO_06(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    kit_gate *gate = kit_gate_new(b->k);
    bo_start(b);
    kit_wait_at(b->k, b->c, gate, 0);
    kit_tell(b->k, b->c, KIT_FAIL, 9);
    kit_tell(b->k, b->c, KIT_NOTE, 5);
    kit_gate_open(gate);
    bo_await_child(b, 2);
    kit_order(b->k, "c.fails(9)", "c.decides(9)", "c.postStop", "c.terminated", "c.ctor@2",
              "c.preStart@2");
    kit_never(b->k, "c.preRestart");
    kit_never(b->k, "c.postRestart");
    kit_never(b->k, "c.note");
    bo_not_early(b, 1, 2 * MS);
    kit_finish(b->k);
}

static void BO_07(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    bo_start(b);
    bo_tell(b, KIT_STOP_SELF, 0);
    bo_await_end(b);
    kit_expect_count(b->k, "c.ctor", 1);
    kit_finish(b->k);
}

static void BO_08(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    bo_start(b);
    bo_tell(b, KIT_FAIL, KIT_DO_RESUME);
    bo_tell(b, KIT_NOTE, 1);
    kit_await(b->k, "c#1.note(1)");
    bo_tell(b, KIT_FAIL, KIT_DO_STOP);
    bo_await_end(b);
    kit_expect_count(b->k, "c.ctor", 1);
    kit_finish(b->k);
}

/* A start that fails: with the default decider no back-off at all; with one that restarts, and
 * on stop, it recovers. */
static void BO_09(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->settings.decider = NULL;
    b->c->pre_start.fail_first = 1;
    bo_start(b);
    bo_await_end(b);
    kit_expect_count(b->k, "c.ctor", 1);
    kit_finish(b->k);
}

static void BO_09_recovers(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->c->pre_start.fail_first = 1;
    b->c->pre_start.fail_last = 3;
    b->c->pre_start.code = 7;
    bo_start(b);
    bo_await_child(b, 4);
    bo_tell(b, KIT_NOTE, 1);
    kit_await(b->k, "c.note(1)");
    kit_expect_count(b->k, "c.ctor", 4);
    kit_never(b->k, "c.postStop");
    kit_finish(b->k);
}

static void BO_09_on_stop(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->settings.decider = NULL;
    b->c->construct.fail_first = 1;
    b->c->construct.fail_last = 2;
    bo_start(b);
    kit_expect_count(b->k, "c.ctor", 3);
    bo_tell(b, KIT_NOTE, 1);
    kit_await(b->k, "c.note(1)");
    kit_finish(b->k);
}

static void BO_10(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->settings.decider = NULL;
    b->delays.min_ns = b->delays.max_ns = INT64_C(3600000) * MS;
    bo_start(b);
    axo_ref first = bo_child(b);
    bo_tell(b, KIT_FAIL, 1);
    kit_await(b->k, "c#2.preStart"); /* the same child, at once */
    assert_true(axo_ref_equal(bo_child(b), first));
    assert_int_equal(bo_count(b), 0);
    kit_finish(b->k);
}

static void BO_11(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    kit_script *p = part_start(b->k, "p");
    p->directive = AXO_RESTART;
    kit_run(b->k, p, bo_spawn_in, b);
    kit_await(b->k, "c.preStart");
    bo_tell(b, KIT_FAIL, 1);
    bo_await_child(b, 2);
    assert_int_equal(bo_count(b), 1);
    bo_tell(b, KIT_FAIL, KIT_DO_ESCALATE);
    bo_await_child(b, 3);
    kit_expect_count(b->k, "p.decider", 1);
    assert_int_equal(bo_count(b), 0);
    kit_order(b->k, "c.decides(104)", "p.decider", "c.terminated@2", "c.ctor@3");
    kit_finish(b->k);
}

/* ---- questions ---- */

static void BO_12(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->delays.min_ns = b->delays.max_ns = INT64_C(3600000) * MS;
    bo_start(b);
    assert_int_equal(bo_count(b), 0);
    axo_ref first = bo_child(b);
    assert_true(axo_ref_equal(first, kit_ref(b->c)));
    bo_tell(b, KIT_STOP_SELF, 0);
    while (!axo_ref_is_none(bo_child(b)))
        assert_true(axo_ref_equal(bo_child(b), first) || axo_ref_is_none(bo_child(b)));
    assert_int_equal(bo_count(b), 1);
    kit_finish(b->k);
}

static void BO_13(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->c->post_stop.gate = kit_gate_new(b->k);
    b->c->post_stop.gate_call = 1;
    b->c->dispatcher = AXO_DISPATCH_BLOCKING;
    b->child = kit_props(b->c);
    bo_start(b);
    axo_ref first = bo_child(b);
    bo_tell(b, KIT_FAIL, 1);
    kit_gate_arrived(b->c->post_stop.gate, 1);
    assert_true(axo_ref_equal(bo_child(b), first));
    assert_int_equal(bo_count(b), 0);
    bo_tell(b, KIT_NOTE, 5); /* to the dying one, and lost */
    assert_int_equal(bo_count(b), 0);
    kit_gate_open(b->c->post_stop.gate);
    bo_await_child(b, 2);
    assert_int_equal(bo_count(b), 1);
    kit_never(b->k, "c.note");
    kit_expect_count(b->k, "c.dl(NOTE)", 1);
    kit_finish(b->k);
}

/* ---- while there is no child ---- */

static bo *bo_childless(void **state, axo_backoff_absent absent)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->delays.min_ns = b->delays.max_ns = INT64_C(3600000) * MS;
    b->settings.absent = absent;
    b->settings.absent_tag = absent == AXO_ABSENT_REPLY ? KIT_OTHER : 0;
    if (absent == AXO_ABSENT_STAND_IN)
        b->settings.stand_in = kit_ref(part_start(b->k, "stand"));
    bo_start(b);
    bo_tell(b, KIT_STOP_SELF, 0);
    while (!axo_ref_is_none(bo_child(b)))
        continue;
    return b;
}

static void BO_19(void **state)
{
    bo *b = bo_childless(state, AXO_ABSENT_DEAD_LETTER);
    bo_tell(b, KIT_NOTE, 5);
    kit_await(b->k, "c.dl(NOTE)");
    kit_finish(b->k);
}

static void BO_19_reply(void **state)
{
    bo *b = bo_childless(state, AXO_ABSENT_REPLY);
    bo_tell(b, KIT_NOTE, 5);
    kit_await(b->k, "q.stash");
    kit_never(b->k, "c.dl");
    kit_finish(b->k);
}

static void BO_19_stand_in(void **state)
{
    bo *b = bo_childless(state, AXO_ABSENT_STAND_IN);
    bo_tell(b, KIT_PING, 5);
    kit_await(b->k, "stand.ping(5)");
    kit_await(b->k, "q.pong(5)"); /* the sender is still the first one */
    kit_finish(b->k);
}

static axo_status bo_up_in(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return kit_tell_in(ctx, axo_parent(ctx), KIT_PING, 3);
}

static void BO_20(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    kit_script *p = part_start(b->k, "p");
    kit_run(b->k, p, bo_spawn_in, b);
    kit_await(b->k, "c.preStart");
    bo_tell(b, KIT_PING, 7);
    kit_await(b->k, "q.pong(7)");
    kit_run(b->k, b->c, bo_up_in, NULL);
    kit_await(b->k, "p.ping(3)");
    kit_await(b->k, "c.pong(3)"); /* p has answered the supervisor, which passed it on */
    kit_finish(b->k);
}

static void BO_21(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->settings.has_final = 1;
    b->settings.final_tag = KIT_NOTE;
    bo_start(b);
    bo_tell(b, KIT_SET, 1); /* other messages do not */
    bo_tell(b, KIT_STOP_SELF, 0);
    bo_await_child(b, 2);
    bo_tell(b, KIT_NOTE, 1);
    kit_await(b->k, "c.note(1)");
    bo_tell(b, KIT_STOP_SELF, 0);
    bo_await_end(b);
    kit_expect_count(b->k, "c.ctor", 2);
    kit_finish(b->k);
}

static void BO_21_childless(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->delays.min_ns = b->delays.max_ns = INT64_C(3600000) * MS;
    b->settings.has_final = 1;
    b->settings.final_tag = KIT_NOTE;
    bo_start(b);
    bo_tell(b, KIT_STOP_SELF, 0);
    while (!axo_ref_is_none(bo_child(b)))
        continue;
    bo_tell(b, KIT_SET, 1);
    assert_int_equal(bo_count(b), 1);
    bo_tell(b, KIT_NOTE, 1);
    bo_await_end(b);
    kit_finish(b->k);
}

static void BO_22(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = kit_receive);
    axo_props child = AXO_PROPS(.cls = &cls);
    axo_props out;
    axo_props before;
    axo_backoff good = AXO_BACKOFF(.min_ns = 5, .max_ns = 10, .jitter = 0.5);
    const axo_backoff delays[] = {
        AXO_BACKOFF(.min_ns = 0, .max_ns = 10),  AXO_BACKOFF(.min_ns = 5, .max_ns = 4),
        AXO_BACKOFF(.min_ns = 5, .max_ns = 10, .jitter = 1.5),
        AXO_BACKOFF(.min_ns = 5, .max_ns = 10, .jitter = -0.5),
        AXO_BACKOFF(.min_ns = 5, .max_ns = 10, .reset_after_ns = 4),
        AXO_BACKOFF(.min_ns = 5, .max_ns = 10, .reset_after_ns = 11),
    };
    const axo_backoff_supervisor wrong[] = {
        AXO_BACKOFF_SUPERVISOR(.backoff = &good), AXO_BACKOFF_SUPERVISOR(.child = &child),
#define BO_WRONG(...) AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &good, __VA_ARGS__)
        BO_WRONG(.when = (axo_backoff_when)2), BO_WRONG(.absent = (axo_backoff_absent)3),
        BO_WRONG(.manual_reset = 2), BO_WRONG(.limited = 2), BO_WRONG(.has_final = 2),
        BO_WRONG(.limited = 1, .retries_max = -1), BO_WRONG(.within_ns = -1),
        BO_WRONG(.when = AXO_ON_STOP, .within_ns = 1), BO_WRONG(.has_final = 1),
        BO_WRONG(.absent = AXO_ABSENT_REPLY, .absent_tag = AXO_TAG_RESERVED),
        BO_WRONG(.absent = AXO_ABSENT_STAND_IN), BO_WRONG(.stand_in = {7}),
#undef BO_WRONG
    };
    memset(&out, 0x5a, sizeof out);
    memcpy(&before, &out, sizeof out);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(axo_backoff_supervisor_props(&wrong[i], NULL, &out), AXO_EINVAL);
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child,
                                                                 .backoff = &delays[i]);
        assert_int_equal(axo_backoff_supervisor_props(&settings, NULL, &out), AXO_EINVAL);
    }
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(.child = &child, .backoff = &good);
    settings.size = 0;
    assert_int_equal(axo_backoff_supervisor_props(&settings, NULL, &out), AXO_EINVAL);
    assert_int_equal(axo_backoff_supervisor_props(NULL, NULL, &out), AXO_EINVAL);
    assert_memory_equal(&out, &before, sizeof out);
    settings.size = sizeof settings;
    assert_int_equal(axo_backoff_supervisor_props(&settings, NULL, NULL), AXO_EINVAL);
    assert_int_equal(axo_backoff_supervisor_props(&settings, NULL, &out), AXO_OK);
}

/* Stopped during a delay: nobody is started after it. */
static void BO_23(void **state)
{
    bo *b = bo_new(state, AXO_ON_STOP);
    b->delays.min_ns = b->delays.max_ns = 50 * MS;
    bo_start(b);
    bo_tell(b, KIT_STOP_SELF, 0);
    kit_await(b->k, "*.child_gone(c)"); /* by now it is delayed, or soon will be, or is over */
    assert_int_equal(axo_system_stop_actor(kit_system(b->k), b->s), AXO_OK);
    bo_await_end(b);
    axo_timer timer;
    kit_payload note = {.value = 1};
    assert_int_equal(axo_system_schedule_once(kit_system(b->k), 60 * MS, kit_ref(b->q), KIT_NOTE,
                                              &note, sizeof note, &timer), AXO_OK);
    kit_await(b->k, "q.note(1)"); /* long after it would have been due */
    assert_true(kit_count(b->k, "c.ctor") <= 2);
    kit_finish(b->k);
}

static void BO_24(void **state)
{
    bo *b = bo_new(state, AXO_ON_FAILURE);
    b->delays.min_ns = b->delays.max_ns = MS / 8;
    bo_start(b);
    for (int i = 2; i <= 60; i++) {
        bo_tell(b, KIT_FAIL, 1);
        bo_await_child(b, i);
    }
    for (int i = 1; i < 60; i++) {
        char gone[32];
        char made[32];
        (void)snprintf(gone, sizeof gone, "c.terminated@%d", i);
        (void)snprintf(made, sizeof made, "c.spawn@%d", i + 1);
        kit_order(b->k, gone, made);
    }
    kit_finish(b->k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("BO-01", BO_01),       KIT_TEST("BO-02", BO_02),
    KIT_TEST("BO-03", BO_03),       {"BO-04", BO_05, NULL, NULL, NULL},
    {"BO-05", BO_05, NULL, NULL, NULL},
    KIT_TEST("BO-06", BO_06),       KIT_TEST("BO-07", BO_07),
    KIT_TEST("BO-08", BO_08),       KIT_TEST("BO-09", BO_09),
    KIT_TEST("BO-09 recovers", BO_09_recovers), KIT_TEST("BO-09 on stop", BO_09_on_stop),
    KIT_TEST("BO-10", BO_10),       KIT_TEST("BO-11", BO_11),
    KIT_TEST("BO-12", BO_12),       KIT_TEST("BO-13", BO_13),
    KIT_TEST("BO-19", BO_19),       KIT_TEST("BO-19 reply", BO_19_reply),
    KIT_TEST("BO-19 stand-in", BO_19_stand_in), KIT_TEST("BO-20", BO_20),
    KIT_TEST("BO-21", BO_21),       KIT_TEST("BO-21 no child", BO_21_childless),
    {"BO-22", BO_22, NULL, NULL, NULL},        KIT_TEST("BO-23", BO_23),
    KIT_TEST("BO-24", BO_24),
};

TEST_MAIN(tests)
