/* align_test.c - what a state block is aligned to: as its size says, up to AXO_STATE_ALIGN, with
 * arguments behind it and without, with walls and without, in every instance. */
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/axo.h>

#include "support/cmocka.h"

enum { FAIL = 1 };

#define EACH 9 /* side by side: none is aligned by chance */

static size_t wanted; /* of the class that is tried */
static size_t given;
static uint32_t seen; /* instances */

static axo_status entity_construct(axo_ctx *ctx, void *state, const void *args)
{
    unsigned char *bytes = state;
    (void)ctx;
    assert_int_equal((uintptr_t)state % wanted, 0);
    assert_int_equal((uintptr_t)state % alignof(max_align_t), 0);
    assert_int_equal((uintptr_t)args % alignof(max_align_t), 0);
    for (size_t i = 0; i < given; i++)
        assert_int_equal(((const unsigned char *)args)[i], (unsigned char)(i + 1));
    assert_int_equal(bytes[0], 0); /* zeroed for each */
    bytes[0] = 1;
    seen++;
    return AXO_OK;
}

static axo_status entity_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)state;
    (void)message;
    return axo_fail(ctx, FAIL, "again");
}

/* The walls that are tried with each size. */
static const uint32_t walls[] = {0, AXO_WALL_CANARY, AXO_WALL_GUARD,
                                 AXO_WALL_CANARY | AXO_WALL_GUARD};

/* All that was spawned runs: 2 * EACH instances; then the system ends. */
static void run_all(axo_system *system)
{
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    assert_int_equal(seen, 2 * EACH);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static void try_one(size_t size, size_t args, uint32_t wall)
{
    unsigned char bytes[AXO_ARGS_MAX];
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL, .walls = wall);
    axo_class cls = AXO_CLASS(.name = "entity", .state_size = size,
                              .construct = entity_construct, .receive = entity_receive);
    axo_system *system;
    for (size_t i = 0; i < args; i++)
        bytes[i] = (unsigned char)(i + 1);
    wanted = size & (~size + 1);
    wanted = wanted > AXO_STATE_ALIGN ? AXO_STATE_ALIGN : wanted;
    given = args;
    seen = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    for (uint32_t i = 0; i < EACH; i++) {
        axo_ref ref;
        axo_props props =
            AXO_PROPS(.cls = &cls, .args = args > 0 ? bytes : NULL, .args_size = args);
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        assert_int_equal(axo_system_send(system, ref, 0, NULL, 0), AXO_OK);
    }
    run_all(system);
}

static void a_state_is_aligned_as_its_size_says(void **state)
{
    static const size_t sizes[] = {1,   8,   24,  32,  64,  96,  128,  160,
                                   192, 320, 448, 640, 960, 1088, 4096, 4160};
    static const size_t args[] = {0, 1, 16, 40, 64};
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t a = 0; a < sizeof args / sizeof args[0]; a++) {
            for (size_t w = 0; w < sizeof walls / sizeof walls[0]; w++)
                try_one(sizes[s], args[a], walls[w]);
        }
    }
}

/* A child takes another way than an actor that is spawned from outside. */
typedef struct vector {
    alignas(AXO_STATE_ALIGN) float lanes[16];
} vector;

static axo_status vector_construct(axo_ctx *ctx, void *state, const void *args)
{
    const vector *self = state;
    (void)ctx;
    (void)args;
    assert_int_equal((uintptr_t)self->lanes % AXO_STATE_ALIGN, 0);
    seen++;
    return AXO_OK;
}

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    static const axo_class vector_class =
        AXO_CLASS(.name = "vector", .state_size = sizeof(vector), .construct = vector_construct,
                  .receive = entity_receive);
    uint64_t word = 7;
    (void)state;
    (void)message;
    for (uint32_t i = 0; i < EACH; i++) {
        axo_ref ref;
        axo_props props = AXO_PROPS(.cls = &vector_class);
        assert_int_equal(axo_spawn(ctx, &props, &ref), AXO_OK);
        props.args = &word;
        props.args_size = sizeof word;
        assert_int_equal(axo_spawn(ctx, &props, &ref), AXO_OK);
    }
    return AXO_OK;
}

static void so_is_a_childs(void **state)
{
    static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);
    axo_options options = AXO_OPTIONS(.manual = AXO_MANUAL_ALL);
    axo_props props = AXO_PROPS(.cls = &parent_class);
    axo_system *system;
    axo_ref parent;
    (void)state;
    seen = 0;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &parent), AXO_OK);
    assert_int_equal(axo_system_send(system, parent, 0, NULL, 0), AXO_OK);
    run_all(system);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_state_is_aligned_as_its_size_says),
    cmocka_unit_test(so_is_a_childs),
};
TEST_MAIN(tests)
