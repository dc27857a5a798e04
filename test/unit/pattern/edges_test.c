/* edges_test.c - corners of the services that only they reach: who is looked up again, who ends
 * while others are chosen, how late is late, when a plan was cut short. */
#include <stdatomic.h>
#include <time.h>

#include "api/service.h"

/* ---- routers ---- */

static _Atomic uint32_t ed_got[2];
static _Atomic bool ed_gate;
static _Atomic bool ed_held;

static void ed_nap(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static axo_status ed_routee_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    ed_got[*(const uint32_t *)state]++;
    return AXO_OK;
}

static axo_status ed_routee_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(uint32_t));
    return AXO_OK;
}

static axo_status ed_child_stop(axo_ctx *ctx, void *state)
{
    ed_held = true;
    while (!ed_gate)
        ed_nap();
    return AXO_OK;
}

/* The first has a child that takes long to end. */
static axo_status ed_routee_start(axo_ctx *ctx, void *state)
{
    static const axo_class child_class =
        AXO_CLASS(.receive = ed_routee_receive, .state_size = 4, .post_stop = ed_child_stop);
    axo_props props = AXO_PROPS(.cls = &child_class, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_ref child;
    return *(const uint32_t *)state == 0 ? axo_spawn(ctx, &props, &child) : AXO_OK;
}

static axo_ref ed_routee(axo_system *system, uint32_t number, const char *name)
{
    static const axo_class cls =
        AXO_CLASS(.state_size = sizeof(uint32_t), .construct = ed_routee_construct,
                  .pre_start = ed_routee_start, .receive = ed_routee_receive);
    axo_props props =
        AXO_PROPS(.cls = &cls, .args = &number, .args_size = sizeof number, .name = name);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    return ref;
}

static uint32_t ed_doing(axo_system *system, axo_ref ref)
{
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    (void)axo_system_inspect(system, ref, axo_ref_none(), &info);
    return info.doing;
}

/* A routee that waits for the end of its children gets nothing more: it would be lost. */
static void one_that_ends_is_not_the_smallest(void **state)
{
    enum { MESSAGES = 20 };
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_system *system;
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_props props;
    axo_ref router;
    ed_gate = ed_held = false;
    ed_got[0] = ed_got[1] = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo_ref routees[2] = {ed_routee(system, 0, NULL), ed_routee(system, 1, NULL)};
    axo_router settings =
        AXO_ROUTER(.logic = AXO_ROUTE_SMALLEST, .routees = routees, .routees_count = 2);
    assert_int_equal(axo_router_props(&settings, NULL, &props), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &router), AXO_OK);
    assert_int_equal(axo_system_send(system, router, SV_NOTE, NULL, 0), AXO_OK);
    while (ed_got[0] + ed_got[1] == 0)
        ed_nap();
    ed_got[0] = ed_got[1] = 0;
    assert_int_equal(axo_system_stop_actor(system, routees[0]), AXO_OK);
    while (!ed_held || ed_doing(system, routees[0]) != AXO_DOING_STOPPING)
        ed_nap();
    for (uint32_t i = 1; i <= MESSAGES; i++) {
        assert_int_equal(axo_system_send(system, router, SV_NOTE, NULL, 0), AXO_OK);
        do {
            ed_nap();
            assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
        } while (stats.handled < 2 * (i + 1) && ed_doing(system, router) != AXO_DOING_IDLE);
    }
    ed_gate = true;
    assert_int_equal(axo_system_stop(system, 20 * SV_S, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.dead, 0);
    assert_int_equal(ed_got[0], 0);
    assert_int_equal(ed_got[1], MESSAGES);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* A path whose routee was taken out is looked up no more, also while another one is; nor is it
 * when its routee has ended since. */
static void a_path_taken_out_stays_out(void **state)
{
    static const char *const paths[] = {"/user/here", "/user/nowhere"};
    axo_router settings = AXO_ROUTER(.paths = paths, .paths_count = 2);
    sv_host host;
    sv_host here;
    axo_props props;
    axo_ref router;
    sv_start(&host, NULL);
    sv_spawn(&here, host.kit, "here", NULL);
    assert_int_equal(axo_router_props(&settings, "router", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(host.system, &props, &router), AXO_OK);
    assert_int_equal(axo_system_send(host.system, router, SV_NOTE, NULL, 0), AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(here.count, 1);
    assert_int_equal(axo_system_send(host.system, router, AXO_ROUTER_REMOVE, &here.ref,
                                     sizeof here.ref),
                     AXO_OK);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_system_send(host.system, router, SV_NOTE, NULL, 0), AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(here.count, 1); /* it is there, and is not asked */
    sv_tell(&here, SV_QUIT);
    sv_spawn(&here, host.kit, "here", NULL);
    assert_int_equal(axo_system_send(host.system, router, SV_NOTE, NULL, 0), AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(here.count, 0);
    sv_host nowhere;
    sv_spawn(&nowhere, host.kit, "nowhere", NULL);
    assert_int_equal(axo_system_send(host.system, router, SV_NOTE, NULL, 0), AXO_OK);
    (void)axo_testkit_run(host.kit);
    assert_int_equal(nowhere.count, 1); /* the other is still looked for */
    sv_end(&host);
}

/* One that is suspended has nobody to handle what it gets. */
static void one_that_is_suspended_is_not_the_smallest(void **state)
{
    static const axo_backoff delays = AXO_BACKOFF(.min_ns = 100 * SV_S, .max_ns = 100 * SV_S);
    static const axo_strategy slow = AXO_STRATEGY(.decider = axo_decide_restart,
                                                  .backoff = &delays);
    axo_options options = AXO_OPTIONS(.user_strategy = &slow);
    sv_host host;
    sv_host other;
    axo_props props;
    axo_ref router;
    sv_start(&host, &options);
    sv_spawn(&other, host.kit, "other", NULL);
    axo_ref routees[2] = {host.ref, other.ref};
    axo_router settings =
        AXO_ROUTER(.logic = AXO_ROUTE_SMALLEST, .routees = routees, .routees_count = 2);
    assert_int_equal(axo_router_props(&settings, NULL, &props), AXO_OK);
    assert_int_equal(axo_system_spawn(host.system, &props, &router), AXO_OK);
    sv_tell(&host, SV_FAIL);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(axo_system_send(host.system, router, SV_NOTE, NULL, 0), AXO_OK);
        (void)axo_testkit_run(host.kit);
    }
    assert_int_equal(other.count, 6);
    (void)axo_testkit_advance(host.kit, 101 * SV_S);
    assert_int_equal(host.count, 0);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(axo_system_send(host.system, router, SV_NOTE, NULL, 0), AXO_OK);
        (void)axo_testkit_run(host.kit);
    }
    assert_int_equal(other.count, 9); /* they take turns again */
    assert_int_equal(host.count, 3);
    sv_end(&host);
}

/* ---- back-off supervisors ---- */

/* Fails at anything; a child of it takes as long to end as the gate is shut. */
static axo_status ed_fails(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 1, "as told");
}

static axo_status ed_fails_start(axo_ctx *ctx, void *state)
{
    static const axo_class child_class =
        AXO_CLASS(.receive = ed_routee_receive, .post_stop = ed_child_stop);
    axo_props props = AXO_PROPS(.cls = &child_class, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_ref child;
    return axo_spawn(ctx, &props, &child);
}

static uint64_t ed_asked(axo_system *system, axo_ref keeper, uint32_t question)
{
    axo_asked asked;
    uint64_t said = 0;
    assert_int_equal(axo_system_ask(system, keeper, question, NULL, 0, 20 * SV_S, &asked), AXO_OK);
    memcpy(&said, asked.message.payload, asked.message.size);
    axo_asked_free(system, &asked);
    return said;
}

static uint64_t ed_next_child(axo_system *system, axo_ref keeper, uint64_t before, bool counted)
{
    uint64_t child = before;
    while (child == 0 || child == before) {
        ed_nap();
        if (!counted)
            assert_int_equal(ed_asked(system, keeper, AXO_BACKOFF_GET_COUNT), 0);
        child = ed_asked(system, keeper, AXO_BACKOFF_GET_CHILD);
    }
    return child;
}

/* BO-18: a failure whose window has closed before its child has ended counts in none. */
static void a_window_closes_while_a_child_ends(void **state)
{
    static const axo_class cls = AXO_CLASS(.pre_start = ed_fails_start, .receive = ed_fails);
    static const axo_props child = AXO_PROPS(.cls = &cls);
    static const axo_backoff delays =
        AXO_BACKOFF(.min_ns = SV_MS, .max_ns = 2 * SV_MS, .reset_after_ns = -1);
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(
        .child = &child, .backoff = &delays, .when = AXO_ON_FAILURE, .within_ns = SV_S / 2);
    axo_system *system;
    axo_props props;
    axo_ref keeper;
    ed_gate = true;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_backoff_supervisor_props(&settings, NULL, &props), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &keeper), AXO_OK);
    uint64_t first = ed_asked(system, keeper, AXO_BACKOFF_GET_CHILD);
    assert_int_equal(axo_system_send(system, keeper, SV_FAIL, NULL, 0), AXO_OK);
    uint64_t second = ed_next_child(system, keeper, first, true);
    ed_gate = ed_held = false;
    assert_int_equal(axo_system_send(system, keeper, SV_FAIL, NULL, 0), AXO_OK);
    while (!ed_held)
        ed_nap();
    int64_t since = axo_system_now(system);
    while (axo_system_now(system) - since < SV_S || /* whichever window it was is closed */
           ed_asked(system, keeper, AXO_BACKOFF_GET_COUNT) != 0)
        ed_nap();
    assert_true(ed_asked(system, keeper, AXO_BACKOFF_GET_CHILD) == second); /* BO-13 */
    ed_gate = true;
    (void)ed_next_child(system, keeper, second, false);
    assert_int_equal(ed_asked(system, keeper, AXO_BACKOFF_GET_COUNT), 0);
    assert_int_equal(axo_system_stop(system, 20 * SV_S, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* ---- machines ---- */

static axo_machine ed_machine;
static uint32_t ed_entries;
static uint32_t ed_chain; /* transitions that an entry asks for */

static axo_status ed_state_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static axo_status ed_state_entry(axo_ctx *ctx, void *state)
{
    return ed_entries++ < ed_chain ? axo_machine_goto(ctx, &ed_machine, 0) : AXO_OK;
}

static void ed_machine_starts(axo_ctx *ctx, sv_host *host, void *arg)
{
    static const axo_machine_state states[] = {
        {.receive = ed_state_receive, .on_entry = ed_state_entry}};
    static const axo_machine_table table = AXO_MACHINE_TABLE(states, 0);
    ed_machine = (axo_machine){.table = NULL};
    ed_entries = 0;
    *(axo_status *)arg = axo_machine_start(ctx, &ed_machine, &table, NULL);
}

/* So many transitions for one message, and not one more. */
static void a_chain_has_its_last_link(void **state)
{
    sv_host host;
    axo_status status = AXO_OK;
    sv_start(&host, NULL);
    ed_chain = AXO_MACHINE_CHAIN_MAX;
    sv_do(&host, ed_machine_starts, &status);
    assert_int_equal(status, AXO_OK);
    assert_int_equal(ed_entries, 1 + AXO_MACHINE_CHAIN_MAX);
    ed_chain = AXO_MACHINE_CHAIN_MAX + 1;
    sv_do(&host, ed_machine_starts, &status);
    assert_int_equal(status, AXO_ECYCLE);
    assert_int_equal(ed_entries, 1 + AXO_MACHINE_CHAIN_MAX);
    sv_end(&host);
}

/* ---- plans ---- */

static axo_status ed_mute_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

typedef struct ed_plan {
    axo_system *system;
    axo_phases *phases;
    axo_ref mute;
    axo_phases_report report;
} ed_plan;

static void ed_plan_start(ed_plan *plan, const axo_phase *phases, uint32_t count)
{
    static const axo_class mute_class = AXO_CLASS(.name = "mute", .receive = ed_mute_receive);
    axo_options options = AXO_OPTIONS(.workers = 1);
    axo_props props = AXO_PROPS(.cls = &mute_class);
    assert_int_equal(axo_system_start(&options, &plan->system), AXO_OK);
    assert_int_equal(axo_system_spawn(plan->system, &props, &plan->mute), AXO_OK);
    assert_int_equal(axo_phases_new(plan->system, &plan->phases), AXO_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(axo_phases_add(plan->phases, &phases[i]), AXO_OK);
}

static void ed_plan_ask(ed_plan *plan, const char *phase)
{
    axo_task task = AXO_TASK(.phase = phase, .name = "ask", .actor = plan->mute, .tag = SV_NOTE);
    assert_int_equal(axo_phases_task(plan->phases, &task, NULL), AXO_OK);
}

static void ed_plan_end(ed_plan *plan)
{
    assert_int_equal(axo_phases_free(plan->phases), AXO_OK);
    assert_int_equal(axo_system_stop(plan->system, 20 * SV_S, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(plan->system), AXO_OK);
}

/* From the phase's deadline on: no later than the run's end, which is after it. */
static void late_counts_from_the_deadline(void **state)
{
    axo_phase phases[] = {AXO_PHASE(.name = "one", .timeout_ns = 300 * SV_MS)};
    axo_phase_trouble trouble;
    ed_plan plan;
    ed_plan_start(&plan, phases, 1);
    ed_plan_ask(&plan, "one");
    assert_int_equal(axo_phases_run(plan.phases, &plan.report), AXO_ETIMEDOUT);
    assert_int_equal(axo_phases_troubles(plan.phases, &trouble, 1), 1);
    assert_int_equal(trouble.unfinished, 1);
    assert_true(trouble.late_ns >= 0);
    assert_true(trouble.late_ns <= plan.report.took_ns - phases[0].timeout_ns);
    ed_plan_end(&plan);
}

/* The last phase cannot have kept any other from running. */
static void the_last_phase_cuts_nothing_short(void **state)
{
    for (uint32_t last = 0; last < 2; last++) {
        axo_phase phases[] = {AXO_PHASE(.name = "one", .timeout_ns = SV_MS, .abort = 1),
                              AXO_PHASE(.name = "two", .timeout_ns = SV_MS, .abort = 1)};
        ed_plan plan;
        (void)state;
        ed_plan_start(&plan, phases, 2);
        ed_plan_ask(&plan, phases[last].name);
        assert_int_equal(axo_phases_run(plan.phases, &plan.report), AXO_ETIMEDOUT);
        assert_int_equal(plan.report.ran, last + 1);
        assert_int_equal(plan.report.aborted, 1 - last);
        assert_int_equal(plan.report.troubles, 1);
        ed_plan_end(&plan);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_that_ends_is_not_the_smallest),
    cmocka_unit_test(a_path_taken_out_stays_out),
    cmocka_unit_test(one_that_is_suspended_is_not_the_smallest),
    cmocka_unit_test(a_window_closes_while_a_child_ends),
    cmocka_unit_test(a_chain_has_its_last_link),
    cmocka_unit_test(late_counts_from_the_deadline),
    cmocka_unit_test(the_last_phase_cuts_nothing_short),
};
TEST_MAIN(tests)
