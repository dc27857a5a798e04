/* region_wall_test.c - walls round an instance's blocks: what is written past an end, or to what
 * was freed, is found where it is looked for, once, with the block and its size; with pages it is
 * SIGSEGV at that address. */
#include "unit/mem/region_world.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/page.h"

#define CANARY     AXO_WALL_CANARY
#define FREED      AXO_WALL_FREED
#define GUARD      AXO_WALL_GUARD

static void look(region_world *world)
{
    axo__region_report report = world_report(world);
    world->found = 0;
    axo__region_check(world->region, &report);
}

/* Each byte of the canary, for sizes with and without a gap behind them, small and large. */
static void a_write_past_the_end_is_found(void **state)
{
    static const size_t sizes[] = {1, 8, 15, 16, 100, 4000, 4080, 4081, 10000};
    region_world world;
    world_open(&world, UINT64_MAX, CANARY);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t past = 0; past < 8; past++) {
            (void)take(&world, 30);
            unsigned char *block = take(&world, sizes[i]);
            (void)take(&world, 30);
            look(&world);
            assert_int_equal(world.found, 0);
            block[sizes[i] + past] ^= 0x40;
            look(&world);
            assert_int_equal(world.found, 1);
            assert_int_equal(world.last.flaw, AXO__FLAW_PAST);
            assert_ptr_equal(world.last.block, block);
            assert_int_equal(world.last.size, sizes[i]);
            look(&world);
            assert_int_equal(world.found, 0); /* it is told of once */
        }
    }
    world_close(&world);
    assert_int_equal(world.found, 0);
}

static void it_is_found_at_free_and_resize(void **state)
{
    region_world world;
    axo__region_report report;
    void *out;
    world_open(&world, UINT64_MAX, CANARY);
    report = world_report(&world);
    unsigned char *block = take(&world, 50);
    block[50] ^= 1;
    assert_int_equal(give(&world, block), AXO__FLAW_PAST);
    assert_int_equal(world.found, 1);
    assert_int_equal(world.last.size, 50);
    assert_int_equal(axo__region_measure(world.region).blocks, 1); /* nothing was freed */
    block[57] ^= 1;
    assert_int_equal(axo__region_resize(world.region, &world.cache, block, 500, &report, &out),
                     AXO__FLAW_PAST);
    assert_null(out);
    assert_int_equal(world.found, 2);
    assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    world_close(&world);
}

static void it_is_found_at_the_end(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, CANARY | FREED);
    unsigned char *past = take(&world, 50);
    unsigned char *after = take(&world, 60);
    unsigned char *large = take(&world, 6000);
    past[50] ^= 1;
    large[6007] ^= 1;
    assert_int_equal(give(&world, after), AXO__FLAW_NONE);
    AXO_UNPOISON(after, 60);
    after[59] = 1;
    world_close(&world);
    assert_int_equal(world.found, 3);
}

/* The header of the next block is a canary too, for who writes further. */
static void a_header_is_found(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, CANARY);
    unsigned char *block = take(&world, 8); /* 8 of header, 8, 8 of canary, 8 to spare */
    (void)take(&world, 8);
    block[24] ^= 1;
    look(&world);
    assert_int_equal(world.found, 1);
    assert_int_equal(world.last.flaw, AXO__FLAW_BEFORE);
    world_close(&world);
}

/* 250 blocks wait: a write to one is found when it leaves, and its memory is used again after that.
 */
static void a_write_after_free_is_found(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, FREED);
    (void)take(&world, 100);
    unsigned char *block = take(&world, 100);
    assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    assert_int_equal(give(&world, block), AXO__FLAW_FREED);
    AXO_UNPOISON(block, 100);
    block[99] = 0x77;
    for (int i = 0; i < 400; i++) {
        void *other = take(&world, 100);
        if (i < 249)
            assert_ptr_not_equal(other, block);
        assert_int_equal(give(&world, other), AXO__FLAW_NONE);
    }
    assert_int_equal(world.found, 1);
    assert_int_equal(world.last.flaw, AXO__FLAW_AFTER);
    assert_ptr_equal(world.last.block, block);
    assert_int_equal(world.last.size, 100);
    world_close(&world);
    assert_int_equal(world.found, 1);
}

/* What waits is given up before memory is refused, but for a block that was written to, which waits
 * for a look. */
static void what_waits_gives_way(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, FREED);
    world.budget.max = 3000;
    unsigned char *blocks[64];
    size_t count = 0;
    void *room = take(&world, 300);
    while ((blocks[count] = take(&world, 100)) != NULL)
        count++;
    assert_int_equal(give(&world, room), AXO__FLAW_NONE); /* the lists take this one */
    assert_int_equal(give(&world, blocks[0]), AXO__FLAW_NONE);
    assert_int_equal(give(&world, blocks[1]), AXO__FLAW_NONE);
    assert_int_equal(give(&world, blocks[2]), AXO__FLAW_NONE);
    AXO_UNPOISON(blocks[2], 100);
    blocks[2][3] = 0;
    size_t again = 0;
    while (take(&world, 100) != NULL)
        again++;
    assert_int_equal(again, 2);
    look(&world);
    assert_int_equal(world.found, 1);
    assert_ptr_equal(world.last.block, blocks[2]);
    world_close(&world);
}

/* ---- pages ---- */

static unsigned char *volatile fault_at;

/* By a signal: memcheck puts an exit code of its own in the place of another. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    if (number == SIGSEGV && info->si_addr == (void *)fault_at)
        (void)kill(getpid(), SIGKILL);
    _exit(8);
}

/* Whether a child that does this dies of SIGSEGV at the address. */
static bool faults(unsigned char *at, bool writes)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO;
        (void)sigaction(SIGSEGV, &action, NULL);
        fault_at = at;
        if (writes)
            *(volatile unsigned char *)at = 1;
        else
            (void)*(volatile unsigned char *)at;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return true;
    }
    assert_int_not_equal(WEXITSTATUS(status), 8);
    return false;
}

static void past_a_block_with_a_page(void **state)
{
    static const size_t sizes[] = {16, 32, 400, 4080, 4096, 8192, 20000};
    region_world world;
    world_open(&world, UINT64_MAX, GUARD);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *block = take(&world, sizes[i]);
        memset(block, 1, sizes[i]);
        assert_int_equal((uintptr_t)block % 16, 0);
        assert_false(faults(block + sizes[i] - 1, true));
        assert_true(faults(block + sizes[i], true));
        assert_true(faults(block + sizes[i], false));
        assert_true(faults(block + sizes[i] + 255, true));
    }
    world_close(&world);
}

/* What is left up to 16 is a canary. */
static void past_an_odd_size(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, GUARD);
    for (size_t size = 1; size < 64; size++) {
        unsigned char *block = take(&world, size);
        size_t slack = (16 - size % 16) % 16;
        assert_true(faults(block + size + slack, true));
        for (size_t past = 0; past < slack; past++) {
            block[size + past] ^= 0x10;
            look(&world);
            assert_int_equal(world.found, 1);
            assert_int_equal(world.last.flaw, AXO__FLAW_PAST);
            assert_int_equal(world.last.size, size);
            look(&world);
            assert_int_equal(world.found, 0);
        }
    }
    world_close(&world);
}

static void through_a_freed_page(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, GUARD);
    (void)take(&world, 10);
    unsigned char *block = take(&world, 100);
    assert_false(faults(block, true));
    assert_int_equal(give(&world, block), AXO__FLAW_NONE);
    assert_true(faults(block, true));
    assert_true(faults(block + 99, false));
    /* nothing is read of it, and it is no block */
    assert_int_equal(give(&world, block), AXO__FLAW_STRANGE);
    /* a block that was moved is as one that was freed */
    void *out;
    block = take(&world, 64);
    memset(block, 5, 64);
    assert_int_equal(axo__region_resize(world.region, &world.cache, block, 60, NULL, &out),
                     AXO__FLAW_NONE);
    assert_ptr_not_equal(out, block);
    assert_int_equal(*(unsigned char *)out, 5);
    assert_true(faults(block, true));
    /* and so are those of an instance that has ended */
    unsigned char *last = out;
    axo__region_end(&world.region, &world.cache, NULL, NULL);
    assert_true(faults(last, false));
    world_close(&world);
}

/* Pages come back when enough others were given back after them, all at the end; the allocator
 * gets them as it gave them. */
static void pages_come_back(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, GUARD);
    uint64_t before = unit_heap_blocks(&world.heap);
    (void)take(&world, 1);
    for (int i = 0; i < AXO__WALL_KEPT + 500; i++)
        assert_int_equal(give(&world, take(&world, 300)), AXO__FLAW_NONE);
    uint64_t kept = unit_heap_blocks(&world.heap) - before;
    assert_true(kept <= AXO__WALL_KEPT + 2 && kept >= AXO__WALL_KEPT);
    for (int i = 0; i < 20; i++)
        assert_int_equal(give(&world, take(&world, 3 << 20)), AXO__FLAW_NONE);
    assert_true(axo__a64_load_relaxed(&world.heap.bytes) <
                AXO__WALL_KEPT_BYTES + (UINT64_C(1) << 20));
    void *huge = take(&world, AXO__WALL_KEPT_BYTES);
    memset(huge, 1, AXO__WALL_KEPT_BYTES);
    assert_int_equal(give(&world, huge), AXO__FLAW_NONE);
    world_close(&world);
}

static void pages_that_are_refused(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, GUARD);
    (void)take(&world, 1);
    size_t held = axo__region_measure(world.region).held;
    axo__a64_store_relaxed(&world.memory.budget, 0);
    assert_null(take(&world, 100));
    assert_int_equal(axo__region_measure(world.region).held, held);
    axo__a64_store_relaxed(&world.memory.budget, UINT64_MAX / 2);
    assert_non_null(take(&world, 100));
    world_close(&world);
}

static void frozen_and_thawed(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, AXO_WALL_FREEZE);
    axo__walls *walls = world.pool.walls;
    unsigned char *block = axo__wall_take(walls, 100, 5000);
    assert_non_null(block);
    memset(axo__wall_front(block), 2, 100);
    memset(block, 1, 5000);
    assert_true(axo__wall_freeze(walls, block));
    assert_true(faults(block, true));
    assert_true(faults(block + 4999, true));
    assert_false(faults(block, false));
    assert_true(axo__wall_thaw(walls, block));
    assert_false(faults(block, true));
    assert_true(axo__wall_freeze(walls, block));
    axo__wall_give(walls, block);
    assert_true(faults(block, false));
    world_close(&world);
}

static void the_class_is_chosen(void **state)
{
    region_world world;
    world_open(&world, UINT64_MAX, 0);
    axo__walls *walls = axo__walls_make(&world.heap, CANARY | GUARD, "conn");
    assert_int_equal(axo__walls_of(walls, "conn"), CANARY | GUARD);
    assert_int_equal(axo__walls_of(walls, "connection"), 0);
    assert_int_equal(axo__walls_of(walls, ""), 0);
    assert_int_equal(axo__walls_of(NULL, "conn"), 0);
    axo__walls_free(walls);
    walls = axo__walls_make(&world.heap, GUARD, NULL);
    assert_int_equal(axo__walls_of(walls, "any"), GUARD);
    axo__walls_free(walls);
    axo__walls_free(NULL);
    world_close(&world);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_write_past_the_end_is_found),
    cmocka_unit_test(it_is_found_at_free_and_resize),
    cmocka_unit_test(it_is_found_at_the_end),
    cmocka_unit_test(a_header_is_found),
    cmocka_unit_test(a_write_after_free_is_found),
    cmocka_unit_test(what_waits_gives_way),
    cmocka_unit_test(past_a_block_with_a_page),
    cmocka_unit_test(past_an_odd_size),
    cmocka_unit_test(through_a_freed_page),
    cmocka_unit_test(pages_come_back),
    cmocka_unit_test(pages_that_are_refused),
    cmocka_unit_test(frozen_and_thawed),
    cmocka_unit_test(the_class_is_chosen),
};
TEST_MAIN(tests)
