/* ph_test.c - what the family of Phluxor and Proto.Actor does, where axo has a form of it (PH). */
#include <stdio.h>

#include "conformance/budget.h"
#include "conformance/family.h"
#include "conformance/parts.h"

/* Its "not found" is existence_known 0; a watch that meets the end is answered like any. */
static void PH_05(kit *k)
{
    kit_family f = kit_tree(k, "w, t");
    axo_ref never = {.bits = kit_ref(f.w).bits ^ (UINT64_C(1) << 54)};
    kit_tell_ref(k, f.w, KIT_WATCH, never);
    kit_await(k, "w.known(0)");
    if (kit_workers(k) > 1) {
        f.t->post_stop.gate = kit_gate_new(k);
        kit_tell(k, f.t, KIT_STOP_SELF, 0);
        kit_gate_arrived(f.t->post_stop.gate, 1);
        kit_run(k, f.w, part_watch, f.t);
        kit_await(k, "w.watches");
        kit_gate_open(f.t->post_stop.gate);
    } else {
        kit_tell(k, f.t, KIT_STOP_SELF, 0);
        kit_run(k, f.w, part_watch, f.t);
    }
    kit_await(k, "w.known(1)");
    kit_settle(k);
    kit_expect(k, "w.term=2", "w.term(t)=1");
}

/* Its "stopped" is existence_known 1, for each way to end and for a watch that meets the stop; its
 * "not found" is 0. Its "address terminated" is in dw_remote_test.c. */
static void PH_04(void **state)
{
    static const char *const labels[] = {"stopped", "itself", "pill", "killed", "failed", "child"};
    static const axo_strategy stops = AXO_STRATEGY(.decider = axo_decide_stop);
    enum { ENDS = 6, CHILD = ENDS - 1 };
    axo_options options = AXO_OPTIONS(.user_strategy = &stops);
    kit *k = kit_start(state, &options);
    kit_family f = kit_tree(k, "w, p");
    kit_script *t[ENDS];
    for (uint32_t i = 0; i < ENDS; i++) {
        t[i] = i == CHILD ? kit_child(k, f.p, labels[i]) : kit_top(k, labels[i]);
        part_watched_by(k, t[i], f.w);
    }
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(t[0])), AXO_OK);
    kit_tell(k, t[1], KIT_STOP_SELF, 0);
    assert_int_equal(axo_system_poison(kit_system(k), kit_ref(t[2])), AXO_OK);
    assert_int_equal(axo_system_kill(kit_system(k), kit_ref(t[3])), AXO_OK);
    kit_tell(k, t[4], KIT_FAIL, 7);
    kit_tell(k, f.p, KIT_STOP_SELF, 0); /* the child with it */
    kit_await_count(k, "w.known(1)", ENDS);
    kit_settle(k);
    for (uint32_t i = 0; i < ENDS; i++) {
        char term[32];
        (void)snprintf(term, sizeof term, "w.term(%s)", labels[i]);
        kit_expect_count(k, term, 1);
    }
    kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(t[0])); /* long gone, and yet it has lived */
    kit_await_count(k, "w.known(1)", ENDS + 1);
    kit_never(k, "w.known(0)");
    axo_ref never = {.bits = kit_ref(f.w).bits ^ (UINT64_C(1) << 54)};
    kit_tell_ref(k, f.w, KIT_WATCH, never);
    kit_await(k, "w.known(0)");
    kit_expect_count(k, "w.known", ENDS + 2);
    kit_finish(k);
}

/* Top-level actors have a parent like others, which counts their restarts. */
static void PH_17(void **state)
{
    static const axo_strategy strategy =
        AXO_STRATEGY(.window = AXO_WINDOW_SLIDING, .decider = axo_decide_restart, .limited = 1,
                     .retries_max = 3, .within_ns = BUDGET_HOUR_NS);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    kit *k = kit_start(state, &options);
    kit_family f = kit_tree(k, "a, b");
    budget_crash_until(k, f.a, 3);
    budget_crash(k, f.b, 1, true);
    kit_finish(k);
}

/* A guardian knows its children, and its directives reach those that are suspended. */
static void PH_18(void **state)
{
    static const axo_strategy strategy =
        AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE, .decider = axo_decide_restart);
    axo_options options = AXO_OPTIONS(.user_strategy = &strategy);
    kit *k = kit_start(state, &options);
    kit_family f = kit_tree(k, "a, b");
    kit_tell(k, f.b, KIT_SET, 5);
    kit_await(k, "b.set(5)");
    kit_tell(k, f.a, KIT_FAIL, 7);
    kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await_all(k, "a#2.note(1)", "b#2.preStart");
    kit_tell(k, f.b, KIT_GET, 0);
    kit_await(k, "b#2.get(0)");
    kit_expect_count(k, "b.preRestart(7)", 1);
    kit_finish(k);
}

/* Whatever the scope, it is the child's own cause that the next parent is told. */
static void PH_19(kit *k)
{
    kit_script *g = kit_actor(k, "g");
    family_causes *causes = family_log(k, g);
    causes->answer[AXO_FAILURE_ORDINARY] = AXO_RESUME;
    family_born(k, NULL, g);
    for (uint32_t i = 0; i < 2; i++) {
        kit_script *p = kit_actor(k, i == 0 ? "p0" : "p1");
        kit_script *a = kit_actor(k, i == 0 ? "a0" : "a1");
        const axo_failure *told = &causes->list[i].failure;
        p->directive = AXO_ESCALATE;
        p->strategy.scope = i == 0 ? AXO_ONE_FOR_ONE : AXO_ALL_FOR_ONE;
        family_born(k, g, p);
        family_born(k, p, a);
        kit_tell(k, a, KIT_FAIL, 7 + (int64_t)i);
        kit_tell(k, a, KIT_NOTE, 1);
        family_await(k, a, "note(1)");
        assert_int_equal(causes->count, i + 1);
        assert_int_equal(told->kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(told->code, 7 + i);
        assert_true(axo_ref_equal(told->actor, kit_ref(a)));
        assert_string_equal(causes->list[i].text, i == 0 ? "failed 7" : "failed 8");
    }
}

static void PH_28(void **state)
{
    static const axo_class cls = AXO_CLASS(.receive = kit_receive);
    axo_props props = AXO_PROPS(.cls = &cls);
    kit *k = kit_start(state, NULL);
    kit_script *a = kit_top(k, "a");
    axo_ref ref = {1};
    assert_int_equal(axo_system_stop(kit_system(k), INT64_C(20000000000), NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_spawn(kit_system(k), &props, &ref), AXO_ESTOPPING);
    assert_true(axo_ref_is_none(ref));
    assert_int_equal(kit_tell(k, a, KIT_PING, 1), AXO_EGONE);
    kit_expect(k, "a.dl(PING)=1", "a.ping=0");
    kit_finish_now(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("PH-04", PH_04), KIT_TEST("PH-05", PH_05), KIT_TEST("PH-17", PH_17),
    KIT_TEST("PH-18", PH_18), KIT_TEST("PH-19", PH_19), KIT_TEST("PH-28", PH_28),
};

TEST_MAIN(tests)
