/* figures_test.c - figures inside: the bucket of each time, blocks that outlive their worker,
 * counts without memory. */
#include "unit/unit.h"

#include <axo/axo.h>

#include "sched/figures.h"
#include "system/system.h"

static void each_time_has_its_bucket(void **state)
{
    assert_int_equal(axo__figures_bucket(INT64_MIN), 0);
    assert_int_equal(axo__figures_bucket(0), 0);
    assert_int_equal(axo__figures_bucket(1), 0);
    for (uint32_t i = 0; i + 1 < AXO_METRICS_BUCKETS; i++) {
        int64_t bound = axo__figures_bound(i);
        assert_int_equal(axo__figures_bucket(bound), i);
        assert_int_equal(axo__figures_bucket(bound + 1), i + 1);
        assert_int_equal(axo__figures_bucket(axo__figures_bound(i + 1)), i + 1);
    }
    assert_int_equal(axo__figures_bucket(INT64_MAX), AXO_METRICS_BUCKETS - 1);
}

static axo_status on_message(axo_ctx *ctx, void *state, const axo_message *message)
{
    return message->tag == 2 ? axo_fail(ctx, 1, NULL) : AXO_OK;
}

static const axo_class red = AXO_CLASS(.name = "red", .receive = on_message);

static uint32_t blocks_of(const axo__figures *figures, uint32_t number)
{
    const axo__figures_block *block = axo__aptr_load_acquire(&figures->classes[number].blocks);
    uint32_t count = 0;
    for (; block != NULL; block = block->next)
        count++;
    return count;
}

/* Forty actors, one after the other, with a thread of their own each: a worker that comes goes on
 * in the block of one that has gone. */
static void a_block_outlives_its_worker(void **state)
{
    enum { ROUNDS = 40 };
    axo_options options = AXO_OPTIONS(.workers = 1, .figures = AXO_FIGURES_TIMES);
    axo_props props = AXO_PROPS(.cls = &red, .dispatcher = AXO_DISPATCH_PINNED);
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    axo_metrics_class of;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        axo_ref ref;
        assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
        assert_int_equal(axo_system_send(system, ref, 1, NULL, 0), AXO_OK);
        assert_int_equal(axo_system_send(system, ref, AXO_TAG_RESERVED - 1, NULL, 0), AXO_OK);
        do {
            (void)sched_yield();
            axo__figures_read(system->core.figures, 1, &of);
        } while (axo__figures_classes(system->core.figures) < 2 || of.handled < 2 * (i + 1));
        assert_string_equal(of.name, "red");
        assert_int_equal(axo_system_stop_actor(system, ref), AXO_OK);
        bool pools = true;
        while (pools) { /* until the reclaimer has joined its thread */
            (void)sched_yield();
            axo__os_mutex_lock(&system->pools_mutex);
            pools = system->pools != NULL;
            axo__os_mutex_unlock(&system->pools_mutex);
        }
    }
    assert_int_equal(blocks_of(system->core.figures, 1), 1);
    axo__figures_read(system->core.figures, 1, &of);
    assert_int_equal(of.handled, 2 * ROUNDS);
    assert_int_equal(of.handler.count, 2 * ROUNDS);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

static bool refusing;

static void *scarce_alloc(void *user, size_t size, size_t align)
{
    size_t whole = (size + align - 1) / align * align;
    return refusing ? NULL : aligned_alloc(align < 16 ? 16 : align, whole);
}

static void scarce_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

/* What finds no block is counted in its own class, and timed in none; later messages have one. */
static void no_memory_for_a_block(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .figures = AXO_FIGURES_TIMES,
                                      .allocator = {scarce_alloc, scarce_free, NULL});
    axo_props props = AXO_PROPS(.cls = &red);
    axo_system *system;
    axo_ref ref;
    axo_metrics_class of;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &ref), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(axo_system_send(system, ref, i == 3 ? 2 : 1, NULL, 0), AXO_OK);
    refusing = true;
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    refusing = false;
    axo__figures_read(system->core.figures, 1, &of);
    assert_string_equal(of.name, "red");
    assert_int_equal(of.handled, 5);
    assert_int_equal(of.failures, 1);
    assert_int_equal(of.restarts, 1);
    assert_int_equal(of.handler.count + of.mailbox.count, 0);
    assert_int_equal(axo_system_send(system, ref, 1, NULL, 0), AXO_OK);
    assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
    axo__figures_read(system->core.figures, 1, &of);
    assert_int_equal(of.handled, 6);
    assert_int_equal(of.handler.count, 1);
    assert_int_equal(of.mailbox.count, 1);
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

/* Off, no cell is marked and no worker is kept from plain turns. */
static void nothing_is_there_without_figures(void **state)
{
    for (uint32_t figures = AXO_FIGURES_NONE; figures <= AXO_FIGURES_TIMES; figures++) {
        axo_options options = AXO_OPTIONS(.manual = 1, .figures = figures);
        axo_system *system;
        assert_int_equal(axo_system_start(&options, &system), AXO_OK);
        assert_int_equal((system->sched.workers[0].attention & AXO__LOOK_TRACED) != 0,
                         figures != AXO_FIGURES_NONE);
        assert_int_equal(system->cells[1]->timed, figures == AXO_FIGURES_TIMES);
        assert_int_equal(axo__core_kinds(&system->core) != 0, figures != AXO_FIGURES_NONE);
        assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
        assert_int_equal(axo_system_destroy(system), AXO_OK);
    }
}

static void on_event(void *user, const axo_event *event)
{
}

/* A worker leaves plain turns while messages are told of, and no longer. */
static void a_choice_of_events_is_taken_back(void **state)
{
    axo_options options = AXO_OPTIONS(.manual = 1, .trace = on_event,
                                      .trace_kinds = AXO_EVENT_BIT(AXO_EV_FAIL));
    axo_system *system;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    const axo__worker *worker = &system->sched.workers[0];
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t kinds = i % 2 == 0 ? 0 : AXO_EVENT_BIT(AXO_EV_RECEIVED);
        assert_int_equal(axo_system_trace_kinds(system, kinds), AXO_OK);
        assert_int_equal(axo_system_send(system, axo_system_guardian(system, AXO_GUARDIAN_USER), 1,
                                         NULL, 0),
                         AXO_OK);
        assert_int_equal(axo_run_host(system, -1, NULL), AXO_OK);
        assert_int_equal((worker->attention & AXO__LOOK_TRACED) != 0, kinds != 0);
    }
    assert_int_equal(axo_system_stop(system, -1, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_time_has_its_bucket),
        cmocka_unit_test(a_block_outlives_its_worker),
        cmocka_unit_test(no_memory_for_a_block),
        cmocka_unit_test(nothing_is_there_without_figures),
        cmocka_unit_test(a_choice_of_events_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
