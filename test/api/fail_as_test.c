/* fail_as_test.c - axo_fail_as, by which one actor stands for what has failed elsewhere. */
#include <stdio.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { R_FAIL = 7 };

typedef struct r_world {
    axo_system *system;
    axo_ref failing;
    axo_status status[8];
    uint32_t kind; /* that is raised */
    uint32_t seen, pre_restarts, post_stops, children_ended;
    int32_t code;
    char text[32];
    axo_directive answer;
} r_world;

static axo_status r_construct(axo_ctx *ctx, void *state, const void *args)
{
    r_world *w = (r_world *)(uintptr_t)args;
    *(r_world **)state = w;
    return AXO_OK;
}

static axo_directive r_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    r_world *w = user;
    w->seen = failure->kind;
    w->code = failure->code;
    (void)snprintf(w->text, sizeof w->text, "%s", failure->text);
    assert_null(axo_failure_crash(failure));
    assert_int_equal(failure->has_status, 0);
    assert_true(axo_ref_equal(failure->actor, w->failing));
    return w->answer;
}

static void r_run(r_world *w)
{
    for (int i = 0; i < 100; i++)
        assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

static axo_stats r_stats(r_world *w)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
    return stats;
}

static void r_start(r_world *w, const axo_strategy *strategy)
{
    memset(w, 0, sizeof *w);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .user_strategy = strategy);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
}

static void r_end(r_world *w)
{
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    axo_stats stats = r_stats(w);
    assert_int_equal(stats.sent, stats.handled + stats.dead);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static axo_status f_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    r_world *w = *(r_world **)state;
    if (message->tag == R_FAIL)
        return axo_fail_as(ctx, (axo_failure_kind)w->kind, 42, "as %d", 43);
    return AXO_OK;
}

static axo_status f_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                const axo_message *message)
{
    (*(r_world **)state)->pre_restarts++;
    return axo_default_pre_restart(ctx, state, failure, message);
}

static axo_status f_post_stop(axo_ctx *ctx, void *state)
{
    (*(r_world **)state)->post_stops++;
    return AXO_OK;
}

static axo_status f_child_stop(axo_ctx *ctx, void *state)
{
    (*(r_world **)state)->children_ended++;
    return AXO_OK;
}

static const axo_class f_child =
    AXO_CLASS(.name = "f child", .state_size = sizeof(r_world *), .construct = r_construct,
              .receive = f_receive, .post_stop = f_child_stop);

static axo_status f_pre_start(axo_ctx *ctx, void *state)
{
    axo_ref child;
    axo_props props = AXO_PROPS(.cls = &f_child, .args = *(r_world **)state);
    return axo_spawn(ctx, &props, &child);
}

static const axo_class f_class =
    AXO_CLASS(.name = "f", .state_size = sizeof(r_world *), .construct = r_construct,
              .pre_start = f_pre_start, .receive = f_receive, .pre_restart = f_pre_restart,
              .post_stop = f_post_stop);

/* Fails as `kind` and is answered; how many hooks have run, and which instance it is then. */
static void f_fail(uint32_t kind, axo_directive answer, uint32_t hooks, uint32_t instance)
{
    r_world w;
    axo_strategy strategy = AXO_STRATEGY(.decider = r_decide, .user = &w);
    r_start(&w, &strategy);
    w.kind = kind;
    w.answer = answer;
    axo_props props = AXO_PROPS(.cls = &f_class, .args = &w);
    assert_int_equal(axo_system_spawn(w.system, &props, &w.failing), AXO_OK);
    r_run(&w);
    assert_int_equal(axo_system_send(w.system, w.failing, R_FAIL, NULL, 0), AXO_OK);
    r_run(&w);
    assert_int_equal(w.seen, kind);
    assert_int_equal(w.code, 42);
    assert_string_equal(w.text, "as 43");
    assert_int_equal(w.post_stops, hooks);
    assert_int_equal(w.pre_restarts, answer == AXO_RESTART ? hooks : 0);
    bool ended = answer == AXO_STOP || instance > 1;
    assert_int_equal(w.children_ended, ended);
    assert_int_equal(r_stats(&w).restarts, instance - 1);
    r_end(&w);
}

static void fail_as_kinds(void **unused)
{
    f_fail(AXO_FAILURE_ORDINARY, AXO_RESTART, 1, 2);
    f_fail(AXO_FAILURE_FATAL, AXO_RESTART, 1, 2);
    f_fail(AXO_FAILURE_ENDED, AXO_RESUME, 0, 1);
    f_fail(AXO_FAILURE_KILLED, AXO_STOP, 1, 1);
}

static void fail_as_breaks(void **unused)
{
    static const uint32_t kinds[] = {AXO_FAILURE_CRASH, AXO_FAILURE_STUCK, AXO_FAILURE_INIT,
                                     AXO_FAILURE_POST_RESTART};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        f_fail(kinds[i], AXO_RESTART, 0, 2);
        f_fail(kinds[i], AXO_RESUME, 0, 2);
        f_fail(kinds[i], AXO_STOP, 0, 1);
    }
}

static axo_status f_misuse(axo_ctx *ctx, void *state, const axo_message *message)
{
    r_world *w = *(r_world **)state;
    w->status[0] = axo_fail_as(ctx, AXO_FAILURE_NONE, 1, "x");
    w->status[1] = axo_fail_as(ctx, (axo_failure_kind)4, 1, "x");
    w->status[2] = axo_fail_as(ctx, (axo_failure_kind)12, 1, "x");
    w->status[3] = axo_fail_as(NULL, AXO_FAILURE_CRASH, 1, "x");
    w->status[4] = axo_fail_as(ctx, AXO_FAILURE_CRASH, 1, "x");
    return AXO_OK; /* so it has not failed */
}

static void fail_as_misused(void **unused)
{
    static const axo_class cls = AXO_CLASS(.state_size = sizeof(r_world *),
                                           .construct = r_construct, .receive = f_misuse,
                                           .post_stop = f_post_stop);
    r_world w;
    axo_ref ref;
    r_start(&w, NULL);
    axo_props props = AXO_PROPS(.cls = &cls, .args = &w);
    assert_int_equal(axo_system_spawn(w.system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(w.system, ref, 1, NULL, 0), AXO_OK);
    r_run(&w);
    for (int i = 0; i < 3; i++)
        assert_int_equal(w.status[i], AXO_EINVAL);
    assert_int_equal(w.status[3], AXO_ECONTEXT);
    assert_int_equal(w.status[4], AXO_EFAILED);
    assert_int_equal(r_stats(&w).failures, 0);
    r_end(&w);
    assert_int_equal(w.post_stops, 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_as_kinds),
        cmocka_unit_test(fail_as_breaks),
        cmocka_unit_test(fail_as_misused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
