/* in_test.c - failing while being made for the first time: conformance IN-01 to IN-12. */
#include "conformance/family.h"

/* Where a first creation can fail. */
typedef struct in_place {
    const char *label;
    axo_site site;
} in_place;

static const in_place in_places[] = {{"ac", AXO_SITE_CONSTRUCT}, {"as", AXO_SITE_PRE_START}};

static kit_hook *in_hook(kit_script *script, axo_site site)
{
    return site == AXO_SITE_CONSTRUCT ? &script->construct : &script->pre_start;
}

/* Its first `count` attempts fail there. */
static void in_break(kit_script *script, axo_site site, uint32_t count, int32_t code)
{
    kit_hook *hook = in_hook(script, site);
    hook->fail_first = 1;
    hook->fail_last = count;
    hook->code = code;
}

/* ---- IN-01 ---------------------------------------------------------------------------------- */

static axo_status in_spawn_and_go_on(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    kit_script *child = arg;
    kit_mark(self, "before", 0);
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, child) == AXO_OK);
    KIT_REQUIRE(self->k, !axo_ref_is_none(kit_ref(child)));
    KIT_REQUIRE(self->k, axo_ref_equal(axo_child(ctx, child->name), kit_ref(child)));
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(child), KIT_NOTE, 1) == AXO_OK);
    kit_mark(self, "after", 0);
    return AXO_OK;
}

static void IN_01(kit *k)
{
    static const kit_how ways[] = {KIT_BY_RETURN, KIT_BY_THROW, KIT_BY_FATAL};
    kit_family f = kit_tree(k, "p");
    kit_script *good = kit_actor(k, "good");
    /* One that starts: spawn returns while its construct has not. */
    good->construct.gate = kit_gate_new(k);
    kit_run(k, f.p, in_spawn_and_go_on, good);
    kit_await(k, "p.after");
    kit_never(k, "good.preStart");
    kit_gate_open(good->construct.gate);
    kit_await(k, "good.note(1)");
    kit_order(k, "p.before", "good.ctor", "good.preStart", "good.note(1)");
    if (kit_workers(k) == 1)
        kit_order(k, "p.after", "good.ctor");
    /* Some that do not. */
    for (uint32_t i = 0; i < 3; i++) {
        kit_script *bad = kit_actor(k, i == 0 ? "b1" : i == 1 ? "b2" : "b3");
        bad->construct.gate = kit_gate_new(k);
        bad->construct.fail_first = 1;
        bad->construct.code = 55;
        bad->construct.how = ways[i];
        f.p->directive = AXO_STOP;
        kit_run(k, f.p, in_spawn_and_go_on, bad);
        kit_await_count(k, "p.after", i + 2);
        family_expect(k, bad, "terminated", 0);
        kit_gate_open(bad->construct.gate);
        kit_await_count(k, "p.child_gone", i + 1);
    }
    kit_settle(k);
    kit_expect(k, "p.ctor=1", "p.fail=0", "p.suspend=0", "p.decider(b1)=1", "p.decider(b2)=1",
               "p.decider(b3)=1");
    kit_await_count(k, "b1.dl(NOTE)", 1);
    kit_expect_count(k, "b1.dl(NOTE)", 1);
}

static void IN_02(kit *k)
{
    kit_family f = kit_tree(k, "p, w");
    family_causes *causes = family_log(k, f.p);
    for (uint32_t i = 0; i < 2; i++) {
        kit_script *a = kit_actor(k, in_places[i].label);
        const axo_failure *failure = &causes->list[i].failure;
        in_break(a, in_places[i].site, 1, 55);
        in_hook(a, in_places[i].site)->gate = kit_gate_new(k);
        family_spawn(k, f.p, a);
        kit_gate_arrived(in_hook(a, in_places[i].site)->gate, 1);
        kit_tell_ref(k, f.w, KIT_WATCH, kit_ref(a));
        if (kit_workers(k) > 1) {
            kit_tell(k, f.w, KIT_NOTE, i);
            kit_await_count(k, "w.note", i + 1);
        }
        kit_gate_open(in_hook(a, in_places[i].site)->gate);
        kit_await_count(k, "w.term", i + 1);
        kit_await_count(k, "p.child_gone", i + 1);
        kit_settle(k);
        assert_int_equal(causes->count, i + 1);
        assert_int_equal(failure->kind, AXO_FAILURE_INIT);
        assert_int_equal(failure->site, in_places[i].site);
        assert_int_equal(failure->root_kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(failure->root_code, 55);
        assert_int_equal(failure->original_kind, AXO_FAILURE_NONE);
        assert_string_equal(causes->list[i].text, "failed 55");
        assert_true(axo_ref_equal(failure->actor, kit_ref(a)));
        kit_expect_count(k, "p.decided(STOP)", i + 1); /* Stop */
        family_expect(k, a, "ctor", 1);
        family_expect(k, a, "terminated", 1);
        kit_expect_count(k, "p.child_gone", i + 1);
    }
    kit_expect(k, "w.term=2", "ac.preStart=0");
    kit_order(k, "ac.ctor", "p.decider(ac)", "p.decided(STOP)@1", "ac.terminated", "w.term(ac)");
    kit_order(k, "as.ctor", "as.preStart", "p.decider(as)", "p.decided(STOP)@2", "as.terminated",
              "w.term(as)");
}

/* What an attempt took through the runtime goes; post_stop is for those that started. */
static void IN_03(kit *k)
{
    kit_family f = kit_tree(k, "p");
    for (uint32_t i = 0; i < 2; i++) {
        kit_script *a = kit_actor(k, in_places[i].label);
        in_break(a, in_places[i].site, 1, 55);
        in_hook(a, in_places[i].site)->how = KIT_BY_THROW;
        family_spawn(k, f.p, a);
        family_await(k, a, "terminated");
        kit_settle(k);
        family_expect(k, a, "postStop", 0);
        family_expect(k, a, "freed", 1);
        family_expect(k, a, "preRestart", 0);
    }
    kit_order(k, "as.ctor", "as.preStart", "p.decider(as)", "as.freed(1)", "as.terminated");
}

/* Three attempts fail in construct, two in pre_start, the sixth is good. */
static void in_create_again(void **state, axo_directive directive)
{
    kit *k = kit_start(state, NULL);
    kit_script *p = kit_actor(k, "p");
    kit_script *a = kit_actor(k, "a");
    family_causes *causes = family_log(k, p);
    causes->answer[AXO_FAILURE_INIT] = directive;
    in_break(a, AXO_SITE_CONSTRUCT, 3, 55);
    in_break(a, AXO_SITE_PRE_START, 2, 66);
    family_born(k, NULL, p);
    family_spawn(k, p, a);
    kit_await(k, "a#6.preStart");
    family_answers(k, p, a, 1);
    kit_settle(k);
    kit_order(k, "a#1.ctor", "p.decider(a)@1", "a.freed(1)", "a#2.ctor", "p.decider(a)@2",
              "a.freed(2)", "a#3.ctor", "p.decider(a)@3", "a.freed(3)", "a#4.ctor", "a#4.preStart",
              "p.decider(a)@4", "a.freed(4)", "a#5.ctor", "a#5.preStart", "p.decider(a)@5",
              "a.freed(5)", "a#6.ctor", "a#6.preStart", "a#6.ping(1)");
    kit_expect(k, "a.ctor=6", "a.preStart=3", "p.decider=5", "a.preRestart=0", "a.postRestart=0",
               "a.postStop=0", "a.terminated=0");
    assert_int_equal(causes->count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(causes->list[i].failure.kind, AXO_FAILURE_INIT);
        assert_int_equal(causes->list[i].failure.root_code, i < 3 ? 55 : 66);
    }
    kit_finish(k);
}

static void IN_04(void **state)
{
    in_create_again(state, AXO_RESTART);
}

static void IN_05(void **state)
{
    in_create_again(state, AXO_RESUME);
}

/* ---- IN-06 ---------------------------------------------------------------------------------- */

static void IN_06(kit *k)
{
    static const axo_directive answers[] = {AXO_RESTART, AXO_RESUME};
    kit_family f = kit_tree(k, "p");
    family_causes *causes = family_log(k, f.p);
    for (uint32_t i = 0; i < 2; i++) {
        kit_script *a = kit_actor(k, in_places[i].label);
        kit_script *kid = kit_actor(k, "kid");
        causes->answer[AXO_FAILURE_INIT] = answers[i];
        a->construct.spawn[0] = kid;
        in_break(a, in_places[i].site, 2, 55);
        family_spawn(k, f.p, a);
        family_await(k, a, "preStart");
        kit_await_count(k, "kid.preStart", 3 * i + 3);
        kit_settle(k);
        family_expect(k, a, "ctor", 3);
        family_expect(k, a, "spawnFailed", 0);
        family_expect(k, a, "postStop", 0);
        family_expect(k, a, "child_gone(kid)", 2);
        kit_expect_count(k, "kid.terminated", 2 * (i + 1));
        kit_expect_count(k, "kid.ctor", 3 * (i + 1));
        kit_expect_count(k, "p.decider", 2 * (i + 1));
    }
    kit_order(k, "ac#1.ctor", "p.decider(ac)@1", "ac.child_gone(kid)@1", "ac#2.ctor",
              "p.decider(ac)@2", "ac.child_gone(kid)@2", "ac#3.ctor", "ac#3.preStart");
    kit_order(k, "as#1.preStart", "p.decider(as)@1", "as.child_gone(kid)@1", "as#2.ctor",
              "p.decider(as)@2", "as.child_gone(kid)@2", "as#3.ctor", "as#3.preStart");
}

/* Such a child's end may be slow: the next attempt waits for it, the supervisor does not. */
static void IN_06_waits(kit *k)
{
    kit_script *p = family_restarter(k, "p");
    kit_script *a = kit_actor(k, "a");
    kit_script *kid = kit_actor(k, "kid");
    kid->post_stop.gate = kit_gate_new(k);
    kid->post_stop.gate_call = 1;
    a->construct.spawn[0] = kid;
    in_break(a, AXO_SITE_PRE_START, 1, 55);
    family_born(k, NULL, p);
    family_spawn(k, p, a);
    kit_gate_arrived(kid->post_stop.gate, 1);
    kit_tell(k, a, KIT_NOTE, 1);
    if (kit_workers(k) > 1) {
        kit_tell(k, p, KIT_NOTE, 2); /* the supervisor is free */
        kit_await(k, "p.note(2)");
    }
    kit_never(k, "a#2.ctor");
    kit_gate_open(kid->post_stop.gate);
    kit_await(k, "a.note(1)");
    kit_settle(k);
    kit_order(k, "a#1.preStart", "p.decider(a)", "kid.postStop", "a.child_gone(kid)", "a#2.ctor",
              "a#2.preStart", "a#2.note(1)");
    kit_expect(k, "a.ctor=2", "a.note=1");
}

static void IN_07(kit *k)
{
    kit_family f = kit_tree(k, "p:restart");
    for (uint32_t i = 0; i < 2; i++) {
        kit_script *a = kit_actor(k, in_places[i].label);
        kit_hook *hook = in_hook(a, in_places[i].site);
        in_break(a, in_places[i].site, 2, 55);
        hook->gate = kit_gate_new(k);
        family_spawn(k, f.p, a);
        kit_gate_arrived(hook->gate, 1);
        for (int64_t j = 1; j <= 3; j++)
            assert_int_equal(kit_tell(k, a, KIT_NOTE, j), AXO_OK);
        kit_gate_open(hook->gate);
        family_answers(k, f.p, a, 4 + (int64_t)i);
        kit_settle(k);
        family_expect(k, a, "ctor", 3);
        family_expect(k, a, "note", 3);
        family_expect(k, a, "dl", 0);
    }
    kit_order(k, "ac#3.preStart", "ac#3.note(1)", "ac#3.note(2)", "ac#3.note(3)", "ac#3.ping(4)");
    kit_order(k, "as#3.preStart", "as#3.note(1)", "as#3.note(2)", "as#3.note(3)", "as#3.ping(5)");
}

/* Each place and some ways to fail, supervised by Restart. */
static void in_each_way(void **state, const kit_how *ways, uint32_t ways_count)
{
    static const char *const labels[] = {"a1", "a2", "a3", "a4", "a5", "a6"};
    kit *k = kit_start(state, NULL);
    kit_script *p = kit_actor(k, "p");
    family_causes *causes = family_log(k, p);
    causes->answer[AXO_FAILURE_INIT] = AXO_RESTART;
    family_born(k, NULL, p);
    for (uint32_t i = 0; i < 2 * ways_count; i++) {
        kit_script *a = kit_actor(k, labels[i]);
        axo_site site = in_places[i % 2].site;
        kit_how how = ways[i / 2];
        in_break(a, site, 1, how == KIT_BY_STATUS ? AXO_ELIMIT : 55);
        in_hook(a, site)->how = how;
        family_spawn(k, p, a);
        kit_await_count(k, "p.decided", i + 1);
        assert_int_equal(causes->list[i].failure.kind, AXO_FAILURE_INIT);
        assert_int_equal(causes->list[i].failure.site, site);
        assert_int_equal(causes->list[i].failure.root_kind,
                         how == KIT_BY_FATAL ? AXO_FAILURE_FATAL : AXO_FAILURE_ORDINARY);
        assert_int_equal(causes->list[i].failure.root_code, how == KIT_BY_STATUS ? AXO_ELIMIT : 55);
        family_answers(k, p, a, i);
        kit_settle(k);
        family_expect(k, a, "ctor", 2);
        family_expect(k, a, "preStart", site == AXO_SITE_CONSTRUCT ? 1 : 2);
        family_expect(k, a, "preRestart", 0);
        family_expect(k, a, "postRestart", 0);
        family_expect(k, a, "postStop", 0);
        assert_int_equal(causes->count, i + 1);
    }
    kit_finish(k);
}

static void IN_08(void **state)
{
    static const kit_how ways[] = {KIT_BY_RETURN, KIT_BY_THROW, KIT_BY_STATUS};
    in_each_way(state, ways, 3);
}

/* A failure of the fatal family while being made is an INIT failure too; its root says what it
 * was. */
static void IN_08_fatal(void **state)
{
    static const kit_how ways[] = {KIT_BY_FATAL};
    in_each_way(state, ways, 1);
}

/* ---- IN-12 ---------------------------------------------------------------------------------- */

typedef struct in_early {
    kit_script *child;
    kit_gate *gate;
} in_early;

static axo_status in_spawn_and_wait(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    in_early *early = arg;
    KIT_REQUIRE(self->k, kit_spawn_in(ctx, early->child) == AXO_OK);
    KIT_REQUIRE(self->k, kit_tell_in(ctx, kit_ref(early->child), KIT_NOTE, 1) == AXO_OK);
    kit_gate_pass(early->gate);
    return AXO_OK;
}

/* The child has lived, with a second worker it has even handled a message. */
static void IN_12(kit *k)
{
    kit_family f = kit_plan(k, "-p, -a, -c");
    in_early *early = kit_alloc(k, sizeof *early);
    bool many = kit_workers(k) > 1;
    f.a->construct.run = in_spawn_and_wait;
    f.a->construct.arg = early;
    *early = (in_early){.child = f.c, .gate = kit_gate_new(k)};
    in_break(f.a, AXO_SITE_CONSTRUCT, 1, 55);
    family_born(k, NULL, f.p);
    family_spawn(k, f.p, f.a);
    kit_gate_arrived(early->gate, 1);
    if (many)
        kit_await(k, "c.note(1)");
    kit_gate_open(early->gate);
    kit_await(k, "a.terminated");
    kit_settle(k);
    kit_order(k, "a.ctor", "c.preStart", "c.postStop", "c.terminated", "a.terminated");
    kit_order(k, "a.ctor", "p.decider(a)", "a.terminated");
    if (many)
        kit_order(k, "c.note(1)", "p.decider(a)");
    assert_int_equal(kit_count(k, "c.note(1)") + kit_count(k, "c.dl(NOTE)"), 1);
    kit_expect(k, "c.postStop=1", "a.postStop=0");
}

/* ---- IN-10, IN-11: what is wrong is said by the spawn --------------------------------------- */

/* Recipes that cannot be right, with what the spawn says of each. */
typedef struct in_wrong {
    axo_props props;
    axo_status status;
} in_wrong;

enum { IN_WRONG = 6 };

static const in_wrong *in_wrong_props(uint32_t index)
{
    static const axo_class deaf = AXO_CLASS(.state_size = 8);
    static const axo_class good = AXO_CLASS(.receive = kit_receive);
    static const axo_class vast =
        AXO_CLASS(.receive = kit_receive, .state_size = AXO_PAYLOAD_MAX + 1);
    static const axo_strategy odd = AXO_STRATEGY(.window = AXO_WINDOW_SLIDING);
    static const axo_strategy empty = {.size = 0};
    static const in_wrong list[IN_WRONG] = {
        {AXO_PROPS(.cls = NULL), AXO_EINVAL},
        {AXO_PROPS(.cls = &deaf), AXO_EINVAL},
        {AXO_PROPS(.cls = &vast), AXO_EINVAL},
        {AXO_PROPS(.cls = &good, .args_size = 8), AXO_EINVAL},
        {AXO_PROPS(.cls = &good, .strategy = &odd), AXO_EINVAL},
        {AXO_PROPS(.cls = &good, .strategy = &empty), AXO_EINVAL},
    };
    return &list[index];
}

/* Tries the wrong recipe of its value, and fails with what it is told. */
static axo_status in_spawn_wrong(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const in_wrong *wrong = arg;
    axo_ref ref = {1};
    axo_status status = axo_spawn(ctx, &wrong->props, &ref);
    KIT_REQUIRE(self->k, axo_ref_is_none(ref) && axo_child_count(ctx) == 0);
    KIT_REQUIRE(self->k, status == wrong->status);
    return status;
}

/* The status is the spawner's to handle: returned, it is the spawner's failure. From outside the
 * spawn says the same, and no reference is made that ends at once. */
static void IN_10(kit *k)
{
    kit_family f = kit_tree(k, "p(a)");
    family_causes *causes = family_log(k, f.p);
    uint64_t spawned;
    kit_settle(k);
    spawned = kit_stats(k).spawned;
    for (uint32_t i = 0; i < IN_WRONG; i++) {
        const in_wrong *wrong = in_wrong_props(i);
        axo_ref ref = {1};
        kit_run(k, f.a, in_spawn_wrong, (void *)(uintptr_t)wrong);
        kit_await_count(k, "a.preStart", i + 2);
        assert_int_equal(causes->list[i].failure.kind, AXO_FAILURE_ORDINARY);
        assert_int_equal(causes->list[i].failure.site, AXO_SITE_RECEIVE);
        assert_int_equal(causes->list[i].failure.code, wrong->status);
        assert_int_equal(axo_system_spawn(kit_system(k), &wrong->props, &ref), wrong->status);
        assert_true(axo_ref_is_none(ref));
    }
    assert_int_equal(kit_stats(k).spawned, spawned);
    kit_expect_count(k, "p.decider", IN_WRONG);
}

static axo_status in_spawn_named(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    static const axo_class good = AXO_CLASS(.receive = kit_receive);
    axo_props props = AXO_PROPS(.cls = &good, .name = arg);
    axo_ref ref = {1};
    kit_mark(self, "says", axo_spawn(ctx, &props, &ref));
    KIT_REQUIRE(self->k, axo_ref_is_none(ref));
    KIT_REQUIRE(self->k, axo_spawn(ctx, NULL, &ref) == AXO_EINVAL);
    return AXO_OK;
}

static void IN_11(kit *k)
{
    static const char *const bad[] = {"", "a b", "a/b", "$a", "..", "caf\xc3\xa9"};
    enum { BAD = sizeof bad / sizeof bad[0] };
    kit_script *p = kit_actor(k, "p");
    char *lengthy = kit_alloc(k, AXO_NAME_MAX + 2);
    memset(lengthy, 'x', AXO_NAME_MAX + 1);
    family_born(k, NULL, p);
    for (uint32_t i = 0; i < BAD; i++)
        kit_run(k, p, in_spawn_named, (void *)(uintptr_t)bad[i]);
    kit_run(k, p, in_spawn_named, lengthy);
    kit_await(k, "p.says(-4)@7");
    /* A factory that makes nothing fails as any: INIT, and by default Stop. */
    kit_script *a = kit_actor(k, "a");
    a->construct.fail_first = 1;
    a->construct.how = KIT_BY_STATUS;
    a->construct.code = AXO_ENOMEM;
    family_spawn(k, p, a);
    kit_await(k, "p.child_gone(a)");
    kit_settle(k);
    kit_expect_count(k, "p.cause(-2)", 1);
    kit_expect_count(k, "p.says", BAD + 1);
    kit_expect_count(k, "p.ctor", 1);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("IN-01", IN_01), KIT_TEST("IN-02", IN_02),
    KIT_TEST("IN-03", IN_03), KIT_TEST("IN-04", IN_04),
    KIT_TEST("IN-05", IN_05), KIT_TEST("IN-06", IN_06),
    KIT_TEST("IN-07", IN_07), KIT_TEST("IN-06 waits", IN_06_waits),
    KIT_TEST("IN-08", IN_08), KIT_TEST("IN-08 fatal", IN_08_fatal),
    KIT_TEST("IN-10", IN_10), KIT_TEST("IN-11", IN_11),
    KIT_TEST("IN-12", IN_12),
};

TEST_MAIN(tests)
