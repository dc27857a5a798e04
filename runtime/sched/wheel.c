/* wheel.c - a hierarchical timer wheel. */
#include "sched/wheel.h"

#include <string.h>

#include "base/assert.h"
#include "os/os.h"

#define WHEEL_BITS 6
#define WHEEL_MASK (AXO__WHEEL_SLOTS - 1)

AXO_STATIC_ASSERT(AXO__WHEEL_SLOTS == 1 << WHEEL_BITS, "a digit a level");
AXO_STATIC_ASSERT(AXO__WHEEL_LEVELS * WHEEL_BITS + AXO__TICK_SHIFT >= 63, "every time has a tick");
AXO_STATIC_ASSERT(AXO_TICK_NS == INT64_C(1) << AXO__TICK_SHIFT, "the tick is public");

void axo__wheel_init(axo__wheel *wheel)
{
    memset(wheel, 0, sizeof *wheel);
    wheel->spreading = AXO__WHEEL_NONE;
}

static uint64_t wheel_floor(int64_t time)
{
    return time > 0 ? (uint64_t)time >> AXO__TICK_SHIFT : 0;
}

static uint64_t wheel_ceil(int64_t time)
{
    return time > 0 ? ((uint64_t)time + (uint64_t)AXO_TICK_NS - 1) >> AXO__TICK_SHIFT : 0;
}

static uint32_t wheel_level(uint32_t place)
{
    return place / AXO__WHEEL_SLOTS;
}

/* The first occupied slot of the lowest occupied level: there is one. */
static uint32_t wheel_first(const axo__wheel *wheel)
{
    AXO_DEBUG_ASSERT(wheel->levels != 0);
    uint32_t level = (uint32_t)__builtin_ctz(wheel->levels);
    AXO_DEBUG_ASSERT(wheel->slots[level] != 0); /* I2 */
    return level * AXO__WHEEL_SLOTS + (uint32_t)__builtin_ctzll(wheel->slots[level]);
}

/* The first tick of an occupied slot: the cursor's higher digits, its own, then zeros. */
static uint64_t wheel_start(const axo__wheel *wheel, uint32_t place)
{
    uint32_t shift = wheel_level(place) * WHEEL_BITS;
    uint64_t upper = (wheel->cursor >> shift) & ~(uint64_t)WHEEL_MASK;
    return (upper | (place & WHEEL_MASK)) << shift;
}

static void wheel_append(axo__wheel *wheel, axo__wheel_node *node, uint32_t place)
{
    AXO_DEBUG_ASSERT(place < AXO__WHEEL_LEVELS * AXO__WHEEL_SLOTS);
    AXO_DEBUG_ASSERT(node->tick >= wheel->cursor);
    axo__wheel_list *list = &wheel->lists[place];
    uint32_t level = wheel_level(place);
    node->place = place;
    node->next = NULL;
    node->before = list->last;
    if (list->last != NULL) {
        list->last->next = node;
        if (node->tick < wheel->least[place])
            wheel->least[place] = node->tick;
    } else {
        list->first = node;
        wheel->least[place] = node->tick;
        wheel->slots[level] |= UINT64_C(1) << (place & WHEEL_MASK);
        wheel->levels |= UINT32_C(1) << level;
    }
    list->last = node;
}

/* I1 */
static uint32_t wheel_place(const axo__wheel *wheel, uint64_t tick)
{
    uint64_t differ = tick ^ wheel->cursor;
    uint32_t level = differ == 0 ? 0 : (63 - (uint32_t)__builtin_clzll(differ)) / WHEEL_BITS;
    return level * AXO__WHEEL_SLOTS + (uint32_t)((tick >> (level * WHEEL_BITS)) & WHEEL_MASK);
}

void axo__wheel_add(axo__wheel *wheel, axo__wheel_node *node, int64_t due, int64_t now)
{
    uint64_t tick = wheel_ceil(due);
    uint64_t reached = wheel_floor(now);
    if (reached > wheel->cursor && wheel->spreading == AXO__WHEEL_NONE &&
        (wheel->levels == 0 || wheel_start(wheel, wheel_first(wheel)) > reached))
        wheel->cursor = reached;
    node->tick = tick > wheel->cursor ? tick : wheel->cursor;
    if (wheel->spreading != AXO__WHEEL_NONE) {
        uint32_t shift = wheel_level(wheel->spreading) * WHEEL_BITS;
        if (node->tick >> shift == wheel->cursor >> shift) { /* I3 */
            wheel_append(wheel, node, wheel->spreading);
            return;
        }
    }
    wheel_append(wheel, node, wheel_place(wheel, node->tick));
}

void axo__wheel_remove(axo__wheel *wheel, axo__wheel_node *node)
{
    uint32_t place = node->place;
    uint32_t level = wheel_level(place);
    AXO_DEBUG_ASSERT(place < AXO__WHEEL_LEVELS * AXO__WHEEL_SLOTS);
    AXO_DEBUG_ASSERT(node->before != NULL || wheel->lists[place].first == node);
    axo__wheel_list *list = &wheel->lists[place];
    if (node->before != NULL)
        node->before->next = node->next;
    else
        list->first = node->next;
    if (node->next != NULL)
        node->next->before = node->before;
    else
        list->last = node->before;
    node->place = AXO__WHEEL_NONE;
    if (list->first != NULL)
        return;
    wheel->slots[level] &= ~(UINT64_C(1) << (place & WHEEL_MASK));
    if (wheel->slots[level] == 0)
        wheel->levels &= ~(UINT32_C(1) << level);
    if (wheel->spreading == place)
        wheel->spreading = AXO__WHEEL_NONE;
}

/* Moves the nodes of a slot down; the cursor stands at its start. */
static void wheel_spread(axo__wheel *wheel, uint32_t place, uint32_t *budget)
{
    wheel->spreading = place;
    while (wheel->spreading != AXO__WHEEL_NONE && *budget > 0) {
        axo__wheel_node *node = wheel->lists[place].first;
        axo__wheel_remove(wheel, node);
        wheel_append(wheel, node, wheel_place(wheel, node->tick));
        (*budget)--;
    }
}

axo__wheel_node *axo__wheel_pop(axo__wheel *wheel, int64_t now, uint32_t *budget)
{
    uint64_t reached = wheel_floor(now);
    while (*budget > 0) {
        uint32_t place = wheel->spreading;
        if (place == AXO__WHEEL_NONE) {
            if (wheel->levels == 0)
                return NULL;
            place = wheel_first(wheel);
            uint64_t start = wheel_start(wheel, place);
            if (start > reached)
                return NULL;
            AXO_DEBUG_ASSERT(start >= wheel->cursor);
            wheel->cursor = start;
        }
        if (wheel_level(place) == 0) {
            axo__wheel_node *node = wheel->lists[place].first;
            axo__wheel_remove(wheel, node);
            (*budget)--;
            return node;
        }
        wheel_spread(wheel, place, budget);
    }
    return NULL;
}

int64_t axo__wheel_next(const axo__wheel *wheel)
{
    uint64_t tick;
    if (wheel->spreading != AXO__WHEEL_NONE)
        tick = wheel->cursor;
    else if (wheel->levels == 0)
        return AXO__NEVER;
    else
        tick = wheel->least[wheel_first(wheel)];
    return tick > (uint64_t)INT64_MAX >> AXO__TICK_SHIFT ? AXO__NEVER - 1
                                                         : (int64_t)(tick << AXO__TICK_SHIFT);
}
