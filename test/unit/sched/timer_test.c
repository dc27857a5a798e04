/* timer_test.c - a worker's timers: against a sorted model, ties, limits, no memory. */
#include "unit/unit.h"

#include "base/random.h"
#include "sched/timer.h"

enum { MODEL_MAX = 500 };

typedef struct timer_world {
    axo__heap heap;
    unit_memory memory;
    axo__timers timers;
} timer_world;

static void world_open(timer_world *world, uint64_t budget)
{
    memset(world, 0, sizeof *world);
    unit_heap(&world->heap, &world->memory, budget);
}

static void world_close(timer_world *world)
{
    axo__timers_fini(&world->timers, &world->heap);
    assert_true(axo__timers_next(&world->timers) == AXO__NEVER);
    unit_heap_empty(&world->heap);
}

static axo_status add(timer_world *world, int64_t due, uint64_t mark, uint32_t max)
{
    return axo__timers_add(&world->timers, &world->heap, max, due, (axo_ref){.bits = mark},
                           (axo__message *)(uintptr_t)(mark * 16));
}

typedef struct model_timer {
    int64_t due;
    uint64_t mark;
} model_timer;

/* Sorted by time, then by the order of setting. */
static void model_add(model_timer *model, uint32_t *count, int64_t due, uint64_t mark)
{
    uint32_t at = (*count)++;
    for (; at > 0 && model[at - 1].due > due; at--)
        model[at] = model[at - 1];
    model[at] = (model_timer){.due = due, .mark = mark};
}

static void pop_as_the_model(timer_world *world, model_timer *model, uint32_t *count)
{
    axo__timer timer = axo__timers_pop(&world->timers);
    assert_true(timer.due == model[0].due);
    assert_true(timer.to.bits == model[0].mark);
    assert_ptr_equal(timer.message, (void *)(uintptr_t)(model[0].mark * 16));
    (*count)--;
    memmove(model, model + 1, *count * sizeof *model);
}

/* `spread` times are in use: few of them make many ties. */
static void against_the_model(uint64_t seed, uint32_t spread)
{
    static model_timer model[MODEL_MAX];
    timer_world world;
    axo__random random;
    uint32_t count = 0;
    world_open(&world, UINT64_MAX);
    axo__random_init(&random, seed, spread);
    for (uint64_t mark = 1; mark < 20000; mark++) {
        bool grow = axo__random_below(&random, 1000) < (mark / 2000 % 2 == 0 ? 600 : 400);
        if (count == 0 || (grow && count < MODEL_MAX)) {
            int64_t due = (int64_t)axo__random_below(&random, spread);
            assert_int_equal(add(&world, due, mark, MODEL_MAX), AXO_OK);
            model_add(model, &count, due, mark);
        } else {
            pop_as_the_model(&world, model, &count);
        }
        assert_int_equal(world.timers.count, count);
        assert_true(axo__timers_next(&world.timers) == (count > 0 ? model[0].due : AXO__NEVER));
    }
    while (count > 0)
        pop_as_the_model(&world, model, &count);
    world_close(&world);
}

static void random_times_come_sorted(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        against_the_model(seed, UINT32_MAX);
}

static void ties_come_in_the_order_they_were_set(void **state)
{
    against_the_model(1, 1);
    against_the_model(2, 3);
    against_the_model(3, 40);
}

static void far_and_past_times(void **state)
{
    static const int64_t dues[] = {AXO__NEVER - 1, 0, -5, INT64_MIN, 7, AXO__NEVER - 1};
    static const uint64_t order[] = {4, 3, 2, 5, 1, 6};
    timer_world world;
    world_open(&world, UINT64_MAX);
    assert_true(axo__timers_next(&world.timers) == AXO__NEVER);
    for (uint64_t i = 0; i < 6; i++)
        assert_int_equal(add(&world, dues[i], i + 1, 10), AXO_OK);
    for (uint64_t i = 0; i < 6; i++)
        assert_true(axo__timers_pop(&world.timers).to.bits == order[i]);
    world_close(&world);
}

static void the_limit_is_exact(void **state)
{
    timer_world world;
    world_open(&world, UINT64_MAX);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(add(&world, (int64_t)i, i, 100), AXO_OK);
    assert_int_equal(add(&world, -1, 999, 100), AXO_ELIMIT);
    assert_true(axo__timers_next(&world.timers) == 0);
    (void)axo__timers_pop(&world.timers);
    assert_int_equal(add(&world, -1, 999, 100), AXO_OK);
    assert_int_equal(add(&world, -1, 999, 100), AXO_ELIMIT);
    world_close(&world);
}

static void no_memory_changes_nothing(void **state)
{
    timer_world world;
    world_open(&world, 0);
    assert_int_equal(add(&world, 1, 1, 1000), AXO_ENOMEM);
    assert_true(axo__timers_next(&world.timers) == AXO__NEVER);
    axo__a64_store_relaxed(&world.memory.budget, 1);
    uint64_t count = 0;
    while (add(&world, (int64_t)count, count, 1000) == AXO_OK)
        count++;
    assert_int_equal(add(&world, 5, 5, 1000), AXO_ENOMEM);
    assert_true(count > 0);
    assert_int_equal(world.timers.count, count);
    for (uint64_t i = 0; i < count; i++)
        assert_true(axo__timers_pop(&world.timers).to.bits == i);
    world_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_times_come_sorted),
    cmocka_unit_test(ties_come_in_the_order_they_were_set),
    cmocka_unit_test(far_and_past_times),
    cmocka_unit_test(the_limit_is_exact),
    cmocka_unit_test(no_memory_changes_nothing),
};
UNIT_MAIN(tests)
