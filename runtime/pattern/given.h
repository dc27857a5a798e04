/* given.h - structs that a program has filled, by an older or a newer header (axo_options). */
#ifndef AXO__PATTERN_GIVEN_H
#define AXO__PATTERN_GIVEN_H

#include <stddef.h>
#include <string.h>

#include <axo/status.h>

/* Copies a struct whose first member is its size: what an older header lacks is zero, and what a
 * newer one has behind must be. The copy's size is `size`.
 *   returns   AXO_OK; AXO_EINVAL: NULL, or no size; AXO_EVERSION */
static inline axo_status axo__given_read(const void *from, void *to, size_t size)
{
    size_t given;
    if (from == NULL)
        return AXO_EINVAL;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given)
        return AXO_EINVAL;
    for (size_t i = size; i < given; i++) {
        if (((const unsigned char *)from)[i] != 0)
            return AXO_EVERSION;
    }
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return AXO_OK;
}

#endif
