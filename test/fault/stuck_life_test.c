/* stuck_life_test.c - what becomes of an actor whose callback does not end: in each of its hooks,
 * on every thread, and what its parent may answer. */
#include "fault/stuck.h"

/* A broken instance is not resumed; a temporary one ends then. */
static void stuck_resumed(const void *arg)
{
    axo_props props = AXO_PROPS(.name = "temporary", .lifetime = AXO_TEMPORARY);
    axo_class cls = crash_class;
    cw.answer = AXO_RESUME;
    crash_start(stuck_options());
    crash_do(stuck_loop);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&cw.decided) == 1);
    cls.watchdog_ms = 5;
    props.cls = &cls;
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_do(stuck_loop);
    int64_t deadline = parts_now() + PARTS_DEADLINE_NS;
    crash_fn fn = stuck_loop;
    while (axo_system_send(cw.system, cw.actor, CRASH_PING, &fn, sizeof fn) != AXO_EGONE)
        CRASH_CHECK(parts_now() < deadline);
    crash_finish();
}

static void decided_as_a_crash(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(stuck_resumed, NULL);
    crash_is_well(&end, "resumed");
}

/* ---- in hooks ------------------------------------------------------------------------------- */

static atomic_uint stuck_cleaned;

static void stuck_unborn(const void *arg)
{
    uint32_t site = *(const uint32_t *)arg;
    cw.hook[site] = stuck_loop;
    crash_start(stuck_options());
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_INIT && cw.failure.site == site);
    CRASH_CHECK(cw.failure.root_kind == AXO_FAILURE_STUCK && cw.failure.root_code == 5);
    CRASH_CHECK(cw.crashed && cw.crash.site == site && cw.crash.has_tag == 0);
    crash_finish();
    CRASH_CHECK(atomic_load(&cw.calls[CRASH_POST_STOP]) == 0);
}

static void stuck_fails(axo_ctx *ctx)
{
    axo_throw(ctx, 1, "ordinary");
}

static void stuck_reborn(const void *arg)
{
    cw.hook[AXO_SITE_POST_RESTART] = stuck_loop;
    crash_start(stuck_options());
    crash_do(stuck_fails);
    crash_wait(&cw.decided, 2);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_POST_RESTART);
    CRASH_CHECK(cw.failure.root_kind == AXO_FAILURE_STUCK && cw.crashed);
    crash_finish();
}

static void stuck_settles(axo_ctx *ctx)
{
    CRASH_CHECK(axo_want_settle(ctx) == AXO_OK);
}

static void stuck_in_settle(const void *arg)
{
    cw.hook[AXO_SITE_SETTLE] = stuck_loop;
    crash_start(stuck_options());
    crash_do(stuck_settles);
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_STUCK && cw.failure.site == AXO_SITE_SETTLE);
    CRASH_CHECK(cw.failure.has_message == 0 && cw.crash.site == AXO_SITE_SETTLE);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    crash_finish();
}

/* No failure that is decided: a line, and the restart goes on. */
static void stuck_in_pre_restart(const void *arg)
{
    cw.hook[CRASH_PRE_RESTART] = stuck_loop;
    crash_start(stuck_options());
    crash_do(stuck_fails);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&cw.decided) == 1);
    CRASH_CHECK(atomic_load(&cw.logged) == 1 && strstr(cw.line, "stuck for ") != NULL);
    CRASH_CHECK(strstr(cw.line, "pre_restart") != NULL);
    crash_finish();
}

static void stuck_clean(void *arg)
{
    atomic_fetch_add(&stuck_cleaned, 1);
    if (arg != NULL)
        stuck_deep(0);
}

static void stuck_defers(axo_ctx *ctx)
{
    CRASH_CHECK(axo_defer(ctx, stuck_clean, NULL) == AXO_OK);
    CRASH_CHECK(axo_defer(ctx, stuck_clean, &stuck_cleaned) == AXO_OK);
    CRASH_CHECK(axo_defer(ctx, stuck_clean, &stuck_cleaned) == AXO_OK);
    stuck_deep(0);
}

/* Each clean-up that does not end is interrupted, and the others run. */
static void stuck_in_cleanups(const void *arg)
{
    crash_start(stuck_options());
    crash_do(stuck_defers);
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2 && atomic_load(&stuck_cleaned) == 3);
    CRASH_CHECK(atomic_load(&cw.logged) == 2 && strstr(cw.line, "stuck for ") != NULL);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == 3);
    crash_finish();
}

static axo_directive stuck_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    if (axo_instance(ctx) == 1)
        stuck_deep(0);
    return AXO_STOP;
}

static axo_status stuck_child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_EINVAL;
}

static const axo_class stuck_child = AXO_CLASS(.name = "child", .receive = stuck_child_receive,
                                               .on_crash = AXO_CRASH_FAILS, .watchdog_ms = 5);

static void stuck_child_fails(axo_ctx *ctx)
{
    axo_props props = AXO_PROPS(.cls = &stuck_child);
    axo_ref child;
    CRASH_CHECK(axo_spawn(ctx, &props, &child) == AXO_OK);
    CRASH_CHECK(axo_send(ctx, child, 1, NULL, 0) == AXO_OK);
}

/* The parent fails, as with any failure of a decider. */
static void stuck_in_a_decider(const void *arg)
{
    static const axo_strategy strategy = AXO_STRATEGY(.decider = stuck_decide);
    static axo_class cls;
    crash_start(stuck_options());
    cls = crash_class;
    cls.watchdog_ms = 5;
    axo_props props = AXO_PROPS(.cls = &cls, .name = "parent", .strategy = &strategy);
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &cw.actor) == AXO_OK);
    crash_do(stuck_child_fails);
    crash_wait(&cw.decided, 1);
    CRASH_CHECK(cw.failure.kind == AXO_FAILURE_STUCK && cw.failure.site == AXO_SITE_DECIDER);
    CRASH_CHECK(axo_ref_equal(cw.failure.actor, cw.actor));
    crash_ping();
    CRASH_CHECK(atomic_load(&cw.instance) == 2);
    crash_finish();
}

static void in_each_hook(void **state)
{
    static const uint32_t births[] = {AXO_SITE_CONSTRUCT, AXO_SITE_PRE_START};
    static const struct {
        const char *name;
        void (*fn)(const void *arg);
    } hooks[] = {{"post_restart", stuck_reborn},
                 {"settle", stuck_in_settle},
                 {"pre_restart", stuck_in_pre_restart},
                 {"clean-ups", stuck_in_cleanups},
                 {"a decider", stuck_in_a_decider}};
    if (CRASH_REPORTED)
        skip();
    for (size_t i = 0; i < 2; i++) {
        crash_end end = crash_run(stuck_unborn, &births[i]);
        crash_is_well(&end, "a birth");
    }
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
        crash_end end = crash_run(hooks[i].fn, NULL);
        crash_is_well(&end, hooks[i].name);
    }
}

/* ---- every thread ---------------------------------------------------------------------------- */

enum { STUCK_MANY = 6 };

/* More callbacks that do not end than there are threads, the spares' too. */
static void stuck_on_all(const void *arg)
{
    static axo_class cls;
    axo_ref refs[STUCK_MANY];
    crash_fn fn = stuck_loop;
    axo_options options = stuck_options();
    options.workers = 2;
    crash_start(options);
    cls = crash_class;
    cls.watchdog_ms = 5;
    for (uint32_t i = 0; i < STUCK_MANY; i++) {
        axo_props props = AXO_PROPS(.cls = &cls);
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &refs[i]) == AXO_OK);
    }
    for (uint32_t i = 0; i < STUCK_MANY; i++)
        CRASH_CHECK(axo_system_send(cw.system, refs[i], CRASH_DO, &fn, sizeof fn) == AXO_OK);
    crash_wait(&cw.decided, STUCK_MANY);
    for (uint32_t i = 0; i < STUCK_MANY; i++)
        CRASH_CHECK(axo_system_send(cw.system, refs[i], CRASH_PING, NULL, 0) == AXO_OK);
    crash_wait(&cw.pings, STUCK_MANY);
    CRASH_CHECK(axo_system_crashes(cw.system, NULL, 0) == STUCK_MANY);
    crash_finish();
}

static void stuck_until_the_hook(axo_ctx *ctx)
{
    while (atomic_load(&cw.calls[CRASH_POST_STOP]) == 0)
        stuck_sink++;
}

/* A hook that does not end on the second spare, which has it while the first one is in a message:
 * as soon as that has come to its end, the first looks after the second. */
static void stuck_on_the_second_spare(const void *arg)
{
    static axo_class patient;
    static axo_class hooked;
    crash_fn fns[2] = {stuck_patient, stuck_until_the_hook};
    axo_ref refs[2];
    axo_ref it;
    CRASH_CHECK(pipe(stuck_pipe) == 0);
    crash_start(stuck_options());
    patient = crash_class;
    axo_props props = AXO_PROPS(.cls = &patient);
    for (uint32_t i = 0; i < 2; i++)
        CRASH_CHECK(axo_system_spawn(cw.system, &props, &refs[i]) == AXO_OK);
    hooked = crash_class;
    hooked.watchdog_ms = 5;
    props.cls = &hooked;
    CRASH_CHECK(axo_system_spawn(cw.system, &props, &it) == AXO_OK);
    crash_wait(&cw.calls[AXO_SITE_PRE_START], 4);
    for (uint32_t i = 0; i < 2; i++) { /* one worker, then the first spare */
        CRASH_CHECK(axo_system_send(cw.system, refs[i], CRASH_DO, &fns[i], sizeof fns[i]) ==
                    AXO_OK);
        crash_wait(&cw.calls[AXO_SITE_RECEIVE], i + 1);
    }
    cw.hook[CRASH_POST_STOP] = stuck_loop;
    CRASH_CHECK(axo_system_stop_actor(cw.system, it) == AXO_OK);
    crash_wait(&cw.logged, 1);
    CRASH_CHECK(strstr(cw.line, "stuck for ") != NULL && strstr(cw.line, "post_stop") != NULL);
    cw.hook[CRASH_POST_STOP] = NULL;
    stuck_let_go();
    crash_ping();
    crash_finish();
}

/* Systems that end as soon as they may, and begin again: no signal finds a thread that is not its
 * own. */
static void stuck_again_and_again(const void *arg)
{
    for (uint32_t i = 0; i < 20; i++) {
        memset(&cw, 0, sizeof cw);
        crash_start(stuck_options());
        crash_do(stuck_loop);
        crash_wait(&cw.decided, 1);
        crash_finish();
    }
}

static void on_every_thread(void **state)
{
    if (CRASH_REPORTED)
        skip();
    crash_end end = crash_run(stuck_on_all, NULL);
    crash_is_well(&end, "all threads");
    end = crash_run(stuck_on_the_second_spare, NULL);
    crash_is_well(&end, "the second spare");
    end = crash_run(stuck_again_and_again, NULL);
    crash_is_well(&end, "again and again");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(decided_as_a_crash),
    cmocka_unit_test(in_each_hook),
    cmocka_unit_test(on_every_thread),
};

TEST_MAIN(tests)
