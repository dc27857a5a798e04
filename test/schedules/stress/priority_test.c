/* priority_test.c - a failure is decided at once, whatever is queued around it (DR-06). */
#include <pthread.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { LIGHTS = 10000, FAIL_AT = 2000 };

/* One worker runs everything: no field needs protection but the end. */
typedef struct crowd {
    axo_ref lights[LIGHTS];
    axo_ref child;
    uint32_t handled;
    uint32_t at_fail;
    uint32_t at_decide;
    uint32_t at_restart;
    uint32_t instances;
} crowd;

static axo_status light_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    crowd *all = *(crowd **)state;
    return ++all->handled == LIGHTS ? axo_system_shutdown(axo_system_of(ctx)) : AXO_OK;
}

static axo_status crowd_construct(axo_ctx *ctx, void *state, const void *args)
{
    *(crowd **)state = (crowd *)(uintptr_t)args;
    return AXO_OK;
}

static axo_status child_construct(axo_ctx *ctx, void *state, const void *args)
{
    crowd *all = (crowd *)(uintptr_t)args;
    if (++all->instances == 2)
        all->at_restart = all->handled;
    return crowd_construct(ctx, state, args);
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    crowd *all = *(crowd **)state;
    all->at_fail = all->handled;
    return axo_fail(ctx, 1, "once");
}

static axo_directive boss_decide(axo_ctx *ctx, void *state, const axo_failure *failure, void *user)
{
    crowd *all = user;
    all->at_decide = all->handled;
    return AXO_RESTART;
}

static axo_status boss_start(axo_ctx *ctx, void *state)
{
    static const axo_class child = AXO_CLASS(.state_size = sizeof(crowd *),
                                             .construct = child_construct,
                                             .receive = child_receive);
    crowd *all = *(crowd **)state;
    axo_props props = AXO_PROPS(.cls = &child, .args = all);
    return axo_spawn(ctx, &props, &all->child);
}

/* Makes every light ready, and the child somewhere among them. */
static axo_status boss_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    crowd *all = *(crowd **)state;
    for (int i = 0; i < LIGHTS; i++) {
        if (i == FAIL_AT && axo_send(ctx, all->child, 1, NULL, 0) != AXO_OK)
            return AXO_EINVAL;
        if (axo_send(ctx, all->lights[i], 1, NULL, 0) != AXO_OK)
            return AXO_EINVAL;
    }
    return AXO_OK;
}

static void a_failure_overtakes_ten_thousand(void **unused)
{
    static const axo_class light = AXO_CLASS(.state_size = sizeof(crowd *),
                                             .construct = crowd_construct,
                                             .receive = light_receive);
    static const axo_class boss = AXO_CLASS(.state_size = sizeof(crowd *),
                                            .construct = crowd_construct,
                                            .pre_start = boss_start, .receive = boss_receive);
    static crowd all;
    axo_strategy strategy = AXO_STRATEGY(.decider = boss_decide, .user = &all);
    axo_options options = AXO_OPTIONS(.manual = 1); /* no spare worker helps out */
    axo_props lights = AXO_PROPS(.cls = &light, .args = &all);
    axo_props props = AXO_PROPS(.cls = &boss, .args = &all, .strategy = &strategy);
    axo_system *system = NULL;
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (int i = 0; i < LIGHTS; i++)
        assert_int_equal(axo_system_spawn(system, &lights, &all.lights[i]), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_send(system, ref, 1, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(axo_system_wait(system, INT64_C(60000000000), NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(all.handled, LIGHTS);
    assert_int_equal(all.instances, 2);
    assert_true(all.at_fail < LIGHTS / 2); /* thousands were ready behind it */
    assert_int_equal(all.at_decide, all.at_fail);
    assert_int_equal(all.at_restart, all.at_fail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_failure_overtakes_ten_thousand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
