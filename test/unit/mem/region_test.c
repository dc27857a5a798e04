/* region_test.c - an instance's heap: blocks taken, freed and given another size at random against
 * a model, the account to the byte, memory and bounds that refuse, clean-ups last in first out,
 * misuse that is seen, the end. Walls: region_wall_test.c. */
#include "unit/mem/region_world.h"

static void blocks_do_not_overlap(void **state)
{
    enum { MANY = 300 };
    static unsigned char *blocks[MANY];
    region_world world;
    world_open(&world, UINT64_MAX, 0);
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
    world_open(&world, UINT64_MAX, 0);
    void *block = take(&world, 1);
    assert_null(take(&world, 0));
    assert_null(take(&world, SIZE_MAX));
    assert_null(take(&world, SIZE_MAX - 15));
    assert_null(take(&world, SIZE_MAX / 2 + 1));
    assert_non_null(block);
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
    world_open(&world, UINT64_MAX, 0);
    order_count = 0;
    for (int i = 0; i < 8; i++) {
        char *letter = take(&world, AXO__REGION_CHUNK / 2);
        assert_non_null(letter);
        *letter = (char)('a' + i);
        assert_true(axo__region_defer(world.region, &world.cache, note, letter));
    }
    axo__region_end(&world.region, &world.cache, NULL, NULL);
    assert_string_equal(order, "hgfedcba");
    axo__region_end(&world.region, &world.cache, NULL, NULL);
    assert_int_equal(order_count, 8);
    world_close(&world);
}

/* Large blocks are given back one by one, so the balance shows the region's own memory. */
static void memory_goes_at_the_end(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    for (int i = 0; i < 5; i++)
        assert_non_null(take(&world, AXO__POOL_MAX));
    assert_int_equal(unit_heap_blocks(&world.heap), 6); /* a chunk of the pool for the region */
    axo__region_end(&world.region, &world.cache, NULL, NULL);
    assert_int_equal(unit_heap_blocks(&world.heap), 1);
    assert_non_null(take(&world, 10));
    world_close(&world);
}

static void no_memory_keeps_what_there_is(void **state)
{
    static char letter = 'x';
    region_world world;
    world_open(&world, 0, 0);
    order_count = 0;
    assert_null(take(&world, 10));
    assert_null(world.region);
    axo__a64_store_relaxed(&world.memory.budget, 1);
    unsigned char *kept = take(&world, 100);
    assert_non_null(kept);
    memset(kept, 7, 100);
    assert_true(axo__region_defer(world.region, &world.cache, note, &letter));
    assert_null(take(&world, AXO__POOL_MAX + 1));
    for (int i = 0; i < 100; i++)
        assert_int_equal(kept[i], 7);
    axo__region_end(&world.region, &world.cache, NULL, NULL);
    assert_int_equal(order_count, 1);
    world_close(&world);
}

/* ---- free ---- */

static void what_is_freed_is_used_again(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    void *keeps = take(&world, 8);
    void *first = take(&world, 100);
    (void)take(&world, 100);
    assert_int_equal(give(&world, first), AXO__FLAW_NONE);
    assert_ptr_equal(take(&world, 97), first); /* of the same class */
    size_t held = axo__region_measure(world.region).held;
    for (int i = 0; i < 100000; i++) {
        void *block = take(&world, (size_t)(i * 37 % 3000 + 1));
        assert_non_null(block);
        assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    }
    /* every class once, and no more: the sum of all strides is less than this */
    assert_true(axo__region_measure(world.region).held - held < 100000);
    assert_int_equal(give(&world, keeps), AXO__FLAW_NONE);
    world_close(&world);
}

/* However much there was: one chunk is left, and the account says so. */
static void the_last_free_leaves_one_chunk(void **state)
{
    enum { MANY = 2000 };
    static void *blocks[MANY];
    uint64_t kept[3];
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++)
            blocks[i] = take(&world, 200);
        assert_true(axo__region_measure(world.region).held > MANY * 200);
        for (size_t i = 0; i < MANY; i++)
            assert_int_equal(give(&world, blocks[(i * 7 + 3) % MANY]), AXO__FLAW_NONE);
        axo__region_size size = axo__region_measure(world.region);
        assert_int_equal(size.held, AXO__REGION_CHUNK);
        assert_int_equal(size.blocks, 0);
        assert_true(size.most > MANY * 200);
        kept[round] = unit_heap_blocks(&world.heap);
    }
    assert_int_equal(kept[1], kept[0]);
    assert_int_equal(kept[2], kept[0]);
    world_close(&world);
}

/* The library's own blocks hold the region as the program's do, and are none of the program's. */
static void own_blocks_stay(void **state)
{
    static char letter = 'y';
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    void *block = take(&world, 50);
    void *own = axo__region_take(world.region, &world.cache, 16);
    assert_non_null(own);
    assert_true(axo__region_defer(world.region, &world.cache, note, &letter));
    assert_int_equal(axo__region_measure(world.region).blocks, 1);
    assert_int_equal(give(&world, own), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    axo__region_give(world.region, &world.cache, own);
    order_count = 0;
    axo__region_end(&world.region, &world.cache, NULL, NULL);
    assert_string_equal(order, "y"); /* its record was not used again */
    world_close(&world);
}

static void misuse_is_seen_and_not_followed(void **state)
{
    static _Alignas(4096) unsigned char elsewhere[8192];
    region_world world;
    region_world other;
    world_open(&world, UINT64_MAX, 0);
    world_open(&other, UINT64_MAX, 0);
    unsigned char *block = take(&world, 200);
    unsigned char *large = take(&world, 9000);
    unsigned char *foreign = take(&other, 200);
    unsigned char local[64];
    (void)take(&world, 10);
    memset(block, 0x5a, 200);
    memset(large, 0x5a, 9000);
    memset(local, 0, sizeof local);
    uintptr_t aligned = ((uintptr_t)local + 31) & ~(uintptr_t)15;
    axo__region_size before = axo__region_measure(world.region);
    assert_int_equal(give(&world, foreign), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, block + 16), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, block + 1), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, large + 4096), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, (void *)aligned), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, elsewhere + 4096), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, elsewhere + 32), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, (void *)16), AXO__FLAW_STRANGE);
    assert_int_equal(give(&world, (void *)(uintptr_t)UINT64_C(0xffff800000000010)),
                     AXO__FLAW_STRANGE);
    void *out;
    assert_int_equal(axo__region_resize(world.region, &world.cache, foreign, 10, NULL, &out),
                     AXO__FLAW_STRANGE);
    assert_null(out);
    axo__region_size after = axo__region_measure(world.region);
    assert_int_equal(after.held, before.held);
    assert_int_equal(after.blocks, before.blocks);
    assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    before = axo__region_measure(world.region);
    assert_int_equal(give(&world, block), AXO__FLAW_FREED);
    assert_int_equal(axo__region_resize(world.region, &world.cache, block, 10, NULL, &out),
                     AXO__FLAW_FREED);
    after = axo__region_measure(world.region);
    assert_int_equal(after.held, before.held);
    assert_int_equal(after.blocks, before.blocks);
    assert_int_equal(give(&world, large), AXO__FLAW_NONE);
    world_close(&world);
    world_close(&other);
}

/* The memory is the same again, the instance another: its blocks are not the old one's. */
static void a_block_of_an_earlier_instance(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    (void)take(&world, 100);
    void *old = take(&world, 100);
    const void *first = world.region;
    axo__region_end(&world.region, &world.cache, NULL, NULL);
    world.key = 2;
    (void)take(&world, 10);
    assert_ptr_equal(world.region, first);
    assert_int_equal(give(&world, old), AXO__FLAW_STRANGE);
    world_close(&world);
}

/* ---- another size ---- */

static void bytes_that_both_sizes_have_stay(void **state)
{
    static const size_t sizes[] = {1,    16,   17,   100,   120,  3000, 4088, 4089, 5000,
                                   9000, 8000, 4000, 40000, 2000, 100,  99,   3,    1};
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    (void)take(&world, 1);
    unsigned char *block = take(&world, 5);
    size_t size = 5;
    memset(block, 3, size);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *out;
        assert_int_equal(
            axo__region_resize(world.region, &world.cache, block, sizes[i], NULL, &out),
            AXO__FLAW_NONE);
        assert_non_null(out);
        block = out;
        for (size_t k = 0; k < size && k < sizes[i]; k++)
            assert_int_equal(block[k], 3);
        size = sizes[i];
        memset(block, 3, size);
        assert_int_equal(axo__region_measure(world.region).blocks, 2);
    }
    assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    world_close(&world);
}

static void a_refused_size_leaves_the_block(void **state)
{
    region_world world;
    world_open(&world, 1, 0);
    void *out;
    unsigned char *block = take(&world, 100);
    memset(block, 9, 100);
    assert_int_equal(axo__region_resize(world.region, &world.cache, block, 100000, NULL, &out),
                     AXO__FLAW_NONE);
    assert_null(out);
    for (int i = 0; i < 100; i++)
        assert_int_equal(block[i], 9);
    assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    /* a smaller size never fails: the block stays where it is */
    axo__a64_store_relaxed(&world.memory.budget, 1);
    unsigned char *large = take(&world, 100000);
    assert_non_null(large);
    assert_int_equal(axo__region_resize(world.region, &world.cache, large, 50000, NULL, &out),
                     AXO__FLAW_NONE);
    assert_ptr_equal(out, large);
    assert_int_equal(axo__region_resize(world.region, &world.cache, large, 10000, NULL, &out),
                     AXO__FLAW_NONE);
    assert_ptr_equal(out, large);
    world_close(&world);
}

/* ---- bounds ---- */

static void a_bound_is_kept_to_the_byte(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    world.budget.max = 10000;
    world.budget.own = 300;
    void *blocks[200];
    size_t count = 0;
    while ((blocks[count] = take(&world, 90)) != NULL) {
        assert_true(axo__region_measure(world.region).held + 300 <= 10000);
        count++;
    }
    assert_int_equal(world.budget.refused, 1);
    assert_true(count >= 80); /* 97 bytes each would be 100, and there are heads */
    assert_true(axo__region_measure(world.region).held + 300 > 10000 - 90 - 64);
    assert_null(take(&world, 5000));
    /* what is freed may be had again, in a smaller size too */
    assert_int_equal(give(&world, blocks[7]), AXO__FLAW_NONE);
    assert_ptr_equal(take(&world, 90), blocks[7]);
    assert_int_equal(give(&world, blocks[9]), AXO__FLAW_NONE);
    assert_non_null(take(&world, 20));
    assert_null(take(&world, 90));
    world_close(&world);
    assert_int_equal(world.budget.own, 300);
}

/* A bound with room for just one block of 64 bytes and its region. */
static void a_bound_of_little(void **state)
{
    region_world world;
    size_t least = sizeof(struct axo__region) + 64 + 16;
    for (size_t max = 1; max < least + 200; max++) {
        world_open(&world, UINT64_MAX, 0);
        world.budget.max = max;
        void *block = take(&world, 64);
        assert_int_equal(block != NULL, max >= least);
        if (block != NULL)
            memset(block, 1, 64);
        if (world.region != NULL)
            assert_true(axo__region_measure(world.region).held <= max);
        world_close(&world);
    }
}

static void large_blocks_count(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    world.budget.max = 30000;
    void *first = take(&world, 20000);
    assert_non_null(first);
    size_t held = axo__region_measure(world.region).held;
    assert_null(take(&world, 20000));
    assert_int_equal(axo__region_measure(world.region).held, held);
    void *out;
    assert_int_equal(axo__region_resize(world.region, &world.cache, first, 25000, NULL, &out),
                     AXO__FLAW_NONE);
    assert_null(out); /* both sizes count while it is moved */
    assert_int_equal(axo__region_measure(world.region).held, held);
    assert_int_equal(give(&world, first), AXO__FLAW_NONE);
    assert_int_equal(axo__region_measure(world.region).held, AXO__REGION_CHUNK);
    assert_non_null(take(&world, 20000));
    world_close(&world);
}

/* ---- the lists need memory, too ---- */

static void freed_without_lists(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    void *blocks[64];
    size_t count = 0;
    world.budget.max = AXO__REGION_CHUNK;
    while (count < 64 && (blocks[count] = take(&world, 40)) != NULL)
        count++;
    assert_true(count >= 6 && count < 64);
    assert_int_equal(give(&world, blocks[2]), AXO__FLAW_NONE); /* no room for the lists */
    assert_int_equal(give(&world, blocks[2]), AXO__FLAW_FREED);
    assert_ptr_equal(take(&world, 40), blocks[2]);
    assert_null(take(&world, 40));
    assert_int_equal(give(&world, blocks[1]), AXO__FLAW_NONE);
    world.budget.max = 0; /* now there is: what was freed before gets into them */
    assert_int_equal(give(&world, blocks[3]), AXO__FLAW_NONE);
    void *one = take(&world, 40);
    void *two = take(&world, 40);
    assert_true((one == blocks[1] && two == blocks[3]) || (one == blocks[3] && two == blocks[1]));
    world_close(&world);
}

/* A freed block that is too small for the lists waits without them; the next one would do, and is
 * still the program's while they are made. */
static void lists_of_other_memory(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    void *blocks[64];
    size_t count = 0;
    void *large = take(&world, 300);
    void *second = take(&world, 300);
    world.budget.max = axo__region_measure(world.region).held;
    while (count < 64 && (blocks[count] = take(&world, 20)) != NULL)
        count++;
    assert_true(count >= 1);
    assert_int_equal(give(&world, blocks[0]), AXO__FLAW_NONE);
    assert_int_equal(give(&world, large), AXO__FLAW_NONE);
    assert_int_equal(give(&world, second), AXO__FLAW_NONE); /* the lists lie in `large` */
    void *again = take(&world, 300);
    assert_ptr_equal(again, second);
    memset(again, 0xff, 300);
    assert_null(take(&world, 300));
    assert_ptr_equal(take(&world, 20), blocks[0]);
    world_close(&world);
}

/* ---- against a model ---- */

enum { MODEL_BLOCKS = 200, MODEL_STEPS = 60000 };

typedef struct model_block {
    unsigned char *at;
    size_t size;
    unsigned char fill;
} model_block;

static size_t model_size(axo__random *random)
{
    static const uint32_t bounds[] = {16, 128, 1024, 4200, 20000};
    uint32_t draw = axo__random_below(random, 100);
    uint32_t bound = bounds[draw < 40 ? 0 : draw < 70 ? 1 : draw < 88 ? 2 : draw < 97 ? 3 : 4];
    return 1 + axo__random_below(random, bound);
}

static void model_whole(const model_block *block, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (block->at[i] != block->fill)
            fail_msg("byte %zu of a block of %zu", i, block->size);
    }
}

static void model_fill(model_block *block, axo__random *random)
{
    block->fill = (unsigned char)axo__random_below(random, 256);
    memset(block->at, block->fill, block->size);
    assert_int_equal((uintptr_t)block->at % 16, 0);
}

static void model_step(region_world *world, axo__random *random, model_block *block)
{
    axo__region_report report = world_report(world);
    uint32_t draw = axo__random_below(random, 3);
    size_t size = model_size(random);
    void *out;
    if (block->at == NULL) {
        block->at = take(world, size);
        block->size = size;
        if (block->at != NULL)
            model_fill(block, random);
        return;
    }
    model_whole(block, block->size);
    if (draw > 0) {
        assert_int_equal(axo__region_free(world->region, &world->cache, block->at, &report),
                         AXO__FLAW_NONE);
        block->at = NULL;
        return;
    }
    assert_int_equal(
        axo__region_resize(world->region, &world->cache, block->at, size, &report, &out),
        AXO__FLAW_NONE);
    if (out == NULL) {
        assert_true(size > block->size);
        return;
    }
    block->at = out;
    model_whole(block, size < block->size ? size : block->size);
    block->size = size;
    model_fill(block, random);
}

/* 200 places, each step one of them; now and then all memory is refused, or there is a bound. What
 * is held never exceeds the bound, and is what the allocator has given, at the end nothing. */
static void model_run(uint32_t walls, uint64_t seed, uint32_t steps)
{
    static model_block blocks[MODEL_BLOCKS];
    axo__random random;
    region_world world;
    axo__random_init(&random, seed, 1);
    memset(blocks, 0, sizeof blocks);
    world_open(&world, UINT64_MAX, walls);
    for (uint32_t step = 0; step < steps; step++) {
        if (step % 500 == 0) {
            bool refuses = axo__random_below(&random, 4) == 0;
            axo__a64_store_relaxed(&world.memory.budget, refuses ? 0 : UINT64_MAX / 2);
            size_t held = axo__region_measure(world.region).held;
            bool bounds = axo__random_below(&random, 3) == 0;
            world.budget.max = bounds ? held + axo__random_below(&random, 20000) : 0;
        }
        /* few places at times, so that the last block goes, too */
        uint32_t places = step / 3000 % 3 == 2 ? 3 : MODEL_BLOCKS;
        uint32_t place = axo__random_below(&random, places);
        if (places == 3 && step % 3000 == 0) {
            for (uint32_t i = 3; i < MODEL_BLOCKS; i++) {
                if (blocks[i].at != NULL)
                    assert_int_equal(give(&world, blocks[i].at), AXO__FLAW_NONE);
                blocks[i].at = NULL;
            }
        }
        model_step(&world, &random, &blocks[place]);
        axo__region_size size = axo__region_measure(world.region);
        uint32_t living = 0;
        for (uint32_t i = 0; i < MODEL_BLOCKS; i++)
            living += blocks[i].at != NULL;
        assert_int_equal(size.blocks, living);
        if (world.budget.max != 0)
            assert_true(size.held <= world.budget.max);
        assert_int_equal(axo__a64_load_relaxed(&world.tree.tree), size.held);
    }
    for (uint32_t i = 0; i < MODEL_BLOCKS; i++) {
        if (blocks[i].at != NULL)
            model_whole(&blocks[i], blocks[i].size);
    }
    assert_int_equal(world.found, 0);
    world_close(&world);
}

static void model_without_walls(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++)
        model_run(0, seed, MODEL_STEPS);
}

static void model_with_canaries(void **state)
{
    model_run(AXO_WALL_CANARY, 11, MODEL_STEPS);
    model_run(AXO_WALL_CANARY | AXO_WALL_FREED, 12, MODEL_STEPS);
    model_run(AXO_WALL_FREED, 13, MODEL_STEPS);
}

static void model_with_pages(void **state)
{
    model_run(AXO_WALL_GUARD, 21, MODEL_STEPS / 20);
    model_run(AXO_WALL_GUARD | AXO_WALL_CANARY | AXO_WALL_FREED, 22, MODEL_STEPS / 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_do_not_overlap),
    cmocka_unit_test(sizes_that_cannot_be),
    cmocka_unit_test(clean_ups_run_last_in_first_out),
    cmocka_unit_test(memory_goes_at_the_end),
    cmocka_unit_test(no_memory_keeps_what_there_is),
    cmocka_unit_test(what_is_freed_is_used_again),
    cmocka_unit_test(the_last_free_leaves_one_chunk),
    cmocka_unit_test(own_blocks_stay),
    cmocka_unit_test(misuse_is_seen_and_not_followed),
    cmocka_unit_test(a_block_of_an_earlier_instance),
    cmocka_unit_test(bytes_that_both_sizes_have_stay),
    cmocka_unit_test(a_refused_size_leaves_the_block),
    cmocka_unit_test(a_bound_is_kept_to_the_byte),
    cmocka_unit_test(a_bound_of_little),
    cmocka_unit_test(large_blocks_count),
    cmocka_unit_test(freed_without_lists),
    cmocka_unit_test(lists_of_other_memory),
    cmocka_unit_test(model_without_walls),
    cmocka_unit_test(model_with_canaries),
    cmocka_unit_test(model_with_pages),
};
TEST_MAIN(tests)
