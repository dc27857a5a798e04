/* names.c - references by their indices, in payloads too. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_WORD = 8, NAMES_FIX = 8 };

/* The highest bits are a node's, which no reference of a system has (runtime/cell/table.h). */
#define NAMES_NOBODY (UINT64_C(0xff) << 56)

void record_names_fini(record_names *names)
{
    for (size_t i = 0; i < NAMES_CHUNKS; i++)
        free(names->chunks[i]);
    memset(names, 0, sizeof *names);
}

void record_names_born(record_names *names, axo_ref ref)
{
    const uint32_t index = axo_ref_index(ref);
    axo_ref **chunk = &names->chunks[index / NAMES_CHUNK];
    if (*chunk == NULL)
        *chunk = calloc(NAMES_CHUNK, sizeof **chunk);
    if (*chunk == NULL)
        names->lost = true;
    else
        (*chunk)[index % NAMES_CHUNK] = ref;
}

/* Who had an index last; none: nobody, or it is not known. */
static axo_ref names_last(const record_names *names, uint32_t index)
{
    const axo_ref *chunk = names->chunks[index / NAMES_CHUNK];
    return chunk != NULL ? chunk[index % NAMES_CHUNK] : axo_ref_none();
}

bool record_names_has(const record_names *names, axo_ref ref)
{
    return !axo_ref_is_none(ref) && axo_ref_equal(names_last(names, axo_ref_index(ref)), ref);
}

axo_status record_names_write(const record_names *names, axo_ref ref, record_ref *out)
{
    *out = (record_ref){.what = 0};
    if (axo_ref_is_none(ref))
        return AXO_OK;
    if (record_names_has(names, ref))
        *out = (record_ref){.what = 1, .value = axo_ref_index(ref)};
    else if (names->lost)
        return AXO_ENOMEM;
    else
        *out = (record_ref){.what = 2, .value = axo_ref_index(ref)};
    return AXO_OK;
}

axo_status record_names_read(const record_names *names, record_ref from, axo_ref *out)
{
    *out = axo_ref_none();
    if (from.what == 0)
        return AXO_OK;
    if (from.what == 2) {
        out->bits = NAMES_NOBODY | from.value;
        return AXO_OK;
    }
    *out = names_last(names, (uint32_t)from.value);
    if (!axo_ref_is_none(*out))
        return AXO_OK;
    return names->lost ? AXO_ENOMEM : AXO_ENOENT;
}

void record_put_ref(record_put *put, record_ref ref)
{
    record_put_u8(put, ref.what);
    record_put_u64(put, ref.value);
}

record_ref record_get_ref(record_get *get)
{
    record_ref ref;
    ref.what = record_get_u8(get);
    ref.value = record_get_u64(get);
    if (ref.what > 2 || ref.value >= (ref.what == 0 ? 1 : NAMES_CHUNKS * NAMES_CHUNK))
        get->short_of = true;
    return ref;
}

/* ---- payloads ---- */

static axo_ref names_word(const void *bytes, size_t word)
{
    axo_ref ref;
    memcpy(&ref, (const uint8_t *)bytes + word * NAMES_WORD, sizeof ref);
    return ref;
}

uint32_t record_names_count(const record_names *names, const void *bytes, size_t size)
{
    uint32_t count = 0;
    for (size_t i = 0; i < size / NAMES_WORD; i++)
        count += record_names_has(names, names_word(bytes, i)) ? 1 : 0;
    return count;
}

void record_names_put(const record_names *names, record_put *put, uint32_t words,
                      const void *bytes, size_t size)
{
    uint8_t *copy = put->at + 4 + (size_t)words * NAMES_FIX;
    record_put_u32(put, words);
    if (size > 0)
        memcpy(copy, bytes, size);
    for (size_t i = 0; words > 0; i++) {
        const axo_ref ref = names_word(bytes, i);
        if (!record_names_has(names, ref))
            continue;
        record_put_u32(put, (uint32_t)i);
        record_put_u32(put, axo_ref_index(ref));
        memset(copy + i * NAMES_WORD, 0, NAMES_WORD);
        words--;
    }
    put->at = copy + size;
}

bool record_get_names(record_get *get, record_bytes *out)
{
    out->count = record_get_u32(get);
    out->words = record_get_bytes(get, (size_t)out->count * NAMES_FIX);
    out->size = get->left;
    out->bytes = record_get_bytes(get, get->left);
    if (get->short_of)
        return false;
    record_get words = {.at = out->words, .left = (size_t)out->count * NAMES_FIX};
    for (uint32_t i = 0; i < out->count; i++) {
        if (record_get_u32(&words) >= out->size / NAMES_WORD ||
            record_get_u32(&words) >= NAMES_CHUNKS * NAMES_CHUNK)
            return false;
    }
    return true;
}

axo_status record_names_replace(const record_names *names, const record_bytes *from, void *to)
{
    record_get words = {.at = from->words, .left = (size_t)from->count * NAMES_FIX};
    if (from->size > 0)
        memcpy(to, from->bytes, from->size);
    for (uint32_t i = 0; i < from->count; i++) {
        axo_ref ref;
        const uint32_t word = record_get_u32(&words);
        const record_ref meant = {.what = 1, .value = record_get_u32(&words)};
        axo_status status = record_names_read(names, meant, &ref);
        if (status != AXO_OK)
            return status;
        memcpy((uint8_t *)to + (size_t)word * NAMES_WORD, &ref, sizeof ref);
    }
    return AXO_OK;
}
