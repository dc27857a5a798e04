/* registry_step_test.c - a reader of the registry, stopped at each of its steps while a writer
 * changes what he stands on: every place of one change, and every two places of two. */
#include "unit/step.h"

#include "system/registry.c"

#include "unit/unit.h"

#include <stdio.h>

#define STEPS_MAX 1000

/* "stays" is in a chain behind "moves"; "foreign" belongs to another chain. */
static struct {
    axo__heap heap;
    unit_memory memory;
    axo__table table;
    axo__registry registry;
    axo__cell *cells[3];
    axo__key stays, moves, foreign;
} world;

static axo_ref actor(uint32_t i)
{
    return axo__cell_ref(world.cells[i]);
}

static uint32_t bucket_of(const axo__key *key)
{
    return (uint32_t)key->hash & world.registry.mask;
}

static axo__key key_in(uint32_t number, uint32_t bucket, bool same)
{
    axo__key key;
    char text[32];
    do {
        (void)snprintf(text, sizeof text, "k%u", (unsigned)number++);
        assert_int_equal(axo__registry_key(&world.registry, text, &key), AXO_OK);
    } while ((bucket_of(&key) == bucket) != same);
    return key;
}

static void world_open(void)
{
    axo_status status;
    memset((void *)&world, 0, sizeof world);
    unit_heap(&world.heap, &world.memory, UINT64_MAX);
    assert_true(axo__table_init(&world.table, &world.heap, 64, (uint64_t[2]){1, 0}));
    assert_true(axo__registry_init(&world.registry, &world.heap, &world.table, 64, 1));
    for (uint32_t i = 0; i < 3; i++) {
        world.cells[i] = axo__table_take(&world.table, 0, &status);
        axo__table_begin(&world.table, world.cells[i]);
    }
    assert_int_equal(axo__registry_key(&world.registry, "stays", &world.stays), AXO_OK);
    world.moves = key_in(0, bucket_of(&world.stays), true);
    world.foreign = key_in(100000, bucket_of(&world.stays), false);
    assert_int_equal(axo__registry_put(&world.registry, &world.stays, actor(0)), AXO_OK);
    assert_int_equal(axo__registry_put(&world.registry, &world.moves, actor(1)), AXO_OK);
}

static void world_close(void)
{
    axo__registry_fini(&world.registry);
    axo__table_fini(&world.table);
    unit_heap_empty(&world.heap);
}

static void change_nothing(void)
{
}

static void change_drop(void)
{
    assert_int_equal(axo__registry_drop(&world.registry, &world.moves), AXO_OK);
}

/* Takes the entry that was dropped: the youngest free one. */
static void change_put_foreign(void)
{
    assert_int_equal(axo__registry_put(&world.registry, &world.foreign, actor(2)), AXO_OK);
}

static void change_move(void)
{
    change_drop();
    change_put_foreign();
}

/* To the other chain, and back in front of the one that stays. */
static void change_there_and_back(void)
{
    change_move();
    assert_int_equal(axo__registry_drop(&world.registry, &world.foreign), AXO_OK);
    assert_int_equal(axo__registry_put(&world.registry, &world.moves, actor(1)), AXO_OK);
}

static void (*change_one)(void);
static void (*change_two)(void);

static uint32_t finds_at(uint32_t one, uint32_t two)
{
    world_open();
    step_begin_two(one, change_one, two, change_two);
    assert_int_equal(axo__registry_find(&world.registry, &world.stays).bits, actor(0).bits);
    uint32_t steps = step_end();
    world_close();
    world_open();
    step_begin_two(one, change_one, two, change_two);
    uint64_t bits = axo__registry_find(&world.registry, &world.moves).bits;
    (void)step_end();
    assert_true(bits == 0 || bits == actor(1).bits);
    world_close();
    return steps;
}

static void check_all(void (*first)(void), void (*second)(void))
{
    change_one = first;
    change_two = second;
    assert_in_range(step_each_two(finds_at, STEPS_MAX), 11, STEPS_MAX);
}

static void a_change_at_every_step(void **state)
{
    check_all(change_move, change_nothing);
    check_all(change_there_and_back, change_nothing);
}

static void two_changes_at_any_two_steps(void **state)
{
    check_all(change_drop, change_put_foreign);
    check_all(change_move, change_nothing);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_change_at_every_step),
    cmocka_unit_test(two_changes_at_any_two_steps),
};
TEST_MAIN(tests)
