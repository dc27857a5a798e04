/* rs_here_test.c - failures that a parent with a decider of the library's answers in the failed
 * actor's own turn: the records are those of an answer in a turn of the parent's. */
#include <stdio.h>

#include "conformance/parts.h"

static const axo_strategy here_default = AXO_STRATEGY(.limited = 1, .retries_max = 100,
                                                      .within_ns = 1000000000);
static const axo_strategy here_restart = AXO_STRATEGY(.decider = axo_decide_restart);
static const axo_strategy here_stop = AXO_STRATEGY(.decider = axo_decide_stop);
static const axo_strategy here_escalate = AXO_STRATEGY(.decider = axo_decide_escalate);
static const axo_strategy here_all = AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE);

static kit_script *here_parent(kit *k, kit_script *above, const char *label,
                               const axo_strategy *strategy)
{
    kit_script *p = kit_actor(k, label);
    p->given = strategy;
    if (above == NULL)
        (void)kit_spawn(k, p);
    else
        (void)kit_spawn_child(k, above, p, 0);
    char pattern[32];
    (void)snprintf(pattern, sizeof pattern, "%s.preStart", label);
    kit_await(k, pattern);
    return p;
}

/* Fails with one message while the next is queued already: the whole of a leaf's restart. */
static axo_status here_fail_with_next(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, kit_tell_in(ctx, self->ref, KIT_FAIL, 7) == AXO_OK);
    return kit_tell_in(ctx, self->ref, KIT_NOTE, 1);
}

static void here_restarted(kit *k)
{
    kit_order(k, "a.fails(7)", "a.fail", "a.suspend(OWN)", "p.report(a)", "p.decide", "a.directive",
              "a#1.pre_restart", "a.pre_restarted", "a.resume(OWN)", "a#1.freed", "a.destroy",
              "a#2.construct", "a#2.ctor", "a#2.constructed", "a#2.started", "a#2.note(1)");
    assert_int_equal(kit_find(k, "a.suspend(OWN)").suspends, 1);
    assert_int_equal(kit_find(k, "a#1.pre_restart").suspends, 1);
    assert_int_equal(kit_find(k, "a.resume(OWN)").suspends, 0);
    assert_int_equal(kit_find(k, "a#2.note(1)").suspends, 0);
    kit_expect_count(k, "a.ctor", 2);
}

static void RS_01(void **state)
{
    const axo_strategy *const known[] = {&here_default, &here_restart};
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t s = 0; s < sizeof known / sizeof known[0]; s++) {
            kit *k = kit_start(state, NULL);
            kit_script *p = here_parent(k, NULL, "p", known[s]);
            kit_script *a = kit_actor(k, "a");
            a->plain = i == 1;
            (void)kit_spawn_child(k, p, a, 0);
            kit_await(k, "a.preStart");
            kit_run(k, a, here_fail_with_next, NULL);
            kit_await(k, "a#2.note(1)");
            kit_settle(k);
            here_restarted(k);
            kit_finish(k);
        }
    }
}

/* The parent is in a message meanwhile: it decides when it is through. */
static void RS_01_busy(kit *k)
{
    kit_script *p = here_parent(k, NULL, "p", &here_restart);
    kit_script *a = kit_child(k, p, "a");
    kit_gate *gate = kit_gate_new(k);
    kit_run(k, p, part_hold, gate);
    kit_gate_arrived(gate, 1);
    kit_run(k, a, here_fail_with_next, NULL);
    kit_await_reported(k, a);
    kit_never(k, "p.report");
    kit_gate_open(gate);
    kit_await(k, "a#2.note(1)");
    kit_settle(k);
    kit_order(k, "p.end", "p.report(a)");
    here_restarted(k);
}

/* A restart that fails is reported anew, until one succeeds. */
static void HF_04(kit *k)
{
    kit_script *p = here_parent(k, NULL, "p", &here_restart);
    kit_script *a = kit_actor(k, "a");
    a->construct.fail_first = 2;
    a->construct.fail_last = 4;
    a->construct.code = 9;
    (void)kit_spawn_child(k, p, a, 0);
    kit_await(k, "a.preStart");
    kit_run(k, a, here_fail_with_next, NULL);
    kit_await(k, "a#5.note(1)");
    kit_settle(k);
    kit_expect(k, "p.report(a)=4", "a.ctor=5");
}

/* Stop: what is queued becomes dead letters; the parent forgets the child. */
static void DR_04(kit *k)
{
    kit_script *p = here_parent(k, NULL, "p", &here_stop);
    (void)kit_child(k, p, "b");
    kit_script *a = kit_child(k, p, "a");
    kit_run(k, a, here_fail_with_next, NULL);
    kit_await(k, "p.child_gone(a)");
    kit_settle(k);
    kit_order(k, "a.fails(7)", "p.report(a)", "a.directive", "a.stopping", "a.postStop",
              "a.dl(NOTE)", "a.terminated", "p.child_gone(a)");
    kit_expect(k, "a.ctor=1", "b.terminated=0");
}

/* Escalate: the parent fails in its child's turn, and its own parent decides. */
static void EG_01(kit *k)
{
    kit_script *g = here_parent(k, NULL, "g", &here_restart);
    kit_script *p = here_parent(k, g, "p", &here_escalate);
    kit_script *b = kit_child(k, p, "b");
    kit_script *a = kit_child(k, p, "a");
    kit_tell(k, a, KIT_FAIL, 7);
    kit_await(k, "p#2.preStart");
    kit_settle(k);
    kit_order(k, "a.fails(7)", "p.report(a)", "p.decide", "p.fail", "p.suspend(OWN)", "g.report(p)",
              "p#1.preRestart(7)", "p#2.ctor");
    kit_order(k, "p#1.preRestart(7)", "a.postStop", "p#2.ctor");
    kit_order(k, "p#1.preRestart(7)", "b.postStop", "p#2.ctor");
    kit_expect_count(k, "a.suspend(OWN)", 1); /* SC-04 */
    kit_expect_count(k, "g.report", 1);
    (void)b;
}

/* All for one, the failed one in the middle: its siblings are told within its turn. */
static void AF_02(kit *k)
{
    kit_script *p = here_parent(k, NULL, "p", &here_all);
    (void)kit_child(k, p, "b");
    kit_script *a = kit_child(k, p, "a");
    (void)kit_child(k, p, "c");
    kit_run(k, a, here_fail_with_next, NULL);
    kit_await_all(k, "a#2.note(1)", "b#2.postRestart(7)", "c#2.postRestart(7)");
    kit_settle(k);
    kit_order(k, "p.report(a)", "b.suspend(PARENT)", "b#1.preRestart(7)", "b#2.ctor");
    kit_order(k, "p.report(a)", "c.suspend(PARENT)", "c#1.preRestart(7)", "c#2.ctor");
    kit_expect_count(k, "a.ctor", 2);
}

/* Told to stop while it fails: stop wins, though the restart is decided. */
static axo_status here_stop_and_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop(ctx, self->ref) == AXO_OK);
    return axo_fail(ctx, 7, "and stops");
}

static void ST_12(kit *k)
{
    kit_script *p = here_parent(k, NULL, "p", &here_restart);
    kit_script *a = kit_child(k, p, "a");
    kit_run(k, a, here_stop_and_fail, NULL);
    kit_await(k, "p.child_gone(a)");
    kit_settle(k);
    /* p may still be in the turn in which it made a: then it learns of the failure after the end */
    kit_order(k, "a.suspend(OWN)", "a.stopping", "a.terminated");
    kit_order(k, "a.suspend(OWN)", "p.report(a)", "p.decide");
    kit_expect(k, "a.ctor=1", "a.preRestart=0");
}

/* A child that was stopped in the very message under which its parent fails is gone before the
 * next instance, which may give its name again. */
static axo_status here_stop_child_and_fail(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_stop(ctx, kit_ref(arg)) == AXO_OK);
    return axo_fail(ctx, 7, "its child stops");
}

static void UID_01(kit *k)
{
    kit_script *g = here_parent(k, NULL, "g", &here_restart);
    kit_script *p = kit_actor(k, "p");
    kit_script *c = kit_actor(k, "c");
    p->pre_start.spawn[0] = c;
    (void)kit_spawn_child(k, g, p, 0);
    kit_await(k, "c.preStart");
    for (uint32_t i = 1; i <= 20; i++) {
        kit_run(k, p, here_stop_child_and_fail, c);
        kit_await_count(k, "c.preStart", i + 1);
    }
    kit_settle(k);
    kit_expect(k, "p.ctor=21", "c.terminated=20");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RS-01 here", RS_01),
    PART_TEST_MANY("RS-01 here, busy", RS_01_busy),
    KIT_TEST("HF-04 here", HF_04),
    KIT_TEST("DR-04 here", DR_04),
    KIT_TEST("EG-01 here", EG_01),
    KIT_TEST("AF-02 here", AF_02),
    KIT_TEST("ST-12 here", ST_12),
    KIT_TEST("UID-01 here", UID_01),
};
TEST_MAIN(tests)
