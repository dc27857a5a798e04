/* inject_test.c - the shared queue: order, the hint, many pushers and many poppers. */
#include "unit/unit.h"

#include "queue/inject.h"

enum { PUSHERS = 3, POPPERS = 3, EACH = 40000 };

typedef struct inject_entry {
    axo__mpsc_node node; /* first */
    axo__a32 taken;
    uint32_t pusher;
    uint32_t number;
} inject_entry;

static void first_in_first_out(void **state)
{
    axo__inject inject;
    axo__a64 counts = {0};
    inject_entry entries[6];
    axo__mpsc_node *node = NULL;
    axo__inject_init(&inject, &counts, 0);
    assert_false(axo__inject_has_any(&inject));
    assert_int_equal(axo__inject_pop_any(&inject, &node), AXO__INJECT_EMPTY);
    for (int i = 0; i < 6; i++) {
        axo__inject_push_any(&inject, &entries[i].node);
        assert_true(axo__inject_has_any(&inject));
    }
    for (int i = 0; i < 6; i++) {
        assert_true(axo__inject_has_any(&inject));
        assert_int_equal(axo__inject_pop_any(&inject, &node), AXO__INJECT_ITEM);
        assert_ptr_equal(node, &entries[i].node);
    }
    assert_false(axo__inject_has_any(&inject));
    assert_int_equal(axo__inject_pop_any(&inject, &node), AXO__INJECT_EMPTY);
}

/* While another consumer is at it, a popper is told so and changes nothing. */
static void a_second_consumer_is_told_lost(void **state)
{
    axo__inject inject;
    axo__a64 counts = {0};
    inject_entry entry;
    axo__mpsc_node *node = NULL;
    axo__inject_init(&inject, &counts, 0);
    axo__inject_push_any(&inject, &entry.node);
    assert_int_equal(axo__a32_xchg_acq_rel(&inject.taken, 1), 0);
    assert_int_equal(axo__inject_pop_any(&inject, &node), AXO__INJECT_LOST);
    assert_null(node);
    assert_true(axo__inject_has_any(&inject));
    axo__a32_store_release(&inject.taken, 0);
    assert_int_equal(axo__inject_pop_any(&inject, &node), AXO__INJECT_ITEM);
    assert_ptr_equal(node, &entry.node);
}

typedef struct inject_world {
    axo__inject inject;
    axo__a64 counts;
    inject_entry *entries;
    axo__a32 got;
    axo__a32 wrong;
} inject_world;

static void pop_all(inject_world *world)
{
    axo__mpsc_node *node = NULL;
    int64_t last[PUSHERS];
    memset(last, -1, sizeof last);
    while (axo__a32_load_relaxed(&world->got) < PUSHERS * EACH) {
        if (axo__inject_pop_any(&world->inject, &node) != AXO__INJECT_ITEM) {
            (void)sched_yield();
            continue;
        }
        inject_entry *entry = (inject_entry *)(void *)node;
        if ((int64_t)entry->number <= last[entry->pusher] ||
            axo__a32_xchg_acq_rel(&entry->taken, 1) != 0)
            (void)axo__a32_add_relaxed(&world->wrong, 1);
        last[entry->pusher] = entry->number;
        (void)axo__a32_add_relaxed(&world->got, 1);
    }
}

static void push_or_pop(void *arg, uint32_t index)
{
    inject_world *world = arg;
    if (index >= PUSHERS) {
        pop_all(world);
        return;
    }
    for (uint32_t i = 0; i < EACH; i++) {
        inject_entry *entry = &world->entries[index * EACH + i];
        entry->pusher = index;
        entry->number = i;
        axo__inject_push_any(&world->inject, &entry->node);
    }
}

static void every_entry_is_popped_once(void **state)
{
    axo__mpsc_node *node = NULL;
    inject_world world;
    memset(&world, 0, sizeof world);
    world.entries = calloc(PUSHERS * EACH, sizeof *world.entries);
    assert_non_null(world.entries);
    axo__inject_init(&world.inject, &world.counts, 32);
    unit_run_threads(PUSHERS + POPPERS, push_or_pop, &world);
    assert_int_equal(axo__a32_load_relaxed(&world.wrong), 0);
    assert_int_equal(axo__a32_load_relaxed(&world.got), PUSHERS * EACH);
    assert_false(axo__inject_has_any(&world.inject));
    assert_int_equal(axo__inject_pop_any(&world.inject, &node), AXO__INJECT_EMPTY);
    free(world.entries);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(first_in_first_out),
    cmocka_unit_test(a_second_consumer_is_told_lost),
    cmocka_unit_test(every_entry_is_popped_once),
};
TEST_MAIN(tests)
