/* spawn.h - the birth of an actor: what its cell takes.
 *
 * The cell, the state and the records that a failure will need are taken here, where the
 * spawning actor can be told AXO_ENOMEM: failing, restarting and ending take no memory (D10).
 *
 * Orders
 *   [C1] [C2] as in cell/replacing.h
 */
#ifndef AXO__SUPER_SPAWN_H
#define AXO__SUPER_SPAWN_H

#include "super/super.h"

/* What a cell is made from. The cell is complete but not yet scheduled when axo__spawn_make returns
 * it. */
typedef struct axo__birth {
    const axo_props *props;
    axo_ref parent;
    axo__cell *parent_cell;
    uint32_t suspends;
    axo__moment now; /* the parent's callback */
} axo__birth;
axo_status axo__spawn_make(axo__local *local, const axo__birth *birth, axo__cell **out);

/* Spawns a child of the running actor, in that actor's turn. */
axo_status axo__spawn(axo__worker *worker, axo__cell *parent, const axo_props *props,
                      axo_ref *out);

/* The same for props that are plain (axo__props_are_plain), with a path of its own for a leaf that
 * is born to a plain parent: no record is taken but its state. */
axo_status axo__spawn_plain(axo__worker *worker, axo__cell *parent, const axo_props *props,
                            axo_ref *out);

/* Takes in a guardian's child that was spawned from outside: the child runs for the first time when
 * its parent's runner knows it (OR-08), so that its first failure finds a parent that has it in its
 * list. */
void axo__spawn_adopt(axo__worker *worker, axo__cell *cell, axo__cell *child);

/* A state for another class, and a copy of args behind it. */
typedef struct axo__spawn_block {
    const axo_class *cls;
    void *state;
    const void *args;
} axo__spawn_block;

/* Makes one for the cell, of zeros; false: no memory. By the cell's runner. */
bool axo__spawn_block_make(axo__local *local, const axo__cell *cell, const axo_class *cls,
                           axo__spawn_block *out);
void axo__spawn_block_free(axo__local *local, const axo__cell *cell, const axo__spawn_block *block);

/* The cell gets the block and its class, and gives its own back, if it is another one. */
void axo__spawn_block_put(axo__local *local, axo__cell *cell, const axo__spawn_block *block);

/* Bytes of the block of state and args, without walls. */
size_t axo__spawn_state_bytes(const axo__cell *cell);

/* Frees the block of state and args that the birth took; the instance in it has gone before. The
 * first is for a cell without `extra`. */
void axo__spawn_free_blocks(axo__local *local, axo__cell *cell);
void axo__spawn_free_all(axo__local *local, axo__cell *cell);

#endif
