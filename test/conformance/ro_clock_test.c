/* ro_clock_test.c - what routers do in time: the delayed pill, the resizer (RO-04, RO-06); and what
 * they drop (DL-13). On the test kit's clock. */
#include "support/router_world.h"
#include "support/limits.h"

/* The pill comes when its time has come, not before; until then it handles what it is sent. */
static void RO_04_delay(void **state)
{
    world w;
    axo_props child;
    world_start(&w, NULL);
    world_pool(&w, &child, &(world *){&w}, 2);
    axo_ref removed = w.all[1];
    assert_int_equal(axo_probe_watch(w.probe, removed), AXO_OK);
    world_send(&w, w.router, AXO_ROUTER_REMOVE, &removed, sizeof removed);
    assert_int_equal(world_list(&w), 1);
    (void)axo_testkit_advance(w.kit, 99 * MS);
    world_send(&w, removed, TELL, NULL, 0);
    assert_int_equal(w.told, 1);
    assert_true(axo_probe_expect_none(w.probe, 0));
    assert_true(axo_probe_expect_terminated(w.probe, removed, 2 * MS));
    assert_int_equal(world_list(&w), 1);
    world_stop(&w);
}

/* The last that is left: the router ends with it, not before. */
static void RO_01_last(void **state)
{
    world w;
    axo_props child;
    world_start(&w, NULL);
    world_pool(&w, &child, &(world *){&w}, 1);
    axo_ref removed = w.all[0];
    assert_int_equal(axo_probe_watch(w.probe, w.router), AXO_OK);
    world_send(&w, w.router, TELL, NULL, 0);
    world_send(&w, w.router, AXO_ROUTER_REMOVE, &removed, sizeof removed);
    (void)axo_testkit_advance(w.kit, 99 * MS);
    world_send(&w, removed, TELL, NULL, 0);
    assert_int_equal(w.told, 2);
    world_send(&w, w.router, TELL, NULL, 0);
    world_dropped(&w, TELL, w.router, "the router has no routee");
    assert_true(axo_probe_expect_terminated(w.probe, w.router, 2 * MS));
    world_stop(&w);
}

/* One leaves and the other ends: the router waits for the one that leaves. */
static void RO_01_leaving(void **state)
{
    world w;
    axo_props child;
    world_start(&w, NULL);
    world_pool(&w, &child, &(world *){&w}, 2);
    axo_ref leaves = w.all[0];
    assert_int_equal(axo_probe_watch(w.probe, w.router), AXO_OK);
    world_send(&w, w.router, AXO_ROUTER_REMOVE, &leaves, sizeof leaves);
    assert_int_equal(axo_system_stop_actor(w.system, w.all[1]), AXO_OK);
    (void)axo_testkit_advance(w.kit, 99 * MS);
    world_send(&w, leaves, TELL, NULL, 0);
    assert_int_equal(w.told, 1);
    assert_true(axo_probe_expect_none(w.probe, 0));
    assert_true(axo_probe_expect_terminated(w.probe, w.router, 2 * MS));
    world_stop(&w);
}

/* It is the mailbox that counts: in one 6 wait, so the other is chosen. */
static void RO_06_waiting(void **state)
{
    world w;
    axo_props child;
    world_start(&w, &(axo_options)AXO_OPTIONS(.quantum = 1)); /* they handle one a turn */
    w.settings.logic = AXO_ROUTE_SMALLEST;
    world_pool(&w, &child, &(world *){&w}, 2);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(axo_probe_send(w.probe, w.all[0], TELL, NULL, 0), AXO_OK);
    assert_int_equal(axo_probe_send(w.probe, w.router, ASK, NULL, 0), AXO_OK);
    assert_int_equal(world_index(&w, world_expect(&w, ANSWER, 0)->sender), 1);
    for (uint32_t i = 0; i < 6; i++) /* nothing waits: they take turns */
        assert_int_equal(world_index(&w, world_who(&w, i)), i % 2);
    world_stop(&w);
}

static void world_resizing(world *w, axo_props *child, world **where, const axo_resizer *resizer,
                           uint32_t count)
{
    world_start(w, NULL);
    w->settings.resizer = resizer;
    world_pool(w, child, where, count);
}

static void RO_06_resizer(void **state)
{
    static const axo_resizer resizer =
        AXO_RESIZER(.routees_min = 2, .routees_max = 6, .messages = 4, .interval_ns = 1000 * MS,
                    .ramp_up = 0.5);
    world w;
    axo_props child;
    skip_with_tiny_limits();
    world_resizing(&w, &child, &(world *){&w}, &resizer, 0);
    assert_int_equal(w.count, 2);
    for (uint32_t i = 0; i < 12; i++) /* in one turn: nobody runs meanwhile */
        assert_int_equal(axo_probe_send(w.probe, w.router, TELL, NULL, 0), AXO_OK);
    assert_int_equal(world_list(&w), 6); /* 2, 3, 5, 6 */
    assert_int_equal(w.told, 12);
    for (uint32_t size = 5; size >= 2; size--) { /* nothing waits: one fewer a second */
        (void)axo_testkit_advance(w.kit, 1001 * MS);
        assert_int_equal(world_list(&w), size);
    }
    (void)axo_testkit_advance(w.kit, 5000 * MS);
    assert_int_equal(world_list(&w), 2);
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
    assert_int_equal(stats.actors, 3 + 1 + 1 + 2); /* the dismissed are gone */
    world_stop(&w);
}

/* A share of the size is rounded up. */
static void RO_06_share(void **state)
{
    static const axo_resizer resizer =
        AXO_RESIZER(.routees_min = 2, .routees_max = 20, .messages = 4, .interval_ns = 1000 * MS,
                    .ramp_up = 0.5);
    world w;
    axo_props child;
    skip_with_tiny_limits();
    world_resizing(&w, &child, &(world *){&w}, &resizer, 0);
    for (uint32_t i = 0; i < 8; i++) /* in one turn: nobody runs meanwhile */
        assert_int_equal(axo_probe_send(w.probe, w.router, TELL, NULL, 0), AXO_OK);
    assert_int_equal(world_list(&w), 5); /* 2, 3, and the half of 3 is 2 */
    world_stop(&w);
}

/* Some wait and some do not: between the two thresholds the size stays. */
static void RO_06_steady(void **state)
{
    static const axo_resizer resizer =
        AXO_RESIZER(.routees_min = 2, .routees_max = 8, .messages = 3);
    world w;
    axo_props child;
    world_resizing(&w, &child, &(world *){&w}, &resizer, 4);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_probe_send(w.probe, w.router, TELL, NULL, 0), AXO_OK);
    assert_int_equal(world_list(&w), 4); /* two of four wait */
    for (uint32_t i = 0; i < 3; i++)
        world_send(&w, w.router, TELL, NULL, 0);
    assert_int_equal(world_list(&w), 3); /* none of four */
    world_stop(&w);
}

/* With no_back_off it grows only. */
static void RO_06_no_back_off(void **state)
{
    static const axo_resizer resizer =
        AXO_RESIZER(.routees_max = 3, .messages = 2, .interval_ns = MS, .no_back_off = 1);
    world w;
    axo_props child;
    world_resizing(&w, &child, &(world *){&w}, &resizer, 3);
    (void)axo_testkit_advance(w.kit, 100 * MS);
    assert_int_equal(world_list(&w), 3);
    world_stop(&w);
}

static void DL_13_empty(void **state)
{
    world w;
    world_start(&w, NULL);
    world_group(&w, &(world *){&w}, w.all, 0);
    assert_int_equal(w.count, 0);
    world_send(&w, w.router, TELL, NULL, 0);
    world_dropped(&w, TELL, w.router, "the router has no routee");
    parcel key = {1};
    assert_int_equal(axo_system_router_broadcast(w.system, w.router, TELL, &key, sizeof key),
                     AXO_OK);
    (void)axo_testkit_run(w.kit);
    world_dropped(&w, AXO_ROUTER_BROADCAST, w.router, "the router has no routee");
    world_stop(&w);
}

/* What a full mailbox refuses names the routee. */
static void DL_13_full(void **state)
{
    static const axo_mailbox small = AXO_MAILBOX(.messages_max = 2);
    world w;
    world *where = &w;
    axo_props child = routee_props(&where);
    world_start(&w, NULL);
    child.mailbox = &small;
    w.settings = (axo_router)AXO_ROUTER(.pool = 1, .child = &child);
    world_route(&w);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(axo_probe_send(w.probe, w.router, TELL, NULL, 0), AXO_OK);
    (void)axo_testkit_run(w.kit);
    assert_int_equal(w.told, 2);
    world_dropped(&w, TELL, w.all[0], axo_status_text(AXO_EFULL));
    world_stop(&w);
}

static void world_free(void *payload, void *user)
{
    assert_ptr_equal(payload, &((world *)user)->told);
    ((world *)user)->freed++;
}

/* A payload that was handed over goes to one, and to no more. */
static void DL_13_handed_over(void **state)
{
    static const axo_router_logic logics[] = {AXO_ROUTE_ROUND_ROBIN, AXO_ROUTE_BROADCAST,
                                              AXO_ROUTE_GATHER_FIRST};
    for (uint32_t i = 0; i < 3; i++) {
        world w;
        axo_props child;
        (void)state;
        world_start(&w, NULL);
        w.settings.logic = logics[i];
        w.settings.within_ns = logics[i] == AXO_ROUTE_GATHER_FIRST ? MS : 0;
        world_pool(&w, &child, &(world *){&w}, 2);
        assert_int_equal(axo_system_send_owned(w.system, w.router, TELL, &w.told, sizeof w.told,
                                               world_free, &w), AXO_OK);
        (void)axo_testkit_run(w.kit);
        assert_int_equal(w.freed, 1);
        assert_int_equal(w.told, i == 0 ? 1 : 0);
        if (i > 0)
            world_dropped(&w, TELL, w.router,
                          "a payload that was handed over is for one routee");
        world_stop(&w);
    }
}

#define CLOCK_TEST(id, function) {id, function, NULL, NULL, NULL}

static const struct CMUnitTest tests[] = {
    CLOCK_TEST("RO-01 last", RO_01_last),
    CLOCK_TEST("RO-01 leaving", RO_01_leaving),
    CLOCK_TEST("RO-04 delay", RO_04_delay),
    CLOCK_TEST("RO-06 waiting", RO_06_waiting),
    CLOCK_TEST("RO-06 resizer", RO_06_resizer),
    CLOCK_TEST("RO-06 share", RO_06_share),
    CLOCK_TEST("RO-06 steady", RO_06_steady),
    CLOCK_TEST("RO-06 no back-off", RO_06_no_back_off),
    CLOCK_TEST("DL-13 empty", DL_13_empty),
    CLOCK_TEST("DL-13 full", DL_13_full),
    CLOCK_TEST("DL-13 handed over", DL_13_handed_over),
};
TEST_MAIN(tests)
