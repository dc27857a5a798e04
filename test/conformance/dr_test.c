/* dr_test.c - the four directives. */
#include "support/kit.h"

#include <stdio.h>
#include <string.h>

/* A behaviour that says it is on, and otherwise does as the puppet does. */
static axo_status shout(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == KIT_NOTE)
        kit_mark(state, "shout", AXO_PAYLOAD(message, kit_payload)->value);
    return kit_receive(ctx, state, message);
}

static axo_status become_shout(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return axo_become(ctx, shout);
}

/* Keeps a block of its own from one message to the next. */
static axo_status fill_block(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    char *block = axo_alloc(ctx, 64);
    KIT_REQUIRE(self->k, block != NULL);
    if (block != NULL)
        memset(block, 'x', 64);
    *(char **)arg = block;
    return AXO_OK;
}

static axo_status check_block(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    char *block = *(char **)arg;
    for (int i = 0; block != NULL && i < 64; i++)
        KIT_REQUIRE(self->k, block[i] == 'x');
    kit_mark(self, "checked", 0);
    return AXO_OK;
}

/* Resume: same instance, state, behaviour and memory; the message is gone; no hook runs. */
static void DR_01(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    char **block = kit_alloc(k, sizeof *block);
    (void)kit_tell(k, f.a, KIT_SET, 42);
    (void)kit_run(k, f.a, become_shout, NULL);
    (void)kit_run(k, f.a, fill_block, block);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESUME);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell(k, f.a, KIT_THROW, KIT_DO_RESUME);
    (void)kit_tell(k, f.a, KIT_GET, 0);
    (void)kit_tell(k, f.a, KIT_NOTE, 2);
    (void)kit_run(k, f.a, check_block, block);
    kit_await(k, "a.checked");
    kit_settle(k);
    kit_order(k, "a.set(42)", "a.fails@1", "p.decided(RESUME)@1", "a.shout(1)", "a.fails@2",
              "p.decided(RESUME)@2", "a.get(42)", "a.shout(2)", "a.checked");
    kit_expect(k, "a.fails=2", "a.ctor=1", "a.preStart=1", "a.preRestart=0", "a.postRestart=0",
               "a.postStop=0", "a.freed=0", "*.dl=0");
    /* A Restart clears the behaviour, so the test above could tell. */
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    (void)kit_tell(k, f.a, KIT_NOTE, 3);
    kit_await(k, "a#2.note(3)");
    kit_expect(k, "a.shout(3)=0", "a.freed(1)=1");
}

/* Resume reaches the whole subtree. */
static void DR_02(kit *k)
{
    kit_script *boss = kit_top(k, "boss");
    kit_script *middle = kit_child(k, boss, "middle");
    kit_script *worker = kit_child(k, middle, "worker");
    kit_script *probe = kit_top(k, "probe");
    boss->directive = AXO_RESUME;
    boss->decider.gate = kit_gate_new(k);
    (void)kit_tell(k, worker, KIT_SET, 5);
    kit_await(k, "worker.set(5)");
    (void)kit_tell(k, middle, KIT_FAIL, 7);
    kit_gate_arrived(boss->decider.gate, 1);
    if (kit_workers(k) > 1)
        kit_await(k, "worker.suspend(PARENT)");
    kit_gate_open(boss->decider.gate);
    (void)kit_tell_as(k, probe, middle, KIT_PING, 1);
    (void)kit_tell_as(k, probe, worker, KIT_GET, 0);
    kit_await_all(k, "probe.pong(1)", "probe.pong(5)");
    kit_order(k, "boss.decided", "middle.resume(OWN)", "middle.ping(1)");
    kit_expect_count(k, "*.ctor", 4);
    assert_int_equal(kit_count(k, "worker.suspend"), kit_count(k, "worker.resume"));
    if (kit_workers(k) > 1) {
        kit_order(k, "middle.suspend(OWN)", "worker.suspend(PARENT)", "worker.resume(PARENT)",
                  "worker.get(5)");
        assert_int_equal(kit_find(k, "worker.suspend(PARENT)").suspends, 1);
        assert_int_equal(kit_find(k, "worker.resume(PARENT)").suspends, 0);
    }
}

/* Restart: a new instance from the factory, the same reference, the mailbox kept. */
static void DR_03(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    axo_ref before = kit_ref(f.a);
    kit_gate *gate = kit_gate_new(k);
    (void)kit_tell(k, f.a, KIT_SET, 23);
    (void)kit_wait_at(k, f.a, gate, 0);
    (void)kit_tell(k, f.a, KIT_GET, 0);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    (void)kit_tell(k, f.a, KIT_GET, 0);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    kit_gate_open(gate);
    kit_await(k, "a.note(1)");
    kit_order(k, "a#1.get(23)", "a#1.fails", "a#1.preRestart", "a#1.postStop", "a#2.ctor",
              "a#2.postRestart", "a#2.preStart", "a#2.get(0)", "a#2.note(1)");
    kit_order(k, "a#1.postStop", "a.freed(1)", "a#2.ctor");
    kit_expect_count(k, "a.ctor", 2);
    assert_true(axo_ref_equal(before, kit_ref(f.a)));
    assert_true(axo_ref_equal(before, kit_find(k, "a#2.note(1)").actor));
    kit_expect(k, "a.terminated=0", "*.dl=0");
}

/* Stop: post_stop once, no restart hook, watchers are told, the queue becomes dead letters. */
static void DR_04(kit *k)
{
    kit_family f = kit_tree(k, "p(a), w");
    kit_gate *gate = kit_gate_new(k);
    (void)kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.a));
    kit_settle(k);
    (void)kit_wait_at(k, f.a, gate, 0);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_STOP);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    kit_gate_open(gate);
    kit_await(k, "w.term(a)");
    kit_settle(k);
    kit_order(k, "a.fails", "p.decided(STOP)", "a.postStop", "a.terminated", "w.term(a)");
    kit_expect(k, "w.term=1", "w.known(1)=1", "a.postStop=1", "a.ctor=1");
    kit_await_count(k, "a.dl(NOTE)", 1);
    kit_expect(k, "a.dl(NOTE)=1", "p.child_gone(a)=1", "a.note=0", "a.preRestart=0",
               "a.postRestart=0");
    assert_int_equal(kit_tell(k, f.a, KIT_NOTE, 2), AXO_EGONE);
}

/* What each level saw of one failure. */
typedef struct seen {
    axo_failure failure;
    char text[AXO_FAILURE_TEXT_MAX];
} seen;

static void see(kit_puppet *self, const axo_failure *failure)
{
    seen *s = self->script->user;
    s->failure = *failure;
    (void)snprintf(s->text, sizeof s->text, "%s", failure->text);
}

static axo_directive see_and_escalate(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    see(self, failure);
    return AXO_ESCALATE;
}

static axo_directive see_and_restart(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    see(self, failure);
    return AXO_RESTART;
}

static axo_status fail_in_detail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return axo_fail(ctx, 1234, "all the %s", "detail");
}

/* Escalate: the parent fails with the same cause, and its own parent decides. */
static void DR_05(kit *k)
{
    kit_script *g = kit_top(k, "g");
    kit_script *q = kit_child(k, g, "q");
    kit_script *p = kit_child(k, q, "p");
    kit_script *a = kit_child(k, p, "a");
    seen *by_g = g->user = kit_alloc(k, sizeof(seen));
    seen *by_q = q->user = kit_alloc(k, sizeof(seen));
    seen *by_p = p->user = kit_alloc(k, sizeof(seen));
    g->decide = see_and_restart;
    q->decide = see_and_escalate;
    p->decide = see_and_escalate;
    (void)kit_run(k, a, fail_in_detail, NULL);
    kit_await(k, "q#2.preStart");
    kit_settle(k);
    kit_order(k, "p.decider(a)", "q.decider(p)", "g.decider(q)", "q#1.preRestart(1234)",
              "q#2.postRestart(1234)");
    kit_order(k, "p.decided", "p.suspend(OWN)", "q.decider(p)");
    kit_expect_count(k, "*.decider", 3);
    assert_int_equal(by_p->failure.code, 1234);
    assert_string_equal(by_p->text, "all the detail");
    assert_true(axo_ref_equal(by_p->failure.actor, kit_ref(a)));
    for (int i = 0; i < 2; i++) {
        const seen *s = i == 0 ? by_q : by_g;
        assert_int_equal(s->failure.code, by_p->failure.code);
        assert_int_equal(s->failure.kind, by_p->failure.kind);
        assert_int_equal(s->failure.site, by_p->failure.site);
        assert_int_equal(s->failure.root_kind, by_p->failure.root_kind);
        assert_int_equal(s->failure.root_code, by_p->failure.root_code);
        assert_true(axo_ref_equal(s->failure.actor, by_p->failure.actor));
        assert_string_equal(s->text, by_p->text);
    }
    /* The default pre_restart of q stopped p, and p's end stopped a. */
    kit_order(k, "q#1.preRestart(1234)", "a.terminated", "p.terminated", "q#2.ctor");
    kit_order(k, "q#1.preRestart(1234)", "q#1.postStop", "q#2.ctor");
    kit_expect(k, "p.preRestart=0", "a.preRestart=0");
}

/* Tells the child to fail and itself to do a lot. */
static axo_status fail_child_and_flood(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    (void)kit_tell_in(ctx, kit_ref(arg), KIT_FAIL, KIT_DO_RESTART);
    for (int i = 0; i < 2000; i++)
        (void)kit_tell_in(ctx, axo_self(ctx), KIT_NOTE, i);
    kit_mark(self, "flooded", 0);
    return AXO_OK;
}

/* The report does not wait for the parent's queue; it does wait for the message in progress. */
static void DR_06(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    if (kit_workers(k) == 1) {
        (void)kit_run(k, f.p, fail_child_and_flood, f.a);
        kit_await(k, "a#2.preStart");
        kit_none_between(k, "p.note", "a.suspend(OWN)", "p.decider(a)");
    } else {
        kit_gate *gate = kit_gate_new(k);
        (void)kit_wait_at(k, f.p, gate, 0);
        kit_gate_arrived(gate, 1);
        for (int i = 0; i < 2000; i++)
            (void)kit_tell(k, f.p, KIT_NOTE, i);
        (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
        kit_await_reported(k, f.a);
        kit_never(k, "p.decider");
        kit_gate_open(gate);
        kit_await(k, "a#2.preStart");
    }
    kit_await(k, "p.note(1999)");
    kit_order(k, "p.decider(a)", kit_workers(k) > 1 ? "p.note(0)" : "p.note(1000)");
    kit_expect_count(k, "p.note", 2000);
}

/* A child that is gone, or going, before its directive comes: nothing happens to it. */
static void directive_too_late(kit *k, const char *parent, const char *child,
                               axo_directive directive)
{
    char pattern[80];
    kit_script *p = kit_top(k, parent);
    kit_script *a = kit_child(k, p, child);
    p->directive = directive;
    p->decider.gate = kit_gate_new(k);
    (void)kit_tell(k, a, KIT_FAIL, 7);
    kit_gate_arrived(p->decider.gate, 1);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(a)), AXO_OK);
    (void)snprintf(pattern, sizeof pattern, "%s.terminated", child);
    if (kit_workers(k) > 1)
        kit_await(k, pattern);
    kit_gate_open(p->decider.gate);
    kit_await(k, pattern);
    kit_settle(k);
    (void)snprintf(pattern, sizeof pattern, "%s.ctor", child);
    kit_expect_count(k, pattern, 1);
    (void)snprintf(pattern, sizeof pattern, "%s.postStop", child);
    kit_expect_count(k, pattern, 1);
    (void)snprintf(pattern, sizeof pattern, "%s.preRestart", child);
    kit_never(k, pattern);
    /* The name is free again. */
    kit_script *again = kit_actor(k, "again");
    again->name = child;
    (void)kit_spawn_child(k, p, again, (int64_t)directive);
    (void)snprintf(pattern, sizeof pattern, "%s.spawned(%d)", parent, (int)directive);
    kit_await(k, pattern);
}

static void DR_07(kit *k)
{
    directive_too_late(k, "p1", "resumed", AXO_RESUME);
    directive_too_late(k, "p2", "restarted", AXO_RESTART);
    directive_too_late(k, "p3", "stopped", AXO_STOP);
    if (kit_workers(k) >= 4) {
        /* a waits for its child, which is busy, when the Restart comes. */
        kit_script *p = kit_top(k, "p");
        kit_script *a = kit_child(k, p, "a");
        kit_script *c = kit_child(k, a, "c");
        kit_gate *gate = kit_gate_new(k);
        (void)kit_wait_at(k, c, gate, 0);
        kit_gate_arrived(gate, 1);
        p->directive = AXO_RESTART;
        p->decider.gate = kit_gate_new(k);
        (void)kit_tell(k, a, KIT_FAIL, 7);
        kit_gate_arrived(p->decider.gate, 1);
        (void)axo_system_stop_actor(kit_system(k), kit_ref(a));
        kit_await(k, "a.stopping");
        kit_gate_open(p->decider.gate);
        (void)kit_tell(k, p, KIT_NOTE, 1);
        kit_await(k, "p.note(1)");
        kit_gate_open(gate);
        kit_await(k, "a.terminated");
        kit_expect(k, "a.ctor=1", "a.postStop=1", "a.preRestart=0");
        kit_order(k, "p.decided", "c.terminated", "a.terminated");
    }
}

static void resume_one(kit *k, axo_scope scope, const char *parent, const char *const *names)
{
    char pattern[80];
    kit_script *p = kit_actor(k, parent);
    kit_script *a;
    kit_script *b;
    p->strategy.scope = scope;
    p->directive = AXO_RESUME;
    (void)kit_spawn(k, p);
    a = kit_child(k, p, names[0]);
    b = kit_child(k, p, names[1]);
    for (int i = 0; i < 5; i++)
        (void)kit_tell(k, a, KIT_FAIL, i);
    (void)kit_tell(k, a, KIT_NOTE, 1);
    (void)kit_tell(k, b, KIT_NOTE, 1);
    kit_settle(k);
    (void)snprintf(pattern, sizeof pattern, "%s.resume(OWN)", names[0]);
    kit_expect_count(k, pattern, 5);
    (void)snprintf(pattern, sizeof pattern, "%s.directive(RESUME)", names[0]);
    kit_expect_count(k, pattern, 5);
    (void)snprintf(pattern, sizeof pattern, "%s.note", names[0]);
    kit_expect_count(k, pattern, 1);
    (void)snprintf(pattern, sizeof pattern, "%s.resume", names[1]);
    kit_never(k, pattern);
    (void)snprintf(pattern, sizeof pattern, "%s.suspend", names[1]);
    kit_never(k, pattern);
    (void)snprintf(pattern, sizeof pattern, "%s.directive", names[1]);
    kit_never(k, pattern);
    /* b's own count is sound: it can fail and go on. */
    (void)kit_tell(k, b, KIT_FAIL, 9);
    (void)kit_tell(k, b, KIT_NOTE, 2);
    (void)snprintf(pattern, sizeof pattern, "%s.note(2)", names[1]);
    kit_await(k, pattern);
    (void)snprintf(pattern, sizeof pattern, "%s.suspend(OWN)", names[1]);
    assert_int_equal(kit_find(k, pattern).suspends, 1);
}

/* Resume is for the one that failed, in either scope. */
static void DR_08(kit *k)
{
    static const char *const one[] = {"a1", "b1"};
    static const char *const all[] = {"a2", "b2"};
    resume_one(k, AXO_ONE_FOR_ONE, "one", one);
    resume_one(k, AXO_ALL_FOR_ONE, "all", all);
}

/* One log line a decision: a warning for Resume, an error for Restart and Stop, none here for
 * Escalate. */
static void DR_09(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a))");
    f.g->directive = AXO_RESUME;
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESUME);
    kit_settle(k);
    kit_expect(k, "*.log=1", "*.log(2)=1");
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    kit_settle(k);
    kit_expect(k, "*.log=2", "*.log(1)=1");
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_ESCALATE);
    kit_settle(k);
    kit_await(k, "g.decided(RESUME)");
    kit_settle(k);
    kit_expect_count(k, "*.log", 3);
    kit_expect_count(k, "*.log(2)", 2); /* g's Resume of p */
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_STOP);
    kit_await(k, "a.terminated");
    kit_settle(k);
    kit_expect(k, "*.log=4", "*.log(1)=2");
}

/* A strategy of one's own around another: it sees each failure, then lets the other decide. */
typedef struct observer {
    kit *k;
    const axo_strategy *inner;
    uint32_t seen;
} observer;

static axo_directive observe(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    observer *me = user;
    kit_puppet *self = state;
    axo_directive directive = me->inner->decider(ctx, state, failure, me->inner->user);
    KIT_REQUIRE(me->k, axo_ref_equal(axo_self(ctx), self->ref));
    KIT_REQUIRE(me->k, axo_ref_equal(axo_sender(ctx), failure->actor));
    kit_mark(self, "observed", failure->code);
    kit_mark(self, "answered", directive);
    me->seen++;
    return directive;
}

static void DR_10(kit *k)
{
    static const axo_strategy by_default = AXO_STRATEGY(.decider = axo_decide_default);
    static const axo_strategy by_stop = AXO_STRATEGY(.decider = axo_decide_stop);
    kit_script *p = kit_actor(k, "p");
    kit_script *q = kit_actor(k, "q");
    observer *one = kit_alloc(k, sizeof *one);
    observer *two = kit_alloc(k, sizeof *two);
    axo_strategy *strategies = kit_alloc(k, 2 * sizeof *strategies);
    *one = (observer){.k = k, .inner = &by_default};
    *two = (observer){.k = k, .inner = &by_stop};
    strategies[0] = (axo_strategy)AXO_STRATEGY(.decider = observe, .user = one);
    strategies[1] = (axo_strategy)AXO_STRATEGY(.decider = observe, .user = two);
    p->given = &strategies[0];
    q->given = &strategies[1];
    (void)kit_spawn(k, p);
    (void)kit_spawn(k, q);
    kit_script *a = kit_child(k, p, "a");
    kit_script *b = kit_child(k, q, "b");
    (void)kit_tell(k, a, KIT_FAIL, 7);
    (void)kit_tell(k, a, KIT_FAIL, 8);
    (void)axo_system_kill(kit_system(k), kit_ref(a));
    (void)kit_tell(k, b, KIT_FAIL, 9);
    kit_await_all(k, "p.child_gone(a)", "q.child_gone(b)");
    kit_settle(k);
    kit_order(k, "p.observed(7)", "a#2.postRestart(7)", "p.observed(8)", "a#3.postRestart(8)",
              "p.observed(0)", "a#3.postStop");
    kit_order(k, "q.observed(9)", "q.answered(3)", "b.postStop");
    kit_expect_count(k, "b.ctor", 1);
    assert_int_equal(one->seen, 3);
    assert_int_equal(two->seen, 1);
}

/* One child after another directive: state kept, state fresh, gone. */
static void DR_11(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    (void)kit_tell(k, f.a, KIT_SET, 42);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESUME);
    (void)kit_tell(k, f.a, KIT_GET, 0);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    (void)kit_tell(k, f.a, KIT_GET, 0);
    (void)kit_tell(k, f.a, KIT_SET, 7);
    (void)kit_tell(k, f.a, KIT_THROW, KIT_DO_RESUME);
    (void)kit_tell(k, f.a, KIT_GET, 0);
    (void)kit_tell(k, f.a, KIT_THROW, KIT_DO_STOP);
    kit_await(k, "a.terminated");
    kit_order(k, "a#1.get(42)", "a#2.get(0)", "a#2.get(7)", "a#2.postStop", "a.terminated");
    kit_expect(k, "a.get=3", "a.ctor=2", "a.postStop=2", "*.dl=0");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DR-01", DR_01), KIT_TEST("DR-02", DR_02), KIT_TEST("DR-03", DR_03),
    KIT_TEST("DR-04", DR_04), KIT_TEST("DR-05", DR_05), KIT_TEST("DR-06", DR_06),
    KIT_TEST("DR-07", DR_07), KIT_TEST("DR-08", DR_08), KIT_TEST("DR-09", DR_09),
    KIT_TEST("DR-10", DR_10), KIT_TEST("DR-11", DR_11),
};
TEST_MAIN(tests)
