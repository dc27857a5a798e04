/* report.h - rings of messages, and the file of a report, on one page.
 *
 * All numbers are little-endian. A report has 24 bytes and a body:
 *
 *     8   "AXOREPO\n"
 *     4   the version of the format, AXO_REPORT_FORMAT
 *     4   bytes of the body
 *     4   CRC-32 of the body
 *     4   CRC-32 of the 20 bytes before
 *
 *     body     1 order of bytes (1: little)    1 size of a pointer    2 0    4 instance
 *              4 kind    4 code    8 seed    8 time of the start    8 self    8 parent
 *              8 messages that were lost    4 bytes of the name    4 bytes of args    8 messages
 *              the name    args    messages
 *     message  8 time    8 sender    4 tag    4 flags    4 bytes    bytes
 *
 * A ring lies behind the state of its actor, in the same block, so it is zeroed with it and nobody
 * frees it. Its messages lie between `from` and `to`, which only grow; each has a head and its
 * payload, in multiples of 8 bytes.
 *
 * Invariants
 *   I1  to - from <= room; both are multiples of 8.
 *   I2  Only the thread that runs the actor's callback writes to a ring, and the trace of its
 *       failure is on the same thread.
 */
#ifndef RECORD_REPORT_H
#define RECORD_REPORT_H

#include <axo/report.h>

#include "file.h"

enum { REPORT_START = 24, REPORT_HEAD = 72, REPORT_MESSAGE = 28 };

/* A payload that was handed over without a size: there is one, and nobody knows its bytes. */
#define REPORT_HANDED UINT32_C(1)

/* A class that was made. */
typedef struct report_class {
    axo_class made;
    const axo_class *cls;
    size_t at;   /* where in the state its ring lies */
    size_t room; /* bytes of the ring */
    size_t args_size;
} report_class;

/* How a message lies in a ring. */
typedef struct report_entry {
    int64_t time;
    axo_ref sender;
    uint32_t tag;
    uint32_t flags;
    uint32_t size;
    uint32_t reserved;
} report_entry;

/* What an instance has become; the class's receive is not in it. */
typedef struct report_stack {
    axo_receive_fn tops[AXO_REPORT_BECOME_MAX];
    uint32_t depth;
} report_stack;

static inline axo_receive_fn report_top(const report_stack *stack, const axo_class *cls)
{
    return stack->depth > 0 ? stack->tops[stack->depth - 1] : cls->receive;
}

typedef struct report_ring {
    const report_class *of;
    report_stack stack;
    const void *args;
    uint64_t seed;
    int64_t begun;
    axo_ref self;
    axo_ref parent;
    uint64_t from;
    uint64_t to;
    uint64_t count; /* messages in it */
    uint64_t lost;
    uint32_t instance;
    uint32_t reserved;
} report_ring;

/* A report that was read. */
typedef struct report {
    uint8_t *bytes; /* of the whole file */
    uint32_t instance;
    uint32_t kind;
    int32_t code;
    uint64_t seed;
    int64_t begun;
    axo_ref self;
    axo_ref parent;
    uint64_t lost;
    uint64_t count;
    const char *name; /* name_size bytes, without a zero */
    uint32_t name_size;
    uint32_t args_size;
    const void *args;
    record_get messages;
} report;

/* Keeps a message. What finds no room goes, and is counted. */
void report_ring_keep(report_ring *ring, int64_t now, const axo_message *message);

/* The report of a ring in memory of malloc, *size bytes; NULL: none. */
uint8_t *report_made(const report_ring *ring, uint32_t kind, int32_t code, size_t *size);

/* Reads a report. AXO_OK, and report_free frees it; AXO_EINVAL, AXO_EVERSION, AXO_ENOMEM;
 * AXO_ESYSTEM and *error. */
axo_status report_read(const char *path, report *out, int *error);
void report_free(report *it);

/* The next message; its payload lies in the report. false: there is none. */
bool report_next(record_get *messages, report_entry *out, const void **payload);

/* The class of that name that was made; NULL: none. */
const report_class *report_class_of(const char *name, size_t size);

/* The seed of the replay that runs on this thread; NULL: none does. */
const uint64_t *report_play_seed(void);

/* What the instance of that replay has become, in its receive; NULL: it is in no such. */
report_stack *report_play_stack(axo_ctx *ctx);

#endif
