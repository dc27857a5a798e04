/* wheel.c - a hierarchical timer wheel: the functions of wheel.h, whose invariants I1 to I4 they
 * keep.
 *
 * A tick is a number of eight digits of base 64. A node lies at the level of the highest digit in
 * which its tick differs from the cursor; when the cursor reaches the slot of a node above level 0,
 * the slot is spread over the levels below. Each node moves down at most seven times.
 */
#include "sched/wheel.h"

#include <string.h>

#include "base/assert.h"

#define WHEEL_BITS 6
#define WHEEL_MASK (AXO__WHEEL_SLOTS - 1)

AXO_STATIC_ASSERT(AXO__WHEEL_SLOTS == 1 << WHEEL_BITS, "a digit a level");
AXO_STATIC_ASSERT(AXO__WHEEL_LEVELS * WHEEL_BITS + AXO__TICK_SHIFT == 64, "every time has a tick");
AXO_STATIC_ASSERT(AXO__TICK_NEVER >> WHEEL_BITS * AXO__WHEEL_LEVELS == 1, "a ninth level's slots");
AXO_STATIC_ASSERT(AXO_TICK_NS == INT64_C(1) << AXO__TICK_SHIFT, "the tick is public");

void axo__wheel_init(axo__wheel *wheel)
{
    memset(wheel, 0, sizeof *wheel);
    wheel->spreading = AXO__WHEEL_NONE;
}

static uint32_t wheel_level(uint32_t place)
{
    return place / AXO__WHEEL_SLOTS;
}

/* The first occupied slot of the lowest occupied level, which holds the earliest node (I1). The
 * wheel is not empty. */
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

/* Puts a node at the end of a slot's list, so nodes of one tick come out in the order of adding
 * (I3). */
static void wheel_append(axo__wheel *wheel, axo__wheel_node *node, uint32_t place)
{
    AXO_DEBUG_ASSERT(place < AXO__WHEEL_PLACES);
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

/* The level of the highest digit in which a tick differs from the cursor. */
static uint32_t wheel_differs_at(const axo__wheel *wheel, uint64_t tick)
{
    uint64_t differ = tick ^ wheel->cursor;
    return differ == 0 ? 0 : (63 - (uint32_t)__builtin_clzll(differ)) / WHEEL_BITS;
}

/* The slot that I1 gives to a tick; a tick before the cursor lies where the cursor is. */
static uint32_t wheel_place(const axo__wheel *wheel, uint64_t tick)
{
    uint64_t counts = tick > wheel->cursor ? tick : wheel->cursor;
    uint32_t level = wheel_differs_at(wheel, counts);
    return level * AXO__WHEEL_SLOTS + (uint32_t)((counts >> (level * WHEEL_BITS)) & WHEEL_MASK);
}

/* The cursor first moves to `now` if no slot begins before that: the node then lies lower, and is
 * spread fewer times. While a slot is being spread the cursor stays, and a node of that slot's span
 * goes to the slot's end: below it would overtake older nodes of the same tick (I3). */
void axo__wheel_add(axo__wheel *wheel, axo__wheel_node *node, uint64_t tick, int64_t now)
{
    uint64_t reached = axo__tick_in(now);
    AXO_DEBUG_ASSERT(tick <= AXO__TICK_NEVER);
    if (wheel->levels == 0 ||
        (reached > wheel->cursor && wheel->spreading == AXO__WHEEL_NONE &&
         wheel_start(wheel, wheel_first(wheel)) > reached))
        wheel->cursor = reached;
    node->tick = tick;
    if (wheel->spreading != AXO__WHEEL_NONE) {
        uint32_t shift = wheel_level(wheel->spreading) * WHEEL_BITS;
        uint64_t counts = tick > wheel->cursor ? tick : wheel->cursor;
        if (counts >> shift == wheel->cursor >> shift) { /* I3 */
            wheel_append(wheel, node, wheel->spreading);
            return;
        }
    }
    wheel_append(wheel, node, wheel_place(wheel, tick));
}

/* `least` of the slot stays as it is, since finding the new one would cost a walk: I4 allows a
 * value that is too low, which costs an early look at most. */
void axo__wheel_remove(axo__wheel *wheel, axo__wheel_node *node)
{
    uint32_t place = node->place;
    uint32_t level = wheel_level(place);
    AXO_DEBUG_ASSERT(place < AXO__WHEEL_PLACES);
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

/* I1: those of one tick lie in one slot, but while that is being spread: then those in it are
 * behind those below (I3). */
void axo__wheel_each(axo__wheel *wheel, void (*each)(void *arg, axo__wheel_node *node), void *arg)
{
    for (uint32_t place = 0; place < AXO__WHEEL_PLACES; place++) {
        axo__wheel_node *next = wheel->lists[place].first;
        while (next != NULL) {
            axo__wheel_node *node = next;
            next = next->next;
            each(arg, node);
        }
    }
}

/* Moves the nodes of a slot down, as many as the budget allows; the cursor stands at the slot's
 * start. The removal of the last node ends the spreading. */
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

/* Takes all nodes of a slot out, behind those in *all. */
static void wheel_take_all(axo__wheel *wheel, uint32_t place, axo__wheel_list *all)
{
    axo__wheel_list *list = &wheel->lists[place];
    uint32_t level = wheel_level(place);
    if (list->first == NULL)
        return;
    if (all->last != NULL)
        all->last->next = list->first;
    else
        all->first = list->first;
    all->last = list->last;
    *list = (axo__wheel_list){NULL, NULL};
    wheel->slots[level] &= ~(UINT64_C(1) << (place & WHEEL_MASK));
    if (wheel->slots[level] == 0)
        wheel->levels &= ~(UINT32_C(1) << level);
}

/* The cursor goes back to `to`. The highest digit in which `to` differs from the old cursor says
 * which nodes get other places: all nodes of the levels below that digit's, and the nodes of the
 * slot in which the cursor was, which come last as that slot may be half spread. They keep their
 * order. The time grows with the number of these nodes: a clock that goes back has this price, once
 * each time. */
static void wheel_rewind(axo__wheel *wheel, uint64_t to)
{
    uint64_t from = wheel->cursor;
    uint32_t level = wheel_differs_at(wheel, to);
    uint32_t slot = (uint32_t)(from >> (level * WHEEL_BITS)) & WHEEL_MASK;
    axo__wheel_list all = {NULL, NULL};
    AXO_DEBUG_ASSERT(to < from);
    for (uint32_t place = 0; place < level * AXO__WHEEL_SLOTS; place++)
        wheel_take_all(wheel, place, &all);
    wheel_take_all(wheel, level * AXO__WHEEL_SLOTS + slot, &all);
    AXO_DEBUG_ASSERT(wheel->spreading == AXO__WHEEL_NONE ||
                     wheel->lists[wheel->spreading].first == NULL);
    wheel->spreading = AXO__WHEEL_NONE;
    wheel->cursor = to;
    while (all.first != NULL) {
        axo__wheel_node *node = all.first;
        all.first = node != all.last ? node->next : NULL;
        wheel_append(wheel, node, wheel_place(wheel, node->tick));
    }
}

/* Goes on with a slot that is half spread, or moves the cursor to the earliest slot. A slot of
 * level 0 gives a node; a slot above is spread, and the search begins again below it. */
axo__wheel_node *axo__wheel_pop(axo__wheel *wheel, int64_t now, uint32_t *budget)
{
    uint64_t reached = axo__tick_in(now);
    if (axo__unlikely(reached < wheel->cursor)) {
        if (axo__wheel_next(wheel) > reached)
            return NULL;
        wheel_rewind(wheel, reached);
    }
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

uint64_t axo__wheel_next(const axo__wheel *wheel)
{
    if (wheel->levels == 0)
        return AXO__TICK_NEVER;
    uint64_t tick = wheel->least[wheel_first(wheel)];
    if (wheel->spreading != AXO__WHEEL_NONE && wheel->least[wheel->spreading] < tick)
        tick = wheel->least[wheel->spreading]; /* nodes not spread yet may be earlier: I3 */
    return tick;
}
