/* parts.h - what the tests of real parts share: memory that is counted, a wait with a deadline, and
 * the line that says that a fault has been made. */
#ifndef TEST_FAULT_PARTS_H
#define TEST_FAULT_PARTS_H

#include <dirent.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <axo/axo.h>

#include "support/census.h"
#include "support/cmocka.h"

#define PARTS_MS INT64_C(1000000)
#define PARTS_S INT64_C(1000000000)
#define PARTS_DEADLINE_NS (40 * PARTS_S)

/* test/fault/points.txt lists the names; each must have been made at least once. */
static inline void parts_made(const char *name, uint64_t times)
{
    (void)printf("\nfault point %s: %llu\n", name, (unsigned long long)times);
    (void)fflush(stdout);
}

static inline int64_t parts_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * PARTS_S + t.tv_nsec;
}

typedef struct parts_heap {
    atomic_llong blocks;
    atomic_llong bytes;
} parts_heap;

static inline void *parts_alloc(void *user, size_t size, size_t align)
{
    parts_heap *heap = user;
    void *block = NULL;
    if (posix_memalign(&block, align < sizeof(void *) ? sizeof(void *) : align, size) != 0)
        return NULL;
    atomic_fetch_add(&heap->blocks, 1);
    atomic_fetch_add(&heap->bytes, (long long)size);
    return block;
}

static inline void parts_free(void *user, void *block, size_t size, size_t align)
{
    parts_heap *heap = user;
    atomic_fetch_sub(&heap->blocks, 1);
    atomic_fetch_sub(&heap->bytes, (long long)size);
    free(block);
}

/* Waits for `counter` to come to `value`; each look gives way. */
static inline void parts_await(atomic_uint *counter, uint32_t value)
{
    int64_t deadline = parts_now() + PARTS_DEADLINE_NS;
    while (atomic_load(counter) < value) {
        struct timespec pause = {.tv_nsec = 200000};
        if (parts_now() > deadline)
            fail_msg("%u of %u in time", (unsigned)atomic_load(counter), (unsigned)value);
        (void)nanosleep(&pause, NULL);
    }
}

/* ---- a workload: rings of actors that pass a token, fail now and then, and set timers -------- */

enum { PARTS_TOKEN = 1, PARTS_TICK, PARTS_RING = 8, PARTS_RINGS_MAX = 8 };

typedef struct parts_load parts_load;

typedef struct parts_ring {
    parts_load *load;
    axo_ref members[PARTS_RING];
    int64_t due;
} parts_ring;

struct parts_load {
    axo_system *system;
    parts_ring rings[PARTS_RINGS_MAX];
    atomic_uint done;  /* rings whose token has come to its end */
    atomic_uint ticks;
    atomic_uint early;
    uint32_t count;
};

typedef struct parts_token {
    parts_ring *ring;
    uint32_t hops;
    uint32_t at;
} parts_token;

static inline axo_status parts_receive(axo_ctx *ctx, void *state, const axo_message *message)
{
    parts_token token = *AXO_PAYLOAD(message, parts_token);
    parts_ring *ring = token.ring;
    if (message->tag == PARTS_TICK) {
        if (parts_now() < ring->due)
            atomic_fetch_add(&ring->load->early, 1);
        atomic_fetch_add(&ring->load->ticks, 1);
        return AXO_OK;
    }
    if (token.hops-- == 0) {
        atomic_fetch_add(&ring->load->done, 1);
        return AXO_OK;
    }
    token.at = (token.at + 1) % PARTS_RING;
    axo_status status = axo_send(ctx, ring->members[token.at], PARTS_TOKEN, &token, sizeof token);
    if (status == AXO_OK && token.hops % 97 == 0)
        return axo_fail(ctx, 1, "now and then");
    return status;
}

static const axo_class parts_class = AXO_CLASS(.name = "member", .receive = parts_receive);

static inline void parts_load_start(parts_load *load, axo_system *system, uint32_t count,
                                    uint32_t hops)
{
    axo_props props = AXO_PROPS(.cls = &parts_class);
    load->system = system;
    load->count = count;
    for (uint32_t i = 0; i < count; i++) {
        parts_ring *ring = &load->rings[i];
        parts_token token = {.ring = ring, .hops = hops};
        ring->load = load;
        for (uint32_t k = 0; k < PARTS_RING; k++)
            assert_int_equal(axo_system_spawn(system, &props, &ring->members[k]), AXO_OK);
        ring->due = parts_now() + 20 * PARTS_MS;
        assert_int_equal(axo_system_schedule_once(system, 20 * PARTS_MS, ring->members[0],
                                                  PARTS_TICK, &token, sizeof token, NULL), AXO_OK);
        assert_int_equal(axo_system_send(system, ring->members[0], PARTS_TOKEN, &token,
                                         sizeof token), AXO_OK);
    }
}

/* All has come, nothing too early. */
static inline void parts_load_end(parts_load *load)
{
    parts_await(&load->done, load->count);
    parts_await(&load->ticks, load->count);
    assert_int_equal(atomic_load(&load->early), 0);
    assert_int_equal(atomic_load(&load->done), load->count);
}

/* Stops, counts, frees. */
static inline void parts_finish(axo_system *system, parts_heap *heap)
{
    axo_stats stats = AXO_STATS(.sent = 0);
    assert_int_equal(axo_system_stop(system, PARTS_DEADLINE_NS, NULL, 0, NULL), AXO_OK);
    assert_int_equal(axo_system_stats(system, &stats), AXO_OK);
    assert_int_equal(stats.actors, 0);
    assert_int_equal(stats.sent, stats.handled + stats.dead + stats.dropped);
    assert_int_equal(axo_system_destroy(system), AXO_OK);
    assert_int_equal(atomic_load(&heap->blocks), 0);
    assert_int_equal(atomic_load(&heap->bytes), 0);
}

static inline axo_system *parts_start(parts_heap *heap, uint32_t workers)
{
    axo_options options = AXO_OPTIONS(.workers = workers, .seed = 3,
                                      .allocator = {parts_alloc, parts_free, heap});
    axo_system *system = NULL;
    assert_int_equal(axo_system_start(&options, &system), AXO_OK);
    return system;
}

#endif
