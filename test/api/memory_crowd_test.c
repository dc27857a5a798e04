/* memory_crowd_test.c - as many instances' heaps as a program may have: 100 000 actors with three
 * blocks each. All hold what one holds that is alone, to the byte, also after each of them was
 * restarted, and as many that come after them, in the memory of the first; nothing is left. */
#include "api/heap_world.h"
#include "support/slower.h"

enum { CROWD = 100000, CROWD_BLOCKS = 3 };

static const size_t crowd_sizes[CROWD_BLOCKS] = {24, 100, 200};

typedef struct crowd_state {
    unsigned char *blocks[CROWD_BLOCKS];
} crowd_state;

static axo_ref crowd_refs[CROWD];
static uint64_t crowd_held;   /* by all that were asked */
static uint64_t crowd_blocks; /* and how many blocks */
static uint32_t crowd_size;

static unsigned char crowd_mark(axo_ctx *ctx, size_t block)
{
    return (unsigned char)(axo_self(ctx).bits * 31 + axo_instance(ctx) * 7 + block);
}

static axo_status crowd_construct(axo_ctx *ctx, void *memory, const void *args)
{
    crowd_state *state = memory;
    for (size_t i = 0; i < CROWD_BLOCKS; i++) {
        state->blocks[i] = axo_must_alloc(ctx, crowd_sizes[i]);
        memset(state->blocks[i], crowd_mark(ctx, i), crowd_sizes[i]);
    }
    return AXO_OK;
}

static axo_status crowd_looks(axo_ctx *ctx, void *memory, const axo_message *message)
{
    const crowd_state *state = memory;
    const axo_memory mine = axo_memory_of(ctx);
    for (size_t i = 0; i < CROWD_BLOCKS; i++) {
        for (size_t at = 0; at < crowd_sizes[i]; at++)
            assert_int_equal(state->blocks[i][at], crowd_mark(ctx, i));
    }
    crowd_held += mine.held;
    crowd_blocks += mine.blocks;
    return AXO_OK;
}

static axo_status crowd_fails(axo_ctx *ctx, void *memory, const axo_message *message)
{
    return axo_fail(ctx, 5, "as told");
}

static const axo_class crowd_class = AXO_CLASS(.name = "crowd", .state_size = sizeof(crowd_state),
                                               .construct = crowd_construct,
                                               .receive = heap_receive);

static void crowd_do(heap_fn fn)
{
    for (uint32_t i = 0; i < crowd_size; i++)
        assert_int_equal(axo_system_send(heap.system, crowd_refs[i], HEAP_DO, &fn, sizeof fn),
                         AXO_OK);
    heap_run();
}

/* What the system says that it holds is what its allocator has given. */
static uint64_t crowd_bytes(void)
{
    axo_stats stats = AXO_STATS();
    assert_int_equal(axo_system_stats(heap.system, &stats), AXO_OK);
    assert_int_equal(stats.memory_bytes, heap.held);
    assert_int_equal(stats.memory_blocks, heap.blocks);
    return heap.held;
}

/* All have their blocks as they have filled them, and hold `each`. */
static void crowd_holds(uint64_t each)
{
    crowd_held = crowd_blocks = 0;
    crowd_do(crowd_looks);
    assert_int_equal(crowd_blocks, (uint64_t)CROWD_BLOCKS * crowd_size);
    assert_int_equal(crowd_held, each * crowd_size);
    assert_int_equal(heap.failures, 0);
}

static void crowd_comes(void)
{
    const axo_props props = AXO_PROPS(.cls = &crowd_class);
    for (uint32_t i = 0; i < crowd_size; i++)
        assert_int_equal(axo_system_spawn(heap.system, &props, &crowd_refs[i]), AXO_OK);
    heap_run();
}

static void crowd_goes(void)
{
    for (uint32_t i = 0; i < crowd_size; i++)
        assert_int_equal(axo_system_stop_actor(heap.system, crowd_refs[i]), AXO_OK);
    heap_run();
}

static void many_instances_heaps(void **state)
{
    crowd_size = slower_share(CROWD, 5000);
    heap_start(0, NULL);
    crowd_refs[0] = heap_spawn((axo_props)AXO_PROPS(.cls = &crowd_class));
    crowd_held = 0;
    heap_do(crowd_refs[0], crowd_looks);
    const uint64_t each = crowd_held; /* by one that is alone */
    assert_true(each >= 24 + 100 + 200 + sizeof(crowd_state) && each <= 1200);
    assert_int_equal(axo_system_stop_actor(heap.system, crowd_refs[0]), AXO_OK);
    heap_run();
    const uint64_t before = crowd_bytes();
    crowd_comes();
    const uint64_t with = crowd_bytes();
    assert_true(with - before >= each * (crowd_size - 64)); /* some lie in what was there before */
    crowd_holds(each);
    heap.directive = AXO_RESTART;
    crowd_do(crowd_fails);
    assert_int_equal(heap.failures, crowd_size);
    heap.failures = 0;
    crowd_holds(each);
    crowd_goes();
    const uint64_t most = crowd_bytes();
    crowd_comes(); /* in what the first ones have given back */
    crowd_holds(each);
    assert_true(crowd_bytes() <= most + most / 100);
    crowd_goes();
    printf("%u bytes an actor, %u of them its instance's\n",
           (uint32_t)((with - before) / crowd_size), (uint32_t)each);
    heap_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(many_instances_heaps),
};
TEST_MAIN(tests)
