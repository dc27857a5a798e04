/* mpsc_test.c - many producers, one consumer: order of each producer, nothing lost or doubled. */
#include "unit/unit.h"

#include "queue/mpsc.h"

enum { PRODUCERS = 4, EACH = 50000 };

typedef struct mpsc_entry {
    axo__mpsc_node node; /* first */
    uint32_t producer;
    uint32_t number;
} mpsc_entry;

static void first_in_first_out(void **state)
{
    axo__mpsc queue;
    mpsc_entry entries[10];
    axo__mpsc_node *node = NULL;
    axo__mpsc_init(&queue);
    assert_true(axo__mpsc_is_empty_owner(&queue));
    assert_int_equal(axo__mpsc_pop_owner(&queue, &node), AXO__POP_EMPTY);
    for (int i = 0; i < 10; i++)
        axo__mpsc_push_any(&queue, &entries[i].node);
    for (int i = 0; i < 10; i++) {
        assert_false(axo__mpsc_is_empty_owner(&queue));
        assert_int_equal(axo__mpsc_pop_owner(&queue, &node), AXO__POP_ITEM);
        assert_ptr_equal(node, &entries[i].node);
    }
    assert_true(axo__mpsc_is_empty_owner(&queue));
    assert_int_equal(axo__mpsc_pop_owner(&queue, &node), AXO__POP_EMPTY);
}

/* A node is the queue's only from push to pop: the same one goes round. */
static void a_popped_node_can_be_pushed_again(void **state)
{
    axo__mpsc queue;
    mpsc_entry entries[2];
    axo__mpsc_node *node = NULL;
    axo__mpsc_init(&queue);
    axo__mpsc_push_any(&queue, &entries[0].node);
    for (int i = 0; i < 1000; i++) {
        axo__mpsc_push_any(&queue, &entries[(i + 1) % 2].node);
        assert_int_equal(axo__mpsc_pop_owner(&queue, &node), AXO__POP_ITEM);
        assert_ptr_equal(node, &entries[i % 2].node);
        memset((void *)node, 0xee, sizeof *node);
    }
    assert_int_equal(axo__mpsc_pop_owner(&queue, &node), AXO__POP_ITEM);
    assert_int_equal(axo__mpsc_pop_owner(&queue, &node), AXO__POP_EMPTY);
}

typedef struct mpsc_world {
    axo__mpsc queue;
    mpsc_entry *entries;
    uint32_t next[PRODUCERS]; /* number that must come next */
    uint32_t wrong;
    uint32_t left_over;
} mpsc_world;

static void consume(mpsc_world *world)
{
    uint32_t got = 0;
    axo__mpsc_node *node = NULL;
    while (got < PRODUCERS * EACH) {
        if (axo__mpsc_pop_owner(&world->queue, &node) != AXO__POP_ITEM) {
            (void)sched_yield();
            continue;
        }
        const mpsc_entry *entry = (const mpsc_entry *)(void *)node;
        if (entry->producer >= PRODUCERS || entry->number != world->next[entry->producer]++)
            world->wrong++;
        got++;
    }
    world->left_over = axo__mpsc_is_empty_owner(&world->queue) ? 0 : 1;
}

static void consume_or_produce(void *arg, uint32_t index)
{
    mpsc_world *world = arg;
    if (index == PRODUCERS) {
        consume(world);
        return;
    }
    for (uint32_t i = 0; i < EACH; i++) {
        mpsc_entry *entry = &world->entries[index * EACH + i];
        entry->producer = index;
        entry->number = i;
        axo__mpsc_push_any(&world->queue, &entry->node);
    }
}

static void each_producer_keeps_its_order(void **state)
{
    mpsc_world world = {.wrong = 0};
    world.entries = calloc(PRODUCERS * EACH, sizeof *world.entries);
    assert_non_null(world.entries);
    axo__mpsc_init(&world.queue);
    unit_run_threads(PRODUCERS + 1, consume_or_produce, &world);
    assert_int_equal(world.wrong, 0);
    assert_int_equal(world.left_over, 0);
    for (int i = 0; i < PRODUCERS; i++)
        assert_int_equal(world.next[i], EACH);
    free(world.entries);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(first_in_first_out),
    cmocka_unit_test(a_popped_node_can_be_pushed_again),
    cmocka_unit_test(each_producer_keeps_its_order),
};
TEST_MAIN(tests)
