/* dc_test.c - the decider. */
#include "conformance/parts.h"

#include <stdio.h>
#include <string.h>

static axo_directive by_default(uint32_t kind)
{
    axo_failure failure = {.kind = kind, .root_kind = kind, .text = "", .original_text = ""};
    return axo_decide_default(NULL, NULL, &failure, NULL);
}

static axo_directive by_stop(uint32_t kind)
{
    axo_failure failure = {.kind = kind, .root_kind = kind, .text = "", .original_text = ""};
    return axo_decide_stop(NULL, NULL, &failure, NULL);
}

static axo_directive decide_by_default(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    kit_mark(self, "kind", failure->kind);
    return axo_decide_default(ctx, self, failure, NULL);
}

/* The default decider, as a function and at work. */
static void DC_01(kit *k)
{
    kit_family f = kit_tree(k, "g(p)");
    kit_script *unmade = kit_actor(k, "unmade");
    kit_script *unstarted = kit_actor(k, "unstarted");
    kit_script *unrestarted;
    kit_script *killed;
    kit_script *pact;
    kit_script *friend;
    kit_script *ordinary;
    kit_script *top;
    assert_int_equal(by_default(AXO_FAILURE_ORDINARY), AXO_RESTART);
    assert_int_equal(by_default(AXO_FAILURE_INIT), AXO_STOP);
    assert_int_equal(by_default(AXO_FAILURE_POST_RESTART), AXO_STOP);
    assert_int_equal(by_default(AXO_FAILURE_KILLED), AXO_STOP);
    assert_int_equal(by_default(AXO_FAILURE_DEATH_PACT), AXO_STOP);
    assert_int_equal(by_default(AXO_FAILURE_FATAL), AXO_ESCALATE);
    f.g->directive = AXO_RESUME;
    f.p->decide = decide_by_default;
    unmade->construct.fail_first = 1;
    unmade->construct.how = KIT_BY_THROW;
    (void)kit_spawn_child(k, f.p, unmade, 0);
    kit_await(k, "unmade.terminated");
    unstarted->pre_start.fail_first = 1;
    (void)kit_spawn_child(k, f.p, unstarted, 0);
    kit_await(k, "unstarted.terminated");
    kit_never(k, "unstarted.postStop");
    unrestarted = kit_child(k, f.p, "unrestarted");
    unrestarted->post_restart.fail_first = 1;
    (void)kit_tell(k, unrestarted, KIT_FAIL, 1);
    kit_await(k, "unrestarted.terminated");
    killed = kit_child(k, f.p, "killed");
    (void)axo_system_kill(kit_system(k), kit_ref(killed));
    kit_await(k, "killed.terminated");
    pact = kit_child(k, f.p, "pact");
    friend = kit_child(k, f.p, "friend");
    pact->term_unhandled = true;
    (void)kit_tell_ref(k, pact, KIT_WATCH, kit_ref(friend));
    (void)kit_tell(k, friend, KIT_STOP_SELF, 0);
    kit_await(k, "pact.terminated");
    ordinary = kit_child(k, f.p, "ordinary");
    (void)kit_tell(k, ordinary, KIT_FAIL, 1);
    (void)kit_tell(k, ordinary, KIT_STATUS, AXO_EINVAL);
    (void)kit_tell(k, ordinary, KIT_THROW, 2);
    kit_await(k, "ordinary#4.preStart");
    kit_never(k, "g.decider");
    (void)kit_tell(k, ordinary, KIT_FAIL_FATAL, 3);
    kit_await(k, "g.decided(RESUME)");
    kit_settle(k);
    kit_order(k, "p.kind(INIT)@1", "p.kind(INIT)@2", "p.kind(ORDINARY)@1", "p.kind(POST_RESTART)",
              "p.kind(KILLED)", "p.kind(DEATH_PACT)", "p.kind(FATAL)");
    kit_expect(k, "p.kind(ORDINARY)=4", "ordinary.ctor=4", "p.ctor=1", "g.decider(p)=1");
    /* The guardian of the user's actors decides by default too. */
    top = kit_top(k, "top");
    (void)kit_tell(k, top, KIT_FAIL, 1);
    kit_await(k, "top#2.preStart");
    (void)axo_system_kill(kit_system(k), kit_ref(top));
    kit_await(k, "top.terminated");
    kit_expect_count(k, "top.ctor", 2);
}

/* Covers nothing: 0 the first time, then a number that is no directive. */
static axo_directive cover_nothing(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    return (axo_directive)(self->value++ == 0 ? 0 : 77);
}

/* What a decider does not cover is escalated; it does not fall back to the default. */
static void DC_02(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a))");
    f.g->directive = AXO_RESUME;
    f.p->decide = cover_nothing;
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    (void)kit_tell(k, f.a, KIT_FAIL, 8);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    kit_settle(k);
    kit_order(k, "a.fails(7)", "p.decided(0)", "g.cause(7)", "a.fails(8)", "p.decided(77)",
              "g.cause(8)", "a.note(1)");
    kit_expect(k, "g.decider(p)=2", "a.ctor=1", "p.ctor=1");
}

static axo_directive own_case_first(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    if (failure->kind == AXO_FAILURE_ORDINARY && failure->code == 7)
        return AXO_RESUME;
    return axo_decide_default(ctx, self, failure, NULL);
}

/* Own cases first, then the default decider. */
static void DC_03(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    f.p->decide = own_case_first;
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell(k, f.a, KIT_FAIL, 8);
    (void)kit_tell(k, f.a, KIT_NOTE, 2);
    (void)axo_system_kill(kit_system(k), kit_ref(f.a));
    kit_await(k, "a.terminated");
    kit_order(k, "a#1.note(1)", "a#2.note(2)", "p.decided(STOP)", "a.terminated");
    kit_expect_count(k, "a.ctor", 2);
}

static axo_directive decide_by_stop(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    return axo_decide_stop(ctx, self, failure, NULL);
}

/* The stopping decider: Stop for all but the fatal family. */
static void DC_04(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a,b))");
    for (uint32_t kind = AXO_FAILURE_ORDINARY; kind <= AXO_FAILURE_FATAL; kind++) {
        if (kind != 4) /* there is none */
            assert_int_equal(by_stop(kind),
                             kind == AXO_FAILURE_FATAL ? AXO_ESCALATE : AXO_STOP);
    }
    f.g->directive = AXO_RESUME;
    f.p->decide = decide_by_stop;
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "a.terminated");
    kit_never(k, "g.decider");
    (void)kit_tell(k, f.b, KIT_FAIL_FATAL, 8);
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    kit_await(k, "b.note(1)");
    kit_order(k, "a.postStop", "a.terminated", "g.cause(8)", "b#1.note(1)");
    kit_expect(k, "a.ctor=1", "b.stopping=0");
}

/* Restarts for the kinds of a list, their sub-kinds included, and covers nothing else. */
typedef struct kind_list {
    uint32_t count;
    uint32_t kinds[3];
} kind_list;

static axo_directive decide_by_list(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user)
{
    const kind_list *list = user;
    kit_mark(state, "kind", failure->kind);
    for (uint32_t i = 0; i < list->count; i++) {
        if (failure->kind == list->kinds[i] || (failure->kind == AXO_FAILURE_POST_RESTART &&
                                                list->kinds[i] == AXO_FAILURE_INIT))
            return AXO_RESTART;
    }
    return (axo_directive)0;
}

/* One decider, and a list of each parent's own; the empty list escalates everything. */
static void DC_05(kit *k)
{
    static const kind_list some = {2, {AXO_FAILURE_KILLED, AXO_FAILURE_INIT}};
    static const kind_list none = {0, {0}};
    kit_family f = kit_tree(k, "g, -p, -q, -a");
    axo_strategy *strategies = kit_alloc(k, 2 * sizeof *strategies);
    strategies[0] =
        (axo_strategy)AXO_STRATEGY(.decider = decide_by_list, .user = (void *)(uintptr_t)&some);
    strategies[1] =
        (axo_strategy)AXO_STRATEGY(.decider = decide_by_list, .user = (void *)(uintptr_t)&none);
    f.g->directive = AXO_RESUME;
    f.p->given = &strategies[0];
    f.q->given = &strategies[1];
    f.a->construct.fail_first = 1;
    f.a->post_restart.fail_first = 1;
    (void)kit_spawn_child(k, f.g, f.p, 0);
    (void)kit_spawn_child(k, f.g, f.q, 0);
    kit_await_all(k, "p.preStart", "q.preStart");
    (void)kit_spawn_child(k, f.p, f.a, 0);
    kit_await(k, "a#2.preStart");
    kit_script *b = kit_child(k, f.q, "b");
    (void)axo_system_kill(kit_system(k), kit_ref(f.a));
    kit_await(k, "a#4.preStart");
    kit_never(k, "g.decider");
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell(k, b, KIT_FAIL, 8);
    (void)axo_system_kill(kit_system(k), kit_ref(b));
    (void)kit_tell(k, b, KIT_NOTE, 1);
    kit_await_all(k, "a#4.note(1)", "b#1.note(1)");
    kit_settle(k);
    kit_order(k, "p.kind(INIT)", "p.kind(KILLED)", "p.kind(POST_RESTART)", "p.kind(ORDINARY)");
    kit_order(k, "q.kind(ORDINARY)", "q.kind(KILLED)");
    kit_expect(k, "g.decider(p)=1", "g.decider(q)=2", "a.ctor=4", "b.ctor=1");
}

static axo_directive look_at_sender(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    kit_script *failed = self->script->user;
    kit_script *first = failed->user != NULL ? failed->user : failed;
    KIT_REQUIRE(self->k, axo_ref_equal(axo_sender(ctx), kit_ref(failed)));
    KIT_REQUIRE(self->k, axo_ref_equal(failure->actor, kit_ref(first)));
    KIT_REQUIRE(self->k, axo_ref_equal(axo_self(ctx), self->ref));
    return failed->user != NULL ? AXO_RESUME : AXO_ESCALATE;
}

static axo_status mark_sender(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_mark(self, "sender", (int64_t)axo_sender(ctx).bits);
    return AXO_OK;
}

/* While a decider runs, the failed child is the sender; after an escalation the one that failed
 * last. */
static void DC_07(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a))");
    kit_script *probe = kit_top(k, "probe");
    f.g->decide = look_at_sender;
    f.g->user = f.p;
    f.p->decide = look_at_sender;
    f.p->user = f.a;
    (void)kit_tell_as(k, probe, f.a, KIT_FAIL, 7);
    kit_await(k, "g.decided");
    kit_order(k, "p.decider(a)", "g.decider(p)");
    /* After it, the sender is the message's again. */
    f.g->receive.run = mark_sender;
    (void)kit_tell_as(k, probe, f.g, KIT_NOTE, 1);
    (void)kit_tell(k, f.g, KIT_NOTE, 2);
    kit_await(k, "g.note(2)");
    kit_order(k, "g.sender(probe)", "g.note(1)", "g.sender(0)", "g.note(2)");
}

static axo_status loud(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == KIT_NOTE)
        kit_mark(state, "loud", AXO_PAYLOAD(message, kit_payload)->value);
    return kit_receive(ctx, state, message);
}

/* All that an actor may do, done by its decider; the state needs no lock. */
static axo_directive do_everything(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    kit_script *const *others = self->script->user;
    int64_t before = self->value;
    self->value = -1;
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, others[0]) == AXO_OK);
    KIT_REQUIRE(self->k, axo_watch(ctx, kit_ref(others[0])) == AXO_OK);
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(others[1]), KIT_PING, before) == AXO_OK);
    KIT_REQUIRE(self->k, axo_become(ctx, loud) == AXO_OK);
    KIT_REQUIRE(self->k, axo_child_count(ctx) == 2);
    self->value = before + 1;
    return AXO_RESUME;
}

static void DC_08(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    kit_script **others = kit_alloc(k, 2 * sizeof(kit_script *));
    others[0] = kit_actor(k, "made");
    others[1] = kit_top(k, "other");
    f.p->decide = do_everything;
    f.p->user = others;
    (void)kit_tell(k, f.p, KIT_SET, 41);
    kit_await(k, "p.set(41)");
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "p.pong(41)"); /* the decider is the sender of its ping */
    (void)kit_tell(k, f.p, KIT_GET, 0);
    (void)kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await_all(k, "p.loud(1)", "made.preStart");
    kit_order(k, "p.decider(a)", "p.decided(RESUME)", "p.get(42)");
    kit_order(k, "p.decider(a)", "other.ping(41)");
    (void)kit_tell(k, others[0], KIT_STOP_SELF, 0);
    kit_await(k, "p.term(made)");
    kit_expect_count(k, "a.ctor", 1);
    /* Never beside a message of the same actor. */
    f.p->decide = NULL;
    f.p->directive = AXO_RESUME;
    for (int i = 0; i < 100; i++) {
        (void)kit_tell(k, f.a, KIT_FAIL, i);
        (void)kit_tell(k, f.p, KIT_NOTE, 100 + i);
    }
    kit_await_count(k, "p.decided(RESUME)", 101);
    kit_await(k, "p.note(199)");
    for (int i = 1; i <= 101; i++) {
        char from[40];
        char to[40];
        (void)snprintf(from, sizeof from, "p.decider(a)@%d", i);
        (void)snprintf(to, sizeof to, "p.decided(RESUME)@%d", i);
        kit_none_between(k, "p.note", from, to);
        kit_none_between(k, "p.receive", from, to);
    }
}

/* A decider that fails: its actor fails with that, and the child stays the perpetrator. */
static void decider_fails(void **state, kit_how how)
{
    kit *k = kit_start(state, NULL);
    kit_family f = kit_tree(k, "g(p(c,d))");
    f.g->directive = AXO_RESUME;
    f.p->decider.fail_first = 1;
    f.p->decider.how = how;
    f.p->decider.code = 68;
    f.g->decider.gate = kit_gate_new(k);
    (void)kit_tell(k, f.p, KIT_SET, 1);
    (void)kit_tell(k, f.c, KIT_SET, 2);
    kit_settle(k);
    (void)kit_tell(k, f.c, KIT_FAIL, 7);
    kit_gate_arrived(f.g->decider.gate, 1);
    (void)kit_tell(k, f.p, KIT_GET, 0);
    (void)kit_tell(k, f.c, KIT_GET, 0);
    if (kit_workers(k) > 1) {
        kit_await(k, "d.suspend(PARENT)");
        kit_expect(k, "p.get=0", "c.get=0");
    }
    kit_gate_open(f.g->decider.gate);
    kit_await_all(k, "p.get(1)", "c.get(2)");
    kit_settle(k);
    kit_order(k, "p.decider(c)", "p.fail", "g.decider(p)", "g.decided(RESUME)", "c.get(2)");
    kit_order(k, "g.decided(RESUME)", "p.get(1)");
    kit_expect(k, "g.cause(68)=1", "p.decided=0");
    kit_expect_count(k, "d.suspend(PARENT)", kit_count(k, "d.resume(PARENT)"));
    kit_expect_count(k, "c.suspend", 1); /* its own: the perpetrator is skipped */
    kit_expect_count(k, "*.ctor", 4);
    (void)kit_tell(k, f.d, KIT_NOTE, 1);
    kit_await(k, "d.note(1)");
    kit_finish(k);
}

static axo_directive look_at_site(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    KIT_REQUIRE(self->k, failure->site == AXO_SITE_DECIDER);
    KIT_REQUIRE(self->k, failure->kind == AXO_FAILURE_ORDINARY);
    KIT_REQUIRE(self->k, failure->code == 5 && strcmp(failure->text, "thrown 5") == 0);
    KIT_REQUIRE(self->k, axo_ref_equal(failure->actor, axo_sender(ctx)));
    return AXO_RESTART;
}

static void DC_09(void **state)
{
    decider_fails(state, KIT_BY_THROW);
}

static void DC_09_restart(kit *k)
{
    kit_family f = kit_tree(k, "g(p(c))");
    f.g->decide = look_at_site;
    f.p->decider.fail_first = 1;
    f.p->decider.how = KIT_BY_THROW;
    f.p->decider.code = 5;
    f.p->keep_children = true;
    f.p->no_default_start = true;
    (void)kit_tell(k, f.c, KIT_FAIL, 7);
    (void)kit_tell(k, f.c, KIT_NOTE, 1);
    (void)kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "c#2.note(1)");
    kit_settle(k);
    kit_order(k, "p.decider(c)", "g.decider(p)", "p#1.preRestart(5)", "p#2.postRestart(5)",
              "c#1.preRestart(5)", "c#2.note(1)");
    kit_expect(k, "p.note=1", "c.ctor=2");
}

/* A child that was told to stop fails on its last message: Restart has no effect. */
static void DC_10(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    kit_gate *gate = part_in_flight(k, f.a, 7);
    f.p->directive = AXO_RESTART;
    (void)axo_system_stop_actor(kit_system(k), kit_ref(f.a));
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    kit_gate_open(gate);
    kit_await(k, "p.child_gone(a)");
    kit_settle(k);
    kit_expect(k, "a.fails(7)=1", "a.ctor=1", "a.postStop=1");
    kit_await_count(k, "a.dl(NOTE)", 1);
    kit_expect(k, "a.dl(NOTE)=1", "a.preRestart=0");
    assert_true(kit_count(k, "p.decider(a)") <= 1);
}

/* The decider is not asked while its actor terminates. */
static void DC_11(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a))");
    kit_gate *gate = part_in_flight(k, f.a, 7);
    (void)axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    if (kit_workers(k) > 1)
        kit_await(k, "p.stopping");
    kit_gate_open(gate);
    kit_await(k, "g.child_gone(p)");
    kit_settle(k);
    kit_expect(k, "p.decider=0", "g.decider=0", "a.fails(7)=1");
    kit_order(k, "a.terminated", "p.postStop", "p.terminated");
}

/* One strategy for two parents: it keeps nothing of either. */
static void DC_12(kit *k)
{
    static const axo_strategy shared = AXO_STRATEGY(.decider = axo_decide_restart, .limited = 1,
                                                    .retries_max = 1, .within_ns = -1);
    kit_family f = kit_plan(k, "p(a), q(b)");
    f.p->given = &shared;
    f.q->given = &shared;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    (void)kit_tell(k, f.b, KIT_FAIL_FATAL, 1); /* axo_decide_restart restarts for that too */
    kit_await_all(k, "a#2.preStart", "b#2.preStart");
    (void)kit_tell(k, f.a, KIT_FAIL, 2);
    kit_await(k, "p.child_gone(a)");
    (void)axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    kit_await(k, "p.terminated");
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    (void)kit_tell(k, f.b, KIT_FAIL, 2);
    kit_await(k, "q.child_gone(b)");
    kit_expect(k, "b#2.note(1)=1", "a.ctor=2", "b.ctor=2");
}

static axo_directive mark_instance(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    kit_mark(self, "decidedBy", self->instance);
    kit_mark(self, "state", self->value);
    return AXO_RESUME;
}

/* The decider runs on the present instance of its actor. */
static void DC_13(kit *k)
{
    kit_family f = kit_tree(k, "g(p(a))");
    f.p->decide = mark_instance;
    f.p->keep_children = true;
    f.p->no_default_start = true;
    (void)kit_tell(k, f.p, KIT_SET, 9);
    (void)kit_tell(k, f.p, KIT_NOTE, 1);
    kit_await(k, "p.note(1)");
    (void)kit_tell(k, f.a, KIT_FAIL, 1);
    kit_await(k, "p.state(9)");
    (void)kit_tell(k, f.p, KIT_FAIL, KIT_DO_RESTART);
    kit_await(k, "a#2.preStart");
    (void)kit_tell(k, f.a, KIT_FAIL, 2);
    kit_await(k, "p.state(0)");
    kit_order(k, "p#1.decidedBy(1)", "p#2.ctor", "p#2.decidedBy(2)");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DC-01", DC_01), KIT_TEST("DC-02", DC_02), KIT_TEST("DC-03", DC_03),
    KIT_TEST("DC-04", DC_04), KIT_TEST("DC-05", DC_05), KIT_TEST("DC-07", DC_07),
    KIT_TEST("DC-08", DC_08), KIT_TEST("DC-09", DC_09), KIT_TEST("DC-09 restart", DC_09_restart),
    KIT_TEST("DC-10", DC_10), KIT_TEST("DC-11", DC_11),
    KIT_TEST("DC-12", DC_12), KIT_TEST("DC-13", DC_13),
};
TEST_MAIN(tests)
