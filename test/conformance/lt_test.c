/* lt_test.c - transient, permanent and temporary children. */
#include <stdio.h>

#include "parts.h"

static kit_script *lasting(kit *k, kit_script *parent, const char *label, axo_lifetime lifetime)
{
    kit_script *script = kit_actor(k, label);
    char pattern[64];
    script->lifetime = lifetime;
    (void)kit_spawn_child(k, parent, script, 0);
    (void)snprintf(pattern, sizeof pattern, "%s.preStart", label);
    kit_await(k, pattern);
    return script;
}

static kit_script *parent_of(kit *k, axo_scope scope)
{
    kit_script *p = kit_actor(k, "p");
    p->strategy.scope = scope;
    p->decide = part_decide;
    (void)kit_spawn(k, p);
    return p;
}

static void LT_01(kit *k)
{
    kit_script *p = parent_of(k, AXO_ONE_FOR_ONE);
    kit_script *a = lasting(k, p, "a", AXO_TRANSIENT);
    (void)kit_tell(k, a, KIT_FAIL, 1);
    kit_await(k, "a#2.preStart");
    (void)kit_tell(k, a, KIT_STOP_SELF, 0);
    kit_await(k, "p.child_gone(a)");
    kit_expect(k, "p.decider=1", "a.ctor=2");
}

/* Restart becomes Stop: for the temporary child alone, whatever the scope, and its budget and its
 * siblings' are not touched. */
static void LT_02(kit *k)
{
    kit_family f = kit_plan(k, "p:all:restart(a)");
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 1;
    f.p->strategy.within_ns = -1;
    kit_grow(&f);
    kit_script *t = lasting(k, f.p, "t", AXO_TEMPORARY);
    (void)kit_tell(k, t, KIT_FAIL, 1);
    (void)kit_tell(k, t, KIT_NOTE, 1);
    kit_await(k, "p.child_gone(t)");
    kit_expect(k, "t.ctor=1", "t.postStop=1", "t.preRestart=0", "t.note=0");
    kit_await(k, "t.dl(NOTE)");
    (void)kit_tell(k, f.a, KIT_FAIL, 2); /* a's one restart is still there */
    kit_await(k, "a#2.preStart");
    kit_settle(k);
    kit_never(k, "a.suspend(PARENT)");
}

/* Its other decisions are as for anybody. */
static void LT_02_resume_and_stop(kit *k)
{
    kit_script *p = parent_of(k, AXO_ALL_FOR_ONE);
    p->directive = AXO_RESUME;
    kit_script *a = kit_child(k, p, "a");
    kit_script *t = lasting(k, p, "t", AXO_TEMPORARY);
    (void)kit_tell(k, t, KIT_FAIL, 1);
    (void)kit_tell(k, t, KIT_NOTE, 1);
    kit_await(k, "t#1.note(1)");
    kit_settle(k);
    p->directive = AXO_STOP;
    (void)kit_tell(k, t, KIT_FAIL, 1);
    kit_await_all(k, "p.child_gone(t)", "p.child_gone(a)");
    (void)a;
}

/* A sibling's restart stops it, under all for one and, if it is younger, under rest for one. */
static void LT_03(void **state)
{
    static const axo_scope scopes[] = {AXO_ALL_FOR_ONE, AXO_REST_FOR_ONE};
    for (int i = 0; i < 2; i++) {
        kit *k = kit_start(state, NULL);
        kit_script *p = parent_of(k, scopes[i]);
        (void)lasting(k, p, "old", AXO_TEMPORARY);
        kit_script *a = kit_child(k, p, "a");
        kit_script *young = lasting(k, p, "young", AXO_TEMPORARY);
        kit_script *c = lasting(k, p, "c", AXO_PERMANENT);
        (void)kit_tell(k, young, KIT_SET, 1);
        kit_await(k, "young.set(1)");
        (void)kit_tell(k, a, KIT_FAIL, 1);
        kit_await_all(k, "a#2.preStart", "c#2.preStart", "p.child_gone(young)");
        if (scopes[i] == AXO_ALL_FOR_ONE)
            kit_await(k, "p.child_gone(old)");
        (void)kit_tell(k, c, KIT_NOTE, 1);
        kit_await(k, "c#2.note(1)");
        kit_settle(k);
        kit_expect(k, "young.ctor=1", "young.preRestart=0");
        kit_expect_count(k, "old.postStop", scopes[i] == AXO_ALL_FOR_ONE ? 1 : 0);
        kit_expect_count(k, "p.decider", 1);
        kit_finish(k);
    }
}

/* A parent that restarts and keeps its children keeps no temporary one: not the one that failed,
 * not the others. */
static void LT_04(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:escalate:keep)");
    f.p->no_default_start = true;
    kit_grow(&f);
    kit_script *t = lasting(k, f.p, "t", AXO_TEMPORARY);
    (void)lasting(k, f.p, "u", AXO_TEMPORARY);
    (void)lasting(k, f.p, "c", AXO_PERMANENT);
    (void)kit_tell(k, t, KIT_FAIL, 1);
    kit_await_all(k, "p#2.postRestart", "p.child_gone(t)", "p.child_gone(u)", "c#2.preStart");
    kit_settle(k);
    kit_expect(k, "t.ctor=1", "u.ctor=1", "t.preRestart=0", "u.preRestart=0");
}

/* Resume of one that failed to start would be a second creation: it stops. */
static void LT_05(kit *k)
{
    kit_script *p = parent_of(k, AXO_ONE_FOR_ONE);
    kit_script *t = kit_actor(k, "t");
    p->directive = AXO_RESUME;
    t->lifetime = AXO_TEMPORARY;
    t->pre_start.fail_first = 1;
    (void)kit_spawn_child(k, p, t, 0);
    kit_await(k, "p.child_gone(t)");
    kit_expect(k, "t.ctor=1", "p.decided(RESUME)=1");
}

/* How a permanent actor ends by itself; the sender of KIT_STOP is the test or a stranger. */
typedef void (*end_fn)(kit *k, kit_script *a, kit_script *stranger);

static void end_stop_self(kit *k, kit_script *a, kit_script *stranger)
{
    (void)kit_tell(k, a, KIT_STOP_SELF, 0);
}

static void end_pill(kit *k, kit_script *a, kit_script *stranger)
{
    (void)axo_system_poison(kit_system(k), kit_ref(a));
}

static void end_stranger(kit *k, kit_script *a, kit_script *stranger)
{
    (void)kit_tell_ref(k, stranger, KIT_STOP, kit_ref(a));
}

static void end_outside(kit *k, kit_script *a, kit_script *stranger)
{
    (void)axo_system_stop_actor(kit_system(k), kit_ref(a));
}

static const end_fn ends[] = {end_stop_self, end_pill, end_stranger, end_outside};

/* It fails with ENDED, and by default it is restarted: same reference, and its mailbox is kept. */
static void LT_06(kit *k)
{
    kit_script *p = parent_of(k, AXO_ONE_FOR_ONE);
    kit_script *x = kit_top(k, "x");
    kit_script *a = lasting(k, p, "a", AXO_PERMANENT);
    (void)kit_tell_ref(k, x, KIT_WATCH, kit_ref(a));
    for (int i = 0; i < 4; i++) {
        char pattern[32];
        uint64_t bits = kit_ref(a).bits;
        ends[i](k, a, x);
        (void)kit_tell(k, a, KIT_NOTE, i);
        (void)snprintf(pattern, sizeof pattern, "a#%d.preStart", i + 2);
        kit_await(k, pattern);
        (void)snprintf(pattern, sizeof pattern, "a.note(%d)", i);
        kit_await(k, pattern);
        assert_int_equal(kit_ref(a).bits, bits);
    }
    kit_settle(k);
    kit_expect(k, "p.kind(ENDED)=4", "p.origin(a)=4", "p.decided(RESTART)=4", "a.preRestartNone=4",
               "a.postStop=4", "a.terminated=0", "x.term=0", "*.dl=0");
}

/* What its own callbacks want is a failure of the instance that said so. */
static void LT_06_in_hooks(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    kit_script *a = kit_actor(k, "a");
    a->lifetime = AXO_PERMANENT;
    a->construct.run = part_stop_self;
    p->strategy.limited = 1;
    p->strategy.retries_max = 3;
    p->strategy.within_ns = -1;
    (void)kit_spawn(k, p);
    (void)kit_spawn_child(k, p, a, 0);
    kit_await(k, "p.child_gone(a)");
    kit_expect(k, "a.ctor=4", "p.decider(a)=4", "a.postStop=4");
}

/* It ends for its parent: told so, by the decider, with it, and at shutdown. */
static void LT_07(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_script *p = parent_of(k, AXO_ONE_FOR_ONE);
    kit_script *a = lasting(k, p, "a", AXO_PERMANENT);
    kit_script *b = lasting(k, p, "b", AXO_PERMANENT);
    (void)lasting(k, p, "c", AXO_PERMANENT);
    (void)kit_tell_ref(k, p, KIT_STOP, kit_ref(a));
    kit_await(k, "p.child_gone(a)");
    p->directive = AXO_STOP;
    (void)kit_tell(k, b, KIT_STOP_SELF, 0);
    kit_await(k, "p.child_gone(b)");
    (void)kit_tell(k, p, KIT_STOP_SELF, 0);
    kit_await_all(k, "c.terminated", "p.terminated");
    kit_script *top = kit_actor(k, "top");
    top->lifetime = AXO_PERMANENT;
    (void)kit_spawn(k, top);
    kit_await(k, "top.preStart");
    kit_settle(k);
    kit_expect(k, "p.decider=1", "*.ctor=5");
    kit_finish(k); /* shutdown ends `top` */
}

/* The parent's stop and another's at once: it ends, and nobody is asked. */
static axo_status stop_both(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_system_stop_actor(axo_system_of(ctx), kit_ref(arg)) == AXO_OK);
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(arg)) == AXO_OK);
    kit_mark(self, "stops", 0);
    return AXO_OK;
}

static void LT_07_both(kit *k)
{
    kit_script *p = parent_of(k, AXO_ONE_FOR_ONE);
    kit_script *a = lasting(k, p, "a", AXO_PERMANENT);
    kit_gate *gate = kit_gate_new(k);
    if (kit_workers(k) > 1) {
        (void)kit_wait_at(k, a, gate, 0);
        kit_gate_arrived(gate, 1);
    }
    (void)kit_run(k, p, stop_both, a);
    kit_await(k, "p.stops");
    kit_gate_open(gate);
    kit_await(k, "p.child_gone(a)");
    kit_expect(k, "p.decider=0", "a.ctor=1");
}

/* A stop that finds it failed waits for the answer: a restart takes it in, Resume does not. */
static void LT_08(void **state)
{
    static const axo_directive answers[] = {AXO_RESTART, AXO_RESUME};
    for (int i = 0; i < 2; i++) {
        kit *k = kit_start(state, NULL);
        kit_script *p = kit_actor(k, "p");
        p->decider.gate = kit_gate_new(k);
        p->decide = part_decide;
        (void)kit_spawn(k, p);
        kit_script *a = lasting(k, p, "a", AXO_PERMANENT);
        p->directive = answers[i];
        (void)kit_tell(k, a, KIT_FAIL, 1);
        kit_gate_arrived(p->decider.gate, 1);
        (void)axo_system_stop_actor(kit_system(k), kit_ref(a));
        kit_never(k, "a.terminated");
        kit_gate_open(p->decider.gate);
        if (answers[i] == AXO_RESUME)
            kit_await(k, "p.kind(ENDED)");
        else
            kit_await(k, "a#2.preStart");
        kit_settle(k);
        kit_expect_count(k, "p.decider", answers[i] == AXO_RESUME ? 2 : 1);
        kit_expect_count(k, "a.ctor", answers[i] == AXO_RESUME ? 1 : 2);
        kit_never(k, "a.terminated");
        kit_finish(k);
    }
}

/* One that comes while it waits for its children in a restart belongs to that restart. */
static void LT_08_in_a_restart(kit *k)
{
    kit_script *p = parent_of(k, AXO_ONE_FOR_ONE);
    kit_script *a = lasting(k, p, "a", AXO_PERMANENT);
    kit_script *child = kit_child(k, a, "child");
    child->post_stop.gate = kit_gate_new(k);
    (void)kit_tell(k, a, KIT_FAIL, 1);
    kit_gate_arrived(child->post_stop.gate, 1);
    (void)axo_system_stop_actor(kit_system(k), kit_ref(a));
    kit_gate_open(child->post_stop.gate);
    kit_await(k, "a#2.preStart");
    (void)kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "a#2.note(1)");
    kit_settle(k);
    kit_expect(k, "p.decider=1", "a.ctor=2");
}

/* Its ends count: two restarts, and the third end is the last. */
static void LT_09(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    p->strategy.limited = 1;
    p->strategy.retries_max = 2;
    p->strategy.within_ns = -1;
    (void)kit_spawn(k, p);
    kit_script *a = lasting(k, p, "a", AXO_PERMANENT);
    for (int i = 0; i < 3; i++)
        (void)kit_tell(k, a, KIT_STOP_SELF, 0);
    kit_await(k, "p.child_gone(a)");
    kit_expect(k, "a.ctor=3", "p.decided(RESTART)=3");
}

/* Resume: as if nobody had wanted it stopped. */
static void LT_10(kit *k)
{
    kit_script *p = parent_of(k, AXO_ONE_FOR_ONE);
    kit_script *a = lasting(k, p, "a", AXO_PERMANENT);
    p->directive = AXO_RESUME;
    (void)kit_tell(k, a, KIT_SET, 4);
    (void)kit_tell(k, a, KIT_STOP_SELF, 0);
    (void)kit_tell(k, a, KIT_GET, 0);
    kit_await(k, "a#1.get(4)");
    kit_settle(k);
    kit_expect(k, "a.ctor=1", "a.postStop=0");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("LT-01", LT_01),
    KIT_TEST("LT-02", LT_02),
    KIT_TEST("LT-02 resume and stop", LT_02_resume_and_stop),
    KIT_TEST("LT-03", LT_03),
    KIT_TEST("LT-04", LT_04),
    KIT_TEST("LT-05", LT_05),
    KIT_TEST("LT-06", LT_06),
    KIT_TEST("LT-06 in hooks", LT_06_in_hooks),
    KIT_TEST("LT-07", LT_07),
    KIT_TEST("LT-07 both", LT_07_both),
    KIT_TEST("LT-08", LT_08),
    KIT_TEST("LT-08 in a restart", LT_08_in_a_restart),
    KIT_TEST("LT-09", LT_09),
    KIT_TEST("LT-10", LT_10),
};
TEST_MAIN(tests)
