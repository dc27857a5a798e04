/* gu_test.c - the guardians and the end of a system (GU). */
#include <string.h>

#include "conformance/parts.h"

#define GU_DEADLINE_NS INT64_C(20000000000)

static axo_outcome gu_wait(kit *k)
{
    axo_outcome outcome;
    memset(&outcome, 0xff, sizeof outcome);
    assert_int_equal(axo_system_wait(kit_system(k), GU_DEADLINE_NS, &outcome), AXO_OK);
    return outcome;
}

static void gu_path_is(kit *k, axo_ref ref, const char *expected)
{
    char path[64];
    assert_int_equal(axo_system_path(kit_system(k), ref, path, sizeof path), AXO_OK);
    assert_string_equal(path, expected);
}

static axo_status gu_parent(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "parent", (int64_t)axo_parent(ctx).bits);
    return AXO_OK;
}

static void GU_01(kit *k)
{
    axo_ref root = axo_system_guardian(kit_system(k), AXO_GUARDIAN_ROOT);
    axo_ref user = axo_system_guardian(kit_system(k), AXO_GUARDIAN_USER);
    axo_ref system = axo_system_guardian(kit_system(k), AXO_GUARDIAN_SYSTEM);
    kit_script *a;
    kit_script *s = kit_actor(k, "s");
    assert_int_equal(kit_stats(k).actors, 3);
    assert_false(axo_ref_is_none(root) || axo_ref_is_none(user) || axo_ref_is_none(system));
    assert_false(axo_ref_equal(root, user) || axo_ref_equal(root, system));
    assert_false(axo_ref_equal(user, system));
    assert_true(axo_ref_is_none(axo_system_guardian(kit_system(k), (axo_guardian)3)));
    a = part_start(k, "a");
    assert_int_equal(kit_spawn_system(k, s), AXO_OK);
    gu_path_is(k, root, "/");
    gu_path_is(k, user, "/user");
    gu_path_is(k, system, "/system");
    gu_path_is(k, kit_ref(a), "/user/a");
    gu_path_is(k, kit_ref(s), "/system/s");
    kit_run(k, a, gu_parent, NULL);
    kit_run(k, s, gu_parent, NULL);
    kit_await_all(k, "a.parent(user)", "s.parent(system)");
}

static void GU_02(kit *k)
{
    kit_family f = kit_tree(k, "a, c, -b");
    f.b->construct.fail_first = 1;
    f.b->construct.fail_last = UINT32_MAX;
    f.b->construct.code = 8;
    kit_tell(k, f.a, KIT_SET, 5);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_GET, 0);
    kit_await(k, "a#2.get(0)");
    kit_order(k, "a#1.fails(7)", "a#1.preRestart(7)", "a#1.postStop", "a#2.ctor",
              "a#2.postRestart(7)", "a#2.preStart", "a#2.get(0)");
    kit_spawn(k, f.b);
    axo_system_kill(kit_system(k), kit_ref(f.c));
    kit_await_all(k, "user.child_gone(b)", "user.child_gone(c)");
    kit_expect(k, "b.ctor=1", "c.ctor=1", "c.postStop=1");
}

static void GU_03(void **state)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = axo_decide_stop);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    kit *k = kit_start(state, &options);
    kit_family f = kit_tree(k, "a, b");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, f.a, part_hold, gate);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_gate_open(gate);
    kit_await(k, "user.child_gone(a)");
    kit_order(k, "a.fails(7)", "a.postStop", "a.dl(NOTE)", "a.terminated");
    kit_expect(k, "a.ctor=1", "a.preRestart=0");
    kit_tell(k, f.b, KIT_NOTE, 2);
    kit_await(k, "b.note(2)");
    kit_finish(k);
}

static void GU_04(void **state)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = axo_decide_escalate);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    kit *k = kit_start(state, &options);
    kit_family f = kit_tree(k, "a, b");
    axo_outcome outcome;
    kit_settle(k);
    kit_tell(k, f.a, KIT_FAIL, 7);
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.kind, AXO_FAILURE_ORDINARY);
    assert_int_equal(outcome.code, 7);
    assert_true(axo_ref_equal(outcome.actor, kit_ref(f.a)));
    assert_string_equal(outcome.text, "failed 7");
    kit_order(k, "a.fails(7)", "user.suspend(OWN)", "a.postStop", "user.terminated",
              "system.terminated", "root.terminated");
    kit_order(k, "b.postStop", "user.terminated");
    kit_expect(k, "*.postStop=2", "*.preRestart=0");
    assert_int_equal(kit_tell(k, f.b, KIT_NOTE, 1), AXO_EGONE);
    kit_finish_now(k);
}

static void GU_05(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *a = part_start(k, "a");
    axo_ref user = axo_system_guardian(kit_system(k), AXO_GUARDIAN_USER);
    axo_outcome outcome;
    kit_settle(k);
    assert_int_equal(axo_system_kill(kit_system(k), user), AXO_OK);
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.kind, AXO_FAILURE_KILLED);
    assert_true(axo_ref_equal(outcome.actor, user));
    kit_order(k, "user.fail", "a.postStop", "user.terminated", "system.terminated",
              "root.terminated");
    assert_int_equal(kit_tell(k, a, KIT_NOTE, 1), AXO_EGONE);
    kit_finish_now(k);
}

static void GU_06(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *a = part_start(k, "a");
    axo_outcome outcome;
    kit_settle(k);
    kit_tell(k, a, KIT_FAIL_FATAL, 9);
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.kind, AXO_FAILURE_FATAL);
    assert_int_equal(outcome.code, 9);
    assert_true(axo_ref_equal(outcome.actor, kit_ref(a)));
    assert_string_equal(outcome.text, "fatal 9");
    kit_order(k, "a.fails(9)", "a.postStop", "user.terminated", "root.terminated");
    kit_expect_count(k, "a.ctor", 1);
    kit_finish_now(k);
}

/* Whatever fails below the root is stopped: an ordinary failure of /user and of /system too. */
static void GU_07(void **state)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = axo_decide_escalate);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    kit *k = kit_start(state, &options);
    kit_script *a = part_start(k, "a");
    kit_settle(k);
    kit_tell(k, a, KIT_FAIL, 7);
    (void)gu_wait(k);
    assert_int_equal(kit_find(k, "root.decide@1").arg >> 32, AXO_STOP);
    kit_expect(k, "user.directive(STOP)=1", "user.terminated=1", "user.pre_restart=0",
               "user.post_restart=0", "a.ctor=1");
    kit_finish_now(k);
}

static void GU_07_system(void **state)
{
    kit *k = kit_start(state, NULL);
    axo_ref system = axo_system_guardian(kit_system(k), AXO_GUARDIAN_SYSTEM);
    axo_outcome outcome;
    (void)part_start(k, "a");
    kit_settle(k);
    assert_int_equal(axo_system_kill(kit_system(k), system), AXO_OK);
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.kind, AXO_FAILURE_KILLED);
    assert_true(axo_ref_equal(outcome.actor, system));
    assert_int_equal(kit_find(k, "root.decide@1").arg >> 32, AXO_STOP);
    kit_order(k, "a.postStop", "user.terminated", "root.terminated");
    kit_expect(k, "system.terminated=1", "system.pre_restart=0");
    kit_finish_now(k);
}

static void GU_08(void **state)
{
    kit *k = kit_start(state, NULL);
    axo_outcome outcome;
    (void)part_start(k, "a");
    kit_settle(k);
    memset(&outcome, 0xff, sizeof outcome);
    assert_int_equal(axo_system_wait(kit_system(k), 0, &outcome), AXO_ETIMEDOUT);
    assert_int_equal(axo_system_shutdown(kit_system(k)), AXO_OK);
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 0);
    assert_int_equal(outcome.kind, AXO_FAILURE_NONE);
    assert_true(axo_ref_is_none(outcome.actor));
    assert_string_equal(outcome.text, "");
    kit_order(k, "a.postStop", "user.terminated", "system.terminated", "root.terminated");
    kit_finish_now(k);
}

/* The root itself fails: what stands above it records the cause and stops it. */
static void GU_08_root(void **state)
{
    kit *k = kit_start(state, NULL);
    axo_ref root = axo_system_guardian(kit_system(k), AXO_GUARDIAN_ROOT);
    axo_outcome outcome;
    (void)part_start(k, "a");
    kit_settle(k);
    assert_int_equal(axo_system_kill(kit_system(k), root), AXO_OK);
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.kind, AXO_FAILURE_KILLED);
    assert_true(axo_ref_equal(outcome.actor, root));
    kit_order(k, "root.fail", "a.postStop", "user.terminated", "root.terminated");
    kit_order(k, "system.terminated", "root.terminated");
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 1);
    kit_finish_now(k);
}

static axo_status gu_register(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "hooked", axo_termination_hook(ctx));
    return AXO_OK;
}

static axo_status gu_done(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "done", axo_termination_hook_done(ctx));
    return AXO_OK;
}

static axo_status gu_hook_receive(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    if (message->tag != AXO_TERMINATION_HOOK)
        return kit_receive(ctx, puppet, message);
    kit_mark(self, "hook", 0);
    return self->script->user != NULL ? axo_stop_self(ctx) : AXO_OK;
}

static void GU_09(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *a = part_start(k, "a");
    kit_script *s = kit_actor(k, "s");       /* answers late */
    kit_script *dies = kit_actor(k, "dies"); /* stops instead of an answer */
    kit_script *gone = kit_actor(k, "gone"); /* is gone before */
    dies->user = dies;
    assert_int_equal(kit_spawn_system(k, s), AXO_OK);
    assert_int_equal(kit_spawn_system(k, dies), AXO_OK);
    assert_int_equal(kit_spawn_system(k, gone), AXO_OK);
    part_tell_become(k, s, gu_hook_receive);
    part_tell_become(k, dies, gu_hook_receive);
    kit_run(k, s, gu_register, NULL);
    kit_run(k, dies, gu_register, NULL);
    kit_run(k, gone, gu_register, NULL);
    kit_run(k, a, gu_register, NULL);
    kit_settle(k);
    kit_expect(k, "s.hooked(0)=1", "dies.hooked(0)=1", "gone.hooked(0)=1", "a.hooked(-1)=1");
    axo_system_stop_actor(kit_system(k), kit_ref(gone));
    kit_await(k, "system.child_gone(gone)");
    assert_int_equal(axo_system_shutdown(kit_system(k)), AXO_OK);
    kit_await_all(k, "s.hook", "system.child_gone(dies)");
    /* /user is gone, /system and what lives in it are not. */
    kit_order(k, "a.postStop", "user.terminated", "s.hook");
    kit_order(k, "user.terminated", "dies.hook", "dies.postStop");
    kit_tell(k, s, KIT_NOTE, 1);
    kit_await(k, "s.note(1)");
    assert_int_equal(axo_system_wait(kit_system(k), 0, NULL), AXO_ETIMEDOUT);
    kit_never(k, "system.stopping");
    kit_run(k, s, gu_done, NULL);
    assert_int_equal(gu_wait(k).failed, 0);
    kit_order(k, "s.done(0)", "s.postStop", "system.terminated", "root.terminated");
    kit_expect(k, "gone.hook=0", "a.hook=0", "s.hook=1");
    kit_finish_now(k);
}

/* A guardian's hooks never touch its children: they end by the stop, once, without a restart. */
static void GU_10(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "a, b, -s");
    assert_int_equal(kit_spawn_system(k, f.s), AXO_OK);
    /* Failures of its children leave the others alone. */
    kit_tell(k, f.b, KIT_SET, 5);
    for (int i = 0; i < 10; i++)
        kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a#11.note(1)");
    kit_tell(k, f.b, KIT_GET, 0);
    kit_await(k, "b.get(5)");
    kit_expect(k, "b.ctor=1", "b.suspend=0");
    kit_settle(k);
    axo_system_kill(kit_system(k), axo_system_guardian(kit_system(k), AXO_GUARDIAN_USER));
    (void)gu_wait(k);
    kit_expect(k, "user.pre_restart=0", "user.post_restart=0", "b.preRestart=0", "b.postStop=1",
               "s.postStop=1");
    kit_order(k, "user.fail", "b.postStop", "user.terminated", "s.postStop");
    kit_finish_now(k);
}

static void GU_11(void **state)
{
    kit *k = kit_start(state, NULL);
    static const char *const labels[] = {"ordinary", "init", "killed", "pact", "fatal"};
    kit_script *s[5];
    kit_script *t = part_start(k, "t");
    axo_outcome outcome;
    for (int i = 0; i < 5; i++) {
        s[i] = kit_actor(k, labels[i]);
        if (i == 1) {
            s[i]->construct.fail_first = 1;
            s[i]->construct.code = 3;
        }
        s[i]->term_unhandled = true;
        assert_int_equal(kit_spawn_system(k, s[i]), AXO_OK);
    }
    kit_await(k, "system.child_gone(init)");
    kit_tell(k, s[0], KIT_FAIL, 7);
    kit_tell(k, s[0], KIT_NOTE, 1);
    axo_system_kill(kit_system(k), kit_ref(s[2]));
    kit_tell_ref(k, s[3], KIT_WATCH, kit_ref(t));
    kit_settle(k);
    axo_system_stop_actor(kit_system(k), kit_ref(t));
    kit_await_all(k, "ordinary#2.note(1)", "system.child_gone(killed)", "pact#2.preStart");
    kit_expect(k, "init.ctor=1", "killed.ctor=1");
    assert_int_equal(axo_system_wait(kit_system(k), 0, NULL), AXO_ETIMEDOUT);
    kit_settle(k);
    kit_tell(k, s[4], KIT_FAIL_FATAL, 9);
    outcome = gu_wait(k);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.kind, AXO_FAILURE_FATAL);
    assert_int_equal(outcome.code, 9);
    assert_true(axo_ref_equal(outcome.actor, kit_ref(s[4])));
    kit_order(k, "fatal.fails(9)", "user.terminated", "root.terminated");
    kit_expect_count(k, "fatal.ctor", 1);
    kit_finish_now(k);
}

static void GU_12(kit *k)
{
    kit_script *a = part_start(k, "a");
    kit_settle(k);
    for (int i = 0; i < 3; i++) {
        axo_ref guardian = axo_system_guardian(kit_system(k), (axo_guardian)i);
        assert_int_equal(axo_system_send(kit_system(k), guardian, 1001, NULL, 0), AXO_OK);
    }
    kit_await_all(k, "root.unhandled(1001)", "user.unhandled(1001)", "system.unhandled(1001)");
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    assert_int_equal(kit_stats(k).unhandled, 3);
    assert_int_equal(kit_stats(k).dead, 0);
    assert_int_equal(kit_stats(k).failures, 0);
    kit_never(k, "*.fail");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("GU-01", GU_01),         KIT_TEST("GU-02", GU_02),
    KIT_TEST("GU-03", GU_03),         KIT_TEST("GU-04", GU_04),
    KIT_TEST("GU-05", GU_05),         KIT_TEST("GU-06", GU_06),
    KIT_TEST("GU-07 user", GU_07),    KIT_TEST("GU-07 system", GU_07_system),
    KIT_TEST("GU-08 stopped", GU_08), KIT_TEST("GU-08 root", GU_08_root),
    KIT_TEST("GU-09", GU_09),         KIT_TEST("GU-10", GU_10),
    KIT_TEST("GU-11", GU_11),         KIT_TEST("GU-12", GU_12),
};

TEST_MAIN(tests)
