/* ring.h - records in a ring of shared memory: one process writes, another reads.
 *
 * The memory of a ring is mapped twice, one behind the other, so a record lies in one piece
 * wherever it begins. Each side keeps its own index in memory of its own and only tells the other
 * of it; what the other says is checked each time, since that process may have gone mad, or be
 * hostile. A record is there for the reader when the writer has published its end: one that a dead
 * writer has left half-written never is.
 *
 * Invariants
 *   I1  read <= written <= read + size, by what this side knows itself.
 *   I2  Nothing outside of the two mappings is touched, whatever stands in them.
 *   I3  A header is read once, into memory of the reader's.
 *
 * Orders
 *   [R1] store release / load acquire, written   the record's bytes are there
 *   [R2] store release / load acquire, read      the reader is done with them
 *
 * Whoever goes to sleep until there is a record, or room, says so in a word of its own and looks
 * again; who has written or read takes that word back and wakes it: share.h, [S].
 */
#ifndef PROCESS_RING_H
#define PROCESS_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stands before the bytes of a record. */
typedef struct process_record {
    uint32_t size; /* bytes behind it */
    uint32_t kind;
    uint64_t number; /* of the message */
    uint64_t to;
    uint64_t from;
    uint32_t tag;
    uint32_t flags;
} process_record;

/* Records begin at multiples of this, so payloads are aligned for any object: 48 behind it. */
#define PROCESS_RECORD_ALIGN ((size_t)16)
#define PROCESS_RECORD_HEAD ((size_t)48)

_Static_assert(sizeof(process_record) <= PROCESS_RECORD_HEAD, "a header has room");

/* The two indices, in shared memory, each written by one side. They only grow. */
typedef struct process_indices {
    _Alignas(64) _Atomic uint64_t written;
    _Alignas(64) _Atomic uint64_t read;
} process_indices;

/* One end of a ring, in memory of its own process. */
typedef struct process_ring {
    process_indices *shared;
    unsigned char *data; /* twice `size` bytes */
    uint64_t size;       /* a power of two */
    uint64_t here;       /* this side's index */
    uint64_t there;      /* the other's, as it was when it was last good */
    uint64_t next;       /* reader: the end of the record that is being read */
} process_ring;

typedef enum process_ring_answer {
    PROCESS_RING_OK = 0,
    PROCESS_RING_NONE = 1,  /* reader: no record; writer: no room */
    PROCESS_RING_SPOILT = 2 /* the other side has written what cannot be */
} process_ring_answer;

/* Bytes of the largest payload: two records of it fit. */
static inline size_t process_ring_max(uint64_t size)
{
    return (size_t)size / 2 - PROCESS_RECORD_HEAD;
}

void process_ring_init(process_ring *ring, process_indices *shared, unsigned char *data,
                       uint64_t size);

/* Writes a record, whole or not at all; `bytes` are at most process_ring_max. */
process_ring_answer process_ring_write(process_ring *ring, const process_record *record,
                                       const void *bytes);

/* The next record, copied to *record; its bytes, in *bytes, stay until process_ring_done, and may
 * change meanwhile. */
process_ring_answer process_ring_read(process_ring *ring, process_record *record,
                                      const void **bytes);

/* Gives the record back that process_ring_read has found. */
void process_ring_done(process_ring *ring);

/* Writer: whether a record of so many bytes has room now; false also where the reader has spoilt
 * its index. */
bool process_ring_has_room(const process_ring *ring, size_t size);

/* Reader: whether there is something to read; SPOILT counts. */
bool process_ring_waits(const process_ring *ring);

#endif
