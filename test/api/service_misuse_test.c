/* service_misuse_test.c - services with a context that is none, or that was kept, and without a
 * system: a named status, and nothing has changed. */
#include "api/service.h"

/* Counts what did not refuse: the line is in `first`. */
typedef struct mi_tally {
    int wrong;
    int first;
} mi_tally;

static void mi_want(mi_tally *tally, bool good, int line)
{
    if (good)
        return;
    if (tally->wrong++ == 0)
        tally->first = line;
}

#define MI_WANT(condition) mi_want(tally, (condition), __LINE__)
#define MI_CTX(call) MI_WANT((call) == AXO_ECONTEXT)
#define MI_BAD(call) MI_WANT((call) == AXO_EINVAL)

static void mi_messages(mi_tally *tally, axo_ctx *bad, axo_ref to)
{
    axo_message message = {.tag = SV_NOTE, .sender = to};
    axo_owned owned = {.payload = &message, .size = sizeof message};
    axo_draft *draft = (axo_draft *)(void *)&message;
    MI_CTX(axo_forward(bad, &message, to));
    MI_CTX(axo_message_take(bad, &message, &owned));
    MI_WANT(owned.payload == NULL);
    owned.payload = &message;
    MI_CTX(axo_draft_from(bad, draft, to));
    MI_CTX(axo_draft_bind(bad, draft, 1));
    MI_CTX(axo_send_message(bad, to, draft));
    axo_message_discard(bad, draft);
    MI_CTX(axo_message_owning(bad, SV_NOTE, &owned, &draft));
    MI_WANT(draft == NULL);
    MI_CTX(axo_stash(bad));
    MI_CTX(axo_unstash(bad, 1));
    MI_CTX(axo_unstash_all(bad));
    MI_WANT(axo_stash_count(bad) == 0);
    MI_CTX(axo_watch_with(bad, to, SV_NOTE, NULL, 0));
    MI_CTX(axo_drop(bad, &message, to, "why"));
    MI_WANT(axo_instance(bad) == 0);
    MI_WANT(axo_now(bad) == 0);
}

static void mi_time(mi_tally *tally, axo_ctx *bad, axo_ref to)
{
    axo_timer timer = {1, 1};
    MI_CTX(axo_schedule_once(bad, 0, to, SV_NOTE, NULL, 0, &timer));
    MI_WANT(timer.bits == 0 && timer.bits2 == 0);
    MI_CTX(axo_schedule_fixed_delay(bad, 0, 1, to, SV_NOTE, NULL, 0, NULL));
    MI_CTX(axo_schedule_fixed_rate(bad, 0, 1, to, SV_NOTE, NULL, 0, NULL));
    MI_WANT(!axo_timer_cancel(bad, timer));
    MI_WANT(!axo_timer_at_close(bad, timer));
    MI_CTX(axo_timer_start(bad, 1, AXO_TIMER_ONCE, 0, 0, SV_NOTE, NULL, 0));
    MI_CTX(axo_timer_stop(bad, 1));
    MI_WANT(!axo_timer_active(bad, 1));
    MI_CTX(axo_receive_timeout(bad, 1));
}

static void mi_names(mi_tally *tally, axo_ctx *bad, axo_ref to)
{
    axo_props props = AXO_PROPS(.cls = &sv_class, .name = "mi");
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    axo_ref out = {.bits = 1};
    uint32_t count = 9;
    bool created = true;
    MI_CTX(axo_find(bad, "/user", &out));
    MI_WANT(axo_ref_is_none(out));
    MI_CTX(axo_find_all(bad, "/user/*", &out, 1, &count));
    MI_WANT(count == 0);
    MI_CTX(axo_select(bad, "/user/*", SV_NOTE, NULL, 0, &count));
    MI_CTX(axo_spawn_or_get(bad, &props, &out, &created));
    MI_WANT(!created && axo_ref_is_none(out));
    MI_CTX(axo_register(bad, "key", to));
    MI_CTX(axo_unregister(bad, "key"));
    MI_CTX(axo_inspect(bad, to, axo_ref_none(), &info));
    MI_CTX(axo_subscribe(bad, to, AXO_KIND_USER));
    MI_CTX(axo_unsubscribe(bad, to, AXO_KIND_USER));
    MI_CTX(axo_publish(bad, AXO_KIND_USER, NULL, 0));
}

static void mi_patterns(mi_tally *tally, axo_ctx *bad, axo_ref to)
{
    static const axo_machine_state states[] = {{.receive = sv_receive}};
    static const axo_machine_table table = AXO_MACHINE_TABLE(states, 0);
    axo_machine machine = {.table = NULL};
    axo_message message = {.tag = SV_NOTE};
    axo_ref out = {.bits = 1};
    MI_CTX(axo_ask(bad, to, SV_NOTE, NULL, 0, SV_S, 1));
    MI_CTX(axo_promise(bad, SV_S, 1, &out));
    MI_WANT(axo_ref_is_none(out));
    MI_CTX(axo_graceful_stop(bad, to, NULL, SV_S, 1));
    MI_CTX(axo_drain(bad, to, NULL, 1, SV_S, 1));
    MI_CTX(axo_machine_start(bad, &machine, &table, NULL));
    MI_CTX(axo_machine_receive(bad, &machine, NULL, &message));
    MI_CTX(axo_machine_goto(bad, &machine, 0));
    MI_CTX(axo_machine_stay(bad, &machine));
    MI_WANT(machine.table == NULL);
}

static mi_tally mi_all(axo_ctx *bad, axo_ref to)
{
    mi_tally tally = {0, 0};
    mi_messages(&tally, bad, to);
    mi_time(&tally, bad, to);
    mi_names(&tally, bad, to);
    mi_patterns(&tally, bad, to);
    return tally;
}

static axo_ctx *mi_kept;

static void mi_keep(axo_ctx *ctx, sv_host *host, void *arg)
{
    (void)host;
    (void)arg;
    mi_kept = ctx;
}

static void mi_use(axo_ctx *ctx, sv_host *host, void *arg)
{
    mi_tally *tally = arg;
    assert_true(ctx != mi_kept);
    *tally = mi_all(mi_kept, host->ref);
}

static void mi_same(sv_host *host, const axo_stats *before, uint64_t calls)
{
    axo_stats after = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(host->system, &after), AXO_OK);
    assert_int_equal(after.sent, before->sent + calls);
    assert_int_equal(after.spawned, before->spawned);
    assert_int_equal(after.dead, before->dead);
    assert_int_equal(after.events, before->events);
}

/* None at all, one of a callback that has returned, one of another actor. */
static void contexts_that_are_not_the_callers(void **state)
{
    sv_host host;
    sv_host other;
    mi_tally tally = {1, 0};
    axo_stats before = AXO_STATS(.sent = 0);
    (void)state;
    sv_start(&host, NULL);
    sv_spawn(&other, host.kit, "other", NULL);
    sv_do(&host, mi_keep, NULL);
    assert_int_equal(axo_system_stats(host.system, &before), AXO_OK);
    assert_int_equal(mi_all(NULL, host.ref).first, 0);
    assert_int_equal(mi_all(mi_kept, host.ref).first, 0);
    mi_same(&host, &before, 0);
    sv_do(&other, mi_use, &tally);
    assert_int_equal(tally.first, 0);
    assert_int_equal(tally.wrong, 0);
    (void)axo_testkit_advance(host.kit, AXO_TESTKIT_FOREVER);
    mi_same(&host, &before, 1);
    sv_end(&host);
}

static void mi_no_system(mi_tally *tally, axo_ref to)
{
    axo_props props = AXO_PROPS(.cls = &sv_class, .name = "mi");
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    axo_timer timer = {1, 1};
    axo_asked asked;
    axo_phases *phases = (axo_phases *)(void *)&asked;
    axo_ref out = {.bits = 1};
    uint32_t count = 9;
    bool created;
    char text[8];
    MI_BAD(axo_system_ask(NULL, to, SV_NOTE, NULL, 0, SV_S, &asked));
    MI_WANT(asked.verdict.status == AXO_EINVAL);
    axo_asked_free(NULL, &asked);
    MI_BAD(axo_system_graceful_stop(NULL, to, NULL, SV_S, NULL));
    MI_BAD(axo_system_schedule_once(NULL, 0, to, SV_NOTE, NULL, 0, &timer));
    MI_WANT(timer.bits == 0);
    MI_BAD(axo_system_schedule_fixed_delay(NULL, 0, 1, to, SV_NOTE, NULL, 0, NULL));
    MI_BAD(axo_system_schedule_fixed_rate(NULL, 0, 1, to, SV_NOTE, NULL, 0, NULL));
    MI_WANT(!axo_system_timer_cancel(NULL, timer) && !axo_system_timer_at_close(NULL, timer));
    MI_BAD(axo_system_find(NULL, "/user", &out));
    MI_WANT(axo_ref_is_none(out));
    MI_BAD(axo_system_find_all(NULL, "/user", &out, 1, &count));
    MI_BAD(axo_system_spawn_or_get(NULL, &props, &out, &created));
    MI_BAD(axo_system_register(NULL, "key", to));
    MI_BAD(axo_system_unregister(NULL, "key"));
    MI_BAD(axo_system_lookup(NULL, "key", &out));
    MI_BAD(axo_system_inspect(NULL, to, axo_ref_none(), &info));
    MI_BAD(axo_system_tag_name(NULL, to, 1, text, sizeof text));
    MI_BAD(axo_system_subscribe(NULL, to, AXO_KIND_USER));
    MI_BAD(axo_system_unsubscribe(NULL, to, AXO_KIND_USER));
    MI_BAD(axo_system_publish(NULL, AXO_KIND_USER, NULL, 0));
    MI_BAD(axo_system_on_termination(NULL, NULL, NULL));
    MI_BAD(axo_phases_new(NULL, &phases));
    MI_WANT(phases == NULL && axo_system_name(NULL) == NULL && axo_system_now(NULL) == 0);
    MI_WANT(axo_system_alloc(NULL, 8) == NULL);
    axo_system_free(NULL, NULL, 8);
}

static void mi_no_plan(mi_tally *tally)
{
    axo_phase phase = AXO_PHASE(.name = "a");
    axo_task task = AXO_TASK(.phase = "a", .name = "b");
    MI_WANT(axo_phases_free(NULL) == AXO_OK);
    MI_BAD(axo_phases_add(NULL, &phase));
    MI_BAD(axo_phases_task(NULL, &task, NULL));
    MI_BAD(axo_phases_cancel(NULL, 1));
    MI_BAD(axo_phases_check(NULL, NULL, 0));
    MI_WANT(axo_phases_total_ns(NULL) == 0 && axo_phases_print(NULL, NULL, 0) == 0);
    MI_BAD(axo_phases_start(NULL));
    MI_BAD(axo_phases_run(NULL, NULL));
    MI_WANT(axo_phases_troubles(NULL, NULL, 0) == 0);
    MI_WANT(axo_verdict_text(NULL, NULL, 0) == 0);
    MI_WANT(axo_machine_current(NULL) == UINT32_MAX && axo_machine_name(NULL)[0] == 0);
}

static void no_system_and_no_plan(void **state)
{
    mi_tally tally = {0, 0};
    (void)state;
    mi_no_system(&tally, (axo_ref){.bits = 1});
    mi_no_plan(&tally);
    assert_int_equal(tally.first, 0);
    assert_int_equal(tally.wrong, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(contexts_that_are_not_the_callers),
    cmocka_unit_test(no_system_and_no_plan),
};
TEST_MAIN(tests)
