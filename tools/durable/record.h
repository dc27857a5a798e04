/* record.h - the records of a store on disk. None of them changes: another layout is another
 * version. */
#ifndef DURABLE_RECORD_H
#define DURABLE_RECORD_H

#include <stdint.h>

#include <axo/supervision.h>

#define DURABLE_MAGIC   "axostore"
#define DURABLE_VERSION UINT32_C(1)
#define DURABLE_KEY     16

typedef struct durable_format {
    char magic[8];
    uint32_t version;
    uint32_t reserved;
    uint64_t next_id;
} durable_format;
/* Of a store in which nothing is. */
#define DURABLE_FORMAT_FRESH                                                                       \
    {                                                                                              \
        .magic = DURABLE_MAGIC, .version = DURABLE_VERSION, .next_id = 1                           \
    }

typedef struct durable_queue_record {
    uint32_t crc;
    uint32_t reserved;
    uint64_t id;
    uint64_t number; /* the last one given to a message */
    uint64_t event;  /* to an event */
} durable_queue_record;

typedef struct durable_record {
    uint32_t crc;
    uint32_t tag;
    uint32_t size;
    uint32_t fails;
    uint64_t sender;
    uint64_t run;
    int64_t accepted_ns;
    uint64_t number;
} durable_record;

typedef struct durable_dead {
    uint32_t reason;
    int32_t code;
    uint32_t fails;
    uint32_t reserved;
    int64_t died_ns;
    char text[AXO_FAILURE_TEXT_MAX];
} durable_dead;

_Static_assert(sizeof(durable_format) == 24, "the layout of version 1");
_Static_assert(sizeof(durable_queue_record) == 32, "the layout of version 1");
_Static_assert(sizeof(durable_record) == 48, "the layout of version 1");
_Static_assert(sizeof(durable_dead) == 136, "the layout of version 1");

#endif
