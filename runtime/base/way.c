/* way.c - a tree of records by a number. */
#include "base/way.h"

#include "base/assert.h"

/* What leads to a record that is in the tree. */
static axo__way **way_place(axo__way **root, const axo__way *record)
{
    axo__way *above = record->above;
    AXO_DEBUG_ASSERT(above != NULL || *root == record);
    if (above == NULL)
        return root;
    AXO_DEBUG_ASSERT(above->below[0] == record || above->below[1] == record);
    return &above->below[above->below[1] == record];
}

void axo__way_add(axo__way **root, axo__way *record)
{
    axo__way **place = root;
    uint64_t way = record->number * UINT64_C(0x9e3779b97f4a7c15);
    record->above = record->below[0] = record->below[1] = NULL;
    for (; *place != NULL; way <<= 1) {
        record->above = *place;
        place = &record->above->below[way >> 63];
    }
    *place = record;
}

void axo__way_replace(axo__way **root, const axo__way *record, axo__way *other)
{
    *way_place(root, record) = other;
    other->above = record->above;
    for (uint32_t i = 0; i < 2; i++) {
        other->below[i] = record->below[i];
        if (other->below[i] != NULL)
            other->below[i]->above = other;
    }
}

void axo__way_remove(axo__way **root, axo__way *record)
{
    axo__way *last = record;
    while (last->below[0] != NULL || last->below[1] != NULL)
        last = last->below[last->below[0] == NULL];
    *way_place(root, last) = NULL;
    if (last != record)
        axo__way_replace(root, record, last);
}
