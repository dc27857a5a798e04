/* names.h - which actor a reference means, in words that another run understands.
 *
 * The bits of references are others in each run; their indices (axo_ref_index) are not. For each
 * index the book has the reference that had it last, as the events of births say. So a reference
 * is either the last one of its index, or nobody's, and then any that is nobody's and has that
 * index does for it. No bits of living references are in a file: they are secrets (ref.h). */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <axo/ref.h>
#include <axo/status.h>

#include "file.h"

enum { NAMES_CHUNK = 4096, NAMES_CHUNKS = 4096 };

typedef struct record_names {
    axo_ref *chunks[NAMES_CHUNKS];
    bool lost; /* there was no memory for a chunk: who is in it is not known */
} record_names;

/* A reference as it stands in the file. */
typedef struct record_ref {
    uint8_t what; /* 0: none; 1: the last one of an index; 2: another one of it */
    uint64_t value;
} record_ref;
enum { RECORD_REF = 9 }; /* bytes */

void record_names_fini(record_names *names);

/* An actor has been made. */
void record_names_born(record_names *names, axo_ref ref);

/* Whether the reference is the last one of its index. */
bool record_names_has(const record_names *names, axo_ref ref);

/* AXO_OK and *out; AXO_ENOMEM: there was none when somebody was born who may be meant. */
axo_status record_names_write(const record_names *names, axo_ref ref, record_ref *out);

/* The reference that is meant. AXO_OK; AXO_ENOMEM, as above; AXO_ENOENT: nobody has had it. */
axo_status record_names_read(const record_names *names, record_ref from, axo_ref *out);

void record_put_ref(record_put *put, record_ref ref);
record_ref record_get_ref(record_get *get);

/* How many words of the bytes are references of this book. */
uint32_t record_names_count(const record_names *names, const void *bytes, size_t size);

/* Writes the words, and then the bytes, with zeros in the place of the words. */
void record_names_put(const record_names *names, record_put *put, uint32_t words,
                      const void *bytes, size_t size);

/* Bytes that were read, their words to be replaced by the references that they mean here. */
typedef struct record_bytes {
    const uint8_t *words;
    uint32_t count;
    const uint8_t *bytes;
    size_t size;
} record_bytes;

/* false: it is not well-formed. */
bool record_get_names(record_get *get, record_bytes *out);

/* Copies them to memory of `size` bytes. AXO_OK; as record_names_read. */
axo_status record_names_replace(const record_names *names, const record_bytes *from, void *to);

#endif
