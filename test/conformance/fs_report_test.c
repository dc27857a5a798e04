/* fs_report_test.c - whose failure a decider is told of, and under which message: FS-15. */
#include "conformance/family.h"
#include "conformance/parts.h"

/* g above p above c; all that g and p are told is kept. p's answers are escalations. */
typedef struct report_line {
    kit_script *g;
    kit_script *p;
    kit_script *c;
    kit_script *probe;
    family_causes *high; /* g's */
    family_causes *low;  /* p's */
} report_line;

static report_line report_start(kit *k, axo_directive low, axo_directive high)
{
    report_line l = {.g = kit_actor(k, "g"), .p = kit_actor(k, "p"), .c = kit_actor(k, "c")};
    l.high = family_log(k, l.g);
    l.low = family_log(k, l.p);
    for (uint32_t kind = AXO_FAILURE_ORDINARY; kind <= AXO_FAILURE_FATAL; kind++) {
        l.low->answer[kind] = low;
        l.high->answer[kind] = high;
    }
    l.p->keep_children = true;
    l.p->no_default_start = true;
    family_born(k, NULL, l.g);
    family_born(k, l.g, l.p);
    family_born(k, l.p, l.c);
    l.probe = kit_top(k, "probe");
    return l;
}

static void report_expect(const family_cause *cause, kit_script *reporter, kit_script *actor)
{
    assert_true(axo_ref_equal(cause->failure.reporter, kit_ref(reporter)));
    assert_true(axo_ref_equal(cause->failure.actor, kit_ref(actor)));
}

static void report_expect_message(const family_cause *cause, uint32_t tag, axo_ref sender)
{
    assert_int_equal(cause->failure.site, AXO_SITE_RECEIVE);
    assert_int_equal(cause->failure.has_message, 1);
    assert_int_equal(cause->failure.tag, tag);
    assert_true(axo_ref_equal(cause->failure.sender, sender));
}

static void report_expect_none(const family_cause *cause, axo_site site)
{
    assert_int_equal(cause->failure.site, site);
    assert_int_equal(cause->failure.has_message, 0);
    assert_int_equal(cause->failure.tag, 0);
    assert_true(axo_ref_is_none(cause->failure.sender));
}

/* In every way to fail in receive; from an actor and from outside. */
static void FS_15(kit *k)
{
    report_line l = report_start(k, AXO_RESUME, AXO_RESUME);
    kit_tell_as(k, l.probe, l.c, KIT_FAIL, 7);
    kit_tell(k, l.c, KIT_FAIL_FATAL, 8);
    kit_tell_as(k, l.probe, l.c, KIT_THROW, 9);
    kit_tell_as(k, l.p, l.c, KIT_STATUS, AXO_EINVAL);
    kit_await_count(k, "p.decided(RESUME)", 4);
    kit_settle(k);
    assert_int_equal(l.low->count, 4);
    for (uint32_t i = 0; i < 4; i++)
        report_expect(&l.low->list[i], l.c, l.c);
    report_expect_message(&l.low->list[0], KIT_FAIL, kit_ref(l.probe));
    report_expect_message(&l.low->list[1], KIT_FAIL_FATAL, axo_ref_none());
    report_expect_message(&l.low->list[2], KIT_THROW, kit_ref(l.probe));
    report_expect_message(&l.low->list[3], KIT_STATUS, kit_ref(l.p));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(l.low->list[i].failure.has_status, i == 3);
    kit_finish(k);
}

/* Handed up: who reports is the one below who decides; all else is the first one's. */
static void FS_15_escalated(kit *k)
{
    report_line l = report_start(k, AXO_ESCALATE, AXO_RESUME);
    kit_tell_as(k, l.probe, l.c, KIT_FAIL, 7);
    kit_await(k, "g.decided(RESUME)");
    kit_settle(k);
    assert_int_equal(l.low->count, 1);
    assert_int_equal(l.high->count, 1);
    report_expect(&l.low->list[0], l.c, l.c);
    report_expect(&l.high->list[0], l.p, l.c);
    report_expect_message(&l.low->list[0], KIT_FAIL, kit_ref(l.probe));
    report_expect_message(&l.high->list[0], KIT_FAIL, kit_ref(l.probe));
    kit_finish(k);
}

static axo_status report_kill(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    KIT_REQUIRE(self->k, axo_kill(ctx, kit_ref(arg)) == AXO_OK);
    return AXO_OK;
}

/* A kill has a sender, a notice is of the one that has terminated. */
static void FS_15_kinds(kit *k)
{
    report_line l = report_start(k, AXO_RESUME, AXO_RESUME);
    kit_script *friend = kit_top(k, "friend");
    l.c->term_unhandled = true;
    kit_run(k, l.probe, report_kill, l.c);
    kit_await(k, "p.decided(RESUME)@1");
    kit_tell_ref(k, l.c, KIT_WATCH, kit_ref(friend));
    kit_tell(k, l.c, KIT_NOTE, 1);
    kit_await(k, "c.note(1)");
    kit_tell(k, friend, KIT_STOP_SELF, 0);
    kit_await(k, "p.decided(RESUME)@2");
    kit_settle(k);
    const family_cause *kill = &l.low->list[0];
    const family_cause *pact = &l.low->list[1];
    report_expect(kill, l.c, l.c);
    assert_int_equal(kill->failure.kind, AXO_FAILURE_KILLED);
    report_expect_message(kill, AXO_KILL, kit_ref(l.probe));
    assert_true(axo_ref_is_none(kill->failure.about));
    report_expect(pact, l.c, l.c);
    assert_int_equal(pact->failure.kind, AXO_FAILURE_DEATH_PACT);
    report_expect_message(pact, AXO_TERMINATED, kit_ref(friend));
    assert_true(axo_ref_equal(pact->failure.about, kit_ref(friend)));
    kit_finish(k);
}

/* What fails in another callback has no message, although an earlier failure had one. */
static void FS_15_hooks(kit *k)
{
    report_line l = report_start(k, AXO_RESTART, AXO_RESUME);
    kit_script *d = kit_actor(k, "d");
    d->pre_start.fail_first = 1;
    d->post_restart.fail_first = 1;
    family_spawn(k, l.p, d);
    kit_await(k, "d#2.preStart");
    kit_tell_as(k, l.probe, d, KIT_FAIL, 7);
    kit_await(k, "d#4.preStart");
    kit_settle(k);
    assert_int_equal(l.low->count, 3);
    for (uint32_t i = 0; i < 3; i++)
        report_expect(&l.low->list[i], d, d);
    report_expect_none(&l.low->list[0], AXO_SITE_PRE_START);
    report_expect_message(&l.low->list[1], KIT_FAIL, kit_ref(l.probe));
    report_expect_none(&l.low->list[2], AXO_SITE_POST_RESTART);
    assert_int_equal(l.low->list[2].failure.original_code, 7);
    kit_finish(k);
}

/* Ended by itself, and a decider's. */
static void FS_15_ended(kit *k)
{
    report_line l = report_start(k, AXO_ESCALATE, AXO_RESUME);
    kit_script *d = kit_actor(k, "d");
    d->lifetime = AXO_PERMANENT;
    family_born(k, l.g, d);
    kit_tell_as(k, l.probe, d, KIT_STOP_SELF, 0);
    kit_await(k, "g.decided@1");
    l.p->decider.fail_first = 1;
    l.p->decider.code = 68;
    kit_tell_as(k, l.probe, l.c, KIT_FAIL, 7);
    kit_await(k, "g.decided@2");
    kit_settle(k);
    report_expect(&l.high->list[0], d, d);
    report_expect_none(&l.high->list[0], AXO_SITE_NONE);
    report_expect(&l.high->list[1], l.p, l.p);
    report_expect_none(&l.high->list[1], AXO_SITE_DECIDER);
    kit_finish(k);
}

/* The message may be gone long before the decision looks at it: its actor ends meanwhile. */
static axo_directive report_late(axo_ctx *ctx, kit_puppet *self, const axo_failure *failure)
{
    KIT_REQUIRE(self->k, failure->has_message == 1 && failure->tag == KIT_FAIL);
    KIT_REQUIRE(self->k, axo_ref_equal(failure->sender, kit_ref(self->script->user)));
    KIT_REQUIRE(self->k, axo_ref_equal(failure->reporter, axo_sender(ctx)));
    kit_mark(self, "looked", 0);
    return AXO_RESTART;
}

static void FS_15_gone(kit *k)
{
    kit_script *probe = kit_top(k, "probe");
    kit_family f = kit_plan(k, "p(c)");
    f.p->decider.gate = kit_gate_new(k);
    f.p->decide = report_late;
    f.p->user = probe;
    kit_grow(&f);
    kit_tell_as(k, probe, f.c, KIT_FAIL, 7);
    kit_gate_arrived(f.p->decider.gate, 1);
    assert_int_equal(axo_system_stop_actor(kit_system(k), kit_ref(f.c)), AXO_OK);
    kit_await(k, "c.terminated");
    kit_gate_open(f.p->decider.gate);
    kit_await_all(k, "p.looked", "p.child_gone(c)");
    kit_settle(k);
    kit_expect_count(k, "c.ctor", 1);
}

/* A restart's hooks are told of the message, not of a reporter: nobody decides there. */
static axo_status report_in_hook(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const axo_failure *failure = self->failure;
    KIT_REQUIRE(self->k, failure->has_message == 1 && failure->tag == KIT_FAIL);
    KIT_REQUIRE(self->k, axo_ref_equal(failure->sender, kit_ref(arg)));
    KIT_REQUIRE(self->k, axo_ref_is_none(failure->reporter));
    kit_mark(self, "looked", 0);
    return AXO_OK;
}

static void FS_15_restart(kit *k)
{
    report_line l = report_start(k, AXO_RESTART, AXO_RESTART);
    kit_script *both[] = {l.p, l.c};
    for (uint32_t i = 0; i < 2; i++) {
        both[i]->pre_restart.run = report_in_hook;
        both[i]->pre_restart.arg = l.probe;
        both[i]->post_restart.run = report_in_hook;
        both[i]->post_restart.arg = l.probe;
    }
    kit_tell_as(k, l.probe, l.p, KIT_FAIL, 7); /* c is restarted along */
    kit_await(k, "c#2.looked");
    kit_settle(k);
    kit_expect_count(k, "*.looked", 4);
    kit_tell_as(k, l.probe, l.c, KIT_FAIL, 8);
    kit_await(k, "c#3.looked");
    kit_expect_count(k, "*.looked", 6);
    kit_finish(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("FS-15", FS_15),
    KIT_TEST("FS-15 escalated", FS_15_escalated),
    KIT_TEST("FS-15 kinds", FS_15_kinds),
    KIT_TEST("FS-15 hooks", FS_15_hooks),
    KIT_TEST("FS-15 ended", FS_15_ended),
    PART_TEST_MANY("FS-15 gone", FS_15_gone),
    KIT_TEST("FS-15 restart", FS_15_restart),
};
TEST_MAIN(tests)
