/* limit_test.c - axo_options.actors_max gives so many actors, and not one more. */
#include "unit/unit.h"

#include <axo/axo.h>

#include <stdio.h>
#include <time.h>

#include "base/config.h"
#include "support/slower.h"

enum { GUARDIANS = 3, TAG_FILL = 1, TAG_SWAP = 2, TAG_STORM = 3, THREADS = 4 };

static const uint32_t limits[] = {1, 2, 3, 64, 65, 1000};

typedef struct world {
    axo_system *system;
    uint32_t limit;
    uint32_t swaps;
    axo__a32 filled;  /* children that a handler got, and one; or 0 */
    axo__a32 swapped;
    axo__a32 wrong;
    axo__a32 living;  /* instances between their start and their end */
    axo__a32 most;
    axo__a32 rounds;
    axo__a32 refused;
} world;

static world at;

static void wrong_unless(bool holds)
{
    if (!holds)
        (void)axo__a32_add_relaxed(&at.wrong, 1);
}

static axo_status leaf_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    return AXO_OK;
}

/* Between these two an actor surely lives. */
static axo_status leaf_start(axo_ctx *ctx, void *state)
{
    uint32_t living = axo__a32_add_seq_cst(&at.living, 1) + 1;
    uint32_t most = axo__a32_load_relaxed(&at.most);
    while (living > most && !axo__a32_cas_acq_rel(&at.most, &most, living)) {
    }
    return AXO_OK;
}

static axo_status leaf_stop(axo_ctx *ctx, void *state)
{
    (void)axo__a32_add_seq_cst(&at.living, UINT32_MAX);
    return AXO_OK;
}

static const axo_class leaf = AXO_CLASS(.receive = leaf_receive, .pre_start = leaf_start,
                                        .post_stop = leaf_stop);

static void nap(void)
{
    struct timespec pause = {.tv_nsec = 100000};
    (void)nanosleep(&pause, NULL);
}

static axo_stats stats_now(void)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(at.system, &stats), AXO_OK);
    return stats;
}

/* Waits until so many are alive, as the statistics say. */
static void settle(uint64_t actors)
{
    for (int i = 0; stats_now().actors != actors + GUARDIANS; i++) {
        assert_true(i < 300000);
        nap();
    }
}

static void open_with(axo_options options, uint32_t limit)
{
    memset((void *)&at, 0, sizeof at);
    at.limit = limit;
    options.actors_max = limit;
    assert_int_equal(axo_system_start(&options, &at.system), AXO_OK);
}

static void open_workers(uint32_t limit, uint32_t workers)
{
    axo_options options = AXO_OPTIONS(.workers = workers);
    open_with(options, limit);
}

static void finish(void)
{
    assert_int_equal(axo__a32_load_relaxed(&at.wrong), 0);
    assert_int_equal(axo_system_stop(at.system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(at.system), AXO_OK);
}

static axo_status spawn_leaf(axo_dispatcher dispatcher, axo_ref *out)
{
    axo_props props = AXO_PROPS(.cls = &leaf, .dispatcher = (uint32_t)dispatcher);
    return axo_system_spawn(at.system, &props, out);
}

/* One more is refused, and nothing has changed. */
static void expect_full(void)
{
    axo_stats before = stats_now();
    axo_ref ref = {.bits = 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &ref), AXO_ELIMIT);
        assert_true(axo_ref_is_none(ref));
    }
    axo_stats after = stats_now();
    assert_int_equal(after.spawned, before.spawned);
    assert_int_equal(after.actors, at.limit + GUARDIANS);
}

/* ---- from outside ---- */

static void outside(uint32_t limit, uint32_t workers)
{
    axo_ref *refs = calloc(limit, sizeof *refs);
    assert_non_null(refs);
    open_workers(limit, workers);
    for (uint32_t i = 0; i < limit; i++)
        assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &refs[i]), AXO_OK);
    expect_full();
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t one = i % limit;
        assert_int_equal(axo_system_stop_actor(at.system, refs[one]), AXO_OK);
        settle(limit - 1);
        assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &refs[one]), AXO_OK);
        expect_full();
    }
    finish();
    free(refs);
}

static void so_many_from_outside(void **state)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        outside(limits[i], 1);
        outside(limits[i], 4);
    }
}

/* ---- from a handler ---- */

typedef struct filler {
    axo_ref last;
} filler;

/* As many children as there may be; the one that is refused is watched for in vain. */
static uint32_t filler_fill(axo_ctx *ctx, filler *self)
{
    axo_props props = AXO_PROPS(.cls = &leaf);
    uint32_t count = 0;
    axo_ref ref;
    axo_status status;
    while ((status = axo_spawn(ctx, &props, &ref)) == AXO_OK) {
        self->last = ref;
        count++;
        wrong_unless(count <= at.limit);
    }
    wrong_unless(status == AXO_ELIMIT && axo_ref_is_none(ref));
    return count;
}

static axo_status filler_swap(axo_ctx *ctx, filler *self)
{
    if (axo_watch(ctx, self->last) != AXO_OK)
        return AXO_ENOMEM;
    return axo_stop(ctx, self->last);
}

/* Who is told of an end finds the place free. */
static axo_status filler_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    filler *self = state;
    switch (message->tag) {
    case TAG_FILL:
        axo__a32_store_release(&at.filled, filler_fill(ctx, self) + 1);
        return AXO_OK;
    case TAG_SWAP:
        return filler_swap(ctx, self);
    case AXO_TERMINATED:
        wrong_unless(filler_fill(ctx, self) == 1);
        if (axo__a32_add_acq_rel(&at.swapped, 1) + 1 < at.swaps)
            return filler_swap(ctx, self);
        return AXO_OK;
    default:
        return AXO_UNHANDLED;
    }
}

static const axo_class filler_class = AXO_CLASS(.receive = filler_receive,
                                                .state_size = sizeof(filler));

static void await(const axo__a32 *word, uint32_t value)
{
    for (int i = 0; axo__a32_load_acquire(word) != value; i++) {
        assert_true(i < 300000);
        nap();
    }
}

static axo_ref spawn_filler(axo_dispatcher dispatcher)
{
    axo_props props = AXO_PROPS(.cls = &filler_class, .dispatcher = (uint32_t)dispatcher);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(at.system, &props, &ref), AXO_OK);
    return ref;
}

static void handler(uint32_t limit, uint32_t workers, axo_dispatcher dispatcher)
{
    open_workers(limit, workers);
    axo_ref ref = spawn_filler(dispatcher);
    assert_int_equal(axo_system_send(at.system, ref, TAG_FILL, NULL, 0), AXO_OK);
    await(&at.filled, limit); /* itself is one of them */
    expect_full();
    if (limit > 1) {
        at.swaps = 100;
        assert_int_equal(axo_system_send(at.system, ref, TAG_SWAP, NULL, 0), AXO_OK);
        await(&at.swapped, at.swaps);
        expect_full();
    }
    finish();
}

static void so_many_from_a_handler(void **state)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        handler(limits[i], 1, AXO_DISPATCH_DEFAULT);
        handler(limits[i], 4, AXO_DISPATCH_DEFAULT);
        handler(limits[i], 1, AXO_DISPATCH_PINNED);
        handler(limits[i], 1, AXO_DISPATCH_BLOCKING);
    }
}

/* ---- what others keep ---- */

/* Who has spawned before keeps cells for later; they are none of the actors. */
static void what_others_keep_does_not_count(void **state)
{
    enum { LIMIT = 3000, PINNED = 6 }; /* all that end need less than AXO__GRAVES_MIN */
    axo_ref pinned[PINNED];
    assert_true(3 * PINNED * LIMIT < AXO__GRAVES_MIN);
    open_workers(LIMIT, 4);
    for (int i = 0; i < PINNED; i++)
        pinned[i] = spawn_filler(AXO_DISPATCH_PINNED);
    for (int i = 0; i < PINNED * 3; i++) {
        axo__a32_store_relaxed(&at.filled, 0);
        assert_int_equal(axo_system_send(at.system, pinned[i % PINNED], TAG_FILL, NULL, 0), AXO_OK);
        await(&at.filled, LIMIT - PINNED + 1);
        expect_full();
        assert_int_equal(axo_system_stop_actor(at.system, pinned[i % PINNED]), AXO_OK);
        settle(PINNED - 1);
        pinned[i % PINNED] = spawn_filler(i % 2 == 0 ? AXO_DISPATCH_DEFAULT : AXO_DISPATCH_PINNED);
    }
    finish();
}

/* ---- pools ---- */

static void actors_of_all_pools_count(void **state)
{
    static const axo_dispatcher kinds[] = {AXO_DISPATCH_DEFAULT, AXO_DISPATCH_PINNED,
                                           AXO_DISPATCH_BLOCKING, AXO_DISPATCH_HOST};
    enum { KINDS = 4 };
    axo_ref refs[KINDS];
    axo_ref more;
    open_workers(KINDS, 2);
    for (int i = 0; i < KINDS; i++)
        assert_int_equal(spawn_leaf(kinds[i], &refs[i]), AXO_OK);
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < KINDS; i++)
            assert_int_equal(spawn_leaf(kinds[i], &more), AXO_ELIMIT);
        int one = round % KINDS;
        assert_int_equal(axo_system_stop_actor(at.system, refs[one]), AXO_OK);
        for (int i = 0; stats_now().actors != KINDS - 1 + GUARDIANS; i++) {
            assert_true(i < 300000);
            (void)axo_run_host(at.system, -1, NULL);
            nap();
        }
        assert_int_equal(spawn_leaf(kinds[(one + round) % KINDS], &refs[one]), AXO_OK);
    }
    for (int i = 0; i < KINDS; i++)
        assert_int_equal(axo_system_stop_actor(at.system, refs[i]), AXO_OK);
    for (int i = 0; stats_now().actors != GUARDIANS; i++) {
        assert_true(i < 300000);
        (void)axo_run_host(at.system, -1, NULL);
        nap();
    }
    finish();
}

static void a_manual_system_has_so_many(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = 1);
    for (uint32_t limit = 1; limit < 70; limit += 23) {
        axo_ref ref;
        open_with(options, limit);
        for (uint32_t i = 0; i < limit; i++)
            assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &ref), AXO_OK);
        for (int round = 0; round < 5000; round++) {
            axo_ref next;
            assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &next), AXO_ELIMIT);
            assert_int_equal(axo_system_stop_actor(at.system, ref), AXO_OK);
            (void)axo_run_host(at.system, -1, NULL);
            assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &ref), AXO_OK);
        }
        finish();
    }
}

/* ---- births that come to nothing ---- */

static void a_birth_that_fails_takes_no_place(void **state)
{
    enum { LIMIT = 2 };
    axo_ref ref;
    open_workers(LIMIT, 1);
    axo_props props = AXO_PROPS(.cls = &leaf, .name = "taken");
    assert_int_equal(axo_system_spawn(at.system, &props, &ref), AXO_OK);
    for (int i = 0; i < 100; i++) {
        axo_stats before = stats_now();
        assert_int_equal(axo_system_spawn(at.system, &props, &ref), AXO_EEXIST);
        assert_int_equal(stats_now().spawned, before.spawned);
    }
    assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &ref), AXO_OK);
    assert_int_equal(axo_system_spawn(at.system, &props, &ref), AXO_ELIMIT);
    expect_full();
    finish();
}

/* ---- storms ---- */

/* Spawns what ends at once, at the limit most of the time. */
static void storm_thread(void *arg, uint32_t index)
{
    uint32_t rounds = *(const uint32_t *)arg;
    axo_ref mine[64];
    uint32_t count = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        axo_status status = AXO_ELIMIT;
        if (count < 64)
            status = spawn_leaf(AXO_DISPATCH_DEFAULT, &mine[count]);
        wrong_unless(status == AXO_OK || status == AXO_ELIMIT);
        if (status == AXO_OK) {
            count++;
            continue;
        }
        (void)axo__a32_add_relaxed(&at.refused, 1);
        for (uint32_t k = 1 + i % 5; k > 0 && count > 0; k--)
            wrong_unless(axo_system_stop_actor(at.system, mine[--count]) == AXO_OK);
    }
    while (count > 0)
        wrong_unless(axo_system_stop_actor(at.system, mine[--count]) == AXO_OK);
}

static axo_status storm_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    filler *self = state;
    if (message->tag == AXO_TERMINATED)
        (void)axo__a32_add_relaxed(&at.swapped, 1);
    if (!axo_ref_is_none(self->last)) {
        wrong_unless(axo_stop(ctx, self->last) == AXO_OK);
        self->last = axo_ref_none();
    }
    uint32_t left = axo__a32_load_relaxed(&at.rounds);
    if (left == 0 || !axo__a32_cas_acq_rel(&at.rounds, &left, left - 1))
        return left == 0 ? AXO_OK : axo_send(ctx, axo_self(ctx), TAG_STORM, NULL, 0);
    axo_props props = AXO_PROPS(.cls = &leaf);
    axo_status status = axo_spawn(ctx, &props, &self->last);
    wrong_unless(status == AXO_OK || status == AXO_ELIMIT);
    if (status == AXO_ELIMIT)
        (void)axo__a32_add_relaxed(&at.refused, 1);
    return axo_send(ctx, axo_self(ctx), TAG_STORM, NULL, 0);
}

static const axo_class storm_class = AXO_CLASS(.receive = storm_receive,
                                               .state_size = sizeof(filler));

/* Spawners in handlers and outside; then exactly the limit can be had again. */
static void storm(uint32_t limit, uint32_t workers)
{
    enum { INSIDE = 6 };
    axo_props props = AXO_PROPS(.cls = &storm_class);
    axo_ref inside[INSIDE];
    axo_ref ref;
    uint32_t rounds = slower_share(2000, 50);
    uint32_t fixed = limit > 2 * INSIDE ? INSIDE : 0;
    open_workers(limit, workers);
    axo__a32_store_relaxed(&at.rounds, rounds);
    for (uint32_t i = 0; i < fixed; i++)
        assert_int_equal(axo_system_spawn(at.system, &props, &inside[i]), AXO_OK);
    for (uint32_t i = 0; i < fixed; i++)
        assert_int_equal(axo_system_send(at.system, inside[i], TAG_STORM, NULL, 0), AXO_OK);
    unit_run_threads(THREADS, storm_thread, &rounds);
    if (fixed > 0)
        await(&at.rounds, 0);
    for (uint32_t i = 0; i < fixed; i++)
        assert_int_equal(axo_system_stop_actor(at.system, inside[i]), AXO_OK);
    settle(0);
    assert_true(axo__a32_load_relaxed(&at.most) <= limit - fixed);
    assert_true(axo__a32_load_relaxed(&at.refused) > 0);
    for (uint32_t i = 0; i < limit; i++)
        assert_int_equal(spawn_leaf(AXO_DISPATCH_DEFAULT, &ref), AXO_OK);
    expect_full();
    await(&at.living, limit);
    finish();
}

static void never_one_more(void **state)
{
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        storm(limits[i] > 200 ? 200 : limits[i], 1);
        storm(limits[i] > 200 ? 200 : limits[i], 4);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(so_many_from_outside),
    cmocka_unit_test(so_many_from_a_handler),
    cmocka_unit_test(what_others_keep_does_not_count),
    cmocka_unit_test(actors_of_all_pools_count),
    cmocka_unit_test(a_manual_system_has_so_many),
    cmocka_unit_test(a_birth_that_fails_takes_no_place),
    cmocka_unit_test(never_one_more),
};
TEST_MAIN(tests)
