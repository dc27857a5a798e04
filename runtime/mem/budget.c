/* budget.c - how many bytes an instance may hold, and an actor with all that are below it. */
#include "mem/budget.h"

#include "base/assert.h"

/* The nearest bound of a subtree. */
static axo__budget *budget_tree(const axo__budget *budget)
{
    return budget->tree_max != 0 ? (axo__budget *)(uintptr_t)budget : budget->above;
}

static bool budget_add(axo__budget *tree, size_t size)
{
    uint64_t before = axo__a64_load_relaxed(&tree->tree); /* the cas repeats the guess */
    do {
        if (size > tree->tree_max || before > tree->tree_max - size)
            return false;
    } while (!axo__a64_cas_acq_rel(&tree->tree, &before, before + size)); /* [J1] */
    return true;
}

static void budget_subtract(axo__budget *tree, size_t size)
{
    uint64_t before = axo__a64_add_relaxed(&tree->tree, (uint64_t)0 - size);
    AXO_DEBUG_ASSERT(before >= size);
    (void)before;
}

bool axo__budget_take(axo__budget *budget, size_t held, size_t size)
{
    if (budget == NULL)
        return true;
    size_t own = held + budget->own;
    budget->refused = 1;
    if (budget->max != 0 && (size > budget->max || own > budget->max - size))
        return false;
    for (axo__budget *tree = budget_tree(budget); tree != NULL; tree = tree->above) {
        if (budget_add(tree, size))
            continue;
        for (axo__budget *undo = budget_tree(budget); undo != tree; undo = undo->above)
            budget_subtract(undo, size);
        return false;
    }
    budget->refused = 0;
    return true;
}

void axo__budget_force(axo__budget *budget, size_t size)
{
    for (axo__budget *tree = budget_tree(budget); tree != NULL; tree = tree->above)
        (void)axo__a64_add_relaxed(&tree->tree, size);
}

void axo__budget_give(axo__budget *budget, size_t size)
{
    if (budget == NULL)
        return;
    for (axo__budget *tree = budget_tree(budget); tree != NULL; tree = tree->above)
        budget_subtract(tree, size);
}

static size_t budget_left(size_t max, uint64_t used)
{
    return used < max ? max - (size_t)used : 0;
}

size_t axo__budget_room(const axo__budget *budget, size_t held)
{
    size_t room = SIZE_MAX;
    if (budget == NULL)
        return room;
    if (budget->max != 0)
        room = budget_left(budget->max, held + budget->own);
    for (const axo__budget *tree = budget_tree(budget); tree != NULL; tree = tree->above) {
        size_t left = budget_left(tree->tree_max, axo__a64_load_relaxed(&tree->tree));
        if (left < room)
            room = left;
    }
    return room;
}
