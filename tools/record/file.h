/* file.h - the file of a recording, on one page: records, each with its length and its checksums.
 *
 * All numbers are little-endian. The file begins with 16 bytes:
 *
 *     8   "AXORECS\n"
 *     4   the version of the format, AXO_RECORD_FORMAT
 *     4   CRC-32 of these 12
 *
 * Behind them come records without gaps, each a head of 24 bytes and a body:
 *
 *     4   bytes of the body
 *     4   kind, a record_kind
 *     8   number: 0, 1, 2, ...
 *     4   CRC-32 of the body
 *     4   CRC-32 of the 20 bytes before
 *
 *     HEAD     4 4 4 major, minor, patch of axo    1 order of bytes (1: little)    1 size of a
 *              pointer    1 each_event    1 0    8 seed    8 time at the start
 *              4 count, 8 each: options (world.c's list)
 *     BEGIN    bytes of the snapshot
 *     SEND     ref to    ref from    4 tag    words    bytes
 *     ACT      4 a record_act    ref
 *     CALL     4 number    words    bytes
 *     STEP     8 time    8 turns_max    1 each turn was a call of its own
 *     EVENTS   16 each: 1 kind, 1 0, 2 suspends, 4 index, 4 arg, 4 hash (hash.c)
 *     DONE     4 status    8 turns    8 calls    8 events    8 hash    8 digest    8 events kept
 *     END      8 events    8 hash
 *
 *     ref      1 what: 0 none, 1 the last one of an index, 2 another one of it    8 the index
 *     words    4 count, 4 4 each: the word of the bytes (of 8 bytes each), which is 0 in them, and
 *              the index whose last reference it is
 *
 * HEAD is the first record, BEGIN the second. BEGIN, SEND, ACT, CALL and STEP are inputs; what an
 * input has led to follows it: EVENTS as far as events are kept, and a DONE. The DONE is left out
 * if the status is AXO_OK and there was no event, of all but BEGIN and STEP, and where the process
 * has died. END is the last record of a file that was closed.
 *
 * A writer keeps records in memory and gives them to the operating system in whole ones, at known
 * offsets. What has been written in part is cut off, and written over when there is room again.
 *
 * Invariants
 *   I1  The file's first `at` bytes are whole records, and no byte of them is written again.
 *   I2  What is in memory is whole but for the record that is being made.
 */
#ifndef RECORD_FILE_H
#define RECORD_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <axo/status.h>

enum { RECORD_START = 16, RECORD_HEAD = 24, RECORD_EVENT = 16 };

/* Bytes that are kept before they are written, if no record is larger; and the room that is left
 * behind each record, for a DONE and an END. */
#define RECORD_BUFFER ((size_t)65536)
#define RECORD_TAIL ((size_t)2 * (RECORD_HEAD + 64))

typedef enum record_kind {
    RECORD_HEAD_KIND = 1,
    RECORD_BEGIN = 2,
    RECORD_SEND = 3,
    RECORD_ACT = 4,
    RECORD_CALL = 5,
    RECORD_STEP = 6,
    RECORD_EVENTS = 7,
    RECORD_DONE = 8,
    RECORD_END = 9
} record_kind;

uint32_t record_crc(const void *bytes, size_t size);

/* ---- bytes ---------------------------------------------------------------------------------- */

/* Where the next number goes; the caller has seen to the room. */
typedef struct record_put {
    uint8_t *at;
} record_put;

void record_put_bytes(record_put *put, const void *bytes, size_t size);
void record_put_u8(record_put *put, uint8_t value);
void record_put_u16(record_put *put, uint16_t value);
void record_put_u32(record_put *put, uint32_t value);
void record_put_u64(record_put *put, uint64_t value);

/* What is left of a body. A read beyond it gives 0 and says `short_of`. */
typedef struct record_get {
    const uint8_t *at;
    size_t left;
    bool short_of;
} record_get;

uint8_t record_get_u8(record_get *get);
uint16_t record_get_u16(record_get *get);
uint32_t record_get_u32(record_get *get);
uint64_t record_get_u64(record_get *get);
const uint8_t *record_get_bytes(record_get *get, size_t size); /* NULL: there are not so many */

/* ---- writing -------------------------------------------------------------------------------- */

typedef struct record_out {
    int fd;
    int error;        /* the operating system's number of the last write that failed */
    uint8_t *bytes;
    size_t length;    /* bytes of whole records */
    size_t room;      /* of `bytes` */
    uint64_t at;      /* where in the file `bytes` go */
    uint64_t records; /* number of the next one */
    bool made;        /* the file was not there before */
    bool spoilt;      /* a part of a record could not be cut off: nothing is written any more */
} record_out;

/* A place to go back to, while nothing has been written since. */
typedef struct record_mark {
    size_t length;
    uint64_t at;
    uint64_t records;
} record_mark;

/* Makes the file. AXO_OK; AXO_ENOMEM; AXO_ESYSTEM and out->error; then nothing is left. */
axo_status record_out_open(record_out *out, const char *path);

/* Closes the file; what is in memory is gone. */
void record_out_close(record_out *out);

/* Makes room for a record with a body of `size` bytes, and RECORD_TAIL behind it; what is in memory
 * may be written for that. AXO_OK; AXO_ENOMEM, AXO_ESYSTEM: nothing has changed. */
axo_status record_out_room(record_out *out, size_t size);

/* Begins a record, for which there is room; its body is to be filled at once. */
record_put record_out_begin(record_out *out);

/* Ends it, where `put` has come to. */
void record_out_end(record_out *out, record_kind kind, const record_put *put);

record_mark record_out_mark(const record_out *out);

/* Takes back all behind the mark. false: it has been written already. */
bool record_out_back(record_out *out, const record_mark *mark);

/* Gives all that is in memory to the operating system. AXO_OK, AXO_ESYSTEM. */
axo_status record_out_flush(record_out *out);

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct record_in {
    int fd;
    int error;        /* of the operating system */
    uint64_t size;    /* of the file, when it was opened */
    uint64_t at;      /* of the next record */
    uint64_t records; /* its number */
    uint8_t *bytes;   /* a piece of the file */
    size_t room;
    size_t length;
    uint64_t begin; /* where in the file `bytes` lie */
} record_in;

typedef struct record {
    record_kind kind;
    uint64_t number;
    record_get body; /* until the next look */
    size_t size;     /* of the body */
    uint64_t next;   /* where the next one begins */
} record;

typedef enum record_look {
    RECORD_WHOLE = 0,  /* *out is a record */
    RECORD_OVER = 1,   /* the file ends here */
    RECORD_TORN = 2,   /* it ends within this record */
    RECORD_SPOILT = 3, /* it is not as it was written */
    RECORD_NO_MEMORY = 4,
    RECORD_NO_READ = 5 /* in->error */
} record_look;

/* Opens a file and reads its start. AXO_OK; AXO_EINVAL: it is none; AXO_EVERSION: of another
 * format; AXO_ESYSTEM and in->error; then nothing is left. */
axo_status record_in_open(record_in *in, const char *path);
void record_in_close(record_in *in);

/* The record at in->at, which stays where it is: record_in_pass goes behind the record. */
record_look record_in_look(record_in *in, record *out);
void record_in_pass(record_in *in, const record *it);

#endif
