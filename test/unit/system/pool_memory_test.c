/* pool_memory_test.c - what the first actor of the blocking dispatcher costs. */
#include "unit/unit.h"

#include <axo/axo.h>

#include "sched/worker.h"

static axo_status nothing(axo_ctx *ctx, void *state, const axo_message *message)
{
    (void)ctx;
    (void)state;
    (void)message;
    return AXO_OK;
}

/* Queues of its own are for who pushes to them, and no thread of that pool does. */
static void blocking_threads_have_no_queues(void **state)
{
    enum { THREADS = 1024 };
    static const axo_class cls = AXO_CLASS(.receive = nothing);
    axo_options options = AXO_OPTIONS(.workers = 1, .blocking_max = THREADS);
    axo_props props = AXO_PROPS(.cls = &cls, .dispatcher = AXO_DISPATCH_BLOCKING);
    axo_stats before = AXO_STATS(.sent = 0);
    axo_stats after = AXO_STATS(.sent = 0);
    axo_system *system;
    axo_ref ref;
    (void)state;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_stats(system, &before), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_system_stats(system, &after), AXO_OK);
    uint64_t taken = after.memory_bytes - before.memory_bytes;
    assert_true(taken < THREADS * sizeof(axo__worker) + 200000);
    assert_true(sizeof(axo__worker) < 12288);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocking_threads_have_no_queues),
};
UNIT_MAIN(tests)
