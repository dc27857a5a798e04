/* wheel_test.c - the timer wheel against a sorted model, in virtual time: every level, jumps of the
 * clock, ties, removals, small budgets. */
#include "unit/unit.h"

#include "base/random.h"
#include "os/os.h"
#include "sched/wheel.h"

#define TICK AXO_TICK_NS
#define NODES 4096

typedef struct item {
    axo__wheel_node node; /* first */
    uint64_t number;      /* of the adding */
    bool in;
} item;

static axo__wheel wheel;
static item items[NODES];

static void add(axo__wheel_node *node, int64_t due, int64_t now)
{
    axo__wheel_add(&wheel, node, axo__tick_at(due), now);
}

static int64_t next_time(void)
{
    return axo__tick_time(axo__wheel_next(&wheel));
}

static axo__wheel_node *pop(int64_t now)
{
    uint32_t budget = UINT32_MAX;
    return axo__wheel_pop(&wheel, now, &budget);
}

static void empty_wheel(void **state)
{
    axo__wheel_init(&wheel);
    assert_true(next_time() == AXO__NEVER);
    assert_null(pop(0));
    assert_null(pop(INT64_MAX));
}

/* Neither early nor more than a tick late, from a cursor on either side of each level's carry. */
static void carry_of_every_level(void **state)
{
    for (uint32_t level = 0; level < AXO__WHEEL_LEVELS; level++) {
        for (uint64_t back = 0; back < 3; back++) {
            uint64_t edge = UINT64_C(1) << (6 * level);
            uint64_t begin = edge >= back ? edge - back : 0;
            for (uint64_t ahead = 0; ahead < 200; ahead += 1 + ahead / 7) {
                int64_t now = (int64_t)(begin << AXO__TICK_SHIFT);
                int64_t due = now + (int64_t)(ahead << AXO__TICK_SHIFT) + 1;
                axo__wheel_init(&wheel);
                assert_null(pop(now));
                add(&items[0].node, due, now);
                int64_t next = next_time();
                assert_true(next >= due && next < due + TICK);
                assert_null(pop(due - 1));
                assert_null(pop(next - 1));
                assert_ptr_equal(pop(next), &items[0].node);
                assert_true(items[0].node.place == AXO__WHEEL_NONE);
                assert_true(next_time() == AXO__NEVER);
            }
        }
    }
}

static void farthest(void **state)
{
    axo__wheel_init(&wheel);
    add(&items[0].node, INT64_MAX, 5);
    add(&items[1].node, AXO_DELAY_MAX, 5);
    add(&items[2].node, -7, 5);
    axo__wheel_add(&wheel, &items[3].node, AXO__TICK_NEVER, 5);
    assert_ptr_equal(pop(0), &items[2].node);
    assert_true(next_time() == AXO_DELAY_MAX);
    assert_null(pop(AXO_DELAY_MAX - 1));
    assert_ptr_equal(pop(AXO_DELAY_MAX), &items[1].node);
    assert_true(next_time() == INT64_MAX);
    assert_null(pop(INT64_MAX - 1));
    assert_ptr_equal(pop(INT64_MAX), &items[0].node);
    assert_true(axo__wheel_next(&wheel) == AXO__TICK_NEVER);
    assert_null(pop(INT64_MAX));
    axo__wheel_remove(&wheel, &items[3].node);
    assert_int_equal(wheel.levels, 0);
}

/* Every number is a time: each of these is reached, in order and not before, from the first one. */
static void the_whole_range(void **state)
{
    static const int64_t times[] = {
        INT64_MIN,         INT64_MIN + 1,    INT64_MIN + TICK, INT64_MIN / 2, -AXO_DELAY_MAX,
        -TICK - 1,         -TICK,            -1,               0,             1,
        TICK,              AXO_DELAY_MAX,    INT64_MAX / 2,    INT64_MAX - TICK - 1,
        INT64_MAX - TICK,  INT64_MAX - 1,    INT64_MAX,
    };
    enum { TIMES = sizeof times / sizeof times[0] };
    for (uint32_t from = 0; from < TIMES; from++) {
        axo__wheel_init(&wheel);
        for (uint32_t i = TIMES; i-- > 0;)
            add(&items[i].node, times[i], times[from]);
        uint32_t popped = 0;
        for (uint32_t i = 0; i < TIMES; i++) {
            const axo__wheel_node *node;
            for (; (node = pop(times[i])) != NULL; popped++)
                assert_true(times[(const item *)(const void *)node - items] <= times[i]);
            for (uint32_t j = 0; j < i; j++) /* at most a tick late */
                assert_true(items[j].node.place == AXO__WHEEL_NONE || times[j] > times[i] - TICK);
        }
        assert_int_equal(popped, TIMES);
    }
}

/* What waits waits until the clock comes to it again; what is due by the earlier time comes at
 * once; what is added is not behind what was. */
static void a_clock_that_goes_back(void **state)
{
    for (uint32_t bits = 1; bits < 47; bits++) {
        int64_t far = (int64_t)(UINT64_C(1) << bits << AXO__TICK_SHIFT);
        axo__wheel_init(&wheel);
        add(&items[0].node, far + 5 * TICK, 0);
        add(&items[1].node, far + 5 * TICK, far);
        add(&items[2].node, far + 100 * TICK, far);
        add(&items[3].node, far / 2, far); /* late already */
        assert_null(pop(far / 2 - 1));
        add(&items[4].node, far / 2, 0);
        assert_true(next_time() <= far / 2);
        assert_ptr_equal(pop(far / 2 + TICK), &items[3].node);
        assert_ptr_equal(pop(far / 2 + TICK), &items[4].node);
        assert_null(pop(far / 2 + TICK));
        assert_ptr_equal(pop(far + 5 * TICK), &items[0].node);
        assert_ptr_equal(pop(far + 5 * TICK), &items[1].node);
        assert_null(pop(far + 5 * TICK));
        assert_null(pop(INT64_MIN));
        assert_ptr_equal(pop(INT64_MAX), &items[2].node);
        assert_int_equal(wheel.levels, 0);
        add(&items[0].node, INT64_MIN + TICK, INT64_MIN);
        assert_null(pop(INT64_MIN));
        assert_ptr_equal(pop(INT64_MIN + TICK), &items[0].node);
    }
}

/* In the midst of a slot that is being spread: nothing is lost, and ties keep their order. */
static void it_goes_back_while_a_slot_is_spread(void **state)
{
    for (uint32_t budget = 1; budget < 12; budget++) {
        uint32_t left = budget;
        axo__wheel_init(&wheel);
        for (uint32_t i = 0; i < 10; i++)
            add(&items[i].node, (i < 5 ? 4200 : 4190) * TICK, 0);
        axo__wheel_node *first = axo__wheel_pop(&wheel, 4189 * TICK, &left);
        assert_null(first);
        add(&items[10].node, 3 * TICK, 2 * TICK); /* the clock is back */
        assert_ptr_equal(pop(3 * TICK), &items[10].node);
        assert_null(pop(4189 * TICK));
        for (uint32_t i = 5; i < 10; i++)
            assert_ptr_equal(pop(4190 * TICK), &items[i].node);
        for (uint32_t i = 0; i < 5; i++)
            assert_ptr_equal(pop(4200 * TICK), &items[i].node);
        assert_int_equal(wheel.levels, 0);
    }
}

/* Who sleeps until `next` wakes once for each tick that has something, not for the levels. */
static void next_is_exact(void **state)
{
    axo__wheel_init(&wheel);
    for (uint32_t i = 0; i < 30; i++)
        add(&items[i].node, (int64_t)(UINT64_C(7) << (i + AXO__TICK_SHIFT)), 0);
    for (uint32_t i = 0; i < 30; i++) {
        assert_true(next_time() == (int64_t)(UINT64_C(7) << (i + AXO__TICK_SHIFT)));
        assert_ptr_equal(pop(next_time()), &items[i].node);
    }
}

/* All of one tick, added at different distances and from different levels: in the order of adding,
 * also while the slot is half spread. */
static void ties_keep_their_order(void **state)
{
    const int64_t due = 5000 * TICK;
    uint32_t added = 0;
    uint32_t popped = 0;
    axo__wheel_init(&wheel);
    for (int64_t now = 0; now < 5000; now += 1 + (5000 - now) / 3)
        for (uint32_t i = 0; i < 20; i++)
            add(&items[added++].node, due, now * TICK);
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t budget = 3;
        axo__wheel_node *node = axo__wheel_pop(&wheel, due, &budget);
        if (node != NULL)
            assert_ptr_equal(node, &items[popped++].node);
        add(&items[added++].node, due, due);
    }
    for (axo__wheel_node *node; (node = pop(due)) != NULL;)
        assert_ptr_equal(node, &items[popped++].node);
    assert_int_equal(popped, added);
}

/* An earlier tick comes first though its node was spread after a later one's. */
static void half_spread_waits(void **state)
{
    axo__wheel_init(&wheel);
    add(&items[0].node, 70 * TICK, 0);
    add(&items[1].node, 66 * TICK, 0);
    uint32_t budget = 1;
    assert_null(axo__wheel_pop(&wheel, 100 * TICK, &budget));
    assert_true(next_time() <= 66 * TICK);
    add(&items[2].node, 65 * TICK, 64 * TICK);
    assert_ptr_equal(pop(100 * TICK), &items[2].node);
    assert_ptr_equal(pop(100 * TICK), &items[1].node);
    assert_ptr_equal(pop(100 * TICK), &items[0].node);
    add(&items[0].node, 300 * TICK, 0);
    add(&items[1].node, 300 * TICK, 0);
    budget = 1;
    assert_null(axo__wheel_pop(&wheel, 400 * TICK, &budget));
    axo__wheel_remove(&wheel, &items[1].node); /* the last of the slot that is being spread */
    assert_true(wheel.spreading == AXO__WHEEL_NONE);
    assert_ptr_equal(pop(400 * TICK), &items[0].node);
}

/* ---- a million random steps ---- */

/* The model: a heap of (tick, number); removed items stay in it until they come up. */
typedef struct entry {
    uint64_t tick;
    uint64_t number;
    uint32_t index;
} entry;

static entry heap[1000000];
static uint32_t heap_count;

static bool entry_before(const entry *one, const entry *other)
{
    return one->tick != other->tick ? one->tick < other->tick : one->number < other->number;
}

static void heap_push(entry one)
{
    uint32_t at = heap_count++;
    assert_true(heap_count <= sizeof heap / sizeof heap[0]);
    for (; at > 0 && entry_before(&one, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = one;
}

static void heap_pop(void)
{
    entry last = heap[--heap_count];
    uint32_t at = 0;
    for (uint32_t child; (child = at * 2 + 1) < heap_count; at = child) {
        if (child + 1 < heap_count && entry_before(&heap[child + 1], &heap[child]))
            child++;
        if (!entry_before(&heap[child], &last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
}

static const entry *heap_first(void)
{
    while (heap_count > 0 &&
           (!items[heap[0].index].in || items[heap[0].index].number != heap[0].number))
        heap_pop();
    return heap_count > 0 ? &heap[0] : NULL;
}

static int64_t random_delay(axo__random *random)
{
    uint32_t bits = axo__random_below(random, 44);
    return (int64_t)(axo__random_next(random) & ((UINT64_C(1) << bits) - 1));
}

static void model_pop_all(int64_t now, uint32_t budget_max)
{
    for (;;) {
        const entry *first = heap_first();
        uint32_t budget = budget_max;
        axo__wheel_node *node = axo__wheel_pop(&wheel, now, &budget);
        if (node == NULL && budget == 0)
            continue;
        if (node == NULL) {
            assert_true(first == NULL || first->tick > axo__tick_in(now));
            return;
        }
        assert_non_null(first);
        assert_ptr_equal(node, &items[first->index].node);
        assert_true(first->tick <= axo__tick_in(now));
        items[first->index].in = false;
    }
}

static void model_add(item *it, int64_t due, int64_t now, uint64_t number)
{
    uint64_t tick = (uint64_t)((due + TICK - 1) / TICK) + AXO__TICK_END / 2;
    add(&it->node, due, now);
    if (tick < wheel.cursor)
        tick = wheel.cursor; /* overdue: the wheel says with whom it fires */
    heap_push((entry){.tick = tick, .number = number, .index = (uint32_t)(it - items)});
    it->number = number;
    it->in = true;
}

static void model_check_next(void)
{
    const entry *first = heap_first();
    int64_t next = next_time();
    if (first == NULL)
        assert_true(next == AXO__NEVER);
    else
        assert_true(next <= axo__tick_time(first->tick));
}

static void a_million_random_steps(void **state)
{
    axo__random random;
    uint64_t number = 0;
    int64_t now = INT64_C(12345678901);
    axo__random_init(&random, 7, 7);
    axo__wheel_init(&wheel);
    for (uint32_t step = 0; step < 1000000; step++) {
        item *it = &items[axo__random_below(&random, NODES)];
        uint32_t kind = axo__random_below(&random, 64);
        if (kind == 0) {
            now += random_delay(&random) / (1 + axo__random_below(&random, 2000));
            model_pop_all(now, 1 + axo__random_below(&random, 9));
        } else if (it->in) {
            axo__wheel_remove(&wheel, &it->node);
            it->in = false;
        } else if (kind == 1) {
            model_add(it, now - random_delay(&random) % now, now, ++number);
        } else {
            model_add(it, now + random_delay(&random), now, ++number);
        }
        if (step % 16 == 0)
            model_check_next();
    }
    model_pop_all(INT64_MAX / 2, UINT32_MAX);
    assert_int_equal(wheel.levels, 0);
    for (uint32_t i = 0; i < NODES; i++)
        assert_false(items[i].in);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(empty_wheel),           cmocka_unit_test(carry_of_every_level),
    cmocka_unit_test(farthest),              cmocka_unit_test(next_is_exact),
    cmocka_unit_test(ties_keep_their_order), cmocka_unit_test(half_spread_waits),
    cmocka_unit_test(the_whole_range),       cmocka_unit_test(a_clock_that_goes_back),
    cmocka_unit_test(it_goes_back_while_a_slot_is_spread),
    cmocka_unit_test(a_million_random_steps),
};
TEST_MAIN(tests)
