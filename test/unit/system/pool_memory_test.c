/* pool_memory_test.c - what the blocking dispatcher takes: a record with each thread, for the life
 * of the pool. */
#include "unit/unit.h"

#include <axo/axo.h>

#include <time.h>

#include "sched/pool.h"

enum { THREADS = 1024 };

/* Handlers wait until it is open. */
static axo__a32 gate;
static axo__a32 inside;
static axo__a32 handled;

static void nap(void)
{
    struct timespec pause = {.tv_nsec = 100000};
    (void)nanosleep(&pause, NULL);
}

static void await(const axo__a32 *word, uint32_t value)
{
    for (int i = 0; axo__a32_load_acquire(word) < value; i++) {
        assert_true(i < 300000);
        nap();
    }
}

static axo_status wait_for_gate(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)axo__a32_add_acq_rel(&inside, 1);
    while (axo__a32_load_acquire(&gate) == 0)
        nap();
    (void)axo__a32_add_acq_rel(&handled, 1);
    return AXO_OK;
}

/* Refuses blocks of a record's size, but `left` of them. */
static axo__a32 records_left;
static axo__a32 records_held;

static void *record_alloc(void *user, size_t size, size_t align)
{
    if (size == sizeof(axo__worker)) {
        uint32_t left = axo__a32_load_relaxed(&records_left);
        do {
            if (left == 0)
                return NULL;
        } while (!axo__a32_cas_acq_rel(&records_left, &left, left - 1));
        (void)axo__a32_add_relaxed(&records_held, 1);
    }
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static void record_free(void *user, void *block, size_t size, size_t align)
{
    if (block != NULL && size == sizeof(axo__worker))
        (void)axo__a32_add_relaxed(&records_held, UINT32_MAX);
    free(block);
}

static axo_system *start(uint32_t records)
{
    axo_options options = AXO_OPTIONS(.workers = 2, .blocking_max = THREADS,
                                      .blocking_idle_ms = 1,
                                      .allocator = {.alloc = record_alloc, .free = record_free});
    axo_system *system;
    axo__a32_store_relaxed(&gate, 0);
    axo__a32_store_relaxed(&inside, 0);
    axo__a32_store_relaxed(&handled, 0);
    axo__a32_store_relaxed(&records_left, records);
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

static void finish(axo_system *system)
{
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(axo__a32_load_relaxed(&records_held), 0);
}

static uint64_t held(axo_system *system)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    return stats.memory_bytes;
}

static const axo_class cls = AXO_CLASS(.receive = wait_for_gate);

static axo_ref spawn(axo_system *system, axo_status expected)
{
    axo_props props = AXO_PROPS(.cls = &cls, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_ref ref;
    assert_int_equal(axo_system_spawn(system, &props, &ref), expected);
    assert_int_equal(axo_ref_is_none(ref), expected != AXO_OK);
    return ref;
}

/* As many records as threads, however many there might be. */
static void a_record_comes_with_its_thread(void **state)
{
    enum { BUSY = 6 };
    axo_system *system = start(THREADS);
    uint64_t before = held(system);
    axo_ref refs[BUSY];
    refs[0] = spawn(system, AXO_OK);
    assert_true(held(system) - before < 100000);
    for (int i = 1; i < BUSY; i++)
        refs[i] = spawn(system, AXO_OK);
    await(&records_held, 2); /* the next one's is ready */
    for (uint32_t i = 0; i < BUSY; i++) {
        assert_int_equal(axo_system_send(system, refs[i], 1, NULL, 0), AXO_OK);
        await(&inside, i + 1);
    }
    uint32_t records = axo__a32_load_relaxed(&records_held);
    assert_in_range(records, BUSY, 3 * BUSY); /* some may have come for nothing */
    assert_true(held(system) - before >= BUSY * sizeof(axo__worker));
    axo__a32_store_release(&gate, 1);
    await(&handled, BUSY);
    for (int round = 0; round < 20; round++) { /* records of threads that have ended serve again */
        axo__a32_store_release(&gate, 0);
        axo__a32_store_release(&inside, 0);
        for (int i = 0; i < BUSY; i++)
            assert_int_equal(axo_system_send(system, refs[i], 1, NULL, 0), AXO_OK);
        await(&inside, BUSY);
        axo__a32_store_release(&gate, 1);
        await(&handled, BUSY * ((uint32_t)round + 2));
        nap();
    }
    assert_true(axo__a32_load_relaxed(&records_held) <= 3 * BUSY);
    finish(system);
}

static void a_first_thread_without_a_record(void **state)
{
    axo_system *system = start(0);
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stats(system, &before), AXO_OK);
    for (int i = 0; i < 3; i++)
        (void)spawn(system, AXO_ENOMEM);
    assert_int_equal(axo_system_stats(system, &after), AXO_OK);
    assert_int_equal(after.actors, before.actors);
    assert_int_equal(after.spawned, before.spawned);
    axo__a32_store_relaxed(&records_left, 1);
    axo_ref ref = spawn(system, AXO_OK);
    axo__a32_store_release(&gate, 1);
    assert_int_equal(axo_system_send(system, ref, 1, NULL, 0), AXO_OK);
    await(&handled, 1);
    finish(system);
}

/* Who is there does the work. */
static void a_later_thread_without_a_record(void **state)
{
    enum { ACTORS = 4 };
    axo_system *system = start(1);
    axo_ref refs[ACTORS];
    for (int i = 0; i < ACTORS; i++)
        refs[i] = spawn(system, AXO_OK);
    for (int i = 0; i < ACTORS; i++)
        assert_int_equal(axo_system_send(system, refs[i], 1, NULL, 0), AXO_OK);
    await(&inside, 1);
    for (int i = 0; i < 20; i++)
        nap();
    assert_int_equal(axo__a32_load_relaxed(&inside), 1);
    assert_int_equal(axo__a32_load_relaxed(&records_held), 1);
    axo__a32_store_release(&gate, 1);
    await(&handled, ACTORS);
    finish(system);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_record_comes_with_its_thread),
    cmocka_unit_test(a_first_thread_without_a_record),
    cmocka_unit_test(a_later_thread_without_a_record),
};
TEST_MAIN(tests)
