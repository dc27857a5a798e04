/* scan.h - what records say, and whether a file is one that can be played. */
#ifndef RECORD_SCAN_H
#define RECORD_SCAN_H

#include <axo/record.h>

#include "world.h"

/* The body of an input. Fields of other kinds are 0. */
typedef struct record_input {
    record_kind kind;
    record_ref to;     /* SEND, ACT */
    record_ref from;   /* SEND */
    uint32_t number;   /* SEND: the tag; ACT: which; CALL */
    record_bytes bytes; /* SEND, CALL; BEGIN: the snapshot */
    int64_t time;      /* STEP */
    uint64_t turns_max;
    bool slices;
} record_input;

/* Whether a record is an input. */
bool record_is_input(record_kind kind);

/* false: its body is not as the format says. */
bool record_get_input(const record *from, record_input *out);

/* Opens a file and reads it through; *in is at its first record then. `any_version`: files of other
 * versions of axo are good too. AXO_OK; else as axo_record_check, the report says why, and nothing
 * is open. */
axo_status record_scan(const char *path, bool any_version, record_in *in, record_head *head,
                       axo_record_report *report);

#endif
