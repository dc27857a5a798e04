/* rs_meet_test.c - a restart that meets other things: conformance RS-17 to RS-25. */
#include <sched.h>

#include "conformance/family.h"
#include "conformance/parts.h"

static void RS_17(kit *k)
{
    kit_family f = kit_plan(k, "-g:restart, -p:keep, -q, -l, -m");
    f.p->pre_restart.spawn[0] = f.l;
    f.q->pre_restart.spawn[0] = f.m; /* and the default hook then stops it */
    family_born(k, NULL, f.g);
    family_born(k, f.g, f.p);
    family_born(k, f.g, f.q);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_await(k, "l#2.postRestart(7)");
    kit_order(k, "p#1.preRestart(7)", "l#1.ctor", "l#1.preStart", "l#1.preRestart(7)",
              "l#1.preRestartNone", "l#2.ctor", "l#2.postRestart(7)");
    kit_order(k, "p#2.ctor", "p#2.postRestart(7)", "l#1.preRestart(7)");
    kit_tell(k, f.q, KIT_FAIL, 8);
    kit_await(k, "q#2.preStart");
    kit_order(k, "q#1.preRestart(8)", "m.ctor", "m.preStart", "m.postStop", "q#2.ctor");
    family_answers(k, f.g, f.l, 30);
    kit_settle(k);
    kit_expect(k, "l.ctor=2", "m.ctor=1", "m.preRestart=0");
}

/* ---- RS-18: a restart is atomic ------------------------------------------------------------- */

/* A child's report that comes while its parent waits is decided by the new instance. With one
 * worker the child can only fail after its own restart, which ends the same. */
static void RS_18(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:restart:keep(c,d))");
    kit_gate *stopping = kit_gate_new(k);
    part_blow *blow = part_blow_new(k, 9);
    bool many = kit_workers(k) > 1;
    f.p->pre_restart.run = family_stop_child;
    f.p->pre_restart.arg = (void *)(uintptr_t)"c";
    f.c->post_stop.gate = stopping;
    kit_grow(&f);
    if (many) {
        kit_run(k, f.d, part_hold_fail, blow);
        kit_gate_arrived(blow->gate, 1);
    }
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(stopping, 1);
    kit_gate_open(blow->gate);
    if (many)
        kit_await(k, "p.hold(d)");
    else
        kit_run(k, f.d, part_hold_fail, blow);
    kit_expect(k, "p.decider=0", "p#2.ctor=0");
    kit_tell(k, f.d, KIT_NOTE, 1);
    kit_gate_open(stopping);
    kit_await(k, "d#3.note(1)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "c.postStop", "p.child_gone(c)", "p#2.ctor",
              "p#2.postRestart(7)", "p#2.preStart", "p#2.decider(d)");
    kit_order(k, "p#2.postRestart(7)", "d#1.preRestart(7)", "d#2.ctor", "d#2.postRestart(7)",
              "d#2.preRestart(9)", "d#3.ctor", "d#3.postRestart(9)", "d#3.note(1)");
    kit_order(k, "p#2.decider(d)", "d#2.preRestart(9)");
    kit_expect(k, "p.decider=1", "p.ctor=2", "d.ctor=3", "d.note=1");
}

/* A second Restart from above that comes while the first one waits is done after it. */
static void RS_18_restart(kit *k)
{
    kit_family f = kit_plan(k, "g:restart:all(p(c),s)");
    kit_gate *stopping = kit_gate_new(k);
    f.c->post_stop.gate = stopping;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(stopping, 1);
    kit_tell(k, f.s, KIT_FAIL, 8);
    if (kit_workers(k) > 1) {
        kit_await(k, "s#3.preStart");
        kit_tell(k, f.g, KIT_NOTE, 0); /* then all that g asked of its children is sent */
        kit_await(k, "g.note(0)");
        kit_never(k, "p#2.ctor");
    }
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_gate_open(stopping);
    kit_await_all(k, "p#3.preStart", "p.note(1)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#1.preRestartWith(7)", "c.postStop", "p#2.ctor",
              "p#2.postRestart(7)", "p#2.preStart", "p#2.preRestart(8)", "p#2.preRestartNone",
              "p#3.ctor", "p#3.postRestart(8)", "p#3.preStart");
    if (kit_workers(k) > 1)
        kit_order(k, "p#3.preStart", "p#3.note(1)");
    kit_expect(k, "p.ctor=3", "s.ctor=3", "g.decider=2", "p.note=1");
}

/* Suspend and Resume from above that come while a restart waits leave the count at zero. */
static void RS_18_suspend_resume(kit *k)
{
    kit_family f = kit_plan(k, "h:resume(g(p(c),s))");
    kit_gate *stopping = kit_gate_new(k);
    f.c->post_stop.gate = stopping;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, KIT_DO_RESTART);
    kit_gate_arrived(stopping, 1);
    kit_tell(k, f.s, KIT_FAIL, KIT_DO_ESCALATE);
    kit_tell(k, f.s, KIT_NOTE, 1);
    if (kit_workers(k) > 1) {
        kit_await(k, "s#1.note(1)");
        kit_tell(k, f.g, KIT_NOTE, 0); /* then all that g asked of its children is sent */
        kit_await(k, "g.note(0)");
        kit_never(k, "p#2.ctor");
    }
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_gate_open(stopping);
    kit_await_all(k, "p#2.note(1)", "s#1.note(1)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(102)", "c.postStop", "p#2.ctor", "p#2.postRestart(102)",
              "p#2.preStart", "p#2.note(1)");
    kit_expect(k, "p.ctor=2", "s.ctor=1", "g.ctor=1", "h.decider(g)=1");
}

/* ---- RS-19 and on --------------------------------------------------------------------------- */

static void RS_19(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p(c),q:keep(d))");
    kit_script *two[] = {f.p, f.q};
    kit_gate *gates[] = {kit_gate_new(k), kit_gate_new(k)};
    f.c->post_stop.gate = gates[0];
    f.d->post_stop.gate = gates[1];
    /* q's hook stops its child and runs no post_stop: that is still owed. */
    f.q->pre_restart.run = family_stop_child;
    f.q->pre_restart.arg = (void *)(uintptr_t)"d";
    kit_grow(&f);
    kit_run(k, f.g, part_watch, f.p);
    kit_run(k, f.g, part_watch, f.q);
    for (size_t i = 0; i < 2; i++) {
        kit_tell(k, two[i], KIT_FAIL, 7);
        kit_tell(k, two[i], KIT_NOTE, 1);
        kit_gate_arrived(gates[i], 1);
        if (i == 0)
            kit_await(k, "p#1.postStop");
        assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(two[i])), AXO_OK);
        kit_gate_open(gates[i]);
        family_await(k, two[i], "terminated");
    }
    kit_await_all(k, "g.term(p)", "g.term(q)");
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#1.postStop", "p.terminated", "g.term(p)");
    kit_order(k, "p#1.preRestart(7)", "c.postStop", "c.terminated", "p.terminated");
    kit_order(k, "q#1.preRestart(7)", "d.postStop", "d.terminated", "q#1.postStop", "q.terminated",
              "g.term(q)");
    for (size_t i = 0; i < 2; i++) {
        family_expect(k, two[i], "ctor", 1);
        family_expect(k, two[i], "postRestart", 0);
        family_expect(k, two[i], "postStop", 1); /* DESIGN D3 */
        family_expect(k, two[i], "note", 0);
        family_expect(k, two[i], "dl(NOTE)", 1);
        family_expect(k, two[i], "terminated", 1);
    }
    kit_expect_count(k, "g.term", 2);
    kit_finish(k);
}

static void RS_20(kit *k)
{
    kit_family f = kit_plan(k, "p:restart(a,b)");
    kit_gate *gate = kit_gate_new(k);
    f.a->pre_restart.run = part_stop_self;
    f.b->post_restart.run = part_stop_self;
    kit_grow(&f);
    for (int i = 0; i < 2; i++) {
        kit_script *who = i == 0 ? f.a : f.b;
        kit_wait_at(k, who, gate, 0);
        kit_tell(k, who, KIT_FAIL, 7);
        kit_tell(k, who, KIT_NOTE, 1);
    }
    kit_gate_open(gate);
    kit_await_all(k, "a.terminated", "b.terminated");
    kit_settle(k);
    kit_order(k, "a#1.preRestart(7)", "a#1.postStop", "a#2.ctor", "a#2.postRestart(7)",
              "a#2.preStart", "a#2.postStop", "a.terminated");
    kit_order(k, "b#1.preRestart(7)", "b#1.postStop", "b#2.ctor", "b#2.postRestart(7)",
              "b#2.preStart", "b#2.postStop", "b.terminated");
    for (int i = 0; i < 2; i++) {
        kit_script *who = i == 0 ? f.a : f.b;
        family_expect(k, who, "note", 0);
        family_expect(k, who, "dl(NOTE)", 1);
        family_expect(k, who, "postStop", 2);
        family_expect(k, who, "ctor", 2);
    }
}

/* What outlives every instance: the factory hands it out again and again. */
typedef struct rs_object {
    kit *k;
    void *block;
    int64_t made;
    int64_t pre_restarts;
    int64_t post_restarts;
    int64_t stops;
} rs_object;

static axo_status rs_object_make(axo_ctx *ctx, void *state, const void *args)
{
    rs_object *object = (rs_object *)(uintptr_t)args;
    KIT_REQUIRE(object->k, *(rs_object **)state == NULL);
    KIT_REQUIRE(object->k, object->block == NULL || object->block == state);
    object->block = state;
    *(rs_object **)state = object;
    kit_mark_ref(object->k, axo_self(ctx), "made", (uint64_t)++object->made);
    return AXO_OK;
}

static axo_status rs_object_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                        const axo_message *message)
{
    rs_object *object = *(rs_object **)state;
    kit_mark_ref(object->k, axo_self(ctx), "pre", (uint64_t)++object->pre_restarts);
    return AXO_OK;
}

static axo_status rs_object_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    rs_object *object = *(rs_object **)state;
    kit_mark_ref(object->k, axo_self(ctx), "post", (uint64_t)++object->post_restarts);
    return AXO_OK;
}

static axo_status rs_object_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    rs_object *object = *(rs_object **)state;
    kit_mark_ref(object->k, axo_self(ctx), "handles", message->tag);
    return message->tag == 1 ? axo_fail(ctx, 7, "again") : AXO_OK;
}

static axo_status rs_object_stop(axo_ctx *ctx, void *state)
{
    rs_object *object = *(rs_object **)state;
    kit_mark_ref(object->k, axo_self(ctx), "stop", (uint64_t)++object->stops);
    return AXO_OK;
}

/* Handing out the same object is legal; the state block itself is the same one, zeroed anew. */
static void RS_21(kit *k)
{
    static const axo_class cls =
        AXO_CLASS(.state_size = sizeof(rs_object *), .construct = rs_object_make,
                  .receive = rs_object_receive, .post_stop = rs_object_stop,
                  .pre_restart = rs_object_pre_restart, .post_restart = rs_object_post_restart);
    rs_object *object = kit_alloc(k, sizeof *object);
    axo_props props = AXO_PROPS(.cls = &cls, .args = object);
    axo_ref ref;
    *object = (rs_object){.k = k};
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(axo_system_send(kit_system(k), ref, 1, NULL, 0), AXO_OK);
        assert_int_equal(axo_system_send(kit_system(k), ref, 2, NULL, 0), AXO_OK);
    }
    kit_await(k, "*.handles(2)@3");
    assert_int_equal(axo_system_stop_actor(kit_system(k), ref), AXO_OK);
    kit_await(k, "*.stop(1)");
    kit_order(k, "*.made(1)", "*.pre(1)", "*.made(2)", "*.post(1)", "*.handles(2)@1", "*.pre(2)",
              "*.made(3)", "*.post(2)", "*.handles(2)@2", "*.pre(3)", "*.made(4)", "*.post(3)",
              "*.handles(2)@3", "*.stop(1)");
    kit_finish(k);
}

/* The test's own thread runs the host's actors until then. */
static void rs_host_until(kit *k, const char *pattern)
{
    while (kit_count(k, pattern) == 0) {
        assert_int_equal(axo_run_host(kit_system(k), -1, NULL), AXO_OK);
        (void)sched_yield();
    }
}

/* The same protocol on each dispatcher, with the parent on the default one. */
static void RS_22(kit *k)
{
    static const char *const labels[] = {"d", "p", "b", "h"};
    kit_family f = kit_tree(k, "g:restart");
    for (uint32_t i = 0; i < 4; i++) {
        kit_script *a = kit_actor(k, labels[i]);
        char last[32];
        a->dispatcher = (axo_dispatcher)i;
        family_spawn(k, f.g, a);
        (void)snprintf(last, sizeof last, "%s.preStart", labels[i]);
        if (a->dispatcher == AXO_DISPATCH_HOST)
            rs_host_until(k, last);
        kit_await(k, last);
        for (int n = 1; n <= 3; n++) {
            kit_tell(k, a, n == 2 ? KIT_THROW : KIT_FAIL, n);
            kit_tell(k, a, KIT_NOTE, n);
        }
        (void)snprintf(last, sizeof last, "%s#4.note(3)", labels[i]);
        if (a->dispatcher == AXO_DISPATCH_HOST)
            rs_host_until(k, last);
        kit_await(k, last);
        family_expect(k, a, "ctor", 4);
        family_expect(k, a, "preRestart", 3);
        family_expect(k, a, "freed", 3);
        kit_tell(k, a, KIT_STOP_SELF, 0);
        (void)snprintf(last, sizeof last, "%s.terminated", labels[i]);
        if (a->dispatcher == AXO_DISPATCH_HOST)
            rs_host_until(k, last);
        kit_await(k, last);
    }
    kit_order(k, "h#1.fails(1)", "g.decider(h)@1", "h#1.preRestart(1)", "h#1.postStop", "h#2.ctor",
              "h#2.postRestart(1)", "h#2.note(1)");
    kit_order(k, "p#2.fails(2)", "g.decider(p)@2", "p#2.preRestart(2)", "p#3.ctor", "p#3.note(2)");
    kit_expect_count(k, "g.decider", 12);
}

static void RS_23(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a)");
    kit_gate *gate = kit_gate_new(k);
    kit_wait_at(k, f.a, gate, 0);
    kit_gate_arrived(gate, 1);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_NOTE, 1);
    assert_int_equal(axo_system_poison(kit_system(k), kit_ref(f.a)), AXO_OK);
    kit_tell(k, f.a, KIT_NOTE, 2);
    kit_gate_open(gate);
    kit_await(k, "a.terminated");
    kit_settle(k);
    kit_order(k, "a#1.fails(7)", "a#1.preRestart(7)", "a#1.postStop", "a#2.ctor", "a#2.note(1)",
              "a#2.postStop", "a.dl(NOTE)", "a.terminated");
    kit_expect_count(k, "a.note", 1);
    kit_await_count(k, "a.dl(NOTE)", 1);
    kit_expect(k, "a.dl(NOTE)=1", "a.postStop=2", "p.decider=1");
}

/* While its survivor is still being made again, the parent handles messages. */
static void RS_24(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:keep(s))");
    kit_gate *gate = kit_gate_new(k);
    f.s->construct.gate = gate;
    f.s->construct.gate_call = 2;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(gate, 1);
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_tell_as(k, f.p, f.s, KIT_PING, 2);
    if (kit_workers(k) > 1)
        kit_await(k, "p#2.note(1)");
    kit_never(k, "s.ping");
    kit_gate_open(gate);
    kit_await_all(k, "p#2.pong(2)", "p#2.note(1)");
    kit_order(k, "p#2.postRestart(7)", "s#1.preRestart(7)", "s#2.ctor", "s#2.ping(2)",
              "p#2.pong(2)");
}

static void RS_25(kit *k)
{
    kit_family f = kit_tree(k, "p:restart(a)");
    kit_tell(k, f.a, KIT_SET, 23);
    for (int64_t i = 0; i < 100; i++)
        kit_tell(k, f.a, i % 2 == 0 ? KIT_FAIL : KIT_THROW, i);
    kit_tell(k, f.a, KIT_GET, 0);
    family_answers(k, f.p, f.a, 5);
    kit_settle(k);
    kit_order(k, "a#1.set(23)", "a#1.fails(0)", "a#2.fails(1)", "a#50.fails(49)", "a#100.fails(99)",
              "a#101.get(0)", "a#101.ping(5)");
    kit_expect(k, "a.ctor=101", "a.preRestart=100", "a.postRestart=100", "a.postStop=100",
               "a.freed=100", "p.decider(a)=100");
    assert_int_equal(kit_stats(k).restarts, 100);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RS-17", RS_17),
    KIT_TEST("RS-18", RS_18),
    KIT_TEST("RS-18 restart", RS_18_restart),
    KIT_TEST("RS-18 suspend and resume", RS_18_suspend_resume),
    KIT_TEST("RS-19", RS_19),
    KIT_TEST("RS-20", RS_20),
    KIT_TEST("RS-21", RS_21),
    KIT_TEST("RS-22", RS_22),
    KIT_TEST("RS-23", RS_23),
    KIT_TEST("RS-24", RS_24),
    KIT_TEST("RS-25", RS_25),
};

TEST_MAIN(tests)
