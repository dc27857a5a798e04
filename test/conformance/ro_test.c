/* ro_test.c - routers (RO), and what others say of them (PK-09, SC-10). */
#include "conformance/router_parts.h"

/* ---- the end of routees ---- */

static void RO_01(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 3);
    ro_start(t);
    assert_int_equal(t->count, 3);
    axo_ref gone = t->all[1];
    assert_int_equal(axo_system_stop_actor(kit_system(t->k), gone), AXO_OK);
    ro_await_size(t, 2);
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(ro_who(t, i) < 2);
        assert_false(axo_ref_equal(t->all[i % 2], gone));
    }
    assert_int_equal(axo_system_poison(kit_system(t->k), t->all[0]), AXO_OK);
    ro_await_size(t, 1);
    assert_int_equal(ro_who(t, 7), 0);
    assert_int_equal(axo_system_stop_actor(kit_system(t->k), t->all[0]), AXO_OK);
    ro_await_end(t);
    kit_finish(t->k);
}

static void RO_01_resizer(void **state)
{
    static const axo_resizer resizer = AXO_RESIZER(.routees_min = 2, .routees_max = 4);
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 2);
    t->settings.resizer = &resizer;
    ro_start(t);
    axo_ref old[2] = {t->all[0], t->all[1]};
    assert_int_equal(axo_system_stop_actor(kit_system(t->k), old[0]), AXO_OK);
    assert_int_equal(axo_system_stop_actor(kit_system(t->k), old[1]), AXO_OK);
    ro_await_size(t, 0);
    assert_int_equal(ro_who(t, 1), 0); /* one that the list does not have */
    assert_int_equal(ro_list(t), 2);
    for (uint32_t i = 0; i < 4; i++)
        assert_false(axo_ref_equal(t->all[i / 2], old[i % 2]));
    kit_finish(t->k);
}

/* ---- supervision ---- */

static void RO_02(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 3);
    axo_ref before[3];
    (void)ro_start_below(t, AXO_RESTART);
    kit_await_count(t->k, "r.started", 3);
    memcpy(before, t->all, sizeof before);
    ro_send(t, t->all[1], KIT_FAIL, 7);
    kit_await_count(t->k, "r#2.started", 3);
    kit_expect_count(t->k, "p.decider", 1);
    kit_expect_count(t->k, "r.preRestart(7)", 3);
    assert_int_equal(ro_list(t), 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(axo_ref_equal(t->all[i], before[i]));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(ro_who(t, i), i);
    kit_expect_count(t->k, "r.ctor", 6);
    assert_int_equal(ro_list(t), 3);
    kit_finish(t->k);
}

/* One of them was leaving when the router was restarted: it is gone, and no routee again. */
static void RO_02_leaving(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 3);
    t->settings.removal_delay_ns = RO_FOREVER * 1000;
    (void)ro_start_below(t, AXO_RESTART);
    kit_await_count(t->k, "r.started", 3);
    axo_ref first = t->all[0];
    axo_ref last = t->all[2];
    ro_adjust(t, -1);
    assert_int_equal(ro_list(t), 2);
    ro_send(t, first, KIT_FAIL, 7);
    kit_await_count(t->k, "r#2.started", 2);
    assert_int_equal(ro_list(t), 2);
    assert_true(axo_ref_equal(t->all[0], first));
    axo_actor_info info = AXO_ACTOR_INFO(.doing = 0);
    assert_int_equal(axo_system_inspect(kit_system(t->k), last, axo_ref_none(), &info),
                     AXO_EGONE);
    kit_expect_count(t->k, "r.ctor", 5);
    kit_finish(t->k);
}

static void RO_03(void **state)
{
    static const axo_strategy one_by_one = AXO_STRATEGY(.scope = AXO_ONE_FOR_ONE);
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 3);
    t->settings.strategy = &one_by_one;
    (void)ro_start_below(t, AXO_STOP);
    ro_send(t, t->all[1], KIT_FAIL, 7);
    kit_await(t->k, "r#2.started");
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(ro_who(t, i), i);
    kit_expect_count(t->k, "r.ctor", 4);
    kit_never(t->k, "p.decider");
    kit_finish(t->k);
}

/* ---- messages to the router ---- */

static void RO_04(void **state)
{
    enum { ROUTEES = 4, ROUNDS = 5 };
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, ROUTEES);
    ro_start(t);
    for (uint32_t i = 0; i < ROUTEES * ROUNDS; i++)
        assert_int_equal(ro_who(t, i), i % ROUTEES);
    ro_cast(t, KIT_NOTE, 70);
    kit_await_count(t->k, "r.note(70)", ROUTEES);
    for (uint32_t i = 0; i < ROUTEES; i++)
        assert_int_equal(ro_who_at(t, t->all[i], 71), i);
    kit_expect_count(t->k, "r.note(70)", ROUTEES);
    kit_finish(t->k);
}

static void RO_04_adjust(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 2);
    axo_ref before[4];
    t->settings.removal_delay_ns = -1;
    ro_start(t);
    ro_adjust(t, 2);
    assert_int_equal(ro_list(t), 4);
    memcpy(before, t->all, sizeof before);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(ro_who(t, i), i % 4);
    ro_adjust(t, -3);
    assert_int_equal(ro_list(t), 1);
    assert_true(axo_ref_equal(t->all[0], before[0])); /* the youngest went */
    kit_await_count(t->k, "r.terminated", 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(ro_who(t, i), 0);
    ro_adjust(t, INT32_MIN);
    ro_await_end(t);
    kit_finish(t->k);
}

/* What waits in the mailbox of one that is removed, and what comes until its pill, is handled. */
static void RO_04_in_flight(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 2);
    kit_gate *gate = kit_gate_new(t->k);
    t->settings.removal_delay_ns = RO_FOREVER * 1000;
    ro_start(t);
    axo_ref removed = t->all[0];
    kit_payload hold = {.ptr = gate};
    assert_int_equal(axo_system_send(kit_system(t->k), removed, KIT_WAIT, &hold, sizeof hold),
                     AXO_OK);
    kit_gate_arrived(gate, 1);
    ro_send(t, t->router, KIT_NOTE, 1); /* to the first */
    ro_command(t, AXO_ROUTER_REMOVE, &removed, sizeof removed);
    assert_int_equal(ro_list(t), 1);
    assert_int_equal(ro_who(t, 2), 0);
    ro_send(t, removed, KIT_NOTE, 3);
    kit_gate_open(gate);
    kit_await(t->k, "r.note(3)");
    kit_order(t->k, "r.note(1)", "r.note(3)");
    kit_never(t->k, "r.terminated");
    kit_finish(t->k);
}

/* Without a delay the pill is behind what the router has passed on. */
static void RO_04_no_delay(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 2);
    t->settings.removal_delay_ns = -1;
    ro_start(t);
    for (int64_t i = 0; i < 10; i++)
        ro_send(t, t->router, KIT_NOTE, i);
    ro_command(t, AXO_ROUTER_REMOVE, &t->all[0], sizeof t->all[0]);
    kit_await(t->k, "r.terminated");
    kit_await_count(t->k, "r.note", 10);
    assert_int_equal(ro_list(t), 1);
    kit_finish(t->k);
}

static void RO_04_group(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 0);
    ro_members(t, 2);
    axo_ref third = kit_spawn(t->k, t->r);
    ro_start(t);
    assert_int_equal(t->count, 2);
    ro_command(t, AXO_ROUTER_ADD, &third, sizeof third);
    ro_command(t, AXO_ROUTER_ADD, &third, sizeof third); /* it is one already */
    assert_int_equal(ro_list(t), 3);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(ro_who(t, i), i % 3);
    axo_ref second = t->all[1];
    ro_command(t, AXO_ROUTER_REMOVE, &second, sizeof second);
    assert_int_equal(ro_list(t), 2);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(ro_who(t, i), i % 2);
    assert_int_equal(ro_who_at(t, second, 9), 2); /* it lives */
    assert_int_equal(axo_system_stop_actor(kit_system(t->k), third), AXO_OK);
    ro_await_size(t, 1);
    assert_int_equal(ro_who(t, 10), 0);
    ro_command(t, AXO_ROUTER_REMOVE, &t->all[0], sizeof t->all[0]);
    kit_await_count(t->k, "user.child_gone", 2);
    kit_finish(t->k);
}

/* A group finds who is at a path, again when another is there. */
static void RO_04_paths(void **state)
{
    static const char *const paths[] = {"/user/a", "../b"};
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 0);
    kit_script *a = part_start(t->k, "a");
    t->settings.paths = paths;
    t->settings.paths_count = 2;
    ro_start(t);
    assert_int_equal(t->count, 1);
    assert_true(axo_ref_equal(t->all[0], kit_ref(a)));
    kit_script *b = part_start(t->k, "b");
    (void)ro_who(t, 1);
    assert_int_equal(ro_list(t), 2);
    assert_true(axo_ref_equal(t->all[1], kit_ref(b)));
    axo_ref old = kit_ref(a);
    assert_int_equal(axo_system_stop_actor(kit_system(t->k), old), AXO_OK);
    ro_await_size(t, 1);
    (void)kit_spawn(t->k, a);
    (void)ro_who(t, 2);
    assert_int_equal(ro_list(t), 2);
    assert_true(axo_ref_equal(t->all[1], kit_ref(a)));
    assert_false(axo_ref_equal(kit_ref(a), old));
    ro_command(t, AXO_ROUTER_REMOVE, &t->all[1], sizeof t->all[1]);
    assert_int_equal(ro_who(t, 3), 0);
    assert_int_equal(ro_list(t), 1);
    assert_int_equal(axo_system_stop_actor(kit_system(t->k), kit_ref(b)), AXO_OK);
    ro_await_size(t, 0);
    ro_send(t, t->router, KIT_NOTE, 4); /* b is looked up, and a, who was removed, is not */
    assert_int_equal(ro_list(t), 0);
    kit_never(t->k, "a.note");
    kit_finish(t->k);
}

/* ---- many at once ---- */

static void ro_many_fail(void **state, axo_router_logic logic)
{
    enum { ROUTEES = 10, ROUNDS = 3 };
    ro *t = ro_new(state, logic, ROUTEES);
    (void)ro_start_below(t, AXO_RESTART);
    for (int64_t round = 0; round < ROUNDS; round++) {
        ro_cast(t, KIT_FAIL, 7);
        assert_int_equal(ro_list(t), ROUTEES);
        for (uint32_t i = 0; i < ROUTEES; i++)
            assert_int_equal(ro_who_at(t, t->all[i], i), i);
        assert_true(ro_who(t, round) < ROUTEES);
    }
    kit_finish(t->k);
}

static void RO_05_round_robin(void **state)
{
    ro_many_fail(state, AXO_ROUTE_ROUND_ROBIN);
}

static void RO_05_random(void **state)
{
    ro_many_fail(state, AXO_ROUTE_RANDOM);
}

static void RO_05_smallest(void **state)
{
    ro_many_fail(state, AXO_ROUTE_SMALLEST);
}

static void RO_05_hash(void **state)
{
    ro_many_fail(state, AXO_ROUTE_HASH);
}

static void RO_05_broadcast(void **state)
{
    ro_many_fail(state, AXO_ROUTE_BROADCAST);
}

static void RO_05_gather(void **state)
{
    ro_many_fail(state, AXO_ROUTE_GATHER_FIRST);
}

/* The same below a plain supervisor, one for one and all for one. */
static void ro_children_fail(void **state, axo_scope scope)
{
    enum { CHILDREN = 10, ROUNDS = 3 };
    kit *k = kit_start(state, NULL);
    ro t = {.k = k, .count = CHILDREN};
    kit_script *p = kit_actor(k, "p");
    kit_script *c[CHILDREN];
    p->directive = AXO_RESTART;
    p->keep_children = true;
    p->strategy.scope = scope;
    for (uint32_t i = 0; i < CHILDREN; i++) {
        c[i] = kit_actor(k, "c");
        c[i]->name = "";
        p->pre_start.spawn[i] = c[i];
    }
    (void)kit_spawn(k, p);
    kit_await_count(k, "c.started", CHILDREN);
    for (uint32_t i = 0; i < CHILDREN; i++)
        t.all[i] = kit_ref(c[i]);
    for (int64_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < CHILDREN; i++)
            ro_send(&t, t.all[i], KIT_FAIL, 7);
        for (uint32_t i = 0; i < CHILDREN; i++)
            assert_int_equal(ro_who_at(&t, t.all[i], i), i);
    }
    kit_finish(k);
}

static void RO_05_one_for_one(void **state)
{
    ro_children_fail(state, AXO_ONE_FOR_ONE);
}

static void RO_05_all_for_one(void **state)
{
    ro_children_fail(state, AXO_ALL_FOR_ONE);
}

/* ---- the smallest mailbox ---- */

static void RO_06(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_SMALLEST, 3);
    kit_gate *gate = kit_gate_new(t->k);
    kit_payload hold = {.ptr = gate};
    uint32_t told[3] = {0};
    ro_start(t);
    assert_int_equal(axo_system_send(kit_system(t->k), t->all[1], KIT_WAIT, &hold, sizeof hold),
                     AXO_OK);
    kit_gate_arrived(gate, 1);
    for (uint32_t i = 0; i < 12; i++)
        told[ro_who(t, i)]++;
    assert_int_equal(told[1], 0);
    kit_gate_open(gate);
    kit_finish(t->k);
}

/* ---- pills ---- */

static void PK_09(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 3);
    ro_start(t);
    for (int64_t i = 0; i < 6; i++)
        ro_send(t, t->router, KIT_NOTE, i);
    assert_int_equal(axo_system_poison(kit_system(t->k), t->router), AXO_OK);
    ro_await_end(t);
    kit_expect_count(t->k, "r.terminated", 3);
    kit_finish(t->k);
}

static void PK_09_broadcast(void **state)
{
    ro *t = ro_new(state, AXO_ROUTE_ROUND_ROBIN, 3);
    ro_start(t);
    for (int64_t i = 0; i < 6; i++)
        ro_send(t, t->router, KIT_NOTE, i);
    assert_int_equal(axo_system_router_broadcast(kit_system(t->k), t->router, AXO_TIMER_POISON,
                                                 NULL, 0), AXO_OK);
    ro_await_end(t);
    kit_expect_count(t->k, "r.note", 6);
    kit_expect_count(t->k, "r.terminated", 3);
    kit_finish(t->k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("RO-01", RO_01),
    KIT_TEST("RO-01 resizer", RO_01_resizer),
    KIT_TEST("RO-02", RO_02),
    KIT_TEST("RO-02 leaving", RO_02_leaving),
    KIT_TEST("RO-03", RO_03),
    KIT_TEST("RO-04", RO_04),
    KIT_TEST("RO-04 adjust", RO_04_adjust),
    PART_TEST_MANY("RO-04 in flight", RO_04_in_flight),
    KIT_TEST("RO-04 no delay", RO_04_no_delay),
    KIT_TEST("RO-04 group", RO_04_group),
    KIT_TEST("RO-04 paths", RO_04_paths),
    KIT_TEST("RO-05 round robin", RO_05_round_robin),
    KIT_TEST("RO-05 random", RO_05_random),
    KIT_TEST("RO-05 smallest", RO_05_smallest),
    KIT_TEST("RO-05 hash", RO_05_hash),
    KIT_TEST("RO-05 broadcast", RO_05_broadcast),
    KIT_TEST("RO-05 gather", RO_05_gather),
    KIT_TEST("RO-05 one for one", RO_05_one_for_one),
    KIT_TEST("RO-05 all for one", RO_05_all_for_one),
    PART_TEST_MANY("RO-06", RO_06),
    KIT_TEST("PK-09", PK_09),
    KIT_TEST("PK-09 broadcast", PK_09_broadcast),
};
TEST_MAIN(tests)
