/* far.h - watches of actors of other nodes, where the node's stand-in keeps them: by their target.
 *
 * The first record of each target is in a tree, the others of the same target behind it. So an end
 * that a node tells of finds its watches, and the node is told when an actor gets its first watch,
 * and when it has lost its last, whoever watches. All functions are the stand-in's runner's.
 */
#ifndef AXO__SUPER_FAR_H
#define AXO__SUPER_FAR_H

#include <axo/ref.h>

#include "base/way.h"

/* Behind a watch record; zeroed. */
typedef struct axo__far {
    axo__way way;          /* first: the tree leads here */
    struct axo__far *next; /* of the same target */
    struct axo__far *before; /* NULL: this one is in the tree */
    struct axo__watch *watch; /* fixed: the record */
    axo_ref stand_in;      /* fixed */
} axo__far;

/* Whether it is the target's first. */
static inline bool axo__far_add(axo__way **targets, axo__far *far, axo_ref target)
{
    axo__far *first = (axo__far *)(void *)axo__way_find(*targets, target.bits);
    far->way.number = target.bits;
    far->before = first;
    far->next = first != NULL ? first->next : NULL;
    if (first == NULL) {
        axo__way_add(targets, &far->way);
        return true;
    }
    if (far->next != NULL)
        far->next->before = far;
    first->next = far;
    return false;
}

/* Whether it was the target's last. */
static inline bool axo__far_remove(axo__way **targets, axo__far *far)
{
    axo__far *next = far->next;
    if (next != NULL)
        next->before = far->before;
    if (far->before != NULL)
        far->before->next = next;
    else if (next != NULL)
        axo__way_replace(targets, &far->way, &next->way);
    else
        axo__way_remove(targets, &far->way);
    return far->before == NULL && next == NULL;
}

/* A record of the target; NULL: there is none. */
static inline axo__far *axo__far_find(axo__way *targets, axo_ref target)
{
    return (axo__far *)(void *)axo__way_find(targets, target.bits);
}

#endif
