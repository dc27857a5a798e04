/* later_test.c - AXO_LATER and axo_decide_again: a decider that has to ask elsewhere first. */
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { L_FAIL = 1, L_NUMBER, L_AGAIN, L_FAIL_SELF };

typedef struct l_world {
    axo_system *system;
    axo_ref parent, one, two;
    axo_directive answer;      /* of the parent's decider, behind `asked` LATERs */
    uint32_t laters;
    uint32_t asked;            /* how often the decider was */
    bool keeps;                /* the parent's pre_restart keeps its children */
    bool other_too;            /* the decider asks again about the other child */
    axo_status again;          /* what axo_decide_again said last */
    uint32_t numbers, constructs, pre_restarts, ends;
    uint32_t shown;            /* the tag of the message that pre_restart was shown */
    int32_t code;              /* that the decider was told */
} l_world;

static axo_status l_construct(axo_ctx *ctx, void *state, const void *args)
{
    l_world *w = (l_world *)(uintptr_t)args;
    (void)ctx;
    *(l_world **)state = w;
    w->constructs++;
    return AXO_OK;
}

static axo_status l_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    l_world *w = *(l_world **)state;
    if (message->tag == L_FAIL)
        return axo_fail(ctx, 7, "as told");
    w->numbers++;
    return AXO_OK;
}

static axo_status l_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                const axo_message *message)
{
    l_world *w = *(l_world **)state;
    w->pre_restarts++;
    w->shown = message != NULL ? message->tag : 0;
    return axo_default_pre_restart(ctx, state, failure, message);
}

static const axo_class l_child =
    AXO_CLASS(.name = "child", .state_size = sizeof(l_world *), .construct = l_construct,
              .receive = l_receive, .pre_restart = l_pre_restart);

static axo_directive l_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    l_world *w = user;
    (void)state;
    w->asked++;
    w->code = failure->code;
    axo_ref other = axo_ref_equal(failure->reporter, w->one) ? w->two : w->one;
    if (w->other_too)
        w->again = axo_decide_again(ctx, other);
    if (w->laters == 0)
        return w->answer;
    w->laters--;
    return AXO_LATER;
}

static axo_status l_parent_start(axo_ctx *ctx, void *state)
{
    l_world *w = *(l_world **)state;
    axo_props props = AXO_PROPS(.cls = &l_child, .args = w);
    axo_status status = axo_spawn(ctx, &props, &w->one);
    if (status == AXO_OK)
        status = axo_spawn(ctx, &props, &w->two);
    if (status == AXO_OK)
        status = axo_watch(ctx, w->one);
    return status;
}

static axo_status l_parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    l_world *w = *(l_world **)state;
    if (message->tag == L_FAIL_SELF)
        return axo_fail(ctx, 8, "the parent");
    if (message->tag == L_AGAIN)
        w->again = axo_decide_again(ctx, *AXO_PAYLOAD(message, axo_ref));
    if (message->tag == AXO_TERMINATED)
        w->ends++;
    return AXO_OK;
}

static axo_status l_parent_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                       const axo_message *message)
{
    if ((*(l_world **)state)->keeps)
        return AXO_OK;
    return axo_default_pre_restart(ctx, state, failure, message);
}

/* One that has kept its children has nobody to spawn. */
static axo_status l_parent_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    if ((*(l_world **)state)->keeps)
        return AXO_OK;
    return axo_default_post_restart(ctx, state, failure);
}

static const axo_class l_parent =
    AXO_CLASS(.name = "parent", .state_size = sizeof(l_world *), .construct = l_construct,
              .pre_start = l_parent_start, .receive = l_parent_receive,
              .pre_restart = l_parent_pre_restart, .post_restart = l_parent_post_restart);

static void l_run(l_world *w)
{
    for (int i = 0; i < 100; i++)
        assert_int_equal(axo_run_host(w->system, -1, NULL), AXO_OK);
}

static void l_start_with(l_world *w, const axo_strategy *strategy)
{
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    assert_int_equal(axo_system_start(&options, &w->system), AXO_OK);
    axo_props props = AXO_PROPS(.cls = &l_parent, .args = w, .strategy = strategy);
    assert_int_equal(axo_system_spawn(w->system, &props, &w->parent), AXO_OK);
    l_run(w);
    w->constructs = 0;
}

static void l_end(l_world *w)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stop(w->system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(w->system, &stats), AXO_OK);
    assert_int_equal(stats.sent, stats.handled + stats.dead);
    assert_int_equal(axo_system_destroy(w->system), AXO_OK);
}

static void l_send(l_world *w, axo_ref to, uint32_t tag)
{
    assert_int_equal(axo_system_send(w->system, to, tag, NULL, 0), AXO_OK);
    l_run(w);
}

static axo_status l_again(l_world *w, axo_ref child)
{
    w->again = AXO_ESYSTEM;
    assert_int_equal(axo_system_send(w->system, w->parent, L_AGAIN, &child, sizeof child), AXO_OK);
    l_run(w);
    return w->again;
}

/* A child that has failed, and about which its parent has said AXO_LATER once. */
#define L_BEGIN(w, ...)                                                                            \
    l_world w = {.laters = 1};                                                                     \
    const axo_strategy strategy = AXO_STRATEGY(.decider = l_decide, .user = &w, __VA_ARGS__);      \
    l_start_with(&w, &strategy);                                                                   \
    l_send(&w, w.one, L_FAIL);                                                                     \
    assert_int_equal(w.asked, 1);                                                                  \
    l_send(&w, w.one, L_NUMBER);                                                                   \
    assert_int_equal(w.numbers, 0) /* it is suspended */

static void resumed_later(void **unused)
{
    L_BEGIN(w, .scope = AXO_ONE_FOR_ONE);
    w.answer = AXO_RESUME;
    assert_int_equal(l_again(&w, w.one), AXO_OK);
    assert_int_equal(w.asked, 2);
    assert_int_equal(w.code, 7);
    assert_int_equal(w.numbers, 1);
    assert_int_equal(w.constructs + w.pre_restarts, 0);
    assert_int_equal(l_again(&w, w.one), AXO_EINVAL);
    l_end(&w);
}

/* What has been put off costs no budget. */
static void restarted_later(void **unused)
{
    L_BEGIN(w, .limited = 1, .retries_max = 1, .within_ns = -1);
    w.laters = 1;
    w.answer = AXO_RESTART;
    assert_int_equal(l_again(&w, w.one), AXO_OK);
    assert_int_equal(w.numbers + w.pre_restarts, 0); /* put off once more */
    assert_int_equal(l_again(&w, w.one), AXO_OK);
    assert_int_equal(w.asked, 3);
    assert_int_equal(w.pre_restarts, 1);
    assert_int_equal(w.shown, L_FAIL);
    assert_int_equal(w.constructs, 1);
    assert_int_equal(w.numbers, 1);
    l_send(&w, w.one, L_FAIL); /* the second one is one too many */
    assert_int_equal(w.ends, 1);
    l_end(&w);
}

static void stopped_later(void **unused)
{
    L_BEGIN(w, .scope = AXO_ALL_FOR_ONE);
    w.answer = AXO_STOP;
    assert_int_equal(l_again(&w, w.one), AXO_OK);
    assert_int_equal(w.ends, 1);
    assert_int_equal(axo_system_send(w.system, w.two, L_NUMBER, NULL, 0), AXO_EGONE);
    assert_int_equal(l_again(&w, w.one), AXO_EGONE);
    l_end(&w);
}

static void escalated_later(void **unused)
{
    L_BEGIN(w, .scope = AXO_ONE_FOR_ONE);
    w.answer = AXO_ESCALATE;
    assert_int_equal(l_again(&w, w.one), AXO_OK);
    assert_int_equal(w.constructs, 3); /* /user restarts the parent, with two new children */
    assert_int_equal(axo_system_send(w.system, w.one, L_NUMBER, NULL, 0), AXO_OK);
    l_end(&w);
}

/* Anybody may stop it meanwhile, and it ends with its parent. */
static void ended_meanwhile(void **unused)
{
    L_BEGIN(w, .scope = AXO_ONE_FOR_ONE);
    axo_ref old = w.one;
    assert_int_equal(axo_system_stop_actor(w.system, w.one), AXO_OK);
    l_run(&w);
    assert_int_equal(w.ends, 1);
    assert_int_equal(l_again(&w, old), AXO_EGONE);
    w.laters = 1;
    l_send(&w, w.two, L_FAIL);
    assert_int_equal(w.asked, 2);
    l_end(&w);
}

/* The parent fails, too, and keeps the child: its next instance may ask. */
static void asked_by_the_next_instance(void **unused)
{
    L_BEGIN(w, .scope = AXO_ONE_FOR_ONE);
    w.keeps = true;
    w.answer = AXO_RESTART;
    l_send(&w, w.parent, L_FAIL_SELF);
    assert_int_equal(w.asked, 1);
    assert_int_equal(w.numbers, 0);
    assert_int_equal(l_again(&w, w.one), AXO_OK);
    assert_int_equal(w.asked, 2);
    assert_int_equal(w.numbers, 1);
    l_end(&w);
}

/* In a decider: about the other one, and it is decided behind the one in hand. */
static void asked_in_a_decider(void **unused)
{
    L_BEGIN(w, .scope = AXO_ONE_FOR_ONE);
    w.answer = AXO_RESUME;
    w.other_too = true;
    l_send(&w, w.two, L_FAIL);
    assert_int_equal(w.asked, 3);
    assert_int_equal(w.again, AXO_EINVAL); /* the other one's was in hand */
    assert_int_equal(w.numbers, 1);
    l_end(&w);
}

static void refused(void **unused)
{
    l_world w = {.laters = 0};
    const axo_strategy strategy = AXO_STRATEGY(.decider = l_decide, .user = &w);
    l_start_with(&w, &strategy);
    assert_int_equal(l_again(&w, w.one), AXO_EINVAL);
    assert_int_equal(l_again(&w, w.parent), AXO_EINVAL);
    assert_int_equal(l_again(&w, axo_ref_none()), AXO_EINVAL);
    assert_int_equal(axo_decide_again(NULL, w.one), AXO_ECONTEXT);
    assert_string_equal(axo_directive_name(AXO_LATER), "later");
    l_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed_later),     cmocka_unit_test(restarted_later),
        cmocka_unit_test(stopped_later),     cmocka_unit_test(escalated_later),
        cmocka_unit_test(ended_meanwhile),   cmocka_unit_test(asked_by_the_next_instance),
        cmocka_unit_test(asked_in_a_decider), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
