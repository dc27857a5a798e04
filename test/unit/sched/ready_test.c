/* ready_test.c - a ready queue gets as long as there are ready actors: in order, given back when
 * they have run, without memory a slower way. */
#include "unit/unit.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <axo/axo.h>

#include "base/config.h"
#include "support/limits.h"
#include "system/system.h"

enum { MANY = 5000, ROUNDS = 30, RINGS = 16 };
enum { SPAWN = 1, BURST, NOTE };

static struct {
    axo_system *system;
    axo_ref parent;
    axo_ref children[MANY];
    atomic_bool refused; /* memory is */
    atomic_bool watched; /* rings are: there is one worker, which alone takes any */
    _Atomic(void *) rings[RINGS];
    atomic_uint taken; /* rings */
    atomic_uint given; /* rings back */
    atomic_uint handled;
    atomic_uint last;   /* the number of the child that has run last */
    atomic_uint breaks; /* how often it was not the one before */
} w;

/* How often a pool has asked for memory: since the system runs, for its workers' queues. */
static uint64_t ready_asked(void)
{
    return axo__a64_load_relaxed(&w.system->core.heap.calls[AXO__SITE_WORKERS]);
}

/* A ring beyond the first has twice, four times ... its slots, behind a head of a few lines. */
static bool ready_is_ring(size_t size)
{
    size_t slots = AXO__RUNQ_SIZE * sizeof(axo__spmc_slot);
    while (slots <= size / 2)
        slots *= 2;
    return slots > AXO__RUNQ_SIZE * sizeof(axo__spmc_slot) && size > slots &&
           size - slots <= sizeof(axo__runq_ring) + 2 * AXO__CACHE_LINE;
}

static void *ready_alloc(void *user, size_t size, size_t align)
{
    if (atomic_load(&w.refused))
        return NULL;
    void *block = aligned_alloc(align, (size + align - 1) / align * align);
    if (atomic_load(&w.watched) && ready_is_ring(size) && atomic_load(&w.taken) < RINGS) {
        atomic_store(&w.rings[atomic_load(&w.taken)], block);
        atomic_fetch_add(&w.taken, 1);
    }
    return block;
}

static void ready_free(void *user, void *block, size_t size, size_t align)
{
    for (uint32_t i = 0; i < atomic_load(&w.taken); i++) {
        void *ring = block;
        if (atomic_compare_exchange_strong(&w.rings[i], &ring, NULL))
            atomic_fetch_add(&w.given, 1);
    }
    free(block);
}

static axo_status child_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    uint32_t number = *(const uint32_t *)message->payload;
    if (atomic_exchange(&w.last, number) + 1 != number)
        atomic_fetch_add(&w.breaks, 1);
    atomic_fetch_add(&w.handled, 1);
    return AXO_OK;
}

static const axo_class child_class = AXO_CLASS(.name = "child", .receive = child_receive);

static axo_status parent_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    axo_props props = AXO_PROPS(.cls = &child_class);
    for (uint32_t i = 0; i < MANY; i++) {
        if (message->tag == SPAWN)
            assert_int_equal(axo_spawn(ctx, &props, &w.children[i]), AXO_OK);
        else
            assert_int_equal(axo_send(ctx, w.children[i], NOTE, &i, sizeof i), AXO_OK);
    }
    return AXO_OK;
}

static const axo_class parent_class = AXO_CLASS(.name = "parent", .receive = parent_receive);

static void ready_pause(void)
{
    const struct timespec pause = {.tv_nsec = 100000};
    (void)nanosleep(&pause, NULL);
}

static void ready_run(void)
{
    assert_int_equal(axo_run_host(w.system, -1, NULL), AXO_OK);
}

static void ready_await_given(void)
{
    for (uint32_t i = 0; atomic_load(&w.given) != atomic_load(&w.taken); i++) {
        assert_true(i < 200000);
        ready_pause();
    }
}

/* Until all have started and nothing is left to do. */
static void ready_await_start(void)
{
    axo_stats stats = AXO_STATS();
    for (uint64_t turns = 0;; turns = stats.turns) {
        for (int i = 0; i < 50; i++)
            ready_pause();
        assert_int_equal(axo_system_stats(w.system, &stats), AXO_OK);
        if (stats.spawned > MANY && stats.turns == turns)
            return;
    }
}

/* Without workers: a manual system. */
static void ready_open(uint32_t workers)
{
    axo_props props = AXO_PROPS(.cls = &parent_class);
    axo_options options = AXO_OPTIONS(.workers = workers, .manual = workers == 0,
                                      .allocator = {.alloc = ready_alloc, .free = ready_free});
    memset((void *)&w, 0, sizeof w);
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    assert_int_equal(axo_system_spawn(system, &props, &w.parent), AXO_OK);
    w.system = system;
    /* Tiny rings are as large as other blocks are. */
    atomic_store(&w.watched, workers <= 1 && AXO__RUNQ_SIZE >= 1024);
    assert_int_equal(axo_system_send(w.system, w.parent, SPAWN, NULL, 0), AXO_OK);
    if (workers == 0)
        ready_run();
    else
        ready_await_start();
    ready_await_given(); /* newborns were many, too */
    atomic_store(&w.given, 0);
    atomic_store(&w.taken, 0);
}

static void ready_burst(void)
{
    assert_int_equal(axo_system_send(w.system, w.parent, BURST, NULL, 0), AXO_OK);
}

static void ready_await(uint32_t handled)
{
    for (uint32_t i = 0; atomic_load(&w.handled) < handled; i++) {
        assert_true(i < 200000);
        ready_pause();
    }
    assert_int_equal(atomic_load(&w.handled), handled);
}

static void ready_close(void)
{
    assert_int_equal(axo_system_stop(w.system, -1, NULL, 0, NULL), AXO_OK);
    atomic_store(&w.watched, false);
    assert_int_equal(axo_system_destroy(w.system), AXO_OK);
    assert_int_equal(atomic_load(&w.given), atomic_load(&w.taken));
}

/* The children run in the order in which they were sent to, but that the last one, in the next
 * slot, is the first. A ring that is empty goes back. */
static void many_keep_their_order(void **state)
{
    skip_with_tiny_limits();
    ready_open(0);
    for (uint32_t burst = 1; burst <= 3; burst++) {
        ready_burst();
        ready_run();
        assert_int_equal(atomic_load(&w.handled), burst * MANY);
        assert_int_equal(atomic_load(&w.taken), burst * 2); /* of 2048 and 4096 entries */
        assert_int_equal(atomic_load(&w.given), burst * 2);
    }
    assert_true(atomic_load(&w.breaks) <= 3 * 2);
    ready_close();
}

/* All run all the same. The first burst takes the memory that messages need. */
static void without_memory(void **state)
{
    ready_open(0);
    ready_burst();
    ready_run();
    uint64_t asked = ready_asked();
    atomic_store(&w.refused, true);
    ready_burst();
    ready_run();
    atomic_store(&w.refused, false);
    assert_true(ready_asked() > asked);
    assert_int_equal(atomic_load(&w.handled), 2 * MANY);
    ready_close();
}

/* This thread is a reader, as a thief is in its step: no ring goes back before it is quiet. */
static void a_ring_waits_for_thieves(void **state)
{
    skip_with_tiny_limits();
    ready_open(1);
    const axo__runq *ready = &w.system->sched.workers[0].ready;
    (void)axo__grace_enter();
    ready_burst();
    ready_await(MANY);
    for (uint32_t i = 0; axo__aptr_load_relaxed(&ready->oldest) != (const void *)&ready->home;
         i++) {
        assert_true(i < 200000);
        ready_pause();
    }
    for (int i = 0; i < 100; i++)
        ready_pause();
    assert_true(atomic_load(&w.taken) > 0);
    assert_int_equal(atomic_load(&w.given), 0);
    axo__grace_leave(false);
    ready_await_given();
    ready_close();
}

static void under_thieves(void **state)
{
    ready_open(4);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        ready_burst();
        ready_await(round * MANY);
    }
    ready_close();
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(many_keep_their_order),
    cmocka_unit_test(without_memory),
    cmocka_unit_test(a_ring_waits_for_thieves),
    cmocka_unit_test(under_thieves),
};
TEST_MAIN(tests)
