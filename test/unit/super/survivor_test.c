/* survivor_test.c - a survivor that ends while its parent waits for a decision: the children of
 * earlier instances are still told from those of the failed one. */
#include "unit/unit.h"

#include <axo/axo.h>

enum { CHILDREN = 3, MAKE = 1, FAIL, MS = 1000000 };

static struct {
    axo_system *system;
    int64_t now;
    axo_ref parent;
    axo_ref child[CHILDREN];
    uint32_t post_restarts;
    uint32_t restarted; /* children */
    uint32_t stopped;
} w;

static int64_t survivor_clock(void *user)
{
    return w.now;
}

static axo_status survivor_keep(axo_ctx *ctx, void *state, const axo_failure *failure,
                                const axo_message *message)
{
    return AXO_OK;
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static axo_status child_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    w.restarted++;
    return AXO_OK;
}

static axo_status child_post_stop(axo_ctx *ctx, void *state)
{
    w.stopped++;
    return AXO_OK;
}

static const axo_class child_class =
    AXO_CLASS(.name = "child", .receive = child_receive, .pre_restart = survivor_keep,
              .post_restart = child_post_restart, .post_stop = child_post_stop);

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &child_class);
    if (message->tag == FAIL)
        return axo_fail(ctx, 1, "as it was told");
    for (uint32_t i = 0; i < CHILDREN; i++)
        assert_int_equal(axo_spawn(ctx, &props, &w.child[i]), AXO_OK);
    return AXO_OK;
}

static axo_status parent_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    return ++w.post_restarts == 1 ? axo_fail(ctx, 2, "the first time") : AXO_OK;
}

static const axo_class parent_class =
    AXO_CLASS(.name = "parent", .receive = parent_receive, .pre_restart = survivor_keep,
              .post_restart = parent_post_restart);

static axo_status above_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &parent_class);
    assert_int_equal(axo_spawn(ctx, &props, &w.parent), AXO_OK);
    return AXO_OK;
}

static const axo_class above_class = AXO_CLASS(.name = "above", .receive = above_receive);

static void survivor_run(int64_t ns)
{
    w.now += ns;
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
}

/* HF-05, and the child that stood first among the survivors is gone when the second attempt
 * begins. */
static void the_youngest_survivor_ends(void **state)
{
    static const axo_backoff backoff = AXO_BACKOFF(.min_ns = 10 * MS, .max_ns = 10 * MS);
    axo_strategy slowly = AXO_STRATEGY(.decider = axo_decide_restart, .backoff = &backoff);
    axo_options options = AXO_OPTIONS(.manual = 1, .clock = survivor_clock);
    axo_props props = AXO_PROPS(.cls = &above_class, .strategy = &slowly);
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_ref above;
    memset(&w, 0, sizeof w);
    assert_int_equal(axo_system_start(&options, &w.system), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &props, &above), AXO_OK);
    assert_int_equal(axo_system_send(w.system, above, MAKE, NULL, 0), AXO_OK);
    survivor_run(0);
    assert_int_equal(axo_system_send(w.system, w.parent, MAKE, NULL, 0), AXO_OK);
    assert_int_equal(axo_system_send(w.system, w.parent, FAIL, NULL, 0), AXO_OK);
    survivor_run(0);
    survivor_run(20 * MS);
    assert_int_equal(w.post_restarts, 1); /* in vain; the next attempt waits */
    assert_int_equal(w.restarted, 0);
    assert_int_equal(axo_system_stop_actor(w.system, w.child[CHILDREN - 1]), AXO_OK);
    survivor_run(0);
    assert_int_equal(w.stopped, 1);
    survivor_run(40 * MS);
    assert_int_equal(w.post_restarts, 2);
    assert_int_equal(w.restarted, CHILDREN - 1);
    assert_int_equal(w.stopped, 1);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_int_equal(stats.actors, 3 + 2 + CHILDREN - 1);
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_youngest_survivor_ends),
};
TEST_MAIN(tests)
