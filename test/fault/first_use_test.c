/* first_use_test.c - what an actor has only when it uses it takes memory then: a refusal is
 * AXO_ENOMEM, changes nothing, and the next try finds everything as it was. And failing, which
 * comes later, takes none. */
#include "unit/unit.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <axo/axo.h>

enum { USE = 1, ITEM, FAIL };

/* Blocks that the pool has in stock, at most: all are taken before the use. */
#define STOCK_MAX 20000

#define HOUR INT64_C(3600000000000)

/* Allocations refused for good once so many were granted; -1: none is. */
typedef struct ration {
    atomic_llong left;
    atomic_llong blocks;
    atomic_llong refused;
} ration;

static void *ration_alloc(void *user, size_t size, size_t align)
{
    ration *r = user;
    if (atomic_load(&r->left) == 0) {
        atomic_fetch_add(&r->refused, 1);
        return NULL;
    }
    if (atomic_load(&r->left) > 0)
        atomic_fetch_sub(&r->left, 1);
    atomic_fetch_add(&r->blocks, 1);
    align = align < sizeof(void *) ? sizeof(void *) : align;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void ration_free(void *user, void *block, size_t size, size_t align)
{
    atomic_fetch_sub(&((ration *)user)->blocks, 1);
    free(block);
}

typedef axo_status (*use_fn)(axo_ctx *ctx, axo_ref other);

typedef struct subject {
    ration *ration;
    use_fn use;
    axo_ref other;
    long long granted;
    uint32_t calls;   /* of `use` */
    uint32_t refused; /* AXO_ENOMEM of them */
    uint32_t items;
    uint32_t instances;
    bool used;
} subject;

/* ---- what is used for the first time --------------------------------------------------------- */

static axo_status nothing_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx, (void)state, (void)message;
    return AXO_OK;
}

static const axo_class nothing_class = AXO_CLASS(.receive = nothing_receive);

static axo_status use_spawn(axo_ctx *ctx, axo_ref other)
{
    axo_props props = AXO_PROPS(.cls = &nothing_class);
    axo_ref child = other;
    axo_status status = axo_spawn(ctx, &props, &child);
    if (status != AXO_OK && (axo_child_count(ctx) != 0 || !axo_ref_is_none(child)))
        return AXO_EINVAL;
    return status;
}

static axo_status use_spawn_named(axo_ctx *ctx, axo_ref other)
{
    axo_props props = AXO_PROPS(.cls = &nothing_class, .name = "it", .stash_max = 3);
    axo_ref child = other;
    axo_status status = axo_spawn(ctx, &props, &child);
    if (status != AXO_OK && (axo_child_count(ctx) != 0 || !axo_ref_is_none(axo_child(ctx, "it"))))
        return AXO_EINVAL;
    return status;
}

static axo_status use_watch(axo_ctx *ctx, axo_ref other)
{
    return axo_watch(ctx, other);
}

static axo_status use_memory(axo_ctx *ctx, axo_ref other)
{
    return axo_alloc(ctx, 16) != NULL ? AXO_OK : AXO_ENOMEM;
}

static void use_defer_nothing(void *arg)
{
}

static axo_status use_defer(axo_ctx *ctx, axo_ref other)
{
    return axo_defer(ctx, use_defer_nothing, NULL);
}

static axo_status use_timeout(axo_ctx *ctx, axo_ref other)
{
    return axo_receive_timeout(ctx, HOUR);
}

static axo_status use_stash(axo_ctx *ctx, axo_ref other)
{
    axo_status status = axo_stash(ctx);
    if (status == AXO_ENOMEM && axo_stash_count(ctx) != 0)
        return AXO_EINVAL;
    return status;
}

/* ---- the subject ----------------------------------------------------------------------------- */

static axo_status subject_construct(axo_ctx *ctx, void *state, const void *args)
{
    subject *s = (subject *)(uintptr_t)args;
    *(subject **)state = s;
    s->instances++;
    return AXO_OK;
}

/* Takes what the pool has in stock, so that what is used next asks the allocator. */
static uint32_t stock_take(axo_ctx *ctx, axo_draft **drafts)
{
    uint32_t count = 0;
    void *payload;
    for (size_t size = 4000; size > 0;) {
        if (axo_message_new(ctx, ITEM, size, &drafts[count], &payload) != AXO_OK) {
            size = size > 1 ? size * 3 / 4 : 0;
            continue;
        }
        assert_true(++count < STOCK_MAX);
    }
    return count;
}

static axo_status subject_use(axo_ctx *ctx, subject *s)
{
    axo_draft **drafts = calloc(STOCK_MAX, sizeof *drafts);
    long long left = atomic_exchange(&s->ration->left, 0);
    uint32_t count = stock_take(ctx, drafts);
    s->calls++;
    atomic_store(&s->ration->left, left < 0 ? left : s->granted);
    axo_status status = s->use(ctx, s->other);
    atomic_store(&s->ration->left, left);
    while (count > 0)
        axo_message_discard(ctx, drafts[--count]);
    free(drafts);
    if (status == AXO_ENOMEM) {
        s->refused++;
        return AXO_OK;
    }
    s->used = status == AXO_OK;
    return status;
}

static axo_status subject_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    subject *s = *(subject **)state;
    switch (message->tag) {
    case USE:
        if (s->used)
            return AXO_OK; /* what was stashed comes again */
        return subject_use(ctx, s);
    case FAIL:
        return axo_fail(ctx, 1, "on purpose");
    default:
        s->items++;
        return AXO_OK;
    }
}

static const axo_class subject_class =
    AXO_CLASS(.state_size = sizeof(subject *), .construct = subject_construct,
              .receive = subject_receive);

static void step(axo_system *system)
{
    uint64_t turns = 1;
    while (turns > 0)
        assert_int_equal(axo_run_host(system, -1, &turns), AXO_OK);
}

static void tell(ration *r, axo_system *system, axo_ref to, uint32_t tag)
{
    long long left = atomic_exchange(&r->left, -1); /* the message is not what is looked at */
    assert_int_equal(axo_system_send(system, to, tag, NULL, 0), AXO_OK);
    atomic_store(&r->left, left);
    step(system);
}

/* Refused with `granted` allocations left, then used, then a failure without any memory. true: it
 * was not refused. */
static bool first_use(use_fn use, long long granted)
{
    ration r = {.left = -1};
    subject s = {.ration = &r, .use = use, .granted = granted};
    axo_options options = AXO_OPTIONS(.manual = 1, .seed = 5,
                                      .allocator = {ration_alloc, ration_free, &r});
    axo_stats stats = AXO_STATS(.sent = 0);
    axo_props other = AXO_PROPS(.cls = &nothing_class);
    axo_props props = AXO_PROPS(.cls = &subject_class, .args = &s);
    axo_system *system;
    axo_ref ref;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &other, &s.other), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    step(system);
    tell(&r, system, ref, ITEM);
    atomic_store(&r.left, 0);
    tell(&r, system, ref, USE);
    bool refused = s.refused > 0;
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.used, !refused);
    tell(&r, system, ref, ITEM); /* it goes on as it was */
    atomic_store(&r.left, -1);
    if (refused)
        tell(&r, system, ref, USE);
    assert_true(s.used);
    assert_int_equal(s.items, 2);
    atomic_store(&r.left, 0);
    long long before = atomic_load(&r.refused);
    tell(&r, system, ref, FAIL);
    tell(&r, system, ref, ITEM);
    assert_int_equal(atomic_load(&r.refused), before); /* it was not even asked for */
    assert_int_equal(s.instances, 2);
    assert_int_equal(s.items, 3);
    assert_int_equal(axo_system_shutdown(system), AXO_OK);
    step(system);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(stats.restarts, 1);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(atomic_load(&r.blocks), 0);
    return !refused;
}

/* Memory for none of it, then for one block more each time, until it is enough. */
static void first_use_of(void **state)
{
    use_fn use = *(const use_fn *)*state;
    long long granted = 0;
    while (!first_use(use, granted))
        assert_true(++granted < 8);
    assert_true(granted > 0);
}

static const use_fn uses[] = {use_spawn, use_spawn_named, use_watch, use_memory,
                              use_defer, use_timeout,     use_stash};

#define USE_TEST(name, number)                                                                     \
    {                                                                                              \
        "first_use_of_" name, first_use_of, NULL, NULL, (void *)(uintptr_t)&uses[number]           \
    }

static const struct CMUnitTest tests[] = {
    USE_TEST("children", 0), USE_TEST("a_named_child", 1), USE_TEST("watch", 2),
    USE_TEST("memory", 3),   USE_TEST("clean_ups", 4),     USE_TEST("receive_timeout", 5),
    USE_TEST("stash", 6),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
