/* replacing.h - a class that is being replaced by another one: axo_class_replace.
 *
 * Central idea: an actor's class is its runner's, as its state is, and changes in its own turn. Who
 * replaces one walks over the actors and says AXO__REPLACE to each that has the old class; the
 * turn asks the core what there is to do (super/replace.c). Nobody counts them: the walk waits for
 * one actor after the other, and says it again to one that could not be replaced yet.
 *
 *   (1) the record is in the core, every birth takes the long way, where it is seen
 *   (2) a grace period: births that had not seen it are over, and their actors in the table
 *   (3) the walk: from here on no actor gets the old class, and none has it when it is done
 *   (4) a grace period: who met an actor with the old class, in a turn or in a door, is done
 *   (5) the record leaves the core, and goes when nobody can be at it
 *
 * An actor that has ended has no state any more, but is spoken of until its parent has forgotten it
 * (the failure that it had reported): the walk itself gives its cell the new class. So it does to a
 * cell that is free or being born; a birth stores no old class from (2) on, so the two are never at
 * odds.
 *
 * Orders
 *   [C1] store release / load acquire, cls    the class, as who replaces it has found it, and what
 *                                     the turn that took it has done; cas acq_rel: of who walks
 *   [C2] store release / load acquire, replacing    the record
 *
 * Rejected   A count of the actors that are left, which each birth and end would have to know of. A
 *            class behind a second pointer, which each look would follow.
 */
#ifndef AXO__CELL_REPLACING_H
#define AXO__CELL_REPLACING_H

#include <axo/world.h>

#include "base/atomic.h"
#include "mem/grace.h"

typedef struct axo__replacing {
    axo__grace_block block; /* first: it goes behind a grace period */
    const axo_class *from;  /* fixed, as the next three */
    const axo_class *to;
    axo_migrate_fn migrate;
    void *user;
    axo__a32 starved;       /* 1: an actor has found no memory since the last look */
    /* ---- the caller's, one at a time ---- */
    uint32_t step;          /* of the list above: 2, 3, 4 */
    uint32_t said;          /* slots that the walk has said it to */
    uint32_t slot;          /* where it waits */
    uint64_t period;        /* that is waited for */
} axo__replacing;

#endif
