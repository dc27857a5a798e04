/* hf_test.c - hooks that fail: conformance HF-01 to HF-15. */
#include "conformance/family.h"

/* How many times a first creation or a re-creation can go wrong in three places. */
typedef struct hf_place {
    const char *label;
    axo_site site;
    uint32_t post_restarts; /* until the first success, with two failures before it */
    uint32_t pre_starts;
} hf_place;

static const hf_place hf_places[] = {
    {"ac", AXO_SITE_CONSTRUCT, 1, 2},
    {"ap", AXO_SITE_POST_RESTART, 3, 2},
    {"as", AXO_SITE_PRE_START, 3, 4},
};

/* The hook of the place, and which of its calls belongs to the first re-creation. */
static kit_hook *hf_hook(kit_script *script, axo_site site, uint32_t *first)
{
    *first = 2;
    if (site == AXO_SITE_CONSTRUCT)
        return &script->construct;
    if (site == AXO_SITE_PRE_START)
        return &script->pre_start;
    *first = 1;
    return &script->post_restart;
}

/* Makes `count` re-creations in a row fail there. */
static void hf_break(kit_script *script, axo_site site, uint32_t count, int32_t code)
{
    uint32_t first;
    kit_hook *hook = hf_hook(script, site, &first);
    hook->fail_first = first;
    hook->fail_last = first + count - 1;
    hook->code = code;
}

static void HF_01(kit *k)
{
    static const kit_how ways[] = {KIT_BY_RETURN, KIT_BY_THROW, KIT_BY_STATUS};
    static const char *const labels[] = {"a1", "a2", "a3"};
    kit_family f = kit_tree(k, "p:restart(b)");
    uint32_t plain;
    kit_tell(k, f.b, KIT_FAIL, 7);
    kit_await(k, "b#2.preStart");
    kit_settle(k);
    plain = family_count(k, f.b, "log");
    for (uint32_t i = 0; i < 3; i++) {
        kit_script *a = kit_actor(k, labels[i]);
        a->pre_restart.fail_first = 1;
        a->pre_restart.code = ways[i] == KIT_BY_STATUS ? AXO_ELIMIT : 55;
        a->pre_restart.how = ways[i];
        family_born(k, f.p, a);
        kit_tell(k, a, KIT_FAIL, 7);
        kit_tell(k, a, KIT_NOTE, 1);
        family_await(k, a, "note(1)");
        kit_settle(k);
        family_expect(k, a, "log", plain + 1);
        family_expect(k, a, "ctor", 2);
        family_expect(k, a, "postRestart(7)", 1); /* the cause is the first one */
        family_expect(k, a, "postRestart", 1);
        family_expect(k, a, "preStart", 2);
        family_expect(k, a, "postStop", 0); /* the hook never came to it */
        family_expect(k, a, "freed", 1);
        kit_expect_count(k, "p.decider", 2 + i);
    }
    kit_order(k, "p.decider(a2)", "a2#1.preRestart(7)", "a2.freed(1)", "a2#2.ctor",
              "a2#2.postRestart(7)", "a2#2.preStart", "a2#2.note(1)");
}

static void HF_02(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p(c:keep(d)))");
    f.p->pre_restart.fail_first = 1;
    f.p->pre_restart.code = 55;
    kit_grow(&f);
    kit_tell(k, f.c, KIT_SET, 5);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_await(k, "d#2.postRestart(7)");
    family_answers(k, f.g, f.p, 1);
    family_answers(k, f.g, f.c, 2);
    family_answers(k, f.g, f.d, 3);
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#2.ctor", "p#2.postRestart(7)", "c#1.preRestart(7)",
              "c#2.ctor", "c#2.postRestart(7)", "d#1.preRestart(7)", "d#2.ctor",
              "d#2.postRestart(7)");
    kit_expect(k, "c.ctor=2", "d.ctor=2", "c.terminated=0", "d.terminated=0", "g.decider=1");
}

/* post_stop fails inside the default pre_restart, called by an override and in its own right. */
static void HF_03(kit *k)
{
    static const char *const labels[] = {"p1", "p2"};
    static const char *const kids[] = {"c1", "c2"};
    kit_family f = kit_tree(k, "g:restart");
    for (uint32_t i = 0; i < 2; i++) {
        kit_script *p = kit_actor(k, labels[i]);
        kit_script *c = kit_actor(k, kids[i]);
        p->plain = i == 1;
        p->post_stop.fail_first = 1;
        p->post_stop.code = 55;
        p->post_stop.how = i == 1 ? KIT_BY_THROW : KIT_BY_RETURN;
        family_born(k, f.g, p);
        family_born(k, p, c);
        kit_tell(k, p, KIT_FAIL, 7);
        kit_tell(k, p, KIT_NOTE, 1);
        family_await(k, p, "note(1)");
        kit_settle(k);
        family_expect(k, p, "ctor", 2);
        family_expect(k, p, "preStart", 2);
        family_expect(k, p, "postStop", 1);
        family_expect(k, c, "preRestart", 0);
        family_expect(k, c, "postStop", 1);
        family_expect(k, c, "terminated", 1);
    }
    kit_expect_count(k, "p1#2.postRestart(7)", 1);
    kit_order(k, "p1#1.postStop", "p1#2.ctor", "p1#2.note(1)");
    kit_order(k, "c1.terminated", "p1#2.ctor");
    kit_order(k, "p2#1.postStop", "p2#2.ctor", "p2#2.note(1)");
    kit_order(k, "c2.terminated", "p2#2.ctor");
    kit_expect_count(k, "g.decider", 2);
}

/* Fails while it is made again, and is stopped for it by the default decider. */
static void HF_04(kit *k)
{
    kit_family f = kit_tree(k, "p, w");
    family_causes *causes = family_log(k, f.p);
    for (uint32_t i = 0; i < 3; i++) {
        const hf_place *place = &hf_places[i];
        kit_script *a = kit_actor(k, place->label);
        const axo_failure *second = &causes->list[2 * i + 1].failure;
        hf_break(a, place->site, UINT32_MAX - 2, 55);
        family_born(k, f.p, a);
        kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(a));
        kit_tell(k, f.w, KIT_NOTE, i);
        kit_await_count(k, "w.note", i + 1);
        kit_tell(k, a, KIT_FAIL, 7);
        kit_await_count(k, "w.term", i + 1);
        kit_settle(k);
        assert_int_equal(causes->count, 2 * i + 2);
        assert_int_equal(causes->list[2 * i].failure.kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(causes->list[2 * i].failure.original_kind, AXO_FAILURE_NONE);
        assert_int_equal(second->kind, AXO_FAILURE_POST_RESTART);
        assert_int_equal(second->root_kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(second->root_code, 55);
        assert_int_equal(second->original_kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(second->original_code, 7);
        assert_string_equal(causes->list[2 * i + 1].text, "failed 55");
        assert_string_equal(causes->list[2 * i + 1].original_text, "failed 7");
        assert_true(axo_ref_equal(second->actor, kit_ref(a)));
        if (place->site != AXO_SITE_PRE_START)
            assert_int_equal(second->site, place->site);
        family_expect(k, a, "ctor", 2);
        family_expect(k, a, "preRestart", 1);
        family_expect(k, a, "terminated", 1);
        kit_expect_count(k, "p.decided(STOP)", i + 1); /* Stop */
    }
    kit_expect_count(k, "w.term", 3);
    kit_order(k, "ap#1.preRestart(7)", "ap#2.ctor", "ap#2.postRestart(7)", "p.decider(ap)@2",
              "ap.terminated", "w.term(ap)");
}

static void HF_05(kit *k)
{
    kit_family f = kit_tree(k, "p:restart");
    for (uint32_t i = 0; i < 3; i++) {
        const hf_place *place = &hf_places[i];
        kit_script *a = kit_actor(k, place->label);
        hf_break(a, place->site, 2, 55);
        family_born(k, f.p, a);
        kit_tell(k, a, KIT_FAIL, 7);
        kit_tell(k, a, KIT_NOTE, 1);
        family_await(k, a, "note(1)");
        kit_settle(k);
        family_expect(k, a, "ctor", 4);
        family_expect(k, a, "preRestart", 1);
        family_expect(k, a, "postStop", 1);
        family_expect(k, a, "postRestart", place->post_restarts);
        family_expect(k, a, "preStart", place->pre_starts);
        family_expect(k, a, "freed", 3);
        family_expect(k, a, "note", 1);
        kit_expect_count(k, "p.decider", 3 * (i + 1));
    }
    kit_order(k, "ac#1.preRestart", "ac#1.postStop", "ac#2.ctor", "p.decider(ac)@2", "ac#3.ctor",
              "p.decider(ac)@3", "ac#4.ctor", "ac#4.postRestart", "ac#4.preStart", "ac#4.note(1)");
    kit_order(k, "ap#1.preRestart", "ap#1.postStop", "ap#2.ctor", "ap#2.postRestart",
              "p.decider(ap)@2", "ap.freed(2)", "ap#3.ctor", "ap#3.postRestart", "p.decider(ap)@3",
              "ap.freed(3)", "ap#4.ctor", "ap#4.postRestart", "ap#4.preStart", "ap#4.note(1)");
    kit_order(k, "as#2.postRestart", "as#2.preStart", "p.decider(as)@2", "as#3.preStart",
              "p.decider(as)@3", "as#4.preStart", "as#4.note(1)");
}

/* Stop for it: post_stop is for instances whose start finished, and once (DESIGN D3). */
static void HF_06(kit *k)
{
    kit_script *p = kit_actor(k, "p");
    family_log(k, p);
    family_born(k, NULL, p);
    for (uint32_t i = 0; i < 3; i++) {
        kit_script *a = kit_actor(k, hf_places[i].label);
        hf_break(a, hf_places[i].site, 1, 55);
        family_born(k, p, a);
        kit_tell(k, a, KIT_FAIL, 7);
        kit_tell(k, a, KIT_NOTE, 1);
        family_await(k, a, "terminated");
        kit_settle(k);
        family_expect(k, a, "ctor", 2);
        family_expect(k, a, "postStop", 1);
        family_expect(k, a, "freed", 2);
        family_expect(k, a, "note", 0);
        family_expect(k, a, "dl(NOTE)", 1);
    }
    kit_order(k, "ac#1.preRestart(7)", "ac#1.postStop", "ac#2.ctor", "ac.terminated");
    kit_order(k, "ap#1.preRestart(7)", "ap#1.postStop", "ap#2.postRestart(7)", "ap.terminated");
    kit_order(k, "as#1.preRestart(7)", "as#1.postStop", "as#2.preStart", "as.terminated");
}

static void HF_07(kit *k)
{
    kit_family f = kit_plan(k, "p, q:restart(b)");
    family_causes *causes = family_log(k, f.p);
    uint32_t plain;
    causes->answer[AXO_FAILURE_POST_RESTART] = AXO_RESUME;
    hf_break(f.b, AXO_SITE_POST_RESTART, 1, 55);
    kit_grow(&f);
    kit_tell(k, f.b, KIT_FAIL, 7);
    kit_await(k, "b#3.preStart");
    kit_settle(k);
    plain = family_count(k, f.b, "log");
    for (uint32_t i = 0; i < 3; i++) {
        kit_script *a = kit_actor(k, hf_places[i].label);
        hf_break(a, hf_places[i].site, 1, 55);
        family_born(k, f.p, a);
        kit_tell(k, a, KIT_FAIL, 7);
        kit_tell(k, a, KIT_NOTE, 1);
        family_await(k, a, "note(1)");
        kit_settle(k);
        family_expect(k, a, "ctor", 3);
        family_expect(k, a, "preRestart", 1);
        family_expect(k, a, "postStop", 1);
        family_expect(k, a, "freed", 2);
        kit_expect_count(k, "p.decided(RESUME)", i + 1); /* Resume */
        /* One line more than the same with Restart says so. */
        family_expect(k, a, "log", plain + 1);
    }
    kit_order(k, "ap#1.preRestart(7)", "ap#2.postRestart(7)", "p.decider(ap)@2", "ap.freed(2)",
              "ap#3.ctor", "ap#3.postRestart", "ap#3.preStart", "ap#3.note(1)");
}

static void HF_08(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:keep(c:keep(d)))");
    kit_gate *gate = kit_gate_new(k);
    hf_break(f.p, AXO_SITE_CONSTRUCT, 2, 55);
    f.p->construct.gate = gate;
    f.p->construct.gate_call = 3;
    kit_grow(&f);
    kit_tell(k, f.p, KIT_FAIL, 7);
    kit_gate_arrived(gate, 1);
    if (kit_workers(k) > 1)
        kit_await(k, "d.suspend"); /* it goes down by way of c (FS-03) */
    kit_tell(k, f.c, KIT_NOTE, 1);
    kit_tell(k, f.d, KIT_NOTE, 2);
    kit_gate_open(gate);
    kit_await_all(k, "c.note(1)", "d.note(2)");
    family_answers(k, f.g, f.p, 3);
    kit_settle(k);
    kit_order(k, "p#1.preRestart(7)", "p#2.ctor", "g.decider(p)@2", "p#3.ctor", "g.decider(p)@3",
              "p#4.ctor", "p#4.postRestart", "p#4.preStart", "c#1.preRestart", "c#1.preRestartNone",
              "c#2.ctor", "c#2.postRestart", "c#2.note(1)");
    kit_order(k, "c#2.postRestart", "d#1.preRestart", "d#2.ctor", "d#2.postRestart", "d#2.note(2)");
    kit_expect(k, "p.ctor=4", "c.ctor=2", "d.ctor=2", "c.preRestart=1", "d.preRestart=1",
               "c.suspend=1", "d.suspend=1");
}

/* Children of the half-made instance are gone before the next attempt (DESIGN D4). */
static void HF_09(kit *k)
{
    kit_family f = kit_tree(k, "g:restart");
    for (uint32_t i = 0; i < 3; i++) {
        kit_script *p = kit_actor(k, hf_places[i].label);
        kit_script *kid = kit_actor(k, "kid");
        hf_break(p, hf_places[i].site, 2, 55);
        p->construct.spawn[0] = kid;
        family_born(k, f.g, p);
        kit_tell(k, p, KIT_FAIL, 7);
        kit_tell(k, p, KIT_NOTE, 1);
        family_await(k, p, "note(1)");
        kit_settle(k);
        family_expect(k, p, "ctor", 4);
        family_expect(k, p, "spawnFailed", 0);
        family_expect(k, p, "child_gone(kid)", 3);
        kit_expect_count(k, "kid.terminated", 3 * (i + 1));
        kit_expect_count(k, "g.decider", 3 * (i + 1));
    }
    kit_order(k, "ac#1.preRestart", "ac.child_gone(kid)@1", "ac#2.ctor", "ac.child_gone(kid)@2",
              "ac#3.ctor", "ac.child_gone(kid)@3", "ac#4.ctor");
    kit_order(k, "ap#2.postRestart", "ap.child_gone(kid)@2", "ap#3.ctor", "ap.child_gone(kid)@3",
              "ap#4.ctor");
    kit_order(k, "as#2.preStart", "as.child_gone(kid)@2", "as#3.ctor", "as.child_gone(kid)@3",
              "as#4.ctor");
}

static void HF_10(kit *k)
{
    kit_family f = kit_plan(k, "p(a)");
    family_causes *causes = family_log(k, f.p);
    causes->answer[AXO_FAILURE_POST_RESTART] = AXO_RESTART;
    f.a->pre_restart.fail_first = 1;
    f.a->pre_restart.code = 55;
    hf_break(f.a, AXO_SITE_CONSTRUCT, 1, 66);
    kit_grow(&f);
    kit_tell(k, f.a, KIT_FAIL, 7);
    family_answers(k, f.p, f.a, 1);
    kit_settle(k);
    kit_order(k, "a#1.fails(7)", "p.decider(a)@1", "a#1.preRestart(7)", "a#2.ctor",
              "p.decider(a)@2", "a#3.ctor", "a#3.postRestart", "a#3.preStart", "a#3.ping(1)");
    kit_expect(k, "a.ctor=3", "a.preRestart=1", "a.postStop=0");
    assert_int_equal(causes->count, 2);
    assert_int_equal(causes->list[0].failure.root_code, 7);
    assert_int_equal(causes->list[1].failure.kind, AXO_FAILURE_POST_RESTART);
    assert_int_equal(causes->list[1].failure.root_code, 66);
    assert_int_equal(causes->list[1].failure.original_code, 7);
}

/* Each later attempt says what it raised itself, and what began it all. */
static void HF_11(kit *k)
{
    kit_family f = kit_plan(k, "p(a)");
    family_causes *causes = family_log(k, f.p);
    causes->answer[AXO_FAILURE_POST_RESTART] = AXO_RESTART;
    f.a->construct.fail_first = 2;
    f.a->construct.code = 55;
    f.a->post_restart.fail_first = 1;
    f.a->post_restart.code = 66;
    f.a->pre_start.fail_first = 2;
    f.a->pre_start.code = 77;
    kit_grow(&f);
    kit_tell(k, f.a, KIT_FAIL, 7);
    family_answers(k, f.p, f.a, 1);
    kit_settle(k);
    kit_expect_count(k, "a.ctor", 5);
    assert_int_equal(causes->count, 4);
    for (int32_t i = 1; i <= 3; i++) {
        const family_cause *cause = &causes->list[i];
        char text[32];
        (void)snprintf(text, sizeof text, "failed %d", 44 + 11 * i);
        assert_int_equal(cause->failure.kind, AXO_FAILURE_POST_RESTART);
        assert_int_equal(cause->failure.root_kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(cause->failure.root_code, 44 + 11 * i);
        assert_string_equal(cause->text, text);
        assert_int_equal(cause->failure.original_kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(cause->failure.original_code, 7);
        assert_string_equal(cause->original_text, "failed 7");
    }
}

static void HF_12(kit *k)
{
    static const kit_how ways[] = {KIT_BY_RETURN, KIT_BY_THROW, KIT_BY_STATUS, KIT_BY_FATAL};
    static const char *const labels[] = {"a1", "a2", "a3", "a4"};
    static const char *const kids[] = {"c1", "c2", "c3", "c4"};
    kit_family f = kit_tree(k, "p:restart, w");
    for (uint32_t i = 0; i < 4; i++) {
        kit_script *a = kit_actor(k, labels[i]);
        kit_script *c = kit_actor(k, kids[i]);
        a->post_stop.fail_first = 1;
        a->post_stop.code = ways[i] == KIT_BY_STATUS ? AXO_ELIMIT : 55;
        a->post_stop.how = ways[i];
        family_born(k, f.p, a);
        family_born(k, a, c);
        kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(a));
        kit_tell(k, f.w, KIT_NOTE, i);
        kit_await_count(k, "w.note", i + 1);
        assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(a)), AXO_OK);
        kit_await_count(k, "w.term", i + 1);
        kit_await_count(k, "p.child_gone", i + 1);
        kit_settle(k);
        family_expect(k, a, "postStop", 1);
        family_expect(k, a, "terminated", 1);
        family_expect(k, a, "freed", 1);
        family_expect(k, a, "ctor", 1);
        family_expect(k, a, "log", 1);
        family_expect(k, c, "terminated", 1);
    }
    kit_never(k, "p.decider");
    kit_order(k, "a2.postStop", "a2.log", "a2.terminated", "w.term(a2)");
    kit_expect_count(k, "w.term", 4);
}

/* After a failed and then a good restart nothing of the failure is left. */
static void HF_14(kit *k)
{
    kit_family f = kit_tree(k, "p");
    for (uint32_t i = 0; i < 3; i++) {
        kit_script *q = kit_actor(k, i == 0 ? "q1" : i == 1 ? "q2" : "q3");
        kit_script *a = kit_actor(k, hf_places[i].label);
        family_causes *causes = family_log(k, q);
        causes->answer[AXO_FAILURE_POST_RESTART] = AXO_RESTART;
        hf_break(a, hf_places[i].site, 1, 55);
        family_born(k, f.p, q);
        family_born(k, q, a);
        kit_tell(k, a, KIT_FAIL, 7);
        family_answers(k, f.p, a, 10 * (int64_t)i + 1);
        family_expect(k, a, "ctor", 3);
        kit_tell(k, a, KIT_FAIL, 8);
        family_answers(k, f.p, a, 10 * (int64_t)i + 2);
        family_expect(k, a, "ctor", 4);
        family_expect(k, a, "preRestart(8)", 1);
        family_expect(k, a, "preRestart", 2);
        family_expect(k, a, "postStop", 2);
        /* Resume is Resume again. */
        causes->answer[AXO_FAILURE_ORDINARY] = AXO_RESUME;
        kit_tell(k, a, KIT_SET, 42);
        kit_tell(k, a, KIT_FAIL, 9);
        kit_tell(k, a, KIT_GET, 0);
        family_await(k, a, "get(42)");
        kit_settle(k);
        family_expect(k, a, "ctor", 4);
    }
    kit_order(k, "ap#1.preRestart(7)", "ap#2.postRestart(7)", "ap#3.postRestart", "ap#3.fails(8)",
              "ap#3.preRestart(8)", "ap#3.preRestartWith(8)", "ap#3.postStop", "ap#4.ctor",
              "ap#4.postRestart(8)", "ap#4.get(42)");
}

/* Sees to the end of its child "c" with another one, the first time badly. */
static axo_status hf_notice(axo_ctx *ctx, void *state, const axo_message *message)
{
    kit_puppet *self = state;
    if (message->tag != AXO_TERMINATED)
        return kit_receive(ctx, state, message);
    kit_mark(self, "term", (int64_t)AXO_PAYLOAD(message, axo_terminated)->actor.bits);
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, self->script->user) == AXO_OK);
    return axo_fail(ctx, 55, "in the notice");
}

static axo_status hf_become_and_watch(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_become(ctx, hf_notice) == AXO_OK);
    return axo_watch(ctx, kit_ref(arg));
}

/* The handler of an ended child is an ordinary one: when it fails, the supervisor has failed, and
 * the child that it made goes by the default hooks. One that terminates is not asked at all. */
static void HF_13(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p(c))");
    kit_script *next = kit_actor(k, "next");
    next->name = "c";
    f.p->user = next;
    kit_grow(&f);
    kit_run(k, f.p, hf_become_and_watch, f.c);
    kit_tell(k, f.c, KIT_STOP_SELF, 0); /* perhaps before it is watched */
    kit_await(k, "p#2.preStart");
    kit_order(k, "p.child_gone(c)", "p#1.term(c)", "g.cause(55)", "p#1.preRestart(55)",
              "p.child_gone(next)", "p#2.preStart");
    kit_expect_count(k, "next.postStop", 1);
    /* Terminating, with its child at the end of its life. */
    kit_script *last = kit_actor(k, "last");
    last->post_stop.gate = kit_gate_new(k);
    family_born(k, f.p, last);
    kit_run(k, f.p, hf_become_and_watch, last);
    kit_settle(k);
    axo_system_stop_actor(kit_system(k), kit_ref(f.p));
    kit_gate_arrived(last->post_stop.gate, 1);
    kit_gate_open(last->post_stop.gate);
    kit_await(k, "g.child_gone(p)");
    kit_expect(k, "p.term(last)=0", "g.decider=1", "p.ctor=2");
}

static axo_status hf_answer_sender(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    int64_t *value = arg;
    KIT_REQUIRE(self->k, !axo_ref_is_none(axo_sender(ctx)));
    KIT_REQUIRE(self->k, kit_tell_in(ctx, axo_sender(ctx), KIT_NOTE, *value) == AXO_OK);
    return AXO_OK;
}

static void HF_15(kit *k)
{
    static int64_t values[] = {1, 2};
    kit_family f = kit_plan(k, "p(a,b), w");
    f.a->pre_restart.run = hf_answer_sender;
    f.a->pre_restart.arg = &values[0];
    f.b->post_stop.run = hf_answer_sender;
    f.b->post_stop.arg = &values[1];
    kit_grow(&f);
    kit_tell_as(k, f.w, f.a, KIT_FAIL, KIT_DO_RESTART);
    kit_tell_as(k, f.w, f.b, KIT_FAIL, KIT_DO_STOP);
    kit_await_all(k, "w.note(1)", "w.note(2)");
    kit_settle(k);
    kit_order(k, "a#1.preRestart(102)", "w.note(1)");
    kit_order(k, "p.decider(b)", "b#1.postStop", "w.note(2)");
    kit_expect(k, "w.note=2", "b.postStop=1");
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("HF-01", HF_01), KIT_TEST("HF-02", HF_02), KIT_TEST("HF-03", HF_03),
    KIT_TEST("HF-04", HF_04), KIT_TEST("HF-05", HF_05), KIT_TEST("HF-06", HF_06),
    KIT_TEST("HF-07", HF_07), KIT_TEST("HF-08", HF_08), KIT_TEST("HF-09", HF_09),
    KIT_TEST("HF-10", HF_10), KIT_TEST("HF-11", HF_11), KIT_TEST("HF-12", HF_12),
    KIT_TEST("HF-13", HF_13), KIT_TEST("HF-14", HF_14), KIT_TEST("HF-15", HF_15),
};

TEST_MAIN(tests)
