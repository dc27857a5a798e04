/* eg_test.c - escalation (EG). */
#include <stdio.h>

#include "conformance/parts.h"

/* g supervises s, s supervises c1 and c2; s escalates. */
typedef struct eg_family {
    kit_script *g;
    kit_script *s;
    kit_script *c1;
    kit_script *c2;
} eg_family;

static eg_family eg_start(kit *k, axo_directive answer, bool keep)
{
    eg_family f = {kit_actor(k, "g"), kit_actor(k, "s"), kit_actor(k, "c1"), kit_actor(k, "c2")};
    f.g->directive = answer;
    f.g->decide = part_decide;
    f.s->directive = AXO_ESCALATE;
    f.s->keep_children = keep;
    kit_spawn(k, f.g);
    kit_spawn_child(k, f.g, f.s, 0);
    kit_await(k, "s.preStart");
    kit_spawn_child(k, f.s, f.c1, 0);
    kit_spawn_child(k, f.s, f.c2, 0);
    kit_await_all(k, "c1.preStart", "c2.preStart");
    kit_tell(k, f.s, KIT_SET, 10);
    kit_tell(k, f.c1, KIT_SET, 11);
    kit_tell(k, f.c2, KIT_SET, 12);
    kit_settle(k);
    return f;
}

/* c1 fails; g holds its answer back until the two others have been told something. */
static void eg_fail(kit *k, eg_family *f)
{
    f->g->decider.gate = kit_gate_new(k);
    kit_tell(k, f->c1, KIT_FAIL, 7);
    kit_gate_arrived(f->g->decider.gate, 1);
    kit_tell(k, f->c1, KIT_GET, 0);
    kit_tell(k, f->c2, KIT_GET, 0);
    kit_tell(k, f->s, KIT_GET, 0);
    /* A Suspend and a Resume that an actor finds together may cancel each other. */
    if (kit_workers(k) > 1)
        kit_await(k, "c2.suspend(PARENT)");
    kit_gate_open(f->g->decider.gate);
}

static void EG_01(kit *k)
{
    eg_family f = eg_start(k, AXO_RESUME, false);
    eg_fail(k, &f);
    kit_await(k, "c2.get");
    kit_settle(k);
    kit_order(k, "c1.fails(7)", "c1.suspend(OWN)", "s.decider(c1)", "s.decided(ESCALATE)",
              "s.suspend(OWN)", "g.decider(s)");
    kit_expect(k, "g.cause(7)=1", "g.kind(ORDINARY)=1", "g.origin(c1)=1");
    if (kit_workers(k) > 1)
        kit_order(k, "s.suspend(OWN)", "c2.suspend(PARENT)", "g.decided(RESUME)",
                  "c2.resume(PARENT)");
    kit_expect_count(k, "c2.suspend", kit_count(k, "c2.resume"));
    kit_expect(k, "c2.suspend(OWN)=0", "c1.suspend=1", "c1.resume(OWN)=1");
    kit_finish(k);
}

static void EG_02(kit *k)
{
    eg_family f = eg_start(k, AXO_RESUME, false);
    eg_fail(k, &f);
    kit_await_all(k, "s.get(10)", "c1.get(11)", "c2.get(12)");
    kit_order(k, "g.decided(RESUME)", "s.get(10)");
    kit_order(k, "g.decided(RESUME)", "c1.get(11)");
    kit_expect(k, "*.preRestart=0", "*.postStop=0", "*.ctor=4");
    kit_finish(k);
}

static void EG_03(kit *k)
{
    kit_script *w = part_start(k, "w");
    eg_family f = eg_start(k, AXO_RESTART, false);
    part_watched_by(k, f.c1, w);
    part_watched_by(k, f.c2, w);
    eg_fail(k, &f);
    kit_await_all(k, "s#2.get(0)", "w.term(c1)", "w.term(c2)");
    kit_order(k, "g.decided(RESTART)", "s#1.preRestart(7)", "c1.postStop", "s.child_gone(c1)",
              "s#2.ctor", "s#2.postRestart(7)", "s#2.preStart", "s#2.get(0)");
    kit_order(k, "s#1.preRestart(7)", "c2.postStop", "s.child_gone(c2)", "s#2.ctor");
    kit_order(k, "s#1.preRestart(7)", "s#1.postStop", "s#2.ctor");
    kit_expect(k, "c1.postStop=1", "c2.postStop=1", "c1.preRestart=0", "c2.preRestart=0");
    kit_await_count(k, "c1.dl(GET)", 1);
    kit_expect_count(k, "c1.dl(GET)", 1);
    kit_await_count(k, "c2.dl(GET)", 1);
    kit_expect(k, "c2.dl(GET)=1", "s.preRestartNone=1");
    kit_finish(k);
}

static void EG_04(kit *k)
{
    eg_family f = eg_start(k, AXO_RESTART, true);
    eg_fail(k, &f);
    kit_await_all(k, "c1#2.get(0)", "c2#2.get(0)", "s#2.get(0)");
    kit_settle(k);
    kit_order(k, "s#1.preRestart(7)", "s#2.ctor", "s#2.postRestart(7)", "c1#1.preRestart(7)",
              "c1#2.ctor", "c1#2.postRestart(7)", "c1#2.get(0)");
    kit_order(k, "s#2.postRestart(7)", "c2#1.preRestart(7)", "c2#2.ctor", "c2#2.get(0)");
    kit_expect(k, "c2.preRestartNone=1", "s.ctor=2", "c1.ctor=2", "c2.ctor=2", "s.decider=1",
               "g.decider=1");
    kit_finish(k);
}

static void EG_05(kit *k)
{
    eg_family f = eg_start(k, AXO_STOP, false);
    eg_fail(k, &f);
    kit_await(k, "g.child_gone(s)");
    kit_order(k, "g.decided(STOP)", "c1.postStop", "s.child_gone(c1)", "s.postStop", "s.terminated",
              "g.child_gone(s)");
    kit_order(k, "g.decided(STOP)", "c2.postStop", "s.child_gone(c2)", "s.postStop");
    kit_expect(k, "*.preRestart=0", "*.get=0", "*.postStop=3", "*.dl(GET)=3");
    kit_finish(k);
}

/* What /user's decider is given; set before the first failure. */
typedef struct eg_top {
    kit *k;
    axo_directive directive;
} eg_top;

static axo_directive eg_top_decide(axo_ctx *ctx, void *none, const axo_failure *failure, void *user)
{
    const eg_top *top = user;
    kit_mark_ref(top->k, axo_sender(ctx), "top", (uint64_t)failure->code);
    kit_mark_ref(top->k, failure->actor, "first", (uint64_t)failure->code);
    return top->directive;
}

static void EG_06(void **state)
{
    static eg_top top;
    static axo_strategy strategy = AXO_STRATEGY(.decider = eg_top_decide, .user = &top);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    static const char *const labels[] = {"a", "b", "c", "d", "e"};
    kit_script *chain[5];
    kit *k = kit_start(state, &options);
    top = (eg_top){.k = k, .directive = AXO_RESUME};
    for (int i = 0; i < 5; i++) {
        chain[i] = kit_actor(k, labels[i]);
        chain[i]->directive = AXO_ESCALATE;
        if (i > 0)
            chain[i - 1]->pre_start.spawn[0] = chain[i];
    }
    kit_spawn(k, chain[0]);
    kit_await(k, "e.preStart");
    kit_tell(k, chain[4], KIT_FAIL, 7);
    kit_await(k, "e.resume(OWN)");
    for (int i = 0; i < 5; i++)
        kit_tell(k, chain[i], KIT_NOTE, i);
    for (int i = 0; i < 5; i++) {
        char pattern[32];
        (void)snprintf(pattern, sizeof pattern, "%s.note(%d)", labels[i], i);
        kit_await(k, pattern);
        (void)snprintf(pattern, sizeof pattern, "%s.suspend(OWN)", labels[i]);
        kit_expect_count(k, pattern, 1);
    }
    kit_order(k, "e.fails(7)", "d.decider(e)", "c.decider(d)", "b.decider(c)", "a.decider(b)",
              "a.top(7)", "e.first(7)", "e.note(4)");
    kit_expect(k, "*.cause(7)=4", "*.decider=4", "*.top=1", "*.ctor=5");
    kit_finish(k);
}

/* p fails in flight while g, its parent, has failed and is undecided. With one worker there is no
 * in flight: then the two failures come one after the other and the end is the same. */
static void eg_two_levels(kit *k, axo_directive directive)
{
    kit_script *top = kit_actor(k, "top");
    kit_family f = kit_plan(k, "-g:keep[p:keep[c]]");
    part_blow *blow = part_blow_new(k, 8);
    top->pre_start.spawn[0] = f.g;
    /* Kept children must not be spawned again by the new instances. */
    top->directive = directive;
    f.g->directive = directive;
    f.g->no_default_start = true;
    f.p->no_default_start = true;
    top->decider.gate = kit_gate_new(k);
    kit_spawn(k, top);
    kit_await(k, "c.preStart");
    if (kit_workers(k) > 1) {
        kit_run(k, f.p, part_hold_fail, blow);
        kit_gate_arrived(blow->gate, 1);
        kit_tell(k, f.g, KIT_FAIL, 7);
        kit_gate_arrived(top->decider.gate, 1);
        kit_gate_open(blow->gate);
        kit_await(k, "g.hold(p)");
        kit_never(k, "g.decider");
        kit_gate_open(top->decider.gate);
    } else {
        kit_gate_open(top->decider.gate);
        kit_gate_open(blow->gate);
        kit_tell(k, f.g, KIT_FAIL, 7);
        kit_run(k, f.p, part_hold_fail, blow);
    }
    kit_await(k, "g.decided");
    kit_tell(k, f.g, KIT_NOTE, 1);
    kit_tell(k, f.p, KIT_NOTE, 2);
    kit_tell(k, f.c, KIT_NOTE, 3);
    kit_await_all(k, "g.note(1)", "p.note(2)", "c.note(3)");
    kit_settle(k);
    kit_order(k, "g.fails(7)", "top.decider(g)", "top.decided", "g.decider(p)", "p.note(2)");
    kit_expect(k, "top.decider=1", "g.decider=1");
}

static void EG_07(kit *k)
{
    eg_two_levels(k, AXO_RESUME);
    kit_expect(k, "*.ctor=4", "*.preRestart=0");
}

static void EG_07_restart(kit *k)
{
    eg_two_levels(k, AXO_RESTART);
    kit_order(k, "g#2.ctor", "g#2.decider(p)", "p#2.preRestart(8)", "p#3.ctor", "p#3.note(2)");
    kit_order(k, "g#2.ctor", "p#1.preRestart(7)", "p#2.ctor", "p#2.preRestart(8)");
    kit_expect(k, "g.ctor=2", "p.ctor=3");
    /* A second Restart that finds the first still queued may be one with it. */
    assert_in_range(kit_count(k, "c.ctor"), 2, 3);
    kit_never(k, "c#1.note");
}

static axo_status eg_spawn_and_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    return part_spawn_fail_as(ctx, self, arg, KIT_DO_RESUME);
}

static void EG_08(kit *k)
{
    kit_family f = kit_plan(k, "g[p:restart], -c");
    f.c->pre_start.fail_first = 1;
    f.c->pre_start.code = 8;
    kit_grow(&f);
    if (kit_workers(k) > 1)
        f.g->decider.gate = kit_gate_new(k);
    kit_run(k, f.p, eg_spawn_and_fail, f.c);
    if (kit_workers(k) > 1) {
        kit_await(k, "p.hold(c)");
        kit_gate_open(f.g->decider.gate);
    }
    kit_await(k, "c#2.preStart");
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_await(k, "c#2.note(1)");
    kit_order(k, "p.fails(101)", "g.decider(p)", "g.decided(RESUME)", "p.decider(c)",
              "p.decided(RESTART)", "c#2.ctor", "c#2.preStart", "c#2.note(1)");
    kit_expect(k, "p.decider=1", "c.ctor=2");
}

static void EG_08_in_flight(kit *k)
{
    kit_family f = kit_plan(k, "g[p[c]]");
    part_blow *blow = part_blow_new(k, KIT_DO_RESTART);
    f.g->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_run(k, f.c, part_hold_fail, blow);
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_gate_arrived(blow->gate, 1);
    kit_tell(k, f.p, KIT_FAIL, KIT_DO_RESUME);
    kit_gate_arrived(f.g->decider.gate, 1);
    kit_gate_open(blow->gate);
    kit_await(k, "p.hold(c)");
    kit_never(k, "p.decider");
    kit_gate_open(f.g->decider.gate);
    kit_await(k, "c#2.note(1)");
    kit_order(k, "g.decider(p)", "p.hold(c)", "g.decided(RESUME)", "p.decider(c)",
              "c#1.preRestart(102)", "c#2.ctor", "c#2.note(1)");
    kit_expect(k, "p.decider=1", "p.ctor=1");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("EG-01", EG_01),
    KIT_TEST("EG-02", EG_02),
    KIT_TEST("EG-03", EG_03),
    KIT_TEST("EG-04", EG_04),
    KIT_TEST("EG-05", EG_05),
    KIT_TEST("EG-06", EG_06),
    KIT_TEST("EG-07 resume", EG_07),
    KIT_TEST_ONE("EG-07 restart", EG_07_restart, 2, "workers"),
    KIT_TEST_ONE("EG-07 restart", EG_07_restart, 4, "workers"),
    KIT_TEST("EG-08", EG_08),
    KIT_TEST_ONE("EG-08 in flight", EG_08_in_flight, 2, "workers"),
    KIT_TEST_ONE("EG-08 in flight", EG_08_in_flight, 4, "workers"),
};

TEST_MAIN(tests)
