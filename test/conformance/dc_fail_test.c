/* dc_fail_test.c - a decider that records a failure and returns a directive all the same: DC-14. */
#include "conformance/family.h"
#include "conformance/parts.h"

/* What a decider says, and how it fails before. */
typedef struct fail_plan {
    int32_t directive; /* as it is returned */
    uint32_t fails;    /* the first calls do; then Resume */
    bool fatal;
    _Atomic uint32_t calls;
} fail_plan;

static axo_directive fail_and_say(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    fail_plan *plan = self->script->user;
    if (plan->calls++ >= plan->fails)
        return AXO_RESUME;
    axo_status status = plan->fatal ? axo_fail_fatal(ctx, 68, "cannot %s", "decide")
                                    : axo_fail(ctx, 67, "replaced");
    KIT_REQUIRE(self->k, status == AXO_EFAILED);
    if (!plan->fatal)
        (void)axo_fail(ctx, 68, "cannot %s", "decide");
    return (axo_directive)plan->directive;
}

typedef struct fail_family {
    kit_script *g;
    kit_script *p;
    kit_script *a;
    kit_script *b;
    kit_script *c;
    family_causes *causes; /* g's */
    fail_plan *plan;       /* p's */
} fail_family;

static fail_family fail_family_of(kit *k, axo_scope scope, int32_t directive)
{
    fail_family f = {.g = kit_actor(k, "g"), .p = kit_actor(k, "p"),
                     .plan = kit_alloc(k, sizeof *f.plan)};
    f.causes = family_log(k, f.g);
    f.causes->answer[AXO_FAILURE_ORDINARY] = AXO_RESUME;
    f.causes->answer[AXO_FAILURE_FATAL] = AXO_RESUME;
    f.plan->directive = directive;
    f.plan->fails = 1;
    f.p->decide = fail_and_say;
    f.p->user = f.plan;
    f.p->strategy.scope = scope;
    f.p->strategy.limited = 1;
    f.p->strategy.retries_max = 1;
    f.p->strategy.within_ns = -1;
    family_born(k, NULL, f.g);
    family_born(k, f.g, f.p);
    f.a = kit_child(k, f.p, "a");
    f.b = kit_child(k, f.p, "b");
    f.c = kit_child(k, f.p, "c");
    return f;
}

static void fail_expect_cause(const fail_family *f, uint32_t kind)
{
    const family_cause *cause = &f->causes->list[0];
    assert_int_equal(f->causes->count, 1);
    assert_int_equal(cause->failure.kind, kind);
    assert_int_equal(cause->failure.root_kind, kind);
    assert_int_equal(cause->failure.site, AXO_SITE_DECIDER);
    assert_int_equal(cause->failure.code, 68);
    assert_string_equal(cause->text, "cannot decide");
    assert_int_equal(cause->failure.original_kind, AXO_FAILURE_NONE);
    assert_true(axo_ref_equal(cause->failure.actor, kit_ref(f->p)));
    assert_true(axo_ref_equal(cause->failure.reporter, kit_ref(f->p)));
}

/* Each directive, and numbers that are none: nobody is restarted, stopped or escalated for it. */
static void fail_each(void **state, axo_scope scope, bool fatal)
{
    static const int32_t said[] = {0, AXO_RESUME, AXO_RESTART, AXO_STOP, AXO_ESCALATE, 77};
    uint32_t workers = (uint32_t)(uintptr_t)*state;
    for (uint32_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        *state = (void *)(uintptr_t)workers;
        kit *k = kit_start(state, NULL);
        fail_family f = fail_family_of(k, scope, said[i]);
        f.plan->fatal = fatal;
        (void)kit_tell(k, f.a, KIT_SET, 5);
        (void)kit_tell(k, f.b, KIT_FAIL, 7);
        (void)kit_tell(k, f.b, KIT_NOTE, 1);
        (void)kit_tell(k, f.a, KIT_GET, 0);
        kit_await(k, "b#1.note(1)"); /* resumed with p */
        kit_await(k, "a#1.get(5)");
        kit_settle(k);
        fail_expect_cause(&f, fatal ? AXO_FAILURE_FATAL : AXO_FAILURE_ORDINARY);
        kit_never(k, "p.decide"); /* it has decided nothing */
        kit_expect(k, "*.merge=0", "*.ctor=5", "*.preRestart=0", "*.postStop=0", "p.delay=0");
        kit_expect_count(k, "b.suspend", 1); /* the perpetrator: its own */
        kit_expect_count(k, "a.suspend", kit_count(k, "a.resume"));
        kit_order(k, "b.fails(7)", "p.decider(b)", "p.fail", "g.decider(p)", "g.decided(RESUME)",
                  "b.note(1)");
        kit_finish(k);
    }
}

static void DC_14_one(void **state)
{
    fail_each(state, AXO_ONE_FOR_ONE, false);
}

static void DC_14_all(void **state)
{
    fail_each(state, AXO_ALL_FOR_ONE, false);
}

static void DC_14_rest(void **state)
{
    fail_each(state, AXO_REST_FOR_ONE, true);
}

static axo_directive say_restart(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    fail_plan *plan = self->script->user;
    if (plan->calls++ < plan->fails)
        (void)axo_fail(ctx, 68, "cannot decide");
    return AXO_RESTART;
}

/* No budget is spent by what was not decided: the one restart that there is, is still there. */
static void DC_14_budget(kit *k)
{
    fail_family f = fail_family_of(k, AXO_ALL_FOR_ONE, AXO_RESTART);
    f.p->decide = say_restart;
    f.plan->fails = 3;
    for (int32_t i = 1; i <= 3; i++) {
        (void)kit_tell(k, f.b, KIT_FAIL, 7);
        (void)kit_tell(k, f.b, KIT_NOTE, i);
        kit_await_count(k, "b#1.note", (uint32_t)i);
    }
    kit_expect(k, "g.decider(p)=3", "*.ctor=5");
    (void)kit_tell(k, f.b, KIT_FAIL, 8);
    kit_await_all(k, "a#2.preStart", "b#2.preStart", "c#2.preStart");
    (void)kit_tell(k, f.b, KIT_FAIL, 9);
    kit_await_all(k, "p.child_gone(a)", "p.child_gone(b)", "p.child_gone(c)");
    kit_expect_count(k, "p.ctor", 1);
}

/* Reports that came while it was busy are decided one after the other: what one decision has
 * recorded is not the next one's. The second is held until p is answered. */
static void DC_14_busy(kit *k)
{
    fail_family f = fail_family_of(k, AXO_ONE_FOR_ONE, AXO_STOP);
    kit_gate *gate = kit_gate_new(k);
    (void)kit_wait_at(k, f.p, gate, 0);
    kit_gate_arrived(gate, 1);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    (void)kit_tell(k, f.b, KIT_FAIL, 8);
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    (void)kit_tell(k, f.b, KIT_NOTE, 2);
    if (kit_workers(k) > 1) {
        kit_await_reported(k, f.a);
        kit_await_reported(k, f.b);
    }
    kit_gate_open(gate);
    kit_await_all(k, "a#1.note(1)", "b#1.note(2)");
    kit_settle(k);
    kit_expect(k, "p.decider=2", "p.decide=1", "g.decider(p)=1", "*.ctor=5");
    fail_expect_cause(&f, AXO_FAILURE_ORDINARY);
    kit_finish(k);
}

/* Restart for it: the parent, and with it the child whose failure it could not decide. */
static void DC_14_restart(kit *k)
{
    fail_family f = fail_family_of(k, AXO_ALL_FOR_ONE, AXO_STOP);
    f.causes->answer[AXO_FAILURE_ORDINARY] = AXO_RESTART;
    f.p->keep_children = true;
    f.p->no_default_start = true;
    (void)kit_tell(k, f.b, KIT_FAIL, 7);
    (void)kit_tell(k, f.b, KIT_NOTE, 1);
    kit_await(k, "b#2.note(1)");
    kit_settle(k);
    kit_order(k, "p.decider(b)", "g.decider(p)", "p#1.preRestart(68)", "p#2.postRestart(68)",
              "b#1.preRestart(68)", "b#1.preRestartWith(7)", "b#2.postRestart(68)",
              "b#2.note(1)");
    kit_expect(k, "a.ctor=2", "b.ctor=2", "c.ctor=2", "p.decider=1");
}

/* ---- /user's own ----------------------------------------------------------------------------- */

static axo_directive user_decider(axo_ctx *ctx, void *state, const axo_failure *failure,
                                  void *user)
{
    _Atomic uint32_t *calls = user;
    ++*calls;
    (void)axo_fail(ctx, 68, "/user cannot decide");
    return AXO_RESUME;
}

/* The guardian's decider is like any: /user fails, and the system ends with that (GU-07, GU-08). */
static void DC_14_user(void **state)
{
    _Atomic uint32_t calls = 0;
    axo_strategy strategy = AXO_STRATEGY(.decider = user_decider, .user = &calls);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    axo_outcome outcome;
    kit *k = kit_start(state, &options);
    kit_script *a = kit_top(k, "a");
    (void)kit_tell(k, a, KIT_FAIL_FATAL, 7);
    kit_await_all(k, "user.fail", "user.report(a)");
    (void)axo_system_stop(kit_system(k), -1, NULL, 0, NULL);
    assert_int_equal(axo_system_wait(kit_system(k), -1, &outcome), AXO_OK);
    assert_int_equal(outcome.failed, 1);
    assert_int_equal(outcome.kind, AXO_FAILURE_ORDINARY);
    assert_int_equal(outcome.code, 68);
    assert_string_equal(outcome.text, "/user cannot decide");
    assert_int_equal(calls, 1);
    kit_expect(k, "user.decide=0", "a#2.ctor=0");
    kit_finish_now(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("DC-14 one for one", DC_14_one),   KIT_TEST("DC-14 all for one", DC_14_all),
    KIT_TEST("DC-14 rest for one", DC_14_rest), KIT_TEST("DC-14 budget", DC_14_budget),
    KIT_TEST("DC-14 busy", DC_14_busy),         KIT_TEST("DC-14 restart", DC_14_restart),
    KIT_TEST("DC-14 user", DC_14_user),
};
TEST_MAIN(tests)
