/* af_test.c - one for one and all for one. */
#include "conformance/parts.h"

/* A parent with this scope under /user, and its children a, b, c. */
typedef struct family {
    kit_script *p;
    kit_script *a;
    kit_script *b;
    kit_script *c;
} family;

static family family_of(kit *k, axo_scope scope)
{
    family f = {.p = kit_actor(k, "p")};
    f.p->strategy.scope = scope;
    (void)kit_spawn(k, f.p);
    f.a = kit_child(k, f.p, "a");
    f.b = kit_child(k, f.p, "b");
    f.c = kit_child(k, f.p, "c");
    return f;
}

/* Siblings are not even suspended. */
static void AF_01(kit *k)
{
    family f = family_of(k, AXO_ONE_FOR_ONE);
    f.p->decider.gate = kit_gate_new(k);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    kit_gate_arrived(f.p->decider.gate, 1);
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    (void)kit_tell(k, f.c, KIT_NOTE, 1);
    if (kit_workers(k) > 1) {
        kit_await_all(k, "b.note(1)", "c.note(1)");
        kit_never(k, "p.decided");
    }
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "a#2.preStart");
    (void)kit_tell(k, f.b, KIT_FAIL, KIT_DO_RESTART);
    (void)kit_tell(k, f.c, KIT_FAIL, KIT_DO_STOP);
    kit_await_all(k, "b#2.preStart", "c.terminated");
    kit_settle(k);
    kit_expect(k, "a.ctor=2", "b.ctor=2", "c.ctor=1", "*.note=2", "a.suspend=1", "b.suspend=1",
               "c.suspend(OWN)=1", "*.suspend(PARENT)=0");
}

/* Restart for all: the perpetrator with its message, the others suspended first and with none. */
static void AF_02(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    f.p->directive = AXO_RESTART;
    (void)kit_tell(k, f.b, KIT_SET, 5);
    kit_await(k, "b.set(5)");
    (void)kit_tell(k, f.a, KIT_FAIL, 31);
    kit_await_all(k, "a#2.preStart", "b#2.preStart", "c#2.preStart");
    (void)kit_tell(k, f.b, KIT_GET, 0);
    kit_settle(k);
    kit_expect(k, "*.postRestart(31)=3", "*.postRestart=3", "a.preRestartWith(31)=1",
               "b.preRestartNone=1", "c.preRestartNone=1", "a.suspend(OWN)=1", "a.suspend=1",
               "b.suspend(PARENT)=1", "b.suspend=1", "c.suspend(PARENT)=1");
    kit_order(k, "p.decided(RESTART)", "b.suspend(PARENT)", "b.preRestart(31)", "b#2.ctor",
              "b#2.get(0)");
    kit_order(k, "p.decided(RESTART)", "c.suspend(PARENT)", "c.preRestart(31)", "c#2.ctor");
    kit_order(k, "a.suspend(OWN)", "p.decided(RESTART)", "a.preRestart(31)", "a#2.ctor");
    kit_expect(k, "p.decider=1", "p.ctor=1");
}

/* Stop for all. */
static void AF_03(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    f.p->directive = AXO_STOP;
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await_all(k, "p.child_gone(a)", "p.child_gone(b)", "p.child_gone(c)");
    (void)kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "p.note(1)");
    kit_expect(k, "*.postStop=3", "b.postStop=1", "*.preRestart=0", "*.ctor=4", "p.decider=1");
}

/* Resume is for the perpetrator only. */
static void AF_04(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    f.p->directive = AXO_RESUME;
    (void)kit_tell(k, f.a, KIT_SET, 3);
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    (void)kit_tell(k, f.a, KIT_GET, 0);
    kit_await(k, "a.get(3)");
    kit_settle(k);
    kit_expect(k, "a.resume=1", "b.resume=0", "b.suspend=0", "b.directive=0", "c.resume=0",
               "c.suspend=0", "c.directive=0", "*.ctor=4");
}

/* Escalate: siblings are suspended as part of the parent's own failure, and resumed with it. */
static void AF_05(kit *k)
{
    kit_family f = kit_tree(k, "g, -p:all:escalate");
    kit_script *a;
    kit_script *b;
    f.g->directive = AXO_RESUME;
    f.g->decider.gate = kit_gate_new(k);
    (void)kit_spawn_child(k, f.g, f.p, 0);
    kit_await(k, "p.preStart");
    a = kit_child(k, f.p, "a");
    b = kit_child(k, f.p, "b");
    (void)kit_tell(k, a, KIT_FAIL, 7);
    kit_gate_arrived(f.g->decider.gate, 1);
    if (kit_workers(k) > 1) {
        kit_await(k, "b.suspend(PARENT)");
        (void)kit_tell(k, b, KIT_NOTE, 1);
        (void)kit_tell(k, a, KIT_NOTE, 1);
        kit_never(k, "b.note");
    }
    kit_gate_open(f.g->decider.gate);
    if (kit_workers(k) == 1) {
        (void)kit_tell(k, b, KIT_NOTE, 1);
        (void)kit_tell(k, a, KIT_NOTE, 1);
    }
    kit_await_all(k, "b.note(1)", "a.note(1)");
    kit_settle(k);
    kit_order(k, "p.decided(ESCALATE)", "p.suspend(OWN)", "g.decider(p)", "p.resume(OWN)");
    if (kit_workers(k) > 1)
        kit_order(k, "p.suspend(OWN)", "b.suspend(PARENT)", "b.resume(PARENT)", "b.note(1)");
    kit_order(k, "p.decided(ESCALATE)", "g.decider(p)", "g.decided(RESUME)", "a.note(1)");
    kit_expect_count(k, "a.suspend", 1);
    kit_expect_count(k, "b.suspend", kit_count(k, "b.resume"));
    kit_expect_count(k, "*.ctor", 4);
}

/* Permission is asked for every child: b's first failure is over b's budget, for a spent it. */
static void AF_06(kit *k)
{
    kit_family f = kit_plan(k, "p:all:restart(a,b)");
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 1;
    f.p->strategy.within_ns = -1;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await_all(k, "a#2.preStart", "b#2.preStart");
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await_all(k, "p.child_gone(a)", "p.child_gone(b)");
    kit_expect(k, "a.ctor=2", "b.ctor=2", "a.preRestart=1", "b.preRestart=1",
               "p.decided(RESTART)=2");
    kit_order(k, "b.fails(2)", "p.cause(2)", "a#2.postStop");
}

/* Two siblings fail while their parent is busy: two decisions, in turn. */
static family fail_both(kit *k, uint32_t limited)
{
    family f = {.p = kit_actor(k, "p")};
    kit_gate *gate = kit_gate_new(k);
    f.p->strategy.scope = AXO_ALL_FOR_ONE;
    f.p->strategy.limited = limited;
    f.p->strategy.retries_max = 1;
    f.p->strategy.within_ns = -1;
    f.p->directive = AXO_RESTART;
    (void)kit_spawn(k, f.p);
    f.a = kit_child(k, f.p, "a");
    f.b = kit_child(k, f.p, "b");
    f.c = kit_child(k, f.p, "c");
    if (kit_workers(k) == 1) {
        (void)kit_tell(k, f.a, KIT_FAIL, 1);
        if (limited)
            kit_await(k, "b#2.preStart");
        (void)kit_tell(k, f.b, KIT_FAIL, 2);
        return f;
    }
    (void)kit_wait_at(k, f.p, gate, 0);
    kit_gate_arrived(gate, 1);
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await_reported(k, f.a);
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    kit_await_reported(k, f.b);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell(k, f.c, KIT_NOTE, 1);
    kit_gate_open(gate);
    return f;
}

/* What c had of two restarts: one that met the other is counted and told, and was none of its own
 * (RR-11). */
static void expect_merged(kit *k, uint32_t least, uint32_t most)
{
    uint32_t merged = kit_count(k, "p.merge(c)");
    assert_in_range(merged, least, most);
    kit_expect_count(k, "*.merge", merged);
    assert_int_equal(kit_stats(k).restarts_merged, merged);
    kit_expect_count(k, "c.ctor", 3 - merged);
    kit_expect_count(k, "c.preRestart", 2 - merged);
    kit_expect_count(k, "c.postRestart", 2 - merged);
    kit_expect_count(k, "c.postRestart(1)", 1);
    kit_expect_count(k, "c.postRestart(2)", 1 - merged);
    kit_expect_count(k, "c.suspend", kit_count(k, "c.resume"));
}

static void AF_07(kit *k)
{
    (void)fail_both(k, 0);
    kit_await_all(k, "a#3.preStart", "b#3.preStart");
    kit_settle(k);
    kit_expect(k, "p.decider(a)=1", "p.decider(b)=1", "a.ctor=3", "b.ctor=3");
    expect_merged(k, 0, 1);
    kit_never(k, "*.dl");
    if (kit_workers(k) > 1) {
        kit_expect_count(k, "*.note", 3);
        kit_expect_count(k, "b#3.note(1)", 1); /* not between the two rounds */
    }
}

/* c is busy all the while: it has both before it looks, and is restarted once. */
static void AF_07_unseen(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    kit_gate *gate = kit_gate_new(k);
    f.p->directive = AXO_RESTART;
    (void)kit_wait_at(k, f.c, gate, 0);
    kit_gate_arrived(gate, 1);
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await_all(k, "a#2.preStart", "b#2.preStart");
    assert_int_equal(kit_stats(k).restarts_merged, 0);
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await_all(k, "a#3.preStart", "b#3.preStart", "p.merge(c)");
    kit_never(k, "c.suspend");
    (void)kit_tell(k, f.c, KIT_NOTE, 1);
    kit_gate_open(gate);
    kit_await(k, "c#2.note(1)");
    kit_settle(k);
    expect_merged(k, 1, 1);
    kit_order(k, "p.decided(RESTART)@1", "p.decided(RESTART)@2", "p.merge(c)", "c#1.preRestart(1)",
              "c#2.ctor");
}

/* c has begun, and ended, the first before the second is asked for. */
static void AF_07_seen(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    f.p->directive = AXO_RESTART;
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await_all(k, "a#2.preStart", "b#2.preStart", "c#2.preStart");
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await_all(k, "a#3.preStart", "b#3.preStart", "c#3.preStart");
    kit_settle(k);
    expect_merged(k, 0, 0);
}

static void AF_08(kit *k)
{
    (void)fail_both(k, 1);
    kit_await_all(k, "p.child_gone(a)", "p.child_gone(b)", "p.child_gone(c)");
    kit_expect_count(k, "p.decider", 2);
    assert_true(kit_count(k, "a.ctor") <= 2);
    assert_true(kit_count(k, "b.ctor") <= 2);
    kit_never(k, "*#3.ctor");
    kit_settle(k);
    if (kit_workers(k) > 1)
        kit_never(k, "b.note");
}

/* A sibling that terminates is left alone, and is not waited for. */
static void AF_09(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    kit_script *child = kit_child(k, f.c, "child");
    kit_gate *gate = kit_gate_new(k);
    f.p->directive = AXO_RESTART;
    (void)kit_wait_at(k, child, gate, 0);
    kit_gate_arrived(gate, 1);
    (void)axo_system_stop_actor(kit_system(k), kit_ref(f.c));
    if (kit_workers(k) > 1)
        kit_await(k, "c.stopping");
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    if (kit_workers(k) > 1) {
        kit_await_all(k, "a#2.preStart", "b#2.preStart");
        kit_never(k, "c.terminated");
    }
    kit_gate_open(gate);
    kit_await_all(k, "a#2.preStart", "b#2.preStart", "p.child_gone(c)");
    kit_settle(k);
    kit_expect(k, "c.ctor=1", "c.postStop=1", "c.preRestart=0", "child.ctor=1", "child.postStop=1");
    kit_order(k, "child.postStop", "c.postStop", "c.terminated");
}

/* A normal stop pulls nobody down. */
static void AF_10(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    (void)kit_tell(k, f.a, KIT_STOP_SELF, 0);
    kit_await(k, "p.child_gone(a)");
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    (void)kit_tell(k, f.c, KIT_NOTE, 1);
    kit_await_all(k, "b.note(1)", "c.note(1)");
    kit_settle(k);
    kit_expect(k, "p.decider=0", "*.suspend(OWN)=0", "*.suspend(PARENT)=0", "*.ctor=4",
               "*.postStop=1");
}

/* What was queued, before and during the restart, reaches the new instances in order. */
static void AF_11(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    kit_gate *busy = kit_gate_new(k);
    f.p->directive = AXO_RESTART;
    f.b->pre_restart.gate = kit_gate_new(k);
    if (kit_workers(k) > 1) {
        (void)kit_wait_at(k, f.b, busy, 0);
        kit_gate_arrived(busy, 1);
        (void)kit_tell(k, f.b, KIT_NOTE, 1);
        (void)kit_tell(k, f.b, KIT_NOTE, 2);
    }
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    if (kit_workers(k) > 1) {
        kit_await(k, "p.decided(RESTART)");
        (void)kit_tell(k, f.p, KIT_NOTE, 0);
        kit_await(k, "p.note(0)"); /* p has sent all that it decided */
        kit_gate_open(busy);
    }
    kit_gate_arrived(f.b->pre_restart.gate, 1);
    if (kit_workers(k) == 1) {
        (void)kit_tell(k, f.b, KIT_NOTE, 1);
        (void)kit_tell(k, f.b, KIT_NOTE, 2);
    }
    (void)kit_tell(k, f.b, KIT_NOTE, 3);
    kit_never(k, "b.note");
    kit_gate_open(f.b->pre_restart.gate);
    kit_await(k, "b.note(3)");
    kit_order(k, "b#2.ctor", "b#2.note(1)", "b#2.note(2)", "b#2.note(3)");
    kit_expect(k, "b.note=3", "b.ctor=2", "*.dl=0");
}

/* A helper drags its siblings along, unless a parent of its own stands between. */
static void AF_12(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    kit_script *helper = kit_child(k, f.c, "helper");
    (void)kit_tell(k, helper, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "helper#2.preStart");
    (void)kit_tell(k, helper, KIT_FAIL, KIT_DO_STOP);
    kit_await(k, "c.child_gone(helper)");
    kit_settle(k);
    kit_expect(k, "a.ctor=1", "b.ctor=1", "a.suspend=0");
    (void)kit_tell(k, f.b, KIT_FAIL, KIT_DO_RESTART);
    kit_await_all(k, "a#2.preStart", "b#2.preStart", "c#2.preStart");
}

/* Nested: one grandchild fails, and everybody below the top restarts once. */
static void AF_13(kit *k)
{
    kit_script *top = kit_actor(k, "top");
    kit_script *middle = kit_actor(k, "middle");
    kit_script *other;
    kit_script *x;
    kit_script *y;
    top->strategy.scope = AXO_ALL_FOR_ONE;
    top->directive = AXO_RESTART;
    middle->strategy.scope = AXO_ALL_FOR_ONE;
    middle->directive = AXO_ESCALATE;
    middle->keep_children = true;
    middle->no_default_start = true;
    (void)kit_spawn(k, top);
    kit_await(k, "top.preStart");
    (void)kit_spawn_child(k, top, middle, 0);
    kit_await(k, "middle.preStart");
    other = kit_child(k, top, "other");
    x = kit_child(k, middle, "x");
    y = kit_child(k, middle, "y");
    (void)kit_tell(k, x, KIT_FAIL, 13);
    kit_await_all(k, "x#2.preStart", "y#2.preStart", "other#2.preStart");
    for (int i = 0; i < 2; i++) {
        (void)kit_tell(k, x, KIT_NOTE, i);
        (void)kit_tell(k, y, KIT_NOTE, i);
        (void)kit_tell(k, other, KIT_NOTE, i);
        (void)kit_tell(k, middle, KIT_NOTE, i);
    }
    kit_await_count(k, "*.note", 8);
    kit_settle(k);
    kit_order(k, "middle.decider(x)", "top.decider(middle)", "middle#1.preRestart(13)",
              "middle#2.postRestart(13)", "x#1.preRestart(13)", "x#2.ctor", "x#2.note(0)");
    kit_order(k, "middle#2.postRestart(13)", "y#1.preRestart(13)", "y#2.ctor", "y#2.note(0)");
    kit_order(k, "top.decider(middle)", "other#1.preRestart(13)", "other#2.ctor");
    kit_expect(k, "*.postRestart(13)=4", "*.postRestart=4", "*.decider=2", "x.preRestartWith(13)=1",
               "*.preRestartNone=3", "top.ctor=1", "*.dl=0");
}

/* With one child, all for one is one for one. */
static void AF_14(kit *k)
{
    kit_family f = kit_tree(k, "p:all(a)");
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESTART);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_RESUME);
    (void)kit_tell(k, f.a, KIT_NOTE, 2);
    (void)kit_tell(k, f.a, KIT_FAIL, KIT_DO_STOP);
    kit_await(k, "p.child_gone(a)");
    kit_order(k, "a#1.preRestart", "a#2.ctor", "a#2.note(1)", "a#2.note(2)", "a#2.postStop",
              "a.terminated");
    kit_expect(k, "a.ctor=2", "a.suspend(OWN)=3", "a.suspend(PARENT)=0");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("AF-01", AF_01), KIT_TEST("AF-02", AF_02), KIT_TEST("AF-03", AF_03),
    KIT_TEST("AF-04", AF_04), KIT_TEST("AF-05", AF_05), KIT_TEST("AF-06", AF_06),
    KIT_TEST("AF-07", AF_07), PART_TEST_MANY("AF-07 unseen", AF_07_unseen),
    KIT_TEST("AF-07 seen", AF_07_seen), KIT_TEST("AF-08", AF_08), KIT_TEST("AF-09", AF_09),
    KIT_TEST("AF-10", AF_10), KIT_TEST("AF-11", AF_11), KIT_TEST("AF-12", AF_12),
    KIT_TEST("AF-13", AF_13), KIT_TEST("AF-14", AF_14),
};
TEST_MAIN(tests)
