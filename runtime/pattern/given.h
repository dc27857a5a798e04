/* given.h - structs that a program has filled, with an older or a newer header (axo_options).
 *
 * The rule of system/options.c, written once more for the services, which may not call it. */
#ifndef AXO__PATTERN_GIVEN_H
#define AXO__PATTERN_GIVEN_H

#include <stddef.h>
#include <string.h>

#include <axo/status.h>

/* Copies a struct whose first member is its size: members that an older header lacks are zero, and
 * a newer header's tail must be zero. The copy's size is `size`. AXO_OK; AXO_EINVAL: NULL, or no
 * size; AXO_EVERSION: the tail asks for a feature that is not here. */
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
