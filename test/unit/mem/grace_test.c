/* grace_test.c - grace periods on real threads: nothing expires under a reader, all expires. */
#include "unit/unit.h"

#include "mem/grace.h"

enum { READERS = 3, ITEMS = 3000, LIVE = 0x11ce, DEAD = 0xdead };

typedef struct grace_thing {
    axo__grace_item item; /* first */
    axo__a32 value;
    axo__a32 times; /* expired so often */
} grace_thing;

typedef struct grace_world {
    axo__grace grace;
    grace_thing things[ITEMS];
    axo__aptr current; /* what readers may find */
    axo__a32 stop;
    axo__a32 wrong;
    axo__a32 passes;
    axo__a32 expired;
    axo__a32 freed;
    axo__a32 passes_missing;
} grace_world;

static void world_pass(void *user)
{
    grace_world *world = user;
    (void)axo__a32_add_relaxed(&world->passes, 1);
}

/* Each batch comes after a passage of its own through the doors. */
static void world_expire(void *user, uint32_t home, axo__grace_item *items, axo__grace_item *last)
{
    assert_null(last->next);
    assert_int_equal(home, 0);
    grace_world *world = user;
    if (axo__a32_xchg_acq_rel(&world->passes, 0) == 0)
        (void)axo__a32_add_relaxed(&world->passes_missing, 1);
    while (items != NULL) {
        grace_thing *thing = (grace_thing *)(void *)items;
        items = items->next;
        axo__a32_store_relaxed(&thing->value, DEAD);
        (void)axo__a32_add_relaxed(&thing->times, 1);
        (void)axo__a32_add_acq_rel(&world->expired, 1);
    }
}

static void world_give(void *user, axo__grace_block *block)
{
    grace_world *world = user;
    free(block);
    (void)axo__a32_add_acq_rel(&world->freed, 1);
}

static void world_retire_block(grace_world *world)
{
    axo__grace_block *block = malloc(sizeof *block);
    assert_non_null(block);
    axo__grace_retire_block(&world->grace, block);
}

static const axo__grace_ops world_ops = {.pass = world_pass, .expire = world_expire,
                                         .give_block = world_give};

static grace_world *world_new(void)
{
    grace_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    for (int i = 0; i < ITEMS; i++)
        axo__a32_store_relaxed(&world->things[i].value, LIVE);
    axo__aptr_store_release(&world->current, &world->things[0]);
    assert_true(axo__grace_start(&world->grace, &world_ops, AXO__GRACE_THREAD, world, NULL));
    return world;
}

/* Reads one thing many times over before it is quiet. */
static void reader(grace_world *world)
{
    uint32_t turn = 0;
    (void)axo__grace_enter();
    while (axo__a32_load_acquire(&world->stop) == 0) {
        const grace_thing *thing = axo__aptr_load_acquire(&world->current);
        for (int i = 0; i < 200; i++) {
            if (axo__a32_load_relaxed(&thing->value) != LIVE)
                (void)axo__a32_add_relaxed(&world->wrong, 1);
        }
        if (++turn % 16 == 0) {
            axo__grace_offline();
            (void)sched_yield();
            axo__grace_online();
        } else {
            axo__grace_quiet();
        }
    }
    axo__grace_leave(false);
}

static void reader_or_writer(void *arg, uint32_t index)
{
    grace_world *world = arg;
    if (index < READERS) {
        reader(world);
        return;
    }
    for (int i = 1; i < ITEMS; i++) {
        axo__aptr_store_release(&world->current, &world->things[i]);
        axo__grace_item *old = &world->things[i - 1].item;
        axo__grace_retire(&world->grace, 0, old, old);
        if (i % 8 == 0)
            (void)sched_yield();
    }
    axo__a32_store_release(&world->stop, 1);
}

static void readers_never_see_an_expired_thing(void **state)
{
    grace_world *world = world_new();
    unit_run_threads(READERS + 1, reader_or_writer, world);
    axo__grace_stop(&world->grace);
    assert_int_equal(axo__a32_load_relaxed(&world->wrong), 0);
    assert_int_equal(axo__a32_load_relaxed(&world->passes_missing), 0);
    for (int i = 0; i < ITEMS - 1; i++)
        assert_int_equal(axo__a32_load_relaxed(&world->things[i].times), 1);
    assert_int_equal(axo__a32_load_relaxed(&world->things[ITEMS - 1].times), 0);
    free(world);
}

/* This thread is a reader: nothing expires before it is quiet, however often others look. */
static void a_reader_holds_the_period_open(void **state)
{
    grace_world *world = world_new();
    (void)axo__grace_enter();
    axo__grace_retire(&world->grace, 0, &world->things[0].item, &world->things[0].item);
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(axo__a32_load_acquire(&world->expired), 0);
        (void)sched_yield();
    }
    axo__grace_offline();
    while (axo__a32_load_acquire(&world->expired) == 0)
        (void)sched_yield();
    axo__grace_online();
    axo__grace_leave(false);
    axo__grace_stop(&world->grace);
    free(world);
}

static void enter_nests(void **state)
{
    grace_world *world = world_new();
    (void)axo__grace_enter();
    (void)axo__grace_enter();
    axo__grace_leave(false);
    axo__grace_retire(&world->grace, 0, &world->things[0].item, &world->things[0].item);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(axo__a32_load_acquire(&world->expired), 0);
        (void)sched_yield();
    }
    axo__grace_leave(false);
    axo__grace_stop(&world->grace);
    assert_int_equal(axo__a32_load_relaxed(&world->expired), 1);
    free(world);
}

static bool world_naps(grace_world *world)
{
    axo__os_mutex_lock(&world->grace.mutex);
    bool naps = world->grace.naps;
    axo__os_mutex_unlock(&world->grace.mutex);
    return naps;
}

static void world_await_nap(grace_world *world, bool naps)
{
    time_t limit = time(NULL) + 60;
    while (world_naps(world) != naps && time(NULL) < limit)
        (void)sched_yield();
    assert_int_equal(world_naps(world), naps);
}

static void world_await_expired(grace_world *world, uint32_t expired)
{
    time_t limit = time(NULL) + 60;
    while (axo__a32_load_acquire(&world->expired) < expired && time(NULL) < limit)
        (void)sched_yield();
    assert_int_equal(axo__a32_load_acquire(&world->expired), expired);
}

/* One worker inside another that is offline: nothing expires before it is quiet, and it leaves the
 * thread offline, so that nothing waits for the outer one. */
static void an_inner_one_leaves_it_offline(void **state)
{
    grace_world *world = world_new();
    assert_false(axo__grace_enter());
    axo__grace_offline();
    assert_true(axo__grace_enter());
    axo__grace_retire(&world->grace, 0, &world->things[0].item, &world->things[0].item);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(axo__a32_load_acquire(&world->expired), 0);
        (void)sched_yield();
    }
    axo__grace_quiet();
    axo__grace_leave(true);
    axo__grace_retire(&world->grace, 0, &world->things[1].item, &world->things[1].item);
    world_await_expired(world, 2);
    axo__grace_online();
    axo__grace_leave(false);
    axo__grace_stop(&world->grace);
    free(world);
}

/* Behind a batch the reclaimer comes by itself, until that has brought nothing; who waits for what
 * is retired wakes it. */
static void a_nap_ends(void **state)
{
    grace_world *world = world_new();
    (void)axo__grace_enter();
    assert_false(world_naps(world));
    axo__grace_hurry(&world->grace);
    axo__grace_retire(&world->grace, 0, &world->things[0].item, &world->things[0].item);
    world_await_nap(world, true);
    axo__grace_retire(&world->grace, 0, &world->things[1].item, &world->things[1].item);
    assert_true(world_naps(world));
    axo__grace_hurry(&world->grace);
    assert_false(world_naps(world));
    axo__grace_leave(false);
    world_await_expired(world, 2);
    world_await_nap(world, false);
    axo__grace_retire(&world->grace, 0, &world->things[2].item, &world->things[2].item);
    world_await_expired(world, 3);
    axo__grace_stop(&world->grace);
    free(world);
}

static void a_list_is_retired_whole_and_stop_expires_it(void **state)
{
    grace_world *world = world_new();
    for (int i = 0; i < ITEMS - 1; i++)
        world->things[i].item.next = &world->things[i + 1].item;
    axo__grace_retire(&world->grace, 0, &world->things[0].item, &world->things[ITEMS - 1].item);
    axo__grace_stop(&world->grace);
    for (int i = 0; i < ITEMS; i++)
        assert_int_equal(axo__a32_load_relaxed(&world->things[i].times), 1);
    free(world);
}

/* ---- homes ---- */

typedef struct homes_world {
    axo__grace grace;
    axo__grace_item items[AXO__GRACE_HOMES][4];
    uint32_t expired[AXO__GRACE_HOMES];
} homes_world;

static void homes_pass(void *user)
{
    assert_non_null(user);
}

static void homes_expire(void *user, uint32_t home, axo__grace_item *first, axo__grace_item *last)
{
    homes_world *world = user;
    for (const axo__grace_item *item = first;; item = item->next) {
        assert_true(item >= world->items[home] && item < world->items[home] + 4);
        world->expired[home]++;
        assert_int_equal(item == last, item->next == NULL);
        if (item == last)
            return;
    }
}

/* Each home gets its own items, in one list with its end, whoever hands over in between. */
static void homes_are_kept_apart(void **state)
{
    static const axo__grace_ops ops = {.pass = homes_pass, .expire = homes_expire,
                                       .give_block = world_give};
    homes_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    assert_true(axo__grace_start(&world->grace, &ops, AXO__GRACE_ALONE, world, NULL));
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t part = 0; part < 4; part += 2) {
            for (uint32_t home = round; home < AXO__GRACE_HOMES; home += 2) {
                axo__grace_item *first = &world->items[home][part];
                first[0].next = &first[1];
                first[1].next = NULL;
                axo__grace_retire(&world->grace, home, &first[0], &first[1]);
            }
        }
        assert_true(axo__grace_run(&world->grace));
        assert_false(axo__grace_run(&world->grace));
        for (uint32_t home = 0; home < AXO__GRACE_HOMES; home++)
            assert_int_equal(world->expired[home], home % 2 <= round ? 4 : 0);
    }
    axo__grace_stop(&world->grace);
    free(world);
}

/* A block waits as an item does, whichever of the two comes first. */
static void blocks_wait_beside_items(void **state)
{
    for (int first = 0; first < 2; first++) {
        grace_world *world = world_new();
        (void)axo__grace_enter();
        for (int i = 0; i < 4; i++) {
            if (i % 2 == first)
                world_retire_block(world);
            else
                axo__grace_retire(&world->grace, 0, &world->things[i].item, &world->things[i].item);
        }
        for (int i = 0; i < 5000; i++) {
            assert_int_equal(axo__a32_load_acquire(&world->freed), 0);
            (void)sched_yield();
        }
        axo__grace_leave(false);
        axo__grace_stop(&world->grace);
        assert_int_equal(axo__a32_load_relaxed(&world->freed), 2);
        assert_int_equal(axo__a32_load_relaxed(&world->expired), 2);
        free(world);
    }
}

static void stop_with_nothing_to_do(void **state)
{
    for (int i = 0; i < 50; i++) {
        grace_world *world = world_new();
        axo__grace_stop(&world->grace);
        assert_int_equal(axo__a32_load_relaxed(&world->expired), 0);
        free(world);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(readers_never_see_an_expired_thing),
    cmocka_unit_test(a_reader_holds_the_period_open),
    cmocka_unit_test(enter_nests),
    cmocka_unit_test(an_inner_one_leaves_it_offline),
    cmocka_unit_test(a_nap_ends),
    cmocka_unit_test(a_list_is_retired_whole_and_stop_expires_it),
    cmocka_unit_test(homes_are_kept_apart),
    cmocka_unit_test(blocks_wait_beside_items),
    cmocka_unit_test(stop_with_nothing_to_do),
};
TEST_MAIN(tests)
