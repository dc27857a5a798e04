/* slab_test.c - pooled blocks: sizes, reuse, magazines between caches, no memory, balance. */
#include "unit/unit.h"

#include "mem/slab.h"

typedef struct pool_world {
    axo__heap heap;
    unit_memory memory;
    axo__pool pool;
    axo__cache a;
    axo__cache b;
} pool_world;

static void world_open(pool_world *world, uint64_t budget)
{
    memset(world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, budget);
    assert_true(axo__pool_init(&world->pool, &world->heap));
    axo__cache_init(&world->a, &world->pool);
    axo__cache_init(&world->b, &world->pool);
}

static void world_close(pool_world *world)
{
    axo__pool_fini(&world->pool);
    unit_heap_empty(&world->heap);
}

static const size_t sizes[] = {0,   1,   16,  17,  32,   33,   64,   65,   96,   97,   128,
                               129, 256, 257, 512, 1024, 1025, 1536, 2048, 2049, 4095, 4096,
                               4097, 100000};
#define SIZES (sizeof sizes / sizeof sizes[0])

/* Every byte asked for is one's own, and blocks are aligned for any object. */
static void blocks_do_not_overlap(void **state)
{
    enum { EACH = 40 };
    static unsigned char *blocks[SIZES][EACH];
    pool_world world;
    world_open(&world, UINT64_MAX);
    for (size_t s = 0; s < SIZES; s++) {
        for (int i = 0; i < EACH; i++) {
            blocks[s][i] = axo__pool_alloc(&world.a, sizes[s]);
            assert_non_null(blocks[s][i]);
            assert_int_equal((uintptr_t)blocks[s][i] % _Alignof(max_align_t), 0);
            memset(blocks[s][i], (int)(s * 7 + (size_t)i) & 0xff, sizes[s]);
        }
    }
    for (size_t s = 0; s < SIZES; s++) {
        for (int i = 0; i < EACH; i++) {
            for (size_t k = 0; k < sizes[s]; k++)
                assert_int_equal(blocks[s][i][k], (s * 7 + (size_t)i) & 0xff);
            axo__pool_free(&world.a, blocks[s][i], sizes[s]);
        }
    }
    world_close(&world);
}

/* A block is aligned to the greatest power of two in its size, up to a line: blocks of each class
 * side by side, so that none is by chance. */
static void blocks_are_aligned_as_their_size_is(void **state)
{
    enum { EACH = 5 };
    void *blocks[EACH];
    pool_world world;
    assert_int_equal(axo__pool_align(0), AXO__CACHE_LINE);
    assert_int_equal(axo__pool_align(1), 1);
    assert_int_equal(axo__pool_align(96), 32);
    assert_int_equal(axo__pool_align(4096), AXO__CACHE_LINE);
    world_open(&world, UINT64_MAX);
    for (size_t size = 16; size <= AXO__POOL_MAX + 256; size += 16) {
        for (int i = 0; i < EACH; i++) {
            blocks[i] = axo__pool_alloc(&world.a, size);
            assert_non_null(blocks[i]);
            assert_int_equal((uintptr_t)blocks[i] % axo__pool_align(size), 0);
        }
        for (int i = 0; i < EACH; i++)
            axo__pool_free(&world.a, blocks[i], size);
    }
    world_close(&world);
}

static void a_freed_block_is_used_again(void **state)
{
    pool_world world;
    world_open(&world, UINT64_MAX);
    void *first = axo__pool_alloc(&world.a, 100);
    axo__pool_free(&world.a, first, 100);
    uint64_t blocks = unit_heap_blocks(&world.heap);
    for (int i = 0; i < 10000; i++) {
        void *block = axo__pool_alloc(&world.a, 100);
        assert_non_null(block);
        axo__pool_free(&world.a, block, 100);
    }
    assert_int_equal(unit_heap_blocks(&world.heap), blocks);
    axo__pool_free(&world.a, NULL, 100);
    world_close(&world);
}

/* One cache takes, the other frees: blocks come back in batches, so memory does not grow. */
static void blocks_come_back_from_elsewhere(void **state)
{
    enum { MANY = 4 * AXO__MAGAZINE };
    static void *blocks[MANY];
    pool_world world;
    uint64_t after_warm_up = 0;
    world_open(&world, UINT64_MAX);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = axo__pool_alloc(&world.a, 200);
        for (int i = 0; i < MANY; i++)
            axo__pool_free(&world.b, blocks[i], 200);
        if (round == 20)
            after_warm_up = unit_heap_blocks(&world.heap);
    }
    assert_int_equal(unit_heap_blocks(&world.heap), after_warm_up);
    world_close(&world);
}

static void flush_hands_whole_magazines_over(void **state)
{
    enum { MANY = 2 * AXO__MAGAZINE };
    static void *blocks[MANY];
    pool_world world;
    world_open(&world, UINT64_MAX);
    for (int i = 0; i < MANY; i++)
        blocks[i] = axo__pool_alloc(&world.a, 64);
    for (int i = 0; i < MANY; i++)
        axo__pool_free(&world.a, blocks[i], 64);
    axo__cache_flush(&world.a);
    uint64_t held = unit_heap_blocks(&world.heap);
    for (int i = 0; i < MANY; i++)
        blocks[i] = axo__pool_alloc(&world.b, 64);
    assert_int_equal(unit_heap_blocks(&world.heap), held);
    world_close(&world);
}

static void large_blocks_go_straight_through(void **state)
{
    pool_world world;
    world_open(&world, UINT64_MAX);
    void *block = axo__pool_alloc(&world.a, AXO__POOL_MAX + 1);
    assert_non_null(block);
    assert_int_equal(unit_heap_blocks(&world.heap), 1);
    axo__pool_free(&world.a, block, AXO__POOL_MAX + 1);
    unit_heap_empty(&world.heap);
    world_close(&world);
}

static void no_memory_changes_nothing(void **state)
{
    pool_world world;
    world_open(&world, 0);
    assert_null(axo__pool_alloc(&world.a, 64));
    assert_null(axo__pool_alloc(&world.a, AXO__POOL_MAX + 1));
    unit_heap_empty(&world.heap);
    axo__a64_store_relaxed(&world.memory.budget, 1);
    uint32_t got = 0;
    while (axo__pool_alloc(&world.a, 64) != NULL)
        got++;
    assert_int_equal(got, (AXO__POOL_CHUNK - AXO__CACHE_LINE) / 64);
    world_close(&world);
}

/* ---- threads: each its own cache, blocks handed round ---- */

enum { SWAP_SLOTS = 64, SWAP_TURNS = 50000, SWAPPERS = 4 };

typedef struct swap {
    axo__cache caches[SWAPPERS];
    axo__aptr slots[SWAP_SLOTS];
    axo__a32 wrong;
} swap;

static void swap_thread(void *arg, uint32_t index)
{
    swap *shared = arg;
    for (uint32_t turn = 0; turn < SWAP_TURNS; turn++) {
        uint64_t *block = axo__pool_alloc(&shared->caches[index], 48);
        if (block == NULL) {
            (void)axo__a32_add_relaxed(&shared->wrong, 1);
            continue;
        }
        for (uint64_t i = 0; i < 6; i++)
            block[i] = (uintptr_t)block + i;
        block = axo__aptr_xchg_acq_rel(&shared->slots[(turn * 7 + index) % SWAP_SLOTS], block);
        if (block == NULL)
            continue;
        for (uint64_t i = 0; i < 6; i++) {
            if (block[i] != (uintptr_t)block + i)
                (void)axo__a32_add_relaxed(&shared->wrong, 1);
        }
        axo__pool_free(&shared->caches[index], block, 48);
    }
    axo__cache_flush(&shared->caches[index]);
}

static void threads_hand_blocks_round(void **state)
{
    static swap shared;
    pool_world world;
    world_open(&world, UINT64_MAX);
    for (uint32_t i = 0; i < SWAPPERS; i++)
        axo__cache_init(&shared.caches[i], &world.pool);
    unit_run_threads(SWAPPERS, swap_thread, &shared);
    assert_int_equal(axo__a32_load_relaxed(&shared.wrong), 0);
    world_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_do_not_overlap),
    cmocka_unit_test(blocks_are_aligned_as_their_size_is),
    cmocka_unit_test(a_freed_block_is_used_again),
    cmocka_unit_test(blocks_come_back_from_elsewhere),
    cmocka_unit_test(flush_hands_whole_magazines_over),
    cmocka_unit_test(large_blocks_go_straight_through),
    cmocka_unit_test(no_memory_changes_nothing),
    cmocka_unit_test(threads_hand_blocks_round),
};
TEST_MAIN(tests)
