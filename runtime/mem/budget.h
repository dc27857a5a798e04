/* budget.h - how many bytes an instance may hold, and an actor with all that are below it.
 *
 * A record is taken at spawn if the props set a bound, if an actor above has one for its subtree,
 * or if walls stand round the class (mem/wall.h). It lies in the actor's `extra` and outlives the
 * actors below, which end first.
 *
 * The instance's own bytes are its runner's. `tree` is shared by the runners of all below: what is
 * added is compared with the bound in the same step, so the sum never exceeds it, but where the
 * state itself becomes another class's: that is counted and not asked for, and what is asked for
 * behind it is refused.
 *
 * Orders
 *   [J1] cas acq_rel, tree    no more is asked of it than one order of all additions; what the
 *                             number counts is handed over by nobody
 */
#ifndef AXO__MEM_BUDGET_H
#define AXO__MEM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

typedef struct axo__budget {
    struct axo__budget *above; /* fixed: the next one up the tree that bounds a subtree; NULL */
    size_t max;                /* fixed: of an instance, with its state; 0: no bound */
    size_t tree_max;           /* fixed: of the actor and all below; 0: no bound */
    size_t own;                /* what the state takes, from spawn to the end, but for another
                                  class's (axo__memory_resize) */
    axo__a64 tree;             /* held by the actor and all below, with tree_max */
    uint16_t fails;            /* fixed: the callback that is refused memory fails */
    uint16_t refused;          /* 1: a bound has refused something; cleared by who asks */
    uint32_t walls;            /* fixed: round what instances take (AXO_WALL_) */
} axo__budget;

/* Counts `size` bytes more of an instance that has `held` beside its state, in every bound; false:
 * one of them would be exceeded, and nothing was counted. NULL has no bounds. */
bool axo__budget_take(axo__budget *budget, size_t held, size_t size);

/* Counts `size` bytes more in the bounds of subtrees, whatever they are. */
void axo__budget_force(axo__budget *budget, size_t size);

/* Takes bytes back that were counted. */
void axo__budget_give(axo__budget *budget, size_t size);

/* How many bytes more would be taken, as far as can be told: other actors of a subtree take and
 * give at the same time. SIZE_MAX: any. */
size_t axo__budget_room(const axo__budget *budget, size_t held);

#endif
