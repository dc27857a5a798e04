/* dw_three_test.c - watches among others: whichever of three ends, the other two go on (DW-03). */
#include "conformance/parts.h"

/* Of three that watch, the n-th does so no more. */
static void dw_one_of_three(void **state, int n)
{
    kit *k = kit_start(state, NULL);
    kit_script *t = part_start(k, "t");
    kit_script *w[] = {part_start(k, "u"), part_start(k, "v"), part_start(k, "w")};
    for (int i = 0; i < 3; i++)
        part_watched_by(k, t, w[i]);
    kit_tell_ref(k, w[n], KIT_UNWATCH, kit_ref(t));
    kit_settle(k);
    (void)axo_system_stop_actor(kit_system(k), kit_ref(t));
    kit_expect_count(k, "*.term(t)", 2);
    kit_await(k, "user.child_gone(t)");
    kit_settle(k);
    kit_expect_count(k, "*.term", 2);
    kit_never(k, n == 0 ? "u.term" : n == 1 ? "v.term" : "w.term");
    kit_finish(k);
}

/* Of three that it watches, it does so with the n-th no more. */
static void dw_all_but_one(void **state, int n)
{
    kit *k = kit_start(state, NULL);
    kit_script *t[] = {part_start(k, "s"), part_start(k, "t"), part_start(k, "u")};
    kit_script *w = part_start(k, "w");
    for (int i = 0; i < 3; i++)
        part_watched_by(k, t[i], w);
    kit_tell_ref(k, w, KIT_UNWATCH, kit_ref(t[n]));
    kit_settle(k);
    for (int i = 0; i < 3; i++)
        (void)axo_system_stop_actor(kit_system(k), kit_ref(t[i]));
    kit_expect_count(k, "w.term", 2);
    kit_await_count(k, "user.child_gone", 3);
    kit_settle(k);
    kit_expect_count(k, "w.term", 2);
    kit_never(k, n == 0 ? "w.term(s)" : n == 1 ? "w.term(t)" : "w.term(u)");
    kit_finish(k);
}

static void DW_03(void **state)
{
    for (int n = 0; n < 3; n++) {
        dw_one_of_three(state, n);
        dw_all_but_one(state, n);
    }
}

static const struct CMUnitTest tests[] = {KIT_TEST("DW-03 of three", DW_03)};

TEST_MAIN(tests)
