/* crash_decider_test.c - a decider that crashes while it decides about a crash: the parent has
 * failed, of the decider's crash, and the child goes with it, without a hook; both crashes are
 * remembered, and both are paid from the budget. Where a class does not ask for it, or the budget
 * is spent, the second crash ends the process.
 */
#include "fault/crash.h"

static char *volatile decider_null;
static atomic_uint decider_hooks; /* of the child's that have run, but for its start */
static atomic_uint decider_children;
static atomic_uint decider_asked;
static atomic_bool decider_again; /* it crashes each time */
static axo_crash decider_of;      /* what it was asked about */
static axo_ref decider_child;

/* ---- the child: it crashes by its first message, at 0x10 ------------------------------------ */

static axo_status decider_child_construct(axo_ctx *ctx, void *state, const void *args)
{
    atomic_fetch_add(&decider_children, 1);
    return AXO_OK;
}

static axo_status decider_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    decider_null[16] = 1;
    return AXO_OK;
}

static axo_status decider_child_stop(axo_ctx *ctx, void *state)
{
    atomic_fetch_add(&decider_hooks, 1);
    return AXO_OK;
}

static axo_status decider_child_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                            const axo_message *message)
{
    atomic_fetch_add(&decider_hooks, 1);
    return AXO_OK;
}

static const axo_class decider_child_class =
    AXO_CLASS(.name = "child", .construct = decider_child_construct,
              .receive = decider_child_receive, .post_stop = decider_child_stop,
              .pre_restart = decider_child_pre_restart, .on_crash = AXO_CRASH_FAILS);

static void decider_spawn_child(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &decider_child_class, .name = "child");
    CRASH_CHECK(axo_spawn(ctx, &props, &decider_child) == AXO_OK);
    (void)axo_send(ctx, decider_child, 7, NULL, 0);
}

/* ---- the parent: its decider crashes at 0x20 ------------------------------------------------ */

static axo_directive decider_decide(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user)
{
    const axo_crash *crash = axo_failure_crash(failure);
    CRASH_CHECK(crash != NULL && failure->kind == AXO_FAILURE_CRASH);
    decider_of = *crash;
    if (atomic_fetch_add(&decider_asked, 1) == 0 || atomic_load(&decider_again))
        decider_null[32] = 1;
    return AXO_STOP;
}

static const axo_strategy decider_strategy = AXO_STRATEGY(.decider = decider_decide);

static void decider_start(const axo_class *cls, axo_options options)
{
    options.workers = 1;
    axo_props props = AXO_PROPS(.cls = cls, .name = "parent", .strategy = &decider_strategy);
    crash_start(options);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
}

static bool decider_child_is_gone(void)
{
    axo_actor_info info = AXO_ACTOR_INFO();
    return axo_system_inspect(cw.system, decider_child, axo_ref_none(), &info) == AXO_EGONE;
}

/* ---- both are contained --------------------------------------------------------------------- */

static void decider_check_crashes(void)
{
    axo_crash last[2];
    CRASH_CHECK(axo_system_crashes(cw.system, last, 2) == 2);
    CRASH_CHECK(last[0].address == 0x20 && last[0].site == AXO_SITE_DECIDER);
    CRASH_CHECK(last[0].has_tag == 0 && axo_ref_equal(last[0].actor, cw.actor));
    CRASH_CHECK(last[1].address == 0x10 && last[1].site == AXO_SITE_RECEIVE);
    CRASH_CHECK(last[1].has_tag == 1 && last[1].tag == 7);
    CRASH_CHECK(axo_ref_equal(last[1].actor, decider_child));
}

/* What the parent's own parent is asked: nothing of the child. */
static void decider_check_failure(void)
{
    CRASH_CHECK(atomic_load(&decider_asked) == 1 && atomic_load(&cw.decided) == 1);
    CRASH_CHECK(decider_of.address == 0x10 && decider_of.site == AXO_SITE_RECEIVE);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_CRASH && cw.failure.code == SIGSEGV);
    CRASH_CHECK(cw.failure.root_kind == AXO_FAILURE_CRASH);
    CRASH_CHECK(cw.failure.site == AXO_SITE_DECIDER && cw.failure.has_message == 0);
    CRASH_CHECK(axo_ref_equal(cw.failure.actor, cw.actor));
    CRASH_CHECK(cw.failure.original_kind == 0);
    CRASH_CHECK(cw.crashed && cw.crash.address == 0x20 && cw.crash.site == AXO_SITE_DECIDER);
}

static void decider_contained(const void *arg)
{
    decider_start(&crash_class, (axo_options){.workers = 1});
    crash_do(decider_spawn_child);
    crash_wait(&cw.decided, 1);
    crash_ping();
    decider_check_failure();
    decider_check_crashes();
    CRASH_CHECK(atomic_load(&cw.instance) == 2); /* it is another one, and works */
    CRASH_CHECK(decider_child_is_gone() && atomic_load(&decider_children) == 1);
    CRASH_CHECK(atomic_load(&decider_hooks) == 0);
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_PRE_RESTART]) == 0);
    crash_do(decider_spawn_child); /* now it decides */
    crash_wait(&decider_asked, 2);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&cw.decided) == 1);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 3);
    crash_finish();
}

/* Again and again: each time two of the budget, of which there are twenty. */
static void decider_often(const void *arg)
{
    decider_start(&crash_class, (axo_options){.crashes_max = 20});
    atomic_store(&decider_again, true);
    for (uint32_t i = 1; i <= 10; i++) {
        crash_do(decider_spawn_child);
        crash_wait(&cw.decided, i);
        crash_ping();
        CRASH_CHECK(atomic_load(&cw.instance) == i + 1 && decider_child_is_gone());
        CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 2 * i);
    }
    CRASH_CHECK(atomic_load(&decider_hooks) == 0);
    crash_finish();
}

static void both_are_contained(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(decider_contained, NULL);
    crash_is_well(&end, "once");
    end = crash_run(decider_often, NULL);
    crash_is_well(&end, "often");
}

/* ---- the second one is not ------------------------------------------------------------------ */

static void decider_spent(const void *arg)
{
    decider_start(&crash_class, (axo_options){.crashes_max = 1});
    crash_do(decider_spawn_child);
    crash_wait(&cw.decided, 1);
}

static void decider_unasked(const void *arg)
{
    static axo_class cls;
    cls = crash_class;
    cls.name = "unasked";
    cls.on_crash = AXO_CRASH_ENDS;
    decider_start(&cls, (axo_options){.workers = 1});
    crash_do(decider_spawn_child);
    crash_wait(&cw.decided, 1);
}

static void the_second_one_ends_the_process(void **state)
{
    if (CRASH_ENDS)
        skip();
    crash_end end = crash_run(decider_spent, NULL);
    crash_is_dead(&end, "spent", SIGSEGV,
                  "axo: SIGSEGV at 0x20 is not contained: the crash budget is spent; actor parent");
    end = crash_run(decider_unasked, NULL);
    crash_is_dead(&end, "unasked", SIGSEGV,
                  "axo: SIGSEGV at 0x20 is not contained: the actor's class does not ask for it "
                  "(on_crash); actor parent");
    assert_non_null(strstr(end.text, ", class unasked\n"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(both_are_contained),
    cmocka_unit_test(the_second_one_ends_the_process),
};

TEST_MAIN(tests)
