/* region_test.c - what an instance owns: memory, clean-ups last in first out, balance. */
#include "unit/unit.h"

#include "mem/region.h"

typedef struct region_world {
    axo__heap heap;
    unit_memory memory;
    axo__pool pool;
    axo__cache cache;
    axo__region *region;
} region_world;

static void world_open(region_world *world, uint64_t budget)
{
    memset(world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, budget);
    assert_true(axo__pool_init(&world->pool, &world->heap));
    axo__cache_init(&world->cache, &world->pool);
}

static void world_close(region_world *world)
{
    axo__region_end(&world->region, &world->cache, NULL);
    assert_null(world->region);
    axo__pool_fini(&world->pool);
    unit_heap_empty(&world->heap);
}

static void *take(region_world *world, size_t size)
{
    return axo__region_alloc(&world->region, &world->cache, size);
}

static void blocks_do_not_overlap(void **state)
{
    enum { MANY = 300 };
    static unsigned char *blocks[MANY];
    region_world world;
    world_open(&world, UINT64_MAX);
    for (size_t i = 0; i < MANY; i++) {
        blocks[i] = take(&world, i + 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        memset(blocks[i], (int)(i & 0xff), i + 1);
    }
    for (size_t i = 0; i < MANY; i++) {
        for (size_t k = 0; k <= i; k++)
            assert_int_equal(blocks[i][k], i & 0xff);
    }
    world_close(&world);
}

static void sizes_that_cannot_be(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX);
    assert_null(take(&world, 0));
    assert_null(take(&world, SIZE_MAX));
    assert_null(take(&world, SIZE_MAX - 15));
    assert_null(world.region);
    assert_non_null(take(&world, 100000));
    world_close(&world);
}

static char order[64];
static size_t order_count;

static void note(void *arg)
{
    order[order_count++] = *(const char *)arg;
    order[order_count] = 0;
}

/* Also across chunks, and the arguments may lie in the region: clean-ups run before memory goes. */
static void clean_ups_run_last_in_first_out(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX);
    order_count = 0;
    for (int i = 0; i < 8; i++) {
        char *letter = take(&world, AXO__REGION_CHUNK / 2);
        assert_non_null(letter);
        *letter = (char)('a' + i);
        assert_true(axo__region_defer(&world.region, &world.cache, note, letter));
    }
    axo__region_end(&world.region, &world.cache, NULL);
    assert_string_equal(order, "hgfedcba");
    axo__region_end(&world.region, &world.cache, NULL);
    assert_int_equal(order_count, 8);
    world_close(&world);
}

/* Large blocks are given back one by one, so the balance shows the region's own memory. */
static void memory_goes_at_the_end(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX);
    for (int i = 0; i < 5; i++)
        assert_non_null(take(&world, AXO__POOL_MAX));
    assert_int_equal(unit_heap_blocks(&world.heap), 5);
    axo__region_end(&world.region, &world.cache, NULL);
    unit_heap_empty(&world.heap);
    assert_non_null(take(&world, 10));
    world_close(&world);
}

static void no_memory_keeps_what_there_is(void **state)
{
    static char letter = 'x';
    region_world world;
    world_open(&world, 0);
    order_count = 0;
    assert_null(take(&world, 10));
    assert_false(axo__region_defer(&world.region, &world.cache, note, &letter));
    axo__a64_store_relaxed(&world.memory.budget, 1);
    unsigned char *kept = take(&world, 100);
    assert_non_null(kept);
    memset(kept, 7, 100);
    assert_true(axo__region_defer(&world.region, &world.cache, note, &letter));
    assert_null(take(&world, AXO__POOL_MAX + 1));
    for (int i = 0; i < 100; i++)
        assert_int_equal(kept[i], 7);
    axo__region_end(&world.region, &world.cache, NULL);
    assert_int_equal(order_count, 1);
    world_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_do_not_overlap),
    cmocka_unit_test(sizes_that_cannot_be),
    cmocka_unit_test(clean_ups_run_last_in_first_out),
    cmocka_unit_test(memory_goes_at_the_end),
    cmocka_unit_test(no_memory_keeps_what_there_is),
};
TEST_MAIN(tests)
