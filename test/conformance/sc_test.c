/* sc_test.c - the suspend count (SC). */
#include <stdio.h>

#include "conformance/parts.h"

static uint32_t sc_suspends_max(kit *k, const char *label)
{
    static const char *const words[] = {"suspend", "resume"};
    uint32_t max = 0;
    for (int w = 0; w < 2; w++) {
        char pattern[48];
        uint32_t count;
        (void)snprintf(pattern, sizeof pattern, "%s.%s", label, words[w]);
        count = kit_count(k, pattern);
        for (uint32_t i = 1; i <= count; i++) {
            uint32_t suspends;
            (void)snprintf(pattern, sizeof pattern, "%s.%s@%u", label, words[w], i);
            suspends = kit_find(k, pattern).suspends;
            max = suspends > max ? suspends : max;
        }
    }
    return max;
}

/* c is suspended by its own failure and by its parent's: the first resume is not enough. */
static void SC_01(kit *k)
{
    kit_family f = kit_plan(k, "g:resume[p:restart], -c");
    f.c->pre_start.fail_first = 1;
    f.c->pre_start.code = 8;
    kit_grow(&f);
    if (kit_workers(k) > 1)
        f.g->decider.gate = kit_gate_new(k);
    kit_run(k, f.p, part_spawn_fail, f.c);
    kit_await(k, "c.ctor@1");
    kit_tell(k, f.c, KIT_NOTE, 1);
    if (kit_workers(k) > 1) {
        kit_await_all(k, "c.suspend(PARENT)", "p.hold(c)");
        assert_int_equal(sc_suspends_max(k, "c"), 2);
        kit_gate_open(f.g->decider.gate);
    }
    kit_await(k, "c#2.note(1)");
    kit_order(k, "g.decided(RESUME)", "p.decider(c)", "p.decided(RESTART)", "c#2.preStart",
              "c#2.note(1)");
    kit_expect(k, "c.suspend(OWN)=1", "c.resume(OWN)=1");
    /* One worker may come to c only when p's Suspend and Resume have cancelled each other. */
    kit_expect_count(k, "c.resume(PARENT)", kit_count(k, "c.suspend(PARENT)"));
    if (kit_workers(k) > 1)
        kit_order(k, "c.suspend(PARENT)", "g.decided(RESUME)", "c.resume(PARENT)", "c#2.note(1)");
}

static void SC_01_in_flight(kit *k)
{
    kit_family f = kit_plan(k, "g:resume[p:resume[c]]");
    part_blow *blow = part_blow_new(k, 8);
    f.g->decider.gate = kit_gate_new(k);
    f.p->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_run(k, f.c, part_hold_fail, blow);
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_gate_arrived(blow->gate, 1);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(f.g->decider.gate, 1);
    kit_gate_open(blow->gate);
    kit_await_all(k, "c.suspend(OWN)", "c.suspend(PARENT)");
    assert_int_equal(sc_suspends_max(k, "c"), 2);
    kit_gate_open(f.g->decider.gate);
    kit_gate_arrived(f.p->decider.gate, 1);
    kit_await(k, "c.resume(PARENT)");
    assert_int_equal(kit_find(k, "c.resume(PARENT)").suspends, 1);
    kit_never(k, "c.note");
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "c.note(1)");
    assert_int_equal(kit_find(k, "c.resume(OWN)").suspends, 0);
    kit_order(k, "c.resume(PARENT)", "p.decided(RESUME)", "c.resume(OWN)", "c#1.note(1)");
}

static void sc_check_counts(kit *k, const char *label, uint32_t own, uint32_t by_parent, int note)
{
    char pattern[32];
    uint32_t suspends;
    (void)snprintf(pattern, sizeof pattern, "%s.suspend(PARENT)", label);
    suspends = kit_count(k, pattern);
    if (kit_workers(k) > 1)
        assert_int_equal(suspends, by_parent);
    assert_in_range(suspends, 0, by_parent);
    (void)snprintf(pattern, sizeof pattern, "%s.resume(PARENT)", label);
    kit_expect_count(k, pattern, suspends);
    (void)snprintf(pattern, sizeof pattern, "%s.suspend(OWN)", label);
    kit_expect_count(k, pattern, own);
    (void)snprintf(pattern, sizeof pattern, "%s.resume(OWN)", label);
    kit_expect_count(k, pattern, own);
    (void)snprintf(pattern, sizeof pattern, "%s.note(%d)", label, note);
    kit_expect_count(k, pattern, 1);
    assert_in_range(sc_suspends_max(k, label), 0, 1);
}

/* Each failure of an ancestor suspends once, and each is undone once. */
static void SC_02(kit *k)
{
    static const char *const labels[] = {"a", "b", "c", "d"};
    kit_script *chain[4];
    for (int i = 0; i < 4; i++) {
        chain[i] = kit_actor(k, labels[i]);
        chain[i]->directive = AXO_RESUME;
        if (i > 0)
            chain[i - 1]->pre_start.spawn[0] = chain[i];
    }
    kit_spawn(k, chain[0]);
    kit_await(k, "d.preStart");
    for (int failing = 1; failing < 4; failing++) {
        kit_gate *gate = NULL;
        char pattern[32];
        /* Held back, so that no Suspend meets its Resume before it is seen. */
        if (kit_workers(k) > 1)
            gate = kit_gate_new(k);
        chain[failing - 1]->decider.gate = gate;
        kit_tell(k, chain[failing], KIT_FAIL, failing);
        for (int i = failing + 1; i < 4 && gate != NULL; i++) {
            (void)snprintf(pattern, sizeof pattern, "%s.suspend(PARENT)@%d", labels[i], failing);
            kit_await(k, pattern);
        }
        if (gate != NULL)
            kit_gate_open(gate);
        for (int i = 0; i < 4; i++)
            kit_tell(k, chain[i], KIT_NOTE, failing);
        kit_settle(k);
        for (int i = 0; i < 4; i++)
            sc_check_counts(k, labels[i], i > 0 && i <= failing,
                            i > 0 ? (uint32_t)(i - 1 < failing ? i - 1 : failing) : 0, failing);
    }
    kit_finish(k);
}

static axo_status sc_spawn_and_tell(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, arg) == AXO_OK);
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, 1) == AXO_OK);
    return AXO_OK;
}

/* A child of pre_restart is born suspended: made and started, but handling nothing before it was
 * restarted as a survivor. */
static void SC_03(kit *k)
{
    kit_family f = kit_plan(k, "g:restart[p:keep], -c");
    f.p->pre_restart.run = sc_spawn_and_tell;
    f.p->pre_restart.arg = f.c;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_await(k, "c.note(1)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "c#1.ctor", "c#1.preStart", "c#1.preRestart(7)", "c#2.ctor",
              "c#2.postRestart(7)", "c#2.note(1)");
    kit_order(k, "p#2.ctor", "p#2.postRestart(7)", "c#1.preRestart(7)");
    assert_int_equal(kit_find(k, "c.constructed@1").suspends, 1);
    kit_expect(k, "c#1.note=0", "c.ctor=2");
}

static void SC_04(kit *k)
{
    kit_script *g = kit_actor(k, "g");
    kit_script *s = kit_actor(k, "s");
    kit_script *c[3] = {kit_actor(k, "c0"), kit_actor(k, "c1"), kit_actor(k, "c2")};
    g->pre_start.spawn[0] = s;
    g->directive = AXO_RESUME;
    s->directive = AXO_ESCALATE;
    for (int i = 0; i < 3; i++)
        s->pre_start.spawn[i] = c[i];
    kit_spawn(k, g);
    kit_await(k, "c2.preStart");
    kit_settle(k);
    if (kit_workers(k) > 1)
        g->decider.gate = kit_gate_new(k);
    kit_tell(k, c[1], KIT_FAIL, 7);
    if (kit_workers(k) > 1) {
        kit_await_all(k, "c0.suspend(PARENT)", "c2.suspend(PARENT)");
        kit_gate_open(g->decider.gate);
    }
    kit_await(k, "s.resume(OWN)");
    kit_settle(k);
    kit_order(k, "c1.suspend(OWN)", "s.suspend(OWN)", "g.decided(RESUME)", "c1.resume(OWN)");
    kit_expect(k, "c1.suspend=1", "c1.resume=1");
    for (int i = 0; i < 3; i += 2) {
        char pattern[32];
        uint32_t suspends;
        (void)snprintf(pattern, sizeof pattern, "c%d.suspend", i);
        suspends = kit_count(k, pattern);
        assert_in_range(suspends, kit_workers(k) > 1, 1);
        (void)snprintf(pattern, sizeof pattern, "c%d.suspend(PARENT)", i);
        kit_expect_count(k, pattern, suspends);
        (void)snprintf(pattern, sizeof pattern, "c%d.resume(PARENT)", i);
        kit_expect_count(k, pattern, suspends);
    }
    kit_expect(k, "s.suspend=1", "s.resume=1");
    kit_finish(k);
}

/* The Restart meets an actor that waits for its child to terminate: only the count changes. */
static void SC_05(kit *k)
{
    kit_family f = kit_plan(k, "p:restart[a[c]]");
    f.c->post_stop.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_run(k, f.a, part_stop_then_fail, NULL);
    kit_gate_arrived(f.c->post_stop.gate, 1);
    kit_tell(k, f.a, KIT_NOTE, 1);
    if (kit_workers(k) > 1)
        kit_await(k, "p.decided(RESTART)");
    kit_never(k, "a.note");
    kit_gate_open(f.c->post_stop.gate);
    kit_await_all(k, "p.child_gone(a)", "p.decided(RESTART)");
    kit_order(k, "c.postStop", "a.postStop", "a.dl(NOTE)", "a.terminated");
    kit_expect(k, "a.preRestart=0", "a.note=0", "a.ctor=1", "a.postStop=1");
    /* p and whoever it has yet are as before. */
    kit_tell(k, f.p, KIT_NOTE, 2);
    kit_await(k, "p.note(2)");
}

/* p is failed and resumed while its child c waits in a restart for k. */
static void SC_06(kit *k)
{
    kit_family f = kit_plan(k, "-g:resume[p:restart[c,d]]");
    kit_script *slow = kit_actor(k, "slow");
    slow->post_stop.gate = kit_gate_new(k);
    kit_spawn(k, f.g);
    kit_await(k, "d.preStart");
    kit_spawn_child(k, f.c, slow, 0);
    kit_await(k, "slow.preStart");
    kit_tell(k, f.c, KIT_FAIL, 8);
    kit_gate_arrived(slow->post_stop.gate, 1);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_tell(k, f.p, KIT_NOTE, 2);
    kit_tell(k, f.d, KIT_NOTE, 3);
    if (kit_workers(k) > 1) {
        kit_await_all(k, "p.note(2)", "d.note(3)");
        kit_never(k, "c#2.ctor");
    }
    kit_gate_open(slow->post_stop.gate);
    kit_await_all(k, "c#2.note(1)", "d.note(3)");
    kit_settle(k);
    kit_order(k, "c#1.preRestart(8)", "slow.postStop", "c#2.ctor", "c#2.note(1)");
    kit_expect(k, "c.suspend(OWN)=1", "c.resume(OWN)=1");
    kit_expect_count(k, "c.resume(PARENT)", kit_count(k, "c.suspend(PARENT)"));
    kit_expect(k, "c.ctor=2", "p.ctor=1", "p.resume(OWN)=1");
}

/* A Resume for one that has terminated meanwhile changes nothing. */
static void SC_07(kit *k)
{
    kit_family f = kit_plan(k, "p:resume[a]");
    f.p->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_gate_arrived(f.p->decider.gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.a));
    kit_tell(k, f.a, KIT_NOTE, 1);
    if (kit_workers(k) > 1)
        kit_await(k, "a.terminated");
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "p.child_gone(a)");
    kit_never(k, "a.note");
    kit_await_count(k, "a.dl(NOTE)", 1);
    kit_expect(k, "a.dl(NOTE)=1", "a.postStop=1");
    kit_tell(k, f.p, KIT_NOTE, 2);
    kit_await(k, "p.note(2)");
}

/* What comes while the count is up is handled when it reaches zero, without another send. */
static void SC_08(kit *k)
{
    kit_family f = kit_plan(k, "p:resume[a]");
    f.p->decider.gate = kit_gate_new(k);
    f.p->decider.gate_call = 1;
    kit_grow(&f);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_gate_arrived(f.p->decider.gate, 1);
    kit_tell(k, f.a, KIT_NOTE, 0);
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "a.note(0)");
    kit_order(k, "p.decided(RESUME)", "a.resume(OWN)", "a.note(0)");
    /* And without a gate, so that sends meet every moment of it. */
    for (int i = 1; i <= 150; i++) {
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "a.note(%d)", i);
        kit_tell(k, f.a, KIT_FAIL, 7);
        kit_tell(k, f.a, KIT_NOTE, i);
        kit_await(k, pattern);
    }
    kit_expect(k, "a.resume(OWN)=151", "a.ctor=1");
}

/* pre_restart stops one child and spawns another whose start fails: its report waits. */
static axo_status sc_stop_one(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop(ctx, axo_child(ctx, "slow")) == AXO_OK);
    if (arg != NULL)
        KIT_REQUIRE(self->k, kit_spawn_in(ctx, arg) == AXO_OK);
    return AXO_OK;
}

static void SC_09(kit *k)
{
    kit_family f = kit_plan(k, "-g:restart[p:keep:restart], -c");
    kit_script *slow = kit_actor(k, "slow");
    f.p->pre_restart.run = sc_stop_one;
    f.p->pre_restart.arg = f.c;
    f.c->pre_start.fail_first = 1;
    f.c->pre_start.code = 8;
    if (kit_workers(k) > 1)
        slow->post_stop.gate = kit_gate_new(k);
    kit_spawn(k, f.g);
    kit_await(k, "p.preStart");
    kit_spawn_child(k, f.p, slow, 0);
    kit_await(k, "slow.preStart");
    kit_tell(k, f.p, KIT_FAIL, 7);
    if (kit_workers(k) > 1) {
        kit_gate_arrived(slow->post_stop.gate, 1);
        kit_await(k, "p.hold(c)");
        kit_never(k, "p.decider");
        kit_gate_open(slow->post_stop.gate);
    }
    kit_await(k, "p.decided(RESTART)");
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_await(k, "c.note(1)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "slow.postStop", "p.child_gone(slow)", "p#2.ctor",
              "p#2.postRestart(7)", "p#2.decider(c)", "c.note(1)");
    kit_expect_count(k, "p.decider", 1);
}

/* p is busy when both come: the report, and that it is to be suspended. It looks at the report
 * first and holds it, for the suspension counts although it has not been taken (OR-07). */
static void SC_09_waiting(kit *k)
{
    kit_script *top = kit_actor(k, "top");
    kit_family f = kit_plan(k, "-g, -p, -c");
    kit_gate *busy = kit_gate_new(k);
    top->directive = AXO_RESUME;
    top->decider.gate = kit_gate_new(k);
    f.p->directive = AXO_RESUME;
    kit_spawn(k, top);
    kit_await(k, "top.preStart");
    kit_spawn_child(k, top, f.g, 0);
    kit_await(k, "g.preStart");
    kit_spawn_child(k, f.g, f.p, 0);
    kit_await(k, "p.preStart");
    kit_spawn_child(k, f.p, f.c, 0);
    kit_await(k, "c.preStart");
    kit_wait_at(k, f.p, busy, 0);
    kit_gate_arrived(busy, 1);
    kit_tell(k, f.c, KIT_FAIL, 8);
    kit_await_reported(k, f.c);
    kit_tell(k, f.g, KIT_FAIL, 7);
    kit_gate_arrived(top->decider.gate, 1);
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_gate_open(busy);
    kit_await_all(k, "p.hold(c)", "p.suspend(PARENT)");
    kit_never(k, "p.decider");
    kit_gate_open(top->decider.gate);
    kit_await(k, "c.note(1)");
    kit_settle(k);
    kit_order(k, "p.hold(c)", "p.suspend(PARENT)", "top.decided(RESUME)", "p.resume(PARENT)",
              "p.decider(c)", "c.note(1)");
    kit_expect_count(k, "p.decider", 1);
}

static void SC_09_in_flight(kit *k)
{
    kit_family f = kit_plan(k, "-g:restart[p:keep:restart], -c");
    kit_script *slow = kit_actor(k, "slow");
    part_blow *blow = part_blow_new(k, 8);
    f.p->pre_restart.run = sc_stop_one;
    slow->post_stop.gate = kit_gate_new(k);
    kit_spawn(k, f.g);
    kit_await(k, "p.preStart");
    kit_spawn_child(k, f.p, slow, 0);
    kit_spawn_child(k, f.p, f.c, 0);
    kit_await_all(k, "slow.preStart", "c.preStart");
    kit_run(k, f.c, part_hold_fail, blow);
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_gate_arrived(blow->gate, 1);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(slow->post_stop.gate, 1);
    kit_gate_open(blow->gate);
    kit_await(k, "p.hold(c)");
    kit_never(k, "p.decider");
    kit_gate_open(slow->post_stop.gate);
    kit_await(k, "c.note(1)");
    kit_settle(k);
    kit_order(k, "p.hold(c)", "p#2.ctor", "p#2.decider(c)", "c#2.preRestart(8)", "c#3.ctor",
              "c#3.note(1)");
    kit_order(k, "p#2.postRestart(7)", "c#1.preRestart(7)", "c#2.ctor", "c#2.preRestart(8)");
    kit_expect(k, "c.ctor=3", "p.decider=1");
}

enum { SC_CHILDREN = 8 };

static axo_status sc_spawn_all_and_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script **children = arg;
    for (int i = 0; i < SC_CHILDREN; i++)
        KIT_REQUIRE(self->k, kit_spawn_in(ctx, children[i]) == AXO_OK);
    kit_mark(self, "fails", 7);
    return axo_fail(ctx, 7, "after the spawns");
}

/* Reports held back are decided in the order in which they were held, before any later one. */
static void SC_10(kit *k)
{
    static const char *const labels[SC_CHILDREN] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
    kit_script *g = kit_actor(k, "g");
    kit_script *p = kit_actor(k, "p");
    kit_script **c = kit_alloc(k, SC_CHILDREN * sizeof *c);
    uint64_t last = 0;
    uint32_t held;
    g->pre_start.spawn[0] = p;
    g->directive = AXO_RESUME;
    p->directive = AXO_RESTART;
    for (int i = 0; i < SC_CHILDREN; i++) {
        c[i] = kit_actor(k, labels[i]);
        c[i]->pre_start.fail_first = 1;
        c[i]->pre_start.code = 8;
    }
    if (kit_workers(k) > 1)
        g->decider.gate = kit_gate_new(k);
    kit_spawn(k, g);
    kit_await(k, "p.preStart");
    kit_run(k, p, sc_spawn_all_and_fail, c);
    if (kit_workers(k) > 1) {
        kit_await_count(k, "p.hold", SC_CHILDREN);
        kit_never(k, "p.decider");
        kit_gate_open(g->decider.gate);
    }
    kit_await_count(k, "p.decided(RESTART)", SC_CHILDREN);
    for (int i = 0; i < SC_CHILDREN; i++)
        kit_tell(k, c[i], KIT_NOTE, i);
    kit_await_count(k, "*.note", SC_CHILDREN);
    kit_settle(k);
    held = kit_count(k, "p.hold");
    for (uint32_t i = 1; i <= held; i++) {
        char pattern[32];
        char held_pattern[32];
        uint64_t child;
        (void)snprintf(held_pattern, sizeof held_pattern, "p.hold@%u", i);
        (void)snprintf(pattern, sizeof pattern, "p.decider@%u", i);
        child = kit_find(k, held_pattern).arg;
        assert_true(kit_find(k, pattern).arg == child);
        assert_true(kit_find(k, pattern).seq > last);
        last = kit_find(k, pattern).seq;
    }
    kit_expect_count(k, "p.decider", SC_CHILDREN);
    kit_expect_count(k, "p.ctor", 1);
}

/* Many children fail quickly, then all are asked: nobody stays frozen. */
static void sc_many(kit *k, axo_scope scope)
{
    enum { MANY = 10, ROUNDS = 3 };
    kit_script *s = kit_actor(k, "s");
    kit_script *asker = part_start(k, "asker");
    kit_script *c[MANY];
    s->directive = AXO_RESTART;
    s->strategy.scope = scope;
    for (int i = 0; i < MANY; i++) {
        c[i] = kit_actor(k, "c");
        c[i]->name = "";
        s->pre_start.spawn[i] = c[i];
        c[i]->keep_children = true;
    }
    s->no_default_start = true;
    kit_spawn(k, s);
    kit_await_count(k, "c.preStart", MANY);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MANY; i++)
            kit_tell(k, c[i], KIT_FAIL, 7);
        for (int i = 0; i < MANY; i++)
            kit_tell_as(k, asker, c[i], KIT_PING, i);
        kit_await_count(k, "asker.pong", (uint32_t)(MANY * (round + 1)));
    }
    kit_settle(k);
    kit_expect_count(k, "asker.pong", MANY * ROUNDS);
    kit_expect_count(k, "s.decider", MANY * ROUNDS);
    if (scope == AXO_ONE_FOR_ONE)
        kit_expect_count(k, "c.ctor", MANY * (ROUNDS + 1));
    kit_never(k, "c.postStop");
    kit_finish(k);
}

static void SC_10_many(void **state)
{
    sc_many(kit_start(state, NULL), AXO_ONE_FOR_ONE);
}

static void SC_10_many_all(void **state)
{
    sc_many(kit_start(state, NULL), AXO_ALL_FOR_ONE);
}

/* Siblings that fail at once under all for one, and a parent and its child that do. */
static void SC_11(kit *k)
{
    kit_family f = kit_tree(k, "p:all:restart[c,d,e]");
    for (int round = 1; round <= 5; round++) {
        part_blow *blow = part_blow_new(k, 7);
        kit_run(k, f.c, part_hold_fail, blow);
        kit_run(k, f.d, part_hold_fail, blow);
        kit_gate_arrived(blow->gate, kit_workers(k) > 1 ? 2 : 1);
        kit_gate_open(blow->gate);
        kit_tell(k, f.c, KIT_NOTE, round);
        kit_tell(k, f.d, KIT_NOTE, round);
        kit_tell(k, f.e, KIT_NOTE, round);
        kit_await_count(k, "*.note", (uint32_t)(3 * round));
        kit_await_count(k, "p.decided(RESTART)", (uint32_t)(2 * round));
        kit_settle(k);
    }
    kit_expect(k, "p.decider=10", "c.note=5", "d.note=5", "e.note=5");
}

static void SC_11_parent_and_child(kit *k)
{
    kit_family f = kit_plan(k, "g:restart[p:keep:restart[c]]");
    f.p->no_default_start = true;
    kit_grow(&f);
    for (int round = 1; round <= 5; round++) {
        part_blow *blow = part_blow_new(k, 7);
        kit_run(k, f.p, part_hold_fail, blow);
        kit_run(k, f.c, part_hold_fail, blow);
        kit_gate_arrived(blow->gate, kit_workers(k) > 1 ? 2 : 1);
        kit_gate_open(blow->gate);
        kit_tell(k, f.p, KIT_NOTE, round);
        kit_tell(k, f.c, KIT_NOTE, round);
        kit_await_count(k, "p.note", (uint32_t)round);
        kit_await_count(k, "c.note", (uint32_t)round);
        kit_await_count(k, "p.decided", (uint32_t)round);
        kit_settle(k);
    }
    kit_expect(k, "g.decider=5", "p.decider=5", "p.ctor=6", "c.ctor=11");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("SC-01", SC_01),
    KIT_TEST_ONE("SC-01 in flight", SC_01_in_flight, 2, "workers"),
    KIT_TEST_ONE("SC-01 in flight", SC_01_in_flight, 4, "workers"),
    KIT_TEST("SC-02", SC_02),
    KIT_TEST("SC-03", SC_03),
    KIT_TEST("SC-04", SC_04),
    KIT_TEST("SC-05", SC_05),
    KIT_TEST("SC-06", SC_06),
    KIT_TEST("SC-07", SC_07),
    KIT_TEST("SC-08", SC_08),
    KIT_TEST("SC-09", SC_09),
    PART_TEST_MANY("SC-09 waiting", SC_09_waiting),
    KIT_TEST_ONE("SC-09 in flight", SC_09_in_flight, 2, "workers"),
    KIT_TEST_ONE("SC-09 in flight", SC_09_in_flight, 4, "workers"),
    KIT_TEST("SC-10", SC_10),
    KIT_TEST("SC-10 one for one", SC_10_many),
    KIT_TEST("SC-10 all for one", SC_10_many_all),
    KIT_TEST("SC-11 siblings", SC_11),
    KIT_TEST("SC-11 parent and child", SC_11_parent_and_child),
};

TEST_MAIN(tests)
