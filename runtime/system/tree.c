/* tree.c - a walk over a subtree that stands still. */
#include "system/tree.h"

#include "sched/ready.h"
#include "sched/send.h"

static void tree_leave(axo_system *system, axo__cell *cell)
{
    axo__door *door = axo__door_enter(&system->sched);
    axo__sched_hand_back(NULL, cell);
    axo__door_leave(door);
}

/* Whether it is to be entered; else it is left again. */
static axo_status tree_entered(axo_system *system, axo__cell *cell)
{
    if ((axo__state_look(&cell->state) & AXO__URGENT) == 0)
        return AXO_OK;
    tree_leave(system, cell);
    return AXO_EBUSY;
}

static axo_status tree_enter(axo_system *system, axo__cell *cell)
{
    return axo__state_borrow(&cell->state) ? tree_entered(system, cell) : AXO_EBUSY;
}

/* One that is borrowed does not end. Until then the door keeps the slot from another life. */
static axo_status tree_enter_top(axo_system *system, axo_ref top, axo__cell **out)
{
    axo__door *door = axo__door_enter(&system->sched);
    axo__cell *cell = axo__table_find(&system->core.table, top);
    bool mine = cell != NULL && axo__state_borrow(&cell->state);
    axo__door_leave(door);
    *out = cell;
    if (!mine)
        return cell != NULL ? AXO_EBUSY : AXO_EGONE;
    return tree_entered(system, cell);
}

static axo__cell *tree_oldest(const axo__cell *cell)
{
    axo__cell *child = axo__cell_children(cell);
    for (axo__cell *older = child; older != NULL; older = axo__cell_next(older))
        child = older;
    return child;
}

static axo__cell *tree_younger(const axo__cell *cell)
{
    return axo__cell_linked(cell, axo__cell_cold(cell)->before);
}

/* Down to the oldest child, then to the next younger one of each that has been left. `cell` and its
 * ancestors up to `top` are borrowed. */
axo_status axo__tree_walk(axo_system *system, axo_ref top_ref, axo__tree_fn each, void *arg)
{
    axo__cell *top;
    axo_status status = tree_enter_top(system, top_ref, &top);
    if (status != AXO_OK)
        return status;
    axo__cell *cell = top;
    status = each(arg, cell);
    axo__cell *next = tree_oldest(top);
    while (cell != NULL) {
        if (next != NULL && status == AXO_OK) {
            status = tree_enter(system, next);
            if (status != AXO_OK)
                continue;
            cell = next;
            status = each(arg, cell);
            next = tree_oldest(cell);
            continue;
        }
        axo__cell *parent = cell != top ? axo__cell_parent(cell) : NULL;
        next = cell != top ? tree_younger(cell) : NULL;
        tree_leave(system, cell);
        cell = parent;
    }
    return status;
}
