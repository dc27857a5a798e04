/* ck_ring.h - CK's own ring, whose copies to and from a slot are accesses that the checker of weak
 * memory sees: relaxed ones, since a consumer may copy what it then does not get. */
#ifndef AXO_TEST_WEAK_CK_RING_H
#define AXO_TEST_WEAK_CK_RING_H
#pragma GCC system_header

#include <string.h>

#include "schedules/weak/check.h"

static inline void weak_ring_copy(void *to, const void *from, size_t size)
{
    uint64_t value;
    if (size != sizeof value)
        weak_fail("an entry of a ring is a pointer");
    if (weak_on_stack(to)) {
        value = weak_load(from, sizeof value, WEAK_SITE("ck_slot_load", 0));
        __builtin_memcpy(to, &value, sizeof value);
    } else {
        __builtin_memcpy(&value, from, sizeof value);
        weak_store(to, sizeof value, value, WEAK_SITE("ck_slot_store", 0));
    }
}

#define memcpy weak_ring_copy
#include_next <ck_ring.h>
#undef memcpy

#endif
