/* spawn.h - the birth of an actor: what its cell takes. */
#ifndef AXO__SUPER_SPAWN_H
#define AXO__SUPER_SPAWN_H

#include "super/super.h"

/* Makes a cell that is not yet scheduled. worker NULL: from outside. */
typedef struct axo__birth {
    const axo_props *props;
    axo_ref parent;
    axo__cell *parent_cell;
    uint32_t suspends;
    axo__moment now; /* the parent's callback */
} axo__birth;
axo_status axo__spawn_make(axo__local *local, const axo__birth *birth, axo__cell **out);

/* In the parent's turn. */
axo_status axo__spawn(axo__worker *worker, axo__cell *parent, const axo_props *props,
                      axo_ref *out);

/* A child of a guardian, spawned from outside: it first runs once it is known here (OR-08). */
void axo__spawn_adopt(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* Gives back state and args, which the birth took: the instance is gone. */
void axo__spawn_free_blocks(axo__local *local, axo__cell *cell);

#endif
