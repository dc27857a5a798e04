/* scene_router.c - scenes of routers, the back-off supervisor, and the test kit. */
#include "fault/scenes.h"

/* ---- routers -------------------------------------------------------------------------------- */

static uint64_t router_key(const axo_message *message, void *user)
{
    return message->size;
}

static void router_use(world *w, axo_ref router)
{
    static const char payload[300];
    int32_t more = 4;
    int32_t fewer = -5;
    w->ref = router;
    for (uint32_t i = 0; i < 6; i++)
        (void)TRY(w, axo_system_send_from(w->system, w->driver, router, WORLD_PING, payload,
                                          i * 60));
    world_advance(w, 100 * WORLD_MS);
    (void)TRY(w, axo_system_send_from(w->system, w->driver, router, AXO_ROUTER_GET_ROUTEES, NULL,
                                      0));
    (void)TRY(w, axo_system_send(w->system, router, AXO_ROUTER_ADJUST, &more, sizeof more));
    (void)TRY(w, axo_system_send(w->system, router, AXO_ROUTER_ADD, &w->pinger, sizeof w->pinger));
    world_run(w);
    (void)TRY(w, axo_system_router_broadcast(w->system, router, WORLD_NOTE, payload, 100));
    world_post(w, router, WORLD_FAIL); /* a routee fails */
    (void)TRY(w, axo_system_send(w->system, router, AXO_ROUTER_ADJUST, &fewer, sizeof fewer));
    (void)TRY(w, axo_system_send(w->system, router, AXO_ROUTER_REMOVE, &w->pinger,
                                 sizeof w->pinger));
    world_advance(w, WORLD_S);
    (void)axo_system_stop_actor(w->system, router);
    world_run(w);
}

static const axo_strategy router_own = AXO_STRATEGY(.decider = axo_decide_restart);
static const axo_resizer router_resizer =
    AXO_RESIZER(.routees_min = 2, .routees_max = 8, .messages = 2, .interval_ns = 50 * WORLD_MS);

static void router_pools(world *w)
{
    for (uint32_t logic = AXO_ROUTE_ROUND_ROBIN; logic <= AXO_ROUTE_GATHER_FIRST; logic++) {
        axo_props child = world_props(&w);
        axo_props props;
        axo_ref router;
        axo_router settings = AXO_ROUTER(.logic = (axo_router_logic)logic, .pool = 3,
                                         .child = &child);
        settings.strategy = logic % 2 == 0 ? &router_own : NULL;
        if (logic == AXO_ROUTE_HASH)
            settings.hash_key = router_key;
        if (logic == AXO_ROUTE_GATHER_FIRST)
            settings.within_ns = WORLD_S;
        if (logic == AXO_ROUTE_SMALLEST)
            settings.resizer = &router_resizer;
        MUST(w, axo_router_props(&settings, "router", &props) == AXO_OK);
        if (TRY(w, axo_system_spawn(w->system, &props, &router)) != AXO_OK)
            continue;
        world_run(w);
        router_use(w, router);
        world_run(w);
    }
}

static void router_group(world *w)
{
    static const char *const paths[] = {"/user/pinger", "/user/nobody"};
    axo_props member = world_props(&w);
    axo_ref members[2];
    axo_props props;
    axo_ref router;
    refuse_pause();
    for (uint32_t i = 0; i < 2; i++)
        MUST(w, axo_system_spawn(w->system, &member, &members[i]) == AXO_OK);
    world_run(w);
    refuse_resume();
    axo_router settings = AXO_ROUTER(.logic = AXO_ROUTE_HASH, .hash_key = router_key,
                                     .routees = members, .routees_count = 2, .paths = paths,
                                     .paths_count = 2, .virtual_nodes = 5);
    MUST(w, axo_router_props(&settings, "group", &props) == AXO_OK);
    if (TRY(w, axo_system_spawn(w->system, &props, &router)) != AXO_OK)
        return;
    world_run(w);
    router_use(w, router);
}

static void router_tell_all(axo_ctx *ctx, world *w)
{
    (void)TRY(w, axo_router_broadcast(ctx, w->ref, WORLD_NOTE, "all of you", 11));
}

static void router_broadcast(world *w)
{
    axo_props child = world_props(&w);
    axo_router settings = AXO_ROUTER(.pool = 3, .child = &child);
    axo_props props;
    MUST(w, axo_router_props(&settings, "router", &props) == AXO_OK);
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    world_run(w);
    world_do(w, router_tell_all);
    (void)axo_system_stop_actor(w->system, w->ref);
    world_run(w);
}

/* ---- back-off supervisor --------------------------------------------------------------------- */

static const axo_backoff keeper_delays = AXO_BACKOFF(.min_ns = WORLD_MS, .max_ns = 10 * WORLD_MS);

static void keeper_run(world *w, axo_backoff_when when, axo_backoff_absent absent)
{
    axo_props child = world_props(&w);
    axo_backoff_supervisor settings = AXO_BACKOFF_SUPERVISOR(
        .child = &child, .backoff = &keeper_delays, .when = when, .absent = absent);
    axo_props props;
    child.name = "kept";
    settings.absent_tag = absent == AXO_ABSENT_REPLY ? WORLD_NOTE : 0;
    settings.stand_in = absent == AXO_ABSENT_STAND_IN ? w->pinger : axo_ref_none();
    MUST(w, axo_backoff_supervisor_props(&settings, "keeper", &props) == AXO_OK);
    if (TRY(w, axo_system_spawn(w->system, &props, &w->ref)) != AXO_OK)
        return;
    world_run(w);
    for (uint32_t i = 0; i < 3; i++) {
        world_post(w, w->ref, when == AXO_ON_STOP ? WORLD_QUIT : WORLD_FAIL);
        world_run(w);
        axo_status status = axo_system_send_from(w->system, w->driver, w->ref, WORLD_PING, "x", 2);
        MUST(w, status == AXO_OK || status == AXO_ENOMEM || status == AXO_EGONE);
        world_run(w);
        world_post(w, w->ref, AXO_BACKOFF_GET_CHILD);
        world_advance(w, 50 * WORLD_MS);
    }
    (void)axo_system_stop_actor(w->system, w->ref);
    world_run(w);
}

static void keeper_all(world *w)
{
    for (uint32_t i = 0; i < 6; i++)
        keeper_run(w, (axo_backoff_when)(i % 2), (axo_backoff_absent)(i % 3));
}

/* ---- test kit -------------------------------------------------------------------------------- */

static void testkit_run(world *w)
{
    axo_options options = AXO_OPTIONS(.seed = 7);
    axo_testkit *kit = (axo_testkit *)w;
    options.allocator = world_options(w, NULL).allocator;
    axo_status status = MAY(w, axo_testkit_start(&options, &kit)); /* a guardian's start may fail */
    MUST(w, (kit != NULL) == (status == AXO_OK));
    if (status != AXO_OK)
        return;
    axo_system *system = axo_testkit_system(kit);
    axo_props props = world_props(&w);
    axo_probe *probe = axo_probe_new(kit, "probe");
    MUST(w, (probe == NULL) == (*axo_testkit_why(kit) != '\0'));
    if (probe != NULL && TRY(w, axo_system_spawn(system, &props, &w->ref)) == AXO_OK) {
        bool rich = TRY(w, axo_probe_send(probe, w->ref, WORLD_PING, "x", 2)) == AXO_OK;
        const axo_message *answer = axo_probe_expect(probe, WORLD_PONG, WORLD_S);
        MUST(w, answer == NULL || rich);
        if (answer != NULL)
            (void)MAY(w, axo_probe_reply(probe, WORLD_NOTE, "y", 2));
        status = TRY(w, axo_probe_watch(probe, w->ref));
        (void)axo_system_stop_actor(system, w->ref);
        bool told = axo_probe_expect_terminated(probe, w->ref, WORLD_S);
        MUST(w, told == (status == AXO_OK) || !world_rich(w));
    }
    w->system = NULL;
    status = axo_testkit_stop(kit);
    if (status != AXO_OK)
        world_breach(w, __FILE__, __LINE__, axo_testkit_why(kit));
}

const scene scenes_router[] = {
    {.name = "router pools", .run = router_pools},
    {.name = "router group", .run = router_group},
    {.name = "router broadcast", .run = router_broadcast},
    {.name = "back-off supervisor", .run = keeper_all},
    {.name = "test kit", .run = testkit_run, .bare = 1},
    {.name = NULL},
};
