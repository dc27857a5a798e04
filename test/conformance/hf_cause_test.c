/* hf_cause_test.c - nested causes: what of a failure is of the first, what of the last. HF-16, a
 * test for each row of the table in supervision.h. */
#include "conformance/family.h"
#include "conformance/parts.h"

typedef struct cause_want {
    axo_failure_kind kind;
    axo_site site;
    int32_t code;
    const char *text;
    axo_failure_kind root_kind;
    axo_failure_kind original_kind;
    int32_t original_code;
    const char *original_text;
} cause_want;

static void cause_expect(const family_cause *cause, kit_script *actor, cause_want want)
{
    const axo_failure *failure = &cause->failure;
    assert_int_equal(failure->kind, want.kind);
    assert_int_equal(failure->site, want.site);
    assert_int_equal(failure->code, want.code);
    assert_string_equal(cause->text, want.text);
    assert_int_equal(failure->root_kind, want.root_kind);
    assert_int_equal(failure->root_code, want.code);
    assert_int_equal(failure->original_kind, want.original_kind);
    assert_int_equal(failure->original_code, want.original_code);
    assert_string_equal(cause->original_text,
                        want.original_text != NULL ? want.original_text : "");
    assert_true(axo_ref_equal(failure->actor, kit_ref(actor)));
}

/* A supervisor that keeps what it is told, and answers each kind alike. */
static family_causes *cause_log(kit *k, kit_script *script, axo_directive answer)
{
    family_causes *causes = family_log(k, script);
    for (uint32_t kind = 0; kind <= AXO_FAILURE_FATAL; kind++)
        causes->answer[kind] = answer;
    return causes;
}

static void HF_16_receive(kit *k)
{
    kit_family f = kit_plan(k, "p(a,b)");
    family_causes *causes = cause_log(k, f.p, AXO_RESUME);
    f.b->lifetime = AXO_PERMANENT;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    (void)kit_tell(k, f.a, KIT_FAIL_FATAL, 8);
    (void)kit_tell(k, f.a, KIT_STATUS, AXO_ELIMIT);
    (void)axo_system_kill(kit_system(k), kit_ref(f.a));
    kit_await_count(k, "p.decided(RESUME)", 4);
    f.a->term_unhandled = true;
    kit_script *friend = kit_top(k, "friend");
    (void)kit_tell_ref(k, f.a, KIT_WATCH, kit_ref(friend));
    (void)kit_tell(k, f.a, KIT_NOTE, 1);
    kit_await(k, "a.note(1)");
    (void)kit_tell(k, friend, KIT_STOP_SELF, 0);
    kit_await_count(k, "p.decided(RESUME)", 5);
    (void)kit_tell(k, f.b, KIT_STOP_SELF, 0);
    kit_await_count(k, "p.decider(b)", 1);
    kit_settle(k);
    assert_int_equal(causes->count, 6);
    cause_expect(&causes->list[0], f.a,
                 (cause_want){AXO_FAILURE_ORDINARY, AXO_SITE_RECEIVE, 7, "failed 7",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_NONE, 0, NULL});
    cause_expect(&causes->list[1], f.a,
                 (cause_want){AXO_FAILURE_FATAL, AXO_SITE_RECEIVE, 8, "fatal 8", AXO_FAILURE_FATAL,
                              AXO_FAILURE_NONE, 0, NULL});
    cause_expect(&causes->list[2], f.a,
                 (cause_want){AXO_FAILURE_ORDINARY, AXO_SITE_RECEIVE, AXO_ELIMIT, "",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_NONE, 0, NULL});
    cause_expect(&causes->list[3], f.a,
                 (cause_want){AXO_FAILURE_KILLED, AXO_SITE_RECEIVE, 0, "", AXO_FAILURE_KILLED,
                              AXO_FAILURE_NONE, 0, NULL});
    cause_expect(&causes->list[4], f.a,
                 (cause_want){AXO_FAILURE_DEATH_PACT, AXO_SITE_RECEIVE, AXO_UNHANDLED, "",
                              AXO_FAILURE_DEATH_PACT, AXO_FAILURE_NONE, 0, NULL});
    cause_expect(&causes->list[5], f.b,
                 (cause_want){AXO_FAILURE_ENDED, AXO_SITE_NONE, 0, "", AXO_FAILURE_ENDED,
                              AXO_FAILURE_NONE, 0, NULL});
}

/* A first creation, tried again twice: each failure stands for itself. */
static void HF_16_init(kit *k)
{
    kit_family f = kit_plan(k, "p, -a");
    family_causes *causes = cause_log(k, f.p, AXO_RESTART);
    f.a->construct.fail_first = 1;
    f.a->construct.code = 55;
    f.a->construct.how = KIT_BY_FATAL;
    f.a->pre_start.fail_first = 1;
    f.a->pre_start.code = 66;
    kit_grow(&f);
    family_spawn(k, f.p, f.a);
    kit_await(k, "a#3.preStart");
    kit_settle(k);
    assert_int_equal(causes->count, 2);
    cause_expect(&causes->list[0], f.a,
                 (cause_want){AXO_FAILURE_INIT, AXO_SITE_CONSTRUCT, 55, "fatal 55",
                              AXO_FAILURE_FATAL, AXO_FAILURE_NONE, 0, NULL});
    cause_expect(&causes->list[1], f.a,
                 (cause_want){AXO_FAILURE_INIT, AXO_SITE_PRE_START, 66, "failed 66",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_NONE, 0, NULL});
}

/* A re-creation, tried again in three places: kind, site, code, text of the last, original_* of the
 * first. */
static void HF_16_post_restart(kit *k)
{
    kit_family f = kit_plan(k, "p(a)");
    family_causes *causes = cause_log(k, f.p, AXO_RESTART);
    f.a->construct.fail_first = 2;
    f.a->construct.code = 55;
    f.a->construct.how = KIT_BY_THROW;
    f.a->post_restart.fail_first = 1;
    f.a->post_restart.code = 66;
    f.a->post_restart.how = KIT_BY_FATAL;
    f.a->pre_start.fail_first = 2;
    f.a->pre_start.code = 77;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL_FATAL, 7);
    kit_await(k, "a#5.preStart");
    kit_settle(k);
    assert_int_equal(causes->count, 4);
    cause_expect(&causes->list[1], f.a,
                 (cause_want){AXO_FAILURE_POST_RESTART, AXO_SITE_CONSTRUCT, 55, "thrown 55",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_FATAL, 7, "fatal 7"});
    cause_expect(&causes->list[2], f.a,
                 (cause_want){AXO_FAILURE_POST_RESTART, AXO_SITE_POST_RESTART, 66, "fatal 66",
                              AXO_FAILURE_FATAL, AXO_FAILURE_FATAL, 7, "fatal 7"});
    cause_expect(&causes->list[3], f.a,
                 (cause_want){AXO_FAILURE_POST_RESTART, AXO_SITE_POST_RESTART, 77, "failed 77",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_FATAL, 7, "fatal 7"});
    kit_order(k, "a#3.postRestart(55)", "a#4.postRestart(66)", "a#5.postRestart(77)");
}

/* Without hooks of its own, pre_start is the place. */
static void HF_16_plain(kit *k)
{
    kit_family f = kit_plan(k, "p(a:plain)");
    family_causes *causes = cause_log(k, f.p, AXO_RESTART);
    f.a->pre_start.fail_first = 2;
    f.a->pre_start.code = 77;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "a#3.preStart");
    kit_settle(k);
    assert_int_equal(causes->count, 2);
    cause_expect(&causes->list[1], f.a,
                 (cause_want){AXO_FAILURE_POST_RESTART, AXO_SITE_PRE_START, 77, "failed 77",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_ORDINARY, 7, "failed 7"});
}

/* a's re-creation fails and is handed up as it is; p's own re-creation for it fails then: the last
 * is p's, the first is still a's first. */
static void HF_16_escalated(kit *k)
{
    kit_family f = kit_plan(k, "g(p(a))");
    family_causes *high = cause_log(k, f.g, AXO_RESTART);
    family_causes *low = cause_log(k, f.p, AXO_RESTART);
    low->answer[AXO_FAILURE_POST_RESTART] = AXO_ESCALATE;
    f.a->post_restart.fail_first = 1;
    f.a->post_restart.code = 55;
    f.p->post_restart.fail_first = 1;
    f.p->post_restart.code = 66;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "p#3.preStart");
    kit_settle(k);
    assert_int_equal(low->count, 2);
    assert_int_equal(high->count, 2);
    cause_want handed = {AXO_FAILURE_POST_RESTART, AXO_SITE_POST_RESTART, 55, "failed 55",
                         AXO_FAILURE_ORDINARY, AXO_FAILURE_ORDINARY, 7, "failed 7"};
    cause_expect(&low->list[1], f.a, handed);
    cause_expect(&high->list[0], f.a, handed);
    cause_expect(&high->list[1], f.p,
                 (cause_want){AXO_FAILURE_POST_RESTART, AXO_SITE_POST_RESTART, 66, "failed 66",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_ORDINARY, 7, "failed 7"});
    kit_order(k, "p#1.preRestart(55)", "p#2.postRestart(55)", "p#3.postRestart(66)");
}

/* A survivor whose re-creation fails: what led to its restart is its parent's failure. */
static void HF_16_survivor(kit *k)
{
    kit_family f = kit_plan(k, "g:restart(p:keep(a))");
    family_causes *causes = cause_log(k, f.p, AXO_RESTART);
    f.p->no_default_start = true;
    f.a->post_restart.fail_first = 1;
    f.a->post_restart.code = 55;
    kit_grow(&f);
    (void)kit_tell(k, f.p, KIT_THROW, 7);
    kit_await(k, "a#3.preStart");
    kit_settle(k);
    assert_int_equal(causes->count, 1);
    cause_expect(&causes->list[0], f.a,
                 (cause_want){AXO_FAILURE_POST_RESTART, AXO_SITE_POST_RESTART, 55, "failed 55",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_ORDINARY, 7, "thrown 7"});
}

/* A decider that fails while it decides: nothing of the child's failure is in its own, not even
 * where that one had an original. */
static void HF_16_decider(kit *k)
{
    kit_family f = kit_plan(k, "g(p(a))");
    family_causes *high = cause_log(k, f.g, AXO_RESTART);
    (void)cause_log(k, f.p, AXO_RESTART);
    f.p->decider.fail_first = 2;
    f.p->decider.code = 68;
    f.p->decider.how = KIT_BY_THROW;
    f.a->post_restart.fail_first = 1;
    f.a->post_restart.code = 55;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "p#2.preStart");
    kit_settle(k);
    assert_int_equal(high->count, 1);
    cause_expect(&high->list[0], f.p,
                 (cause_want){AXO_FAILURE_ORDINARY, AXO_SITE_DECIDER, 68, "thrown 68",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_NONE, 0, NULL});
    kit_order(k, "p.decider(a)@1", "p.decider(a)@2", "p#1.preRestart(68)", "p#2.postRestart(68)");
}

static axo_status cause_is_first(axo_ctx *ctx, kit_puppet *self, void *arg)
{
    const axo_failure *failure = self->failure;
    KIT_REQUIRE(self->k, failure->kind == AXO_FAILURE_ORDINARY);
    KIT_REQUIRE(self->k, failure->site == AXO_SITE_RECEIVE && failure->code == 7);
    KIT_REQUIRE(self->k, strcmp(failure->text, "failed 7") == 0);
    KIT_REQUIRE(self->k, failure->original_kind == AXO_FAILURE_NONE);
    kit_mark(self, "first", 0);
    return AXO_OK;
}

/* pre_restart's own failure is nobody's cause. When the re-creation fails too, the original is the
 * failure that led to the restart. */
static void HF_16_pre_restart(kit *k)
{
    kit_family f = kit_plan(k, "p(a,b)");
    family_causes *causes = cause_log(k, f.p, AXO_RESTART);
    f.a->pre_restart.fail_first = 1;
    f.a->pre_restart.code = 44;
    f.a->post_restart.run = cause_is_first;
    f.b->pre_restart.fail_first = 1;
    f.b->pre_restart.code = 44;
    f.b->post_restart.fail_first = 1;
    f.b->post_restart.code = 55;
    kit_grow(&f);
    (void)kit_tell(k, f.a, KIT_FAIL, 7);
    kit_await(k, "a#2.first");
    (void)kit_tell(k, f.b, KIT_FAIL, 8);
    kit_await(k, "b#3.preStart");
    kit_settle(k);
    assert_int_equal(causes->count, 3);
    cause_expect(&causes->list[2], f.b,
                 (cause_want){AXO_FAILURE_POST_RESTART, AXO_SITE_POST_RESTART, 55, "failed 55",
                              AXO_FAILURE_ORDINARY, AXO_FAILURE_ORDINARY, 8, "failed 8"});
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("HF-16 receive", HF_16_receive),
    KIT_TEST("HF-16 init", HF_16_init),
    KIT_TEST("HF-16 post_restart", HF_16_post_restart),
    KIT_TEST("HF-16 plain", HF_16_plain),
    KIT_TEST("HF-16 escalated", HF_16_escalated),
    KIT_TEST("HF-16 survivor", HF_16_survivor),
    KIT_TEST("HF-16 decider", HF_16_decider),
    KIT_TEST("HF-16 pre_restart", HF_16_pre_restart),
};
TEST_MAIN(tests)
