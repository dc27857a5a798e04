/* slab_test.c - pooled blocks: sizes, reuse, magazines between caches, no memory, balance,
 * trims. */
#include "unit/unit.h"

#include "mem/slab_trim.h"

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
static void come_back(size_t size, void (*give)(axo__cache *cache, void *memory, size_t size))
{
    enum { MANY = 4 * AXO__MAGAZINE };
    static void *blocks[MANY];
    pool_world world;
    uint64_t after_warm_up = 0;
    world_open(&world, UINT64_MAX);
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < MANY; i++)
            blocks[i] = axo__pool_alloc(&world.a, size);
        for (int i = 0; i < MANY; i++)
            give(&world.b, blocks[i], size);
        if (round == 20)
            after_warm_up = unit_heap_blocks(&world.heap);
    }
    assert_int_equal(unit_heap_blocks(&world.heap), after_warm_up);
    world_close(&world);
}

static void blocks_come_back_from_elsewhere(void **state)
{
    come_back(200, axo__pool_free);
}

static void lines_come_back_from_elsewhere(void **state)
{
    come_back(AXO__CACHE_LINE, axo__pool_free_line);
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

/* ---- trims ---- */

static uint64_t trimmed(pool_world *world)
{
    uint64_t bytes = 1;
    assert_true(axo__pool_trim_begin(&world->pool) != 0);
    axo__cache_heed(&world->a);
    axo__cache_heed(&world->b);
    assert_true(axo__pool_trim(&world->pool, &bytes));
    axo__pool_trim_end(&world->pool);
    for (axo__chunk *chunk = world->pool.chunks; chunk != NULL; chunk = chunk->next)
        assert_int_equal(chunk->free, 0);
    return bytes;
}

enum { CHUNKS = 5, MOST = CHUNKS * (AXO__POOL_CHUNK / 64) };

/* Takes as many blocks as `chunks` chunks have; returns how many that are. */
static uint32_t take_chunks(pool_world *world, size_t size, uint32_t chunks, void **out)
{
    uint32_t count = chunks * (uint32_t)((AXO__POOL_CHUNK - AXO__CACHE_LINE) / size);
    for (uint32_t i = 0; i < count; i++) {
        out[i] = axo__pool_alloc(&world->a, size);
        assert_non_null(out[i]);
        memset(out[i], 0x5a, size);
    }
    assert_int_equal(unit_heap_blocks(&world->heap), chunks);
    return count;
}

static void all_chunks_that_are_free_go(void **state)
{
    static const size_t each[] = {64, 96, 256, 1536, 4096};
    static void *blocks[MOST];
    for (size_t s = 0; s < sizeof each / sizeof each[0]; s++) {
        pool_world world;
        world_open(&world, UINT64_MAX);
        assert_int_equal(trimmed(&world), 0); /* there is none */
        uint32_t count = take_chunks(&world, each[s], CHUNKS, blocks);
        assert_int_equal(trimmed(&world), 0);
        for (uint32_t i = 0; i < count; i++)
            axo__pool_free(i % 3 == 0 ? &world.b : &world.a, blocks[i], each[s]);
        assert_int_equal(trimmed(&world), CHUNKS * AXO__POOL_CHUNK);
        unit_heap_empty(&world.heap);
        assert_int_equal(trimmed(&world), 0);
        assert_int_equal(take_chunks(&world, each[s], CHUNKS, blocks), count);
        for (uint32_t i = 0; i < count; i++)
            axo__pool_free(&world.a, blocks[i], each[s]);
        world_close(&world);
    }
}

/* A chunk stays for one block that is used, whichever: all its others are handed out again, once
 * each, before another chunk is asked for. */
static void a_used_block_keeps_its_chunk(void **state)
{
    static void *blocks[MOST];
    static void *again[MOST];
    const size_t size = 256;
    const uint32_t in_one = (AXO__POOL_CHUNK - AXO__CACHE_LINE) / 256;
    for (uint32_t used = 0; used < CHUNKS * in_one; used += used % in_one == 0 ? in_one - 1 : 1) {
        pool_world world;
        world_open(&world, UINT64_MAX);
        uint32_t count = take_chunks(&world, size, CHUNKS, blocks);
        for (uint32_t i = 0; i < count; i++) {
            if (i != used)
                axo__pool_free(&world.a, blocks[i], size);
        }
        assert_int_equal(trimmed(&world), (CHUNKS - 1) * AXO__POOL_CHUNK);
        assert_int_equal(unit_heap_blocks(&world.heap), 1);
        for (uint32_t i = 0; i < 256; i++)
            assert_int_equal(((unsigned char *)blocks[used])[i], 0x5a);
        for (uint32_t i = 0; i < in_one - 1; i++) {
            again[i] = axo__pool_alloc(i % 2 == 0 ? &world.a : &world.b, size);
            assert_ptr_not_equal(again[i], blocks[used]);
            assert_true((uintptr_t)again[i] - (uintptr_t)blocks[used] < AXO__POOL_CHUNK ||
                        (uintptr_t)blocks[used] - (uintptr_t)again[i] < AXO__POOL_CHUNK);
            memset(again[i], (int)i, size);
            if (i % 2 == 1) /* what one cache has taken beyond its need is not the other's */
                axo__cache_flush(&world.b);
            else
                axo__cache_flush(&world.a);
        }
        for (uint32_t i = 0; i < in_one - 1; i++) {
            assert_int_equal(((unsigned char *)again[i])[255], i & 0xff);
            axo__pool_free(&world.b, again[i], size);
        }
        assert_int_equal(unit_heap_blocks(&world.heap), 1);
        axo__pool_free(&world.b, blocks[used], size);
        assert_int_equal(trimmed(&world), AXO__POOL_CHUNK);
        world_close(&world);
    }
}

/* Of two classes in turn each has its own chunks. A magazine that is in a cache which has not been
 * flushed keeps its chunks. */
static void classes_go_apart(void **state)
{
    enum { EACH = 3 * AXO__MAGAZINE };
    static void *small[EACH];
    static void *large[EACH];
    pool_world world;
    uint64_t bytes;
    world_open(&world, UINT64_MAX);
    for (int i = 0; i < EACH; i++) {
        small[i] = axo__pool_alloc(&world.a, 128);
        large[i] = axo__pool_alloc(&world.b, 1024);
    }
    uint64_t both = unit_heap_blocks(&world.heap);
    for (int i = 0; i < EACH; i++)
        axo__pool_free(&world.a, large[i], 1024);
    assert_true(axo__pool_trim_begin(&world.pool) != 0);
    assert_int_equal(axo__pool_trim_begin(&world.pool), 0); /* one at a time */
    assert_true(axo__pool_trim(&world.pool, &bytes));
    assert_int_equal(bytes, 0);
    axo__pool_trim_end(&world.pool);
    assert_int_equal(unit_heap_blocks(&world.heap), both);
    uint64_t given = trimmed(&world);
    const uint32_t in_one = (AXO__POOL_CHUNK - AXO__CACHE_LINE) / 1024;
    assert_int_equal(given, (EACH + in_one - 1) / in_one * AXO__POOL_CHUNK);
    for (int i = 0; i < EACH; i++)
        axo__pool_free(&world.b, small[i], 128);
    assert_int_equal(trimmed(&world) + given, both * AXO__POOL_CHUNK);
    unit_heap_empty(&world.heap);
    world_close(&world);
}

static void a_trim_without_memory_changes_nothing(void **state)
{
    static void *blocks[MOST];
    pool_world world;
    uint64_t bytes = 1;
    world_open(&world, UINT64_MAX);
    uint32_t count = take_chunks(&world, 512, CHUNKS, blocks);
    for (uint32_t i = 0; i < count; i++)
        axo__pool_free(&world.a, blocks[i], 512);
    axo__a64_store_relaxed(&world.memory.budget, 0);
    assert_true(axo__pool_trim_begin(&world.pool) != 0);
    axo__cache_heed(&world.a);
    assert_false(axo__pool_trim(&world.pool, &bytes));
    assert_int_equal(bytes, 0);
    axo__pool_trim_end(&world.pool);
    for (uint32_t i = 0; i < count; i++)
        assert_non_null(blocks[i] = axo__pool_alloc(&world.b, 512));
    assert_null(axo__pool_alloc(&world.b, 512));
    for (uint32_t i = 0; i < count; i++)
        axo__pool_free(&world.b, blocks[i], 512);
    axo__a64_store_relaxed(&world.memory.budget, UINT64_MAX);
    assert_int_equal(trimmed(&world), CHUNKS * AXO__POOL_CHUNK);
    world_close(&world);
}

/* ---- trims under load ---- */

/* Rounds of each thread, and more of them until a trim has found something. */
enum { LOAD_THREADS = 4, LOAD_ROUNDS = 400, LOAD_ROUNDS_MAX = 200000, LOAD_BLOCKS = 300 };

typedef struct load {
    pool_world world;
    axo__cache caches[LOAD_THREADS];
    axo__a32 ended;
    axo__a64 bytes;
} load;

static void load_trim(load *all)
{
    while (axo__a32_load_acquire(&all->ended) != LOAD_THREADS - 1) {
        uint64_t bytes;
        if (axo__pool_trim_begin(&all->world.pool) == 0)
            abort();
        if (!axo__pool_trim(&all->world.pool, &bytes))
            abort();
        axo__pool_trim_end(&all->world.pool);
        (void)axo__a64_add_relaxed(&all->bytes, bytes);
    }
}

static bool load_goes_on(const load *all, uint32_t round)
{
    return round < LOAD_ROUNDS ||
           (round < LOAD_ROUNDS_MAX && axo__a64_load_relaxed(&all->bytes) == 0);
}

/* Each byte of a block is its holder's, from when it is taken to when it is given back. */
static void load_work(load *all, uint32_t index)
{
    static const size_t each[] = {64, 200, 1000, 4000};
    unsigned char *blocks[LOAD_BLOCKS];
    axo__cache *cache = &all->caches[index];
    for (uint32_t round = 0; load_goes_on(all, round); round++) {
        size_t size = each[(round + index) % 4];
        for (uint32_t i = 0; i < LOAD_BLOCKS; i++) {
            blocks[i] = axo__pool_alloc(cache, size);
            if (blocks[i] == NULL)
                abort();
            memset(blocks[i], (int)(index * 50 + i % 50), size);
        }
        for (uint32_t i = 0; i < LOAD_BLOCKS; i++) {
            for (size_t k = 0; k < size; k += size - 1) {
                if (blocks[i][k] != index * 50 + i % 50)
                    abort();
            }
            axo__pool_free(cache, blocks[i], size);
        }
        axo__cache_heed(cache);
    }
    axo__cache_flush(cache);
    (void)axo__a32_add_acq_rel(&all->ended, 1);
}

static void load_thread(void *arg, uint32_t index)
{
    if (index == 0)
        load_trim(arg);
    else
        load_work(arg, index);
}

static void trims_take_nothing_that_is_used(void **state)
{
    static load all;
    memset((void *)&all, 0, sizeof all);
    world_open(&all.world, UINT64_MAX);
    for (uint32_t i = 0; i < LOAD_THREADS; i++)
        axo__cache_init(&all.caches[i], &all.world.pool);
    unit_run_threads(LOAD_THREADS, load_thread, &all);
    assert_true(axo__a64_load_relaxed(&all.bytes) > 0);
    (void)trimmed(&all.world);
    unit_heap_empty(&all.world.heap);
    world_close(&all.world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_do_not_overlap),
    cmocka_unit_test(blocks_are_aligned_as_their_size_is),
    cmocka_unit_test(a_freed_block_is_used_again),
    cmocka_unit_test(blocks_come_back_from_elsewhere),
    cmocka_unit_test(lines_come_back_from_elsewhere),
    cmocka_unit_test(flush_hands_whole_magazines_over),
    cmocka_unit_test(large_blocks_go_straight_through),
    cmocka_unit_test(no_memory_changes_nothing),
    cmocka_unit_test(threads_hand_blocks_round),
    cmocka_unit_test(all_chunks_that_are_free_go),
    cmocka_unit_test(a_used_block_keeps_its_chunk),
    cmocka_unit_test(classes_go_apart),
    cmocka_unit_test(a_trim_without_memory_changes_nothing),
    cmocka_unit_test(trims_take_nothing_that_is_used),
};
TEST_MAIN(tests)
