/* memory_test.c - memory.h as actors have it: blocks and their end, however the instance ends;
 * bounds of an instance and of a subtree; misuse, which fails the callback and changes nothing. */
#include "api/heap_world.h"
#include "support/slower.h"

/* ---- blocks ---- */

static unsigned char *kept;

static axo_status takes_and_gives(axo_ctx *ctx, void *state, const axo_message *message)
{
    unsigned char *block = axo_alloc(ctx, 100);
    unsigned char *other = axo_realloc(ctx, NULL, 10);
    unsigned char *large = axo_must_alloc(ctx, 50000);
    assert_non_null(block);
    assert_non_null(other);
    assert_int_equal(axo_memory_of(ctx).blocks, 3);
    memset(block, 1, 100);
    memset(large, 2, 50000);
    block = axo_realloc(ctx, block, 5000);
    assert_int_equal(block[99], 1);
    block = axo_realloc(ctx, block, 20);
    assert_int_equal(block[19], 1);
    axo_free(ctx, NULL);
    axo_free(ctx, other);
    axo_free(ctx, large);
    assert_null(axo_realloc(ctx, block, 0));
    assert_null(axo_realloc(ctx, NULL, 0));
    assert_null(axo_realloc(ctx, NULL, SIZE_MAX));
    assert_int_equal(axo_memory_of(ctx).blocks, 0);
    return AXO_OK;
}

static void blocks_come_and_go(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    for (int i = 0; i < 3; i++)
        heap_do(ref, takes_and_gives);
    assert_int_equal(heap.failures, 0);
    heap_end();
}

/* A long life: what a message takes and gives back does not add up. */
static axo_status uses_and_gives(axo_ctx *ctx, void *state, const axo_message *message)
{
    void *blocks[50];
    for (size_t i = 0; i < 50; i++)
        blocks[i] = axo_must_alloc(ctx, 1 + i * 97);
    for (size_t i = 0; i < 50; i++)
        axo_free(ctx, blocks[(i * 7) % 50]);
    return AXO_OK;
}

static axo_status becomes(axo_ctx *ctx, void *state, const axo_message *message)
{
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(axo_become(ctx, heap_receive), AXO_OK);
        assert_int_equal(axo_become(ctx, heap_receive), AXO_OK);
        assert_int_equal(axo_unbecome(ctx), AXO_OK);
        assert_int_equal(axo_unbecome(ctx), AXO_OK);
    }
    assert_int_equal(axo_memory_of(ctx).blocks, 0);
    return AXO_OK;
}

static size_t measured;

static axo_status measures(axo_ctx *ctx, void *state, const axo_message *message)
{
    measured = axo_memory_of(ctx).held;
    return AXO_OK;
}

static void a_long_life_does_not_grow(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    kept = NULL;
    heap_do(ref, uses_and_gives);
    heap_do(ref, becomes);
    heap_do(ref, measures);
    size_t before = measured;
    uint64_t held = heap.held;
    for (int i = 0; i < 200; i++) {
        heap_do(ref, uses_and_gives);
        heap_do(ref, becomes);
    }
    heap_do(ref, measures);
    assert_int_equal(measured, before);
    assert_int_equal(heap.held, held);
    assert_int_equal(heap.failures, 0);
    heap_end();
}

/* ---- the end ---- */

static axo_status takes_large(axo_ctx *ctx, void *state, const axo_message *message)
{
    for (int i = 0; i < 10; i++)
        memset(axo_must_alloc(ctx, 100000), 1, 100000);
    for (int i = 0; i < 100; i++)
        (void)axo_must_alloc(ctx, 300);
    return AXO_OK;
}

static axo_status takes_and_fails(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)takes_large(ctx, state, message);
    return axo_fail(ctx, 1, "with memory");
}

static axo_status takes_and_throws(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)takes_large(ctx, state, message);
    axo_throw(ctx, 1, "with memory");
}

static axo_status takes_and_stops(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)takes_large(ctx, state, message);
    return axo_stop_self(ctx);
}

static axo_status settles(axo_ctx *ctx, void *state)
{
    (void)takes_large(ctx, state, NULL);
    return axo_fail(ctx, 2, "in settle");
}

static axo_status wants_settle(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_want_settle(ctx);
}

static const axo_class settler = AXO_CLASS(.name = "settler", .state_size = sizeof(heap_state),
                                           .receive = heap_receive, .settle = settles);

/* Restart, a throw, a failed construct, settle, stop: what an instance held goes with it. */
static void memory_goes_with_the_instance(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    axo_ref other = heap_spawn((axo_props)AXO_PROPS(.cls = &settler));
    heap_do(ref, takes_and_fails);
    heap_do(ref, takes_and_throws);
    uint64_t before = heap.held;
    for (int i = 0; i < 3; i++) {
        heap_do(ref, takes_and_fails);
        heap_do(ref, takes_and_throws);
        heap_do(other, wants_settle);
        assert_int_equal(heap.held, before);
    }
    assert_int_equal(heap.failures, 11);
    heap.construct = takes_and_fails;
    axo_ref unborn = heap_spawn((axo_props)AXO_PROPS());
    assert_true(axo_ref_index(unborn) != 0);
    heap.construct = NULL;
    assert_int_equal(heap.failure.kind, AXO_FAILURE_INIT);
    heap_do(ref, takes_large);
    assert_true(heap.held > before + 1000000);
    heap_do(ref, takes_and_stops);
    assert_int_equal(axo_system_send(heap.system, ref, HEAP_NOTE, NULL, 0), AXO_EGONE);
    assert_true(heap.held <= before + 40000); /* what the pool keeps */
    heap_end();
}

static void cleans(void *arg)
{
    ++*(uint32_t *)arg;
}

static axo_status defers(axo_ctx *ctx, void *state, const axo_message *message)
{
    static uint32_t cleaned;
    kept = (unsigned char *)&cleaned;
    assert_int_equal(axo_defer(ctx, cleans, &cleaned), AXO_OK);
    (void)uses_and_gives(ctx, state, message);
    assert_int_equal(axo_memory_of(ctx).blocks, 0);
    assert_int_equal(axo_defer(ctx, cleans, &cleaned), AXO_OK);
    return axo_stop_self(ctx);
}

static void clean_ups_stay_when_all_is_freed(void **state)
{
    heap_start(0, NULL);
    heap_do(heap_spawn((axo_props)AXO_PROPS()), defers);
    assert_int_equal(*(uint32_t *)(void *)kept, 2);
    heap_end();
}

/* ---- bounds of an instance ---- */

static axo_status fills(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint64_t blocks = 0;
    while (axo_alloc(ctx, 64) != NULL) {
        axo_memory memory = axo_memory_of(ctx);
        blocks++;
        assert_int_equal(memory.blocks, blocks);
        assert_true(memory.held <= memory.held_max);
        assert_true(memory.held_most >= memory.held);
    }
    axo_memory memory = axo_memory_of(ctx);
    assert_int_equal(memory.held_max, 20000);
    assert_true(memory.held > 20000 - 64 - 80);
    assert_null(axo_realloc(ctx, NULL, 30000));
    assert_int_equal(axo_defer(ctx, cleans, NULL), AXO_ENOMEM);
    assert_int_equal(axo_become(ctx, heap_receive), AXO_ENOMEM);
    return AXO_OK;
}

static axo_status fails_at_once(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo_must_alloc(ctx, 100000);
    fail();
    return AXO_OK;
}

static axo_status nothing_at_all(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo_must_alloc(ctx, 0);
    fail();
    return AXO_OK;
}

static void a_bound_of_an_instance(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.memory_max = 20000));
    heap_do(ref, fills);
    assert_int_equal(heap.failures, 0);
    heap_do(ref, fails_at_once);
    heap_expect(1, AXO_ENOMEM, "100000", "memory");
    assert_int_equal(heap.failure.site, AXO_SITE_RECEIVE);
    heap_do(ref, fills); /* the next instance has it all again */
    heap_do(ref, nothing_at_all);
    heap_expect(2, AXO_EINVAL, "0 bytes", "");
    heap_end();
}

static axo_status ignores(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_null(axo_alloc(ctx, 100000));
    return AXO_OK;
}

static axo_status says_so(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_null(axo_alloc(ctx, 100000));
    return AXO_ENOMEM;
}

static axo_status says_else(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_null(axo_alloc(ctx, 100000));
    return axo_fail(ctx, 77, "something else");
}

static axo_status throws_else(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_null(axo_alloc(ctx, 100000));
    axo_throw(ctx, 77, "something else");
}

static axo_status is_unhandled(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_null(axo_alloc(ctx, 100000));
    return AXO_UNHANDLED;
}

/* Whatever the callback returns or records, the bound is what it fails for; where memory is short
 * without a bound, or the props do not ask for it, it does not. */
static void a_bound_that_fails(void **state)
{
    static const heap_fn ways[] = {ignores, says_so, says_else, throws_else, is_unhandled};
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.memory_max = 20000, .memory_fails = 1));
    for (uint32_t i = 0; i < 5; i++) {
        heap_do(ref, ways[i]);
        heap_expect(i + 1, AXO_ENOMEM, "bound", "memory");
        assert_int_equal(heap.failure.tag, HEAP_DO);
    }
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(heap.system, &stats), AXO_OK);
    assert_int_equal(stats.restarts, 5);
    axo_ref lax = heap_spawn((axo_props)AXO_PROPS(.memory_max = 20000));
    heap_do(lax, ignores);
    axo_ref wide = heap_spawn((axo_props)AXO_PROPS(.memory_max = 1 << 20, .memory_fails = 1));
    heap.left = 0;
    heap_do(wide, ignores); /* the allocator has none */
    heap.left = -1;
    assert_int_equal(heap.failures, 5);
    heap_end();
}

static axo_status needs_much(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_null(axo_alloc(ctx, 100000));
    return AXO_OK;
}

/* construct is a callback like others: INIT, with MEMORY as its root. post_stop's is a line. */
static void in_other_callbacks(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.memory_max = 20000, .memory_fails = 1));
    heap.construct = needs_much;
    (void)heap_spawn((axo_props)AXO_PROPS(.memory_max = 20000, .memory_fails = 1));
    assert_int_equal(heap.failure.kind, AXO_FAILURE_INIT);
    assert_int_equal(heap.failure.root_kind, AXO_FAILURE_MEMORY);
    assert_int_equal(heap.failure.root_code, AXO_ENOMEM);
    heap.construct = NULL;
    heap.post_stop = needs_much;
    uint32_t before = heap.lines;
    assert_int_equal(axo_system_stop_actor(heap.system, ref), AXO_OK);
    heap_run();
    assert_int_equal(heap.lines, before + 1);
    assert_non_null(strstr(heap.log[before], "memory"));
    heap.post_stop = NULL;
    heap_end();
}

static void props_that_cannot_be(void **state)
{
    axo_ref ref;
    heap_start(0, NULL);
    axo_props props = AXO_PROPS(.cls = &heap_class, .memory_max = sizeof(heap_state) - 1);
    assert_int_equal(heap_try(&props, &ref), AXO_EINVAL);
    props = (axo_props)AXO_PROPS(.cls = &heap_class, .memory_tree_max = sizeof(heap_state) - 1);
    assert_int_equal(heap_try(&props, &ref), AXO_EINVAL);
    props = (axo_props)AXO_PROPS(.cls = &heap_class, .memory_fails = 2);
    assert_int_equal(heap_try(&props, &ref), AXO_EINVAL);
    props = (axo_props)AXO_PROPS(.cls = &heap_class, .memory_reserved = 1);
    assert_int_equal(heap_try(&props, &ref), AXO_EINVAL);
    uint64_t args[8] = {0};
    props = (axo_props)AXO_PROPS(.cls = &heap_class, .args = args, .args_size = sizeof args,
                                 .memory_max = sizeof(heap_state) + sizeof args);
    assert_int_equal(heap_try(&props, &ref), AXO_OK);
    heap_do(ref, measures);
    assert_int_equal(measured, sizeof(heap_state) + sizeof args);
    props.memory_max--;
    assert_int_equal(heap_try(&props, &ref), AXO_EINVAL);
    /* an older program's props end before these members */
    props = (axo_props)AXO_PROPS(.cls = &heap_class, .memory_max = 1);
    props.size = offsetof(axo_props, memory_max);
    assert_int_equal(heap_try(&props, &ref), AXO_OK);
    heap_end();
}

/* ---- a subtree ---- */

static axo_ref child_ref;
static axo_status child_status;
static size_t tree_held;

static axo_status spawns(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &heap_class);
    child_status = axo_spawn(ctx, &props, &child_ref);
    return AXO_OK;
}

static axo_status looks_at_tree(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_memory memory = axo_memory_of(ctx);
    tree_held = memory.tree_held;
    assert_true(tree_held <= memory.tree_max);
    return AXO_OK;
}

static axo_status takes_1000(axo_ctx *ctx, void *state, const axo_message *message)
{
    kept = axo_alloc(ctx, 1000);
    return AXO_OK;
}

static axo_status stops(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_stop_self(ctx);
}

static axo_status fails_plainly(axo_ctx *ctx, void *state, const axo_message *message)
{
    return axo_fail(ctx, 1, "plainly");
}

static size_t tree(axo_ref ref)
{
    heap_do(ref, looks_at_tree);
    return tree_held;
}

static void a_bound_of_a_subtree(void **state)
{
    enum { STATE = sizeof(heap_state), MAX = 10 * 1000 };
    axo_ref refs[64];
    heap_start(0, NULL);
    axo_ref top = heap_spawn((axo_props)AXO_PROPS(.memory_tree_max = MAX));
    assert_int_equal(tree(top), STATE);
    for (int round = 0; round < 3; round++) {
        /* children and a grandchild's memory count, until there is no room */
        size_t base = tree(top);
        heap_do(top, spawns);
        refs[0] = child_ref;
        heap_do(refs[0], spawns);
        refs[1] = child_ref;
        assert_int_equal(tree(top), base + 2 * STATE);
        uint32_t count = 0;
        for (kept = NULL; count == 0 || kept != NULL; count++)
            heap_do(refs[count % 2], takes_1000);
        assert_true(count >= 5 && count <= 11);
        assert_true(tree(top) <= MAX);
        assert_true(tree(top) > MAX - 1200);
        heap_do(top, takes_1000); /* nor has the top */
        assert_null(kept);
        /* the state of a child that has no room left is no memory, and nothing was started */
        uint32_t spawned = 2;
        for (;;) {
            heap_do(top, spawns);
            if (child_status != AXO_OK)
                break;
            refs[spawned++] = child_ref;
            assert_true(spawned < 64);
        }
        assert_int_equal(child_status, AXO_ENOMEM);
        assert_true(tree(top) > MAX - STATE);
        /* a restart gives its instance's memory back, an end the state too */
        heap_do(refs[1], takes_and_fails);
        for (uint32_t i = 2; i < spawned; i++)
            heap_do(refs[i], stops);
        heap_do(refs[1], stops);
        heap_do(refs[0], stops);
        assert_true(tree(top) >= base && tree(top) <= STATE + 512); /* an empty heap of its own */
    }
    heap_do(top, fails_plainly);
    assert_int_equal(tree(top), STATE);
    heap_do(top, stops);
    heap_end();
}

/* A bound within a bound, a child beside it, an actor outside of both. */
static axo_status spawns_bounded(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &heap_class, .memory_tree_max = 5000);
    child_status = axo_spawn(ctx, &props, &child_ref);
    return AXO_OK;
}

static void bounds_within_bounds(void **state)
{
    heap_start(0, NULL);
    axo_ref top = heap_spawn((axo_props)AXO_PROPS(.memory_tree_max = 20000));
    heap_do(top, spawns_bounded);
    axo_ref inner = child_ref;
    heap_do(inner, spawns);
    axo_ref leaf = child_ref;
    heap_do(top, spawns);
    axo_ref beside = child_ref;
    uint32_t count = 0;
    for (kept = NULL; count == 0 || kept != NULL; count++)
        heap_do(leaf, takes_1000);
    assert_true(count <= 5);
    assert_true(tree(inner) <= 5000 && tree(inner) > 3800);
    size_t before = tree(top);
    heap_do(beside, takes_1000);
    assert_non_null(kept);
    assert_true(tree(top) > before);
    axo_ref outside = heap_spawn((axo_props)AXO_PROPS());
    before = tree(top);
    heap_do(outside, takes_1000);
    assert_int_equal(tree(top), before);
    heap_do(inner, stops); /* with its child */
    assert_true(tree(top) < before);
    heap_end();
}

/* ---- misuse ---- */

static unsigned char *owned;

static axo_status shares(axo_ctx *ctx, void *state, const axo_message *message)
{
    owned = axo_must_alloc(ctx, 200);
    return AXO_OK;
}

static axo_status frees_foreign(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo_must_alloc(ctx, 10);
    axo_free(ctx, owned);
    return AXO_OK;
}

static axo_status frees_twice(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo_must_alloc(ctx, 10);
    void *block = axo_must_alloc(ctx, 100);
    axo_free(ctx, block);
    axo_free(ctx, block);
    return AXO_OK;
}

static axo_status frees_the_middle(axo_ctx *ctx, void *state, const axo_message *message)
{
    char *block = axo_must_alloc(ctx, 100);
    memset(block, 0, 100);
    axo_free(ctx, block + 32);
    return AXO_OK;
}

static axo_status frees_malloc(axo_ctx *ctx, void *state, const axo_message *message)
{
    void *block = malloc(100);
    (void)axo_must_alloc(ctx, 10);
    axo_free(ctx, block);
    free(block);
    return AXO_OK;
}

static axo_status frees_without_any(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_free(ctx, state);
    return AXO_OK;
}

static axo_status resizes_foreign(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_null(axo_realloc(ctx, owned, 400));
    return AXO_OK;
}

static axo_status owner_looks(axo_ctx *ctx, void *state, const axo_message *message)
{
    assert_int_equal(axo_memory_of(ctx).blocks, 1);
    memset(owned, 3, 200);
    axo_free(ctx, owned);
    assert_int_equal(axo_memory_of(ctx).blocks, 0);
    return AXO_OK;
}

/* In every build: the callback fails though it returned AXO_OK, the text names the block, the class
 * and the actor, and the block's owner has it as before. */
static void misuse_fails_the_callback(void **state)
{
    static const struct {
        heap_fn fn;
        const char *text;
    } ways[] = {
        {frees_foreign, "no living block"},     {frees_twice, "freed before"},
        {frees_the_middle, "no living block"},  {frees_without_any, "no living block"},
        {resizes_foreign, "no living block"},
    };
    char at[32];
    heap_start(0, NULL);
    axo_ref owner = heap_spawn((axo_props)AXO_PROPS());
    axo_ref other = heap_spawn((axo_props)AXO_PROPS(.name = "other"));
    heap_do(owner, shares);
    for (uint32_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        heap_do(other, ways[i].fn);
        heap_expect(i + 1, AXO_EINVAL, ways[i].text, "class heapy, /user/other");
    }
    (void)snprintf(at, sizeof at, "block %p,", (void *)owned);
    assert_non_null(strstr(heap.text, at));
    heap_do(owner, owner_looks);
    assert_int_equal(heap.failures, sizeof ways / sizeof ways[0]);
    heap_end();
}

/* What lies before it is looked at, which is nobody's. */
static void a_block_of_malloc_is_none_of_ours(void **state)
{
    if (slower() > 1)
        skip(); /* memcheck reports that look */
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS(.name = "other"));
    heap_do(ref, frees_malloc);
    heap_expect(1, AXO_EINVAL, "no living block", "class heapy, /user/other");
    heap_end();
}

/* The instance before had the block; a restart has ended it. */
static axo_status fails_with_it(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo_must_alloc(ctx, 100);
    owned = axo_must_alloc(ctx, 100);
    return axo_fail(ctx, 1, "keeps it");
}

static void a_block_of_the_instance_before(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    heap_do(ref, fails_with_it);
    heap_do(ref, frees_foreign);
    heap_expect(2, AXO_EINVAL, "no living block", "heapy");
    heap_end();
}

static axo_ctx *kept_ctx;

static axo_status keeps_ctx(axo_ctx *ctx, void *state, const axo_message *message)
{
    kept_ctx = ctx;
    return AXO_OK;
}

static void frees_in_destroy(void *payload, void *user)
{
    axo_free(kept_ctx, payload);
}

static axo_status sends_itself(axo_ctx *ctx, void *state, const axo_message *message)
{
    kept_ctx = ctx;
    return axo_send_owned(ctx, axo_self(ctx), HEAP_NOTE, heap.log, 10, frees_in_destroy, NULL);
}

/* With a context of another moment nothing happens; where no callback can fail it is a line. */
static void bad_contexts(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    heap_do(ref, keeps_ctx);
    axo_free(kept_ctx, &heap);
    assert_null(axo_realloc(kept_ctx, &heap, 5));
    assert_int_equal(axo_memory_of(kept_ctx).held, 0);
    axo_free(NULL, &heap);
    heap_do(ref, sends_itself);
    assert_int_equal(heap.failures, 0);
    assert_int_equal(heap.lines, 1);
    assert_non_null(strstr(heap.log[0], "no living block"));
    heap_end();
}

/* What the allocator has refused is not among what was held. */
static axo_status asks_too_much(axo_ctx *ctx, void *state, const axo_message *message)
{
    void *block = axo_must_alloc(ctx, 5000);
    size_t held = axo_memory_of(ctx).held_most;
    heap.left = 0;
    assert_null(axo_alloc(ctx, PTRDIFF_MAX / 2));
    assert_null(axo_realloc(ctx, block, PTRDIFF_MAX / 2));
    assert_null(axo_alloc(ctx, SIZE_MAX));
    assert_null(axo_realloc(ctx, block, SIZE_MAX - 7));
    assert_int_equal(axo_memory_of(ctx).held_most, held);
    assert_int_equal(axo_memory_of(ctx).held, held);
    assert_null(axo_alloc(ctx, 100000));
    heap.left = -1;
    assert_int_equal(axo_memory_of(ctx).held_most, held);
    axo_free(ctx, block);
    return AXO_OK;
}

static void sizes_that_cannot_be(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    heap_do(ref, asks_too_much);
    assert_int_equal(heap.failures, 0);
    heap_end();
}

static void debug_builds_look_behind_blocks(void **state)
{
    heap_start(0, NULL);
    axo_ref ref = heap_spawn((axo_props)AXO_PROPS());
    heap_do(ref, shares);
    owned[200] ^= 1; /* there are 224 */
    heap_do(ref, frees_foreign);
#ifdef AXO_DEBUG
    heap_expect(1, AXO_EINVAL, "written past its end: block 0x", "of 200 bytes, class heapy");
#endif
    heap_end();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_come_and_go),
    cmocka_unit_test(a_long_life_does_not_grow),
    cmocka_unit_test(memory_goes_with_the_instance),
    cmocka_unit_test(clean_ups_stay_when_all_is_freed),
    cmocka_unit_test(a_bound_of_an_instance),
    cmocka_unit_test(a_bound_that_fails),
    cmocka_unit_test(in_other_callbacks),
    cmocka_unit_test(props_that_cannot_be),
    cmocka_unit_test(a_bound_of_a_subtree),
    cmocka_unit_test(bounds_within_bounds),
    cmocka_unit_test(misuse_fails_the_callback),
    cmocka_unit_test(a_block_of_malloc_is_none_of_ours),
    cmocka_unit_test(a_block_of_the_instance_before),
    cmocka_unit_test(sizes_that_cannot_be),
    cmocka_unit_test(bad_contexts),
    cmocka_unit_test(debug_builds_look_behind_blocks),
};
TEST_MAIN(tests)
