/* memory_many_test.c - the bound of a subtree with several workers: actors below it take memory,
 * give it back, have children, stop them, and fail, all at a time. The sum never exceeds the bound,
 * and when all have ended it is what its top holds alone. */
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <axo/axo.h>

#include "support/cmocka.h"
#include "support/slower.h"

/* On a worker no test can be left. */
#define MANY_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

enum { MANY_STEP = 1, MANY_LOOK, MANY_END };
enum { MANY_ACTORS = 8, MANY_KEPT = 12, MANY_CHILDREN = 4, MANY_MAX = 96 << 10 };

typedef struct many_kept {
    unsigned char *bytes;
    size_t size;
} many_kept;

typedef struct many_state {
    uint32_t steps; /* what is left in this instance */
    uint64_t random;
    many_kept kept[MANY_KEPT];
    axo_ref children[MANY_CHILDREN];
} many_state;

typedef struct many_leaf_state {
    unsigned char room[2500];
} many_leaf_state;

static atomic_uint many_left; /* movers that have not done all */
static atomic_uint many_taken;
static atomic_uint many_refused; /* blocks */
static atomic_uint many_unborn;  /* children */
static atomic_uint many_looks;
static atomic_uint many_ended;               /* 1: the top is alone */
static atomic_uint many_budget[MANY_ACTORS]; /* steps, over all instances of a mover */

static uint64_t many_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

static axo_status many_leaf_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

static const axo_class many_leaf =
    AXO_CLASS(.name = "leaf", .state_size = sizeof(many_leaf_state), .receive = many_leaf_receive);

static void many_change_block(axo_ctx *ctx, many_state *me)
{
    many_kept *kept = &me->kept[many_random(&me->random) % MANY_KEPT];
    if (kept->bytes != NULL) {
        for (size_t i = 0; i < kept->size; i += 97)
            MANY_CHECK(kept->bytes[i] == (kept->size & 0xff));
        axo_free(ctx, kept->bytes);
        kept->bytes = NULL;
        return;
    }
    size_t size = 200 + many_random(&me->random) % 7000;
    kept->bytes = axo_alloc(ctx, size);
    atomic_fetch_add(kept->bytes != NULL ? &many_taken : &many_refused, 1);
    if (kept->bytes == NULL)
        return;
    kept->size = size;
    memset(kept->bytes, (int)(size & 0xff), size);
}

static void many_change_child(axo_ctx *ctx, many_state *me)
{
    axo_ref *child = &me->children[many_random(&me->random) % MANY_CHILDREN];
    if (!axo_ref_is_none(*child)) {
        (void)axo_stop(ctx, *child);
        *child = axo_ref_none();
        return;
    }
    axo_props props = AXO_PROPS(.cls = &many_leaf);
    axo_status status = axo_spawn(ctx, &props, child);
    MANY_CHECK(status == AXO_OK || status == AXO_ENOMEM);
    if (status != AXO_OK)
        atomic_fetch_add(&many_unborn, 1);
}

static axo_status many_construct(axo_ctx *ctx, void *state, const void *args)
{
    many_state *me = state;
    uint32_t number;
    memcpy(&number, args, sizeof number);
    me->random = number * 77 + axo_instance(ctx) + 1;
    return AXO_OK;
}

static axo_status many_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    many_state *me = state;
    uint32_t number = *AXO_PAYLOAD(message, uint32_t);
    if (atomic_load(&many_budget[number]) == 0) {
        if (atomic_fetch_sub(&many_left, 1) == 1)
            (void)axo_send(ctx, axo_parent(ctx), MANY_END, NULL, 0);
        return AXO_OK;
    }
    uint32_t left = atomic_fetch_sub(&many_budget[number], 1);
    MANY_CHECK(axo_send(ctx, axo_self(ctx), MANY_STEP, &number, sizeof number) == AXO_OK);
    if (left % 16 == 0)
        (void)axo_send(ctx, axo_parent(ctx), MANY_LOOK, NULL, 0);
    if (left % 5 == 0)
        many_change_child(ctx, me);
    else
        many_change_block(ctx, me);
    return left % 61 == 0 ? axo_fail(ctx, 1, "as it does now and then") : AXO_OK;
}

static const axo_class many_mover = AXO_CLASS(.name = "mover", .state_size = sizeof(many_state),
                                              .construct = many_construct, .receive = many_receive);

/* Half of the movers have a bound of their own subtree within the other one. */
static axo_status many_top_start(axo_ctx *ctx, void *state)
{
    for (uint32_t i = 0; i < MANY_ACTORS; i++) {
        axo_ref ref;
        axo_props props = AXO_PROPS(.cls = &many_mover, .args = &i, .args_size = sizeof i,
                                    .memory_tree_max = i % 2 == 0 ? MANY_MAX / 5 : 0);
        MANY_CHECK(axo_spawn(ctx, &props, &ref) == AXO_OK);
        MANY_CHECK(axo_watch(ctx, ref) == AXO_OK);
        MANY_CHECK(axo_send(ctx, ref, MANY_STEP, &i, sizeof i) == AXO_OK);
    }
    return AXO_OK;
}

static void many_stop_all(axo_ctx *ctx)
{
    axo_ref children[MANY_ACTORS];
    MANY_CHECK(axo_children(ctx, children, MANY_ACTORS) == MANY_ACTORS);
    for (uint32_t i = 0; i < MANY_ACTORS; i++)
        MANY_CHECK(axo_stop(ctx, children[i]) == AXO_OK);
}

static axo_status many_top_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t *gone = state;
    axo_memory memory = axo_memory_of(ctx);
    MANY_CHECK(memory.tree_max == MANY_MAX);
    MANY_CHECK(memory.tree_held <= MANY_MAX && memory.tree_held >= memory.held);
    atomic_fetch_add(&many_looks, 1);
    if (message->tag == MANY_END)
        many_stop_all(ctx);
    if (message->tag != AXO_TERMINATED || ++*gone < MANY_ACTORS)
        return AXO_OK;
    MANY_CHECK(memory.tree_held == memory.held);
    atomic_store(&many_ended, 1);
    return AXO_OK;
}

static const axo_class many_top =
    AXO_CLASS(.name = "top", .state_size = sizeof(uint32_t), .pre_start = many_top_start,
              .receive = many_top_receive);

static void a_bound_that_many_share(void **state)
{
    axo_system *system;
    axo_ref ref;
    axo_options options = AXO_OPTIONS(.workers = 4, .failure_log = UINT32_MAX);
    axo_props props = AXO_PROPS(.cls = &many_top, .name = "top", .memory_tree_max = MANY_MAX);
    atomic_store(&many_left, MANY_ACTORS);
    for (uint32_t i = 0; i < MANY_ACTORS; i++)
        atomic_store(&many_budget[i], slower_share(3000, 300));
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    while (atomic_load(&many_ended) == 0)
        (void)sched_yield();
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_true(atomic_load(&many_taken) > 0 && atomic_load(&many_looks) > MANY_ACTORS);
    assert_true(atomic_load(&many_refused) > 0 && atomic_load(&many_unborn) > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_bound_that_many_share),
};
TEST_MAIN(tests)
