/* sender_test.c - whoever is shown a failure by a bare status is shown the sender of the message,
 * wherever the decision was made: the sender goes into the reserve of texts only for those. */
#include "unit/unit.h"

#include <axo/axo.h>

enum { MAKE = 1, FAIL, TELL };

static struct {
    axo_system *system;
    const axo_class *cls;     /* the failing child's */
    const axo_class *sibling; /* NULL: there is none */
    axo_ref parent;
    axo_ref child;
    axo_ref probe;
    uint32_t shown;
} w;

static axo_status sender_look(const axo_failure *failure)
{
    assert_int_equal(failure->has_message, 1);
    assert_int_equal(failure->tag, FAIL);
    assert_int_equal(failure->code, AXO_EINVAL);
    assert_true(axo_ref_equal(failure->sender, w.probe));
    assert_string_equal(failure->text, "");
    w.shown++;
    return AXO_OK;
}

static axo_status sender_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                     const axo_message *message)
{
    return sender_look(failure);
}

static axo_status sender_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    return sender_look(failure);
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == FAIL ? AXO_EINVAL : AXO_OK;
}

static const axo_class plain_class = AXO_CLASS(.name = "plain", .receive = child_receive);
static const axo_class before_class =
    AXO_CLASS(.name = "before", .receive = child_receive, .pre_restart = sender_pre_restart);
static const axo_class after_class =
    AXO_CLASS(.name = "after", .receive = child_receive, .post_restart = sender_post_restart);

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = w.cls);
    axo_props sibling = AXO_PROPS(.cls = w.sibling);
    axo_ref ref;
    if (w.sibling != NULL)
        assert_int_equal(axo_spawn(ctx, &sibling, &ref), AXO_OK);
    assert_int_equal(axo_spawn(ctx, &props, &w.child), AXO_OK);
    return AXO_OK;
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);
static const axo_class after_parent_class =
    AXO_CLASS(.name = "parent", .receive = parent_receive, .post_restart = sender_post_restart);

static axo_status probe_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_send(ctx, w.child, FAIL, NULL, 0);
}

static const axo_class probe_class = AXO_CLASS(.name = "probe", .receive = probe_receive);

static axo_directive sender_decider(axo_ctx *ctx, void *state, const axo_failure *failure,
                                    void *user)
{
    (void)sender_look(failure);
    return AXO_RESTART;
}

/* How often the failure was shown. */
static uint32_t sender_run(const axo_class *parent, const axo_class *cls, const axo_class *sibling,
                           const axo_strategy *strategy)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    axo_props above = AXO_PROPS(.cls = parent, .strategy = strategy);
    axo_props probe = AXO_PROPS(.cls = &probe_class);
    axo_stats stats = AXO_STATS(.sent = 0);
    memset(&w, 0, sizeof w);
    w.cls = cls;
    w.sibling = sibling;
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &above, &w.parent), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &probe, &w.probe), AXO_OK);
    assert_int_equal(axo_system_send(w.system, w.parent, MAKE, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_send(w.system, w.probe, TELL, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_true(stats.failures >= 1 && stats.restarts >= 1);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
    return w.shown;
}

static void its_own_hooks(void **state)
{
    assert_int_equal(sender_run(&parent_class, &plain_class, NULL, NULL), 0);
    assert_int_equal(sender_run(&parent_class, &before_class, NULL, NULL), 1);
    assert_int_equal(sender_run(&parent_class, &after_class, NULL, NULL), 1);
}

static void a_siblings_hook(void **state)
{
    static const axo_strategy all = AXO_STRATEGY(.scope = AXO_ALL_FOR_ONE);
    assert_int_equal(sender_run(&parent_class, &plain_class, &after_class, NULL), 0);
    assert_int_equal(sender_run(&parent_class, &plain_class, &after_class, &all), 1);
    assert_int_equal(sender_run(&parent_class, &after_class, &before_class, &all), 2);
}

static void a_decider(void **state)
{
    static const axo_strategy asks = AXO_STRATEGY(.decider = sender_decider);
    assert_int_equal(sender_run(&parent_class, &plain_class, NULL, &asks), 1);
    assert_int_equal(sender_run(&parent_class, &after_class, NULL, &asks), 2);
}

static void a_parent_that_fails_for_it(void **state)
{
    static const axo_strategy passes = AXO_STRATEGY(.decider = axo_decide_escalate);
    assert_int_equal(sender_run(&after_parent_class, &plain_class, NULL, &passes), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(its_own_hooks),
    cmocka_unit_test(a_siblings_hook),
    cmocka_unit_test(a_decider),
    cmocka_unit_test(a_parent_that_fails_for_it),
};
TEST_MAIN(tests)
