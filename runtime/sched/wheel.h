/* wheel.h - a hierarchical timer wheel (Varghese and Lauck), without locks and without a clock.
 *
 * Eight levels of 64 slots; a slot of level 0 is one tick, a slot of level n is 64 slots of level
 * n - 1. The slots cover every tick there can be, so no slot is ever used for two rounds.
 *
 * Ticks are numbered from INT64_MIN on, so every number of 64 bits is a time. Behind the last whole
 * tick there are two more: AXO__TICK_END begins with INT64_MAX, AXO__TICK_NEVER does not come. They
 * have two slots of a ninth level.
 *
 * A clock may go back. The cursor then stays where it was until a node is due before it; then
 * wheel_rewind moves it back.
 *
 * Invariants
 *   I1  A node lies at the level of the highest base-64 digit in which its tick (the cursor, if
 *       that is later) differs from the cursor, in the slot of its digit there. So every node of a
 *       level is later than every node of the levels below, and the first occupied slot of the
 *       lowest occupied level holds the earliest.
 *   I2  A bit is set exactly if its slot (level) has a node.
 *   I3  A slot's list is in the order of adding. While a slot is being spread over the levels below
 *       (`spreading`), a node that is added to its span goes to its end, not below.
 *   I4  least[s] is not above the tick of any node in slot s; it may be below after a removal.
 */
#ifndef AXO__SCHED_WHEEL_H
#define AXO__SCHED_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include <axo/time.h>

#define AXO__TICK_SHIFT 16
#define AXO__WHEEL_LEVELS 8
#define AXO__WHEEL_SLOTS 64
#define AXO__WHEEL_PLACES (AXO__WHEEL_LEVELS * AXO__WHEEL_SLOTS + 2)
#define AXO__WHEEL_NONE UINT32_MAX
#define AXO__WHEEL_STILL (UINT32_MAX - 1) /* the owner of the node keeps it elsewhere */

#define AXO__TICK_END (UINT64_C(1) << (64 - AXO__TICK_SHIFT))
#define AXO__TICK_NEVER (AXO__TICK_END + 1)

/* The tick that a time is in. */
static inline uint64_t axo__tick_in(int64_t time)
{
    uint64_t since = (uint64_t)time ^ UINT64_C(1) << 63;
    return time == INT64_MAX ? AXO__TICK_END : since >> AXO__TICK_SHIFT;
}

/* The first tick that does not begin before a time. */
static inline uint64_t axo__tick_at(int64_t time)
{
    uint64_t since = (uint64_t)time ^ UINT64_C(1) << 63;
    uint64_t rest = since & ((UINT64_C(1) << AXO__TICK_SHIFT) - 1);
    return (since >> AXO__TICK_SHIFT) + (rest != 0);
}

/* The time at which a tick begins; INT64_MAX for AXO__TICK_NEVER. */
static inline int64_t axo__tick_time(uint64_t tick)
{
    return tick >= AXO__TICK_END ? INT64_MAX
                                 : (int64_t)(tick << AXO__TICK_SHIFT ^ UINT64_C(1) << 63);
}

typedef struct axo__wheel_node {
    struct axo__wheel_node *next;
    struct axo__wheel_node *before;
    uint64_t tick;  /* the first tick in which the timer may fire */
    uint32_t place; /* level * 64 + slot; AXO__WHEEL_NONE: in no wheel; AXO__WHEEL_STILL */
} axo__wheel_node;

typedef struct axo__wheel_list {
    axo__wheel_node *first;
    axo__wheel_node *last;
} axo__wheel_list;

typedef struct axo__wheel {
    uint64_t cursor;    /* every earlier tick is over, unless the clock has gone back */
    uint32_t spreading; /* the place of the slot that is half spread, or AXO__WHEEL_NONE */
    uint32_t levels;    /* a bit for each occupied level */
    uint64_t slots[AXO__WHEEL_LEVELS + 1]; /* a bit for each occupied slot of a level */
    uint64_t least[AXO__WHEEL_PLACES];     /* a bound of the ticks in each slot: I4 */
    axo__wheel_list lists[AXO__WHEEL_PLACES];
} axo__wheel;

void axo__wheel_init(axo__wheel *wheel);

/* Adds a node that is in no wheel, to come out when `tick` has begun. `now`, in ns, only saves
 * work. */
void axo__wheel_add(axo__wheel *wheel, axo__wheel_node *node, uint64_t tick, int64_t now);

/* Takes a node out of the wheel that it is in. */
void axo__wheel_remove(axo__wheel *wheel, axo__wheel_node *node);

/* Takes out the earliest node that is due at `now`; NULL: none is due, or the budget is spent. A
 * node that is moved down a level costs one of *budget, and so does the node returned. Nodes that
 * are moved because the clock has gone back behind the cursor cost nothing. */
axo__wheel_node *axo__wheel_pop(axo__wheel *wheel, int64_t now, uint32_t *budget);

/* Calls `each` for each node, which it may take out: those of one tick in the order in which they
 * would come out. */
void axo__wheel_each(axo__wheel *wheel, void (*each)(void *arg, axo__wheel_node *node), void *arg);

/* No node is due before the tick that this returns; a node is due then, unless nodes have been
 * removed since. AXO__TICK_NEVER: no node will be due. */
uint64_t axo__wheel_next(const axo__wheel *wheel);

#endif
