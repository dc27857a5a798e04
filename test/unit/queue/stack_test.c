/* stack_test.c - pushed by many, taken whole: order, every node once. */
#include "unit/unit.h"

#include "queue/stack.h"

enum { PUSHERS = 3, TAKERS = 2, EACH = 50000 };

typedef struct stack_entry {
    axo__stack_node node; /* first */
    uint32_t pusher;
    uint32_t number;
    axo__a32 taken;
} stack_entry;

static void check_next(axo__stack_link *link, const stack_entry *entry, uint32_t tag)
{
    assert_ptr_equal(axo__stack_node_of(*link), &entry->node);
    assert_int_equal(axo__stack_tag_of(*link), tag);
    *link = entry->node.next;
}

static void youngest_first_and_reversed(void **state)
{
    enum { NODES = 9 }; /* every tag, the first one twice */
    axo__stack stack;
    stack_entry entries[NODES];
    axo__stack_init(&stack);
    assert_false(axo__stack_has_any(&stack));
    assert_true(axo__stack_take_any(&stack) == 0);
    for (uint32_t i = 0; i < NODES; i++)
        axo__stack_push_any(&stack, &entries[i].node, i % 8);
    assert_true(axo__stack_has_any(&stack));
    axo__stack_link taken = axo__stack_take_any(&stack);
    assert_false(axo__stack_has_any(&stack));
    assert_true(axo__stack_take_any(&stack) == 0);
    axo__stack_link at = taken;
    for (uint32_t i = NODES; i-- > 0;)
        check_next(&at, &entries[i], i % 8);
    assert_true(at == 0);
    at = axo__stack_reverse(taken);
    for (uint32_t i = 0; i < NODES; i++)
        check_next(&at, &entries[i], i % 8);
    assert_true(at == 0);
    assert_true(axo__stack_reverse(0) == 0);
}

typedef struct stack_world {
    axo__stack stack;
    stack_entry *entries;
    axo__a32 got;
    axo__a32 wrong;
} stack_world;

/* In one take, the entries of one pusher are in its order. */
static void check_taken(stack_world *world, axo__stack_link link)
{
    int64_t last[PUSHERS];
    memset(last, -1, sizeof last);
    for (link = axo__stack_reverse(link); link != 0;) {
        stack_entry *entry = (stack_entry *)(void *)axo__stack_node_of(link);
        bool tagged = axo__stack_tag_of(link) == entry->number % 8;
        link = entry->node.next;
        if (!tagged || (int64_t)entry->number <= last[entry->pusher] ||
            axo__a32_xchg_acq_rel(&entry->taken, 1) != 0)
            (void)axo__a32_add_relaxed(&world->wrong, 1);
        last[entry->pusher] = entry->number;
        (void)axo__a32_add_relaxed(&world->got, 1);
    }
}

static void push_or_take(void *arg, uint32_t index)
{
    stack_world *world = arg;
    if (index >= PUSHERS) {
        while (axo__a32_load_relaxed(&world->got) < PUSHERS * EACH) {
            axo__stack_link link = axo__stack_take_any(&world->stack);
            if (link == 0)
                (void)sched_yield();
            check_taken(world, link);
        }
        return;
    }
    for (uint32_t i = 0; i < EACH; i++) {
        stack_entry *entry = &world->entries[index * EACH + i];
        entry->pusher = index;
        entry->number = i;
        axo__stack_push_any(&world->stack, &entry->node, i % 8);
    }
}

static void every_node_is_taken_once(void **state)
{
    stack_world world;
    memset(&world, 0, sizeof world);
    world.entries = calloc(PUSHERS * EACH, sizeof *world.entries);
    assert_non_null(world.entries);
    axo__stack_init(&world.stack);
    unit_run_threads(PUSHERS + TAKERS, push_or_take, &world);
    assert_int_equal(axo__a32_load_relaxed(&world.wrong), 0);
    assert_int_equal(axo__a32_load_relaxed(&world.got), PUSHERS * EACH);
    assert_false(axo__stack_has_any(&world.stack));
    free(world.entries);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(youngest_first_and_reversed),
    cmocka_unit_test(every_node_is_taken_once),
};
TEST_MAIN(tests)
