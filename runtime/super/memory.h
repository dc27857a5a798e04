/* memory.h - an instance's memory: its heap, the bounds of it, the walls round it and round the
 * state.
 *
 * Most actors have neither bounds nor walls, and no record of them: `extra` has one (axo__budget)
 * if the props set a bound, if an actor above bounds its subtree, or if walls stand round the
 * class. Such a child takes the long way of its birth and its end. */
#ifndef AXO__SUPER_MEMORY_H
#define AXO__SUPER_MEMORY_H

#include "super/super.h"

/* ---- birth and end ---- */

/* Whether children of the actor may need a record: then none of them is born the short way. */
bool axo__memory_is_inherited(const axo__core *core, const axo__cell *parent);

/* Takes the child's record, if it needs one, and counts `state` bytes in its bounds. AXO_OK,
 * AXO_ENOMEM (a bound above, too), AXO_EINVAL: its own bound is less than its state. A birth that
 * fails gives back what was taken. */
axo_status axo__memory_begin(axo__local *local, const axo__cell *parent, const axo_props *props,
                             axo__cell *cell, size_t state);

/* Whether walls stand round a state of `size` bytes of this actor, which has a block of another
 * shape then. */
bool axo__memory_is_walled(const axo__cell *cell, size_t size);

/* Takes such a block; *front: where `args` bytes have room. NULL: no memory. */
void *axo__memory_take_state(axo__local *local, const axo__cell *cell, size_t size, size_t args,
                             void **front);

/* Gives it back. The instance has gone before, or has another. */
void axo__memory_give_state(axo__local *local, const axo__cell *cell, void *block, size_t size,
                            size_t args);

/* The state and the args take `size` bytes now. Bounds count them, and refuse nothing. */
void axo__memory_resize(const axo__cell *cell, size_t size);

/* The actor holds nothing any more. */
void axo__memory_end(axo__cell *cell);

/* ---- its heap; by its runner ---- */

/* The heap, made with room for `size` bytes if need be; NULL: no memory, or a bound. */
axo__region *axo__memory_make(axo__worker *worker, axo__cell *cell, size_t size);
static inline axo__region *axo__memory_region(axo__worker *worker, axo__cell *cell, size_t size)
{
    const axo__extra *extra = axo__cell_extra(cell);
    if (axo__likely(extra != NULL && extra->region != NULL))
        return extra->region;
    return axo__memory_make(worker, cell, size);
}

/* Memory was refused: if a bound has done that, the callback fails, where the props say so. */
void axo__memory_refused(axo__worker *worker, axo__cell *cell);

/* As axo__region_take and axo__region_defer. */
void *axo__memory_take(axo__worker *worker, axo__cell *cell, size_t size);
bool axo__memory_defer(axo__worker *worker, axo__cell *cell, void (*fn)(void *arg), void *arg);

/* ---- what is found ---- */

/* Who hears of findings in the running callback. `arg` is the cell. */
void axo__memory_tell(void *arg, const axo__finding *finding);

/* Whether the actor, which has `extra`, has a heap, bounds or walls. */
static inline bool axo__memory_is_there(const axo__cell *cell)
{
    const axo__extra *extra = axo__cell_extra(cell);
    return axo__unlikely(extra->region != NULL || extra->budget != NULL);
}

/* The actor has failed: looks at all its walls. What is found is a line of the log. */
void axo__memory_look_all(axo__worker *worker, axo__cell *cell);
static inline void axo__memory_look(axo__worker *worker, axo__cell *cell)
{
    if (axo__memory_is_there(cell))
        axo__memory_look_all(worker, cell);
}

/* Ends the heap; its clean-ups run. */
void axo__memory_end_all(axo__worker *worker, axo__cell *cell);
static inline void axo__memory_destroy(axo__worker *worker, axo__cell *cell)
{
    if (axo__memory_is_there(cell))
        axo__memory_end_all(worker, cell);
}

#endif
