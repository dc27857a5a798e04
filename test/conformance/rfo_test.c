/* rfo_test.c - rest for one: the failed child and those that were spawned after it. */
#include <stdio.h>

#include "support/kit.h"

/* A parent under /user, and its children a, b, c, spawned in this order. */
typedef struct family {
    kit_script *p;
    kit_script *a;
    kit_script *b;
    kit_script *c;
} family;

static kit_script *parent_of(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    p->strategy.scope = AXO_REST_FOR_ONE;
    return p;
}

static family family_with(kit *k, kit_script *p)
{
    family f = {.p = p};
    (void)kit_spawn(k, f.p);
    f.a = kit_child(k, f.p, "a");
    f.b = kit_child(k, f.p, "b");
    f.c = kit_child(k, f.p, "c");
    return f;
}

static family family_of(kit *k, axo_directive directive)
{
    kit_script *p = parent_of(k);
    p->directive = directive;
    return family_with(k, p);
}

static void untouched(kit *k, const char *label)
{
    static const char *const words[] = {"suspend", "resume", "directive", "postStop"};
    char pattern[64];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        (void)snprintf(pattern, sizeof pattern, "%s.%s", label, words[i]);
        kit_never(k, pattern);
    }
    (void)snprintf(pattern, sizeof pattern, "%s.ctor", label);
    kit_expect_count(k, pattern, 1);
}

/* The failed one with its message, the younger ones suspended first and with none. */
static void RFO_01(kit *k)
{
    family f = family_of(k, AXO_RESTART);
    (void)kit_tell(k, f.c, KIT_SET, 5);
    kit_await(k, "c.set(5)");
    (void)kit_tell(k, f.b, KIT_FAIL, 31);
    kit_await_all(k, "b#2.preStart", "c#2.preStart");
    (void)kit_tell(k, f.c, KIT_GET, 0);
    kit_await(k, "c#2.get(0)");
    kit_settle(k);
    untouched(k, "a");
    kit_expect(k, "b.preRestartWith(31)=1", "b.suspend(OWN)=1", "b.suspend=1", "c.preRestartNone=1",
               "c.suspend(PARENT)=1", "c.suspend=1", "*.postRestart(31)=2");
    kit_order(k, "p.decided(RESTART)", "c.suspend(PARENT)", "c.preRestart(31)", "c#2.ctor");
    kit_expect_count(k, "p.decider", 1);
}

static void RFO_02(kit *k)
{
    family f = family_of(k, AXO_STOP);
    (void)kit_tell(k, f.b, KIT_FAIL, 1);
    kit_await_all(k, "p.child_gone(b)", "p.child_gone(c)");
    kit_settle(k);
    untouched(k, "a");
    kit_expect(k, "*.postStop=2", "*.preRestart=0", "p.decider=1");
}

static void RFO_03(kit *k)
{
    family f = family_of(k, AXO_RESUME);
    (void)kit_tell(k, f.b, KIT_SET, 3);
    (void)kit_tell(k, f.b, KIT_FAIL, 1);
    (void)kit_tell(k, f.b, KIT_GET, 0);
    kit_await(k, "b.get(3)");
    kit_settle(k);
    kit_expect(k, "b.resume=1", "b.ctor=1");
    untouched(k, "a");
    untouched(k, "c");
}

/* Escalate: all siblings are suspended with the parent, the older one too, and resumed with it. */
static void RFO_04(kit *k)
{
    kit_script *g = kit_top(k, "g");
    kit_script *p = parent_of(k);
    kit_script *b;
    g->directive = AXO_RESUME;
    p->directive = AXO_ESCALATE;
    (void)kit_spawn_child(k, g, p, 0);
    kit_await(k, "p.preStart");
    (void)kit_child(k, p, "a");
    b = kit_child(k, p, "b");
    (void)kit_child(k, p, "c");
    (void)kit_tell(k, b, KIT_FAIL, 7);
    (void)kit_tell(k, b, KIT_NOTE, 1);
    kit_await(k, "b.note(1)");
    kit_settle(k);
    kit_order(k, "p.decided(ESCALATE)", "p.suspend(OWN)", "g.decider(p)", "p.resume(OWN)");
    kit_expect_count(k, "b.suspend", 1);
    kit_expect_count(k, "a.suspend", kit_count(k, "a.resume"));
    kit_expect_count(k, "c.suspend", kit_count(k, "c.resume"));
    kit_never(k, "*.preRestart");
}

/* The counters of those touched move, and no others: b's restart spends c's budget, not a's. */
static void RFO_05(kit *k)
{
    kit_script *p = parent_of(k);
    p->strategy.limited = 1;
    p->strategy.retries_max = 1;
    p->strategy.within_ns = -1;
    p->directive = AXO_RESTART;
    family f = family_with(k, p);
    (void)kit_tell(k, f.b, KIT_FAIL, 1);
    kit_await_all(k, "b#2.preStart", "c#2.preStart");
    (void)kit_tell(k, f.c, KIT_FAIL, 2);
    kit_await(k, "p.child_gone(c)");
    kit_settle(k);
    kit_expect(k, "b.ctor=2", "c.ctor=2");
    untouched(k, "a");
    (void)kit_tell(k, f.a, KIT_FAIL, 3); /* a may, b may not: both go */
    kit_await_all(k, "p.child_gone(a)", "p.child_gone(b)");
    kit_expect(k, "a.ctor=1", "b.ctor=2", "p.decided(RESTART)=3");
}

/* A younger sibling that terminates is left alone, and is not waited for. */
static void RFO_06(kit *k)
{
    family f = family_of(k, AXO_RESTART);
    kit_script *child = kit_child(k, f.c, "child");
    kit_gate *gate = kit_gate_new(k);
    (void)kit_wait_at(k, child, gate, 0);
    kit_gate_arrived(gate, 1);
    (void)kit_tell_ref(k, f.p, KIT_STOP, kit_ref(f.c));
    if (kit_workers(k) > 1)
        kit_await(k, "c.stopping");
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    if (kit_workers(k) > 1) {
        kit_await_all(k, "a#2.preStart", "b#2.preStart");
        kit_never(k, "c.terminated");
    }
    kit_gate_open(gate);
    kit_await_all(k, "b#2.preStart", "p.child_gone(c)");
    kit_settle(k);
    kit_expect(k, "c.ctor=1", "c.postStop=1", "c.preRestart=0");
}

/* The oldest takes all with it, the youngest nobody. */
static void RFO_07(kit *k)
{
    family f = family_of(k, AXO_RESTART);
    (void)kit_tell(k, f.c, KIT_FAIL, 1);
    kit_await(k, "c#2.preStart");
    kit_settle(k);
    untouched(k, "a");
    untouched(k, "b");
    (void)kit_tell(k, f.a, KIT_FAIL, 2);
    kit_await_all(k, "a#2.preStart", "b#2.preStart", "c#3.preStart");
    kit_settle(k);
    kit_expect_count(k, "*.postRestart(2)", 3);
}

/* A restart keeps the place: the order is that of the spawns, a newcomer is the youngest. */
static void RFO_08(kit *k)
{
    family f = family_of(k, AXO_RESTART);
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await_all(k, "a#2.preStart", "b#2.preStart", "c#2.preStart");
    (void)kit_tell_ref(k, f.p, KIT_STOP, kit_ref(f.c));
    kit_await(k, "p.child_gone(c)");
    (void)kit_child(k, f.p, "d");
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await_all(k, "b#3.preStart", "d#2.preStart");
    kit_settle(k);
    kit_expect(k, "a.ctor=2", "c.ctor=2");
}

/* Two fail while their parent is busy: two decisions, each for its own rest. */
static void RFO_09(kit *k)
{
    family f = family_of(k, AXO_RESTART);
    kit_gate *gate = kit_gate_new(k);
    if (kit_workers(k) > 1) {
        (void)kit_wait_at(k, f.p, gate, 0);
        kit_gate_arrived(gate, 1);
    }
    (void)kit_tell(k, f.b, KIT_FAIL, 1);
    (void)kit_tell(k, f.c, KIT_FAIL, 2);
    (void)kit_tell(k, f.c, KIT_NOTE, 1);
    if (kit_workers(k) > 1) {
        kit_await_reported(k, f.b);
        kit_await_reported(k, f.c);
        kit_gate_open(gate);
    }
    kit_await_all(k, "p.decided(RESTART)@2", "c.note(1)");
    kit_settle(k);
    kit_expect(k, "p.decider(b)=1", "p.decider(c)=1", "b.ctor=2");
    assert_in_range(kit_count(k, "c.ctor"), 2, 3);
    untouched(k, "a");
    kit_never(k, "*.dl");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RFO-01", RFO_01), KIT_TEST("RFO-02", RFO_02), KIT_TEST("RFO-03", RFO_03),
    KIT_TEST("RFO-04", RFO_04), KIT_TEST("RFO-05", RFO_05), KIT_TEST("RFO-06", RFO_06),
    KIT_TEST("RFO-07", RFO_07), KIT_TEST("RFO-08", RFO_08), KIT_TEST("RFO-09", RFO_09),
};
TEST_MAIN(tests)
