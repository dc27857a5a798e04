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
        kit_await(k, "b.note(1)");
        kit_await(k, "c.note(1)");
        kit_never(k, "p.decided");
    }
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "a#2.preStart");
    (void)kit_tell(k, f.b, KIT_FAIL, KIT_DO_RESTART);
    (void)kit_tell(k, f.c, KIT_FAIL, KIT_DO_STOP);
    kit_await(k, "b#2.preStart");
    kit_await(k, "c.terminated");
    kit_settle(k);
    kit_expect_count(k, "a.ctor", 2);
    kit_expect_count(k, "b.ctor", 2);
    kit_expect_count(k, "c.ctor", 1);
    kit_expect_count(k, "*.note", 2);
    kit_expect_count(k, "a.suspend", 1);
    kit_expect_count(k, "b.suspend", 1);
    kit_expect_count(k, "c.suspend(OWN)", 1);
    kit_never(k, "*.suspend(PARENT)");
}

/* Restart for all: the perpetrator with its message, the others suspended first and with none. */
static void AF_02(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    f.p->directive = AXO_RESTART;
    (void)kit_tell(k, f.b, KIT_SET, 5);
    kit_await(k, "b.set(5)");
    (void)kit_tell(k, f.a, KIT_FAIL, 31);
    kit_await(k, "a#2.preStart");
    kit_await(k, "b#2.preStart");
    kit_await(k, "c#2.preStart");
    (void)kit_tell(k, f.b, KIT_GET, 0);
    kit_settle(k);
    kit_expect_count(k, "*.postRestart(31)", 3);
    kit_expect_count(k, "*.postRestart", 3);
    kit_expect_count(k, "a.preRestartWith(31)", 1);
    kit_expect_count(k, "b.preRestartNone", 1);
    kit_expect_count(k, "c.preRestartNone", 1);
    kit_expect_count(k, "a.suspend(OWN)", 1);
    kit_expect_count(k, "a.suspend", 1);
    kit_expect_count(k, "b.suspend(PARENT)", 1);
    kit_expect_count(k, "b.suspend", 1);
    kit_expect_count(k, "c.suspend(PARENT)", 1);
    kit_order(k, "p.decided(RESTART)", "b.suspend(PARENT)", "b.preRestart(31)", "b#2.ctor",
              "b#2.get(0)");
    kit_order(k, "p.decided(RESTART)", "c.suspend(PARENT)", "c.preRestart(31)", "c#2.ctor");
    kit_order(k, "a.suspend(OWN)", "p.decided(RESTART)", "a.preRestart(31)", "a#2.ctor");
    kit_expect_count(k, "p.decider", 1);
    kit_expect_count(k, "p.ctor", 1);
}

/* Stop for all. */
static void AF_03(kit *k)
{
    family f = family_of(k, AXO_ALL_FOR_ONE);
    f.p->directive = AXO_STOP;
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await(k, "p.child_gone(a)");
    kit_await(k, "p.child_gone(b)");
    kit_await(k, "p.child_gone(c)");
    (void)kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "p.note(1)");
    kit_expect_count(k, "*.postStop", 3);
    kit_expect_count(k, "b.postStop", 1);
    kit_never(k, "*.preRestart");
    kit_expect_count(k, "*.ctor", 4);
    kit_expect_count(k, "p.decider", 1);
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
    kit_expect_count(k, "a.resume", 1);
    kit_never(k, "b.resume");
    kit_never(k, "b.suspend");
    kit_never(k, "b.directive");
    kit_never(k, "c.resume");
    kit_never(k, "c.suspend");
    kit_never(k, "c.directive");
    kit_expect_count(k, "*.ctor", 4);
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
    kit_await(k, "b.note(1)");
    kit_await(k, "a.note(1)");
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
    kit_await(k, "a#2.preStart");
    kit_await(k, "b#2.preStart");
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await(k, "p.child_gone(a)");
    kit_await(k, "p.child_gone(b)");
    kit_expect_count(k, "a.ctor", 2);
    kit_expect_count(k, "b.ctor", 2);
    kit_expect_count(k, "a.preRestart", 1);
    kit_expect_count(k, "b.preRestart", 1);
    kit_expect_count(k, "p.decided(RESTART)", 2);
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
    kit_await(k, "a#3.preStart");
    kit_await(k, "b#3.preStart");
    kit_settle(k);
    kit_expect_count(k, "p.decider(a)", 1);
    kit_expect_count(k, "p.decider(b)", 1);
    kit_expect_count(k, "a.ctor", 3);
    kit_expect_count(k, "b.ctor", 3);
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
    kit_await(k, "a#2.preStart");
    kit_await(k, "b#2.preStart");
    assert_int_equal(kit_stats(k).restarts_merged, 0);
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await(k, "a#3.preStart");
    kit_await(k, "b#3.preStart");
    kit_await(k, "p.merge(c)");
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
    kit_await(k, "a#2.preStart");
    kit_await(k, "b#2.preStart");
    kit_await(k, "c#2.preStart");
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await(k, "a#3.preStart");
    kit_await(k, "b#3.preStart");
    kit_await(k, "c#3.preStart");
    kit_settle(k);
    expect_merged(k, 0, 0);
}

static void AF_08(kit *k)
{
    (void)fail_both(k, 1);
    kit_await(k, "p.child_gone(a)");
    kit_await(k, "p.child_gone(b)");
    kit_await(k, "p.child_gone(c)");
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
        kit_await(k, "a#2.preStart");
        kit_await(k, "b#2.preStart");
        kit_never(k, "c.terminated");
    }
    kit_gate_open(gate);
    kit_await(k, "a#2.preStart");
    kit_await(k, "b#2.preStart");
    kit_await(k, "p.child_gone(c)");
    kit_settle(k);
    kit_expect_count(k, "c.ctor", 1);
    kit_expect_count(k, "c.postStop", 1);
    kit_never(k, "c.preRestart");
    kit_expect_count(k, "child.ctor", 1);
    kit_expect_count(k, "child.postStop", 1);
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
    kit_await(k, "b.note(1)");
    kit_await(k, "c.note(1)");
    kit_settle(k);
    kit_never(k, "p.decider");
    kit_never(k, "*.suspend(OWN)");
    kit_never(k, "*.suspend(PARENT)");
    kit_expect_count(k, "*.ctor", 4);
    kit_expect_count(k, "*.postStop", 1);
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
    kit_expect_count(k, "b.note", 3);
    kit_expect_count(k, "b.ctor", 2);
    kit_never(k, "*.dl");
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
    kit_expect_count(k, "a.ctor", 1);
    kit_expect_count(k, "b.ctor", 1);
    kit_never(k, "a.suspend");
    (void)kit_tell(k, f.b, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "a#2.preStart");
    kit_await(k, "b#2.preStart");
    kit_await(k, "c#2.preStart");
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
    kit_await(k, "x#2.preStart");
    kit_await(k, "y#2.preStart");
    kit_await(k, "other#2.preStart");
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
    kit_expect_count(k, "*.postRestart(13)", 4);
    kit_expect_count(k, "*.postRestart", 4);
    kit_expect_count(k, "*.decider", 2);
    kit_expect_count(k, "x.preRestartWith(13)", 1);
    kit_expect_count(k, "*.preRestartNone", 3);
    kit_expect_count(k, "top.ctor", 1);
    kit_never(k, "*.dl");
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
    kit_expect_count(k, "a.ctor", 2);
    kit_expect_count(k, "a.suspend(OWN)", 3);
    kit_never(k, "a.suspend(PARENT)");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("AF-01", AF_01), KIT_TEST("AF-02", AF_02), KIT_TEST("AF-03", AF_03),
    KIT_TEST("AF-04", AF_04), KIT_TEST("AF-05", AF_05), KIT_TEST("AF-06", AF_06),
    KIT_TEST("AF-07", AF_07), PART_TEST_MANY("AF-07 unseen", AF_07_unseen),
    KIT_TEST("AF-07 seen", AF_07_seen), KIT_TEST("AF-08", AF_08), KIT_TEST("AF-09", AF_09),
    KIT_TEST("AF-10", AF_10), KIT_TEST("AF-11", AF_11), KIT_TEST("AF-12", AF_12),
    KIT_TEST("AF-13", AF_13), KIT_TEST("AF-14", AF_14),
};
KIT_MAIN(tests)
