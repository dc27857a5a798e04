/* router_memory_test.c - routers when memory is short: every allocation fails once; whatever then
 * happens is told, nothing is lost (the kit counts), and afterwards the router works. */
#include "support/router_world.h"

enum { NTH_MAX = 400 };

/* Changes of all kinds, with the n-th allocation failing. */
static void each_allocation_fails_once(void **state)
{
    static const axo_router_logic logics[] = {AXO_ROUTE_ROUND_ROBIN, AXO_ROUTE_HASH,
                                              AXO_ROUTE_BROADCAST};
    static const axo_strategy stops = AXO_STRATEGY(.decider = axo_decide_stop);
    for (uint64_t nth = 0; nth < NTH_MAX; nth++) {
        world w;
        axo_props child;
        int32_t more = 5;
        int32_t fewer = -4;
        world_start(&w, &(axo_options)AXO_OPTIONS(.user_strategy = &stops));
        w.settings.logic = logics[nth % 3];
        w.settings.hash_key = nth % 3 == 1 ? world_key : NULL;
        world_pool(&w, &child, &(world *){&w}, 5);
        axo_testkit_fail_memory(w.kit, nth / 3, 1);
        parcel key = {nth};
        (void)axo_probe_send(w.probe, w.router, AXO_ROUTER_ADJUST, &more, sizeof more);
        (void)axo_probe_send(w.probe, w.router, TELL, &key, sizeof key);
        (void)axo_testkit_run(w.kit);
        (void)axo_probe_send(w.probe, w.router, AXO_ROUTER_ADJUST, &fewer, sizeof fewer);
        (void)axo_testkit_advance(w.kit, 200 * MS);
        axo_testkit_fail_memory(w.kit, 0, 0);
        uint32_t left = world_list(&w);
        assert_in_range(left, 1, 10);
        w.told = 0;
        assert_int_equal(axo_system_router_broadcast(w.system, w.router, TELL, &key, sizeof key),
                         AXO_OK);
        (void)axo_testkit_run(w.kit);
        assert_int_equal(w.told, left); /* who is a routee lives, and only those */
        world_stop(&w);
    }
}

/* A restart needs no memory: without it the router lists its routees when there is some. */
static void a_restart_without_memory(void **state)
{
    static const axo_strategy restarts = AXO_STRATEGY(.decider = axo_decide_restart);
    world w;
    axo_props child;
    world_start(&w, &(axo_options)AXO_OPTIONS(.user_strategy = &restarts));
    world_pool(&w, &child, &(world *){&w}, 40);
    axo_ref first = w.all[0];
    axo_stats stats = AXO_STATS(.sent = 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_probe_send(w.probe, i == 0 ? first : w.router, i == 0 ? FAIL : TELL,
                                        NULL, 0), AXO_OK);
    axo_testkit_fail_memory(w.kit, 0, UINT64_MAX);
    (void)axo_testkit_run(w.kit);
    axo_testkit_fail_memory(w.kit, 0, 0);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_true(stats.restarts >= 41); /* the router and all its routees */
    assert_int_equal(world_list(&w), 40);
    assert_true(axo_ref_equal(w.all[0], first));
    assert_true(world_index(&w, world_who(&w, 3)) < 40);
    world_stop(&w);
}

/* At the start: the router fails, and nothing is left of it. */
static void a_start_without_memory(void **state)
{
    uint32_t made = 0;
    for (uint64_t nth = 0; nth < 60; nth++) {
        world w;
        world *where = &w;
        axo_props props;
        axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
        world_start(&w, NULL);
        axo_props child = routee_props(&where);
        w.settings = (axo_router)AXO_ROUTER(.pool = 20, .child = &child, .logic = AXO_ROUTE_HASH,
                                            .hash_key = world_key);
        assert_int_equal(axo_router_props(&w.settings, "router", &props), AXO_OK);
        axo_testkit_fail_memory(w.kit, nth, 1);
        axo_status status = axo_system_spawn(w.system, &props, &w.router);
        (void)axo_testkit_run(w.kit);
        axo_testkit_fail_memory(w.kit, 0, 0);
        if (status == AXO_OK &&
            axo_system_inspect(w.system, w.router, axo_ref_none(), &info) == AXO_OK) {
            assert_int_equal(world_list(&w), 20);
            made++;
        } else {
            assert_int_equal(axo_system_find(w.system, "/user/router", &w.router), AXO_ENOENT);
        }
        world_stop(&w);
    }
    assert_in_range(made, 1, 59); /* both have been seen */
}

/* Memory ends at the n-th allocation: who asked many is told that nobody answers, once, or the
 * request is a dead letter. */
static void a_request_to_many_without_memory(void **state)
{
    uint32_t told = 0;
    for (uint64_t nth = 0; nth < 40; nth++) {
        world w;
        axo_props child;
        world_start(&w, NULL);
        w.settings.logic = AXO_ROUTE_GATHER_FIRST;
        w.settings.within_ns = 50 * MS;
        world_pool(&w, &child, &(world *){&w}, 3);
        assert_int_equal(axo_probe_send(w.probe, w.router, TELL, NULL, 0), AXO_OK);
        axo_testkit_fail_memory(w.kit, nth, UINT64_MAX);
        (void)axo_testkit_advance(w.kit, 60 * MS);
        axo_testkit_fail_memory(w.kit, 0, 0);
        if (axo_system_dead_letters(w.system, NULL, 0, NULL) == 0) {
            (void)world_expect(&w, AXO_ROUTER_NO_ANSWER, 0);
            told++;
        }
        assert_true(axo_probe_expect_none(w.probe, 100 * MS));
        world_stop(&w);
    }
    assert_true(told > 0);
}

typedef struct narrow {
    uint32_t notes;
    uint32_t heard;
} narrow;

static axo_status narrow_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    narrow *self = *(narrow *const *)state;
    self->notes += message->tag == TELL;
    self->heard += message->tag == AXO_ROUTER_NO_ANSWER;
    return AXO_OK;
}

static axo_status narrow_construct(axo_ctx *ctx, void *state, const void *args)
{
    memcpy(state, args, sizeof(narrow *));
    return AXO_OK;
}

/* Its mailbox is full when nobody has answered: it hears of it when there is room. */
static void who_asked_has_no_room(void **state)
{
    static const axo_class cls = AXO_CLASS(.state_size = sizeof(narrow *),
                                           .construct = narrow_construct,
                                           .receive = narrow_receive);
    static const axo_mailbox one = AXO_MAILBOX(.messages_max = 1);
    world w;
    axo_props child;
    narrow told = {.heard = 0};
    narrow *where = &told;
    axo_ref asker;
    world_start(&w, NULL);
    w.settings.logic = AXO_ROUTE_GATHER_FIRST;
    w.settings.within_ns = 50 * MS;
    world_pool(&w, &child, &(world *){&w}, 3);
    axo_props props = AXO_PROPS(.cls = &cls, .args = &where, .args_size = sizeof where,
                                .mailbox = &one);
    assert_int_equal(axo_system_spawn(w.system, &props, &asker), AXO_OK);
    assert_int_equal(axo_system_schedule_once(w.system, 50 * MS, asker, TELL, NULL, 0, NULL),
                     AXO_OK); /* in the tick of the deadline, and its turn is the later one */
    assert_int_equal(axo_system_send_from(w.system, asker, w.router, TELL, NULL, 0), AXO_OK);
    (void)axo_testkit_advance(w.kit, 51 * MS);
    assert_int_equal(told.notes, 1);
    assert_int_equal(told.heard, 0);
    (void)axo_testkit_advance(w.kit, 100 * MS);
    assert_int_equal(told.heard, 1);
    world_stop(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_allocation_fails_once),
    cmocka_unit_test(a_restart_without_memory),
    cmocka_unit_test(a_start_without_memory),
    cmocka_unit_test(a_request_to_many_without_memory),
    cmocka_unit_test(who_asked_has_no_room),
};
TEST_MAIN(tests)
