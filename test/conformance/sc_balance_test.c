/* sc_balance_test.c - after a storm of failures all books balance: conformance SC-12. */
#include <stdio.h>

#include "conformance/parts.h"

enum { SC_MIDDLES = 3, SC_LEAVES = 3, SC_ALL = 1 + SC_MIDDLES * (1 + SC_LEAVES), SC_ROUNDS = 60 };

/* A top, middles that keep their children, leaves. */
static void sc_tree(kit *k, kit_script **all)
{
    static const char *const labels[SC_ALL] = {"t",  "m0", "a0", "b0", "c0", "m1", "a1",
                                               "b1", "c1", "m2", "a2", "b2", "c2"};
    for (int i = 0; i < SC_ALL; i++)
        all[i] = kit_actor(k, labels[i]);
    kit_spawn(k, all[0]);
    kit_await(k, "t.preStart");
    for (int i = 1; i < SC_ALL; i++) {
        bool middle = (i - 1) % (1 + SC_LEAVES) == 0;
        char pattern[32];
        all[i]->keep_children = true;
        all[i]->no_default_start = true;
        kit_spawn_child(k, middle ? all[0] : all[i - 1 - (i - 2) % (1 + SC_LEAVES)], all[i], 0);
        (void)snprintf(pattern, sizeof pattern, "%s.preStart", labels[i]);
        kit_await(k, pattern);
    }
    all[0]->keep_children = true;
    all[0]->no_default_start = true;
}

static uint32_t sc_count(kit *k, const kit_script *who, const char *rest)
{
    char pattern[48];
    (void)snprintf(pattern, sizeof pattern, "%s.%s", who->label, rest);
    return kit_count(k, pattern);
}

/* Every suspension undone, every actor entered once and left once, every instance freed. */
static void SC_12(void **state)
{
    static const int32_t codes[] = {KIT_DO_RESUME, KIT_DO_RESTART, KIT_DO_ESCALATE};
    kit *k = kit_start(state, NULL);
    kit_script *all[SC_ALL];
    uint32_t seed = 12345 + kit_workers(k);
    uint32_t fails = 0;
    sc_tree(k, all);
    for (int i = 0; i < SC_ROUNDS; i++) {
        seed = seed * 1664525 + 1013904223;
        kit_script *who = all[(seed >> 16) % SC_ALL];
        /* What the top raises or escalates is /user's to decide: Restart. */
        kit_tell(k, who, i % 2 == 0 ? KIT_FAIL : KIT_THROW, codes[(seed >> 8) % 3]);
        kit_tell(k, all[(seed >> 4) % SC_ALL], KIT_NOTE, i);
    }
    kit_settle(k);
    kit_settle(k);
    for (int i = 0; i < SC_ALL; i++) {
        fails += sc_count(k, all[i], "fails");
        assert_int_equal(sc_count(k, all[i], "suspend(OWN)"), sc_count(k, all[i], "resume(OWN)"));
        assert_int_equal(sc_count(k, all[i], "suspend(PARENT)"),
                         sc_count(k, all[i], "resume(PARENT)"));
        assert_int_equal(sc_count(k, all[i], "suspend(ENDING)"), 0);
        assert_int_equal(sc_count(k, all[i], "ctor"), 1 + sc_count(k, all[i], "freed"));
    }
    assert_int_equal(fails, SC_ROUNDS);
    kit_expect_count(k, "*.note", SC_ROUNDS);
    assert_int_equal(axo_system_stop(kit_system(k), INT64_C(20000000000), NULL, 0, NULL), AXO_OK);
    for (int i = 0; i < SC_ALL; i++) {
        assert_int_equal(sc_count(k, all[i], "spawn"), 1);
        assert_int_equal(sc_count(k, all[i], "suspend(ENDING)"), 1);
        assert_int_equal(sc_count(k, all[i], "postStop"), 1);
        assert_int_equal(sc_count(k, all[i], "terminated"), 1);
        assert_int_equal(sc_count(k, all[i], "ctor"), sc_count(k, all[i], "freed"));
    }
    kit_expect_count(k, "*.child_gone", SC_ALL + 2);
    kit_finish_now(k);
}

static const struct CMUnitTest tests[] = {
    KIT_TEST("SC-12", SC_12),
};

TEST_MAIN(tests)
