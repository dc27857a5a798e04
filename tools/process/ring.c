/* ring.c - records in a ring of shared memory. */
#include "ring.h"

#include <assert.h>
#include <string.h>

static uint64_t ring_bytes(size_t size)
{
    return (PROCESS_RECORD_HEAD + size + PROCESS_RECORD_ALIGN - 1) & ~(PROCESS_RECORD_ALIGN - 1);
}

void process_ring_init(process_ring *ring, process_indices *shared, unsigned char *data,
                       uint64_t size)
{
    assert((size & (size - 1)) == 0 && size >= 4 * PROCESS_RECORD_HEAD);
    *ring = (process_ring){.shared = shared, .data = data, .size = size};
}

/* Where the reader is; false: it has gone back, or beyond what is written. */
static bool ring_reader(const process_ring *ring, uint64_t *read)
{
    *read = atomic_load_explicit(&ring->shared->read, memory_order_acquire); /* [R2] */
    return *read - ring->there <= ring->here - ring->there;
}

bool process_ring_has_room(const process_ring *ring, size_t size)
{
    uint64_t read;
    return ring_reader(ring, &read) && ring_bytes(size) <= ring->size - (ring->here - read);
}

process_ring_answer process_ring_write(process_ring *ring, const process_record *record,
                                       const void *bytes)
{
    uint64_t read;
    assert(record->size <= process_ring_max(ring->size));
    if (!ring_reader(ring, &read))
        return PROCESS_RING_SPOILT;
    ring->there = read;
    uint64_t all = ring_bytes(record->size);
    if (all > ring->size - (ring->here - read))
        return PROCESS_RING_NONE;
    unsigned char *at = ring->data + (ring->here & (ring->size - 1));
    memcpy(at, record, sizeof *record);
    if (record->size > 0)
        memcpy(at + PROCESS_RECORD_HEAD, bytes, record->size);
    ring->here += all;
    atomic_store_explicit(&ring->shared->written, ring->here, memory_order_release); /* [R1] */
    return PROCESS_RING_OK;
}

process_ring_answer process_ring_read(process_ring *ring, process_record *record,
                                      const void **bytes)
{
    uint64_t written = atomic_load_explicit(&ring->shared->written, memory_order_acquire);
    if (written - ring->here > ring->size || written - ring->here < ring->there - ring->here ||
        written % PROCESS_RECORD_ALIGN != 0)
        return PROCESS_RING_SPOILT;
    ring->there = written;
    if (written == ring->here)
        return PROCESS_RING_NONE;
    /* a record is no shorter than its header, and every end is a multiple of the alignment */
    if (written - ring->here < PROCESS_RECORD_HEAD)
        return PROCESS_RING_SPOILT;
    const unsigned char *at = ring->data + (ring->here & (ring->size - 1));
    memcpy(record, at, sizeof *record);
    __asm__("" ::: "memory"); /* I3: what is checked below is not read anew */
    if (record->size > process_ring_max(ring->size) ||
        ring_bytes(record->size) > written - ring->here)
        return PROCESS_RING_SPOILT;
    ring->next = ring->here + ring_bytes(record->size);
    *bytes = at + PROCESS_RECORD_HEAD;
    return PROCESS_RING_OK;
}

void process_ring_done(process_ring *ring)
{
    assert(ring->next > ring->here && ring->next - ring->here <= ring->size);
    ring->here = ring->next;
    atomic_store_explicit(&ring->shared->read, ring->here, memory_order_release); /* [R2] */
}

bool process_ring_waits(const process_ring *ring)
{
    return atomic_load_explicit(&ring->shared->written, memory_order_acquire) != ring->here;
}
