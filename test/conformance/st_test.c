/* st_test.c - stop and the order of termination (ST). */
#include <pthread.h>
#include <string.h>

#include "conformance/parts.h"

static void ST_01(kit *k)
{
    kit_script *a = part_start(k, "a");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, a, part_hold, gate);
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(kit_tell(k, a, KIT_OTHER + i, 0), AXO_OK);
    kit_gate_arrived(gate, 1);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(a)), AXO_OK);
    kit_never(k, "a.postStop");
    kit_gate_open(gate);
    kit_await(k, "a.terminated");
    kit_order(k, "a.begin", "a.end", "a.postStop", "a.dl(1001)", "a.dl(1002)", "a.dl(1003)");
    kit_expect(k, "a.stash=0", "a.dl=3");
}

static void ST_02(kit *k)
{
    kit_family f = kit_plan(k, "r[a,b]");
    kit_script *aa = kit_actor(k, "aa");
    f.a->pre_start.spawn[0] = aa;
    f.r->post_stop.run = part_count_children;
    kit_grow(&f);
    kit_await_all(k, "aa.preStart", "b.preStart");
    axo_system_stop_actor(kit_system(k), kit_ref(f.r));
    kit_await(k, "r.terminated");
    kit_order(k, "aa.postStop", "a.child_gone(aa)", "a.postStop", "r.child_gone(a)", "r.postStop");
    kit_order(k, "b.postStop", "r.child_gone(b)", "r.postStop", "r.terminated");
    kit_expect(k, "r.children(0)=1", "*.postStop=4");
}

/* Last words of post_stop. */
static axo_status st_last_words(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(arg), KIT_NOTE, 5) == AXO_OK);
    return AXO_OK;
}

static void ST_03(kit *k)
{
    kit_family f = kit_plan(k, "w, x, p[t]");
    kit_gate *gate = kit_gate_new(k);
    f.t->post_stop.run = st_last_words;
    f.t->post_stop.arg = f.w;
    kit_grow(&f);
    kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(f.t));
    kit_tell_ref(k, f.p, KIT_WATCH, kit_ref(f.t));
    kit_tell_ref(k, f.t, KIT_WATCH, kit_ref(f.x));
    kit_settle(k);
    kit_run(k, f.t, part_hold, gate);
    kit_tell(k, f.t, 1001, 0);
    kit_tell(k, f.t, 1002, 0);
    kit_gate_arrived(gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.t));
    kit_gate_open(gate);
    kit_await_all(k, "w.term(t)", "p.term(t)");
    kit_order(k, "t.end", "t.postStop", "t.dl(1001)", "t.dl(1002)", "w.notice(t)", "w.term(t)");
    kit_order(k, "t.dl(1002)", "p.child_gone(t)", "p.term(t)");
    kit_order(k, "t.dl(1002)", "p.notice(t)", "p.term(t)");
    kit_order(k, "t.postStop", "w.note(5)", "w.term(t)");
    /* Its own watches are gone: the end of x does not even become a dead letter. */
    axo_system_stop_actor(kit_system(k), kit_ref(f.x));
    kit_await(k, "user.child_gone(x)");
    kit_settle(k);
    kit_expect(k, "t.notice=0", "t.dl(TERMINATED)=0");
}

static void ST_04(kit *k)
{
    kit_family f = kit_plan(k, "p[c]");
    kit_script *late = kit_actor(k, "late");
    f.c->post_stop.gate = kit_gate_new(k);
    kit_grow(&f);
    axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    kit_gate_arrived(f.c->post_stop.gate, 1);
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_spawn_child(k, f.p, late, 2);
    kit_gate_open(f.c->post_stop.gate);
    kit_await(k, "p.terminated");
    kit_expect(k, "p.note=0", "p.spawned=0", "late.ctor=0");
    kit_order(k, "c.postStop", "p.postStop", "p.dl(NOTE)");
    kit_order(k, "p.postStop", "p.dl(SPAWN)", "p.terminated");
}

typedef struct st_stopper {
    kit *k;
    axo_ref ref;
} st_stopper;

static void *st_stop_thread(void *arg)
{
    const st_stopper *stopper = arg;
    for (int i = 0; i < 100; i++)
        (void)axo_system_stop_actor(kit_system(stopper->k), stopper->ref);
    return NULL;
}

static void ST_05(kit *k)
{
    kit_family f = kit_tree(k, "a, v, w");
    kit_gate *gate = kit_gate_new(k);
    st_stopper stopper = {.k = k, .ref = kit_ref(f.a)};
    pthread_t threads[2];
    part_watched_by(k, f.a, f.v);
    part_watched_by(k, f.a, f.w);
    kit_run(k, f.a, part_hold, gate);
    kit_gate_arrived(gate, 1);
    assert_int_equal(axo_system_poison(kit_system(k), stopper.ref), AXO_OK);
    assert_int_equal(kit_tell(k, f.a, KIT_STOP_SELF, 0), AXO_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, st_stop_thread, &stopper), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    kit_gate_open(gate);
    kit_await_all(k, "v.term(a)", "w.term(a)");
    assert_int_equal(axo_system_stop_actor(kit_system(k), stopper.ref), AXO_EGONE);
    kit_settle(k);
    kit_expect(k, "a.postStop=1", "a.terminated=1");
    kit_await(k, "user.child_gone(a)");
    kit_expect(k, "user.child_gone(a)=1", "v.term=1", "w.term=1");
    kit_finish(k);
}

static axo_status st_stop_then_spawn(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop_self(ctx) == AXO_OK);
    (void)kit_tell_in(ctx, self->ref, KIT_NOTE, 1);
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, arg) == AXO_OK);
    kit_mark(self, "end", 0);
    return AXO_OK;
}

static void ST_06(kit *k)
{
    kit_family f = kit_tree(k, "a, -c");
    kit_run(k, f.a, st_stop_then_spawn, f.c);
    kit_await(k, "a.terminated");
    kit_order(k, "a.end", "a.postStop", "a.dl(NOTE)");
    kit_order(k, "c.preStart", "c.postStop", "a.postStop", "a.terminated");
    kit_expect(k, "a.note=0", "a.dl=1");
}

static axo_status st_hello_then_stop(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, self->ref, KIT_NOTE, 1) == AXO_OK);
    KIT_REQUIRE(self->k, axo_stop(ctx, self->ref) == AXO_OK);
    return AXO_OK;
}

static void ST_07(kit *k)
{
    for (int i = 0; i < 50; i++) {
        kit_script *a = kit_actor(k, i % 2 != 0 ? "a" : "b");
        a->name = "";
        kit_spawn(k, a);
        kit_run(k, a, st_hello_then_stop, NULL);
        kit_settle(k);
    }
    kit_await_count(k, "user.child_gone", 50);
    kit_expect(k, "a.note=0", "b.note=0");
    kit_await_count(k, "a.dl(NOTE)", 25);
    kit_expect_count(k, "a.dl(NOTE)", 25);
    kit_await_count(k, "b.dl(NOTE)", 25);
    kit_expect_count(k, "b.dl(NOTE)", 25);
}

static axo_status st_spawn_then_stop(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script *c = arg;
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, c) == AXO_OK);
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(c)) == AXO_OK);
    (void)kit_tell_in(ctx, kit_ref(c), KIT_NOTE, 1);
    return AXO_OK;
}

static void ST_08(kit *k)
{
    kit_family f = kit_tree(k, "p, -c, -d");
    kit_run(k, f.p, st_spawn_then_stop, f.c);
    kit_await(k, "p.child_gone(c)");
    kit_order(k, "c.ctor", "c.preStart", "c.postStop", "c.terminated");
    kit_never(k, "c.note");
    kit_await_count(k, "c.dl(NOTE)", 1);
    kit_expect_count(k, "c.dl(NOTE)", 1);
    /* The same from outside. */
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_spawn(k, f.d)), AXO_OK);
    kit_tell(k, f.d, KIT_NOTE, 2);
    kit_await(k, "user.child_gone(d)");
    kit_order(k, "d.ctor", "d.preStart", "d.postStop", "d.terminated");
    kit_never(k, "d.note");
    kit_await_count(k, "d.dl(NOTE)", 1);
    kit_expect_count(k, "d.dl(NOTE)", 1);
}

static void ST_09(kit *k)
{
    kit_script *a = kit_actor(k, "a");
    a->pre_start.run = part_stop_self;
    kit_spawn(k, a);
    kit_tell(k, a, KIT_NOTE, 1);
    kit_await(k, "user.child_gone(a)");
    kit_order(k, "a.preStart", "a.postStop", "a.terminated");
    kit_never(k, "a.note");
    kit_await_count(k, "a.dl(NOTE)", 1);
    kit_expect_count(k, "a.dl(NOTE)", 1);
}

static void ST_10(void **state)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_plan(k, "a, -c");
    kit_script *late = kit_actor(k, "late");
    static const axo_class cls = AXO_CLASS(.receive = kit_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    axo_ref out = {.bits = 1};
    f.a->post_stop.run = part_spawn;
    f.a->post_stop.arg = late;
    kit_grow(&f);
    axo_system_stop_actor(kit_system(k), kit_ref(f.a));
    kit_await(k, "user.child_gone(a)");
    kit_expect_count(k, "a.spawnStatus(ESTOPPING)", 1);
    /* /user is terminating: once refused, always refused. */
    f.c->post_stop.gate = kit_gate_new(k);
    kit_spawn(k, f.c);
    kit_await(k, "c.preStart");
    assert_int_equal(axo_system_shutdown(kit_system(k)), AXO_OK);
    kit_gate_arrived(f.c->post_stop.gate, 1);
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &out), AXO_ESTOPPING);
    assert_true(axo_ref_is_none(out));
    kit_gate_open(f.c->post_stop.gate);
    assert_int_equal(axo_system_wait(kit_system(k), INT64_C(20000000000), NULL), AXO_OK);
    out.bits = 1;
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &out), AXO_ESTOPPING);
    assert_true(axo_ref_is_none(out));
    kit_never(k, "late.ctor");
    assert_int_equal(kit_stats(k).spawned, 5);
    kit_finish_now(k);
}

static void ST_11(kit *k)
{
    kit_family f = kit_tree(k, "p:restart[c]");
    part_blow *blow = part_blow_new(k, 7);
    kit_run(k, f.c, part_hold_fail, blow);
    kit_gate_arrived(blow->gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    if (kit_workers(k) > 1)
        kit_await(k, "p.stopping");
    kit_gate_open(blow->gate);
    kit_await(k, "p.terminated");
    kit_order(k, "c.fails(7)", "c.postStop", "p.postStop", "p.terminated");
    kit_expect(k, "p.decider=0", "c#2.ctor=0");
}

/* Stop during the wait of a restart wins. With DESIGN D3 post_stop has run once by then and does
 * not run again. */
static void ST_12(kit *k)
{
    kit_family f = kit_plan(k, "w, g:restart[p[c]]");
    f.c->post_stop.gate = kit_gate_new(k);
    kit_grow(&f);
    part_watched_by(k, f.p, f.w);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_tell(k, f.p, KIT_NOTE, 1);
    kit_gate_arrived(f.c->post_stop.gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    kit_gate_open(f.c->post_stop.gate);
    kit_await(k, "w.term(p)");
    kit_order(k, "p.fails(7)", "g.decider(p)", "p.preRestart(7)", "c.postStop", "p.child_gone(c)",
              "p.terminated", "w.term(p)");
    kit_order(k, "p.preRestart(7)", "p.postStop", "p.terminated");
    kit_expect(k, "p.postStop=1", "p.ctor=1", "p.note=0");
    kit_await_count(k, "p.dl(NOTE)", 1);
    kit_expect_count(k, "p.dl(NOTE)", 1);
}

static void ST_13(kit *k)
{
    kit_family f = kit_plan(k, "p:restart[a[c]]");
    kit_gate *gate = kit_gate_new(k);
    f.c->post_stop.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_run(k, f.a, part_hold, gate);
    kit_run(k, f.a, part_stop_then_fail, NULL);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_gate_open(gate);
    kit_gate_arrived(f.c->post_stop.gate, 1);
    if (kit_workers(k) > 1)
        kit_await(k, "p.decided(RESTART)");
    kit_gate_open(f.c->post_stop.gate);
    kit_await_all(k, "p.child_gone(a)", "p.decided(RESTART)");
    kit_order(k, "a.fails(7)", "c.postStop", "a.postStop", "a.dl(NOTE)", "a.terminated");
    kit_order(k, "a.fails(7)", "p.decider(a)", "p.decided(RESTART)");
    kit_expect(k, "p.decider=1", "a.ctor=1", "a.postStop=1", "a.preRestart=0", "a.note=0");
}

static void ST_14(kit *k)
{
    kit_family f = kit_tree(k, "p:restart[c]");
    part_blow *blow = part_blow_new(k, 7);
    kit_run(k, f.c, part_hold_fail, blow);
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_gate_arrived(blow->gate, 1);
    /* The one worker is busy with c: then the stop comes from outside. */
    if (kit_workers(k) > 1) {
        kit_run(k, f.p, part_stop, f.c);
        kit_await(k, "p.stops");
    } else {
        axo_system_stop_actor(kit_system(k), kit_ref(f.c));
    }
    kit_gate_open(blow->gate);
    kit_await_all(k, "p.child_gone(c)", "p.decided(RESTART)");
    kit_order(k, "c.fails(7)", "c.postStop", "c.dl(NOTE)", "c.terminated", "p.child_gone(c)");
    kit_order(k, "c.fails(7)", "p.decider(c)", "p.decided(RESTART)");
    kit_expect(k, "p.decider=1", "c.ctor=1", "c.postStop=1", "c.preRestart=0", "c.note=0");
}

static void ST_15(kit *k)
{
    kit_family f = kit_plan(k, "p:restart[a]");
    f.p->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_gate_arrived(f.p->decider.gate, 1);
    kit_tell(k, f.a, KIT_NOTE, 1);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.a)), AXO_OK);
    if (kit_workers(k) > 1) {
        kit_await(k, "a.terminated");
        kit_never(k, "p.decided");
    }
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "p.child_gone(a)");
    kit_order(k, "a.fails(7)", "a.postStop", "a.dl(NOTE)", "a.terminated");
    kit_expect(k, "a.ctor=1", "a.postStop=1", "a.preRestart=0");
}

static void ST_16(kit *k)
{
    kit_family f = kit_plan(k, "p:resume[c,d]");
    kit_script *cc = kit_actor(k, "cc");
    f.c->pre_start.spawn[0] = cc;
    f.p->decider.gate = kit_gate_new(k);
    kit_grow(&f);
    kit_await_all(k, "cc.preStart", "d.preStart");
    kit_tell(k, f.c, KIT_FAIL, 7);
    kit_gate_arrived(f.p->decider.gate, 1);
    axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    kit_never(k, "p.postStop");
    kit_gate_open(f.p->decider.gate);
    kit_await(k, "user.child_gone(p)");
    kit_order(k, "p.decided(RESUME)", "cc.postStop", "c.postStop", "p.postStop", "p.terminated");
    kit_order(k, "d.postStop", "p.postStop");
    kit_expect_count(k, "*.postStop", 4);
}

/* In the handler that stops c its name is taken; in the handler of its notice it is free. */
static axo_status st_stop_and_try(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    axo_ref old = kit_ref(arg);
    axo_ref found;
    kit_script *next = self->script->user;
    KIT_REQUIRE(self->k, axo_stop(ctx, old) == AXO_OK);
    kit_mark(self, "spawnStatus", kit_spawn_in(ctx, next));
    found = axo_child(ctx, "c"); /* it may have ended by now */
    KIT_REQUIRE(self->k, axo_ref_is_none(found) || axo_ref_equal(found, old));
    return AXO_OK;
}

static axo_status st_respawn(axo_ctx *ctx, void *puppet, const axo_message *message)
{
    kit_puppet *self = puppet;
    if (message->tag == AXO_TERMINATED) {
        KIT_REQUIRE(self->k, axo_ref_is_none(axo_child(ctx, "c")));
        kit_mark(self, "spawnStatus", kit_spawn_in(ctx, self->script->user));
    }
    return kit_receive(ctx, puppet, message);
}

static void ST_17(kit *k)
{
    kit_family f = kit_plan(k, "p[c]");
    kit_script *next = kit_actor(k, "next");
    next->name = "c";
    f.p->user = next;
    kit_grow(&f);
    part_tell_become(k, f.p, st_respawn);
    kit_tell_ref(k, f.p, KIT_WATCH, kit_ref(f.c));
    kit_run(k, f.p, st_stop_and_try, f.c);
    kit_await(k, "p.term(c)");
    kit_tell_as(k, f.p, next, KIT_PING, 4);
    kit_await(k, "p.pong(4)");
    kit_order(k, "p.spawnStatus(EEXIST)", "p.child_gone(c)", "p.spawnStatus(OK)");
    kit_order(k, "p.child_gone(c)", "next.preStart", "next.ping(4)");
    kit_order(k, "c.postStop", "p.child_gone(c)");
    assert_false(axo_ref_equal(kit_ref(f.c), kit_ref(next)));
    kit_expect_count(k, "next.ctor", 1);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("ST-01", ST_01), KIT_TEST("ST-02", ST_02), KIT_TEST("ST-03", ST_03),
    KIT_TEST("ST-04", ST_04), KIT_TEST("ST-05", ST_05), KIT_TEST("ST-06", ST_06),
    KIT_TEST("ST-07", ST_07), KIT_TEST("ST-08", ST_08), KIT_TEST("ST-09", ST_09),
    KIT_TEST("ST-10", ST_10), KIT_TEST("ST-11", ST_11), KIT_TEST("ST-12", ST_12),
    KIT_TEST("ST-13", ST_13), KIT_TEST("ST-14", ST_14), KIT_TEST("ST-15", ST_15),
    KIT_TEST("ST-16", ST_16), KIT_TEST("ST-17", ST_17),
};

TEST_MAIN(tests)
