/* pk_test.c - PoisonPill and Kill (PK). */
#include "conformance/parts.h"

static void PK_01(kit *k)
{
    kit_family f = kit_tree(k, "a, q");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, f.a, part_hold, gate);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_tell_as(k, f.q, f.a, KIT_PING, 2);
    assert_int_equal(axo_system_poison(kit_system(k), kit_ref(f.a)), AXO_OK);
    kit_tell(k, f.a, KIT_NOTE, 3);
    kit_tell(k, f.a, 1001, 0);
    kit_gate_arrived(gate, 1);
    kit_never(k, "a.postStop");
    kit_gate_open(gate);
    kit_await_all(k, "q.pong(2)", "a.terminated");
    kit_order(k, "a.end", "a.note(1)", "a.ping(2)", "a.postStop", "a.dl(NOTE)", "a.dl(1001)",
              "a.terminated");
    kit_expect(k, "a.note=1", "a.dl=2");
}

static void PK_02(kit *k)
{
    kit_script *a = part_start(k, "a");
    axo_stats before;
    axo_stats after;
    kit_settle(k);
    before = kit_stats(k);
    kit_tell(k, a, KIT_NOTE, 1);
    axo_system_poison(kit_system(k), kit_ref(a));
    kit_await(k, "user.child_gone(a)");
    after = kit_stats(k);
    /* Its receive was called for the note alone; the pill is accounted for as handled. */
    assert_int_equal(a->receive.calls, 1);
    kit_never(k, "a.stash");
    assert_int_equal(after.sent - before.sent, 2);
    assert_int_equal(after.handled, after.sent);
    assert_int_equal(after.dead, 0);
    assert_int_equal(after.unhandled, before.unhandled);
}

static void PK_03(kit *k)
{
    kit_family f = kit_plan(k, "p:restart[a]");
    f.p->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_gate_arrived(f.p->decider.gate, 1);
    kit_tell(k, f.a, KIT_NOTE, 1);
    axo_system_poison(kit_system(k), kit_ref(f.a));
    kit_tell(k, f.a, 1001, 0);
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "p.child_gone(a)");
    kit_order(k, "p.decided(RESTART)", "a#1.postStop", "a#2.ctor", "a#2.note(1)", "a#2.postStop",
              "a.dl(1001)", "a.terminated");
    kit_expect(k, "a.postStop=2", "a.ctor=2", "a.stash=0");
}

static void PK_04(kit *k)
{
    kit_family f = kit_tree(k, "a, b");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, f.a, part_hold, gate);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_gate_arrived(gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.a));
    kit_gate_open(gate);
    kit_await(k, "a.terminated");
    kit_order(k, "a.end", "a.postStop", "a.dl(NOTE)");
    kit_never(k, "a.note");
    gate = kit_gate_new(k);
    kit_run(k, f.b, part_hold, gate);
    kit_tell(k, f.b, KIT_NOTE, 2);
    kit_gate_arrived(gate, 1);
    axo_system_poison(kit_system(k), kit_ref(f.b));
    kit_gate_open(gate);
    kit_await(k, "b.terminated");
    kit_order(k, "b.end", "b.note(2)", "b.postStop");
    kit_never(k, "b.dl");
}

/* a has a value, a message before its Kill and one behind it. */
static kit_script *pk_kill(kit *k, axo_directive directive)
{
    kit_script *p = kit_actor(k, "p");
    kit_script *a = kit_actor(k, "a");
    kit_gate *gate = kit_gate_new(k);
    p->pre_start.spawn[0] = a;
    p->directive = directive;
    p->decide = part_decide;
    kit_spawn(k, p);
    kit_await(k, "a.preStart");
    kit_run(k, a, part_hold, gate);
    kit_tell(k, a, KIT_SET, 5);
    assert_int_equal(axo_system_kill(kit_system(k), kit_ref(a)), AXO_OK);
    kit_tell(k, a, KIT_GET, 0);
    kit_gate_arrived(gate, 1);
    kit_never(k, "p.decider");
    kit_gate_open(gate);
    kit_await(k, "p.decided");
    kit_order(k, "a.end", "a.set(5)", "p.decider(a)", "p.kind(KILLED)", "p.origin(a)", "p.decided");
    return a;
}

static void PK_05(kit *k)
{
    (void)pk_kill(k, 0);
    kit_await(k, "p.child_gone(a)");
    kit_order(k, "p.decided(STOP)", "a.postStop", "a.dl(GET)", "a.terminated");
    kit_expect(k, "a.ctor=1", "a.postStop=1", "a.preRestart=0");
}

static void PK_05_restart(kit *k)
{
    (void)pk_kill(k, AXO_RESTART);
    kit_await(k, "a.get");
    kit_order(k, "p.decided(RESTART)", "a#1.preRestart", "a#1.postStop", "a#2.ctor",
              "a#2.postRestart", "a#2.preStart", "a#2.get(0)");
    kit_expect_count(k, "a.ctor", 2);
}

static void PK_05_resume(kit *k)
{
    (void)pk_kill(k, AXO_RESUME);
    kit_await(k, "a#1.get(5)");
    kit_expect(k, "a.ctor=1", "a.preRestart=0", "a.postStop=0");
}

static axo_status pk_to_the_dead(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_poison(ctx, kit_ref(arg)) == AXO_EGONE);
    KIT_REQUIRE(self->k, axo_kill(ctx, kit_ref(arg)) == AXO_EGONE);
    return AXO_OK;
}

/* To one that is gone, from outside and from an actor; and left in the mailbox of one that ends. */
/* As dead letters show them: AXO_POISON_PILL, AXO_KILL. */
#define PK_PILL "dl(POISON_PILL)"
#define PK_KILL "dl(KILL)"

static void PK_06(kit *k)
{
    kit_family f = kit_tree(k, "a, b, s");
    kit_gate *gate = kit_gate_new(k);
    kit_tell(k, f.a, KIT_STOP_SELF, 0);
    kit_await(k, "user.child_gone(a)");
    assert_int_equal(axo_system_poison(kit_system(k), kit_ref(f.a)), AXO_EGONE);
    kit_expect_count(k, "a." PK_PILL, 1);
    kit_expect_count(k, "a.dlSuppressed", 1);
    assert_int_equal(axo_system_kill(kit_system(k), kit_ref(f.a)), AXO_EGONE);
    kit_run(k, f.s, pk_to_the_dead, f.a);
    kit_await(k, "a." PK_KILL "@2");
    kit_settle(k);
    kit_expect_count(k, "a." PK_PILL, 2);
    kit_expect(k, "a.dlSuppressed(POISON_PILL)=2", "a.dlSuppressed=2", "a.dlFrom(s)=2");
    kit_run(k, f.b, part_hold, gate);
    kit_gate_arrived(gate, 1);
    (void)axo_system_poison(kit_system(k), kit_ref(f.b));
    (void)axo_system_kill(kit_system(k), kit_ref(f.b));
    axo_system_stop_actor(kit_system(k), kit_ref(f.b));
    kit_gate_open(gate);
    kit_await(k, "user.child_gone(b)");
    kit_order(k, "b." PK_PILL, "b.dlSuppressed(POISON_PILL)", "b." PK_KILL, "b.terminated");
    kit_never(k, "*.fail");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("PK-01", PK_01),
    KIT_TEST("PK-02", PK_02),
    KIT_TEST("PK-03", PK_03),
    KIT_TEST("PK-04", PK_04),
    KIT_TEST("PK-05 default", PK_05),
    KIT_TEST("PK-05 restart", PK_05_restart),
    KIT_TEST("PK-05 resume", PK_05_resume),
    KIT_TEST("PK-06", PK_06),
};

TEST_MAIN(tests)
