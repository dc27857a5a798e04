/* rs_test.c - the restart sequence: conformance RS-01 to RS-16. */
#include "conformance/family.h"
#include "conformance/parts.h"

static void RS_01(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a,b:plain)");
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a#2.note(1)");
    kit_order(k, "a#1.ctor", "a#1.preStart", "a#1.fails(7)", "p.decider(a)", "p.decided(RESTART)",
              "a#1.preRestart(7)", "a#1.preRestartWith(7)", "a#1.postStop", "a.freed(1)",
              "a#2.ctor", "a#2.postRestart(7)", "a#2.preStart", "a#2.note(1)");
    /* The same from NULL hooks, and from a thrown failure. */
    kit_tell(k, f.b, KIT_THROW, 8);
    kit_tell(k, f.b, KIT_NOTE, 2);
    kit_await(k, "b#2.note(2)");
    kit_order(k, "b#1.ctor", "b#1.preStart", "b#1.fails(8)", "p.decider(b)", "b#1.postStop",
              "b.freed(1)", "b#2.ctor", "b#2.preStart", "b#2.note(2)");
    kit_settle(k);
    for (int i = 0; i < 2; i++) {
        kit_script *who = i == 0 ? f.a : f.b;
        family_expect(k, who, "ctor", 2);
        family_expect(k, who, "preStart", 2);
        family_expect(k, who, "postStop", 1);
        family_expect(k, who, "freed", 1);
        family_expect(k, who, "fails", 1);
    }
    kit_expect(k, "a.preRestart=1", "a.postRestart=1", "p.decider=2");
    assert_int_equal(kit_stats(k).restarts, 2);
}

static void RS_02(kit *k)
{
    kit_family f = kit_plan(k, "p:restart(a:keep)");
    f.a->no_default_start = true;
    kit_grow(&f);
    for (uint32_t i = 1; i <= 3; i++) {
        assert_int_equal(axo_system_kill(kit_system(k), kit_ref(f.a)), AXO_OK);
        kit_await_count(k, "a.postRestart", i);
    }
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a#4.note(1)");
    kit_order(k, "a#1.preStart", "a#1.preRestart", "a#2.ctor", "a#2.postRestart", "a#2.preRestart",
              "a#3.ctor", "a#3.postRestart", "a#3.preRestart", "a#4.ctor", "a#4.postRestart",
              "a#4.note(1)");
    kit_never(k, "a.postStop");
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.a)), AXO_OK);
    kit_await(k, "a.terminated");
    kit_order(k, "a#4.note(1)", "a#4.postStop", "a.terminated");
    kit_settle(k);
    kit_expect(k, "a.ctor=4", "a.preStart=1", "a.preRestart=3", "a.postRestart=3", "a.postStop=1",
               "p.decider=3");
}

static void RS_03(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a)");
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.a)), AXO_OK);
    kit_await(k, "a.terminated");
    kit_order(k, "a.ctor", "a.preStart", "a.note(1)", "a.postStop", "a.freed(1)", "a.terminated");
    kit_settle(k);
    kit_expect(k, "a.preStart=1", "a.postStop=1", "a.preRestart=0", "a.postRestart=0",
               "p.decider=0");
}

static void RS_04(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p(c,d))");
    f.p->post_stop.run = part_count_children;
    f.p->construct.run = part_count_children;
    f.p->post_restart.run = part_count_children;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "p#2.note(1)");
    kit_order(k, "g.decider(p)", "p#1.preRestart(7)", "p#1.postStop", "p#1.children(2)", "p#2.ctor",
              "p#2.children(0)@1", "p#2.postRestart(7)", "p#2.children(0)@2", "p#2.preStart",
              "p#2.note(1)");
    kit_order(k, "p#1.preRestart(7)", "c.postStop", "c.terminated", "p.child_gone(c)", "p#2.ctor");
    kit_order(k, "p#1.preRestart(7)", "d.postStop", "d.terminated", "p.child_gone(d)", "p#2.ctor");
    kit_settle(k);
    kit_expect(k, "p.ctor=2", "p.postStop=1", "c.postStop=1", "d.postStop=1", "c.preRestart=0",
               "d.preRestart=0");
}

/* All workers but one stand at the gate of a dying child; the last one must do for all the rest. */
static void RS_05(kit *k)
{
    static const char *const labels[] = {"c1", "c2", "c3"};
    kit_family f = kit_tree(k, "g:restart(p,x)");
    kit_script *c0 = kit_actor(k, "c0");
    kit_gate *gate = kit_gate_new(k);
    uint32_t gated = kit_workers(k) - 1;
    family_born(k, f.p, c0);
    for (uint32_t i = 0; i < gated; i++) {
        kit_script *c = kit_actor(k, labels[i]);
        c->post_stop.gate = gate;
        family_born(k, f.p, c);
    }
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_tell(k, f.p, KIT_NOTE, 1);
    if (gated > 0) {
        kit_gate_arrived(gate, gated);
        /* System messages are taken meanwhile: the end of one child. No user message is. */
        kit_await(k, "p.child_gone(c0)");
        family_answers(k, f.g, f.x, 5);
        kit_expect(k, "p#2.ctor=0", "p.note=0");
    }
    kit_gate_open(gate);
    kit_await(k, "p#2.note(1)");
    kit_order(k, "p#1.preRestart(7)", "c0.postStop", "p.child_gone(c0)", "p#2.ctor",
              "p#2.postRestart(7)", "p#2.note(1)");
    for (uint32_t i = 0; i < gated; i++) {
        char gone[32];
        (void)snprintf(gone, sizeof gone, "p.child_gone(%s)", labels[i]);
        kit_order(k, "p#1.preRestart(7)", gone, "p#2.ctor");
    }
    kit_settle(k);
    kit_expect_count(k, "p.ctor", 2);
    kit_expect_count(k, "p.child_gone", gated + 1);
}

/* ---- RS-06 ---------------------------------------------------------------------------------- */

typedef struct rs_recipe {
    kit *k;
    int64_t seed;
} rs_recipe;

typedef struct rs_made {
    rs_recipe recipe;
    int64_t dirt;
} rs_made;

static axo_status rs_make(axo_ctx *ctx, void *state, const void *args)
{
    const rs_recipe *recipe = args;
    rs_made *self = state;
    KIT_REQUIRE(recipe->k, self->dirt == 0 && self->recipe.k == NULL);
    KIT_REQUIRE(recipe->k, (uintptr_t)args % _Alignof(max_align_t) == 0);
    self->recipe = *recipe;
    kit_mark_ref(recipe->k, axo_self(ctx), "made", (uint64_t)recipe->seed);
    return AXO_OK;
}

static axo_status rs_made_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    rs_made *self = state;
    self->dirt = -1;
    self->recipe.seed = 0;
    return axo_fail(ctx, 7, "over");
}

static void RS_06(kit *k)
{
    static const axo_class cls =
        AXO_CLASS(.state_size = sizeof(rs_made), .construct = rs_make, .receive = rs_made_receive);
    rs_recipe recipe = {.k = k, .seed = 41};
    axo_props props = AXO_PROPS(.cls = &cls, .args = &recipe, .args_size = sizeof recipe);
    axo_ref made;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &made), AXO_OK);
    /* The recipe is a copy: what the spawner does to its own afterwards is not seen. */
    recipe = (rs_recipe){.k = NULL, .seed = 99};
    for (uint32_t i = 1; i <= 4; i++) {
        kit_await_count(k, "*.made(41)", i);
        if (i < 4)
            assert_int_equal(axo_system_send(kit_system(k), made, KIT_OTHER, NULL, 0), AXO_OK);
    }
    assert_int_equal(axo_system_stop_actor(kit_system(k), made), AXO_OK);
    kit_await(k, "*.terminated");
    kit_expect_count(k, "*.made", 4);
    assert_int_equal(kit_stats(k).restarts, 3);
    kit_finish(k);
}

static axo_status rs_same_ref(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_ref_equal(axo_self(ctx), kit_ref(arg)));
    return AXO_OK;
}

/* Kill, Kill, an answer, Kill: with a budget of two this is one notice. */
static void RS_07(kit *k)
{
    kit_family f = kit_plan(k, "p:restart(a), w");
    axo_ref before;
    char path[64] = "";
    char path_after[64] = "-";
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 2;
    f.p->strategy.within_ns = -1;
    f.a->post_restart.run = rs_same_ref;
    f.a->post_restart.arg = f.a;
    kit_grow(&f);
    before = kit_ref(f.a);
    kit_tell_ref(k, f.w, KIT_WATCH, before);
    assert_int_equal(axo_system_path(kit_system(k), before, path, sizeof path), AXO_OK);
    assert_string_equal(path, "/user/p/a");
    for (uint32_t i = 1; i <= 2; i++) {
        assert_int_equal(axo_system_kill(kit_system(k), before), AXO_OK);
        kit_await_count(k, "a.postRestart", i);
        family_answers(k, f.w, f.a, 10 + i);
        kit_never(k, "w.term");
    }
    kit_settle(k);
    assert_true(axo_ref_equal(before, kit_ref(f.a)));
    assert_int_equal(axo_system_path(kit_system(k), before, path_after, sizeof path_after), AXO_OK);
    assert_string_equal(path_after, path);
    kit_expect(k, "a.terminated=0", "p.child_gone=0", "*.dl=0");
    assert_int_equal(axo_system_kill(kit_system(k), before), AXO_OK);
    kit_await(k, "w.term(a)");
    kit_settle(k);
    kit_expect(k, "w.term=1", "a.terminated=1", "a.ctor=3");
    kit_finish(k);
}

static void RS_08(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a)");
    kit_gate *gate = kit_gate_new(k);
    kit_wait_at(k, f.a, gate, 0);
    kit_gate_arrived(gate, 1);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_NOTE, 2);
    kit_tell(k, f.a, KIT_NOTE, 3);
    kit_tell(k, f.a, KIT_FAIL, 8);
    kit_tell(k, f.a, KIT_NOTE, 4);
    kit_tell(k, f.a, KIT_NOTE, 5);
    kit_gate_open(gate);
    kit_await(k, "a.note(5)");
    kit_order(k, "a#1.wait(0)", "a#1.note(1)", "a#1.fails(7)", "a#2.ctor", "a#2.note(2)",
              "a#2.note(3)", "a#2.fails(8)", "a#3.ctor", "a#3.note(4)", "a#3.note(5)");
    kit_settle(k);
    kit_expect(k, "a.note=5", "*.dl=0");
}

/* ---- RS-09, RS-10: the message argument ----------------------------------------------------- */

static axo_status rs_mark_sender(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "sender", (int64_t)axo_sender(ctx).bits);
    return AXO_OK;
}

static void RS_09(kit *k)
{
    kit_family f = kit_plan(k, "-g:restart:all, -p, -c, -q, -w");
    kit_script *all[] = {f.p, f.c, f.q};
    for (size_t i = 0; i < 3; i++) {
        all[i]->keep_children = true;
        all[i]->pre_restart.run = rs_mark_sender;
    }
    family_born(k, NULL, f.g);
    family_born(k, NULL, f.w);
    family_born(k, f.g, f.p);
    family_born(k, f.g, f.q);
    family_born(k, f.p, f.c);
    /* All have handled messages of w before. */
    family_answers(k, f.w, f.p, 1);
    family_answers(k, f.w, f.q, 2);
    family_answers(k, f.w, f.c, 3);
    kit_tell_as(k, f.w, f.p, KIT_FAIL, 7);
    kit_await_all(k, "p#2.postRestart(7)", "q#2.postRestart(7)", "c#2.postRestart(7)");
    kit_settle(k);
    kit_order(k, "p#1.fails(7)", "p#1.preRestart(7)", "p#1.preRestartWith(7)", "p#1.sender(w)");
    kit_order(k, "q#1.preRestart(7)", "q#1.preRestartNone", "q#1.sender(0)"); /* a sibling's */
    kit_order(k, "c#1.preRestart(7)", "c#1.preRestartNone", "c#1.sender(0)"); /* its parent's */
    kit_expect(k, "*.preRestart=3", "*.preRestartWith=1", "*.preRestartNone=2", "*.sender=3");
    kit_finish(k);
}

/* (a): restarted after an escalation. */
static void RS_10(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:escalate(c))");
    f.p->pre_restart.run = rs_mark_sender;
    kit_grow(&f);
    family_answers(k, f.g, f.p, 1);
    kit_tell_as(k, f.g, f.c, KIT_FAIL, 7);
    kit_await(k, "p#2.preStart");
    kit_settle(k);
    kit_order(k, "p#1.decider(c)", "g.decider(p)", "p#1.preRestart(7)", "p#1.preRestartNone",
              "p#1.sender(0)", "p#2.ctor");
    kit_never(k, "p.preRestartWith");
}

/* (b), (c): a supervisor that handled a failure, and a resumed actor, restarted later
 * because of a sibling and before they handle anything else. */
static void RS_10_sibling(kit *k)
{
    kit_family f = kit_plan(k, "g:all(p:resume(c),q,r)");
    f.p->pre_restart.run = rs_mark_sender;
    f.r->pre_restart.run = rs_mark_sender;
    kit_grow(&f);
    kit_tell_as(k, f.q, f.c, KIT_FAIL, 7);
    kit_await(k, "p.decided(RESUME)");
    kit_tell_as(k, f.q, f.r, KIT_FAIL, KIT_DO_RESUME);
    kit_await(k, "r.resume");
    kit_tell(k, f.q, KIT_FAIL, KIT_DO_RESTART);
    kit_await_all(k, "p#2.preStart", "r#2.preStart");
    kit_settle(k);
    kit_order(k, "p#1.decider(c)", "p#1.preRestart(102)", "p#1.preRestartNone", "p#1.sender(0)");
    kit_order(k, "r#1.fails(101)", "r#1.preRestart(102)", "r#1.preRestartNone", "r#1.sender(0)");
    kit_expect(k, "*.preRestartWith=1", "q#1.preRestartWith(102)=1");
}

/* ---- RS-11 ---------------------------------------------------------------------------------- */

static axo_status rs_other_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag == KIT_NOTE) {
        kit_mark(self, "other", AXO_PAYLOAD(message, kit_payload)->value);
        return AXO_OK;
    }
    return kit_receive(ctx, state, message);
}

static axo_status rs_become_other(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return axo_become(ctx, rs_other_receive);
}

static void RS_11(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a)");
    kit_run(k, f.a, rs_become_other, NULL);
    kit_run(k, f.a, rs_become_other, NULL);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_NOTE, 2);
    kit_await(k, "a.note(2)");
    kit_order(k, "a#1.other(1)", "a#1.fails(7)", "a#2.ctor", "a#2.note(2)");
    /* The new instance can do it again. */
    kit_run(k, f.a, rs_become_other, NULL);
    kit_tell(k, f.a, KIT_NOTE, 3);
    kit_await(k, "a#2.other(3)");
    kit_settle(k);
    kit_expect(k, "a.other=2", "a.note=1");
}

static void RS_12(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a), t, w");
    kit_tell_ref(k, f.a, KIT_WATCH, kit_ref(f.t));
    kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.a));
    kit_tell(k, f.w, KIT_NOTE, 1);
    kit_await(k, "w.note(1)");
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "a#2.preStart");
    kit_never(k, "a.term");
    kit_tell(k, f.t, KIT_STOP_SELF, 0);
    kit_await(k, "a#2.term(t)");
    kit_never(k, "w.term");
    kit_tell(k, f.a, KIT_STOP_SELF, 0);
    kit_await(k, "w.term(a)");
    kit_settle(k);
    kit_expect(k, "a.term=1", "w.term=1");
}

static void RS_13(kit *k)
{
    kit_family f = kit_plan(k, "-g:restart, -p, -c, -d, -w");
    kit_script *q = kit_actor(k, "q"); /* with NULL hooks */
    kit_script *e = kit_actor(k, "e");
    kit_gate *gate = kit_gate_new(k);
    f.p->pre_restart.gate = gate;
    family_born(k, NULL, f.g);
    family_born(k, NULL, f.w);
    family_born(k, f.g, f.p);
    family_born(k, f.p, f.c);
    family_born(k, f.p, f.d);
    kit_run(k, f.p, part_watch, f.c);
    kit_run(k, f.p, part_watch, f.d);
    kit_run(k, f.w, part_watch, f.c);
    kit_tell(k, f.w, KIT_NOTE, 1);
    kit_await(k, "w.note(1)");
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(gate, 1);
    /* c goes while pre_restart runs: its notice is on the way before the default hook begins. */
    axo_system_stop_actor(kit_system(k), kit_ref(f.c));
    if (kit_workers(k) > 1)
        kit_await(k, "c.terminated");
    kit_gate_open(gate);
    kit_await_all(k, "w.term(c)", "p#2.preStart");
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "p#2.note(1)");
    q->plain = true;
    family_born(k, f.g, q);
    family_born(k, q, e);
    kit_run(k, q, part_watch, e);
    kit_tell(k, q, KIT_FAIL, 7);
    kit_tell(k, q, KIT_NOTE, 1);
    kit_await(k, "q#2.note(1)");
    kit_settle(k);
    kit_never(k, "q.term");
    kit_order(k, "q#1.fails(7)", "e.terminated", "q#2.ctor");
    kit_expect(k, "p.term=0", "w.term=1", "c.postStop=1", "d.postStop=1");
    kit_order(k, "p#1.preRestart(7)", "d.terminated", "p#2.ctor");
}

static void RS_14(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:keep(c))");
    f.p->pre_restart.run = family_stop_child;
    f.p->pre_restart.arg = (void *)(uintptr_t)"c";
    kit_grow(&f);
    kit_run(k, f.p, part_watch, f.c);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await_all(k, "p.term(c)", "p.note(1)");
    kit_order(k, "p#1.preRestart(7)", "c.postStop", "p.child_gone(c)", "p#2.ctor",
              "p#2.postRestart(7)", "p#2.term(c)");
    kit_order(k, "p#2.ctor", "p#2.note(1)");
    kit_settle(k);
    kit_expect(k, "p.term=1", "c.preRestart=0");
}

static void RS_15(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p[d]), -c");
    f.p->construct.spawn[0] = f.c;
    kit_grow(&f);
    for (int64_t i = 1; i <= 5; i++)
        kit_tell(k, f.p, KIT_FAIL, i);
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "p#6.note(1)");
    kit_settle(k);
    kit_expect(k, "p.spawnFailed=0", "g.decider(p)=5", "p.ctor=6", "c.ctor=6", "d.ctor=6",
               "c.terminated=5");
    kit_order(k, "p#1.ctor", "c.terminated@1", "p#2.ctor", "c.terminated@2", "p#3.ctor",
              "c.terminated@3", "p#4.ctor", "c.terminated@4", "p#5.ctor", "c.terminated@5",
              "p#6.ctor");
    kit_order(k, "d.terminated@1", "p#2.ctor", "d.terminated@2", "p#3.ctor");
    kit_never(k, "c.preRestart");
}

static void RS_16(kit *k)
{
    kit_script *g = family_restarter(k, "g");
    kit_script *p = kit_actor(k, "p");
    kit_script *old = kit_actor(k, "old");
    kit_script *kids[] = {kit_actor(k, "kc"), kit_actor(k, "kp"), kit_actor(k, "ks")};
    kit_hook *hooks[] = {&p->construct, &p->post_restart, &p->pre_start};
    p->keep_children = true;
    for (size_t i = 0; i < 3; i++) {
        hooks[i]->run = part_spawn_in_second;
        hooks[i]->arg = kids[i];
    }
    family_born(k, NULL, g);
    family_born(k, g, p);
    family_born(k, p, old);
    kit_tell(k, p, KIT_FAIL, 7);
    for (size_t i = 0; i < 3; i++) {
        family_await(k, kids[i], "preStart");
        family_answers(k, g, kids[i], 20 + (int64_t)i);
    }
    kit_await(k, "old#2.postRestart(7)");
    kit_settle(k);
    for (size_t i = 0; i < 3; i++) {
        family_expect(k, kids[i], "ctor", 1);
        family_expect(k, kids[i], "preStart", 1);
        family_expect(k, kids[i], "preRestart", 0);
        family_expect(k, kids[i], "postStop", 0);
    }
    kit_expect_count(k, "old.preRestart", 1);
    kit_order(k, "p#2.ctor", "kc.ctor");
    kit_order(k, "p#2.postRestart(7)", "kp.ctor");
    kit_order(k, "p#2.preStart", "ks.ctor");
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RS-01", RS_01),
    KIT_TEST("RS-02", RS_02),
    KIT_TEST("RS-03", RS_03),
    KIT_TEST("RS-04", RS_04),
    KIT_TEST("RS-05", RS_05),
    KIT_TEST("RS-06", RS_06),
    KIT_TEST("RS-07", RS_07),
    KIT_TEST("RS-08", RS_08),
    KIT_TEST("RS-09", RS_09),
    KIT_TEST("RS-10", RS_10),
    KIT_TEST("RS-10 sibling", RS_10_sibling),
    KIT_TEST("RS-11", RS_11),
    KIT_TEST("RS-12", RS_12),
    KIT_TEST("RS-13", RS_13),
    KIT_TEST("RS-14", RS_14),
    KIT_TEST("RS-15", RS_15),
    KIT_TEST("RS-16", RS_16),
};

TEST_MAIN(tests)
