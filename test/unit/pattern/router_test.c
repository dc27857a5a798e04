/* router_test.c - routers on the test kit's clock: the logics, answers, what is refused. */
#include "support/router_world.h"
#include "support/limits.h"

/* ---- logics ---- */

/* When one goes, the turn stays with whose it was. */
static void turns_go_on(void **state)
{
    world w;
    axo_props child;
    world_start(&w, NULL);
    world_pool(&w, &child, &(world *){&w}, 4);
    assert_int_equal(world_index(&w, world_who(&w, 0)), 0);
    assert_int_equal(world_index(&w, world_who(&w, 1)), 1);
    assert_int_equal(axo_system_stop_actor(w.system, w.all[0]), AXO_OK);
    (void)axo_testkit_run(w.kit);
    assert_int_equal(world_index(&w, world_who(&w, 2)), 2);
    assert_int_equal(axo_system_stop_actor(w.system, w.all[3]), AXO_OK);
    (void)axo_testkit_run(w.kit);
    assert_int_equal(world_index(&w, world_who(&w, 3)), 1);
    assert_int_equal(world_index(&w, world_who(&w, 4)), 2);
    world_stop(&w);
}

/* Chance is the reference's: the same run gives the same choices, and every routee gets some. */
static void random_is_replayed(void **state)
{
    enum { ROUTEES = 5, MESSAGES = 500 };
    uint32_t chosen[2][MESSAGES];
    uint32_t share[ROUTEES] = {0};
    for (uint32_t run = 0; run < 2; run++) {
        world w;
        axo_props child;
        world_start(&w, NULL);
        w.settings.logic = AXO_ROUTE_RANDOM;
        world_pool(&w, &child, &(world *){&w}, ROUTEES);
        for (uint32_t i = 0; i < MESSAGES; i++)
            chosen[run][i] = world_index(&w, world_who(&w, i));
        world_stop(&w);
    }
    assert_memory_equal(chosen[0], chosen[1], sizeof chosen[0]);
    for (uint32_t i = 0; i < MESSAGES; i++)
        share[chosen[0][i]]++;
    for (uint32_t i = 0; i < ROUTEES; i++)
        assert_in_range(share[i], MESSAGES / ROUTEES / 2, MESSAGES / ROUTEES * 3 / 2);
}

/* A key stays with its routee while others come and go. */
static void hash_keeps_keys(void **state)
{
    enum { KEYS = 400, ROUTEES = 8 };
    static axo_ref owner[KEYS];
    world w;
    axo_ref refs[ROUTEES + 1];
    uint32_t moved = 0;
    world_start(&w, NULL);
    w.settings.logic = AXO_ROUTE_HASH;
    w.settings.hash_key = world_key;
    world_group(&w, &(world *){&w}, refs, ROUTEES);
    for (uint32_t key = 0; key < KEYS; key++)
        owner[key] = world_who(&w, key);
    axo_props props = routee_props(&(world *){&w});
    assert_int_equal(axo_system_spawn(w.system, &props, &refs[ROUTEES]), AXO_OK);
    world_send(&w, w.router, AXO_ROUTER_ADD, &refs[ROUTEES], sizeof(axo_ref));
    for (uint32_t key = 0; key < KEYS; key++) {
        axo_ref now = world_who(&w, key);
        bool to_new = axo_ref_equal(now, refs[ROUTEES]);
        moved += to_new;
        assert_true(to_new || axo_ref_equal(now, owner[key]));
    }
    assert_in_range(moved, KEYS / (ROUTEES + 1) / 2, KEYS / (ROUTEES + 1) * 2);
    assert_int_equal(axo_system_stop_actor(w.system, refs[ROUTEES]), AXO_OK);
    (void)axo_testkit_run(w.kit);
    for (uint32_t key = 0; key < KEYS; key++)
        assert_true(axo_ref_equal(world_who(&w, key), owner[key]));
    world_stop(&w);
}

/* Equal ones get their turns; one with messages does not. */
static void smallest_spreads(void **state)
{
    enum { ROUTEES = 4 };
    world w;
    axo_props child;
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    skip_with_tiny_limits();
    world_start(&w, NULL);
    w.settings.logic = AXO_ROUTE_SMALLEST;
    world_pool(&w, &child, &(world *){&w}, ROUTEES);
    for (uint32_t i = 0; i < 3 * ROUTEES; i++)
        assert_int_equal(axo_probe_send(w.probe, w.router, TELL, NULL, 0), AXO_OK);
    uint64_t turns = axo_testkit_step(w.kit, 1); /* the probe sends */
    for (; turns < 4; turns++) {
        assert_int_equal(axo_system_inspect(w.system, w.router, axo_ref_none(), &info), AXO_OK);
        if (info.queued == 0)
            break;
        (void)axo_testkit_step(w.kit, 1);
    }
    for (uint32_t i = 0; i < ROUTEES; i++) {
        assert_int_equal(axo_system_inspect(w.system, w.all[i], axo_ref_none(), &info), AXO_OK);
        assert_int_equal(info.counted, AXO_COUNTED_ALL);
        assert_int_equal(info.queued, 3);
    }
    (void)axo_testkit_run(w.kit);
    assert_int_equal(w.told, 3 * ROUTEES);
    world_stop(&w);
}

static void broadcast_reaches_all(void **state)
{
    world w;
    axo_props child;
    world_start(&w, NULL);
    w.settings.logic = AXO_ROUTE_BROADCAST;
    world_pool(&w, &child, &(world *){&w}, 5);
    parcel sent = {77};
    assert_int_equal(axo_probe_send(w.probe, w.router, ASK, &sent, sizeof sent), AXO_OK);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 5; i++) {
        const axo_message *answer = world_expect(&w, ANSWER, 0);
        assert_int_equal(AXO_PAYLOAD(answer, parcel)->key, 77);
        seen |= 1U << world_index(&w, answer->sender);
    }
    assert_int_equal(seen, 0x1f);
    assert_true(axo_probe_expect_none(w.probe, MS));
    world_stop(&w);
}

/* ---- the first answer ---- */

static void first_answer_wins(void **state)
{
    world w;
    axo_props child;
    axo_dead_record dead[8];
    uint64_t total;
    world_start(&w, NULL);
    w.settings.logic = AXO_ROUTE_GATHER_FIRST;
    w.settings.within_ns = 50 * MS;
    world_pool(&w, &child, &(world *){&w}, 3);
    axo_ref first = world_who(&w, 5);
    assert_true(world_index(&w, first) < 3);
    assert_true(axo_probe_expect_none(w.probe, 100 * MS)); /* no second one, no verdict */
    assert_int_equal(axo_system_dead_letters(w.system, dead, 8, &total), 2);
    assert_int_equal(dead[0].tag, ANSWER);
    assert_int_equal(dead[1].tag, ANSWER);
    world_stop(&w);
}

static void no_answer_in_time(void **state)
{
    world w;
    axo_props child;
    world_start(&w, NULL);
    w.settings.logic = AXO_ROUTE_GATHER_FIRST;
    w.settings.within_ns = 50 * MS;
    world_pool(&w, &child, &(world *){&w}, 3);
    assert_int_equal(axo_probe_send(w.probe, w.router, TELL, NULL, 0), AXO_OK);
    assert_true(axo_probe_expect_none(w.probe, 49 * MS));
    const axo_message *message = world_expect(&w, AXO_ROUTER_NO_ANSWER, 2 * MS);
    const axo_router_no_answer *verdict = AXO_PAYLOAD(message, axo_router_no_answer);
    assert_true(axo_ref_equal(message->sender, w.router));
    assert_int_equal(verdict->tag, TELL);
    assert_int_equal(verdict->asked, 3);
    assert_in_range(verdict->waited_ns, 50 * MS, 51 * MS);
    assert_int_equal(w.told, 3);
    assert_int_equal(axo_system_send(w.system, w.router, TELL, NULL, 0), AXO_OK); /* nobody asks */
    (void)axo_testkit_advance(w.kit, 100 * MS);
    assert_int_equal(w.told, 6);
    assert_int_equal(axo_system_dead_letters(w.system, NULL, 0, NULL), 0);
    world_stop(&w);
}

/* ---- bad messages ---- */

static void bad_messages_are_unhandled(void **state)
{
    static const uint32_t tags[] = {AXO_ROUTER_ADD, AXO_ROUTER_REMOVE, AXO_ROUTER_ADJUST,
                                    AXO_ROUTER_BROADCAST, AXO_ROUTER_GET_ROUTEES};
    static const axo_router_wrapped wraps[] = {
        {.tag = TELL, .size = 8}, {.tag = AXO_TERMINATED}, {.tag = AXO_TIMER_POISON, .size = 1}};
    axo_stats stats = AXO_STATS(.sent = 0);
    int32_t one = 1;
    for (uint32_t pool = 0; pool < 2; pool++) {
        world w;
        axo_props child;
        axo_ref refs[2];
        axo_ref none = axo_ref_none();
        (void)state;
        world_start(&w, NULL);
        if (pool)
            world_pool(&w, &child, &(world *){&w}, 2);
        else
            world_group(&w, &(world *){&w}, refs, 2);
        for (uint32_t i = 0; i < 5; i++)
            world_send(&w, w.router, tags[i], "xyz", 3);
        for (uint32_t i = 0; i < 3; i++)
            world_send(&w, w.router, AXO_ROUTER_BROADCAST, &wraps[i], sizeof wraps[i]);
        if (pool)
            world_send(&w, w.router, AXO_ROUTER_ADD, &w.all[0], sizeof(axo_ref));
        else
            world_send(&w, w.router, AXO_ROUTER_ADJUST, &one, sizeof one);
        world_send(&w, w.router, AXO_ROUTER_ADD, &none, sizeof none);
        world_send(&w, w.router, AXO_ROUTER_ADD + 0x0d, NULL, 0); /* the resizer's own tick */
        assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
        assert_int_equal(stats.unhandled, 11);
        assert_int_equal(world_list(&w), 2);
        assert_int_equal(w.told, 0);
        world_stop(&w);
    }
}

/* ---- bad calls ---- */

static axo_status outside(axo_router *settings)
{
    axo_props props = {.size = 1};
    axo_status status = axo_router_props(settings, "r", &props);
    if (status != AXO_OK)
        assert_true(props.size == 1 && props.cls == NULL && props.args == NULL);
    return status;
}

/* One field of a good struct set to a bad value. */
#define BAD(field, value, want)                                                                    \
    do {                                                                                           \
        axo_router settings = good;                                                                \
        settings.field = value;                                                                    \
        assert_int_equal(outside(&settings), want);                                                \
    } while (0)

static void bad_pools(void **state)
{
    axo_props child = AXO_PROPS(.cls = &routee_class);
    axo_props named = AXO_PROPS(.cls = &routee_class, .name = "n");
    axo_ref ref = {.bits = 1};
    const char *path = "/user/a";
    axo_router good = AXO_ROUTER(.pool = 2, .child = &child);
    assert_int_equal(outside(&good), AXO_OK);
    assert_int_equal(axo_router_props(NULL, NULL, &child), AXO_EINVAL);
    assert_int_equal(axo_router_props(&good, NULL, NULL), AXO_EINVAL);
    BAD(size, 0, AXO_EINVAL);
    BAD(logic, (axo_router_logic)6, AXO_EINVAL);
    BAD(logic, (axo_router_logic)-1, AXO_EINVAL);
    BAD(logic, AXO_ROUTE_HASH, AXO_EINVAL);         /* no key */
    BAD(logic, AXO_ROUTE_GATHER_FIRST, AXO_EINVAL); /* no time */
    BAD(pool, 0, AXO_EINVAL);
    BAD(pool, AXO_ROUTEES_MAX + 1, AXO_EINVAL);
    BAD(child, &named, AXO_EINVAL);
    BAD(child, NULL, AXO_EINVAL);
    BAD(routees, &ref, AXO_EINVAL);
    BAD(routees_count, 1, AXO_EINVAL);
    BAD(paths, &path, AXO_EINVAL);
    BAD(paths_count, 1, AXO_EINVAL);
    BAD(hash_key, world_key, AXO_EINVAL);
    BAD(user, &child, AXO_EINVAL);
    BAD(virtual_nodes, 1, AXO_EINVAL);
    BAD(reserved, 1, AXO_EINVAL);
    BAD(within_ns, 1, AXO_EINVAL);
    BAD(removal_delay_ns, AXO_DELAY_MAX + 1, AXO_EINVAL);
    BAD(removal_delay_ns, -1, AXO_OK);
    good.logic = AXO_ROUTE_HASH;
    good.hash_key = world_key;
    BAD(virtual_nodes, AXO_VIRTUAL_NODES_MAX, AXO_OK);
    BAD(virtual_nodes, AXO_VIRTUAL_NODES_MAX + 1, AXO_EINVAL);
    good = (axo_router)AXO_ROUTER(.logic = AXO_ROUTE_GATHER_FIRST, .pool = 2, .child = &child,
                                  .within_ns = 1);
    assert_int_equal(outside(&good), AXO_OK);
    BAD(within_ns, -1, AXO_EINVAL);
    BAD(within_ns, AXO_DELAY_MAX + 1, AXO_EINVAL);
}

static void bad_groups(void **state)
{
    axo_ref refs[2] = {{.bits = 1}, {.bits = 0}};
    const char *paths[2] = {"/user/a", NULL};
    axo_strategy strategy = AXO_STRATEGY(.scope = AXO_ONE_FOR_ONE);
    axo_resizer resizer = AXO_RESIZER(.routees_min = 0);
    axo_router good =
        AXO_ROUTER(.routees = refs, .routees_count = 1, .paths = paths, .paths_count = 1);
    assert_int_equal(outside(&good), AXO_OK);
    BAD(routees_count, 0, AXO_EINVAL);
    BAD(routees_count, 2, AXO_EINVAL); /* none among them */
    BAD(routees, NULL, AXO_EINVAL);
    BAD(paths_count, 0, AXO_EINVAL);
    BAD(paths_count, 2, AXO_EINVAL); /* NULL among them */
    BAD(paths, NULL, AXO_EINVAL);
    BAD(routees_count, AXO_ROUTEES_MAX, AXO_EINVAL);
    BAD(routees_count, UINT32_MAX, AXO_EINVAL);
    BAD(pool, 1, AXO_EINVAL);
    BAD(strategy, &strategy, AXO_EINVAL);
    BAD(resizer, &resizer, AXO_EINVAL);
    BAD(removal_delay_ns, 1, AXO_EINVAL);
}

static void bad_resizers(void **state)
{
    axo_props child = AXO_PROPS(.cls = &routee_class);
    const axo_resizer fine = AXO_RESIZER(.routees_min = 2, .routees_max = 4);
    axo_resizer bad[15];
    axo_router good = AXO_ROUTER(.pool = 2, .child = &child);
    for (uint32_t i = 0; i < 15; i++)
        bad[i] = fine;
    bad[0].size = 0;
    bad[1].size = sizeof(size_t) - 1;
    bad[2].routees_max = 1;
    bad[3].routees_max = AXO_ROUTEES_MAX + 1;
    bad[4].interval_ns = -1;
    bad[5].interval_ns = AXO_DELAY_MAX + 1;
    bad[6].ramp_up = -0.1;
    bad[7].ramp_up = 1.1;
    bad[8].back_off_below = -0.1;
    bad[9].back_off_below = 1.1;
    bad[10].back_off = 0.0 / 0.0;
    bad[11].back_off = 1.1;
    bad[12].no_back_off = 2;
    bad[13].reserved = 1;
    bad[14].routees_min = 3; /* more than the pool's */
    for (uint32_t i = 0; i < 15; i++)
        BAD(resizer, &bad[i], AXO_EINVAL);
    good.resizer = &fine;
    assert_int_equal(outside(&good), AXO_OK);
    BAD(pool, 0, AXO_OK);
    BAD(pool, 4, AXO_OK);
    BAD(pool, 5, AXO_EINVAL);
}

static void bad_broadcasts(void **state)
{
    world w;
    axo_props child;
    parcel key = {1};
    world_start(&w, NULL);
    world_pool(&w, &child, &(world *){&w}, 2);
    axo_system *s = w.system;
    axo_ref none = axo_ref_none();
    size_t big = AXO_PAYLOAD_MAX;
    assert_int_equal(axo_system_router_broadcast(NULL, w.router, TELL, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_system_router_broadcast(s, none, TELL, NULL, 0), AXO_EINVAL);
    assert_int_equal(axo_system_router_broadcast(s, w.router, TELL, NULL, 1), AXO_EINVAL);
    assert_int_equal(axo_system_router_broadcast(s, w.router, AXO_TERMINATED, NULL, 0),
                     AXO_EINVAL);
    assert_int_equal(axo_system_router_broadcast(s, w.router, AXO_TIMER_POISON, &key, 8),
                     AXO_EINVAL);
    assert_int_equal(axo_system_router_broadcast(s, w.router, TELL, &key, big), AXO_ETOOBIG);
    assert_int_equal(axo_system_router_broadcast(s, w.router, TELL, &key, SIZE_MAX), AXO_ETOOBIG);
    assert_int_equal(axo_router_broadcast(NULL, w.router, TELL, NULL, 0), AXO_ECONTEXT);
    axo_testkit_fail_memory(w.kit, 0, UINT64_MAX);
    assert_int_equal(axo_system_router_broadcast(s, w.router, TELL, &key, 8), AXO_ENOMEM);
    axo_testkit_fail_memory(w.kit, 0, 0);
    assert_int_equal(axo_system_router_broadcast(s, w.router, TELL, &key, 8), AXO_OK);
    (void)axo_testkit_run(w.kit);
    assert_int_equal(w.told, 2);
    world_stop(&w);
}

/* ---- from an actor ---- */

static axo_status caller_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_ref router = *AXO_PAYLOAD(message, axo_ref);
    parcel key = {9};
    size_t big = AXO_PAYLOAD_MAX;
    if (axo_router_broadcast(ctx, axo_ref_none(), TELL, NULL, 0) != AXO_EINVAL ||
        axo_router_broadcast(ctx, router, AXO_TAG_RESERVED, NULL, 0) != AXO_EINVAL ||
        axo_router_broadcast(ctx, router, TELL, NULL, 1) != AXO_EINVAL ||
        axo_router_broadcast(ctx, router, TELL, &key, big) != AXO_ETOOBIG ||
        axo_router_broadcast(ctx, router, TELL, &key, sizeof key) != AXO_OK)
        return axo_fail(ctx, 1, "a broadcast went wrong");
    (void)axo_router_broadcast(ctx, router, AXO_TIMER_KILL, NULL, 0);
    return axo_send_from(ctx, message->sender, message->sender, ANSWER, NULL, 0);
}

static const axo_class caller_class = AXO_CLASS(.name = "caller", .receive = caller_receive);

static void broadcast_from_an_actor(void **state)
{
    static const axo_strategy stops = AXO_STRATEGY(.decider = axo_decide_stop);
    world w;
    axo_props child;
    axo_props props = AXO_PROPS(.cls = &caller_class);
    axo_ref caller;
    world_start(&w, NULL);
    w.settings.strategy = &stops;
    world_pool(&w, &child, &(world *){&w}, 3);
    assert_int_equal(axo_system_spawn(w.system, &props, &caller), AXO_OK);
    assert_int_equal(axo_probe_watch(w.probe, w.router), AXO_OK);
    assert_int_equal(axo_probe_send(w.probe, caller, TELL, &w.router, sizeof w.router), AXO_OK);
    (void)world_expect(&w, ANSWER, 0);
    assert_true(axo_probe_expect_terminated(w.probe, w.router, 0)); /* all were killed */
    assert_int_equal(w.told, 3);
    world_stop(&w);
}

/* A path that is none is a failure of the start. */
static void a_malformed_path_fails(void **state)
{
    static const char *const paths[] = {"/user//x"};
    world w;
    axo_props props;
    world_start(&w, NULL);
    w.settings = (axo_router)AXO_ROUTER(.paths = paths, .paths_count = 1);
    assert_int_equal(axo_router_props(&w.settings, "router", &props), AXO_OK);
    assert_int_equal(axo_system_spawn(w.system, &props, &w.router), AXO_OK);
    assert_int_equal(axo_probe_watch(w.probe, w.router), AXO_OK);
    assert_true(axo_probe_expect_terminated(w.probe, w.router, 0));
    world_stop(&w);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(turns_go_on),
    cmocka_unit_test(random_is_replayed),
    cmocka_unit_test(hash_keeps_keys),
    cmocka_unit_test(smallest_spreads),
    cmocka_unit_test(broadcast_reaches_all),
    cmocka_unit_test(first_answer_wins),
    cmocka_unit_test(no_answer_in_time),
    cmocka_unit_test(bad_messages_are_unhandled),
    cmocka_unit_test(bad_pools),
    cmocka_unit_test(bad_groups),
    cmocka_unit_test(bad_resizers),
    cmocka_unit_test(bad_broadcasts),
    cmocka_unit_test(broadcast_from_an_actor),
    cmocka_unit_test(a_malformed_path_fails),
};
TEST_MAIN(tests)
