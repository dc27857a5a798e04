/* unit.h - what every unit test includes: cmocka, threads that start together, scarce memory. */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "mem/alloc.h"
#include "support/cmocka.h"

#define UNIT_THREADS_MAX 8

/* ---- threads: cmocka's asserts are for the main thread only, so these count what is wrong ---- */

typedef struct unit_thread {
    pthread_t id;
    void (*fn)(void *arg, uint32_t index);
    void *arg;
    uint32_t index;
    pthread_barrier_t *barrier;
} unit_thread;

static inline void *unit_thread_main(void *arg)
{
    unit_thread *thread = arg;
    (void)pthread_barrier_wait(thread->barrier);
    thread->fn(thread->arg, thread->index);
    return NULL;
}

/* Runs fn(arg, 0..count-1), each on a thread of its own, and joins them. */
static inline void unit_run_threads(uint32_t count, void (*fn)(void *arg, uint32_t index),
                                    void *arg)
{
    unit_thread threads[UNIT_THREADS_MAX];
    pthread_barrier_t barrier;
    assert_true(count <= UNIT_THREADS_MAX);
    assert_int_equal(pthread_barrier_init(&barrier, NULL, count), 0);
    for (uint32_t i = 0; i < count; i++) {
        threads[i] = (unit_thread){.fn = fn, .arg = arg, .index = i, .barrier = &barrier};
        assert_int_equal(pthread_create(&threads[i].id, NULL, unit_thread_main, &threads[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i].id, NULL), 0);
    (void)pthread_barrier_destroy(&barrier);
}

/* ---- memory: an allocator that refuses when its budget of blocks is spent ---- */

typedef struct unit_memory {
    axo__a64 budget; /* blocks that may still be taken */
} unit_memory;

static inline void *unit_alloc(void *user, size_t size, size_t align)
{
    unit_memory *memory = user;
    if (axo__a64_add_relaxed(&memory->budget, UINT64_MAX) == 0) {
        (void)axo__a64_add_relaxed(&memory->budget, 1);
        return NULL;
    }
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static inline void unit_free(void *user, void *block, size_t size, size_t align)
{
    free(block);
}

static inline void unit_heap(axo__heap *heap, unit_memory *memory, uint64_t budget)
{
    axo_allocator hook = {.alloc = unit_alloc, .free = unit_free, .user = memory};
    axo__a64_store_relaxed(&memory->budget, budget);
    axo__heap_init(heap, &hook, NULL);
}

static inline uint64_t unit_heap_blocks(const axo__heap *heap)
{
    return axo__a64_load_relaxed(&heap->blocks);
}

/* Everything has been given back, to the byte. */
static inline void unit_heap_empty(const axo__heap *heap)
{
    assert_int_equal(unit_heap_blocks(heap), 0);
    assert_int_equal(axo__a64_load_relaxed(&heap->bytes), 0);
}

#endif
