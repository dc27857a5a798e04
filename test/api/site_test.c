/* site_test.c - every place of axo_site is one where a failure is said to have happened: each name
 * in the header is seen by a decider or a hook, of an actor that fails in each of its callbacks.
 */
#include <stdio.h>

#include "api/service.h"

typedef enum site_way {
    WAY_NONE,
    WAY_CONSTRUCT,
    WAY_PRE_START,
    WAY_RECEIVE,
    WAY_DECIDER,
    WAY_PRE_RESTART,
    WAY_POST_RESTART,
    WAY_POST_STOP,
    WAY_SETTLE,
    WAY_MIGRATE,
    WAYS
} site_way;

static struct {
    site_way way;
    uint32_t failed; /* of the way's callbacks */
    uint32_t seen;   /* sites, a bit each */
} si;

static axo_status site_pass(axo_ctx *ctx, site_way here)
{
    if (si.way != here || si.failed > 0)
        return AXO_OK;
    si.failed++;
    return axo_fail(ctx, (int32_t)here, "in way %d", (int)here);
}

static axo_directive site_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    si.seen |= 1U << failure->site;
    (void)site_pass(ctx, WAY_DECIDER);
    return AXO_RESTART;
}

static axo_status site_construct(axo_ctx *ctx, void *state, const void *args)
{
    return site_pass(ctx, WAY_CONSTRUCT);
}

static axo_status site_pre_start(axo_ctx *ctx, void *state)
{
    return site_pass(ctx, WAY_PRE_START);
}

static axo_status site_pre_restart(axo_ctx *ctx, void *state, const axo_failure *failure,
                                   const axo_message *message)
{
    return site_pass(ctx, WAY_PRE_RESTART);
}

static axo_status site_post_restart(axo_ctx *ctx, void *state, const axo_failure *failure)
{
    si.seen |= 1U << failure->site;
    return site_pass(ctx, WAY_POST_RESTART);
}

static axo_status site_post_stop(axo_ctx *ctx, void *state)
{
    return site_pass(ctx, WAY_POST_STOP);
}

static axo_status site_settle(axo_ctx *ctx, void *state)
{
    return site_pass(ctx, WAY_SETTLE);
}

static axo_status site_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    if (message->tag == SV_QUIT)
        return axo_stop_self(ctx);
    if (si.way == WAY_RECEIVE)
        return site_pass(ctx, WAY_RECEIVE);
    if (si.way == WAY_SETTLE)
        return axo_want_settle(ctx);
    return axo_fail(ctx, 1, "so that the others are called");
}

static const axo_class site_class =
    AXO_CLASS(.construct = site_construct, .pre_start = site_pre_start, .receive = site_receive,
              .pre_restart = site_pre_restart, .post_restart = site_post_restart,
              .post_stop = site_post_stop, .settle = site_settle);
static const axo_strategy site_strategy = AXO_STRATEGY(.decider = site_decide);

static axo_status site_parent_start(axo_ctx *ctx, void *state)
{
    static const axo_props child = AXO_PROPS(.cls = &site_class, .name = "child");
    axo_ref ref;
    return axo_spawn(ctx, &child, &ref);
}

static axo_status site_migrate(axo_ctx *ctx, void *state, void *old, void *user)
{
    return site_pass(ctx, WAY_MIGRATE);
}

/* The child gets another class. */
static void site_replace(axo_testkit *kit, axo_system *system)
{
    static const axo_class other_class =
        AXO_CLASS(.name = "other", .construct = site_construct, .pre_start = site_pre_start,
                  .receive = site_receive, .pre_restart = site_pre_restart,
                  .post_restart = site_post_restart, .post_stop = site_post_stop);
    const axo_replacement what =
        AXO_REPLACEMENT(.from = &site_class, .to = &other_class, .migrate = site_migrate);
    axo_status status;
    while ((status = axo_class_replace(system, &what, 0)) == AXO_ETIMEDOUT)
        (void)axo_testkit_run(kit);
    assert_int_equal(status, AXO_OK);
    (void)axo_testkit_run(kit);
}

static void site_run(site_way way)
{
    static const axo_class parent_class =
        AXO_CLASS(.pre_start = site_parent_start, .receive = site_receive);
    axo_options options = AXO_OPTIONS(.user_strategy = &site_strategy);
    axo_props props = AXO_PROPS(.cls = &parent_class, .name = "parent", .strategy = &site_strategy);
    axo_testkit *kit;
    axo_ref ref;
    si.way = way;
    si.failed = 0;
    assert_int_equal(axo_testkit_start(&options, &kit), AXO_OK);
    axo_system *system = axo_testkit_system(kit);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    (void)axo_testkit_run(kit);
    if (way == WAY_MIGRATE)
        site_replace(kit, system);
    for (uint32_t tag = SV_NOTE; tag <= SV_QUIT; tag += SV_QUIT - SV_NOTE) {
        assert_int_equal(axo_system_find(system, "/user/parent/child", &ref), AXO_OK);
        assert_int_equal(axo_system_send(system, ref, tag, NULL, 0), AXO_OK);
        (void)axo_testkit_run(kit);
    }
    assert_int_equal(si.failed, way != WAY_NONE);
    assert_int_equal(axo_testkit_stop(kit), AXO_OK);
}

/* The others are the library's own affair. */
static void each_place_is_seen(void **state)
{
    char line[256];
    uint32_t names = 0;
    for (uint32_t way = 0; way < WAYS; way++)
        site_run((site_way)way);
    FILE *header = fopen("include/axo/supervision.h", "r");
    assert_non_null(header);
    while (fgets(line, sizeof line, header) != NULL) {
        char name[64];
        uint32_t value;
        if (sscanf(line, " AXO_SITE_%63[A-Z_] = %u", name, &value) != 2 || value == 0)
            continue;
        names++;
        if ((si.seen & 1U << value) == 0)
            fail_msg("no failure happens at AXO_SITE_%s", name);
    }
    (void)fclose(header);
    assert_true(names >= 6);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_place_is_seen),
};
TEST_MAIN(tests)
